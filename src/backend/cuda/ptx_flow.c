/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/ptx_flow.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cuda/ptx_parts.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/prefix.h"

#define MAX_DEPTH 64
#define MAX_INSTRUCTIONS ((size_t)1 << 20)
#define NOWHERE SIZE_MAX

/*
 * -- reading the body of a function -------------------------------------------------------------
 */

struct body {
	struct kl_ptx_reader reader;
	struct kl_ptx_flow *flow;
	struct kl_map reg;   /* "<scope> <name>" -> number of the register, plus 1 */
	struct kl_map label; /* "<scope> <name>" -> index of the next instruction, plus 1 */
	/* numbers of the open scopes; how many are open; how many were opened so far */
	size_t scope[MAX_DEPTH], depth, nscope;
	uint32_t guard; /* guard of the current statement */
};

static void body_release(struct body *body)
{
	kl_map_release(&body->reg);
	kl_map_release(&body->label);
}

static char *scoped_name(size_t scope, const struct kl_ptx_token *token)
{
	return kl_asprintf("%zu %.*s", scope, (int)token->n, token->s);
}

static uint32_t declare_register(struct body *body, size_t scope, const struct kl_ptx_token *token)
{
	KL_AUTO(kl_freep) char *name = scoped_name(scope, token);
	uintptr_t number = (uintptr_t)kl_map_get(&body->reg, name);

	if (!number) {
		number = ++body->flow->nregister;
		kl_map_put(&body->reg, name, (void *)number);
	}
	return (uint32_t)(number - 1);
}

/*
 * Find the register with the current token's name in the innermost scope that declares it. A name
 * that no scope declares by itself, such as "%r12", belongs to the whole function.
 */
static uint32_t find_register(struct body *body)
{
	for (size_t i = body->depth; i-- > 0;) {
		KL_AUTO(kl_freep)
		char *name = scoped_name(body->scope[i], &body->reader.t);
		uintptr_t number = (uintptr_t)kl_map_get(&body->reg, name);

		if (number)
			return (uint32_t)(number - 1);
	}
	return declare_register(body, body->scope[0], &body->reader.t);
}

/*
 * Declare the names in ".reg .pred p, q;". The registers of ".reg .b32 %r<12>;" belong to the whole
 * function; find_register() declares them.
 */
static int read_registers(struct body *body)
{
	int err = 0;

	while (!err && body->reader.t.kind != KL_PTX_END && !kl_ptx_is(&body->reader, ";")) {
		if (body->reader.t.kind == KL_PTX_NAME && body->reader.t.s[0] != '.')
			declare_register(body, body->scope[body->depth - 1], &body->reader.t);
		err = kl_ptx_next(&body->reader);
	}
	return err ? err : kl_ptx_next(&body->reader);
}

static int skip_statement(struct body *body)
{
	int err = 0;

	while (!err && body->reader.t.kind != KL_PTX_END && !kl_ptx_is(&body->reader, ";"))
		err = kl_ptx_next(&body->reader);
	return err ? err : kl_ptx_next(&body->reader);
}

/*
 * List the names under which the label in the current token could be declared, one per line,
 * innermost scope first.
 */
static char *label_names(const struct body *body)
{
	struct kl_buf names = KL_BUF_INIT;

	for (size_t i = body->depth; i-- > 0;)
		kl_buf_addf(&names, "%zu %.*s\n", body->scope[i], (int)body->reader.t.n,
			    body->reader.t.s);
	return kl_buf_detach(&names);
}

bool kl_ptx_is_clock(const char *name)
{
	static const char *const clocks[] = { "%clock", "%globaltimer" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(clocks); i++)
		if (kl_prefix_has(name, clocks[i]))
			return true;
	return false;
}

static void take_operand(struct body *body, struct kl_ptx_insn *insn, bool out)
{
	KL_AUTO(kl_freep) char *name = kl_strndup(body->reader.t.s, body->reader.t.n);

	if (kl_ptx_is_clock(name)) {
		free(insn->clock);
		insn->clock = kl_steal(&name);
		return;
	}
	if (name[0] == '.')
		return;
	if (!strncmp(insn->op, "bra", 3) && !insn->label)
		insn->label = label_names(body);
	KL_GROW(insn->reg, insn->nreg + 1, insn->alloc);
	insn->reg[insn->nreg++] = find_register(body);
	insn->nout += out;
}

/*
 * Read the operands up to ";". A comma in braces, brackets or parentheses does not separate
 * operands.
 */
