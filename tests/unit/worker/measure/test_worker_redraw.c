/* SPDX-License-Identifier: Apache-2.0 */
/* An answer that noise refuses by chance is drawn again; a kernel that is wrong stays refused. */
#include "worker_fixture.h"

#include "worker/compare/compare.h"
#include "worker/measure/redraw.h"
#include "worker/pool/drawn.h"
#include "worker/stage/first_call.h"

#define ERROR "0x1p-20f" /* of the honest reference, in relation to the truth */
/* The honest error of 1024 elements allows 2.19 times ERROR; this is 1.1 to 1.2 times that. */
#define BEYOND "2.5f * " ERROR

/* A kernel whose error is BEYOND where `when`, and none elsewhere. */
#define KERNEL(when)                                     \
	"void k(int64_t n, const float *x, float *y)\n"  \
	"{ float error = (" when ") ? " BEYOND " : 0;\n" \
	"  for (int64_t i = 0; i < n; i++) y[i] = x[i] + x[i] * error; }"

static struct fixture *scaling(uint64_t seed)
{
	struct fixture *fixture = fx_vector(
		1024, KL_RULE_NOISE,
		"void oracle(int64_t n, const kl_real *x, kl_real *y)\n"
		"{ kl_real error = sizeof(kl_real) == 4 ? " ERROR " : 0;\n"
		"  for (int64_t i = 0; i < n; i++) y[i] = x[i] + x[i] * error; }");

	fixture->job.seed = seed;
	return fixture;
}

static json_t *judged(struct fixture *fixture, struct kl_pool *pool, const char *name,
		      const char *body)
{
	json_t *result = json_object();

	fx_candidate(fixture, name, body);
	assert_ok(kl_stage_correct(result, &fixture->job, pool));
	return result;
}

static float first_of(const struct kl_member *member)
{
	return ((const float *)member->input[1])[0];
}

/* Return a kernel whose error is BEYOND for `n` inputs that begin with these numbers. */
static char *kernel_of(const float *number, size_t n)
{
	char *when = kl_strdup("0"), *body;

	for (size_t i = 0; i < n; i++) {
		char *longer = kl_asprintf("%s || x[0] == %af", when, (double)number[i]);

		free(when);
		when = longer;
	}
	body = kl_asprintf("void k(int64_t n, const float *x, float *y)\n"
			   "{ float error = (%s) ? 3.2f * " ERROR " : 0;\n"
			   "  for (int64_t i = 0; i < n; i++) y[i] = x[i] + x[i] * error; }",
			   when);
	free(when);
	return body;
}

/* Return the first note about fresh draws; "": none. */
static const char *note_of(const json_t *result)
{
	const json_t *note;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(result, "correct"), "notes"), i, note)
		if (strstr(json_string_value(note), "fresh draws"))
			return json_string_value(note);
	return "";
}

static void an_error_on_every_input_is_no_chance(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = scaling(3);
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(json_decrefp) json_t *result = NULL;

	assert_ok(kl_pool_open(&pool, &fixture->job));
	result = judged(fixture, pool, "always", KERNEL("1"));
	assert_string_equal(kl_json_str_or(result, "class", ""), "wrong-all");
	assert_contains(note_of(result), "not all correctly");
}

/* Four inputs and sixteen fresh draws, half of which it gets wrong. */
static void an_error_on_half_of_all_inputs_is_no_chance(void **state)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		KL_AUTO(fx_freep) struct fixture *fixture = scaling(seed);
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
		KL_AUTO(json_decrefp) json_t *result = NULL;
		const struct kl_member *member[3];
		bool met = false;

		assert_ok(kl_pool_open(&pool, &fixture->job));
		assert_int_equal(kl_pool_noise(pool, fixture->point, member, 3), 3);
		for (int i = 0; i < 3; i++)
			met = met || first_of(member[i]) > 0;
		result = judged(fixture, pool, "half", KERNEL("x[0] > 0"));
		assert_true(!met || !strcmp(kl_json_str_or(result, "class", ""), "wrong-all"));
	}
}

/* Return a seed under which just one noise draw begins with a number above 2.2. */
static uint64_t rare_seed(void)
{
	for (uint64_t seed = 1; seed < 200; seed++) {
		KL_AUTO(fx_freep) struct fixture *fixture = scaling(seed);
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
		const struct kl_member *member[3];
		int n = 0;

		assert_ok(kl_pool_open(&pool, &fixture->job));
		assert_int_equal(kl_pool_noise(pool, fixture->point, member, 3), 3);
		for (int i = 0; i < 3; i++)
			n += first_of(member[i]) > 2.2f;
		if (n == 1)
			return seed;
	}
	fail_msg("no seed has such a draw");
	return 0;
}

