/* SPDX-License-Identifier: Apache-2.0 */
/* review_cards - the cards of a range: changes, evidence that they cite, signatures */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "card/library.h"
#include "event/trust.h"
#include "review/card_diff.h"
#include "review/review_parts.h"

#define MAX_FILES 20 /* of evidence that is gone, told one by one */

/* One version of a card; all NULL: not there. */
struct side {
	struct kl_buf text;
	bool there;
	struct kl_card *card;
	char *error; /* it is there and is no card */
};

struct changed {
	char *id, *path;
	struct side old, now;
	struct kl_strvec events; /* that only the new version cites, sorted */
	size_t item;
};

struct cards {
	struct changed *v;
	size_t n, alloc;
	struct kl_trust trust; /* events that are newly cited; its tag is the index in `v` */
};

static void side_release(struct side *s)
{
	kl_buf_release(&s->text);
	kl_card_free(s->card);
	free(s->error);
}

static void cards_release(struct cards *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].id);
		free(c->v[i].path);
		side_release(&c->v[i].old);
		side_release(&c->v[i].now);
		kl_strvec_release(&c->v[i].events);
	}
	free(c->v);
	kl_trust_release(&c->trust);
}

/* --- which cards --------------------------------------------------------------------- */

/* Where the part of a path that ends before `end` begins. */
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

/* "a/b/cards/x.yaml", "a/b/evidence/4f/4fd2.json": the length of "a/b/"; false: neither */
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

/* Is what lies below a directory a library? It has evidence, or the merge driver's attribute. */
static int open_side(struct kl_library **out, bool *sure, struct kl_repo *r, const git_oid *tree,
		     const char *prefix)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *dir = kl_strndup(prefix, *prefix ? strlen(prefix) - 1 : 0);
	git_oid sub, oid;
	int err = kl_repo_subtree(&sub, r, tree, dir);

	if (err == KL_ENOTFOUND || err == KL_EINVALID) {
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	*sure |= kl_repo_subtree(&oid, r, &sub, "evidence") == 0;
	if (kl_repo_tree_entry(&oid, NULL, r, &sub, ".gitattributes") == 0 &&
	    kl_repo_blob_read(&text, r, &oid, 65536) == 0)
		*sure |= strstr(text.ptr, "klineage-card") != NULL;
	kl_error_clear();
	return kl_library_open_tree(out, r, &sub);
}

static int read_side(struct side *s, struct kl_library *l, size_t i)
{
	int err = kl_library_text(&s->text, l, i);

	s->there = true;
	if (err != KL_EINVALID)
		return err;
	s->error = kl_strdup(kl_error_last());
	kl_error_clear();
	return 0;
}

static int add_pair(struct cards *all, const char *prefix, struct kl_library *old, size_t i,
		    struct kl_library *now, size_t k)
{
	const char *id = now ? kl_library_id(now, k) : kl_library_id(old, i);
	struct changed *c;
	int err = 0;

	KL_GROW(all->v, all->n + 1, all->alloc);
	c = &all->v[all->n++];
	*c = (struct changed){
		.id = kl_strdup(id),
		.path = kl_asprintf("%scards/%s.yaml", prefix, id),
		.old = { .text = KL_BUF_INIT },
		.now = { .text = KL_BUF_INIT },
	};
	if (old)
		err = read_side(&c->old, old, i);
	if (!err && now)
		err = read_side(&c->now, now, k);
	return err;
}

/* Both are in the order of file names. */
static int pair_up(struct cards *all, const char *prefix, struct kl_library *old,
		   struct kl_library *now)
{
	size_t i = 0, k = 0, n = old ? kl_library_count(old) : 0,
	       m = now ? kl_library_count(now) : 0;
	int err = 0;

	while (!err && (i < n || k < m)) {
		KL_AUTO(kl_freep)
		char *a = i < n ? kl_asprintf("%s.yaml", kl_library_id(old, i)) : NULL;
		KL_AUTO(kl_freep)
		char *b = k < m ? kl_asprintf("%s.yaml", kl_library_id(now, k)) : NULL;
		int d = !a ? 1 : !b ? -1 : strcmp(a, b);

		if (d < 0)
			err = add_pair(all, prefix, old, i++, NULL, 0);
		else if (d > 0)
			err = add_pair(all, prefix, NULL, 0, now, k++);
		else if (memcmp(kl_library_blob(old, i), kl_library_blob(now, k), sizeof(git_oid)))
			err = add_pair(all, prefix, old, i++, now, k++);
		else
			i++, k++;
	}
	return err;
}

static void parse_side(struct side *s, const char *path, const char *id)
{
	if (!s->there || s->error)
		return;
	if (kl_card_parse(&s->card, path, s->text.ptr, s->text.len) < 0) {
		s->error = kl_strdup(kl_error_last());
	} else if (strcmp(s->card->id, id)) {
		s->error = kl_asprintf("%s holds the card '%s'", path, s->card->id);
		kl_card_free(kl_steal(&s->card));
	}
	kl_error_clear();
}

