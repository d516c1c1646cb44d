/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel can reach from its first byte on: its arguments, its own image and memory, and the
 * program that calls it; nothing of the worker, and no system call.
 */
#include "worker_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/subject/subject_state.h"

static char *dir;
static const char secret[64] = "the truth, in the memory of the worker";

static const char head[] =
	"static inline long call(long nr, long a, long b, long c, long d, long e, long f)\n"
	"{ register long r10 __asm__(\"r10\") = d, r8 __asm__(\"r8\") = e, r9 __asm__(\"r9\") = f; long r;\n"
	"__asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(nr), \"D\"(a), \"S\"(b), \"d\"(c), \"r\"(r10), \"r\"(r8), \"r\"(r9)\n"
	": \"rcx\", \"r11\", \"memory\"); return r; }\n"
	"void k(const float *x, float *y)\n{\n";

static char *build(const char *name, const char *body)
{
	static const char *const flags[] = { "-O1", NULL };
	KL_AUTO(kl_freep) char *text = kl_asprintf("%s%s\n}\n", head, body);

	return worker_image(dir, name, "k", text, flags);
}

static struct kl_subject *start(const char *image, bool untraced)
{
	static const struct kl_job_arg args[2] = {
		{ .name = "x", .kind = KL_ARG_IN, .dtype = KL_F32 },
		{ .name = "y", .kind = KL_ARG_OUT, .dtype = KL_F32 },
	};
	struct kl_subject_spec spec = {
		.kind = KL_SUBJECT_KERNEL, .path = image, .cpu = -1, .untraced = untraced
	};
	struct kl_subject *subject = NULL;
	struct kl_job job = { .nargs = 2, .arena_bytes = 1 << 20, .call_ms = 2000 };
	struct kl_point point = { .id = "case0" };

	memcpy(job.arg, args, sizeof(args));
	for (int i = 0; i < 2; i++) {
		point.arg[i].naxes = 1;
		point.arg[i].extent[0] = 1000;
	}
	assert_ok(kl_subject_start(&subject, &job, &point, &spec));
	return subject;
}

static pid_t pid_of(const struct kl_subject *subject)
{
	return ((const struct kl_cpu_subject *)subject)->pid;
}

static char *read_entry(pid_t pid, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_asprintf("/proc/%d/%s", pid, name);

	assert_ok(kl_fs_read(&text, path, 1 << 20));
	return kl_buf_detach(&text);
}

/* The number behind a key of /proc/<pid>/status. */
static long status_value(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	assert_non_null(at);
	return strtol(at + strlen(key), NULL, 10);
}

static void check_status(pid_t pid)
{
	KL_AUTO(kl_freep) char *status = read_entry(pid, "status");

	assert_int_equal(status_value(status, "NoNewPrivs:"), 1);
	assert_int_equal(status_value(status, "Seccomp:"), 2);
	assert_true(status_value(status, "Seccomp_filters:") >= 2);
	assert_int_equal(status_value(status, "Threads:"), 1);
}

static void check_descriptors(pid_t pid)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("/proc/%d/fd", pid);
	DIR *fds = opendir(path);
	struct dirent *entry;

	assert_non_null(fds);
	while ((entry = readdir(fds)))
		if (entry->d_name[0] != '.')
			fail_msg("descriptor %s is open", entry->d_name);
	closedir(fds);
}

/* May a mapping of this name be in the process? */
static bool is_expected(const char *name)
{
	static const char *const known[] = {
		"/memfd:image (deleted)",
		"/memfd:tensor (deleted)",
		"/memfd:control (deleted)",
		"/memfd:dirt (deleted)",      /* bytes of arena and stack, private */
		"/memfd:arguments (deleted)", /* of the next call, read-only */
		"[heap]",
		"[stack]",
		"[vsyscall]",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(known); i++)
		if (!strcmp(name, known[i]))
			return true;
	/* the program that calls the kernel, and the system's libraries that it needs */
	return !*name || strstr(name, "/klineage-worker") || !strncmp(name, "/usr/lib/", 9) ||
	       !strncmp(name, "/lib/", 5);
}

