/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile of surface cuda against a pretended driver: who is called, what is looked at, what
 * falls out and what fails. Times are those of a processor that does other things as well, so only
 * orders are asserted.
 */
#include "gpu_fixture.h"

#include "base/rng.h"

static json_t *profile(struct kl_job *j)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	json_t *result = json_object();

	j->profile_max_ms = 200;
	assert_ok(kl_pool_open(&pool, j));
	assert_ok(kl_stage_profile(result, j, pool));
	kl_json_canonical(&b, result);
	print_message("%s\n", b.ptr);
	return result;
}

static struct kl_job *job_of(struct gpu_fixture *f, const char *body)
{
	return gpu_job_of(f, body, NULL, "\"profile\"");
}

static const json_t *point(const json_t *result)
{
	return json_array_get(json_object_get(json_object_get(result, "profile"), "points"), 0);
}

static const char *notes(const json_t *result)
{
	static struct kl_buf b;

	kl_buf_release(&b);
	kl_json_canonical(&b, json_object_get(json_object_get(result, "profile"), "notes"));
	return b.ptr;
}

static const json_t *versus(const json_t *result, const char *what)
{
	const json_t *vs = json_object_get(point(result), "vs"), *v;
	size_t i;

	json_array_foreach(vs, i, v)
		if (!strcmp(kl_json_str_or(v, "what", ""), what))
			return v;
	return NULL;
}

/* y is s * x after `loops` detours of about as much work */
#define SLOW(loops) SCALE_KERNEL("for (volatile int w = 0; w < " loops "; w++) ;")

/* Adopts `so` as the parent, whose plan is the candidate's. */
static void add_parent(struct gpu_fixture *f, char *so)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	struct kl_job_names names;

	f->job->parent_so = so;
	assert_ok(kl_json_parse(&doc, SCALE_PLAN, strlen(SCALE_PLAN)));
	kl_job_names(&names, f->job);
	assert_ok(kl_plan_parse(&f->job->parent_plan, doc, &names.names, NULL));
}

static void a_slower_parent(void **state)
{
	struct kl_job *j = job_of(*state, SLOW("100000"));
	KL_AUTO(json_decrefp) json_t *r = NULL;
	const json_t *v;

	add_parent(*state, gpu_cubin(*state, "parent", "float", SLOW("400000")));
	r = profile(j);
	assert_null(json_object_get(r, "status"));
	v = versus(r, "parent");
	assert_non_null(v);
	assert_in_range(kl_json_int_or(v, "ratio_ppm", 0), 1500000, 9000000);
	assert_string_equal(kl_json_str_or(point(r), "by", ""), "event");
	assert_true(kl_json_int_or(point(r), "blocks", 0) >= 4);
	assert_true(kl_json_int_or(point(r), "sets", 0) > 3);
	assert_true(kl_json_int_or(point(r), "do_bench_ns", 0) > 0);
	assert_int_equal(kl_json_int_or(point(r), "mhz", 0), 1500);
}

/* What an event cannot time is timed by many calls, and both figures are there. */
/*
 * The pretended GPU computes on a processor that others use as well: what is brief may look long,
 * not always.
 */
static json_t *profile_brief(struct kl_job *j)
{
	json_t *r = profile(j);

	for (int turn = 0; turn < 4 && strcmp(kl_json_str_or(point(r), "by", ""), "batch");
	     turn++) {
		json_decref(r);
		r = profile(j);
	}
	return r;
}

static void brief_kernels_go_by_batches(void **state)
{
	struct kl_job *j = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *r = NULL;

	r = profile_brief(j);
	assert_null(json_object_get(r, "status"));
	assert_string_equal(kl_json_str_or(point(r), "by", ""), "batch");
	assert_true(kl_json_int_or(point(r), "ns", 0) > 0);
	assert_true(kl_json_int_or(point(r), "single_ns", 0) > 0);
}

static void brief_ones_have_parents_too(void **state)
{
	struct kl_job *j = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *r = NULL;

	add_parent(*state, gpu_cubin(*state, "parent", "float", SLOW("30000")));
	r = profile_brief(j);
	assert_null(json_object_get(r, "status"));
	assert_true(kl_json_int_or(versus(r, "parent"), "ratio_ppm", 0) > 1500000);
	assert_true(kl_json_int_or(versus(r, "parent"), "single_ns", 0) > 0);
}

