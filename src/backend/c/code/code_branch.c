/* SPDX-License-Identifier: Apache-2.0 */
/* code_branch - finds open branches: calls, jumps and returns whose targets depend on data */
#include <stdlib.h>
#include <string.h>

#include "backend/c/code/code.h"
#include "backend/c/code/isa_stack.h"

/*
 * The target of a call or jump through a pointer depends on data, unless the pointer is constant.
 * The target of a return also depends on data, unless the function provably keeps its return
 * address: the stack pointer moves only by constants; at the return, the stack pointer and rbp are
 * as they were at the start; no address of the stack is copied, indexed or passed on; and no store
 * goes to the return address or above it. The proof follows the function instruction by
 * instruction, and fails at an instruction that it does not understand.
 */
#define NONE INT64_MIN

/*
 * The state before an instruction. Places on the stack are given as bytes below the return address.
 */
struct frame {
	int64_t depth; /* place that rsp points to; NONE if the instruction was not reached yet */
	int64_t base;  /* place that rbp points to; NONE if rbp holds no address of the stack */
	int64_t saved; /* place where the caller's rbp is saved; NONE if it is still in rbp */
};

struct walk {
	const struct kl_code *code;
	size_t func, first, n;
	struct frame *at; /* states before the instructions; at[0]: before `first` */
	size_t *todo, ntodo;
	bool proven;
};

static void follow(struct walk *walk, size_t insn, const struct frame *frame)
{
	struct frame *known;

	if (insn < walk->first || insn >= walk->first + walk->n) {
		walk->proven = false;
		return;
	}
	known = &walk->at[insn - walk->first];
	if (known->depth == NONE) {
		*known = *frame;
		walk->todo[walk->ntodo++] = insn;
	} else if (memcmp(known, frame, sizeof(*known))) {
		walk->proven = false;
	}
}

static bool store_is_harmless(const struct kl_isa_stack *effect, const struct frame *frame)
{
	/* from and to: bytes above the return address; a negative number: below it */
	int64_t from = effect->disp - (effect->frame ? frame->base : frame->depth);
	int64_t to = from + effect->size;

	if (effect->disp < -(1 << 30) || effect->disp > 1 << 30 || to > 0)
		return false;
	return frame->saved == NONE || to <= -frame->saved || from >= -frame->saved + 8;
}

/* Pop rbp from the place `from`. Return false if the caller's rbp was not saved there. */
static bool restore(struct frame *frame, int64_t from)
{
	bool good = frame->saved == from;

	frame->depth = from - 8;
	frame->base = frame->saved = NONE;
	return good;
}

static bool apply_effect(struct frame *frame, const struct kl_isa_stack *effect)
{
	/* an instruction may change rbp only after the caller's rbp was saved */
	bool good = !effect->sets || frame->saved != NONE;

	switch (effect->kind) {
	case KL_ISA_STACK_NONE:
		return good;
	case KL_ISA_STACK_MOVE:
		frame->depth -= effect->by;
		return true;
	case KL_ISA_STACK_SAVE:
		frame->depth += 8;
		if (frame->saved == NONE)
			frame->saved = frame->depth;
		return true;
	case KL_ISA_STACK_STORE:
		return good && store_is_harmless(effect, frame);
	case KL_ISA_STACK_FRAME:
		frame->base = frame->depth;
		return frame->saved != NONE;
	case KL_ISA_STACK_LEAVE:
		frame->depth = frame->base - effect->by;
		return !effect->pops || restore(frame, frame->depth);
	case KL_ISA_STACK_RBP:
		return restore(frame, frame->depth);
	case KL_ISA_STACK_OTHER:
		return false;
	}
	return false;
}

static void apply(struct walk *walk, struct frame *frame, size_t i)
{
	size_t n = 0;
	const unsigned char *bytes = kl_code_insn_bytes(&n, walk->code, walk->func, i);
	struct kl_isa_stack effect;

	if (!bytes || !kl_isa_stack(&effect, bytes, n, frame->base != NONE) ||
	    !apply_effect(frame, &effect))
		walk->proven = false;
	/* if rsp were above the return address or the saved rbp, a push could overwrite these */
	if (frame->depth < 0 || frame->depth > 1 << 30 ||
	    (frame->saved != NONE && frame->depth < frame->saved))
		walk->proven = false;
}

