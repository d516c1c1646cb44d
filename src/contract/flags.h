/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_FLAGS_H
#define KL_CONTRACT_FLAGS_H

/*
 * flags - checks a contract's compiler flags against an allow-list (docs/formats.md, "flags").
 */

/**
 * Check that `flag` is allowed for language c. Return KL_EINVALID if the flag is not allowed. The
 * message says why.
 */
int kl_compile_flag_ok(const char *flag);
/** Like kl_compile_flag_ok(), for language cpp. */
int kl_compile_flag_ok_cpp(const char *flag);
/** Like kl_compile_flag_ok(), for language cuda; nvcc gets these flags unchanged. */
int kl_compile_flag_ok_cuda(const char *flag);

#endif
