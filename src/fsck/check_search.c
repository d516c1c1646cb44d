/* SPDX-License-Identifier: Apache-2.0 */
/* check_search - checks the chains of searches, as search/cell_check.h does */
#include "base/error.h"
#include "fsck/parts.h"
#include "search/cell_check.h"

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
