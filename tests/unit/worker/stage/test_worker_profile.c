/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile end to end: oracle, pool, candidate, parent and baseline are real
 * objects; what is asserted are orders and loose ratios, since the machine is shared.
 */
#include "worker_image.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/vec.h"
#include "worker/stage/stages.h"

static char *dir;

#define ORACLE                                                                                  \
	"void oracle(int64_t M, int64_t N, int64_t K, const REAL *A, const REAL *B, REAL *C) {" \
	" for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { REAL s = 0;"        \
	" for (int64_t k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j]; C[i * N + j] = s; } }"
#define HEAD \
	"void sgemm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C) {"
#define GEMM                                                                                   \
	" for (int64_t i = 0; i < M; i++) { for (int64_t j = 0; j < N; j++) C[i * N + j] = 0;" \
	" for (int64_t k = 0; k < K; k++) for (int64_t j = 0; j < N; j++) C[i * N + j] += A[i * K + k] * B[k * N + j]; }"

static char *build(const char *name, const char *define, const char *body)
{
	/* three loops take three times as long as one only if all are aligned alike */
	const char *flags[] = { "-O2", "-falign-loops=64", define, NULL };
	KL_AUTO(kl_freep) char *text = kl_asprintf("#include <stdint.h>\n%s\n", body);

	return worker_image(dir, name, strstr(body, "oracle") ? "oracle" : "sgemm", text, flags);
}

/* `extra` are members of the job: "\"parent\":...,"; `point` members of the one point. */
static struct kl_job *make_job(const char *candidate, const char *extra, const char *point, int n,
			       int max_ms)
{
	KL_AUTO(kl_freep) char *truth = build("truth", "-DREAL=double", ORACLE);
	KL_AUTO(kl_freep) char *honest = build("honest", "-DREAL=float", ORACLE);
	KL_AUTO(kl_freep) char *text = NULL;
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	struct kl_job *job = NULL;

	text = kl_asprintf(
		"{\"schema\":\"klineage.job/2\",\"surface\":\"c\","
		"\"truth\":\"%s\",\"honest\":\"%s\",\"candidate\":\"%s\",%s\"pool\":\"%s/pool%d\",\"args\":["
		"{\"name\":\"M\",\"kind\":\"dim\",\"dtype\":\"i64\"},{\"name\":\"N\",\"kind\":\"dim\",\"dtype\":\"i64\"},"
		"{\"name\":\"K\",\"kind\":\"dim\",\"dtype\":\"i64\"},"
		"{\"name\":\"A\",\"kind\":\"in\",\"dtype\":\"f32\",\"fill\":{\"normal\":[0.0,1.0]}},"
		"{\"name\":\"B\",\"kind\":\"in\",\"dtype\":\"f32\",\"fill\":{\"normal\":[0.0,1.0]}},"
		"{\"name\":\"C\",\"kind\":\"out\",\"dtype\":\"f32\"}],"
		"\"points\":[{\"id\":\"case0\",\"perf\":true,%s\"values\":[%d,%d,%d,[%d,%d],[%d,%d],[%d,%d]]}],"
		"\"accept\":[{\"out\":\"C\",\"rule\":\"noise\",\"max\":8.0,\"rms\":4.0,\"per\":[]}],"
		"\"do\":[\"profile\"],\"seed\":\"0\",\"arena_bytes\":1048576,\"call_ms\":5000,"
		"\"profile\":{\"min_blocks\":6,\"max_ms\":%d}}",
		truth, honest, candidate, extra, dir, n, point, n, n, n, n, n, n, n, n, n, max_ms);
	if (kl_json_parse(&doc, text, strlen(text)) < 0 || kl_job_parse(&job, doc) < 0)
		fail_msg("%s\n%s", kl_error_last(), text);
	return job;
}

static json_t *profile(const struct kl_job *job)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	json_t *result = json_object();

	if (kl_pool_open(&pool, job) < 0 || kl_stage_profile(result, job, pool) < 0)
		fail_msg("%s", kl_error_last());
	return result;
}

static const json_t *point(const json_t *result)
{
	return json_array_get(json_object_get(json_object_get(result, "profile"), "points"), 0);
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

static void print(const json_t *result)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_json_canonical(&buf, result);
	print_message("%s\n", buf.ptr);
}

static bool single(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 2;
}

/* does a note say that there are no more blocks than these? */
static bool slow_calls(const json_t *result, int64_t blocks)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *note = kl_asprintf(
		"calls are slow, so only %lld blocks were measured", (long long)blocks);

	kl_json_canonical(&buf, result);
	return strstr(buf.ptr, note);
}

/* Three times the work takes three times the time: wherever the middle lies on a busy machine, the
 * interval must hold that. */
