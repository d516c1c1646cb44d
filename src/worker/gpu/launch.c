/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/launch.h"

#include <string.h>

#include "base/error.h"

#define MAP_BYTES sizeof(struct kl_cu_tensor_map)
#define QUIRK_DRIVER 13010            /* drivers of CUDA 13.1 and older ... */
#define QUIRK_BYTES 131072            /* ... set a bit wrongly for tensors below this size ... */
#define QUIRK_BIT ((uint64_t)1 << 21) /* ... in the descriptor's second word */

/* Where a pointer of the plan points: 0 if the set has no such tensor. */
static uint64_t arg_pointer(const struct kl_gpu_bound *b, enum kl_plan_arg_kind kind, int index,
			    int64_t offset)
{
	if (kind == KL_PLAN_SCRATCH)
		return b->scratch[index].at + (uint64_t)offset;
	if (kind != KL_PLAN_TENSOR || index < 0 || (size_t)index >= b->set->n ||
	    !b->set->layout[index].tensor)
		return 0;
	return b->set->buffer[index].at + (uint64_t)offset;
}

int kl_gpu_launch_map(struct kl_gpu_bound *b, const struct kl_gpu_device *d, size_t i, bool quirks)
{
	const struct kl_plan_map *m = &b->at->map[i];
	struct kl_cu_tensor_map *to = &b->map[i];
	uint64_t at = arg_pointer(b, m->of_scratch ? KL_PLAN_SCRATCH : KL_PLAN_TENSOR, m->of,
				  m->offset);
	int rc;

	if (!at)
		return kl_error(KL_EINVALID, "map '%s' is of no tensor", m->name);
	if (m->kind == KL_PLAN_TILED)
		rc = d->cu->map_tiled(to, m->dtype, (uint32_t)m->rank, (void *)(uintptr_t)at,
				      m->dim, m->stride, m->box, m->elem, m->interleave, m->swizzle,
				      m->l2, m->oob);
	else
		rc = d->cu->map_im2col(to, m->dtype, (uint32_t)m->rank, (void *)(uintptr_t)at,
				       m->dim, m->stride, m->lower, m->upper, m->channels,
				       m->pixels, m->elem, m->interleave, m->swizzle, m->l2,
				       m->oob);
	if (rc)
		return kl_gpu_error(d->cu, rc, KL_EINVALID, "the driver refuses tensor map '%s'",
				    m->name);
	if (quirks && d->cu->version <= QUIRK_DRIVER && m->span > 0 && m->span < QUIRK_BYTES) {
		b->quirk = b->quirk || (to->word[1] & QUIRK_BIT);
		to->word[1] &= ~QUIRK_BIT;
	}
	return 0;
}

static size_t arg_size(const struct kl_plan_arg *a)
{
	switch (a->kind) {
	case KL_PLAN_MAP:
		return MAP_BYTES;
	case KL_PLAN_VALUE:
		return (size_t)a->size;
	case KL_PLAN_BYTES:
		return a->nblob;
	default:
		return sizeof(uint64_t);
	}
}

static int put_reloc(const struct kl_gpu_bound *b, unsigned char *to, size_t size,
		     const struct kl_plan_reloc *r)
{
	size_t need = r->kind == KL_PLAN_MAP ? MAP_BYTES : sizeof(uint64_t);
	uint64_t at;

	if (r->at < 0 || (uint64_t)r->at > size || size - (uint64_t)r->at < need)
		return kl_error(KL_EINVALID, "a relocation at byte %lld is beyond the argument",
				(long long)r->at);
	if (r->kind == KL_PLAN_MAP) {
		memcpy(to + r->at, &b->map[r->index], MAP_BYTES);
		return 0;
	}
	at = arg_pointer(b, r->kind, r->index, r->offset);
	if (!at)
		return kl_error(KL_EINVALID, "a relocation names no tensor");
	memcpy(to + r->at, &at, sizeof(at));
	return 0;
}

