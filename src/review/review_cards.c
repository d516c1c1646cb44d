/* SPDX-License-Identifier: Apache-2.0 */
/* review_cards - reviews the cards of a range: changes, cited evidence, signatures */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "card/library.h"
#include "event/trust.h"
#include "review/card_diff.h"
#include "review/review_parts.h"

/* list this many removed evidence files, and only count the others */
#define MAX_FILES 20

/* One version of a card. */
struct side {
	struct kl_buf text;
	bool there;           /* this version exists */
	struct kl_card *card; /* NULL if the card does not exist or is invalid */
	/* why the text is not a valid card; NULL if the card is valid or does not exist */
	char *error;
};

struct changed {
	char *id, *path;
	struct side old, now;
	struct kl_strvec events; /* ids of events that only the new version cites, sorted */
	size_t item;             /* index of the card's item in the review */
};

struct cards {
	struct changed *v;
	size_t n, alloc;
	struct kl_trust
		trust; /* events cited only by new versions; the tag is a card's index in `v` */
};

static void side_release(struct side *side)
{
	kl_buf_release(&side->text);
	kl_card_free(side->card);
	free(side->error);
}

static void cards_release(struct cards *cards)
{
	for (size_t i = 0; i < cards->n; i++) {
		free(cards->v[i].id);
		free(cards->v[i].path);
		side_release(&cards->v[i].old);
		side_release(&cards->v[i].now);
		kl_strvec_release(&cards->v[i].events);
	}
	free(cards->v);
	kl_trust_release(&cards->trust);
}

/* --- find changed cards -------------------------------------------------------------- */

/* Return the start of the path component that ends before `end`. */
static size_t part_at(const char *path, size_t end)
{
	while (end && path[end - 1] != '/')
		end--;
	return end;
}

static bool part_is(const char *path, size_t from, size_t end, const char *what)
{
	return end - from == strlen(what) && !strncmp(path + from, what, end - from);
}

/*
 * Recognize paths such as "a/b/cards/x.yaml" and "a/b/evidence/4f/4fd2.json", and set *n to the
 * length of "a/b/". Return false for other paths.
 */
static bool library_path(size_t *n, bool *evidence, const char *path)
{
	size_t len = strlen(path), leaf = part_at(path, len),
	       dir = leaf ? part_at(path, leaf - 1) : 0;
	size_t above = dir ? part_at(path, dir - 1) : 0;

	*evidence = dir && part_is(path, above, dir - 1, "evidence");
	*n = *evidence ? above : dir;
	if (*evidence)
		return len > 5 && !strcmp(path + len - 5, ".json");
	return leaf && part_is(path, dir, leaf - 1, "cards") && len > 5 &&
	       !strcmp(path + len - 5, ".yaml");
}

/*
 * Open the library in a directory of a tree; *out stays NULL if the tree has no such directory. Set
 * *sure to true if the directory is certainly a library: it has evidence, or its .gitattributes
 * names the merge driver of cards.
 */
static int open_side(struct kl_library **out, bool *sure, struct kl_repo *repo, const git_oid *tree,
		     const char *prefix)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *dir = kl_strndup(prefix, *prefix ? strlen(prefix) - 1 : 0);
	git_oid sub, oid;
	int err = kl_repo_subtree(&sub, repo, tree, dir);

	if (err == KL_ENOTFOUND || err == KL_EINVALID) {
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	*sure |= kl_repo_subtree(&oid, repo, &sub, "evidence") == 0;
	if (kl_repo_tree_entry(&oid, NULL, repo, &sub, ".gitattributes") == 0 &&
	    kl_repo_blob_read(&text, repo, &oid, 65536) == 0)
		*sure |= strstr(text.ptr, "klineage-card") != NULL;
	kl_error_clear();
	return kl_library_open_tree(out, repo, &sub);
}

static int read_side(struct side *side, struct kl_library *library, size_t i)
{
	int err = kl_library_text(&side->text, library, i);

	side->there = true;
	if (err != KL_EINVALID)
		return err;
	side->error = kl_strdup(kl_error_last());
	kl_error_clear();
	return 0;
}

static int add_pair(struct cards *all, const char *prefix, struct kl_library *old, size_t i,
		    struct kl_library *now, size_t k)
{
	const char *id = now ? kl_library_id(now, k) : kl_library_id(old, i);
	struct changed *changed;
	int err = 0;

