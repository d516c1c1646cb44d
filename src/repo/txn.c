/* SPDX-License-Identifier: Apache-2.0 */
/* txn - transactions of refs: a journal, then git update-ref */
#include "repo/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/proc.h"
#include "base/rng.h"

#define LOCK_WAIT_MS 10000
#define BUSY_TRIES 6

struct kl_refs_txn *kl_refs_txn_new(struct kl_repo *r)
{
	struct kl_refs_txn *t = kl_calloc(1, sizeof(*t));

	t->r = r;
	return t;
}

static void clear_commands(struct kl_refs_txn *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->cmd[i].ref);
	free(t->cmd);
	t->cmd = NULL;
	t->n = t->alloc = 0;
}

void kl_refs_txn_free(struct kl_refs_txn *t)
{
	if (t)
		clear_commands(t);
	free(t);
}

static struct kl_refs_cmd *push_command(struct kl_refs_txn *t, enum kl_refs_verb verb,
					const char *ref)
{
	KL_GROW(t->cmd, t->n + 1, t->alloc);
	t->cmd[t->n] = (struct kl_refs_cmd){ .verb = verb, .ref = kl_strdup(ref) };
	return t->cmd + t->n++;
}

void kl_refs_txn_update(struct kl_refs_txn *t, const char *ref, const git_oid *oid,
			const git_oid *old)
{
	struct kl_refs_cmd *c = push_command(t, KL_REFS_UPDATE, ref);

	c->to = *oid;
	if (old)
		c->from = *old;
}

void kl_refs_txn_create(struct kl_refs_txn *t, const char *ref, const git_oid *oid)
{
	kl_refs_txn_update(t, ref, oid, NULL);
}

void kl_refs_txn_delete(struct kl_refs_txn *t, const char *ref, const git_oid *old)
{
	struct kl_refs_cmd *c = push_command(t, KL_REFS_DELETE, ref);

	if (old)
		c->from = *old;
	else
		c->any = true;
}

void kl_refs_txn_verify(struct kl_refs_txn *t, const char *ref, const git_oid *old)
{
	struct kl_refs_cmd *c = push_command(t, KL_REFS_VERIFY, ref);

	if (old)
		c->from = *old;
}

/* --- the journal: the very input of update-ref ------------------------- */

void kl_txn_format(struct kl_buf *out, const struct kl_refs_txn *t)
{
	char from[KL_OID_HEX], to[KL_OID_HEX];

	kl_buf_adds(out, "start\n");
	for (size_t i = 0; i < t->n; i++) {
		const struct kl_refs_cmd *c = t->cmd + i;

		kl_oid_hex(from, &c->from);
		kl_oid_hex(to, &c->to);
		if (c->verb == KL_REFS_UPDATE)
			kl_buf_addf(out, "update %s %s %s\n", c->ref, to, from);
		else if (c->verb == KL_REFS_VERIFY)
			kl_buf_addf(out, "verify %s %s\n", c->ref, from);
		else if (c->any)
			kl_buf_addf(out, "delete %s\n", c->ref);
		else
			kl_buf_addf(out, "delete %s %s\n", c->ref, from);
	}
	kl_buf_adds(out, "prepare\ncommit\n");
}

static int parse_line(struct kl_refs_txn *t, char *line)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec w = KL_STRVEC_INIT;
	git_oid a = { { 0 } }, b = { { 0 } };

	kl_strvec_split(&w, line, " ");
	if (w.n > 2 && kl_oid_parse(&a, w.v[2]) < 0)
		return KL_EINVALID;
	if (w.n > 3 && kl_oid_parse(&b, w.v[3]) < 0)
		return KL_EINVALID;
	if (w.n == 4 && !strcmp(w.v[0], "update"))
		kl_refs_txn_update(t, w.v[1], &a, &b);
	else if (w.n == 3 && !strcmp(w.v[0], "verify"))
		kl_refs_txn_verify(t, w.v[1], &a);
	else if ((w.n == 2 || w.n == 3) && !strcmp(w.v[0], "delete"))
		kl_refs_txn_delete(t, w.v[1], w.n == 3 ? &a : NULL);
	else if (w.n != 1)
		return KL_EINVALID;
	return 0;
}

int kl_txn_parse(struct kl_refs_txn *t, const char *text, const char *name)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec line = KL_STRVEC_INIT;

	kl_strvec_split(&line, text, "\n");
	for (size_t i = 0; i < line.n; i++) {
		int valid = 0;

		if (parse_line(t, line.v[i]) < 0)
			return kl_error(KL_EINVALID, "journal '%s', line %zu: '%.60s'", name, i + 1,
					line.v[i]);
		/* its names become file names */
		if (t->n &&
		    (git_reference_name_is_valid(&valid, t->cmd[t->n - 1].ref) < 0 || !valid))
			return kl_error(KL_EINVALID, "journal '%s', line %zu: a bad ref name", name,
					i + 1);
	}
	return 0;
}

/* --- committing -------------------------------------------------------- */

int kl_txn_run(int *status, struct kl_repo *r, const char *journal, const char *reflog,
	       struct kl_buf *err)
{
	struct kl_git_call c = {
		.args = KL_ARGS("update-ref", "--create-reflog", "--no-deref", "-m",
				reflog && *reflog ? reflog : "klineage", "--stdin"),
		.in_path = journal,
		.finish = true,
		.err = err,
	};

