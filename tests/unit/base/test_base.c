/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/prefix.h"
#include "base/proc.h"
#include "base/rng.h"
#include "base/scratch.h"
#include "base/sealed.h"
#include "base/stats.h"
#include "base/tasks.h"
#include "base/vec.h"

static void error_context_and_hints(void **state)
{
	assert_int_equal(kl_error(KL_ENOTFOUND, "no '%s'", "x"), KL_ENOTFOUND);
	kl_error_hint(0, "try this");
	kl_error_hint(0, "or that");
	assert_int_equal(kl_error_in(KL_ENOTFOUND, "in '%s'", "y"), KL_ENOTFOUND);
	assert_string_equal(kl_error_last(), "in 'y': no 'x'");
	assert_string_equal(kl_error_hints(), "try this\nor that");
	/* another wording may quote the message, and keeps the hints */
	assert_int_equal(kl_error_reword(KL_ENO, "%s, twice", kl_error_last()), KL_ENO);
	assert_string_equal(kl_error_last(), "in 'y': no 'x', twice");
	assert_string_equal(kl_error_hints(), "try this\nor that");
	/* a new error may quote the old one, and drops its hints */
	kl_error(KL_EIO, "again: %s", kl_error_last());
	assert_string_equal(kl_error_last(), "again: in 'y': no 'x', twice");
	assert_string_equal(kl_error_hints(), "");
	assert_int_equal(kl_error_exit(KL_ECANNOT), 125);
	assert_int_equal(kl_error_exit(KL_ENO), 1);
	assert_int_equal(kl_error_exit(KL_EUSAGE), 129);
	assert_int_equal(kl_error_exit(KL_EIO), 128);
}

static void buf_grows_and_detaches(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	assert_string_equal(buf.ptr, "");
	for (int i = 0; i < 1000; i++)
		kl_buf_addf(&buf, "%d,", i);
	assert_int_equal(buf.len, strlen(buf.ptr));
	assert_int_equal(strncmp(buf.ptr + buf.len - 8, "998,999,", 8), 0);
	kl_buf_adds(&buf, " \n");
	kl_buf_rtrim(&buf);
	assert_int_equal(buf.ptr[buf.len - 1], ',');
	KL_AUTO(kl_freep) char *text = kl_buf_detach(&buf);
	assert_int_equal(buf.len, 0);
	assert_int_equal(text[0], '0');
}

static void vec_sorts_and_splits(void **state)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec list = KL_STRVEC_INIT;

	kl_strvec_split(&list, " b, a,,b ", " ,");
	assert_int_equal(list.n, 3);
	kl_strvec_uniq(&list);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.v[0], "a");
	assert_null(list.v[2]);
	assert_true(kl_strvec_has(&list, "b"));
	assert_false(kl_strvec_has(&list, "c"));
	kl_strvec_add_once(&list, "b");
	assert_int_equal(list.n, 2);
	kl_strvec_add_once(&list, "c");
	assert_int_equal(list.n, 3);
	assert_string_equal(list.v[2], "c");
}

static void prefix_of_text_and_of_families(void **state)
{
	assert_true(kl_prefix_has("ld.global", "ld."));
	assert_true(kl_prefix_has("ld", ""));
	assert_true(kl_prefix_has("", ""));
	assert_false(kl_prefix_has("ld", "ld."));
	assert_false(kl_prefix_has("st.global", "ld"));
	assert_true(kl_prefix_is_dotted("ld", "ld"));
	assert_true(kl_prefix_is_dotted("ld.global", "ld"));
	assert_true(kl_prefix_is_dotted("ld.global.f32", "ld.global"));
	assert_false(kl_prefix_is_dotted("ldmatrix", "ld"));
	assert_false(kl_prefix_is_dotted("l", "ld"));
}

static void map_keeps_order_and_values(void **state)
{
	KL_AUTO(kl_map_release) struct kl_map map = { .free_value = free };
	char key[16];

	for (int i = 0; i < 500; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		kl_map_put(&map, key, kl_strdup(key));
	}
	kl_map_put(&map, "k7", kl_strdup("seven"));
	assert_int_equal(map.n, 500);
	assert_string_equal(kl_map_get(&map, "k7"), "seven");
	assert_string_equal(kl_map_get(&map, "k499"), "k499");
	assert_string_equal(map.e[499].key, "k499");
	assert_null(kl_map_get(&map, "k500"));
}