	KL_GROW(all->v, all->n + 1, all->alloc);
	changed = &all->v[all->n++];
	*changed = (struct changed){
		.id = kl_strdup(id),
		.path = kl_asprintf("%scards/%s.yaml", prefix, id),
		.old = { .text = KL_BUF_INIT },
		.now = { .text = KL_BUF_INIT },
	};
	if (old)
		err = read_side(&changed->old, old, i);
	if (!err && now)
		err = read_side(&changed->now, now, k);
	return err;
}

/* Collect the cards that differ between two libraries. Both libraries are sorted by file name. */
static int pair_up(struct cards *all, const char *prefix, struct kl_library *old,
		   struct kl_library *now)
{
	size_t i = 0, k = 0, nold = old ? kl_library_count(old) : 0,
	       nnow = now ? kl_library_count(now) : 0;
	int err = 0;

	while (!err && (i < nold || k < nnow)) {
		KL_AUTO(kl_freep)
		char *old_file = i < nold ? kl_asprintf("%s.yaml", kl_library_id(old, i)) : NULL;
		KL_AUTO(kl_freep)
		char *new_file = k < nnow ? kl_asprintf("%s.yaml", kl_library_id(now, k)) : NULL;
		int order = !old_file ? 1 : !new_file ? -1 : strcmp(old_file, new_file);

		if (order < 0)
			err = add_pair(all, prefix, old, i++, NULL, 0);
		else if (order > 0)
			err = add_pair(all, prefix, NULL, 0, now, k++);
		else if (memcmp(kl_library_blob(old, i), kl_library_blob(now, k), sizeof(git_oid)))
			err = add_pair(all, prefix, old, i++, now, k++);
		else
			i++, k++;
	}
	return err;
}

static void parse_side(struct side *side, const char *path, const char *id)
{
	if (!side->there || side->error)
		return;
	if (kl_card_parse(&side->card, path, side->text.ptr, side->text.len) < 0) {
		side->error = kl_strdup(kl_error_last());
	} else if (strcmp(side->card->id, id)) {
		side->error = kl_asprintf("%s contains the card '%s'", path, side->card->id);
		kl_card_free(kl_steal(&side->card));
	}
	kl_error_clear();
}

static void parse_some(void *ctx, size_t from, size_t to)
{
	struct changed *changed = ctx;

	for (size_t i = from; i < to; i++) {
		parse_side(&changed[i].old, changed[i].path, changed[i].id);
		parse_side(&changed[i].now, changed[i].path, changed[i].id);
	}
}

/* --- review a card ----------------------------------------------------------------------- */

static const char *change_of(const struct changed *changed)
{
	return !changed->old.there ? "added" : changed->now.there ? "changed" : "removed";
}

static const char *status_of(const struct side *side)
{
	return side->card ? kl_card_status_name(side->card->status) : NULL;
}

static struct kl_review_item *add_item(struct kl_review_work *work, const struct changed *changed)
{
	const char *old = status_of(&changed->old), *now = status_of(&changed->now);
	struct kl_review_item *item;

	if (old && now && strcmp(old, now))
		item = kl_review_add(work, KL_REVIEW_CARDS, "%s %w, %w to %w", changed->id,
				     change_of(changed), old, now);
	else
		item = kl_review_add(work, KL_REVIEW_CARDS, "%s %w, %w", changed->id,
				     change_of(changed),
				     now ? now :
				     old ? old :
					   "unreadable");
	kl_json_set_str(item->facts, "id", changed->id);
	kl_json_set_str(item->facts, "path", changed->path);
	kl_json_set_str(item->facts, "change", change_of(changed));
	kl_json_set_str(item->facts, "before", old);
	kl_json_set_str(item->facts, "status", now);
	return item;
}

static void on_finding(const struct kl_library_finding *finding, void *payload)
{
	kl_findings_add(payload, finding->error ? KL_ANSWER : KL_NOTE, "evidence", "evidence: %s",
			finding->what);
}

/* Record how many commits the card cites, and how many of these are in this clone. */
static void say_commits(struct kl_review_item *item, struct kl_repo *repo,
			const struct kl_card *card)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec commits = KL_STRVEC_INIT;
	int64_t here = 0;

	kl_card_commits(&commits, card);
	for (size_t i = 0; i < commits.n; i++) {
		git_oid oid, tree;

		here += kl_oid_parse(&oid, commits.v[i]) == 0 &&
			kl_repo_tree_of(&tree, repo, &oid) == 0;
	}
	kl_error_clear();
	kl_json_set_int(item->facts, "commits", (int64_t)commits.n);
	kl_json_set_int(item->facts, "commits_here", here);
}

