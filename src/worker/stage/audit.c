/* SPDX-License-Identifier: Apache-2.0 */
/* audit - checks the contract itself, before any candidate (stage audit) */
#include "worker/stage/stages.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/key.h"
#include "base/par.h"
#include "job/tensor.h"
#include "worker/pool/answer.h"
#include "worker/pool/fill.h"
#include "worker/subject/trial.h"

#define ROOM ((size_t)256)  /* elements converted to double at once */
#define SHARES ((size_t)64) /* pieces in which a tensor is scanned */

struct audit {
	const struct kl_job *job;
	struct kl_pool *pool;
	json_t *problems, *notes;
	struct kl_key redraw;
};

__attribute__((format(printf, 2, 3))) static void add_finding(json_t *list, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(list, json_string(text));
}

static const char *rule_name(const struct kl_job *job, size_t arg)
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

/* Returns 1 if the rules accept this answer, 0 if not, negative on error. */
static int does_pass(const struct audit *audit, const struct kl_member *member,
		     const struct kl_answer *answer, struct kl_mismatch *where)
{
	struct kl_mismatch own;

	return kl_answer_right(where ? where : &own, audit->job, member, answer);
}

/* -- the honest answer -------------------------------------------------- */

/*
 * For f64 outputs the oracle in float cannot serve as the honest reference, since it tells nothing
 * about rounding in double.
 */
static void check_yardstick(struct audit *audit)
{
	for (size_t i = 0; i < audit->job->nargs; i++) {
		const char *rule = rule_name(audit->job, i);

		if (!kl_arg_is_output(&audit->job->arg[i]) || audit->job->arg[i].dtype != KL_F64)
			continue;
		if (rule && !strcmp(rule, "noise"))
			add_finding(audit->problems,
				    "rule noise cannot judge '%s': f64 has no honest yardstick",
				    audit->job->arg[i].name);
		else
			add_finding(audit->notes, "'%s' is f64: there is no honest yardstick",
				    audit->job->arg[i].name);
	}
}

static int check_honest(struct audit *audit)
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
		ok = does_pass(audit, member, &answer, &at);
		if (ok < 0)
			return ok;
		if (!ok)
			add_finding(
				audit->problems,
				"the oracle in float does not pass for '%s' at '%s', band '%s': "
				"%s, wanted %s (%s)",
				audit->job->arg[at.out].name, member->point->id, member->band,
				at.got, at.wanted, at.why);
	}
	return 0;
}

/* -- sums beyond fewer bits --------------------------------------------- */

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

static double largest_answer(const struct audit *audit, const struct kl_member *member)
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
 * An exact band reveals sums in a narrow type only if they leave the range in which that type is
 * exact.
 */
static void check_exceed(struct audit *audit)
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
			add_finding(audit->problems,
				    "no answer exceeds %g at '%s', band '%s': the largest is %g",
				    must, member->point->id, member->band, most);
	}
}

/* -- trivial answers ---------------------------------------------------- */

enum trivial { ZEROS, ONES, ROW_MEAN, PREVIOUS, COPY };

static void put_constant(char *to, enum kl_dtype dtype, size_t n, double value)
{
	KL_AUTO(kl_freep) double *values = kl_malloc(n * sizeof(*values) + 1);

	for (size_t i = 0; i < n; i++)
		values[i] = value;
	kl_tensor_convert(to, dtype, values, KL_F64, n);
}

struct rows {
	char *at;
	enum kl_dtype dtype;
	size_t row;
};

static void mean_rows(void *ctx, size_t from, size_t to)
{
	const struct rows *rows = ctx;
	KL_AUTO(kl_freep) double *row = kl_malloc(rows->row * sizeof(*row) + 1);

	for (size_t k = from; k < to; k++) {
		double sum = 0;

		kl_tensor_load(row, rows->dtype, rows->at, k * rows->row, rows->row);
		for (size_t i = 0; i < rows->row; i++)
			sum += row[i];
		for (size_t i = 0; i < rows->row; i++)
			row[i] = sum / (double)rows->row;
		kl_tensor_store(rows->at, rows->dtype, k * rows->row, row, rows->row);
	}
}

static void put_row_mean(struct kl_answer *answer, const struct kl_job *job,
			 const struct kl_member *member, size_t out)
{
	size_t naxes = member->point->arg[out].naxes, n = kl_member_elements(member, out);
	struct rows rows = { .at = answer->bytes[out], .dtype = job->arg[out].dtype };

	rows.row = naxes ? (size_t)member->point->arg[out].extent[naxes - 1] : 1;
	/* a row of one element is its own mean: use the mean of all */
	if (rows.row < 2)
		rows.row = n;
	kl_par_for(n / rows.row, 1 + 65536 / rows.row, mean_rows, &rows);
}

