/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "gate/jail_impl.h"

/*
 * The last level, for root where neither user namespaces nor Landlock exist.
 * With mount rights the new root is a tmpfs with bind mounts in a mount
 * namespace of the child; without, a directory beside the work directory
 * with copies of the program and its libraries, into which the work
 * directory is moved for the time of the run.
 */
struct place {
	char *from, *to;	/* to: below the new root */
	char *link;		/* symlink target instead of a mount */
	bool dir, writable;
};

struct cell {
	char *root;
	struct place *place;	/* mounts, in order */
	size_t n, alloc;
	char *inside;		/* chdir after chroot; NULL: no chroot */
	uid_t uid;
	bool net;		/* mount rights: an empty network namespace, too */
	struct kl_jail_limits limits;
	struct kl_jail_filter filter;
};

static void cell_release(struct cell *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->place[i].from);
		free(c->place[i].to);
		free(c->place[i].link);
	}
	free(c->place);
	free(c->inside);
	kl_jail_filter_release(&c->filter);
	if (c->root)
		kl_fs_tempdir_cleanup(&c->root);
}

static bool has_place(const struct cell *c, const char *path)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->place[i].from, path))
			return true;
	return false;
}

static void add(struct cell *c, const char *path, bool writable)
{
	struct place p = { .writable = writable };
	char target[256];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0 || has_place(c, path))
		return;
	p.to = kl_asprintf("%s%s", c->root, path);
	if (S_ISLNK(st.st_mode) && (n = readlink(path, target, sizeof(target) - 1)) > 0 &&
	    strrchr(path, '/') == path) {
		target[n] = '\0';
		p.link = kl_strdup(target);
	} else if (stat(path, &st) < 0) {
		free(p.to);
		return;
	}
	p.from = kl_strdup(path);
	p.dir = S_ISDIR(st.st_mode);
	KL_GROW(c->place, c->n + 1, c->alloc);
	c->place[c->n++] = p;
}

static void add_places(struct cell *c, const struct kl_jail_run *o)
{
	static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/urandom", NULL };

	add(c, "/usr", false);
	for (const char *const *p = kl_jail_roots; *p; p++)
		add(c, *p, false);
	for (const char *const *p = kl_jail_extras; *p; p++)
		add(c, *p, false);
	for (const char *const *p = devices; *p; p++)
		add(c, *p, true);
	if (o->policy == KL_JAIL_RUN)
		add(c, "/proc", false);
	if (o->argv[0][0] == '/' && strncmp(o->argv[0], "/usr/", 5) && strncmp(o->argv[0], "/bin/", 5))
		add(c, o->argv[0], false);
	for (const char *const *p = o->readable; p && *p; p++)
		add(c, *p, false);
	add(c, o->workdir, true);
}

/* From here to enter(): in the child, system calls only. */
static int make_parents(char *path, size_t from)
{
	for (char *s = path + from + 1; *s; s++) {
		if (*s != '/')
			continue;
		*s = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return errno;
		*s = '/';
	}
	return 0;
}

static int mount_place(const struct place *p, size_t root_len)
{
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | (p->writable ? 0 : MS_RDONLY);
	int e = make_parents(p->to, root_len), fd;

	if (e)
		return e;
	if (p->link)
		return symlink(p->link, p->to) < 0 && errno != EEXIST ? errno : 0;
	if (p->dir) {
		if (mkdir(p->to, 0755) < 0 && errno != EEXIST)
			return errno;
	} else {
		fd = open(p->to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0)
			return errno;
		close(fd);
	}
	if (mount(p->from, p->to, NULL, MS_BIND | MS_REC, NULL) < 0)
		return errno;
	return mount(NULL, p->to, NULL, flags, NULL) < 0 && errno != EPERM ? errno : 0;
}

static int mount_all(struct cell *c)
{
	size_t len = strlen(c->root);
	int e = 0;

	if (unshare(CLONE_NEWNS | CLONE_NEWIPC | (c->net ? CLONE_NEWNET : 0)) < 0)
		return errno;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", c->root, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755") < 0)
		return errno;
	for (size_t i = 0; !e && i < c->n; i++)
		e = mount_place(&c->place[i], len);
	if (!e && mount(NULL, c->root, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, NULL) < 0)
		e = errno;
	return e;
}

static int enter(void *payload)
{
	struct cell *c = payload;
	int e = c->place ? mount_all(c) : 0;

	if (!e && c->inside && (chroot(c->root) < 0 || chdir(c->inside) < 0))
		e = errno;
	e = e ? e : kl_jail_limits_apply(&c->limits);
	e = e ? e : kl_jail_drop_uid(c->uid);
	return e ? e : kl_jail_filter_apply(&c->filter);
}

