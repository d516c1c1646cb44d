/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_fixture.h"

#include <math.h>
#include <sched.h>
#include <sys/stat.h>

#include "base/proc.h"
#include "worker/compare/compare.h"
#include "worker/compare/yardstick.h"
#include "worker/pool/twin.h"

/* The same function in another image: a variable that changes nothing. */
#define OTHER_ORACLE(value)                                                                              \
	"volatile int other = " value ";\n"                                                              \
	"void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B, kl_real *C)\n" \
	"{ for (int64_t i = 0; other && i < M; i++) for (int64_t j = 0; j < N; j++) { kl_real s = 0;\n"  \
	"  for (int64_t k = 0; k < K; k++) s += A[i*K+k] * B[k*N+j]; C[i*N+j] = s; } }\n"

static const struct kl_member *member(const struct kl_pool *pool, const char *point,
				      const char *band)
{
	for (size_t i = 0; i < kl_pool_size(pool); i++) {
		const struct kl_member *output_member = kl_pool_get(pool, i);

		if (!strcmp(output_member->point->id, point) && !strcmp(output_member->band, band))
			return output_member;
	}
	fail_msg("no member %s of %s", band, point);
	return NULL;
}

static void members_follow_from_the_job(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	const struct kl_member *members[8];

	json_array_append_new(fixture->job.bands, fx_json("{\"A\":{\"const\":1.0}}"));
	assert_ok(kl_pool_open(&pool, &fixture->job));
	/* case0: 3 noise, twin, 1 exact, 1 band, 2 scales; also: 1 + 1 + 1 + 1 */
	assert_int_equal(kl_pool_size(pool), 8 + 4 + 4);
	assert_int_equal(kl_pool_noise(pool, &fixture->point[0], members, 8), 3);
	assert_int_equal(kl_pool_noise(pool, &fixture->point[2], members, 8), 1);
	assert_true(member(pool, "also1", "exact0")->exact);
}

static bool has_member(const struct kl_pool *pool, const char *point, const char *band)
{
	for (size_t i = 0; i < kl_pool_size(pool); i++)
		if (!strcmp(kl_pool_get(pool, i)->point->id, point) &&
		    !strcmp(kl_pool_get(pool, i)->band, band))
			return true;
	return false;
}

static void bands_may_be_for_some_points(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;

	json_array_append_new(fixture->job.bands,
			      fx_json("{\"A\":{\"const\":1.0},\"at\":\"also\"}"));
	json_object_set_new(json_array_get(fixture->job.exact, 0), "at", json_string("cases"));
	assert_ok(kl_pool_open(&pool, &fixture->job));
	assert_true(has_member(pool, "case0", "exact0") && !has_member(pool, "case0", "band0"));
	assert_true(has_member(pool, "also0", "band0") && !has_member(pool, "also0", "exact0"));
	assert_true(has_member(pool, "also1", "band0") && !has_member(pool, "also1", "exact0"));
}

static void answers_are_the_oracles(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	const struct kl_member *output_member, *draws[2];
	const float *left, *right, *honest;
	const double *values;
	int differ = 0;

	assert_ok(kl_pool_open(&pool, &fixture->job));
	output_member = member(pool, "also1", "noise");
	left = output_member->input[3];
	right = output_member->input[4];
	values = output_member->truth[5];
	honest = output_member->honest[5];
	for (int i = 0; i < 17; i++)
		for (int j = 0; j < 19; j++) {
			double distance = 0;
			float high = 0;

			for (int k = 0; k < 23; k++) {
				distance += (double)left[i * 23 + k] * right[k * 19 + j];
				high += left[i * 23 + k] * right[k * 19 + j];
			}
			/* the oracle may have been compiled with fused products */
			assert_true(fabs(values[i * 19 + j] - distance) < 1e-12);
			assert_true(fabsf(honest[i * 19 + j] - high) < 1e-4f);
			differ += honest[i * 19 + j] != values[i * 19 + j];
		}
	assert_true(differ > 100);
	assert_null(output_member->absum[5]);
	assert_non_null(output_member->tolerance);
	assert_int_equal(kl_pool_noise(pool, &fixture->point[0], draws, 2), 2);
	assert_memory_not_equal(draws[0]->input[3], draws[1]->input[3], 64 * 64 * 4);
}

