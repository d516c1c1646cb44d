/* SPDX-License-Identifier: Apache-2.0 */
/* What the process of a bundle's job can still reach, asked from inside. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "worker/confine/job_jail.h"
#include "worker/gpu/seal.h"

static char *dir, *outside;

static int setup(void **state)
{
	assert_ok(kl_fs_tempdir(&dir, "kl-confine"));
	assert_ok(kl_fs_tempdir(&outside, "kl-outside"));
	return 0;
}

static int teardown(void **state)
{
	kl_fs_tempdir_cleanup(&dir);
	kl_fs_tempdir_cleanup(&outside);
	return 0;
}

/* Run `attempt` in a process of its own, confined; returns its exit status. */
static int confined(int (*attempt)(unsigned closed))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		unsigned closed = 0;

		alarm(20);
		if (kl_job_jail_enter(&closed, dir) < 0)
			_exit(99);
		_exit(attempt(closed));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The first thing that it could do and must not, or could not and must. */
static int try_files(unsigned closed)
{
	KL_AUTO(kl_freep) char *own = kl_fs_join(dir, "own");
	KL_AUTO(kl_freep) char *other = kl_fs_join(outside, "other");
	KL_AUTO(kl_freep) char *sub = kl_fs_join(dir, "sub");

	if (!opens(own, O_RDWR | O_CREAT) || mkdir(sub, 0700) < 0 || rmdir(sub) < 0)
		return 1;
	if (!opens("/usr/bin/env", O_RDONLY) || !opens("/proc/self/maps", O_RDONLY) ||
	    !opens("/dev/null", O_RDWR))
		return 2;
	if (closed & KL_JOB_CLOSED_FILES) {
		if (opens("/etc/passwd", O_RDONLY))
			return 3;
		if (opens(other, O_RDWR | O_CREAT) || opens("/dev/shm/x", O_RDWR | O_CREAT))
			return 4;
		if (opens("/usr/bin/env", O_RDWR) || mkdir("/tmp/kl-confine-made", 0700) == 0)
			return 5;
		if (rename(own, other) == 0 || link(own, other) == 0 || symlink(own, other) == 0)
			return 6;
	}
	return 0;
}

static int try_calls(unsigned closed)
{
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_DGRAM, 0) >= 0)
		return 1;
	if (unshare(CLONE_NEWUSER) == 0 || unshare(CLONE_NEWNS) == 0)
		return 2;
	if (syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) >= 0)
		return 3;
	if (syscall(SYS_bpf, 0, 0, 0) >= 0 || errno != EPERM)
		return 4;
	if (syscall(SYS_io_uring_setup, 8, 0) >= 0 || errno != EPERM)
		return 5;
	if (setresuid(0, 0, 0) == 0 && chown("/proc/self", 1, 1) == 0)
		return 6;
	return 0;
}

/* Its parent is another process of the same user, not confined: as the gate's user's others are. */
static int try_processes(unsigned closed)
{
	char path[64];
	pid_t other = getppid();

	snprintf(path, sizeof(path), "/proc/%d/mem", other);
	if (opens(path, O_RDWR) || opens(path, O_RDONLY))
		return 1;
	if (ptrace(PTRACE_ATTACH, other, 0, 0) == 0)
		return 2;
	if (syscall(SYS_process_vm_readv, other, 0, 0, 0, 0, 0) >= 0 || errno != EPERM)
		return 3;
	return 0;
}

/* What it still has to be able to do: start a child, trace and end it. */
static int try_child(unsigned closed)
{
	int pair[2], status;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return 1;
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL) < 0)
		return 2;
	if (kill(pid, SIGKILL) < 0 || waitpid(pid, &status, __WALL) != pid)
		return 3;
	return 0;
}

static int try_program(unsigned closed)
{
	static const char *const argv[] = { "/usr/bin/env", "true", NULL };

	return kl_proc_output(NULL, argv) < 0;
}

static int report_closed(unsigned closed)
{
	return (int)closed;
}