static int put_arg(const struct kl_gpu_bound *b, unsigned char *to, const struct kl_plan_arg *a)
{
	uint64_t at = 0;
	int err = 0;

	switch (a->kind) {
	case KL_PLAN_MAP:
		memcpy(to, &b->map[a->index], MAP_BYTES);
		break;
	case KL_PLAN_VALUE:
		memcpy(to, &a->bits, (size_t)a->size);
		break;
	case KL_PLAN_BYTES:
		memcpy(to, a->blob, a->nblob);
		for (size_t i = 0; i < a->nreloc && err == 0; i++)
			err = put_reloc(b, to, a->nblob, &a->reloc[i]);
		break;
	case KL_PLAN_NULL:
		memcpy(to, &at, sizeof(at));
		break;
	default:
		at = arg_pointer(b, a->kind, a->index, a->offset);
		if (!at)
			return kl_error(KL_EINVALID, "it is no tensor");
		memcpy(to, &at, sizeof(at));
		break;
	}
	return err;
}

/* Arguments begin at multiples of 64, as tensor maps have to. */
int kl_gpu_launch_put(struct kl_gpu_launch *l, const struct kl_gpu_bound *b)
{
	const struct kl_plan_launch *p = l->plan;
	size_t total = 0;
	int err;

	for (size_t i = 0; i < p->nargs; i++)
		total += (arg_size(&p->arg[i]) + 63) / 64 * 64;
	l->store = aligned_alloc(64, total + 64);
	if (!l->store)
		return kl_error(KL_EIO, "no memory for a kernel's arguments");
	total = 0;
	for (size_t i = 0; i < p->nargs; i++) {
		l->arg[i] = l->store + total;
		l->size[i] = arg_size(&p->arg[i]);
		if ((err = put_arg(b, l->arg[i], &p->arg[i])) < 0)
			return kl_error_in(err, "argument %zu of '%s'", i, p->kernel);
		total += (l->size[i] + 63) / 64 * 64;
	}
	return 0;
}

static void add_attribute(struct kl_gpu_launch *l, struct kl_cu_launch_attribute a)
{
	l->attr[l->config.nattr++] = a;
}

void kl_gpu_launch_configure(struct kl_gpu_launch *l, const struct kl_gpu_device *d)
{
	const struct kl_plan_launch *p = l->plan;

	memcpy(l->config.grid, p->grid, sizeof(l->config.grid));
	memcpy(l->config.block, p->block, sizeof(l->config.block));
	l->config.smem = (unsigned)p->smem;
	l->config.stream = d->stream;
	l->config.attr = l->attr;
	if (p->cooperative)
		add_attribute(l, (struct kl_cu_launch_attribute){ .id = KL_CU_LAUNCH_COOPERATIVE,
								  .value.cooperative = 1 });
	if (p->cluster[0])
		add_attribute(l, (struct kl_cu_launch_attribute){
					 .id = KL_CU_LAUNCH_CLUSTER,
					 .value.cluster = { p->cluster[0], p->cluster[1],
							    p->cluster[2] } });
	if (p->pdl)
		add_attribute(l, (struct kl_cu_launch_attribute){ .id = KL_CU_LAUNCH_PDL,
								  .value.pdl = 1 });
}

/* -- is it a launch that this kernel takes? ---------------------------------------- */

static int check_params(const struct kl_gpu_launch *l, const struct kl_gpu_device *d)
{
	const char *kernel = l->plan->kernel;
	size_t offset, size, n = 0;

	while (!d->cu->func_param(l->f, n, &offset, &size)) {
		if (n >= l->plan->nargs)
			return kl_error(KL_EINVALID,
					"'%s' has more than the %zu parameters that the plan "
					"gives",
					kernel, l->plan->nargs);
		if (size != l->size[n])
			return kl_error(KL_EINVALID,
					"'%s' has a parameter %zu of %zu bytes, the plan "
					"gives %zu",
					kernel, n, size, l->size[n]);
		n++;
	}
	if (n < l->plan->nargs)
		return kl_error(KL_EINVALID, "'%s' has %zu parameters, the plan gives %zu", kernel,
				n, l->plan->nargs);
	return 0;
}

static int func_attribute(const struct kl_gpu_launch *l, const struct kl_gpu_device *d, int which)
{
	int v = 0;

	return d->cu->func_get(&v, which, l->f) ? 0 : v;
}