static void scale_bands_scale(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	const float *values;
	float most = 0;

	fixture->job.arg[4].sweep = false;
	assert_ok(kl_pool_open(&pool, &fixture->job));
	values = member(pool, "case0", "scale-up")->input[3];
	for (int i = 0; i < 64 * 64; i++)
		most = fmaxf(most, fabsf(values[i]));
	assert_true(most > 150 && most < 500);
	values = member(pool, "case0", "scale-down")->input[3];
	assert_true(fabsf(values[0]) < 0.01f);
	values = member(pool, "case0", "scale-down")->input[4];
	most = 0;
	for (int i = 0; i < 64 * 64; i++)
		most = fmaxf(most, fabsf(values[i]));
	assert_true(most > 2);
}

static void absolute_sums_for_elementwise(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	const struct kl_member *output_member;
	const float *left, *right;
	double seconds = 0;

	fixture->rule[0].kind = KL_RULE_ELEMENTWISE;
	assert_ok(kl_pool_open(&pool, &fixture->job));
	output_member = member(pool, "also1", "noise");
	left = output_member->input[3];
	right = output_member->input[4];
	for (int k = 0; k < 23; k++)
		seconds += fabs((double)left[k] * right[k * 19]);
	assert_true(fabs(*(const double *)output_member->absum[5] - seconds) < 1e-12);
	assert_null(member(pool, "also1", "exact0")->absum[5]);
}

static float opened(struct fixture *fixture)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;

	assert_ok(kl_pool_open(&pool, &fixture->job));
	return *(const float *)kl_pool_get(pool, 0)->input[3];
}

static ino_t inode_time(const struct fixture *fixture, int64_t *when)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/members", fixture->job.pool);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	*when = st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	assert_int_equal(stat(fixture->job.pool, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	return st.st_ino;
}

static void a_pool_is_reopened_or_made_anew(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_freep) char *message = kl_asprintf("%s/members", fixture->job.pool);
	float first = opened(fixture), seven;
	int64_t made, then;

	inode_time(fixture, &made);
	assert_true(opened(fixture) == first);
	inode_time(fixture, &then);
	assert_true(then == made);

	/* the file of the members cut short: made anew, from another key */
	assert_ok(kl_fs_put(message, "x", 1, 0600));
	assert_true(opened(fixture) != first);
	inode_time(fixture, &then);
	assert_true(then != made);

	/* the pool of a replay: the same seed gives the same bytes, another one others */
	fixture->job.seed = 7;
	seven = opened(fixture);
	inode_time(fixture, &made);
	assert_true(opened(fixture) == seven);
	inode_time(fixture, &then);
	assert_true(then == made);
	fixture->job.seed = 8;
	assert_true(opened(fixture) != seven);
	fixture->job.seed = 7;
	assert_true(opened(fixture) == seven);

	/* no live session is judged on it */
	fixture->job.seed = 0;
	first = opened(fixture);
	assert_true(first != seven);
	fixture->job.seed = 7;
	opened(fixture);
	fixture->job.seed = 0;
	assert_true(opened(fixture) != first);

	/* another point */
	inode_time(fixture, &made);
	fx_gemm_point(fixture, "also2", false, 2, 2, 2);
	opened(fixture);
	inode_time(fixture, &then);
	assert_true(then != made);

	/* another rule: twins are told apart by it */
	made = then;
	fixture->rule[0].max = 5;
	opened(fixture);
	inode_time(fixture, &then);
	assert_true(then != made);

	/* another truth alone */
	made = then;
	free(fixture->job.truth_path);
	fixture->job.truth_path = fx_image(fixture, "truth2", "oracle", "double",
					   OTHER_ORACLE("1"));
	opened(fixture);
	inode_time(fixture, &then);
	assert_true(then != made);

	/* another honest reference alone */
	made = then;
	free(fixture->job.honest_path);
	fixture->job.honest_path = fx_image(fixture, "honest2", "oracle", "float",
					    OTHER_ORACLE("2"));
	opened(fixture);
	inode_time(fixture, &then);
	assert_true(then != made);
}

/* Set every cost in the pool's index to 1 ns. */
static void make_cheap(const struct fixture *fixture)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(fixture->job.pool, "index.json");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *index = NULL;
	json_t *costs;

	assert_ok(kl_fs_read(&text, path, 1 << 20));
	assert_ok(kl_json_parse(&index, text.ptr, text.len));
	costs = json_object_get(index, "costs");
	assert_int_equal(json_array_size(costs), fixture->job.npoint);
	for (size_t i = 0; i < json_array_size(costs); i++)
		json_array_set_new(costs, i, json_integer(1));
	kl_buf_release(&text);
	kl_json_pretty(&text, index);
	assert_ok(kl_fs_write(path, text.ptr, text.len));
}