static void check_maps(pid_t pid)
{
	KL_AUTO(kl_freep) char *maps = read_entry(pid, "maps");
	char *save = NULL;
	size_t images = 0, tensors = 0;

	for (char *line = strtok_r(maps, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char prot[8] = "";
		int at = 0;

		assert_int_equal(sscanf(line, "%*s %7s %*s %*s %*s %n", prot, &at), 1);
		if (strchr(prot, 'w') && strchr(prot, 'x'))
			fail_msg("writable and executable: %s", line);
		if (!is_expected(line + at))
			fail_msg("mapped: %s", line);
		images += strstr(line, "memfd:image") != NULL;
		tensors += strstr(line, "memfd:tensor") != NULL;
	}
	assert_true(images > 0);
	assert_int_equal(tensors, 2 * KL_WIRE_VIEWS);
}

/* As it is when it waits for its first call: no byte of the kernel has run. */
static void nothing_is_left(void **state)
{
	KL_AUTO(kl_freep) char *image = build("plain", "y[0] = x[0];");

	for (int untraced = 0; untraced < 2; untraced++) {
		KL_AUTO(kl_subject_freep) struct kl_subject *subject = start(image, untraced);
		KL_AUTO(kl_freep) char *environment = read_entry(pid_of(subject), "environ");
		struct kl_call call;

		check_status(pid_of(subject));
		check_descriptors(pid_of(subject));
		check_maps(pid_of(subject));
		assert_string_equal(environment, "LC_ALL=C");
		assert_int_equal(kl_subject_call(subject, &call), 0);
		assert_int_equal(call.end, KL_CALL_OK);
	}
}

/* %d: the worker's process id; %p: the secret in it; %s: its directory */
static const struct {
	const char *what, *body, *message;
} attempts[] = {
	{ "open a file of the session", "call(257, -100, (long)\"%3$s/truth\", 0, 0, 0, 0);",
	  "openat" },
	{ "open by the old call", "call(2, (long)\"%3$s/truth\", 0, 0, 0, 0, 0);", "(open)" },
	{ "list /proc", "call(257, -100, (long)\"/proc\", 0x10000, 0, 0, 0);", "openat" },
	{ "the worker's memory", "call(257, -100, (long)\"/proc/%1$d/mem\", 2, 0, 0, 0);",
	  "openat" },
	{ "the worker's memory by vector",
	  "long v[2] = { (long)y, 64 }, w[2] = { %2$pl, 64 };"
	  " call(310, %1$d, (long)v, 1, (long)w, 1, 0);",
	  "process_vm_readv" },
	{ "write to the worker",
	  "long v[2] = { (long)x, 64 }, w[2] = { %2$pl, 64 };"
	  " call(311, %1$d, (long)v, 1, (long)w, 1, 0);",
	  "process_vm_writev" },
	{ "trace the worker", "call(101, 16, %1$d, 0, 0, 0, 0);", "ptrace" },
	{ "signal the worker", "call(62, %1$d, 9, 0, 0, 0, 0);", "kill" },
	{ "signal by pidfd", "call(434, %1$d, 0, 0, 0, 0, 0);", "434" },
	{ "take a descriptor", "call(438, 3, 3, 0, 0, 0, 0);", "438" },
	{ "read a descriptor", "for (int i = 0; i < 300; i++) call(0, i, (long)y, 64, 0, 0, 0);",
	  "(read)" },
	{ "map memory", "call(9, 0, 4096, 7, 0x22, -1, 0);", "mmap" },
	{ "map the image again", "call(9, 0, 4096, 5, 2, 6, 0);", "mmap" },
	{ "make code writable", "call(10, (long)k & -4096, 4096, 7, 0, 0, 0);", "mprotect" },
	{ "unmap", "call(11, (long)y & -4096, 4096, 0, 0, 0, 0);", "munmap" },
	{ "a second process", "call(57, 0, 0, 0, 0, 0, 0);", "fork" },
	{ "a program", "call(59, (long)\"/bin/sh\", 0, 0, 0, 0, 0);", "execve" },
	{ "a socket", "call(41, 1, 1, 0, 0, 0, 0);", "socket" },
	{ "another filter", "call(317, 1, 0, 0, 0, 0, 0);", "seccomp" },
	{ "allow the clock again", "call(157, 26, 1, 0, 0, 0, 0);", "prctl" },
	{ "another thread pointer", "call(158, 0x1002, 0, 0, 0, 0, 0);", "158" },
	{ "a system call of x32", "call(0x40000000 | 39, 0, 0, 0, 0, 0, 0);", "system call" },
	{ "a system call with its number cut", "call(0x100000000l | 60, 0, 0, 0, 0, 0, 0);",
	  "exit code 0" },
};

/* The first of them that a kernel tries is its last. */
static void no_system_call(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(attempts); i++) {
		KL_AUTO(kl_freep) char *body = NULL;
		KL_AUTO(kl_freep) char *image = NULL;
		KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
		struct kl_call call;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
		body = kl_asprintf(attempts[i].body, (int)getpid(), (const void *)secret, dir);
#pragma GCC diagnostic pop
		image = build("attempt", body);
		subject = start(image, false);
		assert_int_equal(kl_subject_call(subject, &call), 0);
		print_message("%s: %s\n", attempts[i].what, call.what);
		assert_true(call.end == KL_CALL_CHEAT || call.end == KL_CALL_EXIT);
		assert_contains(call.what, attempts[i].message);
		assert_int_equal(pid_of(subject), 0);
	}
}

