/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_body - parses the body of a PTX function: opcodes, registers, and the names it refers to */
#include <stdint.h>
#include <string.h>

#include "backend/cuda/ptx_parts.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/prefix.h"

static void add_once(struct kl_strvec *list, struct kl_map *seen, const char *name)
{
	if (!kl_map_get(seen, name)) {
		kl_map_put(seen, name, seen);
		kl_strvec_push(list, name);
	}
}

/*
 * Names found so far in the current function. `op` maps an opcode to its index in kl_ptx_fn.op,
 * plus 1.
 */
struct body {
	struct kl_map op, special, ref, stored;
};

static void body_release(struct body *body)
{
	kl_map_release(&body->op);
	kl_map_release(&body->special);
	kl_map_release(&body->ref);
	kl_map_release(&body->stored);
}

static void count_op(struct kl_ptx_fn *fn, struct body *body, const char *name)
{
	uintptr_t place = (uintptr_t)kl_map_get(&body->op, name);

	if (!place) {
		KL_GROW(fn->op, fn->nop + 1, fn->alloc);
		fn->op[fn->nop] = (struct kl_ptx_op){ .name = kl_strdup(name) };
		place = ++fn->nop;
		kl_map_put(&body->op, name, (void *)place);
	}
	fn->op[place - 1].n++;
}

/*
 * Return true if the instruction can write to an address in brackets. Bulk copies count as writing
 * to both of their addresses, although they write only to the first.
 */
static bool writes_memory(const char *op)
{
	static const char *const stores[] = {
		"st.",      "atom",       "red.", "cp.",   "mbarrier",  "multimem",
		"stmatrix", "wmma.store", "sust", "sured", "tensormap", "discard",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(stores); i++)
		if (kl_prefix_has(op, stores[i]))
			return true;
	return !strcmp(op, "st") || !strcmp(op, "red");
}

/*
 * Return true if `name` is an ordinary register, such as "%r12"; no special register has such a
 * name.
 */
static bool is_register(const char *name)
{
	static const char *const kinds[] = { "p", "r", "rs", "rd", "rq", "f", "fd", "h", "hh" };
	size_t n = strcspn(name + 1, "0123456789");

	if (!name[1 + n] || name[1 + n + strspn(name + 1 + n, "0123456789")])
		return false;
	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i]) == n && !strncmp(kinds[i], name + 1, n))
			return true;
	return false;
}

static void take_name(struct kl_ptx_reader *reader, struct kl_ptx_fn *fn, struct body *body,
		      const char *op, int brackets)
{
	KL_AUTO(kl_freep) char *name = kl_strndup(reader->t.s, reader->t.n);

	if (name[0] == '%') {
		if (!is_register(name))
			add_once(&fn->special, &body->special, name);
	} else if (name[0] != '.') {
		add_once(&fn->ref, &body->ref, name);
		if (brackets && op && writes_memory(op))
			add_once(&fn->stored, &body->stored, name);
	}
}

/* Read an opcode and its modifiers, skipping comments and blanks between them. */
static int read_op(struct kl_ptx_reader *reader, struct kl_buf *op)
{
	int err = 0;

	kl_buf_clear(op);
	do {
		kl_buf_add(op, reader->t.s, reader->t.n);
		err = kl_ptx_next(reader);
	} while (!err && reader->t.kind == KL_PTX_NAME && reader->t.s[0] == '.');
	return err;
}

static int read_rest(struct kl_ptx_reader *reader, struct kl_ptx_fn *fn, struct body *body,
		     const char *op)
{
	int brackets = 0, err = 0;

	/*
	 * a brace does not end the statement, because it can belong to a vector operand: {%f1, %f2}
	 */
	while (!err && reader->t.kind != KL_PTX_END && !kl_ptx_is(reader, ";")) {
		if (reader->t.kind == KL_PTX_NAME)
			take_name(reader, fn, body, op, brackets);
		brackets += kl_ptx_is(reader, "[") ? 1 : kl_ptx_is(reader, "]") ? -1 : 0;
		err = kl_ptx_next(reader);
	}
	if (!err && reader->t.kind == KL_PTX_END)
		err = kl_ptx_bad(reader, "an instruction without an end");
	return err ? err : kl_ptx_next(reader);
}

/*
 * At ".loc": skip the directive, such as ".loc 1 2 3, function_name $L, inlined_at 1 2 3", which
 * has no end mark.
 */
int kl_ptx_read_loc(struct kl_ptx_reader *reader)
{
	int err = kl_ptx_next(reader);

	while (!err &&
	       (reader->t.kind == KL_PTX_NUMBER || kl_ptx_is(reader, ",") ||
		kl_ptx_is(reader, "function_name") || kl_ptx_is(reader, "inlined_at") ||
		kl_ptx_is(reader, "+") ||
		(reader->t.kind == KL_PTX_NAME && !strncmp(reader->t.s, "$L__info_string", 15))))
		err = kl_ptx_next(reader);
	return err;
}

/* Read one statement or label. `op` is a buffer for the opcode. */
static int read_statement(struct kl_ptx_reader *reader, struct kl_ptx_fn *fn, struct body *body,
			  struct kl_buf *op)
{
	int err = 0;

	if (kl_ptx_is(reader, "@")) { /* a guard: @p or @!p */
		err = kl_ptx_next(reader);
		if (!err && kl_ptx_is(reader, "!"))
			err = kl_ptx_next(reader);
		if (!err && reader->t.kind == KL_PTX_NAME) {
			take_name(reader, fn, body, NULL, 0);
			err = kl_ptx_next(reader);
		}
	}
	if (err || kl_ptx_is(reader, ";"))
		return err ? err : kl_ptx_next(reader);
	if (reader->t.kind != KL_PTX_NAME)
		return kl_ptx_bad(reader, "a statement that does not begin with a word");
	if (kl_ptx_is(reader, ".loc"))
		return kl_ptx_read_loc(reader);
	if (kl_ptx_is(reader, ".global") || kl_ptx_is(reader, ".const"))
		fn->hidden_state = true;
	if (reader->t.s[0] == '.')
		return read_rest(reader, fn, body, NULL);
	err = read_op(reader, op);
	if (err || kl_ptx_is(reader, ":")) /* a label */
		return err ? err : kl_ptx_next(reader);
	count_op(fn, body, op->ptr);
	return read_rest(reader, fn, body, op->ptr);
}

int kl_ptx_read_body(struct kl_ptx_reader *reader, struct kl_ptx_fn *fn)
{
	KL_AUTO(body_release) struct body body = { .op = KL_MAP_INIT };
	KL_AUTO(kl_buf_release) struct kl_buf op = KL_BUF_INIT;
	int depth = 0, err = 0;

	fn->body = reader->t.s;
	fn->line = reader->line;
	do {
		if (kl_ptx_is(reader, "{") || kl_ptx_is(reader, "}")) {
			depth += kl_ptx_is(reader, "{") ? 1 : -1;
			err = kl_ptx_next(reader);
		} else {
			err = read_statement(reader, fn, &body, &op);
		}
		fn->nbody = (size_t)(reader->t.s - fn->body);
	} while (!err && depth && reader->t.kind != KL_PTX_END);
	return !err && depth ? kl_ptx_bad(reader, "a function without an end") : err;
}
