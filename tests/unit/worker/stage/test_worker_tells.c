/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that looks for differences between calls that are checked and calls that are timed. It
 * writes what it sees into an output of its own, which this program reads behind each call, before
 * the stages judge the answer. No tell may be distributed differently in the two kinds.
 *
 * A tell that only a clock can show (how warm a cache is, how long ago the last call was, whether a
 * page faulted) has no column: the seal lets no kernel read one, which is tested here, too.
 */
#include "worker_fixture.h"

#include <math.h>
#include <sched.h>

#include "base/rng.h"
#include "worker/subject/trial.h"

#define SIZE 48 /* tensors of 2.25 pages: there is slack beside them */
#define WIDTH 64
#define RUNS 14
#define MOST 4096

/* In the order of the columns. */
static const char *const tells[] = {
	"calls so far",
	"page of A",
	"offset of A",
	"page of C",
	"offset of C",
	"pages from A to C",
	"pages from A to B",
	"exponent of the output found",
	"plausible numbers in the output found",
	"words of the last answer in the output found",
	"exponent of the word beside A",
	"exponent of the word beside C",
	"largest exponent of A",
	"whole numbers in A",
	"zeros in A",
	"positive numbers in A",
	"inputs seen before",
	"words in common with the last input",
	"rows of the first call",
	"offset of the stack pointer",
	"page of the stack pointer",
	"words below the stack that are not ones",
	"words above the stack that are not zero",
	"register rax",
	"register rbx",
	"register r10",
	"register r11",
	"registers r12 to r15",
	"register rbp",
	"flags",
	"MXCSR",
	"state of the x87",
	"vector registers in use",
	"vector register 0",
	"page of the code",
	"static bytes that are not zero",
	"words of the control page",
	"words of the call frame",
	"last call was aligned alike",
	"calls in a row with this output address",
};
#define TELLS (sizeof(tells) / sizeof(*tells))
#define PLANTED TELLS /* a column that tells the kinds apart now and then, to test the test */
#define COLUMNS (TELLS + 1)

/* A kernel reads the registers before any compiled code of its own uses them. */
#define ENTRY                                                                                 \
	"__attribute__((used)) static uint64_t seen[64];\n"                                   \
	"__asm__(\".text\\n.globl k\\n.type k,@function\\nk:\\n\"\n"                          \
	"\"mov %rax,seen(%rip)\\n mov %rbx,8+seen(%rip)\\n mov %r10,16+seen(%rip)\\n\"\n"     \
	"\"mov %r11,24+seen(%rip)\\n mov %r12,32+seen(%rip)\\n mov %r13,40+seen(%rip)\\n\"\n" \
	"\"mov %r14,48+seen(%rip)\\n mov %r15,56+seen(%rip)\\n mov %rbp,64+seen(%rip)\\n\"\n" \
	"\"mov %rsp,72+seen(%rip)\\n stmxcsr 80+seen(%rip)\\n fnstenv 96+seen(%rip)\\n\"\n"   \
	"\"fldenv 96+seen(%rip)\\n movups %xmm0,128+seen(%rip)\\n\"\n"                        \
	"\"movups %xmm1,144+seen(%rip)\\n movups %xmm2,160+seen(%rip)\\n\"\n"                 \
	"\"movups %xmm3,176+seen(%rip)\\n movups %xmm4,192+seen(%rip)\\n\"\n"                 \
	"\"movups %xmm5,208+seen(%rip)\\n movups %xmm6,224+seen(%rip)\\n\"\n"                 \
	"\"movups %xmm7,240+seen(%rip)\\n movups %xmm15,256+seen(%rip)\\n\"\n"                \
	"\"pushfq\\n popq 272+seen(%rip)\\n jmp body\\n\");\n"

