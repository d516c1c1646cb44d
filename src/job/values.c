/* SPDX-License-Identifier: Apache-2.0 */
#include "job/values.h"

#include <stddef.h>

const char *const kl_value_names[] = {
	[KL_VALUE_NAN] = "nan",
	[KL_VALUE_INF] = "inf",
	[KL_VALUE_DENORMAL] = "denormal",
	NULL,
};

const char *const kl_value_policies[] = { "oracle", "undefined", NULL };
