/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/launch_needs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void kl_cuda_wish_release(struct kl_cuda_wish *wish)
{
	free(wish->launch);
	kl_strvec_release(&wish->name);
	kl_strvec_release(&wish->planned);
	kl_buf_release(&wish->text);
	*wish = (struct kl_cuda_wish){ .text = KL_BUF_INIT };
}

void kl_cuda_wish_name(struct kl_cuda_wish *wish, const struct kl_strvec *symbol)
{
	struct kl_strvec planned = wish->name;

	wish->name = (struct kl_strvec)KL_STRVEC_INIT;
	kl_strvec_copy(&wish->name, symbol);
	for (size_t i = 0; i < wish->nlaunch; i++)
		for (size_t k = 0; k < planned.n; k++)
			if (wish->launch[i].kernel == planned.v[k])
				wish->launch[i].kernel = wish->name.v[k];
	wish->planned = planned;
}

const char *kl_cuda_wish_planned(const struct kl_cuda_wish *wish, const char *symbol)
{
	for (size_t i = 0; i < wish->planned.n; i++)
		if (!strcmp(wish->name.v[i], symbol))
			return wish->planned.v[i];
	return symbol;
}

static int64_t arg_size(const struct kl_plan_arg *arg)
{
	switch (arg->kind) {
	case KL_PLAN_MAP:
		return 128;
	case KL_PLAN_VALUE:
		return arg->size;
	case KL_PLAN_BYTES:
		return (int64_t)arg->nblob;
	case KL_PLAN_TENSOR:
	case KL_PLAN_SCRATCH:
	case KL_PLAN_NULL:
		return 8;
	}
	return 0;
}

/* Write an argument. Scratch buffers and maps are written as their indices, not as their names. */
static void write_arg(struct kl_buf *buf, const struct kl_plan_arg *arg)
{
	kl_buf_addf(buf, " %d:%d:%lld:%d:%llx", arg->kind, arg->index, (long long)arg->offset,
		    arg->size, (unsigned long long)arg->bits);
	for (size_t i = 0; i < arg->nblob; i++)
		kl_buf_addf(buf, "%s%02x", i ? "" : "=", arg->blob[i]);
	for (size_t i = 0; i < arg->nreloc; i++)
		kl_buf_addf(buf, "@%lld:%d:%d:%lld", (long long)arg->reloc[i].at,
			    arg->reloc[i].kind, arg->reloc[i].index,
			    (long long)arg->reloc[i].offset);
}

static void write_map(struct kl_buf *buf, const struct kl_plan_map *map)
{
	kl_buf_addf(buf, "map %d %d:%d:%lld %d %d %d %d %d %d %u %u", map->kind, map->of_scratch,
		    map->of, (long long)map->offset, map->dtype, map->rank, map->interleave,
		    map->swizzle, map->l2, map->oob, map->channels, map->pixels);
	for (int i = 0; i < map->rank; i++)
		kl_buf_addf(buf, " %llu/%llu/%u/%u", (unsigned long long)map->dim[i],
			    i < map->rank - 1 ? (unsigned long long)map->stride[i] : 0ULL,
			    map->box[i], map->elem[i]);
	for (int i = 0; i < map->rank - 2; i++)
		kl_buf_addf(buf, " %d..%d", map->lower[i], map->upper[i]);
	kl_buf_addch(buf, '\n');
}

static size_t kernel_number(struct kl_cuda_wish *wish, const char *kernel)
{
	size_t i;

	for (i = 0; i < wish->name.n; i++)
		if (!strcmp(wish->name.v[i], kernel))
			return i;
	kl_strvec_push(&wish->name, kernel);
	return i;
}

