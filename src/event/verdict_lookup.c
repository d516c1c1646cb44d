/* SPDX-License-Identifier: Apache-2.0 */
#include "event/verdict_lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/changed_kernels.h"
#include "event/cache.h"
#include "repo/notes.h"

#define HEX (KL_DIGEST_HEX - 1)

void kl_judged_release(struct kl_judged *j)
{
	for (size_t i = 0; i < j->n; i++) {
		free(j->one[i].dir);
		free(j->one[i].workload);
		free(j->one[i].why);
		kl_fold_release(&j->one[i].fold);
	}
	free(j->one);
	kl_map_release(&j->commits);
	kl_trust_release(&j->trust);
	*j = (struct kl_judged){ 0 };
}

/* --- what is asked for ------------------------------------------------------------ */

static struct kl_judged_one *add_judged(struct kl_judged *j, const git_oid *commit, const char *dir,
					const char *workload)
{
	struct kl_judged_one *one;

	KL_GROW(j->one, j->n + 1, j->alloc);
	one = &j->one[j->n++];
	*one = (struct kl_judged_one){ .dir = kl_strdup(dir), .workload = kl_strdup(workload) };
	if (commit)
		kl_oid_hex(one->commit, commit);
	return one;
}

void kl_judged_state(struct kl_judged *j, const struct kl_surface *s, const git_oid *commit)
{
	struct kl_judged_one *one = add_judged(j, commit, s->dir, s->contract->workload);

	snprintf(one->surface, sizeof(one->surface), "%s", s->digest);
	snprintf(one->contract, sizeof(one->contract), "%s", s->contract_digest);
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

int kl_judged_commit(struct kl_judged *j, struct kl_repo *r, const git_oid *commit)
{
	KL_AUTO(kl_changed_release) struct kl_changed changed = { 0 };
	static char mark[] = "";
	char hex[KL_OID_HEX];
	int err = changed_by(&changed, r, commit);

	kl_oid_hex(hex, commit);
	kl_map_put(&j->commits, hex, mark);
	for (size_t i = 0; i < changed.n && !err; i++) {
		const struct kl_changed_one *c = &changed.one[i];

		if (c->now)
			kl_judged_state(j, c->now, commit);
		else if (c->why)
			add_judged(j, commit, c->dir, c->workload)->why = kl_strdup(c->why);
		/* else it is gone */
	}
	return err;
}

/* --- finding it --------------------------------------------------------------------- */

struct finding {
	struct kl_judged *j;
	struct kl_map by_surface; /* digest -> list of indices, owned */
};

struct places {
	size_t *at, n, alloc;
};

static void places_free(void *p)
{
	free(((struct places *)p)->at);
	free(p);
}

static void index_wanted(struct finding *f)
{
	f->by_surface.free_value = places_free;
	for (size_t i = 0; i < f->j->n; i++) {
		struct places *p;

		if (!*f->j->one[i].surface)
			continue;
		p = kl_map_get(&f->by_surface, f->j->one[i].surface);
		if (!p) {
			p = kl_calloc(1, sizeof(*p));
			kl_map_put(&f->by_surface, f->j->one[i].surface, p);
		}
		KL_GROW(p->at, p->n + 1, p->alloc);
		p->at[p->n++] = i;
	}
}

/* The digests that a line names; an event's own is one of them, the folding looks closer. */
static void take_line(struct finding *f, const char *line, size_t len)
{
	const char *s = line, *end = line + len;

	while ((s = memmem(s, (size_t)(end - s), "\"surface\"", 9))) {
		char hex[KL_DIGEST_HEX];
		struct places *p;

		s += 9;
		while (s < end && strchr(" \t:\"", *s))
			s++;
		if ((size_t)(end - s) < HEX)
			return;
		memcpy(hex, s, HEX);
		hex[HEX] = '\0';
		p = kl_map_get(&f->by_surface, hex);
		for (size_t i = 0; p && i < p->n; i++)
			kl_trust_add(&f->j->trust, p->at[i], line, len, false);
	}
}

static int on_note(const git_oid *commit, const char *text, size_t len, void *payload)
{
	struct finding *f = payload;
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	f->j->noted += kl_map_get(&f->j->commits, hex) != NULL;
	for (const char *s = text, *end = text + len; s < end;) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		size_t n = (size_t)((nl ? nl : end) - s);

		if (n)
			take_line(f, s, n);
		s += n + 1;
	}
	return 0;
}

