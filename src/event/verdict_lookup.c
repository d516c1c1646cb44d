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

void kl_verdict_lookup_release(struct kl_verdict_lookup *lookup)
{
	for (size_t i = 0; i < lookup->n; i++) {
		free(lookup->one[i].dir);
		free(lookup->one[i].workload);
		free(lookup->one[i].why);
		kl_fold_release(&lookup->one[i].fold);
	}
	free(lookup->one);
	kl_map_release(&lookup->commits);
	kl_trust_release(&lookup->trust);
	*lookup = (struct kl_verdict_lookup){ 0 };
}

/* --- what is asked for ------------------------------------------------------------ */

static struct kl_verdict_entry *add_judged(struct kl_verdict_lookup *lookup, const git_oid *commit,
					   const char *dir, const char *workload)
{
	struct kl_verdict_entry *one;

	KL_GROW(lookup->one, lookup->n + 1, lookup->alloc);
	one = &lookup->one[lookup->n++];
	*one = (struct kl_verdict_entry){ .dir = kl_strdup(dir), .workload = kl_strdup(workload) };
	if (commit)
		kl_oid_hex(one->commit, commit);
	return one;
}

void kl_verdict_lookup_state(struct kl_verdict_lookup *lookup, const struct kl_surface *surface,
			     const git_oid *commit)
{
	struct kl_verdict_entry *one = add_judged(lookup, commit, surface->dir,
						  surface->contract->workload);

	snprintf(one->surface, sizeof(one->surface), "%s", surface->digest);
	snprintf(one->contract, sizeof(one->contract), "%s", surface->contract_digest);
}

/* What a commit brings against its first parent. A shallow clone has not always got one. */
static int changed_by(struct kl_changed *out, struct kl_repo *repo, const git_oid *commit)
{
	KL_AUTO(kl_freep) git_oid *parents = NULL;
	git_oid tree, before;
	size_t n = 0;
	int err;

	if ((err = kl_repo_tree_of(&tree, repo, commit)) < 0 ||
	    (err = kl_repo_parents(&parents, &n, repo, commit)) < 0)
		return err;
	if (n && (err = kl_repo_tree_of(&before, repo, &parents[0])) == KL_ENOTFOUND) {
		kl_error_clear();
		n = 0;
		err = 0;
	}
	return err < 0 ? err : kl_changed(out, repo, n ? &before : NULL, &tree);
}

int kl_verdict_lookup_commit(struct kl_verdict_lookup *lookup, struct kl_repo *repo,
			     const git_oid *commit)
{
	KL_AUTO(kl_changed_release) struct kl_changed changed = { 0 };
	static char mark[] = "";
	char hex[KL_OID_HEX];
	int err = changed_by(&changed, repo, commit);

	kl_oid_hex(hex, commit);
	kl_map_put(&lookup->commits, hex, mark);
	for (size_t i = 0; i < changed.n && !err; i++) {
		const struct kl_changed_one *one = &changed.one[i];

		if (one->now)
			kl_verdict_lookup_state(lookup, one->now, commit);
		else if (one->why)
			add_judged(lookup, commit, one->dir, one->workload)->why = kl_strdup(
				one->why);
		/* else it is gone */
	}
	return err;
}

/* --- finding it --------------------------------------------------------------------- */

struct finding {
	struct kl_verdict_lookup *j;
	struct kl_map by_surface; /* digest -> list of indices, owned */
};

struct places {
	size_t *at, n, alloc;
};

static void places_free(void *data)
{
	free(((struct places *)data)->at);
	free(data);
}

static void index_wanted(struct finding *finding)
{
	finding->by_surface.free_value = places_free;
	for (size_t i = 0; i < finding->j->n; i++) {
		struct places *places;

		if (!*finding->j->one[i].surface)
			continue;
		places = kl_map_get(&finding->by_surface, finding->j->one[i].surface);
		if (!places) {
			places = kl_calloc(1, sizeof(*places));
			kl_map_put(&finding->by_surface, finding->j->one[i].surface, places);
		}
		KL_GROW(places->at, places->n + 1, places->alloc);
		places->at[places->n++] = i;
	}
}

/* The digests that a line names; an event's own is one of them, the folding looks closer. */
static void take_line(struct finding *finding, const char *line, size_t len)
{
	const char *text = line, *end = line + len;

	while ((text = memmem(text, (size_t)(end - text), "\"surface\"", 9))) {
		char hex[KL_DIGEST_HEX];
		struct places *places;

		text += 9;
		while (text < end && strchr(" \t:\"", *text))
			text++;
		if ((size_t)(end - text) < HEX)
			return;
		memcpy(hex, text, HEX);
		hex[HEX] = '\0';
		places = kl_map_get(&finding->by_surface, hex);
		for (size_t i = 0; places && i < places->n; i++)
			kl_trust_add(&finding->j->trust, places->at[i], line, len, false);
	}
}

