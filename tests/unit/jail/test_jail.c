/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "jail/jail.h"

/*
 * Each level is forced in turn and tried from inside by tests/data/jail/inside.c.
 * "none" is the control: there everything must succeed, so that a refusal
 * elsewhere is the jail's doing.
 */
struct level {
	const char *name;
	struct kl_jail jail;
	int probed; /* 0 if not probed yet, 1 if it works, -1 if it does not work here */
	char why[512];
};

static struct level levels[] = {
	{ "bwrap as root", { .level = KL_JAIL_BWRAP }, 0, "" },
	{ "bwrap in a user namespace", { .level = KL_JAIL_BWRAP, .userns = true }, 0, "" },
	{ "landlock", { .level = KL_JAIL_LANDLOCK }, 0, "" },
	{ "chroot with mounts", { .level = KL_JAIL_CHROOT }, 0, "" },
	{ "chroot without mounts", { .level = KL_JAIL_CHROOT, .no_mounts = true }, 0, "" },
};

static struct {
	char *dir; /* 0755: reachable by everyone */
	char *work, *inside, *secret, *closed, *open_dir;
	int listener, port;
} fx;

static int setup(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof(in);
	const char *gcc[] = { "gcc", "-O1", "-w", "-o", NULL, KL_SOURCE "/tests/data/jail/inside.c",
			      NULL };

	assert_ok(kl_fs_tempdir(&fx.dir, "kl-jail-test"));
	assert_int_equal(chmod(fx.dir, 0755), 0);
	fx.work = kl_fs_join(fx.dir, "work");
	fx.open_dir = kl_fs_join(fx.dir, "open");
	fx.inside = kl_fs_join(fx.dir, "inside");
	fx.secret = kl_fs_join(fx.dir, "secret");
	fx.closed = kl_fs_join(fx.dir, "closed");
	assert_ok(kl_fs_mkdir(fx.work));
	assert_ok(kl_fs_mkdir(fx.open_dir));
	assert_int_equal(chmod(fx.open_dir, 0777), 0);
	assert_ok(kl_fs_put(fx.secret, "s", 1, 0644));
	assert_ok(kl_fs_put(fx.closed, "s", 1, 0600));
	gcc[4] = fx.inside;
	assert_ok(kl_proc_output(NULL, gcc));
	fx.listener = socket(AF_INET, SOCK_STREAM, 0);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fx.listener, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(fx.listener, 64), 0);
	assert_int_equal(getsockname(fx.listener, (struct sockaddr *)&in, &len), 0);
	fx.port = ntohs(in.sin_port);
	setenv("KL_JAIL_TEST", "1", 1);
	return 0;
}

static int teardown(void **state)
{
	close(fx.listener);
	kl_fs_tempdir_cleanup(&fx.dir);
	return 0;
}

/* Does the level work here? Only its own probe may say no. */
static bool here(struct level *level)
{
	struct kl_proc_result res;
	const char *const argv[] = { "/bin/sh", "-c", "exit 7", NULL };
	KL_AUTO(kl_buf_release) struct kl_buf err = KL_BUF_INIT;
	struct kl_jail_run run = {
		.policy = KL_JAIL_RUN, .argv = argv, .err = &err, .timeout_ms = 10000
	};

	if (level->probed)
		return level->probed > 0;
	run.workdir = fx.work;
	level->probed = 1;
	if (geteuid() != 0 && (level->jail.level == KL_JAIL_CHROOT ||
			       (level->jail.level == KL_JAIL_BWRAP && !level->jail.userns))) {
		level->probed = -1;
		strcpy(level->why, "needs root");
	} else if (kl_jail_run(&res, &level->jail, &run) < 0) {
		level->probed = -1;
		snprintf(level->why, sizeof(level->why), "%s", kl_error_last());
	} else if (res.exit != 7) {
		level->probed = -1;
		snprintf(level->why, sizeof(level->why), "%.500s", err.ptr);
	}
	return level->probed > 0;
}