static void a_slower_parent(void **state)
{
	KL_AUTO(kl_freep) char *fast = build("fast", "-DX", HEAD GEMM "}");
	KL_AUTO(kl_freep) char *slow = build("slow", "-DX", HEAD GEMM GEMM GEMM "}");
	KL_AUTO(kl_freep) char *extra = kl_asprintf("\"parent\":\"%s\",", slow);
	KL_AUTO(kl_job_freep) struct kl_job *job = make_job(fast, extra, "\"rank\":\"hot\",", 96,
							    3000);
	KL_AUTO(json_decrefp) json_t *record = profile(job);
	const json_t *value = versus(record, "parent"), *aa = json_object_get(point(record), "aa");
	int64_t ratio, blocks;

	print(record);
	if (single())
		skip();
	assert_non_null(value);
	ratio = kl_json_int_or(value, "ratio_ppm", 0);
	assert_true(kl_json_int_or(value, "lo_ppm", 0) <= ratio &&
		    kl_json_int_or(value, "hi_ppm", 0) >= ratio);
	assert_true(kl_json_int_or(value, "lo_ppm", 0) <= 3300000 &&
		    kl_json_int_or(value, "hi_ppm", 0) >= 2700000);
	assert_true(kl_json_int_or(aa, "lo_ppm", 0) <= 1100000 &&
		    kl_json_int_or(aa, "hi_ppm", 0) >= 900000);
	if (kl_json_int_or(aa, "hi_ppm", 0) < 1200000 && kl_json_int_or(aa, "lo_ppm", 0) > 830000)
		assert_in_range(ratio, 1500000, 6000000); /* a machine that can tell */
	/* where six would take too long four or five are enough, and a note says so */
	blocks = kl_json_int_or(point(record), "blocks", 0);
	assert_true(blocks >= 4);
	assert_true(blocks >= 6 || slow_calls(record, blocks));
	assert_null(json_object_get(record, "status"));
}

static void against_openblas(void **state)
{
	KL_AUTO(kl_freep) char *so = build("plain", "-DX", HEAD GEMM "}");
	KL_AUTO(kl_job_freep) struct kl_job *job = make_job(
		so, "\"baseline\":\"openblas.sgemm\",\"isa\":\"x86-64-v2\",", "", 128, 2000);
	KL_AUTO(json_decrefp) json_t *record = profile(job);

	print(record);
	if (single())
		skip();
	if (!versus(record, "openblas.sgemm")) { /* not installed: said, not failed */
		assert_null(json_object_get(record, "status"));
		assert_true(json_array_size(json_object_get(json_object_get(record, "profile"),
							    "notes")) > 0);
		skip();
	}
	assert_in_range(kl_json_int_or(versus(record, "openblas.sgemm"), "ratio_ppm", 0), 10000,
			1000000);
}

/* Right on the first call of a process (which no profile measures), wrong on later ones. */
static void a_timed_call_is_checked(void **state)
{
	KL_AUTO(kl_freep) char *so = build(
		"later", "-DX", "static int calls;" HEAD GEMM "if (calls++) C[M * N - 5] += 1; }");
	KL_AUTO(kl_job_freep) struct kl_job *job = make_job(so, "", "", 64, 500);
	KL_AUTO(json_decrefp) json_t *record = NULL;
	const json_t *facts;

	if (single())
		skip();
	record = profile(job);
	facts = json_object_get(json_object_get(record, "correct"), "failure");
	assert_string_equal(kl_json_str_or(record, "status", ""), "fail");
	assert_non_null(facts);
	assert_string_equal(kl_json_str_or(facts, "out", ""), "C");
	assert_null(point(record));
}

static void bad_ends_fail(void **state)
{
	/* clang-format off */
	static const struct { const char *name, *body, *class; } bad[] = {
		{ "replay", "static int calls;" HEAD "if (calls++) return;" GEMM "}", "wrong-all" },
		{ "crash", "static int calls;" HEAD "if (calls++) *(volatile int *)0 = 0;" GEMM "}", "fault" },
#ifdef __x86_64__
		{ "clock", "static int calls;" HEAD "if (calls++) __builtin_ia32_rdtsc();" GEMM "}", "cheat" },
#endif
	};
	/* clang-format on */

	if (single())
		skip();
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(kl_freep) char *so = build(bad[i].name, "-DX", bad[i].body);
		KL_AUTO(kl_job_freep) struct kl_job *job = make_job(so, "", "", 64, 500);
		KL_AUTO(json_decrefp) json_t *record = profile(job);

		assert_string_equal(kl_json_str_or(record, "status", ""), "fail");
		assert_string_equal(kl_json_str_or(record, "class", ""), bad[i].class);
	}
}

