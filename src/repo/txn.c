/* SPDX-License-Identifier: Apache-2.0 */
/* txn - commits ref transactions: writes a journal, then runs git update-ref on it */
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

struct kl_refs_txn *kl_refs_txn_new(struct kl_repo *repo)
{
	struct kl_refs_txn *txn = kl_calloc(1, sizeof(*txn));

	txn->r = repo;
	return txn;
}

static void clear_commands(struct kl_refs_txn *txn)
{
	for (size_t i = 0; i < txn->n; i++)
		free(txn->cmd[i].ref);
	free(txn->cmd);
	txn->cmd = NULL;
	txn->n = txn->alloc = 0;
}

void kl_refs_txn_free(struct kl_refs_txn *txn)
{
	if (txn)
		clear_commands(txn);
	free(txn);
}

static struct kl_refs_cmd *push_command(struct kl_refs_txn *txn, enum kl_refs_verb verb,
					const char *ref)
{
	KL_GROW(txn->cmd, txn->n + 1, txn->alloc);
	txn->cmd[txn->n] = (struct kl_refs_cmd){ .verb = verb, .ref = kl_strdup(ref) };
	return txn->cmd + txn->n++;
}

void kl_refs_txn_update(struct kl_refs_txn *txn, const char *ref, const git_oid *oid,
			const git_oid *old)
{
	struct kl_refs_cmd *cmd = push_command(txn, KL_REFS_UPDATE, ref);

	cmd->to = *oid;
	if (old)
		cmd->from = *old;
}

void kl_refs_txn_create(struct kl_refs_txn *txn, const char *ref, const git_oid *oid)
{
	kl_refs_txn_update(txn, ref, oid, NULL);
}

void kl_refs_txn_delete(struct kl_refs_txn *txn, const char *ref, const git_oid *old)
{
	struct kl_refs_cmd *cmd = push_command(txn, KL_REFS_DELETE, ref);

	if (old)
		cmd->from = *old;
	else
		cmd->any = true;
}

void kl_refs_txn_verify(struct kl_refs_txn *txn, const char *ref, const git_oid *old)
{
	struct kl_refs_cmd *cmd = push_command(txn, KL_REFS_VERIFY, ref);

	if (old)
		cmd->from = *old;
}

/* --- writing and parsing the journal, which is the input of update-ref ----- */

void kl_txn_format(struct kl_buf *out, const struct kl_refs_txn *txn)
{
	char from[KL_OID_HEX], to[KL_OID_HEX];

	kl_buf_adds(out, "start\n");
	for (size_t i = 0; i < txn->n; i++) {
		const struct kl_refs_cmd *cmd = txn->cmd + i;

		kl_oid_hex(from, &cmd->from);
		kl_oid_hex(to, &cmd->to);
		if (cmd->verb == KL_REFS_UPDATE)
			kl_buf_addf(out, "update %s %s %s\n", cmd->ref, to, from);
		else if (cmd->verb == KL_REFS_VERIFY)
			kl_buf_addf(out, "verify %s %s\n", cmd->ref, from);
		else if (cmd->any)
			kl_buf_addf(out, "delete %s\n", cmd->ref);
		else
			kl_buf_addf(out, "delete %s %s\n", cmd->ref, from);
	}
	kl_buf_adds(out, "prepare\ncommit\n");
}

static int parse_line(struct kl_refs_txn *txn, char *line)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	git_oid first = kl_oid_none, second = kl_oid_none;

	kl_strvec_split(&words, line, " ");
	if (words.n > 2 && kl_oid_parse(&first, words.v[2]) < 0)
		return KL_EINVALID;
	if (words.n > 3 && kl_oid_parse(&second, words.v[3]) < 0)
		return KL_EINVALID;
	if (words.n == 4 && !strcmp(words.v[0], "update"))
		kl_refs_txn_update(txn, words.v[1], &first, &second);
	else if (words.n == 3 && !strcmp(words.v[0], "verify"))
		kl_refs_txn_verify(txn, words.v[1], &first);
	else if ((words.n == 2 || words.n == 3) && !strcmp(words.v[0], "delete"))
		kl_refs_txn_delete(txn, words.v[1], words.n == 3 ? &first : NULL);
	else if (words.n != 1)
		return KL_EINVALID;
	return 0;
}

int kl_txn_parse(struct kl_refs_txn *txn, const char *text, const char *name)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec line = KL_STRVEC_INIT;

	kl_strvec_split(&line, text, "\n");
	for (size_t i = 0; i < line.n; i++) {
		int valid = 0;

		if (parse_line(txn, line.v[i]) < 0)
			return kl_error(KL_EINVALID, "journal '%s', line %zu: cannot parse '%.60s'",
					name, i + 1, line.v[i]);
		/* recovery makes file names from ref names, so ref names must be valid */
		if (txn->n &&
		    (git_reference_name_is_valid(&valid, txn->cmd[txn->n - 1].ref) < 0 || !valid))
			return kl_error(KL_EINVALID, "journal '%s', line %zu: invalid ref name",
					name, i + 1);
	}
	return 0;
}

/* --- committing a transaction ------------------------------------------ */

int kl_txn_run(int *status, struct kl_repo *repo, const char *journal, const char *reflog,
	       struct kl_buf *err)
{
	struct kl_git_call call = {
		.args = KL_ARGS("update-ref", "--create-reflog", "--no-deref", "-m",
				reflog && *reflog ? reflog : "klineage", "--stdin"),
		.in_path = journal,
		.finish = true,
		.err = err,
	};