static int inside_run(struct kl_proc_result *res, struct kl_buf *out, const struct kl_jail *jail,
		      struct kl_jail_run run, const char *verb, const char *left, const char *right)
{
	const char *argv[] = { fx.inside, verb, left, left ? right : NULL, NULL };

	run.argv = argv;
	run.workdir = fx.work;
	run.out = out;
	if (!run.timeout_ms)
		run.timeout_ms = 20000;
	return kl_jail_run(res, jail, &run);
}

static int attempt(const struct kl_jail *jail, enum kl_jail_policy policy, const char *verb,
		   const char *left)
{
	struct kl_jail_run run = { .policy = policy };
	struct kl_proc_result res;

	KL_AUTO(kl_buf_release) struct kl_buf err = KL_BUF_INIT;

	run.err = &err;
	assert_ok(inside_run(&res, NULL, jail, run, verb, left, NULL));
	if (err.len)
		print_message("%s: %s", verb, err.ptr);
	assert_int_equal(res.signal, 0);
	assert_false(res.timed_out);
	return res.exit;
}

static void confine(const struct kl_jail *jail, enum kl_jail_policy policy)
{
	KL_AUTO(kl_freep) char *port = kl_asprintf("%d", fx.port);
	KL_AUTO(kl_freep) char *pid = kl_asprintf("%d", getpid());
	KL_AUTO(kl_freep) char *mine = kl_fs_join(fx.work, "mine");
	KL_AUTO(kl_freep) char *out = kl_fs_join(fx.open_dir, "out");
	bool free_run = jail->level == KL_JAIL_NONE;
	int no = free_run ? 0 : 1;

	assert_int_equal(attempt(jail, policy, "write", mine), 0);
	assert_int_equal(attempt(jail, policy, "read", mine), 0);
	assert_int_equal(attempt(jail, policy, "read", fx.closed), no);
	if (kl_fs_exists("/etc/ld.so.cache"))
		assert_int_equal(attempt(jail, policy, "read", "/etc/ld.so.cache"), 0);
	assert_int_equal(attempt(jail, policy, "connect", port), no);
	assert_int_equal(attempt(jail, policy, "write", "/usr/kl-test"), no || geteuid() != 0);
	if (free_run)
		unlink("/usr/kl-test");
	assert_int_equal(attempt(jail, policy, "getenv", "KL_JAIL_TEST"), 1);
	assert_int_equal(attempt(jail, policy, "signal", pid), no);
	if (!free_run)
		assert_int_equal(attempt(jail, policy, "userns", NULL), 1);
	/* a dropped user id alone keeps out only what is closed to others */
	if (!jail->no_mounts) {
		assert_int_equal(attempt(jail, policy, "read", fx.secret), no);
		assert_int_equal(attempt(jail, policy, "read", "/etc/passwd"), no);
		assert_int_equal(attempt(jail, policy, "write", out), no);
	}
	assert_int_equal(attempt(jail, policy, "write", fx.secret), no);
	/* Landlock does not rule modes: in the worker's jail the user's own can be changed */
	if (!(jail->level == KL_JAIL_LANDLOCK && policy == KL_JAIL_RUN && geteuid()))
		assert_int_equal(attempt(jail, policy, "chmod", fx.secret), no);
	assert_int_equal(chmod(fx.secret, 0644), 0);
	unlink(out);
}

static int forks(const struct kl_jail *jail, int max)
{
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	struct kl_jail_run run = { .policy = KL_JAIL_RUN, .max_procs = max };
	struct kl_proc_result res;

	assert_ok(inside_run(&res, &out, jail, run, "forks", "300", NULL));
	return atoi(out.ptr);
}

