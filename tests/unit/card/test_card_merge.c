/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "card/card_merge.h"
#include "card_gen.h"

static char *text_of(const struct kl_card *c)
{
	struct kl_buf b = KL_BUF_INIT;

	kl_card_write(&b, c);
	return kl_buf_detach(&b);
}

static struct kl_card *merged(const struct kl_card *base, const struct kl_card *a,
			      const struct kl_card *b)
{
	struct kl_card *out = NULL;

	assert_ok(kl_card_merge(&out, NULL, base, a, b));
	return out;
}

static void set(char **s, const char *value)
{
	free(*s);
	*s = kl_strdup(value);
}

/* --- what happens to it while it is elsewhere --------------------------------------------- */

/* learns, is tried, is reworded: one of these */
static void change(struct kl_card *c, struct kl_rng *r)
{
	switch (kl_rng_below(r, 8)) {
	case 0:
		gen_evidence(c, r);
		break;
	case 1:
	case 2:
		gen_trial(c, r);
		break;
	case 3:
		gen_risk(c, r);
		break;
	case 4:
		free(c->intent);
		c->intent = gen_text(r, false);
		break;
	case 5:
		gen_facts(&c->provides, r);
		kl_card_normalize(c);
		break;
	case 6:
		gen_pre(c, r, 10 + (int)kl_rng_below(r, 4));
		kl_card_normalize(c);
		break;
	default:
		gen_carrier(c, r);
		kl_card_normalize(c);
	}
}

#define VERSIONS 4

/* merges versions in an order; whoever merges has the base in common */
static struct kl_card *fold(const struct kl_card *base, struct kl_card *const *v,
			    const size_t *order, bool turned)
{
	struct kl_card *sum = kl_card_copy(v[order[0]]);

	for (size_t i = 1; i < VERSIONS; i++) {
		struct kl_card *next = turned ? merged(base, v[order[i]], sum) :
						merged(base, sum, v[order[i]]);

		kl_card_free(sum);
		sum = next;
	}
	return sum;
}

static void shuffle(size_t *order, struct kl_rng *r)
{
	for (size_t i = VERSIONS; i > 1; i--) {
		size_t k = kl_rng_below(r, i), tmp = order[i - 1];

		order[i - 1] = order[k];
		order[k] = tmp;
	}
}

static void order_does_not_matter(void **state)
{
	for (uint64_t seed = 1; seed <= 400; seed++) {
		KL_AUTO(kl_card_freep) struct kl_card *base = gen_card(seed);
		struct kl_card *v[VERSIONS];
		size_t order[VERSIONS] = { 0, 1, 2, 3 }, rows = 0;
		KL_AUTO(kl_freep) char *first = NULL;
		struct kl_rng r;

		kl_rng_seed(&r, seed * 7919);
		for (size_t i = 0; i < VERSIONS; i++) {
			v[i] = kl_card_copy(base);
			for (size_t n = kl_rng_below(&r, 4); n; n--)
				change(v[i], &r);
		}
		for (int i = 0; i < 6; i++) {
			KL_AUTO(kl_card_freep) struct kl_card *sum = fold(base, v, order, i % 2);
			KL_AUTO(kl_card_freep) struct kl_card *again = NULL;
			KL_AUTO(kl_freep) char *text = text_of(sum);

			if (!first)
				first = kl_strdup(text);
			if (strcmp(text, first))
				fail_msg("seed %llu, order %d:\n%s\n--- first:\n%s",
					 (unsigned long long)seed, i, text, first);
			/* what comes of it is a card */
			assert_ok(kl_card_parse(&again, "merged", text, strlen(text)));
			rows = again->evidence.n + again->ver.n;
			shuffle(order, &r);
		}
		/* nothing that was measured is lost */
		for (size_t i = 0; i < VERSIONS; i++) {
			KL_AUTO(kl_card_freep) struct kl_card *sum = fold(base, v, order, false);

			assert_true(rows >= v[i]->evidence.n + v[i]->ver.n);
			for (size_t k = 0; k < v[i]->evidence.n; k++)
				assert_true(kl_card_has_state(sum, v[i]->evidence.v[k].after));
			kl_card_free(v[i]);
			v[i] = kl_card_copy(sum);
		}
		for (size_t i = 0; i < VERSIONS; i++)
			kl_card_free(v[i]);
	}
}

static void the_same_is_the_same(void **state)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		KL_AUTO(kl_card_freep) struct kl_card *c = gen_card(seed);
		KL_AUTO(kl_card_freep) struct kl_card *twice = merged(NULL, c, c);
		KL_AUTO(kl_card_freep) struct kl_card *old = kl_card_copy(c);
		KL_AUTO(kl_card_freep) struct kl_card *forward = NULL;
		KL_AUTO(kl_freep) char *a = text_of(c);
		KL_AUTO(kl_freep) char *b = text_of(twice);
		KL_AUTO(kl_freep) char *d = NULL;
		KL_AUTO(kl_freep) char *e = NULL;
		struct kl_rng r;

		assert_string_equal(b, a);
		/* one side alone changed: that is the result */
		kl_rng_seed(&r, seed);
		change(c, &r);
		forward = merged(old, old, c);
		d = text_of(forward);
		e = text_of(c);
		assert_string_equal(d, e);
	}
}

/* --- fields ----------------------------------------------------------------------------------- */

