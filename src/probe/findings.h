/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_FINDINGS_H
#define KL_PROBE_FINDINGS_H

#include "probe/fit.h"
#include "probe/probing.h"
#include "probe/quantities.h"
#include "probe/step_facts.h"

/*
 * findings - finds the conditions under which the step K_{i-1} -> K_i keeps a kernel right. They
 * come from the points of a probe.
 *
 * Only points where K_{i-1} passes and K_i was tested count. The measured clauses are those that
 * separate the points where K_i fails from those where it passes (fit.h). Then the clauses that the
 * contract's domain, the launch plan or a card states are compared with the points.
 */
enum kl_probe_finding_state {
	/* there are two points: K_i fails where the clause is false and passes where it is true */
	KL_PROBE_FINDING_WITNESSED,
	KL_PROBE_FINDING_STRONGER,   /* the clause implies a measured clause, which suffices */
	KL_PROBE_FINDING_NOT_NEEDED, /* K_i also passes where the clause is false */
	KL_PROBE_FINDING_NOT_TESTED,
};
extern const char *const kl_probe_finding_state_names[];

#define KL_PROBE_FINDING_NOWHERE ((size_t)-1)

struct kl_probe_finding {
	char *text;
	const char *source; /* "measured", "domain", "launch plan" or that of the question */
	enum kl_probe_finding_state state;
	char *same;    /* of a measured clause: another text that is true at the same points */
	size_t fails;  /* number of points where the clause is false and K_i fails */
	size_t passes; /* ... where it is true and K_i passes */
	size_t free;   /* ... where it is false and K_i passes */
	/*
	 * indices of points: the pair, or for KL_PROBE_FINDING_NOT_NEEDED a point where it is false
	 */
	size_t fail_point, pass_point;
	char *why; /* why the clause is not tested or stronger than needed; or NULL */
};

/* A stated clause that is compared with the points. */
struct kl_probe_finding_question {
	const char *text, *source; /* borrowed */
};

struct kl_probe_findings {
	struct kl_probe_finding *v; /* measured clauses first */
	size_t n, alloc;
	size_t tested;      /* points that count */
	size_t fails;       /* ... of which K_i fails at so many */
	size_t unexplained; /* ... where no measured clause is false */
	size_t unexplained_point;
	/* inputs that failed there, each with its number of points: "12: ties" */
	struct kl_strvec bands;
	size_t before_fails;       /* points where K_{i-1} fails */
	size_t before_fails_point; /* one of them */
	size_t repaired;           /* ... of which K_i passes at so many */
	size_t untested;           /* points where one of the two states could not be judged */
	/* the reasons, each with its number of points: "12: the oracle ..." */
	struct kl_strvec reasons;
	struct kl_step_facts facts;
	size_t held_right, held; /* held-back points: predicted rightly, and in all */
	/*
	 * drawn points that count, which no condition was fitted to: in all, predicted rightly, and
	 * those where K_i fails
	 */
	size_t drawn, drawn_right, drawn_fails;
};

/**
 * Make the findings about the step from state i-1 to state i. `question` has the `n` stated clauses
 * to compare with the points. The caller releases *out.
 */
void kl_probe_findings_make(struct kl_probe_findings *out, const struct kl_probing *probe, size_t i,
			    const struct kl_probe_finding_question *question, size_t n);
void kl_probe_findings_release(struct kl_probe_findings *findings);

/**
 * Append the clauses of the contract's domain that are remainders or equalities, and the
 * requirements that the launch plan of `after` has and that of `before` lacks. Texts go to `texts`,
 * sources to `sources`, at the same index.
 */
int kl_probe_findings_stated(struct kl_strvec *texts, struct kl_strvec *sources,
			     const struct kl_surface *before, const struct kl_surface *after);

/**
 * Fill the table with the points that count for the step, without those that were drawn. *point
 * (owned by the caller) has for each row the index of its point.
 */
void kl_probe_findings_table(struct kl_fit_table *table, size_t **point,
			     const struct kl_quantities *quantities, const struct kl_probing *probe,
			     size_t i);

#endif