static void parse_some(void *ctx, size_t from, size_t to)
{
	struct changed *v = ctx;

	for (size_t i = from; i < to; i++) {
		parse_side(&v[i].old, v[i].path, v[i].id);
		parse_side(&v[i].now, v[i].path, v[i].id);
	}
}

/* --- one card ---------------------------------------------------------------------------- */

static const char *change_of(const struct changed *c)
{
	return !c->old.there ? "added" : c->now.there ? "changed" : "removed";
}

static const char *status_of(const struct side *s)
{
	return s->card ? kl_card_status_name(s->card->status) : NULL;
}

static struct kl_review_item *add_item(struct kl_review_work *w, const struct changed *c)
{
	const char *old = status_of(&c->old), *now = status_of(&c->now);
	struct kl_review_item *item;

	if (old && now && strcmp(old, now))
		item = kl_review_add(w, KL_REVIEW_CARDS, "%s %w, %w to %w", c->id, change_of(c),
				     old, now);
	else
		item = kl_review_add(w, KL_REVIEW_CARDS, "%s %w, %w", c->id, change_of(c),
				     now ? now :
				     old ? old :
					   "unreadable");
	kl_json_set_str(item->facts, "id", c->id);
	kl_json_set_str(item->facts, "path", c->path);
	kl_json_set_str(item->facts, "change", change_of(c));
	kl_json_set_str(item->facts, "before", old);
	kl_json_set_str(item->facts, "status", now);
	return item;
}

static void on_finding(const struct kl_library_finding *f, void *payload)
{
	kl_findings_add(payload, f->error ? KL_ANSWER : KL_NOTE, "evidence", "evidence: %s",
			f->what);
}

/* Commits that the card names: which are in this clone, and so were looked at? */
static void say_commits(struct kl_review_item *item, struct kl_repo *r, const struct kl_card *c)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec commits = KL_STRVEC_INIT;
	int64_t here = 0;

	kl_card_commits(&commits, c);
	for (size_t i = 0; i < commits.n; i++) {
		git_oid oid, tree;

		here += kl_oid_parse(&oid, commits.v[i]) == 0 &&
			kl_repo_tree_of(&tree, r, &oid) == 0;
	}
	kl_error_clear();
	kl_json_set_int(item->facts, "commits", (int64_t)commits.n);
	kl_json_set_int(item->facts, "commits_here", here);
}

static void new_events(struct changed *c)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec old = KL_STRVEC_INIT, now = KL_STRVEC_INIT;

	if (c->old.card)
		kl_card_events(&old, c->old.card);
	kl_card_events(&now, c->now.card);
	for (size_t i = 0, k = 0; i < now.n; i++) {
		while (k < old.n && strcmp(old.v[k], now.v[i]) < 0)
			k++;
		if (k == old.n || strcmp(old.v[k], now.v[i]))
			kl_strvec_push(&c->events, now.v[i]);
	}
}

static void review_card(struct kl_review_work *w, struct cards *all, size_t at,
			struct kl_library *now)
{
	struct changed *c = &all->v[at];
	struct kl_review_item *item = add_item(w, c);
	KL_AUTO(kl_library_checker_freep) struct kl_library_checker *k = NULL;
	int line;

	c->item = w->v->part[KL_REVIEW_CARDS].n - 1;
	if (!c->now.there) {
		kl_findings_add(&item->found, KL_ANSWER, "card-removed",
				"the card is gone; what is no longer believed "
				"is retracted, so that the reason stays: %s",
				c->old.card ? c->old.card->intent : "");
		return;
	}
	if (c->now.error) {
		kl_findings_add(&item->found, KL_ANSWER, "card-unreadable", "it is no card: %s",
				c->now.error);
		return;
	}
	if (c->old.error)
		kl_findings_add(&item->found, KL_NOTE, "card-mended",
				"the base's could not be read: %s", c->old.error);
	kl_card_diff(&item->found, c->old.card, c->now.card);
	if ((line = kl_card_canonical_line(c->now.card, c->now.text.ptr, c->now.text.len)))
		kl_findings_add(&item->found, KL_NOTE, "not-canonical",
				"it is not canonical from line %d on", (int64_t)line);
	k = kl_library_checker_new(now, on_finding, &item->found);
	kl_library_checker_card(k, c->path, c->now.card);
	new_events(c);
	for (size_t i = 0; i < c->events.n; i++) {
		const struct kl_event *e = kl_library_checker_event(k, c->events.v[i]);

		if (e)
			kl_trust_add_event(&all->trust, at, kl_event_ref(e), false);
	}
	say_commits(item, w->r, c->now.card);
}

/* --- signatures ------------------------------------------------------------------------------ */

struct tally {
	int64_t n, of[KL_SIGN_STATES], refused;
	const char *who;
};

