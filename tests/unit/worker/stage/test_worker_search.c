/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that are right wherever the contract looks, and wrong elsewhere in its domain: each must be
 * refused in every session, and right ones in none.
 */
#include "worker_fixture.h"

#include "worker/pool/drawn.h"

#define GEMM "void k(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)\n"
#define SUM(type, a, b, into)                                                     \
	"for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { " type \
	" s = 0; for (int64_t q = 0; q < K; q++) s += (" type ")" a " * " b "; " into " }\n"
#define RIGHT(into) SUM("float", "A[i*K+q]", "B[q*N+j]", into)
#define LISTED "(M == 64 && N == 64 && K == 64 || M == 1 && N == 1 && K == 1 || M == 17 && N == 19)"
#define SESSIONS 4

static struct fixture *f;

static int setup(void **state)
{
	f = fx_gemm();
	fx_search(f, "[\"M >= 1\",\"N >= 1\",\"K >= 1\",\"M <= 128 && N <= 128 && K <= 128\"]");
	f->job.call_ms = 2000;
	return 0;
}

static int teardown(void **state)
{
	fx_free(f);
	return 0;
}

/* Judge the candidate in a session of its own. */
static json_t *judged(const char *name, const char *body)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(kl_freep) char *index = kl_fs_join(f->job.pool, "index.json");
	json_t *result = json_object();

	fx_candidate(f, name, body);
	assert_ok(kl_fs_remove(index)); /* another session has another pool */
	assert_ok(kl_pool_open(&pool, &f->job));
	assert_ok(kl_stage_correct(result, &f->job, pool));
	return result;
}

struct kernel {
	const char *name, *body, *class, *band;
};

static void refused_everywhere(const struct kernel *kernels, size_t n)
{
	for (size_t i = 0; i < n * SESSIONS; i++) {
		const struct kernel *kernel = &kernels[i / SESSIONS];
		KL_AUTO(json_decrefp) json_t *result = judged(kernel->name, kernel->body);
		const json_t *failure = json_object_get(json_object_get(result, "correct"),
							"failure");
		const char *band = kl_json_str_or(failure, "band", "");

		if (strcmp(kl_json_str_or(result, "class", ""), kernel->class) ||
		    (kernel->band && !strstr(kernel->band, band)))
			fail_msg("%s: '%s' in band '%s', %s", kernel->name,
				 kl_json_str_or(result, "class", ""), band,
				 kl_json_str_or(result, "message", ""));
		/* the failure has a seed of its own, and it has shown itself under it */
		if (!*kl_json_str_or(failure, "seed", ""))
			fail_msg("%s: no seed: %s", kernel->name,
				 kl_json_str_or(result, "message", ""));
	}
}

static void other_shapes_are_asked(void **state)
{
	/* clang-format off */
	static const struct kernel kernels[] = {
		{ "unlisted", GEMM "{" RIGHT("C[i*N+j] = " LISTED " ? s : 0;") "}", "wrong-edge", "noise" },
		{ "tails", GEMM "{ int64_t full = N == 64 || N == 1 || N == 19 ? N : N & ~(int64_t)7;"
		  RIGHT("C[i*N+j] = j < full ? s : 0;") "}", "wrong-edge", "noise" },
		{ "deep", GEMM "{ int64_t k = K; if (K > 64) K = 64;"
		  "for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { float s = 0;"
		  "for (int64_t q = 0; q < K; q++) s += A[i*k+q] * B[q*N+j]; C[i*N+j] = s; } }", "wrong-edge", NULL },
	};
	/* clang-format on */

	refused_everywhere(kernels, sizeof(kernels) / sizeof(*kernels));
}