static void limits(const struct kl_jail *jail)
{
	struct kl_jail_run run = { .policy = KL_JAIL_RUN, .timeout_ms = 300 };
	struct kl_proc_result res;

	assert_ok(inside_run(&res, NULL, jail, run, "spin", NULL, NULL));
	assert_true(res.timed_out);
	assert_true(res.wall_ns < 5000000000);

	run = (struct kl_jail_run){ .policy = KL_JAIL_RUN, .mem_mib = 128 };
	assert_ok(inside_run(&res, NULL, jail, run, "alloc", "64", NULL));
	assert_int_equal(res.exit, 0);
	assert_ok(inside_run(&res, NULL, jail, run, "alloc", "256", NULL));
	assert_int_equal(res.exit, 1);
	run.policy = KL_JAIL_COMPILE;
	assert_ok(inside_run(&res, NULL, jail, run, "alloc", "256", NULL));
	assert_int_equal(res.exit, 1);

	run = (struct kl_jail_run){ .policy = KL_JAIL_RUN, .file_mib = 2 };
	assert_ok(inside_run(&res, NULL, jail, run, "grow", "grown", "1"));
	assert_int_equal(res.exit, 0);
	assert_ok(inside_run(&res, NULL, jail, run, "grow", "grown", "4"));
	assert_int_equal(res.exit, 1);

	run = (struct kl_jail_run){ .policy = KL_JAIL_RUN };
	assert_ok(inside_run(&res, NULL, jail, run, "die", NULL, NULL));
	assert_int_equal(res.signal, SIGSEGV);

	/* the kernel never counts what belongs to uid 0 */
	if (!(geteuid() == 0 && (jail->userns || jail->level == KL_JAIL_NONE)))
		assert_in_range(forks(jail, 24), 1, 24);
}

static void nothing_lingers(const struct kl_jail *jail)
{
	KL_AUTO(kl_freep) char *beat = kl_fs_join(fx.work, "beat");
	struct stat left, right;
	bool still = true;

	unlink(beat);
	assert_int_equal(attempt(jail, KL_JAIL_RUN, "linger", beat), 0);
	/* a process that was killed may be held by the disk a moment longer */
	for (int i = 0; still && i < 20; i++) {
		assert_int_equal(stat(beat, &left), 0);
		kl_clock_sleep_ms(250);
		assert_int_equal(stat(beat, &right), 0);
		still = left.st_size != right.st_size;
	}
	assert_false(still);
}

static void test_control(void **state)
{
	struct kl_jail jail;

	assert_ok(kl_jail_open(&jail, KL_JAIL_NONE));
	assert_string_equal(kl_jail_tier(&jail), "unsandboxed");
	confine(&jail, KL_JAIL_RUN);
	limits(&jail);
	assert_int_equal(attempt(&jail, KL_JAIL_RUN, "worker", NULL), 0);
}

static void test_level(void **state)
{
	struct level *level = *state;

	if (!here(level)) {
		print_message("SKIPPED: jail '%s' does not work on this machine: %s\n", level->name,
			      level->why);
		skip();
	}
	confine(&level->jail, KL_JAIL_COMPILE);
	confine(&level->jail, KL_JAIL_RUN);
	limits(&level->jail);
	assert_int_equal(attempt(&level->jail, KL_JAIL_RUN, "worker", NULL), 0);
	nothing_lingers(&level->jail);
}

/* A program that only its owner may run, and named files, are still seen inside. */
static void test_readable(void **state)
{
	struct level *level = *state;
	/* the program itself may be named, too */
	const char *const readable[] = { fx.inside, fx.secret, NULL };
	struct kl_jail_run run = { .policy = KL_JAIL_RUN, .readable = readable };
	struct kl_proc_result res;

	if (!here(level))
		skip();
	assert_ok(inside_run(&res, NULL, &level->jail, run, "read", fx.secret, NULL));
	assert_int_equal(res.exit, 0);
	assert_ok(inside_run(&res, NULL, &level->jail, run, "write", fx.secret, NULL));
	assert_int_equal(res.exit, 1);
	if (level->jail.level == KL_JAIL_CHROOT)
		return;
	assert_int_equal(chmod(fx.inside, 0700), 0);
	assert_ok(inside_run(&res, NULL, &level->jail, run, "read", fx.secret, NULL));
	assert_int_equal(res.exit, 0);
	assert_int_equal(attempt(&level->jail, KL_JAIL_RUN, "read", fx.closed), 1);
	assert_int_equal(chmod(fx.inside, 0755), 0);
}

