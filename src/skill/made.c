/* SPDX-License-Identifier: Apache-2.0 */
#include "skill/made.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "gate/noting.h"
#include "lineage/record.h"
#include "lineage/step.h"
#include "repo/refs.h"
#include "rewrite/proposal.h"

#define MAX_TRIES 20
#define MORE_MEASUREMENTS 2

static const git_oid none;

static bool is_none(const git_oid *oid)
{
	return !memcmp(oid, &none, sizeof(none));
}

const char *kl_made_speed(struct kl_card_ratio *ratio, const json_t *event)
{
	size_t i;
	json_t *v;

	*ratio = (struct kl_card_ratio){ 0 };
	json_array_foreach(json_object_get(json_object_get(event, "profile"), "vs"), i, v) {
		if (strcmp(kl_json_str_or(v, "what", ""), "parent"))
			continue;
		ratio->ppm = kl_record_ratio(event, &ratio->lo, &ratio->hi);
		return kl_json_str_or(v, "verdict", "");
	}
	return "";
}

static bool is_ambiguous(const struct kl_verdict *v)
{
	struct kl_card_ratio ratio;

	return !strcmp(v->verdict, "pass") && !strcmp(kl_made_speed(&ratio, v->event), "ambiguous");
}

int kl_made_judge(struct kl_verdict **out, struct kl_gate *g, const struct kl_surface *s,
		  const struct kl_surface *parent, bool anew)
{
	KL_AUTO(kl_verdict_freep) struct kl_verdict *v = NULL;
	int err = anew ? kl_gate_judge_anew(&v, g, s, parent) : kl_gate_judge(&v, g, s, parent);

	for (int i = 0; !err && i < MORE_MEASUREMENTS && !v->deferred && is_ambiguous(v); i++) {
		kl_verdict_free(kl_steal(&v));
		err = kl_gate_judge_anew(&v, g, s, parent);
	}
	if (err)
		return err;
	if (v->deferred)
		return kl_error(KL_ECANNOT, "the gate judges elsewhere: cards are tried where it answers "
				"at once");
	if (!strcmp(v->verdict, "not-run"))
		return kl_error(KL_ECANNOT, "the gate did not run: %s", v->message ? v->message : "");
	*out = kl_steal(&v);
	return 0;
}

/* --- commits ----------------------------------------------------------------------------- */

static int edit_tree(git_oid *out, struct kl_repo *r, const git_oid *tree, const char *dir,
		     const struct kl_file *file, size_t n)
{
	struct kl_tree_edit *e = kl_calloc(n + 1, sizeof(*e));
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	int err;

	for (size_t i = 0; i < n; i++) {
		kl_strvec_pushf(&paths, "%s%s%s", dir, *dir ? "/" : "", file[i].path);
		e[i] = (struct kl_tree_edit){ .data = file[i].data, .len = file[i].len };
	}
	for (size_t i = 0; i < n; i++)
		e[i].path = paths.v[i];
	err = kl_repo_tree_edit(out, r, tree, e, n);
	free(e);
	return err;
}

static int write_commit(git_oid *out, struct kl_repo *r, const git_oid *tree, const git_oid *parent,
			size_t n, const char *message)
{
	return kl_repo_commit_write(out, r, &(struct kl_commit_spec){
		.tree = *tree, .parent = parent, .nparent = n, .message = message,
	});
}

int kl_made_root(git_oid *out, struct kl_repo *r, const git_oid *parent, const struct kl_surface *s)
{
	KL_AUTO(kl_freep) char *message = kl_asprintf("%s: the worktree as it was\n",
						      s->contract->workload);
	git_oid tree;
	int err = kl_repo_tree_of(&tree, r, parent);

	/* a file may be source and oracle: one set after the other */
	if (!err)
		err = edit_tree(&tree, r, &tree, s->dir, s->file, s->nfile);
	if (!err)
		err = edit_tree(&tree, r, &tree, s->dir, s->oracle, s->noracle);
	if (!err)
		err = edit_tree(&tree, r, &tree, s->dir, &s->contract_file, 1);
	return err ? err : write_commit(out, r, &tree, parent, 1, message);
}

static char *copy(const char *s)
{
	return s && *s ? kl_strdup(s) : NULL;
}