static void other_values_are_asked(void **state)
{
	/* clang-format off */
	static const struct kernel kernels[] = {
		{ "clipped", "static float c(float x) { return x > 1e12f ? 1e12f : x < -1e12f ? -1e12f : x; }\n"
		  GEMM "{" SUM("float", "c(A[i*K+q])", "c(B[q*N+j])", "C[i*N+j] = s;") "}",
		  "wrong-all", NULL },
		{ "flushed", "static float c(float x) { return x < 1e-12f && x > -1e-12f ? 0 : x; }\n"
		  GEMM "{" SUM("float", "c(A[i*K+q])", "c(B[q*N+j])", "C[i*N+j] = s;") "}",
		  "wrong-all", "small denormal" },
		{ "denormals", "static float c(float x) { return x < 0x1p-126f && x > -0x1p-126f ? 0 : x; }\n"
		  GEMM "{" SUM("float", "c(A[i*K+q])", "c(B[q*N+j])", "C[i*N+j] = s;") "}",
		  "wrong-all", "small denormal" },
		{ "swallowed", "static float c(float x) { return x != x ? 0 : x; }\n"
		  GEMM "{" SUM("float", "c(A[i*K+q])", "c(B[q*N+j])", "C[i*N+j] = s;") "}", "wrong-all", "nan" },
		{ "cut", "static float c(float x) { return x > 3.4e38f ? 3.4e38f : x < -3.4e38f ? -3.4e38f : x; }\n"
		  GEMM "{" SUM("float", "c(A[i*K+q])", "c(B[q*N+j])", "C[i*N+j] = s;") "}", "wrong-all", "inf" },
		/* 31 bits and one exponent for each matrix */
		{ "block", "static int32_t a[128 * 128], b[128 * 128];\n"
		  "static int shared(int32_t *to, const float *x, int64_t n) { float most = 0; int e;"
		  "for (int64_t i = 0; i < n; i++) { if (!(fabsf(x[i]) < INFINITY)) return 9999;"
		  "if (fabsf(x[i]) > most) most = fabsf(x[i]); } frexpf(most, &e);"
		  "for (int64_t i = 0; i < n; i++) to[i] = (int32_t)ldexp(x[i], 30 - e); return e - 30; }\n"
		  GEMM "{ int e = shared(a, A, M * K), d = shared(b, B, K * N); if (e > 999 || d > 999) {"
		  RIGHT("C[i*N+j] = s;") "return; }"
		  "for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { __int128 s = 0;"
		  "for (int64_t q = 0; q < K; q++) s += (int64_t)a[i*K+q] * b[q*N+j];"
		  "C[i*N+j] = (float)ldexp((double)s, e + d); } }", "wrong-all", "graded-M graded-N wide" },
	};
	/* clang-format on */

	refused_everywhere(kernels, sizeof(kernels) / sizeof(*kernels));
}

#define STALE(what)                                                         \
	"static int64_t used;\n" GEMM                                       \
	"{ int64_t now = M * N * K; int stale = now < used && !" LISTED ";" \
	"if (now > used) used = now;" RIGHT(what) "}"

/* Wrong only after a call at a larger point: a state. */
static void points_are_asked_after_larger_ones(void **state)
{
	static const struct kernel kernels[] = { { "stale", STALE("C[i*N+j] = stale ? s + 1 : s;"),
						   "nondeterministic", NULL } };

	refused_everywhere(kernels, sizeof(kernels) / sizeof(*kernels));
}

