/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host code of a cuda surface against a pretended driver: what it is given, that it remembers
 * nothing, and how what it may not do ends.
 */
#include "gpu_fixture.h"

#include "worker/subject/image_file.h"

/*
 * `before` goes before the launch, `scale` is what it scales by. Host code can import no function
 * of the system, so it has to call it by itself.
 */
#define HOST(globals, before, scale)                                                                                   \
	"#include <stdint.h>\n#include <stdio.h>\nint64_t klineage_dims[16];\n"                                        \
	"static inline long call(long nr, long a, long b, long c, long d)\n"                                           \
	"{ register long r10 __asm__(\"r10\") = d; long r;\n"                                                          \
	"__asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(nr), \"D\"(a), \"S\"(b), \"d\"(c), \"r\"(r10)\n"             \
	": \"rcx\", \"r11\", \"memory\"); return r; }\n"                                                               \
	"int __cudaLaunchKernel(void (*)(void **, const struct fake_launch *), const int *, void **);\n" SCALE_KERNEL( \
		"") globals                                                                                            \
		"\nint klineage_launch(void *const *in, void *const *out, void *stream)\n{\n"                          \
		"	int n = klineage_dims[0];\n	float by = " scale ";\n"                                       \
		"	void *arg[] = { (void *)&in[0], (void *)&out[0], &n, &by };\n	" before                       \
		"\n	return __cudaLaunchKernel(scale, scale_params, arg);\n}\n"

/* The job of the fixture with an image in place of the cubin, as the gate writes it. */
static struct kl_job *host_job(struct gpu_fixture *fixture, const char *source, const char *stages)
{
	return gpu_job_of(fixture, source, "null,\"host\":true,\"kernels\":[\"scale\"]", stages);
}

static json_t *correct(struct kl_job *job)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	json_t *result = json_object();

	kl_json_set_str(result, "status", "pass");
	assert_ok(kl_pool_open(&pool, job));
	assert_ok(kl_stage_correct(result, job, pool));
	return result;
}

static void wants(struct gpu_fixture *fixture, const char *source, const char *status,
		  const char *class_, const char *part)
{
	KL_AUTO(json_decrefp) json_t *record = correct(host_job(fixture, source, "\"correct\""));
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_json_canonical(&buf, record);
	if (strcmp(kl_json_str_or(record, "status", ""), status) ||
	    (class_ && strcmp(kl_json_str_or(record, "class", ""), class_)) ||
	    (part && !strstr(buf.ptr, part)))
		fail_msg("wanted %s %s '%s', got %s\n%s", status, class_ ? class_ : "",
			 part ? part : "", buf.ptr, source);
}

static void test_right(void **state)
{
	KL_AUTO(json_decrefp) json_t *described = json_object();
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct gpu_fixture *fixture = *state;

	wants(fixture, HOST("", "", "1.5f"), "pass", NULL, NULL);
	/* what could not be looked at is said */
	kl_gpu_processes_describe(described, fixture->job->gpu);
	kl_json_canonical(&buf, described);
	assert_non_null(strstr(buf.ptr, "were not checked"));
}

/* What the gate asks for before it believes the tier. */
static void test_says_wall(void **state)
{
	KL_AUTO(json_decrefp) json_t *before = json_object(), *after = json_object();
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct gpu_fixture *fixture = *state;
	struct kl_job *job = host_job(fixture, HOST("", "", "1.5f"), "\"correct\"");
	json_t *record;

	kl_gpu_processes_describe_wall(before, job->gpu);
	assert_int_equal(kl_json_int_or(json_object_get(before, "wall"), "processes", -1), 0);
	record = correct(job);
	json_decref(record);
	kl_gpu_processes_describe_wall(after, job->gpu);
	assert_true(kl_json_int_or(json_object_get(after, "wall"), "processes", -1) > 0);
	kl_json_canonical(&buf, after);
	assert_non_null(strstr(buf.ptr, "\"closed\":[\"capabilities\",\"landlock\",\"seccomp\"]"));
}

static void test_wrong(void **state)
{
	wants(*state, HOST("", "", "1.25f"), "fail", "wrong-all", NULL);
	wants(*state, HOST("", "n -= 1;", "1.5f"), "fail", NULL, "y");
	wants(*state, HOST("", "return 3;", "1.5f"), "fail", "launch",
	      "returned 3 from klineage_launch");
	wants(*state, HOST("", "n += 100;", "1.5f"), "fail", "fault", "out of bounds");
	wants(*state, HOST("", "*(volatile int *)8 = 1;", "1.5f"), "fail", "fault",
	      "crashed in its host code");
	wants(*state, HOST("", "for (;;) call(24, 0, 0, 0, 0);", "1.5f"), "fail", "hang", NULL);
}

