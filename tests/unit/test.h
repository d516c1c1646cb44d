/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEST_H
#define KL_TEST_H

/*
 * test - what every unit test includes: cmocka in its right order, and
 * assertions that quote our error message when something failed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

/** `expr` must be 0. */
#define assert_ok(expr)                                                          \
	do {                                                                     \
		int kl_err_ = (expr);                                            \
		if (kl_err_)                                                     \
			fail_msg("%s: %d: %s", #expr, kl_err_, kl_error_last()); \
	} while (0)

/** `expr` must be the error `kind`, with `part` in its message. */
#define assert_error(kind, part, expr)                                                          \
	do {                                                                                    \
		int kl_err_ = (expr);                                                           \
		if (kl_err_ != (kind) || !strstr(kl_error_last(), (part)))                      \
			fail_msg("%s: %d: %s (wanted %d: %s)", #expr, kl_err_, kl_error_last(), \
				 (kind), (part));                                               \
	} while (0)

#define assert_contains(text, part)                                   \
	do {                                                          \
		const char *kl_text_ = (text);                        \
		if (!strstr(kl_text_, (part)))                        \
			fail_msg("no '%s' in: %s", (part), kl_text_); \
	} while (0)

#endif
