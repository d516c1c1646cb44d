/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_VISIT_H
#define KL_WORKER_MEASURE_VISIT_H

#include "worker/measure/judge.h"
#include "worker/measure/redraw.h"
#include "worker/measure/script.h"

/*
 * visit - makes the calls of one script in a fresh process. This is one visit of the profile: the
 * process gets a fresh copy of the subject's object. All answers of the candidate are judged,
 * whether the call is measured or not. Of the other subjects, only answers of measured calls are
 * judged.
 *
 * A visit reports its shortest time: on a machine that also does other work, disturbances only make
 * a call longer. Therefore only visits that measure the same number of calls are comparable.
 *
 * After a call slower than KL_VISIT_SLOW_NS, one measured call is enough, and all other calls
 * before the tail are skipped. The caller decides whether the calls of the tail are made.
 */
#define KL_VISIT_SLOW_NS ((int64_t)200000000)

struct kl_visit_plan {
	const struct kl_job *job;
	const struct kl_point *point;
	struct kl_subject_spec spec;
	const struct kl_script *script;
	bool candidate;         /* judge every call */
	bool tail;              /* make the calls of the tail */
	bool lean;              /* from the start, skip calls as after a slow call */
	struct kl_judge *judge; /* judges the answers of this subject */
	/* how wrong answers of the candidate are redrawn; or NULL */
	const struct kl_redraw *redraw;
	struct kl_subject_memory *memory; /* shared by all subjects at this point; or NULL */
};

struct kl_visit {
	int64_t least_ns; /* shortest kl_call.ns of a measured call, at least 1 */
	/* shortest kl_call.wall_ns of a measured call, to compare with the physical floor */
	int64_t least_wall_ns;
	int64_t least_late_ns; /* lowest kl_call.late_ns of a measured call */
	int64_t tail_ns;       /* clock time of the tail */
	/* numbers of measured calls, and of those that waited for a processor */
	int measured, disturbed;
	int64_t handshake_ns; /* kl_subject_handshake_ns() */
	bool traced;          /* kl_subject_traced() */
	int calls;            /* calls whose answers were judged */
	/* the last call; the visit failed if end is not KL_CALL_OK or mismatch.out is not -1 */
	struct kl_call call;
	struct kl_mismatch mismatch;
	bool changed; /* the answer is right, but an earlier answer to this input had other bits */
	/* if not NULL, the wrong answer is the right answer to this earlier input */
	const struct kl_member *kept;
	const struct kl_member *at; /* input of the last call */
	/* the members that were answered correctly, without repetition */
	const struct kl_member *met[KL_SCRIPT_CALLS];
	size_t nmet;
};

/** Run a visit. Return 0 whatever the kernel did, an error if it cannot be started or called. */
int kl_visit(struct kl_visit *out, const struct kl_visit_plan *plan);
/** Return true if every call of the visit ended well and no judged answer was wrong. */
bool kl_visit_ok(const struct kl_visit *visit);

#endif