static void an_error_on_a_rare_input_is_drawn_again(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = scaling(rare_seed());
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(json_decrefp) json_t *first = NULL, *second = NULL;

	assert_ok(kl_pool_open(&pool, &fixture->job));
	first = judged(fixture, pool, "rare", KERNEL("x[0] > 2.2f"));
	second = judged(fixture, pool, "rare", KERNEL("x[0] > 2.2f"));
	assert_string_equal(kl_json_str_or(first, "class", ""), "");
	assert_contains(note_of(first), "the kernel answered all correctly");
	assert_string_equal(note_of(first), note_of(second)); /* a replay draws the same */
}

/* A second output z is wrong wherever y is, by twice what is allowed at most or by far. */
static void each_output_is_judged_before_a_redraw(void **state)
{
	uint64_t seed = rare_seed();

	for (int far = 1; far >= 0; far--) {
		KL_AUTO(fx_freep) struct fixture *fixture = scaling(seed);
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
		KL_AUTO(json_decrefp) json_t *result = NULL;
		KL_AUTO(kl_freep) char *body = kl_asprintf(
			"void k(int64_t n, const float *x, float *y, float *z)\n"
			"{ float error = x[0] > 2.2f ? " BEYOND " : 0;\n"
			"  for (int64_t i = 0; i < n; i++) {\n"
			"    y[i] = x[i] + x[i] * error;\n"
			"    z[i] = x[i] + x[i] * error * %s; } }",
			far ? "1000" : "1.4f");

		fx_arg(fixture, "z", KL_ARG_OUT, KL_F32, NULL);
		fx_extent(fixture->point, 3, 1, 1024, 0);
		fx_rule(fixture, KL_RULE_NOISE, 3);
		fx_oracle(fixture,
			  "void oracle(int64_t n, const kl_real *x, kl_real *y, kl_real *z)\n"
			  "{ kl_real error = sizeof(kl_real) == 4 ? " ERROR " : 0;\n"
			  "  for (int64_t i = 0; i < n; i++) y[i] = z[i] = x[i] + x[i] * error; }");
		assert_ok(kl_pool_open(&pool, &fixture->job));
		result = judged(fixture, pool, far ? "far" : "near", body);
		assert_string_equal(kl_json_str_or(result, "class", ""), far ? "wrong-all" : "");
		assert_int_equal(*note_of(result) == 0, far);
		/* the margin is that of z */
		assert_true(kl_json_int_or(json_object_get(result, "correct"), "margin_ppm", 0) >
			    1500000 - far * 500000);
	}
}

/* Let the worker draw points that are large enough for the error of kernel_of() to be refused. */
static void draw_points_too(struct fixture *fixture)
{
	KL_AUTO(json_decrefp)
	json_t *doc = fx_json("{\"domain\":{\"conditions\":[\"n >= 256\",\"n <= 2048\"],"
			      "\"shapes\":{\"x\":[\"n\"],\"y\":[\"n\"]}}}");

	fixture->job.ndim = 1;
	strcpy(fixture->job.dim_name[0], "n");
	fixture->point->dim[0] = fixture->point->arg[0].value;
	assert_ok(kl_job_parse_domain(&fixture->job, doc));
}

/* The first number of an input at a point that is drawn under the job's seed. */
static float first_drawn(const struct fixture *fixture, const struct kl_pool *pool)
{
	KL_AUTO(kl_drawn_release) struct kl_drawn drawn = { .job.npoint = 0 };
	KL_AUTO(kl_pool_freep) struct kl_pool *own = NULL;
	struct kl_key master, key;
	const struct kl_member *member;

	kl_key_master(&master, fixture->job.seed);
	key = kl_key_derive(&master, "points");
	assert_ok(kl_drawn_make(&drawn, &fixture->job, pool, &key));
	assert_ok(kl_pool_make_own(&own, &drawn.job, NULL));
	assert_int_equal(kl_pool_noise(own, &drawn.job.point[0], &member, 1), 1);
	return first_of(member);
}

/* Two draws at the listed point and one at a drawn point: the third is not drawn again. */
static void a_stage_has_two_redraws(void **state)
{
	for (size_t n = 2; n <= 3; n++) {
		KL_AUTO(fx_freep) struct fixture *fixture = scaling(5);
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
		KL_AUTO(json_decrefp) json_t *result = NULL;
		KL_AUTO(kl_freep) char *body = NULL;
		const struct kl_member *member[3];
		const json_t *notes;
		float number[3];

		draw_points_too(fixture);
		assert_ok(kl_pool_open(&pool, &fixture->job));
		assert_int_equal(kl_pool_noise(pool, fixture->point, member, 3), 3);
		/* not the first: its twin begins with the same number */
		number[0] = first_of(member[1]);
		number[1] = first_of(member[2]);
		number[2] = first_drawn(fixture, pool);
		body = kernel_of(number, n);
		result = judged(fixture, pool, "some", body);
		assert_string_equal(kl_json_str_or(result, "class", ""), n < 3 ? "" : "wrong-edge");
		notes = json_object_get(json_object_get(result, "correct"), "notes");
		assert_int_equal(json_array_size(notes), 2);
		assert_contains(json_string_value(json_array_get(notes, 0)), "fresh draws");
		assert_contains(json_string_value(json_array_get(notes, 1)), "fresh draws");
	}
}

