/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/slice.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define PARTS ((size_t)65536)    /* slices whose sums are kept at once */
#define SLOTS ((size_t)4096)     /* slices whose wrong elements are kept at once */
#define FIRST_SLOTS ((size_t)32) /* instead of SLOTS, to find only the first wrong element */

struct kl_slices kl_slices_of(const struct kl_output *output)
{
	struct kl_slices slices = { .size = output->groups.size < KL_SLICE ? output->groups.size :
									     KL_SLICE };

	slices.size = slices.size ? slices.size : 1;
	slices.each = (output->groups.size + slices.size - 1) / slices.size;
	slices.each = slices.each ? slices.each : 1;
	slices.grain = (KL_SLICE + slices.size - 1) / slices.size;
	return slices;
}

void kl_slice_start(struct kl_slice_walk *walk, const struct kl_output *output,
		    const struct kl_slices *slices, size_t group, size_t part)
{
	kl_group_start(&walk->walk, &output->groups, group);
	kl_group_skip(&walk->walk, part * slices->size);
	walk->left = slices->size;
}

bool kl_slice_next(struct kl_slice_walk *walk, size_t *off, size_t *n, size_t max)
{
	if (!walk->left || !kl_group_next(&walk->walk, off, n, walk->left < max ? walk->left : max))
		return false;
	walk->left -= *n;
	return true;
}

static void part_add(struct kl_slice_sum *to, const struct kl_slice_sum *from)
{
	to->sums.max = fmax(to->sums.max, from->sums.max);
	to->sums.sq += from->sums.sq;
	to->truth_sq += from->truth_sq;
	to->worst = fmax(to->worst, from->worst);
	to->n += from->n;
	to->unclear = to->unclear || from->unclear;
}

size_t kl_slice_pass_run(struct kl_slice_pass *pass, kl_par_fn *fn)
{
	size_t n = PARTS / pass->slices.each, left = pass->v->groups.count - pass->first;

	n = n ? n : 1;
	n = n < left ? n : left;
	if (!pass->part)
		pass->part = kl_calloc(n * pass->slices.each + 1, sizeof(*pass->part));
	memset(pass->part, 0, n * pass->slices.each * sizeof(*pass->part));
	kl_par_for(n * pass->slices.each, pass->slices.grain, fn, pass);
	return n;
}

struct kl_slice_sum kl_slice_pass_sum(const struct kl_slice_pass *pass, size_t i)
{
	struct kl_slice_sum all = { .n = 0 };

	for (size_t k = 0; k < pass->slices.each; k++)
		part_add(&all, &pass->part[i * pass->slices.each + k]);
	return all;
}

size_t kl_slice_search_run(struct kl_slice_search *search, size_t total, kl_par_fn *fn)
{
	size_t most = search->v->first ? FIRST_SLOTS : SLOTS;
	size_t n = total - search->first < most ? total - search->first : most;

	if (!search->slot)
		search->slot = kl_calloc(n + 1, sizeof(*search->slot));
	for (size_t i = 0; i < n; i++)
		search->slot[i] = (struct kl_slice_found){ .m.out = -1 };
	kl_par_for(n, search->slices.grain, fn, search);
	return n;
}
