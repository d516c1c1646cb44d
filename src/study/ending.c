/* SPDX-License-Identifier: Apache-2.0 */
#include "study/ending.h"

#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "repo/refs.h"

#define SCHEMA "klineage.study-end/1"
#define MOST_JSON ((size_t)64 << 10)

const char *const kl_end_reason_name[KL_END_REASONS] = { "complete", "budget", "idle",
							 "recording" };

void kl_ending_release(struct kl_ending *ending)
{
	free(ending->why);
	*ending = (struct kl_ending){ 0 };
}

static void end_ref(char out[KL_STUDY_REF], const struct kl_study *study,
		    const struct kl_study_cell *cell)
{
	KL_AUTO(kl_freep) char *leaf = kl_asprintf("end/%s", cell->id);

	kl_study_ref(out, study->name, leaf);
}

static void end_json(struct kl_buf *out, const struct kl_study_cell *cell,
		     const struct kl_ending *ending)
{
	KL_AUTO(json_decrefp) json_t *json = json_object();

	kl_json_set_str(json, "schema", SCHEMA);
	kl_json_set_str(json, "cell", cell->id);
	kl_json_set_str(json, "reason", kl_end_reason_name[ending->reason]);
	kl_json_set_str(json, "why", ending->why);
	kl_json_canonical(out, json);
	kl_buf_addch(out, '\n');
}

/* Write the commit with the author time of the last link, so that it gets the same id again. */
static int write_commit(git_oid *out, struct kl_repo *repo, const struct kl_study_cell *cell,
			const struct kl_ending *ending)
{
	KL_AUTO(kl_buf_release) struct kl_buf json = KL_BUF_INIT;
	KL_AUTO(kl_commit_release) struct kl_commit last = { 0 };
	KL_AUTO(kl_freep) char *message = kl_asprintf("study: end %s, %s\n\nKlineage-Cell: %s\n",
						      cell->id, kl_end_reason_name[ending->reason],
						      cell->id);
	struct kl_commit_spec spec = { .parent = &ending->tip, .nparent = 1, .message = message };
	struct kl_tree_edit edit = { .path = "end.json" };
	int err;

	end_json(&json, cell, ending);
	edit.data = json.ptr;
	edit.len = json.len;
	if ((err = kl_repo_identity(&spec.author, repo)) < 0 ||
	    (err = kl_repo_commit_read(&last, repo, &ending->tip)) < 0 ||
	    (err = kl_repo_tree_edit(&spec.tree, repo, NULL, &edit, 1)) < 0)
		return err;
	spec.time = last.author_time;
	spec.offset = last.author_offset;
	return kl_repo_commit_write(out, repo, &spec);
}

int kl_ending_write(struct kl_repo *repo, const struct kl_study *study,
		    const struct kl_study_cell *cell, const struct kl_ending *ending)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(repo);
	char ref[KL_STUDY_REF];
	git_oid commit;
	int err = write_commit(&commit, repo, cell, ending);

	end_ref(ref, study, cell);
	if (err < 0 || (err = KL_FAULT("study-end")) < 0)
		return err;
	kl_refs_txn_create(txn, ref, &commit);
	return kl_refs_txn_commit(txn, "klineage: the end of a cell");
}

static int read_reason(enum kl_end_reason *out, const json_t *json)
{
	const char *word = kl_json_str_or(json, "reason", "");

	for (int i = 0; i < KL_END_REASONS; i++)
		if (!strcmp(kl_end_reason_name[i], word)) {
			*out = (enum kl_end_reason)i;
			return 0;
		}
	return kl_error(KL_EINVALID, "'reason' is '%.40s', which is none", word);
}

static int read_commit(struct kl_ending *out, struct kl_repo *repo, const git_oid *commit,
		       const char *id)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_commit_release) struct kl_commit end = { 0 };
	KL_AUTO(json_decrefp) json_t *json = NULL;
	git_oid blob;
	int err;

	if ((err = kl_repo_commit_read(&end, repo, commit)) < 0 ||
	    (err = kl_repo_tree_entry(&blob, NULL, repo, &end.tree, "end.json")) < 0 ||
	    (err = kl_repo_blob_read(&text, repo, &blob, MOST_JSON)) < 0 ||
	    (err = kl_json_parse(&json, text.ptr, text.len)) < 0 ||
	    (err = read_reason(&out->reason, json)) < 0)
		return err;
	if (strcmp(kl_json_str_or(json, "schema", ""), SCHEMA) != 0 || end.nparent != 1 ||
	    strcmp(kl_json_str_or(json, "cell", ""), id) != 0)
		return kl_error(KL_EINVALID, "end.json is not the end of cell '%s'", id);
	out->tip = end.parent[0];
	if (json_is_string(json_object_get(json, "why")))
		out->why = kl_strdup(kl_json_str_or(json, "why", ""));
	return 0;
}

int kl_ending_read(struct kl_ending *out, struct kl_repo *repo, const struct kl_study *study,
		   const struct kl_study_cell *cell)
{
	char ref[KL_STUDY_REF];
	git_oid commit;
	int err;

	*out = (struct kl_ending){ 0 };
	end_ref(ref, study, cell);
	if ((err = kl_refs_get(&commit, repo, ref)) < 0)
		return err;
	err = read_commit(out, repo, &commit, cell->id);
	return err < 0 ? kl_error_in(KL_EINVALID, "'%s'", ref) : 0;
}
