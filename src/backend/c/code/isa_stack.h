/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_CODE_ISA_STACK_H
#define KL_BACKEND_C_CODE_ISA_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * isa_stack - decodes what one x86-64 instruction does to the stack. That is enough to prove that a
 * function returns to its caller (backend/c/code/code_branch.c). An instruction that is not
 * understood is KL_ISA_STACK_OTHER.
 */
enum kl_isa_stack_kind {
	KL_ISA_STACK_NONE,  /* does not use the stack, or only reads from it */
	KL_ISA_STACK_MOVE,  /* rsp += by: push, pop, sub, add, lea */
	KL_ISA_STACK_SAVE,  /* push %rbp */
	KL_ISA_STACK_STORE, /* stores `size` bytes at base + disp */
	KL_ISA_STACK_FRAME, /* mov %rsp, %rbp */
	KL_ISA_STACK_LEAVE, /* rsp = rbp + by; the instruction leave also pops rbp */
	KL_ISA_STACK_RBP,   /* pop %rbp */
	KL_ISA_STACK_OTHER, /* everything else: copies an address of the stack, indexes it ... */
};

struct kl_isa_stack {
	enum kl_isa_stack_kind kind;
	bool frame; /* STORE: the base is rbp, not rsp */
	bool pops;  /* LEAVE: also pops rbp */
	bool sets;  /* NONE, STORE: changes rbp, which holds no address of the stack */
	int64_t by, disp;
	unsigned size;
};

/**
 * Decode the instruction at `bytes`. `framed` is true if rbp holds an address of the stack. Calls
 * and returns are KL_ISA_STACK_NONE, because the caller handles them. Return false if no
 * instruction starts there.
 */
bool kl_isa_stack(struct kl_isa_stack *out, const unsigned char *bytes, size_t n, bool framed);

#endif