	return kl_git_run(status, repo, &call);
}

static int check_names(const struct kl_refs_txn *txn)
{
	for (size_t i = 0; i < txn->n; i++) {
		int valid = 0;

		if (git_reference_name_is_valid(&valid, txn->cmd[i].ref) < 0 || !valid ||
		    strncmp(txn->cmd[i].ref, "refs/", 5))
			return kl_error(KL_EINVALID, "'%.200s' is not a valid ref name",
					txn->cmd[i].ref);
	}
	return 0;
}

/*
 * Return 0 if every ref has its expected old value. Return KL_ECHANGED if a ref has another value.
 * The message names it. Other errors are possible.
 */
static int who_moved(const struct kl_refs_txn *txn)
{
	char now_hex[KL_OID_HEX], from_hex[KL_OID_HEX];
	git_oid now;
	int err;

	for (size_t i = 0; i < txn->n; i++) {
		const struct kl_refs_cmd *cmd = txn->cmd + i;

		if ((err = kl_txn_now(&now, txn->r, cmd->ref)) < 0)
			return err;
		if (cmd->any || git_oid_equal(&now, &cmd->from))
			continue;
		kl_oid_hex(now_hex, &now);
		kl_oid_hex(from_hex, &cmd->from);
		if (git_oid_is_zero(&cmd->from))
			return kl_error(KL_ECHANGED, "'%s' was created in the meantime at %s",
					cmd->ref, now_hex);
		if (git_oid_is_zero(&now))
			return kl_error(KL_ECHANGED,
					"'%s' was deleted in the meantime; it was at %s", cmd->ref,
					from_hex);
		return kl_error(KL_ECHANGED, "'%s' was changed in the meantime from %s to %s",
				cmd->ref, from_hex, now_hex);
	}
	return 0;
}

static int why_refused(const struct kl_refs_txn *txn, struct kl_buf *complaint)
{
	int err = who_moved(txn);

	if (err < 0)
		return err;
	for (size_t i = 0; i < txn->n; i++)
		if (txn->cmd[i].verb == KL_REFS_UPDATE && git_oid_is_zero(&txn->cmd[i].from) &&
		    (err = kl_refs_can_create(txn->r, txn->cmd[i].ref)) < 0)
			return err;
	if (strstr(complaint->ptr, ".lock': File exists")) {
		err = kl_error(KL_EBUSY, "%s", kl_git_complaint(complaint));
		return kl_error_hint(
			err, "another git process may be running; if none is, remove that file");
	}
	return kl_error(KL_EIO, "git update-ref: %s", kl_git_complaint(complaint));
}

static bool all_moved(const struct kl_refs_txn *txn)
{
	git_oid now;

	for (size_t i = 0; i < txn->n; i++)
		if (txn->cmd[i].verb != KL_REFS_VERIFY &&
		    (kl_txn_now(&now, txn->r, txn->cmd[i].ref) < 0 ||
		     !git_oid_equal(&now, &txn->cmd[i].to)))
			return false;
	return true;
}

/* Recover after update-ref was killed at an unknown point, and check whether all refs moved. */
static int after_kill(struct kl_refs_txn *txn, int signal)
{
	int cleared, err = kl_txn_recover(txn->r, &cleared);

	if (err < 0 || all_moved(txn))
		return err;
	return kl_error(KL_EIO, "git update-ref was killed by signal %d", signal);
}

/* Run update-ref once. The caller must hold our lock and have written the journal. */
static int attempt_update(struct kl_refs_txn *txn, const char *journal, const char *reflog)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int status, err = kl_txn_run(&status, txn->r, journal, reflog, &text);

	if (err < 0)
		return err;
	if (!status)
		return unlink(journal) < 0 ? kl_error_errno("cannot remove '%s'", journal) : 0;
	if (status > 129) /* git itself exits with 128 and 129 */
		return after_kill(txn, status - 128);
	err = why_refused(txn, &text);
	unlink(journal);
	return err;
}

static int commit_locked(struct kl_refs_txn *txn, const char *journal, const char *reflog)
{
	KL_AUTO(kl_buf_release) struct kl_buf script = KL_BUF_INIT;
	int cleared, err = kl_txn_recover(txn->r, &cleared);

	if (err < 0)
		return err;
	kl_txn_format(&script, txn);
	if ((err = KL_FAULT("txn-before")) < 0 ||
	    (err = kl_fs_write(journal, script.ptr, script.len)) < 0 ||
	    (err = KL_FAULT("txn-journal")) < 0 || (err = attempt_update(txn, journal, reflog)) < 0)
		return err;
	return KL_FAULT("txn-after");
}

int kl_refs_txn_commit(struct kl_refs_txn *txn, const char *reflog)
{
	KL_AUTO(kl_freep) char *lock_path = NULL, *journal = NULL;
	int err;

	if (!txn->n)
		return 0;
	if ((err = check_names(txn)) < 0 ||
	    (err = kl_repo_private(&lock_path, txn->r, "lock")) < 0 ||
	    (err = kl_repo_private(&journal, txn->r, "txn")) < 0)
		return err;
	for (int i = 1;; i++) {
		KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;

		if ((err = kl_lock_take(&lock, lock_path, LOCK_WAIT_MS)) < 0)
			return err;
		err = commit_locked(txn, journal, reflog);
		kl_lock_release(&lock);
		if (err != KL_EBUSY || i == BUSY_TRIES || kl_proc_interrupted())
			return err;
		kl_clock_sleep_ms(20 + (int64_t)(kl_rng_os_seed() % 100));
	}
}
