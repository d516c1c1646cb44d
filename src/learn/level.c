/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/level.h"

#include <string.h>

#include "base/error.h"

#define MOST 0.9 /* share of a diff's lines; a state that has more of them is the same code */

/* --- reading the evidence --------------------------------------------------------------------- */

static void free_lines(void *value)
{
	kl_strvec_release(value);
	free(value);
}

static struct kl_strvec *lines_of(const struct kl_surface *surface)
{
	struct kl_strvec *lines = kl_calloc(1, sizeof(*lines));

	kl_likeness_lines(lines, surface);
	return lines;
}

static int read_surface(struct kl_surface **out, struct kl_repo *repo, const git_oid *commit)
{
	git_oid tree;
	int err = kl_repo_tree_of(&tree, repo, commit);

	return err < 0 ? err : kl_surface_from_tree(out, repo, &tree, "");
}

/* Return true if the error says that a state is not here, or is not a kernel that can be read. */
static bool is_unreadable(int err)
{
	return err == KL_ENOTFOUND || err == KL_EINVALID || err == KL_ECANNOT;
}

/*
 * Add the lines, operator and author of a state of the evidence; *unread is set if it cannot be
 * read.
 */
static int add_state(bool *unread, struct kl_level_evidence *evidence, const char *hex)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	struct kl_commit commit = { 0 };
	git_oid oid;
	int err;

	if (!hex || kl_map_get(&evidence->code, hex))
		return 0;
	err = kl_oid_parse(&oid, hex);
	if (!err)
		err = kl_repo_commit_read(&commit, evidence->repo, &oid);
	if (!err)
		err = read_surface(&surface, evidence->repo, &oid);
	if (!err) {
		kl_map_put(&evidence->code, hex, lines_of(surface));
		kl_strvec_add_once(&evidence->ops, surface->contract->op);
		kl_strvec_add_once(&evidence->authors, commit.author);
	}
	kl_commit_release(&commit);
	if (!is_unreadable(err))
		return err;
	kl_error_clear();
	*unread = true;
	return 0;
}

/* Add the operators of the effect's rows that cite the evidence. */
static void add_ops(struct kl_level_evidence *evidence, const struct kl_card_evidence *row)
{
	const struct kl_card *card = evidence->card;

	for (size_t i = 0; i < card->rows.n; i++)
		if (!strcmp(card->rows.v[i].event, row->event))
			kl_strvec_add_once(&evidence->ops, card->rows.v[i].case_);
}

void kl_level_evidence_release(struct kl_level_evidence *evidence)
{
	kl_map_release(&evidence->code);
	kl_map_release(&evidence->experts);
	kl_strvec_release(&evidence->ops);
	kl_strvec_release(&evidence->authors);
	kl_strvec_release(&evidence->lineages);
}

int kl_level_evidence_load(struct kl_level_evidence *out, struct kl_repo *repo,
			   const struct kl_transitions *transitions, const struct kl_card *card)
{
	int err = 0;

	*out = (struct kl_level_evidence){
		.repo = repo,
		.transitions = transitions,
		.card = card,
		.code.free_value = free_lines,
		.experts.free_value = free_lines,
	};
	for (size_t i = 0; !err && i < card->evidence.n; i++) {
		const struct kl_card_evidence *row = &card->evidence.v[i];
		bool unread = false;

		add_ops(out, row);
		kl_strvec_add_once(&out->lineages, row->lineage);
		err = add_state(&unread, out, row->before);
		if (!err)
			err = add_state(&unread, out, row->after);
		if (!err)
			err = add_state(&unread, out, row->rederived);
		out->unread += unread;
	}
	return err;
}

/* --- code ------------------------------------------------------------------------------------- */

static struct kl_level_found nearest_state(const struct kl_level_evidence *evidence,
					   const struct kl_strvec *lines)
{
	struct kl_level_found out = { .changed = -1, .alike = -1 };
	struct kl_likeness likeness;

	for (size_t i = 0; i < evidence->code.n; i++) {
		kl_likeness_compare(&likeness, evidence->code.e[i].value, lines);
		if (likeness.alike <= out.alike)
			continue;
		out.alike = likeness.alike;
		out.changed = likeness.changed;
	}
	return out;
}

/* Return true if the state has nearly all lines that one side of the card's diffs shows. */
static bool has_diff(const struct kl_card *card, const struct kl_strvec *lines)
{
	for (size_t i = 0; i < card->carriers.n * 2; i++) {
		const struct kl_card_carrier *carrier = &card->carriers.v[i / 2];
		KL_AUTO(kl_strvec_release) struct kl_strvec shown = KL_STRVEC_INIT;

		if (carrier->form != KL_CARRIER_DIFF)
			continue;
		kl_likeness_diff_lines(&shown, carrier->text, i % 2);
		if (shown.n && (double)kl_likeness_common(&shown, lines) > MOST * (double)shown.n)
			return true;
	}
	return false;
}

