/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU path against a pretended driver: memory, plan, launches, ends, lock, watchdog. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/lock.h"
#include "gpu_fixture.h"

#include "worker/gpu/ncu.h"
#include "worker/subject/poison.h"
#include "worker/subject/trial.h"

#define COUNT_SHARED                                                        \
	"unsigned *count = (unsigned *)l->shared + 900, *mark = count + 1;" \
	"if (*mark != 0xbeefcafe) { *mark = 0xbeefcafe; *count = 0; } unsigned before = (*count)++;"

static json_t *judge_only(struct kl_job *job)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	json_t *result = json_object();

	assert_ok(kl_pool_open(&pool, job));
	assert_ok(kl_stage_correct(result, job, pool));
	return result;
}

/* -- no GPU ------------------------------------------------------------------ */

static void test_says_why_there_is_no_gpu(void **state)
{
	struct gpu_fixture *fixture = *state;
	KL_AUTO(kl_freep) char *library = kl_fs_join(fixture->dir, "libcuda.so.1");
	struct kl_gpu_child *child = NULL;

	gpu_conf(fixture, "version 12020\n");
	assert_error(KL_ECANNOT, "supports CUDA 12.2, not 12.4", kl_gpu_child_start(&child));
	gpu_conf(fixture, "devices 0\n");
	assert_error(KL_ECANNOT, "no GPU here", kl_gpu_child_start(&child));
	/* a library that is none */
	gpu_file(fixture, "not", "no library");
	assert_ok(kl_proc_output(NULL, (const char *const[]){ "ln", "-sf", "not", library, NULL }));
	assert_error(KL_ECANNOT, "cannot open the CUDA driver", kl_gpu_child_start(&child));
	assert_null(child);
}

static void test_wrong_architecture(void **state)
{
	struct gpu_fixture *fixture = *state;
	struct kl_job *job = gpu_job(fixture, NULL, NULL);
	struct kl_subject_spec spec = gpu_spec(job, false);
	struct kl_subject *subject = NULL;

	gpu_conf(fixture, "cc 80\n");
	assert_error(KL_ECANNOT,
		     "no GPU here runs code for sm_90a: Fake GPU 0 has compute capability 8.0",
		     kl_subject_start(&subject, job, job->point, &spec));
	gpu_conf(fixture, "cc 90\n");
	gpu_file(fixture, "cand.cubin", "SM80 code");
	assert_error(KL_ECANNOT, "the cubin was not compiled for Fake GPU 0",
		     kl_subject_start(&subject, job, job->point, &spec));
	gpu_file(fixture, "cand.cubin", "what is this");
	assert_error(KL_EINVALID, "cannot load the cubin",
		     kl_subject_start(&subject, job, job->point, &spec));
	gpu_file(fixture, "cand.cubin", "");
	assert_error(KL_EINVALID, "is empty", kl_subject_start(&subject, job, job->point, &spec));
}

/* -- calls --------------------------------------------------------------------------- */

static void test_calls(void **state)
{
	struct kl_job *job = gpu_job(*state, NULL, NULL);
	struct kl_call end;

	for (int turn = 0; turn < 4; turn++) {
		struct kl_subject_spec spec = gpu_spec(job, turn & 1);
		struct kl_subject *subject = NULL;
		struct kl_point *pt = &job->point[turn / 2];
		size_t n = (size_t)pt->dim[0];
		float *samples, *values;

		assert_ok(kl_subject_start(&subject, job, pt, &spec));
		assert_int_equal(kl_subject_bytes(subject, 1), 4 * n);
		assert_null(kl_subject_buffer(subject, 0));
		for (uint64_t seed = 10; seed < 13; seed++) {
			samples = kl_subject_buffer(subject, 1);
			for (size_t i = 0; i < n; i++)
				samples[i] = (float)i + (float)seed;
			kl_subject_poison(subject, seed);
			assert_ok(kl_subject_call(subject, &end));
			assert_int_equal(end.end, KL_CALL_OK);
			assert_true(end.ns > 0);
			values = kl_subject_buffer(subject, 2);
			for (size_t i = 0; i < n; i++)
				assert_true(values[i] == 1.5f * ((float)i + (float)seed));
		}
		kl_subject_free(subject);
	}
}

/* What a kernel does not write is the poison that the host knows, of either kind. */
static void test_poison_is_known(void **state)
{
	struct kl_job *job = gpu_job(*state, SCALE_KERNEL("n = 0;"), NULL);
	struct kl_subject_spec spec = gpu_spec(job, true);
	struct kl_subject *subject = NULL;
	struct kl_call end;
	float before[3000], *values;

	assert_ok(kl_subject_start(&subject, job, job->point, &spec));
	for (uint64_t seed = 6; seed < 8; seed++) {
		kl_subject_poison(subject, seed);
		memcpy(before, kl_subject_buffer(subject, 2), sizeof(before));
		memset(kl_subject_buffer(subject, 2), 0, sizeof(before));
		assert_ok(kl_subject_call(subject, &end));
		values = kl_subject_buffer(subject, 2);
		assert_memory_equal(values, before, sizeof(before));
		for (int i = 0; i < 3000; i++)
			assert_true(seed & 1 ? values[i] * values[i] >= 0.0625f &&
						       values[i] * values[i] < 4 :
					       values[i] != values[i]);
	}
	kl_subject_free(subject);
}

static int registered; /* mappings that are pinned */

static int count_register(void *at, size_t bytes, unsigned flags)
{
	registered++;
	return 0;
}

static int count_unregister(void *at)
{
	registered--;
	return 0;
}

/* Only what the worker can use again stays pinned. */
static void test_useless_mappings_are_not_kept(void **state)
{
	struct kl_gpu_driver cu = {
		.host_register = count_register,
		.host_unregister = count_unregister,
	};
	const struct kl_gpu_device device = { .cu = &cu };
	const uint64_t most = KL_GPU_HOST_SPARE_BYTES;
	const struct {
		uint64_t bytes;
		bool keep;
		int left;
	} tries[] = { { 1 << 21, true, 1 },
		      { 1 << 21, false, 0 },
		      { most, true, 1 },
		      { most + 4096, true, 0 } };

	for (size_t i = 0; i < KL_ARRAY_SIZE(tries); i++) {
		struct kl_gpu_host_maps maps = { 0 };
		struct kl_gpu_host_map map = { 0 };
		int fd = memfd_create("tensors", MFD_CLOEXEC);

		registered = 0;
		assert_int_equal(ftruncate(fd, (off_t)tries[i].bytes), 0);
		assert_ok(kl_gpu_host_map(&map, &maps, &device, fd, tries[i].bytes, true));
		assert_int_equal(registered, 1);
		kl_gpu_host_unmap(&map, tries[i].keep ? &maps : NULL, &device);
		assert_int_equal(registered, tries[i].left);
		close(fd);
	}
}

/* Large memory is pinned where that works, and comes again for the next subject of its process. */
static void test_large_tensors(void **state)
{
	static const char *const confs[] = { "pins 1\n", "pins 0\n" };
	const size_t n = 1 << 19;

	for (size_t i = 0; i < KL_ARRAY_SIZE(confs); i++) {
		struct kl_job *job = gpu_job(*state, NULL, NULL);

		gpu_conf(*state, confs[i]);
		job->point[0].dim[0] = (int64_t)n;
		job->point[0].arg[1].extent[0] = job->point[0].arg[2].extent[0] = (int64_t)n;
		for (uint64_t turn = 0; turn < 4; turn++) {
			struct kl_subject_spec spec = gpu_spec(job, turn & 1);
			struct kl_subject *subject = NULL;
			struct kl_call end;
			float *values;

			assert_ok(kl_subject_start(&subject, job, job->point, &spec));
			values = kl_subject_buffer(subject, 1);
			for (size_t k = 0; k < n; k++)
				values[k] = (float)(k + turn);
			kl_subject_poison(subject, turn);
			assert_ok(kl_subject_call(subject, &end));
			assert_int_equal(end.end, KL_CALL_OK);
			values = kl_subject_buffer(subject, 2);
			for (size_t k = 0; k < n; k++)
				if (values[k] != 1.5f * (float)(k + turn))
					fail_msg("%zu: %g", k, (double)values[k]);
			kl_subject_free(subject);
		}
	}
}

