/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "learn/credit.h"
#include "test.h"

/* Add a trial on a workload; a ratio of 0: the arm made no edit, or none was asked for if < 0. */
static void add(struct kl_credit *credit, const char *workload, int64_t card, int64_t intent,
		int64_t wrong, bool isolated)
{
	KL_AUTO(kl_card_freep) struct kl_card *one = kl_card_new();
	struct kl_card_trial trial;
	static int n;

	kl_card_trial_init(&trial);
	trial.trial = 1;
	trial.workload = kl_strdup(workload);
	trial.case_ = kl_strdup("gemm");
	trial.dtype = kl_strdup("f32");
	trial.language = kl_strdup("c");
	trial.platform = kl_strdup("cpu/x86-64-v3");
	trial.state = kl_asprintf("%040d", ++n);
	trial.event = kl_asprintf("%064d", n);
	trial.how = KL_HOW_AGENT;
	trial.isolated = isolated;
	trial.result = card ? KL_RESULT_PASS : KL_RESULT_FAIL;
	trial.class_ = card ? NULL : kl_strdup("no-edit");
	trial.ratio.ppm = card;
	trial.control = (struct kl_card_control){
		.there = intent >= 0,
		.result = intent > 0 ? KL_RESULT_PASS : KL_RESULT_FAIL,
		.class_ = intent > 0 ? NULL : kl_strdup("no-edit"),
		.ratio.ppm = intent > 0 ? intent : 0,
	};
	trial.wrong = (struct kl_card_control){
		.there = wrong >= 0,
		.result = KL_RESULT_FAIL,
		.class_ = kl_strdup("not-there"), /* right and fast, but of another kind */
		.ratio.ppm = wrong > 0 ? wrong : 0,
	};
	kl_card_add_trial(one, &trial);
	kl_credit_add(credit, one);
}

static void gains_are_of_edits_that_somebody_takes(void **state)
{
	static const struct kl_ratio twice = { 2000000, 1900000, 2100000 };
	static const struct kl_ratio half = { 500000, 400000, 600000 };

	assert_true(fabs(kl_credit_gain(KL_RESULT_PASS, NULL, &twice) - log(2)) < 1e-9);
	assert_true(kl_credit_gain(KL_RESULT_FAIL, "not-there", &twice) > 0.6);
	assert_true(kl_credit_gain(KL_RESULT_FAIL, "not-faster", &half) == 0);
	assert_true(kl_credit_gain(KL_RESULT_FAIL, "wrong-edge", &twice) == 0);
	assert_true(kl_credit_gain(KL_RESULT_FAIL, "no-change", &twice) == 0);
	assert_true(kl_credit_gain(KL_RESULT_FAIL, NULL, &twice) == 0);
}

static void one_workload_has_no_interval(void **state)
{
	KL_AUTO(kl_credit_release) struct kl_credit credit = { 0 };

	for (int i = 0; i < 20; i++)
		add(&credit, "a", 2000000, 1000000, -1, true);
	kl_credit_compute(&credit);
	assert_int_equal(credit.sum[KL_CREDIT_INTENT].units, 20);
	assert_int_equal(credit.sum[KL_CREDIT_INTENT].workloads, 1);
	assert_true(fabs(credit.sum[KL_CREDIT_INTENT].mean - log(2)) < 1e-9);
	assert_true(isnan(credit.sum[KL_CREDIT_INTENT].lo));
	assert_int_equal(credit.sum[KL_CREDIT_BARE].units, 0);
	assert_true(isnan(credit.sum[KL_CREDIT_BARE].mean));
}

static void the_interval_is_over_workloads(void **state)
{
	KL_AUTO(kl_credit_release) struct kl_credit credit = { 0 };
	KL_AUTO(kl_credit_release) struct kl_credit again = { 0 };

	/* on one workload the card helps ten times, on the others it does harm once each */
	for (int i = 0; i < 10; i++) {
		add(&credit, "a", 2000000, 1000000, -1, true);
		add(&again, "a", 2000000, 1000000, -1, true);
	}
	for (int i = 0; i < 3; i++) {
		const char *const names[] = { "b", "c", "d" };

		add(&credit, names[i], 0, 2000000, -1, true);
		add(&again, names[i], 0, 2000000, -1, true);
	}
	kl_credit_compute(&credit);
	kl_credit_compute(&again);
	assert_int_equal(credit.sum[0].won, 10);
	assert_int_equal(credit.sum[0].lost, 3);
	/* a sample without the workload "a" is all harm: 10 trials there are not 10 witnesses */
	assert_true(credit.sum[0].mean > 0 && credit.sum[0].lo < 0 && credit.sum[0].hi > 0);
	assert_true(credit.sum[0].lo == again.sum[0].lo && credit.sum[0].hi == again.sum[0].hi);
}

static void a_wrong_card_can_win(void **state)
{
	KL_AUTO(kl_credit_release) struct kl_credit credit = { 0 };

	add(&credit, "a", 1500000, -1, 3000000, true);
	add(&credit, "b", 1500000, -1, 2500000, true);
	add(&credit, "c", 1500000, -1, 2000000, true);
	add(&credit, "d", 9000000, 1000000, 1000000, false); /* it could look the answer up */
	kl_credit_compute(&credit);
	assert_int_equal(credit.seen, 1);
	assert_int_equal(credit.sum[KL_CREDIT_INTENT].units, 0);
	assert_int_equal(credit.sum[KL_CREDIT_WRONG].units, 3);
	assert_true(credit.sum[KL_CREDIT_WRONG].hi < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gains_are_of_edits_that_somebody_takes),
		cmocka_unit_test(one_workload_has_no_interval),
		cmocka_unit_test(the_interval_is_over_workloads),
		cmocka_unit_test(a_wrong_card_can_win),
	};

	return cmocka_run_group_tests_name("learn_credit", tests, NULL, NULL);
}
