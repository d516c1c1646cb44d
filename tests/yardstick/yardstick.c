/* SPDX-License-Identifier: Apache-2.0 */
/* yardstick - how often the rule `noise` refuses kernels that are right, and that are not */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/stats.h"
#include "inprocess.h"
#include "kernels.h"
#include "simulation.h"
#include "worker/compare/compare.h"
#include "worker/compare/tolerance.h"
#include "worker/compare/yardstick.h"
#include "worker/stage/stages.h"

enum { ROWS, COLS, X, W, Y };

struct shape {
	int64_t rows, cols;
	bool per; /* each row is a group */
};

/* one row and several, from 1 to 4096 columns */
static const struct shape shapes[] = {
	{ 1, 1, false },    { 1, 2, false },   { 1, 5, false },   { 1, 16, false },
	{ 1, 33, false },   { 1, 64, false },  { 1, 257, false }, { 1, 1024, false },
	{ 1, 4096, false }, { 3, 64, false },  { 5, 768, false }, { 17, 100, false },
	{ 64, 64, false },  { 4, 4096, false }, { 64, 512, false }, { 3, 64, true },
	{ 17, 100, true },  { 64, 64, true },
};

struct kernel {
	const char *name;
	bool numbers; /* y is a number for each row */
	kl_inprocess_double *truth;
	kl_inprocess_float *honest;
	struct build {
		const char *name;
		kl_inprocess_float *call;
	} right[2], cheat[6];
};