#define LOOK                                                                                                                                                \
	"static int32_t calls, first; static uint32_t known[64]; static float last[48*48];\n"                                                               \
	"static uint32_t before[256]; static uint64_t was, where; static char still[4096];\n"                                                               \
	"static int row;\n"                                                                                                                                 \
	"static uint32_t word(const void *p) { uint32_t w; memcpy(&w, p, 4); return w; }\n"                                                                 \
	"static int expo(uint32_t w) { return w >> 23 & 255; }\n"                                                                                           \
	"static int beside(const float *x, int64_t n) { return (uintptr_t)(x + n) & 4095 ?"                                                                 \
	" expo(word(x + n)) : (uintptr_t)x & 4095 ? expo(word(x - 1)) : -1; }\n"                                                                            \
	"static int words(uint64_t at) { int n = 0; if (at & 4095 || !at) return -1;"                                                                       \
	" for (int i = 0; i < 512; i++) n += ((volatile uint64_t *)at)[i] != 0; return n; }\n"                                                              \
	"static void look(int64_t M, int64_t N, int64_t K, const float *A, const float *B,"                                                                 \
	" const float *C, int32_t *T) { int32_t t[64] = { 0 }; int n = 0; uint32_t sum = 0;"                                                                \
	" int same = 0, big = 0; const uint64_t *sp = (const uint64_t *)seen[9];\n"                                                                         \
	"#define TELL(x) t[n++] = (int32_t)(x)\n"                                                                                                           \
	"if (!calls) first = (int32_t)M;\n"                                                                                                                 \
	"TELL(calls); TELL((uintptr_t)A >> 12 & 0xffff); TELL((uintptr_t)A & 4095);"                                                                        \
	"TELL((uintptr_t)C >> 12 & 0xffff); TELL((uintptr_t)C & 4095);"                                                                                     \
	"TELL((intptr_t)((uintptr_t)C - (uintptr_t)A) >> 12); TELL((intptr_t)((uintptr_t)B - (uintptr_t)A) >> 12);\n"                                       \
	"TELL(expo(word(C))); { int c = 0; for (int i = 0; i < 64 && i < M * N; i++) c += expo(word(C + i)) > 120 && expo(word(C + i)) < 130; TELL(c); }\n" \
	"for (int i = 0; i < 64 && i < M * N; i++) same += word(C + i) == word(last + i); TELL(same);\n"                                                    \
	"TELL(beside(A, M * K)); TELL(beside(C, M * N));\n"                                                                                                 \
	"int whole = 0, zeros = 0, up = 0, alike = 0, old = 0;"                                                                                             \
	"for (int64_t i = 0; i < M * K; i++) { uint32_t w = word(A + i); if (expo(w) > big) big = expo(w);"                                                 \
	" sum = sum * 31 + w; whole += A[i] == (int)A[i]; zeros += A[i] == 0; up += A[i] > 0; }"                                                            \
	"for (int i = 0; i < 256 && i < M * K; i++) { alike += before[i] == word(A + i); before[i] = word(A + i); }"                                        \
	"for (int i = 0; i < calls && i < 64; i++) old += known[i] == sum; known[calls & 63] = sum;"                                                        \
	"TELL(big); TELL(whole); TELL(zeros); TELL(up); TELL(old); TELL(alike); TELL(first);\n"                                                             \
	"TELL(seen[9] & 4095); TELL(seen[9] >> 12 & 0xffff);"                                                                                               \
	"{ int c = 0; for (int i = 512; i < 1024; i++) c += sp[-i] != ~(uint64_t)0; TELL(c); }"                                                             \
	"{ int c = 0; for (int i = 0; i < 24; i++) c += sp[i] != 0; TELL(c); }\n"                                                                           \
	"TELL(seen[0] & 0xffff); TELL(seen[1] >> 12 & 0xffff); TELL(seen[2] & 0xffff); TELL(seen[3] & 0xfff);"                                              \
	"TELL((seen[4] >> 12) + (seen[5] & 4095) + (seen[6] & 4095) + (seen[7] & 1)); TELL(seen[8] & 4095);"                                                \
	"TELL(seen[34] & 0xfff); TELL((uint32_t)seen[10]);"                                                                                                 \
	"TELL((seen[12] & 0xffff) ^ (seen[12] >> 32 & 0xffff) << 8 ^ (seen[13] & 0xffff));"                                                                 \
	"{ int c = 0; for (int i = 16; i < 34; i++) c += seen[i] != 0; TELL(c); } TELL(seen[16] >> 20 & 0xfff);\n"                                          \
	"TELL((uintptr_t)seen >> 12 & 0xffff); { int c = 0; for (int i = 0; i < 4096; i++) c += ((volatile char *)still)[i] != 0; TELL(c); }"               \
	"TELL(words(seen[1])); TELL(words(seen[4] & ~(uint64_t)4095));\n"                                                                                   \
	"TELL(((uintptr_t)A & 4095) == was); was = (uintptr_t)A & 4095;"                                                                                    \
	"row = where == (uintptr_t)C ? row + 1 : 0; where = (uintptr_t)C; TELL(row);\n"                                                                     \
	"calls++; memcpy(T, t, sizeof(t)); }\n"