	return kl_git_run(status, r, &c);
}

static int check_names(const struct kl_refs_txn *t)
{
	for (size_t i = 0; i < t->n; i++) {
		int valid = 0;

		if (git_reference_name_is_valid(&valid, t->cmd[i].ref) < 0 || !valid ||
		    strncmp(t->cmd[i].ref, "refs/", 5))
			return kl_error(KL_EINVALID, "'%.200s' is not a valid ref name",
					t->cmd[i].ref);
	}
	return 0;
}

/* Which ref is not where the transaction wants it? */
static int who_moved(const struct kl_refs_txn *t)
{
	char is[KL_OID_HEX], was[KL_OID_HEX];
	git_oid now;
	int err;

	for (size_t i = 0; i < t->n; i++) {
		const struct kl_refs_cmd *c = t->cmd + i;

		if ((err = kl_txn_now(&now, t->r, c->ref)) < 0)
			return err;
		if (c->any || git_oid_equal(&now, &c->from))
			continue;
		kl_oid_hex(is, &now);
		kl_oid_hex(was, &c->from);
		if (git_oid_is_zero(&c->from))
			return kl_error(KL_ECHANGED, "'%s' was created meanwhile: it is at %s",
					c->ref, is);
		if (git_oid_is_zero(&now))
			return kl_error(KL_ECHANGED, "'%s' was deleted meanwhile: it was at %s",
					c->ref, was);
		return kl_error(KL_ECHANGED, "'%s' was moved meanwhile: from %s to %s", c->ref, was,
				is);
	}
	return 0;
}

static int why_refused(const struct kl_refs_txn *t, struct kl_buf *text)
{
	int err = who_moved(t);

	if (err < 0)
		return err;
	for (size_t i = 0; i < t->n; i++)
		if (t->cmd[i].verb == KL_REFS_UPDATE && git_oid_is_zero(&t->cmd[i].from) &&
		    (err = kl_refs_can_create(t->r, t->cmd[i].ref)) < 0)
			return err;
	if (strstr(text->ptr, ".lock': File exists")) {
		err = kl_error(KL_EBUSY, "%s", kl_git_complaint(text));
		return kl_error_hint(err, "another git is at work; if none is, remove that file");
	}
	return kl_error(KL_EIO, "git update-ref: %s", kl_git_complaint(text));
}

static bool all_moved(const struct kl_refs_txn *t)
{
	git_oid now;

	for (size_t i = 0; i < t->n; i++)
		if (t->cmd[i].verb != KL_REFS_VERIFY &&
		    (kl_txn_now(&now, t->r, t->cmd[i].ref) < 0 ||
		     !git_oid_equal(&now, &t->cmd[i].to)))
			return false;
	return true;
}

/* update-ref was killed: it may have got anywhere. */
static int after_kill(struct kl_refs_txn *t, int signal)
{
	int cleared, err = kl_txn_recover(t->r, &cleared);

	if (err < 0 || all_moved(t))
		return err;
	return kl_error(KL_EIO, "git update-ref was killed by signal %d", signal);
}

/* One try with our lock held and the journal written. */
static int attempt_update(struct kl_refs_txn *t, const char *journal, const char *reflog)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int status, err = kl_txn_run(&status, t->r, journal, reflog, &text);

	if (err < 0)
		return err;
	if (!status)
		return unlink(journal) < 0 ? kl_error_errno("cannot remove '%s'", journal) : 0;
	if (status > 129) /* 128 and 129 are git's own */
		return after_kill(t, status - 128);
	err = why_refused(t, &text);
	unlink(journal);
	return err;
}

static int commit_locked(struct kl_refs_txn *t, const char *journal, const char *reflog)
{
	KL_AUTO(kl_buf_release) struct kl_buf script = KL_BUF_INIT;
	int cleared, err = kl_txn_recover(t->r, &cleared);

	if (err < 0)
		return err;
	kl_txn_format(&script, t);
	if ((err = KL_FAULT("txn-before")) < 0 ||
	    (err = kl_fs_write(journal, script.ptr, script.len)) < 0 ||
	    (err = KL_FAULT("txn-journal")) < 0 || (err = attempt_update(t, journal, reflog)) < 0)
		return err;
	return KL_FAULT("txn-after");
}

int kl_refs_txn_commit(struct kl_refs_txn *t, const char *reflog)
{
	KL_AUTO(kl_freep) char *lock_path = NULL, *journal = NULL;
	int err;

	if (!t->n)
		return 0;
	if ((err = check_names(t)) < 0 || (err = kl_repo_private(&lock_path, t->r, "lock")) < 0 ||
	    (err = kl_repo_private(&journal, t->r, "txn")) < 0)
		return err;
	for (int i = 1;; i++) {
		KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;

		if ((err = kl_lock_take(&lock, lock_path, LOCK_WAIT_MS)) < 0)
			return err;
		err = commit_locked(t, journal, reflog);
		kl_lock_release(&lock);
		if (err != KL_EBUSY || i == BUSY_TRIES || kl_proc_interrupted())
			return err;
		kl_clock_sleep_ms(20 + (int64_t)(kl_rng_os_seed() % 100));
	}
}
