/* SPDX-License-Identifier: Apache-2.0 */
/* witness_port - judges the states of a step on platforms that lack a capability */
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "learn/witness_parts.h"

#define MAX_PLATFORMS 3 /* maximum number of platforms to try for one clause */

/* --- platforms that lack a capability --------------------------------------------------------- */

static size_t shared_count(const struct kl_taxonomy *tax, const struct kl_capset *left,
			   const struct kl_capset *right)
{
	size_t n = 0;

	for (size_t i = 0; i < tax->caps.n; i++)
		n += kl_capset_has(left, (int)i) && kl_capset_has(right, (int)i);
	return n;
}

static bool is_false_on(struct kl_witness_search *search, const struct kl_transition *transition,
			size_t i, const char *platform)
{
	KL_AUTO(kl_freep) char *test = kl_clauses_one(&search->clauses, i);
	struct kl_target there = { .known = KL_KNOWN_INIT };
	bool no;

	if (kl_target_init(&there, search->o->tax, transition->to, platform) < 0) {
		kl_error_clear();
		return false;
	}
	no = kl_target_test(&there, test, true, NULL) == KL_FALSE;
	kl_target_release(&there);
	return no;
}

/*
 * List platforms of the same kind for which the clause is false, the nearest first: on a distant
 * platform, the kernel could fail because other capabilities are missing too.
 */
