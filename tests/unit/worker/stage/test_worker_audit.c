/* SPDX-License-Identifier: Apache-2.0 */
/* Contracts good and bad: what kl_stage_audit must let through and what it must name. */
#include "worker_fixture.h"

static json_t *audit(struct fixture *fixture)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	json_t *result = json_object();

	assert_ok(kl_pool_open(&pool, &fixture->job));
	assert_ok(kl_stage_audit(result, &fixture->job, pool));
	return result;
}

static char *text_of(const json_t *result, const char *list)
{
	struct kl_buf buf = KL_BUF_INIT;

	kl_json_pretty(&buf, json_object_get(json_object_get(result, "audit"), list));
	return kl_buf_detach(&buf);
}

static void assert_sound(struct fixture *fixture)
{
	KL_AUTO(json_decrefp) json_t *record = audit(fixture);
	KL_AUTO(kl_freep) char *problems = text_of(record, "problems");

	if (!kl_json_bool_or(json_object_get(record, "audit"), "ok", false))
		fail_msg("%s", problems);
	assert_null(json_object_get(record, "status"));
}

static void assert_problem(struct fixture *fixture, const char *part)
{
	KL_AUTO(json_decrefp) json_t *record = audit(fixture);
	KL_AUTO(kl_freep) char *problems = text_of(record, "problems");

	assert_contains(problems, part);
	assert_false(kl_json_bool_or(json_object_get(record, "audit"), "ok", true));
	assert_string_equal(kl_json_str_or(record, "status", ""), "cannot");
	assert_contains(kl_json_str_or(record, "message", ""), "contract audit: ");
}

static void a_good_contract_passes(void **state)
{
	static const enum kl_rule_kind kinds[] = {
		KL_RULE_NOISE,
		KL_RULE_ELEMENTWISE,
		KL_RULE_REL_L2,
	};

	for (size_t i = 0; i < 3; i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();

		fixture->rule[0].kind = kinds[i];
		fixture->rule[0].ulps = 1;
		fixture->rule[0].acc = 32;
		fixture->rule[0].tol = 1e-5;
		assert_sound(fixture);
	}
}

static void loose_rules_are_named(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();

	fixture->rule[0].kind = KL_RULE_REL_L2;
	fixture->rule[0].tol = 1e-2;
	assert_problem(fixture, "rounded to tf32 at 'case0'");
	fixture->rule[0].tol = 1.5;
	assert_problem(fixture, "rule rel-l2 of 'C' passes an answer of zeros");
	assert_problem(fixture, "passes the mean of each row");
	/* beyond what the quotient of two normal numbers reaches: some points have one element */
	fixture->rule[0].tol = 1e9;
	assert_problem(fixture, "passes an answer of ones");
	assert_problem(fixture, "passes a copy of input 'A'");
	assert_problem(fixture, "passes the answer to another input");
	assert_problem(fixture, "input 'B' does not affect any output");
}

static void a_rule_tighter_than_honest_is_named(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();

	fixture->rule[0].kind = KL_RULE_EXACT;
	assert_problem(fixture,
		       "the oracle in float does not pass for 'C' at 'case0', band 'noise'");
}

/* Sums beyond 2^24: the band would refuse right kernels that add in another order. */
/*
 * All elements share one sum, so that a single execution passes by its own error, however strict
 * the rule is: many executions tell.
 */
static void a_rule_that_honest_fails_by_chance_is_named(void **state)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
		struct kl_point *point = fx_point(fixture, "case0", true);
		struct kl_rule *rule;

		fx_arg(fixture, "n", KL_ARG_DIM, KL_I64, NULL);
		fx_arg(fixture, "x", KL_ARG_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
		fx_arg(fixture, "y", KL_ARG_OUT, KL_F32, NULL);
		point->arg[0].value = 1024;
		fx_extent(point, 1, 1, 1024, 0);
		fx_extent(point, 2, 1, 1024, 0);
		rule = fx_rule(fixture, KL_RULE_NOISE, 2);
		fx_oracle(fixture,
			  "void oracle(int64_t n, const kl_real *x, kl_real *y)\n"
			  "{ kl_real sum = 0; for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];\n"
			  "  for (int64_t i = 0; i < n; i++) y[i] = x[i] / sum; }");
		fixture->job.seed = seed;
		assert_sound(fixture);
		rule->rms = 0.2;
		assert_problem(fixture, "judged by the other draws");
	}
}

