/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/tool.h"
#include "backend/tool_failure.h"
#include "base/fs.h"
#include "base/mem.h"

static int failure_of(struct kl_proc_result res, const char *log)
{
	const struct kl_tool_failure failure = {
		.res = &res,
		.what = "compiling 'a.c'",
		.log = log,
		.cpu_ms = 30000,
		.mem_mib = 4096,
		.file_mib = 64,
	};

	return kl_tool_failure(&failure);
}

/* What tools print, and what the message must contain; `about`: KL_ENO or KL_ECANNOT. */
/* clang-format off */
static const struct { int about, exit; const char *log, *message; } logs[] = {
	{ KL_ENO, 1, "a.c:3:5: error: expected ';' before '}' token\n", "a.c:3:5: error: expected" },
	{ KL_ENO, 1, "a.c: In function 'k':\na.c:3:5: warning: odd\na.c:4:1: error: two\na.c:5:1: error: three\n", "a.c:4:1: error: two" },
	{ KL_ENO, 1, "a.c:1:10: fatal error: /etc/passwd: No such file or directory\ncompilation terminated.\n", "/etc/passwd" },
	{ KL_ENO, 1, "{standard input}: Assembler messages:\n{standard input}:5: Error: no such instruction: `foo'\n", "no such instruction" },
	{ KL_ENO, 1, "{standard input}: Assembler messages:\n{standard input}: Error: .size expression for k does not evaluate to a constant\n",
	  ".size expression" },
	{ KL_ENO, 1, "/usr/lib/gcc/x86_64-linux-gnu/12/include/avxintrin.h:1235:1: error: inlining failed\n", "inlining failed" },
	{ KL_ENO, 1, "/usr/bin/ld: kernel/1.o: multiple definition of `f'; kernel/0.o: first defined here\ncollect2: error: ld returned 1 exit status\n",
	  "collect2: error" },
	{ KL_ENO, 1, "a.c:1:2: error: #error No space left on device\n", "#error" },
	{ KL_ENO, 1, "a.c:1:2: error: #error out of memory\n", "#error" },
	{ KL_ENO, 2, "a.cu(3): error: identifier \"x\" is undefined\n\n1 error detected\n", "a.cu:3: error: identifier" },
	{ KL_ENO, 255, "ptxas error   : Entry function 'k' uses too much shared data\nptxas fatal   : Ptx assembly aborted due to errors\n",
	  "too much shared data" },
	{ KL_ENO, 1, "gcc: fatal error: CPU time limit exceeded signal terminated program cc1\n", "stopped after 30 s of processor time" },
	{ KL_ENO, 1, "gcc: fatal error: File size limit exceeded signal terminated program as\n", "more than 64 MiB" },
	/* the machine */
	{ KL_ECANNOT, 1, "a.c:1:10: fatal error: stdint.h: No such file or directory\n", "stdint.h" },
	{ KL_ECANNOT, 1, "a.c:2:10: fatal error: b.h: Too many open files\n", "Too many open files" },
	{ KL_ECANNOT, 1, "cc1: fatal error: a.c: Too many open files\ncompilation terminated.\n", "Too many open files" },
	{ KL_ECANNOT, 1, "gcc: fatal error: cannot execute 'cc1': execvp: No such file or directory\n", "cannot execute 'cc1'" },
	{ KL_ECANNOT, 1, "gcc: fatal error: Killed signal terminated program cc1\n", "Killed signal" },
	{ KL_ECANNOT, 1, "gcc: fatal error: Segmentation fault signal terminated program as\n", "Segmentation fault" },
	{ KL_ECANNOT, 1, "a.c: In function 'k':\na.c:4:1: internal compiler error: Segmentation fault\n0x7f crash_signal\n", "internal compiler error" },
	{ KL_ECANNOT, 4, "a.c:4:1: error: something\na.c:9:1: internal compiler error: in build2\n", "internal compiler error" },
	{ KL_ECANNOT, 1, "{standard input}: Fatal error: can't write 12 bytes to section .text of kernel/0.o: 'No space left on device'\n", "No space left" },
	{ KL_ECANNOT, 1, "a.c:3:1: fatal error: error writing to -: No space left on device\n", "No space left" },
	{ KL_ECANNOT, 127, "gcc: error while loading shared libraries: libisl.so.23: cannot open shared object file\n", "libisl" },
	{ KL_ECANNOT, 1, "gcc: error: unrecognized command-line option '-mfoo'\n", "unrecognized" },
	{ KL_ECANNOT, 1, "/usr/bin/ld: cannot find -lm\ncollect2: error: ld returned 1 exit status\n", "cannot find -lm" },
	{ KL_ECANNOT, 1, "setpriv: setresuid failed: Resource temporarily unavailable\n", "setpriv" },
	{ KL_ECANNOT, 1, "objdump: kernel/0.o: file format not recognized\n", "objdump" },
	{ KL_ECANNOT, 126, "a.c:3:5: error: x\n", "status 126" },
	{ KL_ECANNOT, 1, "", "failed with status 1" },
	{ KL_ECANNOT, 255, "nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n", "died due to signal 9" },
};
/* clang-format on */