static void fs_paths_of_tracked_files(void **state)
{
	static const char *const good[] = { "a", "a/b.c", ".gitignore", "..a", "a/...", NULL };
	static const char *const bad[] = { "",     "/a",     "a/",  "a//b", ".",
					   "..",   "a/../b", "./a", ".git", "a/.GIT/x",
					   "a\\b", "a\nb",   NULL };

	for (const char *const *at = good; *at; at++)
		if (!kl_fs_path_ok(*at))
			fail_msg("refused '%s'", *at);
	for (const char *const *at = bad; *at; at++)
		if (kl_fs_path_ok(*at))
			fail_msg("accepted '%s'", *at);
}

static void fs_writes_whole_files(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;

	assert_ok(kl_fs_tempdir(&dir, "kl-test"));
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/a/b/c", dir);
	KL_AUTO(kl_freep) char *fifo = kl_asprintf("%s/fifo", dir);
	KL_AUTO(kl_freep) char *sub = kl_asprintf("%s/a/b", dir);
	assert_error(KL_ENOTFOUND, "cannot open", kl_fs_read(&buf, path, 10));
	assert_ok(kl_fs_mkdir_of(path));
	assert_ok(kl_fs_write(path, "one", 3));
	assert_ok(kl_fs_write(path, "three", 5));
	assert_ok(kl_fs_read(&buf, path, 5));
	assert_string_equal(buf.ptr, "three");
	kl_buf_clear(&buf);
	assert_error(KL_EINVALID, "more than 4 bytes", kl_fs_read(&buf, path, 4));
	/* nothing of the temporary file is left */
	assert_ok(kl_fs_list(&names, sub));
	assert_int_equal(names.n, 1);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_error(KL_EINVALID, "not a regular file", kl_fs_read(&buf, fifo, 5));
	/* what a user named for an answer and is no file is written to, and stays */
	char got[8] = "";
	int fd = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	assert_ok(kl_fs_write_output(fifo, "four", 4));
	assert_int_equal(read(fd, got, sizeof(got)), 4);
	assert_string_equal(got, "four");
	close(fd);
	/* what is ours is not waited for: whoever put a pipe in its place does not stop us */
	assert_ok(kl_fs_write(fifo, "five", 4));
	kl_buf_clear(&buf);
	assert_ok(kl_fs_read(&buf, fifo, 5));
	assert_string_equal(buf.ptr, "five");
	assert_error(KL_EEXISTS, "exists and is not a directory", kl_fs_mkdir(path));
}

static void fs_remove_does_not_follow_symlinks(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL, *other = NULL;

	assert_ok(kl_fs_tempdir(&dir, "kl-test"));
	assert_ok(kl_fs_tempdir(&other, "kl-test"));
	KL_AUTO(kl_freep) char *keep = kl_fs_join(other, "keep");
	KL_AUTO(kl_freep) char *link = kl_fs_join(dir, "link");
	assert_ok(kl_fs_write(keep, "x", 1));
	assert_int_equal(symlink(other, link), 0);
	assert_ok(kl_fs_remove(dir));
	assert_false(kl_fs_exists(dir));
	assert_true(kl_fs_exists(keep));
	assert_ok(kl_fs_remove(dir)); /* absent is fine */
}

