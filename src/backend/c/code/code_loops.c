/* SPDX-License-Identifier: Apache-2.0 */
/* code_loops - finds the loops of a function and how deeply they nest */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "backend/c/code/code.h"

/*
 * Loops are found in the graph of basic blocks by Bourdoncle's weak topological order (Formal
 * Methods in Programming and Their Applications, 1993). Its nested components are the natural
 * loops; a loop with two entries is also one component. A jump to another function counts as an
 * exit.
 */
/* maximum number of blocks of a function, because the search is recursive */
#define MAX_BLOCKS 10000
#define DONE ((size_t)-1)

struct edges {
	size_t *v, n, alloc;
};

struct flow {
	const struct kl_code *code;
	size_t func, first, n;   /* the function, its first instruction, number of instructions */
	size_t *block_of;        /* index of an instruction, minus `first` -> block */
	size_t *start;           /* block -> first instruction */
	size_t nblock, indirect; /* number of blocks; number of indirect jumps */
	struct edges *succ;
	/*
	 * state of the search; dfn of a block: 0 (not visited), its number in the search, or DONE
	 */
	size_t *dfn, *stack, depth, num;
	unsigned *level, nest;   /* number of loops around each block, around the current block */
	struct kl_targets table; /* targets in the function's jump tables */
	bool unknown;
};

#define NONE ((size_t)-1)

static void push_edge(struct edges *edges, size_t to)
{
	KL_GROW(edges->v, edges->n + 1, edges->alloc);
	edges->v[edges->n++] = to;
}

static void flow_release(struct flow *flow)
{
	for (size_t i = 0; flow->succ && i < flow->nblock; i++)
		free(flow->succ[i].v);
	free(flow->succ);
	kl_targets_release(&flow->table);
	free(flow->block_of);
	free(flow->start);
	free(flow->dfn);
	free(flow->stack);
	free(flow->level);
}

/* Return the target instruction of a direct jump; NONE if it leaves the function. */
static size_t jump_target(const struct flow *flow, size_t i)
{
	struct kl_ref ref;

	kl_code_insn_ref(&ref, flow->code, flow->func, i);
	return ref.kind == KL_REF_CODE && ref.func == flow->func && ref.insn < flow->code->ninsn ?
		       ref.insn :
		       NONE;
}

static bool ends_block(const struct kl_insn *in)
{
	return kl_insn_is_jump(in) || kl_insn_is_end(in);
}

static void find_blocks(struct flow *flow)
{
	KL_AUTO(kl_freep) bool *head = kl_calloc(flow->n + 1, sizeof(*head));

	head[0] = true;
	for (size_t k = 0; k < flow->n; k++) {
		const struct kl_insn *in = &flow->code->insn[flow->first + k];
		size_t to;

		if (!ends_block(in))
			continue;
		head[k + 1] = true;
		if (kl_insn_is_jump(in) && kl_insn_is_indirect(in))
			flow->indirect++;
		else if (kl_insn_is_jump(in) && (to = jump_target(flow, flow->first + k)) != NONE)
			head[to - flow->first] = true;
	}
	for (size_t k = 0; k < flow->table.n; k++)
		head[flow->table.v[k] - flow->first] = true;
	/* with several indirect jumps it is unknown which of them uses which table */
	if (flow->indirect > 1 && flow->table.n)
		flow->unknown = true;
	flow->block_of = kl_calloc(flow->n, sizeof(*flow->block_of));
	flow->start = kl_calloc(flow->n + 1, sizeof(*flow->start));
	for (size_t k = 0; k < flow->n; k++) {
		if (head[k])
			flow->start[flow->nblock++] = flow->first + k;
		flow->block_of[k] = flow->nblock - 1;
	}
	flow->start[flow->nblock] = flow->first + flow->n;
}

static void add_edge(struct flow *flow, size_t from, size_t insn)
{
	size_t to;

	if (insn < flow->first || insn >= flow->first + flow->n)
		return;
	to = flow->block_of[insn - flow->first];
	push_edge(&flow->succ[from], to);
}

static void find_edges(struct flow *flow)
{
	flow->succ = kl_calloc(flow->nblock, sizeof(*flow->succ));
	for (size_t block = 0; block < flow->nblock; block++) {
		size_t last = flow->start[block + 1] - 1;
		const struct kl_insn *in = &flow->code->insn[last];
		size_t to;

		if (kl_insn_is_end(in))
			continue;
		if (kl_insn_is_jump(in) && kl_insn_is_indirect(in)) {
			for (size_t k = 0; k < flow->table.n; k++)
				add_edge(flow, block, flow->table.v[k]);
			continue;
		}
		if (kl_insn_is_jump(in) && (to = jump_target(flow, last)) != NONE)
			add_edge(flow, block, to);
		if (!kl_insn_is_plain_jump(in))
			add_edge(flow, block, last + 1);
	}
}

/* Return true if the function has code that only a jump through an unread table can reach. */
static bool has_islands(const struct flow *flow)
{
	for (size_t block = 0; flow->indirect && block < flow->nblock; block++)
		for (size_t i = flow->start[block]; !flow->dfn[block] && i < flow->start[block + 1];
		     i++)
			if (!kl_insn_is_nop(&flow->code->insn[i]))
				return true;
	return false;
}

static size_t visit_node(struct flow *flow, size_t value);

/* Search the body of the loop whose head is `block`, one level deeper. */
static void mark_component(struct flow *flow, size_t block)
{
	flow->level[block] = ++flow->nest;
	for (size_t k = 0; k < flow->succ[block].n; k++)
		if (!flow->dfn[flow->succ[block].v[k]])
			visit_node(flow, flow->succ[block].v[k]);
	flow->nest--;
}

static size_t visit_node(struct flow *flow, size_t block)
{
	size_t head, mine, popped;
	bool loop = false;

	flow->stack[flow->depth++] = block;
	head = mine = flow->dfn[block] = ++flow->num;
	for (size_t k = 0; k < flow->succ[block].n; k++) {
		size_t next = flow->succ[block].v[k];
		size_t low = flow->dfn[next] ? flow->dfn[next] : visit_node(flow, next);

		if (low <= head) {
			head = low;
			loop = true;
		}
	}
	if (head != mine)
		return head;
	flow->dfn[block] = DONE;
	flow->level[block] = flow->nest;
	popped = flow->stack[--flow->depth];
	while (popped != block) {
		flow->dfn[popped] = 0;
		popped = flow->stack[--flow->depth];
	}
	if (loop)
		mark_component(flow, block);
	return head;
}

static void find_loops(struct flow *flow)
{
	flow->level = kl_calloc(flow->nblock, sizeof(*flow->level));
	flow->dfn = kl_calloc(flow->nblock, sizeof(*flow->dfn));
	flow->stack = kl_calloc(flow->nblock, sizeof(*flow->stack));
	visit_node(flow, 0);
}

bool kl_code_loops(const struct kl_code *code, size_t func, unsigned *depth)
{
	KL_AUTO(flow_release) struct flow flow = {
		.code = code,
		.func = func,
		.first = code->func[func].first,
		.n = code->func[func].n,
	};

	memset(depth, 0, flow.n * sizeof(*depth));
	flow.unknown = !kl_code_table_targets(&flow.table, code, func);
	find_blocks(&flow);
	if (flow.nblock > MAX_BLOCKS || flow.unknown)
		return false;
	find_edges(&flow);
	find_loops(&flow);
	if (has_islands(&flow))
		return false;
	for (size_t k = 0; k < flow.n; k++)
		depth[k] = flow.level[flow.block_of[k]];
	return true;
}
