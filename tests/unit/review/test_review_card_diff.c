/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "card_gen.h"
#include "review/card_diff.h"
#include "text/json.h"

static char *text_of(const struct kl_card *card)
{
	struct kl_buf buf = KL_BUF_INIT;

	kl_card_write(&buf, card);
	return kl_buf_detach(&buf);
}

static void a_card_is_as_it_is(void **state)
{
	for (uint64_t seed = 0; seed < 500; seed++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = gen_card(seed);
		KL_AUTO(kl_findings_release) struct kl_findings findings = { 0 };

		kl_card_diff(&findings, card, card);
		if (findings.n)
			fail_msg("card %d differs from itself: %s", (int)seed, findings.v[0].text);
	}
}

/* One member of the card, at the top or one below, from another card. */
static void mix(json_t *into, const json_t *from, struct kl_rng *rng)
{
	size_t n = 0, pick = kl_rng_below(rng, json_object_size(into));
	const char *key;
	json_t *value, *other;

	json_object_foreach(into, key, value) {
		if (n++ != pick)
			continue;
		other = json_object_get(from, key);
		if (other && json_is_object(value) && json_is_object(other) &&
		    json_object_size(value))
			mix(value, other, rng);
		else if (other)
			json_object_set_new(into, key, json_deep_copy(other));
		return;
	}
}

/* every change of a card's content is reported */
static void every_change_is_told(void **state)
{
	size_t changed = 0, same = 0;
	struct kl_rng rng;

	kl_rng_seed(&rng, 19);
	for (int i = 0; i < 6000; i++) {
		KL_AUTO(kl_card_freep) struct kl_card *left = gen_card(kl_rng_below(&rng, 1000)),
						      *right = gen_card(kl_rng_below(&rng, 1000));
		KL_AUTO(kl_card_freep) struct kl_card *mixed = NULL;
		KL_AUTO(json_decrefp) json_t *ja = kl_card_to_json(left),
					     *jb = kl_card_to_json(right);
		KL_AUTO(kl_findings_release) struct kl_findings findings = { 0 };
		KL_AUTO(kl_freep) char *string = NULL, *text = NULL;

		mix(ja, jb, &rng);
		json_object_set_new(ja, "id", json_string(left->id));
		if (kl_card_from_json(&mixed, "mixed", ja) < 0)
			continue; /* usually a row without its evidence */
		string = text_of(left);
		text = text_of(mixed);
		kl_card_diff(&findings, left, mixed);
		if (!strcmp(string, text)) {
			same++;
			assert_int_equal(findings.n, 0);
			continue;
		}
		changed++;
		if (!findings.n)
			fail_msg("silent:\n%s\n--- and ---\n%s", string, text);
	}
	assert_true(changed > 1000 && same > 10);
}

static void added_and_turned_round(void **state)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		KL_AUTO(kl_card_freep) struct kl_card *left = gen_card(seed),
						      *right = gen_card(seed + 1000);
		KL_AUTO(kl_findings_release) struct kl_findings findings = { 0 };

		kl_card_diff(&findings, NULL, left);
		assert_true(findings.n > 0);
		kl_card_diff(&findings, left, right);
		kl_card_diff(&findings, right, left);
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
