/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_HOST_SYMBOLS_H
#define KL_IMAGE_HOST_SYMBOLS_H

#include <stdbool.h>

#include "image/image.h"

/*
 * host_symbols - the symbols that host code may use: functions of the CUDA runtime that launch
 * kernels, query the device, and manage memory on a stream; mem*, str*, libm and malloc; and
 * functions that a C++ compiler calls implicitly (docs/formats.md, "Host code"). None of them gives
 * access to other streams, events, threads, files, processes, clocks or libraries.
 */
bool kl_host_symbol_may_use(const char *name);
/**
 * Must a candidate not define `name`? If it defined a function with such a name, the registration
 * of its kernels could call this function before the entry is called.
 */
bool kl_host_symbol_reserved(const char *name);
/** Return the first symbol that an image imports although host code may not use it; NULL: none. */
const char *kl_host_symbol_foreign(const struct kl_image *image);

#endif
