/* SPDX-License-Identifier: Apache-2.0 */
/* audit_trivial - checks that the rules refuse answers that take no work */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/par.h"
#include "job/tensor.h"
#include "worker/pool/fill.h"
#include "worker/stage/audit_parts.h"
#include "worker/subject/trial.h"

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
	/* a row of one element is its own mean: use the mean of all elements */
	if (rows.row < 2)
		rows.row = n;
	kl_par_for(n / rows.row, 1 + 65536 / rows.row, mean_rows, &rows);
}

/* Copy the values of input `in` to output `out` in order, again and again if `in` is shorter. */
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

/* An answer in which output `out` is trivial and all other outputs are right. */
struct trivial_answer {
	size_t out;
	enum trivial kind;
	size_t in;                        /* for COPY: the input that is copied */
	const struct kl_member *previous; /* for PREVIOUS: the member whose answer is given again */
	bool is_task; /* for COPY: the copy has all bits right, so copying is the kernel's task */
};

/* clang-format off */
static const char *const names[] = {
	[ZEROS] = "an answer of zeros", [ONES] = "an answer of ones",
	[ROW_MEAN] = "the mean of each row", [PREVIOUS] = "the answer to another input",
	[COPY] = "a copy of input ",
};
/* clang-format on */

/*
 * Judge a trivial answer to `member`, and set its `is_task`. Return 1 if the rules accept it, 0 if
 * not, or an error.
 */
static int judge_trivial(struct trivial_answer *trivial, const struct kl_audit *audit,
			 const struct kl_member *member)
{
	KL_AUTO(kl_answer_release) struct kl_answer answer = { 0 };
	const struct kl_job *job = audit->job;
	size_t out = trivial->out, in = trivial->in, n = kl_member_elements(member, out),
	       size = kl_dtype_bytes(job->arg[out].dtype);
	KL_AUTO(kl_freep) char *truth = NULL;

	kl_answer_truth(&answer, job, member);
	if (trivial->kind == COPY && in != out) {
		truth = kl_malloc(n * size + 1);
		kl_par_copy(truth, answer.bytes[out], n * size);
	}
	if (trivial->kind == ZEROS || trivial->kind == ONES)
		put_constant(answer.bytes[out], job->arg[out].dtype, n, trivial->kind == ONES);
	else if (trivial->kind == ROW_MEAN)
		put_row_mean(&answer, job, member, out);
	else if (trivial->kind == PREVIOUS)
		kl_answer_put(&answer, job, member, out, trivial->previous->truth[out], true);
	else
		put_copy(&answer, job, member, out, in);
	trivial->is_task = truth && kl_par_same(truth, answer.bytes[out], n * size);
	return kl_audit_passes(audit, member, &answer, NULL);
}

static void add_task(struct kl_audit *audit, const struct kl_member *member,
		     const struct trivial_answer *trivial)
{
	const struct kl_job *job = audit->job;

	kl_audit_add(audit->notes,
		     "'%s' is a copy of '%s' at '%s', so the rules may accept a copy at this point",
		     job->arg[trivial->out].name, job->arg[trivial->in].name, member->point->id);
}

static void add_problem(struct kl_audit *audit, const struct kl_member *member,
			const struct trivial_answer *trivial, const char *how)
{
	const struct kl_job *job = audit->job;
	const char *quote = trivial->kind == COPY ? "'" : "";

	kl_audit_add(audit->problems, "rule %s of '%s' passes %s%s%s%s%s at '%s'",
		     kl_audit_rule(job, trivial->out), job->arg[trivial->out].name,
		     names[trivial->kind], quote,
		     trivial->kind == COPY ? job->arg[trivial->in].name : "", quote, how,
		     member->point->id);
}

/*
 * Check that the rules refuse an answer in which output `out` is trivial and all other outputs are
 * right: a kernel must not leave out any part of the work.
 */
static int try_trivial(struct kl_audit *audit, const struct kl_member *member,
		       struct trivial_answer *trivial)
{
	int ok = judge_trivial(trivial, audit, member);

	if (ok < 0)
		return ok;
	if (trivial->is_task)
		add_task(audit, member, trivial);
	else if (ok > 0)
		add_problem(audit, member, trivial, "");
	return 0;
}