static bool is_same_code(struct kl_level_found *found, const struct kl_level_evidence *evidence,
			 const struct kl_strvec *lines)
{
	struct kl_likeness likeness;

	*found = nearest_state(evidence, lines);
	likeness.changed = found->changed;
	likeness.alike = found->alike;
	if (found->alike >= 0 && kl_likeness_is_same(&likeness))
		return true;
	return evidence->unread && has_diff(evidence->card, lines);
}

/* --- lineages --------------------------------------------------------------------------------- */

/*
 * Get the lines of a lineage's K*, borrowed; NULL if the lineage is not in this repository or
 * cannot be read.
 */
static int expert_lines(const struct kl_strvec **out, struct kl_level_evidence *evidence,
			const char *lineage)
{
	const struct kl_transitions *transitions = evidence->transitions;
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	const struct kl_transition *last = NULL;
	struct kl_strvec *lines;
	int err;

	if ((*out = kl_map_get(&evidence->experts, lineage)))
		return 0;
	for (size_t i = 0; i < transitions->n; i++)
		if (!strcmp(transitions->v[i].lineage, lineage))
			last = &transitions->v[i];
	if (!last)
		return 0;
	err = read_surface(&surface, evidence->repo, &last->after);
	if (is_unreadable(err)) {
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	lines = lines_of(surface);
	kl_map_put(&evidence->experts, lineage, lines);
	*out = lines;
	return 0;
}

/* Check whether the state's lineage, by name or by its K*, is one that the card was learned from. */
static int is_same_lineage(bool *out, struct kl_level_evidence *evidence, const char *lineage)
{
	const struct kl_strvec *own, *other;
	int err;

	*out = kl_strvec_has(&evidence->lineages, lineage);
	if (*out || (err = expert_lines(&own, evidence, lineage)) < 0 || !own)
		return *out ? 0 : err;
	for (size_t i = 0; !*out && i < evidence->lineages.n; i++) {
		struct kl_likeness likeness;

		if ((err = expert_lines(&other, evidence, evidence->lineages.v[i])) < 0)
			return err;
		if (!other)
			continue;
		kl_likeness_compare(&likeness, own, other);
		*out = kl_likeness_is_same(&likeness);
	}
	return 0;
}

/* Check whether the state's operator or the name of its workload is one of the evidence. */
static bool is_same_workload(const struct kl_level_evidence *evidence,
			     const struct kl_contract *contract)
{
	size_t n = strlen(contract->workload);

	for (size_t i = 0; i < evidence->lineages.n; i++)
		if (!strncmp(evidence->lineages.v[i], contract->workload, n) &&
		    evidence->lineages.v[i][n] == '/')
			return true;
	return kl_strvec_has(&evidence->ops, contract->op);
}

static int has_other_author(bool *out, const struct kl_level_evidence *evidence, const git_oid *oid)
{
	struct kl_commit commit = { 0 };
	int err = kl_repo_commit_read(&commit, evidence->repo, oid);

	*out = !err && !evidence->unread && !kl_strvec_has(&evidence->authors, commit.author);
	kl_commit_release(&commit);
	return err;
}

static void find_pair(bool *language, bool *platform, const struct kl_card *card,
		      const struct kl_level_state *state)
{
	*language = *platform = false;
	for (size_t i = 0; i < card->evidence.n; i++) {
		*language |= !strcmp(card->evidence.v[i].language,
				     state->surface->contract->language->name);
		*platform |= !strcmp(card->evidence.v[i].platform, state->platform);
	}
}

static int level_of_lineage(enum kl_level *out, struct kl_level_evidence *evidence,
			    const struct kl_level_state *state)
{
	bool same = false, other;
	int err = state->lineage ? is_same_lineage(&same, evidence, state->lineage) : 0;

	*out = KL_LEVEL_OTHER_STATE;
	if (err < 0 || same)
		return err;
	if (!is_same_workload(evidence, state->surface->contract)) {
		*out = KL_LEVEL_OTHER_WORKLOAD;
		return 0;
	}
	if (!state->lineage || evidence->unread == evidence->card->evidence.n)
		return 0;
	if ((err = has_other_author(&other, evidence, &state->commit)) < 0)
		return err;
	*out = other ? KL_LEVEL_OTHER_AUTHOR : KL_LEVEL_OTHER_LINEAGE;
	return 0;
}

int kl_level_find(struct kl_level_found *out, struct kl_level_evidence *evidence,
		  const struct kl_level_state *state)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;
	bool language, platform, same;

	kl_likeness_lines(&lines, state->surface);
	same = is_same_code(out, evidence, &lines);
	find_pair(&language, &platform, evidence->card, state);
	out->level = same      ? KL_LEVEL_SAME_CODE :
		     !language ? KL_LEVEL_OTHER_LANGUAGE :
				 KL_LEVEL_OTHER_PLATFORM;
	return same || !language || !platform ? 0 : level_of_lineage(&out->level, evidence, state);
}
