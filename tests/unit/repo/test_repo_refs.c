/* SPDX-License-Identifier: Apache-2.0 */
/* Refs: transactions that are all or nothing, also after a kill. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/lock.h"
#include "repo/refs.h"
#include "scratch.h"

struct fixture {
	char *dir;
	struct kl_repo *r;
	git_oid one, two; /* HEAD~1, HEAD */
};

static void fixture_release(struct fixture *fixture)
{
	kl_repo_free(fixture->r);
	free(fixture->dir);
}

static struct fixture fixture(const char *name)
{
	struct fixture other = { .dir = scratch_repo(name) };

	sh(other.dir, "git commit -q --allow-empty -m second");
	other.one = oid_of(other.dir, "HEAD~1");
	other.two = oid_of(other.dir, "HEAD");
	assert_ok(kl_repo_open_at(&other.r, other.dir));
	return other;
}

#define FIXTURE(name) KL_AUTO(fixture_release) struct fixture f = fixture(name)
#define TXN(t) KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *t = kl_refs_txn_new(f.r)

static void assert_clean(const struct fixture *fixture)
{
	assert_sh("", fixture->dir,
		  "find .git -name '*.lock'; ls .git/klineage/txn* 2>/dev/null || :");
	sh(fixture->dir, "git fsck --strict 2>/dev/null");
}

static void moves(void **state)
{
	FIXTURE("moves");
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	git_oid got;
	TXN(t);

	kl_refs_txn_create(t, "refs/heads/klineage/walk/w/n", &f.one);
	kl_refs_txn_create(t, "refs/klineage/op/main", &f.two);
	kl_refs_txn_verify(t, "refs/heads/main", &f.two);
	assert_ok(kl_refs_txn_commit(t, "klineage deopt: start"));
	assert_sh("", f.dir, "git rev-parse -q --verify refs/klineage/op/main >/dev/null");
	assert_sh("klineage deopt: start", f.dir,
		  "git log -1 -g --format=%%gs refs/klineage/op/main");
	assert_ok(kl_refs_get(&got, f.r, "refs/klineage/op/main"));
	assert_true(git_oid_equal(&got, &f.two));
	assert_error(KL_ENOTFOUND, "no ref", kl_refs_get(&got, f.r, "refs/klineage/op"));
	sh(f.dir, "git pack-refs --all");
	assert_ok(kl_refs_list(&refs, f.r, "refs/heads/"));
	assert_int_equal(refs.n, 2);
	assert_string_equal(refs.ref[0].name, "refs/heads/klineage/walk/w/n");
	assert_string_equal(refs.ref[1].name, "refs/heads/main");
	{
		TXN(u);

		kl_refs_txn_delete(u, "refs/klineage/op/main", &f.two);
		kl_refs_txn_update(u, "refs/heads/klineage/walk/w/n", &f.two, &f.one);
		assert_ok(kl_refs_txn_commit(u, NULL));
	}
	assert_sh("refs/heads/klineage/walk/w/n\nrefs/heads/main", f.dir,
		  "git for-each-ref --format='%%(refname)'");
	assert_oid(f.dir, "klineage/walk/w/n", &f.two);
	assert_clean(&f);
}

static void lost_race(void **state)
{
	FIXTURE("race");
	TXN(t);

	kl_refs_txn_create(t, "refs/klineage/a", &f.one);
	kl_refs_txn_update(t, "refs/heads/main", &f.one, &f.one); /* it is at two */
	assert_error(KL_ECHANGED, "'refs/heads/main' was changed", kl_refs_txn_commit(t, "x"));
	assert_sh("refs/heads/main", f.dir, "git for-each-ref --format='%%(refname)'");
	{
		TXN(u);

		kl_refs_txn_create(u, "refs/klineage/a", &f.one);
		kl_refs_txn_create(u, "refs/heads/main", &f.one);
		assert_error(KL_ECHANGED, "was created", kl_refs_txn_commit(u, "x"));
	}
	{
		TXN(u);

		kl_refs_txn_create(u, "refs/klineage/a", &f.one);
		kl_refs_txn_delete(u, "refs/klineage/b", &f.one);
		assert_error(KL_ECHANGED, "was deleted", kl_refs_txn_commit(u, "x"));
	}
	{
		TXN(u);

		kl_refs_txn_create(u, "refs/klineage/a", &f.one);
		kl_refs_txn_verify(u, "refs/heads/main", &f.one);
		assert_error(KL_ECHANGED, "was changed", kl_refs_txn_commit(u, "x"));
	}
	assert_sh("refs/heads/main", f.dir, "git for-each-ref --format='%%(refname)'");
	assert_clean(&f);
}

