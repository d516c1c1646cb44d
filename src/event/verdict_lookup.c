/* SPDX-License-Identifier: Apache-2.0 */
#include "event/verdict_lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/changed_kernels.h"
#include "event/cache.h"
#include "event/segments.h"
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

/* --- adding kernels --------------------------------------------------------------- */

static struct kl_verdict_entry *add_entry(struct kl_verdict_lookup *lookup, const git_oid *commit,
					  const char *dir, const char *workload)
{
	struct kl_verdict_entry *entry;

	KL_GROW(lookup->one, lookup->n + 1, lookup->alloc);
	entry = &lookup->one[lookup->n++];
	*entry = (struct kl_verdict_entry){ .dir = kl_strdup(dir),
					    .workload = kl_strdup(workload) };
	if (commit)
		kl_oid_hex(entry->commit, commit);
	return entry;
}

void kl_verdict_lookup_state(struct kl_verdict_lookup *lookup, const struct kl_surface *surface,
			     const git_oid *commit)
{
	struct kl_verdict_entry *entry = add_entry(lookup, commit, surface->place,
						   surface->contract->workload);

	snprintf(entry->surface, sizeof(entry->surface), "%s", surface->digest);
	snprintf(entry->contract, sizeof(entry->contract), "%s", surface->contract_digest);
}

/*
 * List the kernels that a commit changes relative to its first parent. If a shallow clone lacks the
 * parent, every kernel in the commit counts as changed.
 */
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
		const struct kl_changed_one *kernel = &changed.one[i];

		if (kernel->now)
			kl_verdict_lookup_state(lookup, kernel->now, commit);
		else if (kernel->why)
			add_entry(lookup, commit, kernel->place, kernel->workload)->why = kl_strdup(
				kernel->why);
		/* otherwise the commit removed the kernel */
	}
	return err;
}

/* --- reading notes, segments and the cache ---------------------------------------------------- */

struct finding {
	struct kl_verdict_lookup *lookup;
	struct kl_map by_surface; /* digest -> struct places, owned */
};

/* Indices of entries in the lookup. */
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
	for (size_t i = 0; i < finding->lookup->n; i++) {
		struct places *places;

		if (!*finding->lookup->one[i].surface)
			continue;
		places = kl_map_get(&finding->by_surface, finding->lookup->one[i].surface);
		if (!places) {
			places = kl_calloc(1, sizeof(*places));
			kl_map_put(&finding->by_surface, finding->lookup->one[i].surface, places);
		}
		KL_GROW(places->at, places->n + 1, places->alloc);
		places->at[places->n++] = i;
	}
}

/* Return true if the text names one of the wanted surfaces, so that it must be parsed. */
static bool names_wanted(const struct finding *finding, const char *line, size_t len)
{
	const char *at = line, *end = line + len;

	while ((at = memmem(at, (size_t)(end - at), "\"surface\"", 9))) {
		char hex[KL_DIGEST_HEX];

		at += 9;
		while (at < end && strchr(" \t:\"", *at))
			at++;
		if ((size_t)(end - at) < HEX)
			return false;
		memcpy(hex, at, HEX);
		hex[HEX] = '\0';
		if (kl_map_get(&finding->by_surface, hex))
			return true;
	}
	return false;
}

/*
 * Add a line to the entries of its surface. The line is parsed only once, even if its text names
 * many surfaces, because the (untrusted) author of the note chose how many it names.
 */
static void take_line(struct finding *finding, const char *line, size_t len)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	const struct places *places;

	if (!names_wanted(finding, line, len))
		return;
	if (kl_event_parse(&event, line, len) < 0) {
		kl_error_clear();
		return;
	}
	places = kl_map_get(&finding->by_surface, event->surface);
	for (size_t i = 0; places && i < places->n; i++)
		kl_trust_add_event(&finding->lookup->trust, places->at[i], kl_event_ref(event),
				   false);
}

static int on_note(const git_oid *commit, const char *text, size_t len, void *payload)
{
	struct finding *finding = payload;
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	finding->lookup->noted += kl_map_get(&finding->lookup->commits, hex) != NULL;
	for (const char *line = text, *end = text + len; line < end;) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		size_t line_len = (size_t)((nl ? nl : end) - line);

		if (line_len)
			take_line(finding, line, line_len);
		line += line_len + 1;
	}
	return 0;
}

/* Drop duplicates, and lines about an entry's surface under another contract. */
static void drop_others(struct kl_verdict_lookup *lookup)
{
	KL_AUTO(kl_map_release) struct kl_map seen = KL_MAP_INIT;
	size_t kept = 0;

	for (size_t i = 0; i < lookup->trust.n; i++) {
		struct kl_trust_line *line = &lookup->trust.v[i];
		const struct kl_verdict_entry *entry = &lookup->one[line->tag];
		const char *sig = line->event->sig, *id = line->event->id;
		KL_AUTO(kl_freep) char *key = kl_asprintf("%zu %s %d %s", line->tag, id, line->own,
							  sig);

		if (kl_event_is_for(line->event, entry->surface, entry->contract) &&
		    !kl_map_put(&seen, key, lookup))
			lookup->trust.v[kept++] = *line;
		else
			kl_event_free(line->event);
	}
	lookup->trust.n = kept;
}

