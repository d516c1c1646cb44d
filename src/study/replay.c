/* SPDX-License-Identifier: Apache-2.0 */
#include "study/replay.h"

#include "base/error.h"
#include "search/cell_check.h"

int kl_replay_cell(size_t *tickets, struct kl_repo *repo, const struct kl_study *study,
		   const struct kl_study_cell *cell)
{
	KL_AUTO(kl_standing_release) struct kl_standing standing = { 0 };
	char branch[KL_CELL_REF], ref[KL_CELL_REF];
	int err = kl_standing_load(&standing, repo, study, cell);

	if (err < 0 || standing.state == KL_STANDING_OPEN)
		return err;
	kl_cell_refs(branch, ref, cell->task->workload, cell->name);
	if ((err = kl_cell_check(repo, ref)) < 0)
		return kl_error_in(err, "cell '%s'", cell->id);
	*tickets += standing.chain.n;
	return 0;
}
