/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/slice.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define PARTS ((size_t)65536)    /* slices whose sums are kept at once */
#define SLOTS ((size_t)4096)     /* slices whose wrong elements are kept at once ... */
#define FIRST_SLOTS ((size_t)32) /* ... where the first one is enough */

struct kl_slices kl_slices_of(const struct kl_output *v)
{
	struct kl_slices p = { .size = v->groups.size < KL_SLICE ? v->groups.size : KL_SLICE };

	p.size = p.size ? p.size : 1;
	p.each = (v->groups.size + p.size - 1) / p.size;
	p.each = p.each ? p.each : 1;
	p.grain = (KL_SLICE + p.size - 1) / p.size;
	return p;
}

void kl_slice_start(struct kl_slice_walk *w, const struct kl_output *v, const struct kl_slices *p,
		    size_t g, size_t part)
{
	kl_group_start(&w->walk, &v->groups, g);
	kl_group_skip(&w->walk, part * p->size);
	w->left = p->size;
}

bool kl_slice_next(struct kl_slice_walk *w, size_t *off, size_t *n, size_t max)
{
	if (!w->left || !kl_group_next(&w->walk, off, n, w->left < max ? w->left : max))
		return false;
	w->left -= *n;
	return true;
}

static void part_add(struct kl_slice_sum *to, const struct kl_slice_sum *from)
{
	to->sums.max = fmax(to->sums.max, from->sums.max);
	to->sums.sq += from->sums.sq;
	to->worst = fmax(to->worst, from->worst);
	to->n += from->n;
	to->unclear = to->unclear || from->unclear;
}

size_t kl_slice_pass_run(struct kl_slice_pass *p, kl_par_fn *fn)
{
	size_t n = PARTS / p->slices.each, left = p->v->groups.count - p->first;

	n = n ? n : 1;
	n = n < left ? n : left;
	if (!p->part)
		p->part = kl_calloc(n * p->slices.each + 1, sizeof(*p->part));
	memset(p->part, 0, n * p->slices.each * sizeof(*p->part));
	kl_par_for(n * p->slices.each, p->slices.grain, fn, p);
	return n;
}

struct kl_slice_sum kl_slice_pass_sum(const struct kl_slice_pass *p, size_t i)
{
	struct kl_slice_sum all = { .n = 0 };

	for (size_t k = 0; k < p->slices.each; k++)
		part_add(&all, &p->part[i * p->slices.each + k]);
	return all;
}

size_t kl_slice_search_run(struct kl_slice_search *s, size_t total, kl_par_fn *fn)
{
	size_t most = s->v->first ? FIRST_SLOTS : SLOTS;
	size_t n = total - s->first < most ? total - s->first : most;

	if (!s->slot)
		s->slot = kl_calloc(n + 1, sizeof(*s->slot));
	for (size_t i = 0; i < n; i++)
		s->slot[i] = (struct kl_slice_found){ .m.out = -1 };
	kl_par_for(n, s->slices.grain, fn, s);
	return n;
}
