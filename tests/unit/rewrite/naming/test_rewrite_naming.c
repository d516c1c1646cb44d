/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/utf8.h"
#include "rewrite/naming/naming.h"

static struct kl_mechanisms mechanisms;

static int setup(void **state)
{
	assert_ok(kl_mechanisms_load(&mechanisms, KL_SOURCE "/templates/mechanisms.yaml"));
	return 0;
}

static int teardown(void **state)
{
	kl_mechanisms_release(&mechanisms);
	return 0;
}

/* A step: two sources, what the machine code of the faster one has gained and lost, and the name. */
struct pair {
	const char *title, *path;
	const char *plain, *fast;
	const char *gained, *lost;
	const char *want; /* "": no name */
};

static void split_facts(struct kl_facts *facts, const char *features, const char *digest)
{
	*facts = (struct kl_facts){ .traits = { .free_value = free } };
	kl_strvec_split(&facts->features, features, " ");
	kl_strvec_sort(&facts->features);
	snprintf(facts->code_digest, sizeof(facts->code_digest), "%s", digest);
}

struct step {
	struct kl_file fast, plain;
	struct kl_facts had, has;
	struct kl_naming_sides sides;
};

static void open_step(struct step *step, const struct pair *pair)
{
	step->fast = (struct kl_file){ .path = (char *)pair->path,
				       .data = (char *)pair->fast,
				       .len = strlen(pair->fast) };
	step->plain = (struct kl_file){ .path = (char *)pair->path,
					.data = (char *)pair->plain,
					.len = strlen(pair->plain) };
	split_facts(&step->had, pair->gained, "1");
	split_facts(&step->has, pair->lost, "2");
	step->sides = (struct kl_naming_sides){ &step->fast, &step->plain, 1,          1,
						&step->had,  &step->has,   &mechanisms };
}

static void close_step(struct step *step)
{
	kl_facts_release(&step->had);
	kl_facts_release(&step->has);
}

static void check_pairs(const struct pair *pair, size_t n)
{
	size_t wrong = 0;

	for (size_t i = 0; i < n; i++) {
		struct kl_naming naming;
		struct step step;
		const char *got;

		open_step(&step, &pair[i]);
		kl_naming_find(&naming, &step.sides);
		got = naming.mechanism ? naming.mechanism->name : "";
		if (strcmp(got, pair[i].want)) {
			print_message("%s: '%s' (%d: %s), expected '%s'\n", pair[i].title, got,
				      naming.percent, naming.evidence.ptr, pair[i].want);
			wrong++;
		}
		if (naming.mechanism && (naming.percent < KL_NAMING_LEAST || naming.percent > 100 ||
					 !naming.evidence.len))
			fail_msg("%s: %d, '%s'", pair[i].title, naming.percent,
				 naming.evidence.ptr);
		kl_naming_release(&naming);
		close_step(&step);
	}
	assert_int_equal(wrong, 0);
}

/* --- the ladder of a matrix product in C ------------------------------------------------------ */

#define HEAD "void mm(int n, const float *a, const float *b, float *c)\n{\n"
#define NAIVE                                      \
	HEAD "\tfor (int i = 0; i < n; i++)\n"     \
	     "\t\tfor (int j = 0; j < n; j++)\n"   \
	     "\t\t\tfor (int k = 0; k < n; k++)\n" \
	     "\t\t\t\tc[i * n + j] += a[i * n + k] * b[k * n + j];\n}\n"
#define INTERCHANGED                               \
	HEAD "\tfor (int i = 0; i < n; i++)\n"     \
	     "\t\tfor (int k = 0; k < m; k++)\n"   \
	     "\t\t\tfor (int j = 0; j < w; j++)\n" \
	     "\t\t\t\tc[i * n + j] += a[i * n + k] * b[k * n + j];\n}\n"
#define NOT_INTERCHANGED                           \
	HEAD "\tfor (int i = 0; i < n; i++)\n"     \
	     "\t\tfor (int j = 0; j < w; j++)\n"   \
	     "\t\t\tfor (int k = 0; k < m; k++)\n" \
	     "\t\t\t\tc[i * n + j] += a[i * n + k] * b[k * n + j];\n}\n"
/* one column of four at a time, by calls */
#define DOT                                                                     \
	"static void dot(int n, const float *x, const float *y, float *z)\n{\n" \
	"\tfor (int k = 0; k < n; k++)\n\t\t*z += x[k] * y[k * n];\n}\n"
#define CALLED                                                                      \
	DOT HEAD "\tfor (int i = 0; i < n; i++)\n\t\tfor (int j = 0; j < n; j++)\n" \
		 "\t\t\tdot(n, a + i * n, b + j, c + i * n + j);\n}\n"
