/* SPDX-License-Identifier: Apache-2.0 */
/* further_draw - draws the values of further bands */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/par.h"
#include "base/rng.h"
#include "job/tensor.h"
#include "worker/pool/fill.h"
#include "worker/pool/further.h"

#define OUTLIERS 16                   /* at most about one slice in 16 is large */
#define TIES 3                        /* different values in a band with ties */
#define PART_ELEMENTS ((size_t)65536) /* approximate number of elements that one task changes */
#define PLAIN_LEAST 40                /* if denormals are undefined, scale down by at most 2^-40 */

/* How a member's band changes its arguments. */
struct change {
	enum kl_further further;
	size_t dim;                /* graded: the dim along which slices differ */
	bool touched[KL_MAX_ARGS]; /* the arguments that the band changes */
	size_t ntouched;
	double share;         /* large, small: share of the possible exponent by which to scale */
	int steps;            /* graded: number of 34ths of the possible exponent to leave out */
	bool partner;         /* denormal: scale the other inputs up */
	struct kl_key slices; /* graded: key under which the large slices are chosen */
};

/*
 * For each band, the exponent of the largest power of two by which ordinary numbers of a type are
 * scaled. Sums of the scaled numbers do not overflow.
 */
struct reach {
	int scale, graded, wide, denormal, partner;
};

static struct reach reach_of(enum kl_dtype dtype)
{
	if (dtype == KL_F64)
		return (struct reach){ 900, 34, 12, 1026, 300 };
	if (dtype == KL_F16)
		return (struct reach){ 11, 6, 3, 17, 4 };
	return (struct reach){ 110, 34, 12, 129, 40 };
}

/* -- choose the arguments and how far to scale ------------------------------------ */

static void touch_one(struct change *change, struct kl_rng *rng)
{
	size_t keep = kl_rng_below(rng, change->ntouched ? change->ntouched : 1);

	for (size_t i = 0, k = 0; i < KL_MAX_ARGS; i++)
		if (change->touched[i])
			change->touched[i] = k++ == keep;
	change->ntouched = 1;
}

/* Keep each touched argument with a probability of 1/2, but at least one. */
static void touch_some(struct change *change, struct kl_rng *rng)
{
	struct change all = *change;

	for (size_t i = 0; i < KL_MAX_ARGS; i++)
		if (change->touched[i] && kl_rng_below(rng, 2)) {
			change->touched[i] = false;
			change->ntouched--;
		}
	if (change->ntouched)
		return;
	*change = all;
	touch_one(change, rng);
}

static void choose_arguments(struct change *change, struct kl_rng *rng)
{
	switch (change->further) {
	case KL_FURTHER_GRADED:
		break;
	case KL_FURTHER_DENORMAL:
	case KL_FURTHER_CONSTANT:
	case KL_FURTHER_NAN:
	case KL_FURTHER_INF:
		touch_one(change, rng);
		break;
	case KL_FURTHER_LARGE:
	case KL_FURTHER_SMALL:
		if (kl_rng_below(rng, 2))
			touch_one(change, rng);
		break;
	default:
		touch_some(change, rng);
		break;
	}
}

static void choose_change(struct change *change, const struct kl_job *job,
			  const struct kl_member *member, const struct kl_key *key)
{
	/* the label has a space, so it differs from names of arguments, which label other keys */
	struct kl_key own = kl_key_derive(key, "the change");
	struct kl_rng rng;

	*change = (struct change){ .slices = kl_key_derive(&own, "slices") };
	change->further = kl_further_find(job, member->band, &change->dim);
	for (size_t i = 0; i < job->nargs; i++) {
		change->touched[i] = kl_further_touches(job, member->point, change->further,
							change->dim, i);
		change->ntouched += change->touched[i];
	}
	kl_rng_key(&rng, &own, 0);
	choose_arguments(change, &rng);
	/*
	 * mostly scale as far as possible: this finds every kernel that fails beyond some limit,
	 * whatever the limit is
	 */
	change->share = kl_rng_below(&rng, 4) ? 1 : 0.25 + 0.75 * kl_rng_uniform(&rng);
	change->steps = (int)kl_rng_below(&rng, 20);
	change->partner = kl_rng_below(&rng, 2);
}

