/* SPDX-License-Identifier: Apache-2.0 */
/* compile_audit - audits the objects of a build: their symbols, then their machine code */
#include <string.h>

#include "backend/c/adapter.h"
#include "backend/c/audit.h"
#include "backend/c/compile_parts.h"
#include "base/error.h"

static int check_entry(struct kl_build *build)
{
	if (build->adapter) /* the message of kl_adapter_check() says more */
		return 0;
	for (size_t k = 0; k < build->nobj; k++)
		for (size_t i = 0; i < build->obj[k]->nsym; i++)
			if (build->obj[k]->sym[i].sec >= 0 &&
			    !strcmp(build->obj[k]->sym[i].name, build->entry))
				return 0;
	*build->class_ = "compile";
	return kl_error(KL_ENO, "no source defines the function '%s'", build->entry);
}

struct kl_entries kl_build_entries(const struct kl_build *build)
{
	return (struct kl_entries){ { build->entry, build->adapter ? KL_ADAPTER_PREPARE : NULL } };
}

int kl_build_disassemble(struct kl_build *build)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_object *const *objs = (const struct kl_object *const *)build->obj;
	int err;

	kl_strvec_push(&argv, "objdump");
	kl_strvec_push(&argv, "-dzw");
	kl_strvec_push(&argv, "--no-show-raw-insn");
	for (size_t k = 0; k < build->objpath.n; k++)
		kl_strvec_push(&argv, build->objpath.v[k]);
	err = kl_tool_run(&build->tool, &argv, &text, "reading the machine code");
	return err ? err : kl_code_parse(&build->code, objs, build->nobj, text.ptr, text.len);
}

/* Audit the machine code of the sections that the entry reaches, because only these are linked. */
static int audit_code(struct kl_build *build, const struct kl_reached *reached)
{
	const struct kl_entries entries = kl_build_entries(build);
	int err = kl_build_disassemble(build);

	if (!err)
		err = kl_code_audit(&build->code, reached);
	if (!err)
		err = kl_code_reach(&build->code, entries.name);
	if (!err) {
		kl_code_live(&build->code);
		err = kl_code_check_level(&build->code, build->tools->platform->march);
	}
	return kl_build_failed(build, err, "the kernel");
}

const struct kl_strvec *kl_build_traps(const struct kl_build *build)
{
	return build->contract ? &build->contract->build.traps : NULL;
}

static struct kl_adapter adapter_of(const struct kl_build *build,
				    const struct kl_symbol_index *defined)
{
	return (struct kl_adapter){ .object = (const struct kl_object *const *)build->obj,
				    .n = build->nobj,
				    .defined = defined,
				    .contract = build->contract };
}

/* Check the adapter together with the kernel. */
static int check_adapter(struct kl_build *build, const struct kl_symbol_index *defined)
{
	const struct kl_adapter adapter = adapter_of(build, defined);
	const char *class_;
	int err = kl_adapter_check(&class_, &adapter);

	if (err == KL_ENO)
		*build->class_ = class_;
	return err;
}

int kl_build_audit(struct kl_build *build)
{
	KL_AUTO(kl_symbol_index_release) struct kl_symbol_index defined = { .entry = NULL };
	KL_AUTO(kl_reached_release) struct kl_reached reached = { .sec = NULL };
	const struct kl_audit audit = {
		.object = (const struct kl_object *const *)build->obj,
		.n = build->nobj,
		.defined = &defined,
		.reached = &reached,
		.traps = kl_build_traps(build),
		.openmp = build->contract && build->contract->threads,
	};
	int err = build->cxx ? kl_build_find_symbol(build) : check_entry(build);
	const struct kl_entries entries = kl_build_entries(build);

	if (err < 0)
		return err;
	kl_symbol_index_build(&defined, audit.object, audit.n);
	if (build->adapter)
		err = check_adapter(build, &defined);
	kl_reached_find(&reached, audit.object, audit.n, &defined, entries.name);
	for (size_t k = 0; !err && k < build->nobj; k++)
		err = kl_build_failed(build, kl_audit_object(&audit, k), "the kernel");
	return err ? err : audit_code(build, &reached);
}

void kl_build_notes(struct kl_strvec *notes, const struct kl_build *build)
{
	KL_AUTO(kl_symbol_index_release) struct kl_symbol_index defined = { .entry = NULL };
	const struct kl_adapter adapter = adapter_of(build, &defined);

	kl_symbol_index_build(&defined, adapter.object, adapter.n);
	if (build->adapter)
		kl_adapter_notes(notes, &adapter, &build->code);
}
