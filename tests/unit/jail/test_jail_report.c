/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <dirent.h>
#include <limits.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "jail/jail.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/*
 * In a build with sanitizers, this program also runs itself: in a jail with the name of a defect,
 * and outside with "jail" and that name to start the jail.
 */
static int defect(const char *name)
{
	volatile int most = INT_MAX;
	char *volatile room = malloc(4);

	if (!strcmp(name, "heap"))
		room[4] = 1;
	if (!strcmp(name, "overflow"))
		most = most + 1;
	if (!strcmp(name, "leak"))
		room = NULL;
	free(room);
	return 0;
}

static int run_defect(const char *program, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf dropped = KL_BUF_INIT;
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	const char *argv[] = { program, name, NULL };
	const char *readable[] = { program, NULL };
	struct kl_jail_run run = {
		.policy = KL_JAIL_RUN,
		.argv = argv,
		.readable = readable,
		.err = &dropped,
		.timeout_ms = 60000,
	};
	struct kl_proc_result res;
	struct kl_jail jail;

	if (kl_jail_open(&jail, KL_JAIL_AUTO) < 0 || kl_fs_tempdir(&dir, "kl-report") < 0)
		return 77;
	run.workdir = dir;
	return kl_jail_run(&res, &jail, &run) < 0;
}

static void read_reports(struct kl_buf *out, const char *dir)
{
	DIR *open_dir = opendir(dir);
	struct dirent *entry;

	assert_non_null(open_dir);
	while ((entry = readdir(open_dir))) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, entry->d_name);

		if (entry->d_name[0] != '.')
			assert_ok(kl_fs_read(out, path, 1 << 20));
	}
	closedir(open_dir);
}

static void expect_report(const char *const *argv, const char *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf reports = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec env = KL_STRVEC_INIT;
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	struct kl_proc_opts opts = { .argv = argv };
	struct kl_proc_result res;

	assert_ok(kl_fs_tempdir(&dir, "kl-reports"));
	kl_strvec_push(&env, "PATH=/usr/bin:/bin");
	kl_strvec_pushf(&env, "ASAN_OPTIONS=log_path=%s/report", dir);
	kl_strvec_pushf(&env, "UBSAN_OPTIONS=log_path=%s/report", dir);
	opts.env = (const char *const *)env.v;
	assert_ok(kl_proc_run(&res, &opts));
	if (res.exit == 77)
		skip();
	read_reports(&reports, dir);
	assert_contains(reports.ptr, text);
}

static void reports_are_kept(void **state)
{
	static const struct {
		const char *name, *text;
	} defects[] = {
		{ "heap", "ERROR: AddressSanitizer: heap-buffer-overflow" },
		{ "overflow", "runtime error: signed integer overflow" },
		{ "leak", "ERROR: LeakSanitizer: detected memory leaks" },
	};

	if (!SANITIZED)
		skip();
	for (size_t i = 0; i < KL_ARRAY_SIZE(defects); i++) {
		const char *bare[] = { "/proc/self/exe", defects[i].name, NULL };
		const char *jailed[] = { "/proc/self/exe", "jail", defects[i].name, NULL };

		expect_report(bare, defects[i].text);
		expect_report(jailed, defects[i].text);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_are_kept),
	};
	char program[PATH_MAX] = "";

	if (argc == 2)
		return defect(argv[1]);
	if (argc == 3 && readlink("/proc/self/exe", program, sizeof(program) - 1) > 0)
		return run_defect(program, argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
