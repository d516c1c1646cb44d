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
 * gate - a session of the gate, which judges candidates: contract audit -> compile -> artefact
 * audit -> correctness -> facts -> profile -> verdict (docs/architecture.md, "A gate run").
 *
 * A session holds the state that several candidates share: the jail, the platform, a private
 * directory, compiled objects, the oracle's answers, the verdict cache. A walk opens one session,
 * as does `git klineage gate`.
 *
 *	kl_gate_open(&g, repo, &opts);
 *	kl_gate_judge(&v, g, candidate, parent);
 *	if (v->event->verdict == KL_VERDICT_PASS) ...
 *
 * A session only judges: it writes no notes and updates no refs.
 */

#define KL_GATE_PROFILE_MS 15000 /* default time limit of a profile in ms */

struct kl_gate_opts {
	struct kl_progress *progress; /* borrowed, or NULL */
	/* NULL for the value of klineage.jail; if not set, the strongest level that works */
	const char *jail;
	/**
	 * NULL for the value of klineage.platform; if not set, the platform of the machine, at most
	 * x86-64-v3.
	 */
	const char *platform;
	uint64_t seed; /* replay a run with this seed; 0 to draw a new seed from the system */
	/**
	 * Judge correctness at this point of the domain only ("M=3,N=7"), or at two points joined
	 * by "/", in this order. The verdict says nothing about other points and is not cached.
	 * NULL to judge at the contract's points.
	 */
	const char *dims;
	/**
	 * With `dims`: also time the candidate at these points, as at the contract's cases. The
	 * domain is not searched.
	 */
	bool timed;
	/**
	 * With `dims`: the tensors lie at these addresses, as in struct kl_gate_point; NULL lets
	 * them lie where the worker puts them. Borrowed.
	 */
	const char *base;
	bool no_profile; /* correctness only: the event has no profile */
	/**
	 * Run only compile, artefact audit and correctness at the `also` points (at all points if
	 * there are none). The event is of kind "check". A quick run also accepts a cached verdict
	 * of all stages, but a full run accepts no verdict of a quick run. Implies no_profile; the
	 * parent is ignored.
	 */
	bool quick;
	bool no_cache; /* judge again even if a verdict is cached */
	/** Fail with class `no-change` if the machine code equals the parent's. Walks set this. */
	bool same_code_fails;
	int64_t profile_ms; /* time limit of the profile in ms; 0 for KL_GATE_PROFILE_MS */
	/**
	 * Runner (gate/runner/runner.h); NULL for the value of klineage.runner; if not set,
	 * "local".
	 */
	const char *runner;
	/**
	 * The commit whose list of signers decides which signed verdicts can replace a run; NULL
	 * for the commit that klineage.signers names. Borrowed.
	 */
	const git_oid *signers_base;
	/** Backends of the surfaces to judge; NULL for kl_backends. Borrowed. */
	const struct kl_backends *backends;
};

struct kl_gate;

/**
 * Open a session. `repo` is borrowed until kl_gate_free(); if it is NULL, no cache and no config
 * are used. Return KL_ECANNOT if there is no jail, or this machine cannot judge on the requested
 * platform. Return KL_EUSAGE if an option is invalid.
 */
int kl_gate_open(struct kl_gate **out, struct kl_repo *repo, const struct kl_gate_opts *opts);
void kl_gate_free(struct kl_gate *gate);
KL_DEFINE_CLEANUP(struct kl_gate *, kl_gate_free)

/**
 * Get the platform on which a surface is judged. Its device can be unknown until a worker has run;
 * if the runner judges elsewhere, it is the device that the runner last reported, or "".
 */
int kl_gate_platform(struct kl_platform *out, struct kl_gate *gate,
		     const struct kl_surface *surface);
/**
 * Get the platform on which this machine would judge a kernel that was judged on `platform`; see
 * kl_builder_machine(). Return KL_EINVALID if the platform is unknown. Return KL_ECANNOT if this
 * session cannot judge on that platform.
 */
int kl_gate_machine(struct kl_platform *out, struct kl_gate *gate, const char *platform);
const struct kl_jail *kl_gate_jail(const struct kl_gate *gate);

/**
 * Judge a candidate and compare its speed with `parent` (NULL if none) and the contract's baseline.
 * Returns 0 for every verdict. Return KL_ECANNOT if the candidate cannot be tested here, for
 * example because the oracle is not written or does not compile, or because the machine is in
 * trouble (full disk, no memory, no descriptors, a compiler that crashes); then nothing is cached.
 * A baseline that cannot be compiled is reported and left out. Return KL_EINTR if the user
 * interrupted the run.
 *
 * `commit` is the hex id of a commit with the candidate's surface; NULL if not known. If the job is
 * judged elsewhere, the commit gets a note when the result is imported.
 */
int kl_gate_judge_at(struct kl_judgement **out, struct kl_gate *gate,
		     const struct kl_surface *candidate, const struct kl_surface *parent,
		     const char *commit);
