/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/group.h"

#include "base/error.h"

int kl_groups_init(struct kl_groups *groups, const struct kl_rule *rule, const int64_t *extent,
		   size_t naxes)
{
	int last = -1;

	*groups = (struct kl_groups){ .naxes = naxes, .count = 1, .size = 1 };
	for (size_t axis = 0; axis < naxes; axis++)
		groups->part[axis] = groups->extent[axis] = extent[axis];
	for (int i = 0; rule && i < rule->npaxes; i++) {
		int named = rule->per[i];

		if (named <= last || (size_t)named >= naxes || rule->cut[i] < 0)
			return kl_error(KL_EINVALID,
					"'per' must name axes of its tensor, in order");
		last = named;
		groups->part[named] = rule->cut[i] < 1 ? 1 : rule->cut[i];
		if (groups->part[named] > extent[named])
			groups->part[named] = extent[named];
	}
	for (size_t axis = 0; axis < naxes; axis++) {
		groups->size *= (size_t)groups->part[axis];
		groups->count *= groups->part[axis] ?
					 (size_t)((extent[axis] + groups->part[axis] - 1) /
						  groups->part[axis]) :
					 0;
	}
	return 0;
}

static void begin_run(struct kl_group_walk *walk)
{
	const struct kl_groups *groups = walk->g;
	size_t off = 0;

	for (size_t axis = 0; axis < groups->naxes; axis++)
		off = off * (size_t)groups->extent[axis] + (size_t)walk->at[axis];
	walk->off = off;
	walk->left = 1;
	for (size_t axis = walk->inner; axis < groups->naxes; axis++)
		walk->left *= (size_t)(walk->hi[axis] - walk->lo[axis]);
	walk->more = walk->left > 0;
}

void kl_group_start(struct kl_group_walk *walk, const struct kl_groups *groups, size_t group)
{
	walk->g = groups;
	for (size_t axis = groups->naxes; axis-- > 0;) {
		size_t pieces = (size_t)((groups->extent[axis] + groups->part[axis] - 1) /
					 groups->part[axis]);

		walk->lo[axis] = walk->at[axis] = (int64_t)(group % pieces) * groups->part[axis];
		walk->hi[axis] = walk->lo[axis] + groups->part[axis] < groups->extent[axis] ?
					 walk->lo[axis] + groups->part[axis] :
					 groups->extent[axis];
		group /= pieces;
	}
	walk->inner = groups->naxes ? groups->naxes - 1 : 0;
	while (walk->inner > 0 && groups->part[walk->inner] == groups->extent[walk->inner])
		walk->inner--;
	begin_run(walk);
}

/* Advance the axes before `inner` to the group's next run. */
static void next_run(struct kl_group_walk *walk)
{
	size_t axis = walk->inner;

	while (axis-- > 0) {
		if (++walk->at[axis] < walk->hi[axis]) {
			begin_run(walk);
			return;
		}
		walk->at[axis] = walk->lo[axis];
	}
	walk->more = false;
}

bool kl_group_next(struct kl_group_walk *walk, size_t *off, size_t *n, size_t max)
{
	if (!walk->more)
		return false;
	*off = walk->off;
	*n = walk->left < max ? walk->left : max;
	walk->off += *n;
	walk->left -= *n;
	if (!walk->left)
		next_run(walk);
	return true;
}

/* Skip whole runs by division, not in a loop, since all runs of a group have the same length. */
void kl_group_skip(struct kl_group_walk *walk, size_t n)
{
	size_t run = walk->left, k = run ? n / run : 0, axis = walk->inner;

	while (axis-- > 0) {
		size_t places = (size_t)(walk->hi[axis] - walk->lo[axis]);

		walk->at[axis] += (int64_t)(k % places);
		k /= places;
	}
	if (!walk->more)
		return;
	walk->more = k == 0;
	if (!walk->more)
		return;
	begin_run(walk);
	walk->off += n % run;
	walk->left -= n % run;
}
