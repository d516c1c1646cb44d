/* SPDX-License-Identifier: Apache-2.0 */
/* check_library - checks cards: the events, commits and trials that they cite */
#include <stdarg.h>
#include <string.h>

#include "apply/card_commit.h"
#include "base/error.h"
#include "card/library_parts.h"
#include "contract/surface.h"
#include "event/event.h"

struct kl_library_checker {
	struct kl_library *l;
	kl_library_report *report;
	void *payload;
	struct kl_map events;  /* id -> struct kl_event *, owned: the good ones */
	struct kl_map bad;     /* ids that were reported */
	struct kl_map digests; /* commit -> "surface contract ...", owned; "": not here */
	const char *where;     /* the card that is looked at */
};

static void checker_release(struct kl_library_checker *k)
{
	kl_map_release(&k->events);
	kl_map_release(&k->bad);
	kl_map_release(&k->digests);
}

static void report_finding(struct kl_library_checker *k, bool error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void report_finding(struct kl_library_checker *k, bool error, const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	struct kl_library_finding f = { .error = error, .where = k->where };
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&b, fmt, ap);
	va_end(ap);
	f.what = b.ptr;
	k->report(&f, k->payload);
}

/* --- events --------------------------------------------------------------------------- */

/* the event, or NULL once it was reported */
static const struct kl_event *find_event(struct kl_library_checker *k, const char *id)
{
	const struct kl_event *e = kl_map_get(&k->events, id);
	struct kl_event *read = NULL;

	if (e)
		return e;
	if (kl_library_event(&read, k->l, id) < 0) {
		if (!kl_map_put(&k->bad, id, k))
			report_finding(k, true, "it cites event %.12s: %s", id, kl_error_last());
		kl_error_clear();
		return NULL;
	}
	kl_map_put(&k->events, id, read);
	if (read->inverse.there) {
		find_event(k, read->inverse.state);
		find_event(k, read->inverse.pair);
	}
	return read;
}

static bool has_passed(const struct kl_event *e)
{
	return e->verdict == KL_VERDICT_PASS;
}

/* a number that stands in a card is the event's */
static void check_ratio(struct kl_library_checker *k, const struct kl_event *e,
			const struct kl_card_ratio *r, const char *what)
{
	static const struct kl_comparison none;
	const struct kl_comparison *is = kl_comparisons_parent(&e->profile.vs);

	/* several cases: the event has the mean, the card one row for each */
	if (e->profile.npoint || !r->ppm)
		return;
	if (!is)
		is = &none;
	if (r->ppm != is->ratio_ppm || (r->lo && r->lo != is->lo_ppm) ||
	    (r->hi && r->hi != is->hi_ppm))
		report_finding(k, true, "%s says ratio %lld ppm, its event %.12s says %lld", what,
			       (long long)r->ppm, e->id, (long long)is->ratio_ppm);
}

static void check_failure(struct kl_library_checker *k, const char *id, const char *class_,
			  const char *what)
{
	const struct kl_event *e = find_event(k, id);

	if (!e || !class_)
		return;
	if (has_passed(e) ? !kl_made_is_right(class_) : strcmp(class_, kl_event_class(e)) != 0)
		report_finding(k, true, "%s is about '%s', its event %.12s says '%s'", what, class_,
			       id, has_passed(e) ? "pass" : kl_event_class(e));
}

/* --- commits ----------------------------------------------------------------------------- */

/* digests of every surface and contract in a commit's tree, or "" if the commit is not here */
static const char *state_digests(struct kl_library_checker *k, const char *commit)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec workloads = KL_STRVEC_INIT;
	struct kl_buf b = KL_BUF_INIT;
	const char *known = kl_map_get(&k->digests, commit);
	git_oid oid, tree;
	char *text;

	if (known)
		return known;
	if (!kl_oid_parse(&oid, commit) && !kl_repo_tree_of(&tree, k->l->repo, &oid) &&
	    !kl_surface_find(&dirs, &workloads, k->l->repo, &tree)) {
		kl_buf_adds(&b, " ");
		for (size_t i = 0; i < dirs.n; i++) {
			KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL;

			if (!kl_surface_from_tree(&s, k->l->repo, &tree, dirs.v[i]))
				kl_buf_addf(&b, "%s/%s ", s->digest, s->contract_digest);
		}
	}
	kl_error_clear();
	text = kl_buf_detach(&b);
	kl_map_put(&k->digests, commit, text);
	return text;
}

static void check_commit(struct kl_library_checker *k, const struct kl_event *e, const char *commit)
{
	const char *have = state_digests(k, commit);
	KL_AUTO(kl_freep) char *want = kl_asprintf(" %s/%s ", e->surface, e->contract);

	if (*have && !strstr(have, want))
		report_finding(k, true, "event %.12s judged other files than commit %.12s has",
			       e->id, commit);
}

/* --- a card ---------------------------------------------------------------------------------- */

