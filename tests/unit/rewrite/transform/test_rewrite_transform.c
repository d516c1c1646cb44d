/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "event/facts.h"
#include "rewrite/transform/transform.h"

/* what a transformation makes of `text`, whose function `kernel` has tensors; NULL: nothing */
static char *run(const char *use_text, const char *language, const char *text)
{
	static const char *const disjoint[] = { "kernel", NULL };
	struct kl_transform_use use;
	struct kl_transform_source source = {
		.text = text,
		.len = strlen(text),
		.disjoint = disjoint,
		.entries = disjoint,
		.threads = 128,
	};
	struct kl_buf out = KL_BUF_INIT;
	int err;

	assert_ok(kl_transform_parse(&use, use_text, language));
	err = kl_transform_apply(&out, &use, 0, &source);
	if (err) {
		assert_error(KL_ENO, "there is no ", err);
		kl_buf_release(&out);
		return NULL;
	}
	return kl_buf_detach(&out);
}

/* the body of a C function with the usual parameters */
#define KERNEL(body)                                                                               \
	"void kernel(int64_t m, int64_t n, int64_t k, const float *A, const float *B, float *C)\n" \
	"{\n" body "}\n"
#define HELPER(body)                                                                               \
	"void helper(int64_t m, int64_t n, int64_t k, const float *A, const float *B, float *C)\n" \
	"{\n" body "}\n"
#define SUM "\tfor (int64_t j = 0; j < n; j++)\n\t\ts += A[j] * B[j];\n"
#define MATMUL                                                    \
	"\tfor (int i = 0; i < m; ++i)\n"                         \
	"\t\tfor (int j = 0; j < n; ++j) {\n"                     \
	"\t\t\tfloat s = 0;\n\t\t\tfor (int p = 0; p < k; ++p)\n" \
	"\t\t\t\ts += A[i*k+p]*B[p*n+j];\n\t\t\tC[i*n+j] = s;\n\t\t}\n"

/* `want` NULL: there is nothing to transform */
static void check(const char *use, const char *text, const char *want)
{
	KL_AUTO(kl_freep) char *got = run(use, "c", text);
	KL_AUTO(kl_freep) char *again = NULL;

	if (!want) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_string_equal(got, want);
	again = run(use, "c", got); /* it does not offer itself where it is done */
	assert_null(again);
}

static void test_sums(void **state)
{
	check("unroll factor=2", KERNEL("\tfloat s = 0;\n" SUM "\tC[0] = s;\n"),
	      KERNEL("\tfloat s = 0;\n\tfloat s_1 = 0;\n"
		     "\tfor (int64_t j = 0; j + 2 <= n; j += 2) {\n"
		     "\t\ts += A[j] * B[j];\n\t\ts_1 += A[j + 1] * B[j + 1];\n\t}\n"
		     "\ts += s_1;\n\tfor (int64_t j = n / 2 * 2; j < n; j++)\n"
		     "\t\ts += A[j] * B[j];\n\tC[0] = s;\n"));
	check("vector-loop vectors=1", KERNEL("\tfloat s = 0;\n" SUM "\tC[0] = s;\n"),
	      KERNEL("\tfloat s = 0;\n\ttypedef float float_x8 "
		     "__attribute__((vector_size(32), aligned(4), may_alias));\n"
		     "\tfloat_x8 s_0 = { 0 };\n\tfor (int64_t j = 0; j + 8 <= n; j += 8) {\n"
		     "\t\ts_0 += (*(const float_x8 *)&A[j]) * (*(const float_x8 *)&B[j]);\n\t}\n"
		     "\tfor (int lane_0 = 0; lane_0 < 8; lane_0++)\n\t\ts += s_0[lane_0];\n"
		     "\tfor (int64_t j = n / 8 * 8; j < n; j++)\n\t\ts += A[j] * B[j];\n"
		     "\tC[0] = s;\n"));
}

static void test_two_sums(void **state)
{
	KL_AUTO(kl_freep) char *got = run("unroll factor=2", "c",
					  KERNEL("\tfloat s = 0;\n" SUM SUM "\tC[0] = s;\n"));

	assert_contains(got, "float s_1 = 0;");
	assert_contains(got, "float s_17 = 0;");
}

