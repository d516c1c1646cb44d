/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_HOST_SYMBOLS_H
#define KL_IMAGE_HOST_SYMBOLS_H

#include <stdbool.h>

#include "image/image.h"

/*
 * host_symbols - the symbols that host code may use: functions of the CUDA runtime that launch
 * kernels, query the device, and manage memory on a stream; mem*, str*, libm and malloc; and
 * functions that a C++ compiler calls implicitly (docs/formats.md, "Host code"). None of them gives
 * access to events, threads, files, processes, clocks or libraries, or to a stream other than the
 * one that host code is given.
 */
/** Return true if host code may use the symbol `name`. */
bool kl_host_symbol_may_use(const char *name);
/**
 * Return true if a candidate must not define `name`. The registration of its kernels runs before
 * the entry is called; if the candidate defined a function that the registration uses, the
 * candidate's code would run too early.
 */
bool kl_host_symbol_reserved(const char *name);
/**
 * Return the first symbol that an image imports although host code may not use it; NULL if there is
 * none. The string belongs to the image.
 */
const char *kl_host_symbol_foreign(const struct kl_image *image);

#endif