static int64_t first_cost(const struct fixture *fixture)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;

	assert_ok(kl_pool_open(&pool, &fixture->job));
	return kl_pool_cost(pool, &fixture->point[0]);
}

/* Further bands depend on dims, even on those that no argument passes. */
static void another_dim_makes_another_pool(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	int64_t made, then;

	fx_search(fixture, "[]");
	opened(fixture);
	inode_time(fixture, &made);
	fixture->point[1].dim[0] = 8;
	opened(fixture);
	inode_time(fixture, &then);
	assert_true(then != made);
}

static void costs_are_those_of_the_own_oracle(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();

	fixture->job.seed = 7;
	assert_true(first_cost(fixture) > 1);
	make_cheap(fixture);
	assert_int_equal(first_cost(fixture), 1);
	/* a pool that is made anew takes none from the one that lies there */
	fixture->job.seed = 8;
	assert_true(first_cost(fixture) > 1);
}

/* The oracle faults on the last bands of each point, and starts anew. */
static void a_fault_leaves_the_costs(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;

	fx_search(fixture, "[]");
	fx_oracle(
		fixture,
		"void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B,"
		"kl_real *C)\n"
		"{ for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { kl_real s = 0;"
		"for (int64_t k = 0; k < K; k++) s += A[i*K+k] * B[k*N+j]; C[i*N+j] = s;"
		"if (s - s != 0) *(volatile int *)8 = 0; } }");
	fixture->job.seed = 7;
	assert_ok(kl_pool_open(&pool, &fixture->job));
	assert_false(has_member(pool, "also1", "nan") || has_member(pool, "also1", "inf"));
	for (size_t i = 0; i < fixture->job.npoint; i++)
		assert_true(kl_pool_cost(pool, &fixture->point[i]) > 0);
}

static void to_files(const struct fixture *fixture, char *text, size_t n)
{
	KL_AUTO(kl_freep) char *script = kl_asprintf("cd '%s' && sha256sum m*", fixture->job.pool);
	const char *argv[] = { "sh", "-c", script, NULL };
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	assert_ok(kl_proc_output(&buf, argv));
	snprintf(text, n, "%s", buf.ptr);
}

/* By one processor or by all, the files are the same: nothing depends on who made a member when. */
static void processors_do_not_matter(void **state)
{
	char text[3][8192];
	cpu_set_t before, one;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (CPU_COUNT(&before) < 2)
		skip();
	CPU_ZERO(&one);
	for (int ch = 0; ch < CPU_SETSIZE && !CPU_COUNT(&one); ch++)
		if (CPU_ISSET(ch, &before))
			CPU_SET(ch, &one);
	for (int i = 0; i < 3; i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
		int err;

		fixture->job.seed = 77;
		sched_setaffinity(0, sizeof(one), i == 1 ? &one : &before);
		err = kl_pool_open(&pool, &fixture->job);
		sched_setaffinity(0, sizeof(before), &before);
		assert_ok(err);
		to_files(fixture, text[i], sizeof(text[i]));
	}
	assert_string_equal(text[0], text[1]);
	assert_string_equal(text[0], text[2]);
}