static void test_sum_in_memory(void **state)
{
	check("unroll factor=2", KERNEL("\tfor (int j = 0; j < n; j++)\n\t\tC[k] += A[j];\n"),
	      KERNEL("\tif (n > 0) {\n\t\tfloat C_0 = C[k];\n\t\tfloat C_0_1 = 0;\n"
		     "\t\tfor (int j = 0; j + 2 <= n; j += 2) {\n\t\t\tC_0 += A[j];\n"
		     "\t\t\tC_0_1 += A[j + 1];\n\t\t}\n\t\tC_0 += C_0_1;\n"
		     "\t\tfor (int j = n / 2 * 2; j < n; j++)\n\t\t\tC_0 += A[j];\n"
		     "\t\tC[k] = C_0;\n\t}\n"));
}

static void test_jam(void **state)
{
	check("unroll-jam factor=2", KERNEL(MATMUL),
	      KERNEL("\tfor (int i = 0; i < m; ++i) {\n"
		     "\t\tfor (int j = 0; j + 2 <= n; j += 2) {\n"
		     "\t\t\tfloat s = 0;\n\t\t\tfloat s_1 = 0;\n"
		     "\t\t\tfor (int p = 0; p < k; ++p) {\n"
		     "\t\t\t\ts += A[i*k+p]*B[p*n+j];\n\t\t\t\ts_1 += A[i*k+p]*B[p*n+j + 1];\n"
		     "\t\t\t}\n\t\t\tC[i*n+j] = s;\n\t\t\tC[i*n+j + 1] = s_1;\n\t\t}\n"
		     "\t\tfor (int j = n / 2 * 2; j < n; j++) {\n\t\t\tfloat s = 0;\n"
		     "\t\t\tfor (int p = 0; p < k; ++p)\n\t\t\t\ts += A[i*k+p]*B[p*n+j];\n"
		     "\t\t\tC[i*n+j] = s;\n\t\t}\n\t}\n"));
}

/* counters that the function declares at its beginning, and a loop that threads share */
static void test_jam_of_older_code(void **state)
{
#define ROWS                                                                         \
	"\t\tfloat s = 0;\n\t\tfor (j = 0; j < n; j++)\n\t\t\ts += A[i*n+j]*B[j];\n" \
	"\t\tC[i] = s;\n"
#define JAMMED                                                                                 \
	"\t\tfloat s = 0;\n\t\tfloat s_1 = 0;\n\t\tfor (j = 0; j < n; j++) {\n"                \
	"\t\t\ts += A[i*n+j]*B[j];\n\t\t\ts_1 += A[(i + 1)*n+j]*B[j];\n\t\t}\n\t\tC[i] = s;\n" \
	"\t\tC[i + 1] = s_1;\n\t}\n"
	check("unroll-jam factor=2",
	      KERNEL("\tint i, j;\n\tfor (i = 0; i < m; i++) {\n" ROWS "\t}\n"),
	      KERNEL("\tint i, j;\n\tfor (i = 0; i + 2 <= m; i += 2) {\n" JAMMED
		     "\tfor (; i < m; i++) {\n" ROWS "\t}\n"));
	check("unroll-jam factor=2",
	      KERNEL("\tint i, j;\n\t#pragma omp parallel for private(i, j)\n"
		     "\tfor (i = 0; i < m; i++) {\n" ROWS "\t}\n"),
	      KERNEL("\tint i, j;\n\t#pragma omp parallel for private(i, j)\n"
		     "\tfor (i = 0; i < m / 2 * 2; i += 2) {\n" JAMMED
		     "\tfor (i = m / 2 * 2; i < m; i++) {\n" ROWS "\t}\n"));
	/* the counter is used after its loop; the directive counts the rounds of two loops */
	check("unroll-jam factor=2",
	      KERNEL("\tint i, j;\n\tfor (i = 0; i < m; i++) {\n" ROWS "\t}\n\tC[j] = 0;\n"), NULL);
	check("unroll-jam factor=2",
	      KERNEL("\tint i, j;\n\t#pragma omp parallel for collapse(2)\n"
		     "\tfor (i = 0; i < m; i++) {\n" ROWS "\t}\n"),
	      NULL);
	check("unroll-jam factor=2",
	      KERNEL("\tint i, j;\n\tif (m)\n\t#pragma omp parallel for\n"
		     "\tfor (i = 0; i < m; i++) {\n" ROWS "\t}\n"),
	      NULL);
}

