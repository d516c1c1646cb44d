/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/finish.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "walk/forward.h"

#define MAX_TRIES 20

struct finish {
	struct kl_opstate *op;
	struct kl_forward forward;
	struct kl_note_line *note;
	size_t nnote;
	struct kl_strvec lines;
};

static void finish_release(struct finish *finish)
{
	kl_forward_release(&finish->forward);
	free(finish->note);
	kl_strvec_release(&finish->lines);
}

/*
 * Return true if this commit is a K_i' of the walk. Such a commit is dropped with the operation;
 * its events are noted on the K_i' of the lineage instead.
 */
static bool is_rederived(const struct finish *finish, const char *commit)
{
	const json_t *steps = kl_walk_steps(&finish->op->walk);
	size_t i;
	json_t *step;

	json_array_foreach(steps, i, step)
		if (!strcmp(kl_json_str_or(json_object_get(step, "rederived"), "commit", ""),
			    commit))
			return true;
	return false;
}

/* Collect the events of the operation, then those of the lineage. */
static int collect_notes(struct finish *finish)
{
	size_t n = 0;

	kl_strvec_split(&finish->lines, finish->op->events.ptr, "\n");
	finish->note = kl_calloc(finish->lines.n + finish->forward.nnote + 1,
				 sizeof(*finish->note));
	for (size_t i = 0; i < finish->lines.n; i++) {
		KL_AUTO(json_decrefp) json_t *entry = NULL;
		const char *hex;
		int err;

		if ((err = kl_json_parse(&entry, finish->lines.v[i], strlen(finish->lines.v[i]))) <
			    0 ||
		    (err = kl_json_str(&hex, entry, "commit")) < 0 ||
		    (err = kl_oid_parse(&finish->note[n].commit, hex)) < 0)
			return kl_error_in(err, "event %zu of the operation", i + 1);
		if (!is_rederived(finish, hex))
			finish->note[n++].line = finish->lines.v[i];
	}
	for (size_t i = 0; i < finish->forward.nnote; i++)
		finish->note[n++] = finish->forward.note[i];
	finish->nnote = n;
	return 0;
}

/*
 * Let the transaction move `ref` from `before` ("" to create it) to `oid`. If `ref` is already at
 * `oid`, the transaction only checks that it stays there.
 */
static int put_ref(struct kl_refs_txn *txn, struct finish *finish, const char *ref,
		   const git_oid *oid, const char *before)
{
	git_oid there, old;
	int err = kl_refs_get(&there, finish->op->repo, ref);

	if (err && err != KL_ENOTFOUND)
		return err;
	if (!err && !memcmp(&there, oid, sizeof(there))) {
		kl_refs_txn_verify(txn, ref, oid);
		return 0;
	}
	kl_error_clear();
	if (*before) {
		if ((err = kl_oid_parse(&old, before)) < 0)
			return err;
		kl_refs_txn_update(txn, ref, oid, &old);
		return 0;
	}
	if (!err)
		return kl_error_hint(kl_error(KL_EEXISTS, "'%s' was created by another process",
					      ref),
				     "rename it with git, then run 'git klineage deopt "
				     "--continue'");
	kl_refs_txn_create(txn, ref, oid);
	return 0;
}

static int put_results(struct kl_refs_txn *txn, struct finish *finish, struct kl_outcome *out)
{
	const struct kl_walk *walk = &finish->op->walk;
	const char *rejected = kl_walk_rejected_tip(walk);
	git_oid oid;
	int err = 0;

	if (out->steps) {
		kl_lineage_ref(out->walk, "walk", out->workload, out->name);
		kl_lineage_ref(out->lineage, "lineage", out->workload, out->name);
		if ((err = kl_oid_parse(&oid, kl_walk_tip(walk))) < 0 ||
		    (err = put_ref(txn, finish, out->walk, &oid, "")) < 0 ||
		    (err = put_ref(txn, finish, out->lineage, &finish->forward.tip, "")) < 0)
			return err;
	}
	if (*rejected) {
		kl_lineage_ref(out->rejected, "rejected", out->workload, out->name);
		if ((err = kl_oid_parse(&oid, rejected)) < 0)
			return err;
		err = put_ref(txn, finish, out->rejected, &oid,
			      kl_walk_str(walk, "rejected_before"));
	}
	return err;
}

static int try_once(struct finish *finish, struct kl_outcome *out)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(finish->op->repo);
	git_oid notes, notes_old;
	int err;

	if ((err = KL_FAULT("finish-notes")) < 0 ||
	    (err = kl_notes_prepare(&notes, &notes_old, finish->op->repo, KL_NOTES_GATE,
				    finish->note, finish->nnote)) < 0 ||
	    (err = put_results(txn, finish, out)) < 0)
		return err;
	if (memcmp(&notes, &notes_old, sizeof(notes)))
		kl_refs_txn_update(txn, KL_NOTES_GATE, &notes,
				   git_oid_is_zero(&notes_old) ? NULL : &notes_old);
	kl_refs_txn_delete(txn, finish->op->ref, &finish->op->at);
	if ((err = KL_FAULT("finish-move")) < 0)
		return err;
	err = kl_refs_txn_commit(txn, "klineage deopt: lineage");
	return err < 0 ? err : KL_FAULT("finish-moved");
}

int kl_finish_write(struct kl_opstate *op, struct kl_outcome *out)
{
	KL_AUTO(finish_release) struct finish finish = { .op = op };
	int err;

	if (out->steps && (err = kl_forward_build(&finish.forward, op)) < 0)
		return err;
	if ((err = collect_notes(&finish)) < 0)
		return err;
	for (int i = 0;; i++) {
		git_oid at;

		err = try_once(&finish, out);
		if (err != KL_ECHANGED || i == MAX_TRIES)
			return err;
		/*
		 * another process moved a ref: fail if it is the ref of this operation, otherwise
		 * try again
		 */
		if (kl_refs_get(&at, op->repo, op->ref) < 0 || memcmp(&at, &op->at, sizeof(at)))
			return kl_error(KL_EBUSY, "the operation was changed by another process");
		kl_clock_sleep_ms(20 * (i + 1));
	}
}