/* Return the exponent of the power of two by which to scale an argument; negative: scale down. */
static int scale_bits(const struct change *change, const struct kl_job *job, size_t arg,
		      int attempt)
{
	struct reach reach = reach_of(job->arg[arg].dtype);
	int bits = (int)(reach.scale * change->share / (double)change->ntouched) >> attempt;

	if (change->further == KL_FURTHER_LARGE)
		return bits;
	if (job->values.undefined[KL_VALUE_DENORMAL] && bits > PLAIN_LEAST)
		bits = PLAIN_LEAST;
	return -bits;
}

static int graded_bits(const struct change *change, enum kl_dtype dtype, int attempt)
{
	struct reach reach = reach_of(dtype);

	return (reach.graded - change->steps * reach.graded / 34) >> attempt;
}

/* -- change a tensor -------------------------------------------------------------- */

/* A tensor whose values are changed row by row, as doubles. */
struct drawing {
	const struct change *change;
	const struct kl_job *job;
	enum kl_dtype dtype;
	void *out;
	size_t n, row; /* elements; elements of a row */
	struct kl_key key;
	struct kl_rng rng;    /* under `key`, for values that are drawn once for the tensor */
	double tie[TIES];     /* ties: the values */
	bool *large;          /* graded: for each slice, whether it is large */
	size_t inner, extent; /* graded: product of the extents after the axis; number of slices */
	int bits;             /* exponent of the power of two by which to scale */
};

static int by_value(const void *left, const void *right)
{
	double x = *(const double *)left, y = *(const double *)right;

	return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
}

static void sort_row(double *row, size_t n, bool reversed)
{
	qsort(row, n, sizeof(*row), by_value);
	for (size_t i = 0; reversed && i < n / 2; i++) {
		double swap = row[i];

		row[i] = row[n - 1 - i];
		row[n - 1 - i] = swap;
	}
}

static void change_row(const struct drawing *drawing, struct kl_rng *rng, double *row, size_t first)
{
	size_t n = drawing->row;
	int wide = reach_of(drawing->dtype).wide;

	switch (drawing->change->further) {
	case KL_FURTHER_GRADED:
		for (size_t i = 0; i < n; i++)
			if (drawing->large[(first + i) / drawing->inner % drawing->extent])
				row[i] = ldexp(row[i], drawing->bits);
		break;
	case KL_FURTHER_WIDE:
		for (size_t i = 0; i < n; i++)
			row[i] = ldexp(row[i], (int)kl_rng_below(rng, 2 * (size_t)wide + 1) - wide);
		break;
	case KL_FURTHER_LARGE:
	case KL_FURTHER_SMALL:
	case KL_FURTHER_DENORMAL:
		for (size_t i = 0; i < n; i++)
			row[i] = ldexp(row[i], drawing->bits);
		break;
	case KL_FURTHER_ZEROS:
		for (size_t i = 0; i < n; i++)
			row[i] = kl_rng_below(rng, 2) ? -0.0 : 0.0;
		break;
	case KL_FURTHER_CONSTANT:
		for (size_t i = 1; i < n; i++)
			row[i] = row[0];
		break;
	case KL_FURTHER_TIES:
		for (size_t i = 0; i < n; i++)
			row[i] = drawing->tie[kl_rng_below(rng, TIES)];
		break;
	case KL_FURTHER_SORTED:
	case KL_FURTHER_REVERSED:
		sort_row(row, n, drawing->change->further == KL_FURTHER_REVERSED);
		break;
	default:
		break;
	}
}

/*
 * Change rows [from, to), one part of the tensor. Each part has a random stream of its own, so that
 * parts can run in parallel.
 */
static void change_part(void *ctx, size_t from, size_t to)
{
	const struct drawing *drawing = ctx;
	KL_AUTO(kl_freep) double *row = kl_malloc(drawing->row * sizeof(*row));
	struct kl_rng rng;

	kl_rng_key(&rng, &drawing->key, 1 + from);
	for (size_t at = from * drawing->row; at < to * drawing->row; at += drawing->row) {
		kl_tensor_load(row, drawing->dtype, drawing->out, at, drawing->row);
		change_row(drawing, &rng, row, at);
		kl_tensor_store(drawing->out, drawing->dtype, at, row, drawing->row);
	}
}

