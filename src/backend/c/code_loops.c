/* SPDX-License-Identifier: Apache-2.0 */
/* code_loops - loops of a function: its flow graph, jump tables, and how deep loops nest */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "backend/c/code.h"

/*
 * Loops of one function: blocks, edges, and Bourdoncle's weak topological order
 * (Formal Methods in Programming, 1993), whose nested components are the natural loops,
 * and a loop with two entries one loop like any other. Flow that leaves
 * for another function is an exit.
 */
#define MAX_BLOCKS 10000 /* the order is found by recursion */
#define DONE ((size_t)-1)
#define MAX_TARGETS 100000

struct edges {
	size_t *v, n, alloc;
};

struct flow {
	const struct kl_code *c;
	size_t func, first, n;   /* instructions */
	size_t *block_of;        /* instruction - first -> block */
	size_t *start;           /* block -> first instruction */
	size_t nblock, indirect; /* indirect: jumps */
	struct edges *succ;
	size_t *dfn, *stack, depth, num; /* of the order: 0 unseen, DONE */
	unsigned *level, nest;           /* of each block; of the walk */
	struct edges table;              /* targets of jump tables: instructions */
	bool unknown;
};

#define NONE ((size_t)-1)

static void push_edge(struct edges *e, size_t v)
{
	KL_GROW(e->v, e->n + 1, e->alloc);
	e->v[e->n++] = v;
}

static void flow_release(struct flow *w)
{
	for (size_t i = 0; w->succ && i < w->nblock; i++)
		free(w->succ[i].v);
	free(w->succ);
	free(w->table.v);
	free(w->block_of);
	free(w->start);
	free(w->dfn);
	free(w->stack);
	free(w->level);
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
		int64_t to = (int64_t)s->value + r->addend -
			     (relative ? (int64_t)(r->off - base) : 0);
		size_t insn;

		if (r->off != want || s->sec < 0 || (size_t)s->sec != f->sec ||
		    (!relative && r->type != R_X86_64_64) || to < (int64_t)f->start ||
		    to >= (int64_t)f->end)
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
		push_edge(&w->table, insn);
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
static size_t jump_target(const struct flow *w, size_t i)
{
	struct kl_ref ref;

	kl_code_insn_ref(&ref, w->c, w->func, i);
	return ref.kind == KL_REF_CODE && ref.func == w->func && ref.insn < w->c->ninsn ? ref.insn :
											  NONE;
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
		else if (kl_insn_is_jump(in) && (to = jump_target(w, w->first + k)) != NONE)
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

static void add_edge(struct flow *w, size_t from, size_t insn)
{
	size_t to;

	if (insn < w->first || insn >= w->first + w->n)
		return;
	to = w->block_of[insn - w->first];
	push_edge(&w->succ[from], to);
}

static void find_edges(struct flow *w)
{
	w->succ = kl_calloc(w->nblock, sizeof(*w->succ));
	for (size_t b = 0; b < w->nblock; b++) {
		size_t last = w->start[b + 1] - 1;
		const struct kl_insn *in = &w->c->insn[last];
		size_t to;

		if (kl_insn_is_end(in))
			continue;
		if (kl_insn_is_jump(in) && kl_insn_is_indirect(in)) {
			for (size_t k = 0; k < w->table.n; k++)
				add_edge(w, b, w->table.v[k]);
			continue;
		}
		if (kl_insn_is_jump(in) && (to = jump_target(w, last)) != NONE)
			add_edge(w, b, to);
		if (!kl_insn_is_plain_jump(in))
			add_edge(w, b, last + 1);
	}
}

/* Code that only a jump through an unread table can reach. */
static bool has_islands(const struct flow *w)
{
	for (size_t b = 0; w->indirect && b < w->nblock; b++)
		for (size_t i = w->start[b]; !w->dfn[b] && i < w->start[b + 1]; i++)
			if (!kl_insn_is_nop(&w->c->insn[i]))
				return true;
	return false;
}

static size_t visit_node(struct flow *w, size_t v);

/* `v` heads a loop: its body is what can be reached from it and gets back to it. */
static void mark_component(struct flow *w, size_t v)
{
	w->level[v] = ++w->nest;
	for (size_t k = 0; k < w->succ[v].n; k++)
		if (!w->dfn[w->succ[v].v[k]])
			visit_node(w, w->succ[v].v[k]);
	w->nest--;
}

static size_t visit_node(struct flow *w, size_t v)
{
	size_t head, mine, b;
	bool loop = false;

	w->stack[w->depth++] = v;
	head = mine = w->dfn[v] = ++w->num;
	for (size_t k = 0; k < w->succ[v].n; k++) {
		size_t s = w->succ[v].v[k];
		size_t low = w->dfn[s] ? w->dfn[s] : visit_node(w, s);

		if (low <= head) {
			head = low;
			loop = true;
		}
	}
	if (head != mine)
		return head;
	w->dfn[v] = DONE;
	w->level[v] = w->nest;
	b = w->stack[--w->depth];
	while (b != v) {
		w->dfn[b] = 0;
		b = w->stack[--w->depth];
	}
	if (loop)
		mark_component(w, v);
	return head;
}

static void find_loops(struct flow *w)
{
	w->level = kl_calloc(w->nblock, sizeof(*w->level));
	w->dfn = kl_calloc(w->nblock, sizeof(*w->dfn));
	w->stack = kl_calloc(w->nblock, sizeof(*w->stack));
	visit_node(w, 0);
}

bool kl_code_loops(const struct kl_code *c, size_t func, unsigned *depth)
{
	KL_AUTO(flow_release) struct flow w = {
		.c = c,
		.func = func,
		.first = c->func[func].first,
		.n = c->func[func].n,
	};

	memset(depth, 0, w.n * sizeof(*depth));
	read_tables(&w);
	find_blocks(&w);
	if (w.nblock > MAX_BLOCKS || w.unknown)
		return false;
	find_edges(&w);
	find_loops(&w);
	if (has_islands(&w))
		return false;
	for (size_t k = 0; k < w.n; k++)
		depth[k] = w.level[w.block_of[k]];
	return true;
}

bool kl_code_has_table(const struct kl_code *c, size_t func)
{
	KL_AUTO(flow_release) struct flow w = {
		.c = c,
		.func = func,
		.first = c->func[func].first,
		.n = c->func[func].n,
	};

	read_tables(&w);
	for (size_t i = w.first; w.table.n && i < w.first + w.n; i++)
		if (kl_insn_is_jump(&c->insn[i]) && kl_insn_is_indirect(&c->insn[i]))
			return true;
	return false;
}
