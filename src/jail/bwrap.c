/* SPDX-License-Identifier: Apache-2.0 */
/* bwrap - runs a program in a jail made by bubblewrap */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "jail/impl.h"

const char *const kl_jail_roots[] = {
	"/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", NULL
};
/* in order: links of update-alternatives, the cache of the dynamic loader, the CPU topology */
const char *const kl_jail_extras[] = { "/etc/alternatives", "/etc/ld.so.cache",
				       "/sys/devices/system", NULL };

static void bind_same(struct kl_strvec *argv, const char *how, const char *path)
{
	kl_strvec_push(argv, how);
	kl_strvec_push(argv, path);
	kl_strvec_push(argv, path);
}

/*
 * Mount `path`. Create its parent directories first, because those that bwrap creates do not always
 * have mode 0755.
 */
static void show_path(struct kl_strvec *argv, const char *how, const char *path)
{
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		kl_strvec_push(argv, "--perms");
		kl_strvec_push(argv, "0755");
		kl_strvec_push(argv, "--dir");
		kl_strvec_take(argv, kl_strndup(path, (size_t)(slash - path)));
	}
	bind_same(argv, how, path);
}

static void add_roots(struct kl_strvec *argv)
{
	char target[256];
	ssize_t n;

	bind_same(argv, "--ro-bind", "/usr");
	for (const char *const *at = kl_jail_roots; *at; at++) {
		n = readlink(*at, target, sizeof(target) - 1);
		if (n <= 0) {
			bind_same(argv, "--ro-bind-try", *at);
			continue;
		}
		target[n] = '\0';
		kl_strvec_push(argv, "--symlink");
		kl_strvec_push(argv, target);
		kl_strvec_push(argv, *at);
	}
	for (const char *const *at = kl_jail_extras; *at; at++)
		show_path(argv, "--ro-bind-try", *at);
}

/*
 * Add commands that run inside the jail: change from root to `uid`, unless `uid` is 0, and limit
 * the number of processes.
 */
static void add_inner(struct kl_strvec *argv, uid_t uid, const struct kl_jail_limits *limits)
{
	if (uid) {
		kl_strvec_push(argv, "/usr/bin/setpriv");
		kl_strvec_pushf(argv, "--reuid=%u", (unsigned)uid);
		kl_strvec_pushf(argv, "--regid=%u", (unsigned)uid);
		kl_strvec_push(argv, "--clear-groups");
		kl_strvec_push(argv, "--inh-caps=-all");
	}
	kl_strvec_push(argv, "/usr/bin/prlimit");
	kl_strvec_pushf(argv, "--nproc=%lld", (long long)limits->nproc);
}

/*
 * Build the command line of bwrap. `uid` is the user id to change to; 0 to keep the user id, in a
 * user namespace.
 */
static void make_command(struct kl_strvec *argv, uid_t uid, const struct kl_jail_run *run,
			 const struct kl_jail_limits *limits, int filter_fd)
{
	static const char *const fixed[] = {
		"bwrap",         "--die-with-parent",    "--new-session",
		"--unshare-ipc", "--unshare-pid",        "--unshare-net",
		"--unshare-uts", "--unshare-cgroup-try", NULL
	};

	kl_strvec_pushv(argv, fixed);
	if (!uid) {
		kl_strvec_push(argv, "--unshare-user");
		kl_strvec_push(argv, "--cap-drop");
		kl_strvec_push(argv, "ALL");
	}
	add_roots(argv);
	kl_strvec_push(argv, "--dev");
	kl_strvec_push(argv, "/dev");
	if (run->policy == KL_JAIL_RUN) {
		kl_strvec_push(argv, "--proc");
		kl_strvec_push(argv, "/proc");
	}
	if (run->argv[0][0] == '/' && strncmp(run->argv[0], "/usr/", 5))
		show_path(argv, "--ro-bind-try", run->argv[0]);
	for (const char *const *at = run->readable; at && *at; at++)
		show_path(argv, "--ro-bind", *at);
	show_path(argv, "--bind", run->workdir);
	kl_strvec_push(argv, "--remount-ro");
	kl_strvec_push(argv, "/dev");
	kl_strvec_push(argv, "--remount-ro");
	kl_strvec_push(argv, "/");
	kl_strvec_push(argv, "--chdir");
	kl_strvec_push(argv, run->workdir);
	kl_strvec_push(argv, "--seccomp");
	kl_strvec_pushf(argv, "%d", filter_fd);
	kl_strvec_push(argv, "--");
	add_inner(argv, uid, limits);
	kl_strvec_pushv(argv, run->argv);
}

static int before_exec(void *payload)
{
	return kl_jail_limits_apply(payload);
}

/*
 * Return KL_ECANNOT if bwrap itself failed; its messages start with its name. If a signal killed
 * the program, bwrap exits with 128 + signal, as a shell does: translate this status back to the
 * signal.
 */
static int translate_result(struct kl_proc_result *res, const char *err_text)
{
	if (!strncmp(err_text, "bwrap: ", 7) && res->exit == 1)
		return kl_error(KL_ECANNOT, "cannot build the jail: %.*s",
				(int)strcspn(err_text, "\n"), err_text);
	if (res->exit > 128 && res->exit < 128 + 65) {
		res->signal = res->exit - 128;
		res->exit = -1;
	}
	return 0;
}

/*
 * Return true if the program can run under a user id other than root: every user can read the
 * program and the paths of `readable`. Otherwise the program runs as root, in a user namespace.
 */
static bool may_drop(const struct kl_jail *jail, const struct kl_jail_run *run)
{
	bool ok = !jail->userns && (run->argv[0][0] != '/' || kl_jail_open_to_all(run->argv[0]));

	for (const char *const *at = run->readable; at && *at; at++)
		ok = ok && kl_jail_open_to_all(*at);
	return ok;
}

int kl_jail_bwrap(struct kl_proc_result *res, const struct kl_jail *jail,
		  const struct kl_jail_run *run)
{
	KL_AUTO(kl_jail_filter_release) struct kl_jail_filter filter = KL_JAIL_FILTER_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	uid_t uid = may_drop(jail, run) ? kl_jail_uid() : 0;
	int err = kl_jail_give(run->workdir, uid);
	struct kl_jail_limits limits;
	int keep[2] = { -1, -1 };
	struct kl_proc_opts opts;
	size_t before;

	if (!err)
		err = kl_jail_filter_make(&filter, run->policy, 0);
	if (err < 0)
		return err;
	kl_jail_limits_of(&limits, run);
	make_command(&argv, uid, run, &limits, filter.fd);
	/* prlimit sets this limit inside the jail, where only processes of the jail count */
	limits.nproc = -1;
	kl_jail_proc_opts(&opts, run);
	opts.argv = (const char *const *)argv.v;
	opts.err = run->err ? run->err : &text;
	opts.before_exec = before_exec;
	opts.payload = &limits;
	keep[0] = filter.fd;
	opts.keep_fds = keep;
	before = opts.err->len;
	err = kl_proc_run(res, &opts);
	if (err == KL_ENOTFOUND)
		return kl_error(KL_ECANNOT, "bubblewrap (bwrap) is not installed");
	return err < 0 ? err : translate_result(res, opts.err->ptr + before);
}
