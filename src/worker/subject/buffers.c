/* SPDX-License-Identifier: Apache-2.0 */
/* buffers - poisons a kernel's outputs, and flushes its buffers from the caches */
#include <string.h>

#include "worker/subject/poison.h"
#include "worker/subject/subject_state.h"

static void fill_random(unsigned char *bytes, size_t n, enum kl_dtype dtype, struct kl_rng *rng,
			bool like_an_answer)
{
	uint64_t keep, set, word;

	kl_poison_mask(&keep, &set, dtype, like_an_answer);
	for (; n >= 8; n -= 8, bytes += 8) {
		word = (kl_rng_u64(rng) & keep) | set;
		memcpy(bytes, &word, 8);
	}
	word = (kl_rng_u64(rng) & keep) | set;
	memcpy(bytes, &word, n);
}

/* Poison the bytes around the data of tensor `i`, and if `output` is set, the data too. */
static void poison_tensor(struct kl_cpu_subject *subject, uint32_t i, uint64_t seed, bool output)
{
	const struct kl_wire_arg *arg = &subject->arg[i];
	struct kl_tensor *tensor = &subject->tensor[i];
	size_t nslack = kl_place_slack(arg), before = subject->offset[i];
	struct kl_rng rng;

	kl_rng_seed(&rng, kl_rng_split(seed, i));
	if (output && arg->zeros)
		memset(tensor->map + before, 0, arg->bytes);
	else if (output)
		fill_random(tensor->map + before, arg->bytes, arg->dtype, &rng, seed & 1);
	fill_random(tensor->slack, nslack, arg->dtype, &rng, false);
	memcpy(tensor->map, tensor->slack, before);
	memcpy(tensor->map + before + arg->bytes, tensor->slack + before, nslack - before);
}

void kl_cpu_subject_poison(struct kl_cpu_subject *subject, uint64_t seed)
{
	for (uint32_t i = 0; i < subject->wire->nargs; i++)
		if (subject->arg[i].tensor)
			poison_tensor(subject, i, seed, subject->arg[i].kind == KL_ARG_OUT);
}

void kl_buffers_surround(struct kl_cpu_subject *subject, uint64_t seed)
{
	for (uint32_t i = 0; i < subject->wire->nargs; i++)
		if (subject->arg[i].tensor)
			poison_tensor(subject, i, seed, false);
}

#ifdef __x86_64__
#include <cpuid.h>

static bool has_clflushopt(void)
{
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & (1u << 23));
}

static void flush_lines(unsigned char *bytes, size_t n, bool opt)
{
	for (size_t i = 0; i < n; i += 64) {
		if (opt) /* clflushopt in bytes, for assemblers and -march settings without it */
			__asm__ volatile(".byte 0x66; clflush %0" : "+m"(bytes[i]));
		else
			__asm__ volatile("clflush %0" : "+m"(bytes[i]));
	}
}

void kl_buffers_flush(struct kl_cpu_subject *subject)
{
	bool opt = has_clflushopt();

	/*
	 * clflush evicts a line by its physical address from all caches, including those of the
	 * child's processor
	 */
	for (uint32_t i = 0; i < subject->wire->nargs; i++)
		if (subject->arg[i].tensor)
			flush_lines(subject->tensor[i].map, subject->arg[i].map_bytes, opt);
	flush_lines(subject->work.map, subject->work.bytes, opt);
	__asm__ volatile("mfence" ::: "memory");
}
#else
/*
 * Evict everything by reading more memory than any cache holds, because on this processor the gate
 * cannot flush by address.
 */
void kl_buffers_flush(struct kl_cpu_subject *s)
{
	enum { BYTES = 64 << 20 };
	unsigned char *big = kl_malloc(BYTES);

	memset(big, 1, BYTES);
	for (size_t i = 0; i < BYTES; i += 64)
		((volatile unsigned char *)big)[i];
	free(big);
}
#endif

void kl_cpu_subject_flush(struct kl_cpu_subject *subject)
{
	/* adapter_pack would bring the tensors back into the caches */
	if (subject->work.map)
		subject->work.flush = true;
	else
		kl_buffers_flush(subject);
}