/* No word of the child's readable memory has the parent's data: its memory is a new program's. */
static bool holds_secret(pid_t pid, unsigned long from, unsigned long to)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("/proc/%d/mem", pid);
	KL_AUTO(kl_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	KL_AUTO(kl_freep) char *bytes = kl_malloc(to - from);
	ssize_t n;

	assert_true(fd >= 0);
	n = pread(fd, bytes, to - from, (off_t)from);
	return n > 0 && memmem(bytes, (size_t)n, secret, strlen(secret));
}

static void no_memory_of_the_worker(void **state)
{
	KL_AUTO(kl_freep) char *image = build("plain", "y[0] = x[0];");
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = start(image, false);
	KL_AUTO(kl_freep) char *maps = read_entry(pid_of(subject), "maps");
	char *save = NULL;
	size_t read = 0;

	for (char *line = strtok_r(maps, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long from, to;
		char prot[8];

		assert_int_equal(sscanf(line, "%lx-%lx %7s", &from, &to, prot), 3);
		if (prot[0] != 'r' || strstr(line, "vsyscall"))
			continue;
		if (holds_secret(pid_of(subject), from, to))
			fail_msg("the worker's data is in %s", line);
		read++;
	}
	assert_true(read > 10);
}

/* A process of the same user cannot open the memory of a worker that has a job. */
static void the_worker_hides(void **state)
{
	KL_AUTO(kl_freep) char *program = NULL;
	int in[2], status, rc = 1;
	pid_t worker, other;

#ifdef __SANITIZE_ADDRESS__
	skip(); /* the leak check traces the worker, so a worker with sanitizers does not hide */
#endif
	assert_ok(kl_fs_program(&program, "klineage-worker"));
	assert_int_equal(pipe(in), 0);
	worker = fork();
	if (!worker) {
		if (!geteuid() &&
		    (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
			_exit(1);
		dup2(in[0], 0);
		close(in[1]);
		execl(program, "klineage-worker", NULL);
		_exit(1);
	}
	usleep(300000); /* it waits for its job */
	other = fork();
	if (!other) {
		KL_AUTO(kl_freep) char *path = kl_asprintf("/proc/%d/mem", worker);
		KL_AUTO(kl_freep) char *maps = kl_asprintf("/proc/%d/maps", worker);

		if (!geteuid() &&
		    (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534)))
			_exit(1);
		_exit(open(path, O_RDONLY) >= 0 || open(maps, O_RDONLY) >= 0 ? 2 : 0);
	}
	assert_int_equal(waitpid(other, &status, 0), other);
	rc = WEXITSTATUS(status);
	kill(worker, SIGKILL);
	waitpid(worker, NULL, 0);
	close(in[0]);
	close(in[1]);
	assert_int_equal(rc, 0);
}

static int setup(void **state)
{
	return kl_fs_tempdir(&dir, "kl-escape");
}

static int teardown(void **state)
{
	kl_fs_tempdir_cleanup(&dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left),
		cmocka_unit_test(no_system_call),
		cmocka_unit_test(no_memory_of_the_worker),
		cmocka_unit_test(the_worker_hides),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
