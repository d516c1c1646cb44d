/* SPDX-License-Identifier: Apache-2.0 */
/* code_refs - what each instruction refers to, and which functions and data the entry reaches */
#include <elf.h>
#include <stdlib.h>

#include "backend/c/code.h"
#include "base/error.h"

static bool pc_relative(uint32_t type)
{
	switch (type) {
	case R_X86_64_PC32:
	case R_X86_64_PLT32:
	case R_X86_64_PC64:
	case R_X86_64_PC8:
	case R_X86_64_PC16:
	case R_X86_64_GOTPCREL:
	case R_X86_64_GOTPCRELX:
	case R_X86_64_REX_GOTPCRELX:
		return true;
	}
	return false;
}

/* The operand is the symbol's slot in the GOT: the addend tells nothing about the symbol. */
static bool through_got(uint32_t type)
{
	return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX ||
	       type == R_X86_64_REX_GOTPCRELX;
}

static void place_ref(struct kl_ref *out, const struct kl_code *c, size_t obj, int sec, int64_t off)
{
	const struct kl_osec *s = &c->obj[obj]->sec[sec];
	size_t f;

	*out = (struct kl_ref){ .kind = KL_REF_DATA, .obj = obj, .sec = (size_t)sec, .off = off };
	if (!kl_osec_is_code(s) || off < 0)
		return;
	f = kl_code_func_at(c, obj, (size_t)sec, (uint64_t)off);
	if (f == c->nfunc)
		return;
	out->kind = KL_REF_CODE;
	out->func = f;
	out->insn = kl_code_insn_at(c, f, (uint64_t)off);
}

/* A global of another object. */
static bool find_global(struct kl_ref *out, const struct kl_code *c, const char *name, int64_t add)
{
	uint64_t at = (uint64_t)(uintptr_t)kl_map_get(&c->global, name);
	const struct kl_osym *s;

	if (!at--)
		return false;
	s = &c->obj[at >> 32]->sym[at & UINT32_MAX];
	place_ref(out, c, at >> 32, s->sec, (int64_t)s->value + add);
	return true;
}

void kl_code_ref(struct kl_ref *out, const struct kl_code *c, size_t obj, size_t rel, uint64_t end)
{
	const struct kl_object *o = c->obj[obj];
	const struct kl_orel *r = &o->rel[rel];
	const struct kl_osym *s = &o->sym[r->sym];
	int64_t add = r->addend;

	if (through_got(r->type))
		add = 0;
	else if (pc_relative(r->type) && end)
		add += (int64_t)(end - r->off);
	if (s->sec >= 0)
		place_ref(out, c, obj, s->sec, (int64_t)s->value + add);
	else if (!find_global(out, c, s->name, add))
		*out = (struct kl_ref){ .kind = KL_REF_EXTERN, .name = s->name, .off = add };
}

size_t kl_code_insn_rel(const struct kl_code *c, size_t f, size_t i)
{
	const struct kl_func *fn = &c->func[f];
	const struct kl_object *o = c->obj[fn->obj];
	const struct kl_insn *in = &c->insn[i];
	size_t r = kl_object_rel_at(o, fn->sec, in->addr);

	return r < o->nrel && o->rel[r].off < in->addr + in->len ? r : o->nrel;
}

void kl_code_insn_ref(struct kl_ref *out, const struct kl_code *c, size_t f, size_t i)
{
	const struct kl_func *fn = &c->func[f];
	const struct kl_insn *in = &c->insn[i];
	size_t r = kl_code_insn_rel(c, f, i);
	uint64_t to;
	char *end;

	*out = (struct kl_ref){ .kind = KL_REF_NONE };
	if (r < c->obj[fn->obj]->nrel) {
		kl_code_ref(out, c, fn->obj, r, in->addr + in->len);
		return;
	}
	if ((!kl_insn_is_jump(in) && !kl_insn_is_call(in)) || kl_insn_is_indirect(in))
		return;
	to = strtoull(in->args, &end, 16);
	if (end != in->args)
		place_ref(out, c, fn->obj, (int)fn->sec, (int64_t)to);
}