static void check_evidence(struct kl_library_checker *k, const struct kl_card *c)
{
	for (size_t i = 0; i < c->evidence.n; i++) {
		const struct kl_card_evidence *v = &c->evidence.v[i];
		const struct kl_event *e = find_event(k, v->event);

		if (!e)
			continue;
		if (!has_passed(e))
			report_finding(k, true, "evidence %s step %lld cites a failure", v->lineage,
				       (long long)v->step);
		if (strcmp(e->place.id, v->platform))
			report_finding(k, true, "evidence %s step %lld is of %s, its event of %s",
				       v->lineage, (long long)v->step, v->platform, e->place.id);
		check_commit(k, e, v->after);
		e = v->confirmed ? find_event(k, v->confirmed) : NULL;
		if (e && !has_passed(e))
			report_finding(k, true, "evidence %s step %lld is confirmed by a failure",
				       v->lineage, (long long)v->step);
		if (e)
			check_commit(k, e, v->rederived);
	}
	for (size_t i = 0; i < c->rows.n; i++) {
		const struct kl_card_row *r = &c->rows.v[i];
		const struct kl_event *e = find_event(k, r->event);

		if (e && strcmp(e->place.id, r->platform))
			report_finding(k, true, "a row is of %s, its event %.12s of %s",
				       r->platform, r->event, e->place.id);
		if (e)
			check_ratio(k, e, &r->ratio, "a row");
	}
}

static void check_control(struct kl_library_checker *k, const struct kl_card_control *c,
			  const char *what)
{
	const struct kl_event *e = c->there && c->event ? find_event(k, c->event) : NULL;

	if (!e)
		return;
	if (c->result == KL_RESULT_FAIL)
		check_failure(k, c->event, c->class_, what);
	else
		check_ratio(k, e, &c->ratio, what);
}

static void check_trials(struct kl_library_checker *k, const struct kl_card *c)
{
	for (size_t i = 0; i < c->ver.n; i++) {
		const struct kl_card_trial *t = &c->ver.v[i];
		const struct kl_event *e = t->event ? find_event(k, t->event) : NULL;

		if (t->retracted)
			continue;
		check_control(k, &t->alone, "a trial without this card");
		check_control(k, &t->control, "a control");
		if (!e)
			continue;
		if (t->result == KL_RESULT_FAIL) {
			check_failure(k, t->event, t->class_, "a trial");
			continue;
		}
		if (!has_passed(e))
			report_finding(k, true, "a trial passed, its event %.12s failed", t->event);
		check_ratio(k, e, &t->ratio, "a trial");
		if (t->made)
			check_commit(k, e, t->made);
	}
}

static void check_cards(struct kl_library_checker *k, const struct kl_strvec *ids, const char *what)
{
	size_t at;

	for (size_t i = 0; i < ids->n; i++) {
		int err = kl_library_find(&at, k->l, ids->v[i]);

		kl_error_clear();
		if (err < 0 || strcmp(k->l->ids.v[at], ids->v[i]))
			report_finding(k, false, "'%s' names the card '%s', which is not here",
				       what, ids->v[i]);
	}
}

static void check_card(struct kl_library_checker *k, const struct kl_card *c)
{
	check_evidence(k, c);
	check_trials(k, c);
	for (size_t i = 0; i < c->sound.n; i++)
		if (c->sound.v[i].by)
			check_failure(k, c->sound.v[i].by, c->sound.v[i].class_, "a precondition");
	for (size_t i = 0; i < c->useful.n; i++)
		if (c->useful.v[i].by)
			check_failure(k, c->useful.v[i].by, c->useful.v[i].class_,
				      "a precondition");
	for (size_t i = 0; i < c->risk.n; i++)
		for (size_t n = 0; n < c->risk.v[i].events.n; n++)
			check_failure(k, c->risk.v[i].events.v[n], c->risk.v[i].class_, "a risk");
	check_cards(k, &c->enables, "enabler");
	for (size_t i = 0; i < c->ver.n; i++)
		check_cards(k, &c->ver.v[i].with, "with");
}

static void check_one(struct kl_library_checker *k, size_t i)
{
	KL_AUTO(kl_freep) char *where = kl_asprintf("cards/%s.yaml", k->l->ids.v[i]);
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int line;

	k->where = where;
	if (kl_library_card_at(&c, k->l, i) < 0 || kl_library_text(&text, k->l, i) < 0) {
		report_finding(k, true, "%s", kl_error_last());
		kl_error_clear();
		return;
	}
	if ((line = kl_card_canonical_line(c, text.ptr, text.len)))
		report_finding(k, false, "it is not canonical from line %d on", line);
	check_card(k, c);
}

struct kl_library_checker *kl_library_checker_new(struct kl_library *l, kl_library_report *report,
						  void *payload)
{
	struct kl_library_checker *k = kl_calloc(1, sizeof(*k));

	*k = (struct kl_library_checker){
		.l = l,
		.report = report,
		.payload = payload,
		.events = { .free_value = kl_event_free_value },
		.digests = { .free_value = free },
	};
	return k;
}

void kl_library_checker_free(struct kl_library_checker *k)
{
	if (!k)
		return;
	checker_release(k);
	free(k);
}

void kl_library_checker_card(struct kl_library_checker *k, const char *where,
			     const struct kl_card *c)
{
	k->where = where;
	check_card(k, c);
}

const struct kl_event *kl_library_checker_event(struct kl_library_checker *k, const char *id)
{
	return kl_map_get(&k->events, id);
}

int kl_library_check(size_t *cards, struct kl_library *l, kl_library_report *report, void *payload)
{
	KL_AUTO(kl_library_checker_freep) struct kl_library_checker *k = kl_library_checker_new(
		l, report, payload);

	for (size_t i = 0; i < l->ids.n; i++)
		check_one(k, i);
	*cards = l->ids.n;
	return 0;
}
