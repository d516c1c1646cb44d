/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_CODE_ISA_STACK_H
#define KL_BACKEND_C_CODE_ISA_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * isa_stack - what one x86-64 instruction does to the stack: enough to prove that a function
 * returns to its caller (backend/c/code/code_branch.h). What is not understood is KL_ISA_STACK_OTHER.
 */
enum kl_isa_stack_kind {
	KL_ISA_STACK_NONE,  /* does not touch it, or only reads from it */
	KL_ISA_STACK_MOVE,  /* rsp += by: push, pop, sub, add, lea */
	KL_ISA_STACK_SAVE,  /* push %rbp */
	KL_ISA_STACK_STORE, /* stores `size` bytes at base + disp */
	KL_ISA_STACK_FRAME, /* mov %rsp, %rbp */
	KL_ISA_STACK_LEAVE, /* rsp = rbp + by; leave also pops rbp */
	KL_ISA_STACK_RBP,   /* pop %rbp */
	KL_ISA_STACK_OTHER, /* copies an address of the stack, indexes it ... */
};

struct kl_isa_stack {
	enum kl_isa_stack_kind kind;
	bool frame; /* STORE: the base is rbp, not rsp */
	bool pops;  /* LEAVE: rbp is popped, too */
	bool sets;  /* NONE, STORE: rbp, which holds no address of the stack, is changed */
	int64_t by, disp;
	unsigned size;
};

/**
 * Decode the instruction at `bytes`. `framed`: rbp holds an address of the stack. Calls and returns
 * are KL_ISA_STACK_NONE: the caller knows what they do. False: no instruction starts there.
 */
bool kl_isa_stack(struct kl_isa_stack *out, const unsigned char *bytes, size_t n, bool framed);

#endif
