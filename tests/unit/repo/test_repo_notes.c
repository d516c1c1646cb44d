/* SPDX-License-Identifier: Apache-2.0 */
/* Notes as events: union, fanout, races; read back with stock git notes. */
#include <sys/wait.h>

#include "base/clock.h"
#include "repo/notes.h"
#include "scratch.h"

#define WRITERS 8
#define EVENTS 200

struct fixture {
	char *dir;
	struct kl_repo *r;
	git_oid *commit; /* newest first */
	size_t n;
};

static void fixture_release(struct fixture *fixture)
{
	kl_repo_free(fixture->r);
	free(fixture->dir);
	free(fixture->commit);
}

/* A repository with `n` commits. */
static struct fixture fixture(const char *name, int n)
{
	struct fixture other = { .dir = scratch_dir(name) };
	git_oid head;

	sh(other.dir,
	   "git init -q -b main .; awk 'BEGIN { for (i = 1; i <= %d; i++) "
	   "printf \"commit refs/heads/main\\ncommitter C <c@d> %%d +0000\\ndata 1\\nx\\n\", i }' "
	   "| git fast-import --quiet",
	   n);
	assert_ok(kl_repo_open_at(&other.r, other.dir));
	head = oid_of(other.dir, "main");
	assert_ok(kl_repo_touching(&other.commit, &other.n, other.r, &head, NULL, 0, (size_t)n));
	assert_int_equal(other.n, n);
	return other;
}

#define FIXTURE(name, n) KL_AUTO(fixture_release) struct fixture f = fixture(name, n)

static void add(const struct fixture *fixture, const git_oid *commit, const char *line)
{
	struct kl_note_line one = { .commit = *commit, .line = line };

	assert_ok(kl_notes_add(fixture->r, KL_NOTES_GATE, &one, 1));
}

static void assert_note(const struct fixture *fixture, const git_oid *commit, const char *want)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	assert_ok(kl_notes_read(&text, fixture->r, KL_NOTES_GATE, commit));
	assert_string_equal(text.ptr, want);
	kl_buf_rtrim(&text);
	assert_sh(text.ptr, fixture->dir,
		  "git notes --ref=klineage/gate show %s 2>/dev/null || :", hex);
}

static void assert_clean(const struct fixture *fixture)
{
	assert_sh("", fixture->dir,
		  "find .git -name '*.lock' -o -path .git/klineage/txn; "
		  "git for-each-ref refs/klineage/tmp");
	assert_sh("", fixture->dir, "git fsck --strict 2>&1 | grep -v dangling || :");
}

static void adds(void **state)
{
	FIXTURE("adds", 3);

	assert_note(&f, f.commit, "");
	add(&f, f.commit, "{\"id\":\"a\",\"v\":1}");
	assert_note(&f, f.commit, "{\"id\":\"a\",\"v\":1}\n");
	add(&f, f.commit, "{\"id\":\"b\",\"v\":1}");
	add(&f, f.commit, "{\"v\":2,\"id\":\"a\"}"); /* known */
	add(&f, f.commit + 1, "{\"id\":\"a\",\"v\":1}");
	add(&f, f.commit + 1, "not json");
	add(&f, f.commit + 1, "not json");
	assert_note(&f, f.commit, "{\"id\":\"a\",\"v\":1}\n{\"id\":\"b\",\"v\":1}\n");
	assert_note(&f, f.commit + 1, "{\"id\":\"a\",\"v\":1}\nnot json\n");
	assert_note(&f, f.commit + 2, "");
	/* a signature may come later, once */
	add(&f, f.commit, "{\"id\":\"b\",\"sig\":\"s\",\"v\":1}");
	add(&f, f.commit, "{\"id\":\"b\",\"sig\":\"t\",\"v\":1}");
	add(&f, f.commit, "{\"id\":\"b\",\"v\":1}");
	assert_note(&f, f.commit,
		    "{\"id\":\"a\",\"v\":1}\n{\"id\":\"b\",\"v\":1}\n"
		    "{\"id\":\"b\",\"sig\":\"s\",\"v\":1}\n");
	assert_sh("5", f.dir, "git rev-list --count refs/notes/klineage/gate");
	assert_sh("C O Mitter <committer@example.com>: notes: add 1 event on 1 commit", f.dir,
		  "git log -1 --format='%%cn <%%ce>: %%s' refs/notes/klineage/gate");
	assert_clean(&f);
}

