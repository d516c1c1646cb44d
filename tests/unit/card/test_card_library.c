/* SPDX-License-Identifier: Apache-2.0 */
#include "card/library.h"
#include "event_lib.h"
#include "scratch.h"

/* an event for every id that a card cites: the ids are made, so the card is told the true ones */
static const char *seal(struct kl_map *events, int n)
{
	struct kl_event *event = event_of(json_pack("{s:i,s:s,s:i,s:s,s:s}", "v", 1, "kind", "gate",
						    "n", n, "verdict", "pass", "commit", "0000"),
					  true);

	kl_map_put(events, event->id, event);
	return event->id;
}

static struct kl_card *small_card(const char *id)
{
	struct kl_card *card = kl_card_new();

	card->id = kl_strdup(id);
	card->intent = kl_strdup("an intent");
	card->anchor.construct = kl_strdup("a loop");
	return card;
}

static void add_risk(struct kl_card *card, struct kl_map *events, int n)
{
	struct kl_card_risk risk = { .class_ = kl_strdup("slower"),
				     .text = kl_asprintf("event %d", n) };

	kl_strvec_push(&risk.events, seal(events, n));
	kl_card_add_risk(card, &risk);
}

static struct kl_library *open_at(struct kl_repo *repo)
{
	struct kl_library *library = NULL;

	assert_ok(kl_library_open(&library, repo));
	return library;
}

static int put(struct kl_library *library, const struct kl_card *card, const struct kl_map *events)
{
	return kl_library_put(library, &(struct kl_library_change){
					       .card = card, .events = events, .subject = "test" });
}

/* a ref of somebody else's in the same transaction; the first time he is too late */
struct other {
	struct kl_repo *repo;
	git_oid to;
	int asked;
};

static int also(struct kl_refs_txn *txn, void *payload)
{
	struct other *other = payload;

	if (!other->asked++) { /* meanwhile another one writes a card: all is to be tried again */
		KL_AUTO(kl_library_freep) struct kl_library *library = open_at(other->repo);
		KL_AUTO(kl_card_freep) struct kl_card *card = small_card("quicker");

		assert_ok(put(library, card, NULL));
	}
	kl_refs_txn_update(txn, "refs/klineage/trials/one", &other->to, NULL);
	return 0;
}

static void two_cards_and_a_ref_move_together(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("together");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	KL_AUTO(kl_card_freep) struct kl_card *one = small_card("one"), *two = small_card("two");
	KL_AUTO(kl_card_freep) struct kl_card *zero = small_card("zero");
	struct kl_library_change second = { .card = two, .is_new = true, .subject = "the second" };
	struct kl_library_change first = {
		.card = one,
		.is_new = true,
		.subject = "the first",
		.then = &second,
		.also = also,
	};
	struct other other;
	git_oid at;
	size_t i;

	assert_ok(kl_repo_open_at(&repo, dir));
	library = open_at(repo);
	assert_ok(put(library, zero, NULL));
	other = (struct other){ .repo = repo, .to = *kl_library_tip(library) };
	first.payload = &other;
	assert_ok(kl_library_put(library, &first));
	assert_int_equal(other.asked, 2);
	assert_ok(kl_refs_get(&at, repo, "refs/klineage/trials/one"));
	assert_int_equal(kl_library_count(library), 4);
	assert_ok(kl_library_find(&i, library, "quicker"));
	sh(dir,
	   "git log --format=%%s klineage/skills >log && printf 'the second\\nthe first\\ntest\\ntest\\n' >want && "
	   "head -n 4 log | cmp - want && git fsck --strict");
}

static void is_empty_without_a_branch(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("empty");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	struct kl_card *card = NULL;

	assert_ok(kl_repo_open_at(&repo, dir));
	library = open_at(repo);
	assert_int_equal(kl_library_count(library), 0);
	assert_error(KL_ENOTFOUND, "the library is empty", kl_library_card(&card, library, "x"));
}