#define OUTLINED                                                                          \
	DOT HEAD "\tfor (int j = 0; j < n; j += 1)\n\t\tfor (int i = 0; i < n; i += 1)\n" \
		 "\t\t\tdot(n, a + i * n, b + j, c + i * n + j);\n}\n"
#define JAMMED                                                                           \
	DOT HEAD "\tfor (int i = 0; i < n; i++)\n\t\tfor (int j = 0; j < n; j += 4) {\n" \
		 "\t\t\tdot(n, a + i * n, b + j, c + i * n + j);\n"                      \
		 "\t\t\tdot(n, a + i * n, b + j + 1, c + i * n + j + 1);\n"              \
		 "\t\t\tdot(n, a + i * n, b + j + 2, c + i * n + j + 2);\n"              \
		 "\t\t\tdot(n, a + i * n, b + j + 3, c + i * n + j + 3);\n\t\t}\n}\n"
#define JAMMED_TWICE                                                                        \
	DOT HEAD "\tfor (int i = 0; i < n; i += 2)\n\t\tfor (int j = 0; j < n; j += 2) {\n" \
		 "\t\t\tdot(n, a + i * n, b + j, c + i * n + j);\n"                         \
		 "\t\t\tdot(n, a + i * n, b + j + 1, c + i * n + j + 1);\n"                 \
		 "\t\t\tdot(n, a + i * n + n, b + j, c + i * n + n + j);\n"                 \
		 "\t\t\tdot(n, a + i * n + n, b + j + 1, c + i * n + n + j + 1);\n\t\t}\n}\n"
#define ROW "static void row(int n, const float *x, const float *y, float *z)\n{\n"
#define FOUR_LOOPS                                                              \
	ROW "\tfor (int k = 0; k < n; k++)\n\t\tz[0] += x[k] * y[k * n];\n"     \
	    "\tfor (int k = 0; k < n; k++)\n\t\tz[1] += x[k] * y[k * n + 1];\n" \
	    "\tfor (int k = 0; k < n; k++)\n\t\tz[2] += x[k] * y[k * n + 2];\n" \
	    "\tfor (int k = 0; k < n; k++)\n\t\tz[3] += x[k] * y[k * n + 3];\n}\n"
#define FUSED                                                                  \
	ROW "\tfor (int k = 0; k < n; k++) {\n"                                \
	    "\t\tz[0] += x[k] * y[k * n];\n\t\tz[1] += x[k] * y[k * n + 1];\n" \
	    "\t\tz[2] += x[k] * y[k * n + 2];\n\t\tz[3] += x[k] * y[k * n + 3];\n\t}\n}\n"
#define REGISTERS                                                               \
	ROW "\tregister float z0 = 0, z1 = 0, z2 = 0, z3 = 0, xk;\n"            \
	    "\tfor (int k = 0; k < n; k++) {\n\t\txk = x[k];\n"                 \
	    "\t\tz0 += xk * y[k * n];\n\t\tz1 += xk * y[k * n + 1];\n"          \
	    "\t\tz2 += xk * y[k * n + 2];\n\t\tz3 += xk * y[k * n + 3];\n\t}\n" \
	    "\tz[0] += z0;\n\tz[1] += z1;\n\tz[2] += z2;\n\tz[3] += z3;\n}\n"
#define WALKED                                                                        \
	ROW "\tregister float z0 = 0, z1 = 0, z2 = 0, z3 = 0, xk;\n"                  \
	    "\tconst float *y0 = y, *y1 = y + n, *y2 = y + 2 * n, *y3 = y + 3 * n;\n" \
	    "\tfor (int k = 0; k < n; k++) {\n\t\txk = x[k];\n"                       \
	    "\t\tz0 += xk * *y0++;\n\t\tz1 += xk * *y1++;\n"                          \
	    "\t\tz2 += xk * *y2++;\n\t\tz3 += xk * *y3++;\n\t}\n"                     \
	    "\tz[0] += z0;\n\tz[1] += z1;\n\tz[2] += z2;\n\tz[3] += z3;\n}\n"
#define SUM "float sum(int n, const float *x)\n{\n"
#define ONE_SUM \
	SUM "\tfloat s = 0;\n\n\tfor (int i = 0; i < n; i++)\n\t\ts += x[i];\n\treturn s;\n}\n"
