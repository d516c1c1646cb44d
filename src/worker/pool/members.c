/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/members.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "worker/compare/tolerance.h"
#include "worker/compare/yardstick.h"
#include "worker/pool/further.h"

/*
 * Elements of one group can share a rounding, and a few elements can all be exact by chance. The
 * honest error of one draw is then too strict a measure for other kernels. So a band can have spare
 * draws, from which only tolerances are computed (compare/yardstick.h); they are numbered from
 * SPARE on. Exact bands, twins and further bands have none.
 *
 * If groups have fewer than SPARE_GROUP elements, each band has SPARES spare draws, which are made
 * at once. At other points only the first spare draws of the noise band are made at once: EARLY at
 * a small point, EARLY_LARGE at a larger point that is not timed, none at a larger case, since it
 * has several noise draws anyway. The rest are made in a later round, but only if the honest errors
 * of the noise draws have too few degrees of freedom. Errors that elements do not share, such as
 * those of a matrix product, have enough degrees of freedom. If there are many groups, the rest are
 * not needed either, since the groups together show how much errors differ.
 */
#define SPARE 1000
#define SPARES 15
#define EARLY 6
#define EARLY_LARGE 2
#define SPARE_GROUP KL_YARDSTICK_RELATIVE
#define SPARE_ELEMENTS ((int64_t)4 << 20) /* a band with more input elements has SPARES / 5 */
/*
 * A small point has at most this many elements, and at most this volume (kl_job_volume()). There
 * LEAST_FREEDOM degrees of freedom are enough. At a larger point each draw takes long, so
 * LEAST_LARGE is enough there: late draws are made only if all elements share their errors.
 */
#define SMALL_ELEMENTS 65536
#define LEAST_FREEDOM 8
#define LEAST_LARGE 2
/* a point that is not timed has a twin if it has at most this many elements */
#define TWIN_ELEMENTS 65536
/*
 * How many further bands (further.h), chosen at random, a point has in a live session. The larger
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

/* Return true if the groups at a point are so small that all spare draws are made at once. */
static bool has_small_groups(const struct kl_job *job, const struct kl_point *pt)
{
	return kl_tolerance_least_group(job, pt) < SPARE_GROUP;
}

static bool is_small(const struct kl_job *job, const struct kl_point *pt)
{
	return kl_job_point_elements(job, pt) <= SMALL_ELEMENTS &&
	       kl_job_volume(job, pt) <= SMALL_ELEMENTS;
}

double kl_members_freedom(const struct kl_job *job, const struct kl_point *pt)
{
	return is_small(job, pt) ? LEAST_FREEDOM : LEAST_LARGE;
}

/* Return the number of spare draws of a band of a point. */
static int count_spares(const struct kl_job *job, const struct kl_point *pt, bool noise)
{
	bool many = count_inputs(job, pt) > SPARE_ELEMENTS;

	if (kl_tolerance_least_group(job, pt) == SIZE_MAX)
		return 0;
	if (!has_small_groups(job, pt) && kl_tolerance_least_count(job, pt) >= KL_YARDSTICK_ACROSS)
		return noise && !pt->perf ? EARLY_LARGE : 0;
	return many ? SPARES / 5 : SPARES;
}

/* Return true if a spare draw is made only in the later round. */
static bool is_late(const struct kl_job *job, const struct kl_member *member)
{
	int early = is_small(job, member->point) ? EARLY : member->point->perf ? 0 : EARLY_LARGE;

	return !has_small_groups(job, member->point) &&
	       (strcmp(member->band, "noise") || member->draw - SPARE >= early);
}

/* Plan spare draws for the bands of the members planned from `first` on. */
static void plan_spares(struct members *members, const struct kl_job *job, size_t first)
{
	size_t last = members->n;

	for (size_t i = first; i < last; i++) {
		struct kl_member member = members->member[i];
		bool alone = member.exact || member.further || !strcmp(member.band, KL_POOL_TWIN);
		int n = member.draw || alone ?
				0 :
				count_spares(job, member.point, !strcmp(member.band, "noise"));

		for (int draw = 0; draw < n; draw++) {
			plan_add(members, job, member.point, member.band, SPARE + draw, false);
			members->member[members->n - 1].late = is_late(
				job, &members->member[members->n - 1]);
		}
	}
}

static bool is_roomy(const struct kl_job *job, const struct kl_point *pt)
{
	return kl_tolerance_least_group(job, pt) >= KL_TOLERANCE_ROOMY;
}

/* Count the planned members of this band at points whose groups are large enough to make it. */
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
 * is planned at a point with small groups, because such groups are too small to judge its answers
 * by.
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
