/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/team_loop.h"

#include <stdlib.h>

uint32_t kl_team_regions, kl_team_working, kl_team_sleepers;

#if KL_TEAM_LOOP
/*
 * The system call is futex (202), with FUTEX_WAIT_PRIVATE (128) or FUTEX_WAKE_PRIVATE (129). The
 * addresses of the words are loaded again for each use, because the kernel can change every
 * register.
 */
__asm__(".text\n"
	".p2align 6\n"
	".globl kl_team_loop\n"
	".type kl_team_loop, @function\n"
	"kl_team_loop:\n"
	"	endbr64\n"
	"	and	$-64, %rsp\n"
	"	xor	%r15d, %r15d\n"
	"	jmp	1f\n"
	".globl kl_team_joined\n"
	".hidden kl_team_joined\n"
	"kl_team_joined:\n"
	"	lock decl kl_team_working(%rip)\n"
	"	jnz	1f\n"
	"	mov	$202, %eax\n"
	"	lea	kl_team_working(%rip), %rdi\n"
	"	mov	$129, %esi\n"
	"	mov	$1, %edx\n"
	"	xor	%r10d, %r10d\n"
	"	syscall\n"
	"1:	mov	$1000, %ecx\n"
	"	jmp	kl_team_look\n"
	"2:	pause\n"
	"	dec	%ecx\n"
	"	jnz	kl_team_look\n"
	"	lock incl kl_team_sleepers(%rip)\n"
	"	mov	$202, %eax\n"
	"	lea	kl_team_regions(%rip), %rdi\n"
	"	mov	$128, %esi\n"
	"	mov	%r15d, %edx\n"
	"	xor	%r10d, %r10d\n"
	"	syscall\n"
	"	lock decl kl_team_sleepers(%rip)\n"
	"	jmp	1b\n"
	".globl kl_team_look\n"
	".hidden kl_team_look\n"
	"kl_team_look:\n"
	"	mov	kl_team_regions(%rip), %eax\n"
	"	cmp	%r15d, %eax\n"
	"	je	2b\n"
	"	mov	%eax, %r15d\n"
	".globl kl_team_begun\n"
	".hidden kl_team_begun\n"
	"kl_team_begun:\n"
	"	cld\n"
	"	fninit\n"
	"	ldmxcsr	kl_team_mxcsr(%rip)\n"
	"	call	kl_team_work\n"
	"	jmp	kl_team_joined\n"
	".size kl_team_loop, . - kl_team_loop\n"
	"kl_team_mxcsr:\n"
	"	.long	0x1f80\n");
#else
const char kl_team_joined[1], kl_team_look[1], kl_team_begun[1];

void kl_team_loop(void)
{
	abort();
}
#endif
