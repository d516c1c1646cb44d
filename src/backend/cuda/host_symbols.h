/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_HOST_SYMBOLS_H
#define KL_BACKEND_CUDA_HOST_SYMBOLS_H

#include <stdbool.h>

/*
 * host_symbols - what host code of a cuda surface may call (docs/formats.md, "Host code"): the part
 * of the CUDA runtime that launches, asks and has memory on a stream; mem*, str*, libm, malloc;
 * what a C++ compiler calls by itself. No stream, event, thread, file, process, clock or library is
 * to be had.
 */
bool kl_host_symbol_may_use(const char *name);
/**
 * May no candidate define it? Else the registration of its kernels, which runs at load, would call
 * it.
 */
bool kl_host_symbol_reserved(const char *name);

#endif
