/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/drawn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "job/job_domain.h"
#include "worker/compare/tolerance.h"
#include "worker/pool/domain.h"

/*
 * Time in ns that both oracles together may take for one member of a larger point. Some dozens of
 * members then take a few tenths of a second.
 */
#define MEMBER_NS 2000000
#define LEAST_VOLUME 4096.0 /* product of dims that is allowed even if the oracles are slow */
#define MOST_VOLUME ((double)(1 << 24))
#define SMALLER 64 /* ratio of the volume limits of the larger and the smaller point of a pair */
#define LEAST_BYTES ((int64_t)1 << 20)
#define MOST_BYTES ((int64_t)64 << 20) /* maximum bytes of all tensors together */
#define LEAST_EXTENT 64
#define LOOKS 32 /* maximum number of points to draw in search of a large one */

/* -- limits --------------------------------------------------------------------- */

/*
 * Return the largest ratio, over the listed points, of the oracles' time in ns to the volume, the
 * product of the dims. The ratios differ, since some oracles need more operations than the volume.
 * The largest point always counts. Any other point counts only if the oracles took much longer
 * there than the shortest time at any point, because in shorter calls most of the time is overhead;
 * that shortest time is then subtracted.
 */
static double operation_ns(const struct kl_job *job, const struct kl_pool *pool)
{
	double empty = INFINITY, largest = 0, most = 0;

	for (size_t i = 0; i < job->npoint; i++) {
		double ns = (double)kl_pool_cost(pool, &job->point[i]);
		double volume = kl_job_volume(job, &job->point[i]);

		empty = ns > 0 && ns < empty ? ns : empty;
		if (volume > largest) {
			largest = volume;
			most = ns / volume;
		}
	}
	for (size_t i = 0; i < job->npoint; i++) {
		double ns = (double)kl_pool_cost(pool, &job->point[i]);

		if (ns > 4 * empty)
			most = fmax(most, (ns - empty) / kl_job_volume(job, &job->point[i]));
	}
	return most;
}

/* Return the largest product of the dims for which the oracles take at most MEMBER_NS. */
static double volume_limit(const struct kl_job *job, const struct kl_pool *pool)
{
	double each = operation_ns(job, pool), least = INFINITY, most = 0;
	double volume = each > 0 ? MEMBER_NS / each : MOST_VOLUME;

	for (size_t i = 0; i < job->npoint; i++) {
		double own = kl_job_volume(job, &job->point[i]);

		least = own < least ? own : least;
		most = own > most ? own : most;
	}
	volume = fmin(fmin(volume, MOST_VOLUME), most);
	/*
	 * even the smallest point of a domain can be large, so allow somewhat more than the
	 * smallest listed point
	 */
	return fmax(fmax(volume, 4 * least), LEAST_VOLUME);
}

/* -- drawing ------------------------------------------------------------------------ */

struct drawing {
	const struct kl_job *job;
	struct kl_domain_draw draw;
	int64_t (*known)[KL_MAX_DIMS]; /* dims of the listed points; owned */
	int64_t bytes;                 /* maximum number of bytes of all tensors together */
	double larger;                 /* largest volume of the larger point of a pair */
	struct kl_rng rng;
	int64_t found[KL_DRAWN_POINTS][KL_MAX_DIMS];
	size_t nfound;
};

static void drawing_release(struct drawing *drawing)
{
	free(drawing->known);
}

static bool same_dims(const struct drawing *drawing, const int64_t *left, const int64_t *right)
{
	return !memcmp(left, right, drawing->job->ndim * sizeof(*left));
}

/* Return true if a point of the domain is not listed, not drawn yet, and not too large in bytes. */
static bool is_new(const void *ctx, const int64_t *dim)
{
	const struct drawing *drawing = ctx;
	struct kl_point pt;

	for (size_t i = 0; i < drawing->draw.nknown; i++)
		if (same_dims(drawing, dim, drawing->known[i]))
			return false;
	for (size_t i = 0; i < drawing->nfound; i++)
		if (same_dims(drawing, dim, drawing->found[i]))
			return false;
	if (kl_job_point_at(&pt, drawing->job, "", dim) < 0) {
		kl_error_clear();
		return false;
	}
	return kl_job_point_bytes(drawing->job, &pt) <= drawing->bytes;
}

