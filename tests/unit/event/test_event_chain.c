/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "event/chain.h"

static struct kl_comparison link_of(int64_t ratio, int64_t lo, int64_t hi)
{
	return (struct kl_comparison){ .ratio.ppm = ratio, .ratio.lo = lo, .ratio.hi = hi };
}

static void half_widths_add_in_quadrature(void **state)
{
	const struct kl_comparison there = link_of(1300000, 1280000, 1320000);
	const struct kl_comparison back = link_of(500000, 490000, 510000);
	struct kl_chain chain = { 0 };
	struct kl_comparison whole;

	assert_true(kl_chain_add(&chain, &there, 0));
	whole = kl_chain_ratio(&chain);
	assert_int_equal(whole.ratio.ppm, 1300000);
	assert_int_equal(whole.ratio.lo, 1280000);
	assert_int_equal(whole.ratio.hi, 1320000);
	assert_int_equal(whole.speed, KL_SPEED_FAST);
	assert_true(kl_chain_add(&chain, &back, 0));
	whole = kl_chain_ratio(&chain);
	assert_int_equal(whole.ratio.ppm, 650000);
	assert_in_range(whole.ratio.lo, 633000, 635000);
	assert_in_range(whole.ratio.hi, 665000, 667000);
	assert_int_equal(whole.speed, KL_SPEED_SLOW);
}

static void its_speed_is_the_gate_s(void **state)
{
	/* all below 1, and within 1 %: the gate calls that the same */
	const struct kl_comparison near = link_of(996000, 995000, 997000);
	const struct kl_comparison fast = link_of(1040000, 1035000, 1045000);
	struct kl_chain chain = { 0 };

	kl_chain_add(&chain, &near, 1000);
	assert_int_equal(kl_chain_ratio(&chain).speed, KL_SPEED_SAME);
	chain = (struct kl_chain){ 0 };
	kl_chain_add(&chain, &fast, 9000);
	assert_int_equal(kl_chain_ratio(&chain).speed, KL_SPEED_FAST);
	/* the noise of the second run hides what the first one showed */
	kl_chain_add(&chain, &near, 30000);
	assert_int_equal(kl_chain_ratio(&chain).speed, KL_SPEED_SAME);
	kl_chain_add(&chain, &near, 30000);
	assert_int_equal(kl_chain_ratio(&chain).speed, KL_SPEED_AMBIGUOUS);
}

static void what_has_no_interval_is_left_out(void **state)
{
	const struct kl_comparison none[] = {
		link_of(0, 1, 1),
		link_of(1, 0, 1),
		link_of(1, 1, 0),
		link_of(-1, 1, 1),
	};
	struct kl_chain chain = { 0 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(none); i++)
		assert_false(kl_chain_add(&chain, &none[i], 0));
	assert_int_equal(kl_chain_ratio(&chain).ratio.ppm, 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_widths_add_in_quadrature),
		cmocka_unit_test(its_speed_is_the_gate_s),
		cmocka_unit_test(what_has_no_interval_is_left_out),
	};

	return cmocka_run_group_tests_name("event/chain", tests, NULL, NULL);
}
