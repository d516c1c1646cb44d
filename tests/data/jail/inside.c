/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside - what a jailed program tries, for tests/unit/test_gate_jail.c: exit 0
 * when it could, 1 when it was kept from it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int try_read(const char *path)
{
	char c;
	int fd = open(path, O_RDONLY);

	return fd < 0 || read(fd, &c, 1) != 1;
}

static int try_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0666);

	return fd < 0 || write(fd, "x", 1) != 1;
}

static int try_connect(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0;
}

/* Prints how many children it could have at once. */
static int try_forks(int n)
{
	pid_t p[1024];
	int i;

	for (i = 0; i < n; i++) {
		p[i] = fork();
		if (p[i] == 0) {
			pause();
			_exit(0);
		}
		if (p[i] < 0) {
			perror("fork");
			break;
		}
	}
	for (int k = 0; k < i; k++)
		kill(p[k], SIGKILL);
	printf("%d", i);
	fflush(stdout);
	return 0;
}

static int try_alloc(size_t mib)
{
	for (size_t i = 0; i < mib; i += 16) {
		char *p = malloc(16 << 20);

		if (!p)
			return 1;
		memset(p, 1, 16 << 20);
	}
	return 0;
}

static int try_grow(const char *path, int mib)
{
	static char block[1 << 20];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < mib; i++)
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			return 1;
	return 0;
}

/* Leave a grandchild behind that beats into a file for ever; end once it has begun. */
static int try_linger(const char *path)
{
	struct stat st;

	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);

			close(0);
			close(1);
			close(2);
			while (write(fd, "x", 1) == 1)
				usleep(5000);
		}
		_exit(0);
	}
	wait(NULL);
	for (int i = 0; i < 2000; i++) {
		if (stat(path, &st) == 0 && st.st_size > 0)
			return 0;
		usleep(5000);
	}
	return 1;
}

/* All that the worker asks of its jail; the exit code is the first step that failed. */
static int worker(void)
{
	cpu_set_t set;
	int st, n = 10;
	pid_t p;

	if (memfd_create("x", MFD_CLOEXEC) < 0)
		return n;
	n++;
	sched_getaffinity(0, sizeof(set), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		return n;
	n++;
	if (!dlopen("libm.so.6", RTLD_NOW))
		return n;
	n++;
	p = fork();
	if (p == 0) {
		execl("/proc/self/exe", "inside", "strict", (char *)NULL);
		perror("exec");
		_exit(99);
	}
	if (p < 0)
		return n;
	n++;
	usleep(50000);
	if (ptrace(PTRACE_SEIZE, p, 0, 0) < 0)
		return n;
	n++;
	if (ptrace(PTRACE_INTERRUPT, p, 0, 0) < 0 || waitpid(p, &st, 0) != p || !WIFSTOPPED(st))
		return n;
	n++;
	kill(p, SIGKILL);
	if (waitpid(p, &st, 0) != p || !WIFSIGNALED(st))
		return n;
	return 0;
}

/* Strict mode proper cannot be entered below a filter: a second filter can. */
static int strict(void)
{
	struct sock_filter kill_all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS) };
	struct sock_fprog prog = { 1, kill_all };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_TSC, PR_TSC_SIGSEGV) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		_exit(98);
	for (;;)
		;
}

int main(int argc, char **argv)
{
	const char *a = argc > 2 ? argv[2] : "";

	if (!strcmp(argv[1], "read"))
		return try_read(a);
	if (!strcmp(argv[1], "write"))
		return try_write(a);
	if (!strcmp(argv[1], "connect"))
		return try_connect(atoi(a));
	if (!strcmp(argv[1], "forks"))
		return try_forks(atoi(a));
	if (!strcmp(argv[1], "alloc"))
		return try_alloc((size_t)atoi(a));
	if (!strcmp(argv[1], "grow"))
		return try_grow(a, atoi(argv[3]));
	if (!strcmp(argv[1], "linger"))
		return try_linger(a);
	if (!strcmp(argv[1], "chmod"))
		return chmod(a, 0777) < 0;
	if (!strcmp(argv[1], "signal"))
		return kill((pid_t)atoi(a), 0) < 0;
	if (!strcmp(argv[1], "userns"))
		return unshare(CLONE_NEWUSER) < 0;
	if (!strcmp(argv[1], "getenv"))
		return !getenv(a);
	if (!strcmp(argv[1], "worker"))
		return worker();
	if (!strcmp(argv[1], "strict"))
		return strict();
	if (!strcmp(argv[1], "die"))
		return raise(SIGSEGV);
	for (;;)
		;	/* "spin" */
}