static void bad_oracles_are_named(void **state)
{
	static const struct {
		const char *body, *message;
	} t[] = {
		{ "void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B, kl_real *C)"
		  "{ for (int64_t i = 0; i < M * N; i++) C[i] = A[0] / (i == 5 ? 0 : 1); }",
		  "although every input is finite" },
		{ "void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B, kl_real *C)"
		  "{ C[0] = 1; }",
		  "nan for C[0,1] at 'case0', band 'noise'" },
		{ "void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B, kl_real *C)"
		  "{ for (;;) C[M * N - 1] = *(volatile kl_real *)A; }",
		  "oracle (kl_real as double) at 'case0'" },
		{ "void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B, kl_real *C)"
		  "{ C[1 << 28] = 1; }",
		  "oracle (kl_real as double) at 'case0'" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;

		fixture->job.call_ms = 300;
		fx_oracle(fixture, t[i].body);
		assert_error(KL_ECANNOT, t[i].message, kl_pool_open(&pool, &fixture->job));
		assert_null(pool);
		/* and nothing is left that looks like a pool */
		assert_error(KL_ECANNOT, t[i].message, kl_pool_open(&pool, &fixture->job));
	}
}

/* A scalar of the kernel's is rounded to its dtype before the truth sees it, too. */
static void scalars_are_the_kernels(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	struct kl_point *pt = fx_point(fixture, "case0", true);
	const struct kl_member *member;

	fx_arg(fixture, "s", KL_ARG_SCALAR, KL_F32, NULL);
	fx_arg(fixture, "x", KL_ARG_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
	fx_arg(fixture, "y", KL_ARG_OUT, KL_F32, NULL);
	fixture->job.arg[0].value = -0.1;
	fx_extent(pt, 1, 1, 10, 0);
	fx_extent(pt, 2, 1, 10, 0);
	fx_rule(fixture, KL_RULE_ELEMENTWISE, 2);
	fx_oracle(fixture, "void oracle(kl_real s, const kl_real *x, kl_real *y)"
			   "{ for (int i = 0; i < 10; i++) y[i] = s * x[i]; }");
	assert_ok(kl_pool_open(&pool, &fixture->job));
	member = kl_pool_get(pool, 0);
	for (int i = 0; i < 10; i++) {
		double want = (double)-0.1f * ((const float *)member->input[1])[i];

		assert_true(((const double *)member->truth[2])[i] == want);
		assert_true(((const double *)member->absum[2])[i] == fabs(want));
	}
}

static size_t differing(const struct kl_member *left, const struct kl_member *right, size_t arg)
{
	size_t n = (size_t)kl_point_elements(left->point, arg), differ = 0;

	for (size_t i = 0; i < n; i++)
		differ += memcmp((const char *)left->input[arg] + 4 * i,
				 (const char *)right->input[arg] + 4 * i, 4) != 0;
	return differ;
}

/* One element of each input; each truth is wrong as an answer to the other. */
static void twins_differ_in_one_element_of_each_input(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	const struct kl_member *members[2];
	size_t rows = 0;

	assert_ok(kl_pool_open(&pool, &fixture->job));
	for (int i = 0; i < 3; i++) {
		const double *samples, *values;

		assert_int_equal(kl_pool_noise(pool, &fixture->point[i], members, 1), 1);
		members[1] = kl_pool_twin(pool, &fixture->point[i]);
		assert_non_null(members[1]);
		assert_string_equal(members[1]->band, "twin");
		assert_int_equal(differing(members[0], members[1], 3), 1);
		assert_int_equal(differing(members[0], members[1], 4), 1);
		assert_int_equal(kl_twin_apart(&fixture->job, members[0], members[1]), 1);
		assert_int_equal(kl_twin_apart(&fixture->job, members[1], members[0]), 1);
		assert_int_equal(kl_twin_apart(&fixture->job, members[1], members[1]), 0);
		/* of the answer, what does not hang on those elements is the same */
		samples = members[0]->truth[5];
		values = members[1]->truth[5];
		for (int64_t k = 0; k < kl_point_elements(&fixture->point[i], 5); k++)
			rows += samples[k] != values[k];
	}
	/* one row and one column of each */
	assert_int_equal(rows, 1 + (17 + 19 - 1) + (64 + 64 - 1));
}

/* y = the largest of x: one element seldom changes it, a share of them may not either. */
static struct fixture *largest(const char *fill, int64_t n)
{
	struct fixture *fixture = fx_new();
	struct kl_point *pt = fx_point(fixture, "case0", true);

	fx_arg(fixture, "n", KL_ARG_DIM, KL_I64, NULL);
	fx_arg(fixture, "x", KL_ARG_IN, KL_F32, fill);
	fx_arg(fixture, "y", KL_ARG_OUT, KL_F32, NULL);
	pt->arg[0].value = n;
	fx_extent(pt, 1, 1, n, 0);
	fx_extent(pt, 2, 1, 1, 0);
	fx_rule(fixture, KL_RULE_EXACT, 2);
	fx_oracle(fixture,
		  "void oracle(int64_t n, const kl_real *x, kl_real *y)"
		  "{ y[0] = x[0]; for (int64_t i = 1; i < n; i++) if (x[i] > y[0]) y[0] = x[i]; }");
	return fixture;
}

static void more_changes_where_one_element_changes_nothing(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = largest("{\"normal\":[0.0,1.0]}", 4096);
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	const struct kl_member *members[2];
	size_t n;

	fixture->job.seed = 7;
	assert_ok(kl_pool_open(&pool, &fixture->job));
	assert_int_equal(kl_pool_noise(pool, &fixture->point[0], members, 1), 1);
	members[1] = kl_pool_twin(pool, &fixture->point[0]);
	assert_non_null(members[1]);
	n = differing(members[0], members[1], 1);
	assert_true(n > 16 && n <= 4094);
	assert_true(*(const double *)members[0]->truth[2] != *(const double *)members[1]->truth[2]);
}

static void no_twin_where_nothing_changes_the_answer(void **state)
{
	/* every element but one in thousands is the largest */
	KL_AUTO(fx_freep) struct fixture *fixture = largest("{\"ints\":[0,1]}", 4096);
	KL_AUTO(json_decrefp) json_t *result = json_object();
	const json_t *notes;
	bool said = false;

	for (int turn = 0; turn < 2; turn++) { /* the second opens the files of the first */
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;

		assert_ok(kl_pool_open(&pool, &fixture->job));
		assert_null(kl_pool_twin(pool, &fixture->point[0]));
		assert_int_equal(kl_pool_size(pool), 3);
		if (turn == 1)
			assert_ok(kl_stage_audit(result, &fixture->job, pool));
	}
	notes = json_object_get(json_object_get(result, "audit"), "notes");
	for (size_t i = 0; i < json_array_size(notes); i++)
		said = said ||
		       strstr(json_string_value(json_array_get(notes, i)), "no twin at 'case0'");
	assert_true(said);
}

/* A row of a one-hot input changes as a whole: a twin keeps what its fill promises. */
static void twins_keep_what_a_fill_promises(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	const float *left, *right;

	json_decref(fixture->job.arg[3].fill);
	json_decref(fixture->job.arg[4].fill);
	fixture->job.arg[3].fill = fx_json("{\"one-hot\":true}");
	fixture->job.arg[4].fill = fx_json("{\"normal\":[0.0,1.0],\"unit\":\"last\"}");
	fixture->job.arg[3].sweep = fixture->job.arg[4].sweep = false;
	fixture->rule[0].kind = KL_RULE_REL_L2;
	fixture->rule[0].tol = 1e-6;
	assert_ok(kl_pool_open(&pool, &fixture->job));
	assert_non_null(kl_pool_twin(pool, &fixture->point[0]));
	left = kl_pool_twin(pool, &fixture->point[0])->input[3];
	right = kl_pool_twin(pool, &fixture->point[0])->input[4];
	for (int i = 0; i < 64; i++) {
		float ones = 0, sq = 0;

		for (int k = 0; k < 64; k++) {
			ones += left[64 * i + k];
			sq += right[64 * i + k] * right[64 * i + k];
		}
		assert_true(ones == 1);
		assert_true(fabsf(sq - 1) < 1e-5f);
	}
}

/*
 * The sum of 512 numbers, added up in another order: as honest as the oracle's own,
 * whose one error is as good as none now and then.
 */
static void one_number_is_judged_by_many_draws(void **state)
{
	int lucky = 0;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		KL_AUTO(fx_freep) struct fixture *fixture = largest("{\"normal\":[0.0,1.0]}", 512);
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
		const struct kl_member *members[3];

		fixture->rule[0] = (struct kl_rule){
			.kind = KL_RULE_NOISE, .out = 2, .max = 4, .rms = 2
		};
		fx_oracle(fixture, "void oracle(int64_t n, const kl_real *x, kl_real *y)"
				   "{ y[0] = 0; for (int64_t i = 0; i < n; i++) y[0] += x[i]; }");
		fixture->job.seed = seed;
		assert_ok(kl_pool_open(&pool, &fixture->job));
		assert_int_equal(kl_pool_noise(pool, &fixture->point[0], members, 3), 3);
		for (int depth = 0; depth < 3; depth++) {
			const float *values = members[depth]->input[1];
			double truth = *(const double *)members[depth]->truth[2];
			float back = 0;
			const void *got[3] = { NULL, NULL, &back };
			struct kl_mismatch at;

			for (int i = 511; i >= 0; i--)
				back += values[i];
			assert_ok(kl_compare(&at, &fixture->job, members[depth], got));
			lucky += fabs(*(const float *)members[depth]->honest[2] - truth) <
				 members[depth]->tolerance[0].yardstick->error[0].max / 16;
			back = (float)(truth +
				       40 * members[depth]->tolerance[0].yardstick->error[0].max);
			assert_int_equal(kl_compare(&at, &fixture->job, members[depth], got),
					 KL_ENO);
		}
	}
	assert_true(lucky > 0);
}

/* Return the number of bytes of the pool's file that are on disk. */
static int64_t disk_bytes(const struct fixture *fixture)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/members", fixture->job.pool);
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (int64_t)st.st_blocks * 512;
}

