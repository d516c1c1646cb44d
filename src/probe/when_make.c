/* SPDX-License-Identifier: Apache-2.0 */
/* when_make - judges the points of a map that are not known yet, until the time is spent */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "gate/gate.h"
#include "probe/when_parts.h"

#define LEAST_SLOW_MS 5000 /* a point that takes less is never too slow */
#define RETRIALS 2         /* how often a point whose interval decides nothing is judged again */
#define SLOW_SHARE 8       /* a point that takes more than this part of the time is too slow */

struct making {
	struct kl_when *when;
	const struct kl_when_opts *opts;
	struct kl_gate *gate;
	char *dir;
	struct kl_lock lock;
	int64_t end_ns;
	struct kl_dims *slow; /* points that took too long */
	size_t nslow;
	bool judged; /* some point has events, so that this machine can judge the kernels */
};

static void making_release(struct making *making)
{
	kl_lock_release(&making->lock);
	kl_gate_free(making->gate);
	free(making->dir);
	free(making->slow);
}

/* --- one point -------------------------------------------------------------------------------- */

/* Return true if all dims of the point are at least those of a point that took too long. */
static bool is_too_slow(const struct making *making, const struct kl_dims *dims)
{
	for (size_t i = 0; i < making->nslow; i++) {
		bool above = true;

		for (size_t k = 0; k < dims->n; k++)
			above = above && dims->v[k] >= making->slow[i].v[k];
		if (above)
			return true;
	}
	return false;
}

static void note_time(struct making *making, const struct kl_dims *dims, int64_t ms)
{
	int64_t most = making->opts->seconds * 1000 / SLOW_SHARE;

	if (ms > (most > LEAST_SLOW_MS ? most : LEAST_SLOW_MS))
		making->slow[making->nslow++] = *dims;
}

static bool is_verdict(const struct kl_judgement *judgement)
{
	return judgement->event->verdict == KL_VERDICT_PASS ||
	       judgement->event->verdict == KL_VERDICT_FAIL;
}

static void leave_untested(struct kl_when_point *point, const char *why)
{
	size_t n = strcspn(why, "\n");

	free(point->why);
	point->why = kl_strndup(why, n < 300 ? n : 300);
	if (point->a.end == KL_WHEN_OPEN)
		point->a.end = KL_WHEN_UNTESTED;
	point->b.end = KL_WHEN_UNTESTED;
}

static bool is_narrower(const struct kl_ratio *ratio, const struct kl_ratio *than)
{
	return (double)ratio->hi * (double)than->lo < (double)than->hi * (double)ratio->lo;
}

/* Return true if the point has no stored events or if their interval is wider. */
static bool does_improve(const struct making *making, const struct kl_when_point *point)
{
	struct kl_when_point stored = { .dims = point->dims };
	bool known = kl_when_point_load(&stored, making->dir, making->when->contract);

	free(stored.why);
	return !known || stored.ratio.ppm <= 0 || point->b.end == KL_WHEN_FAIL ||
	       is_narrower(&point->ratio, &stored.ratio);
}

/* Judge both kernels at a point, and time them against each other if both are correct. */
static int judge_both(struct making *making, struct kl_when_point *point, const char *dims)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *a = NULL, *b = NULL;
	const struct kl_surface *kernel_a = making->opts->a, *kernel_b = making->opts->b;
	struct kl_gate_point place = { .dims = dims };
	int64_t start = kl_clock_ns();
	bool passes;
	int err = kl_gate_judge_point(&a, making->gate, kernel_a, &place);

	if (err < 0)
		return err;
	/* Count only the time of a: b may have had to wait for another program's measurement. */
	note_time(making, &point->dims, (kl_clock_ns() - start) / 1000000);
	if (!is_verdict(a)) {
		leave_untested(point, a->event->message);
		return 0;
	}
	passes = a->event->verdict == KL_VERDICT_PASS;
	place.parent = passes ? kernel_a : NULL;
	err = kl_gate_judge_point(&b, making->gate, kernel_b, &place);
	if (err < 0)
		return err;
	kl_when_take(point, a->event, b->event);
	if (!is_verdict(b)) {
		leave_untested(point, b->event->message);
		return 0;
	}
	making->judged = true;
	if (*point->b.event && !does_improve(making, point))
		return 0;
	return kl_when_point_store(making->dir, kernel_a->contract, &point->dims, a->event,
				   b->event);
}