static void a_broken_image_is_no_verdict(void **state)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "broken.image");
	KL_AUTO(kl_job_freep) struct kl_job *job = make_job(path, "", "", 64, 500);
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(json_decrefp) json_t *result = json_object();

	if (single())
		skip();
	assert_ok(kl_fs_put(path, "no image", 8, 0600));
	assert_ok(kl_pool_open(&pool, job));
	assert_error(KL_ECANNOT, "not a valid image", kl_stage_profile(result, job, pool));
}

static void below_the_floor_is_a_cheat(void **state)
{
	KL_AUTO(kl_freep) char *so = build("plain", "-DX", HEAD GEMM "}");
	KL_AUTO(kl_job_freep) struct kl_job *job = make_job(so, "", "\"floor_ns\":2000000000,", 64,
							    500);
	KL_AUTO(json_decrefp) json_t *record = NULL;

	if (single())
		skip();
	record = profile(job);
	assert_string_equal(kl_json_str_or(record, "class", ""), "cheat");
	assert_non_null(strstr(kl_json_str_or(record, "message", ""), "floor"));
}

/* A comparison that is wrong itself says nothing about the candidate. */
static void a_wrong_parent_is_not_compared(void **state)
{
	KL_AUTO(kl_freep) char *so = build("plain", "-DX", HEAD GEMM "}");
	KL_AUTO(kl_freep) char *wrong = build("wrong", "-DX", HEAD "}");
	KL_AUTO(kl_freep) char *extra = kl_asprintf(
		"\"parent\":\"%s\",\"baseline\":\"onednn.conv2d\",", wrong);
	KL_AUTO(kl_job_freep) struct kl_job *job = make_job(so, extra, "", 64, 500);
	KL_AUTO(json_decrefp) json_t *record = profile(job);

	print(record);
	if (single())
		skip();
	assert_null(json_object_get(record, "status"));
	assert_non_null(point(record));
	assert_null(versus(record, "parent"));
	assert_null(versus(record, "onednn.conv2d"));
	assert_int_equal(json_array_size(json_object_get(point(record), "vs")), 0);
	assert_true(json_array_size(json_object_get(json_object_get(record, "profile"), "notes")) >=
		    2);
}

static void one_processor(void **state)
{
	KL_AUTO(kl_freep) char *so = build("plain", "-DX", HEAD GEMM "}");
	KL_AUTO(kl_job_freep) struct kl_job *job = make_job(so, "", "", 64, 500);
	KL_AUTO(json_decrefp) json_t *record = NULL;
	cpu_set_t before, one;

	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	for (int ch = 0; ch < CPU_SETSIZE && !CPU_COUNT(&one); ch++)
		if (CPU_ISSET(ch, &before))
			CPU_SET(ch, &one);
	sched_setaffinity(0, sizeof(one), &one);
	record = profile(job);
	sched_setaffinity(0, sizeof(before), &before);
	assert_null(point(record));
	assert_null(json_object_get(record, "status"));
	assert_string_equal(
		json_string_value(json_array_get(
			json_object_get(json_object_get(record, "profile"), "notes"), 0)),
		"not profiled, because only one processor may be used");
}

/* The time limit holds, by and large, when no precision can be reached. */
static void the_time_limit_holds(void **state)
{
	KL_AUTO(kl_freep) char *so = build(
		"jitter", "-DX",
		HEAD GEMM
		"uint32_t h; __builtin_memcpy(&h, A, 4); for (volatile uint32_t i = 0; i < (h % 64) * 20000; i++) ; }");
	KL_AUTO(kl_job_freep) struct kl_job *job = make_job(so, "", "", 64, 1000);
	KL_AUTO(json_decrefp) json_t *record = NULL;
	struct timespec left, right;

	if (single())
		skip();
	clock_gettime(CLOCK_MONOTONIC, &left);
	record = profile(job);
	clock_gettime(CLOCK_MONOTONIC, &right);
	print(record);
	if (right.tv_sec - left.tv_sec > 20)
		fail_msg("%ld s", (long)(right.tv_sec - left.tv_sec));
	assert_true(kl_json_int_or(point(record), "blocks", 0) >= 4);
}

static int set_up(void **state)
{
	return kl_fs_tempdir(&dir, "kl-profile");
}

static int tear_down(void **state)
{
	kl_fs_tempdir_cleanup(&dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slower_parent),
		cmocka_unit_test(against_openblas),
		cmocka_unit_test(a_timed_call_is_checked),
		cmocka_unit_test(bad_ends_fail),
		cmocka_unit_test(a_broken_image_is_no_verdict),
		cmocka_unit_test(below_the_floor_is_a_cheat),
		cmocka_unit_test(a_wrong_parent_is_not_compared),
		cmocka_unit_test(one_processor),
		cmocka_unit_test(the_time_limit_holds),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