static void proc_pipes_limits_and_ends(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT, err = KL_BUF_INIT;
	struct kl_proc_result res;
	static char big[300000];
	const char *cat[] = { "sh", "-c", "cat; echo oops >&2; exit 3", NULL };
	struct kl_proc_opts opts = {
		.argv = cat, .in = big, .in_len = sizeof(big), .out = &out, .err = &err
	};

	memset(big, 'x', sizeof(big));
	assert_ok(kl_proc_run(&res, &opts));
	assert_int_equal(res.exit, 3);
	assert_int_equal(out.len, sizeof(big));
	assert_string_equal(err.ptr, "oops\n");

	kl_buf_clear(&out);
	opts.max_output = 1000;
	assert_ok(kl_proc_run(&res, &opts));
	assert_true(res.truncated);
	assert_int_equal(out.len, 1000);

	/* a program that does not read its input must not kill us */
	const char *deaf[] = { "true", NULL };
	opts = (struct kl_proc_opts){ .argv = deaf, .in = big, .in_len = sizeof(big) };
	assert_ok(kl_proc_run(&res, &opts));
	assert_int_equal(res.exit, 0);

	const char *none[] = { "/no/such/program", NULL };
	opts = (struct kl_proc_opts){ .argv = none };
	assert_error(KL_ENOTFOUND, "cannot run", kl_proc_run(&res, &opts));
	assert_error(KL_EIO, "failed with exit code 3: oops",
		     kl_proc_output(&out,
				    (const char *[]){ "sh", "-c", "echo oops >&2; exit 3", NULL }));
}

static void proc_kills_the_whole_group(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	struct kl_proc_result res;

	assert_ok(kl_fs_tempdir(&dir, "kl-test"));
	KL_AUTO(kl_freep) char *mark = kl_fs_join(dir, "mark");
	KL_AUTO(kl_freep) char *script = kl_asprintf("(sleep 1; echo > %s) & sleep 10", mark);
	const char *argv[] = { "sh", "-c", script, NULL };
	struct kl_proc_opts opts = { .argv = argv, .timeout_ms = 200 };

	assert_ok(kl_proc_run(&res, &opts));
	assert_true(res.timed_out);
	kl_clock_sleep_ms(1200);
	assert_false(kl_fs_exists(mark));
}

/* what a program wrote until it ended, within a while */
static void wait_for(struct kl_proc_result *res, struct kl_proc *proc)
{
	for (int i = 0; i < 1000; i++) {
		if (kl_proc_ended(res, proc))
			return;
		usleep(10000);
	}
	fail_msg("it does not end");
}

static void proc_runs_beside_us(void **state)
{
	static const char *const cat[] = { "cat", NULL };
	static const char *const sleeper[] = { "sh", "-c", "sleep 60 & echo $!; wait", NULL };
	static const char *const none[] = { "/nonexistent/program", NULL };
	KL_AUTO(kl_proc_release) struct kl_proc proc = KL_PROC_INIT;
	struct kl_buf want = KL_BUF_INIT;
	struct kl_proc_opts opts = { .argv = cat, .in = "all of it", .in_len = 9, .out = &want };
	struct kl_proc_result res;
	char text[64] = "";

	assert_ok(kl_proc_start(&proc, &opts));
	wait_for(&res, &proc);
	assert_int_equal(res.exit, 0);
	assert_int_equal(read(proc.out, text, sizeof(text)), 9);
	assert_string_equal(text, "all of it");
	assert_false(kl_proc_ended(&res, &proc));
	kl_proc_release(&proc);
	opts = (struct kl_proc_opts){ .argv = sleeper, .out = &want };
	assert_ok(kl_proc_start(&proc, &opts));
	while (read(proc.out, text, sizeof(text)) < 2)
		usleep(10000);
	kl_proc_stop(&proc, SIGKILL);
	wait_for(&res, &proc);
	assert_int_equal(res.signal, SIGKILL);
	for (int i = 0; i < 1000 && kill(atoi(text), 0) == 0; i++)
		usleep(10000);
	assert_int_equal(kill(atoi(text), 0), -1);
	kl_proc_release(&proc);
	opts = (struct kl_proc_opts){ .argv = none };
	assert_error(KL_ENOTFOUND, "cannot run", kl_proc_start(&proc, &opts));
}

