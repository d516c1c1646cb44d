/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/dtype.h"

#include <string.h>

#include "contract/contract.h"

#define TWO(n) ((double)(1ULL << (n)))

/* i64 and u64 end where a double stops being exact: fills are doubles. */
static const struct kl_dtype_info table[] = {
	{ "f64", 8, true, -TWO(53), TWO(53) },
	{ "f32", 4, true, -TWO(24), TWO(24) },
	{ "f16", 2, true, -TWO(11), TWO(11) },
	{ "bf16", 2, true, -TWO(8), TWO(8) },
	{ "i64", 8, false, -TWO(53), TWO(53) },
	{ "i32", 4, false, -TWO(31), TWO(31) - 1 },
	{ "i16", 2, false, -TWO(15), TWO(15) - 1 },
	{ "i8", 1, false, -TWO(7), TWO(7) - 1 },
	{ "u64", 8, false, 0, TWO(53) },
	{ "u32", 4, false, 0, TWO(32) - 1 },
	{ "u16", 2, false, 0, TWO(16) - 1 },
	{ "u8", 1, false, 0, TWO(8) - 1 },
};

const struct kl_dtype_info *kl_dtype_find(const char *name)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(table); i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

const char *kl_dtype_list(void)
{
	return "f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8";
}

size_t kl_dtype_size(const char *dtype)
{
	const struct kl_dtype_info *info = kl_dtype_find(dtype);

	return info ? info->size : 0;
}

bool kl_dtype_is_float(const char *dtype)
{
	const struct kl_dtype_info *info = kl_dtype_find(dtype);

	return info && info->is_float;
}
