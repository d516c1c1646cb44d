/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "gate/code.h"

/*
 * Natural loops of one function: blocks, dominators (Cooper, Harvey and
 * Kennedy's iteration), a loop for each head of a back edge. Flow that leaves for another
 * function is an exit.
 */
#define MAX_BLOCKS 20000
#define MAX_TARGETS 100000

struct edges { size_t *v, n, alloc; };

struct flow {
	const struct kl_code *c;
	size_t func, first, n;		/* instructions */
	size_t *block_of;		/* instruction - first -> block */
	size_t *start;			/* block -> first instruction */
	size_t nblock, indirect;	/* indirect: jumps */
	struct edges *succ, *pred;
	size_t *rpo, *rpo_at, nrpo;	/* reverse postorder; position of a block, NONE: unreached */
	size_t *idom;
	struct edges table;		/* targets of jump tables: instructions */
	bool unknown;
};

#define NONE ((size_t)-1)

static void push(struct edges *e, size_t v)
{
	KL_GROW(e->v, e->n + 1, e->alloc);
	e->v[e->n++] = v;
}

static void flow_release(struct flow *w)
{
	for (size_t i = 0; w->succ && i < w->nblock; i++) {
		free(w->succ[i].v);
		free(w->pred[i].v);
	}
	free(w->succ);
	free(w->pred);
	free(w->table.v);
	free(w->block_of);
	free(w->start);
	free(w->rpo);
	free(w->rpo_at);
	free(w->idom);
}

/*
 * One table: entries from `base` on, 4 or 8 bytes each, as long as each
 * points into the function. A relative entry holds target - table + its
 * own offset, which the assembler folds into the addend.
 */
static void read_table(struct flow *w, size_t sec, uint64_t base)
{
	const struct kl_func *f = &w->c->func[w->func];
	const struct kl_object *o = w->c->obj[f->obj];
	uint64_t want = base;

	for (size_t i = kl_object_rel_at(o, sec, base); i < o->nrel && o->rel[i].sec == sec; i++) {
		const struct kl_orel *r = &o->rel[i];
		const struct kl_osym *s = &o->sym[r->sym];
		bool relative = r->type == R_X86_64_PC32;
		int64_t to = (int64_t)s->value + r->addend - (relative ? (int64_t)(r->off - base) : 0);
		size_t insn;

		if (r->off != want || s->sec < 0 || (size_t)s->sec != f->sec ||
		    (!relative && r->type != R_X86_64_64) || to < (int64_t)f->start || to >= (int64_t)f->end)
			return;
		insn = kl_code_insn_at(w->c, w->func, (uint64_t)to);
		if (insn == w->c->ninsn) {
			w->unknown = true;
			return;
		}
		if (w->table.n >= MAX_TARGETS) {
			w->unknown = true;
			return;
		}
		push(&w->table, insn);
		want += relative ? 4 : 8;
	}
}

static void read_tables(struct flow *w)
{
	const struct kl_func *f = &w->c->func[w->func];

	for (size_t i = f->first; i < f->first + f->n && !w->unknown; i++) {
		struct kl_ref ref;

		kl_code_insn_ref(&ref, w->c, w->func, i);
		if (ref.kind == KL_REF_DATA && ref.obj == f->obj && ref.off >= 0)
			read_table(w, ref.sec, (uint64_t)ref.off);
	}
}

/* Target instruction of a direct jump within the function, or NONE: it leaves. */
static size_t target(const struct flow *w, size_t i)
{
	struct kl_ref ref;

	kl_code_insn_ref(&ref, w->c, w->func, i);
	return ref.kind == KL_REF_CODE && ref.func == w->func && ref.insn < w->c->ninsn ? ref.insn : NONE;
}

static bool ends_block(const struct kl_insn *in)
{
	return kl_insn_is_jump(in) || kl_insn_is_end(in);
}

