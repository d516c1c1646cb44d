/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/pushed.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "gate/cache.h"
#include "gate/changed.h"
#include "gate/event.h"
#include "repo/notes.h"

#define SHORT 10	/* digits of a commit */

void kl_pushed_release(struct kl_pushed *p)
{
	kl_strvec_release(&p->missing);
}

/* One kernel as one commit brings it. */
struct wanted {
	char commit[KL_OID_HEX];
	char *workload, *why;		/* why: it cannot be judged at all; else NULL */
	char surface[KL_DIGEST_HEX], contract[KL_DIGEST_HEX];
	struct kl_buf lines;		/* events on these files */
};

struct looking {
	struct kl_repo *repo;
	struct kl_map commits;		/* hex of those that are pushed */
	struct wanted *w;
	size_t n, alloc, noted;
};

static void looking_release(struct looking *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->w[i].workload);
		free(l->w[i].why);
		kl_buf_release(&l->w[i].lines);
	}
	free(l->w);
	kl_map_release(&l->commits);
}

/* What a commit brings against its first parent. A shallow clone has not always got one. */
static int changed_by(struct kl_changed *out, struct kl_repo *r, const git_oid *commit)
{
	KL_AUTO(kl_freep) git_oid *parents = NULL;
	git_oid tree, before;
	size_t n = 0;
	int err;

	if ((err = kl_repo_tree_of(&tree, r, commit)) < 0 ||
	    (err = kl_repo_parents(&parents, &n, r, commit)) < 0)
		return err;
	if (n && (err = kl_repo_tree_of(&before, r, &parents[0])) == KL_ENOTFOUND) {
		kl_error_clear();
		n = 0;
		err = 0;
	}
	return err < 0 ? err : kl_changed(out, r, n ? &before : NULL, &tree);
}

static int want_commit(struct looking *l, const git_oid *commit)
{
	KL_AUTO(kl_changed_release) struct kl_changed changed = { 0 };
	int err = changed_by(&changed, l->repo, commit);

	for (size_t i = 0; i < changed.n && !err; i++) {
		const struct kl_changed_one *c = &changed.one[i];
		struct wanted *w;

		if (!c->now && !c->why)
			continue;	/* gone */
		KL_GROW(l->w, l->n + 1, l->alloc);
		w = &l->w[l->n++];
		*w = (struct wanted){ .workload = kl_strdup(c->workload), .lines = KL_BUF_INIT };
		kl_oid_hex(w->commit, commit);
		if (!c->now) {
			w->why = kl_strdup(c->why);
			continue;
		}
		snprintf(w->surface, sizeof(w->surface), "%s", c->now->digest);
		snprintf(w->contract, sizeof(w->contract), "%s", c->now->contract_digest);
		err = kl_cache_list(&w->lines, l->repo, w->surface, w->contract);
	}
	return err;
}

static int on_note(const git_oid *commit, const char *text, size_t len, void *payload)
{
	struct looking *l = payload;
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	l->noted += kl_map_get(&l->commits, hex) != NULL;
	for (size_t i = 0; i < l->n; i++) {
		struct wanted *w = &l->w[i];

		/* the folding looks closer */
		if (*w->surface && memmem(text, len, w->surface, KL_DIGEST_HEX - 1)) {
			kl_buf_add(&w->lines, text, len);
			kl_buf_addch(&w->lines, '\n');
		}
	}
	return 0;
}

static bool has_pass(const json_t *events)
{
	size_t i;
	json_t *e;

	json_array_foreach(events, i, e)
		if (!strcmp(kl_json_str_or(e, "verdict", ""), "pass"))
			return true;
	return false;
}

static const json_t *failure(const json_t *events)
{
	size_t i;
	json_t *e;

	json_array_foreach(events, i, e)
		if (kl_event_is_fail(e))
			return e;
	return NULL;
}

/* What is missing, or NULL; the caller frees. */
static char *complaint(const struct wanted *w, enum kl_pushed_want want)
{
	KL_AUTO(kl_fold_release) struct kl_fold fold = { 0 };
	const json_t *fail;

	if (w->why)
		return kl_strdup(w->why);
	kl_event_fold(&fold, w->lines.ptr, w->lines.len, w->surface, w->contract);
	fail = failure(fold.verdicts);
	if (fail)
		return kl_asprintf("it failed: %s", kl_json_str_or(fail, "class", ""));
	if (has_pass(fold.verdicts) || (want == KL_PUSHED_CHECK && has_pass(fold.checks)))
		return NULL;
	return kl_strdup(has_pass(fold.checks) ? "only the fast stages passed" : "nobody has judged it");
}

int kl_pushed_look(struct kl_pushed *out, struct kl_repo *r, const git_oid *commit, size_t n,
		   enum kl_pushed_want want)
{
	KL_AUTO(looking_release) struct looking l = { .repo = r };
	static char mark[] = "";
	int err = 0;

	*out = (struct kl_pushed){ 0 };
	for (size_t i = n; i-- > 0 && !err;) {
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, &commit[i]);
		kl_map_put(&l.commits, hex, mark);
		if (want != KL_PUSHED_NOTHING)
			err = want_commit(&l, &commit[i]);
	}
	if (!err && n)
		err = kl_notes_each(r, KL_NOTES_GATE, on_note, &l);
	if (err < 0)
		return err;
	out->noted = l.noted;
	for (size_t i = 0; i < l.n; i++) {
		KL_AUTO(kl_freep) char *why = complaint(&l.w[i], want);

		if (why)
			kl_strvec_pushf(&out->missing, "%.*s %s: %s", SHORT, l.w[i].commit, l.w[i].workload,
					why);
	}
	return 0;
}