#define FOUR_SUMS                                                                              \
	SUM "\tfloat s0 = 0, s1 = 0, s2 = 0, s3 = 0;\n\n\tfor (int i = 0; i < n; i += 4) {\n"  \
	    "\t\ts0 += x[i];\n\t\ts1 += x[i + 1];\n\t\ts2 += x[i + 2];\n\t\ts3 += x[i + 3];\n" \
	    "\t}\n\treturn s0 + s1 + s2 + s3;\n}\n"
#define SCALE "void scale(int n, const float *x, float *y)\n{\n"
#define PLAIN_SCALE SCALE "\tfor (int i = 0; i < n; i++)\n\t\ty[i] = 2 * x[i];\n}\n"
#define UNROLLED_SCALE                                                       \
	SCALE "\tfor (int i = 0; i < n; i += 4) {\n\t\ty[i] = 2 * x[i];\n"   \
	      "\t\ty[i + 1] = 2 * x[i + 1];\n\t\ty[i + 2] = 2 * x[i + 2];\n" \
	      "\t\ty[i + 3] = 2 * x[i + 3];\n\t}\n}\n"
#define VECTOR_SCALE                                                            \
	"#include <immintrin.h>\n" SCALE "\tfor (int i = 0; i < n; i += 8) {\n" \
	"\t\t__m256 v = _mm256_loadu_ps(x + i);\n\n"                            \
	"\t\t_mm256_storeu_ps(y + i, _mm256_mul_ps(v, _mm256_set1_ps(2)));\n\t}\n}\n"
#define PREFETCHED                                                                     \
	SCALE "\tfor (int i = 0; i < n; i++) {\n\t\t__builtin_prefetch(x + i + 64);\n" \
	      "\t\ty[i] = 2 * x[i];\n\t}\n}\n"
#define RESTRICTED                                                           \
	"void scale(int n, const float *restrict x, float *restrict y)\n{\n" \
	"\tfor (int i = 0; i < n; i++)\n\t\ty[i] = 2 * x[i];\n}\n"
#define BLOCKED                                                                 \
	"#define MC 64\n#define min(x, y) ((x) < (y) ? (x) : (y))\n" HEAD       \
	"\tfor (int p = 0; p < n; p += MC) {\n\t\tint pb = min(n - p, MC);\n\n" \
	"\t\tfor (int i = 0; i < n; i++)\n\t\t\tfor (int j = 0; j < n; j++)\n"  \
	"\t\t\t\tfor (int k = p; k < p + pb; k++)\n"                            \
	"\t\t\t\t\tc[i * n + j] += a[i * n + k] * b[k * n + j];\n\t}\n}\n"
#define BLOCKED_16                                                              \
	"#define MC 16\n#define min(x, y) ((x) < (y) ? (x) : (y))\n" HEAD       \
	"\tfor (int p = 0; p < n; p += MC) {\n\t\tint pb = min(n - p, MC);\n\n" \
	"\t\tfor (int i = 0; i < n; i++)\n\t\t\tfor (int j = 0; j < n; j++)\n"  \
	"\t\t\t\tfor (int k = p; k < p + pb; k++)\n"                            \
	"\t\t\t\t\tc[i * n + j] += a[i * n + k] * b[k * n + j];\n\t}\n}\n"
#define PACKED                                                                      \
	HEAD "\tfloat panel[4096];\n\n\tfor (int j = 0; j < n; j++) {\n"            \
	     "\t\tfor (int k = 0; k < n; k++)\n\t\t\tpanel[k] = b[k * n + j];\n"    \
	     "\t\tfor (int i = 0; i < n; i++)\n\t\t\tfor (int k = 0; k < n; k++)\n" \
	     "\t\t\t\tc[i * n + j] += a[i * n + k] * panel[k];\n\t}\n}\n"
#define UNPACKED                                                                    \
	HEAD "\tfor (int j = 0; j < n; j++) {\n"                                    \
	     "\t\tfor (int i = 0; i < n; i++)\n\t\t\tfor (int k = 0; k < n; k++)\n" \
	     "\t\t\t\tc[i * n + j] += a[i * n + k] * b[k * n + j];\n\t}\n}\n"
#define TILED(tile)                                                                 \
	"#define NR " tile "\n" HEAD "\tfor (int i = 0; i < n; i++)\n"              \
	"\t\tfor (int j = 0; j < n; j += NR) {\n\t\t\tfloat acc[NR] = { 0 };\n\n"   \
	"\t\t\tfor (int k = 0; k < n; k++)\n\t\t\t\tfor (int t = 0; t < NR; t++)\n" \
	"\t\t\t\t\tacc[t] += a[i * n + k] * b[k * n + j + t];\n"                    \
	"\t\t\tfor (int t = 0; t < NR; t++)\n\t\t\t\tc[i * n + j + t] = acc[t];\n\t\t}\n}\n"