static void find_blocks(struct flow *w)
{
	KL_AUTO(kl_freep) bool *head = kl_calloc(w->n + 1, sizeof(*head));

	head[0] = true;
	for (size_t k = 0; k < w->n; k++) {
		const struct kl_insn *in = &w->c->insn[w->first + k];
		size_t to;

		if (!ends_block(in))
			continue;
		head[k + 1] = true;
		if (kl_insn_is_jump(in) && kl_insn_is_indirect(in))
			w->indirect++;
		else if (kl_insn_is_jump(in) && (to = target(w, w->first + k)) != NONE)
			head[to - w->first] = true;
	}
	for (size_t k = 0; k < w->table.n; k++)
		head[w->table.v[k] - w->first] = true;
	/* which of several jumps uses which table is not known */
	if (w->indirect > 1 && w->table.n)
		w->unknown = true;
	w->block_of = kl_calloc(w->n, sizeof(*w->block_of));
	w->start = kl_calloc(w->n + 1, sizeof(*w->start));
	for (size_t k = 0; k < w->n; k++) {
		if (head[k])
			w->start[w->nblock++] = w->first + k;
		w->block_of[k] = w->nblock - 1;
	}
	w->start[w->nblock] = w->first + w->n;
}

static void edge(struct flow *w, size_t from, size_t insn)
{
	size_t to;

	if (insn < w->first || insn >= w->first + w->n)
		return;
	to = w->block_of[insn - w->first];
	push(&w->succ[from], to);
	push(&w->pred[to], from);
}

static void find_edges(struct flow *w)
{
	w->succ = kl_calloc(w->nblock, sizeof(*w->succ));
	w->pred = kl_calloc(w->nblock, sizeof(*w->pred));
	for (size_t b = 0; b < w->nblock; b++) {
		size_t last = w->start[b + 1] - 1;
		const struct kl_insn *in = &w->c->insn[last];
		size_t to;

		if (kl_insn_is_end(in))
			continue;
		if (kl_insn_is_jump(in) && kl_insn_is_indirect(in)) {
			for (size_t k = 0; k < w->table.n; k++)
				edge(w, b, w->table.v[k]);
			continue;
		}
		if (kl_insn_is_jump(in) && (to = target(w, last)) != NONE)
			edge(w, b, to);
		if (!kl_insn_is_plain_jump(in))
			edge(w, b, last + 1);
	}
}

static void find_order(struct flow *w)
{
	KL_AUTO(kl_freep) size_t *stack = kl_calloc(w->nblock, sizeof(*stack));
	KL_AUTO(kl_freep) size_t *next = kl_calloc(w->nblock, sizeof(*next));
	KL_AUTO(kl_freep) bool *seen = kl_calloc(w->nblock, sizeof(*seen));
	size_t depth = 0, at = w->nblock;

	w->rpo = kl_calloc(w->nblock, sizeof(*w->rpo));
	w->rpo_at = kl_calloc(w->nblock, sizeof(*w->rpo_at));
	for (size_t b = 0; b < w->nblock; b++)
		w->rpo_at[b] = NONE;
	stack[depth++] = 0;
	seen[0] = true;
	while (depth) {
		size_t b = stack[depth - 1];

		if (next[b] < w->succ[b].n) {
			size_t s = w->succ[b].v[next[b]++];

			if (!seen[s]) {
				seen[s] = true;
				stack[depth++] = s;
			}
			continue;
		}
		depth--;
		w->rpo[--at] = b;
	}
	w->nrpo = w->nblock - at;
	memmove(w->rpo, w->rpo + at, w->nrpo * sizeof(*w->rpo));
	for (size_t k = 0; k < w->nrpo; k++)
		w->rpo_at[w->rpo[k]] = k;
}

static size_t meet(const struct flow *w, size_t a, size_t b)
{
	while (a != b) {
		while (w->rpo_at[a] > w->rpo_at[b])
			a = w->idom[a];
		while (w->rpo_at[b] > w->rpo_at[a])
			b = w->idom[b];
	}
	return a;
}

/* Code that only a jump through an unread table can reach. */
static bool has_islands(const struct flow *w)
{
	for (size_t b = 0; w->indirect && b < w->nblock; b++)
		for (size_t i = w->start[b]; w->rpo_at[b] == NONE && i < w->start[b + 1]; i++)
			if (!kl_insn_is_nop(&w->c->insn[i]))
				return true;
	return false;
}

