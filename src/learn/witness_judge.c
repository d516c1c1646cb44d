/* SPDX-License-Identifier: Apache-2.0 */
/* witness_judge - runs the gate for a clause, and counts what its verdict shows */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "learn/lift_parts.h"
#include "learn/witness_parts.h"

#define MAX_WHY 300

/* --- the gate ------------------------------------------------------------------------------ */

int kl_witness_gate(struct kl_gate **out, struct kl_seeker *s, const char *platform)
{
	struct kl_gate *g = NULL;
	int err;

	for (size_t i = 0; i < s->ngate; i++)
		if (!strcmp(s->gate[i].platform, platform)) {
			*out = s->gate[i].gate;
			return 0;
		}
	err = kl_gate_open(&g, s->o->repo,
			   &(struct kl_gate_opts){
				   .progress = s->o->progress,
				   .platform = *platform ? platform : NULL,
				   .no_profile = true,
			   });
	if (!err && kl_gate_is_remote(g)) {
		kl_gate_free(g);
		err = kl_error(KL_ECANNOT, "the gate judges elsewhere, and has to answer at once");
	}
	if (err < 0)
		return err;
	KL_GROW(s->gate, s->ngate + 1, s->gate_alloc);
	s->gate[s->ngate++] = (struct kl_witness_session){ kl_strdup(platform), g };
	*out = g;
	return 0;
}

/* no verdict here and now: the clause stays as it was, whatever another kernel's pass would say */
static bool is_open(int err)
{
	return err == KL_ECANNOT || err == KL_ENO || err == KL_EINVALID;
}

/* the first reason is that of the nearest kernel and platform */
void kl_witness_leave_open(struct kl_witness_clause *c, const char *why)
{
	size_t n = strcspn(why, "\n");

	if (c->why)
		return;
	c->why = kl_strndup(why, n < MAX_WHY ? n : MAX_WHY);
	for (unsigned char *p = (unsigned char *)c->why; *p; p++)
		if (*p < 0x20 || *p >= 0x7f) /* from a compiler; for terminals, commits */
			*p = ' ';
}

int kl_witness_unsure(struct kl_seeker *s, struct kl_witness_clause *c, int err)
{
	if (!is_open(err))
		return err;
	if (err == KL_ECANNOT) {
		free(s->out->cannot);
		s->out->cannot = kl_strdup(kl_error_last());
	}
	c->unsure = true;
	kl_witness_leave_open(c, kl_error_last());
	kl_error_clear();
	return 0;
}

/* `*v` NULL: no verdict, and the clause says why; `runs`: it is known to compile */
int kl_witness_judge(struct kl_judgement **v, struct kl_seeker *s, struct kl_witness_clause *c,
		     struct kl_gate *g, const struct kl_surface *surface, bool runs)
{
	const struct kl_event *event;
	int err = 0;

	*v = NULL;
	if (s->out->runs >= s->o->limit) {
		s->out->limited = true;
		err = kl_error(KL_ENO, "the limit of %zu gate runs is reached", s->o->limit);
	} else if (runs && s->no_device && kl_backend_of(surface->contract)->device) {
		err = kl_error(KL_ECANNOT, "%s", s->no_device);
	} else {
		err = kl_made_judge(v, g, surface, NULL, false);
		if (err == KL_ECANNOT && kl_gate_lacked_device(g) && !s->no_device)
			s->no_device = kl_strdup(kl_error_last());
	}
	if (err < 0)
		return kl_witness_unsure(s, c, err);
	s->out->runs += !(*v)->cached;
	s->out->verdicts++;
	event = (*v)->event;
	if (event->verdict == KL_VERDICT_PASS || event->verdict == KL_VERDICT_FAIL)
		return 0;
	c->unsure = true;
	kl_witness_leave_open(c,
			      *event->message ? event->message : kl_verdict_name(event->verdict));
	kl_judgement_free(*v);
	*v = NULL;
	return 0;
}

bool kl_witness_passed(const struct kl_judgement *v)
{
	return v->event->verdict == KL_VERDICT_PASS;
}

/*
 * is what the card brings in the machine code? Of claims that only a reader can check nobody knows.
 */
bool kl_witness_is_there(const struct kl_card *c, const struct kl_strvec *features)
{
	size_t n = 0;

	for (size_t i = 0; i < c->provides.n; i++) {
		bool claim = !strncmp(c->provides.v[i], "trait:", 6);

		n += !claim;
		if (!claim && !kl_strvec_has(features, c->provides.v[i]))
			return false;
	}
	return n > 0;
}

/* it ran, and was wrong */
bool kl_witness_ran(enum kl_failure failure)
{
	return failure == KL_FAILURE_HANG || failure == KL_FAILURE_FAULT ||
	       failure == KL_FAILURE_WRONG_ALL || failure == KL_FAILURE_WRONG_EDGE ||
	       failure == KL_FAILURE_NONDETERMINISTIC;
}

/* --- outcomes --------------------------------------------------------------------------------- */

const git_oid *kl_witness_commit(const struct kl_transition *t)
{
	return kl_lift_is_verified(t) ? &t->rederived : &t->after;
}

void kl_witness_fails(struct kl_seeker *s, struct kl_witness_clause *c,
		      const struct kl_judgement *v, char *at)
{
	c->end = KL_WITNESS_FAILS;
	snprintf(c->class_, sizeof(c->class_), "%s", kl_event_class(v->event));
	free(c->event);
	c->event = kl_strdup(v->event->id);
	free(c->at);
	c->at = at;
	kl_map_put(&s->events, c->event, kl_event_ref(v->event));
}

/* the first one that shows it is named */
void kl_witness_passes(struct kl_seeker *s, struct kl_witness_clause *c,
		       const struct kl_judgement *v, char *at)
{
	if (!c->passes++) {
		c->event = kl_strdup(v->event->id);
		c->at = kl_strdup(at);
		kl_map_put(&s->events, c->event, kl_event_ref(v->event));
	}
	free(at);
}