#define PARAMS \
	"int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C, int32_t *T"
#define KERNEL                                                                                   \
	ENTRY LOOK                                                                               \
		"__attribute__((used)) static void body(" PARAMS ") { look(M,N,K,A,B,C,T);"      \
		"for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { float s = 0;" \
		"for (int64_t q = 0; q < K; q++) s += A[i*K+q] * B[q*N+j]; C[i*N+j] = s; }"      \
		"if (M * N <= 48*48) memcpy(last, C, M * N * 4); }\n"
#define ORACLE                                                                             \
	"void oracle(int64_t M, int64_t N, int64_t K, const kl_real *A, const kl_real *B," \
	" kl_real *C, int32_t *T) {"                                                       \
	"for (int64_t i = 0; i < M; i++) for (int64_t j = 0; j < N; j++) { kl_real s = 0;" \
	"for (int64_t k = 0; k < K; k++) s += A[i*K+k] * B[k*N+j]; C[i*N+j] = s; }"        \
	"memset(T, 0, 64 * 4); }\n"

/* -- what the kernel saw ----------------------------------------------------- */

enum kind { CHECKED, TIMED };

struct sample {
	double value[2][MOST][COLUMNS];
	size_t n[2];
};

/* One call of each process, chosen at random. */
struct look {
	const struct kl_pool *pool;
	enum kind kind;
	struct kl_rng rng;
	struct sample any;      /* one call of each process at the timed point */
	struct sample measured; /* one measured call (TIMED), one that looks like it (CHECKED) */
	double at[2][COLUMNS];  /* of the process that is running, for either sample */
	size_t calls, alike;    /* calls of this process that were chosen from */
	bool whole;             /* no other call of the process is to be counted */
};

static struct look *look;

static void sample_add(struct sample *sample, enum kind kind, const double *row)
{
	if (sample->n[kind] < MOST)
		memcpy(sample->value[kind][sample->n[kind]++], row, COLUMNS * sizeof(*row));
}

/* A process has ended, or another one begins. The soak has far more calls than a script. */
static void end_process(void)
{
	bool script = look->calls && look->calls <= 16;

	if (script)
		sample_add(&look->any, look->kind, look->at[0]);
	if (script && look->alike)
		sample_add(&look->measured, look->kind, look->at[1]);
	look->calls = look->alike = 0;
}

static void take_row(double *row, const int32_t *seen)
{
	for (size_t i = 0; i < TELLS; i++)
		row[i] = seen[i];
	row[PLANTED] = kl_rng_below(&look->rng, 3) ? (double)look->kind :
						     (double)kl_rng_below(&look->rng, 2);
}

/* Noise at the timed point, aligned to the left, in a call that is not the first. */
static bool looks_measured(const struct kl_trial *trial, int32_t calls)
{
	const struct kl_member *noise[KL_POOL_DRAWS];
	size_t n = kl_pool_noise(look->pool, kl_pool_get(look->pool, 0)->point, noise,
				 KL_POOL_DRAWS);
	bool own = true;

	if (!calls || trial->place.right || trial->place.other)
		return false;
	for (size_t i = 0; i < kl_pool_size(look->pool); i++)
		own &= kl_pool_get(look->pool, i)->input != trial->input;
	if (look->kind == TIMED)
		return own;
	for (size_t i = 0; i < n; i++)
		if (noise[i]->input == trial->input)
			return true;
	return false;
}

