/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories that went apart come together the same, in whatever order; nothing is lost on the way.
 */
#include "base/rng.h"
#include "event_lib.h"
#include "repo/notes.h"
#include "scratch.h"
#include "sync/library_merge.h"

#define TIPS 6
#define ORDERS 5

static const char *hex_of(char hex[KL_OID_HEX], const git_oid *oid)
{
	kl_oid_hex(hex, oid);
	return hex;
}

static void shuffle(size_t *order, struct kl_rng *rng)
{
	for (size_t i = 0; i < TIPS; i++)
		order[i] = i;
	for (size_t i = TIPS; i > 1; i--) {
		size_t k = kl_rng_below(rng, i), turn = order[i - 1];

		order[i - 1] = order[k];
		order[k] = turn;
	}
}

static struct kl_event *make_event(int n)
{
	return event_of(json_pack("{s:i,s:s,s:i,s:s}", "v", 1, "kind", "gate", "n", n, "time",
				  n % 3 ? "2026-01-01T00:00:00Z" : "2025-01-01T00:00:00Z"),
			true);
}

/* --- events --------------------------------------------------------------------------- */

static bool accept_all(const char *line, size_t len, void *payload)
{
	return true;
}

static void add_note(struct kl_repo *repo, const char *ref, const git_oid *commit, int n)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = make_event(n);
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
	struct kl_note_line one = { .commit = *commit };

	kl_event_write(&line, event);
	one.line = line.ptr;
	assert_ok(kl_notes_add(repo, ref, &one, 1));
}

/* six notes refs that share a beginning; each gets events of its own, and some that others have */
static void make_notes(git_oid *tip, struct kl_repo *repo, const char *dir, const git_oid *commit,
		       size_t n, struct kl_rng *rng)
{
	for (int i = 0; i < 8; i++)
		add_note(repo, "refs/notes/klineage/base", &commit[kl_rng_below(rng, n)], i);
	for (size_t turn = 0; turn < TIPS; turn++) {
		KL_AUTO(kl_freep) char *ref = kl_asprintf("refs/notes/klineage/t%zu", turn);

		sh(dir, "git update-ref %s refs/notes/klineage/base", ref);
		for (size_t i = 1 + kl_rng_below(rng, 6); i > 0; i--)
			add_note(repo, ref, &commit[kl_rng_below(rng, n)],
				 (int)(100 + kl_rng_below(rng, 40)));
		tip[turn] = oid_of(dir, ref);
	}
}

static void events_in_any_order(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("events");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_freep) git_oid *commit = NULL;
	char hex[KL_OID_HEX];
	struct kl_rng rng;
	git_oid head;
	size_t n;

	sh(dir,
	   "git init -q -b main . && for i in 1 2 3 4 5 6 7; do git commit -q --allow-empty -m $i; done");
	assert_ok(kl_repo_open_at(&repo, dir));
	head = oid_of(dir, "main");
	assert_ok(kl_repo_touching(&commit, &n, repo, &head, NULL, 0, 100));
	for (uint64_t seed = 1; seed <= 4; seed++) {
		git_oid tip[TIPS], tree, first = { { 0 } };

		kl_rng_seed(&rng, seed);
		make_notes(tip, repo, dir, commit, n, &rng);
		for (int k = 0; k < ORDERS; k++) {
			size_t order[TIPS];
			git_oid at;

			shuffle(order, &rng);
			at = tip[order[0]];
			for (size_t turn = 1; turn < TIPS; turn++) {
				struct kl_notes_merged done;

				assert_ok(kl_notes_merge(&at, &done, repo, &at, &tip[order[turn]],
							 accept_all, NULL));
				assert_int_equal(done.refused, 0);
			}
			assert_ok(kl_repo_tree_of(&tree, repo, &at));
			if (k)
				assert_memory_equal(&tree, &first, sizeof(tree));
			first = tree;
			sh(dir, "git update-ref refs/notes/all %s", hex_of(hex, &at));
		}
		/* every line of every tip, and no other */
		sh(dir,
		   "for t in $(git for-each-ref --format='%%(refname)' refs/notes/klineage); do "
		   "git ls-tree -r $t | while read -r m k blob p; do git cat-file blob $blob | sed \"s,^,$p ,; s,/,,\"; done; "
		   "done | sort -u >want; git ls-tree -r refs/notes/all | while read -r m k blob p; do "
		   "git cat-file blob $blob | sed \"s,^,$p ,; s,/,,\"; done | sort >have; cmp want have");
	}
}

/* --- cards ------------------------------------------------------------------------------ */

static struct kl_card *make_card(const char *id)
{
	struct kl_card *card = kl_card_new();

	card->id = kl_strdup(id);
	card->intent = kl_strdup("an intent");
	card->anchor.construct = kl_strdup("a loop");
	return card;
}

/* The card gains the row for event n, and perhaps another wording. */
static void grow(struct kl_library *library, const char *id, int n, struct kl_rng *rng)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_map_release) struct kl_map events = { .free_value = kl_event_free_value };
	struct kl_event *event = make_event(n);
	struct kl_card_evidence row = {
		.lineage = kl_asprintf("w/n%d", n),
		.step = 1,
		.before = kl_asprintf("%040d", n),
		.after = kl_asprintf("%040d", n + 1000),
		.derivation = KL_DERIVED_INVERSE,
		.origin = kl_strdup("induced"),
		.language = kl_strdup("c"),
		.platform = kl_strdup("cpu/x86-64-v3"),
		.event = kl_strdup(event->id),
	};

	kl_map_put(&events, row.event, event);
	if (kl_library_card(&card, library, id) < 0)
		card = make_card(id);
	if (!kl_rng_below(rng, 3)) {
		free(card->intent);
		card->intent = kl_asprintf("an intent in words %d", (int)kl_rng_below(rng, 5));
	}
	kl_card_add_evidence(card, &row);
	assert_ok(kl_library_put(library, &(struct kl_library_change){ .card = card,
								       .events = &events,
								       .subject = "grow" }));
}