/* One process serves an artefact at all its points; another artefact has another. */
static void test_process_is_kept(void **state)
{
	struct kl_job *job = gpu_job(*state, NULL, NULL);
	struct kl_gpu_child *other = NULL, *gpu_child = NULL, *child = NULL;
	pid_t first;

	assert_ok(kl_gpu_processes_child(&other, job, job->candidate_path));
	first = other->pid;
	kl_gpu_processes_put(job->gpu, other);
	assert_ok(kl_gpu_processes_child(&other, job, job->candidate_path));
	assert_int_equal(other->pid, first);
	assert_ok(kl_gpu_processes_child(&gpu_child, job, job->truth_path));
	assert_ok(kl_gpu_processes_child(&child, job, job->candidate_path));
	assert_int_not_equal(gpu_child->pid, first);
	assert_int_not_equal(child->pid, first);
	kl_gpu_child_kill(other); /* as after a fault */
	kl_gpu_processes_put(job->gpu, other);
	kl_gpu_processes_put(job->gpu, child);
	assert_ok(kl_gpu_processes_child(&other, job, job->candidate_path));
	assert_int_not_equal(other->pid, first);
	kl_gpu_processes_put(job->gpu, other);
	kl_gpu_processes_put(job->gpu, gpu_child);
}

/* The oracle's builds share a process, each with slots of its own. */
static void test_oracle_has_one_process(void **state)
{
	struct kl_job *job = gpu_job(*state, NULL, NULL);
	struct kl_gpu_child *truth = NULL, *honest = NULL, *again = NULL;
	uint32_t module[3], slot[3];
	pid_t first;

	assert_ok(kl_gpu_processes_oracle(&truth, &module[0], &slot[0], job, job->truth_path));
	assert_ok(kl_gpu_processes_oracle(&honest, &module[1], &slot[1], job, job->honest_path));
	assert_ok(kl_gpu_processes_oracle(&again, &module[2], &slot[2], job, job->truth_path));
	assert_true(truth == honest && truth == again);
	assert_int_equal(module[0], module[2]);
	assert_int_not_equal(module[0], module[1]);
	assert_true(slot[0] != slot[1] && slot[0] != slot[2] && slot[1] != slot[2]);
	kl_gpu_processes_oracle_put(job->gpu, slot[1]);
	assert_ok(kl_gpu_processes_oracle(&again, &module[1], &slot[1], job, job->honest_path));
	first = truth->pid;
	kl_gpu_child_kill(truth); /* as after a fault */
	assert_error(KL_EIO, "the oracle's GPU process has ended",
		     kl_gpu_processes_oracle(&again, &module[2], &slot[2], job, job->truth_path));
	for (uint32_t i = 0; i < 3; i++)
		kl_gpu_processes_oracle_put(job->gpu, i);
	assert_ok(kl_gpu_processes_oracle(&again, &module[0], &slot[0], job, job->honest_path));
	assert_int_not_equal(again->pid, first);
	kl_gpu_processes_oracle_put(job->gpu, slot[0]);
}

/* Two builds at work by turns, each with its own arithmetic. */
static void test_oracle_in_both_arithmetics(void **state)
{
	struct kl_job *job = gpu_job(*state, NULL, NULL);
	struct kl_subject *truth = NULL, *honest = NULL;
	const void *input[KL_MAX_ARGS] = { NULL };
	float x[3000];

	assert_ok(kl_trial_oracle_start(&truth, job, job->point, true));
	assert_ok(kl_trial_oracle_start(&honest, job, job->point, false));
	input[1] = x;
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < 3000; i++)
			x[i] = (float)(i + turn) / 7;
		assert_ok(kl_trial_oracle(truth, job, job->point, input, true, NULL));
		assert_ok(kl_trial_oracle(honest, job, job->point, input, false, NULL));
		for (int i = 0; i < 3000; i++) {
			assert_true(((double *)kl_subject_buffer(truth, 2))[i] ==
				    1.5 * (double)x[i]);
			assert_true(((float *)kl_subject_buffer(honest, 2))[i] == 1.5f * x[i]);
		}
	}
	kl_subject_free(truth);
	kl_subject_free(honest);
}

static const struct {
	const char *name, *body, *plan;
	enum kl_call_end end;
	const char *what;
} ends[] = {
	{ "a store behind the guard", SCALE_KERNEL("y[4 << 20] = 1;"), NULL, KL_CALL_FAULT,
	  "CUDA_ERROR_ILLEGAL_ADDRESS in 'scale'" },
	{ "a store before the guard", SCALE_KERNEL("y[-(4 << 20)] = 1;"), NULL, KL_CALL_FAULT,
	  "CUDA_ERROR_ILLEGAL_ADDRESS" },
	{ "a load behind the guard", SCALE_KERNEL("s += ((volatile float *)x)[8 << 20];"), NULL,
	  KL_CALL_FAULT, "CUDA_ERROR_ILLEGAL_ADDRESS" },
	{ "a store to an input", SCALE_KERNEL("((float *)x)[5] = 1;"), NULL, KL_CALL_FAULT,
	  "stored to an input: CUDA_ERROR_ILLEGAL_ADDRESS" },
	{ "one element too many", SCALE_KERNEL("y[n] = 1;"), NULL, KL_CALL_FAULT,
	  "wrote out of bounds of 'y': byte 12000 of 12000" },
	{ "one element too early", SCALE_KERNEL("y[-1] = 1;"), NULL, KL_CALL_FAULT, "" },
	{ "illegal instruction", SCALE_KERNEL("__builtin_trap();"), NULL, KL_CALL_FAULT,
	  "CUDA_ERROR_ILLEGAL_INSTRUCTION" },
	{ "assert", SCALE_KERNEL("abort();"), NULL, KL_CALL_FAULT, "failed its own assertion" },
	{ "hang", SCALE_KERNEL("for (;;) pause();"), NULL, KL_CALL_HANG,
	  "did not end within 1500 ms" },
	{ "refused", "const int scale_refuse = 701;" SCALE_KERNEL(""), NULL, KL_CALL_LAUNCH,
	  "could not be launched: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES in 'scale'" },
};

static void test_ends(void **state)
{
	struct gpu_fixture *fixture = *state;
	struct kl_call end;

	for (size_t i = 0; i < KL_ARRAY_SIZE(ends); i++) {
		struct kl_job *job = gpu_job(fixture, ends[i].body, ends[i].plan);

		end = gpu_try(job, 0, false);
		if (end.end != ends[i].end || !strstr(end.what, ends[i].what))
			fail_msg("%s: end %d, \"%s\"", ends[i].name, (int)end.end, end.what);
		/* and nothing of it reaches the next */
		if (i % 4 == 0) {
			job = gpu_job(fixture, NULL, NULL);
			assert_int_equal(gpu_try(job, 0, true).end, KL_CALL_OK);
		}
	}
}

static void test_right_aligned_meets_the_guard(void **state)
{
	/* 12000 bytes: 32 of slack up to the next 256 behind, the guard after them */
	struct kl_job *job = gpu_job(*state, SCALE_KERNEL("y[n + 7] = 1;"), NULL);
	struct kl_call end = gpu_try(job, 0, true);

	assert_int_equal(end.end, KL_CALL_FAULT);
	assert_contains(end.what, "wrote out of bounds of 'y': byte 12028");
	job = gpu_job(*state, SCALE_KERNEL("y[n + 8] = 1;"), NULL);
	end = gpu_try(job, 0, true);
	assert_contains(end.what, "CUDA_ERROR_ILLEGAL_ADDRESS");
}