#define CLAMP "void clamp(int n, float *x)\n{\n\tfor (int i = 0; i < n; i++)\n"
#define BRANCHED CLAMP "\t\tif (x[i] < 0)\n\t\t\tx[i] = 0;\n}\n"
#define CHOSEN CLAMP "\t\tx[i] = x[i] < 0 ? 0 : x[i];\n}\n"
#define BITS \
	"int bits(int n, const unsigned char *x)\n{\n\tint s = 0;\n\n\tfor (int i = 0; i < n; i++)\n"
#define COUNTED BITS "\t\tfor (int k = 0; k < 8; k++)\n\t\t\ts += x[i] >> k & 1;\n\treturn s;\n}\n"
#define LOOKED_UP                                                                                           \
	"static const unsigned char table[16] = { 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4 };\n" BITS \
	"\t\ts += table[x[i] & 15] + table[x[i] >> 4];\n\treturn s;\n}\n"
#define POPCOUNT BITS "\t\ts += __builtin_popcount(x[i]);\n\treturn s;\n}\n"
#define ADDRESS "void wrap(int n, int *x)\n{\n\tfor (int i = 0; i < n; i++)\n"
#define DIVIDED ADDRESS "\t\tx[i] = x[i] / 8 + x[i] % 8;\n}\n"
#define SHIFTED ADDRESS "\t\tx[i] = (x[i] >> 3) + (x[i] & 7);\n}\n"
#define NORM "void norm(int n, int m, const float *w, float *x)\n{\n\tfor (int i = 0; i < n; i++)"
#define SUNK NORM "\n\t\tfor (int j = 0; j < m; j++)\n\t\t\tx[i * m + j] *= w[i];\n}\n"
#define HOISTED                                                              \
	NORM " {\n\t\tfloat wi = w[i];\n\n\t\tfor (int j = 0; j < m; j++)\n" \
	     "\t\t\tx[i * m + j] *= wi;\n\t}\n}\n"

static const struct pair steps_c[] = {
	{ "interchange", "k.c", NOT_INTERCHANGED, INTERCHANGED, "vec.256", "", "loop-interchange" },
	{ "calls of four columns", "k.c", CALLED, JAMMED, "", "", "unroll-jam" },
	{ "calls of four rows, too", "k.c", JAMMED, JAMMED_TWICE, "", "", "unroll-jam" },
	{ "four loops become one", "k.c", FOUR_LOOPS, FUSED, "shuffle", "", "loop-fusion" },
	{ "sums in registers", "k.c", FUSED, REGISTERS, "", "", "register-tile" },
	{ "a tile of accumulators", "k.c", NAIVE, TILED("8"), "broadcast spill", "",
	  "register-tile" },
	{ "walking pointers", "k.c", REGISTERS, WALKED, "", "", "strength-reduction" },
	{ "partial sums", "k.c", ONE_SUM, FOUR_SUMS, "vec.128", "", "lane-reduce" },
	{ "unrolled", "k.c", PLAIN_SCALE, UNROLLED_SCALE, "shuffle", "", "unroll" },
	{ "intrinsics", "k.c", PLAIN_SCALE, VECTOR_SCALE, "vec.256 broadcast", "", "vector-loop" },
	{ "prefetch", "k.c", PLAIN_SCALE, PREFETCHED, "prefetch", "", "prefetch" },
	{ "restrict", "k.c", PLAIN_SCALE, RESTRICTED, "vec.256", "", "restrict" },
	{ "blocks", "k.c", NAIVE, BLOCKED, "loop.depth.4", "", "cache-block" },
	{ "a packed panel", "k.c", UNPACKED, PACKED, "stack.large", "", "pack-panel" },
	{ "branchless", "k.c", BRANCHED, CHOSEN, "blend vec.256", "", "branchless" },
	{ "table", "k.c", COUNTED, LOOKED_UP, "table", "", "lookup-table" },
	{ "popcount", "k.c", COUNTED, POPCOUNT, "popcnt", "loop.depth.2", "bit-count" },
	{ "shifts", "k.c", DIVIDED, SHIFTED, "", "idiv", "strength-reduction" },
	{ "hoisted load", "k.c", SUNK, HOISTED, "broadcast", "", "hoist-invariant" },
	/* only a constant changed: its loop decides */
	{ "block size", "k.c", BLOCKED_16, BLOCKED, "", "", "cache-block" },
	{ "tile size", "k.c", TILED("4"), TILED("8"), "", "", "register-tile" },
};