/* The kernel is wrong at two inputs and at the first fresh draw of the second redraw. */
static void each_redraw_has_its_own_draws(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = scaling(5);
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(kl_pool_freep) struct kl_pool *again = NULL;
	KL_AUTO(json_decrefp) json_t *result = NULL;
	KL_AUTO(kl_freep) char *body = NULL;
	const struct kl_member *member[3];
	const json_t *notes;
	float number[3];

	assert_ok(kl_pool_open(&pool, &fixture->job));
	assert_int_equal(kl_pool_noise(pool, fixture->point, member, 3), 3);
	assert_ok(kl_pool_make_again(&again, &fixture->job, pool, member[1], KL_REDRAWS, 2));
	number[0] = first_of(member[1]);
	number[1] = first_of(member[2]);
	number[2] = first_of(kl_pool_get(again, 0));
	body = kernel_of(number, 3);
	result = judged(fixture, pool, "second", body);
	assert_string_equal(kl_json_str_or(result, "class", ""), "wrong-all");
	notes = json_object_get(json_object_get(result, "correct"), "notes");
	assert_int_equal(json_array_size(notes), 2);
	assert_contains(json_string_value(json_array_get(notes, 0)), "answered all correctly");
	assert_contains(json_string_value(json_array_get(notes, 1)), "not all correctly");
}

/* A failure is repeated without redraws, so that its replay has none for that call. */
static void a_replay_fails_without_a_redraw(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = scaling(6);
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(json_decrefp) json_t *result = NULL;
	KL_AUTO(kl_freep) char *body = NULL;
	const struct kl_member *member[3];
	struct kl_member of = { .point = fixture->point, .draw = 1, .band = "noise" };
	float number;

	fixture->job.seed = kl_first_call_seed(&fixture->job, &of, false);
	assert_ok(kl_pool_open(&pool, &fixture->job));
	assert_int_equal(kl_pool_noise(pool, fixture->point, member, 3), 3);
	number = first_of(member[1]);
	body = kernel_of(&number, 1);
	result = judged(fixture, pool, "named", body);
	assert_string_equal(kl_json_str_or(result, "class", ""), "wrong-all");
	assert_string_equal(note_of(result), "");
}

/* A kernel that is right for all inputs of the pool but one, and faults with any other. */
static void a_fault_at_a_fresh_draw_is_wrong(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = scaling(7);
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(json_decrefp) json_t *result = NULL;
	KL_AUTO(kl_freep) char *body = NULL;
	const struct kl_member *member[3];

	assert_ok(kl_pool_open(&pool, &fixture->job));
	assert_int_equal(kl_pool_noise(pool, fixture->point, member, 3), 3);
	body = kl_asprintf("void k(int64_t n, const float *x, float *y)\n"
			   "{ float error = x[0] == %af ? " BEYOND " : 0;\n"
			   "  if (!error && x[0] != %af && x[0] != %af && x[0] != %af)"
			   "    __builtin_trap();\n"
			   "  for (int64_t i = 0; i < n; i++) y[i] = x[i] + x[i] * error; }",
			   (double)first_of(member[2]), (double)first_of(member[0]),
			   (double)first_of(member[1]),
			   (double)first_of(kl_pool_twin(pool, fixture->point)));
	result = judged(fixture, pool, "faults", body);
	assert_string_equal(kl_json_str_or(result, "class", ""), "wrong-all");
	assert_contains(note_of(result), "not all correctly");
}

/* Return the first draw of a band at the fixture's point. */
static const struct kl_member *first_member(const struct fixture *fixture,
					    const struct kl_pool *pool, const char *band)
{
	struct kl_member of = { .point = fixture->point };
	size_t i;

	snprintf(of.band, sizeof(of.band), "%s", band);
	i = kl_pool_find(pool, &of);
	assert_true(i != KL_POOL_NONE);
	return kl_pool_get(pool, i);
}

