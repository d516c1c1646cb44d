/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/materialize_log.h"

#include <string.h>

#include "base/error.h"
#include "repo/notes.h"

#define MAX_LINKS 100000

void kl_mat_log_release(struct kl_mat_log *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].class_);
	free(l->v);
	*l = (struct kl_mat_log){ 0 };
}

static bool outcome_of(enum kl_mat_outcome *out, const char *word)
{
	static const enum kl_mat_outcome kept[] = { KL_MAT_FAIL, KL_MAT_NODE, KL_MAT_BEST };

	for (size_t i = 0; i < KL_ARRAY_SIZE(kept); i++)
		if (word && !strcmp(word, kl_mat_outcome_name(kept[i]))) {
			*out = kept[i];
			return true;
		}
	return false;
}

static int add_logged(struct kl_mat_log *l, struct kl_repo *r, const git_oid *commit,
		      enum kl_mat_outcome outcome)
{
	struct kl_commit c = { 0 };
	int err = kl_repo_commit_read(&c, r, commit);

	if (!err && c.nparent == 1) {
		char *class_ = kl_trailer_get(c.message, "Klineage-Class");

		KL_GROW(l->v, l->n + 1, l->alloc);
		l->v[l->n++] = (struct kl_mat_logged){
			.commit = *commit,
			.parent = c.parent[0],
			.tree = c.tree,
			.outcome = outcome,
			.class_ = class_ ? class_ : kl_strdup(""),
		};
	}
	kl_commit_release(&c);
	return err;
}

/* newest first, as they hang together */
static int read_link(struct kl_mat_log *l, git_oid *at, bool *more, struct kl_repo *r)
{
	struct kl_commit c = { 0 };
	KL_AUTO(kl_freep) char *word = NULL;
	enum kl_mat_outcome outcome;
	int err = kl_repo_commit_read(&c, r, at);

	if (!err && (c.nparent < 1 || c.nparent > 2))
		err = kl_error(KL_EINVALID, "a link has %zu parents", c.nparent);
	if (!err) {
		word = kl_trailer_get(c.message, "Klineage-Outcome");
		*more = c.nparent == 2;
		l->root = c.parent[0];
		if (outcome_of(&outcome, word))
			err = add_logged(l, r, &c.parent[0], outcome);
		if (*more)
			*at = c.parent[1];
	}
	kl_commit_release(&c);
	return err;
}

int kl_mat_log_load(struct kl_mat_log *out, struct kl_repo *r, const char *chain)
{
	git_oid at;
	bool more = true;
	int err = kl_refs_get(&at, r, chain);

	*out = (struct kl_mat_log){ 0 };
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	for (size_t i = 0; !err && more; i++)
		err = i < MAX_LINKS ? read_link(out, &at, &more, r) :
				      kl_error(KL_EINVALID, "it has more than %d links", MAX_LINKS);
	if (err < 0) {
		kl_mat_log_release(out);
		return kl_error_in(err, "'%s'", chain);
	}
	for (size_t i = 0; i < out->n / 2; i++) {
		struct kl_mat_logged t = out->v[i];

		out->v[i] = out->v[out->n - 1 - i];
		out->v[out->n - 1 - i] = t;
	}
	out->there = true;
	return 0;
}

const struct kl_mat_logged *kl_mat_log_find(const struct kl_mat_log *l, const git_oid *parent,
					    const git_oid *tree)
{
	for (size_t i = l->n; i-- > 0;)
		if (!memcmp(&l->v[i].parent, parent, sizeof(*parent)) &&
		    !memcmp(&l->v[i].tree, tree, sizeof(*tree)))
			return &l->v[i];
	return NULL;
}

/* the last one counts; of several, one that compares with the state that it was made from */
int kl_mat_log_event(struct kl_event **out, struct kl_repo *r, const git_oid *commit,
		     const struct kl_surface *s, const struct kl_surface *on)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	bool best = false;
	int err = kl_notes_read(&text, r, KL_NOTES_GATE, commit);

	*out = NULL;
	for (const char *p = text.ptr; !err && text.len && *p;) {
		size_t n = strcspn(p, "\n");
		KL_AUTO(kl_event_freep) struct kl_event *e = NULL;

		if (n && !kl_event_parse(&e, p, n) && e->kind == KL_KIND_GATE &&
		    !strcmp(e->surface, s->digest) &&
		    (!*out || !best || (on && kl_event_is_against(e, on->digest)))) {
			kl_event_free(*out);
			best = on && kl_event_is_against(e, on->digest);
			*out = kl_steal(&e);
		}
		kl_error_clear();
		p += n + (p[n] == '\n');
	}
	return err;
}