static int check_block(const struct kl_gpu_launch *l, const struct kl_gpu_device *d)
{
	const struct kl_plan_launch *p = l->plan;
	uint64_t threads = (uint64_t)p->block[0] * p->block[1] * p->block[2];
	int most = func_attribute(l, d, KL_CU_FUNC_MAX_THREADS);
	int fixed = func_attribute(l, d, KL_CU_FUNC_STATIC_SMEM), rc;

	if (most > 0 && threads > (uint64_t)most)
		return kl_error(
			KL_EINVALID,
			"'%s' is launched with blocks of %llu threads; its registers or launch "
			"bounds allow %d",
			p->kernel, (unsigned long long)threads, most);
	if (p->smem + fixed > d->facts.smem_optin)
		return kl_error(
			KL_EINVALID,
			"'%s' needs %lld bytes of shared memory (%d of them static), a block can "
			"have %lld",
			p->kernel, (long long)p->smem + fixed, fixed,
			(long long)d->facts.smem_optin);
	if (p->smem > func_attribute(l, d, KL_CU_FUNC_MAX_DYNAMIC_SMEM) &&
	    (rc = d->cu->func_set(l->f, KL_CU_FUNC_MAX_DYNAMIC_SMEM, (int)p->smem)))
		return kl_gpu_error(d->cu, rc, KL_EINVALID,
				    "'%s' cannot have %lld bytes of shared memory", p->kernel,
				    (long long)p->smem);
	return 0;
}

static int check_cluster(const struct kl_gpu_launch *l, const struct kl_gpu_device *d)
{
	const struct kl_plan_launch *p = l->plan;
	int n = 0, rc;

	if (!p->cluster[0])
		return 0;
	if (!d->facts.cluster)
		return kl_error(KL_ECANNOT, "%s has no clusters, which '%s' asks for",
				d->facts.name, p->kernel);
	for (int i = 0; i < 3; i++)
		if (!p->cluster[i] || p->grid[i] % p->cluster[i])
			return kl_error(KL_EINVALID,
					"'%s': a grid of %u is no multiple of its cluster of %u",
					p->kernel, p->grid[i], p->cluster[i]);
	if (p->nonportable && (rc = d->cu->func_set(l->f, KL_CU_FUNC_NONPORTABLE_CLUSTER, 1)))
		return kl_gpu_error(d->cu, rc, KL_EINVALID, "'%s' cannot have a larger cluster",
				    p->kernel);
	rc = d->cu->clusters(&n, l->f, &l->config);
	if (rc || n < 1)
		return kl_error(KL_EINVALID, "no cluster of %u x %u x %u blocks of '%s' fits",
				p->cluster[0], p->cluster[1], p->cluster[2], p->kernel);
	return 0;
}

static int check_cooperative(const struct kl_gpu_launch *l, const struct kl_gpu_device *d)
{
	const struct kl_plan_launch *p = l->plan;
	uint64_t blocks = (uint64_t)p->grid[0] * p->grid[1] * p->grid[2];
	int n = 0, rc;

	if (!p->cooperative)
		return 0;
	rc = d->cu->occupancy(&n, l->f, (int)(p->block[0] * p->block[1] * p->block[2]),
			      (size_t)p->smem);
	if (rc)
		return kl_gpu_error(d->cu, rc, KL_EINVALID, "'%s' cannot be launched", p->kernel);
	if (blocks > (uint64_t)n * (uint64_t)d->facts.sms)
		return kl_error(KL_EINVALID,
				"'%s' is cooperative with %llu blocks, of which %llu fit at once",
				p->kernel, (unsigned long long)blocks,
				(unsigned long long)n * (unsigned long long)d->facts.sms);
	return 0;
}

int kl_gpu_launch_find(struct kl_gpu_launch *l, size_t n, const struct kl_gpu_bound *b,
		       const struct kl_gpu_device *d)
{
	int err, rc;

	for (size_t i = 0; i < n; i++) {
		rc = d->cu->module_function(&l[i].f, b->module->handle, l[i].plan->kernel);
		if (rc == KL_CU_NOT_FOUND)
			return kl_error(KL_EINVALID, "the cubin has no kernel '%s'",
					l[i].plan->kernel);
		if (rc)
			return kl_gpu_error(d->cu, rc, KL_EINVALID, "kernel '%s' cannot be had",
					    l[i].plan->kernel);
		if ((err = check_params(&l[i], d)) < 0 || (err = check_block(&l[i], d)) < 0 ||
		    (err = check_cluster(&l[i], d)) < 0 || (err = check_cooperative(&l[i], d)) < 0)
			return err;
	}
	return 0;
}