/* functions that the kernel cannot reach stay as they are */
static void test_scope(void **state)
{
#define FN(name, body)                                                                           \
	"static float " name "(int n, const float *A, const float *B)\n{\n\tfloat s = 0;\n" body \
	"\treturn s;\n}\n"
#define DONE                                                                                     \
	"\tfloat s_1 = 0;\n\tfor (int64_t j = 0; j + 2 <= n; j += 2) {\n\t\ts += A[j] * B[j];\n" \
	"\t\ts_1 += A[j + 1] * B[j + 1];\n\t}\n\ts += s_1;\n"                                    \
	"\tfor (int64_t j = n / 2 * 2; j < n; j++)\n\t\ts += A[j] * B[j];\n"
#define CALL KERNEL("\tC[0] = dot(n, A, B);\n")
	static const char other[] = FN("other", SUM) CALL;

	check("unroll factor=2", FN("other", SUM) FN("dot", SUM) CALL,
	      FN("other", SUM) FN("dot", DONE) CALL);
	check("unroll factor=2", other, NULL);
	/* by a macro, by a table of functions, and where the source does not have the kernel */
	check("unroll factor=2", "#define dot other\n" FN("other", SUM) CALL,
	      "#define dot other\n" FN("other", DONE) CALL);
	check("unroll factor=2",
	      FN("other",
		 SUM) "float (*const dot)(int, const float *, const float *) = other;\n" CALL,
	      FN("other",
		 DONE) "float (*const dot)(int, const float *, const float *) = other;\n" CALL);
	check("unroll factor=2", "static float other(int);\n" FN("other", SUM) CALL, NULL);
	check("unroll factor=2", FN("dot", SUM), FN("dot", DONE));
}

static void test_nest(void **state)
{
	check("interchange", KERNEL(MATMUL),
	      KERNEL("\tfor (int i = 0; i < m; ++i) {\n\t\tfor (int j = 0; j < n; ++j)\n"
		     "\t\t\tC[i*n+j] = 0;\n\t\tfor (int p = 0; p < k; ++p) {\n"
		     "\t\t\tfor (int j = 0; j < n; ++j)\n"
		     "\t\t\t\tC[i*n+j] += A[i*k+p]*B[p*n+j];\n\t\t}\n\t}\n"));
	check("cache-block size=64", KERNEL(MATMUL),
	      KERNEL("\tfor (int j_0 = 0; j_0 < n; j_0 += 64) {\n"
		     "\t\tconst int j_1 = j_0 + 64 < n ? j_0 + 64 : n;\n"
		     "\t\tfor (int i = 0; i < m; ++i)\n"
		     "\t\t\tfor (int j = j_0; j < j_1; j++) {\n\t\t\t\tfloat s = 0;\n"
		     "\t\t\t\tfor (int p = 0; p < k; ++p)\n"
		     "\t\t\t\t\ts += A[i*k+p]*B[p*n+j];\n\t\t\t\tC[i*n+j] = s;\n\t\t\t}\n\t}\n"));
	check("pack", KERNEL(MATMUL),
	      KERNEL("\tfloat *B_packed = n > 0 && k > 0 ?\n"
		     "\t\t(float *)__builtin_malloc((unsigned long)n * (unsigned long)k * "
		     "sizeof(float)) : 0;\n\tif (B_packed) {\n"
		     "\t\tfor (int p = 0; p < k; p++)\n\t\t\tfor (int j = 0; j < n; j++)\n"
		     "\t\t\t\tB_packed[j * k + p] = B[p*n+j];\n"
		     "\t\tfor (int i = 0; i < m; ++i)\n\t\t\tfor (int j = 0; j < n; ++j) {\n"
		     "\t\t\t\tfloat s = 0;\n\t\t\t\tfor (int p = 0; p < k; ++p)\n"
		     "\t\t\t\t\ts += A[i*k+p]*B_packed[j * k + p];\n\t\t\t\tC[i*n+j] = s;\n"
		     "\t\t\t}\n\t\t__builtin_free(B_packed);\n\t} else {\n"
		     "\t\tfor (int i = 0; i < m; ++i)\n\t\t\tfor (int j = 0; j < n; ++j) {\n"
		     "\t\t\t\tfloat s = 0;\n\t\t\t\tfor (int p = 0; p < k; ++p)\n"
		     "\t\t\t\t\ts += A[i*k+p]*B[p*n+j];\n\t\t\t\tC[i*n+j] = s;\n\t\t\t}\n\t}\n"));
	check("prefetch distance=8", KERNEL(MATMUL),
	      KERNEL("\tfor (int i = 0; i < m; ++i)\n\t\tfor (int j = 0; j < n; ++j) {\n"
		     "\t\t\tfloat s = 0;\n\t\t\tfor (int p = 0; p < k; ++p) {\n"
		     "\t\t\t\t__builtin_prefetch(&B[(p + 8)*n+j]);\n"
		     "\t\t\t\ts += A[i*k+p]*B[p*n+j];\n\t\t\t}\n\t\t\tC[i*n+j] = s;\n\t\t}\n"));
}

