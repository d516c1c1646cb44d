/* SPDX-License-Identifier: Apache-2.0 */
/* bwrap - the jail made by bubblewrap */
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
/* libraries chosen by update-alternatives; CPU topology for vendor libraries */
const char *const kl_jail_extras[] = { "/etc/alternatives", "/etc/ld.so.cache",
				       "/sys/devices/system", NULL };

static void bind_same(struct kl_strvec *a, const char *how, const char *path)
{
	kl_strvec_push(a, how);
	kl_strvec_push(a, path);
	kl_strvec_push(a, path);
}

/* bwrap makes the directories above a mount, but not always open ones. */
static void show_path(struct kl_strvec *a, const char *how, const char *path)
{
	for (const char *s = strchr(path + 1, '/'); s; s = strchr(s + 1, '/')) {
		kl_strvec_push(a, "--perms");
		kl_strvec_push(a, "0755");
		kl_strvec_push(a, "--dir");
		kl_strvec_take(a, kl_strndup(path, (size_t)(s - path)));
	}
	bind_same(a, how, path);
}

static void add_roots(struct kl_strvec *a)
{
	char target[256];
	ssize_t n;

	bind_same(a, "--ro-bind", "/usr");
	for (const char *const *p = kl_jail_roots; *p; p++) {
		n = readlink(*p, target, sizeof(target) - 1);
		if (n <= 0) {
			bind_same(a, "--ro-bind-try", *p);
			continue;
		}
		target[n] = '\0';
		kl_strvec_push(a, "--symlink");
		kl_strvec_push(a, target);
		kl_strvec_push(a, *p);
	}
	for (const char *const *p = kl_jail_extras; *p; p++)
		show_path(a, "--ro-bind-try", *p);
}

/* Own user id (root) and process limit, set inside where they count. */
static void add_inner(struct kl_strvec *a, uid_t uid, const struct kl_jail_limits *l)
{
	if (uid) {
		kl_strvec_push(a, "/usr/bin/setpriv");
		kl_strvec_pushf(a, "--reuid=%u", (unsigned)uid);
		kl_strvec_pushf(a, "--regid=%u", (unsigned)uid);
		kl_strvec_push(a, "--clear-groups");
		kl_strvec_push(a, "--inh-caps=-all");
	}
	kl_strvec_push(a, "/usr/bin/prlimit");
	kl_strvec_pushf(a, "--nproc=%lld", (long long)l->nproc);
}

/* uid 0: in a user namespace */
static void make_command(struct kl_strvec *a, uid_t uid, const struct kl_jail_run *o,
			 const struct kl_jail_limits *l, int filter_fd)
{
	static const char *const fixed[] = {
		"bwrap",         "--die-with-parent",    "--new-session",
		"--unshare-ipc", "--unshare-pid",        "--unshare-net",
		"--unshare-uts", "--unshare-cgroup-try", NULL
	};

	kl_strvec_pushv(a, fixed);
	if (!uid) {
		kl_strvec_push(a, "--unshare-user");
		kl_strvec_push(a, "--cap-drop");
		kl_strvec_push(a, "ALL");
	}
	add_roots(a);
	kl_strvec_push(a, "--dev");
	kl_strvec_push(a, "/dev");
	if (o->policy == KL_JAIL_RUN) {
		kl_strvec_push(a, "--proc");
		kl_strvec_push(a, "/proc");
	}
	if (o->argv[0][0] == '/' && strncmp(o->argv[0], "/usr/", 5))
		show_path(a, "--ro-bind-try", o->argv[0]);
	for (const char *const *p = o->readable; p && *p; p++)
		show_path(a, "--ro-bind", *p);
	show_path(a, "--bind", o->workdir);
	kl_strvec_push(a, "--remount-ro");
	kl_strvec_push(a, "/dev");
	kl_strvec_push(a, "--remount-ro");
	kl_strvec_push(a, "/");
	kl_strvec_push(a, "--chdir");
	kl_strvec_push(a, o->workdir);
	kl_strvec_push(a, "--seccomp");
	kl_strvec_pushf(a, "%d", filter_fd);
	kl_strvec_push(a, "--");
	add_inner(a, uid, l);
	kl_strvec_pushv(a, o->argv);
}

static int before_exec(void *payload)
{
	return kl_jail_limits_apply(payload);
}

/* bwrap's own failures start with its name; the program's end is told by the shell's convention. */
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

/* A program or file that only root may read is shown to root alone, in a user namespace. */
static bool may_drop(const struct kl_jail *j, const struct kl_jail_run *o)
{
	bool ok = !j->userns && (o->argv[0][0] != '/' || kl_jail_open_to_all(o->argv[0]));

	for (const char *const *p = o->readable; p && *p; p++)
		ok = ok && kl_jail_open_to_all(*p);
	return ok;
}

int kl_jail_bwrap(struct kl_proc_result *res, const struct kl_jail *j, const struct kl_jail_run *o)
{
	KL_AUTO(kl_jail_filter_release) struct kl_jail_filter filter = KL_JAIL_FILTER_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	uid_t uid = may_drop(j, o) ? kl_jail_uid() : 0;
	int err = kl_jail_give(o->workdir, uid);
	struct kl_jail_limits limits;
	int keep[2] = { -1, -1 };
	struct kl_proc_opts p;
	size_t before;

	if (!err)
		err = kl_jail_filter_make(&filter, o->policy, 0);
	if (err < 0)
		return err;
	kl_jail_limits_of(&limits, o);
	make_command(&argv, uid, o, &limits, filter.fd);
	limits.nproc = -1; /* outside it would count the user's other processes */
	kl_jail_proc_opts(&p, o);
	p.argv = (const char *const *)argv.v;
	p.err = o->err ? o->err : &text;
	p.before_exec = before_exec;
	p.payload = &limits;
	keep[0] = filter.fd;
	p.keep_fds = keep;
	before = p.err->len;
	err = kl_proc_run(res, &p);
	if (err == KL_ENOTFOUND)
		return kl_error(KL_ECANNOT, "bubblewrap (bwrap) is not installed");
	return err < 0 ? err : translate_result(res, p.err->ptr + before);
}
