/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "card/card_merge.h"
#include "card_gen.h"

static char *text_of(const struct kl_card *card)
{
	struct kl_buf buf = KL_BUF_INIT;

	kl_card_write(&buf, card);
	return kl_buf_detach(&buf);
}

static struct kl_card *merged(const struct kl_card *base, const struct kl_card *left,
			      const struct kl_card *right)
{
	struct kl_card *out = NULL;

	assert_ok(kl_card_merge(&out, NULL, base, left, right));
	return out;
}

static void set(char **list, const char *value)
{
	free(*list);
	*list = kl_strdup(value);
}

/* --- what happens to it while it is elsewhere --------------------------------------------- */

/* learns, is tried, is reworded: one of these */
static void change(struct kl_card *card, struct kl_rng *rng)
{
	switch (kl_rng_below(rng, 8)) {
	case 0:
		gen_evidence(card, rng);
		break;
	case 1:
	case 2:
		gen_trial(card, rng);
		break;
	case 3:
		gen_risk(card, rng);
		break;
	case 4:
		free(card->intent);
		card->intent = gen_text(rng, false);
		break;
	case 5:
		gen_facts(&card->provides, rng);
		kl_card_normalize(card);
		break;
	case 6:
		gen_pre(card, rng, 10 + (int)kl_rng_below(rng, 4));
		kl_card_normalize(card);
		break;
	default:
		gen_carrier(card, rng);
		kl_card_normalize(card);
	}
}

#define VERSIONS 4

/* merges versions in an order; whoever merges has the base in common */
static struct kl_card *fold(const struct kl_card *base, struct kl_card *const *cards,
			    const size_t *order, bool turned)
{
	struct kl_card *sum = kl_card_copy(cards[order[0]]);

	for (size_t i = 1; i < VERSIONS; i++) {
		struct kl_card *next = turned ? merged(base, cards[order[i]], sum) :
						merged(base, sum, cards[order[i]]);

		kl_card_free(sum);
		sum = next;
	}
	return sum;
}

static void shuffle(size_t *order, struct kl_rng *rng)
{
	for (size_t i = VERSIONS; i > 1; i--) {
		size_t k = kl_rng_below(rng, i), tmp = order[i - 1];

		order[i - 1] = order[k];
		order[k] = tmp;
	}
}

static void order_does_not_matter(void **state)
{
	for (uint64_t seed = 1; seed <= 400; seed++) {
		KL_AUTO(kl_card_freep) struct kl_card *base = gen_card(seed);
		struct kl_card *cards[VERSIONS];
		size_t order[VERSIONS] = { 0, 1, 2, 3 }, rows = 0;
		KL_AUTO(kl_freep) char *first = NULL;
		struct kl_rng rng;

		kl_rng_seed(&rng, seed * 7919);
		for (size_t i = 0; i < VERSIONS; i++) {
			cards[i] = kl_card_copy(base);
			for (size_t n = kl_rng_below(&rng, 4); n; n--)
				change(cards[i], &rng);
		}
		for (int i = 0; i < 6; i++) {
			KL_AUTO(kl_card_freep) struct kl_card *sum = fold(base, cards, order,
									  i % 2);
			KL_AUTO(kl_card_freep) struct kl_card *again = NULL;
			KL_AUTO(kl_freep) char *text = text_of(sum);

			if (!first)
				first = kl_strdup(text);
			if (strcmp(text, first))
				fail_msg("seed %llu, order %d:\n%s\n--- first:\n%s",
					 (unsigned long long)seed, i, text, first);
			/* the result is a valid card */
			assert_ok(kl_card_parse(&again, "merged", text, strlen(text)));
			rows = again->evidence.n + again->ver.n;
			shuffle(order, &rng);
		}
		/* nothing that was measured is lost */
		for (size_t i = 0; i < VERSIONS; i++) {
			KL_AUTO(kl_card_freep) struct kl_card *sum = fold(base, cards, order,
									  false);

			assert_true(rows >= cards[i]->evidence.n + cards[i]->ver.n);
			for (size_t k = 0; k < cards[i]->evidence.n; k++)
				assert_true(kl_card_has_state(sum, cards[i]->evidence.v[k].after));
			kl_card_free(cards[i]);
			cards[i] = kl_card_copy(sum);
		}
		for (size_t i = 0; i < VERSIONS; i++)
			kl_card_free(cards[i]);
	}
}

static void the_same_is_the_same(void **state)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = gen_card(seed);
		KL_AUTO(kl_card_freep) struct kl_card *twice = merged(NULL, card, card);
		KL_AUTO(kl_card_freep) struct kl_card *old = kl_card_copy(card);
		KL_AUTO(kl_card_freep) struct kl_card *forward = NULL;
		KL_AUTO(kl_freep) char *left = text_of(card);
		KL_AUTO(kl_freep) char *right = text_of(twice);
		KL_AUTO(kl_freep) char *dir = NULL;
		KL_AUTO(kl_freep) char *end = NULL;
		struct kl_rng rng;

		assert_string_equal(right, left);
		/* one side alone changed: that is the result */
		kl_rng_seed(&rng, seed);
		change(card, &rng);
		forward = merged(old, old, card);
		dir = text_of(forward);
		end = text_of(card);
		assert_string_equal(dir, end);
	}
}

/* --- fields ----------------------------------------------------------------------------------- */