/* Lines that name a surface for another reason, and doubles, are none of ours. */
static void drop_others(struct kl_judged *j)
{
	KL_AUTO(kl_map_release) struct kl_map seen = KL_MAP_INIT;
	size_t n = 0;

	for (size_t i = 0; i < j->trust.n; i++) {
		struct kl_trust_line *l = &j->trust.v[i];
		const struct kl_judged_one *one = &j->one[l->tag];
		const char *sig = l->event->sig, *id = l->event->id;
		KL_AUTO(kl_freep) char *key = kl_asprintf("%zu %s %d %s", l->tag, id, l->own, sig);

		if (kl_event_is_for(l->event, one->surface, one->contract) &&
		    !kl_map_put(&seen, key, j))
			j->trust.v[n++] = *l;
		else
			kl_event_free(l->event);
	}
	j->trust.n = n;
}

static int read_cache(struct kl_judged *j, struct kl_repo *r)
{
	int err = 0;

	for (size_t i = 0; i < j->n && !err; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf lines = KL_BUF_INIT;
		const struct kl_judged_one *one = &j->one[i];

		if (*one->surface)
			err = kl_cache_list(&lines, r, one->surface, one->contract);
		kl_trust_add(&j->trust, i, lines.ptr, lines.len, true);
	}
	return err;
}

/* What the commit's own note says of this workload with other files. */
static int count_stale(struct kl_judged_one *one, struct kl_repo *r)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_trust_release) struct kl_trust t = { 0 };
	git_oid commit = { { 0 } }; /* gcc does not see that it is written */
	int err;

	if (!*one->commit)
		return 0;
	if ((err = kl_oid_parse(&commit, one->commit)) < 0 ||
	    (err = kl_notes_read(&text, r, KL_NOTES_GATE, &commit)) < 0)
		return err;
	kl_trust_add(&t, 0, text.ptr, text.len, false);
	for (size_t i = 0; i < t.n; i++)
		one->stale += !strcmp(t.v[i].event->workload, one->workload) &&
			      !kl_event_is_for(t.v[i].event, one->surface, one->contract);
	return 0;
}

int kl_judged_find(struct kl_judged *j, struct kl_repo *r)
{
	struct finding f = { .j = j };
	int err;

	index_wanted(&f);
	err = kl_notes_each(r, KL_NOTES_GATE, on_note, &f);
	kl_map_release(&f.by_surface);
	if (err == KL_ENOTFOUND)
		err = 0;
	if (err < 0 || (err = read_cache(j, r)) < 0)
		return err;
	drop_others(j);
	if ((err = kl_trust_judge(&j->trust, r)) < 0)
		return err;
	for (size_t i = 0; i < j->n && !err; i++) {
		struct kl_judged_one *one = &j->one[i];

		kl_trust_fold(&one->fold, &j->trust, i, one->surface, one->contract);
		if (!one->fold.verdicts.n && !one->fold.checks.n)
			err = count_stale(one, r);
	}
	for (size_t i = 0; i < j->trust.n; i++)
		j->one[j->trust.v[i].tag].unsigned_ += !j->trust.v[i].counts &&
						       j->trust.v[i].sig.state != KL_SIGN_BAD;
	return err;
}

/* --- asking ----------------------------------------------------------------------------- */

const struct kl_event *kl_judged_failure(const struct kl_judged_one *one)
{
	for (size_t i = 0; i < one->fold.verdicts.n; i++)
		if (kl_event_is_fail(one->fold.verdicts.v[i]))
			return one->fold.verdicts.v[i];
	return NULL;
}

const struct kl_event *kl_judged_pass(const struct kl_judged_one *one)
{
	const struct kl_event *best = NULL;

	for (size_t i = 0; i < one->fold.verdicts.n; i++) {
		const struct kl_event *event = one->fold.verdicts.v[i];

		if (event->verdict == KL_VERDICT_PASS &&
		    (!best || strcmp(event->time, best->time) > 0))
			best = event;
	}
	return best;
}

bool kl_judged_checked(const struct kl_judged_one *one)
{
	for (size_t i = 0; i < one->fold.checks.n; i++)
		if (one->fold.checks.v[i]->verdict == KL_VERDICT_PASS)
			return true;
	return false;
}