int __real_kl_trial_kernel(struct kl_call *end, struct kl_subject *subject,
			   const struct kl_job *job, const struct kl_trial *trial);
int __wrap_kl_trial_kernel(struct kl_call *end, struct kl_subject *subject,
			   const struct kl_job *job, const struct kl_trial *trial);

int __wrap_kl_trial_kernel(struct kl_call *end, struct kl_subject *subject,
			   const struct kl_job *job, const struct kl_trial *trial)
{
	int err = __real_kl_trial_kernel(end, subject, job, trial);
	int32_t *seen = err < 0 || end->end != KL_CALL_OK ? NULL : kl_subject_buffer(subject, 6);

	if (!seen || !look)
		return err;
	if (!seen[0])
		end_process();
	/* processes at other points are judged only: they have calls at this one as the other */
	if (!trial->place.other &&
	    kl_subject_bytes(subject, 3) == (size_t)SIZE * SIZE * sizeof(float)) {
		if (!kl_rng_below(&look->rng, ++look->calls))
			take_row(look->at[0], seen);
		if (looks_measured(trial, seen[0]) && !kl_rng_below(&look->rng, ++look->alike))
			take_row(look->at[1], seen);
	}
	memset(seen, 0, WIDTH * sizeof(*seen));
	return err;
}

/* -- statistics ---------------------------------------------------------------- */

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Values in an order that has no meaning, so that a single telling value shows, too. */
static double shuffled(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (double)(kl_rng_mix(bits) >> 12);
}

/* The largest difference of the distribution functions (Kolmogorov and Smirnov). */
static double distance(const struct sample *sample, size_t column, bool shuffle)
{
	KL_AUTO(kl_freep) double *left = kl_calloc(MOST, sizeof(*left));
	KL_AUTO(kl_freep) double *right = kl_calloc(MOST, sizeof(*right));
	size_t n = sample->n[0], m = sample->n[1], i = 0, j = 0;
	double most = 0;

	for (size_t k = 0; k < n; k++)
		left[k] = shuffle ? shuffled(sample->value[0][k][column]) :
				    sample->value[0][k][column];
	for (size_t k = 0; k < m; k++)
		right[k] = shuffle ? shuffled(sample->value[1][k][column]) :
				     sample->value[1][k][column];
	qsort(left, n, sizeof(*left), by_value);
	qsort(right, m, sizeof(*right), by_value);
	while (i < n && j < m) {
		double at = left[i] < right[j] ? left[i] : right[j];

		while (i < n && left[i] == at)
			i++;
		while (j < m && right[j] == at)
			j++;
		most = fmax(most, fabs((double)i / (double)n - (double)j / (double)m));
	}
	return most;
}

/* Tells that depend on the input alone, of which a run has only a few. */
static bool is_of_input(size_t column)
{
	return !strcmp(tells[column], "largest exponent of A") ||
	       !strcmp(tells[column], "whole numbers in A") ||
	       !strcmp(tells[column], "zeros in A") ||
	       !strcmp(tells[column], "positive numbers in A");
}

/*
 * The distance that equal distributions exceed with probability `alpha` at most (Massart's bound for
 * two samples; of discrete values they exceed it less often).
 */
static double limit(const struct sample *sample, double alpha, bool of_input)
{
	double n = of_input ? 2 * RUNS : (double)sample->n[0];
	double m = of_input ? 2 * RUNS : (double)sample->n[1];

	return sqrt(-log(alpha / 2) / 2 * (n + m) / (n * m));
}

#define FALSE_ALARM 1e-3 /* of one run of this program */

static bool is_exempt(size_t column, const char *const *exempt)
{
	for (; *exempt; exempt++)
		if (!strcmp(tells[column], *exempt))
			return true;
	return false;
}