/* KL_ENOTFOUND would be read as a missing program. */
static void test_no_workdir(void **state)
{
	struct level *level = *state;
	KL_AUTO(kl_freep) char *gone = kl_fs_join(fx.dir, "gone");
	const char *const argv[] = { "/bin/sh", "-c", "exit 7", NULL };
	const struct kl_jail_run run = {
		.policy = KL_JAIL_RUN, .argv = argv, .workdir = gone, .timeout_ms = 10000
	};
	struct kl_proc_result res;

	if (!here(level) || geteuid() != 0)
		skip();
	assert_error(KL_ECANNOT, "cannot build the jail", kl_jail_run(&res, &level->jail, &run));
}

static void test_names(void **state)
{
	enum kl_jail_level level;
	struct kl_jail jail;

	assert_ok(kl_jail_level_parse(&level, "landlock"));
	assert_int_equal(level, KL_JAIL_LANDLOCK);
	assert_error(KL_EINVALID, "unknown jail 'docker'", kl_jail_level_parse(&level, "docker"));
	unsetenv("KLINEAGE_JAIL");
	assert_error(KL_EINVALID, "unknown jail 'docker'", kl_jail_open_named(&jail, "docker"));
	setenv("KLINEAGE_JAIL", "none", 1);
	assert_ok(kl_jail_open_named(&jail, "docker"));
	assert_int_equal(jail.level, KL_JAIL_NONE);
	unsetenv("KLINEAGE_JAIL");
	assert_ok(kl_jail_open_named(&jail, "none"));
	if (!kl_jail_open(&jail, KL_JAIL_AUTO))
		assert_true(jail.level != KL_JAIL_NONE && jail.level != KL_JAIL_AUTO);
}

/* After a run in a directory that only we may enter, a run below it still finds its files by their whole paths. */
static void test_below(void **state)
{
	struct level *level = *state;
	KL_AUTO(kl_freep) char *above = kl_fs_join(fx.dir, "above");
	KL_AUTO(kl_freep) char *below = kl_fs_join(above, "below");
	KL_AUTO(kl_freep) char *file = kl_fs_join(below, "file");
	const char *const first[] = { "/bin/sh", "-c", "exit 7", NULL };
	const char *const second[] = { "/bin/cat", file, NULL };
	struct kl_jail_run run = {
		.policy = KL_JAIL_RUN, .argv = first, .workdir = above, .timeout_ms = 10000
	};
	struct kl_proc_result res;

	if (!here(level))
		skip();
	assert_ok(kl_fs_remove(above));
	assert_int_equal(mkdir(above, 0700), 0);
	assert_ok(kl_jail_run(&res, &level->jail, &run));
	assert_int_equal(res.exit, 7);
	assert_ok(kl_fs_mkdir(below));
	assert_ok(kl_fs_put(file, "text", 4, 0644));
	run = (struct kl_jail_run){
		.policy = KL_JAIL_COMPILE, .argv = second, .workdir = below, .timeout_ms = 10000
	};
	assert_ok(kl_jail_run(&res, &level->jail, &run));
	assert_int_equal(res.exit, 0);
}

#define LEVEL_TEST(f, i)                                      \
	{                                                     \
		"level " #i " " #f, f, NULL, NULL, &levels[i] \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),   cmocka_unit_test(test_control),
		LEVEL_TEST(test_level, 0),      LEVEL_TEST(test_readable, 0),
		LEVEL_TEST(test_no_workdir, 0), LEVEL_TEST(test_below, 0),
		LEVEL_TEST(test_level, 1),      LEVEL_TEST(test_readable, 1),
		LEVEL_TEST(test_no_workdir, 1), LEVEL_TEST(test_below, 1),
		LEVEL_TEST(test_level, 2),      LEVEL_TEST(test_readable, 2),
		LEVEL_TEST(test_no_workdir, 2), LEVEL_TEST(test_below, 2),
		LEVEL_TEST(test_level, 3),      LEVEL_TEST(test_readable, 3),
		LEVEL_TEST(test_no_workdir, 3), LEVEL_TEST(test_below, 3),
		LEVEL_TEST(test_level, 4),      LEVEL_TEST(test_readable, 4),
		LEVEL_TEST(test_no_workdir, 4),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