static void leave_by(struct walk *walk, const struct frame *frame, size_t i)
{
	const struct kl_insn *in = &walk->code->insn[i];

	if (frame->depth || frame->saved != NONE || (kl_insn_is_end(in) && in->args[0]))
		walk->proven = false;
}

static void follow_jump(struct walk *walk, size_t i, const struct frame *frame)
{
	const struct kl_code *code = walk->code;
	struct kl_ref ref;

	kl_code_branch_target(&ref, code, walk->func, i);
	if (ref.kind == KL_REF_CODE && ref.func == walk->func)
		follow(walk, ref.insn, frame);
	else if (ref.kind == KL_REF_EXTERN ||
		 (ref.kind == KL_REF_CODE && ref.insn == code->func[ref.func].first))
		leave_by(walk, frame, i); /* a tail call must leave the stack as a return does */
	else
		walk->proven = false;
	if (!kl_insn_is_plain_jump(&code->insn[i]))
		follow(walk, i + 1, frame);
}

/*
 * Continue after a call. The called function has a proof of its own, which holds only if the call
 * enters the function at its first instruction.
 */
static void follow_call(struct walk *walk, size_t i, const struct frame *frame)
{
	const struct kl_code *code = walk->code;
	struct kl_ref ref;

	kl_code_branch_target(&ref, code, walk->func, i);
	if (ref.kind == KL_REF_CODE && ref.insn != code->func[ref.func].first)
		walk->proven = false;
	follow(walk, i + 1, frame);
}

static bool return_is_proven(const struct kl_code *code, size_t func)
{
	const struct kl_func *fn = &code->func[func];
	struct walk walk = {
		.code = code,
		.func = func,
		.first = fn->first,
		.n = fn->n,
		.at = kl_calloc(fn->n, sizeof(*walk.at)),
		.todo = kl_calloc(fn->n, sizeof(*walk.todo)),
		.proven = true,
	};
	const struct frame start = { .base = NONE, .saved = NONE };

	for (size_t k = 0; k < fn->n; k++)
		walk.at[k].depth = NONE;
	follow(&walk, fn->first, &start);
	while (walk.proven && walk.ntodo) {
		size_t i = walk.todo[--walk.ntodo];
		struct frame frame = walk.at[i - walk.first];
		const struct kl_insn *in = &code->insn[i];

		apply(&walk, &frame, i);
		if (!strncmp(in->op, "ret", 3))
			leave_by(&walk, &frame, i);
		else if (kl_insn_is_jump(in))
			follow_jump(&walk, i, &frame);
		else if (kl_insn_is_call(in))
			follow_call(&walk, i, &frame);
		else if (!kl_insn_is_end(in))
			follow(&walk, i + 1, &frame);
	}
	free(walk.at);
	free(walk.todo);
	return walk.proven;
}

static const char *pointer_branch_of(const struct kl_code *code, size_t func)
{
	const struct kl_func *fn = &code->func[func];
	struct kl_ref ref;

	for (size_t i = fn->first; i < fn->first + fn->n; i++) {
		if (!kl_insn_is_call(&code->insn[i]) && !kl_insn_is_jump(&code->insn[i]))
			continue;
		kl_code_branch_target(&ref, code, func, i);
		if (ref.kind == KL_REF_NONE)
			return kl_insn_is_call(&code->insn[i]) ? "calls through a pointer" :
								 "jumps through a pointer";
	}
	return NULL;
}

static const char *open_branch_of(const struct kl_code *code, size_t func)
{
	const char *how = pointer_branch_of(code, func);

	if (how || return_is_proven(code, func))
		return how;
	return "could return to another address";
}

static bool find_branch(struct kl_open_branch *out, const struct kl_code *code,
			const char *(*find)(const struct kl_code *code, size_t func))
{
	for (size_t k = 0; k < code->norder; k++) {
		const char *how = find(code, code->order[k]);

		if (!how)
			continue;
		*out = (struct kl_open_branch){ .func = code->func[code->order[k]].name,
						.how = how };
		return true;
	}
	return false;
}

bool kl_code_open_branch(struct kl_open_branch *out, const struct kl_code *code)
{
	return find_branch(out, code, open_branch_of);
}

bool kl_code_pointer_branch(struct kl_open_branch *out, const struct kl_code *code)
{
	return find_branch(out, code, pointer_branch_of);
}