static void no_tell_works(const char *what, const struct sample *sample, const char *const *exempt)
{
	double alpha = FALSE_ALARM / (double)(4 * TELLS), most = limit(sample, alpha, false);
	size_t found = 0;

	print_message("%s: %zu checked and %zu timed processes, distances up to %.3f are chance\n",
		      what, sample->n[CHECKED], sample->n[TIMED], most);
	assert_true(sample->n[CHECKED] >= 50 && sample->n[TIMED] >= 50);
	for (size_t i = 0; i < TELLS; i++) {
		double far = fmax(distance(sample, i, false), distance(sample, i, true));
		bool works = far > limit(sample, alpha, is_of_input(i)) && !is_exempt(i, exempt);

		if (far > most / 2)
			print_message("  %s: distance %.3f, tells %.0f %% of calls rightly%s\n",
				      tells[i], far, 50 + 50 * far, works ? ": A TELL" : "");
		found += works;
	}
	/* a tell that is right five times in six is found */
	assert_true(distance(sample, PLANTED, false) > most);
	if (found)
		fail_msg("%s: %zu tells work", what, found);
}

/* -- the stages ------------------------------------------------------------------ */

static struct fixture *fx_tells(void)
{
	struct fixture *fixture = fx_gemm();

	fx_arg(fixture, "T", KL_ARG_OUT, KL_I32, NULL);
	for (size_t i = 0; i < fixture->job.npoint; i++)
		fx_extent(&fixture->point[i], 6, 1, WIDTH, 1);
	fx_rule(fixture, KL_RULE_EXACT, 6);
	for (int i = 0; i < 3; i++)
		fixture->point[0].arg[i].value = SIZE;
	for (int i = 3; i < 6; i++)
		fx_extent(&fixture->point[0], i, 2, SIZE, SIZE);
	fixture->job.profile_min_blocks = 6;
	fixture->job.profile_max_ms = 1500;
	fx_oracle(fixture, ORACLE);
	fx_candidate(fixture, "tells", KERNEL);
	return fixture;
}

static void run_stage(enum kind kind, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(json_decrefp) json_t *result = json_object();

	look->pool = pool;
	look->kind = kind;
	assert_ok(kind == CHECKED ? kl_stage_correct(result, job, pool) :
				    kl_stage_profile(result, job, pool));
	end_process();
	if (!strcmp(kl_json_str_or(result, "status", ""), "fail"))
		fail_msg("refused: %s", kl_json_str_or(result, "message", ""));
}

static bool single(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 2;
}

static void checked_and_timed_calls_look_alike(void **state)
{
	/* measured inputs are drawn for this candidate, so no earlier call had them */
	static const char *const first_time[] = { "inputs seen before",
						  "words in common with the last input", NULL };
	static const char *const none[] = { NULL };

	if (single())
		skip();
	look = kl_calloc(1, sizeof(*look));
	kl_rng_seed(&look->rng, kl_rng_os_seed());
	for (int run = 0; run < RUNS; run++) {
		KL_AUTO(fx_freep) struct fixture *fixture = fx_tells();
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;

		assert_ok(kl_pool_open(&pool, &fixture->job));
		run_stage(CHECKED, &fixture->job, pool);
		run_stage(TIMED, &fixture->job, pool);
	}
	no_tell_works("any call", &look->any, none);
	no_tell_works("measured calls", &look->measured, first_time);
	free(look);
	look = NULL;
}

static void no_kernel_has_a_clock(void **state)
{
	static const char *const clocks[] = { "rdtsc", "rdtscp" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(clocks); i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = fx_gemm();
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
		KL_AUTO(json_decrefp) json_t *result = json_object();
		KL_AUTO(kl_freep) char *body = kl_asprintf(
			"void k(int64_t M, int64_t N, int64_t K, const float *A, const float *B,"
			" float *C) { __asm__ volatile(\"%s\" ::: \"rax\", \"rdx\", \"rcx\"); }\n",
			clocks[i]);

		fx_candidate(fixture, clocks[i], body);
		assert_ok(kl_pool_open(&pool, &fixture->job));
		assert_ok(kl_stage_correct(result, &fixture->job, pool));
		assert_string_equal(kl_json_str_or(result, "status", ""), "fail");
		assert_true(!strcmp(kl_json_str_or(result, "class", ""), "fault") ||
			    !strcmp(kl_json_str_or(result, "class", ""), "cheat"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checked_and_timed_calls_look_alike),
		cmocka_unit_test(no_kernel_has_a_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
