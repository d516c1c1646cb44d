/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_NETWORK_FIXTURE_H
#define KL_NETWORK_FIXTURE_H

/*
 * network_fixture - a network namespace of the test's own, which has the loopback interface alone,
 * and a name server in it that can fail in each way that name servers do.
 */
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"

#define NETWORK_NAME "models.test" /* the name server gives it the address 127.0.0.1 */

enum network_dns {
	DNS_ANSWERS,
	DNS_NO_NAME,  /* NXDOMAIN */
	DNS_BROKEN,   /* SERVFAIL */
	DNS_NO_ROUTE, /* an address of TEST-NET-1 (RFC 5737), to which there is no route */
	DNS_SILENT
};

static struct network {
	bool is_there;
	enum network_dns *dns; /* shared with the name server */
	pid_t server;
} network;

/* Let `text` be the content of a file of the system, for this process and its children. */
static void network_replace(const char *path, const char *text)
{
	KL_AUTO(kl_freep) char *file = kl_asprintf("%s/%s", scratch_root, strrchr(path, '/') + 1);

	if (access(path, F_OK) < 0)
		return; /* the tests need the C library's default */
	assert_ok(kl_fs_put(file, text, strlen(text), 0644));
	assert_int_equal(mount(file, path, NULL, MS_BIND, NULL), 0);
}

/** Take the only interface up or down: while it is down, packets are lost. */
static void network_up(bool up)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &request), 0);
	close(fd);
}

/* Answer a query in its own buffer. Returns the size of the answer. */
static size_t network_answer(unsigned char *packet, size_t n, enum network_dns how)
{
	static const unsigned char address[2][16] = {
		{ 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1 },
		{ 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 192, 0, 2, 1 },
	};
	size_t end = 12;
	bool wants_ipv4;

	while (end < n && packet[end])
		end += packet[end] + 1u;
	end += 5; /* the root, type and class */
	wants_ipv4 = packet[end - 4] == 0 && packet[end - 3] == 1;
	packet[2] = 0x84 | (packet[2] & 1);
	packet[3] = how == DNS_NO_NAME ? 3 : how == DNS_BROKEN ? 2 : 0;
	memset(packet + 6, 0, 6);
	if ((how != DNS_ANSWERS && how != DNS_NO_ROUTE) || !wants_ipv4)
		return end;
	packet[7] = 1;
	memcpy(packet + end, address[how == DNS_NO_ROUTE], sizeof(address[0]));
	return end + sizeof(address[0]);
}

static void network_serve(int fd)
{
	unsigned char packet[1024];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(fd, packet, 512, 0, (struct sockaddr *)&from, &len)) > 12) {
		enum network_dns how = *(volatile enum network_dns *)network.dns;

		if (how != DNS_SILENT)
			sendto(fd, packet, network_answer(packet, (size_t)n, how), 0,
			       (struct sockaddr *)&from, len);
		len = sizeof(from);
	}
	_exit(1);
}

static void network_start_server(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(53),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	network.dns = mmap(NULL, sizeof(*network.dns), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(network.dns, MAP_FAILED);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	network.server = fork();
	if (!network.server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		network_serve(fd);
	}
	close(fd);
}

static bool network_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return written;
}

/* Enter the namespaces, as far as the system allows it. */
static bool network_isolate(void)
{
	KL_AUTO(kl_freep) char *uid = kl_asprintf("%d %d 1", (int)getuid(), (int)getuid());
	KL_AUTO(kl_freep) char *gid = kl_asprintf("%d %d 1", (int)getgid(), (int)getgid());

	return !unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS) &&
	       network_write("/proc/self/setgroups", "deny") &&
	       network_write("/proc/self/uid_map", uid) &&
	       network_write("/proc/self/gid_map", gid) &&
	       !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

/* Try it in a child, since a process that entered some namespaces cannot go back. */
static bool network_is_allowed(void)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(!network_isolate());
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

/**
 * Enter the namespaces; the process must have one thread. If the system does not allow it,
 * `network` stays empty.
 */
static void network_enter(void)
{
	if (!network_is_allowed())
		return;
	assert_true(network_isolate());
	network_replace("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:5 attempts:2\n");
	network_replace("/etc/nsswitch.conf", "hosts: files dns\n");
	network_up(true);
	network_start_server();
	network.is_there = true;
}

#endif