/* -- what is kept between calls ------------------------------------------------------------ */

static void expect_twice(struct kl_job *job)
{
	struct kl_subject_spec spec = gpu_spec(job, false);
	struct kl_subject *subject = NULL;
	struct kl_call end;

	assert_ok(kl_subject_start(&subject, job, job->point, &spec));
	for (int i = 0; i < 3; i++) {
		kl_subject_poison(subject, 2);
		((float *)kl_subject_buffer(subject, 1))[0] = 2;
		assert_ok(kl_subject_call(subject, &end));
		assert_int_equal(end.end, KL_CALL_OK);
		assert_true(((float *)kl_subject_buffer(subject, 2))[0] == 3);
	}
	kl_subject_free(subject);
}

/* Right in the first call only, by a global and by shared memory: neither lasts. */
static void test_nothing_lasts(void **state)
{
	expect_twice(
		gpu_job(*state, "static int calls;" SCALE_KERNEL("if (calls++) s = 0;"), NULL));
	expect_twice(gpu_job(
		*state,
		SCALE_KERNEL(
			"if (!memcmp(l->shared, \"kept\", 4)) s = 0; memcpy(l->shared, \"kept\", 4);"),
		NULL));
}

#define TWO(scratch, more)                                                                    \
	"{\"klineage-launch\":1,\"compile\":{\"arch\":\"sm_90a\"},\"scratch\":{" scratch "}," \
	"\"launch\":[{\"kernel\":\"scale\",\"grid\":[1],\"block\":[256]" more                 \
	",\"args\":[\"x\",\"y\",{\"i32\":\"n\"},\"s\",\"t\"]}]}"
#define WITH_SCRATCH(more)                                                                             \
	"KERNEL(scale, 8, 8, 4, 4, 8) { const float *x = PTR(0); float *y = PTR(1); float s = F32(3);" \
	" int n = I32(2); unsigned *t = PTR(4); " more                                                 \
	" for (int i = 0; i < n; i++) y[i] = x[i] * s; }\n"

static void test_scratch(void **state)
{
	struct kl_job *job;
	struct kl_call end;

	/* zero: so before each call */
	expect_twice(
		gpu_job(*state, WITH_SCRATCH("if (t[3]) s = 0; t[3] = 1;"),
			TWO("\"t\":{\"dtype\":\"u32\",\"shape\":[16],\"init\":\"zero\"}", "")));
	/* poison: never what it was, and no number to live with */
	expect_twice(
		gpu_job(*state, WITH_SCRATCH("if (t[3] == 77 || t[3] < 4096) s = 0; t[3] = 77;"),
			TWO("\"t\":{\"dtype\":\"u32\",\"shape\":[16],\"init\":\"poison\"}", "")));
	/* carry: zero at first, and the kernel puts it back */
	expect_twice(
		gpu_job(*state, WITH_SCRATCH("if (t[3]) s = 0; t[3]++; t[3] = 0;"),
			TWO("\"t\":{\"dtype\":\"u32\",\"shape\":[16],\"init\":\"carry\"}", "")));
	job = gpu_job(*state, WITH_SCRATCH("t[3]++;"),
		      TWO("\"t\":{\"dtype\":\"u32\",\"shape\":[16],\"init\":\"carry\"}", ""));
	end = gpu_try(job, 0, false);
	assert_int_equal(end.end, KL_CALL_FAULT);
	assert_contains(end.what,
			"left scratch 't', which is carried from call to call, not zero: byte 12");
	job = gpu_job(*state, WITH_SCRATCH("t[16] = 1;"),
		      TWO("\"t\":{\"dtype\":\"u32\",\"shape\":[16],\"init\":\"zero\"}", ""));
	end = gpu_try(job, 0, false);
	assert_contains(end.what, "wrote outside of scratch 't': byte 64 of 64");
}

/* `prepare` runs once, and what it made cannot be changed by the launches. */
#define PREPARE                                                                                             \
	"{\"klineage-launch\":1,\"compile\":{\"arch\":\"sm_90a\"},"                                         \
	"\"scratch\":{\"t\":{\"dtype\":\"u32\",\"shape\":[16],\"init\":\"prepare\"}},"                      \
	"\"prepare\":[{\"kernel\":\"make\",\"grid\":[1],\"block\":[32],\"args\":[\"t\",{\"i32\":\"n\"}]}]," \
	"\"launch\":[{\"kernel\":\"scale\",\"grid\":[1],\"block\":[256],"                                   \
	"\"args\":[\"x\",\"y\",{\"i32\":\"n\"},\"s\",\"t\"]}]}"
#define MAKE "KERNEL(make, 8, 4) { ((unsigned *)PTR(0))[3] = I32(1); }"

static void test_prepare(void **state)
{
	struct kl_job *job;
	struct kl_subject_spec spec;
	struct kl_subject *subject = NULL;
	struct kl_call end;

	expect_twice(gpu_job(*state, MAKE WITH_SCRATCH("if (t[3] != n) s = 0;"), PREPARE));
	end = gpu_try(gpu_job(*state, MAKE WITH_SCRATCH("t[4] = 1;"), PREPARE), 0, false);
	assert_int_equal(end.end, KL_CALL_FAULT);
	assert_contains(end.what, "ILLEGAL_ADDRESS");
	/* what happens in it is as bad as in a call, and no fault of the launch */
	end = gpu_try(gpu_job(*state, "KERNEL(make, 8, 4) { *(int *)0 = 1; }" WITH_SCRATCH(""),
			      PREPARE),
		      0, false);
	assert_int_equal(end.end, KL_CALL_FAULT);
	assert_contains(end.what, "CUDA_ERROR_ILLEGAL_ADDRESS in 'make', in prepare");
	end = gpu_try(gpu_job(*state, "KERNEL(make, 8, 4) { for (;;) pause(); }" WITH_SCRATCH(""),
			      PREPARE),
		      0, false);
	assert_int_equal(end.end, KL_CALL_HANG);
	assert_contains(end.what, "did not end within 1500 ms, in prepare");
	job = gpu_job(*state,
		      "const int make_refuse = 701; KERNEL(make, 8, 4) { }" WITH_SCRATCH(""),
		      PREPARE);
	spec = gpu_spec(job, false);
	assert_error(KL_EINVALID, "the driver refused prepare[0], kernel 'make'",
		     kl_subject_start(&subject, job, job->point, &spec));
}

/*
 * Scratch that the device has no room for is the plan's fault, at once. Where others take the room,
 * it is the machine's trouble.
 */
static void test_too_much_scratch(void **state)
{
	static const struct {
		const char *bytes, *why;
		int err;
	} tries[] = {
		{ "1099511627776", "the plan's scratch buffers need 1099511627776 bytes", 0 },
		{ "1040187392", "tensors and scratch need 1040187448 bytes in total", 0 },
		{ "900000000", "cannot allocate 900000000 bytes on the GPU", KL_EIO },
	};

	gpu_conf(*state, "room 500000000\n");
	for (size_t i = 0; i < KL_ARRAY_SIZE(tries); i++) {
		KL_AUTO(kl_freep)
		char *plan = kl_asprintf(TWO("\"t\":{\"bytes\":%s}", ""), tries[i].bytes);
		struct kl_job *job = gpu_job(*state, WITH_SCRATCH(""), plan);
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
		KL_AUTO(json_decrefp) json_t *result = json_object();

		assert_ok(kl_pool_open(&pool, job));
		assert_int_equal(kl_stage_correct(result, job, pool), tries[i].err);
		assert_string_equal(kl_json_str_or(result, "class", "-"),
				    tries[i].err ? "-" : "launch");
		assert_contains(tries[i].err ? kl_error_last() :
					       kl_json_str_or(result, "message", ""),
				tries[i].why);
	}
}

