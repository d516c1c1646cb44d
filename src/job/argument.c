/* SPDX-License-Identifier: Apache-2.0 */
#include "job/argument.h"

#include <string.h>

#define TWO(n) ((double)(1ULL << (n)))

const char *const kl_arg_kind_names[] = {
	[KL_ARG_DIM] = "dim", [KL_ARG_SCALAR] = "scalar", [KL_ARG_IN] = "in",
	[KL_ARG_OUT] = "out", [KL_ARG_INOUT] = "inout",   NULL,
};

/* clang-format off */
static const struct dtype {
	const char *name;
	size_t bytes;
	double int_min, int_max;
} dtypes[KL_DTYPES] = {
	[KL_F64] = { "f64", 8, -TWO(53), TWO(53) },
	[KL_F32] = { "f32", 4, -TWO(24), TWO(24) },
	[KL_F16] = { "f16", 2, -TWO(11), TWO(11) },
	[KL_BF16] = { "bf16", 2, -TWO(8), TWO(8) },
	[KL_I64] = { "i64", 8, -TWO(53), TWO(53) },
	[KL_I32] = { "i32", 4, -TWO(31), TWO(31) - 1 },
	[KL_I16] = { "i16", 2, -TWO(15), TWO(15) - 1 },
	[KL_I8] = { "i8", 1, -TWO(7), TWO(7) - 1 },
	[KL_U64] = { "u64", 8, 0, TWO(53) },
	[KL_U32] = { "u32", 4, 0, TWO(32) - 1 },
	[KL_U16] = { "u16", 2, 0, TWO(16) - 1 },
	[KL_U8] = { "u8", 1, 0, TWO(8) - 1 },
};
/* clang-format on */

bool kl_arg_kind_is_tensor(enum kl_arg_kind kind)
{
	return kind >= KL_ARG_IN;
}

bool kl_arg_kind_is_input(enum kl_arg_kind kind)
{
	return kind == KL_ARG_IN || kind == KL_ARG_INOUT;
}

bool kl_arg_kind_is_output(enum kl_arg_kind kind)
{
	return kind == KL_ARG_OUT || kind == KL_ARG_INOUT;
}

bool kl_dtype_parse(enum kl_dtype *out, const char *name)
{
	for (int i = 0; i < KL_DTYPES; i++) {
		if (!strcmp(dtypes[i].name, name)) {
			*out = (enum kl_dtype)i;
			return true;
		}
	}
	return false;
}

const char *kl_dtype_name(enum kl_dtype dtype)
{
	return dtypes[dtype].name;
}

const char *kl_dtype_list(void)
{
	return "f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8";
}

size_t kl_dtype_bytes(enum kl_dtype dtype)
{
	return dtypes[dtype].bytes;
}

bool kl_dtype_is_float(enum kl_dtype dtype)
{
	return dtype <= KL_BF16;
}

double kl_dtype_int_min(enum kl_dtype dtype)
{
	return dtypes[dtype].int_min;
}

double kl_dtype_int_max(enum kl_dtype dtype)
{
	return dtypes[dtype].int_max;
}

bool kl_dtype_holds(enum kl_dtype dtype, int64_t value)
{
	if (dtype == KL_I64 || dtype == KL_U64)
		return dtype == KL_I64 || value >= 0;
	return (double)value >= dtypes[dtype].int_min && (double)value <= dtypes[dtype].int_max;
}