static void test_elements(void **state)
{
	check("hoist", KERNEL("\tfor (int j = 0; j < n; j++)\n\t\tC[k] += A[j];\n"),
	      KERNEL("\tif (n > 0) {\n\t\tfloat C_0 = C[k];\n\t\tfor (int j = 0; j < n; j++)\n"
		     "\t\t\tC_0 += A[j];\n\t\tC[k] = C_0;\n\t}\n"));
	check("vector-loop vectors=1",
	      KERNEL("\tfor (int j = 0; j < n; j++)\n\t\tC[j] = A[j]/B[j] + 2.0f * A[0];\n"),
	      KERNEL("\ttypedef float float_x8 "
		     "__attribute__((vector_size(32), aligned(4), may_alias));\n"
		     "\tfor (int j = 0; j + 8 <= n; j += 8) {\n\t\t*(float_x8 *)&C[j] = "
		     "(*(const float_x8 *)&A[j])/(*(const float_x8 *)&B[j]) + 2.0f * A[0];\n\t}\n"
		     "\tfor (int j = n / 8 * 8; j < n; j++)\n"
		     "\t\tC[j] = A[j]/B[j] + 2.0f * A[0];\n"));
	/* allocated memory overlaps nothing else, as long as the pointer stays */
	check("ivdep",
	      HELPER("\tfloat *t = malloc(n * sizeof(*t));\n\tfor (int j = 0; j < n; j++)\n"
		     "\t\tt[j] = A[j];\n"),
	      HELPER("\tfloat *t = malloc(n * sizeof(*t));\n\t#pragma GCC ivdep\n"
		     "\tfor (int j = 0; j < n; j++)\n\t\tt[j] = A[j];\n"));
	check("ivdep",
	      HELPER("\tfloat *t = malloc(n * sizeof(*t));\n\tt = C;\n"
		     "\tfor (int j = 0; j < n; j++)\n\t\tt[j] = A[j];\n"),
	      NULL);
	check("ivdep", KERNEL("\tfor (int j = 0; j < n; j++)\n\t\tC[j] += A[j];\n"),
	      KERNEL("\t#pragma GCC ivdep\n\tfor (int j = 0; j < n; j++)\n\t\tC[j] += A[j];\n"));
}

/* rows of one matrix: what unroll-jam leaves can still be computed by vectors */
static void test_rows(void **state)
{
	check("vector-loop vectors=1",
	      KERNEL("\tfor (int j = 0; j < n; j++) {\n\t\tC[k*n + j] += A[k] * B[j];\n"
		     "\t\tC[(k + 1)*n + j] += A[k + 1] * B[j];\n\t}\n"),
	      KERNEL("\ttypedef float float_x8 "
		     "__attribute__((vector_size(32), aligned(4), may_alias));\n"
		     "\tfor (int j = 0; j + 8 <= n; j += 8) {\n"
		     "\t\t*(float_x8 *)&C[k*n + j] += A[k] * (*(const float_x8 *)&B[j]);\n"
		     "\t\t*(float_x8 *)&C[(k + 1)*n + j] += "
		     "A[k + 1] * (*(const float_x8 *)&B[j]);\n\t}\n"
		     "\tfor (int j = n / 8 * 8; j < n; j++) {\n\t\tC[k*n + j] += A[k] * B[j];\n"
		     "\t\tC[(k + 1)*n + j] += A[k + 1] * B[j];\n\t}\n"));
}