static void make_libraries(git_oid *tip, struct kl_repo *repo, const char *dir, struct kl_rng *rng)
{
	static const char *const id[] = { "one", "two", "three", "four", "five" };

	for (size_t turn = 0; turn <= TIPS; turn++) { /* the first is the common tip */
		KL_AUTO(kl_library_freep) struct kl_library *library = NULL;

		if (turn)
			sh(dir, "git update-ref %s base", KL_LIBRARY_REF);
		assert_ok(kl_library_open(&library, repo));
		for (size_t i = 2 + kl_rng_below(rng, 4); i > 0; i--)
			grow(library, id[kl_rng_below(rng, KL_ARRAY_SIZE(id))],
			     (int)kl_rng_below(rng, 60), rng);
		if (turn)
			tip[turn - 1] = *kl_library_tip(library);
		else
			sh(dir, "git tag -f base klineage/skills >/dev/null");
	}
}

static void cards_in_any_order(void **state)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		KL_AUTO(kl_freep) char *dir = scratch_repo("cards");
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		git_oid tip[TIPS], tree, first = { { 0 } };
		char hex[KL_OID_HEX];
		struct kl_rng rng;

		assert_ok(kl_repo_open_at(&repo, dir));
		kl_rng_seed(&rng, seed);
		make_libraries(tip, repo, dir, &rng);
		for (int k = 0; k < ORDERS; k++) {
			size_t order[TIPS];
			git_oid at;

			shuffle(order, &rng);
			at = tip[order[0]];
			for (size_t turn = 1; turn < TIPS; turn++) {
				KL_AUTO(kl_library_merged_release) struct kl_library_merged done = {
					0
				};

				assert_ok(
					kl_library_merge(&at, &done, repo, &at, &tip[order[turn]]));
			}
			assert_ok(kl_repo_tree_of(&tree, repo, &at));
			if (k)
				assert_memory_equal(&tree, &first, sizeof(tree));
			first = tree;
			sh(dir, "git update-ref refs/all %s", hex_of(hex, &at));
		}
		/* each card has the evidence of all its versions */
		for (size_t turn = 0; turn < TIPS; turn++) {
			const char *tip_hex = hex_of(hex, &tip[turn]);

			sh(dir,
			   "git ls-tree --name-only %s:cards | while read -r f; do "
			   "git show %s:cards/$f | grep '^    event:' | sort >want; "
			   "git show refs/all:cards/$f | grep '^    event:' | sort >have; "
			   "test -z \"$(comm -23 want have)\"; done",
			   tip_hex, tip_hex);
		}
	}
}

/* An event that was computed from another, which was computed from another ...: `links` deep. */
static struct kl_event *chain_of(struct kl_map *events, int links)
{
	struct kl_event *event = make_event(1000);

	kl_map_put(events, event->id, event);
	for (int i = 1; i < links; i++) {
		json_t *doc = json_pack("{s:i,s:s,s:i,s:{s:s,s:s}}", "v", 1, "kind", "gate", "n", i,
					"inverse", "state", event->id, "pair", event->id);

		event = event_of(doc, true);
		kl_map_put(events, event->id, event);
	}
	return event;
}

/* However far down an event is missing, the library is not taken. */
static void events_are_followed_to_the_end(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("chain");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	KL_AUTO(kl_map_release) struct kl_map events = { .free_value = kl_event_free_value };
	KL_AUTO(kl_card_freep) struct kl_card *card = make_card("one");
	KL_AUTO(kl_library_merged_release) struct kl_library_merged done = { 0 }, again = { 0 };
	struct kl_card_risk risk = { .class_ = kl_strdup("slower"), .text = kl_strdup("deep") };
	git_oid none = { { 0 } }, at;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_library_open(&library, repo));
	kl_strvec_push(&risk.events, chain_of(&events, 30)->id);
	kl_card_add_risk(card, &risk);
	assert_ok(kl_library_put(library, &(struct kl_library_change){ .card = card,
								       .events = &events,
								       .subject = "deep" }));
	sh(dir, "test $(git ls-tree -r --name-only klineage/skills evidence | wc -l) = 30");
	assert_ok(kl_library_merge(&at, &done, repo, &none, kl_library_tip(library)));
	sh(dir,
	   "export GIT_INDEX_FILE=x && git read-tree klineage/skills && "
	   "f=$(git grep -l --cached '\"n\":1000' -- evidence) && test -n \"$f\" && git rm -q --cached $f && "
	   "git update-ref refs/less $(git commit-tree -m less -p klineage/skills $(git write-tree))");
	at = oid_of(dir, "refs/less");
	assert_error(KL_EINVALID, "is missing", kl_library_merge(&at, &again, repo, &none, &at));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_in_any_order),
		cmocka_unit_test(cards_in_any_order),
		cmocka_unit_test(events_are_followed_to_the_end),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