#define POOL "int cudaMallocAsync(void **, long, void *);\nint cudaFreeAsync(void *, void *);\n"
#define OTHER_STREAM(ns)                                                                               \
	"int cudaLaunchKernel(void (*)(void **, const struct fake_launch *), const int *, void **);\n" \
	"static const int wait_params[] = { -1 };\n"                                                   \
	"static void wait_for(void **arg, const struct fake_launch *launch)\n"                         \
	"{ long t[2] = { 0, " ns " }; call(35, (long)t, 0, 0, 0); }\n"

/* The driver may take long to return a pool's memory; only what still runs is late. */
static void test_busy(void **state)
{
	wants(*state,
	      HOST(POOL,
		   "void *scratch; if (cudaMallocAsync(&scratch, 64, stream) || "
		   "cudaFreeAsync(scratch, stream)) return 5;",
		   "1.5f"),
	      "pass", NULL, NULL);
	wants(*state,
	      HOST(OTHER_STREAM("20000000"), "cudaLaunchKernel(wait_for, wait_params, arg);",
		   "1.5f"),
	      "fail", "cheat", "ns after its stream was done");
	wants(*state,
	      HOST(OTHER_STREAM("999999999"),
		   "for (int i = 0; i < 60; i++) cudaLaunchKernel(wait_for, wait_params, arg);",
		   "1.5f"),
	      "fail", "hang", "did not end within");
}

/* Its variables are restored before each judged call; an ordinary call finds what the last one left. */
static void test_remembers(void **state)
{
	wants(*state,
	      HOST("static int calls;\nstatic float by_calls[2] = { 1.5f, 0 };\n", "calls++;",
		   "by_calls[calls > 3]"),
	      "fail", "nondeterministic", "no memory was cleaned");
	wants(*state,
	      HOST("static void *seen;\n", "if (seen == in[0]) return 0; seen = in[0];", "1.5f"),
	      "fail", "cheat", "earlier input");
	wants(*state, HOST("static float kept[2];\n", "kept[0] = 1;", "1.5f"), "pass", NULL, NULL);
}

static void test_forbidden(void **state)
{
	struct gpu_fixture *fixture = *state;
	KL_AUTO(kl_freep) char *file = kl_fs_join(fixture->dir, "left");
	KL_AUTO(kl_freep) char *writes = kl_asprintf(
		"long fd = call(257, -100, (long)\"%s\", 0101, 0600); "
		"if (fd >= 0) call(1, fd, (long)\"x\", 1, 0);",
		file);
	KL_AUTO(kl_freep) char *source = kl_asprintf(HOST("", "%s", "1.5f"), writes);
	static const char *const system_calls[] = {
		HOST("", "call(57, 0, 0, 0, 0); /* fork */", "1.5f"),
		HOST("", "call(56, 17, 0, 0, 0); /* clone */", "1.5f"),
		HOST("", "call(41, 2, 1, 0, 0); /* socket */", "1.5f"),
		HOST("", "call(62, call(110, 0, 0, 0, 0), 0, 0, 0); /* kill */", "1.5f"),
		HOST("", "call(59, (long)\"/bin/true\", 0, 0, 0); /* execve */", "1.5f"),
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(system_calls); i++)
		wants(fixture, system_calls[i], "fail", "cheat", "made a system call");
	wants(fixture,
	      HOST("static char stack[65536];\n",
		   "long r; __asm__ volatile(\"syscall\\n\\ttest %%rax, %%rax\\n\\tjnz 1f\\n\""
		   "\"2:\\tmov $34, %%eax\\n\\tsyscall\\n\\tjmp 2b\\n1:\" : \"=a\"(r) "
		   ": \"a\"(56L), \"D\"(0x50f00L), \"S\"(stack + 65536) : \"rcx\", \"r11\", \"memory\");",
		   "1.5f"),
	      "fail", "cheat", "started 1 thread");
	wants(fixture, source, "pass", NULL, NULL);
	assert_false(kl_fs_exists(file));
}

/* What it may import is decided where it is mapped, whoever linked it. */
static void test_imports(void **state)
{
	static const char *const foreign[] = {
		HOST("int fork(void);\n", "fork();", "1.5f"),
		HOST("int system(const char *);\n", "system(\"true\");", "1.5f"),
		HOST("void *dlopen(const char *, int);\n", "dlopen(\"libc.so.6\", 1);", "1.5f"),
		HOST("char *getenv(const char *);\n", "getenv(\"HOME\");", "1.5f"),
		HOST("int cuMemAlloc_v2(void *, long);\n", "cuMemAlloc_v2(arg, 8);", "1.5f"),
		HOST("int cudaMalloc(void *, long);\n", "cudaMalloc(arg, 8);", "1.5f"),
		HOST("extern char **environ;\n", "if (environ) return 7;", "1.5f"),
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(foreign); i++) {
		struct gpu_fixture *fixture = *state;
		struct kl_job *job = host_job(fixture, foreign[i], "\"correct\"");

		assert_error(KL_ECANNOT, "the candidate: imports '", kl_image_file_check(job));
		/* and if nobody had looked */
		wants(fixture, foreign[i], "fail", "launch", "which host code may not");
	}
	wants(*state,
	      HOST("",
		   "char text[16]; snprintf(text, 16, \"%d\", n); if (strlen(text) > 9) return 7;",
		   "1.5f"),
	      "pass", NULL, NULL);
}