static void drawing_init(struct drawing *drawing, const struct kl_job *job,
			 const struct kl_pool *pool, const struct kl_key *key)
{
	const struct kl_job_domain *domain = job->domain;
	int64_t most = 0;

	*drawing = (struct drawing){ .job = job };
	drawing->known = kl_calloc(job->npoint, sizeof(*drawing->known));
	drawing->draw = (struct kl_domain_draw){
		.condition = domain->condition,
		.ncondition = domain->n,
		.ndim = job->ndim,
		.known = (const int64_t(*)[KL_MAX_DIMS])drawing->known,
		.nknown = job->npoint,
		.fits = is_new,
		.ctx = drawing,
	};
	for (size_t i = 0; i < job->npoint; i++) {
		int64_t bytes = kl_job_point_bytes(job, &job->point[i]);

		memcpy(drawing->known[i], job->point[i].dim, job->ndim * sizeof(int64_t));
		most = bytes > most ? bytes : most;
		for (size_t d = 0; d < job->ndim; d++) {
			int64_t extent = 2 * job->point[i].dim[d];

			extent = extent > LEAST_EXTENT ? extent : LEAST_EXTENT;
			if (drawing->draw.most[d] < extent)
				drawing->draw.most[d] = extent;
		}
	}
	drawing->larger = volume_limit(job, pool);
	drawing->bytes = 2 * most < LEAST_BYTES ? LEAST_BYTES :
			 2 * most > MOST_BYTES  ? MOST_BYTES :
						  2 * most;
	kl_rng_key(&drawing->rng, key, 0);
}

static bool draw_once(struct drawing *drawing, double volume)
{
	int64_t *dim = drawing->found[drawing->nfound];

	drawing->draw.volume = volume;
	if (kl_domain_draw(dim, &drawing->draw, &drawing->rng) < 0)
		return false;
	drawing->nfound++;
	return true;
}

/*
 * Return kl_tolerance_least_group() at the point drawn last; 0 if its shapes cannot be computed.
 */
static size_t last_group(const struct drawing *drawing)
{
	struct kl_point pt;

	if (kl_job_point_at(&pt, drawing->job, "", drawing->found[drawing->nfound - 1]) == 0)
		return kl_tolerance_least_group(drawing->job, &pt);
	kl_error_clear();
	return 0;
}

/*
 * Draw the larger point of a pair. It has at least an eighth of the allowed volume and groups of at
 * least `group` elements; if no such point is found in LOOKS draws, the last one is taken. Return
 * false if no point can be drawn.
 */
static bool draw_larger(struct drawing *drawing, size_t group)
{
	struct kl_point pt;

	for (int i = 0; i < LOOKS; i++) {
		if (!draw_once(drawing, drawing->larger))
			return false;
		memcpy(pt.dim, drawing->found[drawing->nfound - 1], sizeof(pt.dim));
		if (kl_job_volume(drawing->job, &pt) >= drawing->larger / 8 &&
		    last_group(drawing) >= group)
			break;
		drawing->nfound -= i + 1 < LOOKS;
	}
	return true;
}

/*
 * Draw a pair of points. If the domain allows it, dim `exceed` of the larger point exceeds all
 * listed values. If no smaller point is found, both points may be large.
 */
static bool draw_pair(struct drawing *drawing, size_t exceed, size_t group)
{
	bool drawn;

	drawing->draw.least[exceed] = drawing->draw.most[exceed] / 2 + 1;
	drawn = draw_larger(drawing, group);
	drawing->draw.least[exceed] = 0;
	if (!drawn && !draw_larger(drawing, group))
		return false;
	return draw_once(drawing, drawing->larger / SMALLER) || draw_once(drawing, drawing->larger);
}

/* -- the job --------------------------------------------------------------------------- */