/* Every timed call is looked at: one that stops computing after a while is found out. */
static void a_lazy_kernel(void **state)
{
	struct kl_job *j = job_of(*state,
				  SCALE_KERNEL("static int calls; if (++calls > 40) return;"));
	KL_AUTO(json_decrefp) json_t *r = NULL;

	r = profile(j);
	assert_string_equal(kl_json_str_or(r, "status", ""), "fail");
	assert_contains(kl_json_str_or(r, "class", ""), "wrong");
	assert_contains(kl_json_str_or(r, "message", ""), "a timed call answered wrongly");
	assert_string_equal(
		kl_json_str_or(json_object_get(json_object_get(r, "correct"), "failure"), "point",
			       ""),
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
	struct kl_job *j = job_of(*state, FICKLE);
	KL_AUTO(json_decrefp) json_t *r = NULL;

	r = profile(j);
	assert_string_equal(kl_json_str_or(r, "class", ""), "nondeterministic");
}

static void a_fickle_kernel_where_it_may(void **state)
{
	struct kl_job *j = job_of(*state, FICKLE);
	KL_AUTO(json_decrefp) json_t *r = NULL;

	j->deterministic = false;
	r = profile(j);
	assert_null(json_object_get(r, "status"));
}

static void a_faulting_candidate(void **state)
{
	struct kl_job *j = job_of(
		*state, SCALE_KERNEL("static int calls; if (++calls > 30) *(int *)64 = 1;"));
	KL_AUTO(json_decrefp) json_t *r = NULL;

	r = profile(j);
	assert_string_equal(kl_json_str_or(r, "class", ""), "fault");
	assert_contains(kl_json_str_or(r, "message", ""), "CUDA_ERROR_ILLEGAL_ADDRESS");
}

/* A parent that takes the GPU process with it is left out, the rest goes on in a new one. */
static void a_faulting_parent(void **state)
{
	struct kl_job *j = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *r = NULL;

	add_parent(*state,
		   gpu_cubin(*state, "parent", "float",
			     SCALE_KERNEL("static int calls; if (++calls > 30) *(int *)64 = 1;")));
	r = profile(j);
	assert_null(json_object_get(r, "status"));
	assert_null(versus(r, "parent"));
	assert_contains(notes(r), "parent is not compared");
	assert_true(kl_json_int_or(point(r), "ns", 0) > 0);
}

static void a_wrong_parent(void **state)
{
	struct kl_job *j = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *r = NULL;

	add_parent(*state, gpu_cubin(*state, "parent", "float", SCALE_KERNEL("s += 1;")));
	r = profile(j);
	assert_null(json_object_get(r, "status"));
	assert_contains(notes(r), "parent is not compared: error");
}

static void a_baseline_that_is_not_here(void **state)
{
	struct kl_job *j = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *r = NULL;

	j->baseline = kl_strdup("cublas.gemm");
	r = profile(j);
	assert_null(json_object_get(r, "status"));
	assert_contains(notes(r), "cublas.gemm is not compared: cublas.gemm: needs matrices");

	json_decref(r);
	free(j->baseline);
	j->baseline = kl_strdup("nobody.knows");
	r = profile(j);
	assert_contains(notes(r), "no baseline of the name 'nobody.knows'");
}

/* A baseline that is a plan of our own is a subject like any other. */
static void a_baseline_of_our_own(void **state)
{
	struct gpu_fixture *f = *state;
	struct kl_job *j = job_of(f, SLOW("100000"));
	KL_AUTO(json_decrefp) json_t *r = NULL;

	add_parent(f, gpu_cubin(f, "base", "float", SLOW("300000")));
	j->baseline = kl_strdup("ours.scale");
	j->baseline_so = kl_steal(&j->parent_so);
	j->baseline_plan = kl_steal(&j->parent_plan);
	r = profile(j);
	assert_non_null(versus(r, "ours.scale"));
	assert_true(kl_json_int_or(versus(r, "ours.scale"), "ratio_ppm", 0) > 1200000);
	assert_true(kl_json_int_or(versus(r, "ours.scale"), "do_bench_ns", 0) > 0);
}

static void below_the_floor(void **state)
{
	struct kl_job *j = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *r = NULL;

	j->point[0].floor_ns = 1000000000;
	r = profile(j);
	assert_string_equal(kl_json_str_or(r, "class", ""), "cheat");
	assert_contains(kl_json_str_or(r, "message", ""), "below the physical floor");
}

/* Appends a byte to the file "count" at each call. */
#define COUNTED(also)                                                                \
	"#include <fcntl.h>\n" SCALE_KERNEL(                                         \
		"{ int h = open(\"%s/count\", O_WRONLY | O_CREAT | O_APPEND, 0600);" \
		" write(h, \".\", 1); close(h); }" also)

static size_t calls_of(struct gpu_fixture *f, const char *kernel, json_t **result)
{
	KL_AUTO(kl_freep) char *body = kl_asprintf(kernel, f->dir),
			       *path = kl_fs_join(f->dir, "count");
	struct stat st;

	*result = profile(job_of(f, body));
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

static void hot_as_well(void **state)
{
	struct kl_job *j = job_of(*state, NULL);
	KL_AUTO(json_decrefp) json_t *r = NULL;

	j->point[0].hot = true;
	r = profile(j);
	assert_null(json_object_get(r, "status"));
	assert_true(kl_json_int_or(point(r), "ns", 0) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_slower_parent, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(brief_kernels_go_by_batches, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(brief_ones_have_parents_too, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_lazy_kernel, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_fickle_kernel, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_fickle_kernel_where_it_may, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(a_faulting_candidate, gpu_setup_test,
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
		cmocka_unit_test_setup_teardown(hot_as_well, gpu_setup_test, gpu_teardown_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