/* Open the pool and return how many honest errors its yardstick has. */
static size_t executions(struct fixture *fixture)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	const struct kl_member *first;

	assert_ok(kl_pool_open(&pool, &fixture->job));
	assert_int_equal(kl_pool_noise(pool, &fixture->point[0], &first, 1), 1);
	assert_non_null(first->tolerance[0].yardstick);
	return first->tolerance[0].yardstick->n;
}

/*
 * Spare draws are made late where all elements share a rounding, and not where each has its own.
 * A pool that is opened again has the same ones, and none of them is made again.
 */
static void late_draws_are_made_where_needed(void **state)
{
	size_t many[2];
	int64_t bytes[2];

	for (int shared = 0; shared < 2; shared++) {
		KL_AUTO(fx_freep) struct fixture *fixture = largest("{\"normal\":[0.0,1.0]}", 4096);
		int64_t made, then;

		fx_extent(&fixture->point[0], 2, 1, 4096, 0);
		fixture->rule[0] = (struct kl_rule){
			.kind = KL_RULE_NOISE, .out = 2, .max = 4, .rms = 2
		};
		fx_oracle(fixture,
			  shared ? "void oracle(int64_t n, const kl_real *x, kl_real *y)"
				   "{ kl_real s = 0; for (int64_t i = 0; i < n; i++) s += x[i];"
				   "for (int64_t i = 0; i < n; i++) y[i] = s; }" :
				   "void oracle(int64_t n, const kl_real *x, kl_real *y)"
				   "{ for (int64_t i = 0; i < n; i++) y[i] = x[i] / 3; }");
		fixture->job.seed = 7;
		many[shared] = executions(fixture);
		bytes[shared] = disk_bytes(fixture);
		inode_time(fixture, &made);
		assert_int_equal(executions(fixture), many[shared]);
		inode_time(fixture, &then);
		assert_true(then == made);
	}
	assert_true(many[0] < 15);
	assert_true(many[1] > 15);
	/* members that are not made are holes */
	assert_true(bytes[0] < bytes[1] * 3 / 4);
}

