/* SPDX-License-Identifier: Apache-2.0 */
#include "search/candidate.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "event/speed.h"

#define MORE_MEASUREMENTS 2

/* --- judging ------------------------------------------------------------------------------- */

/*
 * Return true if the kernel must be measured again because it could be faster or slower than the
 * root. A cached verdict is never measured again, so that a search that was killed and continued
 * finds the same speeds. A verdict from elsewhere is always cached: it is measured again once.
 */
static bool is_ambiguous(const struct kl_judgement *judgement, const struct kl_gate *gate)
{
	const struct kl_event *event = judgement->event;
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);
	bool is_final = kl_gate_is_remote(gate) ? kl_gate_is_again(gate, event) : judgement->cached;

	return !judgement->deferred && !is_final && event->verdict == KL_VERDICT_PASS && parent &&
	       parent->speed == KL_SPEED_AMBIGUOUS;
}

static int judge_once(struct kl_judgement **out, struct kl_gate *gate,
		      const struct kl_surface *surface, const struct kl_surface *root, bool anew)
{
	int err = anew ? kl_gate_judge_anew(out, gate, surface, root) :
			 kl_gate_judge(out, gate, surface, root);

	if (err < 0)
		return err;
	if (!(*out)->deferred && (*out)->event->verdict == KL_VERDICT_NOT_RUN)
		return kl_error(KL_ECANNOT, "the gate did not run: %s", (*out)->event->message);
	return 0;
}

int kl_candidate_judge(struct kl_judgement **out, struct kl_gate *gate,
		       const struct kl_surface *surface, const struct kl_surface *root, bool anew)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	int err = judge_once(&judgement, gate, surface, root, anew);

	for (int i = 0; !err && i < MORE_MEASUREMENTS && is_ambiguous(judgement, gate); i++) {
		kl_judgement_free(kl_steal(&judgement));
		err = judge_once(&judgement, gate, surface, root, true);
	}
	if (err < 0)
		return err;
	*out = kl_steal(&judgement);
	return 0;
}

/* --- observing ----------------------------------------------------------------------------- */

static enum kl_ticket_outcome failure_outcome(enum kl_failure failure)
{
	switch (failure) {
	case KL_FAILURE_LAUNCH:
		return KL_OUTCOME_LAUNCH;
	case KL_FAILURE_FAULT:
		return KL_OUTCOME_FAULT;
	case KL_FAILURE_HANG:
		return KL_OUTCOME_HANG;
	case KL_FAILURE_WRONG_ALL:
	case KL_FAILURE_WRONG_EDGE:
	case KL_FAILURE_NONDETERMINISTIC:
		return KL_OUTCOME_WRONG;
	default: /* includes kernels that were refused as cheats */
		return KL_OUTCOME_COMPILE;
	}
}

/*
 * Fill in the speed at each case of the contract. If the profile has no cases, set nothing: then
 * only the speed of the whole counts.
 */
static void observe_cases(struct kl_observation *out, const struct kl_profile *profile)
{
	if (!profile->npoint)
		return;
	out->case_ppm = kl_calloc(profile->npoint, sizeof(*out->case_ppm));
	for (size_t i = 0; i < profile->npoint; i++) {
		const struct kl_comparison *parent = kl_comparisons_parent(&profile->point[i].vs);

		out->case_ppm[i] = parent ? parent->ratio.ppm : KL_MILLION;
	}
	out->ncase = profile->npoint;
}

static void observe_sizes(struct kl_observation *out, const struct kl_event *event,
			  const struct kl_surface *surface)
{
	KL_AUTO(kl_buf_release) struct kl_buf features = KL_BUF_INIT;

	for (size_t i = 0; i < surface->nfile; i++)
		out->bytes += (int64_t)surface->file[i].len;
	for (size_t i = 0; i < event->facts.features.n; i++)
		kl_buf_addf(&features, "%s%s", i ? "," : "", event->facts.features.v[i]);
	out->mechanisms = kl_buf_detach(&features);
}