/* The oracle fails for about half of all draws of the band `reversed`: too few are left. */
static void a_redraw_needs_every_draw(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = scaling(8);
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(json_decrefp) json_t *result = NULL;
	KL_AUTO(kl_freep) char *body = NULL;
	float number;

	fx_oracle(fixture, "void oracle(int64_t n, const kl_real *x, kl_real *y)\n"
			   "{ kl_real error = sizeof(kl_real) == 4 ? " ERROR " : 0;\n"
			   "  if (x[0] > (kl_real)3.3f && x[0] > x[1] && x[1] > x[2])\n"
			   "    __builtin_trap();\n"
			   "  for (int64_t i = 0; i < n; i++) y[i] = x[i] + x[i] * error; }");
	for (int i = 0; i < KL_VALUES; i++)
		fixture->job.values.undefined[i] = true;
	fixture->job.further = true;
	assert_ok(kl_pool_open(&pool, &fixture->job));
	number = first_of(first_member(fixture, pool, "reversed"));
	body = kernel_of(&number, 1);
	result = judged(fixture, pool, "reversed", body);
	assert_string_equal(kl_json_str_or(result, "class", ""), "wrong-all");
	assert_contains(note_of(result), "of 16 fresh draws could be made");
}

/* Without a fresh draw, the note tells what came of the call that was repeated. */
static void a_note_tells_of_the_repeated_call(void **state)
{
	static const char *const other[] = { "__builtin_trap();", "error = 0;" };
	static const char *const note[] = {
		"in a new process the kernel ",
		"in a new process the same input gave an output with other bits"
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(other); i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = scaling(9);
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
		KL_AUTO(json_decrefp) json_t *notes = json_array();
		KL_AUTO(kl_freep) char *body = NULL;
		struct kl_redraws redraws = { .tried = 0 };
		struct kl_redraw redraw = { .job = &fixture->job, .cpu = -1, .stage = &redraws };
		const struct kl_member *member;
		struct kl_mismatch mismatch;
		struct kl_trial trial = { .poison = 3 };
		float *got = kl_calloc(1024, sizeof(*got));
		const void *answer[KL_MAX_ARGS] = { [2] = got };

		assert_ok(kl_pool_open(&pool, &fixture->job));
		redraw.pool = pool;
		member = first_member(fixture, pool, "noise");
		trial.input = member->input;
		for (int k = 0; k < 1024; k++) {
			float x = ((const float *)member->input[1])[k];

			got[k] = x + x * (2.5f * 0x1p-20f); /* BEYOND */
		}
		body = kl_asprintf("void k(int64_t n, const float *x, float *y)\n"
				   "{ float error = 1; %s\n"
				   "  for (int64_t i = 0; i < n; i++) y[i] = x[i] + error; }",
				   other[i]);
		fx_candidate(fixture, "other", body);
		assert_int_equal(kl_compare(&mismatch, &fixture->job, member, answer), KL_ENO);
		assert_int_equal(kl_redraw(&redraw, member, &mismatch, &trial, answer), 0);
		kl_redraws_note(notes, &redraws);
		assert_int_equal(json_array_size(notes), 1);
		assert_contains(json_string_value(json_array_get(notes, 0)), note[i]);
		free(got);
	}
}

/* What is far beyond the limits, or depends on earlier calls, is not drawn again. */
static void other_failures_are_not_drawn_again(void **state)
{
	static const char *const bodies[] = {
		"void k(int64_t n, const float *x, float *y)\n"
		"{ for (int64_t i = 0; i < n; i++) y[i] = x[i] + x[i] * 5 * " ERROR "; }",
		"static int calls;\n"
		"void k(int64_t n, const float *x, float *y)\n"
		"{ float error = calls++ ? " BEYOND " : 0;\n"
		"  for (int64_t i = 0; i < n; i++) y[i] = x[i] + x[i] * error; }",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(bodies); i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = scaling(4);
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
		KL_AUTO(json_decrefp) json_t *result = NULL;

		assert_ok(kl_pool_open(&pool, &fixture->job));
		result = judged(fixture, pool, i ? "later" : "large", bodies[i]);
		assert_string_equal(kl_json_str_or(result, "class", ""),
				    i ? "nondeterministic" : "wrong-all");
		assert_string_equal(note_of(result), "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_on_every_input_is_no_chance),
		cmocka_unit_test(an_error_on_half_of_all_inputs_is_no_chance),
		cmocka_unit_test(an_error_on_a_rare_input_is_drawn_again),
		cmocka_unit_test(each_output_is_judged_before_a_redraw),
		cmocka_unit_test(a_stage_has_two_redraws),
		cmocka_unit_test(each_redraw_has_its_own_draws),
		cmocka_unit_test(a_replay_fails_without_a_redraw),
		cmocka_unit_test(a_fault_at_a_fresh_draw_is_wrong),
		cmocka_unit_test(a_redraw_needs_every_draw),
		cmocka_unit_test(a_note_tells_of_the_repeated_call),
		cmocka_unit_test(other_failures_are_not_drawn_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
