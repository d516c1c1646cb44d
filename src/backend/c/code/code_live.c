/* SPDX-License-Identifier: Apache-2.0 */
/* code_live - finds the instructions that the entry executes along jumps, calls and returns */
#include <stdlib.h>
#include <string.h>

#include "backend/c/code/code.h"
#include "base/prefix.h"

/*
 * Instructions are followed one by one. The instruction after a call is executed only if the called
 * function returns. Stored addresses are not followed, with one exception: where OpenMP is called,
 * the functions that gcc makes of parallel regions are followed. A call or jump through a pointer
 * that is not constant can go to any function whose address is taken; if the executed code has such
 * a branch, a second pass marks the instructions that these functions execute as KL_INSN_POINTED.
 */
#define NONE SIZE_MAX

struct place {
	size_t func, insn; /* if `insn` is NONE, the place is the return of `func` */
};

struct places {
	struct place *v;
	size_t n, alloc;
};

struct live {
	struct kl_code *code;
	enum kl_insn_use use; /* the use that this pass marks */
	struct places todo;
	bool *returns;             /* true for each function that can return */
	struct places *waiting;    /* for each function: places that are executed once it returns */
	struct kl_targets *tables; /* for each function: targets in its jump tables */
	/* true for each function whose jump tables were read into `tables` */
	bool *has_tables;
	/* the target of a call or jump in the executed code depends on data */
	bool open;
};

static void push_place(struct places *places, size_t func, size_t insn)
{
	KL_GROW(places->v, places->n + 1, places->alloc);
	places->v[places->n++] = (struct place){ func, insn };
}

static void mark_insn(struct live *live, size_t func, size_t insn)
{
	if (insn >= live->code->ninsn || live->code->insn[insn].use >= live->use)
		return;
	live->code->insn[insn].use = live->use;
	push_place(&live->todo, func, insn);
}

static void mark_return(struct live *live, size_t func)
{
	struct places returning = { 0 };

	push_place(&returning, func, NONE);
	while (returning.n) {
		size_t from = returning.v[--returning.n].func;
		struct places *waiting = &live->waiting[from];

		if (live->returns[from])
			continue;
		live->returns[from] = true;
		for (size_t k = 0; k < waiting->n; k++) {
			if (waiting->v[k].insn == NONE)
				push_place(&returning, waiting->v[k].func, NONE);
			else
				mark_insn(live, waiting->v[k].func, waiting->v[k].insn);
		}
		waiting->n = 0;
	}
	free(returning.v);
}

/*
 * Mark instruction `insn` of `func` as executed once `callee` returns. If `insn` is NONE, `func`
 * returns once `callee` returns.
 */
static void mark_after(struct live *live, size_t callee, size_t func, size_t insn)
{
	if (!live->returns[callee])
		push_place(&live->waiting[callee], func, insn);
	else if (insn == NONE)
		mark_return(live, func);
	else
		mark_insn(live, func, insn);
}

/*
 * Mark the next instruction. If `insn` is the last of its function, execution continues in the next
 * function.
 */
static void mark_next(struct live *live, size_t func, size_t insn)
{
	const struct kl_code *code = live->code;
	const struct kl_func *fn = &code->func[func];

	if (insn + 1 < fn->first + fn->n) {
		mark_insn(live, func, insn + 1);
	} else if (func + 1 < code->nfunc && fn[1].obj == fn->obj && fn[1].sec == fn->sec) {
		mark_insn(live, func + 1, fn[1].first);
		mark_after(live, func + 1, func, NONE);
	}
}

/* Return true for the functions of OpenMP that call a function whose address is passed to them. */
static bool runs_region(const char *name)
{
	return kl_prefix_has(name, "GOMP_parallel") || !strcmp(name, "GOMP_task");
}

/*
 * Mark the instructions that the parallel regions and tasks of `func` execute. gcc makes a function
 * of each region and task. The function's name contains "._omp_fn.", and its address is passed to a
 * function of OpenMP.
 */
static void mark_regions(struct live *live, size_t func)
{
	const struct kl_func *fn = &live->code->func[func];
	struct kl_ref ref;

	for (size_t i = fn->first; i < fn->first + fn->n; i++) {
		kl_code_insn_ref(&ref, live->code, func, i);
		if (ref.kind == KL_REF_CODE && ref.insn == live->code->func[ref.func].first &&
		    strstr(live->code->func[ref.func].name, "._omp_fn."))
			mark_insn(live, ref.func, ref.insn);
	}
}