static int read_operands(struct body *body, struct kl_ptx_insn *insn)
{
	struct kl_ptx_reader *reader = &body->reader;
	bool first = true, address = false;
	int depth = 0, err = 0;

	while (!err && reader->t.kind != KL_PTX_END && !kl_ptx_is(reader, ";")) {
		address |= kl_ptx_is(reader, "[") || kl_ptx_is(reader, "(");
		if (kl_ptx_is(reader, "{") || kl_ptx_is(reader, "[") || kl_ptx_is(reader, "("))
			depth++;
		else if (kl_ptx_is(reader, "}") || kl_ptx_is(reader, "]") || kl_ptx_is(reader, ")"))
			depth--;
		else if (kl_ptx_is(reader, ",") && !depth)
			first = false;
		else if (reader->t.kind == KL_PTX_NAME)
			take_operand(body, insn, first && !address);
		err = kl_ptx_next(reader);
	}
	if (!err && reader->t.kind == KL_PTX_END)
		err = kl_ptx_bad(reader, "an instruction without an end");
	return err ? err : kl_ptx_next(reader);
}

/* Read an opcode with its modifiers, up to its first operand. */
static int read_opcode(struct body *body, struct kl_buf *op)
{
	int err = 0;

	kl_buf_clear(op);
	do {
		kl_buf_add(op, body->reader.t.s, body->reader.t.n);
		err = kl_ptx_next(&body->reader);
	} while (!err && body->reader.t.kind == KL_PTX_NAME && body->reader.t.s[0] == '.');
	return err;
}

static int read_instruction(struct body *body)
{
	KL_AUTO(kl_freep)
	char *label = scoped_name(body->scope[body->depth - 1], &body->reader.t);
	KL_AUTO(kl_buf_release) struct kl_buf op = KL_BUF_INIT;
	struct kl_ptx_flow *flow = body->flow;
	struct kl_ptx_insn *insn;
	int err = read_opcode(body, &op);

	if (err < 0)
		return err;
	if (kl_ptx_is(&body->reader, ":")) {
		kl_map_put(&body->label, label, (void *)(uintptr_t)(flow->ninsn + 1));
		return kl_ptx_next(&body->reader);
	}
	if (flow->ninsn >= MAX_INSTRUCTIONS)
		return kl_ptx_bad(&body->reader, "a function that is too long");
	KL_GROW(flow->insn, flow->ninsn + 1, flow->insn_alloc);
	insn = &flow->insn[flow->ninsn++];
	*insn = (struct kl_ptx_insn){ .op = kl_strdup(op.ptr), .guard = body->guard };
	return read_operands(body, insn);
}

static int read_guard(struct body *body)
{
	int err = kl_ptx_next(&body->reader);

	if (!err && kl_ptx_is(&body->reader, "!"))
		err = kl_ptx_next(&body->reader);
	if (err || body->reader.t.kind != KL_PTX_NAME)
		return err ? err : kl_ptx_bad(&body->reader, "a guard without a predicate");
	body->guard = find_register(body);
	return kl_ptx_next(&body->reader);
}

static int read_brace(struct body *body)
{
	if (kl_ptx_is(&body->reader, "}")) {
		body->depth--;
	} else {
		if (body->depth == MAX_DEPTH)
			return kl_ptx_bad(&body->reader, "scopes that are nested too deeply");
		body->scope[body->depth++] = body->nscope++;
	}
	return kl_ptx_next(&body->reader);
}

static int read_statement(struct body *body)
{
	struct kl_ptx_reader *reader = &body->reader;
	int err = 0;

	body->guard = KL_PTX_NO_REGISTER;
	if (kl_ptx_is(reader, "{") || kl_ptx_is(reader, "}"))
		return read_brace(body);
	if (kl_ptx_is(reader, "@") && (err = read_guard(body)) < 0)
		return err;
	if (kl_ptx_is(reader, ";"))
		return kl_ptx_next(reader);
	if (kl_ptx_is(reader, ".loc"))
		return kl_ptx_read_loc(reader);
	if (kl_ptx_is(reader, ".reg"))
		return read_registers(body);
	if (reader->t.kind != KL_PTX_NAME)
		return kl_ptx_bad(reader, "a statement that does not begin with a word");
	return reader->t.s[0] == '.' ? skip_statement(body) : read_instruction(body);
}

/* -- making blocks --------------------------------------------------------------------------- */

static bool is_op(const struct kl_ptx_insn *insn, const char *name)
{
	return kl_prefix_is_dotted(insn->op, name);
}

/* Return true if a block ends after this instruction. */
static bool ends_block(const struct kl_ptx_insn *insn)
{
	return is_op(insn, "bra") || is_op(insn, "brx") || is_op(insn, "ret") ||
	       is_op(insn, "exit") || is_op(insn, "trap");
}

static void mark_starts(bool *start, const struct body *body)
{
	const struct kl_ptx_flow *flow = body->flow;

	start[0] = true;
	for (size_t i = 0; i < body->label.n; i++)
		start[(uintptr_t)body->label.e[i].value - 1] = true;
	for (size_t i = 0; i < flow->ninsn; i++)
		if (ends_block(&flow->insn[i]))
			start[i + 1] = true;
}

