/* SPDX-License-Identifier: Apache-2.0 */
/* final_file - reads and appends the final measurements of a study */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "repo/refs.h"
#include "study/final_parts.h"

#define FILE_NAME "final.jsonl"
#define MOST_BYTES ((size_t)64 << 20)
/* a kernel is not a million times as fast as the root, and figures divide such speeds */
#define MOST_PPM (INT64_C(1000000) * 1000000)

void kl_final_release(struct kl_final *final)
{
	free(final->v);
	*final = (struct kl_final){ 0 };
}

/* --- reading --------------------------------------------------------------------------------- */

static int copy_word(char *out, size_t size, const json_t *json, const char *key)
{
	const char *text;
	int err = kl_json_str(&text, json, key);

	if (err < 0)
		return err;
	if (strlen(text) >= size)
		return kl_error(KL_EINVALID, "'%s' is too long", key);
	snprintf(out, size, "%s", text);
	return 0;
}

static int read_line(struct kl_final_line *out, const char *text, size_t len)
{
	KL_AUTO(json_decrefp) json_t *json = NULL;
	int err;

	if ((err = kl_json_parse(&json, text, len)) < 0 ||
	    (err = copy_word(out->task, sizeof(out->task), json, "task")) < 0 ||
	    (err = copy_word(out->surface, sizeof(out->surface), json, "surface")) < 0 ||
	    (err = copy_word(out->event, sizeof(out->event), json, "event")) < 0 ||
	    (err = kl_json_count(&out->round, json, "round", INT32_MAX)) < 0 ||
	    (err = kl_json_count(&out->ppm, json, "speed_ppm", MOST_PPM)) < 0 ||
	    (err = kl_json_count(&out->lo, json, "lo_ppm", MOST_PPM)) < 0 ||
	    (err = kl_json_count(&out->hi, json, "hi_ppm", MOST_PPM)) < 0)
		return err;
	out->expert = kl_json_bool_or(json, "expert", false);
	return 0;
}

static int read_text(struct kl_buf *out, struct kl_repo *repo, const git_oid *commit)
{
	git_oid tree, blob;
	int err;

	if ((err = kl_repo_tree_of(&tree, repo, commit)) < 0 ||
	    (err = kl_repo_tree_entry(&blob, NULL, repo, &tree, FILE_NAME)) < 0)
		return err;
	err = kl_repo_blob_read(out, repo, &blob, MOST_BYTES);
	return !err && strlen(out->ptr) != out->len ?
		       kl_error(KL_EINVALID, "the file contains a zero byte") :
		       err;
}

static int read_lines(struct kl_final *out, const char *text)
{
	for (size_t len; *text; text += len + (text[len] == '\n')) {
		int err;

		len = strcspn(text, "\n");
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n] = (struct kl_final_line){ 0 };
		if ((err = read_line(&out->v[out->n++], text, len)) < 0)
			return kl_error_in(KL_EINVALID, "line %zu", out->n);
	}
	return 0;
}

int kl_final_load(struct kl_final *out, struct kl_repo *repo, const struct kl_study *study)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char ref[KL_STUDY_REF];
	int err;

	*out = (struct kl_final){ 0 };
	kl_study_ref(ref, study->name, "final");
	err = kl_refs_get(&out->tip, repo, ref);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	if ((err = read_text(&text, repo, &out->tip)) < 0 ||
	    (err = read_lines(out, text.ptr)) < 0) {
		kl_final_release(out);
		return kl_error_in(KL_EINVALID, "'%s', %s", ref, FILE_NAME);
	}
	return 0;
}

static int compare_speeds(const void *left, const void *right)
{
	int64_t one = *(const int64_t *)left, two = *(const int64_t *)right;

	return (one > two) - (one < two);
}

int64_t kl_final_median(const struct kl_final *final, const char *task, const char *surface)
{
	KL_AUTO(kl_freep) int64_t *ppm = kl_calloc(final->n + 1, sizeof(*ppm));
	size_t n = 0;

	for (size_t i = 0; i < final->n; i++) {
		const struct kl_final_line *line = &final->v[i];

		if (!strcmp(line->task, task) &&
		    (surface ? !strcmp(line->surface, surface) : line->expert))
			ppm[n++] = line->ppm;
	}
	qsort(ppm, n, sizeof(*ppm), compare_speeds);
	if (!n || n % 2)
		return n ? ppm[n / 2] : 0;
	return ppm[n / 2 - 1] / 2 + ppm[n / 2] / 2;
}

/* --- appending ------------------------------------------------------------------------------- */

static void add_line(struct kl_buf *out, const struct kl_final_line *line)
{
	KL_AUTO(json_decrefp) json_t *json = json_object();

	kl_json_set_str(json, "schema", "klineage.study-final/1");
	kl_json_set_str(json, "task", line->task);
	kl_json_set_str(json, "surface", line->surface);
	kl_json_set_str(json, "event", line->event);
	kl_json_set_bool(json, "expert", line->expert);
	kl_json_set_int(json, "round", line->round);
	kl_json_set_int(json, "speed_ppm", line->ppm);
	kl_json_set_int(json, "lo_ppm", line->lo);
	kl_json_set_int(json, "hi_ppm", line->hi);
	kl_json_canonical(out, json);
	kl_buf_addch(out, '\n');
}

static int write_commit(git_oid *out, struct kl_repo *repo, const struct kl_study *study,
			const struct kl_final *final, const struct kl_final_line *line)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *message = kl_asprintf(
		"study: measure %.12s of %s again, round %lld\n", line->surface, line->task,
		(long long)line->round);
	const git_oid *parent = git_oid_is_zero(&final->tip) ? &study->commit : &final->tip;
	struct kl_commit_spec spec = { .parent = parent, .nparent = 1, .message = message };
	struct kl_tree_edit edit = { .path = FILE_NAME };
	int err;

	for (size_t i = 0; i < final->n; i++)
		add_line(&text, &final->v[i]);
	add_line(&text, line);
	edit.data = text.ptr;
	edit.len = text.len;
	if ((err = kl_repo_tree_edit(&spec.tree, repo, NULL, &edit, 1)) < 0)
		return err;
	return kl_repo_commit_write(out, repo, &spec);
}

int kl_final_append(struct kl_final *final, struct kl_repo *repo, const struct kl_study *study,
		    const struct kl_final_line *line)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(repo);
	char ref[KL_STUDY_REF];
	git_oid commit;
	int err;

	kl_study_ref(ref, study->name, "final");
	if ((err = write_commit(&commit, repo, study, final, line)) < 0 ||
	    (err = KL_FAULT("study-final")) < 0)
		return err;
	kl_refs_txn_update(txn, ref, &commit, git_oid_is_zero(&final->tip) ? NULL : &final->tip);
	if ((err = kl_refs_txn_commit(txn, "klineage: a final measurement of a study")) < 0)
		return err;
	final->tip = commit;
	KL_GROW(final->v, final->n + 1, final->alloc);
	final->v[final->n++] = *line;
	return 0;
}
