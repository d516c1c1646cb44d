/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/group.h"

#include "base/error.h"

int kl_groups_init(struct kl_groups *groups, const struct kl_rule *rule, const int64_t *extent,
		   size_t naxes)
{
	int last = -1;

	*groups = (struct kl_groups){ .naxes = naxes, .count = 1, .size = 1 };
	for (size_t first = 0; first < naxes; first++)
		groups->part[first] = groups->extent[first] = extent[first];
	for (int i = 0; rule && i < rule->npaxes; i++) {
		int axis = rule->per[i];

		if (axis <= last || (size_t)axis >= naxes || rule->cut[i] < 0)
			return kl_error(KL_EINVALID,
					"'per' must name axes of its tensor, in order");
		last = axis;
		groups->part[axis] = rule->cut[i] < 1 ? 1 : rule->cut[i];
		if (groups->part[axis] > extent[axis])
			groups->part[axis] = extent[axis];
	}
	for (size_t first = 0; first < naxes; first++) {
		groups->size *= (size_t)groups->part[first];
		groups->count *= groups->part[first] ?
					 (size_t)((extent[first] + groups->part[first] - 1) /
						  groups->part[first]) :
					 0;
	}
	return 0;
}

static void begin_run(struct kl_group_walk *walk)
{
	const struct kl_groups *groups = walk->g;
	size_t off = 0;

	for (size_t first = 0; first < groups->naxes; first++)
		off = off * (size_t)groups->extent[first] + (size_t)walk->at[first];
	walk->off = off;
	walk->left = 1;
	for (size_t first = walk->inner; first < groups->naxes; first++)
		walk->left *= (size_t)(walk->hi[first] - walk->lo[first]);
	walk->more = walk->left > 0;
}

void kl_group_start(struct kl_group_walk *walk, const struct kl_groups *groups, size_t group)
{
	walk->g = groups;
	for (size_t first = groups->naxes; first-- > 0;) {
		size_t pieces = (size_t)((groups->extent[first] + groups->part[first] - 1) /
					 groups->part[first]);

		walk->lo[first] = walk->at[first] = (int64_t)(group % pieces) * groups->part[first];
		walk->hi[first] = walk->lo[first] + groups->part[first] < groups->extent[first] ?
					  walk->lo[first] + groups->part[first] :
					  groups->extent[first];
		group /= pieces;
	}
	walk->inner = groups->naxes ? groups->naxes - 1 : 0;
	while (walk->inner > 0 && groups->part[walk->inner] == groups->extent[walk->inner])
		walk->inner--;
	begin_run(walk);
}

/* The next place of the axes before `inner`, counted within the group. */
static void next_run(struct kl_group_walk *walk)
{
	size_t first = walk->inner;

	while (first-- > 0) {
		if (++walk->at[first] < walk->hi[first]) {
			begin_run(walk);
			return;
		}
		walk->at[first] = walk->lo[first];
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

/* All runs of a group are of one length. */
void kl_group_skip(struct kl_group_walk *walk, size_t n)
{
	size_t run = walk->left, k = run ? n / run : 0, first = walk->inner;

	while (first-- > 0) {
		size_t count = (size_t)(walk->hi[first] - walk->lo[first]);

		walk->at[first] += (int64_t)(k % count);
		k /= count;
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
