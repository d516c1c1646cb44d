/* SPDX-License-Identifier: Apache-2.0 */
/* check_search - checks the chains of searches, as search/cell_check.h does, and their memories */
#include "base/error.h"
#include "fsck/parts.h"
#include "search/cell_check.h"
#include "search/memory_branch.h"

int kl_check_memories(struct kl_checker *checker)
{
	struct kl_ref_list list = { 0 };
	int err = kl_refs_list(&list, checker->c->repo, KL_MEMORY_REFS);

	for (size_t i = 0; !err && i < list.n; i++) {
		KL_AUTO(json_decrefp) json_t *entries = NULL;
		git_oid tip;

		if (kl_memory_load(&entries, &tip, checker->c->repo, list.ref[i].name) < 0)
			kl_check_report_error(checker, list.ref[i].name);
	}
	kl_ref_list_release(&list);
	return err;
}

void kl_check_search(struct kl_checker *checker, const char *ref)
{
	int err = kl_cell_check(checker->c->repo, ref);

	checker->c->searches++;
	if (!err)
		return;
	kl_check_report(checker, err == KL_ENOTFOUND ? KL_CHECK_WARNING : KL_CHECK_ERROR, ref, "%s",
			kl_error_last());
	kl_error_clear();
}