static void texts_of_both_sides_are_named(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *base = gen_card(5), *a = kl_card_copy(base),
					      *b = kl_card_copy(base);
	KL_AUTO(kl_card_freep) struct kl_card *out = NULL, *other = NULL, *one = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec both = KL_STRVEC_INIT, none = KL_STRVEC_INIT;

	set(&a->intent, "x: ours");
	set(&b->intent, "y: theirs");
	set(&b->anchor.construct, "a loop");
	assert_ok(kl_card_merge(&out, &both, base, a, b));
	assert_string_equal(out->intent, "y: theirs"); /* the greater */
	assert_string_equal(out->anchor.construct, "a loop");
	assert_int_equal(both.n, 1);
	assert_string_equal(both.v[0], "intent");
	assert_ok(kl_card_merge(&other, NULL, base, b, a));
	assert_string_equal(other->intent, "y: theirs");
	assert_ok(kl_card_merge(&one, &none, base, base, b));
	assert_int_equal(none.n, 0);
}

static size_t find_pre(const struct kl_card *c, const char *id)
{
	for (size_t i = 0; i < c->sound.n; i++)
		if (!strcmp(c->sound.v[i].id, id))
			return i + 1;
	return 0;
}

static void add_pre(struct kl_card *c, const char *id, const char *text)
{
	KL_GROW(c->sound.v, c->sound.n + 1, c->sound.alloc);
	c->sound.v[c->sound.n++] = (struct kl_card_pre){ .id = kl_strdup(id),
							 .text = kl_strdup(text) };
	kl_card_normalize(c);
}

static void drop_pre(struct kl_card *c, const char *id)
{
	size_t i = find_pre(c, id) - 1;

	kl_card_pre_release(&c->sound.v[i]);
	c->sound.n--;
	memmove(c->sound.v + i, c->sound.v + i + 1, (c->sound.n - i) * sizeof(*c->sound.v));
}

static void what_was_taken_out_stays_out(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *base = kl_card_new();
	KL_AUTO(kl_card_freep) struct kl_card *a = NULL, *b = NULL, *out = NULL;
	struct kl_card_risk risk = { .class_ = kl_strdup("fault"),
				     .violates = kl_strdup("gone"),
				     .text = kl_strdup("t") };

	base->id = kl_strdup("x-1234567");
	base->intent = kl_strdup("i");
	base->anchor.construct = kl_strdup("c");
	add_pre(base, "gone", "was wrong");
	add_pre(base, "kept", "as it was");
	a = kl_card_copy(base);
	b = kl_card_copy(base);
	drop_pre(a, "gone");
	drop_pre(a, "kept");
	set(&b->sound.v[find_pre(b, "kept") - 1].text, "better said");
	add_pre(b, "new", "n");
	kl_strvec_push(&risk.events,
		       "0000000000000000000000000000000000000000000000000000000000000001");
	kl_card_add_risk(b, &risk);
	out = merged(base, a, b);
	assert_int_equal(find_pre(out, "gone"), 0);
	assert_true(find_pre(out, "kept")); /* changed there: not thrown away */
	assert_true(find_pre(out, "new"));
	assert_null(out->risk.v[0].violates); /* what it spoke of is gone */
}

static void a_tombstone_wins(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *base = gen_card(9), *a = kl_card_copy(base),
					      *b = kl_card_copy(base);
	KL_AUTO(kl_card_freep) struct kl_card *out = NULL;
	struct kl_rng r;

	kl_rng_seed(&r, 1);
	for (int i = 0; i < 5; i++)
		gen_trial(a, &r);
	kl_card_retract(b, "no", "A <a@b>", "2026-11-20T10:00:00Z");
	out = merged(base, a, b);
	assert_int_equal(out->status, KL_CARD_RETRACTED);
	assert_true(out->ver.n >= 5);
}

static void own_trials_stay_own(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *a = gen_card(21), *b = NULL, *out = NULL;
	struct kl_rng r;

	kl_rng_seed(&r, 4);
	while (!a->ver.n || a->ver.v[0].foreign || !a->ver.v[0].event) {
		gen_trial(a, &r);
		kl_card_normalize(a);
	}
	b = kl_card_copy(a);
	b->ver.v[0].foreign = true;
	out = merged(NULL, b, a);
	assert_int_equal(out->ver.n, a->ver.n);
	assert_false(out->ver.v[0].foreign);
}

static void risks_unite_their_events(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *a = kl_card_new(), *b = NULL, *out = NULL;
	struct kl_card_risk one = { .class_ = kl_strdup("fault"), .text = kl_strdup("t") };
	struct kl_card_risk two = { .class_ = kl_strdup("fault"), .text = kl_strdup("t") };

	a->id = kl_strdup("x-1234567");
	b = kl_card_copy(a);
	kl_strvec_push(&one.events,
		       "0000000000000000000000000000000000000000000000000000000000000002");
	kl_strvec_push(&two.events,
		       "0000000000000000000000000000000000000000000000000000000000000001");
	kl_card_add_risk(a, &one);
	kl_card_add_risk(b, &two);
	out = merged(NULL, a, b);
	assert_int_equal(out->risk.n, 1);
	assert_int_equal(out->risk.v[0].events.n, 2);
}

static void two_cards_do_not_merge(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *a = kl_card_new(), *b = kl_card_new();
	struct kl_card *out = NULL;

	a->id = kl_strdup("x");
	b->id = kl_strdup("y");
	assert_error(KL_EINVALID, "are two cards", kl_card_merge(&out, NULL, NULL, a, b));
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
