/* SPDX-License-Identifier: Apache-2.0 */
#include "report/content.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "card/library.h"
#include "plan/expr.h"
#include "report/forge.h"

#define MILLION 1000000

void kl_report_content_release(struct kl_report_content *content)
{
	for (size_t i = 0; content->rejected && i < content->rejections.n; i++) {
		struct kl_report_rejected *rejected = &content->rejected[i];

		free(rejected->event);
		free(rejected->message);
		free(rejected->element);
		free(rejected->input);
		free(rejected->clause);
		free(rejected->card);
	}
	for (size_t i = 0; i < content->ncard; i++)
		kl_card_free(content->card[i]);
	free(content->card);
	free(content->rejected);
	kl_view_rejections_release(&content->rejections);
	kl_surface_free(content->surface);
	free(content->id);
	free(content->device);
	free(content->driver);
	free(content->compiler);
	free(content->first);
	free(content->last);
	free(content->reference);
	free(content->speed);
	free(content->forge);
	*content = (struct kl_report_content){ 0 };
}

/* --- speeds -------------------------------------------------------------------------------- */

/* Set the share of a state from the share of a neighbour and the ratio between both. */
static void chain_share(struct kl_report_speed *to, const struct kl_report_speed *from,
			const struct kl_ratio *between, bool inverted)
{
	struct kl_chain chain = { 0 };
	struct kl_comparison first = { .ratio = from->share }, second = { .ratio = *between };

	if (to->share.ppm > 0 || from->share.ppm <= 0 || between->ppm <= 0)
		return;
	if (inverted)
		second = kl_comparison_inverted(&second);
	/* the expert itself has the share 1 without an interval */
	if (from->share.lo != from->share.hi && !kl_chain_add(&chain, &first, 0))
		return;
	if (kl_chain_add(&chain, &second, 0))
		to->share = kl_chain_ratio(&chain).ratio;
}

void kl_report_chain_speeds(struct kl_report_content *content)
{
	const struct kl_view *view = content->view;

	if (!*content->reference)
		content->speed[view->n - 1].share = (struct kl_ratio){ MILLION, MILLION, MILLION };
	for (size_t i = view->n - 1; i-- > 0;)
		chain_share(&content->speed[i], &content->speed[i + 1], &view->step[i + 1].prev,
			    true);
	for (size_t i = 1; i < view->n; i++)
		chain_share(&content->speed[i], &content->speed[i - 1], &view->step[i].prev, false);
}

/* Choose the fastest of the kernels that the event's kernel was compared with. */
static void choose_reference(struct kl_report_content *content, const struct kl_event *event)
{
	const struct kl_comparisons *vs = &event->profile.vs;
	const struct kl_comparison *best = NULL;

	for (size_t i = 0; i < vs->n; i++)
		if (strcmp(vs->v[i].what, "parent") != 0 && *vs->v[i].what &&
		    vs->v[i].ratio.ppm > 0 && (!best || vs->v[i].ratio.ppm < best->ratio.ppm))
			best = &vs->v[i];
	if (!best)
		return;
	free(content->reference);
	content->reference = kl_strdup(best->what);
}

static void note_place(struct kl_report_content *content, const struct kl_event *event)
{
	if (!*content->device) {
		free(content->device);
		free(content->driver);
		free(content->compiler);
		content->device = kl_strdup(event->place.device);
		content->driver = kl_strdup(event->place.driver);
		content->compiler = kl_strdup(event->place.compiler);
	}
	if (strlen(event->time) < 10)
		return;
	if (!*content->first || strncmp(event->time, content->first, 10) < 0) {
		free(content->first);
		content->first = kl_strndup(event->time, 10);
	}
	if (strncmp(event->time, content->last, 10) > 0) {
		free(content->last);
		content->last = kl_strndup(event->time, 10);
	}
}

