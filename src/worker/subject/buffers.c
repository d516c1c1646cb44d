/* SPDX-License-Identifier: Apache-2.0 */
/* buffers - poisons a kernel's outputs, and flushes its buffers from the caches */
#include <string.h>

#include "worker/subject/poison.h"
#include "worker/subject/subject_state.h"

static void fill_random(unsigned char *p, size_t n, enum kl_dtype t, struct kl_rng *r,
			bool like_an_answer)
{
	uint64_t keep, set, word;

	kl_poison_mask(&keep, &set, t, like_an_answer);
	for (; n >= 8; n -= 8, p += 8) {
		word = (kl_rng_u64(r) & keep) | set;
		memcpy(p, &word, 8);
	}
	word = (kl_rng_u64(r) & keep) | set;
	memcpy(p, &word, n);
}

void kl_cpu_subject_poison(struct kl_cpu_subject *s, uint64_t seed)
{
	struct kl_rng r;

	for (uint32_t i = 0; i < s->wire->nargs; i++) {
		const struct kl_wire_arg *a = &s->wire->arg[i];
		struct kl_tensor *t = &s->tensor[i];

		if (!a->tensor)
			continue;
		kl_rng_seed(&r, kl_rng_derive(seed, s->name[i]));
		if (a->role == KL_ROLE_OUT)
			fill_random(t->map + a->offset, a->bytes, a->dtype, &r, seed & 1);
		fill_random(t->slack, t->nslack, a->dtype, &r, false);
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

static void flush_lines(unsigned char *p, size_t n, bool opt)
{
	for (size_t i = 0; i < n; i += 64) {
		if (opt) /* clflushopt, for assemblers and -march that lack it */
			__asm__ volatile(".byte 0x66; clflush %0" : "+m"(p[i]));
		else
			__asm__ volatile("clflush %0" : "+m"(p[i]));
	}
}

void kl_cpu_subject_flush(struct kl_cpu_subject *s)
{
	bool opt = has_clflushopt();

	/* lines are evicted by their physical address, hence from the child's processor too */
	for (uint32_t i = 0; i < s->wire->nargs; i++)
		if (s->wire->arg[i].tensor)
			flush_lines(s->tensor[i].map, s->wire->arg[i].map_bytes, opt);
	__asm__ volatile("mfence" ::: "memory");
}
#else
/* No unprivileged flush by address: read something else of more than any cache's size. */
void kl_cpu_subject_flush(struct kl_cpu_subject *s)
{
	enum { BYTES = 64 << 20 };
	unsigned char *big = kl_malloc(BYTES);

	memset(big, 1, BYTES);
	for (size_t i = 0; i < BYTES; i += 64)
		((volatile unsigned char *)big)[i];
	free(big);
}
#endif