static int judge_point(struct making *making, struct kl_when_point *point)
{
	KL_AUTO(kl_freep) char *dims = kl_contract_dims_text(making->when->contract, &point->dims);
	int err;

	kl_progress_title(making->opts->progress, "map %s, point %zu of %zu: %s",
			  making->when->contract->workload,
			  making->when->made + making->when->kept + 1, making->when->n, dims);
	err = judge_both(making, point, dims);
	if (err == KL_ECANNOT && !kl_gate_lacked_device(making->gate)) {
		leave_untested(point, kl_error_last());
		err = 0;
	}
	if (err < 0)
		return err;
	return 0;
}

/* --- all points ------------------------------------------------------------------------------- */

static void load_points(struct making *making)
{
	struct kl_when *when = making->when;

	for (size_t i = 0; i < when->n; i++) {
		bool known = kl_when_point_load(&when->point[i], making->dir, when->contract);

		when->kept += known;
		making->judged |= known && when->point[i].a.end != KL_WHEN_UNTESTED;
		when->point[i].kept = known && !making->opts->again;
	}
}

static bool is_late(const struct making *making)
{
	return kl_clock_ns() >= making->end_ns;
}

/*
 * Judge a point again whose interval decides nothing, while there is time; the narrower interval is
 * kept, on disk as well.
 */
static int retry_point(struct making *making, struct kl_when_point *point)
{
	struct kl_when_point again = { .dims = point->dims };
	int err;

	kl_when_measure_point(&again, making->when->contract);
	err = judge_point(making, &again);
	/* a failure is never forgotten; a point that could not be judged this time tells nothing */
	if (err < 0 || (again.b.end != KL_WHEN_FAIL &&
			(again.ratio.ppm <= 0 || !is_narrower(&again.ratio, &point->ratio)))) {
		free(again.why);
		return err;
	}
	free(point->why);
	*point = again;
	return 0;
}

static int retry_points(struct making *making)
{
	struct kl_when *when = making->when;
	int err = 0;

	for (int retrial = 0; retrial < RETRIALS; retrial++)
		for (size_t i = 0; i < when->n && !err && !is_late(making); i++)
			if (!when->point[i].kept && kl_when_is_unclear(&when->point[i]))
				err = retry_point(making, &when->point[i]);
	return err;
}

static int judge_points(struct making *making)
{
	struct kl_when *when = making->when;
	int err = 0;

	making->slow = kl_calloc((RETRIALS + 1) * when->n + 1, sizeof(*making->slow));
	load_points(making);
	for (size_t i = 0; i < when->n && !err; i++) {
		if (when->point[i].a.end != KL_WHEN_OPEN)
			continue;
		if (is_too_slow(making, &when->point[i].dims)) {
			when->too_slow++;
			when->left++;
		} else if (is_late(making)) {
			when->left++;
		} else {
			err = judge_point(making, &when->point[i]);
			when->made += !err;
		}
	}
	return err < 0 ? err : retry_points(making);
}

/*
 * Store which points cannot be judged. If no point could be judged at all, the reason is not the
 * points but the machine or the contract: return it as an error.
 */
static int keep_untested(struct making *making)
{
	struct kl_when *when = making->when;
	const char *why = NULL;
	int err = 0;

	for (size_t i = 0; i < when->n && !err; i++) {
		const struct kl_when_point *point = &when->point[i];

		if (!point->why || point->a.end != KL_WHEN_UNTESTED)
			continue;
		why = point->why;
		if (making->judged)
			err = kl_when_point_give_up(making->dir, when->contract, &point->dims, why);
	}
	if (!err && why && !making->judged)
		err = kl_error(KL_ECANNOT, "no point could be judged: %s", why);
	return err;
}