static void new_events(struct changed *changed)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec old = KL_STRVEC_INIT, now = KL_STRVEC_INIT;

	if (changed->old.card)
		kl_card_events(&old, changed->old.card);
	kl_card_events(&now, changed->now.card);
	for (size_t i = 0, k = 0; i < now.n; i++) {
		while (k < old.n && strcmp(old.v[k], now.v[i]) < 0)
			k++;
		if (k == old.n || strcmp(old.v[k], now.v[i]))
			kl_strvec_push(&changed->events, now.v[i]);
	}
}

static void review_card(struct kl_review_work *work, struct cards *all, size_t at,
			struct kl_library *now)
{
	struct changed *changed = &all->v[at];
	struct kl_review_item *item = add_item(work, changed);
	KL_AUTO(kl_library_checker_freep) struct kl_library_checker *checker = NULL;
	int line;

	changed->item = work->v->part[KL_REVIEW_CARDS].n - 1;
	if (!changed->now.there) {
		kl_findings_add(&item->found, KL_ANSWER, "card-removed",
				"the card was removed (retract a card that is no longer valid, so "
				"that the reason is kept): %s",
				changed->old.card ? changed->old.card->intent : "");
		return;
	}
	if (changed->now.error) {
		kl_findings_add(&item->found, KL_ANSWER, "card-unreadable",
				"the file is not a valid card: %s", changed->now.error);
		return;
	}
	if (changed->old.error)
		kl_findings_add(&item->found, KL_NOTE, "card-mended",
				"the version in the base is not a valid card: %s",
				changed->old.error);
	kl_card_diff(&item->found, changed->old.card, changed->now.card);
	if ((line = kl_card_canonical_line(changed->now.card, changed->now.text.ptr,
					   changed->now.text.len)))
		kl_findings_add(&item->found, KL_NOTE, "not-canonical",
				"the file is not in canonical form from line %d on", (int64_t)line);
	checker = kl_library_checker_new(now, on_finding, &item->found);
	kl_library_checker_card(checker, changed->path, changed->now.card);
	new_events(changed);
	for (size_t i = 0; i < changed->events.n; i++) {
		const struct kl_event *event = kl_library_checker_event(checker,
									changed->events.v[i]);

		if (event)
			kl_trust_add_event(&all->trust, at, kl_event_ref(event), false);
	}
	say_commits(item, work->r, changed->now.card);
}

/* --- signatures ------------------------------------------------------------------------------ */

struct tally {
	int64_t n, of[KL_SIGN_STATES], refused;
	/* number of unsigned events that are neither from this clone nor shipped */
	int64_t nobodys;
	const char *who;
};

/* Report the numbers of a card's new events by the state of their signatures. */
static void say_tally(struct kl_review_item *item, const struct tally *tally, bool required)
{
	int64_t unsigned_ = tally->of[KL_SIGN_NONE], unknown = tally->of[KL_SIGN_UNKNOWN];

	kl_json_set(item->facts, "events",
		    json_pack("{s:I,s:I,s:I,s:I,s:I}", "new", (json_int_t)tally->n, "good",
			      (json_int_t)tally->of[KL_SIGN_GOOD], "unsigned",
			      (json_int_t)unsigned_, "unknown", (json_int_t)unknown, "bad",
			      (json_int_t)tally->of[KL_SIGN_BAD]));
	if (tally->refused && required)
		kl_findings_add(&item->found, KL_ANSWER, "evidence-unsigned",
				"%d of %d new events are not signed by an allowed signer "
				"(gpg.ssh.allowedSignersFile, klineage.signers)",
				tally->refused, tally->n);
	else if (tally->nobodys)
		kl_findings_add(&item->found, KL_NOTE, "evidence-unsigned",
				"%d of %d new events are unsigned and were not made by this clone",
				tally->nobodys, tally->n);
	if (tally->of[KL_SIGN_GOOD])
		kl_findings_add(&item->found, KL_NOTE, "evidence-signed",
				"%d of %d new events are signed by allowed signers, such as %s",
				tally->of[KL_SIGN_GOOD], tally->n, tally->who);
	if (unknown)
		kl_findings_add(&item->found, KL_NOTE, "evidence-unknown-key",
				"%d of %d new events are signed by keys that no list of signers "
				"names (gpg.ssh.allowedSignersFile, klineage.signers)",
				unknown, tally->n);
}

