/* SPDX-License-Identifier: Apache-2.0 */
/* audit_trivial - checks that the rules refuse answers that take no work */
#include "base/par.h"
#include "job/tensor.h"
#include "worker/stage/audit_parts.h"

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

/*
 * Check that the rules refuse an answer in which output `out` is trivial and all other outputs are
 * right: a kernel must not leave out any part of the work.
 */
static int try_trivial(struct kl_audit *audit, const struct kl_member *member,
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
		kl_audit_add(audit->notes,
			     "'%s' is a copy of '%s' at '%s': the rules may accept a copy there",
			     job->arg[out].name, job->arg[in].name, member->point->id);
		return 0;
	}
	ok = kl_audit_passes(audit, member, &answer, NULL);
	if (ok > 0)
		kl_audit_add(audit->problems, "rule %s of '%s' passes %s%s%s%s at '%s'",
			     kl_audit_rule(job, out), job->arg[out].name, names[kind],
			     kind == COPY ? "'" : "", kind == COPY ? job->arg[in].name : "",
			     kind == COPY ? "'" : "", member->point->id);
	return ok < 0 ? ok : 0;
}

static int trivial_for(struct kl_audit *audit, const struct kl_member *member,
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
				err = trivial_for(audit, members[0], members[1], out);
	}
	return err;
}