static void take_launch(struct kl_cuda_wish *wish, const struct kl_plan_launch *launch,
			size_t point, bool prepare)
{
	size_t number = kernel_number(wish, launch->kernel);
	struct kl_cuda_launch *to;

	KL_GROW(wish->launch, wish->nlaunch + 1, wish->alloc);
	to = &wish->launch[wish->nlaunch++];
	*to = (struct kl_cuda_launch){
		.kernel = wish->name.v[number],
		.cooperative = launch->cooperative,
		.pdl = launch->pdl,
		.prepare = prepare,
		.point = point,
		.narg = launch->nargs,
		.smem = launch->smem,
		.threads = (int64_t)launch->block[0] * launch->block[1] * launch->block[2],
		.blocks = (int64_t)launch->grid[0] * launch->grid[1] * launch->grid[2],
		.cluster = (int64_t)launch->cluster[0] * launch->cluster[1] * launch->cluster[2],
	};
	memcpy(to->grid, launch->grid, sizeof(to->grid));
	memcpy(to->extent, launch->cluster, sizeof(to->extent));
	kl_buf_addf(&wish->text, "%s %zu (%u %u %u) (%u %u %u) (%u %u %u) %d %d %lld",
		    prepare ? "prepare" : "launch", number, launch->grid[0], launch->grid[1],
		    launch->grid[2], launch->block[0], launch->block[1], launch->block[2],
		    launch->cluster[0], launch->cluster[1], launch->cluster[2], launch->cooperative,
		    launch->pdl, (long long)launch->smem);
	for (size_t i = 0; i < launch->nargs; i++) {
		to->size[i] = arg_size(&launch->arg[i]);
		write_arg(&wish->text, &launch->arg[i]);
	}
	kl_buf_addch(&wish->text, '\n');
}

static int add_point(struct kl_cuda_wish *wish, const struct kl_launch *launch,
		     const struct kl_contract *contract, size_t point,
		     const struct kl_plan_facts *facts)
{
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = NULL;
	const struct kl_dims *dims = kl_contract_point(contract, point, NULL);
	int64_t bytes[KL_MAX_ARGS] = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < contract->nargs; i++)
		if (contract->arg[i].naxes)
			err = kl_contract_tensor_bytes(&bytes[i], contract, i, dims);
	if (!err)
		err = kl_plan_resolve(&at, launch->plan, dims->v, bytes, facts);
	if (err < 0)
		return err;
	kl_buf_addf(&wish->text, "point %zu\n", point);
	for (size_t i = 0; i < at->nscratch; i++)
		kl_buf_addf(&wish->text, "scratch %d %lld %lld\n", at->scratch[i].init,
			    (long long)at->scratch[i].bytes, (long long)at->scratch[i].align);
	for (size_t i = 0; i < at->nmap; i++)
		write_map(&wish->text, &at->map[i]);
	for (size_t i = 0; i < at->nprepare; i++)
		take_launch(wish, &at->prepare[i], point, true);
	for (size_t i = 0; i < at->nlaunch; i++)
		take_launch(wish, &at->launch[i], point, false);
	return 0;
}

int kl_cuda_wish_make(struct kl_cuda_wish *out, const struct kl_launch *launch,
		      const struct kl_contract *contract)
{
	struct kl_cuda_wish wish = { .text = KL_BUF_INIT };
	const char *name[2 * KL_PLAN_MAX_LAUNCHES];
	struct kl_plan_facts facts;
	size_t n = kl_plan_kernels(launch->plan, name, KL_ARRAY_SIZE(name));
	int err = kl_plan_arch_facts(&facts, launch->arch);

	snprintf(wish.arch, sizeof(wish.arch), "%s", launch->arch);
	/* add all names first, because launches point to them */
	for (size_t i = 0; i < n; i++)
		kl_strvec_push(&wish.name, name[i]);
	for (size_t i = 0; !err && i < kl_contract_npoints(contract); i++)
		err = add_point(&wish, launch, contract, i, &facts);
	if (err < 0) {
		kl_cuda_wish_release(&wish);
		return err;
	}
	*out = wish;
	return 0;
}
