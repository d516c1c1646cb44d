/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_DTYPE_H
#define KL_CONTRACT_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

/* dtype - element types of tensors, by their name in a contract. */
struct kl_dtype_info {
	const char *name;
	size_t size; /* bytes */
	bool is_float;
	/* integers from min to max are all exact; -max for floats */
	double int_min, int_max;
};

/** NULL: unknown. */
const struct kl_dtype_info *kl_dtype_find(const char *name);
/** "f64, f32, ..." for messages. */
const char *kl_dtype_list(void);

#endif