static void texts_of_both_sides_are_named(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *base = gen_card(5), *left = kl_card_copy(base),
					      *right = kl_card_copy(base);
	KL_AUTO(kl_card_freep) struct kl_card *out = NULL, *other = NULL, *one = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec both = KL_STRVEC_INIT, none = KL_STRVEC_INIT;

	set(&left->intent, "x: ours");
	set(&right->intent, "y: theirs");
	set(&right->anchor.construct, "a loop");
	assert_ok(kl_card_merge(&out, &both, base, left, right));
	assert_string_equal(out->intent, "y: theirs"); /* the greater */
	assert_string_equal(out->anchor.construct, "a loop");
	assert_int_equal(both.n, 1);
	assert_string_equal(both.v[0], "intent");
	assert_ok(kl_card_merge(&other, NULL, base, right, left));
	assert_string_equal(other->intent, "y: theirs");
	assert_ok(kl_card_merge(&one, &none, base, base, right));
	assert_int_equal(none.n, 0);
}

static size_t find_pre(const struct kl_card *card, const char *id)
{
	for (size_t i = 0; i < card->sound.n; i++)
		if (!strcmp(card->sound.v[i].id, id))
			return i + 1;
	return 0;
}

static void add_pre(struct kl_card *card, const char *id, const char *text)
{
	KL_GROW(card->sound.v, card->sound.n + 1, card->sound.alloc);
	card->sound.v[card->sound.n++] = (struct kl_card_pre){ .id = kl_strdup(id),
							       .text = kl_strdup(text) };
	kl_card_normalize(card);
}

static void drop_pre(struct kl_card *card, const char *id)
{
	size_t i = find_pre(card, id) - 1;

	kl_card_pre_release(&card->sound.v[i]);
	card->sound.n--;
	memmove(card->sound.v + i, card->sound.v + i + 1,
		(card->sound.n - i) * sizeof(*card->sound.v));
}

static void what_was_taken_out_stays_out(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *base = kl_card_new();
	KL_AUTO(kl_card_freep) struct kl_card *left = NULL, *right = NULL, *out = NULL;
	struct kl_card_risk risk = { .class_ = kl_strdup("fault"),
				     .violates = kl_strdup("gone"),
				     .text = kl_strdup("t") };

	base->id = kl_strdup("x-1234567");
	base->intent = kl_strdup("i");
	base->anchor.construct = kl_strdup("c");
	add_pre(base, "gone", "was wrong");
	add_pre(base, "kept", "as it was");
	left = kl_card_copy(base);
	right = kl_card_copy(base);
	drop_pre(left, "gone");
	drop_pre(left, "kept");
	set(&right->sound.v[find_pre(right, "kept") - 1].text, "better said");
	add_pre(right, "new", "n");
	kl_strvec_push(&risk.events,
		       "0000000000000000000000000000000000000000000000000000000000000001");
	kl_card_add_risk(right, &risk);
	out = merged(base, left, right);
	assert_int_equal(find_pre(out, "gone"), 0);
	assert_true(find_pre(out, "kept")); /* changed there: not thrown away */
	assert_true(find_pre(out, "new"));
	assert_null(out->risk.v[0].violates); /* its precondition is gone */
}

static void a_tombstone_wins(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *base = gen_card(9), *left = kl_card_copy(base),
					      *right = kl_card_copy(base);
	KL_AUTO(kl_card_freep) struct kl_card *out = NULL;
	struct kl_rng rng;

	kl_rng_seed(&rng, 1);
	for (int i = 0; i < 5; i++)
		gen_trial(left, &rng);
	kl_card_retract(right, "no", "A <a@b>", "2026-11-20T10:00:00Z");
	out = merged(base, left, right);
	assert_int_equal(out->status, KL_CARD_RETRACTED);
	assert_true(out->ver.n >= 5);
}

static void own_trials_stay_own(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *left = gen_card(21), *right = NULL, *out = NULL;
	struct kl_rng rng;

	kl_rng_seed(&rng, 4);
	while (!left->ver.n || left->ver.v[0].foreign || !left->ver.v[0].event) {
		gen_trial(left, &rng);
		kl_card_normalize(left);
	}
	right = kl_card_copy(left);
	right->ver.v[0].foreign = true;
	out = merged(NULL, right, left);
	assert_int_equal(out->ver.n, left->ver.n);
	assert_false(out->ver.v[0].foreign);
}

static void risks_unite_their_events(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *left = kl_card_new(), *right = NULL, *out = NULL;
	struct kl_card_risk one = { .class_ = kl_strdup("fault"), .text = kl_strdup("t") };
	struct kl_card_risk two = { .class_ = kl_strdup("fault"), .text = kl_strdup("t") };

	left->id = kl_strdup("x-1234567");
	right = kl_card_copy(left);
	kl_strvec_push(&one.events,
		       "0000000000000000000000000000000000000000000000000000000000000002");
	kl_strvec_push(&two.events,
		       "0000000000000000000000000000000000000000000000000000000000000001");
	kl_card_add_risk(left, &one);
	kl_card_add_risk(right, &two);
	out = merged(NULL, left, right);
	assert_int_equal(out->risk.n, 1);
	assert_int_equal(out->risk.v[0].events.n, 2);
}

static void two_cards_do_not_merge(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *left = kl_card_new(), *right = kl_card_new();
	struct kl_card *out = NULL;

	left->id = kl_strdup("x");
	right->id = kl_strdup("y");
	assert_error(KL_EINVALID, "cannot merge different cards",
		     kl_card_merge(&out, NULL, NULL, left, right));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(the_same_is_the_same),
		cmocka_unit_test(texts_of_both_sides_are_named),
		cmocka_unit_test(what_was_taken_out_stays_out),
		cmocka_unit_test(a_tombstone_wins),
		cmocka_unit_test(own_trials_stay_own),
		cmocka_unit_test(risks_unite_their_events),
		cmocka_unit_test(two_cards_do_not_merge),
	};

	return cmocka_run_group_tests_name("skill_merge", tests, NULL, NULL);
}