static int open_making(struct making *making)
{
	const struct kl_when_opts *opts = making->opts;
	const struct kl_gate_opts gate_opts = {
		.progress = opts->progress,
		.jail = opts->jail,
		.platform = opts->platform,
		.profile_ms = opts->point_ms,
	};
	struct kl_platform platform;
	struct kl_when_pair pair = { opts->a, opts->b, &platform, NULL };
	KL_AUTO(kl_freep) char *path = NULL;
	int err = kl_gate_open(&making->gate, opts->repo, &gate_opts);

	if (err < 0 || (err = kl_gate_reaches(making->gate, opts->b)) < 0 ||
	    (err = kl_gate_platform(&platform, making->gate, opts->b)) < 0)
		return err;
	pair.tier = kl_jail_tier(kl_gate_jail(making->gate));
	making->dir = kl_when_dir(opts->repo, &pair);
	making->when->platform = kl_strdup(platform.id);
	making->when->device = kl_strdup(platform.device);
	if ((err = kl_when_dir_make(making->dir, &pair)) < 0)
		return err;
	path = kl_fs_join(making->dir, "lock");
	err = kl_lock_take(&making->lock, path, 0);
	return err == KL_EBUSY ? kl_error_in(err, "another process is making this map") : err;
}

static void add_points(struct kl_when *when, const struct kl_grid *grid)
{
	when->x = grid->x;
	when->y = grid->y;
	when->too_large = grid->too_large;
	when->point = kl_calloc(grid->n + 1, sizeof(*when->point));
	for (size_t i = 0; i < grid->n; i++) {
		when->point[i].dims = grid->point[i].dims;
		kl_when_measure_point(&when->point[i], when->contract);
	}
	when->n = grid->n;
}

int kl_when_make(struct kl_when *out, const struct kl_when_opts *opts)
{
	KL_AUTO(making_release) struct making making = {
		.when = out,
		.opts = opts,
		.lock = KL_LOCK_INIT,
		.end_ns = kl_clock_ns() + opts->seconds * 1000000000,
	};
	KL_AUTO(kl_grid_release) struct kl_grid grid = { 0 };
	int err;

	*out = (struct kl_when){
		.contract = opts->a->contract,
		.name_a = kl_strdup(opts->name_a),
		.name_b = kl_strdup(opts->name_b),
		.digest_a = kl_strdup(opts->a->digest),
		.digest_b = kl_strdup(opts->b->digest),
	};
	if (strcmp(opts->a->contract_digest, opts->b->contract_digest) != 0)
		return kl_error_hint(kl_error(KL_EUSAGE, "'%s' and '%s' have different contracts",
					      opts->name_a, opts->name_b),
				     "two kernels can be compared only under the same "
				     "klineage.yaml, oracle and adapters");
	if (!strcmp(opts->a->digest, opts->b->digest))
		return kl_error(KL_EUSAGE, "'%s' and '%s' have the same kernel", opts->name_a,
				opts->name_b);
	if ((err = kl_grid_plan(&grid, out->contract, opts->max_bytes)) < 0)
		return err;
	add_points(out, &grid);
	if ((err = open_making(&making)) < 0)
		return err;
	err = judge_points(&making);
	if (!err)
		err = keep_untested(&making);
	kl_when_fit(out);
	return err;
}

/* Load the map in a directory; `place` is the platform and the device. */
static int load_map(struct kl_when *out, const char *dir, const char *place,
		    const struct kl_surface *a, const struct kl_surface *b)
{
	KL_AUTO(kl_grid_release) struct kl_grid grid = { 0 };
	size_t id = strcspn(place, "\n");
	int err;

	*out = (struct kl_when){
		.contract = a->contract,
		.name_a = kl_strdup("a"),
		.name_b = kl_strdup("b"),
		.digest_a = kl_strdup(a->digest),
		.digest_b = kl_strdup(b->digest),
		.platform = kl_strndup(place, id),
		.device = kl_strdup(place[id] ? place + id + 1 : ""),
	};
	/* the plan gives the axes */
	if ((err = kl_grid_plan(&grid, a->contract, 0)) < 0 ||
	    (err = kl_when_points_load(out, dir)) < 0)
		return err;
	out->x = grid.x;
	out->y = grid.y;
	out->kept = out->n;
	kl_when_fit(out);
	return 0;
}

int kl_when_each(struct kl_repo *repo, const struct kl_surface *a, const struct kl_surface *b,
		 kl_when_fn *fn, void *payload)
{
	KL_AUTO(kl_map_release) struct kl_map dirs = { .free_value = free };
	int err = kl_when_dirs_find(&dirs, repo, a, b);

	for (size_t i = 0; i < dirs.n && !err; i++) {
		KL_AUTO(kl_when_release) struct kl_when when = { 0 };

		err = load_map(&when, dirs.e[i].value, dirs.e[i].key, a, b);
		if (!err)
			err = fn(&when, payload);
	}
	return err;
}
