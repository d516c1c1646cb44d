/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage/spend.h"

#include <string.h>

#include "base/error.h"
#include "event/event.h"
#include "model/provider/usage.h"
#include "repo/notes.h"
#include "walk/opstate.h"

void kl_spend_release(struct kl_spend *spend)
{
	for (size_t i = 0; i < spend->n; i++) {
		free(spend->phase[i].name);
		free(spend->phase[i].phase);
	}
	free(spend->phase);
	free(spend->point);
	free(spend->workload);
	*spend = (struct kl_spend){ 0 };
}

struct kl_usage kl_spend_usage(const struct kl_spend *spend)
{
	struct kl_usage sum = { 0 };

	for (size_t i = 0; i < spend->n; i++)
		kl_usage_add(&sum, &spend->phase[i].usage);
	return sum;
}

/* --- collecting the times of passing states ------------------------------------- */

struct measured {
	char time[21];
	int64_t ns;
};

struct gated {
	const char *workload;
	struct measured *m;
	size_t n, alloc;
};

static void gated_release(struct gated *gated)
{
	free(gated->m);
}

static void add_event(struct gated *gated, const struct kl_event *event)
{
	if (event->kind != KL_KIND_GATE || event->verdict != KL_VERDICT_PASS ||
	    event->profile.ns <= 0 || strlen(event->time) != 20 ||
	    strcmp(event->workload, gated->workload))
		return;
	KL_GROW(gated->m, gated->n + 1, gated->alloc);
	memcpy(gated->m[gated->n].time, event->time, sizeof(gated->m->time));
	gated->m[gated->n++].ns = event->profile.ns;
}

/* Add the events in a note. Skip lines that are not events, because fsck reports them. */
static int add_lines(const git_oid *commit, const char *text, size_t len, void *payload)
{
	for (const char *at = text, *end = text + len; at < end;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((nl ? nl : end) - at);
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		if (n && !kl_event_parse(&event, at, n))
			add_event(payload, event);
		at += n + 1;
	}
	kl_error_clear();
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct measured *first = a, *second = b;

	return strcmp(first->time, second->time);
}

/* Load the events in the notes and the events of a walk in progress, and sort all by time. */
static int load_gated(struct gated *gated, struct kl_repo *repo)
{
	struct kl_opstate op;
	int err = kl_notes_each(repo, KL_NOTES_GATE, add_lines, gated);

	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	err = kl_opstate_load(&op, repo);
	if (!err)
		add_lines(NULL, op.events.ptr, op.events.len, gated);
	kl_opstate_release(&op);
	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	if (gated->n)
		qsort(gated->m, gated->n, sizeof(*gated->m), by_time);
	return 0;
}

/* --- adding up the ledger ---------------------------------------------------------- */

static struct kl_spend_phase *find_phase(struct kl_spend *spend,
					 const struct kl_ledger_entry *entry)
{
	struct kl_spend_phase *phase;

	for (size_t i = 0; i < spend->n; i++)
		if (!strcmp(spend->phase[i].name, entry->name) &&
		    !strcmp(spend->phase[i].phase, entry->phase) &&
		    spend->phase[i].budget == entry->budget)
			return &spend->phase[i];
	KL_GROW(spend->phase, spend->n + 1, spend->alloc);
	phase = &spend->phase[spend->n++];
	*phase = (struct kl_spend_phase){
		.name = kl_strdup(entry->name),
		.phase = kl_strdup(entry->phase),
		.budget = entry->budget,
	};
	return phase;
}

static void add_entry(struct kl_spend *spend, const struct kl_ledger_entry *entry)
{
	struct kl_spend_phase *phase = find_phase(spend, entry);

	if (entry->kind == KL_LEDGER_RESERVE) {
		phase->requests++;
		phase->reserved += entry->nano;
		phase->open++;
		return;
	}
	phase->reserved -= entry->released;
	/* a ledger from another clone can settle requests that it never reserved */
	if (entry->kind == KL_LEDGER_SETTLE && phase->open)
		phase->open--;
	phase->settled += kl_ledger_settled_by(entry);
	phase->implausible += entry->implausible;
	kl_usage_add(&phase->usage, &entry->usage);
}

/*
 * Add a point: the money settled up to and including a ledger entry, and the best time up to then.
 * `*next` is the index of the first measurement that is not yet included.
 */
static void add_point(struct kl_spend *spend, const struct kl_ledger_entry *entry,
		      const struct gated *gated, size_t *next)
{
	struct kl_spend_point point = { 0 };

	if (spend->npoint)
		point = spend->point[spend->npoint - 1];
	snprintf(point.time, sizeof(point.time), "%s", entry->time);
	while (*next < gated->n && strcmp(gated->m[*next].time, entry->time) <= 0) {
		if (!point.ns || gated->m[*next].ns < point.ns)
			point.ns = gated->m[*next].ns;
		++*next;
	}
	if (entry->kind != KL_LEDGER_RESERVE)
		point.nano = entry->after.of[KL_BUDGET_INDUCE].settled +
			     entry->after.of[KL_BUDGET_MATERIALIZE].settled;
	KL_GROW(spend->point, spend->npoint + 1, spend->point_alloc);
	spend->point[spend->npoint++] = point;
}

/* Include the measurements after the last settlement in the last point. */
static void finish_points(struct kl_spend *spend, const struct gated *gated, size_t next)
{
	struct kl_spend_point *last = spend->npoint ? &spend->point[spend->npoint - 1] : NULL;

	for (; last && next < gated->n; next++)
		if (!last->ns || gated->m[next].ns < last->ns)
			last->ns = gated->m[next].ns;
}

int kl_spend_load(struct kl_spend *out, struct kl_repo *repo, const char *account)
{
	KL_AUTO(kl_freep) char *workload = kl_strndup(account, strcspn(account, "/"));
	KL_AUTO(kl_spend_release) struct kl_spend spend = { .workload = kl_strdup(account),
							    .is_purse = strchr(account, '/') };
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	KL_AUTO(gated_release) struct gated gated = { .workload = workload };
	size_t next = 0;
	int err = kl_ledger_load(&ledger, repo, account);

	for (int budget = 0; !err && budget < KL_BUDGETS; budget++)
		err = kl_budget_cap(&spend.cap[budget], repo, (enum kl_budget)budget);
	if (err < 0 || (err = load_gated(&gated, repo)) < 0)
		return err;
	if (ledger.n)
		spend.totals = ledger.e[ledger.n - 1].after;
	for (size_t i = 0; i < ledger.n; i++) {
		add_entry(&spend, &ledger.e[i]);
		if (!i || ledger.e[i].kind != KL_LEDGER_RESERVE)
			add_point(&spend, &ledger.e[i], &gated, &next);
	}
	finish_points(&spend, &gated, next);
	*out = spend;
	spend = (struct kl_spend){ 0 };
	return 0;
}