static int copy_file(const char *root, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf data = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *to = kl_asprintf("%s%s", root, path);
	int err;

	if (kl_fs_exists(to))
		return 0;
	err = kl_fs_mkdir_of(to);
	if (!err)
		err = kl_fs_read(&data, path, (size_t)1 << 30);
	return err ? err : kl_fs_put(to, data.ptr, data.len, 0755);
}

/* The program and what the loader says it needs: "\tlibm.so.6 => /lib/... (0x...)". */
static int copy_program(const char *root, const char *path)
{
	const char *const argv[] = { "/lib64/ld-linux-x86-64.so.2", "--list", path, NULL };
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec word = KL_STRVEC_INIT;
	struct kl_proc_opts p = { .argv = argv, .out = &list, .timeout_ms = 10000 };
	struct kl_proc_result res;
	int err = copy_file(root, path);

	if (!err)
		err = copy_file(root, argv[0]);
	if (!err)
		err = kl_proc_run(&res, &p);
	if (err < 0)
		return err;
	kl_strvec_split(&word, list.ptr, " \t\n");
	for (size_t i = 0; !err && i < word.n; i++)
		if (word.v[i][0] == '/')
			err = copy_file(root, word.v[i]);
	return err;
}

static int copy_all(const struct cell *c, const struct kl_jail_run *o)
{
	KL_AUTO(kl_freep) char *prog = o->argv[0][0] == '/' ? kl_strdup(o->argv[0]) :
		kl_fs_join("/usr/bin", o->argv[0]);
	int err = copy_program(c->root, prog);

	for (const char *const *p = o->readable; !err && p && *p; p++)
		err = kl_fs_is_dir(*p) ?
			kl_error(KL_ECANNOT, "cannot show the directory '%s': no right to mount", *p) :
			copy_program(c->root, *p);
	return err;
}

/* The work directory goes in, the program runs, the work directory comes out. */
static int run_moved(struct kl_proc_result *res, struct cell *c, const struct kl_proc_opts *p,
		     const char *workdir)
{
	KL_AUTO(kl_freep) char *in = kl_asprintf("%s%s", c->root, workdir);
	int err = kl_fs_mkdir_of(in);

	if (err < 0)
		return err;
	if (rename(workdir, in) < 0)
		return kl_error_errno("cannot move '%s' into the jail", workdir);
	err = kl_proc_run(res, p);
	if (rename(in, workdir) < 0) {
		c->root = NULL;	/* never delete it with the jail */
		return kl_error_errno("cannot move '%s' out of the jail", workdir);
	}
	return err;
}

static int make_root(struct cell *c, const char *workdir)
{
	if (!c->inside || c->place)
		return 0;
	c->root = kl_asprintf("%s.root-XXXXXX", workdir);
	if (!mkdtemp(c->root)) {
		free(kl_steal(&c->root));
		return kl_error_errno("cannot make a directory beside '%s'", workdir);
	}
	return 0;
}

static int prepare(struct cell *c, const struct kl_jail *j, const struct kl_jail_run *o)
{
	int err = 0;

	if (!j->copies) {
		err = kl_fs_tempdir(&c->root, "kl-root");
		if (!err)
			add_places(c, o);
		c->net = true;
	}
	if (!j->copies || o->policy == KL_JAIL_RUN)
		c->inside = kl_strdup(o->workdir);
	if (!err)
		err = make_root(c, o->workdir);
	if (!err && j->copies && c->inside)
		err = copy_all(c, o);
	if (!err && c->root && chmod(c->root, 0755) < 0)
		err = kl_error_errno("cannot open '%s'", c->root);
	return err;
}

int kl_jail_chroot(struct kl_proc_result *res, const struct kl_jail *j, const struct kl_jail_run *o)
{
	KL_AUTO(cell_release) struct cell c = { .uid = kl_jail_uid(), .filter = KL_JAIL_FILTER_INIT };
	struct kl_proc_opts p;
	int err;

	if (geteuid() != 0)
		return kl_error(KL_ECANNOT, "chroot needs root");
	err = prepare(&c, j, o);
	if (!err)
		err = kl_jail_filter_make(&c.filter, o->policy, KL_FILTER_NO_SESSION);
	if (!err)
		err = kl_jail_give(o->workdir, c.uid);
	if (err < 0)
		return err;
	kl_jail_limits_of(&c.limits, o);
	kl_jail_proc_opts(&p, o);
	p.before_exec = enter;
	p.payload = &c;
	if (c.inside && !c.place)
		return run_moved(res, &c, &p, o->workdir);
	p.dir = o->workdir;
	return kl_proc_run(res, &p);
}
