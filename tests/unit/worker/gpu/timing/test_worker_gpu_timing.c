/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile of surface cuda against a pretended driver: who is called, what is looked at, what
 * falls out and what fails. Times are those of a processor that does other things as well, so only
 * orders are asserted.
 */
#include "gpu_fixture.h"

#include "base/rng.h"

static json_t *profile(struct kl_job *job)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	json_t *result = json_object();

	job->profile_max_ms = 200;
	assert_ok(kl_pool_open(&pool, job));
	assert_ok(kl_stage_profile(result, job, pool));
	kl_json_canonical(&buf, result);
	print_message("%s\n", buf.ptr);
	return result;
}

static struct kl_job *job_of(struct gpu_fixture *fixture, const char *body)
{
	return gpu_job_of(fixture, body, NULL, "\"profile\"");
}

static const json_t *point(const json_t *result)
{
	return json_array_get(json_object_get(json_object_get(result, "profile"), "points"), 0);
}

static const char *notes(const json_t *result)
{
	static struct kl_buf buf;

	kl_buf_release(&buf);
	kl_json_canonical(&buf, json_object_get(json_object_get(result, "profile"), "notes"));
	return buf.ptr;
}

static const json_t *versus(const json_t *result, const char *what)
{
	const json_t *vs = json_object_get(point(result), "vs"), *value;
	size_t i;

	json_array_foreach(vs, i, value)
		if (!strcmp(kl_json_str_or(value, "what", ""), what))
			return value;
	return NULL;
}

/* y is s * x after `loops` detours of about as much work */
#define SLOW(loops) SCALE_KERNEL("for (volatile int w = 0; w < " loops "; w++) ;")

#define SLOW_KERNEL(more) SCALE_KERNEL("for (volatile int w = 0; w < 100000; w++) ;" more)

/* Adopts `so` as the parent, whose plan is the candidate's. */
static void add_parent(struct gpu_fixture *fixture, char *so)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	struct kl_job_names names;

	fixture->job->parent_path = so;
	assert_ok(kl_json_parse(&doc, SCALE_PLAN, strlen(SCALE_PLAN)));
	kl_job_names(&names, fixture->job);
	assert_ok(kl_plan_parse_json(&fixture->job->parent_plan, doc, &names.names));
}

static void a_slower_parent(void **state)
{
	struct kl_job *job = job_of(*state, SLOW("100000"));
	KL_AUTO(json_decrefp) json_t *record = NULL;
	const json_t *value;

	add_parent(*state, gpu_cubin(*state, "parent", "float", SLOW("400000")));
	record = profile(job);
	assert_null(json_object_get(record, "status"));
	value = versus(record, "parent");
	assert_non_null(value);
	assert_in_range(kl_json_int_or(value, "ratio_ppm", 0), 1500000, 9000000);
	assert_string_equal(kl_json_str_or(point(record), "by", ""), "event");
	assert_true(kl_json_int_or(point(record), "blocks", 0) >= 4);
	assert_true(kl_json_int_or(point(record), "sets", 0) > 3);
	assert_true(kl_json_int_or(point(record), "do_bench_ns", 0) > 0);
	assert_int_equal(kl_json_int_or(point(record), "mhz", 0), 1500);
}

/* What an event cannot time is timed by many calls, and both figures are there. */
/*
 * The pretended GPU computes on a processor that others use as well: what is brief may look long,
 * not always.
 */
static json_t *profile_brief(struct kl_job *job)
{
	json_t *record = profile(job);

	for (int turn = 0; turn < 4 && strcmp(kl_json_str_or(point(record), "by", ""), "batch");
	     turn++) {
		json_decref(record);
		record = profile(job);
	}
	return record;
}

static void brief_kernels_go_by_batches(void **state)
{
	struct kl_job *job = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *record = NULL;

	record = profile_brief(job);
	assert_null(json_object_get(record, "status"));
	assert_string_equal(kl_json_str_or(point(record), "by", ""), "batch");
	assert_true(kl_json_int_or(point(record), "ns", 0) > 0);
	assert_true(kl_json_int_or(point(record), "single_ns", 0) > 0);
}

/* A kernel that adds to zeros finds them in every timed call, alone and in batches. */
static void zeros_are_there_when_timed(void **state)
{
	static const char adds[] =
		"KERNEL(scale, 8, 8, 4, 4) { const float *x = PTR(0); float *y = PTR(1);\n"
		" for (int i = 0; i < I32(2); i++) y[i] += x[i] * F32(3); }\n";
	struct kl_job *job = job_of(*state, adds);
	KL_AUTO(json_decrefp) json_t *poisoned = profile(job), *zeroed = NULL;

	assert_string_equal(kl_json_str_or(poisoned, "status", ""), "fail");
	job = job_of(*state, adds);
	job->arg[2].zeros = true;
	zeroed = profile(job);
	assert_null(json_object_get(zeroed, "status"));
	assert_true(kl_json_int_or(point(zeroed), "ns", 0) > 0);
}

