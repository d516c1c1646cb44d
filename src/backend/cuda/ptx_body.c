/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_body - the body of a PTX function: opcodes, registers, the names it refers to */
#include <stdint.h>
#include <string.h>

#include "backend/cuda/ptx_parts.h"
#include "base/buf.h"
#include "base/mem.h"

static void add_once(struct kl_strvec *v, struct kl_map *seen, const char *name)
{
	if (!kl_map_get(seen, name)) {
		kl_map_put(seen, name, seen);
		kl_strvec_push(v, name);
	}
}

struct body { /* of the function being read */
	struct kl_map op, special, ref, stored;
};

static void body_release(struct body *b)
{
	kl_map_release(&b->op);
	kl_map_release(&b->special);
	kl_map_release(&b->ref);
	kl_map_release(&b->stored);
}

static void count_op(struct kl_ptx_fn *f, struct body *b, const char *name)
{
	uintptr_t i = (uintptr_t)kl_map_get(&b->op, name);

	if (!i) {
		KL_GROW(f->op, f->nop + 1, f->alloc);
		f->op[f->nop] = (struct kl_ptx_op){ .name = kl_strdup(name) };
		i = ++f->nop;
		kl_map_put(&b->op, name, (void *)i);
	}
	f->op[i - 1].n++;
}

/*
 * Does the instruction write where its bracket points? Opcodes that copy by bulk write to the
 * first, too.
 */
static bool writes_memory(const char *op)
{
	static const char *const stores[] = {
		"st.",      "atom",       "red.", "cp.",   "mbarrier",  "multimem",
		"stmatrix", "wmma.store", "sust", "sured", "tensormap", "discard",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(stores); i++)
		if (!strncmp(op, stores[i], strlen(stores[i])))
			return true;
	return !strcmp(op, "st") || !strcmp(op, "red");
}

/* "%r12", as the compiler numbers its registers: none of the machine's own has such a name */
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

static void take_name(struct kl_ptx_reader *r, struct kl_ptx_fn *f, struct body *b, const char *op,
		      int brackets)
{
	KL_AUTO(kl_freep) char *name = kl_strndup(r->t.s, r->t.n);

	if (name[0] == '%') {
		if (!is_register(name))
			add_once(&f->special, &b->special, name);
	} else if (name[0] != '.') {
		add_once(&f->ref, &b->ref, name);
		if (brackets && op && writes_memory(op))
			add_once(&f->stored, &b->stored, name);
	}
}

/* The opcode and the modifiers that belong to it, wherever comments and blanks stand. */
static int read_op(struct kl_ptx_reader *r, struct kl_buf *op)
{
	int err = 0;

	kl_buf_clear(op);
	do {
		kl_buf_add(op, r->t.s, r->t.n);
		err = kl_ptx_next(r);
	} while (!err && r->t.kind == KL_PTX_NAME && r->t.s[0] == '.');
	return err;
}

static int read_rest(struct kl_ptx_reader *r, struct kl_ptx_fn *f, struct body *b, const char *op)
{
	int brackets = 0, err = 0;

	/*
	 * a brace may be a vector operand, {%f1, %f2}: so it does not end a statement with an
	 * opcode
	 */
	while (!err && r->t.kind != KL_PTX_END && !kl_ptx_is(r, ";")) {
		if (r->t.kind == KL_PTX_NAME)
			take_name(r, f, b, op, brackets);
		brackets += kl_ptx_is(r, "[") ? 1 : kl_ptx_is(r, "]") ? -1 : 0;
		err = kl_ptx_next(r);
	}
	if (!err && r->t.kind == KL_PTX_END)
		err = kl_ptx_bad(r, "an instruction without an end");
	return err ? err : kl_ptx_next(r);
}

/* .loc 1 2 3, function_name $L, inlined_at 1 2 3: ends where nothing belongs to it any more */
int kl_ptx_read_loc(struct kl_ptx_reader *r)
{
	int err = kl_ptx_next(r);

	while (!err &&
	       (r->t.kind == KL_PTX_NUMBER || kl_ptx_is(r, ",") || kl_ptx_is(r, "function_name") ||
		kl_ptx_is(r, "inlined_at") || kl_ptx_is(r, "+") ||
		(r->t.kind == KL_PTX_NAME && !strncmp(r->t.s, "$L__info_string", 15))))
		err = kl_ptx_next(r);
	return err;
}

/* After a label or at a brace: one statement. `op` is working storage. */
static int read_statement(struct kl_ptx_reader *r, struct kl_ptx_fn *f, struct body *b,
			  struct kl_buf *op)
{
	int err = 0;

	if (kl_ptx_is(r, "@")) { /* @p, @!p */
		err = kl_ptx_next(r);
		if (!err && kl_ptx_is(r, "!"))
			err = kl_ptx_next(r);
		if (!err && r->t.kind == KL_PTX_NAME) {
			take_name(r, f, b, NULL, 0);
			err = kl_ptx_next(r);
		}
	}
	if (err || kl_ptx_is(r, ";"))
		return err ? err : kl_ptx_next(r);
	if (r->t.kind != KL_PTX_NAME)
		return kl_ptx_bad(r, "a statement that begins with no word");
	if (kl_ptx_is(r, ".loc"))
		return kl_ptx_read_loc(r);
	if (kl_ptx_is(r, ".global") || kl_ptx_is(r, ".const"))
		f->hidden_state = true;
	if (r->t.s[0] == '.')
		return read_rest(r, f, b, NULL);
	err = read_op(r, op);
	if (err || kl_ptx_is(r, ":")) /* a label */
		return err ? err : kl_ptx_next(r);
	count_op(f, b, op->ptr);
	return read_rest(r, f, b, op->ptr);
}

int kl_ptx_read_body(struct kl_ptx_reader *r, struct kl_ptx_fn *f)
{
	KL_AUTO(body_release) struct body b = { .op = KL_MAP_INIT };
	KL_AUTO(kl_buf_release) struct kl_buf op = KL_BUF_INIT;
	int depth = 0, err = 0;

	do {
		if (kl_ptx_is(r, "{") || kl_ptx_is(r, "}")) {
			depth += kl_ptx_is(r, "{") ? 1 : -1;
			err = kl_ptx_next(r);
		} else {
			err = read_statement(r, f, &b, &op);
		}
	} while (!err && depth && r->t.kind != KL_PTX_END);
	return !err && depth ? kl_ptx_bad(r, "a function without an end") : err;
}
