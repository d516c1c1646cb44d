/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_VALUES_H
#define KL_JOB_VALUES_H

#include <stdbool.h>

/*
 * values - what a contract says about inputs that are no ordinary numbers (docs/formats.md,
 * `values`). Either the kernel must answer them as the oracle does, or they are undefined and are
 * not drawn.
 */
enum kl_value { KL_VALUE_NAN, KL_VALUE_INF, KL_VALUE_DENORMAL };
#define KL_VALUES (KL_VALUE_DENORMAL + 1)

/** Names indexed by enum kl_value: "nan", "inf", "denormal"; NULL at the end. */
extern const char *const kl_value_names[];
/** What a contract can say of each: "oracle", "undefined" (index 1); NULL at the end. */
extern const char *const kl_value_policies[];

struct kl_values {
	bool undefined[KL_VALUES];
};

#endif
