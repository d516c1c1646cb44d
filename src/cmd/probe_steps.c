/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/probe_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/probe_card.h"
#include "lineage/view.h"

void kl_probe_steps_release(struct kl_probe_steps *steps)
{
	for (size_t i = 0; i < steps->n; i++) {
		free(steps->v[i].label);
		free(steps->v[i].what);
	}
	free(steps->v);
	kl_card_free(steps->card);
	kl_library_free(steps->library);
	kl_transitions_release(&steps->transitions);
	kl_selection_release(&steps->selection[0]);
	kl_selection_release(&steps->selection[1]);
	*steps = (struct kl_probe_steps){ .n = 0 };
}

static void add_step(struct kl_probe_steps *out, char *label, const char *what,
		     const struct kl_surface *before, const struct kl_surface *after)
{
	KL_GROW(out->v, out->n + 1, out->alloc);
	out->v[out->n++] = (struct kl_probe_step){
		.label = label,
		.what = kl_strdup(what ? what : ""),
		.before = before,
		.after = after,
	};
}

static void add_transition(struct kl_probe_steps *out, const struct kl_transition *transition)
{
	struct kl_probe_step *step;

	add_step(out, kl_asprintf("%s:%d", transition->lineage, transition->step.number),
		 transition->step.mechanism, transition->from, transition->to);
	step = &out->v[out->n - 1];
	step->event[1] = transition->event;
	for (size_t i = 0; i < out->transitions.n; i++)
		if (git_oid_equal(&out->transitions.v[i].after, &transition->before))
			step->event[0] = out->transitions.v[i].event;
}

/* Split "<lineage>:<step>". Without a step, *number is 0. */
static int split_step(char **lineage, int64_t *number, const char *what)
{
	const char *colon = strrchr(what, ':');
	char *end = NULL;

	*number = 0;
	*lineage = kl_strdup(what);
	if (!colon)
		return 0;
	*number = strtoll(colon + 1, &end, 10);
	if (!colon[1] || *end || *number < 1)
		return kl_error(KL_EUSAGE, "'%s' is not the number of a step: 1 is K_0 to K_1",
				colon + 1);
	(*lineage)[colon - what] = '\0';
	return 0;
}

static int find_lineage(struct kl_probe_steps *out, const char *what)
{
	KL_AUTO(kl_freep) char *lineage = NULL, *workload = NULL, *name = NULL, *ref = NULL;
	int64_t number = 0;
	int err = what ? split_step(&lineage, &number, what) : 0;

	if (err < 0 || (err = kl_view_pick(&workload, &name, out->repo, lineage)) < 0)
		return err;
	ref = kl_asprintf("%s/%s", workload, name);
	if ((err = kl_transitions_load(&out->transitions, out->repo, ref)) < 0)
		return err;
	for (size_t i = 0; i < out->transitions.n; i++)
		if (!number || out->transitions.v[i].step.number == number)
			add_transition(out, &out->transitions.v[i]);
	if (!out->n)
		return kl_error(KL_ENOTFOUND, "lineage %s has no step %lld that can be probed", ref,
				(long long)number);
	return 0;
}

/* Find the steps that a card was learned from. Return KL_ENOTFOUND if there is no such card. */
static int find_card(struct kl_probe_steps *out, const char *what)
{
	const struct kl_card *card;
	size_t at;
	int err = kl_library_open(&out->library, out->repo);

	if (err < 0 || (err = kl_library_find(&at, out->library, what)) < 0 ||
	    (err = kl_library_card_at(&out->card, out->library, at)) < 0 ||
	    (err = kl_transitions_load(&out->transitions, out->repo, NULL)) < 0)
		return err;
	card = out->card;
	for (size_t i = 0; i < out->transitions.n; i++)
		for (size_t k = 0; k < card->evidence.n; k++)
			if (!strcmp(card->evidence.v[k].event, out->transitions.v[i].event->id)) {
				add_transition(out, &out->transitions.v[i]);
				break;
			}
	if (!out->n)
		return kl_error_hint(kl_error(KL_ECANNOT,
					      "none of the %zu steps that card %s was learned from "
					      "is in this repository",
					      card->evidence.n, card->id),
				     "import their lineages: git klineage import <directory>");
	return 0;
}