/* -- what does not fit ------------------------------------------------------------------------ */

static void test_plans_that_do_not_fit(void **state)
{
	static const struct {
		const char *body, *plan, *error;
		enum kl_err kind;
	} bad[] = {
		{ "KERNEL(other, 8) { }", SCALE_PLAN, "the cubin has no kernel 'scale'",
		  KL_EINVALID },
		{ "KERNEL(scale, 8, 8, 4) { }", SCALE_PLAN,
		  "has 3 parameters, but the plan passes 4", KL_EINVALID },
		{ "KERNEL(scale, 8, 8, 4, 4, 4) { }", SCALE_PLAN, "has more than the 4 parameters",
		  KL_EINVALID },
		{ "KERNEL(scale, 8, 8, 8, 4) { }", SCALE_PLAN,
		  "has a parameter 2 of 8 bytes, but the plan passes 4", KL_EINVALID },
		{ "const int scale_max_threads = 128;" SCALE_KERNEL(""), SCALE_PLAN,
		  "blocks of 256 threads, but its registers or launch bounds allow only 128",
		  KL_EINVALID },
		{ WITH_SCRATCH(""),
		  TWO("\"t\":{\"dtype\":\"u32\",\"shape\":[16]}", ",\"smem\":240000"),
		  "shared memory", KL_ECANNOT },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		struct kl_job *job = gpu_job(*state, bad[i].body, bad[i].plan);
		struct kl_subject_spec spec = gpu_spec(job, false);
		struct kl_subject *subject = NULL;
		int err = kl_subject_start(&subject, job, job->point, &spec);

		if (err != bad[i].kind || !strstr(kl_error_last(), bad[i].error))
			fail_msg("%zu: %d: %s", i, err, kl_error_last());
	}
}

/*
 * Grid, cluster, cooperative, programmatic launch and shared memory arrive as they were asked for.
 */
static void test_launch_attributes(void **state)
{
	struct gpu_fixture *fixture = *state;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(fixture->dir, "launches");
	struct kl_job *job = gpu_job(
		fixture, SCALE_KERNEL("") "KERNEL(wide, 8) { }",
		"{\"klineage-launch\":1,\"compile\":{\"arch\":\"sm_90a\"},\"launch\":["
		"{\"kernel\":\"wide\",\"grid\":[32,2],\"block\":[64],\"cluster\":[16],\"nonportable\":true,"
		"\"smem\":100000,\"args\":[\"x\"]},"
		"{\"kernel\":\"wide\",\"grid\":[8],\"block\":[64],\"cooperative\":true,\"args\":[\"x\"]},"
		"{\"kernel\":\"scale\",\"grid\":[\"cdiv(n,256)\"],\"block\":[256],\"pdl\":true,"
		"\"args\":[\"x\",\"y\",{\"i32\":\"n\"},\"s\"]}]}");

	gpu_file(fixture, "launches", "");
	assert_int_equal(gpu_try(job, 0, false).end, KL_CALL_OK);
	assert_ok(kl_fs_read(&text, path, 65536));
	assert_string_equal(
		text.ptr,
		"wide grid 32,2,1 block 64,1,1 cluster 16,1,1 smem 100000 cooperative 0 pdl 0\n"
		"wide grid 8,1,1 block 64,1,1 cluster 0,0,0 smem 0 cooperative 1 pdl 0\n"
		"scale grid 12,1,1 block 256,1,1 cluster 0,0,0 smem 0 cooperative 0 pdl 1\n");
}

#define MAP_PLAN(box)                                                                                   \
	"{\"klineage-launch\":1,\"compile\":{\"arch\":\"sm_90a\"},\"quirks\":\"auto\",\"maps\":{"       \
	"\"m\":{\"kind\":\"tiled\",\"of\":\"x\",\"dtype\":\"f32\",\"dims\":[100,30],\"strides\":[400]," \
	"\"box\":[" box                                                                                 \
	",30],\"elem\":[1,1],\"interleave\":\"none\",\"swizzle\":\"none\",\"l2\":\"none\","             \
	"\"oob\":\"zero\"}},\"launch\":[{\"kernel\":\"scale\",\"grid\":[1],\"block\":[32],"             \
	"\"args\":[{\"map\":\"m\"},\"x\",\"y\",\"s\"]}]}"

/* The descriptor arrives, of the right tensor, with the bit of old drivers cleared. */
static void test_tensor_map(void **state)
{
	const char *body =
		"KERNEL(scale, 128, 8, 8, 4) { unsigned long long *m = arg[0]; float *y = PTR(2);"
		"float *x = (void *)m[0]; int ok = x == PTR(1) && m[2] == 100 && m[3] == 30 && m[4] == 400;"
		"ok = ok && m[1] == 2; for (int i = 0; i < 3000; i++) y[i] = ok ? x[i] * F32(3) : 0; }";
	struct kl_job *job = gpu_job(*state, body, MAP_PLAN("100"));
	KL_AUTO(json_decrefp) json_t *result = json_object();

	job->npoint = 1;
	expect_twice(job);
	kl_gpu_processes_describe(result, job->gpu);
	assert_string_equal(kl_json_str_or(result, "device", ""), "Fake GPU 0");
	assert_int_equal(kl_json_int_or(result, "cc", 0), 90);
	assert_contains(json_string_value(json_array_get(json_object_get(result, "gpu_notes"), 0)),
			"tensor maps");
}

/*
 * What the kernel's own calls took says how long to wait for another one: those at a smaller point,
 * and those that ended at the same one.
 */
static void test_hangs_are_known_soon(void **state)
{
	static const struct {
		const char *body, *what;
		int64_t most_ms;
	} tries[] = {
		/* 20 * (3000 / 7)^2 times what the smaller point took, which may be a few microseconds */
		{ SCALE_KERNEL("if (n > 100) for (;;) pause();"), "hang at 'case0'", 25000 },
		{ SCALE_KERNEL(COUNT_SHARED "if (before >= 3) for (;;) pause();"), "within 500 ms",
		  5000 },
	};

#ifdef __SANITIZE_ADDRESS__
	skip(); /* sanitizers slow the calls down, from which the time to wait is predicted */
#endif
	for (size_t i = 0; i < KL_ARRAY_SIZE(tries); i++) {
		struct kl_job *job = gpu_job(*state, tries[i].body, NULL);
		KL_AUTO(json_decrefp) json_t *result = NULL;
		int64_t begin = kl_clock_ns(), ms;

		job->call_ms = 60000;
		result = judge_only(job);
		ms = (kl_clock_ns() - begin) / 1000000;
		assert_string_equal(kl_json_str_or(result, "class", ""), "hang");
		assert_contains(kl_json_str_or(result, "message", ""), tries[i].what);
		if (ms > tries[i].most_ms)
			fail_msg("%zu: %lld ms: %s", i, (long long)ms,
				 kl_json_str_or(result, "message", ""));
	}
}

/* A kernel that is much slower at a larger point is not taken for one that hangs. */
static void test_slower_points_are_waited_for(void **state)
{
	struct kl_job *job = gpu_job(*state, SCALE_KERNEL("if (n > 100) usleep(700000);"), NULL);
	KL_AUTO(json_decrefp) json_t *result = NULL;

	job->call_ms = 60000;
	result = judge_only(job);
	if (json_object_get(result, "class"))
		fail_msg("%s", kl_json_str_or(result, "message", ""));
}

/*
 * -- hangs and the lock ---------------------------------------------------------------------------
 */

