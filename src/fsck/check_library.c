/* SPDX-License-Identifier: Apache-2.0 */
/* check_library - checks the events, commits and trials that cards cite */
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
	struct kl_map events; /* valid events only: id -> struct kl_event *, values owned */
	struct kl_map bad;    /* ids of events that were reported as invalid */
	/* commit -> " <surface>/<contract> ...", values owned; "" if the commit is missing here */
	struct kl_map digests;
	const char *where; /* path of the card that is being checked */
};

static void checker_release(struct kl_library_checker *checker)
{
	kl_map_release(&checker->events);
	kl_map_release(&checker->bad);
	kl_map_release(&checker->digests);
}

static void report_finding(struct kl_library_checker *checker, bool error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void report_finding(struct kl_library_checker *checker, bool error, const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	struct kl_library_finding finding = { .error = error, .where = checker->where };
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&message, fmt, ap);
	va_end(ap);
	finding.what = message.ptr;
	checker->report(&finding, checker->payload);
}

/* --- checking cited events ----------------------------------------------------------- */

/*
 * Return the event with this id, and check the events that it cites. If the event is missing or
 * invalid, report it (only once) and return NULL.
 */
static const struct kl_event *find_event(struct kl_library_checker *checker, const char *id)
{
	const struct kl_event *event = kl_map_get(&checker->events, id);
	struct kl_event *read = NULL;

	if (event)
		return event;
	if (kl_library_event(&read, checker->l, id) < 0) {
		if (!kl_map_put(&checker->bad, id, checker))
			report_finding(checker, true,
				       "the card cites event %.12s, which is not usable: %s", id,
				       kl_error_last());
		kl_error_clear();
		return NULL;
	}
	kl_map_put(&checker->events, id, read);
	if (read->inverse.there) {
		find_event(checker, read->inverse.state);
		find_event(checker, read->inverse.pair);
	}
	return read;
}

static bool has_passed(const struct kl_event *event)
{
	return event->verdict == KL_VERDICT_PASS;
}

/* Check that a ratio in a card is the ratio in the event that the card cites for it. */
static void check_ratio(struct kl_library_checker *checker, const struct kl_event *event,
			const struct kl_ratio *ratio, const char *what)
{
	static const struct kl_comparison none;
	const struct kl_comparison *comparison = kl_comparisons_parent(&event->profile.vs);

	/*
	 * skip an event of several cases: it has the mean ratio, but the card has one row for each
	 * case
	 */
	if (event->profile.npoint || !ratio->ppm)
		return;
	if (!comparison)
		comparison = &none;
	if (ratio->ppm != comparison->ratio.ppm ||
	    (ratio->lo && ratio->lo != comparison->ratio.lo) ||
	    (ratio->hi && ratio->hi != comparison->ratio.hi))
		report_finding(checker, true, "%s has ratio %lld ppm, but its event %.12s has %lld",
			       what, (long long)ratio->ppm, event->id,
			       (long long)comparison->ratio.ppm);
}

static void check_failure(struct kl_library_checker *checker, const char *id, const char *class_,
			  const char *what)
{
	const struct kl_event *event = find_event(checker, id);

	if (!event || !class_)
		return;
	if (has_passed(event) ? !kl_card_commit_is_correct(class_) :
				strcmp(class_, kl_event_class(event)) != 0)
		report_finding(checker, true, "%s has class '%s', but its event %.12s has '%s'",
			       what, class_, id,
			       has_passed(event) ? "pass" : kl_event_class(event));
}

/* --- checking cited commits ------------------------------------------------------------- */

/*
 * Return the digests of every surface and contract in the tree of a commit; "" if the commit is
 * missing here.
 */