static void test_restrict(void **state)
{
#define LOOP "{\n\twhile (n--)\n\t\ty[n] = x[n] * z[0];\n}\n"
	check("restrict", "void kernel(int n, const float *x, float* y, float *restrict z)\n" LOOP,
	      "void kernel(int n, const float *restrict x, float* restrict y, float *restrict z)\n" LOOP);
#define HEAD "void kernel(int n, const float *"
#define CHOICE                                                              \
	"{\n\tint h = 0;\n\twhile (n--)\n\t\tif (x[n] < 0) {\n\t\t\th++;\n" \
	"\t\t} else {\n\t\t\ty[n] = x[n];\n\t\t}\n}\n"
	check("restrict", HEAD "x, float *y)\n" CHOICE,
	      HEAD "restrict x, float *restrict y)\n" CHOICE);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *use, *text;
	} row[] = {
		/* one pointer, no contract for the function, and a write outside of loops */
		{ "restrict",
		  "void kernel(int n, float *x)\n{\n\twhile (n--)\n\t\tx[n] = 0;\n}\n" },
		{ "restrict", HELPER("\twhile (n--)\n\t\tC[n] = A[n];\n") },
		{ "restrict", KERNEL("\tint h = 1;\n\tfor (int j = 0; j < n; j++)\n"
				     "\t\th = h * 31 + (int)A[j];\n\tC[0] = h;\n") },
		/* a round needs the one before */
		{ "vector-loop vectors=1", KERNEL("\tfor (int j = 1; j < n; j++)\n"
						  "\t\tC[j] = C[j - 1] + A[j];\n") },
		{ "ivdep", KERNEL("\tfor (int j = 1; j < n; j++)\n\t\tC[j] = C[j - 1];\n") },
		/* rows that are shorter than the loop, a part of a row apart, or of unknown length */
		{ "vector-loop vectors=1", KERNEL("\tfor (int j = 0; j < n; j++) {\n"
						  "\t\tC[k*m + j] = A[j];\n"
						  "\t\tC[(k + 1)*m + j] = B[j];\n\t}\n") },
		{ "vector-loop vectors=1", KERNEL("\tfor (int j = 0; j < 2 * n; j++) {\n"
						  "\t\tC[k*n + j] = A[j];\n"
						  "\t\tC[(k + 1)*n + j] = B[j];\n\t}\n") },
		{ "vector-loop vectors=1", KERNEL("\tfor (int j = 0; j < n; j++) {\n"
						  "\t\tC[k*n + j] = A[j];\n"
						  "\t\tC[k*n + j + 1] = B[j];\n\t}\n") },
		{ "vector-loop vectors=1", KERNEL("\tfor (int j = 1; j < n; j++) {\n"
						  "\t\tC[k*n + j] = A[j];\n"
						  "\t\tC[(k + 1)*n + j] = B[j];\n\t}\n") },
		{ "ivdep", KERNEL("\tint h = 1;\n\th <<= 1;\n\tfor (int j = 0; j < n; j++)\n"
				  "\t\tC[j + h] = C[j + 1] + A[j];\n") },
		{ "unroll factor=2", KERNEL("\tfloat s = 0;\n\tfor (int j = 0; j < n; j++)\n"
					    "\t\ts += A[j] * s;\n\tC[0] = s;\n") },
		/* integers gain nothing; other updates are no sum */
		{ "unroll factor=2", KERNEL("\tint h = 0;\n\tfor (int j = 0; j < n; j++)\n"
					    "\t\th += j;\n\tC[0] = h;\n") },
		{ "unroll factor=2", KERNEL("\tfloat h = 0;\n\tfor (int j = 0; j < n; j++)\n"
					    "\t\th = h * 31 + A[j];\n\tC[0] = h;\n") },
		/* pointers that may overlap */
		{ "vector-loop vectors=1",
		  HELPER("\tfor (int j = 0; j < n; j++)\n\t\tC[j] = A[j];\n") },
		{ "hoist", HELPER("\tfor (int j = 0; j < n; j++)\n\t\tC[j] = A[j] * B[0];\n") },
		{ "interchange", HELPER(MATMUL) },
		{ "unroll-jam factor=2", HELPER(MATMUL) },
		{ "cache-block size=64", HELPER(MATMUL) },
		{ "pack", HELPER(MATMUL) },
		/* each round of the outermost loop reads others, bounds that change, and a write */
		{ "pack", KERNEL("\tfor (int i = 0; i < m; ++i)\n\t\tfor (int j = 0; j < n; ++j)\n"
				 "\t\t\tfor (int p = 0; p < k; ++p)\n"
				 "\t\t\t\tC[i*n+j] += A[i*k+p]*B[p*n+j+i];\n") },
		{ "pack", KERNEL("\tfor (int i = 0; i < m; ++i)\n\t\tfor (int j = 0; j < n; ++j)\n"
				 "\t\t\tfor (int p = 0; p < i; ++p)\n"
				 "\t\t\t\tC[i*n+j] += A[i*k+p]*B[p*n+j];\n") },
		{ "pack", KERNEL("\tfor (int j = 0; j < n; ++j)\n\t\tfor (int p = 0; p < k; ++p)\n"
				 "\t\t\tC[j] += B[p*n+j];\n") },
		/* the sum is used elsewhere; elements of two types; a stride; a call; a condition */
		{ "interchange",
		  KERNEL("\tfloat s, t = 0;\n\tfor (int j = 0; j < n; ++j) {\n\t\ts = 0;\n"
			 "\t\tfor (int p = 0; p < k; ++p)\n\t\t\ts += B[p*n+j];\n"
			 "\t\tC[j] = s;\n\t\tt = s;\n\t}\n\tC[0] = t;\n") },
		{ "vector-loop vectors=1", KERNEL("\tdouble s = 0;\n" SUM "\tC[0] = s;\n") },
		{ "vector-loop vectors=1",
		  KERNEL("\tfor (int j = 0; j < n; j++)\n\t\tC[j] = A[2 * j];\n") },
		{ "vector-loop vectors=1",
		  KERNEL("\tfor (int j = 0; j < n; j++)\n\t\tC[j] = sqrtf(A[j]);\n") },
		{ "vector-loop vectors=1",
		  KERNEL("\tfor (int j = 0; j < n; j++)\n\t\tC[j] = A[j] * 2.0;\n") },
		{ "vector-loop vectors=1",
		  KERNEL("\tfor (int j = 0; j < n; j++)\n\t\tif (A[j] > 0)\n\t\t\tC[j] = A[j];\n") },
		{ "vector-loop vectors=1",
		  "void kernel(int n, const int *x, int *y)\n{\n"
		  "\tfor (int j = 0; j < n; j++)\n\t\ty[j] = x[j] + j;\n}\n" },
		/* along the right axis already */
		{ "interchange", KERNEL("\tfor (int i = 0; i < m; i++) {\n\t\tfloat s = 0;\n"
					"\t\tfor (int j = 0; j < n; j++)\n"
					"\t\t\ts += A[i * n + j] * B[j];\n\t\tC[i] = s;\n\t}\n") },
		/* rounds of the outer loop write the same elements in another order */
		{ "unroll-jam factor=2",
		  KERNEL("\tfor (int i = 0; i < m; i++)\n\t\tfor (int j = 0; j < n; j++)\n"
			 "\t\t\tC[i + j] += A[i] * B[j];\n") },
		{ "interchange",
		  KERNEL("\tfor (int i = 0; i < m; i++)\n\t\tfor (int j = 0; j < n; j++)\n"
			 "\t\t\tC[i + j] = A[j * m + i];\n") },
		/* someone else has unrolled it, or says how */
		{ "unroll factor=2", KERNEL("\tfloat s = 0;\n\t#pragma GCC unroll 4\n" SUM) },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		KL_AUTO(kl_freep) char *got = run(row[i].use, "c", row[i].text);

		if (got)
			fail_msg("row %zu: %s gave:\n%s", i, row[i].use, got);
	}
}