static void test_health_after_a_hang(void **state)
{
	struct gpu_fixture *fixture = *state;
	struct kl_job *job = gpu_job(fixture, SCALE_KERNEL("for (;;) pause();"), NULL);
	struct kl_subject_spec spec = gpu_spec(job, false);
	struct kl_subject *subject = NULL;
	struct kl_call end;

	job->call_ms = 200;
	assert_int_equal(gpu_try(job, 0, false).end, KL_CALL_HANG);
	/* it was well: one may go on */
	assert_ok(kl_subject_start(&subject, job, job->point, &spec));
	kl_subject_poison(subject, 2);
	assert_ok(kl_subject_call(subject, &end));
	assert_int_equal(end.end, KL_CALL_HANG);
	gpu_conf(fixture, "sick 1\n");
	kl_subject_free(subject); /* and now it is not */
	subject = NULL;
	assert_error(KL_EIO, "not healthy since a kernel hung",
		     kl_subject_start(&subject, job, job->point, &spec));
}

/*
 * The kernel is found running only when the buffers are freed: the reply to DROP, which waits in the
 * socket, says so.
 */
static void test_health_after_a_hang_of_freeing(void **state)
{
	struct gpu_fixture *fixture = *state;
	struct kl_job *job = gpu_job(fixture, NULL, NULL);
	struct kl_gpu_child *child = NULL;
	struct kl_gpu_reply reply = {
		.head = kl_gpu_head(KL_GPU_OP_DROP, 0, sizeof(reply)),
		.state = KL_GPU_STUCK,
	};

	for (int sick = 0; sick < 2; sick++) {
		int pair[2];

		assert_ok(kl_gpu_processes_child(&child, job, job->candidate_path));
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
		assert_int_equal(send(pair[1], &reply, sizeof(reply), 0), sizeof(reply));
		close(child->socket);
		child->socket = pair[0];
		assert_false(child->stuck);
		if (sick)
			gpu_conf(fixture, "sick 1\n");
		kl_gpu_processes_put(job->gpu, child);
		close(pair[1]);
	}
	assert_error(KL_EIO, "not healthy since a kernel hung",
		     kl_gpu_processes_child(&child, job, job->candidate_path));
}

/* The oracle's process is shared, but a hang of it is followed by a probe like any other. */
static void test_health_after_a_hang_of_the_oracle(void **state)
{
	struct gpu_fixture *fixture = *state;
	struct kl_job *job = gpu_job(fixture, NULL, NULL);
	KL_AUTO(kl_freep) char *truth = gpu_cubin(
		fixture, "truth", "double", "KERNEL(oracle, 8, 8, 4, 4) { for (;;) pause(); }\n");
	const struct kl_subject_spec spec = {
		.kind = KL_SUBJECT_ORACLE,
		.path = truth,
		.real_is_double = true,
		.cpu = -1,
	};
	struct kl_subject_spec candidate = gpu_spec(job, false);
	struct kl_subject *subject = NULL;
	struct kl_call end;

	job->call_ms = 200;
	for (int sick = 0; sick < 2; sick++) {
		assert_ok(kl_subject_start(&subject, job, job->point, &spec));
		kl_subject_poison(subject, 2);
		assert_ok(kl_subject_call(subject, &end));
		assert_int_equal(end.end, KL_CALL_HANG);
		if (sick)
			gpu_conf(fixture, "sick 1\n");
		kl_subject_free(subject);
		subject = NULL;
	}
	assert_error(KL_EIO, "not healthy since a kernel hung",
		     kl_subject_start(&subject, job, job->point, &candidate));
}

static void test_second_worker_waits(void **state)
{
	struct kl_job *job = gpu_job(*state, NULL, NULL);
	KL_AUTO(kl_freep) char *resource = NULL;
	struct kl_gpu_child *child = NULL;
	int64_t start, took;
	int ready[2];
	pid_t other;
	char byte;

	assert_ok(kl_gpu_child_start(&child));
	resource = kl_asprintf("gpu-%s", child->hello.device[0].uuid);
	kl_gpu_child_free(child);
	assert_int_equal(pipe(ready), 0);
	other = fork();
	if (!other) {
		struct kl_lock lock = KL_LOCK_INIT;

		if (kl_lock_take_machine(&lock, resource, 0) < 0)
			_exit(1);
		byte = write(ready[1], "x", 1) == 1;
		kl_clock_sleep_ms(400);
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	start = kl_clock_ns();
	assert_ok(kl_gpu_processes_child(&child, job, job->candidate_path));
	took = kl_clock_ns() - start;
	assert_true(took > 200000000);
	kl_gpu_processes_put(job->gpu, child);
	waitpid(other, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

/*
 * -- hostile messages --------------------------------------------------------------------------------
 */

/* A GPU process, greeted and opened, to be told nonsense. */
static struct kl_gpu_child *opened(void)
{
	struct kl_gpu_child *child = NULL;

	assert_ok(kl_gpu_child_start(&child));
	assert_ok(kl_gpu_child_open(child, 0));
	return child;
}

static void expect_end(const void *message, size_t n, const char *what)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *child = opened();
	char reply[8192];
	int status;

	assert_int_equal(send(child->socket, message, n, MSG_NOSIGNAL), (ssize_t)n);
	if (recv(child->socket, reply, sizeof(reply), 0) > 0)
		fail_msg("%s: answered", what);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	child->pid = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 70)
		fail_msg("%s: status %x", what, status);
}

static void test_broken_frames(void **state)
{
	struct kl_gpu_head head = kl_gpu_head(KL_GPU_OP_PROBE, 0, sizeof(head));
	struct kl_gpu_put_set set = { .head = kl_gpu_head(KL_GPU_OP_SET, 0, sizeof(set)) };
	char big[70000] = { 0 };

	expect_end("x", 1, "one byte");
	expect_end(&head, sizeof(head) - 1, "short");
	head.bytes = 999;
	expect_end(&head, sizeof(head), "another size");
	head.bytes = sizeof(head);
	head.magic = 1;
	expect_end(&head, sizeof(head), "no magic");
	head = kl_gpu_head(77, 0, sizeof(head));
	head.op = 63;
	expect_end(&head, sizeof(head), "no operation");
	head = kl_gpu_head(KL_GPU_OP_SET, 0, sizeof(head));
	expect_end(&head, sizeof(head), "a set that is a head");
	memcpy(big, &set, sizeof(set));
	((struct kl_gpu_head *)big)->bytes = sizeof(set) + 8;
	expect_end(big, sizeof(set) + 8, "too long");
	((struct kl_gpu_head *)big)->bytes = sizeof(big);
	expect_end(big, sizeof(big), "beyond any message");
}

static void test_bad_requests_are_answered(void **state)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *c = opened();
	struct kl_gpu_put_set set = { .head = kl_gpu_head(KL_GPU_OP_SET, 0, sizeof(set)),
				      .n = 1,
				      .host_bytes = 4096 };
	struct kl_gpu_put_module mod = { .head = kl_gpu_head(KL_GPU_OP_MODULE, 0, sizeof(mod)),
					 .bytes = 100 };
	struct kl_gpu_called called;
	struct kl_gpu_reply r;
	int null = open("/dev/null", O_RDWR), unsealed = memfd_create("unsealed", MFD_CLOEXEC);

#define ASK(q, fd) kl_gpu_child_ask(c, &(q), sizeof(q), fd, &r, sizeof(r), 5000)
	set.layout[0] = (struct kl_gpu_tensor_layout){ .tensor = true, .bytes = 64 };
	assert_error(KL_EINVALID, "came without a memory file", ASK(set, -1));
	assert_error(KL_EINVALID, "came without a memory file", ASK(set, null));
	set.offset[0] = 4096;
	assert_error(KL_EINVALID, "outside of the shared memory", ASK(set, null));
	set.offset[0] = ~(uint64_t)7;
	assert_error(KL_EINVALID, "outside of the shared memory", ASK(set, null));
	set.offset[0] = 0;
	set.layout[0].bytes = ~(uint64_t)0;
	assert_error(KL_EINVALID, "outside of the shared memory", ASK(set, null));
	set.n = 33;
	assert_error(KL_EINVALID, "too many tensors", ASK(set, null));
	set.n = 1;
	set.head.slot = KL_GPU_MAX_SETS;
	assert_error(KL_EINVALID, "too many tensors", ASK(set, null));
	assert_error(KL_EINVALID, "came without sealed memory", ASK(mod, null));
	assert_int_equal(ftruncate(unsealed, 4096), 0);
	assert_error(KL_EINVALID, "came without sealed memory", ASK(mod, unsealed));
	mod.bytes = ~(uint64_t)0;
	assert_error(KL_EINVALID, "too large", ASK(mod, null));
	assert_error(KL_EINVALID, "there is no binding 3",
		     kl_gpu_child_call(c, 3, 0, 0, 100, &called));
	assert_error(KL_EINVALID, "no binding", kl_gpu_child_call(c, 1u << 31, 0, 0, 100, &called));
	assert_error(KL_EINVALID, "the slot to drop does not exist", kl_gpu_child_drop(c, 99, 0));
	assert_error(KL_EINVALID, "the slot to drop does not exist",
		     kl_gpu_child_drop(c, KL_GPU_OP_BIND, 1000));
	assert_error(KL_EINVALID, "after HELLO and only once", kl_gpu_child_open(c, 0));
	assert_true(kl_gpu_child_alive(c));
	close(null);
	close(unsealed);
}