static void names_steps_in_c(void **state)
{
	check_pairs(steps_c, KL_ARRAY_SIZE(steps_c));
}

/* --- device code ------------------------------------------------------------------------------ */

#define GEMM "__global__ void gemm(int n, const float *a, const float *b, float *c)\n{\n"
#define LOOP                                                \
	"\tfloat s = 0;\n\n\tfor (int k = 0; k < n; k++)\n" \
	"\t\ts += a[row * n + k] * b[k * n + col];\n\tc[row * n + col] = s;\n}\n"
#define SCATTERED                                                   \
	GEMM "\tint row = blockIdx.x * blockDim.x + threadIdx.x;\n" \
	     "\tint col = blockIdx.y * blockDim.y + threadIdx.y;\n" LOOP
#define COALESCED                                                   \
	GEMM "\tint row = blockIdx.y * blockDim.y + threadIdx.y;\n" \
	     "\tint col = blockIdx.x * blockDim.x + threadIdx.x;\n" LOOP
#define SHARED(pad)                                                                 \
	GEMM "\t__shared__ float as[16][16" pad "], bs[16][16" pad "];\n"           \
	     "\tint row = blockIdx.y * 16 + threadIdx.y;\n"                         \
	     "\tint col = blockIdx.x * 16 + threadIdx.x;\n\tfloat s = 0;\n\n"       \
	     "\tfor (int t = 0; t < n; t += 16) {\n"                                \
	     "\t\tas[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];\n"   \
	     "\t\tbs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];\n" \
	     "\t\t__syncthreads();\n\t\tfor (int k = 0; k < 16; k++)\n"             \
	     "\t\t\ts += as[threadIdx.y][k] * bs[k][threadIdx.x];\n"                \
	     "\t\t__syncthreads();\n\t}\n\tc[row * n + col] = s;\n}\n"
#define THREAD_TILE                                                                         \
	GEMM "\t__shared__ float as[64][16], bs[16][64];\n"                                 \
	     "\tfloat sum[8] = { 0.0f };\n\tint row = blockIdx.y * 64 + threadIdx.y * 8;\n" \
	     "\tint col = blockIdx.x * 64 + threadIdx.x;\n\n"                               \
	     "\tfor (int t = 0; t < n; t += 16) {\n"                                        \
	     "\t\tas[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];\n"           \
	     "\t\tbs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];\n"         \
	     "\t\t__syncthreads();\n\t\tfor (int k = 0; k < 16; k++)\n"                     \
	     "\t\t\tfor (int r = 0; r < 8; r++)\n"                                          \
	     "\t\t\t\tsum[r] += as[threadIdx.y * 8 + r][k] * bs[k][threadIdx.x];\n"         \
	     "\t\t__syncthreads();\n\t}\n\tfor (int r = 0; r < 8; r++)\n"                   \
	     "\t\tc[(row + r) * n + col] = sum[r];\n}\n"
#define SQUARE_TILE                                                                       \
	GEMM "\t__shared__ float as[64][16], bs[16][64];\n"                               \
	     "\tfloat sum[TM * TN] = { 0.0f }, left[TM], right[TN];\n"                    \
	     "\tint row = blockIdx.y * 64 + threadIdx.y * 8;\n"                           \
	     "\tint col = blockIdx.x * 64 + threadIdx.x;\n\n"                             \
	     "\tfor (int t = 0; t < n; t += 16) {\n"                                      \
	     "\t\tas[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];\n"         \
	     "\t\tbs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];\n"       \
	     "\t\t__syncthreads();\n\t\tfor (int k = 0; k < 16; k++) {\n"                 \
	     "\t\t\tfor (int r = 0; r < TM; r++)\n"                                       \
	     "\t\t\t\tleft[r] = as[threadIdx.y * TM + r][k];\n"                           \
	     "\t\t\tfor (int r = 0; r < TN; r++)\n"                                       \
	     "\t\t\t\tright[r] = bs[k][threadIdx.x * TN + r];\n"                          \
	     "\t\t\tfor (int r = 0; r < TM; r++)\n\t\t\t\tfor (int s = 0; s < TN; s++)\n" \
	     "\t\t\t\t\tsum[r * TN + s] += left[r] * right[s];\n\t\t}\n"                  \
	     "\t\t__syncthreads();\n\t}\n\tfor (int r = 0; r < TM; r++)\n"                \
	     "\t\tc[(row + r) * n + col] = sum[r];\n}\n"
#define COPY \
	"__global__ void copy(int n, const float *x, float *y)\n{\n\tint i = blockIdx.x * blockDim.x + threadIdx.x;\n\n"
