/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole kernels against kl_stage_correct: each wrong or cheating one must end
 * with its class, each odd but right one must pass.
 */
#include "worker_fixture.h"

#include "worker/stage/rounds.h"
#include "worker/stage/soak.h"

#define GEMM "void k(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)\n"
#define RIGHT(into)                                                                      \
	"for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { float s = 0;" \
	"for (int64_t q = 0; q < K; q++) s += A[i*K+q] * B[q*N+j]; " into " = s; }\n"
#define PLAIN RIGHT("C[i*N+j]")

/* One pool for all kernels of this file: as in an operation. */
static struct fixture *f;
static struct kl_pool *pool;

static int setup(void **state)
{
	f = fx_gemm();
	f->job.call_ms = 500;
	f->job.seed = 20260102; /* so that a kernel that flips a coin flips the same one */
	assert_ok(kl_pool_open(&pool, &f->job));
	return 0;
}

static int teardown(void **state)
{
	kl_pool_free(pool);
	fx_free(f);
	return 0;
}

static json_t *judged(const char *name, const char *body)
{
	json_t *result = json_object();

	fx_candidate(f, name, body);
	assert_ok(kl_stage_correct(result, &f->job, pool));
	return result;
}

static const char *class_of(const json_t *record)
{
	return kl_json_str_or(record, "class", "");
}

struct kernel {
	const char *name, *body, *class, *point, *why;
};

static void assert_refused(const struct kernel *kernel)
{
	KL_AUTO(json_decrefp) json_t *record = judged(kernel->name, kernel->body);
	const json_t *failure = json_object_get(json_object_get(record, "correct"), "failure");
	const char *message = kl_json_str_or(record, "message", "");

	if (strcmp(class_of(record), kernel->class) ||
	    strcmp(kl_json_str_or(record, "status", ""), "fail") ||
	    (kernel->point && strcmp(kl_json_str_or(failure, "point", ""), kernel->point)) ||
	    !strstr(message, kernel->why))
		fail_msg("%s: '%s', %s (wanted %s at %s: %s)", kernel->name, class_of(record),
			 message, kernel->class, kernel->point, kernel->why);
	assert_string_not_equal(kl_json_str_or(failure, "seed", ""), "");
}

