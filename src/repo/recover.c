/* SPDX-License-Identifier: Apache-2.0 */
/* recover - finishes a transaction after a crash and removes its locks */
#include "repo/internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/lock.h"

#define LOCK_WAIT_MS 10000
#define MAX_JOURNAL ((size_t)16 << 20)

/*
 * An empty lock file does not show which process made it. A running git leaves its lock empty only
 * for a moment, so we remove an empty lock only if it has not been modified for this long.
 */
#define EMPTY_AGE_NS 2000000000LL

struct recovery {
	struct kl_repo *r;
	struct timespec since; /* time when the journal was written */
	int cleared;
};

static int64_t ns_of(struct timespec ts)
{
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/*
 * Wait until the lock file is EMPTY_AGE_NS old. Return false if the file changed or disappeared
 * meanwhile, or if its time is in the future.
 */
static bool lies_still(const char *path, const struct stat *before)
{
	for (;;) {
		struct stat st;
		struct timespec now;
		int64_t age;

		if (lstat(path, &st) < 0 || st.st_ino != before->st_ino || st.st_size ||
		    ns_of(st.st_mtim) != ns_of(before->st_mtim))
			return false;
		clock_gettime(CLOCK_REALTIME, &now);
		age = ns_of(now) - ns_of(st.st_mtim);
		if (age >= EMPTY_AGE_NS || age < 0)
			return age >= 0;
		kl_clock_sleep_ms((EMPTY_AGE_NS - age) / 1000000 + 1);
	}
}

/*
 * Return true if our transaction left this lock. `hex` is the value that the transaction writes
 * into the lock; "" if it writes no value.
 */
static bool is_ours(const struct recovery *recovery, const char *path, const char *hex)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	size_t n = strlen(hex);
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > 64)
		return false;
	if (!st.st_size)
		return ns_of(st.st_mtim) >= ns_of(recovery->since) && lies_still(path, &st);
	if (!n || kl_fs_read(&text, path, 64) < 0)
		return false;
	/*
	 * git writes the value and then a newline, so if git was killed, the newline can be missing
	 */
	return text.len >= n && !strncmp(text.ptr, hex, n) &&
	       (text.len == n || !strcmp(text.ptr + n, "\n"));
}

static int clear_lock(struct recovery *recovery, const char *path, const char *hex)
{
	if (!is_ours(recovery, path, hex))
		return 0;
	if (unlink(path) < 0)
		return kl_error_errno("cannot remove the stale lock '%s'", path);
	recovery->cleared++;
	return 0;
}

/*
 * Remove the lock on the HEAD of a worktree. git takes that lock to write the reflog of HEAD if
 * HEAD points to a ref that moves.
 */
static int clear_head(struct recovery *recovery, const char *dir, const struct kl_refs_txn *txn)
{
	KL_AUTO(kl_freep) char *head = kl_fs_join(dir, "HEAD");
	KL_AUTO(kl_freep) char *lock = kl_fs_join(dir, "HEAD.lock");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	if (!kl_fs_exists(lock) || kl_fs_read(&text, head, 4096) < 0 ||
	    strncmp(text.ptr, "ref: ", 5))
		return 0;
	kl_buf_rtrim(&text);
	for (size_t i = 0; i < txn->n; i++)
		if (!strcmp(text.ptr + 5, txn->cmd[i].ref))
			return clear_lock(recovery, lock, "");
	return 0;
}

static int clear_heads(struct recovery *recovery, const struct kl_refs_txn *txn)
{
	KL_AUTO(kl_freep) char *worktrees = kl_fs_join(recovery->r->common_dir, "worktrees");
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err = clear_head(recovery, recovery->r->common_dir, txn);

	if (err < 0 || !kl_fs_is_dir(worktrees))
		return err;
	err = kl_fs_list(&names, worktrees);
	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_freep) char *dir = kl_fs_join(worktrees, names.v[i]);

		err = clear_head(recovery, dir, txn);
	}
	return err;
}

static int clear_locks(struct recovery *recovery, const struct kl_refs_txn *txn)
{
	bool deletes = false;
	int err = 0;

	for (size_t i = 0; !err && i < txn->n; i++) {
		const struct kl_refs_cmd *cmd = txn->cmd + i;
		KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s.lock", recovery->r->common_dir,
							   cmd->ref);
		char hex[KL_OID_HEX] = "";

		if (cmd->verb == KL_REFS_UPDATE)
			kl_oid_hex(hex, &cmd->to);
		deletes |= cmd->verb == KL_REFS_DELETE;
		err = clear_lock(recovery, path, hex);
	}
	if (!err && deletes) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(recovery->r->common_dir,
							  "packed-refs.lock");

		err = clear_lock(recovery, path, "");
	}
	return err < 0 ? err : clear_heads(recovery, txn);
}

