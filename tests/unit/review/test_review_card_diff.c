/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "card_gen.h"
#include "review/card_diff.h"
#include "text/json.h"

static char *text_of(const struct kl_card *c)
{
	struct kl_buf b = KL_BUF_INIT;

	kl_card_write(&b, c);
	return kl_buf_detach(&b);
}

static void a_card_is_as_it_is(void **state)
{
	for (uint64_t seed = 0; seed < 500; seed++) {
		KL_AUTO(kl_card_freep) struct kl_card *c = gen_card(seed);
		KL_AUTO(kl_findings_release) struct kl_findings f = { 0 };

		kl_card_diff(&f, c, c);
		if (f.n)
			fail_msg("card %d differs from itself: %s", (int)seed, f.v[0].text);
	}
}

/* One member of the card, at the top or one below, from another card. */
static void mix(json_t *into, const json_t *from, struct kl_rng *r)
{
	size_t n = 0, pick = kl_rng_below(r, json_object_size(into));
	const char *key;
	json_t *v, *other;

	json_object_foreach(into, key, v) {
		if (n++ != pick)
			continue;
		other = json_object_get(from, key);
		if (other && json_is_object(v) && json_is_object(other) && json_object_size(v))
			mix(v, other, r);
		else if (other)
			json_object_set_new(into, key, json_deep_copy(other));
		return;
	}
}

/* no change of what a card says is silent */
static void every_change_is_told(void **state)
{
	size_t changed = 0, same = 0;
	struct kl_rng r;

	kl_rng_seed(&r, 19);
	for (int i = 0; i < 6000; i++) {
		KL_AUTO(kl_card_freep) struct kl_card *a = gen_card(kl_rng_below(&r, 1000)),
						      *b = gen_card(kl_rng_below(&r, 1000));
		KL_AUTO(kl_card_freep) struct kl_card *mixed = NULL;
		KL_AUTO(json_decrefp) json_t *ja = kl_card_to_json(a), *jb = kl_card_to_json(b);
		KL_AUTO(kl_findings_release) struct kl_findings f = { 0 };
		KL_AUTO(kl_freep) char *x = NULL, *y = NULL;

		mix(ja, jb, &r);
		json_object_set_new(ja, "id", json_string(a->id));
		if (kl_card_from_json(&mixed, "mixed", ja) < 0)
			continue; /* a row without what it rests on, mostly */
		x = text_of(a);
		y = text_of(mixed);
		kl_card_diff(&f, a, mixed);
		if (!strcmp(x, y)) {
			same++;
			assert_int_equal(f.n, 0);
			continue;
		}
		changed++;
		if (!f.n)
			fail_msg("silent:\n%s\n--- and ---\n%s", x, y);
	}
	assert_true(changed > 1000 && same > 10);
}

static void added_and_turned_round(void **state)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		KL_AUTO(kl_card_freep) struct kl_card *a = gen_card(seed),
						      *b = gen_card(seed + 1000);
		KL_AUTO(kl_findings_release) struct kl_findings f = { 0 };

		kl_card_diff(&f, NULL, a);
		assert_true(f.n > 0);
		kl_card_diff(&f, a, b);
		kl_card_diff(&f, b, a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_card_is_as_it_is),
		cmocka_unit_test(every_change_is_told),
		cmocka_unit_test(added_and_turned_round),
	};

	return cmocka_run_group_tests_name("skill_diff", tests, NULL, NULL);
}
