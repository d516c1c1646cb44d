/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/stub.h"

#include <stddef.h>

_Static_assert(offsetof(struct kl_control, go) == 0, "the stub knows these offsets");
_Static_assert(offsetof(struct kl_control, ready) == 64, "the stub knows these offsets");
_Static_assert(offsetof(struct kl_control, done) == 128, "the stub knows these offsets");
_Static_assert(offsetof(struct kl_control, saved) == 192, "the stub knows these offsets");
_Static_assert(offsetof(struct kl_saved_state, mxcsr) == 8, "the stub knows these offsets");
_Static_assert(offsetof(struct kl_saved_state, x87_control) == 12, "the stub knows these offsets");
_Static_assert(sizeof(struct kl_control) == 4096, "one page");

#ifdef __x86_64__
/*
 * Registers: rbx control page, r12 frame, r13 invoke, r14 traced, r15 last nonce. All are
 * callee-saved, so an honest kernel preserves them. If a kernel changes them, the parent restores
 * them, or detects the change.
 */
__asm__(".text\n"
	".p2align 6\n"
	".globl kl_stub_wait\n"
	".type kl_stub_wait, @function\n"
	"kl_stub_wait:\n"
	"	endbr64\n"
	"	mov	%rdi, %rbx\n"
	"	mov	%rsi, %r12\n"
	"	mov	%rdx, %r13\n"
	"	mov	%rcx, %r14\n"
	"	xor	%r15d, %r15d\n"
	"	test	%r8, %r8\n"
	"	cmovnz	%r8, %rsp\n"
	"	and	$-64, %rsp\n"
	"	jmp	kl_stub_stored\n"
	"1:	pause\n"
	"	mov	(%rbx), %rax\n"
	"	cmp	%r15, %rax\n"
	"	je	1b\n"
	"	mov	%rax, %r15\n"
	"	cld\n"
	"	fninit\n"
	"	ldmxcsr	kl_stub_mxcsr(%rip)\n"
	"	mov	%r12, %rdi\n"
	"	mov	%rax, %rsi\n"
	"	call	*%r13\n"
	"	sfence\n"
	"	mov	%r15, 128(%rbx)\n"
	".globl kl_stub_stored\n"
	".hidden kl_stub_stored\n"
	"kl_stub_stored:\n"
	"	test	%r14, %r14\n"
	"	jz	3f\n"
	"	int3\n"
	".globl kl_stub_trapped\n"
	".hidden kl_stub_trapped\n"
	"kl_stub_trapped:\n"
	"2:	mov	%r15, 64(%rbx)\n"
	"	jmp	1b\n"
	"3:	pushfq\n"
	"	popq	192(%rbx)\n"
	"	stmxcsr	200(%rbx)\n"
	"	fnstenv	204(%rbx)\n"
	"	jmp	2b\n"
	".size kl_stub_wait, . - kl_stub_wait\n"
	"kl_stub_mxcsr:\n"
	"	.long	0x1f80\n");
#else
void kl_stub_wait(struct kl_control *ctl, const void *frame, kl_stub_invoke invoke, uint64_t traced,
		  uint64_t stack)
{
	uint64_t last = 0, go;

	for (;;) {
		__atomic_store_n(&ctl->ready, last, __ATOMIC_RELEASE);
		while ((go = __atomic_load_n(&ctl->go, __ATOMIC_ACQUIRE)) == last)
			;
		last = go;
		invoke(frame, go);
		__atomic_store_n(&ctl->done, last, __ATOMIC_RELEASE);
	}
}
#endif
