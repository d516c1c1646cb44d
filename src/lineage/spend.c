/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage/spend.h"

#include <string.h>

#include "base/error.h"
#include "event/event.h"
#include "repo/notes.h"
#include "walk/opstate.h"

void kl_spend_release(struct kl_spend *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->phase[i].name);
		free(s->phase[i].phase);
	}
	free(s->phase);
	free(s->point);
	free(s->workload);
	*s = (struct kl_spend){ 0 };
}

/* --- what was measured -------------------------------------------------------- */

struct measured {
	char time[21];
	int64_t ns;
};

struct gated {
	const char *workload;
	struct measured *m;
	size_t n, alloc;
};

static void gated_release(struct gated *g)
{
	free(g->m);
}

static void add_event(struct gated *g, const struct kl_event *event)
{
	if (event->kind != KL_KIND_GATE || event->verdict != KL_VERDICT_PASS ||
	    event->profile.ns <= 0 || strlen(event->time) != 20 ||
	    strcmp(event->workload, g->workload))
		return;
	KL_GROW(g->m, g->n + 1, g->alloc);
	memcpy(g->m[g->n].time, event->time, sizeof(g->m->time));
	g->m[g->n++].ns = event->profile.ns;
}

/* lines that are no events are the checker's business */
static int add_lines(const git_oid *commit, const char *text, size_t len, void *payload)
{
	for (const char *s = text, *end = text + len; s < end;) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		size_t n = (size_t)((nl ? nl : end) - s);
		KL_AUTO(kl_event_freep) struct kl_event *e = NULL;

		if (n && !kl_event_parse(&e, s, n))
			add_event(payload, e);
		s += n + 1;
	}
	kl_error_clear();
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct measured *x = a, *y = b;

	return strcmp(x->time, y->time);
}

/* noted events, and those of a walk in progress */
static int load_gated(struct gated *g, struct kl_repo *repo)
{
	struct kl_opstate op;
	int err = kl_notes_each(repo, KL_NOTES_GATE, add_lines, g);

	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	err = kl_opstate_load(&op, repo);
	if (!err)
		add_lines(NULL, op.events.ptr, op.events.len, g);
	kl_opstate_release(&op);
	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	if (g->n)
		qsort(g->m, g->n, sizeof(*g->m), by_time);
	return 0;
}

/* --- what was paid -------------------------------------------------------------- */

static struct kl_spend_phase *phase_of(struct kl_spend *s, const struct kl_ledger_entry *e)
{
	struct kl_spend_phase *p;

	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->phase[i].name, e->name) && !strcmp(s->phase[i].phase, e->phase) &&
		    s->phase[i].budget == e->budget)
			return &s->phase[i];
	KL_GROW(s->phase, s->n + 1, s->alloc);
	p = &s->phase[s->n++];
	*p = (struct kl_spend_phase){
		.name = kl_strdup(e->name),
		.phase = kl_strdup(e->phase),
		.budget = e->budget,
	};
	return p;
}

static void add_usage(struct kl_usage *sum, const struct kl_usage *u)
{
	sum->known = sum->known || u->known;
	sum->input += u->input;
	sum->output += u->output;
	sum->cache_read += u->cache_read;
	sum->cache_write_5m += u->cache_write_5m;
	sum->cache_write_1h += u->cache_write_1h;
}

static void add_entry(struct kl_spend *s, const struct kl_ledger_entry *e)
{
	struct kl_spend_phase *p = phase_of(s, e);

	if (!e->settles) {
		p->requests++;
		p->reserved += e->nano;
		return;
	}
	p->reserved -= e->released;
	p->settled += e->nano;
	add_usage(&p->usage, &e->usage);
}

/*
 * the money that is settled after an entry, and the best time until then; `*at` goes along the
 * events
 */
static void add_point(struct kl_spend *s, const struct kl_ledger_entry *e, const struct gated *g,
		      size_t *at)
{
	struct kl_spend_point p = { 0 };

	if (s->npoint)
		p = s->point[s->npoint - 1];
	snprintf(p.time, sizeof(p.time), "%s", e->time);
	while (*at < g->n && strcmp(g->m[*at].time, e->time) <= 0) {
		if (!p.ns || g->m[*at].ns < p.ns)
			p.ns = g->m[*at].ns;
		++*at;
	}
	if (e->settles)
		p.nano = e->after.of[KL_BUDGET_INDUCE].settled +
			 e->after.of[KL_BUDGET_MATERIALIZE].settled;
	KL_GROW(s->point, s->npoint + 1, s->point_alloc);
	s->point[s->npoint++] = p;
}

/* what was measured after the last reply was paid for belongs to it, too */
static void finish_points(struct kl_spend *s, const struct gated *g, size_t at)
{
	struct kl_spend_point *last = s->npoint ? &s->point[s->npoint - 1] : NULL;

	for (; last && at < g->n; at++)
		if (!last->ns || g->m[at].ns < last->ns)
			last->ns = g->m[at].ns;
}

int kl_spend_load(struct kl_spend *out, struct kl_repo *repo, const char *workload)
{
	KL_AUTO(kl_spend_release) struct kl_spend s = { .workload = kl_strdup(workload) };
	KL_AUTO(kl_ledger_release) struct kl_ledger l = { 0 };
	KL_AUTO(gated_release) struct gated g = { .workload = workload };
	size_t at = 0;
	int err = kl_ledger_load(&l, repo, workload);

	for (int b = 0; !err && b < KL_BUDGETS; b++)
		err = kl_budget_cap(&s.cap[b], repo, (enum kl_budget)b);
	if (err < 0 || (err = load_gated(&g, repo)) < 0)
		return err;
	if (l.n)
		s.totals = l.e[l.n - 1].after;
	for (size_t i = 0; i < l.n; i++) {
		add_entry(&s, &l.e[i]);
		if (!i || l.e[i].settles)
			add_point(&s, &l.e[i], &g, &at);
	}
	finish_points(&s, &g, at);
	*out = s;
	s = (struct kl_spend){ 0 };
	return 0;
}