/* Add the bounds of fill 'index' at the drawn points to the fills of a band. */
static int copy_fills(json_t *band, const struct kl_drawn *drawn)
{
	const char *name;
	json_t *fill;

	json_object_foreach(band, name, fill) {
		for (size_t i = 0; i < drawn->job.npoint && json_is_object(fill); i++) {
			int err = kl_job_fill_at(&fill, &drawn->job, fill, &drawn->job.point[i]);

			if (err < 0)
				return kl_error_in(err, "band of '%s'", name);
			json_object_set_new(band, name, fill);
		}
	}
	return 0;
}

static int copy_bands(json_t **out, const struct kl_drawn *drawn, const json_t *bands)
{
	json_t *band;
	size_t i;
	int err = 0;

	*out = json_deep_copy(bands);
	json_array_foreach(*out, i, band)
		if (err == 0)
			err = copy_fills(band, drawn);
	return err;
}

static int copy_arg(struct kl_drawn *drawn, size_t arg)
{
	json_t **fill = &drawn->job.arg[arg].fill;

	for (size_t i = 0; i < drawn->job.npoint && *fill; i++) {
		json_t *next;
		int err = kl_job_fill_at(&next, &drawn->job, *fill, &drawn->job.point[i]);

		if (err < 0)
			return kl_error_in(err, "'%s'", drawn->job.arg[arg].name);
		json_decref(*fill);
		*fill = next;
	}
	return 0;
}

static int make_job(struct kl_drawn *out, const struct kl_job *job,
		    const int64_t (*dim)[KL_MAX_DIMS], size_t n)
{
	int err = 0;

	*out = (struct kl_drawn){ .job = *job };
	out->job.point = kl_calloc(n + 1, sizeof(*out->job.point));
	out->job.npoint = 0;
	/* take references before anything can fail, because kl_drawn_release() always drops them */
	for (size_t i = 0; i < job->nargs; i++)
		json_incref(out->job.arg[i].fill);
	out->job.exact = out->job.bands = NULL;
	for (size_t i = 0; i < n && err == 0; i++) {
		char id[32];

		snprintf(id, sizeof(id), "drawn%zu", i);
		err = kl_job_point_at(&out->job.point[i], job, id, dim[i]);
		out->job.point[i].drawn = true;
	}
	out->job.npoint = n;
	for (size_t i = 0; i < job->nargs && err == 0; i++)
		err = copy_arg(out, i);
	if (err == 0)
		err = copy_bands(&out->job.exact, out, job->exact);
	if (err == 0)
		err = copy_bands(&out->job.bands, out, job->bands);
	return err;
}

int kl_drawn_make(struct kl_drawn *out, const struct kl_job *job, const struct kl_pool *pool,
		  const struct kl_key *key)
{
	KL_AUTO(drawing_release) struct drawing drawing = { .known = NULL };
	bool any = job->domain && job->domain->n;
	size_t exceed = 0;

	if (any) {
		drawing_init(&drawing, job, pool, key);
		exceed = kl_rng_below(&drawing.rng, job->ndim);
	}
	for (size_t i = 0; i < KL_DRAWN_POINTS / 2 && any; i++)
		any = draw_pair(&drawing, (exceed + i) % job->ndim,
				i ? KL_TOLERANCE_ROOMY :
				    0); /* the first pair may have small groups */
	return make_job(out, job, (const int64_t(*)[KL_MAX_DIMS])drawing.found, drawing.nfound);
}

int kl_drawn_again(struct kl_drawn *out, const struct kl_job *job, const struct kl_point *const *of,
		   size_t n)
{
	int64_t dim[KL_DRAWN_POINTS][KL_MAX_DIMS];

	for (size_t i = 0; i < n; i++)
		memcpy(dim[i], of[i]->dim, sizeof(dim[i]));
	return make_job(out, job, (const int64_t(*)[KL_MAX_DIMS])dim, n);
}

void kl_drawn_release(struct kl_drawn *drawn)
{
	for (size_t i = 0; i < drawn->job.nargs; i++)
		json_decref(drawn->job.arg[i].fill);
	json_decref(drawn->job.exact);
	json_decref(drawn->job.bands);
	free(drawn->job.point);
	*drawn = (struct kl_drawn){ .job.npoint = 0 };
}
