/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_GATE_H
#define KL_GATE_GATE_H

#include "backend/backend.h"
#include "base/progress.h"
#include "contract/surface.h"
#include "event/facts.h"
#include "event/judgement.h"
#include "event/platform.h"
#include "gate/runner/transfer.h"
#include "jail/jail.h"

/*
 * gate - one session of judging: contract audit -> compile -> artefact audit -> correctness ->
 * facts -> profile -> verdict (docs/architecture.md, "A gate run").
 *
 * A session holds what several candidates share: the jail, the platform, a
 * private directory, compiled objects, the oracle's answers, the verdict
 * cache. A walk opens one; `git klineage gate` too.
 *
 *	kl_gate_open(&g, repo, &opts);
 *	kl_gate_judge(&v, g, candidate, parent);
 *	if (v->event->verdict == KL_VERDICT_PASS) ...
 *
 * The session judges; it writes no note and moves no ref.
 */

struct kl_gate_opts {
	struct kl_progress *progress; /* borrowed, or NULL */
	const char *jail;             /* NULL: config klineage.jail, else the best */
	/** NULL: config klineage.platform, else what the machine runs, at most v3. */
	const char *platform;
	uint64_t seed;   /* 0: from the system; else replay exactly this */
	bool no_profile; /* correctness only: profile is absent from the event */
	/**
	 * Compile, artefact audit and the `also` shapes alone (all shapes where there are none):
	 * what comes out is an event of kind "check". A verdict of the whole gate serves it, never
	 * the other way round. Implies no_profile; nothing is compared with a parent.
	 */
	bool quick;
	bool no_cache; /* judge again even if this clone has a verdict */
	/** Identical machine code is a fail, class no-change (a walk wants that). */
	bool same_code_fails;
	int64_t profile_ms; /* 0: 15 s */
	/** Who judges (gate/runner/runner.h); NULL: config klineage.runner, else "local". */
	const char *runner;
	/** Of the surfaces that it will be given; NULL: kl_backends. Borrowed. */
	const struct kl_backends *backends;
};

struct kl_gate;

/**
 * `repo` (may be NULL: no cache, no config) is borrowed until kl_gate_free.
 * KL_ECANNOT: no jail, no compiler, no worker.
 */
int kl_gate_open(struct kl_gate **out, struct kl_repo *repo, const struct kl_gate_opts *opts);
void kl_gate_free(struct kl_gate *gate);
KL_DEFINE_CLEANUP(struct kl_gate *, kl_gate_free)

/** Where this surface is judged; its device may not be known before a worker ran. */
int kl_gate_platform(struct kl_platform *out, struct kl_gate *gate,
		     const struct kl_surface *surface);
/**
 * Where this machine would judge what was judged on `platform` (kl_builder_machine). KL_ECANNOT,
 * KL_EINVALID: nowhere.
 */
int kl_gate_machine(struct kl_platform *out, struct kl_gate *gate, const char *platform);
const struct kl_jail *kl_gate_jail(const struct kl_gate *gate);

/**
 * Judge a candidate; compare its speed with `parent` (NULL: none) and the
 * contract's baseline. 0 whatever the verdict; KL_ECANNOT when it cannot be tested here
 * (oracle unfilled or unusable, baseline missing is only noted), KL_EINTR. `commit`, where it
 * is known that the candidate is its surface, gets a note when a result comes back later; NULL:
 * none.
 */
int kl_gate_judge_at(struct kl_judgement **out, struct kl_gate *gate,
		     const struct kl_surface *candidate, const struct kl_surface *parent,
		     const char *commit);
int kl_gate_judge(struct kl_judgement **out, struct kl_gate *gate,
		  const struct kl_surface *candidate, const struct kl_surface *parent);

/** The same, measured anew whatever this clone knows; its cache has the new verdict then. */
int kl_gate_judge_anew(struct kl_judgement **out, struct kl_gate *gate,
		       const struct kl_surface *candidate, const struct kl_surface *parent);

/**
 * With a runner that judges elsewhere, what kl_gate_judge could not answer from the cache or the
 * compiler waits in the session: send it (gate/runner/transfer.h). Once its results are in,
 * kl_gate_judge answers.
 */
int kl_gate_send(struct kl_parcel *out, struct kl_gate *gate, const char *path);
/** Jobs that wait to be sent. */
size_t kl_gate_waiting(const struct kl_gate *gate);
/** Does a job wait for somebody else? Of the runner, not of the moment. */
bool kl_gate_is_remote(const struct kl_gate *gate);

/** Did the last judgement end in KL_ECANNOT for want of a device that its code is for? */
bool kl_gate_lacked_device(const struct kl_gate *gate);

/**
 * Would a job of this surface be answered now? To be asked before anybody pays for a candidate.
 * KL_ECANNOT: it needs a device and this machine shows none, or the runner judges elsewhere and
 * answers later.
 */
int kl_gate_reaches(const struct kl_gate *gate, const struct kl_surface *surface);

/** Compile and read the facts only; KL_ENO and a verdict when it does not compile or is refused. */
int kl_gate_facts(struct kl_facts *out, struct kl_gate *gate, const struct kl_surface *surface);

#endif
