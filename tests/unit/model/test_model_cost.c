/* SPDX-License-Identifier: Apache-2.0 */
/* What an attempt cost: the counts that are believed, and the bounds of a reply that broke off. */
#include "test.h"

#include "model/cost.h"
#include "model/provider/usage.h"

#define BYTES 8000 /* of the request */
#define RESERVED 99999999
static const struct kl_price price = {
	.rates = { .input = 3000000,
		   .output = 15000000,
		   .cache_read = 300000,
		   .cache_write_5m = 3750000,
		   .cache_write_1h = 6000000 },
};

static struct kl_cost_of of_request(bool blind)
{
	return (struct kl_cost_of){
		.price = &price,
		.request_bytes = BYTES,
		.max_tokens = 1000,
		.reserved = RESERVED,
		.blind = blind,
	};
}

static void only_possible_counts_are_believed(void **state)
{
	/* clang-format off */
	static const struct { struct kl_usage u; bool ok, unbound; const char *what; } is[] = {
		{ { true, 2000, 100, 0, 0, 0 }, true, true, "plain" },
		{ { true, 0, 100, 2000, 0, 0 }, true, true, "all from a cache" },
		{ { true, 1, 1, 0, 0, 0 }, true, true, "next to nothing" },
		{ { true, BYTES, 1000, 1024, 0, 0 }, true, true, "all that can be" },
		{ { true, BYTES, 1016, 1024, 0, 0 }, true, true, "with an end mark" },
		{ { true, BYTES, 1000, 1025, 0, 0 }, false, true, "more than was sent" },
		{ { true, 2000, 1017, 0, 0, 0 }, false, true, "more than was allowed" },
		{ { true, 0, 0, 0, 0, 0 }, false, false, "nothing at all" },
		{ { true, 0, 100, 0, 0, 0 }, false, false, "no prompt" },
		{ { true, 2000, 0, 0, 0, 0 }, false, false, "no reply, but text" },
		{ { true, -1, 100, 2001, 0, 0 }, false, false, "negative" },
		{ { true, 2000, 100, 0, 0, -1 }, false, false, "negative write" },
		{ { true, 1000000000, 100, 0, 0, 0 }, false, true, "absurd" },
		{ { true, INT64_MAX, 100, INT64_MAX, 0, 0 }, false, false, "overflow" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++)
		for (int blind = 0; blind < 2; blind++) {
			struct kl_cost_of of = of_request(blind);
			bool ok = blind ? is[i].ok : is[i].unbound;
			struct kl_reply reply = { .usage = is[i].u };
			int64_t nano = -1;

			if (kl_cost_of_reply(&nano, &of, &reply) !=
			    (ok ? KL_COST_COUNTED : KL_COST_IMPLAUSIBLE))
				fail_msg("%s, blind %d", is[i].what, blind);
			assert_int_equal(nano, ok ? kl_rates_cost(&price.rates, &is[i].u, 1000) :
						    RESERVED);
			assert_int_equal(reply.usage.known, ok);
		}
}

/* A reply without text may have no tokens; a reply without a report costs the reserved amount. */
static void no_text_needs_no_tokens(void **state)
{
	struct kl_cost_of of = of_request(true);
	struct kl_reply reply = { .flaw = KL_FLAW_REFUSAL, .usage = { true, 2000, 0, 0, 0, 0 } };
	int64_t nano;

	assert_int_equal(kl_cost_of_reply(&nano, &of, &reply), KL_COST_COUNTED);
	assert_int_equal(nano, 2000 * 3000);
	reply.usage = (struct kl_usage){ 0 };
	assert_int_equal(kl_cost_of_reply(&nano, &of, &reply), KL_COST_RESERVED);
	assert_int_equal(nano, RESERVED);
}

/* A cost above the reservation is not believed, unless a command may have asked more than once. */
static void nothing_costs_more_than_was_reserved(void **state)
{
	struct kl_cost_of of = of_request(true);
	struct kl_reply reply = { .usage = { true, 2000, 100, 0, 0, 0 } };
	int64_t nano;

	of.reserved = 2000 * 3000 + 100 * 15000 - 1;
	assert_int_equal(kl_cost_of_reply(&nano, &of, &reply), KL_COST_IMPLAUSIBLE);
	assert_int_equal(nano, of.reserved);
	reply.usage = (struct kl_usage){ true, 2000, 100, 0, 0, 0 };
	of.blind = false;
	assert_int_equal(kl_cost_of_reply(&nano, &of, &reply), KL_COST_COUNTED);
	assert_int_equal(nano, of.reserved + 1);
}

/* The price is multiplied by the factor of the tier; a cost that the provider states counts. */
static void tiers_and_stated_costs_count(void **state)
{
	struct kl_cost_of of = of_request(true);
	const struct kl_usage usage = { true, 2000, 101, 0, 0, 0 };
	const int64_t list = 2000 * 3000 + 101 * 15000;
	/* clang-format off */
	static const struct { int64_t permille, stated, nano; } is[] = {
		{ 0, -1, 7515000 }, { 1000, 0, 7515000 }, { 500, -1, 3757500 }, { 1100, -1, 8266500 }, { 2000, -1, 15030000 },
		{ 1000, 7514999, 7515000 }, { 1000, 7600000, 7600000 }, { 500, 4000000, 4000000 },
		{ 1000, RESERVED, RESERVED }, { 333, -1, 2502495 },
	};
	/* clang-format on */
	int64_t nano;

	assert_int_equal(list, is[0].nano);
	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		struct kl_reply reply = { .usage = usage,
					  .permille = is[i].permille,
					  .stated_nano = is[i].stated };

		assert_int_equal(kl_cost_of_reply(&nano, &of, &reply), KL_COST_COUNTED);
		assert_int_equal(nano, is[i].nano);
	}
	/* more than was reserved is not believed */
	struct kl_reply dear = { .usage = usage, .stated_nano = RESERVED + 1 };
	assert_int_equal(kl_cost_of_reply(&nano, &of, &dear), KL_COST_IMPLAUSIBLE);
	assert_int_equal(nano, RESERVED);
}