/*
 * Find out which refs must still move. git prepares all refs and then moves them one by one. If git
 * was killed while it moved them, some refs have the new value; the other refs are then added to
 * `rest`, so that all refs get their new value. If no ref has moved, `rest` stays empty and all
 * refs keep the old value.
 */
static int rest_to_move(struct kl_refs_txn *rest, struct kl_repo *repo,
			const struct kl_refs_txn *txn)
{
	size_t moved = 0;
	int err;

	for (size_t i = 0; i < txn->n; i++) {
		const struct kl_refs_cmd *cmd = txn->cmd + i;
		git_oid now;

		if (cmd->verb == KL_REFS_VERIFY)
			continue;
		if ((err = kl_txn_now(&now, repo, cmd->ref)) < 0)
			return err;
		if (git_oid_equal(&now, &cmd->to)) {
			moved += !git_oid_equal(&cmd->to, &cmd->from);
			continue;
		}
		if (!cmd->any && !git_oid_equal(&now, &cmd->from))
			continue; /* another process has moved the ref since then */
		if (cmd->verb == KL_REFS_UPDATE)
			kl_refs_txn_update(rest, cmd->ref, &cmd->to, &cmd->from);
		else
			kl_refs_txn_delete(rest, cmd->ref, cmd->any ? NULL : &cmd->from);
	}
	if (!moved)
		while (rest->n)
			free(rest->cmd[--rest->n].ref);
	return 0;
}

static int move_rest(const struct kl_refs_txn *txn, const char *journal, const char *file)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *rest = kl_refs_txn_new(txn->r);
	KL_AUTO(kl_buf_release) struct kl_buf script = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	int status, err = rest_to_move(rest, txn->r, txn);

	if (err < 0 || !rest->n)
		return err;
	kl_txn_format(&script, rest);
	if ((err = kl_fs_put(file, script.ptr, script.len, 0600)) < 0)
		return err;
	err = kl_txn_run(&status, txn->r, file, "klineage: finish after a crash", &complaint);
	unlink(file);
	if (!err && status)
		err = kl_error(KL_EIO, "cannot finish the transaction in '%s': %s", journal,
			       kl_git_complaint(&complaint));
	return err;
}

/*
 * Wait until no update-ref is reading this file. A running update-ref holds a record lock on the
 * file.
 */
static int wait_for_reader(const char *path)
{
	KL_AUTO(kl_closep) int fd = open(path, O_RDWR | O_CLOEXEC);
	int64_t deadline = kl_clock_ns() + LOCK_WAIT_MS * 1000000LL;

	while (fd >= 0) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

		if (fcntl(fd, F_GETLK, &lock) < 0)
			return kl_error_errno("cannot query the lock on '%s'", path);
		if (lock.l_type == F_UNLCK)
			return 0;
		if (kl_clock_ns() > deadline)
			return kl_error(KL_EBUSY,
					"git update-ref (process %ld) is still using '%s'",
					(long)lock.l_pid, path);
		kl_clock_sleep_ms(20);
	}
	return 0;
}

int kl_txn_recover(struct kl_repo *repo, int *cleared)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(repo);
	KL_AUTO(kl_freep) char *journal = NULL, *rest = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct recovery recovery = { .r = repo };
	struct stat st;
	int err = kl_repo_private(&journal, repo, "txn");

	*cleared = 0;
	if (err < 0 || stat(journal, &st) < 0)
		return err;
	recovery.since = st.st_mtim;
	rest = kl_asprintf("%s-rest", journal);
	if ((err = wait_for_reader(journal)) < 0 || (err = wait_for_reader(rest)) < 0 ||
	    (err = kl_fs_read(&text, journal, MAX_JOURNAL)) < 0 ||
	    (err = KL_FAULT("txn-recover")) < 0)
		return err;
	err = kl_txn_parse(txn, text.ptr, journal);
	if (!err)
		err = clear_locks(&recovery, txn);
	*cleared = recovery.cleared;
	if (!err)
		err = move_rest(txn, journal, rest);
	if (err < 0)
		return kl_error_hint(err, "to abandon that transaction, remove '%s'", journal);
	if (unlink(journal) < 0)
		return kl_error_errno("cannot remove '%s'", journal);
	return 0;
}

int kl_refs_recover(struct kl_repo *repo, int *cleared)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	KL_AUTO(kl_freep) char *dir = kl_fs_join(repo->common_dir, "klineage");
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "lock");
	int err;

	*cleared = 0;
	if (!kl_fs_exists(path))
		return 0;
	if ((err = kl_lock_take(&lock, path, LOCK_WAIT_MS)) < 0)
		return err;
	return kl_txn_recover(repo, cleared);
}