static int collect_events(struct kl_report_content *content, struct kl_repo *repo)
{
	const struct kl_view *view = content->view;

	for (size_t i = view->n; i-- > 0;) {
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
		const struct kl_comparison *against;
		int err = kl_view_event(&event, repo, &view->step[i].commit);

		if (err < 0 && err != KL_ENOTFOUND)
			return err;
		kl_error_clear();
		if (!event)
			continue;
		note_place(content, event);
		if (!*content->reference)
			choose_reference(content, event);
		against = *content->reference ?
				  kl_comparisons_find(&event->profile.vs, content->reference) :
				  NULL;
		if (!against || against->ratio.ppm <= 0)
			continue;
		content->speed[i] = (struct kl_report_speed){ against->ratio, true };
	}
	kl_report_chain_speeds(content);
	return 0;
}

/* --- contract and cards -------------------------------------------------------------------- */

/* Compute how much a call must read, write and calculate, as far as the contract says so. */
static int compute_floor(struct kl_report_content *content)
{
	const struct kl_contract *contract = content->surface->contract;
	const struct kl_dims *dims = &contract->perf[0].dims;
	int err = 0;

	if (contract->floor.bytes)
		err = kl_expr_eval(&content->bytes, contract->floor.bytes, dims->v);
	else if (contract->floor.bytes_auto)
		err = kl_contract_bytes(&content->bytes, contract, dims);
	if (!err && contract->floor.flops)
		err = kl_expr_eval(&content->flops, contract->floor.flops, dims->v);
	return err;
}

/* Read the surface of K*. A report does without one that cannot be read, because fsck reports it. */
static int collect_surface(struct kl_report_content *content, struct kl_repo *repo)
{
	const struct kl_view *view = content->view;
	git_oid tree;
	int err = kl_repo_tree_of(&tree, repo, &view->step[view->n - 1].commit);

	if (!err)
		err = kl_surface_from_tree(&content->surface, repo, &tree, "");
	if (!err)
		err = compute_floor(content);
	if (err == KL_EINTR)
		return err;
	kl_error_clear();
	return 0;
}

bool kl_report_is_evidence(const struct kl_card *card, const struct kl_view *view, size_t i)
{
	KL_AUTO(kl_freep) char *lineage = kl_asprintf("%s/%s", view->workload, view->name);
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &view->step[i].commit);
	for (size_t k = 0; k < card->evidence.n; k++) {
		const struct kl_card_evidence *evidence = &card->evidence.v[k];

		if ((evidence->after && !strcmp(evidence->after, hex)) ||
		    (evidence->lineage && !strcmp(evidence->lineage, lineage) &&
		     evidence->step == (int64_t)i))
			return true;
	}
	return false;
}

static int collect_cards(struct kl_report_content *content, struct kl_repo *repo)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	int err = kl_library_open(&library, repo);

	for (size_t i = 0; !err && i < kl_library_count(library); i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
		bool any = false;

		if (kl_library_card_at(&card, library, i) < 0) {
			kl_error_clear();
			continue;
		}
		for (size_t k = 1; k < content->view->n && !any; k++)
			any = kl_report_is_evidence(card, content->view, k);
		if (!any)
			continue;
		KL_GROW(content->card, content->ncard + 1, content->card_alloc);
		content->card[content->ncard++] = kl_steal(&card);
	}
	return err;
}

int kl_report_collect(struct kl_report_content *out, struct kl_repo *repo,
		      const struct kl_view *view)
{
	int err;

	*out = (struct kl_report_content){
		.view = view,
		.id = kl_asprintf("%s/%s", view->workload, view->name),
		.device = kl_strdup(""),
		.driver = kl_strdup(""),
		.compiler = kl_strdup(""),
		.first = kl_strdup(""),
		.last = kl_strdup(""),
		.reference = kl_strdup(""),
		.speed = kl_calloc(view->n, sizeof(*out->speed)),
		.forge = kl_forge_of(repo, &view->step[view->n - 1].commit),
	};
	if ((err = collect_events(out, repo)) < 0 || (err = collect_surface(out, repo)) < 0 ||
	    (err = collect_cards(out, repo)) < 0 ||
	    (err = kl_report_collect_rejected(out, repo)) < 0)
		kl_report_content_release(out);
	return err;
}