/* Copy the input's values in order, starting over if the input is shorter. */
static void put_copy(struct kl_answer *answer, const struct kl_job *job,
		     const struct kl_member *member, size_t out, size_t in)
{
	size_t n = kl_member_elements(member, out), have = kl_member_elements(member, in),
	       size = kl_dtype_bytes(job->arg[out].dtype);

	for (size_t off = 0; off < n && have; off += have)
		kl_tensor_convert(answer->bytes[out] + off * size, job->arg[out].dtype,
				  member->input[in], job->arg[in].dtype,
				  n - off < have ? n - off : have);
}

/* Replace one output and leave the others right: no part of the work may be skipped. */
static int try_trivial(struct audit *audit, const struct kl_member *member,
		       const struct kl_member *previous, size_t out, enum trivial kind, size_t in)
{
	/* clang-format off */
	static const char *const names[] = {
		[ZEROS] = "an answer of zeros", [ONES] = "an answer of ones",
		[ROW_MEAN] = "the mean of each row", [PREVIOUS] = "the answer to another input",
		[COPY] = "a copy of input ",
	};
	/* clang-format on */
	KL_AUTO(kl_answer_release) struct kl_answer answer = { 0 };
	const struct kl_job *job = audit->job;
	size_t n = kl_member_elements(member, out), size = kl_dtype_bytes(job->arg[out].dtype);
	KL_AUTO(kl_freep) char *truth = NULL;
	int ok;

	kl_answer_truth(&answer, job, member);
	if (kind == COPY && in != out) {
		truth = kl_malloc(n * size + 1);
		kl_par_copy(truth, answer.bytes[out], n * size);
	}
	if (kind == ZEROS || kind == ONES)
		put_constant(answer.bytes[out], job->arg[out].dtype, n, kind == ONES);
	else if (kind == ROW_MEAN)
		put_row_mean(&answer, job, member, out);
	else if (kind == PREVIOUS)
		kl_answer_put(&answer, job, member, out, previous->truth[out], true);
	else
		put_copy(&answer, job, member, out, in);
	/* if the kernel's task is to copy, a copy is the right answer */
	if (truth && kl_par_same(truth, answer.bytes[out], n * size)) {
		add_finding(audit->notes, "'%s' is a copy of '%s' at '%s': not held against it",
			    job->arg[out].name, job->arg[in].name, member->point->id);
		return 0;
	}
	ok = does_pass(audit, member, &answer, NULL);
	if (ok > 0)
		add_finding(audit->problems, "rule %s of '%s' passes %s%s%s%s at '%s'",
			    rule_name(job, out), job->arg[out].name, names[kind],
			    kind == COPY ? "'" : "", kind == COPY ? job->arg[in].name : "",
			    kind == COPY ? "'" : "", member->point->id);
	return ok < 0 ? ok : 0;
}

static int trivial_for(struct audit *audit, const struct kl_member *member,
		       const struct kl_member *previous, size_t out)
{
	int err = 0;

	for (int kind = ZEROS; kind < COPY && err == 0; kind++) {
		if (kind == PREVIOUS && !previous)
			continue;
		if (kind == ROW_MEAN && !kl_dtype_is_float(audit->job->arg[out].dtype))
			continue;
		err = try_trivial(audit, member, previous, out, (enum trivial)kind, 0);
	}
	for (size_t in = 0; in < audit->job->nargs && err == 0; in++)
		if (kl_arg_is_input(&audit->job->arg[in]) && kl_member_elements(member, in))
			err = try_trivial(audit, member, previous, out, COPY, in);
	return err;
}

static int check_trivial(struct audit *audit)
{
	int err = 0;

	for (size_t at = 0; at < audit->job->npoint; at++) {
		const struct kl_member *members[2] = { NULL };

		/*
		 * only performance points: with very few elements almost any answer is right by
		 * chance
		 */
		if (!audit->job->point[at].perf ||
		    !kl_pool_noise(audit->pool, &audit->job->point[at], members, 2))
			continue;
		for (size_t out = 0; out < audit->job->nargs && err == 0; out++)
			if (kl_arg_is_output(&audit->job->arg[out]) &&
			    kl_member_elements(members[0], out))
				err = trivial_for(audit, members[0], members[1], out);
	}
	return err;
}

/* -- twins -------------------------------------------------------------- */

