/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/group.h"

#include "base/error.h"

int kl_groups_init(struct kl_groups *g, const struct kl_rule *rule, const int64_t *extent,
		   size_t naxes)
{
	int last = -1;

	*g = (struct kl_groups){ .naxes = naxes, .count = 1, .size = 1 };
	for (size_t a = 0; a < naxes; a++)
		g->part[a] = g->extent[a] = extent[a];
	for (int i = 0; rule && i < rule->npaxes; i++) {
		int axis = rule->per[i];

		if (axis <= last || (size_t)axis >= naxes || rule->cut[i] < 0)
			return kl_error(KL_EINVALID,
					"'per' must name axes of its tensor, in order");
		last = axis;
		g->part[axis] = rule->cut[i] < 1 ? 1 : rule->cut[i];
		if (g->part[axis] > extent[axis])
			g->part[axis] = extent[axis];
	}
	for (size_t a = 0; a < naxes; a++) {
		g->size *= (size_t)g->part[a];
		g->count *= g->part[a] ? (size_t)((extent[a] + g->part[a] - 1) / g->part[a]) : 0;
	}
	return 0;
}

static void begin_run(struct kl_group_walk *w)
{
	const struct kl_groups *g = w->g;
	size_t off = 0;

	for (size_t a = 0; a < g->naxes; a++)
		off = off * (size_t)g->extent[a] + (size_t)w->at[a];
	w->off = off;
	w->left = 1;
	for (size_t a = w->inner; a < g->naxes; a++)
		w->left *= (size_t)(w->hi[a] - w->lo[a]);
	w->more = w->left > 0;
}

void kl_group_start(struct kl_group_walk *w, const struct kl_groups *g, size_t group)
{
	w->g = g;
	for (size_t a = g->naxes; a-- > 0;) {
		size_t pieces = (size_t)((g->extent[a] + g->part[a] - 1) / g->part[a]);

		w->lo[a] = w->at[a] = (int64_t)(group % pieces) * g->part[a];
		w->hi[a] = w->lo[a] + g->part[a] < g->extent[a] ? w->lo[a] + g->part[a] :
								  g->extent[a];
		group /= pieces;
	}
	w->inner = g->naxes ? g->naxes - 1 : 0;
	while (w->inner > 0 && g->part[w->inner] == g->extent[w->inner])
		w->inner--;
	begin_run(w);
}

/* The next place of the axes before `inner`, counted within the group. */
static void next_run(struct kl_group_walk *w)
{
	size_t a = w->inner;

	while (a-- > 0) {
		if (++w->at[a] < w->hi[a]) {
			begin_run(w);
			return;
		}
		w->at[a] = w->lo[a];
	}
	w->more = false;
}

bool kl_group_next(struct kl_group_walk *w, size_t *off, size_t *n, size_t max)
{
	if (!w->more)
		return false;
	*off = w->off;
	*n = w->left < max ? w->left : max;
	w->off += *n;
	w->left -= *n;
	if (!w->left)
		next_run(w);
	return true;
}

/* All runs of a group are of one length. */
void kl_group_skip(struct kl_group_walk *w, size_t n)
{
	size_t run = w->left, k = run ? n / run : 0, a = w->inner;

	while (a-- > 0) {
		size_t count = (size_t)(w->hi[a] - w->lo[a]);

		w->at[a] += (int64_t)(k % count);
		k /= count;
	}
	if (!w->more)
		return;
	w->more = k == 0;
	if (!w->more)
		return;
	begin_run(w);
	w->off += n % run;
	w->left -= n % run;
}