static const char *state_digests(struct kl_library_checker *checker, const char *commit)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec workloads = KL_STRVEC_INIT;
	struct kl_buf pairs = KL_BUF_INIT;
	const char *known = kl_map_get(&checker->digests, commit);
	git_oid oid, tree;
	char *text;

	if (known)
		return known;
	if (!kl_oid_parse(&oid, commit) && !kl_repo_tree_of(&tree, checker->l->repo, &oid) &&
	    !kl_surface_find(&dirs, &workloads, checker->l->repo, &tree)) {
		kl_buf_adds(&pairs, " ");
		for (size_t i = 0; i < dirs.n; i++) {
			KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;

			if (!kl_surface_from_tree(&surface, checker->l->repo, &tree, dirs.v[i]))
				kl_buf_addf(&pairs, "%s/%s ", surface->digest,
					    surface->contract_digest);
		}
	}
	kl_error_clear();
	text = kl_buf_detach(&pairs);
	kl_map_put(&checker->digests, commit, text);
	return text;
}

static void check_commit(struct kl_library_checker *checker, const struct kl_event *event,
			 const char *commit)
{
	const char *have = state_digests(checker, commit);
	KL_AUTO(kl_freep) char *want = kl_asprintf(" %s/%s ", event->surface, event->contract);

	if (*have && !strstr(have, want))
		report_finding(checker, true,
			       "event %.12s is for other files than those of commit %.12s",
			       event->id, commit);
}

/* --- checking a card ------------------------------------------------------------------------ */

static void check_evidence(struct kl_library_checker *checker, const struct kl_card *card)
{
	for (size_t i = 0; i < card->evidence.n; i++) {
		const struct kl_card_evidence *evidence = &card->evidence.v[i];
		const struct kl_event *event = find_event(checker, evidence->event);

		if (!event)
			continue;
		if (!has_passed(event))
			report_finding(checker, true,
				       "evidence %s step %lld cites an event that did not pass",
				       evidence->lineage, (long long)evidence->step);
		if (strcmp(event->place.id, evidence->platform))
			report_finding(checker, true,
				       "evidence %s step %lld is for %s, but its event is for %s",
				       evidence->lineage, (long long)evidence->step,
				       evidence->platform, event->place.id);
		check_commit(checker, event, evidence->after);
		event = evidence->confirmed ? find_event(checker, evidence->confirmed) : NULL;
		if (event && !has_passed(event))
			report_finding(checker, true,
				       "the event that confirms evidence %s step %lld did not pass",
				       evidence->lineage, (long long)evidence->step);
		if (event)
			check_commit(checker, event, evidence->rederived);
	}
	for (size_t i = 0; i < card->rows.n; i++) {
		const struct kl_card_row *row = &card->rows.v[i];
		const struct kl_event *event = find_event(checker, row->event);

		if (event && strcmp(event->place.id, row->platform))
			report_finding(checker, true,
				       "a row is for %s, but its event %.12s is for %s",
				       row->platform, row->event, event->place.id);
		if (event)
			check_ratio(checker, event, &row->ratio, "a row");
	}
}

static void check_control(struct kl_library_checker *checker, const struct kl_card_control *control,
			  const char *what)
{
	const struct kl_event *event = control->there && control->event ?
					       find_event(checker, control->event) :
					       NULL;

	if (!event)
		return;
	if (control->result == KL_RESULT_FAIL)
		check_failure(checker, control->event, control->class_, what);
	else
		check_ratio(checker, event, &control->ratio, what);
}

static void check_trials(struct kl_library_checker *checker, const struct kl_card *card)
{
	for (size_t i = 0; i < card->ver.n; i++) {
		const struct kl_card_trial *trial = &card->ver.v[i];
		const struct kl_event *event = trial->event ? find_event(checker, trial->event) :
							      NULL;

		if (trial->retracted)
			continue;
		check_control(checker, &trial->alone, "a trial without this card");
		check_control(checker, &trial->control, "a control");
		if (!event)
			continue;
		if (trial->result == KL_RESULT_FAIL) {
			check_failure(checker, trial->event, trial->class_, "a trial");
			continue;
		}
		if (!has_passed(event))
			report_finding(
				checker, true,
				"a trial is recorded as passed, but its event %.12s is not a pass",
				trial->event);
		check_ratio(checker, event, &trial->ratio, "a trial");
		if (trial->made)
			check_commit(checker, event, trial->made);
	}
}

