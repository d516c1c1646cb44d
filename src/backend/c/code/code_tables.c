/* SPDX-License-Identifier: Apache-2.0 */
/* code_tables - reads the jump tables of a function */
#include <elf.h>
#include <stdlib.h>

#include "backend/c/code/code.h"

#define MAX_TARGETS 100000

struct reader {
	const struct kl_code *code;
	size_t func;
	struct kl_targets *out;
	bool unknown;
};

void kl_targets_release(struct kl_targets *targets)
{
	free(targets->v);
	*targets = (struct kl_targets){ 0 };
}

/*
 * Read one table: the entries of 4 or 8 bytes from `base` on, up to the first entry that does not
 * point into the function. An entry of 4 bytes is relative to the table; the addend of its
 * relocation also includes the entry's offset in the table, which is subtracted.
 */
static void read_table(struct reader *reader, size_t sec, uint64_t base)
{
	const struct kl_func *func = &reader->code->func[reader->func];
	const struct kl_object *object = reader->code->obj[func->obj];
	uint64_t want = base;

	for (size_t i = kl_object_rel_at(object, sec, base);
	     i < object->nrel && object->rel[i].sec == sec; i++) {
		const struct kl_orel *orel = &object->rel[i];
		const struct kl_osym *symbol = &object->sym[orel->sym];
		bool relative = orel->type == R_X86_64_PC32;
		int64_t to = (int64_t)symbol->value + orel->addend -
			     (relative ? (int64_t)(orel->off - base) : 0);
		size_t insn;

		if (orel->off != want || symbol->sec < 0 || (size_t)symbol->sec != func->sec ||
		    (!relative && orel->type != R_X86_64_64) || to < (int64_t)func->start ||
		    to >= (int64_t)func->end)
			return;
		insn = kl_code_insn_at(reader->code, reader->func, (uint64_t)to);
		if (insn == reader->code->ninsn || reader->out->n >= MAX_TARGETS) {
			reader->unknown = true;
			return;
		}
		KL_GROW(reader->out->v, reader->out->n + 1, reader->out->alloc);
		reader->out->v[reader->out->n++] = insn;
		want += relative ? 4 : 8;
	}
}

bool kl_code_table_targets(struct kl_targets *out, const struct kl_code *code, size_t func)
{
	struct reader reader = { .code = code, .func = func, .out = out };
	const struct kl_func *fn = &code->func[func];

	for (size_t i = fn->first; i < fn->first + fn->n && !reader.unknown; i++) {
		struct kl_ref ref;

		kl_code_insn_ref(&ref, code, func, i);
		if (ref.kind == KL_REF_DATA && ref.obj == fn->obj && ref.off >= 0)
			read_table(&reader, ref.sec, (uint64_t)ref.off);
	}
	return !reader.unknown;
}

bool kl_code_has_table(const struct kl_code *code, size_t func, enum kl_insn_use use)
{
	KL_AUTO(kl_targets_release) struct kl_targets targets = { 0 };
	const struct kl_func *fn = &code->func[func];

	kl_code_table_targets(&targets, code, func);
	for (size_t i = fn->first; targets.n && i < fn->first + fn->n; i++)
		if (code->insn[i].use >= use && kl_insn_is_jump(&code->insn[i]) &&
		    kl_insn_is_indirect(&code->insn[i]))
			return true;
	return false;
}
