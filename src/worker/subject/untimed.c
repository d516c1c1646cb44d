/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/untimed.h"

#include "base/error.h"

#define INTEGERS 6 /* registers for arguments (System V ABI for x86-64) */
#define FLOATS 8

void kl_untimed_add(struct kl_untimed_args *args, enum kl_dtype dtype, const uint64_t *value)
{
	args->dtype[args->n] = dtype;
	args->value[args->n++] = value;
}

#ifdef __x86_64__
/* void enter(void (*fn)(void), const uint64_t *integers, floats, stack, uint64_t nstack) */
__asm__(".text\n"
	".p2align 4\n"
	".globl kl_untimed_enter\n"
	".hidden kl_untimed_enter\n"
	".type kl_untimed_enter, @function\n"
	"kl_untimed_enter:\n"
	"	endbr64\n"
	"	push	%rbp\n"
	"	mov	%rsp, %rbp\n"
	"	mov	%rdi, %r11\n"
	"	mov	%rsi, %r10\n"
	"	lea	(,%r8,8), %rax\n"
	"	sub	%rax, %rsp\n"
	"	and	$-16, %rsp\n"
	"	xor	%eax, %eax\n"
	"1:	cmp	%r8, %rax\n"
	"	je	2f\n"
	"	mov	(%rcx,%rax,8), %r9\n"
	"	mov	%r9, (%rsp,%rax,8)\n"
	"	inc	%rax\n"
	"	jmp	1b\n"
	"2:	movsd	(%rdx), %xmm0\n"
	"	movsd	8(%rdx), %xmm1\n"
	"	movsd	16(%rdx), %xmm2\n"
	"	movsd	24(%rdx), %xmm3\n"
	"	movsd	32(%rdx), %xmm4\n"
	"	movsd	40(%rdx), %xmm5\n"
	"	movsd	48(%rdx), %xmm6\n"
	"	movsd	56(%rdx), %xmm7\n"
	"	mov	(%r10), %rdi\n"
	"	mov	8(%r10), %rsi\n"
	"	mov	16(%r10), %rdx\n"
	"	mov	24(%r10), %rcx\n"
	"	mov	32(%r10), %r8\n"
	"	mov	40(%r10), %r9\n"
	"	call	*%r11\n"
	"	leave\n"
	"	ret\n"
	".size kl_untimed_enter, . - kl_untimed_enter\n");
void kl_untimed_enter(void (*fn)(void), const uint64_t *integers, const uint64_t *floats,
		      const uint64_t *stack, uint64_t nstack);

/* Widen a value as callers do; code from some compilers relies on this. */
static uint64_t widen_value(enum kl_dtype dtype, uint64_t word)
{
	switch (dtype) {
	case KL_I8:
		return (uint64_t)(int64_t)(int8_t)word;
	case KL_I16:
		return (uint64_t)(int64_t)(int16_t)word;
	case KL_I32:
		return (uint64_t)(int64_t)(int32_t)word;
	default:
		return word;
	}
}

void kl_untimed_call(void (*fn)(void), const struct kl_untimed_args *args)
{
	uint64_t integer[INTEGERS] = { 0 }, real[FLOATS] = { 0 }, stack[KL_MAX_ARGS + 1];
	size_t ninteger = 0, nreal = 0, nstack = 0;

	for (uint32_t i = 0; i < args->n; i++) {
		bool is_real = args->dtype[i] == KL_F64 || args->dtype[i] == KL_F32;
		uint64_t word = widen_value(args->dtype[i], *args->value[i]);

		if (is_real && nreal < FLOATS)
			real[nreal++] = word;
		else if (!is_real && ninteger < INTEGERS)
			integer[ninteger++] = word;
		else
			stack[nstack++] = word;
	}
	kl_untimed_enter(fn, integer, real, stack, nstack);
}
#else
void kl_untimed_call(void (*fn)(void), const struct kl_untimed_args *args)
{
	KL_BUG("an adapter on another processor than x86-64");
}
#endif
