/* SPDX-License-Identifier: Apache-2.0 */
/* witness_port - judges the states of a step on platforms that lack a capability */
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "learn/witness_parts.h"

#define MAX_PLATFORMS 3 /* that lack a capability, of those the nearest */

/* --- capabilities: a platform that lacks one -------------------------------------------------- */

static size_t shared_count(const struct kl_taxonomy *tax, const struct kl_capset *a,
			   const struct kl_capset *b)
{
	size_t n = 0;

	for (size_t i = 0; i < tax->caps.n; i++)
		n += kl_capset_has(a, (int)i) && kl_capset_has(b, (int)i);
	return n;
}

static bool is_false_on(struct kl_seeker *s, const struct kl_transition *t, size_t i,
			const char *platform)
{
	KL_AUTO(kl_freep) char *test = kl_clauses_one(&s->clauses, i);
	struct kl_target there = { .known = KL_KNOWN_INIT };
	bool no;

	if (kl_target_init(&there, s->o->tax, t->to, platform) < 0) {
		kl_error_clear();
		return false;
	}
	no = kl_target_test(&there, test, true, NULL) == KL_FALSE;
	kl_target_release(&there);
	return no;
}

/* of its kind, nearest first: what else it lacks would fail for its own reasons */
static size_t lacking_platforms(const struct kl_tax_platform *out[MAX_PLATFORMS],
				struct kl_seeker *s, const struct kl_transition *t,
				const struct kl_target *at, size_t i)
{
	const struct kl_taxonomy *tax = s->o->tax;
	size_t kind = strcspn(at->platform, "/") + 1, n = 0;

	for (size_t p = 0; p < tax->nplatform; p++) {
		const struct kl_tax_platform *one = &tax->platform[p];
		size_t near = shared_count(tax, &one->has, &at->caps), k = n;

		if (strncmp(one->name, at->platform, kind) || !is_false_on(s, t, i, one->name))
			continue;
		for (; k && shared_count(tax, &out[k - 1]->has, &at->caps) < near; k--)
			if (k < MAX_PLATFORMS)
				out[k] = out[k - 1];
		if (k < MAX_PLATFORMS)
			out[k] = one;
		n += n < MAX_PLATFORMS;
	}
	return n;
}

/*
 * Does this machine run a kernel that is for another platform? One that names its platform needs a
 * device of it, so that only what a compiler says can be asked.
 */
static bool runs_elsewhere(const struct kl_transition *t)
{
	return !kl_backend_of(t->to->contract)->own_platform;
}

/* both states there, and the gate that judges them */
struct ported {
	struct kl_surface *to, *from;
	struct kl_gate *gate;
};

static void ported_release(struct ported *p)
{
	kl_surface_free(p->to);
	kl_surface_free(p->from);
}

/* *why (owned): what the compiler says against it; NULL: it compiles */
static int does_compile(char **why, struct kl_gate *g, const struct kl_surface *s)
{
	KL_AUTO(kl_facts_release) struct kl_facts f = { 0 };
	int err = kl_gate_facts(&f, g, s);

	*why = NULL;
	if (err != KL_ENO)
		return err;
	*why = kl_strndup(kl_error_last(), strcspn(kl_error_last(), "\n"));
	kl_error_clear();
	return 0;
}

static int port_state(struct ported *out, struct kl_seeker *s, const struct kl_transition *t,
		      const char *platform)
{
	const struct kl_backend *backend = kl_backend_of(t->to->contract);
	KL_AUTO(kl_freep) char *to = NULL, *from = NULL;
	int err;

	if ((err = backend->port(&out->to, t->to, platform)) < 0 ||
	    (err = backend->port(&out->from, t->from, platform)) < 0)
		return err;
	if (runs_elsewhere(t))
		return kl_witness_gate(&out->gate, s, platform);
	if ((err = kl_witness_gate(&out->gate, s, "")) < 0 ||
	    (err = does_compile(&from, out->gate, out->from)) < 0 ||
	    (err = does_compile(&to, out->gate, out->to)) < 0)
		return err;
	if (from)
		return kl_error(KL_ENO, "the state before the step is not for %s either: %.200s",
				platform, from);
	if (!to)
		return kl_error(KL_ENO,
				"it compiles for %s, and only such a device could tell more",
				platform);
	return 0;
}

static int judge_before(struct kl_seeker *s, struct kl_witness_clause *c,
			const struct kl_transition *t, const struct ported *p, const char *platform,
			const struct kl_judgement *v)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *before = NULL;
	int err;

	/* that it compiles is known; it cannot be run */
	if (!runs_elsewhere(t))
		return kl_witness_keep(s, t, kl_witness_commit(t), p->to, v, platform);
	if ((err = kl_witness_judge(&before, s, c, p->gate, p->from, true)) < 0 || !before)
		return err < 0 ? err : KL_ENO;
	if (!kl_witness_passed(before)) {
		kl_witness_leave_open(c, "the state before the step fails there, too");
		return KL_ENO;
	}
	if ((err = kl_witness_keep(s, t, kl_witness_commit(t), p->to, v, platform)) < 0)
		return err;
	return kl_witness_keep(s, t, &t->before, p->from, before, platform);
}

/*
 * device code may be too large for another device: what a launch plan says is not about the
 * capability
 */
static bool may_count(const struct kl_transition *t, enum kl_failure failure)
{
	if (failure == KL_FAILURE_COMPILE)
		return true;
	return runs_elsewhere(t) && kl_witness_ran(failure);
}

static int ask_platform(struct kl_seeker *s, struct kl_witness_clause *c,
			const struct kl_transition *t, const char *platform)
{
	KL_AUTO(ported_release) struct ported p = { 0 };
	KL_AUTO(kl_judgement_freep) struct kl_judgement *v = NULL;
	char *at;
	int err;

	kl_strvec_pushf(&c->plan, "%s K_%d for %s", t->lineage, t->step.number, platform);
	if (s->o->dry)
		return 0;
	if ((err = port_state(&p, s, t, platform)) < 0)
		return kl_witness_unsure(s, c, err);
	err = kl_witness_judge(&v, s, c, p.gate, p.to, runs_elsewhere(t));
	if (err < 0 || !v)
		return err;
	at = kl_asprintf("%s K_%d for %s", t->lineage, t->step.number, platform);
	if (kl_witness_passed(v) && kl_witness_is_there(s->card, &v->event->facts.features)) {
		err = kl_witness_keep(s, t, kl_witness_commit(t), p.to, v, platform);
		kl_witness_passes(s, c, v, at);
		return err;
	}
	if (kl_witness_passed(v))
		kl_witness_leave_open(c, "there the compiler does it without the mechanism");
	else if (!may_count(t, v->event->failure))
		kl_witness_leave_open(c, v->event->message);
	else if (!(err = judge_before(s, c, t, &p, platform, v))) {
		kl_witness_fails(s, c, v, at);
		return 0;
	}
	free(at);
	return err == KL_ENO ? 0 : err;
}

int kl_witness_on_platforms(struct kl_seeker *s, struct kl_witness_clause *c,
			    const struct kl_transition *t, const struct kl_target *at, size_t i)
{
	const struct kl_tax_platform *p[MAX_PLATFORMS];
	size_t n = lacking_platforms(p, s, t, at, i);
	int err = 0;

	if (!n)
		kl_witness_leave_open(c, "no platform of the table lacks it");
	for (size_t k = 0; !err && k < n && c->end == KL_WITNESS_OPEN; k++)
		err = ask_platform(s, c, t, p[k]->name);
	return err;
}