static void empty_tensors_are_fine(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;

	fx_gemm_point(fixture, "also2", false, 3, 4, 0);
	fx_gemm_point(fixture, "also3", false, 0, 4, 5);
	assert_ok(kl_pool_open(&pool, &fixture->job));
	assert_true(*(const double *)member(pool, "also2", "noise")->truth[5] == 0);
	assert_non_null(member(pool, "also3", "noise")->truth[5]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_follow_from_the_job),
		cmocka_unit_test(bands_may_be_for_some_points),
		cmocka_unit_test(answers_are_the_oracles),
		cmocka_unit_test(scale_bands_scale),
		cmocka_unit_test(absolute_sums_for_elementwise),
		cmocka_unit_test(a_pool_is_reopened_or_made_anew),
		cmocka_unit_test(another_dim_makes_another_pool),
		cmocka_unit_test(costs_are_those_of_the_own_oracle),
		cmocka_unit_test(a_fault_leaves_the_costs),
		cmocka_unit_test(processors_do_not_matter),
		cmocka_unit_test(bad_oracles_are_named),
		cmocka_unit_test(scalars_are_the_kernels),
		cmocka_unit_test(twins_differ_in_one_element_of_each_input),
		cmocka_unit_test(more_changes_where_one_element_changes_nothing),
		cmocka_unit_test(no_twin_where_nothing_changes_the_answer),
		cmocka_unit_test(twins_keep_what_a_fill_promises),
		cmocka_unit_test(one_number_is_judged_by_many_draws),
		cmocka_unit_test(late_draws_are_made_where_needed),
		cmocka_unit_test(empty_tensors_are_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
