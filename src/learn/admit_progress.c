/* SPDX-License-Identifier: Apache-2.0 */
/* admit_progress - stores a trial that has begun: its seed, its wrong card and the judged edits */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "learn/admit_parts.h"

/*
 * The file is $GIT_COMMON_DIR/klineage/admit/<card>.json. It is replaced after each judgement and
 * removed when the trial is in the library. The members are `schema`, `seed`, `rewriter`, `on`,
 * `wrong` (the card of the arm `wrong`), and `edits`: from "<conversation>/<phase>.<turn>" to the
 * edit's `surface`, `class`, `missing`, `recovered` and `event`. With a runner that judges
 * elsewhere there is also `stale`: from the same key to a list of verdicts that do not count.
 */
#define SCHEMA "klineage.trial/1"
#define MAX_BYTES (16u << 20)
#define MORE 2 /* number of further measurements if the verdict is too noisy */

static int store(const struct kl_admit *work)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_mkdir_of(work->progress.path);

	if (err < 0)
		return err;
	kl_json_canonical(&text, work->progress.doc);
	kl_buf_addch(&text, '\n');
	return kl_fs_write(work->progress.path, text.ptr, text.len);
}

static bool is_same(const json_t *doc, const char *key, const char *value)
{
	return !strcmp(kl_json_str_or(doc, key, ""), value ? value : "");
}

/*
 * Read the file into work->progress.doc if it is of the same trial: the same rewriter, the same
 * option `on` and, if a seed is given, the same seed.
 */
static int load(struct kl_admit *work)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_admit_opts *opts = work->o;
	int err = kl_fs_read(&text, work->progress.path, MAX_BYTES);

	if (!err)
		err = kl_json_parse(&doc, text.ptr, text.len);
	if (err < 0) {
		kl_error_clear();
		return err == KL_ENOTFOUND || err == KL_EINVALID ? 0 : err;
	}
	if (!is_same(doc, "schema", SCHEMA) || !is_same(doc, "rewriter", opts->rewriter) ||
	    !is_same(doc, "on", opts->on) ||
	    (opts->seed && kl_json_int_or(doc, "seed", 0) != opts->seed) ||
	    kl_json_int_or(doc, "seed", 0) < 1)
		return 0;
	work->progress.doc = kl_steal(&doc);
	work->seed = kl_json_int_or(work->progress.doc, "seed", 0);
	return 0;
}

int kl_admit_progress_open(struct kl_admit *work)
{
	KL_AUTO(kl_freep) char *lock = NULL;
	int err;

	work->progress.path = kl_asprintf("%s/klineage/admit/%s.json",
					  kl_repo_common_dir(work->o->repo), work->old->id);
	lock = kl_asprintf("%s/klineage/admit/%s.lock", kl_repo_common_dir(work->o->repo),
			   work->old->id);
	if ((err = kl_fs_mkdir_of(lock)) < 0)
		return err;
	err = kl_lock_take(&work->progress.lock, lock, 0);
	if (err == KL_EBUSY)
		return kl_error(KL_EBUSY, "another process is trying the card '%s'", work->old->id);
	return err < 0 ? err : load(work);
}

void kl_admit_progress_release(struct kl_admit_progress *progress)
{
	json_decref(progress->doc);
	kl_lock_release(&progress->lock);
	free(progress->path);
}

int kl_admit_progress_begin(struct kl_admit *work)
{
	json_t *doc;

	if (work->progress.doc)
		return 0;
	work->progress.doc = doc = json_object();
	kl_json_set_str(doc, "schema", SCHEMA);
	kl_json_set_int(doc, "seed", work->seed);
	kl_json_set_str(doc, "rewriter", work->o->rewriter ? work->o->rewriter : "");
	kl_json_set_str(doc, "on", work->o->on ? work->o->on : "");
	kl_json_set(doc, "edits", json_object());
	return store(work);
}

const char *kl_admit_progress_wrong(const struct kl_admit *work)
{
	return kl_json_str_or(work->progress.doc, "wrong", "");
}