/* A wait whose end is after the greatest time of the clock waits. */
static void lock_is_waited_for_as_long_as_the_clock_runs(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	int ready[2];
	char byte;
	pid_t pid;

	assert_ok(kl_fs_tempdir(&dir, "kl-test"));
	path = kl_fs_join(dir, "long.lock");
	assert_return_code(pipe(ready), errno);
	pid = fork();
	if (!pid) {
		if (kl_lock_take(&lock, path, 0) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		kl_clock_sleep_ms(200);
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_ok(kl_lock_take(&lock, path, INT64_MAX / 1000000));
	waitpid(pid, NULL, 0);
}

/* Whatever has the place of a lock in /tmp: nobody waits for it, and another lock is found. */
static void lock_of_the_machine_survives_what_lies_in_its_place(void **state)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("test-%d", (int)getpid());
	KL_AUTO(kl_freep) char *path = kl_asprintf("/tmp/klineage-%s.lock", name);
	KL_AUTO(kl_freep) char *aim = kl_asprintf("%s.aim", path);

	for (int kind = 0; kind < 5; kind++) {
		struct kl_lock lock = KL_LOCK_INIT, other = KL_LOCK_INIT;
		int64_t start = kl_clock_ns();

		assert_ok(kl_fs_remove(path));
		if (kind == 1)
			assert_int_equal(mkfifo(path, 0666), 0);
		else if (kind == 2)
			assert_int_equal(symlink(aim, path), 0);
		else if (kind == 3)
			assert_int_equal(mkdir(path, 0777), 0);
		else if (kind == 4)
			assert_int_equal(symlink(path, path), 0);
		assert_ok(kl_lock_take_machine(&lock, name, 0));
		assert_int_equal(lock.notice != NULL, kind > 0);
		if (kind) {
			assert_contains(lock.notice, path);
			assert_contains(lock.notice, "using '");
		}
		assert_error(KL_EBUSY, "is locked", kl_lock_take_machine(&other, name, 0));
		assert_true(kl_clock_ns() - start < 2000000000);
		if (kind)
			assert_int_equal(unlink(lock.path), 0);
		kl_lock_release(&lock);
		assert_false(kl_fs_exists(aim));
	}
	assert_ok(kl_fs_remove(path));
}

/* A process that is killed before it can remove its directory. */
static pid_t leave_scratch(const char *base)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct kl_scratch scratch = KL_SCRATCH_INIT;
		int err = kl_scratch_open_in(&scratch, base, "klineage-x");

		_exit(err || kl_fs_mkdir(kl_fs_join(scratch.path, "sub/sub")) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return pid;
}

/* A directory of a killed process goes with the next one; others and their likes stay. */
static void scratch_of_the_dead_is_removed(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *base = NULL;
	KL_AUTO(kl_freep) char *file = NULL, *left = NULL, *fifo = NULL, *odd = NULL;
	KL_AUTO(kl_freep) char *target = NULL, *again = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	struct kl_scratch alive = KL_SCRATCH_INIT, next = KL_SCRATCH_INIT;
	int pid;

	assert_ok(kl_fs_tempdir(&base, "scratch"));
	pid = (int)leave_scratch(base);
	target = kl_fs_join(base, "target");
	file = kl_fs_join(target, "file");
	assert_ok(kl_fs_mkdir(target));
	assert_ok(kl_fs_put(file, "x", 1, 0600));
	left = kl_asprintf("%s/klineage-x-%d-LLLLLL", base, pid);
	fifo = kl_asprintf("%s/klineage-x-%d-FFFFFF", base, pid);
	odd = kl_asprintf("%s/klineage-x-%d-toolong", base, pid);
	again = kl_asprintf("%s/klineage-x-%d-AAAAAA", base, (int)getpid());
	assert_int_equal(symlink(target, left), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_ok(kl_fs_mkdir(odd));
	assert_ok(kl_scratch_open_in(&alive, base, "klineage-x"));
	assert_ok(kl_scratch_open_in(&next, base, "klineage-x"));
	assert_ok(kl_fs_list(&names, base));
	assert_int_equal(names.n, 6); /* the target, three lookalikes, two of this process */
	assert_true(kl_fs_exists(left) && kl_fs_exists(fifo) && kl_fs_is_dir(odd));
	assert_true(kl_fs_is_dir(alive.path) && kl_fs_exists(file));
	/* no process holds the lock: that of a dead one, whoever has its number now */
	assert_ok(kl_fs_mkdir(again));
	kl_scratch_release(&next);
	assert_ok(kl_scratch_open_in(&next, base, "klineage-x"));
	assert_false(kl_fs_exists(again));
	kl_scratch_release(&next);
	kl_scratch_release(&alive);
	kl_strvec_release(&names);
	names = (struct kl_strvec)KL_STRVEC_INIT;
	assert_ok(kl_fs_list(&names, base));
	assert_int_equal(names.n, 4);
}

static void lock_excludes_and_dies_with_its_holder(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	struct kl_lock left = KL_LOCK_INIT, right = KL_LOCK_INIT;
	pid_t pid;

	assert_ok(kl_fs_tempdir(&dir, "kl-test"));
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "lock");
	assert_ok(kl_lock_take(&left, path, 0));
	assert_error(KL_EBUSY, "is locked", kl_lock_take(&right, path, 20));
	kl_lock_release(&left);
	pid = fork();
	if (pid == 0)
		_exit(kl_lock_take(&left, path, 0) == 0 ? (pause(), 0) : 1);
	kl_clock_sleep_ms(100);
	assert_error(KL_EBUSY, "is locked", kl_lock_take(&right, path, 0));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_ok(kl_lock_take(&right, path, 1000));
	kl_lock_release(&right);
}

static void count_wait(void *payload, long pid, int64_t ms)
{
	int64_t *heard = payload;

	assert_true(pid == (long)heard[1] || !pid);
	assert_true(ms >= 1000 * (heard[0] + 1));
	heard[0]++;
}

static void who_awaits_a_lock_hears_of_it(void **state)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("test-%ld", (long)getpid());
	KL_AUTO(kl_freep) char *path = kl_asprintf("/tmp/klineage-%s.lock", name);
	KL_AUTO(kl_freep) char *known = kl_lock_wait_text(4711, 7900);
	KL_AUTO(kl_freep) char *unknown = kl_lock_wait_text(0, 61000);
	KL_AUTO(kl_lock_release) struct kl_lock mine = KL_LOCK_INIT, lock = KL_LOCK_INIT;
	int64_t heard[2] = { 0 };
	pid_t pid = fork();

	if (pid == 0)
		_exit(kl_lock_take_machine(&mine, name, 0) == 0 ? (kl_clock_sleep_ms(2600), 0) : 1);
	heard[1] = pid;
	kl_clock_sleep_ms(200);
	assert_ok(kl_lock_await_machine(&lock, name, count_wait, heard));
	assert_int_equal(heard[0], 2);
	waitpid(pid, NULL, 0);
	kl_lock_release(&lock);
	heard[0] = 0;
	assert_ok(kl_lock_await_machine(&lock, name, count_wait, heard));
	assert_int_equal(heard[0], 0);
	assert_int_equal(unlink(path), 0);
	assert_string_equal(known, "waiting for another measurement (pid 4711, for 7 s so far)");
	assert_string_equal(unknown, "waiting for another measurement (for 61 s so far)");
}

