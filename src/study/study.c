/* SPDX-License-Identifier: Apache-2.0 */
#include "study/study.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "repo/refs.h"
#include "search/policy/policy.h"
#include "study/study_parts.h"
#include "text/name.h"

#define PLAN "plan"
#define MOST_STUDIES 100000

void kl_study_release(struct kl_study *study)
{
	for (size_t i = 0; i < study->ntask; i++) {
		free(study->task[i].id);
		free(study->task[i].workload);
		free(study->task[i].lineage);
		free(study->task[i].place);
		kl_search_table_free(study->task[i].opened);
	}
	for (size_t i = 0; i < study->narm; i++) {
		free(study->arm[i].id);
		free(study->arm[i].skill);
	}
	free(study->task);
	free(study->arm);
	free(study->name);
	free(study->provider);
	free(study->model);
	free(study->judge);
	free(study->version);
	free(study->threshold.v);
	*study = (struct kl_study){ 0 };
}

void kl_study_ref(char out[KL_STUDY_REF], const char *study, const char *leaf)
{
	snprintf(out, KL_STUDY_REF, KL_STUDY_REFS "%s/%s", study, leaf);
}

/* --- cells ----------------------------------------------------------------------------------- */

size_t kl_study_cells(const struct kl_study *study)
{
	return study->ntask * study->narm * (size_t)study->seeds;
}

void kl_study_cell(struct kl_study_cell *out, const struct kl_study *study, size_t i)
{
	out->task = &study->task[i % study->ntask];
	out->arm = &study->arm[i / study->ntask % study->narm];
	out->judge = study->judge;
	out->seed = 1 + (int64_t)(i / study->ntask / study->narm);
	snprintf(out->id, sizeof(out->id), "%s.%s.%" PRId64, out->task->id, out->arm->id,
		 out->seed);
	snprintf(out->name, sizeof(out->name), "%s.%s", study->name, out->id);
	out->setup = out->arm->setup;
	kl_draw_key(out->setup.key, study->name, out->task->id, out->arm->id, out->seed);
}

int kl_study_find_cell(struct kl_study_cell *out, const struct kl_study *study, const char *id)
{
	for (size_t i = 0; i < kl_study_cells(study); i++) {
		kl_study_cell(out, study, i);
		if (!strcmp(out->id, id))
			return 0;
	}
	return kl_error_hint(kl_error(KL_ENOTFOUND, "study '%s' has no cell '%s'", study->name, id),
			     "git klineage study cells %s lists its cells", study->name);
}

int kl_study_check_names(const struct kl_study *study)
{
	for (size_t i = 0; i < study->ntask; i++)
		for (size_t k = 0; k < study->narm; k++) {
			KL_AUTO(kl_freep) char *name = kl_asprintf("%s.%s.%s.%" PRId64, study->name,
								   study->task[i].id,
								   study->arm[k].id, study->seeds);

			if (strlen(name) >= KL_CELL_NAME || !kl_name_is_slug(name))
				return kl_error(KL_EINVALID,
						"the name of a cell, '%s', has more than %d "
						"characters; shorten the name of the study, task "
						"'%s' or policy '%s'",
						name, KL_CELL_NAME - 1, study->task[i].id,
						study->arm[k].id);
		}
	return 0;
}

/* --- the commit ------------------------------------------------------------------------------ */

/* Collect the commits that the study needs, each once. */
static size_t list_parents(git_oid *parent, const struct kl_study *study)
{
	size_t n = 0;

	for (size_t i = 0; i < study->ntask; i++) {
		const git_oid *wanted[] = { &study->task[i].root, &study->task[i].expert };

		for (size_t k = 0; k < KL_ARRAY_SIZE(wanted); k++) {
			size_t at = 0;

			while (at < n && memcmp(&parent[at], wanted[k], sizeof(*parent)) != 0)
				at++;
			if (at == n && !git_oid_is_zero(wanted[k]))
				parent[n++] = *wanted[k];
		}
	}
	return n;
}

/* Add the table of a task, if it has one, to a tree. */
static int add_table(git_oid *tree, struct kl_repo *repo, const struct kl_study_task *task)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char path[KL_STUDY_REF];
	git_oid base = *tree;

	if (!task->opened)
		return 0;
	kl_study_table_path(path, task);
	kl_search_table_write(&text, task->opened);
	return kl_repo_tree_edit(
		tree, repo, &base,
		&(struct kl_tree_edit){ .path = path, .data = text.ptr, .len = text.len }, 1);
}

static int write_commit(struct kl_study *study, struct kl_repo *repo, const struct kl_buf *json,
			const char *text, size_t len)
{
	git_oid parent[2 * KL_STUDY_TASKS];
	KL_AUTO(kl_freep) char *message = kl_asprintf(
		"study: freeze %s\n\n%zu cells: %zu tasks, %zu policies, %" PRId64 " seeds.\n",
		study->name, kl_study_cells(study), study->ntask, study->narm, study->seeds);
	const struct kl_tree_edit edit[] = {
		{ .path = "plan.yaml", .data = text, .len = len },
		{ .path = "study.json", .data = json->ptr, .len = json->len },
	};
	struct kl_commit_spec spec = { .parent = parent, .message = message };
	int err = kl_repo_tree_edit(&spec.tree, repo, NULL, edit, KL_ARRAY_SIZE(edit));

	for (size_t i = 0; !err && i < study->ntask; i++)
		err = add_table(&spec.tree, repo, &study->task[i]);
	spec.nparent = list_parents(parent, study);
	return err < 0 ? err : kl_repo_commit_write(&study->commit, repo, &spec);
}