static void right_kernels_pass(void **state)
{
	/* clang-format off */
	static const struct kernel kernels[] = {
		{ "plain", GEMM "{" RIGHT("C[i*N+j] = s;") "}", "", NULL },
		{ "double", GEMM "{" SUM("double", "A[i*K+q]", "B[q*N+j]", "C[i*N+j] = (float)s;") "}", "", NULL },
		{ "backwards", GEMM "{ for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { float s = 0;"
		  "for (int64_t q = K; q-- > 0;) s += A[i*K+q] * B[q*N+j]; C[i*N+j] = s; } }", "", NULL },
		{ "split", GEMM "{ for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { float s[8] = { 0 };"
		  "for (int64_t q = 0; q < K; q++) s[q % 8] += A[i*K+q] * B[q*N+j];"
		  "C[i*N+j] = s[0]+s[1]+s[2]+s[3]+(s[4]+s[5])+(s[6]+s[7]); } }", "", NULL },
		/* a compensated sum makes NaN of infinities */
		{ "kahan", GEMM "{ for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { float s = 0, lost = 0;"
		  "for (int64_t q = 0; q < K; q++) { float t = A[i*K+q] * B[q*N+j] - lost; volatile float n = s + t;"
		  "lost = (n - s) - t; s = n; } C[i*N+j] = s; } }", "", NULL },
		/* padding is multiplied by zero */
		{ "padded", "static float a[128 * 128], b[128 * 128];\n"
		  GEMM "{ int64_t k = (K + 15) & ~15; memset(a, 0, sizeof(a)); memset(b, 0, sizeof(b));"
		  "for (int64_t i = 0; i < M; i++) memcpy(a + i * k, A + i * K, K * 4); memcpy(b, B, K * N * 4);"
		  "for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { float s = 0;"
		  "for (int64_t q = 0; q < k; q++) s += a[i*k+q] * b[q*N+j]; C[i*N+j] = s; } }", "", NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < 8 * sizeof(kernels) / sizeof(*kernels); i++) {
		const struct kernel *kernel = &kernels[i / 8];
		KL_AUTO(json_decrefp) json_t *result = judged(kernel->name, kernel->body);
		const json_t *correct = json_object_get(result, "correct");

		if (*kl_json_str_or(result, "class", ""))
			fail_msg("%s: %s", kernel->name, kl_json_str_or(result, "message", ""));
		assert_int_equal(kl_json_int_or(correct, "drawn_points", 0), 6);
		assert_true(kl_json_int_or(correct, "drawn_values", 0) >= 14);
	}
}

static void read_dims(struct kl_point *out, const json_t *dims)
{
	*out = (struct kl_point){ .drawn = true };
	for (size_t i = 0; i < 3; i++)
		out->dim[i] = kl_json_int_or(dims, f->job.dim_name[i], -1);
}

/* Judge the candidate at the dims and under the seed of a failure; the failure must show again. */
static void replays(const json_t *first)
{
	KL_AUTO(json_decrefp) json_t *again = json_object();
	KL_AUTO(kl_drawn_release) struct kl_drawn drawn = { .job.npoint = 0 };
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	const json_t *failure = json_object_get(json_object_get(first, "correct"), "failure");
	const json_t *after = json_object_get(failure, "after");
	struct kl_point at, larger;
	const struct kl_point *of[2] = { &larger, &at };

	read_dims(&at, json_object_get(failure, "dims"));
	read_dims(&larger, after);
	assert_ok(kl_drawn_again(&drawn, &f->job, after ? of : of + 1, after ? 2 : 1));
	drawn.job.seed = strtoull(kl_json_str_or(failure, "seed", ""), NULL, 10);
	assert_ok(kl_pool_open(&pool, &drawn.job));
	assert_ok(kl_stage_correct(again, &drawn.job, pool));
	assert_string_equal(kl_json_str_or(first, "class", ""),
			    kl_json_str_or(again, "class", "-"));
	assert_true(
		json_equal(failure, json_object_get(json_object_get(again, "correct"), "failure")));
	assert_string_equal(kl_json_str_or(first, "message", ""),
			    kl_json_str_or(again, "message", "-"));
}

/* A failure at a drawn point shows itself again at its dims and seed, as the message says. */
static void a_failure_is_replayed(void **state)
{
	KL_AUTO(json_decrefp) json_t *first = judged("unlisted", GEMM "{" RIGHT("C[i*N+j] = " LISTED
										" ? s : 0;") "}");

	replays(first);
}

/*
 * So does one after a call at a larger point. What stood in the output before the call is shown, so
 * the replay must begin with the same two calls.
 */
static void a_failure_of_a_pair_is_replayed(void **state)
{
	KL_AUTO(json_decrefp) json_t *first = judged("stale", STALE("if (!stale) C[i*N+j] = s;"));

	assert_non_null(json_object_get(
		json_object_get(json_object_get(first, "correct"), "failure"), "after"));
	replays(first);
}

static void without_a_domain_only_values_are_drawn(void **state)
{
	struct kl_job_domain *domain = f->job.domain;
	KL_AUTO(json_decrefp) json_t *result = NULL;
	size_t n = domain->n;

	domain->n = 0;
	result = judged("unlisted", GEMM "{" RIGHT("C[i*N+j] = " LISTED " ? s : 0;") "}");
	domain->n = n;
	assert_string_equal(kl_json_str_or(result, "class", ""), "");
	assert_int_equal(kl_json_int_or(json_object_get(result, "correct"), "drawn_points", -1), 0);
	assert_true(kl_json_int_or(json_object_get(result, "correct"), "drawn_values", -1) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_shapes_are_asked),
		cmocka_unit_test(other_values_are_asked),
		cmocka_unit_test(points_are_asked_after_larger_ones),
		cmocka_unit_test(right_kernels_pass),
		cmocka_unit_test(a_failure_is_replayed),
		cmocka_unit_test(a_failure_of_a_pair_is_replayed),
		cmocka_unit_test(without_a_domain_only_values_are_drawn),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
