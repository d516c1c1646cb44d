/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/members.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "worker/compare/tolerance.h"
#include "worker/compare/yardstick.h"
#include "worker/pool/further.h"

/*
 * Elements of one group can share a rounding, and a few elements can all be exact by luck: the
 * honest error of one draw is then too strict a measure for other kernels. So a band can have spare
 * draws, from which only tolerances are computed (compare/yardstick.h); they are numbered from
 * SPARE on. Exact bands, twins and further bands have none.
 *
 * With groups of fewer than SPARE_GROUP elements, or at a small point with few groups, each band
 * has SPARES of them. At a larger point EARLY draws of the noise band tell if that many are needed:
 * the others are late, and are made only if the honest errors of the noise draws differ. Many
 * groups need no late draws, since together they show how much errors differ.
 */
#define SPARE 1000
#define SPARES 15
#define EARLY 2
#define SPARE_GROUP KL_YARDSTICK_RELATIVE
#define SPARE_ELEMENTS ((int64_t)4 << 20) /* with more input elements, draw SPARES / 5 */
/* a small point has at most this many elements, and at most this volume (kl_job_volume()) */
#define SMALL_ELEMENTS 65536
/* a point that is not timed has a twin if it has at most this many elements */
#define TWIN_ELEMENTS 65536
/*
 * Numbers of further bands (further.h), chosen at random, of a point in a live session. The larger
 * point of each drawn pair has FURTHER_DRAWN of them if its groups are large enough, so that all
 * drawn points together have every further band; any other point has FURTHER.
 */
#define FURTHER 2
#define FURTHER_DRAWN 7

struct members {
	struct kl_member *member;
	size_t n, alloc;
	uint64_t choice;
	struct kl_rng rng; /* seeded with `choice` */
};

bool kl_members_is_spare(const struct kl_member *member)
{
	return member->draw >= SPARE;
}

bool kl_members_measures(const struct kl_member *member, const struct kl_member *of)
{
	return !of->exact && !member->exact && !member->further && member->point == of->point &&
	       (!strcmp(member->band, "noise") || !strcmp(member->band, of->band));
}

static void plan_add(struct members *members, const struct kl_job *job, const struct kl_point *pt,
		     const char *band, int draw, bool exact)
{
	struct kl_member *member;

	KL_GROW(members->member, members->n + 1, members->alloc);
	member = &members->member[members->n++];
	*member = (struct kl_member){ .point = pt, .draw = draw, .exact = exact };
	snprintf(member->band, sizeof(member->band), "%s", band);
	kl_further_mark(member, job);
}

static bool does_sweep(const struct kl_job *job)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (job->arg[i].sweep && kl_arg_is_input(&job->arg[i]))
			return true;
	return false;
}

/* Count the elements of all inputs at a point. */
static int64_t count_inputs(const struct kl_job *job, const struct kl_point *pt)
{
	int64_t n = 0;

	for (size_t i = 0; i < job->nargs; i++)
		n += kl_arg_is_input(&job->arg[i]) ? kl_point_elements(pt, i) : 0;
	return n;
}

static bool has_twin(const struct kl_job *job, const struct kl_point *pt)
{
	return count_inputs(job, pt) && !pt->drawn &&
	       (pt->perf || kl_job_point_elements(job, pt) <= TWIN_ELEMENTS);
}

/* Return true if the groups at a point are so small that its bands have spares in any case. */
static bool has_small_groups(const struct kl_job *job, const struct kl_point *pt)
{
	return kl_tolerance_least_group(job, pt) < SPARE_GROUP;
}

/* Return the product of the dims of a point; a job without names for them has them in arguments. */
static double volume_of(const struct kl_job *job, const struct kl_point *pt)
{
	double volume = 1;

	if (job->ndim)
		return kl_job_volume(job, pt);
	for (size_t i = 0; i < job->nargs; i++)
		if (job->arg[i].kind == KL_ARG_DIM && pt->arg[i].value > 1)
			volume *= (double)pt->arg[i].value;
	return volume;
}

/* The spare draws of each band of a point; `noise`: of the noise band. */
struct spares {
	int early, late, noise;
};

static struct spares count_spares(const struct kl_job *job, const struct kl_point *pt)
{
	int few = count_inputs(job, pt) > SPARE_ELEMENTS ? SPARES / 5 : SPARES;
	int early = pt->perf ? 0 : EARLY;

	if (has_small_groups(job, pt))
		return (struct spares){ .early = few, .noise = few };
	if (kl_tolerance_least_group(job, pt) == SIZE_MAX)
		return (struct spares){ .early = 0 };
	if (kl_tolerance_least_count(job, pt) >= KL_YARDSTICK_ACROSS)
		return (struct spares){ .noise = early };
	if (kl_job_point_elements(job, pt) <= SMALL_ELEMENTS &&
	    volume_of(job, pt) <= SMALL_ELEMENTS)
		return (struct spares){ .early = few, .noise = few };
	return (struct spares){ .noise = early, .late = few };
}

/* Plan spare draws for the bands of the members planned from `first` on. */
static void plan_spares(struct members *members, const struct kl_job *job, size_t first)
{
	struct spares spares = count_spares(job, members->member[first].point);
	size_t last = members->n;

	for (size_t i = first; i < last; i++) {
		char band[32];
		struct kl_member member = members->member[i];
		bool alone = member.exact || member.further || !strcmp(member.band, KL_POOL_TWIN);
		int early = strcmp(member.band, "noise") ? spares.early : spares.noise;
		int n = early > spares.late ? early : spares.late;

		snprintf(band, sizeof(band), "%s", member.band);
		for (int draw = 0; draw < n && !member.draw && !alone; draw++) {
			plan_add(members, job, member.point, band, SPARE + draw, false);
			members->member[members->n - 1].late = draw >= early;
		}
	}
}

