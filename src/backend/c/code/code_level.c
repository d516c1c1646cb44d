/* SPDX-License-Identifier: Apache-2.0 */
/* code_level - checks that a kernel uses only instruction sets of its platform's level */
#include <stdlib.h>
#include <string.h>

#include "backend/c/code/code.h"
#include "backend/c/code/isa.h"
#include "base/error.h"

/* Refuse an instruction set. `level` is the lowest level that has it, or KL_ISA_NO_LEVEL. */
static int refuse_set(const char *func, const char *set, const char *what, int level,
		      const char *march)
{
	KL_AUTO(kl_freep) char *hint = NULL;

	if (level != KL_ISA_NO_LEVEL)
		hint = kl_asprintf("; judge it with --platform cpu/x86-64-v%d", level);
	return kl_error(KL_ENO, "function '%s' uses %s ('%s'), which %s does not have%s", func, set,
			what, march, hint ? hint : "");
}

/*
 * Check a call of a vector function of libm, whose name tells its instruction set: _ZGVd... uses
 * AVX2.
 */
static int check_vector_math(const struct kl_ref *ref, int level, const char *march,
			     const char *func)
{
	static const struct {
		char isa;
		int level;
		const char *set;
	} forms[] = { { 'c', 3, "AVX" }, { 'd', 3, "AVX2" }, { 'e', 4, "AVX512F" } };

	if (ref->kind != KL_REF_EXTERN || strncmp(ref->name, "_ZGV", 4))
		return 0;
	for (size_t i = 0; i < KL_ARRAY_SIZE(forms); i++)
		if (ref->name[4] == forms[i].isa && level < forms[i].level)
			return refuse_set(func, forms[i].set, ref->name, forms[i].level, march);
	return 0;
}

/* Check one function. If `all` is true, also check instructions that the entry does not execute. */
static int check_func(const struct kl_code *code, size_t func, int level, const char *march,
		      bool all)
{
	const struct kl_func *fn = &code->func[func];
	int err = 0;

	for (size_t i = fn->first; !err && i < fn->first + fn->n; i++) {
		size_t n = 0;
		const unsigned char *bytes = kl_code_insn_bytes(&n, code, func, i);
		struct kl_isa_insn insn;
		struct kl_ref ref;

		if (!all && code->insn[i].use == KL_INSN_DEAD)
			continue;
		if (bytes && kl_isa_decode(&insn, bytes, n) && insn.level > level)
			return refuse_set(fn->name, insn.set, code->insn[i].op, insn.level, march);
		kl_code_insn_ref(&ref, code, func, i);
		err = check_vector_math(&ref, level, march, fn->name);
	}
	return err;
}

/* Find the sections with reached functions, by object and section. The linker drops all others. */
static bool **linked_sections(const struct kl_code *code)
{
	bool **linked = kl_calloc(code->nobj, sizeof(*linked));

	for (size_t k = 0; k < code->nobj; k++)
		linked[k] = kl_calloc(code->obj[k]->nsec + 1, sizeof(**linked));
	for (size_t k = 0; k < code->norder; k++)
		linked[code->func[code->order[k]].obj][code->func[code->order[k]].sec] = true;
	return linked;
}

/*
 * Check only the instructions that kl_code_live() marked. If the code has an open branch, check all
 * linked code, because all of it could run.
 */
int kl_code_check_level(const struct kl_code *code, const char *march)
{
	bool **linked = linked_sections(code);
	struct kl_open_branch branch;
	bool all = kl_code_open_branch(&branch, code);
	int level = kl_isa_level(march), err = 0;

	for (size_t func = 0; !err && func < code->nfunc; func++)
		if (linked[code->func[func].obj][code->func[func].sec])
			err = check_func(code, func, level, march, all);
	for (size_t k = 0; k < code->nobj; k++)
		free(linked[k]);
	free(linked);
	return err;
}
