/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/ptx_clock.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cuda/ptx_flow.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/prefix.h"

/*
 * Limits that bound the time of a check. No output of a compiler reaches them. Each pass reads the
 * whole function, and each branch that depends on a clock causes a search of the whole function.
 */
#define MAX_PASSES 200
#define MAX_BRANCHES 1000

/* The registers and blocks of a function that depend on a clock. */
struct taint {
	const struct kl_ptx_fn *fn;
	struct kl_ptx_flow flow;
	const char *clock; /* the first clock that the function reads */
	bool *reg;         /* true for each register that depends on a clock */
	bool *inside;      /* true for each block that runs or not depending on a clock */
	bool *region;      /* buffer for kl_ptx_flow_region() */
	bool *entered;     /* true for each block for whose branch enter_region() was called */
	size_t npass, nbranch;
	bool changed;
};

static void taint_release(struct taint *taint)
{
	kl_ptx_flow_release(&taint->flow);
	free(taint->reg);
	free(taint->inside);
	free(taint->region);
	free(taint->entered);
}

static bool is_one_of(const char *op, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (kl_prefix_is_dotted(op, words[i]))
			return true;
	return false;
}

/* Return true if the instruction only computes its first operand from the others. */
static bool is_value(const char *op)
{
	static const char *const words[] = {
		"mov", "cvt",  "cvta",  "add",  "addc",  "sub",  "subc",     "mul",  "mul24",
		"mad", "madc", "mad24", "fma",  "div",   "rem",  "abs",      "neg",  "min",
		"max", "sad",  "and",   "or",   "xor",   "not",  "cnot",     "lop3", "shl",
		"shr", "shf",  "bfe",   "bfi",  "bfind", "brev", "clz",      "popc", "prmt",
		"set", "setp", "selp",  "slct", "ld",    "ldu",  "isspacep",
	};

	return is_one_of(op, words, KL_ARRAY_SIZE(words)) ||
	       !strncmp(op, "mbarrier.test_wait", 18) || !strncmp(op, "mbarrier.try_wait", 17);
}

/* Return true if the instruction computes no value, but may depend on a clock. */
static bool is_wait(const char *op)
{
	static const char *const words[] = { "nanosleep", "trap", "bra", "membar", "fence" };

	return is_one_of(op, words, KL_ARRAY_SIZE(words));
}

static int refuse_use(const struct taint *taint, const struct kl_ptx_insn *insn)
{
	return kl_error(KL_ENO,
			"'%s' reads the clock %s, and '%s' depends on its value: a clock may "
			"only bound a wait (nanosleep, spin waits, traps)",
			taint->fn->name, taint->clock, insn->op);
}

static void taint_outputs(struct taint *taint, const struct kl_ptx_insn *insn)
{
	for (size_t i = 0; i < insn->nout; i++) {
		taint->changed |= !taint->reg[insn->reg[i]];
		taint->reg[insn->reg[i]] = true;
	}
}

static bool has_tainted_input(const struct taint *taint, const struct kl_ptx_insn *insn)
{
	/* an instruction for which is_value() is false can also read its first operand */
	size_t first = is_value(insn->op) ? insn->nout : 0;

	for (size_t i = first; i < insn->nreg; i++)
		if (taint->reg[insn->reg[i]])
			return true;
	return insn->clock != NULL;
}

/*
 * Mark all blocks between the branch at the end of `block`, which depends on a clock, and the point
 * where the paths of the branch meet.
 */
static int enter_region(struct taint *taint, size_t block)
{
	if (taint->entered[block])
		return 0;
	if (++taint->nbranch > MAX_BRANCHES)
		return kl_error(KL_ENO, "'%s' branches on the clock %s more than %d times",
				taint->fn->name, taint->clock, MAX_BRANCHES);
	taint->entered[block] = true;
	kl_ptx_flow_region(&taint->flow, block, taint->region);
	for (size_t i = 0; i < taint->flow.nblock; i++) {
		taint->changed |= taint->region[i] && !taint->inside[i];
		taint->inside[i] |= taint->region[i];
	}
	return 0;
}

static int follow_insn(struct taint *taint, const struct kl_ptx_insn *insn)
{
	bool guarded = insn->guard != KL_PTX_NO_REGISTER && taint->reg[insn->guard];
	bool input = has_tainted_input(taint, insn);

	if (!guarded && !input && !taint->inside[insn->block])
		return 0;
	if (is_value(insn->op)) {
		taint_outputs(taint, insn);
		return 0;
	}
	if (!is_wait(insn->op))
		return refuse_use(taint, insn);
	return guarded && kl_prefix_is_dotted(insn->op, "bra") ? enter_region(taint, insn->block) :
								 0;
}

static const char *first_clock(const struct kl_ptx_fn *fn)
{
	for (size_t i = 0; i < fn->special.n; i++)
		if (kl_ptx_is_clock(fn->special.v[i]))
			return fn->special.v[i];
	return NULL;
}

int kl_ptx_clock(const struct kl_ptx_fn *fn)
{
	KL_AUTO(taint_release) struct taint taint = { .fn = fn, .clock = first_clock(fn) };
	int err = taint.clock ? kl_ptx_flow_read(&taint.flow, fn) : 0;

	if (err < 0 || !taint.clock)
		return err;
	taint.reg = kl_calloc(taint.flow.nregister + 1, sizeof(*taint.reg));
	taint.inside = kl_calloc(taint.flow.nblock + 1, sizeof(*taint.inside));
	taint.region = kl_calloc(taint.flow.nblock + 1, sizeof(*taint.region));
	taint.entered = kl_calloc(taint.flow.nblock + 1, sizeof(*taint.entered));
	do {
		taint.changed = false;
		if (taint.npass++ == MAX_PASSES)
			return kl_error(
				KL_ENO,
				"'%s' uses the clock %s in a way that is too complex to follow",
				fn->name, taint.clock);
		for (size_t i = 0; i < taint.flow.ninsn && err == 0; i++)
			err = follow_insn(&taint, &taint.flow.insn[i]);
	} while (err == 0 && taint.changed);
	return err;
}