static void refuses(void **state)
{
	FIXTURE("refuses", 1);
	struct kl_note_line line = { .line = "{\"id\":\"a\"}" };

	assert_ok(kl_oid_parse(&line.commit, "0123456789012345678901234567890123456789"));
	assert_error(KL_ENOTFOUND, "01234567", kl_notes_add(f.r, KL_NOTES_GATE, &line, 1));
	line.commit = f.commit[0];
	line.line = "two\nlines";
	assert_error(KL_EINVALID, "one line", kl_notes_add(f.r, KL_NOTES_GATE, &line, 1));
	assert_ok(kl_notes_add(f.r, KL_NOTES_GATE, NULL, 0));
	sh(f.dir, "! git rev-parse -q --verify refs/notes/klineage/gate >/dev/null");
}

static void prepares(void **state)
{
	FIXTURE("prepares", 2);
	struct kl_note_line line = { .commit = f.commit[0], .line = "{\"id\":\"a\"}" };
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(f.r);
	git_oid tip, old, again;

	assert_ok(kl_notes_prepare(&tip, &old, f.r, KL_NOTES_GATE, &line, 1));
	assert_true(git_oid_is_zero(&old));
	sh(f.dir, "! git rev-parse -q --verify refs/notes/klineage/gate >/dev/null");
	kl_refs_txn_update(txn, KL_NOTES_GATE, &tip, &old);
	kl_refs_txn_create(txn, "refs/klineage/op/main", &f.commit[1]);
	add(&f, f.commit + 1, "{\"id\":\"b\"}"); /* somebody was quicker */
	assert_error(KL_ECHANGED, "created in the meantime", kl_refs_txn_commit(txn, "x"));
	assert_ok(kl_notes_prepare(&tip, &old, f.r, KL_NOTES_GATE, &line, 1));
	assert_oid(f.dir, KL_NOTES_GATE, &old);
	{
		KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *transaction = kl_refs_txn_new(f.r);

		kl_refs_txn_update(transaction, KL_NOTES_GATE, &tip, &old);
		kl_refs_txn_create(transaction, "refs/klineage/op/main", &f.commit[1]);
		assert_ok(kl_refs_txn_commit(transaction, "x"));
	}
	assert_note(&f, f.commit, "{\"id\":\"a\"}\n");
	assert_note(&f, f.commit + 1, "{\"id\":\"b\"}\n");
	assert_ok(kl_notes_prepare(&again, &old, f.r, KL_NOTES_GATE, &line, 1));
	assert_true(git_oid_equal(&again, &old));
	assert_clean(&f);
}

/* Flat and fanned out at once, as other writers leave it. */
static void mixed_depths(void **state)
{
	FIXTURE("mixed", 3);
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, f.commit);
	sh(f.dir,
	   "c=%s; rest=${c#??}; ab=${c%%$rest}; "
	   "x=$(printf '{\"id\":\"x\"}\\n' | git hash-object -w --stdin); "
	   "y=$(printf '{\"id\":\"y\"}\\n\\n{\"id\":\"x\"}\\n' | git hash-object -w --stdin); "
	   "s=$(printf 'schema' | git hash-object -w --stdin); "
	   "d=$(printf \"100644 blob $y\\t$rest\\n\" | git mktree); "
	   "t=$(printf \"100644 blob $x\\t$c\\n040000 tree $d\\t$ab\\n100644 blob $s\\tSCHEMA\\n\" | git mktree); "
	   "git update-ref refs/notes/klineage/gate $(git commit-tree -m m $t)",
	   hex);
	assert_note(&f, f.commit, "{\"id\":\"y\"}\n\n{\"id\":\"x\"}\n\n{\"id\":\"x\"}\n");
	/* a write elsewhere puts them together, and loses nothing */
	add(&f, f.commit + 1, "{\"id\":\"z\"}");
	assert_note(&f, f.commit, "{\"id\":\"y\"}\n{\"id\":\"x\"}\n");
	assert_note(&f, f.commit + 1, "{\"id\":\"z\"}\n");
	assert_sh("3", f.dir, "git ls-tree -r --name-only refs/notes/klineage/gate | wc -l");
	assert_sh("schema", f.dir, "git cat-file -p refs/notes/klineage/gate:SCHEMA");
	assert_clean(&f);
}

static int count(const git_oid *commit, const char *text, size_t len, void *payload)
{
	size_t *n = payload;

	for (size_t i = 0; i < len; i++)
		*n += text[i] == '\n';
	return 0;
}

static int stop(const git_oid *commit, const char *text, size_t len, void *payload)
{
	++*(size_t *)payload;
	return 7;
}