static void make_blocks(struct body *body)
{
	struct kl_ptx_flow *flow = body->flow;
	KL_AUTO(kl_freep) bool *start = kl_calloc(flow->ninsn + 1, sizeof(*start));

	mark_starts(start, body);
	for (size_t i = 0; i < flow->ninsn; i++) {
		if (start[i]) {
			KL_GROW(flow->block, flow->nblock + 1, flow->block_alloc);
			flow->block[flow->nblock++] = (struct kl_ptx_block){ .first = i };
		}
		flow->insn[i].block = flow->nblock - 1;
		flow->block[flow->nblock - 1].end = i + 1;
	}
}

static void add_next(struct kl_ptx_block *block, size_t next)
{
	KL_GROW(block->next, block->nnext + 1, block->alloc);
	block->next[block->nnext++] = next;
}

static size_t block_at(const struct kl_ptx_flow *flow, size_t insn)
{
	return insn < flow->ninsn ? flow->insn[insn].block : flow->nblock;
}

/* Link `block`, which ends in a jump through a table, to all labels. */
static void add_all_labels(struct body *body, struct kl_ptx_block *block)
{
	for (size_t i = 0; i < body->label.n; i++)
		add_next(block, block_at(body->flow, (uintptr_t)body->label.e[i].value - 1));
}

/* Return the index of the instruction that a branch goes to; NOWHERE if there is no such label. */
static size_t find_label(struct body *body, const char *names)
{
	for (const char *at = names; at && *at; at += strcspn(at, "\n") + 1) {
		KL_AUTO(kl_freep) char *name = kl_strndup(at, strcspn(at, "\n"));
		uintptr_t to = (uintptr_t)kl_map_get(&body->label, name);

		if (to)
			return to - 1;
	}
	return NOWHERE;
}

static int link_block(struct body *body, struct kl_ptx_block *block)
{
	const struct kl_ptx_flow *flow = body->flow;
	const struct kl_ptx_insn *last = &flow->insn[block->end - 1];
	size_t to;

	if (last->guard != KL_PTX_NO_REGISTER || !ends_block(last))
		add_next(block, block_at(flow, block->end));
	if (is_op(last, "ret") || is_op(last, "exit"))
		add_next(block, flow->nblock);
	if (is_op(last, "brx"))
		add_all_labels(body, block);
	if (!is_op(last, "bra"))
		return 0;
	to = find_label(body, last->label);
	if (to == NOWHERE)
		return kl_ptx_bad(&body->reader, "a branch to a label that does not exist");
	add_next(block, block_at(flow, to));
	return 0;
}

/* -- finding where paths meet ---------------------------------------------------------------- */

/*
 * The blocks from which a path leads to the end of the function, in reverse postorder of a search
 * backward from the end.
 */
struct order {
	size_t *block, n;
	size_t *rank; /* for each block, its index in `block`; NOWHERE if it is not listed */
	/*
	 * for each block: index in `before` at which the list of its possible predecessors starts
	 */
	size_t *from;
	size_t *before;
};

static void order_release(struct order *order)
{
	free(order->block);
	free(order->rank);
	free(order->from);
	free(order->before);
}

static void list_before(struct order *order, const struct kl_ptx_flow *flow)
{
	size_t total = 0;

	order->from = kl_calloc(flow->nblock + 2, sizeof(*order->from));
	for (size_t i = 0; i < flow->nblock; i++)
		for (size_t k = 0; k < flow->block[i].nnext; k++, total++)
			order->from[flow->block[i].next[k] + 1]++;
	for (size_t i = 0; i <= flow->nblock; i++)
		order->from[i + 1] += order->from[i];
	order->before = kl_calloc(total + 1, sizeof(*order->before));
	for (size_t i = flow->nblock; i-- > 0;)
		for (size_t k = 0; k < flow->block[i].nnext; k++)
			order->before[--order->from[flow->block[i].next[k] + 1]] = i;
	/* from[i + 1] is now the start of list i: move all entries down by one */
	memmove(order->from, order->from + 1, (flow->nblock + 1) * sizeof(*order->from));
	order->from[flow->nblock + 1] = total;
}