static void test_closed(void **state)
{
	int closed = confined(report_closed);

	print_message("closed: %#x\n", (unsigned)closed);
	assert_true(closed & KL_JOB_CLOSED_CALLS && closed & KL_JOB_CLOSED_CAPABILITIES);
}

static void test_files(void **state)
{
	assert_int_equal(confined(try_files), 0);
}

static void test_calls(void **state)
{
	assert_int_equal(confined(try_calls), 0);
}

static void test_processes(void **state)
{
	int closed = confined(report_closed);

	/* without Landlock the user's own processes can be traced, unless Linux forbids it */
	if (!(closed & KL_JOB_CLOSED_FILES))
		skip();
	assert_int_equal(confined(try_processes), 0);
}

static void test_work(void **state)
{
	assert_int_equal(confined(try_child), 0);
	assert_int_equal(confined(try_program), 0);
}

/* --- the GPU process under host code -------------------------------------------------- */

/* Run `send` in a process under kl_gpu_seal(); returns the signal that ended it, or 0. */
static int ended_by(void (*send)(pid_t receiver))
{
	int status;
	pid_t receiver = getpid(), pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		unsigned closed = 0;

		alarm(20);
		if (kl_gpu_seal(&closed) < 0)
			_exit(99);
		send(receiver);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void send_kill(pid_t receiver)
{
	kill(receiver, 0);
}

static void send_tkill(pid_t receiver)
{
	syscall(SYS_tkill, receiver, 0);
}

static void send_tgkill(pid_t receiver)
{
	syscall(SYS_tgkill, receiver, receiver, 0);
}

static void send_queued(pid_t receiver)
{
	sigqueue(receiver, 0, (union sigval){ .sival_int = 0 });
}

static void send_queued_to_thread(pid_t receiver)
{
	siginfo_t info = { .si_code = SI_QUEUE };

	syscall(SYS_rt_tgsigqueueinfo, receiver, receiver, 0, &info);
}

static void send_from_file(pid_t receiver)
{
	fcntl(0, F_SETOWN, receiver);
}

static void send_from_file_to_thread(pid_t receiver)
{
	const struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = receiver };

	fcntl(0, F_SETOWN_EX, &owner);
}

static void send_from_socket(pid_t receiver)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0)
		ioctl(pair[0], FIOSETOWN, &receiver);
}

static void send_from_socket_to_group(pid_t receiver)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0)
		ioctl(pair[0], SIOCSPGRP, &receiver);
}

static void raise_own(pid_t receiver)
{
	raise(SIGUSR1);
}

static void abort_own(pid_t receiver)
{
	abort();
}

static void signal_thread(pid_t receiver)
{
	pthread_kill(pthread_self(), 0);
}

static void use_file(pid_t receiver)
{
	int waiting;

	if (fcntl(0, F_GETFD) < 0 || (ioctl(0, FIONREAD, &waiting) < 0 && errno != ENOTTY))
		_exit(98);
}

static void test_signals(void **state)
{
	static const struct {
		void (*send)(pid_t receiver);
		int signal;
	} rows[] = {
		{ send_kill, SIGSYS },
		{ send_tkill, SIGSYS },
		{ send_tgkill, SIGSYS },
		{ send_queued, SIGSYS },
		{ send_queued_to_thread, SIGSYS },
		{ send_from_file, SIGSYS },
		{ send_from_file_to_thread, SIGSYS },
		{ send_from_socket, SIGSYS },
		{ send_from_socket_to_group, SIGSYS },
		{ raise_own, SIGUSR1 },
		{ abort_own, SIGABRT },
		{ signal_thread, 0 },
		{ use_file, 0 },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		print_message("row %zu\n", i);
		assert_int_equal(ended_by(rows[i].send), rows[i].signal);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_closed), cmocka_unit_test(test_files),
		cmocka_unit_test(test_calls),  cmocka_unit_test(test_processes),
		cmocka_unit_test(test_work),   cmocka_unit_test(test_signals),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
