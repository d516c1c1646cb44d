/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_HOST_SYMBOLS_H
#define KL_IMAGE_HOST_SYMBOLS_H

#include <stdbool.h>

#include "image/image.h"

/*
 * host_symbols - the symbols that the host code of a kernel in CUDA can use: the part of the CUDA
 * runtime that launches, queries and manages memory on a stream; mem*, str*, libm, malloc; the
 * functions that a C++ compiler calls implicitly (docs/formats.md, "Host code"). No symbol gives
 * access to streams, events, threads, files, processes, clocks or libraries.
 */
bool kl_host_symbol_may_use(const char *name);
/**
 * Is a candidate forbidden to define `name`? If it defined such a name, the registration of its
 * kernels, which runs at load, could call its function.
 */
bool kl_host_symbol_reserved(const char *name);
/** The first symbol that an image imports and host code may not use; NULL: there is none. */
const char *kl_host_symbol_foreign(const struct kl_image *image);

#endif