static void brief_ones_have_parents_too(void **state)
{
	struct kl_job *job = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *record = NULL;

	add_parent(*state, gpu_cubin(*state, "parent", "float", SLOW("30000")));
	record = profile_brief(job);
	assert_null(json_object_get(record, "status"));
	assert_true(kl_json_int_or(versus(record, "parent"), "ratio_ppm", 0) > 1500000);
	assert_true(kl_json_int_or(versus(record, "parent"), "single_ns", 0) > 0);
}

/* Every timed call is looked at: one that stops computing after a while is found out. */
static void a_lazy_kernel(void **state)
{
	struct kl_job *job = job_of(*state,
				    SCALE_KERNEL("static int calls; if (++calls > 40) return;"));
	KL_AUTO(json_decrefp) json_t *record = NULL;

	record = profile(job);
	assert_string_equal(kl_json_str_or(record, "status", ""), "fail");
	assert_contains(kl_json_str_or(record, "class", ""), "wrong");
	assert_contains(kl_json_str_or(record, "message", ""), "a timed call answered wrongly");
	assert_string_equal(
		kl_json_str_or(json_object_get(json_object_get(record, "correct"), "failure"),
			       "point", ""),
		"case0");
}

/* a bit of one element, every other time */
#define FICKLE                                                       \
	SCALE_KERNEL("static int calls; if (++calls % 2) {"          \
		     " for (int i = 0; i < n; i++) y[i] = x[i] * s;" \
		     " unsigned u; memcpy(&u, y, 4); u ^= 1; memcpy(y, &u, 4); return; }")

/* Right answers in two roundings, where the contract wants equal bits. */
static void a_fickle_kernel(void **state)
{
	struct kl_job *job = job_of(*state, FICKLE);
	KL_AUTO(json_decrefp) json_t *record = NULL;

	record = profile(job);
	assert_string_equal(kl_json_str_or(record, "class", ""), "nondeterministic");
}

static void a_fickle_kernel_where_it_may(void **state)
{
	struct kl_job *job = job_of(*state, FICKLE);
	KL_AUTO(json_decrefp) json_t *record = NULL;

	job->deterministic = false;
	record = profile(job);
	assert_null(json_object_get(record, "status"));
}

static void a_faulting_candidate(void **state)
{
	struct kl_job *job = job_of(
		*state, SCALE_KERNEL("static int calls; if (++calls > 30) *(int *)64 = 1;"));
	KL_AUTO(json_decrefp) json_t *record = NULL;

	record = profile(job);
	assert_string_equal(kl_json_str_or(record, "class", ""), "fault");
	assert_contains(kl_json_str_or(record, "message", ""), "CUDA_ERROR_ILLEGAL_ADDRESS");
}

/* A candidate that changes scratch which must stay zero. */
#define KEEPING                                                                                      \
	"KERNEL(scale, 8, 8, 4, 4, 8) { const float *x = PTR(0); float *y = PTR(1); int n = I32(2);" \
	" float s = F32(3); ((unsigned *)PTR(4))[3]++; for (int i = 0; i < n; i++) y[i] = x[i] * s; }\n"
#define KEEPING_PLAN                                                                      \
	"{\"klineage-launch\":1,\"compile\":{\"arch\":\"sm_90a\"},\"scratch\":{\"t\":"    \
	"{\"dtype\":\"u32\",\"shape\":[16],\"init\":\"carry\"}},\"launch\":[{\"kernel\":" \
	"\"scale\",\"grid\":[1],\"block\":[256],\"args\":[\"x\",\"y\",{\"i32\":\"n\"},\"s\",\"t\"]}]}"

static void a_candidate_that_keeps_scratch(void **state)
{
	struct kl_job *job = gpu_job_of(*state, KEEPING, KEEPING_PLAN, "\"profile\"");
	KL_AUTO(json_decrefp) json_t *record = profile(job);

	assert_string_equal(kl_json_str_or(record, "class", ""), "fault");
	assert_contains(kl_json_str_or(record, "message", ""), "the kernel left scratch 't'");
}