static int on_note(const git_oid *commit, const char *text, size_t len, void *payload)
{
	struct finding *finding = payload;
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	finding->j->noted += kl_map_get(&finding->j->commits, hex) != NULL;
	for (const char *string = text, *end = text + len; string < end;) {
		const char *nl = memchr(string, '\n', (size_t)(end - string));
		size_t n = (size_t)((nl ? nl : end) - string);

		if (n)
			take_line(finding, string, n);
		string += n + 1;
	}
	return 0;
}

/* Lines that name a surface for another reason, and doubles, are none of ours. */
static void drop_others(struct kl_verdict_lookup *lookup)
{
	KL_AUTO(kl_map_release) struct kl_map seen = KL_MAP_INIT;
	size_t n = 0;

	for (size_t i = 0; i < lookup->trust.n; i++) {
		struct kl_trust_line *line = &lookup->trust.v[i];
		const struct kl_verdict_entry *one = &lookup->one[line->tag];
		const char *sig = line->event->sig, *id = line->event->id;
		KL_AUTO(kl_freep) char *key = kl_asprintf("%zu %s %d %s", line->tag, id, line->own,
							  sig);

		if (kl_event_is_for(line->event, one->surface, one->contract) &&
		    !kl_map_put(&seen, key, lookup))
			lookup->trust.v[n++] = *line;
		else
			kl_event_free(line->event);
	}
	lookup->trust.n = n;
}

static int read_cache(struct kl_verdict_lookup *lookup, struct kl_repo *repo)
{
	int err = 0;

	for (size_t i = 0; i < lookup->n && !err; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf lines = KL_BUF_INIT;
		const struct kl_verdict_entry *one = &lookup->one[i];

		if (*one->surface)
			err = kl_cache_list(&lines, repo, one->surface, one->contract);
		kl_trust_add(&lookup->trust, i, lines.ptr, lines.len, true);
	}
	return err;
}

/* What the commit's own note says of this workload with other files. */
static int count_stale(struct kl_verdict_entry *one, struct kl_repo *repo)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_trust_release) struct kl_trust trust = { 0 };
	git_oid commit = { { 0 } }; /* gcc does not see that it is written */
	int err;

	if (!*one->commit)
		return 0;
	if ((err = kl_oid_parse(&commit, one->commit)) < 0 ||
	    (err = kl_notes_read(&text, repo, KL_NOTES_GATE, &commit)) < 0)
		return err;
	kl_trust_add(&trust, 0, text.ptr, text.len, false);
	for (size_t i = 0; i < trust.n; i++)
		one->stale += !strcmp(trust.v[i].event->workload, one->workload) &&
			      !kl_event_is_for(trust.v[i].event, one->surface, one->contract);
	return 0;
}

int kl_verdict_lookup_run(struct kl_verdict_lookup *lookup, struct kl_repo *repo)
{
	struct finding finding = { .j = lookup };
	int err;

	index_wanted(&finding);
	err = kl_notes_each(repo, KL_NOTES_GATE, on_note, &finding);
	kl_map_release(&finding.by_surface);
	if (err == KL_ENOTFOUND)
		err = 0;
	if (err < 0 || (err = read_cache(lookup, repo)) < 0)
		return err;
	drop_others(lookup);
	if ((err = kl_trust_judge(&lookup->trust, repo)) < 0)
		return err;
	for (size_t i = 0; i < lookup->n && !err; i++) {
		struct kl_verdict_entry *one = &lookup->one[i];

		kl_trust_fold(&one->fold, &lookup->trust, i, one->surface, one->contract);
		if (!one->fold.verdicts.n && !one->fold.checks.n)
			err = count_stale(one, repo);
	}
	for (size_t i = 0; i < lookup->trust.n; i++)
		lookup->one[lookup->trust.v[i].tag].unsigned_ += !lookup->trust.v[i].counts &&
								 lookup->trust.v[i].sig.state !=
									 KL_SIGN_BAD;
	return err;
}

/* --- asking ----------------------------------------------------------------------------- */

const struct kl_event *kl_verdict_entry_failure(const struct kl_verdict_entry *one)
{
	for (size_t i = 0; i < one->fold.verdicts.n; i++)
		if (kl_event_is_fail(one->fold.verdicts.v[i]))
			return one->fold.verdicts.v[i];
	return NULL;
}

const struct kl_event *kl_verdict_entry_pass(const struct kl_verdict_entry *one)
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

bool kl_verdict_entry_checked(const struct kl_verdict_entry *one)
{
	for (size_t i = 0; i < one->fold.checks.n; i++)
		if (one->fold.checks.v[i]->verdict == KL_VERDICT_PASS)
			return true;
	return false;
}