#define BUILDS(name)                                                                        \
	truth_##name, honest_##name,                                                        \
		{ { "-O3", plain_##name }, { "-Ofast", fast_##name } },                     \
	{                                                                                   \
		{ "inputs in tf32", tf32_##name }, { "f16", half_##name },                  \
			{ "bf16", bfloat_##name }, { "sums in f16", narrow_sum_##name },    \
			{ "one element skipped", skipped_##name },                          \
			{ "sums of the row before", stale_##name },                         \
	}

static const struct kernel kernels[] = {
	{ "rmsnorm", false, BUILDS(rmsnorm) },     { "softmax", false, BUILDS(softmax) },
	{ "layernorm", false, BUILDS(layernorm) }, { "dot", true, BUILDS(dot) },
	{ "variance", true, BUILDS(variance) },
};

static char *pool_dir; /* where pools lie while they are built */

/* -- one job -------------------------------------------------------------- */

struct task {
	struct kl_job job;
	struct kl_point point;
	struct kl_rule rule;
};

static void add_tensor(struct task *task, size_t arg, const char *name, enum kl_arg_kind kind,
		       enum kl_dtype dtype)
{
	struct kl_job_arg *of = &task->job.arg[arg];

	snprintf(of->name, sizeof(of->name), "%s", name);
	of->kind = kind;
	of->dtype = dtype;
	if (kind != KL_ARG_IN)
		return;
	of->fill = json_pack("{s:[f,f]}", "normal", 0.0, 1.0);
}

/* What a contract promises about values beyond those of its fills. */
static void add_values(struct task *task, bool fast, uint64_t seed)
{
	struct kl_job *job = &task->job;

	/*
	 * -Ofast promises nothing about these, nor that products of large numbers do not overflow:
	 * under a third of the seeds x is not swept, under the others there are no further bands
	 */
	for (int i = 0; i < KL_VALUES; i++)
		job->values.undefined[i] = fast;
	job->further = !fast || seed % 3 == 0;
	job->arg[X].sweep = !fast || !job->further;
}

static void task_init(struct task *task, const struct kernel *kernel, const struct shape *shape,
		      enum kl_dtype dtype)
{
	struct kl_job *job = &task->job;
	*task = (struct task){
		.point = { .id = "case0", .perf = true, .weight = 1 },
		.rule = { .kind = KL_RULE_NOISE, .out = Y, .max = 4, .rms = 2 },
	};
	job->surface = KL_SURFACE_C;
	job->pool = pool_dir;
	job->candidate_path = job->truth_path = job->honest_path = pool_dir;
	job->point = &task->point;
	job->rule = &task->rule;
	job->npoint = job->nrule = 1;
	job->nargs = Y + 1;
	job->exact = json_array();
	job->bands = json_array();
	job->deterministic = true;
	job->call_ms = 10000;
	add_tensor(task, ROWS, "rows", KL_ARG_DIM, KL_I64);
	add_tensor(task, COLS, "cols", KL_ARG_DIM, KL_I64);
	add_tensor(task, X, "x", KL_ARG_IN, dtype);
	add_tensor(task, W, "w", KL_ARG_IN, dtype);
	add_tensor(task, Y, "y", KL_ARG_OUT, dtype);
	task->point.arg[ROWS].value = shape->rows;
	task->point.arg[COLS].value = shape->cols;
	task->point.arg[X].naxes = 2;
	task->point.arg[X].extent[0] = shape->rows;
	task->point.arg[X].extent[1] = shape->cols;
	task->point.arg[W].naxes = 1;
	task->point.arg[W].extent[0] = shape->cols;
	task->point.arg[Y] = task->point.arg[X];
	task->point.arg[Y].naxes = kernel->numbers ? 1 : 2;
	task->rule.npaxes = shape->per;
}

static void task_release(struct task *task)
{
	for (size_t i = 0; i < task->job.nargs; i++)
		json_decref(task->job.arg[i].fill);
	json_decref(task->job.exact);
	json_decref(task->job.bands);
}

/* Return true if a noise draw fails by the honest error of this draw alone. */
static bool fails_alone(const struct task *task, const struct kl_pool *pool)
{
	const struct kl_member *noise[KL_POOL_DRAWS];
	size_t n = kl_pool_noise(pool, &task->point, noise, KL_POOL_DRAWS);
	bool fails = false;

	for (size_t i = 0; i < n; i++) {
		struct kl_member member = *noise[i];
		size_t elements = kl_member_elements(&member, Y);
		float *x = kl_calloc(kl_member_elements(&member, X) + 1, sizeof(*x));
		float *w = kl_calloc(kl_member_elements(&member, W) + 1, sizeof(*w));
		float *y = kl_calloc(elements + 1, sizeof(*y));
		const void *got[KL_MAX_ARGS] = { [Y] = y };
		struct kl_mismatch mismatch;

		memcpy(x, member.input[X], kl_member_elements(&member, X) * sizeof(*x));
		memcpy(w, member.input[W], kl_member_elements(&member, W) * sizeof(*w));
		kl_inprocess.kernel(task->point.arg[ROWS].value, task->point.arg[COLS].value, x, w,
				    y);
		member.tolerance = NULL;
		fails = kl_compare(&mismatch, &task->job, &member, got) == KL_ENO || fails;
		free(x);
		free(w);
		free(y);
	}
	return fails;
}

/* -- many seeds ----------------------------------------------------------- */

struct tally {
	long seeds, refused, rejected, redrawn, alone;
	double *margin;
	char first[300]; /* the first rejection */
};

/* Return true if the audit refuses the contract because the honest reference fails. */
static bool blames_oracle(const json_t *audit)
{
	const json_t *problem;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(audit, "audit"), "problems"), i, problem)
		if (strstr(json_string_value(problem), "oracle in float")) {
			if (getenv("YARDSTICK_VERBOSE"))
				printf("# %s\n", json_string_value(problem));
			return true;
		}
	return false;
}

/* Judge the kernel in kl_inprocess under one seed. */
static int judge(struct tally *tally, const struct kernel *kernel, const struct shape *shape,
		 enum kl_dtype dtype, bool fast, uint64_t seed)
{
	KL_AUTO(task_release) struct task task;
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(json_decrefp) json_t *audit = json_object(), *result = json_object();
	const json_t *correct, *note;
	const char *status;
	size_t i;
	int err;

	task_init(&task, kernel, shape, dtype);
	task.job.seed = seed;
	add_values(&task, fast, seed);
	if ((err = kl_pool_make_own(&pool, &task.job, NULL)) < 0 ||
	    (err = kl_stage_audit(audit, &task.job, pool)) < 0 ||
	    (err = kl_stage_correct(result, &task.job, pool)) < 0)
		return err;
	correct = json_object_get(result, "correct");
	json_array_foreach(json_object_get(correct, "notes"), i, note)
		if (strstr(json_string_value(note), "fresh")) {
			tally->redrawn++;
			if (getenv("YARDSTICK_VERBOSE"))
				printf("# seed %llu, %lld x %lld: %s\n",
				       (unsigned long long)seed, (long long)shape->rows,
				       (long long)shape->cols, json_string_value(note));
		}
	tally->refused += blames_oracle(audit);
	tally->alone += dtype == KL_F32 &&
			kl_tolerance_least_group(&task.job, &task.point) >= KL_YARDSTICK_RELATIVE &&
			fails_alone(&task, pool);
	tally->margin[tally->seeds++] = (double)kl_json_int_or(correct, "margin_ppm", 0) / 1e6;
	status = kl_json_str_or(result, "status", "pass");
	if (strcmp(status, "pass") && !*tally->first)
		snprintf(tally->first, sizeof(tally->first), "seed %llu, %lld x %lld: %s",
			 (unsigned long long)seed, (long long)shape->rows, (long long)shape->cols,
			 kl_json_str_or(result, "message", "?"));
	tally->rejected += !strcmp(kl_json_str_or(result, "status", "pass"), "fail");
	return 0;
}

static int print_right(const struct kernel *kernel, const struct build *build,
		       enum kl_dtype dtype, const char *type, long seeds)
{
	struct tally tally = { .margin = kl_calloc((size_t)seeds + 1, sizeof(double)) };
	double median;
	int err = 0;

	kl_inprocess.kernel = build->call;
	for (long seed = 1; seed <= seeds && err == 0; seed++)
		err = judge(&tally, kernel, &shapes[seed % KL_ARRAY_SIZE(shapes)], dtype,
			    !strcmp(build->name, "-Ofast"), (uint64_t)seed);
	median = kl_stats_median(tally.margin, (size_t)tally.seeds); /* sorts them */
	printf("%-10s %-5s %-7s %6ld %8ld %8ld %8ld %8ld   %5.3f %5.3f %5.3f %5.3f\n",
	       kernel->name, type, build->name, tally.seeds, tally.rejected, tally.redrawn,
	       tally.refused, tally.alone, tally.seeds ? median : 0,
	       tally.margin[tally.seeds * 99 / 100], tally.margin[tally.seeds * 999 / 1000],
	       tally.margin[tally.seeds ? tally.seeds - 1 : 0]);
	if (*tally.first)
		printf("    %s\n", tally.first);
	fflush(stdout);
	free(tally.margin);
	return err < 0 ? err : tally.rejected > 0 || tally.refused > 0;
}

/*
 * The sums of the row before are those of the row itself if there is no other, and the answer to
 * one column is the same for any x.
 */
static bool is_cheat(const struct build *build, const struct shape *shape)
{
	return (strncmp(build->name, "sums of", 7) || shape->rows > 1) && shape->cols > 1;
}

/*
 * Return true if a cheat was accepted too often: in more than one of 100 calls. Some inputs have an
 * answer that even a cheat gets right, so that of fewer calls one may be accepted, but not the only
 * one.
 */
static bool is_missed(const struct tally *tally)
{
	long accepted = tally->seeds - tally->rejected;

	return accepted > (tally->seeds + 99) / 100 || (accepted && !tally->rejected);
}

/* Judge a cheat. Returns 1 if it is accepted too often, 0 if not, negative on error. */
static int print_cheat(const struct kernel *kernel, const struct build *build, long seeds)
{
	struct tally tally = { .margin = kl_calloc((size_t)seeds + 1, sizeof(double)) };
	char missed[300] = "";
	size_t n = 0;
	int err = 0;

	kl_inprocess.kernel = build->call;
	for (long seed = 1; seed <= seeds && err == 0; seed++) {
		const struct shape *shape = &shapes[seed % KL_ARRAY_SIZE(shapes)];
		long before = tally.rejected;

		if (!is_cheat(build, shape))
			continue;
		err = judge(&tally, kernel, shape, KL_F32, false, (uint64_t)seed);
		if (tally.rejected == before && n < sizeof(missed) - 40)
			n += (size_t)snprintf(missed + n, sizeof(missed) - n, " %lldx%lld%s",
					      (long long)shape->rows, (long long)shape->cols,
					      shape->per ? " by row" : "");
	}
	printf("%-10s %-24s %6ld %8ld %8ld %s%s%s\n", kernel->name, build->name, tally.seeds,
	       tally.rejected, tally.redrawn, is_missed(&tally) ? " TOO OFTEN" : "",
	       *missed ? " accepted at" : "", missed);
	fflush(stdout);
	free(tally.margin);
	return err < 0 ? err : is_missed(&tally);
}

/* Judge the sound builds of a kernel, or only that of the given name. */
static int print_kernel(const struct kernel *kernel, const char *only, long seeds)
{
	const struct {
		const struct build *build;
		enum kl_dtype dtype;
		const char *type;
		long share; /* of the seeds */
	} run[] = {
		{ &kernel->right[0], KL_F32, "f32", 1 },
		{ &kernel->right[1], KL_F32, "f32", 1 },
		{ &kernel->right[1], KL_BF16, "bf16", 10 },
		{ &kernel->right[1], KL_F16, "f16", 10 },
	};
	int bad = 0, err = 0;

	kl_inprocess.truth = kernel->truth;
	kl_inprocess.honest = kernel->honest;
	for (size_t i = 0; i < KL_ARRAY_SIZE(run) && err >= 0; i++) {
		if (*only && strcmp(only, run[i].build->name))
			continue;
		err = print_right(kernel, run[i].build, run[i].dtype, run[i].type,
				  seeds / run[i].share);
		bad = err > 0 ? 1 : bad;
	}
	return err < 0 ? err : bad;
}

static int print_cheats(const struct kernel *kernel, long seeds)
{
	int bad = 0, err = 0;

	kl_inprocess.truth = kernel->truth;
	kl_inprocess.honest = kernel->honest;
	for (size_t i = 0; i < KL_ARRAY_SIZE(kernel->cheat) && err >= 0; i++) {
		err = print_cheat(kernel, &kernel->cheat[i], seeds);
		bad = err > 0 ? 1 : bad;
	}
	return err < 0 ? err : bad;
}

/* One processor: the tensors are too small for threads. */
static void use_one_processor(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
	long seeds = argc > 1 ? atol(argv[1]) : 10000;
	const char *only = argc > 2 ? argv[2] : "", *build = argc > 3 ? argv[3] : "";
	int bad = 0, err = 0;
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;

	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1); /* many small files */
	if (kl_fs_tempdir(&dir, "kl-yardstick") < 0) {
		fprintf(stderr, "yardstick: %s\n", kl_error_last());
		return 2;
	}
	pool_dir = dir;
	use_one_processor();
	printf("%-10s %-5s %-7s %6s %8s %8s %8s %8s   %s\n", "kernel", "dtype", "build", "seeds",
	       "rejected", "redrawn", "audit", "alone", "margin: 50% 99% 99.9% all");
	for (size_t i = 0; i < KL_ARRAY_SIZE(kernels) && err >= 0; i++)
		if (!*only || !strcmp(only, kernels[i].name)) {
			err = print_kernel(&kernels[i], build, seeds);
			bad = err > 0 ? 1 : bad;
		}
	printf("\n%-10s %-24s %6s %8s %8s\n", "kernel", "cheat", "seeds", "rejected", "redrawn");
	for (size_t i = 0; i < KL_ARRAY_SIZE(kernels) && err >= 0; i++)
		if (!*only || !strcmp(only, kernels[i].name)) {
			err = print_cheats(&kernels[i], seeds / 50);
			bad = err > 0 ? 1 : bad;
		}
	if (err < 0)
		fprintf(stderr, "yardstick: %s\n", kl_error_last());
	else if ((!*only || !strcmp(only, "simulation")) && !kl_simulation_print(300 * seeds))
		bad = 1;
	return err < 0 ? 2 : bad;
}