static int trivial_for(struct kl_audit *audit, const struct kl_member *member,
		       const struct kl_member *previous, size_t out)
{
	struct trivial_answer trivial = { .out = out, .previous = previous };
	int err = 0;

	for (int kind = ZEROS; kind < COPY && err == 0; kind++) {
		if (kind == PREVIOUS && !previous)
			continue;
		if (kind == ROW_MEAN && !kl_dtype_is_float(audit->job->arg[out].dtype))
			continue;
		trivial.kind = (enum trivial)kind;
		err = try_trivial(audit, member, &trivial);
	}
	trivial.kind = COPY;
	for (size_t in = 0; in < audit->job->nargs && err == 0; in++) {
		trivial.in = in;
		if (kl_arg_is_input(&audit->job->arg[in]) && kl_member_elements(member, in))
			err = try_trivial(audit, member, &trivial);
	}
	return err;
}

/* -- an output of one element ---------------------------------------------------------------- */

/*
 * A trivial answer of one element can be right by chance: if the output is a flag, 0 may be right
 * for half of all inputs. So a trivial answer is a problem only if the rules accept it for every
 * input that is tried: the members, and SINGLE_DRAWS more, or as many as the oracle answers in
 * SINGLE_NS.
 */
#define SINGLE_DRAWS 64
#define SINGLE_NS 2000000000

struct single {
	struct kl_audit *audit;
	const struct kl_member *member[KL_POOL_DRAWS];
	size_t nmember, out, n, tried;
	/* trivial answers that no input has refuted so far */
	struct trivial_answer open[3 + KL_MAX_ARGS];
};

/* Collect the trivial answers that the rules accept for each member. */
static int begin_single(struct single *single)
{
	const struct kl_job *job = single->audit->job;

	for (size_t i = 0; i < 3 + job->nargs; i++) {
		struct trivial_answer trivial = {
			.out = single->out,
			.kind = i == 0 ? ZEROS :
				i == 1 ? ONES :
				i == 2 ? PREVIOUS :
					 COPY,
			.in = i < 3 ? 0 : i - 3,
			.previous = single->member[0],
		};
		int ok = 1;

		if (i > 2 && (!kl_arg_is_input(&job->arg[trivial.in]) ||
			      !kl_member_elements(single->member[0], trivial.in)))
			continue;
		for (size_t k = trivial.kind == PREVIOUS; k < single->nmember && ok > 0; k++)
			ok = judge_trivial(&trivial, single->audit, single->member[k]);
		if (ok < 0)
			return ok;
		if (ok > 0)
			single->open[single->n++] = trivial;
	}
	single->tried = single->nmember;
	return 0;
}

/* Draw all inputs again, under the key of draw `draw`. The caller frees them. */
static int draw_inputs(void **input, const struct single *single, size_t draw)
{
	const struct kl_job *job = single->audit->job;
	const struct kl_member *member = single->member[0];
	char label[32];
	struct kl_key key;
	int err = 0;

	snprintf(label, sizeof(label), "single/%zu", draw);
	key = kl_key_derive(&single->audit->redraw, label);
	for (size_t i = 0; i < job->nargs && err == 0; i++) {
		if (!kl_arg_is_input(&job->arg[i]))
			continue;
		input[i] = kl_malloc(
			kl_member_elements(member, i) * kl_dtype_bytes(job->arg[i].dtype) + 1);
		err = kl_fill_band(input[i], job, member->point, member->band, &key, i);
	}
	return err;
}

/* Return true if any bit of the trivial answer differs from `truth`, the right answer. */
static bool is_refuted(const struct single *single, const struct trivial_answer *trivial,
		       void *const *input, const void *truth)
{
	const struct kl_job *job = single->audit->job;
	enum kl_dtype dtype = job->arg[trivial->out].dtype;
	char answer[8];

	if (trivial->kind == PREVIOUS)
		memcpy(answer, trivial->previous->truth[trivial->out], kl_dtype_bytes(dtype));
	else if (trivial->kind == COPY)
		kl_tensor_convert(answer, dtype, input[trivial->in], job->arg[trivial->in].dtype,
				  1);
	else
		put_constant(answer, dtype, 1, trivial->kind == ONES);
	return memcmp(answer, truth, kl_dtype_bytes(dtype)) != 0;
}