/* Replies are as little believed. */
static void test_broken_replies(void **state)
{
	for (int way = 0; way < 4; way++) {
		struct kl_gpu_child child = { .socket = -1 };
		struct kl_gpu_drop drop = { .head = kl_gpu_head(KL_GPU_OP_DROP, 5, sizeof(drop)) };
		struct kl_gpu_reply reply = { .head = drop.head };
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
		child.socket = pair[0];
		child.pid = fork();
		if (!child.pid) {
			close(pair[0]);
			reply.head.bytes = sizeof(reply);
			if (way == 0)
				reply.head.slot = 6;
			if (way == 1)
				reply.head.bytes = 7;
			if (recv(pair[1], &drop, sizeof(drop), 0) <= 0 || way == 2)
				_exit(3);
			if (send(pair[1], &reply, way == 3 ? 20 : sizeof(reply), 0) < 0)
				_exit(4);
			pause();
		}
		close(pair[1]);
		assert_error(KL_EIO,
			     way == 2 ? "ended with exit code 3" :
					"sent a reply that does not fit the request",
			     kl_gpu_child_ask(&child, &drop, sizeof(drop), -1, &reply,
					      sizeof(reply), 5000));
		assert_false(kl_gpu_child_alive(&child));
		kl_gpu_child_kill(&child);
	}
}

static void test_no_answer(void **state)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *child = opened();
	struct kl_gpu_drop drop = { .head = kl_gpu_head(KL_GPU_OP_DROP, 5, sizeof(drop)) };
	struct kl_gpu_reply reply;

	kill(child->pid, SIGSTOP);
	assert_error(KL_ETIMEOUT, "did not reply within 100 ms",
		     kl_gpu_child_ask(child, &drop, sizeof(drop), -1, &reply, sizeof(reply), 100));
	assert_true(child->stuck);
	assert_false(kl_gpu_child_alive(child));
}

/*
 * -- the stages as they are ------------------------------------------------------------------------------
 */

static void test_stages(void **state)
{
	static const struct {
		const char *body, *class;
	} tries[] = {
		{ SCALE_KERNEL(""), NULL },
		{ SCALE_KERNEL("s = 1.4f;"), "wrong-all" },
		{ SCALE_KERNEL("if (n < 100) s = 0;"), "wrong-edge" },
		{ SCALE_KERNEL("if (n > 100) n /= 2;"), "wrong-all" },
		{ SCALE_KERNEL("y[n] = 1;"), "fault" },
		{ "KERNEL(scale, 8, 8, 4) { }", "launch" },
		{ "const int scale_refuse = 701;" SCALE_KERNEL(""), "launch" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(tries); i++) {
		struct kl_job *job = gpu_job_of(*state, tries[i].body, NULL,
						"\"audit\",\"correct\"");
		KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
		KL_AUTO(json_decrefp) json_t *result = json_object();

		assert_ok(kl_pool_open(&pool, job));
		if (i == 0)
			assert_ok(kl_stage_audit(result, job, pool));
		assert_ok(kl_stage_correct(result, job, pool));
		if (strcmp(kl_json_str_or(result, "class", "pass"),
			   tries[i].class ? tries[i].class : "pass"))
			fail_msg("%zu: %s: %s", i, kl_json_str_or(result, "class", "pass"),
				 kl_json_str_or(result, "message", ""));
	}
}

/* Calls, inputs answered, and what is said of it. */
struct thrift {
	const char *body, *class, *note;
	int64_t least, most; /* calls */
	int64_t cases;       /* of 11 at case0 and 9 at also0; -1: no matter */
};

static void try_thrift(struct gpu_fixture *fixture, const struct thrift *thrift)
{
	struct kl_job *job = gpu_job_of(fixture, thrift->body, NULL, "\"correct\"");
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(json_decrefp) json_t *result = json_object();
	KL_AUTO(kl_freep) char *notes = NULL;
	const json_t *child;
	int64_t calls, cases;

	job->seed = 20260101; /* a kernel that looks at its poison sees the same one */
	for (int i = 0; i < 6; i++)
		json_array_append_new(job->bands,
				      json_pack("{s:{s:[f,f]}}", "x", "uniform", 1.0 + i, 2.0 + i));
	assert_ok(kl_pool_open(&pool, job));
	assert_ok(kl_stage_correct(result, job, pool));
	child = json_object_get(result, "correct");
	notes = json_dumps(json_object_get(child, "notes") ? json_object_get(child, "notes") :
							     json_null(),
			   JSON_ENCODE_ANY);
	calls = kl_json_int_or(child, "calls", 0);
	cases = kl_json_int_or(child, "cases", 0);
	print_message("%lld calls, %lld cases, %s: %s\n", (long long)calls, (long long)cases, notes,
		      kl_json_str_or(result, "message", ""));
	assert_string_equal(kl_json_str_or(result, "class", "pass"), thrift->class);
	assert_in_range(calls, thrift->least, thrift->most);
	if (thrift->cases >= 0)
		assert_int_equal(cases, thrift->cases);
	if (thrift->note)
		assert_contains(notes, thrift->note);
	else if (strcmp(notes, "null")) /* what a busy machine makes of cheap calls */
		assert_contains(notes, "ordinary calls were made in a row");
}

/*
 * Slow kernels are asked less often, and it is said; never less than each input of a performance
 * point once, and at another shape two inputs, one of them again in another process. What is wrong
 * is found all the same.
 */
static void test_slow_kernels_are_asked_less(void **state)
{
	/* clang-format off */
	static const struct thrift tries[] = {
		/*
		 * cheap: at case0 13 + 8 + 6 of two sides, twins and repetitions, at also0 3 * 9 + 2, and ordinary
		 * calls: up to 63 + 3 at case0, 11 at also0; slow ones are 6 and 2
		 */
		{ SCALE_KERNEL(""), "pass", NULL, 27 + 29 + 6 + 2, 27 + 29 + 66 + 11, 22 },
		{ SCALE_KERNEL("if (n > 100) usleep(200000);"), "pass", "only 13 calls were judged, with 13 of 13 "
		  "inputs", 13 + 29 + 6 + 2, 13 + 29 + 6 + 11, 22 },
		{ SCALE_KERNEL("if (n < 100) usleep(150000);"), "pass", "only 11 calls were judged, with 9 of 9 "
		  "inputs", 27 + 11 + 6 + 2, 27 + 11 + 66 + 2, 22 },
		{ SCALE_KERNEL("if (n < 100) usleep(500000);"), "pass", "of 9 inputs", 27 + 3 + 6 + 2,
		  27 + 6 + 66 + 2, -1 },
		{ SCALE_KERNEL("if (n < 100) usleep(1200000);"), "pass", "only 3 calls were judged, with 2 of 9 "
		  "inputs", 27 + 3 + 6 + 2, 27 + 3 + 66 + 2, 13 + 2 },
		/* wrong for one input, in one process of two, and beyond the last element */
		{ SCALE_KERNEL("if (n > 100) { usleep(200000); if (x[0] > 6) s = 1; }"), "wrong-all", NULL, 1, 13, -1 },
		{ "KERNEL(scale, 8, 8, 4, 4) { const float *x = PTR(0); float *y = PTR(1), s = F32(3); int n = I32(2);\n"
		  "unsigned was; memcpy(&was, y, 4); if (n < 100) usleep(1200000);\n"
		  "for (int i = 0; i < n; i++) y[i] = x[i] * s;\n"
		  "if (n < 100) { memcpy(&n, y + was / 64 % 7, 4); n ^= 1; memcpy(y + was / 64 % 7, &n, 4); } }\n",
		  "nondeterministic", NULL, 1, 31, -1 },
		{ SCALE_KERNEL("if (n < 100) { usleep(1200000); y[n] = 1; }"), "fault", NULL, 0, 28, -1 },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(tries); i++)
		try_thrift(*state, &tries[i]);
}

/* -- what is kept from call to call -------------------------------------------------------- */

#define TABLE(more) \
	SCALE_KERNEL("static int kept[4] = { 3, 1, 2, 0 }; int before = kept[3]++;" more)

/*
 * Kernels that are right as long as everything is cleaned before each call. Without the profile
 * only the ordinary calls find them.
 */
static const struct {
	const char *body, *class, *why;
} keepers[] = {
	/* counts launches in shared memory that it never initialises, and stops computing */
	{ SCALE_KERNEL(COUNT_SHARED "if (before >= 5) return;"), "cheat", "earlier input" },
	/* leaves out half of the work from the fourth call on */
	{ SCALE_KERNEL(COUNT_SHARED "if (before >= 3) n /= 2;"), "nondeterministic|cheat", "" },
	{ SCALE_KERNEL(COUNT_SHARED "if (before >= 3) s *= 1.01f;"), "nondeterministic",
	  "no memory was cleaned" },
	/* counts in a variable or a constant of its module */
	{ TABLE("if (before >= 3) s = 1;"), "nondeterministic", "no memory was cleaned" },
	/* returns if some elements of the output are right already */
	{ SCALE_KERNEL("if (n > 100 && y[0] == s * x[0] && y[n / 2] == s * x[n / 2] && "
		       "y[n - 1] == s * x[n - 1]) return;"),
	  "cheat", "earlier input" },
	/* the same where the output holds any number, judged as what it is elsewhere */
	{ SCALE_KERNEL(COUNT_SHARED "if (before >= 3) y[n] = 0;"), "fault",
	  "out of bounds of 'y'" },
	{ SCALE_KERNEL(COUNT_SHARED "if (before >= 3) *(volatile int *)64 = 1;"), "fault",
	  "CUDA_ERROR_ILLEGAL_ADDRESS" },
	{ SCALE_KERNEL(COUNT_SHARED "if (before >= 3) for (;;) pause();"), "hang", "did not end" },
};

static void test_nothing_is_kept_between_ordinary_calls(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(keepers); i++) {
		struct kl_job *job = gpu_job(*state, keepers[i].body, NULL);
		KL_AUTO(json_decrefp) json_t *result = judge_only(job);
		const char *class = kl_json_str_or(result, "class", "pass");
		const char *message = kl_json_str_or(result, "message", "");

		if (!strstr(keepers[i].class, class) || !strstr(message, keepers[i].why))
			fail_msg("%zu: %s: %s", i, class, message);
	}
}

