/* SPDX-License-Identifier: Apache-2.0 */
/* compile_adapter - compiles and audits the untimed half of an adapter */
#include "backend/c/adapter.h"
#include "backend/c/audit.h"
#include "backend/c/compile_parts.h"
#include "base/error.h"

/* The untimed half must have no jumps through pointers, so it must have no jump tables. */
static const char *const untimed_flags[] = { "-DKL_TIMED=0", "-fno-jump-tables", NULL };

/*
 * Audit the untimed half alone, as if it were a kernel: symbols of the real kernel are undefined.
 */
static int audit_untimed(struct kl_build *half)
{
	const struct kl_object *const *object = (const struct kl_object *const *)half->obj;
	KL_AUTO(kl_symbol_index_release) struct kl_symbol_index defined = { .entry = NULL };
	const struct kl_audit audit = { .object = object, .n = 1, .defined = &defined };
	const char *entries[3] = { NULL };
	size_t n = 0;
	int err;

	for (size_t i = 0; kl_adapter_untimed[i]; i++)
		if (kl_adapter_has(object[0], kl_adapter_untimed[i]))
			entries[n++] = kl_adapter_untimed[i];
	kl_symbol_index_build(&defined, object, 1);
	err = n ? kl_build_disassemble(half) : 0;
	if (!err && n)
		err = kl_code_reach(&half->code, entries);
	if (!err)
		err = kl_adapter_check_untimed(object[0], &half->code);
	if (!err)
		err = kl_audit_object(&audit, 0);
	if (!err && n)
		err = kl_code_audit(&half->code, NULL);
	if (err || !n)
		return err;
	kl_code_live(&half->code);
	return kl_code_check_level(&half->code, half->tools->platform->march);
}

/*
 * Compile and audit the untimed half in a folder without files of the kernel. Every error in it is
 * the contract's fault, not the kernel's.
 */
int kl_build_untimed(struct kl_build *build)
{
	const struct kl_file *file = &build->file[build->nfile - 1];
	const char *class_ = NULL;
	KL_AUTO(kl_build_release) struct kl_build half = {
		.tools = build->tools,
		.dir = build->dir,
		.name = "adapter",
		.adapter = build->adapter,
		.file = file,
		.nfile = 1,
		.extra = untimed_flags,
		.class_ = &class_,
		.tool = { .jail = build->tools->jail,
			  .dir = build->dir,
			  .prefix = "src-adapter/",
			  .class_ = &class_,
			  .log = KL_BUF_INIT },
	};
	int err = kl_build_lay_out(&half);

	if (!err)
		err = kl_build_sources(&half);
	if (!err)
		err = audit_untimed(&half);
	if (!err && half.code.norder) {
		build->untimed = half.obj[0];
		half.nobj = 0;
	}
	return err == KL_ENO || err == KL_EINVALID ? kl_error_in(KL_EINVALID, "the adapter") : err;
}