static void find_dominators(struct flow *w)
{
	bool changed = true;

	w->idom = kl_calloc(w->nblock, sizeof(*w->idom));
	for (size_t b = 0; b < w->nblock; b++)
		w->idom[b] = NONE;
	w->idom[0] = 0;
	while (changed) {
		changed = false;
		for (size_t k = 1; k < w->nrpo; k++) {
			size_t b = w->rpo[k], d = NONE;

			for (size_t p = 0; p < w->pred[b].n; p++) {
				size_t from = w->pred[b].v[p];

				if (w->rpo_at[from] == NONE || w->idom[from] == NONE)
					continue;
				d = d == NONE ? from : meet(w, d, from);
			}
			if (d != w->idom[b]) {
				w->idom[b] = d;
				changed = true;
			}
		}
	}
}

static bool dominates(const struct flow *w, size_t a, size_t b)
{
	while (w->rpo_at[b] > w->rpo_at[a])
		b = w->idom[b];
	return a == b;
}

/* Blocks of the loop with head `h` get one more level. */
static void mark_loop(const struct flow *w, size_t h, unsigned *level, size_t *stamp, size_t *stack)
{
	size_t depth = 0;

	stamp[h] = h + 1;
	level[h]++;
	for (size_t p = 0; p < w->pred[h].n; p++) {
		size_t t = w->pred[h].v[p];

		if (w->rpo_at[t] == NONE || !dominates(w, h, t) || stamp[t] == h + 1)
			continue;
		stamp[t] = h + 1;
		stack[depth++] = t;
	}
	while (depth) {
		size_t b = stack[--depth];

		level[b]++;
		for (size_t p = 0; p < w->pred[b].n; p++) {
			size_t t = w->pred[b].v[p];

			if (w->rpo_at[t] == NONE || stamp[t] == h + 1)
				continue;
			stamp[t] = h + 1;
			stack[depth++] = t;
		}
	}
}

/* Every edge that goes back must go to a dominator, or the flow has a loop with two entries. */
static void find_loops(struct flow *w, unsigned *depth)
{
	KL_AUTO(kl_freep) unsigned *level = kl_calloc(w->nblock, sizeof(*level));
	KL_AUTO(kl_freep) size_t *stamp = kl_calloc(w->nblock, sizeof(*stamp));
	KL_AUTO(kl_freep) size_t *stack = kl_calloc(w->nblock, sizeof(*stack));

	for (size_t k = 0; k < w->nrpo; k++) {
		size_t h = w->rpo[k];
		bool is_head = false;

		for (size_t p = 0; p < w->pred[h].n; p++) {
			size_t t = w->pred[h].v[p];

			if (w->rpo_at[t] == NONE || w->rpo_at[t] < w->rpo_at[h])
				continue;
			if (dominates(w, h, t))
				is_head = true;
			else
				w->unknown = true;
		}
		if (is_head)
			mark_loop(w, h, level, stamp, stack);
	}
	for (size_t k = 0; k < w->n; k++)
		depth[k] = level[w->block_of[k]];
}

bool kl_code_loops(const struct kl_code *c, size_t func, unsigned *depth)
{
	KL_AUTO(flow_release) struct flow w = {
		.c = c, .func = func, .first = c->func[func].first, .n = c->func[func].n,
	};

	memset(depth, 0, w.n * sizeof(*depth));
	read_tables(&w);
	find_blocks(&w);
	if (w.nblock > MAX_BLOCKS || w.unknown)
		return false;
	find_edges(&w);
	find_order(&w);
	if (has_islands(&w))
		return false;
	find_dominators(&w);
	find_loops(&w, depth);
	return !w.unknown;
}

bool kl_code_has_table(const struct kl_code *c, size_t func)
{
	KL_AUTO(flow_release) struct flow w = {
		.c = c, .func = func, .first = c->func[func].first, .n = c->func[func].n,
	};

	read_tables(&w);
	for (size_t i = w.first; w.table.n && i < w.first + w.n; i++)
		if (kl_insn_is_jump(&c->insn[i]) && kl_insn_is_indirect(&c->insn[i]))
			return true;
	return false;
}