static void exact_bands_that_are_not_are_named(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();

	json_array_append_new(
		fixture->job.exact,
		fx_json("{\"A\":{\"ints\":[3000,4001]},\"B\":{\"ints\":[3000,4001]}}"));
	assert_problem(fixture,
		       "the oracle in float does not pass for 'C' at 'case0', band 'exact1'");
}

/* Sums of 64 products of at most 2 each way never leave what a half counts. */
static void bands_that_stay_small_are_named(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();

	json_object_set_new(json_array_get(fixture->job.exact, 0), "must_exceed", json_real(2048));
	assert_problem(fixture, "no answer exceeds 2048 at 'case0', band 'exact0'");
	json_object_set_new(json_array_get(fixture->job.exact, 0), "A",
			    fx_json("{\"ints\":[0,20]}"));
	json_object_set_new(json_array_get(fixture->job.exact, 0), "B",
			    fx_json("{\"ints\":[0,20]}"));
	assert_sound(fixture);
}

static void unused_inputs_are_named(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();

	fx_oracle(
		fixture,
		"void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B, kl_real *C)"
		"{ for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { kl_real s = 0;"
		"for (int64_t k = 0; k < K; k++) s += A[i*K+k] * A[i*K+(k+j)%K]; C[i*N+j] = s; } }");
	assert_problem(fixture, "input 'B' does not affect any output");
}

static void an_output_without_rule_is_named(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();

	fixture->job.nrule = 0;
	assert_problem(fixture, "no rule judges output 'C'");
}

static void an_unstable_oracle_is_named(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();

	/* exp of sums: overflows in float, not in double, when inputs are scaled up */
	fx_oracle(
		fixture,
		"void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B, kl_real *C)"
		"{ for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { kl_real s = 1;"
		"for (int64_t k = 0; k < K; k++) { kl_real t = A[i*K+k]; s = (kl_real)(t * t * t * t * t * t * t * t);"
		"s = s * s * s; s = s / (s + 1) * B[k*N+j]; } C[i*N+j] = s + j; } }");
	json_array_clear(fixture->job.exact);
	assert_problem(fixture, "band 'scale-up'");
}

/* x * c, where the rule and the fills are integers: precision is not audited, and said so. */
static void integers_have_no_lower_format(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
	KL_AUTO(json_decrefp) json_t *record = NULL;
	KL_AUTO(kl_freep) char *notes = NULL, *problems = NULL;
	struct kl_point *point = fx_point(fixture, "case0", true);

	fx_arg(fixture, "n", KL_ARG_DIM, KL_I64, NULL);
	fx_arg(fixture, "x", KL_ARG_IN, KL_I32, "{\"ints\":[-1000,1000]}");
	fx_arg(fixture, "c", KL_ARG_IN, KL_I32, "{\"const\":3}");
	fx_arg(fixture, "y", KL_ARG_OUT, KL_I64, NULL);
	point->arg[0].value = 100;
	fx_extent(point, 1, 1, 100, 0);
	fx_extent(point, 2, 1, 1, 0);
	fx_extent(point, 3, 1, 100, 0);
	fx_rule(fixture, KL_RULE_EXACT, 3);
	fx_oracle(fixture, "void oracle(int64_t n, const int32_t *x, const int32_t *c, int64_t *y)"
			   "{ for (int64_t i = 0; i < n; i++) y[i] = (int64_t)x[i] * c[0] + 7; }");
	record = audit(fixture);
	notes = text_of(record, "notes");
	problems = text_of(record, "problems");
	assert_string_equal(problems, "[]\n");
	assert_contains(notes, "no float input at 'case0'");
	assert_contains(notes, "input 'c' has a constant integer fill");
}