static void follow_call(struct live *live, size_t func, size_t insn)
{
	const struct kl_func *fn = &live->code->func[func];
	size_t next = insn + 1 < fn->first + fn->n ? insn + 1 : NONE;
	struct kl_ref ref;

	kl_code_branch_target(&ref, live->code, func, insn);
	live->open |= ref.kind == KL_REF_NONE;
	if (ref.kind == KL_REF_EXTERN && runs_region(ref.name))
		mark_regions(live, func);
	if (ref.kind != KL_REF_CODE) {
		mark_next(live, func, insn);
		return;
	}
	mark_insn(live, ref.func, ref.insn);
	if (next != NONE)
		mark_after(live, ref.func, func, next);
}

static const struct kl_targets *tables_of(struct live *live, size_t func)
{
	if (!live->has_tables[func])
		kl_code_table_targets(&live->tables[func], live->code, func);
	live->has_tables[func] = true;
	return &live->tables[func];
}

static void follow_jump(struct live *live, size_t func, size_t insn)
{
	const struct kl_insn *in = &live->code->insn[insn];
	const struct kl_targets *targets;
	struct kl_ref ref;

	kl_code_branch_target(&ref, live->code, func, insn);
	if (ref.kind == KL_REF_CODE) {
		mark_insn(live, ref.func, ref.insn);
		if (ref.func != func)
			mark_after(live, ref.func, func, NONE);
	} else if (ref.kind == KL_REF_EXTERN) {
		if (runs_region(ref.name)) /* the call is a tail call */
			mark_regions(live, func);
		mark_return(live, func);
	} else if (kl_insn_is_indirect(in)) {
		targets = tables_of(live, func);
		for (size_t k = 0; k < targets->n; k++)
			mark_insn(live, func, targets->v[k]);
		live->open |= !targets->n;
		if (!targets->n)
			mark_return(live, func);
	}
	if (!kl_insn_is_plain_jump(in))
		mark_next(live, func, insn);
}

static void follow_all(struct live *live)
{
	while (live->todo.n) {
		struct place place = live->todo.v[--live->todo.n];
		const struct kl_insn *in = &live->code->insn[place.insn];

		if (kl_insn_is_call(in))
			follow_call(live, place.func, place.insn);
		else if (kl_insn_is_jump(in))
			follow_jump(live, place.func, place.insn);
		else if (!kl_insn_is_end(in))
			mark_next(live, place.func, place.insn);
		else if (!strncmp(in->op, "ret", 3))
			mark_return(live, place.func);
	}
}

/*
 * Follow all reached functions, and mark the instructions that are still dead as KL_INSN_POINTED.
 */
static void mark_pointed(struct live *live)
{
	const struct kl_code *code = live->code;

	live->use = KL_INSN_POINTED;
	for (size_t k = 0; k < code->norder; k++)
		mark_insn(live, code->order[k], code->func[code->order[k]].first);
	follow_all(live);
}

void kl_code_live(struct kl_code *code)
{
	struct live live = {
		.code = code,
		.use = KL_INSN_LIVE,
		.returns = kl_calloc(code->nfunc, sizeof(*live.returns)),
		.waiting = kl_calloc(code->nfunc, sizeof(*live.waiting)),
		.tables = kl_calloc(code->nfunc, sizeof(*live.tables)),
		.has_tables = kl_calloc(code->nfunc, sizeof(*live.has_tables)),
	};

	for (size_t i = 0; i < code->ninsn; i++)
		code->insn[i].use = KL_INSN_DEAD;
	if (code->norder)
		mark_insn(&live, code->order[0], code->func[code->order[0]].first);
	follow_all(&live);
	if (live.open)
		mark_pointed(&live);
	for (size_t func = 0; func < code->nfunc; func++) {
		free(live.waiting[func].v);
		kl_targets_release(&live.tables[func]);
	}
	free(live.todo.v);
	free(live.returns);
	free(live.waiting);
	free(live.tables);
	free(live.has_tables);
}
