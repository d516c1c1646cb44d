/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/launch_needs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void kl_cuda_wish_release(struct kl_cuda_wish *w)
{
	free(w->launch);
	kl_strvec_release(&w->name);
	kl_buf_release(&w->text);
	*w = (struct kl_cuda_wish){ .text = KL_BUF_INIT };
}

static int64_t arg_size(const struct kl_plan_arg *a)
{
	switch (a->kind) {
	case KL_PLAN_MAP:
		return 128;
	case KL_PLAN_VALUE:
		return a->size;
	case KL_PLAN_BYTES:
		return (int64_t)a->nblob;
	case KL_PLAN_TENSOR:
	case KL_PLAN_SCRATCH:
	case KL_PLAN_NULL:
		return 8;
	}
	return 0;
}

/* What a scratch or a map is called says nothing; what it is, and which one, does. */
static void write_arg(struct kl_buf *t, const struct kl_plan_arg *a)
{
	kl_buf_addf(t, " %d:%d:%lld:%d:%llx", a->kind, a->index, (long long)a->offset, a->size,
		    (unsigned long long)a->bits);
	for (size_t i = 0; i < a->nblob; i++)
		kl_buf_addf(t, "%s%02x", i ? "" : "=", a->blob[i]);
	for (size_t i = 0; i < a->nreloc; i++)
		kl_buf_addf(t, "@%lld:%d:%d:%lld", (long long)a->reloc[i].at, a->reloc[i].kind,
			    a->reloc[i].index, (long long)a->reloc[i].offset);
}

static void write_map(struct kl_buf *t, const struct kl_plan_map *m)
{
	kl_buf_addf(t, "map %d %d:%d:%lld %d %d %d %d %d %d %u %u", m->kind, m->of_scratch, m->of,
		    (long long)m->offset, m->dtype, m->rank, m->interleave, m->swizzle, m->l2,
		    m->oob, m->channels, m->pixels);
	for (int i = 0; i < m->rank; i++)
		kl_buf_addf(t, " %llu/%llu/%u/%u", (unsigned long long)m->dim[i],
			    i < m->rank - 1 ? (unsigned long long)m->stride[i] : 0ULL, m->box[i],
			    m->elem[i]);
	for (int i = 0; i < m->rank - 2; i++)
		kl_buf_addf(t, " %d..%d", m->lower[i], m->upper[i]);
	kl_buf_addch(t, '\n');
}

static size_t number_of(struct kl_cuda_wish *w, const char *kernel)
{
	size_t i;

	for (i = 0; i < w->name.n; i++)
		if (!strcmp(w->name.v[i], kernel))
			return i;
	kl_strvec_push(&w->name, kernel);
	return i;
}

static void take_launch(struct kl_cuda_wish *w, const struct kl_plan_launch *l, size_t point,
			bool prepare)
{
	size_t number = number_of(w, l->kernel);
	struct kl_cuda_launch *to;

	KL_GROW(w->launch, w->nlaunch + 1, w->alloc);
	to = &w->launch[w->nlaunch++];
	*to = (struct kl_cuda_launch){
		.kernel = w->name.v[number],
		.cooperative = l->cooperative,
		.pdl = l->pdl,
		.prepare = prepare,
		.point = point,
		.narg = l->nargs,
		.smem = l->smem,
		.threads = (int64_t)l->block[0] * l->block[1] * l->block[2],
		.blocks = (int64_t)l->grid[0] * l->grid[1] * l->grid[2],
		.cluster = (int64_t)l->cluster[0] * l->cluster[1] * l->cluster[2],
	};
	kl_buf_addf(&w->text, "%s %zu (%u %u %u) (%u %u %u) (%u %u %u) %d %d %lld",
		    prepare ? "prepare" : "launch", number, l->grid[0], l->grid[1], l->grid[2],
		    l->block[0], l->block[1], l->block[2], l->cluster[0], l->cluster[1],
		    l->cluster[2], l->cooperative, l->pdl, (long long)l->smem);
	for (size_t i = 0; i < l->nargs; i++) {
		to->size[i] = arg_size(&l->arg[i]);
		write_arg(&w->text, &l->arg[i]);
	}
	kl_buf_addch(&w->text, '\n');
}

static int at_point(struct kl_cuda_wish *w, const struct kl_launch *l, const struct kl_contract *c,
		    size_t point, const struct kl_plan_facts *facts)
{
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = NULL;
	const struct kl_dims *d = kl_contract_point(c, point, NULL);
	int64_t bytes[KL_MAX_ARGS] = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < c->nargs; i++)
		if (c->arg[i].naxes)
			err = kl_contract_tensor_bytes(&bytes[i], c, i, d);
	if (!err)
		err = kl_plan_resolve(&at, l->plan, d->v, bytes, facts);
	if (err < 0)
		return err;
	kl_buf_addf(&w->text, "point %zu\n", point);
	for (size_t i = 0; i < at->nscratch; i++)
		kl_buf_addf(&w->text, "scratch %d %lld %lld\n", at->scratch[i].init,
			    (long long)at->scratch[i].bytes, (long long)at->scratch[i].align);
	for (size_t i = 0; i < at->nmap; i++)
		write_map(&w->text, &at->map[i]);
	for (size_t i = 0; i < at->nprepare; i++)
		take_launch(w, &at->prepare[i], point, true);
	for (size_t i = 0; i < at->nlaunch; i++)
		take_launch(w, &at->launch[i], point, false);
	return 0;
}

int kl_cuda_wish_make(struct kl_cuda_wish *out, const struct kl_launch *l,
		      const struct kl_contract *c)
{
	struct kl_cuda_wish w = { .text = KL_BUF_INIT };
	const char *name[2 * KL_PLAN_MAX_LAUNCHES];
	struct kl_plan_facts facts;
	size_t n = kl_plan_kernels(l->plan, name, KL_ARRAY_SIZE(name));
	int err = kl_plan_arch_facts(&facts, l->arch);

	snprintf(w.arch, sizeof(w.arch), "%s", l->arch);
	/* all names before any pointer to one is taken */
	for (size_t i = 0; i < n; i++)
		kl_strvec_push(&w.name, name[i]);
	for (size_t i = 0; !err && i < kl_contract_npoints(c); i++)
		err = at_point(&w, l, c, i, &facts);
	if (err < 0) {
		kl_cuda_wish_release(&w);
		return err;
	}
	*out = w;
	return 0;
}