static int try_draw(struct single *single, struct kl_subject *oracle, size_t draw)
{
	const struct kl_job *job = single->audit->job;
	void *input[KL_MAX_ARGS] = { NULL };
	size_t kept = 0;
	int err = draw_inputs(input, single, draw);

	if (err == 0)
		err = kl_trial_oracle(oracle, job, single->member[0]->point,
				      (const void *const *)input, true, NULL);
	for (size_t i = 0; i < single->n && err == 0; i++)
		if (!is_refuted(single, &single->open[i], input,
				kl_subject_buffer(oracle, single->out)))
			single->open[kept++] = single->open[i];
	if (err == 0)
		single->n = kept;
	single->tried += err == 0;
	for (size_t i = 0; i < job->nargs; i++)
		free(input[i]);
	return err;
}

/* Draw further inputs until each trivial answer is refuted or enough inputs were tried. */
static int search_single(struct single *single)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *oracle = NULL;
	int64_t begin = kl_clock_ns();
	int err = kl_trial_oracle_start(&oracle, single->audit->job, single->member[0]->point,
					true);

	for (size_t draw = 0;
	     draw < SINGLE_DRAWS && single->n && err == 0 && kl_clock_ns() - begin < SINGLE_NS;
	     draw++)
		err = try_draw(single, oracle, draw);
	return err;
}

static size_t count_outputs(const struct kl_job *job)
{
	size_t n = 0;

	for (size_t i = 0; i < job->nargs; i++)
		n += kl_arg_is_output(&job->arg[i]);
	return n;
}

static void report_single(const struct single *single)
{
	const struct kl_job *job = single->audit->job;
	char how[48];
	bool constant = false;

	snprintf(how, sizeof(how), ", for each of %zu inputs,", single->tried);
	for (size_t i = 0; i < single->n; i++)
		constant |= single->open[i].kind == PREVIOUS;
	/*
	 * a constant output, such as a status, is no problem: other outputs show whether the work
	 * is done
	 */
	if (constant && count_outputs(job) > 1) {
		kl_audit_add(single->audit->notes,
			     "'%s' is the same for each of %zu inputs at '%s', so it says nothing "
			     "about the kernel's work",
			     job->arg[single->out].name, single->tried,
			     single->member[0]->point->id);
		return;
	}
	for (size_t i = 0; i < single->n; i++)
		if (single->open[i].is_task)
			add_task(single->audit, single->member[0], &single->open[i]);
		else
			add_problem(single->audit, single->member[0], &single->open[i], how);
}

static int trivial_for_single(struct kl_audit *audit, const struct kl_point *point, size_t out)
{
	struct single single = { .audit = audit, .out = out };
	int err;

	single.nmember = kl_pool_noise(audit->pool, point, single.member, KL_POOL_DRAWS);
	err = begin_single(&single);
	/*
	 * draw no more inputs for a float: a trivial float is hardly right for all members by
	 * chance
	 */
	if (err == 0 && single.n && !kl_dtype_is_float(audit->job->arg[out].dtype))
		err = search_single(&single);
	if (err == 0)
		report_single(&single);
	return err;
}

int kl_audit_trivial(struct kl_audit *audit)
{
	int err = 0;

	for (size_t at = 0; at < audit->job->npoint; at++) {
		const struct kl_member *members[2] = { NULL };

		/*
		 * check only performance points: at points with very few elements, almost any
		 * answer can be right by chance
		 */
		if (!audit->job->point[at].perf ||
		    !kl_pool_noise(audit->pool, &audit->job->point[at], members, 2))
			continue;
		for (size_t out = 0; out < audit->job->nargs && err == 0; out++)
			if (kl_arg_is_output(&audit->job->arg[out]) &&
			    kl_member_elements(members[0], out))
				err = kl_member_elements(members[0], out) == 1 ?
					      trivial_for_single(audit, &audit->job->point[at],
								 out) :
					      trivial_for(audit, members[0], members[1], out);
	}
	return err;
}