static void test_cuda(void **state)
{
	static const char text[] = "__global__ void kernel(int n, const float *x, float *y)\n{\n"
				   "\tfloat s = 0;\n\tfor (int j = 0; j < n; j++)\n\t\ts += x[j];\n"
				   "\tfor (int j = 0; j < n; j++)\n\t\ty[j] = s;\n}\n";
	KL_AUTO(kl_freep) char *bounds = run("launch-bounds", "cuda", text);
	KL_AUTO(kl_freep) char *pragma = run("pragma-unroll factor=8", "cuda", text);
	KL_AUTO(kl_freep) char *restricted = run("restrict", "cuda", text);
	KL_AUTO(kl_freep) char *unrolled = run("unroll factor=4", "cuda", text);
	KL_AUTO(kl_freep) char *again = run("launch-bounds", "cuda", bounds);
	KL_AUTO(kl_freep) char *twice = run("pragma-unroll factor=8", "cuda", pragma);

	assert_contains(bounds, "__global__ void __launch_bounds__(128) kernel(");
	assert_contains(pragma, "\t#pragma unroll 8\n\tfor (int j = 0;");
	assert_contains(restricted, "const float *__restrict__ x, float *__restrict__ y");
	assert_contains(unrolled, "s += (s_1 + s_2) + s_3;");
	assert_null(again);
	assert_null(twice);
}