static void check_twins(struct audit *audit)
{
	for (size_t at = 0; at < audit->job->npoint; at++) {
		const struct kl_point *pt = &audit->job->point[at];

		if (pt->perf && !kl_pool_twin(audit->pool, pt))
			add_finding(audit->notes,
				    "no twin at '%s': no change of few elements changes an answer; "
				    "answers kept by a part of the input may pass",
				    pt->id);
	}
}

/* -- every output judged ------------------------------------------------ */

static void check_judged(struct audit *audit)
{
	for (size_t i = 0; i < audit->job->nargs; i++)
		if (kl_arg_is_output(&audit->job->arg[i]) && !rule_name(audit->job, i))
			add_finding(audit->problems, "no rule judges output '%s'",
				    audit->job->arg[i].name);
}

/* -- every input matters ------------------------------------------------ */

/* Redraw input `arg` into `out`; *differs is false if its fill allows no other values. */
static int redraw_member(void *out, const struct audit *audit, const struct kl_member *member,
			 size_t arg, bool *differs)
{
	const struct kl_job_arg *job_arg = &audit->job->arg[arg];
	size_t bytes = kl_member_elements(member, arg) * kl_dtype_bytes(job_arg->dtype);
	int err = kl_fill_band(out, audit->job, member->point, member->band, &audit->redraw, arg);

	*differs = err == 0 && memcmp(out, member->input[arg], bytes);
	if (err < 0 || *differs || !kl_dtype_is_float(job_arg->dtype) || !bytes)
		return err;
	/* a constant fill: any other values show whether the input is used */
	{
		KL_AUTO(json_decrefp) json_t *normal = json_pack("{s:[f,f]}", "normal", 0.0, 1.0);
		struct kl_fill_spec spec = {
			.fill = normal,
			.dtype = job_arg->dtype,
			.extent = member->point->arg[arg].extent,
			.naxes = member->point->arg[arg].naxes,
			.point = member->point->id,
			.key = audit->redraw,
			.factor = 1.0,
		};

		*differs = true;
		return kl_fill_make(out, &spec);
	}
}

/*
 * Returns 1 if the rules accept the truth on `input` as an answer to `member`, 0 if not, negative
 * on error.
 */
static int truth_passes(struct audit *audit, struct kl_subject *oracle,
			const struct kl_member *member, const void *const *input)
{
	KL_AUTO(kl_answer_release) struct kl_answer answer = { 0 };
	int err = kl_trial_oracle(oracle, audit->job, member->point, input, true, NULL);

	if (err < 0)
		return err;
	kl_answer_room(&answer, audit->job, member);
	for (size_t i = 0; i < audit->job->nargs; i++)
		if (kl_arg_is_output(&audit->job->arg[i]))
			kl_answer_put(&answer, audit->job, member, i, kl_subject_buffer(oracle, i),
				      true);
	return does_pass(audit, member, &answer, NULL);
}

enum moved { MOVED, STILL, NO_OTHER };

static int try_input(enum moved *out, struct audit *audit, struct kl_subject *oracle,
		     const struct kl_member *member, size_t arg)
{
	const void *input[KL_MAX_ARGS];
	KL_AUTO(kl_freep) char *own = kl_calloc(kl_member_elements(member, arg) + 1,
						kl_dtype_bytes(audit->job->arg[arg].dtype));
	bool differs;
	int err = redraw_member(own, audit, member, arg, &differs);

	if (err < 0)
		return err;
	*out = NO_OTHER;
	if (!differs)
		return 0;
	memcpy(input, member->input, sizeof(input));
	input[arg] = own;
	err = truth_passes(audit, oracle, member, input);
	*out = err > 0 ? STILL : MOVED;
	return err < 0 ? err : 0;
}

static size_t size_of(const struct audit *audit, const struct kl_point *point)
{
	size_t n = 0;

	for (size_t i = 0; i < audit->job->nargs; i++)
		if (kl_arg_is_input(&audit->job->arg[i]) || kl_arg_is_output(&audit->job->arg[i]))
			n += (size_t)kl_point_elements(point, i);
	return n;
}