/* The error that a lower format makes in one sum is small by chance in some draws, not in all. */
static void one_sum_is_audited_by_several_draws(void **state)
{
	static const char sum[] = "void oracle(int64_t n, const kl_real *x, kl_real *y)"
				  "{ y[0] = 0; for (int64_t i = 0; i < n; i++) y[0] += x[i]; }";
	KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
	struct kl_point *point = fx_point(fixture, "case0", true);

	fx_arg(fixture, "n", KL_ARG_DIM, KL_I64, NULL);
	fx_arg(fixture, "x", KL_ARG_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
	fx_arg(fixture, "y", KL_ARG_OUT, KL_F32, NULL);
	point->arg[0].value = 4096;
	fx_extent(point, 1, 1, 4096, 0);
	fx_extent(point, 2, 1, 1, 0);
	fx_rule(fixture, KL_RULE_ELEMENTWISE, 2);
	fixture->rule[0].ulps = 2;
	fixture->rule[0].acc = 8;
	fx_oracle(fixture, sum);
	for (fixture->job.seed = 1; fixture->job.seed <= 40; fixture->job.seed++)
		assert_sound(fixture);
	fixture->rule[0].acc = 4096;
	assert_problem(fixture, "rounded to tf32 at 'case0'");
}

/* Where the input comes back unchanged, that is a finding for inout and none for a copy. */
static void copies(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_vector(
		100, KL_RULE_EXACT,
		"void oracle(int64_t n, const kl_real *x, kl_real *y)"
		"{ for (int64_t i = 0; i < n; i++) y[i] = x[i]; }");

	assert_sound(fixture);
	/* y += 0: an untouched y is right */
	fixture->job.arg[2].kind = KL_ARG_INOUT;
	fixture->job.arg[2].fill = fx_json("{\"normal\":[0.0,1.0]}");
	fx_oracle(fixture,
		  "void oracle(int64_t n, const kl_real *x, kl_real *y) { y[0] += 0 * x[0]; }");
	assert_problem(fixture, "passes a copy of input 'y'");
}

/* In double there is no noise to compare with, but a norm. */
static void doubles_need_a_norm(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();

	for (int i = 3; i < 6; i++)
		fixture->job.arg[i].dtype = KL_F64;
	assert_problem(fixture, "rule noise cannot judge 'C'");
	fixture->rule[0].kind = KL_RULE_REL_L2;
	fixture->rule[0].tol = 1e-13;
	assert_sound(fixture);
	fixture->rule[0].tol = 1e-6;
	assert_problem(fixture, "rounded to f32 at 'case0'");
}

/* Selection: values are bits, so rounded inputs give another answer. */
static void selection_sees_fewer_bits(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
	struct kl_point *point = fx_point(fixture, "case0", true);
	struct kl_rule *rule;

	fx_arg(fixture, "n", KL_ARG_DIM, KL_I64, NULL);
	fx_arg(fixture, "x", KL_ARG_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
	fx_arg(fixture, "v", KL_ARG_OUT, KL_F32, NULL);
	fx_arg(fixture, "i", KL_ARG_OUT, KL_I32, NULL);
	point->arg[0].value = 64;
	fx_extent(point, 1, 2, 8, 64);
	fx_extent(point, 2, 2, 8, 1);
	fx_extent(point, 3, 2, 8, 1);
	rule = fx_rule(fixture, KL_RULE_MULTISET, 2);
	rule->indices = 3;
	rule->of = 1;
	fx_oracle(
		fixture,
		"void oracle(int64_t n, const kl_real *x, kl_real *v, int32_t *i)"
		"{ for (int r = 0; r < 8; r++) { int b = 0;"
		"for (int c = 1; c < n; c++) if (x[r*n+c] > x[r*n+b]) b = c; v[r] = x[r*n+b]; i[r] = b; } }");
	assert_sound(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_contract_passes),
		cmocka_unit_test(loose_rules_are_named),
		cmocka_unit_test(one_sum_is_audited_by_several_draws),
		cmocka_unit_test(a_rule_tighter_than_honest_is_named),
		cmocka_unit_test(a_rule_that_honest_fails_by_chance_is_named),
		cmocka_unit_test(exact_bands_that_are_not_are_named),
		cmocka_unit_test(bands_that_stay_small_are_named),
		cmocka_unit_test(unused_inputs_are_named),
		cmocka_unit_test(an_output_without_rule_is_named),
		cmocka_unit_test(an_unstable_oracle_is_named),
		cmocka_unit_test(integers_have_no_lower_format),
		cmocka_unit_test(copies),
		cmocka_unit_test(doubles_need_a_norm),
		cmocka_unit_test(selection_sees_fewer_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