static int read_segments(struct kl_verdict_lookup *lookup, struct kl_repo *repo)
{
	KL_AUTO(kl_segments_freep) struct kl_segments *segments = NULL;
	int err = kl_segments_open(&segments, repo);

	for (size_t i = 0; i < lookup->n && !err; i++)
		if (*lookup->one[i].surface)
			err = kl_segments_add_to(&lookup->trust, i, segments,
						 lookup->one[i].surface, lookup->one[i].contract);
	return err;
}

static int read_cache(struct kl_verdict_lookup *lookup, struct kl_repo *repo)
{
	int err = 0;

	for (size_t i = 0; i < lookup->n && !err; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf lines = KL_BUF_INIT;
		const struct kl_verdict_entry *entry = &lookup->one[i];

		if (*entry->surface)
			err = kl_cache_list(&lines, repo, entry->surface, entry->contract);
		kl_trust_add(&lookup->trust, i, lines.ptr, lines.len, true);
	}
	return err;
}

/* Count events in the commit's note for this workload, but for another surface or contract. */
static int count_stale(struct kl_verdict_entry *entry, struct kl_repo *repo)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_trust_release) struct kl_trust trust = { 0 };
	git_oid commit = kl_oid_none; /* avoid gcc's -Wmaybe-uninitialized */
	int err;

	if (!*entry->commit)
		return 0;
	if ((err = kl_oid_parse(&commit, entry->commit)) < 0 ||
	    (err = kl_notes_read(&text, repo, KL_NOTES_GATE, &commit)) < 0)
		return err;
	kl_trust_add(&trust, 0, text.ptr, text.len, false);
	for (size_t i = 0; i < trust.n; i++)
		entry->stale += trust.v[i].event->kind != KL_KIND_RETRACT &&
				!strcmp(trust.v[i].event->workload, entry->workload) &&
				!kl_event_is_for(trust.v[i].event, entry->surface, entry->contract);
	return 0;
}

/* Return true if the line is a pass that would count if an allowed signer had signed it. */
static bool lacks_signature(const struct kl_trust *trust, const struct kl_trust_line *line)
{
	return !line->counts && line->sig.state != KL_SIGN_BAD &&
	       line->event->kind == KL_KIND_GATE && line->event->verdict == KL_VERDICT_PASS &&
	       !kl_event_is_outdated(line->event) && !kl_trust_is_retracted(trust, line->event->id);
}

int kl_verdict_lookup_run(struct kl_verdict_lookup *lookup, struct kl_repo *repo)
{
	struct finding finding = { .lookup = lookup };
	int err;

	index_wanted(&finding);
	err = kl_notes_each(repo, KL_NOTES_GATE, on_note, &finding);
	kl_map_release(&finding.by_surface);
	if (err == KL_ENOTFOUND)
		err = 0;
	if (err < 0 || (err = read_segments(lookup, repo)) < 0 ||
	    (err = read_cache(lookup, repo)) < 0)
		return err;
	drop_others(lookup);
	if ((err = kl_trust_judge(&lookup->trust, repo)) < 0)
		return err;
	for (size_t i = 0; i < lookup->n && !err; i++) {
		struct kl_verdict_entry *entry = &lookup->one[i];

		kl_trust_fold(&entry->fold, &lookup->trust, i, entry->surface, entry->contract);
		if (!entry->fold.verdicts.n && !entry->fold.checks.n)
			err = count_stale(entry, repo);
	}
	for (size_t i = 0; i < lookup->trust.n; i++)
		lookup->one[lookup->trust.v[i].tag].unsigned_ += lacks_signature(
			&lookup->trust, &lookup->trust.v[i]);
	return err;
}

/* --- the verdicts of one entry ---------------------------------------------------------- */

static const struct kl_event *newest_pass(const struct kl_verdict_entry *entry, bool outdated)
{
	const struct kl_event *best = NULL;

	for (size_t i = 0; i < entry->fold.verdicts.n; i++) {
		const struct kl_event *event = entry->fold.verdicts.v[i];

		if (event->verdict == KL_VERDICT_PASS && kl_event_is_outdated(event) == outdated &&
		    (!best || strcmp(event->time, best->time) > 0))
			best = event;
	}
	return best;
}

const struct kl_event *kl_verdict_entry_failure(const struct kl_verdict_entry *entry)
{
	const struct kl_event *old = NULL;

	for (size_t i = 0; i < entry->fold.verdicts.n; i++) {
		const struct kl_event *event = entry->fold.verdicts.v[i];

		if (kl_event_is_fail(event) && !kl_event_is_outdated(event))
			return event;
		if (kl_event_is_fail(event))
			old = event;
	}
	return newest_pass(entry, false) ? NULL : old;
}

const struct kl_event *kl_verdict_entry_pass(const struct kl_verdict_entry *entry)
{
	return newest_pass(entry, false);
}

const struct kl_event *kl_verdict_entry_old_pass(const struct kl_verdict_entry *entry)
{
	return newest_pass(entry, true);
}

bool kl_verdict_entry_checked(const struct kl_verdict_entry *entry)
{
	for (size_t i = 0; i < entry->fold.checks.n; i++)
		if (entry->fold.checks.v[i]->verdict == KL_VERDICT_PASS &&
		    !kl_event_is_outdated(entry->fold.checks.v[i]))
			return true;
	return false;
}
