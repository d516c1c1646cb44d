/* SPDX-License-Identifier: Apache-2.0 */
/* code_refs - finds the targets of instructions, and the code and data that the entry reaches */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "backend/c/code/code.h"
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

/*
 * Return true if the operand refers to the symbol's slot in the global offset table. Then the
 * addend is not an offset from the symbol.
 */
static bool through_got(uint32_t type)
{
	return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX ||
	       type == R_X86_64_REX_GOTPCRELX;
}

static void place_ref(struct kl_ref *out, const struct kl_code *code, size_t obj, int sec,
		      int64_t off)
{
	const struct kl_osec *section = &code->obj[obj]->sec[sec];
	size_t func;

	*out = (struct kl_ref){ .kind = KL_REF_DATA, .obj = obj, .sec = (size_t)sec, .off = off };
	if (!kl_osec_is_code(section) || off < 0)
		return;
	func = kl_code_func_at(code, obj, (size_t)sec, (uint64_t)off);
	if (func == code->nfunc)
		return;
	out->kind = KL_REF_CODE;
	out->func = func;
	out->insn = kl_code_insn_at(code, func, (uint64_t)off);
}

/* Find a global symbol that one of the objects defines. */
static bool find_global(struct kl_ref *out, const struct kl_code *code, const char *name,
			int64_t add)
{
	const struct kl_symbol_entry *entry = kl_symbol_index_find(&code->global, name);
	const struct kl_osym *symbol = entry ? &code->obj[entry->obj]->sym[entry->sym] : NULL;

	if (!symbol || symbol->sec < 0)
		return false;
	place_ref(out, code, entry->obj, symbol->sec, (int64_t)symbol->value + add);
	return true;
}

void kl_code_ref(struct kl_ref *out, const struct kl_code *code, size_t obj, size_t rel,
		 uint64_t end)
{
	const struct kl_object *object = code->obj[obj];
	const struct kl_orel *orel = &object->rel[rel];
	const struct kl_osym *symbol = &object->sym[orel->sym];
	int64_t add = orel->addend;

	if (through_got(orel->type))
		add = 0;
	else if (pc_relative(orel->type) && end)
		add += (int64_t)(end - orel->off);
	if (symbol->sec >= 0)
		place_ref(out, code, obj, symbol->sec, (int64_t)symbol->value + add);
	else if (!find_global(out, code, symbol->name, add))
		*out = (struct kl_ref){ .kind = KL_REF_EXTERN, .name = symbol->name, .off = add };
}

size_t kl_code_insn_rel(const struct kl_code *code, size_t func, size_t i)
{
	const struct kl_func *fn = &code->func[func];
	const struct kl_object *object = code->obj[fn->obj];
	const struct kl_insn *in = &code->insn[i];
	size_t rel = kl_object_rel_at(object, fn->sec, in->addr);

	return rel < object->nrel && object->rel[rel].off < in->addr + in->len ? rel : object->nrel;
}

void kl_code_insn_ref(struct kl_ref *out, const struct kl_code *code, size_t func, size_t i)
{
	const struct kl_func *fn = &code->func[func];
	const struct kl_insn *in = &code->insn[i];
	size_t rel = kl_code_insn_rel(code, func, i);
	uint64_t to;
	char *end;

	*out = (struct kl_ref){ .kind = KL_REF_NONE };
	if (rel < code->obj[fn->obj]->nrel) {
		kl_code_ref(out, code, fn->obj, rel, in->addr + in->len);
		return;
	}
	if ((!kl_insn_is_jump(in) && !kl_insn_is_call(in)) || kl_insn_is_indirect(in))
		return;
	to = strtoull(in->args, &end, 16);
	if (end != in->args)
		place_ref(out, code, fn->obj, (int)fn->sec, (int64_t)to);
}

const unsigned char *kl_code_insn_bytes(size_t *n, const struct kl_code *code, size_t func,
					size_t i)
{
	const struct kl_func *fn = &code->func[func];
	const struct kl_osec *section = &code->obj[fn->obj]->sec[fn->sec];

	if (!section->data || code->insn[i].addr >= section->size)
		return NULL;
	*n = (size_t)(section->size - code->insn[i].addr);
	return section->data + code->insn[i].addr;
}

/*
 * Find the target of a pointer in data. The target is KL_REF_NONE if the data is not a pointer, or
 * code can change it.
 */
static void constant_pointer(struct kl_ref *out, const struct kl_code *code,
			     const struct kl_ref *slot)
{
	const struct kl_object *object = code->obj[slot->obj];
	const struct kl_osec *section = &object->sec[slot->sec];
	size_t rel;

	*out = (struct kl_ref){ .kind = KL_REF_NONE };
	if (slot->off < 0 || kl_osec_is_writable(section))
		return;
	rel = kl_object_rel_at(object, slot->sec, (uint64_t)slot->off);
	if (rel < object->nrel && object->rel[rel].sec == slot->sec &&
	    object->rel[rel].off == (uint64_t)slot->off && object->rel[rel].type == R_X86_64_64)
		kl_code_ref(out, code, slot->obj, rel, 0);
}

