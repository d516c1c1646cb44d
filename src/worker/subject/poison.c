/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/poison.h"

struct mask {
	uint64_t keep, set;
};

/*
 * Masks of the first kind, which is no plausible answer: floats are signalling NaNs, integers are
 * large. Integers of 8 and 16 bits are random, since each value can be an answer.
 */
static const struct mask wild[] = {
	[KL_F64] = { 0x0007ffffffffffffu, 0x7ff0000000000001u },
	[KL_F32] = { 0x003fffff003fffffu, 0x7f8000017f800001u },
	[KL_F16] = { 0x01ff01ff01ff01ffu, 0x7c017c017c017c01u },
	[KL_BF16] = { 0x003f003f003f003fu, 0x7f817f817f817f81u },
	[KL_I64] = { 0x3fffffffffffffffu, 0x4000000000000000u },
	[KL_U64] = { 0x3fffffffffffffffu, 0x4000000000000000u },
	[KL_I32] = { 0x3fffffff3fffffffu, 0x4000000040000000u },
	[KL_U32] = { 0x3fffffff3fffffffu, 0x4000000040000000u },
	[KL_I16] = { ~(uint64_t)0, 0 },
	[KL_U16] = { ~(uint64_t)0, 0 },
	[KL_I8] = { ~(uint64_t)0, 0 },
	[KL_U8] = { ~(uint64_t)0, 0 },
};

/*
 * Masks of the second kind, which looks like an answer: floats whose sign, significand and one bit
 * of the exponent are random, and integers below 64.
 */
static const struct mask like[] = {
	[KL_F64] = { 0x802fffffffffffffu, 0x3fd0000000000000u },
	[KL_F32] = { 0x817fffff817fffffu, 0x3e8000003e800000u },
	[KL_F16] = { 0x8bff8bff8bff8bffu, 0x3400340034003400u },
	[KL_BF16] = { 0x817f817f817f817fu, 0x3e803e803e803e80u },
	[KL_I64] = { 0x3f, 0 },
	[KL_U64] = { 0x3f, 0 },
	[KL_I32] = { 0x0000003f0000003fu, 0 },
	[KL_U32] = { 0x0000003f0000003fu, 0 },
	[KL_I16] = { 0x003f003f003f003fu, 0 },
	[KL_U16] = { 0x003f003f003f003fu, 0 },
	[KL_I8] = { 0x3f3f3f3f3f3f3f3fu, 0 },
	[KL_U8] = { 0x3f3f3f3f3f3f3f3fu, 0 },
};

void kl_poison_mask(uint64_t *keep, uint64_t *set, enum kl_dtype dtype, bool like_an_answer)
{
	const struct mask *mask = like_an_answer ? &like[dtype] : &wild[dtype];

	*keep = mask->keep;
	*set = mask->set;
}