/* Past 256 notes the tree fans out; stock git's own writer chooses other depths. */
static void fanout_changes(void **state)
{
	FIXTURE("fanout", 300);
	struct kl_note_line *line = kl_calloc(f.n, sizeof(*line));
	size_t n = 0;

	for (size_t i = 0; i < 150; i++) { /* stock git fans these out */
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, f.commit + i);
		sh(f.dir, "git notes --ref=klineage/gate add -m '{\"id\":\"old\"}' %s", hex);
		i += 2;
	}
	for (size_t i = 0; i < f.n; i++)
		line[i] = (struct kl_note_line){ f.commit[i], "{\"id\":\"new\"}" };
	assert_ok(kl_notes_add(f.r, KL_NOTES_GATE, line, 100));
	assert_ok(kl_notes_add(f.r, KL_NOTES_GATE, line, f.n));
	assert_ok(kl_notes_each(f.r, KL_NOTES_GATE, count, &n));
	assert_int_equal(n, 350);
	assert_note(&f, f.commit, "{\"id\":\"old\"}\n{\"id\":\"new\"}\n");
	assert_note(&f, f.commit + 1, "{\"id\":\"new\"}\n");
	assert_sh("300", f.dir, "git notes --ref=klineage/gate list | wc -l");
	/* and back again: stock git adds to ours */
	sh(f.dir, "git notes --ref=klineage/gate append -m '{\"id\":\"more\"}' main");
	add(&f, f.commit, "{\"id\":\"last\"}");
	assert_note(&f, f.commit,
		    "{\"id\":\"old\"}\n{\"id\":\"new\"}\n{\"id\":\"more\"}\n"
		    "{\"id\":\"last\"}\n");
	n = 0;
	assert_int_equal(kl_notes_each(f.r, KL_NOTES_GATE, stop, &n), 7);
	assert_int_equal(n, 1);
	free(line);
	assert_clean(&f);
}

/* Two clones note the same commit; stock git merges them. */
static void merges(void **state)
{
	FIXTURE("merges", 2);
	KL_AUTO(kl_freep) char *other = kl_asprintf("%s/../merges2", f.dir);
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_note_line line = { f.commit[0], "{\"id\":\"c\"}" };

	add(&f, f.commit, "{\"id\":\"a\"}");
	sh(f.dir, "git clone -q . ../merges2; cd ../merges2; "
		  "git fetch -q origin refs/notes/klineage/gate:refs/notes/klineage/gate");
	add(&f, f.commit, "{\"id\":\"b\"}");
	assert_ok(kl_repo_open_at(&repo, other));
	assert_ok(kl_notes_add(repo, KL_NOTES_GATE, &line, 1));
	sh(f.dir,
	   "git fetch -q ../merges2 refs/notes/klineage/gate:refs/notes/remotes/o/klineage/gate; "
	   "git config notes.klineage/gate.mergeStrategy cat_sort_uniq; "
	   "git notes --ref=klineage/gate merge -q refs/notes/remotes/o/klineage/gate");
	assert_note(&f, f.commit, "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n");
}

static void signs(void **state)
{
	FIXTURE("signs", 1);
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_note_line line = { f.commit[0], "{\"id\":\"a\"}" };

	if (try_sh(NULL, f.dir, "command -v ssh-keygen >/dev/null")) {
		print_message("skipped: no ssh-keygen\n");
		skip();
	}
	add(&f, f.commit, "{\"id\":\"0\"}");
	sh(f.dir,
	   "ssh-keygen -q -t ed25519 -N '' -f ../notes-key; git config gpg.format ssh; "
	   "git config user.signingKey \"$PWD/../notes-key\"; git config commit.gpgSign true; "
	   "echo \"committer@example.com $(cat ../notes-key.pub)\" >../signers; "
	   "git config gpg.ssh.allowedSignersFile \"$PWD/../signers\"");
	assert_ok(kl_repo_open_at(&repo, f.dir));
	assert_ok(kl_notes_add(repo, KL_NOTES_GATE, &line, 1));
	sh(f.dir, "git verify-commit refs/notes/klineage/gate 2>/dev/null");
	assert_sh("2", f.dir, "git rev-list --count refs/notes/klineage/gate");
	assert_note(&f, f.commit, "{\"id\":\"0\"}\n{\"id\":\"a\"}\n");
}

/* One writer, one event a call, on a few commits that all writers share. */
static int writer(const struct fixture *fixture, int who)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;

	if (kl_repo_open_at(&repo, fixture->dir) < 0)
		return 1;
	for (int i = 0; i < EVENTS; i++) {
		char text[64];
		struct kl_note_line line = { fixture->commit[(size_t)i % fixture->n], text };

		snprintf(text, sizeof(text), "{\"id\":\"%d-%d\"}", who, i);
		if (kl_notes_add(repo, KL_NOTES_GATE, &line, 1) < 0) {
			fprintf(stderr, "writer %d, event %d: %s\n", who, i, kl_error_last());
			return 1;
		}
	}
	return 0;
}

