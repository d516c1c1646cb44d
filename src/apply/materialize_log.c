/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/materialize_log.h"

#include <string.h>

#include "base/error.h"
#include "repo/notes.h"

#define MAX_LINKS 100000

void kl_materialize_log_release(struct kl_materialize_log *log)
{
	for (size_t i = 0; i < log->n; i++)
		free(log->v[i].class_);
	free(log->v);
	*log = (struct kl_materialize_log){ 0 };
}

static bool outcome_of(enum kl_materialize_outcome *out, const char *word)
{
	static const enum kl_materialize_outcome kept[] = { KL_MATERIALIZE_FAIL,
							    KL_MATERIALIZE_NODE,
							    KL_MATERIALIZE_BEST };

	for (size_t i = 0; i < KL_ARRAY_SIZE(kept); i++)
		if (word && !strcmp(word, kl_materialize_outcome_name(kept[i]))) {
			*out = kept[i];
			return true;
		}
	return false;
}

static int add_logged(struct kl_materialize_log *log, struct kl_repo *repo, const git_oid *commit,
		      enum kl_materialize_outcome outcome)
{
	struct kl_commit info = { 0 };
	int err = kl_repo_commit_read(&info, repo, commit);

	if (!err && info.nparent == 1) {
		char *class_ = kl_trailer_get(info.message, "Klineage-Class");

		KL_GROW(log->v, log->n + 1, log->alloc);
		log->v[log->n++] = (struct kl_materialize_logged){
			.commit = *commit,
			.parent = info.parent[0],
			.tree = info.tree,
			.outcome = outcome,
			.class_ = class_ ? class_ : kl_strdup(""),
		};
	}
	kl_commit_release(&info);
	return err;
}

/*
 * Read the link `*at`, then set `*at` to the previous link; if there is none, set *more to false.
 */
static int read_link(struct kl_materialize_log *log, git_oid *at, bool *more, struct kl_repo *repo)
{
	struct kl_commit commit = { 0 };
	KL_AUTO(kl_freep) char *word = NULL;
	enum kl_materialize_outcome outcome;
	int err = kl_repo_commit_read(&commit, repo, at);

	if (!err && (commit.nparent < 1 || commit.nparent > 2))
		err = kl_error(KL_EINVALID,
			       "a commit of the chain has %zu parents; expected 1 or 2",
			       commit.nparent);
	if (!err) {
		word = kl_trailer_get(commit.message, "Klineage-Outcome");
		*more = commit.nparent == 2;
		log->root = commit.parent[0];
		if (outcome_of(&outcome, word))
			err = add_logged(log, repo, &commit.parent[0], outcome);
		if (*more)
			*at = commit.parent[1];
	}
	kl_commit_release(&commit);
	return err;
}

int kl_materialize_log_load(struct kl_materialize_log *out, struct kl_repo *repo, const char *chain)
{
	git_oid at;
	bool more = true;
	int err = kl_refs_get(&at, repo, chain);

	*out = (struct kl_materialize_log){ 0 };
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	for (size_t i = 0; !err && more; i++)
		err = i < MAX_LINKS ?
			      read_link(out, &at, &more, repo) :
			      kl_error(KL_EINVALID, "the chain has more than %d links", MAX_LINKS);
	if (err < 0) {
		kl_materialize_log_release(out);
		return kl_error_in(err, "'%s'", chain);
	}
	for (size_t i = 0; i < out->n / 2; i++) {
		struct kl_materialize_logged logged = out->v[i];

		out->v[i] = out->v[out->n - 1 - i];
		out->v[out->n - 1 - i] = logged;
	}
	out->there = true;
	return 0;
}

const struct kl_materialize_logged *kl_materialize_log_find(const struct kl_materialize_log *log,
							    const git_oid *parent,
							    const git_oid *tree)
{
	for (size_t i = log->n; i-- > 0;)
		if (!memcmp(&log->v[i].parent, parent, sizeof(*parent)) &&
		    !memcmp(&log->v[i].tree, tree, sizeof(*tree)))
			return &log->v[i];
	return NULL;
}

/* Get the last event that compares the surface with `on` or, if there is none, the last event. */
int kl_materialize_log_event(struct kl_event **out, struct kl_repo *repo, const git_oid *commit,
			     const struct kl_surface *surface, const struct kl_surface *on)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	bool compared = false;
	int err = kl_notes_read(&text, repo, KL_NOTES_GATE, commit);

	*out = NULL;
	for (const char *at = text.ptr; !err && text.len && *at;) {
		size_t n = strcspn(at, "\n");
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		if (n && !kl_event_parse(&event, at, n) && event->kind == KL_KIND_GATE &&
		    !strcmp(event->surface, surface->digest) &&
		    (!*out || !compared || (on && kl_event_is_against(event, on->digest)))) {
			kl_event_free(*out);
			compared = on && kl_event_is_against(event, on->digest);
			*out = kl_steal(&event);
		}
		kl_error_clear();
		at += n + (at[n] == '\n');
	}
	return err;
}