/* Bytes that are no image, and code that calls the system, are refused before anything is opened. */
static void test_images(void **state)
{
	struct gpu_fixture *fixture = *state;
	struct kl_job *job = host_job(fixture, HOST("", "call(39, 0, 0, 0, 0);", "1.5f"),
				      "\"correct\"");

	assert_error(KL_ECANNOT, "the candidate: calls the system", kl_image_file_check(job));
	assert_ok(kl_fs_put(job->candidate_path, "no image", 8, 0600));
	assert_error(KL_ECANNOT, "is not a valid image", kl_image_file_check(job));
}

/* Other people's files, another process's environment, what only root may read: none is there. */
static void test_walled(void **state)
{
	struct gpu_fixture *fixture = *state;
	KL_AUTO(kl_fs_tempdir_cleanup) char *elsewhere = NULL;
	KL_AUTO(kl_freep) char *secret = NULL,
			       *environ_ = kl_asprintf("/proc/%d/environ", (int)getpid());
	const char *paths[3];

	assert_ok(kl_fs_tempdir(&elsewhere, "kl-secret"));
	secret = kl_fs_join(elsewhere, "key");
	assert_ok(kl_fs_write(secret, "x", 1));
	paths[0] = secret, paths[1] = environ_, paths[2] = "/etc/passwd";
	for (size_t i = 0; i < KL_ARRAY_SIZE(paths); i++) {
		KL_AUTO(kl_freep) char *reads = kl_asprintf(
			"if (call(257, -100, (long)\"%s\", 0, 0) >= 0) return 9;", paths[i]);
		KL_AUTO(kl_freep) char *source = kl_asprintf(HOST("", "%s", "1.5f"), reads);

		assert_int_equal(access(paths[i], R_OK), 0);
		wants(fixture, source, "pass", NULL, NULL);
	}
}

static void test_profile(void **state)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(json_decrefp) json_t *result = json_object();
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct gpu_fixture *fixture = *state;
	struct kl_job *job = host_job(fixture, HOST("", "", "1.5f"), "\"profile\"");

	job->parent_path = gpu_host_image(fixture, "parent", HOST("", "", "1.5f"));
	job->profile_max_ms = 200;
	kl_json_set_str(result, "status", "pass");
	assert_ok(kl_pool_open(&pool, job));
	assert_ok(kl_stage_profile(result, job, pool));
	kl_json_canonical(&buf, result);
	print_message("%s\n", buf.ptr);
	assert_string_equal(kl_json_str_or(result, "class", "none"), "none");
	assert_non_null(strstr(buf.ptr, "\"what\":\"parent\""));
}

/* A few right calls and then none: it cannot count. */
static void test_profile_forgets(void **state)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	KL_AUTO(json_decrefp) json_t *result = json_object();
	struct gpu_fixture *fixture = *state;
	struct kl_job *job = host_job(
		fixture, HOST("static int calls;\n", "if (++calls > 1) return 0;", "1.5f"),
		"\"profile\"");

	job->profile_max_ms = 200;
	kl_json_set_str(result, "status", "pass");
	assert_ok(kl_pool_open(&pool, job));
	assert_ok(kl_stage_profile(result, job, pool));
	assert_string_equal(kl_json_str_or(result, "class", "none"), "none");
}

static void test_job(void **state)
{
	struct gpu_fixture *fixture = *state;
	struct kl_job *job = host_job(fixture, HOST("", "", "1.5f"), "\"correct\"");

	assert_true(job->host);
	assert_null(job->plan);
	assert_true(kl_strvec_has(&job->kernel, "scale"));
	assert_true(kl_job_is_host(job, job->candidate_path));
	assert_false(kl_job_is_host(job, job->truth_path));
	job = gpu_job(fixture, NULL, NULL);
	assert_false(job->host);
	assert_false(kl_job_is_host(job, job->candidate_path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_right, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(test_says_wall, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(test_wrong, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(test_busy, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(test_remembers, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(test_forbidden, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(test_imports, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(test_images, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(test_walled, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(test_profile, gpu_setup_test, gpu_teardown_test),
		cmocka_unit_test_setup_teardown(test_profile_forgets, gpu_setup_test,
						gpu_teardown_test),
		cmocka_unit_test_setup_teardown(test_job, gpu_setup_test, gpu_teardown_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