static void wrong_kernels_are_refused(void **state)
{
	/* clang-format off */
	static const struct kernel kernels[] = {
		{ "empty", GEMM "{ }", "wrong-all", "case0", "never written" },
		{ "zeros", GEMM "{ memset(C, 0, M * N * 4); }", "wrong-all", "case0", "C[0,0] is 0" },
		{ "half", GEMM "{ M /= 2;" PLAIN "}", "wrong-all", "case0", "C[32,0]" },
		{ "lastrow", GEMM "{ M--;" PLAIN "}", "wrong-edge", "case0", "C[63,0]" },
		{ "lastcol", GEMM "{" PLAIN "C[N-1] = 0; }", "wrong-edge", "case0", "C[0,63] is 0" },
		{ "tail", GEMM "{ int64_t full = K; K &= ~7;" PLAIN "}", "wrong-edge", "also0", "C[0,0]" },
		{ "bf16", GEMM "{ for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { float s = 0;"
		  "for (int64_t q = 0; q < K; q++) { float a = A[i*K+q]; uint32_t u; memcpy(&u, &a, 4);"
		  "u = (u + 0x8000) & 0xffff0000u; memcpy(&a, &u, 4); s += a * B[q*N+j]; } C[i*N+j] = s; } }",
		  "wrong-all", "case0", "allowed" },
		{ "transposed", GEMM "{" RIGHT("C[j*M+i]") "}", "wrong-all", "case0", "allowed" },
		{ "nan", GEMM "{" PLAIN "C[17*N+5] = 0.0f / 0.0f; }", "wrong-all", "case0", "(nan)" },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		assert_refused(&kernels[i]);
}

static void cheating_kernels_are_refused(void **state)
{
	/* clang-format off */
	static const struct kernel kernels[] = {
		/* replay: the answer of the first call again, whatever the input */
		{ "stale", "static float kept[4096]; static int64_t n;\n"
		  GEMM "{ if (n == M * N) { memcpy(C, kept, n * 4); return; }" PLAIN
		  "n = M * N; memcpy(kept, C, n * 4); }", "cheat", "case0", "the right answer to an earlier input" },
		/* the same, keyed by where the input lies */
		{ "bypointer", "static float kept[4096]; static const float *at;\n"
		  GEMM "{ if (at == A) { memcpy(C, kept, M * N * 4); return; }" PLAIN
		  "at = A; memcpy(kept, C, M * N * 4); }", "cheat", "case0", "the right answer to an earlier input" },
		/* by a few numbers of the input, and by many */
		{ "byends", "static float kept[4096], key[4];\n"
		  GEMM "{ float now[4] = { A[0], A[M*K-1], B[0], B[K*N-1] };"
		  "if (!memcmp(now, key, 16)) { memcpy(C, kept, M * N * 4); return; }" PLAIN
		  "memcpy(key, now, 16); memcpy(kept, C, M * N * 4); }", "cheat", "case0",
		  "the kernel compares only a part of the input" },
		{ "bystride", "static float kept[4096], key[64];\n"
		  GEMM "{ float now[64] = { 0 }; for (int64_t i = 0; i < M * K; i += 67) now[i / 67] = A[i];"
		  "if (!memcmp(now, key, sizeof(key))) { memcpy(C, kept, M * N * 4); return; }" PLAIN
		  "memcpy(key, now, sizeof(key)); memcpy(kept, C, M * N * 4); }", "cheat", "case0",
		  "the kernel compares only a part of the input" },
		/* not at the first meeting */
		{ "second", "static float kept[4096], key; static int met;\n"
		  GEMM "{ if (key == A[0] && M * N == 4096 && met++) { memcpy(C, kept, M * N * 4); return; }" PLAIN
		  "if (key != A[0]) met = 0; if (M * N == 4096) { key = A[0]; memcpy(kept, C, M * N * 4); } }", "cheat",
		  "case0", "the right answer to an earlier input" },
		/* one call behind */
		{ "late", "static float kept[4096]; static int64_t n;\n"
		  GEMM "{ float own[4096];" RIGHT("own[i*N+j]") "memcpy(C, n == M * N ? kept : own, M * N * 4);"
		  "memcpy(kept, own, M * N * 4); n = M * N; }", "cheat", "case0", "the right answer to an earlier input" },		/* right a few times, then lazy */
		{ "tired", "static int calls;\n" GEMM "{ if (calls++ > 20) M /= 2;" PLAIN "}",
		  "nondeterministic", NULL, "soak: this input was answered correctly in an earlier call" },
		/* bits that depend on what came before */
		{ "moody", "static int calls;\n" GEMM "{" PLAIN
		  "if (calls++ & 1) { union { float f; uint32_t u; } x = { C[0] }; x.u ^= 1; if (K > 1 && A[0] != (int)A[0]) C[0] = x.f; } }",
		  "nondeterministic", "case0", "" },
		/* bits that depend on what lay in the output */
		{ "poisoned", GEMM "{ uint32_t was; memcpy(&was, C, 4);" PLAIN
		  "union { float f; uint32_t u; } x = { C[0] }; x.u ^= (was >> 3) & 3; if (M > 20 && A[0] != (int)A[0]) C[0] = x.f; }",
		  "nondeterministic", "case0", "other bits" },
		{ "writesinput", GEMM "{" PLAIN "((float *)A)[0] += 1; }", "fault", "case0", "" },
		{ "beyond", GEMM "{" PLAIN "C[M * N] = 1; }", "fault", "case0", "" },
		{ "before", GEMM "{" PLAIN "C[-1] = 1; }", "fault", "case0", "" },
		{ "reads", GEMM "{" PLAIN "C[0] += 0 * B[K * N + 1024]; }", "fault", "case0", "" },
		{ "loop", GEMM "{ for (;;) *(volatile float *)C = 1; }", "hang", "case0", "" },
		{ "leaves", GEMM "{ __asm__ volatile(\"syscall\" :: \"a\"(60), \"D\"(0)); }", "cheat", "case0",
		  "" },
		{ "asks", GEMM "{ __asm__ volatile(\"syscall\" :: \"a\"(39)); }", "cheat", "case0", "" },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		assert_refused(&kernels[i]);
}

/* A kernel cannot spend the time that the soak would take: its calls are counted. */
static void slow_kernels_are_soaked_as_well(void **state)
{
	/* clang-format off */
	static const struct kernel kernels[] = {
		{ "spins", "static int calls; static volatile int spin;\n"
		  GEMM "{ for (spin = 0; spin < 10000000; spin++) ; if (++calls > 45) M /= 2; if (!M) C[0] = 1; " PLAIN "}",
		  "nondeterministic", NULL, "soak: this input was answered correctly in an earlier call" },
		/* within tolerance, but not the same sum */
		{ "regroups", "static int calls;\n"
		  GEMM "{ int late = ++calls > 40; for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { float s = 0;"
		  "for (int64_t q = 0; q < K; q++) { int64_t p = late ? K - 1 - q : q; s += A[i*K+p] * B[p*N+j]; } C[i*N+j] = s; } }",
		  "nondeterministic", NULL, "soak: the same input gave other bits" },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		assert_refused(&kernels[i]);
}

/* What is left out is bounded, and said. */
static void a_kernel_too_slow_to_be_soaked_is_not_judged(void **state)
{
	static const int64_t costs[] = { 1000, 2500000000, 11000000000 };

	fx_candidate(f, "plain", GEMM "{" PLAIN "}");
	for (size_t i = 0; i < KL_ARRAY_SIZE(costs); i++) {
		KL_AUTO(kl_inquiry_release) struct kl_inquiry inquiry = { .pool = NULL };
		KL_AUTO(json_decrefp) json_t *notes = json_array();

		kl_inquiry_init(&inquiry, &f->job, pool);
		for (size_t at = 0; at < f->job.npoint; at++)
			inquiry.cost[at] = costs[i];
		assert_ok(kl_soak(&inquiry, notes));
		assert_null(inquiry.class);
		assert_int_equal(json_array_size(notes), i == 1);
		if (i == 1)
			assert_contains(json_string_value(json_array_get(notes, 0)),
					"only 24 of 50 calls in one process");
		assert_int_equal(*inquiry.doubt != '\0', i == 2);
		if (i == 0)
			assert_true(inquiry.calls >= 150);
		else
			assert_int_equal(inquiry.calls, i == 1 ? 24 : 0);
	}
}

/* Where calls are slow and only the twin is left, it still comes after its draw. */
static void a_twin_left_alone_follows_its_draw(void **state)
{
	KL_AUTO(kl_inquiry_release) struct kl_inquiry inquiry = { .pool = NULL };
	const struct kl_point *pt = &f->job.point[0];
	const struct kl_member *twin = kl_pool_twin(pool, pt);
	struct kl_rounds_left left;

	fx_candidate(f, "keeps",
		     "static float kept[4096], key[4];\n" GEMM
		     "{ float now[4] = { A[0], A[M*K-1], B[0], B[K*N-1] };"
		     "if (!memcmp(now, key, 16)) { memcpy(C, kept, M * N * 4); return; }" PLAIN
		     "memcpy(key, now, 16); memcpy(kept, C, M * N * 4); }");
	kl_inquiry_init(&inquiry, &f->job, pool);
	for (size_t i = 0; i < kl_pool_size(pool); i++)
		inquiry.passed[0][i] = kl_pool_get(pool, i) != twin;
	inquiry.cost[0] = 4000000000;
	assert_ok(kl_rounds_perf(&left, &inquiry, pt, false));
	assert_non_null(inquiry.class);
	assert_string_equal(inquiry.class, "cheat");
}

static void odd_kernels_pass(void **state)
{
	/* clang-format off */
	static const struct kernel kernels[] = {
		{ "plain", GEMM "{" PLAIN "}", 0, 0, 0 },
		{ "backwards", GEMM "{ for (int64_t i = M; i-- > 0;) for (int64_t j = N; j-- > 0;) {"
		  "float s = 0; for (int64_t q = K; q-- > 0;) s += A[i*K+q] * B[q*N+j]; C[i*N+j] = s; } }",
		  0, 0, 0 },
		{ "negzero", GEMM "{ for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) {"
		  "float s = -0.0f; for (int64_t q = 0; q < K; q++) s += A[i*K+q] * B[q*N+j]; C[i*N+j] = s; } }",
		  0, 0, 0 },
		{ "twice", GEMM "{ memset(C, 0, M * N * 4); for (int64_t i = 0; i < M; i++)"
		  "for (int64_t q = 0; q < K; q++) for (int64_t j = 0; j < N; j++) C[i*N+j] += A[i*K+q] * B[q*N+j]; }",
		  0, 0, 0 },
		{ "better", GEMM "{ for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) {"
		  "double s = 0; for (int64_t q = 0; q < K; q++) s += (double)A[i*K+q] * B[q*N+j]; C[i*N+j] = s; } }",
		  0, 0, 0 },
		/* kept, but by all of the input */
		{ "memo", "static float kept[4096], a[4096], b[4096]; static int64_t n;\n"
		  GEMM "{ if (n == M * N && !memcmp(a, A, M * K * 4) && !memcmp(b, B, K * N * 4)) {"
		  "memcpy(C, kept, n * 4); return; }" PLAIN "n = M * N; memcpy(a, A, M * K * 4);"
		  "memcpy(b, B, K * N * 4); memcpy(kept, C, n * 4); }", 0, 0, 0 },
		{ "static", "static float pad[4096];\n" GEMM "{ for (int64_t i = 0; i < M; i++) {"
		  "memcpy(pad, A + i * K, K * 4); for (int64_t j = 0; j < N; j++) { float s = 0;"
		  "for (int64_t q = 0; q < K; q++) s += pad[q] * B[q*N+j]; C[i*N+j] = s; } } }", 0, 0, 0 },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		KL_AUTO(json_decrefp) json_t *record = judged(kernels[i].name, kernels[i].body);
		const json_t *child = json_object_get(record, "correct");

		if (*class_of(record))
			fail_msg("%s: %s", kernels[i].name, kl_json_str_or(record, "message", ""));
		/* case0: 3 noise, twin, exact, 2 scales; two also points: noise, twin, exact */
		assert_int_equal(kl_json_int_or(child, "cases", 0), 7 + 2 * 3);
		assert_true(kl_json_int_or(child, "calls", 0) >=
			    6 + 4 + 2 + 4 + 2 * (4 + 4 + 3) + 50);
		assert_true(kl_json_int_or(child, "margin_ppm", -1) <= 1000000);
		assert_int_equal(json_array_size(json_object_get(child, "seeds")), 1);
		assert_null(json_object_get(child, "failure"));
	}
}

static void free_bits_where_the_contract_says_so(void **state)
{
	static const char moody[] =
		"static int calls;\n" GEMM "{" PLAIN
		"if (calls++ & 1) { union { float f; uint32_t u; } x = { C[0] }; x.u ^= 1; if (K > 1 && A[0] != (int)A[0]) C[0] = x.f; } }";
	KL_AUTO(json_decrefp) json_t *strict = judged("moody1", moody);
	KL_AUTO(json_decrefp) json_t *loose = NULL;

	assert_string_equal(class_of(strict), "nondeterministic");
	f->job.deterministic = false;
	loose = judged("moody2", moody);
	f->job.deterministic = true;
	assert_string_equal(class_of(loose), "");
}

/* It says nothing about a kernel: it has not run. */
static void a_broken_image_is_no_verdict(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *own = NULL;
	KL_AUTO(json_decrefp) json_t *result = json_object();

	assert_ok(kl_pool_open(&own, &fixture->job));
	fixture->job.candidate_path = kl_fs_join(fixture->dir, "broken.image");
	assert_ok(kl_fs_put(fixture->job.candidate_path, "no image", 8, 0600));
	assert_error(KL_ECANNOT, "not a valid image", kl_stage_correct(result, &fixture->job, own));
}

static json_t *judged_live(const char *body, uint64_t seed)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
	KL_AUTO(kl_pool_freep) struct kl_pool *own = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	json_t *result = json_object();

	fixture->job.call_ms = 500;
	fixture->job.seed = seed;
	assert_ok(kl_pool_open(&own, &fixture->job));
	fx_candidate(fixture, "live", body);
	assert_ok(kl_stage_correct(result, &fixture->job, own));
	/* nothing of a replay stays behind */
	assert_ok(kl_fs_list(&names, fixture->job.pool));
	for (size_t i = 0; i < names.n; i++)
		assert_int_not_equal(strncmp(names.v[i], "one-", 4), 0);
	return result;
}

static const json_t *failure_of(const json_t *result)
{
	return json_object_get(json_object_get(result, "correct"), "failure");
}

/*
 * The failure of a live session is reported from inputs of its own, whose seed, given back as the
 * job's, shows the same failure.
 */
static void a_failure_can_be_replayed(void **state)
{
	static const char *const bodies[] = {
		GEMM "{" PLAIN "C[20 * N + 20] *= 1.001f; }",
		GEMM "{" PLAIN "C[N - 1] = 0; }",
		GEMM "{ M /= 2;" PLAIN "}",
		GEMM "{ }",
		GEMM "{" PLAIN "C[M * N] = 1; }",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(bodies); i++) {
		KL_AUTO(json_decrefp) json_t *live = judged_live(bodies[i], 0);
		const char *seed = kl_json_str_or(failure_of(live), "seed", "0");
		KL_AUTO(json_decrefp) json_t *replay = judged_live(bodies[i],
								   strtoull(seed, NULL, 10));

		assert_string_equal(kl_json_str_or(live, "status", ""), "fail");
		assert_string_not_equal(seed, "0");
		assert_string_equal(kl_json_str_or(live, "message", "1"),
				    kl_json_str_or(replay, "message", "2"));
		assert_true(json_equal(failure_of(live), failure_of(replay)));
		assert_int_equal(
			json_array_size(json_object_get(json_object_get(live, "correct"), "seeds")),
			0);
	}
}

/*
 * The class of a kernel with a state does not depend on the order of calls, which is drawn: in a new
 * process it is right.
 */
static void a_state_has_one_class(void **state)
{
	static const char *const bodies[] = {
		"static int calls;\n" GEMM "{ if (calls++) return;" PLAIN "}",
		"static int calls;\n" GEMM "{" PLAIN "if (++calls > 20) C[M * N / 2] += 1; }",
		"static const float *first;\n" GEMM
		"{ if (!first) first = C; if (C != first) K -= K / 4; if (C != first && K < 4) return;"
		"for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { float s = 0;"
		"for (int64_t q = 0; q < K; q++) s += A[i*K+q] * B[q*N+j]; C[i*N+j] = s; } }",
	};

	for (size_t i = 0; i < 6 * KL_ARRAY_SIZE(bodies); i++) {
		KL_AUTO(json_decrefp) json_t *live = judged_live(bodies[i / 6], 0);

		assert_string_equal(class_of(live), "nondeterministic");
	}
}

/* What needs more than one call, or a look at the inputs, has no seed; a note says so. */
static void some_failures_have_no_seed(void **state)
{
	static const struct {
		const char *body, *class;
	} t[] = {
		{ GEMM "{ static int n;" PLAIN "if (n++ > 0) C[20 * N + 20] += 1; }",
		  "nondeterministic" },
		{ GEMM "{ for (;;) ; }", "hang" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(t); i++) {
		KL_AUTO(json_decrefp) json_t *live = judged_live(t[i].body, 0);
		const json_t *notes = json_object_get(json_object_get(live, "correct"), "notes");

		assert_string_equal(class_of(live), t[i].class);
		assert_null(json_object_get(failure_of(live), "seed"));
		/* and nothing of the inputs, which the next candidate gets as well */
		assert_null(json_object_get(failure_of(live), "got"));
		assert_null(json_object_get(failure_of(live), "wanted"));
		assert_null(json_object_get(failure_of(live), "index"));
		if (i == 0)
			assert_contains(kl_json_str_or(live, "message", ""),
					"C[...,...] is ..., wanted ...: ");
		assert_non_null(
			strstr(json_string_value(json_array_get(notes, json_array_size(notes) - 1)),
			       "no seed to replay it"));
	}
}

static void inout_starts_from_the_member(void **state)
{
	/* clang-format off */
	static const struct kernel kernels[] = {
		{ "right", "void k(int64_t n, const float *x, float *y) { for (int64_t i = 0; i < n; i++) y[i] += x[i]; }",
		  "", 0, 0 },
		{ "untouched", "void k(int64_t n, const float *x, float *y) { }", "wrong-all", 0, 0 },
		{ "forgets", "void k(int64_t n, const float *x, float *y) { for (int64_t i = 0; i < n; i++) y[i] = x[i]; }",
		  "wrong-all", 0, 0 },
	};
	/* clang-format on */
	KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
	KL_AUTO(kl_pool_freep) struct kl_pool *other = NULL;
	struct kl_point *pt = fx_point(fixture, "case0", true);

	fx_arg(fixture, "n", KL_ARG_DIM, KL_I64, NULL);
	fx_arg(fixture, "x", KL_ARG_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
	fx_arg(fixture, "y", KL_ARG_INOUT, KL_F32, "{\"normal\":[0.0,1.0]}");
	pt->arg[0].value = 1000;
	fx_extent(pt, 1, 1, 1000, 0);
	fx_extent(pt, 2, 1, 1000, 0);
	fx_rule(fixture, KL_RULE_NOISE, 2);
	fx_oracle(fixture, "void oracle(int64_t n, const kl_real *x, kl_real *y)"
			   "{ for (int64_t i = 0; i < n; i++) y[i] += x[i]; }");
	assert_ok(kl_pool_open(&other, &fixture->job));
	for (size_t i = 0; i < 3; i++) {
		KL_AUTO(json_decrefp) json_t *record = json_object();

		fx_candidate(fixture, kernels[i].name, kernels[i].body);
		assert_ok(kl_stage_correct(record, &fixture->job, other));
		assert_string_equal(class_of(record), kernels[i].class);
	}
}

/* Zeros, where the contract promises them, are there in every call, and no answer of their own. */
static void zeros_are_there_where_they_are_promised(void **state)
{
	/* clang-format off */
	static const char adds[] =
		GEMM "{ for (int64_t i = 0; i < M; i++) for (int64_t q = 0; q < K; q++)"
		"for (int64_t j = 0; j < N; j++) C[i*N+j] += A[i*K+q] * B[q*N+j]; }";
	static const struct kernel kernels[] = {
		{ "idle", GEMM "{ }", "wrong-all", "case0", "still zero, as before the call" },
		{ "adds-half", GEMM "{ M /= 2; for (int64_t i = 0; i < M; i++) for (int64_t q = 0; q < K; q++)"
		  "for (int64_t j = 0; j < N; j++) C[i*N+j] += A[i*K+q] * B[q*N+j]; }",
		  "wrong-all", "case0", "C[32,0] is 0" },
		/* memory of its own is not zero */
		{ "heap", "#include <stddef.h>\nstruct { char *base; size_t size; } kl_rt_arena;\n"
		  GEMM "{ const float *own = (const float *)kl_rt_arena.base; for (int64_t i = 0; i < M; i++)"
		  "for (int64_t j = 0; j < N; j++) { float s = own[i*N+j];"
		  "for (int64_t q = 0; q < K; q++) s += A[i*K+q] * B[q*N+j]; C[i*N+j] = s; } }",
		  "wrong-all", "case0", "(nan)" },
	};
	/* clang-format on */
	KL_AUTO(json_decrefp) json_t *poisoned = judged("adds-to-poison", adds), *zeroed = NULL;

	assert_string_equal(class_of(poisoned), "wrong-all");
	f->job.arg[5].zeros = true;
	zeroed = judged("adds", adds);
	if (*class_of(zeroed))
		fail_msg("%s", kl_json_str_or(zeroed, "message", ""));
	for (size_t i = 0; i < KL_ARRAY_SIZE(kernels); i++)
		assert_refused(&kernels[i]);
	f->job.arg[5].zeros = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_kernels_are_refused),
		cmocka_unit_test(cheating_kernels_are_refused),
		cmocka_unit_test(slow_kernels_are_soaked_as_well),
		cmocka_unit_test(a_kernel_too_slow_to_be_soaked_is_not_judged),
		cmocka_unit_test(a_twin_left_alone_follows_its_draw),
		cmocka_unit_test(odd_kernels_pass),
		cmocka_unit_test(free_bits_where_the_contract_says_so),
		cmocka_unit_test(a_broken_image_is_no_verdict),
		cmocka_unit_test(a_failure_can_be_replayed),
		cmocka_unit_test(a_state_has_one_class),
		cmocka_unit_test(some_failures_have_no_seed),
		cmocka_unit_test(inout_starts_from_the_member),
		cmocka_unit_test(zeros_are_there_where_they_are_promised),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