/* A parent that takes the GPU process with it is left out, the rest goes on in a new one. */
static void a_faulting_parent(void **state)
{
	struct kl_job *job = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *record = NULL;

	add_parent(*state,
		   gpu_cubin(*state, "parent", "float",
			     SCALE_KERNEL("static int calls; if (++calls > 30) *(int *)64 = 1;")));
	record = profile(job);
	assert_null(json_object_get(record, "status"));
	assert_null(versus(record, "parent"));
	assert_contains(notes(record), "parent is not compared");
	assert_true(kl_json_int_or(point(record), "ns", 0) > 0);
}

static void a_wrong_parent(void **state)
{
	struct kl_job *job = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *record = NULL;

	add_parent(*state, gpu_cubin(*state, "parent", "float", SCALE_KERNEL("s += 1;")));
	record = profile(job);
	assert_null(json_object_get(record, "status"));
	assert_contains(notes(record), "parent is not compared: error");
}

static void a_baseline_that_is_not_here(void **state)
{
	struct kl_job *job = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *record = NULL;

	job->baseline = kl_strdup("cublas.gemm");
	record = profile(job);
	assert_null(json_object_get(record, "status"));
	assert_contains(notes(record), "cublas.gemm is not compared: cublas.gemm: needs matrices");

	json_decref(record);
	free(job->baseline);
	job->baseline = kl_strdup("nobody.knows");
	record = profile(job);
	assert_contains(notes(record), "there is no baseline named 'nobody.knows'");
}

/* A baseline that is a plan of our own is a subject like any other. */
static void a_baseline_of_our_own(void **state)
{
	struct gpu_fixture *fixture = *state;
	struct kl_job *job = job_of(fixture, SLOW("100000"));
	KL_AUTO(json_decrefp) json_t *record = NULL;

	add_parent(fixture, gpu_cubin(fixture, "base", "float", SLOW("300000")));
	job->baseline = kl_strdup("ours.scale");
	job->baseline_path = kl_steal(&job->parent_path);
	job->baseline_plan = kl_steal(&job->parent_plan);
	record = profile(job);
	assert_non_null(versus(record, "ours.scale"));
	assert_true(kl_json_int_or(versus(record, "ours.scale"), "ratio_ppm", 0) > 1200000);
	assert_true(kl_json_int_or(versus(record, "ours.scale"), "do_bench_ns", 0) > 0);
}

static void below_the_floor(void **state)
{
	struct kl_job *job = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *record = NULL;

	job->point[0].floor_ns = 1000000000;
	record = profile(job);
	assert_string_equal(kl_json_str_or(record, "class", ""), "cheat");
	assert_contains(kl_json_str_or(record, "message", ""), "below the physical floor");
}

/* Appends a byte to the file "count" at each call. */
#define COUNTED(also)                                                                \
	"#include <fcntl.h>\n" SCALE_KERNEL(                                         \
		"{ int h = open(\"%s/count\", O_WRONLY | O_CREAT | O_APPEND, 0600);" \
		" write(h, \".\", 1); close(h); }" also)

static size_t calls_of(struct gpu_fixture *fixture, const char *kernel, json_t **result)
{
	KL_AUTO(kl_freep) char *body = kl_asprintf(kernel, fixture->dir),
			       *path = kl_fs_join(fixture->dir, "count");
	struct stat st;

	*result = profile(job_of(fixture, body));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(unlink(path), 0);
	print_message("%lld calls\n", (long long)st.st_size);
	return (size_t)st.st_size;
}

/* Of calls of 0.3 s about as many are made as the verdict needs; cheap ones are called often. */
static void dear_calls_are_few(void **state)
{
	KL_AUTO(json_decrefp) json_t *dear = NULL, *cheap = NULL;

	assert_in_range(calls_of(*state, COUNTED("usleep(300000);"), &dear), 12, 20);
	assert_null(json_object_get(dear, "status"));
	assert_true(kl_json_int_or(point(dear), "blocks", 0) >= 4);
	assert_in_range(kl_json_int_or(point(dear), "slope_ns", 0), 250000000, 1000000000);
	assert_in_range(kl_json_int_or(point(dear), "do_bench_ns", 0), 250000000, 1000000000);
	assert_true(calls_of(*state, COUNTED("usleep(2000);"), &cheap) > 60);
}

/* Counts calls in shared memory, which is overwritten before a visit but not between calls in a row. */
#define COUNT_SHARED                                                        \
	"unsigned *count = (unsigned *)l->shared + 900, *mark = count + 1;" \
	"if (*mark != 0xbeefcafe) { *mark = 0xbeefcafe; *count = 0; } int before = (*count)++;"

