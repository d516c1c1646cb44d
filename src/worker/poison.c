/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/poison.h"

static void pattern(enum kl_dtype t, uint64_t *keep, uint64_t *set)
{
	*keep = ~(uint64_t)0;
	*set = 0;
	switch (t) {
	case KL_F64:
		*keep = 0x0007ffffffffffffu;
		*set = 0x7ff0000000000001u;	/* signalling NaN */
		break;
	case KL_F32:
		*keep = 0x003fffff003fffffu;
		*set = 0x7f8000017f800001u;
		break;
	case KL_F16:
		*keep = 0x01ff01ff01ff01ffu;
		*set = 0x7c017c017c017c01u;
		break;
	case KL_BF16:
		*keep = 0x003f003f003f003fu;
		*set = 0x7f817f817f817f81u;
		break;
	case KL_I64:
	case KL_U64:
		*keep = 0x3fffffffffffffffu;
		*set = 0x4000000000000000u;
		break;
	case KL_I32:
	case KL_U32:
		*keep = 0x3fffffff3fffffffu;
		*set = 0x4000000040000000u;
		break;
	default:
		break;
	}
}

static void plausible(enum kl_dtype t, uint64_t *keep, uint64_t *set)
{
	/* of floats: the sign, one bit of the exponent, the significand */
	switch (t) {
	case KL_F64:
		*keep = 0x802fffffffffffffu;
		*set = 0x3fd0000000000000u;
		break;
	case KL_F32:
		*keep = 0x817fffff817fffffu;
		*set = 0x3e8000003e800000u;
		break;
	case KL_F16:
		*keep = 0x8bff8bff8bff8bffu;
		*set = 0x3400340034003400u;
		break;
	case KL_BF16:
		*keep = 0x817f817f817f817fu;
		*set = 0x3e803e803e803e80u;
		break;
	case KL_I64:
	case KL_U64:
		*keep = 0x3f;
		*set = 0;
		break;
	case KL_I32:
	case KL_U32:
		*keep = 0x0000003f0000003fu;
		*set = 0;
		break;
	case KL_I16:
	case KL_U16:
		*keep = 0x003f003f003f003fu;
		*set = 0;
		break;
	default:
		*keep = 0x3f3f3f3f3f3f3f3fu;
		*set = 0;
		break;
	}
}

void kl_poison_mask(uint64_t *keep, uint64_t *set, enum kl_dtype t, bool like_an_answer)
{
	if (like_an_answer)
		plausible(t, keep, set);
	else
		pattern(t, keep, set);
}
