/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_FLAGS_H
#define KL_CONTRACT_FLAGS_H

/*
 * flags - the compiler flags that a contract may ask for, as an allow-list (docs/formats.md,
 * "flags").
 */

/** Check that `flag` is allowed for language c. KL_EINVALID: it is not; the message says why. */
int kl_compile_flag_ok(const char *flag);
/** The same for language cuda, whose flags nvcc gets unchanged. */
int kl_compile_flag_ok_cuda(const char *flag);

#endif