static void message_of(struct kl_buf *out, const struct kl_made *m)
{
	KL_AUTO(kl_step_release) struct kl_step s = {
		.kind = *m->class_ ? KL_STEP_REJECTED : KL_STEP_FORWARD, .forward = true,
		.number = m->number, .action = kl_strdup(m->card->action ? m->card->action : "apply"),
		.mechanism = copy(m->card->mechanism), .locus = kl_proposal_locus(m->from, m->to),
		.text = kl_asprintf("%s\n\nBy card %s, %s.", m->card->intent, m->card->id, m->how),
		.class_ = copy(m->class_), .rewriter = kl_strdup("card"),
	};

	kl_step_message(out, &s);
	kl_buf_addf(out, "Klineage-Skill: %s@%s\n", m->card->id, m->blob);
}

/* the sources that changed, and nothing else */
static int changed_tree(git_oid *out, const struct kl_made *m)
{
	int err = kl_repo_tree_of(out, m->repo, &m->parent);

	for (size_t i = 0; !err && i < m->to->nfile; i++) {
		const struct kl_file *a = &m->from->file[i], *b = &m->to->file[i];

		if (a->len != b->len || memcmp(a->data, b->data, b->len))
			err = edit_tree(out, m->repo, out, m->to->dir, b, 1);
	}
	return err;
}

/* --- keeping it ----------------------------------------------------------------------------- */

static int read_ref(git_oid *out, struct kl_repo *r, const char *ref)
{
	int err = kl_refs_get(out, r, ref);

	if (err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	*out = none;
	return 0;
}

static int try_keep(const git_oid *commit, const struct kl_made *m, const struct kl_noting *n,
		    const char *message)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *t = kl_refs_txn_new(m->repo);
	git_oid tree, was, notes, notes_was, link, parent[2] = { *commit };
	int err = read_ref(&was, m->repo, m->chain);

	if (err || (err = kl_repo_tree_of(&tree, m->repo, commit)))
		return err;
	parent[1] = was;
	if ((err = write_commit(&link, m->repo, &tree, parent, is_none(&was) ? 1 : 2, message)) ||
	    (err = kl_notes_prepare(&notes, &notes_was, m->repo, KL_NOTES_GATE, n->note, n->n)))
		return err;
	if (memcmp(&notes, &notes_was, sizeof(notes)))
		kl_refs_txn_update(t, KL_NOTES_GATE, &notes, is_none(&notes_was) ? NULL : &notes_was);
	kl_refs_txn_update(t, m->chain, &link, is_none(&was) ? NULL : &was);
	if (m->branch)
		kl_refs_txn_update(t, m->branch, commit, is_none(&m->branch_was) ? NULL : &m->branch_was);
	if ((err = KL_FAULT("made-move")) < 0)
		return err;
	return kl_refs_txn_commit(t, "klineage: a card was tried");
}

static int keep(const git_oid *commit, const struct kl_made *m, const char *message)
{
	KL_AUTO(kl_noting_release) struct kl_noting n = { .repo = m->repo };
	KL_AUTO(kl_freep) char *link = NULL;
	const char *subject = strchr(message, '\n');
	int err = kl_noting_add(&n, commit, m->event);

	if (err < 0)
		return err;
	n.note[0].line = n.texts.v[0];
	link = kl_asprintf("kept: %.*s\n", (int)(subject ? subject - message : 0), message);
	for (int i = 0; ; i++) {
		git_oid at;

		err = try_keep(commit, m, &n, link);
		if (err != KL_ECHANGED || i == MAX_TRIES)
			return err;
		/* notes and chain may move under us, and are read again; the branch may not */
		if (m->branch && (read_ref(&at, m->repo, m->branch) < 0 ||
				  memcmp(&at, &m->branch_was, sizeof(at))))
			return kl_error(KL_ECHANGED, "'%s' was moved by somebody else", m->branch);
		kl_clock_sleep_ms(20 * (i + 1));
	}
}

int kl_made_put(git_oid *out, const struct kl_made *m)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	git_oid tree, commit;
	int err = changed_tree(&tree, m);

	if (err < 0)
		return err;
	message_of(&message, m);
	if ((err = write_commit(&commit, m->repo, &tree, &m->parent, 1, message.ptr)) < 0 ||
	    (err = keep(&commit, m, message.ptr)) < 0)
		return err;
	*out = commit;
	return 0;
}
