/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_PROBING_H
#define KL_PROBE_PROBING_H

#include "base/progress.h"
#include "event/event.h"
#include "gate/gate.h"
#include "probe/points.h"
#include "probe/store.h"
#include "retrieve/taxonomy.h"

/*
 * probing - judges the states of a kernel at the points of a probe (docs/formats.md, "Probes").
 *
 * Every point is judged by the correctness stage alone, under a contract without a domain, so that
 * points outside the domain count too. Where the oracle itself cannot judge, for example because it
 * leaves its arrays, the point is "not tested".
 *
 *	kl_probing_run(&probe, state, n, &opts);		state i-1 to state i is one step
 *	kl_probe_findings_make(&findings, &probe, i, ...);	findings.h: what was learned about step i
 *
 * Each result is an event of kind "probe" in the store (store.h), where the next run finds it. It
 * is never a verdict on a commit.
 *
 * If the session's runner judges elsewhere, all points that are asked wait in the session (the jobs
 * of a wave, gate/wave.h); points between a pass and a failure are added when no other point waits.
 */
enum kl_probe_end { KL_PROBE_UNTESTED, KL_PROBE_PASSES, KL_PROBE_FAILS };

/* One state at one point. */
struct kl_probe_side {
	enum kl_probe_end end;
	bool asked;      /* false if the probe ended before the point or left it out */
	bool waits;      /* a job was made for it, but there is no result yet */
	char class_[24]; /* class of the failure */
	/* borrowed from the store; NULL if none is stored */
	const struct kl_event *event;
	char *why;     /* message of a failure, or why the point is not tested; or NULL */
	int64_t bands; /* number of inputs with special values */
};

struct kl_probe_state {
	const struct kl_surface *surface;         /* borrowed */
	struct kl_surface *wide[KL_PROBE_VALUES]; /* with the contracts for the classes of values */
	struct kl_probe_side *side;               /* for each point */
	/* points that were judged twice, and those of them where both answers have the same bits */
	size_t repeated, repeat_same;
	bool uncompiled;    /* the state does not compile here, so one point decides all points */
	size_t repeat_next; /* next point that may be judged a second time */
};

struct kl_probing {
	struct kl_probe_points points;
	struct kl_probe_state *state;
	size_t n;
	struct kl_probe_store *store;
	const struct kl_taxonomy *tax; /* borrowed */
	size_t side_alloc;             /* points that the sides have room for */
	size_t judged, kept;           /* results of this run, and of earlier ones */
	size_t added;                  /* points that were added between a pass and a failure */
	size_t left;    /* points that there was no time for, or no room in the bundle */
	size_t waiting; /* results that come from elsewhere */
	/*
	 * from this index on, points are drawn: no condition is fitted to them; SIZE_MAX if there
	 * is none
	 */
	size_t drawn;
	bool interrupted;  /* by the user */
	char platform[32]; /* platform on which the points were judged; "" if not known */
	/* why the gate cannot judge any more, for example because there is no device; or NULL */
	char *stopped;
};

struct kl_probing_opts {
	struct kl_repo *repo;
	const struct kl_taxonomy *tax;
	struct kl_progress *progress;
	const char *jail, *platform; /* as in struct kl_gate_opts */
	int64_t ms;                  /* time limit; 0 to judge nothing new; below 0 for no limit */
	const struct kl_probe_axis *axis;
	size_t naxis;
	size_t most; /* most points to begin with; 0 for KL_PROBE_MOST */
	/* number of points to draw afterwards to check the conditions; they get half of the time */
	size_t check;
	/* take the points at which every state was judged before, and judge none */
	bool stored;
	bool dry; /* list the points, but judge nothing */
};

/** Open the session in which kl_probing_run() judges. Errors are those of kl_gate_open(). */
int kl_probing_gate(struct kl_gate **out, const struct kl_probing_opts *opts);

/**
 * Judge states at points. `state` has the surfaces, which must have the same dims and arguments,
 * the older ones first. Return KL_EUSAGE if these differ, or if the grid is not for this contract.
 * If the time is up or the user interrupts, the result is what is known so far. `gate` can be NULL
 * for a dry run.
 */
int kl_probing_run(struct kl_probing *out, struct kl_gate *gate,
		   const struct kl_surface *const *state, size_t n,
		   const struct kl_probing_opts *opts);
void kl_probing_release(struct kl_probing *probe);
/** Add the points at which the store has results of a state. */
int kl_probe_points_stored(struct kl_probe_points *out, struct kl_probe_store *store,
			   const struct kl_probe_state *state);

#endif