void kl_candidate_observe(struct kl_observation *out, const struct kl_event *event,
			  const struct kl_surface *surface)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);

	snprintf(out->surface, sizeof(out->surface), "%s", surface->digest);
	if (event->verdict == KL_VERDICT_FAIL && kl_event_is_fail(event)) {
		out->outcome = failure_outcome(event->failure);
		return;
	}
	/* The kernel is correct but was not timed against the root, so policies cannot rank it. */
	if (event->verdict == KL_VERDICT_INCONCLUSIVE || !parent || parent->ratio.ppm < 1) {
		out->outcome = KL_OUTCOME_NONE;
		return;
	}
	out->outcome = KL_OUTCOME_CORRECT;
	out->speed_ppm = parent->ratio.ppm;
	out->low_ppm = parent->ratio.lo;
	out->high_ppm = parent->ratio.hi;
	observe_cases(out, &event->profile);
	observe_sizes(out, event, surface);
}

void kl_candidate_observe_root(struct kl_observation *out, const struct kl_event *event,
			       const struct kl_surface *surface)
{
	snprintf(out->surface, sizeof(out->surface), "%s", surface->digest);
	out->parent = -1;
	out->outcome = KL_OUTCOME_CORRECT;
	out->speed_ppm = out->low_ppm = out->high_ppm = KL_MILLION;
	observe_cases(out, &event->profile);
	for (size_t i = 0; i < out->ncase; i++)
		out->case_ppm[i] = KL_MILLION;
	observe_sizes(out, event, surface);
}

/* --- committing ---------------------------------------------------------------------------- */

static int edit_file(git_oid *tree, struct kl_repo *repo, const char *dir,
		     const struct kl_file *file)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s%s%s", dir, *dir ? "/" : "", file->path);
	struct kl_tree_edit edit = {
		.path = path, .data = file->data, .len = file->len, .mode = file->mode
	};

	return kl_repo_tree_edit(tree, repo, tree, &edit, 1);
}

static void add_trailer(struct kl_buf *out, const char *key, const char *value)
{
	if (value)
		kl_buf_addf(out, "Klineage-%s: %s\n", key, value);
}

static void commit_message(struct kl_buf *out, const struct kl_candidate_text *text)
{
	kl_buf_addf(out, "%s: %s\n\n", text->action ? text->action : "candidate",
		    text->class_ ? text->class_ : "correct");
	if (text->why && *text->why)
		kl_buf_addf(out, "%s\n\n", text->why);
	kl_buf_addf(out, "Klineage-Ticket: %" PRId64 "\n", text->ticket);
	add_trailer(out, "Policy", text->policy);
	add_trailer(out, "Form", text->form);
	add_trailer(out, "Class", text->class_);
	add_trailer(out, "Rewriter", text->rewriter);
}

int kl_candidate_commit(git_oid *out, struct kl_repo *repo, const git_oid *parent,
			const struct kl_surface *from, const struct kl_surface *to,
			const struct kl_candidate_text *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	KL_AUTO(kl_commit_release) struct kl_commit commit = { 0 };
	struct kl_commit_spec spec = { .parent = parent, .nparent = 1 };
	int err;

	if ((err = kl_repo_identity(&spec.author, repo)) < 0 ||
	    (err = kl_repo_commit_read(&commit, repo, parent)) < 0)
		return err;
	spec.tree = commit.tree;
	spec.time = commit.author_time;
	spec.offset = commit.author_offset;
	for (size_t i = 0; i < to->nfile; i++)
		if (!kl_file_is_same(&from->file[i], &to->file[i]) &&
		    (err = edit_file(&spec.tree, repo, to->dir, &to->file[i])) < 0)
			return err;
	commit_message(&message, text);
	spec.message = message.ptr;
	return kl_repo_commit_write(out, repo, &spec);
}