/* What only happens after many calls in a row is found where a time is taken from them. */
static void calls_in_a_row_are_judged(void **state)
{
	static const struct {
		const char *body, *class, *why;
	} tries[] = {
		{ SLOW_KERNEL(COUNT_SHARED "if (before > 80) return;"), "cheat", "earlier input" },
		{ SLOW_KERNEL(COUNT_SHARED "if (before > 80) n /= 2;"), "wrong-all",
		  "answered wrongly" },
		{ SLOW_KERNEL(COUNT_SHARED "if (before > 80) *(volatile int *)64 = 1;"), "fault",
		  "CUDA_ERROR_ILLEGAL_ADDRESS" },
		{ SLOW_KERNEL(COUNT_SHARED "if (before > 80) for (;;) pause();"), "hang",
		  "did not end in time" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(tries); i++) {
		KL_AUTO(json_decrefp) json_t *record = profile(job_of(*state, tries[i].body));

		if (strcmp(kl_json_str_or(record, "class", "pass"), tries[i].class) ||
		    !strstr(kl_json_str_or(record, "message", ""), tries[i].why))
			fail_msg("%zu: %s: %s", i, kl_json_str_or(record, "class", "pass"),
				 kl_json_str_or(record, "message", ""));
	}
}

/* It computes only where its output does not hold the answer yet: right, and far too fast. */
static void calls_that_are_too_short(void **state)
{
	struct kl_job *job = job_of(
		*state, SCALE_KERNEL("if (y[0] == x[0] * s && y[n - 1] == x[n - 1] * s) return;"
				     "for (volatile int w = 0; w < 400000; w++) ;"));
	KL_AUTO(json_decrefp) json_t *record = profile(job);

	assert_string_equal(kl_json_str_or(record, "class", ""), "cheat");
	assert_contains(kl_json_str_or(record, "message", ""), "do not do the same work");
}

/* An inout tensor is as it was before each call in a row, so that each answer can be judged. */
static void what_is_changed_is_put_back(void **state)
{
	struct kl_job *job = job_of(*state, SLOW("100000"));
	KL_AUTO(json_decrefp) json_t *record = NULL;

	job->arg[2].kind = KL_ARG_INOUT;
	job->arg[2].fill = json_incref(job->arg[1].fill);
	record = profile(job);
	assert_null(json_object_get(record, "status"));
	assert_true(kl_json_int_or(point(record), "do_bench_ns", 0) > 0);
}

#define ADD_ORACLE                                                                       \
	"KERNEL(oracle, 8, 8, 4, 4) { const kl_real *x = PTR(0); kl_real *y = PTR(1);\n" \
	"	for (int i = 0; i < I32(2); i++) y[i] += x[i] * F32(3); }\n"
#define ADD_KERNEL                                                                  \
	"KERNEL(scale, 8, 8, 4, 4) { const float *x = PTR(0); float *y = PTR(1);\n" \
	"	for (int i = 0; i < I32(2); i++) y[i] += x[i] * F32(3); }\n"

/* What a kernel adds to is the same before each call, those that only warm up included. */
static void what_is_added_to_is_put_back(void **state)
{
	struct kl_job *job = job_of(*state, ADD_KERNEL);
	KL_AUTO(kl_freep) char *truth = gpu_cubin(*state, "truth", "double", ADD_ORACLE);
	KL_AUTO(kl_freep) char *honest = gpu_cubin(*state, "honest", "float", ADD_ORACLE);
	KL_AUTO(json_decrefp) json_t *record = NULL;

	assert_string_equal(job->truth_path, truth);
	assert_string_equal(job->honest_path, honest);
	job->arg[2].kind = KL_ARG_INOUT;
	job->arg[2].fill = json_incref(job->arg[1].fill);
	record = profile(job);
	assert_null(json_object_get(record, "status"));
	assert_true(kl_json_int_or(point(record), "do_bench_ns", 0) > 0);
}

static void hot_as_well(void **state)
{
	struct kl_job *job = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *record = NULL;

	job->point[0].hot = true;
	record = profile(job);
	assert_null(json_object_get(record, "status"));
	assert_true(kl_json_int_or(point(record), "ns", 0) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_slower_parent, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(brief_kernels_go_by_batches, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(zeros_are_there_when_timed, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(brief_ones_have_parents_too, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_lazy_kernel, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_fickle_kernel, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_fickle_kernel_where_it_may, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_faulting_candidate, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_candidate_that_keeps_scratch, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_faulting_parent, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_wrong_parent, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_baseline_that_is_not_here, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_baseline_of_our_own, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(below_the_floor, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(dear_calls_are_few, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(calls_in_a_row_are_judged, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(calls_that_are_too_short, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(what_is_added_to_is_put_back, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(what_is_changed_is_put_back, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(hot_as_well, gpu_setup_test, gpu_teardown_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