void kl_code_branch_target(struct kl_ref *out, const struct kl_code *code, size_t func, size_t i)
{
	const struct kl_insn *in = &code->insn[i];
	size_t rel = kl_code_insn_rel(code, func, i);
	struct kl_ref ref;

	kl_code_insn_ref(&ref, code, func, i);
	if (!kl_insn_is_indirect(in)) {
		*out = ref;
		return;
	}
	*out = (struct kl_ref){ .kind = KL_REF_NONE };
	if (rel == code->obj[code->func[func].obj]->nrel || !strstr(in->args, "(%rip)"))
		return;
	if (through_got(code->obj[code->func[func].obj]->rel[rel].type))
		*out = ref;
	else if (ref.kind == KL_REF_DATA)
		constant_pointer(out, code, &ref);
	if (out->kind == KL_REF_DATA) /* a call or jump to data faults, so it has no target */
		*out = (struct kl_ref){ .kind = KL_REF_NONE };
}

/*
 * ---- finding what the entry reaches ----
 */

struct reach {
	struct kl_code *code;
	bool **seen; /* true for each object and data section that was added to `todo` */
	/* data sections whose pointers are not followed yet */
	struct {
		size_t obj, sec;
	} * todo;
	size_t ntodo, alloc;
};

static void reach_func(struct reach *reach, size_t func)
{
	if (reach->code->func[func].reached)
		return;
	reach->code->func[func].reached = true;
	reach->code->order[reach->code->norder++] = func;
}

static void reach_ref(struct reach *reach, const struct kl_ref *ref)
{
	if (ref->kind == KL_REF_CODE)
		reach_func(reach, ref->func);
	if (ref->kind != KL_REF_DATA || reach->seen[ref->obj][ref->sec])
		return;
	reach->seen[ref->obj][ref->sec] = true;
	KL_GROW(reach->todo, reach->ntodo + 1, reach->alloc);
	reach->todo[reach->ntodo].obj = ref->obj;
	reach->todo[reach->ntodo++].sec = ref->sec;
}

/* Follow all pointers in the sections of referenced data. */
static void reach_data(struct reach *reach)
{
	struct kl_ref ref;

	while (reach->ntodo) {
		size_t obj = reach->todo[--reach->ntodo].obj, sec = reach->todo[reach->ntodo].sec;
		const struct kl_object *object = reach->code->obj[obj];

		for (size_t i = kl_object_rel_at(object, sec, 0);
		     i < object->nrel && object->rel[i].sec == sec; i++) {
			kl_code_ref(&ref, reach->code, obj, i, 0);
			reach_ref(reach, &ref);
		}
	}
}

/* Return true if execution continues from the end of the function into the next function. */
static bool runs_on(const struct kl_code *code, size_t func)
{
	const struct kl_func *fn = &code->func[func];
	const struct kl_insn *last = &code->insn[fn->first + fn->n - 1];

	if (func + 1 >= code->nfunc || fn[1].obj != fn->obj || fn[1].sec != fn->sec)
		return false;
	return !kl_insn_is_end(last) && !kl_insn_is_plain_jump(last) && !kl_insn_is_nop(last) &&
	       !kl_insn_is_call(last);
}

static void reach_all(struct reach *reach)
{
	struct kl_ref ref;

	for (size_t k = 0; k < reach->code->norder; k++) {
		size_t func = reach->code->order[k];

		for (size_t i = reach->code->func[func].first;
		     i < reach->code->func[func].first + reach->code->func[func].n; i++) {
			kl_code_insn_ref(&ref, reach->code, func, i);
			reach_ref(reach, &ref);
		}
		if (runs_on(reach->code, func))
			reach_func(reach, func + 1);
		reach_data(reach);
	}
}

int kl_code_reach(struct kl_code *code, const char *const *entries)
{
	struct reach reach = { .code = code, .seen = kl_calloc(code->nobj, sizeof(*reach.seen)) };
	struct kl_ref ref = { 0 };
	const char *entry = *entries;
	bool found = find_global(&ref, code, entry, 0) && ref.kind == KL_REF_CODE;

	for (size_t k = 0; k < code->nobj; k++)
		reach.seen[k] = kl_calloc(code->obj[k]->nsec + 1, sizeof(**reach.seen));
	free(code->order);
	code->order = kl_calloc(code->nfunc, sizeof(*code->order));
	code->norder = 0;
	for (size_t i = 0; i < code->nfunc; i++)
		code->func[i].reached = false;
	for (; found && *entries; entries++)
		if (find_global(&ref, code, *entries, 0) && ref.kind == KL_REF_CODE)
			reach_func(&reach, ref.func);
	if (found)
		reach_all(&reach);
	for (size_t k = 0; k < code->nobj; k++)
		free(reach.seen[k]);
	free(reach.seen);
	free(reach.todo);
	return found ? 0 : kl_error(KL_ENOTFOUND, "no function '%s' is defined", entry);
}
