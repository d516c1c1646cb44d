/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "worker/subject_state.h"

/*
 * Bits that no honest answer has, whatever the neighbours of an element: for
 * floats NaNs with a payload, for integers far from any index or small value.
 */
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

/* Bits that many an honest answer has: floats of magnitude 1/4 to 1/2 and 1 to 2, small integers. */
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

static void fill(unsigned char *p, size_t n, enum kl_dtype t, struct kl_rng *r, bool like_an_answer)
{
	uint64_t keep, set, word;

	if (like_an_answer)
		plausible(t, &keep, &set);
	else
		pattern(t, &keep, &set);
	for (; n >= 8; n -= 8, p += 8) {
		word = (kl_rng_u64(r) & keep) | set;
		memcpy(p, &word, 8);
	}
	word = (kl_rng_u64(r) & keep) | set;
	memcpy(p, &word, n);
}

void kl_subject_poison(struct kl_subject *s, uint64_t seed)
{
	struct kl_rng r;

	for (uint32_t i = 0; i < s->wire->nargs; i++) {
		const struct kl_wire_arg *a = &s->wire->arg[i];
		struct kl_tensor *t = &s->tensor[i];

		if (!a->tensor)
			continue;
		kl_rng_seed(&r, kl_rng_derive(seed, s->name[i]));
		if (a->role == KL_ROLE_OUT)
			fill(t->map + a->offset, a->bytes, a->dtype, &r, seed & 1);
		fill(t->slack, t->nslack, a->dtype, &r, false);
		memcpy(t->map + (a->offset ? 0 : a->bytes), t->slack, t->nslack);
	}
}

#ifdef __x86_64__
#include <cpuid.h>

static bool has_clflushopt(void)
{
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 23));
}

static void flush(unsigned char *p, size_t n, bool opt)
{
	for (size_t i = 0; i < n; i += 64) {
		if (opt)	/* clflushopt, for assemblers and -march that lack it */
			__asm__ volatile(".byte 0x66; clflush %0" : "+m"(p[i]));
		else
			__asm__ volatile("clflush %0" : "+m"(p[i]));
	}
}

void kl_subject_flush(struct kl_subject *s)
{
	bool opt = has_clflushopt();

	/* lines are evicted by their physical address, hence from the child's processor too */
	for (uint32_t i = 0; i < s->wire->nargs; i++)
		if (s->wire->arg[i].tensor)
			flush(s->tensor[i].map, s->wire->arg[i].map_bytes, opt);
	__asm__ volatile("mfence" ::: "memory");
}
#else
/* No unprivileged flush by address: read something else of more than any cache's size. */
void kl_subject_flush(struct kl_subject *s)
{
	enum { BYTES = 64 << 20 };
	unsigned char *big = kl_malloc(BYTES);

	memset(big, 1, BYTES);
	for (size_t i = 0; i < BYTES; i += 64)
		((volatile unsigned char *)big)[i];
	free(big);
}
#endif