static void keeps_cards_and_events(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("keeps");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL, *again = NULL, *before = NULL;
	KL_AUTO(kl_map_release) struct kl_map events = { .free_value = kl_event_free_value },
					      none = KL_MAP_INIT;
	KL_AUTO(kl_card_freep) struct kl_card *card = small_card("x-1234567"), *read = NULL;
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	git_oid root, tip;

	assert_ok(kl_repo_open_at(&repo, dir));
	library = open_at(repo);
	add_risk(card, &events, 1);
	assert_error(KL_EINVALID, "neither in the library nor supplied with the card",
		     put(library, card, &none));
	assert_ok(put(library, card, &events));
	tip = *kl_library_tip(library);
	assert_oid(dir, "refs/heads/klineage/skills", &tip);
	assert_ok(kl_library_root(&root, repo));
	assert_oid(dir, "refs/heads/klineage/skills~1", &root);
	assert_sh("an empty library of skills", dir, "git log -1 --format=%%s klineage/skills~1");
	/* the same again is no commit; and the event need not be at hand any more */
	assert_ok(put(library, card, &none));
	assert_oid(dir, "refs/heads/klineage/skills", &tip);
	again = open_at(repo);
	assert_int_equal(kl_library_count(again), 1);
	assert_ok(kl_library_card(&read, again, "x-12"));
	assert_string_equal(read->risk.v[0].text, "event 1");
	assert_ok(kl_library_event(&event, again, read->risk.v[0].events.v[0]));
	assert_string_equal(event->commit, "");
	assert_ok(kl_library_open_at(&before, repo, &root));
	assert_int_equal(kl_library_count(before), 0);
	sh(dir,
	   "git fsck --strict 2>&1 && git cat-file blob klineage/skills:.gitattributes | grep -q klineage-card");
}

/* both have read the same; the second finds that it was second */
static void who_comes_second_merges(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("second");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL, *other_repo = NULL;
	KL_AUTO(kl_library_freep) struct kl_library *left = NULL, *right = NULL;
	KL_AUTO(kl_map_release) struct kl_map events = { .free_value = kl_event_free_value };
	KL_AUTO(kl_card_freep) struct kl_card *other = small_card("x-1234567"), *card = NULL,
					      *out = NULL;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_repo_open_at(&other_repo, dir));
	left = open_at(repo);
	add_risk(other, &events, 1);
	assert_ok(put(left, other, &events));
	right = open_at(other_repo);
	card = kl_card_copy(other);
	add_risk(other, &events, 2);
	assert_ok(put(left, other, &events));
	add_risk(card, &events, 3);
	assert_ok(put(right, card, &events));
	assert_ok(kl_library_card(&out, right, "x-1234567"));
	assert_int_equal(out->risk.n, 3);
	assert_sh("4", dir, "git rev-list --count klineage/skills");
}

static void a_broken_file_is_told(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("broken");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	struct kl_event *event = NULL;
	char id[65];

	memset(id, 'a', 64);
	id[64] = '\0';
	sh(dir,
	   "git checkout -q --orphan klineage/skills && git rm -rfq . && mkdir cards cards/deep evidence evidence/aa && "
	   "echo 'schema: 1' >cards/x.yaml && echo hi >cards/README && echo y >cards/deep/z.yaml && "
	   "echo '{}' >evidence/aa/%s.json && git add . && git commit -qm x && git checkout -q main",
	   id);
	assert_ok(kl_repo_open_at(&repo, dir));
	library = open_at(repo);
	assert_int_equal(kl_library_count(library), 1);
	assert_error(KL_EINVALID, "cards/x.yaml:1:1: 'id' is missing",
		     kl_library_card(&card, library, "x"));
	assert_error(KL_EINVALID, "evidence/aa/", kl_library_event(&event, library, id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_cards_and_a_ref_move_together),
		cmocka_unit_test(is_empty_without_a_branch),
		cmocka_unit_test(keeps_cards_and_events),
		cmocka_unit_test(who_comes_second_merges),
		cmocka_unit_test(a_broken_file_is_told),
	};

	return cmocka_run_group_tests_name("skill_library", tests, scratch_setup, scratch_teardown);
}
