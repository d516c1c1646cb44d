/* SPDX-License-Identifier: Apache-2.0 */
/* compile_cxx - finds the entry of a kernel in C++, and explains why one does not compile */
#include <string.h>

#include "backend/c/compile_parts.h"
#include "backend/c/cxx.h"
#include "backend/demangle.h"
#include "base/error.h"

int kl_build_find_symbol(struct kl_build *build)
{
	const char *symbol = kl_cxx_entry_symbol((const struct kl_object *const *)build->obj,
						 build->nobj, build->tag);

	for (size_t k = 0; symbol && k < build->nobj; k++)
		for (size_t i = 0; i < build->obj[k]->nsym; i++)
			if (build->obj[k]->sym[i].sec >= 0 &&
			    build->obj[k]->sym[i].bind != STB_LOCAL &&
			    !strcmp(build->obj[k]->sym[i].name, symbol)) {
				build->symbol = kl_strdup(symbol);
				build->entry = build->symbol;
				return 0;
			}
	*build->class_ = "compile";
	return kl_error(KL_ENO,
			"the entry '%s' is only declared, static or in an unnamed namespace: "
			"define it so that other files can call it",
			build->entry);
}

int kl_build_explain_cxx(struct kl_build *build, int err)
{
	KL_AUTO(kl_freep) char *message = NULL;

	if (err == KL_ECANNOT && strstr(kl_error_last(), "cc1plus"))
		return kl_error_hint(kl_error(err, "gcc does not compile C++ here"), "install g++");
	if (err != KL_ENO)
		return err;
	message = kl_cxx_explain(kl_error_last(), build->class_, build->contract, build->file,
				 build->nfile);
	if (message)
		kl_error(KL_ENO, "%s", message);
	return kl_demangle_error(err, build->tool.jail, build->dir);
}