static bool is_roomy(const struct kl_job *job, const struct kl_point *pt)
{
	return kl_tolerance_least_group(job, pt) >= KL_TOLERANCE_ROOMY;
}

/* Count the points that have this band and groups large enough for it to be made. */
static size_t count_band(const struct members *members, const struct kl_job *job, const char *band)
{
	size_t count = 0;

	for (size_t i = 0; i < members->n; i++)
		count += !strcmp(members->member[i].band, band) &&
			 is_roomy(job, members->member[i].point);
	return count;
}

/*
 * Move the bands that are planned at the fewest points so far to the front, so that each band is
 * planned at some point.
 */
static void rarest_first(const struct members *members, const struct kl_job *job, char band[][32],
			 size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && count_band(members, job, band[k]) <
						    count_band(members, job, band[k - 1]);
		     k--) {
			char swap[32];

			memcpy(swap, band[k], sizeof(swap));
			memcpy(band[k], band[k - 1], sizeof(swap));
			memcpy(band[k - 1], swap, sizeof(swap));
		}
}

/*
 * Plan the further bands of a point: a few, chosen at random, or all in a replay. No further band
 * is planned at a point with small groups: they are too small to judge answers to it.
 */
static void plan_further(struct members *members, const struct kl_job *job,
			 const struct kl_point *pt)
{
	char band[KL_FURTHER_MAX][32];
	size_t n = has_small_groups(job, pt) ? 0 : kl_further_list(band, job, pt);
	bool larger = pt->drawn && (pt - job->point) % 2 == 0;
	size_t most = larger && is_roomy(job, pt) ? FURTHER_DRAWN : FURTHER;

	if (members->choice) {
		kl_rng_shuffle(&members->rng, band, n, sizeof(*band));
		rarest_first(members, job, band, n);
		n = n < most ? n : most;
	}
	for (size_t i = 0; i < n; i++)
		plan_add(members, job, pt, band[i], 0, false);
}

/*
 * Plan the bands of `list`, job->exact or job->bands, that apply to a point; at a drawn point of a
 * live session only one of them, chosen at random.
 */
static void plan_bands(struct members *members, const struct kl_job *job, const struct kl_point *pt,
		       const json_t *list, bool exact)
{
	size_t chosen = json_array_size(list), n = 0;
	char band[32];

	for (size_t i = 0; i < json_array_size(list); i++)
		if (kl_job_band_at(json_array_get(list, i), pt) &&
		    !kl_rng_below(&members->rng, ++n))
			chosen = i;
	for (size_t i = 0; i < json_array_size(list); i++) {
		snprintf(band, sizeof(band), "%s%zu", exact ? "exact" : "band", i);
		if (kl_job_band_at(json_array_get(list, i), pt) &&
		    (i == chosen || !pt->drawn || !members->choice))
			plan_add(members, job, pt, band, 0, exact);
	}
}

static void plan_point(struct members *members, const struct kl_job *job, const struct kl_point *pt)
{
	size_t first = members->n;

	for (int draw = 0; draw < (pt->perf ? KL_POOL_DRAWS : 1); draw++)
		plan_add(members, job, pt, "noise", draw, false);
	if (has_twin(job, pt))
		plan_add(members, job, pt, KL_POOL_TWIN, 0, false);
	plan_bands(members, job, pt, job->exact, true);
	plan_bands(members, job, pt, job->bands, false);
	if (pt->perf && does_sweep(job)) {
		plan_add(members, job, pt, "scale-up", 0, false);
		plan_add(members, job, pt, "scale-down", 0, false);
	}
	plan_further(members, job, pt);
	plan_spares(members, job, first);
}

void kl_members_plan(struct kl_member **out, size_t *n, const struct kl_job *job, uint64_t choice)
{
	struct members members = { .choice = choice };

	kl_rng_seed(&members.rng, choice ? choice : 1);
	for (size_t i = 0; i < job->npoint; i++)
		plan_point(&members, job, &job->point[i]);
	*out = members.member;
	*n = members.n;
}

void kl_members_plan_timed(struct kl_member **out, size_t *n, const struct kl_job *job,
			   size_t draws)
{
	struct members members = { .choice = 0 };

	for (size_t i = 0; i < job->npoint; i++)
		for (size_t draw = 0; job->point[i].perf && draw < draws; draw++)
			plan_add(&members, job, &job->point[i], "noise", (int)draw, false);
	for (size_t i = 0; i < members.n; i++)
		members.member[i].own = true;
	*out = members.member;
	*n = members.n;
}

void kl_members_plan_again(struct kl_member **out, size_t *n, const struct kl_job *job,
			   const struct kl_member *of, size_t draws)
{
	struct members members = { .choice = 0 };
	const char *band = strcmp(of->band, KL_POOL_TWIN) ? of->band : "noise";

	for (size_t draw = 0; draw < draws; draw++)
		plan_add(&members, job, of->point, band, (int)draw, false);
	for (size_t i = 0; i < members.n; i++)
		members.member[i].own = true;
	*out = members.member;
	*n = members.n;
}