/* Sort the indices of the points by size, the smallest first. */
static void by_size(size_t *order, const struct audit *audit)
{
	for (size_t i = 0; i < audit->job->npoint; i++) {
		size_t k = i;

		for (; k > 0 && size_of(audit, &audit->job->point[order[k - 1]]) >
					size_of(audit, &audit->job->point[i]);
		     k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

/*
 * Start with small points, where it is cheap: an input that affects the answer at one point is
 * enough.
 */
static int check_inputs(struct audit *audit)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(audit->job->npoint + 1, sizeof(*order));
	enum moved seen[KL_MAX_ARGS];
	size_t left = 0;
	int err = 0;

	by_size(order, audit);
	for (size_t i = 0; i < audit->job->nargs; i++) {
		seen[i] = kl_arg_is_input(&audit->job->arg[i]) ? NO_OTHER : MOVED;
		left += seen[i] != MOVED;
	}
	for (size_t at = 0; at < audit->job->npoint && left && err == 0; at++) {
		const struct kl_point *pt = &audit->job->point[order[at]];
		KL_AUTO(kl_subject_freep) struct kl_subject *oracle = NULL;
		const struct kl_member *member;

		if (!kl_pool_noise(audit->pool, pt, &member, 1))
			continue;
		err = kl_trial_oracle_start(&oracle, audit->job, pt, true);
		for (size_t i = 0; i < audit->job->nargs && err == 0; i++) {
			enum moved now = NO_OTHER;

			if (seen[i] == MOVED)
				continue;
			err = try_input(&now, audit, oracle, member, i);
			left -= now == MOVED;
			seen[i] = now == NO_OTHER ? seen[i] : now;
		}
	}
	for (size_t i = 0; i < audit->job->nargs && err == 0; i++) {
		if (seen[i] == STILL)
			add_finding(
				audit->problems,
				"input '%s' does not matter: other values leave every answer right",
				audit->job->arg[i].name);
		if (seen[i] == NO_OTHER)
			add_finding(audit->notes,
				    "input '%s' has a constant integer fill: not redrawn",
				    audit->job->arg[i].name);
	}
	return err;
}

/* -- fewer bits --------------------------------------------------------- */

static int lower_at(struct audit *audit, const struct kl_member *member)
{
	const void *input[KL_MAX_ARGS];
	char *own[KL_MAX_ARGS] = { NULL };
	KL_AUTO(kl_subject_freep) struct kl_subject *oracle = NULL;
	const char *name = NULL;
	size_t changed = 0;
	int ok = 0;

	memcpy(input, member->input, sizeof(input));
	for (size_t i = 0; i < audit->job->nargs; i++) {
		enum kl_dtype dtype = audit->job->arg[i].dtype;
		size_t n = kl_arg_is_input(&audit->job->arg[i]) ? kl_member_elements(member, i) : 0;

		if (!n || !kl_dtype_is_float(dtype))
			continue;
		own[i] = kl_malloc(n * kl_dtype_bytes(dtype));
		memcpy(own[i], member->input[i], n * kl_dtype_bytes(dtype));
		changed += kl_tensor_lower(own[i], dtype, n);
		input[i] = own[i];
		name = kl_tensor_lower_name(dtype);
	}
	if (!changed) {
		add_finding(audit->notes, "%s at '%s': precision not audited",
			    name ? "every float input is exact in the next lower format" :
				   "no float input",
			    member->point->id);
	} else {
		ok = kl_trial_oracle_start(&oracle, audit->job, member->point, true);
		if (ok == 0)
			ok = truth_passes(audit, oracle, member, input);
		if (ok > 0)
			add_finding(
				audit->problems,
				"the rules pass the truth of inputs rounded to %s at '%s': too loose",
				name, member->point->id);
	}
	for (size_t i = 0; i < KL_MAX_ARGS; i++)
		free(own[i]);
	return ok < 0 ? ok : 0;
}

static int check_lower(struct audit *audit)
{
	int err = 0;

	for (size_t at = 0; at < audit->job->npoint && err == 0; at++) {
		const struct kl_member *member;

		if (audit->job->point[at].perf &&
		    kl_pool_noise(audit->pool, &audit->job->point[at], &member, 1))
			err = lower_at(audit, member);
	}
	return err;
}

/* -- all of it ---------------------------------------------------------- */

static void report_audit(json_t *result, struct audit *audit)
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
	struct audit audit = { .job = job, .pool = pool, .problems = problems, .notes = notes };
	struct kl_key master;
	int err;

	kl_key_master(&master, job->seed);
	audit.redraw = kl_key_derive(&master, "redraw");
	check_judged(&audit);
	check_yardstick(&audit);
	check_twins(&audit);
	check_exceed(&audit);
	err = check_honest(&audit);
	if (err == 0)
		err = check_trivial(&audit);
	if (err == 0)
		err = check_inputs(&audit);
	if (err == 0)
		err = check_lower(&audit);
	if (err == 0)
		report_audit(result, &audit);
	return err;
}
