/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JOB_VALUES_H
#define KL_JOB_VALUES_H

#include <stdbool.h>

/*
 * values - records what a contract says about inputs that are NaN, infinite or denormal
 * (docs/formats.md, `values`). For each of these kinds, either the kernel must give the oracle's
 * answer, or the answer is undefined and the gate does not draw such inputs.
 */
enum kl_value { KL_VALUE_NAN, KL_VALUE_INF, KL_VALUE_DENORMAL };
#define KL_VALUES (KL_VALUE_DENORMAL + 1)

/** Names indexed by enum kl_value: "nan", "inf", "denormal"; NULL at the end. */
extern const char *const kl_value_names[];
/**
 * The words that a contract can give for each kind of value: "oracle", or "undefined" (index 1);
 * NULL at the end.
 */
extern const char *const kl_value_policies[];

struct kl_values {
	bool undefined[KL_VALUES]; /* by enum kl_value */
};

#endif