#define WORDS COPY "\tif (i < n)\n\t\ty[i] = 2 * x[i];\n}\n"
#define QUADS                                                                 \
	COPY "\tif (i < n / 4) {\n\t\tfloat4 v = ((const float4 *)x)[i];\n\n" \
	     "\t\t((float4 *)y)[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);\n\t}\n}\n"
#define BOUNDED "__launch_bounds__(256) " WORDS
#define REDUCE "__global__ void reduce(const float *x, float *y)\n{\n"
#define BY_MEMORY                                                                        \
	REDUCE "\t__shared__ float s[256];\n\n\ts[threadIdx.x] = x[threadIdx.x];\n"      \
	       "\t__syncthreads();\n\tfor (int d = 128; d; d /= 2) {\n"                  \
	       "\t\tif (threadIdx.x < d)\n\t\t\ts[threadIdx.x] += s[threadIdx.x + d];\n" \
	       "\t\t__syncthreads();\n\t}\n\tif (!threadIdx.x)\n\t\t*y = s[0];\n}\n"
#define BY_SHUFFLE                                                              \
	REDUCE "\tfloat v = x[threadIdx.x];\n\n\tfor (int d = 16; d; d /= 2)\n" \
	       "\t\tv += __shfl_down_sync(~0u, v, d);\n\tif (!threadIdx.x)\n\t\t*y = v;\n}\n"
#define ASYNC                                                                       \
	"#include <cuda_pipeline.h>\n" REDUCE "\t__shared__ float s[256];\n\n"      \
	"\t__pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);\n"         \
	"\t__pipeline_commit();\n\t__pipeline_wait_prior(0);\n\t__syncthreads();\n" \
	"\tfor (int d = 128; d; d /= 2) {\n"                                        \
	"\t\tif (threadIdx.x < d)\n\t\t\ts[threadIdx.x] += s[threadIdx.x + d];\n"   \
	"\t\t__syncthreads();\n\t}\n\tif (!threadIdx.x)\n\t\t*y = s[0];\n}\n"
#define STAGES(n)                                                                         \
	REDUCE "\t__shared__ float s[" n "][256];\n\tfloat sum = 0;\n\n"                  \
	       "\tfor (int t = 0; t < 64; t++) {\n"                                       \
	       "\t\ts[t % " n "][threadIdx.x] = x[t * 256 + threadIdx.x];\n"              \
	       "\t\t__syncthreads();\n\t\tsum += s[t % " n "][255 - threadIdx.x];\n\t}\n" \
	       "\ty[threadIdx.x] = sum;\n}\n"
#define STAGE_1                                                                \
	REDUCE "\t__shared__ float s[256];\n\tfloat sum = 0;\n\n"              \
	       "\tfor (int t = 0; t < 64; t++) {\n"                            \
	       "\t\ts[threadIdx.x] = x[t * 256 + threadIdx.x];\n"              \
	       "\t\t__syncthreads();\n\t\tsum += s[255 - threadIdx.x];\n\t}\n" \
	       "\ty[threadIdx.x] = sum;\n}\n"
/* both stages in one array */
#define STAGES_FLAT                                                                     \
	REDUCE "\t__shared__ float s[2 * 16 * 16];\n\tfloat sum = 0;\n\n"               \
	       "\tfor (int t = 0; t < 64; t++) {\n"                                     \
	       "\t\ts[t % 2 * 256 + threadIdx.x] = x[t * 256 + threadIdx.x];\n"         \
	       "\t\t__syncthreads();\n\t\tsum += s[t % 2 * 256 + 255 - threadIdx.x];\n" \
	       "\t}\n\ty[threadIdx.x] = sum;\n}\n"

static const struct pair steps_cuda[] = {
	{ "coalesced", "k.cu", SCATTERED, COALESCED, "", "", "coalesce" },
	{ "tiles in shared memory", "k.cu", COALESCED, SHARED(""), "smem bar", "", "smem-tile" },
	{ "padded rows", "k.cu", SHARED(""), SHARED(" + 1"), "smem", "smem lds.128", "smem-pad" },
	{ "a tile a thread", "k.cu", SHARED(""), THREAD_TILE, "lds.128", "", "register-tile" },
	{ "a square a thread", "k.cu", THREAD_TILE, SQUARE_TILE, "", "", "register-tile" },
	{ "float4", "k.cu", WORDS, QUADS, "ldg.128 stg.128", "", "vector-load" },
	{ "launch bounds", "k.cu", WORDS, BOUNDED, "", "spill", "launch-bounds" },
	{ "shuffles", "k.cu", BY_MEMORY, BY_SHUFFLE, "shfl", "bar smem", "warp-scan" },
	{ "asynchronous copies", "k.cu", BY_MEMORY, ASYNC, "cp.async", "", "cp-async" },
	{ "two stages", "k.cu", STAGE_1, STAGES("2"), "smem", "smem", "software-pipeline" },
	{ "two stages in a row", "k.cu", STAGE_1, STAGES_FLAT, "smem", "smem",
	  "software-pipeline" },
};