static size_t lacking_platforms(const struct kl_tax_platform *out[MAX_PLATFORMS],
				struct kl_witness_search *search,
				const struct kl_transition *transition, const struct kl_target *at,
				size_t i)
{
	const struct kl_taxonomy *tax = search->o->tax;
	size_t kind = strcspn(at->platform, "/") + 1, n = 0;

	for (size_t pos = 0; pos < tax->nplatform; pos++) {
		const struct kl_tax_platform *one = &tax->platform[pos];
		size_t near = shared_count(tax, &one->has, &at->caps), k = n;

		if (strncmp(one->name, at->platform, kind) ||
		    !is_false_on(search, transition, i, one->name))
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
 * Return true if this machine can run a kernel that was ported to another platform. If the
 * backend's kernels run only on the platform that they name, this machine can only compile the
 * kernel.
 */
static bool runs_elsewhere(const struct kl_transition *transition)
{
	return !kl_backend_of(transition->to->contract)->own_platform;
}

/* Both states of a step, ported to one platform, and the gate session that judges them. */
struct ported {
	struct kl_surface *to, *from;
	struct kl_gate *gate;
};

static void ported_release(struct ported *ported)
{
	kl_surface_free(ported->to);
	kl_surface_free(ported->from);
}

/*
 * Compile the surface. If that fails, set *why (owned) to the first line of the error; otherwise
 * set it to NULL.
 */
static int does_compile(char **why, struct kl_gate *gate, const struct kl_surface *surface)
{
	KL_AUTO(kl_facts_release) struct kl_facts facts = { 0 };
	int err = kl_gate_facts(&facts, gate, surface);

	*why = NULL;
	if (err != KL_ENO)
		return err;
	*why = kl_strndup(kl_error_last(), strcspn(kl_error_last(), "\n"));
	kl_error_clear();
	return 0;
}

static int port_state(struct ported *out, struct kl_witness_search *search,
		      const struct kl_transition *transition, const char *platform)
{
	const struct kl_backend *backend = kl_backend_of(transition->to->contract);
	KL_AUTO(kl_freep) char *to = NULL, *from = NULL;
	int err;

	if ((err = backend->port(&out->to, transition->to, platform)) < 0 ||
	    (err = backend->port(&out->from, transition->from, platform)) < 0)
		return err;
	if (runs_elsewhere(transition))
		return kl_witness_session(&out->gate, search, platform);
	if ((err = kl_witness_session(&out->gate, search, "")) < 0 ||
	    (err = does_compile(&from, out->gate, out->from)) < 0 ||
	    (err = does_compile(&to, out->gate, out->to)) < 0)
		return err;
	if (from)
		return kl_error(KL_ENO, "the state before the step does not compile for %s: %.200s",
				platform, from);
	if (!to)
		return kl_error(
			KL_ENO,
			"the kernel compiles for %s, but running it needs a device of this kind",
			platform);
	return 0;
}

static int judge_before(struct kl_witness_search *search, struct kl_witness_clause *clause,
			const struct kl_transition *transition, const struct ported *ported,
			const char *platform, const struct kl_judgement *judgement)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *before = NULL;
	int err;

	/* the state before the step cannot run here, but port_state() has compiled it */
	if (!runs_elsewhere(transition))
		return kl_witness_keep(search, transition, kl_witness_commit(transition),
				       ported->to, judgement, platform);
	if ((err = kl_witness_judge(&before, search, clause, ported->gate, ported->from, true)) <
		    0 ||
	    !before)
		return err < 0 ? err : KL_ENO;
	if (!kl_witness_passed(before)) {
		kl_witness_leave_open(
			clause, "the state before the step also fails where the clause is false");
		return KL_ENO;
	}
	if ((err = kl_witness_keep(search, transition, kl_witness_commit(transition), ported->to,
				   judgement, platform)) < 0)
		return err;
	return kl_witness_keep(search, transition, &transition->before, ported->from, before,
			       platform);
}

/*
 * Check that the failure can witness the clause. A failed launch cannot, because the device code
 * can be too large for the other device whether or not the capability is missing.
 */
static bool may_count(const struct kl_transition *transition, enum kl_failure failure)
{
	if (failure == KL_FAILURE_COMPILE)
		return true;
	return runs_elsewhere(transition) && kl_witness_ran(failure);
}

static int ask_platform(struct kl_witness_search *search, struct kl_witness_clause *clause,
			const struct kl_transition *transition, const char *platform)
{
	KL_AUTO(ported_release) struct ported ported = { 0 };
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	char *at;
	int err;

	kl_strvec_pushf(&clause->plan, "%s K_%d for %s", transition->lineage,
			transition->step.number, platform);
	if (search->o->dry)
		return 0;
	if ((err = port_state(&ported, search, transition, platform)) < 0)
		return kl_witness_unsure(search, clause, err);
	err = kl_witness_judge(&judgement, search, clause, ported.gate, ported.to,
			       runs_elsewhere(transition));
	if (err < 0 || !judgement)
		return err;
	at = kl_asprintf("%s K_%d for %s", transition->lineage, transition->step.number, platform);
	if (kl_witness_passed(judgement) &&
	    kl_witness_is_there(search->card, &judgement->event->facts.features)) {
		err = kl_witness_keep(search, transition, kl_witness_commit(transition), ported.to,
				      judgement, platform);
		kl_witness_passes(search, clause, judgement, at);
		return err;
	}
	if (kl_witness_passed(judgement))
		kl_witness_leave_open(
			clause, "the code compiled for that platform lacks what the card provides");
	else if (!may_count(transition, judgement->event->failure))
		kl_witness_leave_open(clause, judgement->event->message);
	else if (!(err = judge_before(search, clause, transition, &ported, platform, judgement))) {
		kl_witness_fails(search, clause, judgement, at);
		return 0;
	}
	free(at);
	return err == KL_ENO ? 0 : err;
}

int kl_witness_on_platforms(struct kl_witness_search *search, struct kl_witness_clause *clause,
			    const struct kl_transition *transition, const struct kl_target *at,
			    size_t i)
{
	const struct kl_tax_platform *platforms[MAX_PLATFORMS];
	size_t n = lacking_platforms(platforms, search, transition, at, i);
	int err = 0;

	if (!n)
		kl_witness_leave_open(clause, "no known platform lacks the capability");
	for (size_t k = 0; !err && k < n && clause->end == KL_WITNESS_OPEN; k++)
		err = ask_platform(search, clause, transition, platforms[k]->name);
	return err;
}
