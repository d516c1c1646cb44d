/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FUZZ_H
#define KL_FUZZ_H

/*
 * fuzz - what every harness includes. Besides not crashing, a harness checks
 * what must hold of any input; MUST() stops libFuzzer with that input.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define MUST(expr)                                                                            \
	do {                                                                                  \
		if (!(expr)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n%s\n", __FILE__, __LINE__, #expr, \
				kl_error_last());                                             \
			abort();                                                              \
		}                                                                             \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