/** Call kl_gate_judge_at() without a commit. */
int kl_gate_judge(struct kl_judgement **out, struct kl_gate *gate,
		  const struct kl_surface *candidate, const struct kl_surface *parent);

/**
 * Judge like kl_gate_judge(), but ignore a cached verdict; the new verdict replaces the cached one.
 * If the runner judges elsewhere, the judgement is always deferred: the new verdict is found by
 * kl_gate_judge(), and kl_gate_is_again() tells it from the old one.
 */
int kl_gate_judge_anew(struct kl_judgement **out, struct kl_gate *gate,
		       const struct kl_surface *candidate, const struct kl_surface *parent);

/**
 * Return true if the event is the result of a job that kl_gate_judge_anew() sent elsewhere because
 * there was a verdict already.
 */
bool kl_gate_is_again(const struct kl_gate *gate, const struct kl_event *event);

/* The point at which kl_gate_judge_point() judges a candidate. */
struct kl_gate_point {
	const char *dims;                /* "M=3,N=7"; the candidate's contract must allow it */
	const struct kl_surface *parent; /* time both there, too; NULL for correctness only */
	/*
	 * draw all inputs from this seed, as in a replay, in every band of values that the contract
	 * allows and not only in a few; 0 to draw them as for a verdict
	 */
	uint64_t seed;
	/* the event's member `point`; borrowed; NULL for {"dims": {...}} */
	const json_t *member;
	/*
	 * if the point is judged elsewhere: the campaign that gets the event when the result is
	 * imported; NULL if only a session that judges at once can judge the point
	 */
	const char *campaign;
	/*
	 * "x=4": this tensor lies at an address that is a multiple of 4 bytes and of no greater
	 * power of two, and every other tensor at a multiple of KL_GATE_BASE bytes; NULL to place
	 * them at either end of a mapping, so that most addresses are multiples of the size of the
	 * tensor's elements only
	 */
	const char *base;
};
#define KL_GATE_BASE 256

/**
 * Judge a candidate at one point only. The event is of kind "probe" and names the point. It is
 * never a verdict on the candidate: none is cached or recalled, and readers of verdicts ignore it.
 * If the worker refuses the point, for example because the oracle fails there, the verdict is
 * not-run, and the event's message says why. If the runner judges elsewhere, the judgement is
 * deferred, and the point is asked again later: the caller looks into the campaign first. Other
 * errors are those of kl_gate_judge_at(). Return KL_ECANNOT also if the runner judges elsewhere,
 * and the point has no campaign.
 */
int kl_gate_judge_point(struct kl_judgement **out, struct kl_gate *gate,
			const struct kl_surface *candidate, const struct kl_gate_point *point);

/**
 * Name the candidate that will be judged after the next candidate, and its parent. Both are
 * compiled while a device judges the next candidate, and are borrowed until the next
 * kl_gate_judge() returns. `candidate` is NULL if it is not known.
 */
void kl_gate_expect(struct kl_gate *gate, const struct kl_surface *candidate,
		    const struct kl_surface *parent);

/**
 * Send the jobs that wait in the session (gate/runner/transfer.h). With a runner that judges
 * elsewhere, kl_gate_judge() queues a job for each candidate that must run to get a verdict. Once
 * the results are imported, kl_gate_judge() returns the verdicts.
 */
int kl_gate_send(struct kl_transfer *out, struct kl_gate *gate, const char *path);
/** Move the jobs that wait in another session to this one, so that one bundle has all of them. */
int kl_gate_take_jobs(struct kl_gate *gate, struct kl_gate *from);
/** Return the number of jobs that wait to be sent. */
size_t kl_gate_waiting(const struct kl_gate *gate);
/** Return true if one bundle cannot hold more jobs than those that wait. */
bool kl_gate_is_full(const struct kl_gate *gate);
/** Return true if the session's runner judges elsewhere, so that verdicts arrive later. */
bool kl_gate_is_remote(const struct kl_gate *gate);

/**
 * Return true if the last judgement failed with KL_ECANNOT because no suitable device was found.
 */
bool kl_gate_lacked_device(const struct kl_gate *gate);

/**
 * Return the incomplete judgement of a candidate that compiled and passed the audit but could not
 * run, because no suitable device was found. Its event has the candidate's features and figures,
 * and no verdict. The session owns the judgement and frees it at the next one. Return NULL if the
 * last judgement did not lack a device.
 */
const struct kl_judgement *kl_gate_compiled(const struct kl_gate *gate);

/**
 * Check that this session can judge the surface now. Call it before paying a model for a candidate.
 * Return KL_ECANNOT if the surface needs a device that this machine does not have, or the runner
 * judges elsewhere, so that verdicts arrive later.
 */
int kl_gate_reaches(const struct kl_gate *gate, const struct kl_surface *surface);

/**
 * Compile a surface and read its facts. Return KL_ENO if the surface was refused; the message has
 * the class of the failure.
 */
int kl_gate_facts(struct kl_facts *out, struct kl_gate *gate, const struct kl_surface *surface);

#endif