static void rng_repeats_and_spreads(void **state)
{
	struct kl_rng left, right;
	double sum = 0, square = 0;

	kl_rng_seed(&left, 42);
	kl_rng_seed(&right, 42);
	for (int i = 0; i < 100; i++)
		assert_true(kl_rng_u64(&left) == kl_rng_u64(&right));
	for (int i = 0; i < 100000; i++) {
		double value = kl_rng_normal(&left);

		sum += value;
		square += value * value;
		assert_true(kl_rng_below(&right, 7) < 7);
	}
	assert_true(fabs(sum / 100000) < 0.02);
	assert_true(fabs(square / 100000 - 1) < 0.03);
	assert_true(kl_rng_split(1, 1) != kl_rng_split(1, 2));
	assert_true(kl_rng_split(1, 1) != kl_rng_split(2, 1));
}

/*
 * Coverage of the interval, measured: 2000 draws of 8 normals must hold 0
 * about 96 % of the time. With 8 samples the tabulated critical rank sum is 3:
 * the ends are the fourth Walsh averages from either side.
 */
static void stats_interval_covers(void **state)
{
	double eight[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct kl_interval ci = kl_stats_centre(eight, 8);
	struct kl_rng rng;
	int held = 0;

	assert_true(ci.mid == 4.5);
	assert_true(ci.lo == 2 && ci.hi == 7);
	kl_rng_seed(&rng, 1);
	for (int i = 0; i < 2000; i++) {
		double values[8];

		for (int j = 0; j < 8; j++)
			values[j] = kl_rng_normal(&rng);
		ci = kl_stats_centre(values, 8);
		held += ci.lo <= 0 && 0 <= ci.hi;
	}
	assert_in_range(held, 1890, 1980);
	ci = kl_stats_centre(eight, 1);
	assert_true(ci.lo < -1e300 && ci.hi > 1e300 && ci.mid == 1);
	ci = kl_stats_centre(eight, 4); /* t(3) = 3.182, s/sqrt(4) = 0.6455 */
	assert_true(fabs(ci.hi - (2.5 + 3.182 * 0.645497)) < 1e-3);
}

struct marks {
	unsigned char seen[100003];
	size_t grain;
	bool broken, elsewhere;
	pthread_t home;
};

static void mark(void *ctx, size_t from, size_t to)
{
	struct marks *marks = ctx;

	if (from % marks->grain || to - from > marks->grain ||
	    (to - from < marks->grain && to != sizeof(marks->seen)))
		marks->broken = true;
	if (!pthread_equal(marks->home, pthread_self()))
		marks->elsewhere = true;
	for (size_t i = from; i < to; i++)
		marks->seen[i]++;
}

static void par_does_each_piece_once(void **state)
{
	KL_AUTO(kl_freep) struct marks *marks = kl_calloc(1, sizeof(*marks));
	cpu_set_t before, one;

	marks->home = pthread_self();
	for (marks->grain = 1; marks->grain < 200000; marks->grain = marks->grain * 7 + 3) {
		memset(marks->seen, 0, sizeof(marks->seen));
		kl_par_for(sizeof(marks->seen), marks->grain, mark, marks);
		for (size_t i = 0; i < sizeof(marks->seen); i++)
			assert_int_equal(marks->seen[i], 1);
	}
	assert_false(marks->broken);
	kl_par_for(0, 1, mark, NULL); /* nothing to do */
	/* who is pinned, to measure, stays alone */
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (int ch = 0; ch < CPU_SETSIZE && !CPU_COUNT(&one); ch++)
		if (CPU_ISSET(ch, &before))
			CPU_SET(ch, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	marks->elsewhere = false;
	marks->grain = 1000;
	kl_par_for(sizeof(marks->seen), marks->grain, mark, marks);
	assert_false(marks->elsewhere);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

static void par_copies_and_compares(void **state)
{
	size_t n = ((size_t)9 << 20) + 5;
	KL_AUTO(kl_freep) char *left = kl_malloc(n);
	KL_AUTO(kl_freep) char *right = kl_calloc(1, n);

	for (size_t i = 0; i < n; i++)
		left[i] = (char)(i * 31 + (i >> 12));
	kl_par_populate(right, 0, true);
	kl_par_copy(right, left, n);
	assert_memory_equal(left, right, n);
	assert_true(kl_par_same(left, right, n));
	for (size_t i = 0; i < n; i += n / 5) {
		right[i] ^= 1;
		assert_false(kl_par_same(left, right, n));
		right[i] ^= 1;
	}
	right[n - 1] ^= 1;
	assert_false(kl_par_same(left, right, n));
	assert_true(kl_par_same(left, right, n - 1));
}

static int one_task(void *ctx)
{
	int *n = ctx, was = *n;

	*n += 100;
	if (was % 3 == 0)
		return kl_error_hint(kl_error(KL_ENO, "task %d", was), "try %d", was);
	if (was % 3 == 1)
		kl_error(KL_EIO, "not the end of it");
	return 0;
}

/* Errors made in other threads are there when they are asked for, each task's own. */
static void tasks_keep_their_errors(void **state)
{
	struct kl_task tasks[7] = { { .run = NULL } };
	int n[7];

	for (int i = 0; i < 7; i++) {
		n[i] = i;
		tasks[i] = (struct kl_task){ .run = one_task, .ctx = &n[i] };
	}
	kl_tasks_run(tasks, 7);
	for (int i = 6; i >= 0; i--) {
		char want[20], hint[20];

		assert_int_equal(n[i], i + 100);
		if (i % 3) {
			assert_int_equal(kl_task_result(&tasks[i]), 0);
			continue;
		}
		snprintf(want, sizeof(want), "task %d", i);
		snprintf(hint, sizeof(hint), "try %d", i);
		assert_int_equal(kl_task_result(&tasks[i]), KL_ENO);
		assert_string_equal(kl_error_last(), want);
		assert_string_equal(kl_error_hints(), hint);
	}
	kl_tasks_release(tasks, 7);
	kl_tasks_run(tasks, 0);
}

/* A program that does not read what it is given, in several threads, and then in this one. */
static int deaf(void *ctx)
{
	static const char *const argv[] = { "true", NULL };
	static char much[1 << 20];
	struct kl_proc_opts opts = {
		.argv = argv, .in = much, .in_len = sizeof(much), .timeout_ms = 20000
	};
	struct kl_proc_result res;

	for (int i = 0; i < 20; i++) {
		int err = kl_proc_run(&res, &opts);

		if (err < 0 || res.exit != 0)
			return kl_error(KL_EIO, "%d %d", err, res.exit);
	}
	return 0;
}

static void proc_runs_in_threads(void **state)
{
	struct kl_task tasks[4];
	struct sigaction before, after;
	sigset_t mask;

	sigaction(SIGPIPE, NULL, &before);
	for (int i = 0; i < 4; i++)
		tasks[i] = (struct kl_task){ .run = deaf };
	kl_tasks_run(tasks, 4);
	for (int i = 0; i < 4; i++)
		assert_ok(kl_task_result(&tasks[i]));
	kl_tasks_release(tasks, 4);
	assert_ok(deaf(NULL));
	sigaction(SIGPIPE, NULL, &after);
	assert_ptr_equal(before.sa_handler, after.sa_handler);
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	assert_false(sigismember(&mask, SIGPIPE));
}

static void proc_keeps_keys_to_itself(void **state)
{
	static const char *const keys[] = { "KLINEAGE_CHAT_KEY", "ANTHROPIC_API_KEY", "X_API_TOKEN",
					    "AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_AUTH_TOKEN" };
	static const char *const others[] = { "KEEP_ME", "API_KEY_FILE", "KLINEAGE_CHAT_KEYS",
					      "GITHUB_TOKEN" };
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;

	for (size_t i = 0; i < KL_ARRAY_SIZE(keys); i++)
		setenv(keys[i], "sk-hidden", 1);
	for (size_t i = 0; i < KL_ARRAY_SIZE(others); i++)
		setenv(others[i], "seen", 1);
	assert_ok(kl_proc_output(&out, (const char *[]){ "env", NULL }));
	assert_null(strstr(out.ptr, "sk-hidden"));
	for (size_t i = 0; i < KL_ARRAY_SIZE(others); i++) {
		KL_AUTO(kl_freep) char *line = kl_asprintf("%s=seen", others[i]);

		assert_contains(out.ptr, line);
		unsetenv(others[i]);
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(keys); i++)
		unsetenv(keys[i]);
}

/* Neither the maker nor another process changes it: not by writing, mapping or truncating. */
static void sealed_memory_does_not_change(void **state)
{
	char text[5000] = "klineage", *map;
	int fd, plain = memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_ok(kl_sealed_make(&fd, "test", text, sizeof(text)));
	assert_true(kl_sealed_check(fd, sizeof(text)));
	assert_false(kl_sealed_check(fd, sizeof(text) + 1));
	assert_int_equal(pwrite(fd, "K", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 100), -1);
	assert_int_equal(ftruncate(fd, 9000), -1);
	assert_ptr_equal(mmap(NULL, 5000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	/* a private copy can change, and be code */
	map = mmap(NULL, 5000, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_memory_equal(map, text, sizeof(text));
	map[0] = 'K';
	assert_int_equal(pread(fd, text, 1, 0), 1);
	assert_int_equal(text[0], 'k');
	munmap(map, 5000);
	map = mmap(NULL, 5000, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	munmap(map, 5000);
	close(fd);
	/* a file, and memory that lacks one seal */
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_false(kl_sealed_check(fd, 1));
	close(fd);
	assert_false(kl_sealed_check(-1, 0));
	assert_int_equal(ftruncate(plain, 100), 0);
	assert_false(kl_sealed_check(plain, 100));
	assert_int_equal(fcntl(plain, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW), 0);
	assert_false(kl_sealed_check(plain, 100));
	close(plain);
}

static void clock_knows_its_form(void **state)
{
	static const char *const other[] = {
		"",
		"2026-11-20T10:00:00",
		"2026-11-20T10:00:00Z ",
		"2026-11-20T10:00:00+",
		"2026-11-20 10:00:00Z",
		" 2026-11-20T10:00:00Z",
		"2026-1-20T10:00:00Z",
		"2026-11-20T1o:00:00Z",
		"dddd-dd-ddTdd:dd:ddZ",
		"2026-11-20T10:00:00Z\n",
		"20261120T100000Z",
	};
	char now[21];

	kl_clock_iso(now);
	assert_true(kl_clock_is_iso(now));
	assert_true(kl_clock_is_iso("2026-11-20T10:00:00Z"));
	for (size_t i = 0; i < KL_ARRAY_SIZE(other); i++)
		assert_false(kl_clock_is_iso(other[i]));
}

static void fs_paths_are_joined(void **state)
{
	/* clang-format off */
	static const struct { const char *dir, *path, *want; } rows[] = {
		{ "/a/b", "c", "/a/b/c" }, { "/a/b", "../c", "/a/c" }, { "/a/b", "/x//y/./z/", "/x/y/z" },
		{ "/a", "../../../b", "/b" }, { "/a", "..", "/" }, { "/", ".", "/" }, { "/a/b", "c/../d/../../e", "/a/e" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_freep) char *got = kl_fs_resolve(rows[i].dir, rows[i].path);

		assert_string_equal(got, rows[i].want);
	}
}

static void fs_paths_below_a_directory(void **state)
{
	assert_string_equal(kl_fs_below("/a/b", "/a/b/c/d"), "c/d");
	assert_string_equal(kl_fs_below("/a/b", "/a/b"), "");
	assert_null(kl_fs_below("/a/b", "/a/bc"));
	assert_null(kl_fs_below("/a/b", "/a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(error_context_and_hints),
		cmocka_unit_test(buf_grows_and_detaches),
		cmocka_unit_test(vec_sorts_and_splits),
		cmocka_unit_test(prefix_of_text_and_of_families),
		cmocka_unit_test(map_keeps_order_and_values),
		cmocka_unit_test(fs_paths_of_tracked_files),
		cmocka_unit_test(fs_paths_are_joined),
		cmocka_unit_test(fs_paths_below_a_directory),
		cmocka_unit_test(fs_writes_whole_files),
		cmocka_unit_test(fs_remove_does_not_follow_symlinks),
		cmocka_unit_test(proc_pipes_limits_and_ends),
		cmocka_unit_test(proc_kills_the_whole_group),
		cmocka_unit_test(proc_runs_beside_us),
		cmocka_unit_test(lock_excludes_and_dies_with_its_holder),
		cmocka_unit_test(who_awaits_a_lock_hears_of_it),
		cmocka_unit_test(lock_is_waited_for_as_long_as_the_clock_runs),
		cmocka_unit_test(lock_of_the_machine_survives_what_lies_in_its_place),
		cmocka_unit_test(scratch_of_the_dead_is_removed),
		cmocka_unit_test(clock_knows_its_form),
		cmocka_unit_test(rng_repeats_and_spreads),
		cmocka_unit_test(stats_interval_covers),
		cmocka_unit_test(par_does_each_piece_once),
		cmocka_unit_test(par_copies_and_compares),
		cmocka_unit_test(tasks_keep_their_errors),
		cmocka_unit_test(proc_runs_in_threads),
		cmocka_unit_test(proc_keeps_keys_to_itself),
		cmocka_unit_test(sealed_memory_does_not_change),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