static void change_rows(struct drawing *drawing)
{
	for (size_t i = 0; i < TIES; i++)
		kl_tensor_load(&drawing->tie[i], drawing->dtype, drawing->out,
			       kl_rng_below(&drawing->rng, drawing->n), 1);
	kl_par_for(drawing->n / drawing->row, 1 + PART_ELEMENTS / drawing->row, change_part,
		   drawing);
}

static void change_one(struct drawing *drawing)
{
	double value = drawing->change->further == KL_FURTHER_NAN ? NAN :
		       kl_rng_below(&drawing->rng, 2)             ? INFINITY :
								    -INFINITY;

	kl_tensor_store(drawing->out, drawing->dtype, kl_rng_below(&drawing->rng, drawing->n),
			&value, 1);
}

/* Choose the large slices, which are the same in every argument that has the dim. */
static void choose_slices(struct drawing *drawing, const struct kl_point *pt, size_t arg)
{
	const struct change *change = drawing->change;
	size_t axis = (size_t)kl_further_axis(drawing->job, arg, change->dim) - 1;
	struct kl_rng rng;

	drawing->extent = (size_t)pt->arg[arg].extent[axis];
	drawing->inner = 1;
	for (size_t i = axis + 1; i < pt->arg[arg].naxes; i++)
		drawing->inner *= (size_t)pt->arg[arg].extent[i];
	drawing->large = kl_calloc(drawing->extent + 1, sizeof(*drawing->large));
	kl_rng_key(&rng, &change->slices, 0);
	for (size_t k = 1 + drawing->extent / OUTLIERS; k > 0; k--)
		drawing->large[kl_rng_below(&rng, drawing->extent)] = true;
}

static void change_tensor(struct drawing *drawing, const struct kl_point *pt, size_t arg)
{
	enum kl_further further = drawing->change->further;

	if (!drawing->n)
		return;
	if (further == KL_FURTHER_NAN || further == KL_FURTHER_INF) {
		change_one(drawing);
		return;
	}
	if (further == KL_FURTHER_GRADED)
		choose_slices(drawing, pt, arg);
	change_rows(drawing);
	free(drawing->large);
}

/*
 * Return true if an input is scaled up because another input is denormal, so that products of both
 * are ordinary numbers.
 */
static bool is_partner(const struct change *change, const struct kl_job *job,
		       const struct kl_point *pt, size_t arg)
{
	return change->further == KL_FURTHER_DENORMAL && change->partner &&
	       kl_further_touches(job, pt, KL_FURTHER_LARGE, 0, arg);
}

static int bits_of(const struct change *change, const struct kl_job *job, size_t arg, int attempt)
{
	enum kl_dtype dtype = job->arg[arg].dtype;

	switch (change->further) {
	case KL_FURTHER_GRADED:
		return graded_bits(change, dtype, attempt);
	case KL_FURTHER_DENORMAL:
		return change->touched[arg] ? -reach_of(dtype).denormal :
					      reach_of(dtype).partner >> attempt;
	default:
		return scale_bits(change, job, arg, attempt);
	}
}

int kl_further_fill(void *out, const struct kl_job *job, const struct kl_member *member,
		    const struct kl_key *key, size_t arg, int attempt)
{
	const struct kl_point *pt = member->point;
	struct kl_key own = kl_key_derive(key, job->arg[arg].name);
	struct change change;
	struct drawing drawing = {
		.change = &change,
		.job = job,
		.dtype = job->arg[arg].dtype,
		.out = out,
		.n = (size_t)kl_point_elements(pt, arg),
		.row = pt->arg[arg].naxes ? (size_t)pt->arg[arg].extent[pt->arg[arg].naxes - 1] : 1,
	};
	/* first draw the values of the argument's fill */
	int err = kl_fill_band(out, job, pt, "noise", key, arg);

	if (err < 0)
		return err;
	choose_change(&change, job, member, key);
	if (!change.touched[arg] && !is_partner(&change, job, pt, arg))
		return 0;
	drawing.key = kl_key_derive(&own, "further");
	kl_rng_key(&drawing.rng, &drawing.key, 0);
	drawing.bits = bits_of(&change, job, arg, attempt);
	change_tensor(&drawing, pt, arg);
	return 0;
}