static void test_logs(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(logs); i++) {
		int err = failure_of((struct kl_proc_result){ .exit = logs[i].exit }, logs[i].log);

		if (err != logs[i].about)
			fail_msg("%s: %d, %s", logs[i].log, err, kl_error_last());
		assert_contains(kl_error_last(), logs[i].message);
	}
}

static void test_ends(void **state)
{
	const struct kl_proc_result killed = { .exit = -1, .signal = SIGKILL },
				    slow = { .exit = -1, .signal = SIGKILL, .timed_out = true },
				    ignored = { .exit = -1,
						.signal = SIGKILL,
						.wall_ns = INT64_C(3600) * 1000000000 },
				    cpu = { .exit = -1, .signal = SIGXCPU },
				    file = { .exit = -1, .signal = SIGXFSZ }, large = { .exit = 1 };
	static const char memory[] = "cc1: out of memory allocating 16 bytes after a total of 1\n";

	assert_error(KL_ECANNOT, "killed by signal 9", failure_of(killed, "a.c:1:1: error: x\n"));
	assert_error(KL_ECANNOT, "too little processor time", failure_of(slow, ""));
	assert_error(KL_ENO, "of processor time", failure_of(cpu, ""));
	assert_error(KL_ENO, "of processor time", failure_of(ignored, ""));
	assert_error(KL_ENO, "more than 64 MiB of output", failure_of(file, ""));
	assert_error(KL_ENO, "more than 4096 MiB of memory", failure_of(large, memory));
}

/* With lower limits than the gate's the same failures say nothing about the input. */
static void test_starved(void **state)
{
	const struct {
		int resource;
		struct kl_proc_result res;
		const char *log;
	} table[] = {
		{ RLIMIT_CPU, { .exit = -1, .signal = SIGXCPU }, "" },
		{ RLIMIT_FSIZE, { .exit = -1, .signal = SIGXFSZ }, "" },
		{ RLIMIT_AS, { .exit = 1 }, "cc1: out of memory allocating 1\n" },
	};
	static const rlim_t lower[] = { 20, 32 << 20, (rlim_t)3 << 30 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(table); i++) {
		struct rlimit limit = { lower[i], lower[i] };
		pid_t pid = fork();
		int status;

		if (!pid) {
			if (setrlimit(table[i].resource, &limit) < 0)
				_exit(3);
			_exit(failure_of(table[i].res, table[i].log) == KL_ECANNOT ? 0 : 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	}
}

/* Programs in the jail, which fail in each way. */
static void test_run(void **state)
{
	static const struct {
		const char *script;
		int about;
		const char *message;
	} table[] = {
		{ "echo 'src/a.c:1:1: error: odd' >&2; exit 1", KL_ENO, "a.c:1:1: error: odd" },
		{ "kill -9 $$", KL_ECANNOT, "killed by signal 9" },
		{ "kill -11 $$", KL_ECANNOT, "killed by signal 11" },
		{ "exit 3", KL_ECANNOT, "status 3" },
		{ "while :; do :; done", KL_ENO, "stopped after 1 s of processor time" },
		{ "sleep 1000", KL_ECANNOT, "too little processor time" },
		{ "dd if=/dev/zero of=big bs=1M count=9", KL_ENO, "more than 4 MiB of output" },
		{ "yes", KL_ENO, "the output is too large" },
		{ "no-such-program", KL_ECANNOT, "no-such-program" },
	};
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	struct kl_jail jail;

	assert_ok(kl_jail_open(&jail, KL_JAIL_AUTO));
	assert_ok(kl_fs_tempdir(&dir, "kl-tool"));
	jail.compile_ms = 300;
	for (size_t i = 0; i < KL_ARRAY_SIZE(table); i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
		const char *class_ = NULL;
		struct kl_tool tool = { .jail = &jail,
					.dir = dir,
					.prefix = "src/",
					.class_ = &class_,
					.file_mib = 4,
					.log = KL_BUF_INIT };

		kl_strvec_push(&argv, "/bin/sh");
		kl_strvec_push(&argv, "-c");
		kl_strvec_push(&argv, table[i].script);
		assert_error((enum kl_err)table[i].about, table[i].message,
			     kl_tool_run(&tool, &argv, &out, "the script"));
		if (table[i].about == KL_ENO)
			assert_string_equal(class_, "compile");
		else
			assert_null(class_);
		kl_buf_release(&tool.log);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_logs),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_starved),
		cmocka_unit_test(test_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