static void names_steps_in_cuda(void **state)
{
	check_pairs(steps_cuda, KL_ARRAY_SIZE(steps_cuda));
}

/* --- what has no name ------------------------------------------------------------------------- */

#define RENAMED                                                                          \
	"void product(int size, const float *left, const float *right, float *out)\n{\n" \
	"\tfor (int row = 0; row < size; row++)\n"                                       \
	"\t\tfor (int col = 0; col < size; col++)\n"                                     \
	"\t\t\tfor (int at = 0; at < size; at++)\n"                                      \
	"\t\t\t\tout[row * size + col] += left[row * size + at] * right[at * size + col];\n}\n"
#define FORMATTED                                                                                  \
	"void mm( int n , const float * a , const float * b , float * c ) {\n"                     \
	"  for ( int i = 0 ; i < n ; i++ ) {\n    for ( int j = 0 ; j < n ; j++ ) {\n"             \
	"      for ( int k = 0 ; k < n ; k++ ) { c[ i*n + j ] += a[ i*n + k ] * b[ k*n + j ]; }\n" \
	"    }\n  }\n}\n"
#define COMMENTED \
	"/* restrict, prefetch: float acc[4][4] */\n// for (i = 0; i < n; i += 64)\n" NAIVE
#define TAIL "static int help(int x)\n{\n\treturn x + 1;\n}\n"

#define OF_MEMORY                                                     \
	REDUCE "\tfloat sum = 0;\n\n\tfor (int t = 0; t < 64; t++)\n" \
	       "\t\tfor (int i = 0; i < 8; i++)\n"                    \
	       "\t\t\tsum += x[(t * 8 + i) * 256 + threadIdx.x];\n"   \
	       "\ty[threadIdx.x] = sum;\n}\n"
#define OF_REGISTERS                                                          \
	REDUCE "\tfloat sum = 0, r[8];\n\n\tfor (int t = 0; t < 64; t++) {\n" \
	       "\t\tfor (int i = 0; i < 8; i++)\n"                            \
	       "\t\t\tr[i] = x[(t * 8 + i) * 256 + threadIdx.x];\n"           \
	       "\t\tfor (int i = 0; i < 8; i++)\n\t\t\tsum += r[i];\n\t}\n"   \
	       "\ty[threadIdx.x] = sum;\n}\n"

static const struct pair unnamed[] = {
	{ "renamed", "k.c", NAIVE, RENAMED, "shuffle", "spill", "" },
	{ "formatted", "k.c", NAIVE, FORMATTED, "vec.128", "", "" },
	{ "comments", "k.c", NAIVE, COMMENTED, "vec.256 broadcast", "", "" },
	{ "moved", "k.c", TAIL NAIVE, NAIVE TAIL, "", "spill", "" },
	{ "moved to a helper", "k.c", NAIVE, CALLED, "", "", "" },
	{ "another way to step", "k.c", NAIVE, OUTLINED, "", "", "" },
	{ "line ends", "k.c", "int x;\n", "int x;\r\n", "vec.256", "", "" },
	{ "another compiler's vectors", "k.c", NAIVE, NAIVE TAIL, "vec.256 avx2.fma", "", "" },
	{ "a constant that bounds nothing", "k.c", "float f(float x)\n{\n\treturn x * 3;\n}\n",
	  "float f(float x)\n{\n\treturn x * 4;\n}\n", "", "", "" },
	/* the facts contradict what the source seems to say */
	{ "a prefetch that is gone", "k.c", PLAIN_SCALE, PREFETCHED, "vec.256", "", "" },
	{ "a table in registers", "k.c", COUNTED, LOOKED_UP, "", "loop.depth.2", "" },
	{ "blocks with fewer loops", "k.c", NAIVE, BLOCKED, "", "loop.depth.4", "" },
	{ "float4 of words", "k.cu", WORDS, QUADS, "", "", "" },
	/* threads copy into registers what a loop on a CPU would pack */
	{ "copies of a thread", "k.cu", OF_MEMORY, OF_REGISTERS, "", "", "" },
	{ "moved device code", "k.cu", TAIL SCATTERED, SCATTERED TAIL, "", "", "" },
	{ "no code", "k.c", "", "", "vec.256", "", "" },
};

