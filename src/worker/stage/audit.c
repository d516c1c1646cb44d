/* SPDX-License-Identifier: Apache-2.0 */
/* audit - checks the contract itself, before any candidate (stage audit) */
#include "worker/stage/stages.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/par.h"
#include "job/tensor.h"
#include "worker/pool/yardsticks.h"
#include "worker/stage/audit_parts.h"

#define ROOM ((size_t)256)  /* elements converted to double at a time */
#define DRAWS_SHARE 10      /* one draw in ten may fail when judged by the errors of the others */
#define SHARES ((size_t)64) /* number of pieces of a tensor that are scanned in parallel */

void kl_audit_add(json_t *list, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(list, json_string(text));
}

const char *kl_audit_rule(const struct kl_job *job, size_t arg)
{
	/* clang-format off */
	static const char *const names[] = {
		[KL_RULE_NOISE] = "noise", [KL_RULE_EXACT] = "exact",
		[KL_RULE_ELEMENTWISE] = "elementwise", [KL_RULE_REL_L2] = "rel-l2",
		[KL_RULE_MULTISET] = "multiset",
	};
	/* clang-format on */

	for (size_t i = 0; i < job->nrule; i++)
		if (job->rule[i].out == (int)arg ||
		    (job->rule[i].kind == KL_RULE_MULTISET && job->rule[i].indices == (int)arg))
			return names[job->rule[i].kind];
	return NULL;
}

int kl_audit_passes(const struct kl_audit *audit, const struct kl_member *member,
		    const struct kl_answer *answer, struct kl_mismatch *where)
{
	struct kl_mismatch own;

	return kl_answer_right(where ? where : &own, audit->job, member, answer);
}

/* -- the honest reference ----------------------------------------------- */

/*
 * Report outputs in f64: the oracle in float cannot serve as the honest reference for them, since
 * its error tells nothing about rounding in double.
 */
static void check_reference(struct kl_audit *audit)
{
	for (size_t i = 0; i < audit->job->nargs; i++) {
		const char *rule = kl_audit_rule(audit->job, i);

		if (!kl_arg_is_output(&audit->job->arg[i]) || audit->job->arg[i].dtype != KL_F64)
			continue;
		if (rule && !strcmp(rule, "noise"))
			kl_audit_add(
				audit->problems,
				"rule noise cannot judge '%s', because f64 has no honest reference",
				audit->job->arg[i].name);
		else
			kl_audit_add(audit->notes, "'%s' is f64, which has no honest reference",
				     audit->job->arg[i].name);
	}
}

static int check_honest(struct kl_audit *audit)
{
	for (size_t k = 0; k < kl_pool_size(audit->pool); k++) {
		const struct kl_member *member = kl_pool_get(audit->pool, k);
		KL_AUTO(kl_answer_release) struct kl_answer answer = { 0 };
		struct kl_mismatch at;
		int ok;

		kl_answer_truth(&answer, audit->job, member);
		for (size_t i = 0; i < audit->job->nargs; i++)
			if (member->honest[i] && audit->job->arg[i].dtype != KL_F64)
				kl_answer_put(&answer, audit->job, member, i, member->honest[i],
					      false);
		ok = kl_audit_passes(audit, member, &answer, &at);
		if (ok < 0)
			return ok;
		if (!ok)
			kl_audit_add(
				audit->problems,
				"the oracle in float does not pass for '%s' at '%s', band '%s': "
				"got %s, wanted %s (%s)",
				audit->job->arg[at.out].name, member->point->id, member->band,
				at.got, at.wanted, at.why);
	}
	return 0;
}

/*
 * Judge each draw of the honest reference by the errors of all other draws. A rule under which many
 * draws fail would refuse sound kernels, too.
 */
static void check_draws(struct kl_audit *audit)
{
	const struct kl_yardsticks *all = kl_pool_yardsticks(audit->pool);

	for (size_t i = 0; i < all->n; i++) {
		const struct kl_yardsticks_band *band = &all->band[i];

		for (size_t k = 0; k < audit->job->nrule; k++) {
			const struct kl_rule *rule = &audit->job->rule[k];
			size_t outside = kl_yardstick_outside(&band->rule[k], rule);

			/* one draw can be unlike all others */
			if (outside < 2 || DRAWS_SHARE * outside <= band->rule[k].n)
				continue;
			kl_audit_add(
				audit->problems,
				"the oracle in float fails %zu of %zu draws for '%s' at '%s', band "
				"'%s', judged by the other draws, so the rule allows too little",
				outside, band->rule[k].n, audit->job->arg[rule->out].name,
				band->point->id, band->band);
		}
	}
}

/* -- exact bands whose answers must exceed a value ----------------------- */

struct scan {
	enum kl_dtype dtype;
	const void *from;
	double most[SHARES];
	size_t n;
};