/* ---- reachability ---- */

struct reach {
	struct kl_code *c;
	bool **seen; /* per object: data section */
	/* data sections whose pointers are not followed yet */
	struct {
		size_t obj, sec;
	} * todo;
	size_t ntodo, alloc;
};

static void reach_func(struct reach *r, size_t f)
{
	if (r->c->func[f].reached)
		return;
	r->c->func[f].reached = true;
	r->c->order[r->c->norder++] = f;
}

static void reach_ref(struct reach *r, const struct kl_ref *ref)
{
	if (ref->kind == KL_REF_CODE)
		reach_func(r, ref->func);
	if (ref->kind != KL_REF_DATA || r->seen[ref->obj][ref->sec])
		return;
	r->seen[ref->obj][ref->sec] = true;
	KL_GROW(r->todo, r->ntodo + 1, r->alloc);
	r->todo[r->ntodo].obj = ref->obj;
	r->todo[r->ntodo++].sec = ref->sec;
}

/* Data that is referred to may hold pointers: everything its section points at counts. */
static void reach_data(struct reach *r)
{
	struct kl_ref ref;

	while (r->ntodo) {
		size_t obj = r->todo[--r->ntodo].obj, sec = r->todo[r->ntodo].sec;
		const struct kl_object *o = r->c->obj[obj];

		for (size_t i = kl_object_rel_at(o, sec, 0); i < o->nrel && o->rel[i].sec == sec;
		     i++) {
			kl_code_ref(&ref, r->c, obj, i, 0);
			reach_ref(r, &ref);
		}
	}
}

/* A function that ends in an ordinary instruction runs on into the next one. */
static bool runs_on(const struct kl_code *c, size_t f)
{
	const struct kl_func *fn = &c->func[f];
	const struct kl_insn *last = &c->insn[fn->first + fn->n - 1];

	if (f + 1 >= c->nfunc || fn[1].obj != fn->obj || fn[1].sec != fn->sec)
		return false;
	return !kl_insn_is_end(last) && !kl_insn_is_plain_jump(last) && !kl_insn_is_nop(last) &&
	       !kl_insn_is_call(last);
}

static void reach_all(struct reach *r)
{
	struct kl_ref ref;

	for (size_t k = 0; k < r->c->norder; k++) {
		size_t f = r->c->order[k];

		for (size_t i = r->c->func[f].first; i < r->c->func[f].first + r->c->func[f].n;
		     i++) {
			kl_code_insn_ref(&ref, r->c, f, i);
			reach_ref(r, &ref);
		}
		if (runs_on(r->c, f))
			reach_func(r, f + 1);
		reach_data(r);
	}
}

int kl_code_reach(struct kl_code *c, const char *entry)
{
	struct reach r = { .c = c, .seen = kl_calloc(c->nobj, sizeof(*r.seen)) };
	struct kl_ref ref = { 0 };
	bool found = find_global(&ref, c, entry, 0) && ref.kind == KL_REF_CODE;

	for (size_t k = 0; k < c->nobj; k++)
		r.seen[k] = kl_calloc(c->obj[k]->nsec + 1, sizeof(**r.seen));
	free(c->order);
	c->order = kl_calloc(c->nfunc, sizeof(*c->order));
	c->norder = 0;
	for (size_t i = 0; i < c->nfunc; i++)
		c->func[i].reached = false;
	if (found) {
		reach_func(&r, ref.func);
		reach_all(&r);
	}
	for (size_t k = 0; k < c->nobj; k++)
		free(r.seen[k]);
	free(r.seen);
	free(r.todo);
	return found ? 0 : kl_error(KL_ENOTFOUND, "no function '%s' is defined", entry);
}