int kl_admit_progress_set_wrong(struct kl_admit *work, const char *card)
{
	kl_json_set_str(work->progress.doc, "wrong", card);
	return store(work);
}

/* --- judged edits ----------------------------------------------------------------------------- */

/* Return the key of an edit; the caller frees it. */
static char *edit_key(const struct kl_admit *work, const struct kl_attempt_of *of, int turn)
{
	return kl_asprintf("%s/%s.%d", work->name, of->phase ? of->phase : "step", turn);
}

bool kl_admit_progress_find(struct kl_attempt *attempt, const struct kl_admit *work,
			    const struct kl_attempt_of *of)
{
	KL_AUTO(kl_freep) char *key = edit_key(work, of, attempt->repairs);
	const json_t *edit = json_object_get(json_object_get(work->progress.doc, "edits"), key);
	json_t *event = json_object_get(edit, "event");
	const char *missing = kl_json_str_or(edit, "missing", "");

	if (!edit || !json_is_object(event) || !is_same(edit, "surface", attempt->to->digest))
		return false;
	snprintf(attempt->class_, sizeof(attempt->class_), "%s", kl_json_str_or(edit, "class", ""));
	free(attempt->missing);
	attempt->missing = *missing ? kl_strdup(missing) : NULL;
	attempt->recovered = kl_json_int_or(edit, "recovered", -1);
	kl_event_free(attempt->event);
	attempt->event = kl_event_from_json(event);
	kl_card_commit_speed(&attempt->ratio, attempt->event);
	return true;
}

int kl_admit_progress_put(struct kl_admit *work, const struct kl_attempt *attempt,
			  const struct kl_attempt_of *of)
{
	KL_AUTO(kl_freep) char *key = edit_key(work, of, attempt->repairs);
	json_t *edit = json_object();
	int err;

	kl_json_set_str(edit, "surface", attempt->to->digest);
	kl_json_set_str(edit, "class", attempt->class_);
	kl_json_set_str(edit, "missing", attempt->missing ? attempt->missing : "");
	kl_json_set_int(edit, "recovered", attempt->recovered);
	kl_json_set(edit, "event", kl_event_json(attempt->event));
	kl_json_set(json_object_get(work->progress.doc, "edits"), key, edit);
	err = store(work);
	return err < 0 ? err : KL_FAULT("admit-judged");
}

/* --- verdicts that come later ----------------------------------------------------------------- */

static bool has_id(const json_t *list, const char *id)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		if (json_is_string(item) && !strcmp(json_string_value(item), id))
			return true;
	return false;
}

/* Return the list of verdicts that do not count. Set *is_new if the edit has no list yet. */
static json_t *stale_list(bool *is_new, struct kl_admit *work, const char *key)
{
	json_t *all = json_object_get(work->progress.doc, "stale"), *list;

	if (!all) {
		all = json_object();
		kl_json_set(work->progress.doc, "stale", all);
	}
	list = json_object_get(all, key);
	*is_new = !list;
	if (*is_new) {
		list = json_array();
		kl_json_set(all, key, list);
	}
	return list;
}

int kl_admit_progress_stale(bool *stale, struct kl_admit *work, const struct kl_attempt *attempt,
			    const struct kl_attempt_of *of, const struct kl_event *known,
			    bool noisy, bool anew)
{
	KL_AUTO(kl_freep) char *key = edit_key(work, of, attempt->repairs);
	bool is_new;
	json_t *list = stale_list(&is_new, work, key);

	*stale = known && has_id(list, known->id);
	if (*stale)
		return 0;
	/* A failure always counts; only a measurement can be stale. */
	*stale = known && !kl_event_is_fail(known) &&
		 (is_new ? anew || noisy : noisy && json_array_size(list) < MORE);
	if (*stale)
		json_array_append_new(list, json_string(known->id));
	else if (noisy) /* the trial ends; let the next trial measure from the beginning */
		json_array_clear(list);
	return is_new || *stale || noisy ? store(work) : 0;
}

int kl_admit_progress_end(struct kl_admit *work)
{
	return kl_fs_remove(work->progress.path);
}
