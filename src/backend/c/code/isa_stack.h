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
	/* any other use of the stack, such as copying or indexing an address of it */
	KL_ISA_STACK_OTHER,
};

struct kl_isa_stack {
	enum kl_isa_stack_kind kind;
	bool frame; /* for STORE: the base is rbp, not rsp */
	bool pops;  /* for LEAVE: the instruction also pops rbp */
	/*
	 * for NONE and STORE: the instruction changes rbp, and rbp then holds no address of the
	 * stack
	 */
	bool sets;
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