/* Without a price only counts that cannot be stored are dropped. */
static void an_unmetered_reply_costs_nothing(void **state)
{
	struct kl_cost_of of = of_request(true);
	struct kl_reply none = { .usage = { true, 0, 0, 0, 0, 0 } };
	struct kl_reply many = { .usage = { true, KL_USAGE_MAX + 1, 0, 0, 0, 0 } };
	int64_t nano;

	of.price = NULL;
	of.reserved = 0;
	assert_int_equal(kl_cost_of_reply(&nano, &of, &none), KL_COST_COUNTED);
	assert_int_equal(nano, 0);
	assert_int_equal(kl_cost_of_reply(&nano, &of, &many), KL_COST_IMPLAUSIBLE);
	assert_int_equal(nano, 0);
	assert_false(many.usage.known);
}

static void a_broken_reply_is_bounded_by_what_came(void **state)
{
	struct kl_cost_of of = of_request(true);
	struct kl_reply told = { .usage = { false, 1500, 1, 500, 0, 0 },
				 .failure = { .begun = true, .bytes = 200, .wait_ms = 100 } };
	struct kl_reply silent = { .failure = { .begun = true, .bytes = 200, .wait_ms = 100 } };
	int64_t nano, output = 200 + 50 + 256;

	/* the prompt as it was reported */
	assert_int_equal(kl_cost_of_failure(&nano, &of, &told), KL_COST_ESTIMATED);
	assert_int_equal(nano, 1500 * 3000 + 500 * 300 + output * 15000);
	assert_true(told.usage.known);
	assert_int_equal(told.usage.output, output);
	/* the prompt as it was reserved: at the dearest rate without a long cache */
	of.reserved = INT64_MAX;
	assert_int_equal(kl_cost_of_failure(&nano, &of, &silent), KL_COST_ESTIMATED);
	assert_int_equal(nano, (BYTES + 1024) * 3750 + output * 15000);
	assert_false(silent.usage.known);
	/* never more than was reserved, nor more tokens than were allowed */
	silent.failure.wait_ms = 3600000;
	assert_int_equal(kl_cost_of_failure(&nano, &of, &silent), KL_COST_ESTIMATED);
	assert_int_equal(nano, (BYTES + 1024) * 3750 + INT64_C(1000) * 15000);
	of.reserved = 77;
	assert_int_equal(kl_cost_of_failure(&nano, &of, &silent), KL_COST_ESTIMATED);
	assert_int_equal(nano, 77);
	/* counts that are not possible are not taken for a bound either */
	told = (struct kl_reply){ .usage = { false, 1000000, 1, 0, 0, 0 },
				  .failure = { .begun = true } };
	of.reserved = RESERVED;
	assert_int_equal(kl_cost_of_failure(&nano, &of, &told), KL_COST_ESTIMATED);
	assert_false(told.usage.known);
}

static void what_is_not_known_stays_open_and_what_was_free_is_free(void **state)
{
	struct kl_cost_of of = of_request(true);
	struct kl_reply closed = { .usage = { false, 0, 0, 0, 0, 0 } };
	struct kl_reply free_ = { .usage = { .known = true } };
	struct kl_reply whole = { .usage = { true, 2000, 100, 0, 0, 0 } };
	int64_t nano;

	assert_int_equal(kl_cost_of_failure(&nano, &of, &closed), KL_COST_OPEN);
	assert_int_equal(kl_cost_of_failure(&nano, &of, &free_), KL_COST_COUNTED);
	assert_int_equal(nano, 0);
	assert_int_equal(kl_cost_of_failure(&nano, &of, &whole), KL_COST_COUNTED);
	assert_int_equal(nano, 2000 * 3000 + 100 * 15000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_possible_counts_are_believed),
		cmocka_unit_test(no_text_needs_no_tokens),
		cmocka_unit_test(nothing_costs_more_than_was_reserved),
		cmocka_unit_test(tiers_and_stated_costs_count),
		cmocka_unit_test(an_unmetered_reply_costs_nothing),
		cmocka_unit_test(a_broken_reply_is_bounded_by_what_came),
		cmocka_unit_test(what_is_not_known_stays_open_and_what_was_free_is_free),
	};

	return cmocka_run_group_tests_name("model/cost", tests, NULL, NULL);
}