static void names(void **state)
{
	FIXTURE("names");
	const char *ref = "refs/heads/klineage/walk/w/n";
	TXN(t);

	assert_ok(kl_refs_can_create(f.r, ref));
	assert_error(KL_EEXISTS, "exists", kl_refs_can_create(f.r, "refs/heads/main"));
	assert_error(KL_EINVALID, "not a valid", kl_refs_can_create(f.r, "refs/heads/a..b"));
	assert_error(KL_EINVALID, "not a valid", kl_refs_can_create(f.r, "refs/x y"));
	assert_error(KL_EINVALID, "not a valid", kl_refs_can_create(f.r, "klineage"));
	sh(f.dir, "git branch klineage");
	assert_error(KL_EINVALID, "the branch 'klineage' is in the way",
		     kl_refs_can_create(f.r, ref));
	assert_contains(kl_error_hints(), "git branch -m klineage");
	kl_refs_txn_create(t, "refs/klineage/a", &f.one);
	kl_refs_txn_create(t, ref, &f.one);
	assert_error(KL_EINVALID, "the branch 'klineage' is in the way",
		     kl_refs_txn_commit(t, "x"));
	sh(f.dir, "git branch -D -q klineage; git branch klineage/walk/w/n/below");
	assert_error(KL_EINVALID, "'klineage/walk/w/n/below' is in the way",
		     kl_refs_can_create(f.r, ref));
	{
		TXN(u);

		kl_refs_txn_create(u, "refs/klineage/bad name", &f.one);
		assert_error(KL_EINVALID, "not a valid", kl_refs_txn_commit(u, "x"));
	}
	assert_clean(&f);
}

/* Somebody else holds the lock of one ref. */
static void busy(void **state)
{
	FIXTURE("busy");
	TXN(t);

	sh(f.dir, "mkdir -p .git/refs/klineage; : >.git/refs/klineage/b.lock");
	kl_refs_txn_create(t, "refs/klineage/a", &f.one);
	kl_refs_txn_create(t, "refs/klineage/b", &f.one);
	assert_error(KL_EBUSY, "b.lock", kl_refs_txn_commit(t, "x"));
	assert_sh("refs/heads/main", f.dir, "git for-each-ref --format='%%(refname)'");
	assert_sh("0", f.dir, "test -e .git/refs/klineage/b.lock; echo $?");
}

/* A hook that says no. */
static void refused_by_hook(void **state)
{
	FIXTURE("refused");
	TXN(t);

	sh(f.dir, "printf '#!/bin/sh\\ntest $1 != prepared\\n' >.git/hooks/reference-transaction; "
		  "chmod +x .git/hooks/reference-transaction");
	kl_refs_txn_create(t, "refs/klineage/a", &f.one);
	assert_error(KL_EIO, "hook", kl_refs_txn_commit(t, "x"));
	assert_sh("refs/heads/main", f.dir, "git for-each-ref --format='%%(refname)'");
	assert_clean(&f);
}

/*
 * Kill update-ref, or it and us, at a point that a hook chooses: git calls
 * the hook with "prepared" when all refs are locked.
 */
static void install_killer(const struct fixture *fixture, const char *when, const char *whom)
{
	sh(fixture->dir,
	   "cat >.git/hooks/reference-transaction <<'EOF'\n"
	   "#!/bin/sh\n"
	   "test \"$1\" = %s || exit 0\n"
	   "git=$PPID\n"
	   "set -- $(cat /proc/$git/stat)\n"
	   "kill -9 %s\n"
	   "sleep 1\n"
	   "EOF\n"
	   "chmod +x .git/hooks/reference-transaction",
	   when, whom);
}

static void queue_up(struct kl_refs_txn *txn, const struct fixture *fixture)
{
	kl_refs_txn_create(txn, "refs/heads/klineage/walk/w/n", &fixture->one);
	/* HEAD's branch */
	kl_refs_txn_update(txn, "refs/heads/main", &fixture->one, &fixture->two);
	kl_refs_txn_delete(txn, "refs/klineage/gone", &fixture->one);
	kl_refs_txn_verify(txn, "refs/heads/still", &fixture->two);
}

