/* SPDX-License-Identifier: Apache-2.0 */
/* audit - stage audit: checks of the contract itself, before any candidate */
#include "worker/stage/stages.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "base/rng.h"
#include "job/tensor.h"
#include "worker/pool/answer.h"
#include "worker/pool/fill.h"
#include "worker/subject/trial.h"

#define ROOM ((size_t)256)  /* elements on the way through double */
#define SHARES ((size_t)64) /* of a tensor that is scanned */

struct audit {
	const struct kl_job *job;
	struct kl_pool *pool;
	json_t *problems, *notes;
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

/* 1: the rules pass this answer, 0: they do not, negative: an error. */
static int does_pass(const struct audit *a, const struct kl_member *m, const struct kl_answer *x,
		     struct kl_mismatch *where)
{
	struct kl_mismatch own;

	return kl_answer_right(where ? where : &own, a->job, m, x);
}

static size_t element_count(const struct kl_member *m, size_t arg)
{
	return (size_t)kl_point_elements(m->point, arg);
}

/* -- the honest answer -------------------------------------------------- */

/* The oracle in float says nothing about rounding in double. */
static void check_yardstick(struct audit *a)
{
	for (size_t i = 0; i < a->job->nargs; i++) {
		const char *rule = rule_name(a->job, i);

		if (!kl_arg_is_output(&a->job->arg[i]) || a->job->arg[i].dtype != KL_F64)
			continue;
		if (rule && !strcmp(rule, "noise"))
			add_finding(a->problems,
				    "rule noise cannot judge '%s': f64 has no honest yardstick",
				    a->job->arg[i].name);
		else
			add_finding(a->notes, "'%s' is f64: there is no honest yardstick",
				    a->job->arg[i].name);
	}
}

static int check_honest(struct audit *a)
{
	for (size_t k = 0; k < kl_pool_size(a->pool); k++) {
		const struct kl_member *m = kl_pool_get(a->pool, k);
		KL_AUTO(kl_answer_release) struct kl_answer x = { 0 };
		struct kl_mismatch at;
		int ok;

		kl_answer_truth(&x, a->job, m);
		for (size_t i = 0; i < a->job->nargs; i++)
			if (m->honest[i] && a->job->arg[i].dtype != KL_F64)
				kl_answer_put(&x, a->job, m, i, m->honest[i], false);
		ok = does_pass(a, m, &x, &at);
		if (ok < 0)
			return ok;
		if (!ok)
			add_finding(
				a->problems,
				"the oracle in float does not pass for '%s' at '%s', band '%s': "
				"%s, wanted %s (%s)",
				a->job->arg[at.out].name, m->point->id, m->band, at.got, at.wanted,
				at.why);
	}
	return 0;
}

/* -- sums beyond fewer bits --------------------------------------------- */

struct scan {
	enum kl_dtype t;
	const void *from;
	double most[SHARES];
	size_t n;
};

static void scan_shares(void *ctx, size_t first, size_t last)
{
	struct scan *s = ctx;
	double room[ROOM];

	for (size_t k = first; k < last; k++)
		for (size_t off = k * s->n / SHARES, end = (k + 1) * s->n / SHARES, n; off < end;
		     off += n) {
			n = end - off < ROOM ? end - off : ROOM;
			kl_tensor_load(room, s->t, s->from, off, n);
			for (size_t i = 0; i < n; i++)
				s->most[k] = fabs(room[i]) > s->most[k] ? fabs(room[i]) :
									  s->most[k];
		}
}

static double largest_allowed(const struct audit *a, const struct kl_member *m)
{
	double most = 0;

	for (size_t i = 0; i < a->job->nargs; i++) {
		enum kl_dtype t = a->job->arg[i].dtype;
		struct scan s = { .t = kl_dtype_is_float(t) ? KL_F64 : t,
				  .from = m->truth[i],
				  .n = element_count(m, i) };

		if (!kl_arg_is_output(&a->job->arg[i]))
			continue;
		kl_par_for(SHARES, s.n < SHARES * ROOM ? SHARES : 1, scan_shares, &s);
		for (size_t k = 0; k < SHARES; k++)
			most = fmax(most, s.most[k]);
	}
	return most;
}

/* An exact band shows a narrow sum only if sums leave the range that it counts exactly. */
static void check_exceed(struct audit *a)
{
	for (size_t i = 0; i < kl_pool_size(a->pool); i++) {
		const struct kl_member *m = kl_pool_get(a->pool, i);
		const json_t *band = m->exact ? json_array_get(a->job->exact,
							       strtoul(m->band + 5, NULL, 10)) :
						NULL;
		double must = kl_json_num_or(band, "must_exceed", 0), most;

		if (!must || !m->point->perf)
			continue;
		most = largest_allowed(a, m);
		if (!(most > must))
			add_finding(a->problems,
				    "no answer exceeds %g at '%s', band '%s': the largest is %g",
				    must, m->point->id, m->band, most);
	}
}

/* -- trivial answers ---------------------------------------------------- */

enum trivial { ZEROS, ONES, ROW_MEAN, PREVIOUS, COPY };

static void put_constant(char *to, enum kl_dtype t, size_t n, double c)
{
	KL_AUTO(kl_freep) double *row = kl_malloc(n * sizeof(*row) + 1);

	for (size_t i = 0; i < n; i++)
		row[i] = c;
	kl_tensor_convert(to, t, row, KL_F64, n);
}

struct rows {
	char *at;
	enum kl_dtype t;
	size_t row;
};

static void mean_rows(void *ctx, size_t from, size_t to)
{
	const struct rows *r = ctx;
	KL_AUTO(kl_freep) double *v = kl_malloc(r->row * sizeof(*v) + 1);

	for (size_t k = from; k < to; k++) {
		double sum = 0;

		kl_tensor_load(v, r->t, r->at, k * r->row, r->row);
		for (size_t i = 0; i < r->row; i++)
			sum += v[i];
		for (size_t i = 0; i < r->row; i++)
			v[i] = sum / (double)r->row;
		kl_tensor_store(r->at, r->t, k * r->row, v, r->row);
	}
}

static void put_row_mean(struct kl_answer *x, const struct kl_job *job, const struct kl_member *m,
			 size_t out)
{
	size_t naxes = m->point->arg[out].naxes, n = element_count(m, out);
	struct rows r = { .at = x->bytes[out], .t = job->arg[out].dtype };

	r.row = naxes ? (size_t)m->point->arg[out].extent[naxes - 1] : 1;
	/* a row of one is its own mean: then the mean of all */
	if (r.row < 2)
		r.row = n;
	kl_par_for(n / r.row, 1 + 65536 / r.row, mean_rows, &r);
}

/* The input's values one after the other, from its beginning again where it is shorter. */
static void put_copy(struct kl_answer *x, const struct kl_job *job, const struct kl_member *m,
		     size_t out, size_t in)
{
	size_t n = element_count(m, out), have = element_count(m, in),
	       size = kl_dtype_bytes(job->arg[out].dtype);

	for (size_t off = 0; off < n && have; off += have)
		kl_tensor_convert(x->bytes[out] + off * size, job->arg[out].dtype, m->input[in],
				  job->arg[in].dtype, n - off < have ? n - off : have);
}

/* One output replaced, the others right: nobody may get away with any part of the work. */
static int try_trivial(struct audit *a, const struct kl_member *m, const struct kl_member *previous,
		       size_t out, enum trivial kind, size_t in)
{
	/* clang-format off */
	static const char *const names[] = {
		[ZEROS] = "an answer of zeros", [ONES] = "an answer of ones",
		[ROW_MEAN] = "the mean of each row", [PREVIOUS] = "the answer to another input",
		[COPY] = "a copy of input ",
	};
	/* clang-format on */
	KL_AUTO(kl_answer_release) struct kl_answer x = { 0 };
	const struct kl_job *job = a->job;
	size_t n = element_count(m, out), size = kl_dtype_bytes(job->arg[out].dtype);
	KL_AUTO(kl_freep) char *right = NULL;
	int ok;

	kl_answer_truth(&x, job, m);
	if (kind == COPY && in != out) {
		right = kl_malloc(n * size + 1);
		kl_par_copy(right, x.bytes[out], n * size);
	}
	if (kind == ZEROS || kind == ONES)
		put_constant(x.bytes[out], job->arg[out].dtype, n, kind == ONES);
	else if (kind == ROW_MEAN)
		put_row_mean(&x, job, m, out);
	else if (kind == PREVIOUS)
		kl_answer_put(&x, job, m, out, previous->truth[out], true);
	else
		put_copy(&x, job, m, out, in);
	/* where copying is the work, a copy is the right answer */
	if (right && kl_par_same(right, x.bytes[out], n * size)) {
		add_finding(a->notes, "'%s' is a copy of '%s' at '%s': not held against it",
			    job->arg[out].name, job->arg[in].name, m->point->id);
		return 0;
	}
	ok = does_pass(a, m, &x, NULL);
	if (ok > 0)
		add_finding(a->problems, "rule %s of '%s' passes %s%s%s%s at '%s'",
			    rule_name(job, out), job->arg[out].name, names[kind],
			    kind == COPY ? "'" : "", kind == COPY ? job->arg[in].name : "",
			    kind == COPY ? "'" : "", m->point->id);
	return ok < 0 ? ok : 0;
}

static int trivial_for(struct audit *a, const struct kl_member *m, const struct kl_member *previous,
		       size_t out)
{
	int err = 0;

	for (int kind = ZEROS; kind < COPY && err == 0; kind++) {
		if (kind == PREVIOUS && !previous)
			continue;
		if (kind == ROW_MEAN && !kl_dtype_is_float(a->job->arg[out].dtype))
			continue;
		err = try_trivial(a, m, previous, out, (enum trivial)kind, 0);
	}
	for (size_t in = 0; in < a->job->nargs && err == 0; in++)
		if (kl_arg_is_input(&a->job->arg[in]) && element_count(m, in))
			err = try_trivial(a, m, previous, out, COPY, in);
	return err;
}

static int check_trivial(struct audit *a)
{
	int err = 0;

	for (size_t p = 0; p < a->job->npoint; p++) {
		const struct kl_member *m[2] = { NULL };

		/* at a point of one element almost everything is right by chance */
		if (!a->job->point[p].perf || !kl_pool_noise(a->pool, &a->job->point[p], m, 2))
			continue;
		for (size_t out = 0; out < a->job->nargs && err == 0; out++)
			if (kl_arg_is_output(&a->job->arg[out]) && element_count(m[0], out))
				err = trivial_for(a, m[0], m[1], out);
	}
	return err;
}

/* -- twins -------------------------------------------------------------- */

static void check_twins(struct audit *a)
{
	for (size_t p = 0; p < a->job->npoint; p++) {
		const struct kl_point *pt = &a->job->point[p];

		if (pt->perf && !kl_pool_twin(a->pool, pt))
			add_finding(a->notes,
				    "no twin at '%s': no change of few elements changes an answer; "
				    "answers kept by a part of the input may pass",
				    pt->id);
	}
}

/* -- every output judged ------------------------------------------------ */

static void check_judged(struct audit *a)
{
	for (size_t i = 0; i < a->job->nargs; i++)
		if (kl_arg_is_output(&a->job->arg[i]) && !rule_name(a->job, i))
			add_finding(a->problems, "no rule judges output '%s'", a->job->arg[i].name);
}

/* -- every input matters ------------------------------------------------ */

/* Other bytes for input `arg`; false: its fill leaves no other. */
static int redraw_member(void *out, const struct audit *a, const struct kl_member *m, size_t arg,
			 bool *other)
{
	const struct kl_job_arg *x = &a->job->arg[arg];
	size_t bytes = element_count(m, arg) * kl_dtype_bytes(x->dtype);
	uint64_t seed = kl_rng_derive(m->seed, "redraw");
	int err = kl_fill_band(out, a->job, m->point, m->band, seed, arg);

	*other = err == 0 && memcmp(out, m->input[arg], bytes);
	if (err < 0 || *other || !kl_dtype_is_float(x->dtype) || !bytes)
		return err;
	/* a constant: any numbers will do to see whether it is looked at */
	{
		KL_AUTO(json_decrefp) json_t *normal = json_pack("{s:[f,f]}", "normal", 0.0, 1.0);
		struct kl_fill_spec s = {
			.fill = normal,
			.dtype = x->dtype,
			.extent = m->point->arg[arg].extent,
			.naxes = m->point->arg[arg].naxes,
			.point = m->point->id,
			.seed = seed,
			.factor = 1.0,
		};

		*other = true;
		return kl_fill_make(out, &s);
	}
}

/* Does the truth on `input` still pass as an answer to `m`? */
static int truth_passes(struct audit *a, struct kl_subject *oracle, const struct kl_member *m,
			const void *const *input)
{
	KL_AUTO(kl_answer_release) struct kl_answer x = { 0 };
	int err = kl_trial_oracle(oracle, a->job, m->point, input, true);

	if (err < 0)
		return err;
	kl_answer_room(&x, a->job, m);
	for (size_t i = 0; i < a->job->nargs; i++)
		if (kl_arg_is_output(&a->job->arg[i]))
			kl_answer_put(&x, a->job, m, i, kl_subject_buffer(oracle, i), true);
	return does_pass(a, m, &x, NULL);
}

enum moved { MOVED, STILL, NO_OTHER };

static int try_input(enum moved *out, struct audit *a, struct kl_subject *oracle,
		     const struct kl_member *m, size_t arg)
{
	const void *input[KL_JOB_MAX_ARGS];
	KL_AUTO(kl_freep) char *own = kl_calloc(element_count(m, arg) + 1,
						kl_dtype_bytes(a->job->arg[arg].dtype));
	bool other;
	int err = redraw_member(own, a, m, arg, &other);

	if (err < 0)
		return err;
	*out = NO_OTHER;
	if (!other)
		return 0;
	memcpy(input, m->input, sizeof(input));
	input[arg] = own;
	err = truth_passes(a, oracle, m, input);
	*out = err > 0 ? STILL : MOVED;
	return err < 0 ? err : 0;
}

static size_t size_of(const struct audit *a, const struct kl_point *p)
{
	size_t n = 0;

	for (size_t i = 0; i < a->job->nargs; i++)
		if (kl_arg_is_input(&a->job->arg[i]) || kl_arg_is_output(&a->job->arg[i]))
			n += (size_t)kl_point_elements(p, i);
	return n;
}

/* Indices of the points, the smallest first. */
static void by_size(size_t *order, const struct audit *a)
{
	for (size_t i = 0; i < a->job->npoint; i++) {
		size_t k = i;

		for (; k > 0 &&
		       size_of(a, &a->job->point[order[k - 1]]) > size_of(a, &a->job->point[i]);
		     k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

/* Small points first: one that moves is enough, and it is cheap there. */
static int check_inputs(struct audit *a)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(a->job->npoint + 1, sizeof(*order));
	enum moved seen[KL_JOB_MAX_ARGS];
	size_t left = 0;
	int err = 0;

	by_size(order, a);
	for (size_t i = 0; i < a->job->nargs; i++) {
		seen[i] = kl_arg_is_input(&a->job->arg[i]) ? NO_OTHER : MOVED;
		left += seen[i] != MOVED;
	}
	for (size_t p = 0; p < a->job->npoint && left && err == 0; p++) {
		const struct kl_point *pt = &a->job->point[order[p]];
		KL_AUTO(kl_subject_freep) struct kl_subject *oracle = NULL;
		const struct kl_member *m;

		if (!kl_pool_noise(a->pool, pt, &m, 1))
			continue;
		err = kl_trial_oracle_start(&oracle, a->job, pt, true);
		for (size_t i = 0; i < a->job->nargs && err == 0; i++) {
			enum moved now = NO_OTHER;

			if (seen[i] == MOVED)
				continue;
			err = try_input(&now, a, oracle, m, i);
			left -= now == MOVED;
			seen[i] = now == NO_OTHER ? seen[i] : now;
		}
	}
	for (size_t i = 0; i < a->job->nargs && err == 0; i++) {
		if (seen[i] == STILL)
			add_finding(
				a->problems,
				"input '%s' does not matter: other values leave every answer right",
				a->job->arg[i].name);
		if (seen[i] == NO_OTHER)
			add_finding(a->notes, "input '%s' has a constant integer fill: not redrawn",
				    a->job->arg[i].name);
	}
	return err;
}

/* -- fewer bits --------------------------------------------------------- */

static int lower_at(struct audit *a, const struct kl_member *m)
{
	const void *input[KL_JOB_MAX_ARGS];
	char *own[KL_JOB_MAX_ARGS] = { NULL };
	KL_AUTO(kl_subject_freep) struct kl_subject *oracle = NULL;
	const char *name = NULL;
	size_t changed = 0;
	int ok = 0;

	memcpy(input, m->input, sizeof(input));
	for (size_t i = 0; i < a->job->nargs; i++) {
		enum kl_dtype t = a->job->arg[i].dtype;
		size_t n = kl_arg_is_input(&a->job->arg[i]) ? element_count(m, i) : 0;

		if (!n || !kl_dtype_is_float(t))
			continue;
		own[i] = kl_malloc(n * kl_dtype_bytes(t));
		memcpy(own[i], m->input[i], n * kl_dtype_bytes(t));
		changed += kl_tensor_lower(own[i], t, n);
		input[i] = own[i];
		name = kl_tensor_lower_name(t);
	}
	if (!changed) {
		add_finding(a->notes, "%s at '%s': precision not audited",
			    name ? "every float input is exact in the next lower format" :
				   "no float input",
			    m->point->id);
	} else {
		ok = kl_trial_oracle_start(&oracle, a->job, m->point, true);
		if (ok == 0)
			ok = truth_passes(a, oracle, m, input);
		if (ok > 0)
			add_finding(
				a->problems,
				"the rules pass the truth of inputs rounded to %s at '%s': too loose",
				name, m->point->id);
	}
	for (size_t i = 0; i < KL_JOB_MAX_ARGS; i++)
		free(own[i]);
	return ok < 0 ? ok : 0;
}

static int check_lower(struct audit *a)
{
	int err = 0;

	for (size_t p = 0; p < a->job->npoint && err == 0; p++) {
		const struct kl_member *m;

		if (a->job->point[p].perf && kl_pool_noise(a->pool, &a->job->point[p], &m, 1))
			err = lower_at(a, m);
	}
	return err;
}

/* -- all of it ---------------------------------------------------------- */

static void report_audit(json_t *result, struct audit *a)
{
	json_t *o = json_object();
	size_t n = json_array_size(a->problems);
	char text[500];

	kl_json_set_bool(o, "ok", n == 0);
	kl_json_set(o, "problems", json_incref(a->problems));
	kl_json_set(o, "notes", json_incref(a->notes));
	kl_json_set(result, "audit", o);
	if (!n)
		return;
	snprintf(text, sizeof(text), "contract audit: %s%s",
		 json_string_value(json_array_get(a->problems, 0)),
		 n > 1 ? " (and more: see audit.problems)" : "");
	kl_json_set_str(result, "status", "cannot");
	kl_json_set_str(result, "class", NULL);
	kl_json_set_str(result, "message", text);
}

int kl_stage_audit(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(json_decrefp) json_t *problems = json_array();
	KL_AUTO(json_decrefp) json_t *notes = json_array();
	struct audit a = { .job = job, .pool = pool, .problems = problems, .notes = notes };
	int err;

	check_judged(&a);
	check_yardstick(&a);
	check_twins(&a);
	check_exceed(&a);
	err = check_honest(&a);
	if (err == 0)
		err = check_trivial(&a);
	if (err == 0)
		err = check_inputs(&a);
	if (err == 0)
		err = check_lower(&a);
	if (err == 0)
		report_audit(result, &a);
	return err;
}