static void check_cards(struct kl_library_checker *checker, const struct kl_strvec *ids,
			const char *what)
{
	size_t at;

	for (size_t i = 0; i < ids->n; i++) {
		int err = kl_library_find(&at, checker->l, ids->v[i]);

		kl_error_clear();
		if (err < 0 || strcmp(checker->l->ids.v[at], ids->v[i]))
			report_finding(checker, false, "'%s' names card '%s', which is missing",
				       what, ids->v[i]);
	}
}

/* Check the events that a precondition cites: those of failures, and those of passes. */
static void check_pre(struct kl_library_checker *checker, const struct kl_card_pre *pre)
{
	const char *right = pre->state == KL_PRE_NOT_NEEDED ? pre->by : pre->pair;
	const struct kl_event *event = right ? find_event(checker, right) : NULL;

	if (pre->by && pre->state == KL_PRE_WITNESSED)
		check_failure(checker, pre->by, pre->class_, "a precondition");
	if (event && !has_passed(event))
		report_finding(checker, true,
			       "precondition '%s' cites event %.12s as a pass, but the event is "
			       "not a pass",
			       pre->id, right);
}

static void check_card(struct kl_library_checker *checker, const struct kl_card *card)
{
	check_evidence(checker, card);
	check_trials(checker, card);
	for (size_t i = 0; i < card->sound.n; i++)
		check_pre(checker, &card->sound.v[i]);
	for (size_t i = 0; i < card->useful.n; i++)
		check_pre(checker, &card->useful.v[i]);
	for (size_t i = 0; i < card->risk.n; i++)
		for (size_t k = 0; k < card->risk.v[i].events.n; k++)
			check_failure(checker, card->risk.v[i].events.v[k], card->risk.v[i].class_,
				      "a risk");
	check_cards(checker, &card->enables, "enabler");
	for (size_t i = 0; i < card->ver.n; i++)
		check_cards(checker, &card->ver.v[i].with, "with");
}

static void check_one(struct kl_library_checker *checker, size_t i)
{
	KL_AUTO(kl_freep) char *where = kl_asprintf("cards/%s.yaml", checker->l->ids.v[i]);
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int line;

	checker->where = where;
	if (kl_library_card_at(&card, checker->l, i) < 0 ||
	    kl_library_text(&text, checker->l, i) < 0) {
		report_finding(checker, true, "%s", kl_error_last());
		kl_error_clear();
		return;
	}
	if ((line = kl_card_canonical_line(card, text.ptr, text.len)))
		report_finding(checker, false, "not canonical from line %d on", line);
	check_card(checker, card);
}

struct kl_library_checker *kl_library_checker_new(struct kl_library *library,
						  kl_library_report *report, void *payload)
{
	struct kl_library_checker *checker = kl_calloc(1, sizeof(*checker));

	*checker = (struct kl_library_checker){
		.l = library,
		.report = report,
		.payload = payload,
		.events = { .free_value = kl_event_free_value },
		.digests = { .free_value = free },
	};
	return checker;
}

void kl_library_checker_free(struct kl_library_checker *checker)
{
	if (!checker)
		return;
	checker_release(checker);
	free(checker);
}

void kl_library_checker_card(struct kl_library_checker *checker, const char *where,
			     const struct kl_card *card)
{
	checker->where = where;
	check_card(checker, card);
}

const struct kl_event *kl_library_checker_event(struct kl_library_checker *checker, const char *id)
{
	return kl_map_get(&checker->events, id);
}

int kl_library_check(size_t *cards, struct kl_library *library, kl_library_report *report,
		     void *payload)
{
	KL_AUTO(kl_library_checker_freep) struct kl_library_checker *checker =
		kl_library_checker_new(library, report, payload);

	for (size_t i = 0; i < library->ids.n; i++)
		check_one(checker, i);
	*cards = library->ids.n;
	return 0;
}