/* What a plan lets a kernel keep, and what is no state, passes: scratch of every kind. */
static void test_legal_kernels_are_ordinary(void **state)
{
	static const struct {
		const char *body, *plan;
	} legal[] = {
		{ WITH_SCRATCH("if (t[3]) s = 0; t[3] = 1;"),
		  TWO("\"t\":{\"dtype\":\"u32\",\"shape\":[16],\"init\":\"zero\"}", "") },
		{ WITH_SCRATCH("t[3] = 77; if (t[3] != 77) s = 0;"),
		  TWO("\"t\":{\"dtype\":\"u32\",\"shape\":[16],\"init\":\"poison\"}", "") },
		{ WITH_SCRATCH("if (t[3]) s = 0; t[3]++; t[3] = 0;"),
		  TWO("\"t\":{\"dtype\":\"u32\",\"shape\":[16],\"init\":\"carry\"}", "") },
		{ MAKE WITH_SCRATCH("if (t[3] != n) s = 0;"), PREPARE },
		{ SCALE_KERNEL("memset(l->shared, 7, 4096);"), NULL },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(legal); i++) {
		KL_AUTO(json_decrefp) json_t *result = judge_only(
			gpu_job(*state, legal[i].body, legal[i].plan));

		if (strcmp(kl_json_str_or(result, "status", "pass"), "pass"))
			fail_msg("%zu: %s", i, kl_json_str_or(result, "message", ""));
	}
}

/* An output that the contract starts at zero is zero in each call, ordinary ones included. */
static void test_zeros_are_there_in_every_call(void **state)
{
	static const char adds[] =
		"KERNEL(scale, 8, 8, 4, 4) { const float *x = PTR(0); float *y = PTR(1);\n"
		" for (int i = 0; i < I32(2); i++) y[i] += x[i] * F32(3); }\n";
	static const char idle[] = "KERNEL(scale, 8, 8, 4, 4) { }\n";
	struct kl_job *job = gpu_job(*state, adds, NULL);
	KL_AUTO(json_decrefp) json_t *poisoned = judge_only(job), *zeroed = NULL, *left = NULL;

	assert_string_equal(kl_json_str_or(poisoned, "class", ""), "wrong-all");
	job = gpu_job(*state, adds, NULL);
	job->arg[2].zeros = true;
	zeroed = judge_only(job);
	if (strcmp(kl_json_str_or(zeroed, "class", "pass"), "pass"))
		fail_msg("%s", kl_json_str_or(zeroed, "message", ""));
	job = gpu_job(*state, idle, NULL);
	job->arg[2].zeros = true;
	left = judge_only(job);
	assert_string_equal(kl_json_str_or(left, "class", ""), "wrong-all");
	assert_contains(kl_json_str_or(left, "message", ""), "still zero, as before the call");
}

/* ---- counters ---- */

#define CSV(...) "cat >\"$log\" <<'X'\n" __VA_ARGS__ "X\n"
#define HEAD                                                                                                           \
	"\"ID\",\"Process ID\",\"Kernel Name\",\"dram__bytes_read.sum\","                                              \
	"\"dram__throughput.avg.pct_of_peak_sustained_elapsed\",\"gpu__time_duration.sum\","                           \
	"\"l1tex__t_sector_hit_rate.pct\",\"lts__t_sector_hit_rate.pct\","                                             \
	"\"sm__throughput.avg.pct_of_peak_sustained_elapsed\",\"sm__warps_active.avg.pct_of_peak_sustained_active\"\n" \
	"\"\",\"\",\"\",\"byte\",\"%\",\"ns\",\"%\",\"%\",\"%\",\"%\"\n"