static void say_signatures(struct kl_review_work *work, struct cards *all)
{
	KL_AUTO(kl_freep) struct tally *tally = kl_calloc(all->n + 1, sizeof(*tally));

	for (size_t i = 0; i < all->trust.n; i++) {
		const struct kl_trust_line *line = &all->trust.v[i];
		struct tally *mine = &tally[line->tag];
		struct kl_findings *findings =
			&work->v->part[KL_REVIEW_CARDS].v[all->v[line->tag].item].found;
		KL_AUTO(kl_freep) char *id = kl_strndup(line->event->id, 12);

		mine->n++;
		mine->of[line->sig.state]++;
		mine->nobodys += line->word == KL_WORD_UNSIGNED;
		mine->refused += !line->counts && line->sig.state != KL_SIGN_BAD;
		if (line->sig.state == KL_SIGN_GOOD)
			mine->who = line->sig.who;
		if (line->sig.state == KL_SIGN_BAD)
			kl_findings_add(findings, KL_ANSWER, "signature-bad",
					"the cited event %w has a wrong "
					"signature: %s",
					id, line->sig.why);
	}
	for (size_t i = 0; i < all->n; i++)
		if (tally[i].n)
			say_tally(&work->v->part[KL_REVIEW_CARDS].v[all->v[i].item], &tally[i],
				  all->trust.required);
}

/* --- review a library ------------------------------------------------------------------- */

/* Report removed evidence files, even those that no card cites. */
static void say_lost_evidence(struct kl_review_work *work, const char *prefix)
{
	int64_t lost = 0;

	for (size_t i = 0; i < work->paths.n; i++) {
		const char *path = work->paths.v[i];
		bool evidence;
		git_oid oid;
		size_t n;

		if (!library_path(&n, &evidence, path) || !evidence || strlen(prefix) != n ||
		    strncmp(path, prefix, n))
			continue;
		if (kl_repo_tree_entry(&oid, NULL, work->r, &work->base_tree, path) == 0 &&
		    kl_repo_tree_entry(&oid, NULL, work->r, &work->head_tree, path) ==
			    KL_ENOTFOUND &&
		    ++lost <= MAX_FILES)
			kl_findings_add(&work->v->general, KL_ANSWER, "evidence-file-removed",
					"an evidence file was removed: %s", path);
		kl_error_clear();
	}
	if (lost > MAX_FILES)
		kl_findings_add(&work->v->general, KL_ANSWER, "evidence-file-removed",
				"and %d more evidence files were removed", lost - MAX_FILES);
}

static int review_library(struct kl_review_work *work, const char *prefix)
{
	KL_AUTO(kl_library_freep) struct kl_library *old = NULL, *now = NULL;
	KL_AUTO(cards_release) struct cards all = { 0 };
	bool sure = false;
	int err;

	if ((err = open_side(&old, &sure, work->r, &work->base_tree, prefix)) < 0 ||
	    (err = open_side(&now, &sure, work->r, &work->head_tree, prefix)) < 0 || !sure)
		return err;
	if ((err = pair_up(&all, prefix, old, now)) < 0)
		return err;
	kl_par_for(all.n, 16, parse_some, all.v);
	for (size_t i = 0; i < all.n; i++)
		review_card(work, &all, i, now);
	say_lost_evidence(work, prefix);
	all.trust.belief = work->belief;
	if ((err = kl_trust_judge(&all.trust, work->r)) < 0)
		return err;
	say_signatures(work, &all);
	return 0;
}

int kl_review_cards(struct kl_review_work *work)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec prefixes = KL_STRVEC_INIT;
	int err = 0;

	for (size_t i = 0; i < work->paths.n; i++) {
		bool evidence;
		size_t n;

		if (library_path(&n, &evidence, work->paths.v[i]))
			kl_strvec_take(&prefixes, kl_strndup(work->paths.v[i], n));
	}
	kl_strvec_uniq(&prefixes);
	for (size_t i = 0; i < prefixes.n && !err; i++)
		err = review_library(work, prefixes.v[i]);
	return err;
}