static void scan_shares(void *ctx, size_t first, size_t last)
{
	struct scan *scan = ctx;
	double room[ROOM];

	for (size_t k = first; k < last; k++)
		for (size_t off = k * scan->n / SHARES, end = (k + 1) * scan->n / SHARES, n;
		     off < end; off += n) {
			n = end - off < ROOM ? end - off : ROOM;
			kl_tensor_load(room, scan->dtype, scan->from, off, n);
			for (size_t i = 0; i < n; i++)
				scan->most[k] = fabs(room[i]) > scan->most[k] ? fabs(room[i]) :
										scan->most[k];
		}
}

static double largest_answer(const struct kl_audit *audit, const struct kl_member *member)
{
	double most = 0;

	for (size_t i = 0; i < audit->job->nargs; i++) {
		enum kl_dtype dtype = audit->job->arg[i].dtype;
		struct scan scan = { .dtype = kl_dtype_is_float(dtype) ? KL_F64 : dtype,
				     .from = member->truth[i],
				     .n = kl_member_elements(member, i) };

		if (!kl_arg_is_output(&audit->job->arg[i]))
			continue;
		kl_par_for(SHARES, scan.n < SHARES * ROOM ? SHARES : 1, scan_shares, &scan);
		for (size_t k = 0; k < SHARES; k++)
			most = fmax(most, scan.most[k]);
	}
	return most;
}

/*
 * Check that an answer of each exact band exceeds the band's `must_exceed`. The band reveals a
 * kernel that adds in a narrow type only if sums leave the range in which this type is exact.
 */
static void check_exceed(struct kl_audit *audit)
{
	for (size_t i = 0; i < kl_pool_size(audit->pool); i++) {
		const struct kl_member *member = kl_pool_get(audit->pool, i);
		const json_t *band = member->exact ?
					     json_array_get(audit->job->exact,
							    strtoul(member->band + 5, NULL, 10)) :
					     NULL;
		double must = kl_json_num_or(band, "must_exceed", 0), most;

		if (!must || !member->point->perf)
			continue;
		most = largest_answer(audit, member);
		if (!(most > must))
			kl_audit_add(audit->problems,
				     "no answer exceeds %g at '%s', band '%s': the largest is %g",
				     must, member->point->id, member->band, most);
	}
}

/* -- twins -------------------------------------------------------------- */

static void check_twins(struct kl_audit *audit)
{
	for (size_t at = 0; at < audit->job->npoint; at++) {
		const struct kl_point *pt = &audit->job->point[at];

		if (pt->perf && !kl_pool_twin(audit->pool, pt))
			kl_audit_add(
				audit->notes,
				"no twin at '%s': changing a few elements of the inputs leaves the "
				"answer right, so a kernel that compares only a part of the inputs "
				"to reuse an old answer can pass",
				pt->id);
	}
}

/* -- every output judged ------------------------------------------------ */

static void check_judged(struct kl_audit *audit)
{
	for (size_t i = 0; i < audit->job->nargs; i++)
		if (kl_arg_is_output(&audit->job->arg[i]) && !kl_audit_rule(audit->job, i))
			kl_audit_add(audit->problems, "no rule judges output '%s'",
				     audit->job->arg[i].name);
}

/* -- the whole audit ---------------------------------------------------- */

static void report_audit(json_t *result, struct kl_audit *audit)
{
	json_t *object = json_object();
	size_t n = json_array_size(audit->problems);
	char text[500];

	kl_json_set_bool(object, "ok", n == 0);
	kl_json_set(object, "problems", json_incref(audit->problems));
	kl_json_set(object, "notes", json_incref(audit->notes));
	kl_json_set(result, "audit", object);
	if (!n)
		return;
	snprintf(text, sizeof(text), "contract audit: %s%s",
		 json_string_value(json_array_get(audit->problems, 0)),
		 n > 1 ? " (and more: see audit.problems)" : "");
	kl_json_set_str(result, "status", "cannot");
	kl_json_set_str(result, "class", NULL);
	kl_json_set_str(result, "message", text);
}

int kl_stage_audit(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(json_decrefp) json_t *problems = json_array();
	KL_AUTO(json_decrefp) json_t *notes = json_array();
	struct kl_audit audit = { .job = job, .pool = pool, .problems = problems, .notes = notes };
	struct kl_key master;
	int err;

	kl_key_master(&master, job->seed);
	audit.redraw = kl_key_derive(&master, "redraw");
	check_judged(&audit);
	check_reference(&audit);
	check_twins(&audit);
	check_exceed(&audit);
	check_draws(&audit);
	err = check_honest(&audit);
	if (err == 0)
		err = kl_audit_trivial(&audit);
	if (err == 0)
		err = kl_audit_inputs(&audit);
	if (err == 0)
		err = kl_audit_lower(&audit);
	if (err == 0)
		report_audit(result, &audit);
	return err;
}
