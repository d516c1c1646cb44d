/* SPDX-License-Identifier: Apache-2.0 */
/* study_table - the tables that the verdicts of a study come from, and the skills of its model */
#include <string.h>

#include "base/error.h"
#include "search/judging.h"
#include "study/study_parts.h"

void kl_study_table_path(char out[KL_STUDY_REF], const struct kl_study_task *task)
{
	snprintf(out, KL_STUDY_REF, "tables/%s.jsonl", task->id);
}

/* --- the plan -------------------------------------------------------------------------------- */

int kl_study_take_table(struct kl_study_task *out, const char *what)
{
	const struct kl_table_state *root;
	int err = kl_search_table_open(&out->opened, what);

	if (err < 0)
		return err;
	if (strcmp(out->opened->contract, out->contract) != 0)
		return kl_error(KL_EINVALID,
				"table '%s' is of another contract: that of the task is %.12s, "
				"that of the table %.12s",
				what, out->contract, out->opened->contract);
	root = kl_search_table_find(out->opened, out->surface);
	if (!root)
		return kl_error(KL_EINVALID, "table '%s' lacks the root, kernel %.12s", what,
				out->surface);
	if (root->verdict != KL_VERDICT_PASS)
		return kl_error(KL_EINVALID, "in table '%s' the root fails: %s", what,
				root->class_ ? root->class_ : kl_verdict_name(root->verdict));
	snprintf(out->table, sizeof(out->table), "%s", out->opened->digest);
	return 0;
}

static int unknown_skill(const struct kl_study_arm *arm)
{
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;

	for (size_t i = 0; kl_skills[i].name; i++)
		kl_buf_addf(&names, "%s%s", i ? ", " : "", kl_skills[i].name);
	return kl_error(KL_EINVALID, "'%s': there is no skill '%s'; there are: %s", arm->id,
			arm->skill ? arm->skill : "", names.ptr);
}

static int check_skills(const struct kl_study *study)
{
	bool simulates = !strcmp(study->provider, "table");

	for (size_t i = 0; i < study->narm; i++) {
		const struct kl_study_arm *arm = &study->arm[i];

		if (!simulates && arm->skill)
			return kl_error(KL_EINVALID, "'%s': 'skill' needs provider table, not '%s'",
					arm->id, study->provider);
		if (simulates && (!arm->skill || !kl_skill_find(arm->skill)))
			return unknown_skill(arm);
	}
	return 0;
}

int kl_study_check_judging(const struct kl_study *study)
{
	enum kl_judging_mode mode;

	if (kl_judging_parse(&mode, study->judge) < 0)
		return kl_error(KL_EINVALID,
				"this program has no judge mode '%s'; use real, recorded or noisy",
				study->judge);
	if (mode == KL_JUDGING_REAL && !strcmp(study->provider, "table"))
		return kl_error(KL_EINVALID, "provider table needs judge mode recorded or noisy");
	for (size_t i = 0; i < study->ntask; i++) {
		const struct kl_study_task *task = &study->task[i];

		if (mode == KL_JUDGING_REAL && *task->table)
			return kl_error(KL_EINVALID,
					"the 'table' of task '%s' needs judge mode recorded or "
					"noisy",
					task->id);
		if (mode != KL_JUDGING_REAL && !*task->table)
			return kl_error(KL_EINVALID,
					"judge mode %s needs a 'table' of task '%s': a file, or "
					"the name of a shipped table",
					study->judge, task->id);
	}
	return check_skills(study);
}

/* --- the frozen study ------------------------------------------------------------------------ */

int kl_study_table(struct kl_search_table **out, struct kl_repo *repo, const struct kl_study *study,
		   const struct kl_study_task *task)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char path[KL_STUDY_REF];
	git_oid tree, blob;
	int err;

	*out = NULL;
	kl_study_table_path(path, task);
	if ((err = kl_repo_tree_of(&tree, repo, &study->commit)) < 0 ||
	    (err = kl_repo_tree_entry(&blob, NULL, repo, &tree, path)) < 0 ||
	    (err = kl_repo_blob_read(&text, repo, &blob, KL_SEARCH_TABLE_BYTES)) < 0 ||
	    (err = kl_search_table_parse(out, text.ptr ? text.ptr : "", text.len)) < 0)
		return kl_error_in(err == KL_ENOTFOUND ? KL_EINVALID : err, "%s", path);
	if (!strcmp((*out)->digest, task->table))
		return 0;
	kl_search_table_free(kl_steal(out));
	return kl_error(KL_EINVALID, "%s is not the table that was frozen", path);
}