static void assert_all_old(const struct fixture *fixture)
{
	KL_AUTO(kl_freep) char *want = NULL;
	char one[KL_OID_HEX], two[KL_OID_HEX];

	kl_oid_hex(one, &fixture->one);
	kl_oid_hex(two, &fixture->two);
	want = kl_asprintf("%s refs/heads/main\n%s refs/heads/still\n%s refs/klineage/gone", two,
			   two, one);
	assert_sh(want, fixture->dir, "git for-each-ref --format='%%(objectname) %%(refname)'");
}

static void update_ref_killed(void **state)
{
	FIXTURE("killed");
	KL_AUTO(kl_freep) char *locks = NULL;
	TXN(t);

	sh(f.dir, "git branch still; git update-ref refs/klineage/gone HEAD~1");
	install_killer(&f, "prepared", "$git");
	queue_up(t, &f);
	assert_error(KL_EIO, "killed by signal 9", kl_refs_txn_commit(t, "x"));
	sh(f.dir, "rm .git/hooks/reference-transaction");
	assert_clean(&f); /* we were alive to clean up */
	assert_all_old(&f);
	assert_ok(kl_refs_txn_commit(t, "x"));
	assert_clean(&f);
}

/* Run the transaction in a process of its own, which gets killed with it. */
static void commit_in_child(const struct fixture *fixture)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		struct kl_refs_txn *txn;

		if (kl_repo_open_at(&repo, fixture->dir) < 0)
			_exit(1);
		txn = kl_refs_txn_new(repo);
		queue_up(txn, fixture);
		_exit(kl_refs_txn_commit(txn, "x") < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void both_killed(void **state)
{
	FIXTURE("both");
	KL_AUTO(kl_freep) char *locks = NULL;
	int cleared;

	sh(f.dir,
	   "git branch still; git update-ref refs/klineage/gone HEAD~1; git pack-refs --all");
	install_killer(&f, "prepared", "$4 $git");
	commit_in_child(&f);
	sh(f.dir, "rm .git/hooks/reference-transaction");
	locks = sh_text(f.dir, "find .git -name '*.lock' | sort; ls .git/klineage/txn");
	assert_string_equal(locks,
			    ".git/HEAD.lock\n.git/packed-refs.lock\n"
			    ".git/refs/heads/klineage/walk/w/n.lock\n.git/refs/heads/main.lock\n"
			    ".git/refs/heads/still.lock\n.git/refs/klineage/gone.lock\n"
			    ".git/klineage/txn");
	assert_all_old(&f);
	assert_ok(kl_refs_recover(f.r, &cleared));
	assert_int_equal(cleared, 6);
	assert_clean(&f);
	assert_all_old(&f);
	sh(f.dir, "git update-ref refs/klineage/gone HEAD"); /* stock git can write again */
	assert_ok(kl_refs_recover(f.r, &cleared));
	assert_int_equal(cleared, 0);
}

/* We die, update-ref does not: recovery waits until it is done. */
static void only_we_are_killed(void **state)
{
	FIXTURE("orphan");
	int cleared;

	sh(f.dir, "git branch still; git update-ref refs/klineage/gone HEAD~1");
	install_killer(&f, "prepared", "$4");
	sh(f.dir, "sed -i 's/^sleep 1/sleep 2/' .git/hooks/reference-transaction");
	commit_in_child(&f);
	assert_ok(kl_refs_recover(f.r, &cleared));
	assert_int_equal(cleared, 0);
	assert_oid(f.dir, "klineage/walk/w/n", &f.one);
	assert_oid(f.dir, "main", &f.one);
	assert_sh("gone", f.dir, "git rev-parse -q --verify refs/klineage/gone || echo gone");
	sh(f.dir, "rm .git/hooks/reference-transaction");
	assert_clean(&f);
}

/* Locks that only look like ours stay. */
static void foreign_locks_stay(void **state)
{
	FIXTURE("alien");
	int cleared;
	struct kl_lock lock = KL_LOCK_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(f.dir, ".git/klineage/lock");
	pid_t pid;
	int status;

	sh(f.dir, "git branch still; git update-ref refs/klineage/gone HEAD~1");
	install_killer(&f, "prepared", "$4 $git");
	commit_in_child(&f);
	sh(f.dir, "rm .git/hooks/reference-transaction; "
		  "echo 0123456789012345678901234567890123456789 >.git/refs/heads/main.lock; "
		  "touch -d '2 hours ago' .git/refs/heads/still.lock");
	/* somebody holds our flock: nothing is touched */
	assert_ok(kl_lock_take(&lock, path, 0));
	pid = fork();
	if (!pid) {
		alarm(2);
		_exit(kl_refs_recover(f.r, &cleared) == 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	sh(f.dir, "test -e .git/refs/heads/klineage/walk/w/n.lock");
	kl_lock_release(&lock);
	assert_ok(kl_refs_recover(f.r, &cleared));
	assert_sh(".git/refs/heads/main.lock\n.git/refs/heads/still.lock", f.dir,
		  "find .git -name '*.lock' | sort");
	sh(f.dir, "rm .git/refs/heads/*.lock");
	assert_all_old(&f);
	assert_clean(&f);
}

/* If git was killed between two of its renames, recovery completes the transaction. */
static void half_moved(void **state)
{
	FIXTURE("half");
	int cleared;

	sh(f.dir, "git branch still; git update-ref refs/klineage/gone HEAD~1");
	install_killer(&f, "prepared", "$4 $git");
	commit_in_child(&f);
	sh(f.dir, "rm .git/hooks/reference-transaction; "
		  "mv .git/refs/heads/klineage/walk/w/n.lock .git/refs/heads/klineage/walk/w/n");
	assert_ok(kl_refs_recover(f.r, &cleared));
	assert_oid(f.dir, "klineage/walk/w/n", &f.one);
	assert_oid(f.dir, "main", &f.one);
	assert_sh("gone", f.dir, "git rev-parse -q --verify refs/klineage/gone || echo gone");
	assert_clean(&f);
}

static void bad_journal(void **state)
{
	FIXTURE("journal");
	int cleared;

	sh(f.dir, "mkdir .git/klineage; : >.git/klineage/lock; "
		  "printf 'start\\nupdate ../../x 12 34\\n' >.git/klineage/txn");
	assert_error(KL_EINVALID, "line 2", kl_refs_recover(f.r, &cleared));
	assert_contains(kl_error_hints(), "klineage/txn");
	sh(f.dir, "printf 'start\\nupdate refs/../../x %040d %040d\\n' >.git/klineage/txn", 1, 0);
	assert_error(KL_EINVALID, "invalid ref name", kl_refs_recover(f.r, &cleared));
}

/* Ctrl-C while refs move: the transaction is done or not begun. */
static void interrupted(void **state)
{
	FIXTURE("interrupt");
	pid_t pid;
	int status;

	sh(f.dir, "git branch still; git update-ref refs/klineage/gone HEAD~1; "
		  "cat >.git/hooks/reference-transaction <<'EOF'\n"
		  "#!/bin/sh\ntest \"$1\" = prepared || exit 0\nset -- $(cat /proc/$PPID/stat)\n"
		  "kill -INT $4; sleep 0.3\nEOF\nchmod +x .git/hooks/reference-transaction");
	pid = fork();
	if (!pid) {
		TXN(u);

		kl_proc_catch_signals();
		queue_up(u, &f);
		_exit(kl_refs_txn_commit(u, "x") == 0 && kl_proc_interrupted() ? 7 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_oid(f.dir, "main", &f.one);
	assert_clean(&f);
}

static void bare_and_linked(void **state)
{
	FIXTURE("shapes");
	KL_AUTO(kl_freep) char *bare = kl_asprintf("%s/../shapes.git", f.dir);
	KL_AUTO(kl_freep) char *tree = kl_asprintf("%s/../shapes-w", f.dir);
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL, *other = NULL;

	sh(f.dir, "git clone -q --bare . ../shapes.git; git worktree add -q ../shapes-w");
	assert_ok(kl_repo_open_at(&repo, bare));
	assert_ok(kl_repo_open_at(&other, tree));
	for (int i = 0; i < 2; i++) {
		KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(i ? other :
											 repo);

		kl_refs_txn_create(txn, "refs/klineage/op/x", &f.one);
		assert_ok(kl_refs_txn_commit(txn, "x"));
	}
	assert_oid(bare, "refs/klineage/op/x", &f.one);
	assert_oid(f.dir, "refs/klineage/op/x", &f.one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves),
		cmocka_unit_test(lost_race),
		cmocka_unit_test(names),
		cmocka_unit_test(busy),
		cmocka_unit_test(refused_by_hook),
		cmocka_unit_test(update_ref_killed),
		cmocka_unit_test(both_killed),
		cmocka_unit_test(only_we_are_killed),
		cmocka_unit_test(foreign_locks_stay),
		cmocka_unit_test(half_moved),
		cmocka_unit_test(bad_journal),
		cmocka_unit_test(interrupted),
		cmocka_unit_test(bare_and_linked),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