static void eight_writers(void **state)
{
	FIXTURE("writers", 40);
	int64_t start = kl_clock_ns();
	pid_t pid[WRITERS];
	int status;

	for (int width = 0; width < WRITERS; width++) {
		pid[width] = fork();
		if (!pid[width])
			_exit(writer(&f, width));
	}
	for (int width = 0; width < WRITERS; width++) {
		assert_int_equal(waitpid(pid[width], &status, 0), pid[width]);
		assert_int_equal(status, 0);
	}
	print_message("%d writers, %d events each: %.1f s\n", WRITERS, EVENTS,
		      (double)(kl_clock_ns() - start) / 1e9);
	for (int width = 0; width < WRITERS; width++) {
		KL_AUTO(kl_freep) char *want = kl_asprintf("%d", EVENTS);

		assert_sh(want, f.dir,
			  "for c in $(git notes --ref=klineage/gate list | cut -d' ' -f2); "
			  "do git notes --ref=klineage/gate show $c; done | grep '\"id\":\"%d-' | "
			  "sort -u | wc -l",
			  width);
	}
	assert_clean(&f);
}

/*
 * Stock git writes to the same ref without asking for our lock. It moves the
 * ref by compare-and-swap: `git notes append` on the ref itself would not. It can
 * lose the race as long as the other process writes, so it must not give up before that ends.
 */
static int git_writer(const struct fixture *fixture)
{
	for (size_t i = 0; i < fixture->n; i++) {
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, fixture->commit + i);
		if (try_sh(NULL, fixture->dir,
			   "r=refs/notes/klineage/gate; "
			   "for i in $(seq 1000); do "
			   "old=$(git rev-parse -q --verify $r || printf %%040d 0); "
			   "git update-ref -d refs/notes/t; "
			   "test $old = $(printf %%040d 0) || git update-ref refs/notes/t $old; "
			   "git notes --ref=t append -m '{\"id\":\"git\"}' %s; "
			   "git update-ref $r refs/notes/t $old 2>/dev/null && exit 0; "
			   "done; exit 1",
			   hex))
			return 1;
	}
	return 0;
}

static void foreign_writer(void **state)
{
	FIXTURE("foreign", 25);
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(git_writer(&f));
	for (int i = 0; i < 60; i++) {
		char line[64];

		snprintf(line, sizeof(line), "{\"id\":\"%d\"}", i);
		add(&f, f.commit + (59 - i) % 25, line);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_sh("85", f.dir,
		  "for c in $(git notes --ref=klineage/gate list | cut -d' ' -f2); "
		  "do git notes --ref=klineage/gate show $c; done | grep -c .");
	assert_clean(&f);
}

/* 8,000 events of the size of a gate's, in one call, and folded back. */
static void many(void **state)
{
	FIXTURE("many", 8000);
	struct kl_note_line *line = kl_calloc(f.n, sizeof(*line));
	char filler[700];
	int64_t start, wrote, read;
	size_t n = 0;

	memset(filler, 'x', sizeof(filler));
	for (size_t i = 0; i < f.n; i++)
		line[i] = (struct kl_note_line){
			f.commit[i],
			kl_asprintf("{\"by\":\"%.*s\",\"id\":\"%064zu\",\"kind\":\"gate\",\"v\":1}",
				    (int)sizeof(filler), filler, i)
		};
	start = kl_clock_ns();
	assert_ok(kl_notes_add(f.r, KL_NOTES_GATE, line, f.n));
	wrote = kl_clock_ns();
	assert_ok(kl_notes_each(f.r, KL_NOTES_GATE, count, &n));
	read = kl_clock_ns();
	assert_int_equal(n, 8000);
	assert_sh("8000", f.dir, "git notes --ref=klineage/gate list | wc -l");
	start = wrote - start;
	print_message("8000 events: written in %.2f s, folded back in %.2f s\n",
		      (double)start / 1e9, (double)(read - wrote) / 1e9);
	wrote = kl_clock_ns();
	assert_ok(kl_notes_add(f.r, KL_NOTES_GATE, line, f.n));
	print_message("the same again, nothing new: %.2f s\n",
		      (double)(kl_clock_ns() - wrote) / 1e9);
	assert_sh("1", f.dir, "git rev-list --count refs/notes/klineage/gate");
	for (size_t i = 0; i < f.n; i++)
		free((char *)line[i].line);
	free(line);
	assert_clean(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adds),           cmocka_unit_test(refuses),
		cmocka_unit_test(prepares),       cmocka_unit_test(mixed_depths),
		cmocka_unit_test(fanout_changes), cmocka_unit_test(merges),
		cmocka_unit_test(signs),          cmocka_unit_test(eight_writers),
		cmocka_unit_test(foreign_writer), cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