/* Fill in the order by a depth-first search without recursion. */
static void order_backward(struct order *order, const struct kl_ptx_flow *flow)
{
	size_t n = flow->nblock + 1, depth = 0, done = n;
	KL_AUTO(kl_freep) size_t *stack = kl_calloc(n + 1, sizeof(*stack));
	KL_AUTO(kl_freep) size_t *edge = kl_calloc(n + 1, sizeof(*edge));
	KL_AUTO(kl_freep) bool *seen = kl_calloc(n + 1, sizeof(*seen));

	list_before(order, flow);
	order->block = kl_calloc(n + 1, sizeof(*order->block));
	order->rank = kl_calloc(n + 1, sizeof(*order->rank));
	stack[depth++] = flow->nblock;
	seen[flow->nblock] = true;
	while (depth) {
		size_t at = stack[depth - 1], next = order->from[at] + edge[at];

		if (next == order->from[at + 1]) {
			order->block[--done] = at;
			depth--;
			continue;
		}
		edge[at]++;
		if (!seen[order->before[next]]) {
			seen[order->before[next]] = true;
			stack[depth++] = order->before[next];
		}
	}
	for (size_t i = 0; i < n; i++)
		order->rank[i] = NOWHERE;
	memmove(order->block, order->block + done, (n - done) * sizeof(*order->block));
	order->n = n - done;
	for (size_t i = 0; i < order->n; i++)
		order->rank[order->block[i]] = i;
}

static size_t meet_of(const size_t *meet, const struct order *order, size_t left, size_t right)
{
	while (left != right)
		if (order->rank[left] > order->rank[right])
			left = meet[left];
		else
			right = meet[right];
	return left;
}

/*
 * Find the immediate postdominator of each block from which a path leads to the end of the function
 * (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm).
 */
static void find_meets(struct kl_ptx_flow *flow)
{
	KL_AUTO(order_release) struct order order = { .n = 0 };
	KL_AUTO(kl_freep) size_t *meet = kl_calloc(flow->nblock + 1, sizeof(*meet));
	bool changed = true;

	order_backward(&order, flow);
	for (size_t i = 0; i < flow->nblock; i++)
		meet[i] = NOWHERE;
	meet[flow->nblock] = flow->nblock;
	while (changed) {
		changed = false;
		for (size_t i = 1; i < order.n; i++) {
			const struct kl_ptx_block *block = &flow->block[order.block[i]];
			size_t found = NOWHERE;

			for (size_t k = 0; k < block->nnext; k++)
				if (order.rank[block->next[k]] != NOWHERE &&
				    meet[block->next[k]] != NOWHERE)
					found = found == NOWHERE ? block->next[k] :
								   meet_of(meet, &order, found,
									   block->next[k]);
			changed |= meet[order.block[i]] != found;
			meet[order.block[i]] = found;
		}
	}
	for (size_t i = 0; i < flow->nblock; i++)
		flow->block[i].meet = meet[i];
}

void kl_ptx_flow_region(const struct kl_ptx_flow *flow, size_t block, bool *in)
{
	KL_AUTO(kl_freep) size_t *todo = kl_calloc(flow->nblock + 1, sizeof(*todo));
	size_t n = 0, meet = flow->block[block].meet;

	memset(in, 0, flow->nblock * sizeof(*in));
	for (size_t from = block;; from = todo[--n]) {
		for (size_t k = 0; k < flow->block[from].nnext; k++) {
			size_t next = flow->block[from].next[k];

			if (next == meet || next == flow->nblock || in[next])
				continue;
			in[next] = true;
			todo[n++] = next;
		}
		if (!n)
			return;
	}
}

/* -- reading a function and freeing it --------------------------------------------------------- */

int kl_ptx_flow_read(struct kl_ptx_flow *out, const struct kl_ptx_fn *fn)
{
	KL_AUTO(kl_ptx_flow_release) struct kl_ptx_flow flow = { .ninsn = 0 };
	KL_AUTO(body_release)
	struct body body = {
		.reader = { .at = fn->body, .end = fn->body + fn->nbody, .line = fn->line },
		.flow = &flow,
		.reg = KL_MAP_INIT,
		.label = KL_MAP_INIT
	};
	int err = kl_ptx_next(&body.reader);

	/* the braces around the body are its outermost scope */
	while (!err && body.reader.t.kind != KL_PTX_END && (body.depth || !body.nscope))
		err = read_statement(&body);
	if (err < 0)
		return err;
	if (flow.ninsn)
		make_blocks(&body);
	for (size_t i = 0; i < flow.nblock && !err; i++)
		err = link_block(&body, &flow.block[i]);
	if (err < 0)
		return err;
	find_meets(&flow);
	*out = flow;
	flow = (struct kl_ptx_flow){ .ninsn = 0 };
	return 0;
}

void kl_ptx_flow_release(struct kl_ptx_flow *flow)
{
	for (size_t i = 0; i < flow->ninsn; i++) {
		free(flow->insn[i].op);
		free(flow->insn[i].reg);
		free(flow->insn[i].clock);
		free(flow->insn[i].label);
	}
	for (size_t i = 0; i < flow->nblock; i++)
		free(flow->block[i].next);
	free(flow->insn);
	free(flow->block);
	*flow = (struct kl_ptx_flow){ .ninsn = 0 };
}