static void test_texts(void **state)
{
	static const struct {
		const char *text, *language, *error;
	} bad[] = {
		{ "", "c", "is not a transformation for c: use one of restrict, unroll" },
		{ "rm -rf", "c", "'rm' is not a transformation for c" },
		{ "vector-loop vectors=2", "cuda", "is not a transformation for cuda" },
		{ "unroll factor=2", "triton", "there are no transformations for 'triton'" },
		{ "unroll", "c", "'unroll' must be followed by 'factor=' and its values" },
		{ "unroll factor=1", "c", "factor must be from 2 to 16" },
		{ "unroll factor=99999999999999999999", "c", "factor must be from 2 to 16" },
		{ "unroll factor=2,", "c", "factor must be from 2 to 16" },
		{ "unroll factor=2,3,4,5,6,7,8,9,10", "c", "more than 8 values of factor" },
		{ "unroll factor=2 x", "c", "unexpected ' x' after the values" },
		{ "hoist factor=2", "c", "'hoist' has no parameter" },
	};
	struct kl_transform_use use;
	KL_AUTO(kl_freep) char *name = NULL;

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_error(KL_EINVALID, bad[i].error,
			     kl_transform_parse(&use, bad[i].text, bad[i].language));
	assert_ok(kl_transform_parse(&use, "unroll factor=4,8\n", "c"));
	assert_int_equal(kl_transform_variants(&use), 2);
	name = kl_transform_name(&use, 1);
	assert_string_equal(name, "unroll factor=8");
	assert_ok(kl_transform_parse(&use, "hoist\n", "c"));
	assert_int_equal(kl_transform_variants(&use), 1);
}

static void test_large(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	struct kl_transform_source source = { 0 };
	struct kl_transform_use use;

	while (text.len <= 128u << 10)
		kl_buf_adds(&text, KERNEL("\tfloat s = 0;\n" SUM "\tC[0] = s;\n"));
	source.text = text.ptr;
	source.len = text.len;
	assert_ok(kl_transform_parse(&use, "unroll factor=2", "c"));
	assert_error(KL_ENO, "more than 131072 bytes", kl_transform_apply(&out, &use, 0, &source));
}

static void test_mechanisms(void **state)
{
	struct kl_mechanisms mechanisms;
	size_t n = 0;

	assert_ok(kl_mechanisms_load_shipped(&mechanisms));
	for (size_t i = 0; i < mechanisms.n; i++)
		for (size_t k = 0; k < mechanisms.m[i].transform.n; k++, n++) {
			struct kl_transform_use use;

			assert_ok(kl_transform_parse(&use, mechanisms.m[i].transform.v[k].use,
						     mechanisms.m[i].transform.v[k].language));
		}
	assert_true(n >= 14);
	kl_mechanisms_release(&mechanisms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scope),
		cmocka_unit_test(test_sum_in_memory),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_two_sums),
		cmocka_unit_test(test_jam),
		cmocka_unit_test(test_jam_of_older_code),
		cmocka_unit_test(test_nest),
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_restrict),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_cuda),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_mechanisms),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