static void leaves_steps_unnamed(void **state)
{
	check_pairs(unnamed, KL_ARRAY_SIZE(unnamed));
}

/* Sources come from anybody's history: whatever they are, they are read in seconds. */
static void reads_any_source(void **state)
{
	static const char *const parts[] = {
		"for (;;) ",
		"for (;;) { ",
		"a[b] += c[d]; ",
		"if (x) ",
		"{ ",
		"} ",
		"( ",
		"p += q; ",
		"f(g(h( ",
		"#define X 1\n",
		"\"",
		"x = x + y; ",
		"__shared__ float s[2][2]; ",
		"[",
		"void f(void) { for (;;) g(); } ",
		"for (i = 0; i < n; i += m) ",
		"? : ",
		"enum { A = 1, ",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(parts); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		struct kl_naming naming;
		struct pair pair = { "", "k.cu", "", "", "vec.256", "", "" };
		struct step step;

		kl_buf_adds(&text, "void f(float *a)\n{\n");
		while (text.len < (200u << 10))
			kl_buf_adds(&text, parts[i]);
		pair.fast = text.ptr;
		open_step(&step, &pair);
		kl_naming_find(&naming, &step.sides);
		kl_naming_release(&naming);
		step.plain = step.fast;
		kl_naming_find(&naming, &step.sides);
		assert_null(naming.mechanism);
		kl_naming_release(&naming);
		close_step(&step);
	}
}

/* what a source says goes into trailers and JSON: valid UTF-8, and not without end */
static void quotes_sources_with_care(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf plain = KL_BUF_INIT, fast = KL_BUF_INIT;
	struct pair pair = { "", "k.c", "", "", "vec.256", "", "" };
	struct kl_naming naming;
	struct step step;

	for (int i = 0; i < 2; i++) {
		struct kl_buf *text = i ? &fast : &plain;

		kl_buf_adds(text, "void f(float *a)\n{\n");
		for (int k = 0; k < 2; k++) {
			kl_buf_adds(text, "for (int i = 0; i < ");
			for (int n = 0; n < 400; n++)
				kl_buf_adds(text, i == k ? "\xff" : "n");
			kl_buf_adds(text, "; i++)\n");
		}
		kl_buf_adds(text, "a[i] += 2;\n}\n");
	}
	pair.plain = plain.ptr;
	pair.fast = fast.ptr;
	open_step(&step, &pair);
	kl_naming_find(&naming, &step.sides);
	assert_non_null(naming.mechanism);
	assert_string_equal(naming.mechanism->name, "loop-interchange");
	assert_true(naming.evidence.len < 400);
	assert_int_equal(kl_utf8_span(naming.evidence.ptr, naming.evidence.len),
			 naming.evidence.len);
	kl_naming_release(&naming);
	close_step(&step);
}

/* --- claims ----------------------------------------------------------------------------------- */

static void refutes_claims(void **state)
{
	static const struct {
		struct pair pair;
		const char *claim;
		const char *why; /* NULL: not refuted */
	} row[] = {
		{ { "", "k.c", BLOCKED_16, BLOCKED, "", "", "" }, "register-tile", "MC 16 -> 64" },
		{ { "", "k.c", BLOCKED_16, BLOCKED, "", "", "" }, "cache-block", NULL },
		{ { "", "k.c", TILED("4"), TILED("8"), "", "", "" }, "cache-block", "NR 4 -> 8" },
		{ { "", "k.c", TILED("4"), TILED("8"), "", "", "" }, "register-tile", NULL },
		{ { "", "k.c", NAIVE, RENAMED, "", "", "" }, "restrict", "nothing of it" },
		{ { "", "k.c", PLAIN_SCALE, RESTRICTED, "", "", "" }, "restrict", NULL },
		{ { "", "k.c", NAIVE, RENAMED, "", "", "" }, "radix-select", NULL },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
		struct step step;
		bool refuted;

		open_step(&step, &row[i].pair);
		refuted = kl_naming_refutes(&why, &step.sides,
					    kl_mechanisms_find(&mechanisms, row[i].claim));
		if (refuted != (row[i].why != NULL) || (refuted && !strstr(why.ptr, row[i].why)))
			fail_msg("row %zu: %d '%s'", i, refuted, why.ptr);
		close_step(&step);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_steps_in_c),         cmocka_unit_test(names_steps_in_cuda),
		cmocka_unit_test(leaves_steps_unnamed),     cmocka_unit_test(reads_any_source),
		cmocka_unit_test(quotes_sources_with_care), cmocka_unit_test(refutes_claims),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