static int find_revisions(struct kl_probe_steps *out, char *const *rev, const char *workload)
{
	int err = 0;

	for (int i = 0; i < 2 && !err; i++)
		err = kl_select(&out->selection[i], out->repo, KL_STATE_REV, rev[i], workload);
	if (err < 0)
		return err;
	if (!strcmp(out->selection[0].candidate->digest, out->selection[1].candidate->digest))
		return kl_error(KL_EUSAGE, "the kernel is the same in %s and %s", rev[0], rev[1]);
	add_step(out, kl_asprintf("%s..%s", rev[0], rev[1]), NULL, out->selection[0].candidate,
		 out->selection[1].candidate);
	return 0;
}

int kl_probe_steps_find(struct kl_probe_steps *out, struct kl_repo *repo, int argc, char **argv,
			const char *workload)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec refs = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *lineage = NULL;
	int64_t number;
	int err;

	*out = (struct kl_probe_steps){ .repo = repo };
	if (argc == 2)
		return find_revisions(out, argv, workload);
	if (!argc)
		return find_lineage(out, NULL);
	if (split_step(&lineage, &number, argv[0]) < 0 || kl_view_list(&refs, repo, lineage) < 0)
		kl_error_clear();
	if (refs.n || strchr(argv[0], ':') || strchr(argv[0], '/'))
		return find_lineage(out, argv[0]);
	err = find_card(out, argv[0]);
	if (err == KL_ENOTFOUND)
		return kl_error_hint(
			kl_error(KL_ENOTFOUND, "no lineage and no card is named '%s'", argv[0]),
			"'git klineage log' lists lineages, 'git klineage skills' cards; "
			"two revisions can be compared, too");
	return err;
}

/* --- what was found ----------------------------------------------------------------------------- */

#define COMPILED "compiled code"

/* Append what the compiled step needs of a device that the state before did not need. */
static void ask_resources(struct kl_strvec *texts, struct kl_strvec *sources,
			  const struct kl_step_resources *before,
			  const struct kl_step_resources *after)
{
	if (!before->device || !after->device || after->smem <= before->smem)
		return;
	kl_strvec_pushf(texts, "smem_optin >= %lld", (long long)after->smem);
	kl_strvec_push(sources, COMPILED);
}

/* Return a string constant equal to `name`, because findings borrow the names of their sources. */
static const char *source_name(const char *name)
{
	static const char *const names[] = { "domain", "launch plan", COMPILED,
					     KL_PROBE_CARD_SOURCE };

	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return names[i];
	return "";
}

int kl_probe_step_learn(struct kl_probe_findings *out, const struct kl_probing *probe,
			const struct kl_probe_step *step, const struct kl_card *card)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT,
						    sources = KL_STRVEC_INIT;
	struct kl_probe_finding_question *question;
	struct kl_step_facts facts;
	int err = kl_probe_findings_stated(&texts, &sources, step->before, step->after);

	if (!err && card)
		err = kl_probe_card_ask(&texts, &sources, card);
	if (err < 0)
		return err;
	kl_step_facts_make(&facts, probe, 1, step->event);
	ask_resources(&texts, &sources, &facts.resources[0], &facts.resources[1]);
	question = kl_calloc(texts.n + 1, sizeof(*question));
	for (size_t i = 0; i < texts.n; i++)
		question[i] = (struct kl_probe_finding_question){
			.text = texts.v[i],
			.source = source_name(sources.v[i]),
		};
	kl_probe_findings_make(out, probe, 1, question, texts.n);
	out->facts = facts;
	free(question);
	return kl_step_facts_platforms(&out->facts, probe, 1);
}
