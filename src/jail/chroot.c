/* SPDX-License-Identifier: Apache-2.0 */
/* chroot - the jail for root where user namespaces do not work: another user id, in a chroot */
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
 * This level is for root on a system with neither user namespaces nor Landlock. With mount rights,
 * the new root is a tmpfs with bind mounts, in a mount and network namespace of the child. Without
 * mount rights, only the user id is changed, because the new root would have to consist of copies:
 * a toolchain is too large to copy, and there would be no /proc, in which the worker finds the
 * clock pages that it unmaps.
 */
struct place {
	char *from, *to; /* path outside the jail, and its place below the new root */
	char *link;      /* target of a symlink to make; NULL to mount `from` instead */
	bool dir, writable;
};

struct cell {
	/* directory of the new root; NULL if no chroot, because we cannot mount */
	char *root;
	struct place *place; /* mounts and symlinks to make, in this order */
	size_t n, alloc;
	const char *workdir;
	uid_t uid;
	struct kl_jail_limits limits;
	struct kl_jail_filter filter;
};

static void cell_release(struct cell *cell)
{
	for (size_t i = 0; i < cell->n; i++) {
		free(cell->place[i].from);
		free(cell->place[i].to);
		free(cell->place[i].link);
	}
	free(cell->place);
	kl_jail_filter_release(&cell->filter);
	if (cell->root)
		kl_fs_tempdir_cleanup(&cell->root);
}

static bool has_place(const struct cell *cell, const char *path)
{
	for (size_t i = 0; i < cell->n; i++)
		if (!strcmp(cell->place[i].from, path))
			return true;
	return false;
}

static void add_mount(struct cell *cell, const char *path, bool writable)
{
	struct place place = { .writable = writable };
	char target[256];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0 || has_place(cell, path))
		return;
	place.to = kl_asprintf("%s%s", cell->root, path);
	if (S_ISLNK(st.st_mode) && (n = readlink(path, target, sizeof(target) - 1)) > 0 &&
	    strrchr(path, '/') == path) {
		target[n] = '\0';
		place.link = kl_strdup(target);
	} else if (stat(path, &st) < 0) {
		free(place.to);
		return;
	}
	place.from = kl_strdup(path);
	place.dir = S_ISDIR(st.st_mode);
	KL_GROW(cell->place, cell->n + 1, cell->alloc);
	cell->place[cell->n++] = place;
}

static void add_places(struct cell *cell, const struct kl_jail_run *run)
{
	static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/urandom", NULL };

	add_mount(cell, "/usr", false);
	for (const char *const *at = kl_jail_roots; *at; at++)
		add_mount(cell, *at, false);
	for (const char *const *at = kl_jail_extras; *at; at++)
		add_mount(cell, *at, false);
	for (const char *const *at = devices; *at; at++)
		add_mount(cell, *at, true);
	if (run->policy == KL_JAIL_RUN)
		add_mount(cell, "/proc", false);
	if (run->argv[0][0] == '/' && strncmp(run->argv[0], "/usr/", 5) &&
	    strncmp(run->argv[0], "/bin/", 5))
		add_mount(cell, run->argv[0], false);
	for (const char *const *at = run->readable; at && *at; at++)
		add_mount(cell, *at, false);
	add_mount(cell, run->workdir, true);
}

/*
 * The functions from here to enter_cell() run in the child between fork and exec, so they make only
 * system calls. Create the directories above `path`. The directory named by the first `from` bytes
 * of `path` already exists. Return 0 or an errno.
 */
static int make_parents(char *path, size_t from)
{
	for (char *at = path + from + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return errno;
		*at = '/';
	}
	return 0;
}

static int mount_place(const struct place *place, size_t root_len)
{
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | (place->writable ? 0 : MS_RDONLY);
	int err = make_parents(place->to, root_len), fd;

	if (err)
		return err;
	if (place->link)
		return symlink(place->link, place->to) < 0 && errno != EEXIST ? errno : 0;
	if (place->dir) {
		if (mkdir(place->to, 0755) < 0 && errno != EEXIST)
			return errno;
	} else {
		fd = open(place->to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0)
			return errno;
		close(fd);
	}
	if (mount(place->from, place->to, NULL, MS_BIND | MS_REC, NULL) < 0)
		return errno;
	return mount(NULL, place->to, NULL, flags, NULL) < 0 && errno != EPERM ? errno : 0;
}

static int mount_all(struct cell *cell)
{
	size_t len = strlen(cell->root);
	int err = 0;

	if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET) < 0)
		return errno;
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", cell->root, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755") < 0)
		return errno;
	for (size_t i = 0; !err && i < cell->n; i++)
		err = mount_place(&cell->place[i], len);
	if (!err &&
	    mount(NULL, cell->root, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, NULL) < 0)
		err = errno;
	return err;
}

static int enter_cell(void *payload)
{
	struct cell *cell = payload;
	int err = cell->root ? mount_all(cell) : 0;

	if (!err && cell->root && (chroot(cell->root) < 0 || chdir(cell->workdir) < 0))
		err = errno;
	err = err ? err : kl_jail_limits_apply(&cell->limits);
	err = err ? err : kl_jail_drop_uid(cell->uid);
	return err ? err : kl_jail_filter_apply(&cell->filter);
}

static int prepare_cell(struct cell *cell, const struct kl_jail_run *run)
{
	int err = kl_fs_tempdir(&cell->root, "kl-root");

	if (err < 0)
		return err;
	add_places(cell, run);
	if (chmod(cell->root, 0755) < 0)
		return kl_error_errno("cannot open '%s'", cell->root);
	return 0;
}

int kl_jail_chroot(struct kl_proc_result *res, const struct kl_jail *jail,
		   const struct kl_jail_run *run)
{
	KL_AUTO(cell_release) struct cell cell = {
		.uid = kl_jail_uid(),
		.workdir = run->workdir,
		.filter = KL_JAIL_FILTER_INIT,
	};
	struct kl_proc_opts opts;
	int err = 0;

	if (geteuid() != 0)
		return kl_error(KL_ECANNOT, "the jail 'chroot' needs root");
	if (!jail->no_mounts)
		err = prepare_cell(&cell, run);
	if (!err)
		err = kl_jail_filter_make(&cell.filter, run->policy, KL_FILTER_NO_SESSION);
	if (!err)
		err = kl_jail_give(run->workdir, cell.uid);
	if (err < 0)
		return err;
	kl_jail_limits_of(&cell.limits, run);
	kl_jail_proc_opts(&opts, run);
	opts.dir = run->workdir;
	opts.before_exec = enter_cell;
	opts.payload = &cell;
	return kl_proc_run(res, &opts);
}