static void write_json(struct kl_buf *out, const struct kl_study *study)
{
	KL_AUTO(json_decrefp) json_t *json = kl_study_json(study);

	kl_json_canonical(out, json);
	kl_buf_addch(out, '\n');
}

/* Return 0 if the frozen study `was` is this very study. */
static int compare_frozen(struct kl_study *study, struct kl_repo *repo, const git_oid *was,
			  const struct kl_buf *json)
{
	KL_AUTO(kl_study_release) struct kl_study old = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_study_read(&old, repo, was);

	if (err < 0)
		return err;
	write_json(&text, &old);
	if (strcmp(text.ptr, json->ptr) != 0)
		return kl_error_hint(kl_error(KL_EEXISTS, "there is another study '%s' already",
					      study->name),
				     "a plan that was changed is another study; give it another "
				     "name");
	study->commit = *was;
	return 0;
}

int kl_study_freeze(struct kl_study *study, struct kl_repo *repo, const char *text, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf json = KL_BUF_INIT;
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(repo);
	char ref[KL_STUDY_REF];
	git_oid was;
	int err;

	kl_study_ref(ref, study->name, PLAN);
	write_json(&json, study);
	err = kl_refs_get(&was, repo, ref);
	if (!err)
		return compare_frozen(study, repo, &was, &json);
	if (err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	if ((err = kl_refs_can_create(repo, ref)) < 0 ||
	    (err = write_commit(study, repo, &json, text, len)) < 0)
		return err;
	kl_refs_txn_create(txn, ref, &study->commit);
	err = kl_refs_txn_commit(txn, "klineage: freeze a study");
	return err == KL_ECHANGED ?
		       kl_error(KL_EEXISTS, "there is a study '%s' already", study->name) :
		       err;
}

int kl_study_read(struct kl_study *out, struct kl_repo *repo, const git_oid *commit)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *json = NULL;
	git_oid tree, blob;
	int err;

	*out = (struct kl_study){ .commit = *commit };
	if ((err = kl_repo_tree_of(&tree, repo, commit)) < 0 ||
	    (err = kl_repo_tree_entry(&blob, NULL, repo, &tree, "study.json")) < 0 ||
	    (err = kl_repo_blob_read(&text, repo, &blob, KL_STUDY_BYTES)) < 0 ||
	    (err = kl_json_parse(&json, text.ptr, text.len)) < 0 ||
	    (err = kl_study_from_json(out, json)) < 0 || (err = kl_study_check_names(out)) < 0) {
		kl_study_release(out);
		return kl_error_in(err == KL_ENOTFOUND ? KL_EINVALID : err, "study.json");
	}
	return 0;
}

int kl_study_lock(struct kl_lock *lock, struct kl_repo *repo, const struct kl_study *study)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/klineage/study/%s.lock",
						   kl_repo_common_dir(repo), study->name);
	int err = kl_fs_mkdir_of(path);

	return err < 0 ? err : kl_lock_take(lock, path, 0);
}

int kl_study_names(struct kl_strvec *out, struct kl_repo *repo)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list list = { 0 };
	int err = kl_refs_list(&list, repo, KL_STUDY_REFS);

	for (size_t i = 0; !err && i < list.n && i < MOST_STUDIES; i++) {
		const char *name = list.ref[i].name + strlen(KL_STUDY_REFS);
		const char *slash = strchr(name, '/');

		if (slash && !strcmp(slash + 1, PLAN))
			kl_strvec_take(out, kl_strndup(name, (size_t)(slash - name)));
	}
	return err;
}

static int no_study(struct kl_repo *repo, const char *name)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	int err = kl_study_names(&names, repo);

	if (err < 0)
		return err;
	for (size_t i = 0; i < names.n; i++)
		kl_buf_addf(&list, "%s%s", i ? ", " : "", names.v[i]);
	err = kl_error(KL_ENOTFOUND, "there is no study '%s' here", name);
	return names.n ? kl_error_hint(err, "there are: %s", list.ptr) :
			 kl_error_hint(err, "begin one with git klineage study start <file>");
}

int kl_study_load(struct kl_study *out, struct kl_repo *repo, const char *name)
{
	char ref[KL_STUDY_REF];
	git_oid commit;
	int err;

	*out = (struct kl_study){ 0 };
	if (!kl_name_is_slug(name))
		return no_study(repo, name);
	kl_study_ref(ref, name, PLAN);
	if ((err = kl_refs_get(&commit, repo, ref)) < 0)
		return err == KL_ENOTFOUND ? no_study(repo, name) : err;
	if ((err = kl_study_read(out, repo, &commit)) < 0)
		return kl_error_in(err, "'%s'", ref);
	if (strcmp(out->name, name) != 0) {
		kl_study_release(out);
		return kl_error(KL_EINVALID, "'%s': study.json is of another study", ref);
	}
	return 0;
}