/* A pretended ncu, which runs its program as the real one does and then says `words`. */
static json_t *counted(struct gpu_fixture *fixture, const char *words, const char *kernel)
{
	struct kl_job *job = gpu_job_of(fixture, kernel, NULL, "\"correct\",\"counters\"");
	KL_AUTO(kl_freep) char *ncu = kl_fs_join(fixture->dir, "ncu"), *worker = NULL,
			       *file = kl_fs_join(fixture->dir, "job");
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		"#!/bin/sh\necho \"$*\" >'%s/args'\n"
		"while [ $# -gt 0 ]; do case $1 in --log-file) log=$2; shift 2; break ;; esac; shift; done\n%s",
		fixture->dir, words);
	KL_AUTO(kl_buf_release) struct kl_buf doc = KL_BUF_INIT, out = KL_BUF_INIT;
	const char *argv[] = { NULL, "--job", file, NULL };
	json_t *result = NULL;

	gpu_file(fixture, "ncu", text);
	assert_int_equal(chmod(ncu, 0755), 0);
	assert_true(job->do_counters);
	kl_json_canonical(&doc, fixture->doc);
	gpu_file(fixture, "job", doc.ptr);
	assert_ok(kl_fs_program(&worker, "klineage-worker"));
	argv[0] = worker;
	setenv("KLINEAGE_NCU", ncu, 1);
	assert_ok(kl_proc_output(&out, argv));
	unsetenv("KLINEAGE_NCU");
	assert_ok(kl_json_parse(&result, out.ptr, out.len));
	assert_string_equal(kl_json_str_or(result, "status", ""), "pass");
	return result;
}

static const char *first_note(const json_t *result)
{
	const char *text = json_string_value(
		json_array_get(json_object_get(json_object_get(result, "counters"), "notes"), 0));

	return text ? text : "";
}

static void test_counters(void **state)
{
	struct gpu_fixture *fixture = *state;
	/* it counts only if the program below it did what it should */
	KL_AUTO(json_decrefp) json_t *record = counted(
		fixture,
		"\"$@\" >\"${0%/*}/below\" || exit 3\n" CSV(
			"==PROF== Connected to process 7\n" HEAD
			"\"0\",\"7\",\"scale\",\"24,000\",\"63.125\",\"1,234.56\",\"n/a\",\"100\",\"0\",\"99.9999\"\n"
			"\"1\",\"7\",\"scale, \"\"again\"\"\",\"-1\",\"inf\",\"1e30\",\"\",\"12.5\"\n"
			"==PROF== Disconnected\n"),
		NULL);
	KL_AUTO(json_decrefp) json_t *want = NULL;
	KL_AUTO(kl_freep) char *args = kl_fs_join(fixture->dir, "args");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *said =
		"{\"by\":\"ncu\",\"launches\":[{\"kernel\":\"scale\",\"ns\":1235,\"dram_ppm\":631250,"
		"\"sm_ppm\":0,\"occupancy_ppm\":999999,\"l2_hit_ppm\":1000000,\"dram_read\":24000},"
		"{\"kernel\":\"scale, \\\"again\\\"\",\"l2_hit_ppm\":125000}]}";

	assert_ok(kl_json_parse(&want, said, strlen(said)));
	if (!json_equal(json_object_get(record, "counters"), want))
		fail_msg("%s", json_dumps(json_object_get(record, "counters"), 0));
	assert_ok(kl_fs_read(&text, args, 1 << 16));
	assert_contains(text.ptr, "--kernel-name regex:^(scale)$ --cache-control all");
	assert_contains(text.ptr, "lts__t_sector_hit_rate.pct");
}

/* Whatever is wrong with it, the verdict stands, and it is said. */
static void test_no_counters(void **state)
{
	/* clang-format off */
	static const struct { const char *words, *note; } tries[] = {
		{ "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission' >\"$log\"; exit 1\n",
		  "no counters: the driver lets only root read the GPU's counters (ERR_NVGPUCTRPERM)" },
		{ "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'; exit 1\n", "lets only root read" },
		{ "echo '==ERROR== No such device' >\"$log\"; exit 9\n", "no counters: ncu: No such device" },
		{ "exit 4\n", "no counters: ncu ended with exit code 4" },
		{ "kill -9 $$\n", "no counters: ncu ended with exit code 137" },
		{ "exit 0\n", "no counters: ncu wrote no counters" },
		{ CSV("\"ID\",\"Kernel Name\"\n\"0\",\"scale\"\n"), "no counters: ncu wrote no counters" },
		{ CSV(HEAD), "no counters: ncu wrote no counters" },
		{ CSV("\"ID\n\"\"\"\"\"\n,,,\n\"0\",\"scale\"\n") , "no counters: ncu wrote no counters" },
		{ "head -c 5000000 /dev/urandom >\"$log\"\n", "no counters" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(tries); i++) {
		KL_AUTO(json_decrefp) json_t *record = counted(*state, tries[i].words, NULL);

		assert_contains(first_note(record), tries[i].note);
		assert_null(json_object_get(json_object_get(record, "counters"), "launches"));
	}
}

static void test_no_ncu(void **state)
{
	char *path = NULL;

	setenv("KLINEAGE_NCU", "/nonexistent/ncu", 1);
	assert_error(KL_ECANNOT,
		     "KLINEAGE_NCU does not name an executable file: '/nonexistent/ncu'",
		     kl_ncu_find(&path));
	setenv("KLINEAGE_NCU", "ncu", 1);
	assert_error(KL_ECANNOT, "KLINEAGE_NCU does not name an executable file: 'ncu'",
		     kl_ncu_find(&path));
	unsetenv("KLINEAGE_NCU");
}

/* In a build with sanitizers, a report about the GPU process is on the stderr of the worker. */
static void test_report_is_kept(void **state)
{
#ifdef __SANITIZE_ADDRESS__
	struct gpu_fixture *fixture = *state;
	struct kl_job *job = gpu_job(fixture, SCALE_KERNEL("free(&n);"), NULL);
	struct kl_subject_spec spec = gpu_spec(job, false);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(fixture->dir, "stderr");
	KL_AUTO(kl_freep) char *options = NULL;
	struct kl_subject *subject = NULL;
	int before = dup(2), file = open(path, O_WRONLY | O_CREAT, 0600);
	struct kl_call end;

	if (getenv("ASAN_OPTIONS"))
		options = kl_strdup(getenv("ASAN_OPTIONS"));
	unsetenv("ASAN_OPTIONS");
	dup2(file, 2);
	if (!kl_subject_start(&subject, job, job->point, &spec))
		kl_subject_call(subject, &end);
	kl_subject_free(subject);
	dup2(before, 2);
	if (options)
		setenv("ASAN_OPTIONS", options, 1);
	close(before);
	close(file);
	assert_ok(kl_fs_read(&text, path, 1 << 20));
	assert_contains(text.ptr, "ERROR: AddressSanitizer: attempting free on address");
	kl_error_clear();
#else
	skip();
#endif
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, gpu_setup_test, gpu_teardown_test)
	const struct CMUnitTest tests[] = {
		T(test_says_why_there_is_no_gpu),
		T(test_wrong_architecture),
		T(test_calls),
		T(test_poison_is_known),
		T(test_useless_mappings_are_not_kept),
		T(test_large_tensors),
		T(test_process_is_kept),
		T(test_oracle_has_one_process),
		T(test_oracle_in_both_arithmetics),
		T(test_ends),
		T(test_right_aligned_meets_the_guard),
		T(test_nothing_lasts),
		T(test_scratch),
		T(test_prepare),
		T(test_too_much_scratch),
		T(test_plans_that_do_not_fit),
		T(test_launch_attributes),
		T(test_tensor_map),
		T(test_hangs_are_known_soon),
		T(test_slower_points_are_waited_for),
		T(test_health_after_a_hang),
		T(test_health_after_a_hang_of_freeing),
		T(test_health_after_a_hang_of_the_oracle),
		T(test_second_worker_waits),
		T(test_broken_frames),
		T(test_bad_requests_are_answered),
		T(test_broken_replies),
		T(test_no_answer),
		T(test_slow_kernels_are_asked_less),
		T(test_nothing_is_kept_between_ordinary_calls),
		T(test_legal_kernels_are_ordinary),
		T(test_zeros_are_there_in_every_call),
		T(test_counters),
		T(test_no_counters),
		T(test_no_ncu),
		T(test_report_is_kept),
		T(test_stages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
