/* SPDX-License-Identifier: Apache-2.0 */
/* chroot - the jail of root without namespaces: another user id, in a chroot */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "jail/impl.h"

/*
 * The last level, for root where neither user namespaces nor Landlock exist.
 * With mount rights the new root is a tmpfs with bind mounts, in a mount and
 * network namespace of the child. Without, nothing but the user id is
 * dropped: a root of copies has no /proc, which the worker needs to take the
 * clock pages from a kernel, and a toolchain is too large to copy.
 */
struct place {
	char *from, *to; /* to: below the new root */
	char *link;      /* symlink target instead of a mount */
	bool dir, writable;
};

struct cell {
	char *root;          /* NULL: no mount rights */
	struct place *place; /* mounts, in order */
	size_t n, alloc;
	const char *workdir;
	uid_t uid;
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

static void add_mount(struct cell *c, const char *path, bool writable)
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

	add_mount(c, "/usr", false);
	for (const char *const *p = kl_jail_roots; *p; p++)
		add_mount(c, *p, false);
	for (const char *const *p = kl_jail_extras; *p; p++)
		add_mount(c, *p, false);
	for (const char *const *p = devices; *p; p++)
		add_mount(c, *p, true);
	if (o->policy == KL_JAIL_RUN)
		add_mount(c, "/proc", false);
	if (o->argv[0][0] == '/' && strncmp(o->argv[0], "/usr/", 5) &&
	    strncmp(o->argv[0], "/bin/", 5))
		add_mount(c, o->argv[0], false);
	for (const char *const *p = o->readable; p && *p; p++)
		add_mount(c, *p, false);
	add_mount(c, o->workdir, true);
}

/* From here to enter_cell(): in the child, system calls only. */
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

	if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET) < 0)
		return errno;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", c->root, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755") < 0)
		return errno;
	for (size_t i = 0; !e && i < c->n; i++)
		e = mount_place(&c->place[i], len);
	if (!e &&
	    mount(NULL, c->root, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, NULL) < 0)
		e = errno;
	return e;
}

static int enter_cell(void *payload)
{
	struct cell *c = payload;
	int e = c->root ? mount_all(c) : 0;

	if (!e && c->root && (chroot(c->root) < 0 || chdir(c->workdir) < 0))
		e = errno;
	e = e ? e : kl_jail_limits_apply(&c->limits);
	e = e ? e : kl_jail_drop_uid(c->uid);
	return e ? e : kl_jail_filter_apply(&c->filter);
}

static int prepare_cell(struct cell *c, const struct kl_jail_run *o)
{
	int err = kl_fs_tempdir(&c->root, "kl-root");

	if (err < 0)
		return err;
	add_places(c, o);
	if (chmod(c->root, 0755) < 0)
		return kl_error_errno("cannot open '%s'", c->root);
	return 0;
}

int kl_jail_chroot(struct kl_proc_result *res, const struct kl_jail *j, const struct kl_jail_run *o)
{
	KL_AUTO(cell_release) struct cell c = {
		.uid = kl_jail_uid(),
		.workdir = o->workdir,
		.filter = KL_JAIL_FILTER_INIT,
	};
	struct kl_proc_opts p;
	int err = 0;

	if (geteuid() != 0)
		return kl_error(KL_ECANNOT, "chroot needs root");
	if (!j->no_mounts)
		err = prepare_cell(&c, o);
	if (!err)
		err = kl_jail_filter_make(&c.filter, o->policy, KL_FILTER_NO_SESSION);
	if (!err)
		err = kl_jail_give(o->workdir, c.uid);
	if (err < 0)
		return err;
	kl_jail_limits_of(&c.limits, o);
	kl_jail_proc_opts(&p, o);
	p.dir = o->workdir;
	p.before_exec = enter_cell;
	p.payload = &c;
	return kl_proc_run(res, &p);
}
