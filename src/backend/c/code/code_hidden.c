/* SPDX-License-Identifier: Apache-2.0 */
/* code_hidden - refuses instructions hidden in other instructions, if a branch could land there */
#include "backend/c/code/code.h"
#include "backend/c/code/hidden.h"
#include "base/error.h"

static int refuse(const struct kl_open_branch *branch, const char *what, size_t at,
		  const char *where)
{
	return kl_error(KL_ENO,
			"hides '%s' in the bytes of %s (at %#zx); '%s' %s and could jump to it, "
			"so write the constant or the branch in another way",
			what, where, at, branch->func, branch->how);
}

/*
 * Search the reached functions of the objects. The caller reports a place in the linked code only
 * if this search finds nothing, because here the message can name the function.
 */
static int check_objects(const struct kl_code *code, const struct kl_open_branch *branch)
{
	for (size_t func = 0; func < code->nfunc; func++) {
		const struct kl_func *fn = &code->func[func];
		const struct kl_osec *section = &code->obj[fn->obj]->sec[fn->sec];
		size_t at = (size_t)fn->start;
		KL_AUTO(kl_freep) char *where = kl_asprintf("'%s'", fn->name);
		const char *what = fn->reached ?
					   kl_hidden_find(&at, section->data, (size_t)fn->end) :
					   NULL;

		if (what)
			return refuse(branch, what, at, where);
	}
	return 0;
}

int kl_code_check_hidden(const struct kl_code *code, const unsigned char *text, size_t n)
{
	struct kl_open_branch branch;
	size_t at = 0;
	const char *what = kl_hidden_find(&at, text, n);
	int err;

	/*
	 * search the bytes first, because most kernels hide nothing, and finding an open branch
	 * takes longer
	 */
	if (!what || !kl_code_open_branch(&branch, code))
		return 0;
	err = check_objects(code, &branch);
	return err ? err : refuse(&branch, what, at, "the linked code");
}