/* What the signatures of a card's new events are, in one line. */
static void say_tally(struct kl_review_item *item, const struct tally *t, bool required)
{
	int64_t unsigned_ = t->of[KL_SIGN_NONE], unknown = t->of[KL_SIGN_UNKNOWN];

	kl_json_set(item->facts, "events",
		    json_pack("{s:I,s:I,s:I,s:I,s:I}", "new", (json_int_t)t->n, "good",
			      (json_int_t)t->of[KL_SIGN_GOOD], "unsigned", (json_int_t)unsigned_,
			      "unknown", (json_int_t)unknown, "bad",
			      (json_int_t)t->of[KL_SIGN_BAD]));
	if (t->refused && required)
		kl_findings_add(
			&item->found, KL_ANSWER, "evidence-unsigned",
			"signed by nobody whom gpg.ssh.allowedSignersFile names: %d of %d new events",
			t->refused, t->n);
	if (t->of[KL_SIGN_GOOD])
		kl_findings_add(&item->found, KL_NOTE, "evidence-signed",
				"signed by allowed signers, like %s: %d of %d new events", t->who,
				t->of[KL_SIGN_GOOD], t->n);
	if (unknown)
		kl_findings_add(
			&item->found, KL_NOTE, "evidence-unknown-key",
			"signed by keys that gpg.ssh.allowedSignersFile does not name: %d of %d new "
			"events",
			unknown, t->n);
}

static void say_signatures(struct kl_review_work *w, struct cards *all)
{
	KL_AUTO(kl_freep) struct tally *t = kl_calloc(all->n + 1, sizeof(*t));

	for (size_t i = 0; i < all->trust.n; i++) {
		const struct kl_trust_line *l = &all->trust.v[i];
		struct tally *own = &t[l->tag];
		struct kl_findings *f = &w->v->part[KL_REVIEW_CARDS].v[all->v[l->tag].item].found;
		KL_AUTO(kl_freep) char *id = kl_strndup(l->event->id, 12);

		own->n++;
		own->of[l->sig.state]++;
		own->refused += !l->counts && l->sig.state != KL_SIGN_BAD;
		if (l->sig.state == KL_SIGN_GOOD)
			own->who = l->sig.who;
		if (l->sig.state == KL_SIGN_BAD)
			kl_findings_add(f, KL_ANSWER, "signature-bad",
					"event %w, which it cites, has a wrong "
					"signature: %s",
					id, l->sig.why);
	}
	for (size_t i = 0; i < all->n; i++)
		if (t[i].n)
			say_tally(&w->v->part[KL_REVIEW_CARDS].v[all->v[i].item], &t[i],
				  all->trust.required);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Evidence that was there and is not, whoever cites it. */
static void say_lost_evidence(struct kl_review_work *w, const char *prefix)
{
	int64_t lost = 0;

	for (size_t i = 0; i < w->paths.n; i++) {
		const char *path = w->paths.v[i];
		bool evidence;
		git_oid oid;
		size_t n;

		if (!library_path(&n, &evidence, path) || !evidence || strlen(prefix) != n ||
		    strncmp(path, prefix, n))
			continue;
		if (kl_repo_tree_entry(&oid, NULL, w->r, &w->base_tree, path) == 0 &&
		    kl_repo_tree_entry(&oid, NULL, w->r, &w->head_tree, path) == KL_ENOTFOUND &&
		    ++lost <= MAX_FILES)
			kl_findings_add(&w->v->general, KL_ANSWER, "evidence-file-removed",
					"a copy of evidence is gone: %s", path);
		kl_error_clear();
	}
	if (lost > MAX_FILES)
		kl_findings_add(&w->v->general, KL_ANSWER, "evidence-file-removed",
				"so are %d more", lost - MAX_FILES);
}

static int review_library(struct kl_review_work *w, const char *prefix)
{
	KL_AUTO(kl_library_freep) struct kl_library *old = NULL, *now = NULL;
	KL_AUTO(cards_release) struct cards all = { 0 };
	bool sure = false;
	int err;

	if ((err = open_side(&old, &sure, w->r, &w->base_tree, prefix)) < 0 ||
	    (err = open_side(&now, &sure, w->r, &w->head_tree, prefix)) < 0 || !sure)
		return err;
	if ((err = pair_up(&all, prefix, old, now)) < 0)
		return err;
	kl_par_for(all.n, 16, parse_some, all.v);
	for (size_t i = 0; i < all.n; i++)
		review_card(w, &all, i, now);
	say_lost_evidence(w, prefix);
	if ((err = kl_trust_judge(&all.trust, w->r)) < 0)
		return err;
	say_signatures(w, &all);
	return 0;
}

int kl_review_cards(struct kl_review_work *w)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec prefixes = KL_STRVEC_INIT;
	int err = 0;

	for (size_t i = 0; i < w->paths.n; i++) {
		bool evidence;
		size_t n;

		if (library_path(&n, &evidence, w->paths.v[i]))
			kl_strvec_take(&prefixes, kl_strndup(w->paths.v[i], n));
	}
	kl_strvec_uniq(&prefixes);
	for (size_t i = 0; i < prefixes.n && !err; i++)
		err = review_library(w, prefixes.v[i]);
	return err;
}
