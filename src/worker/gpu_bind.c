/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu_bind.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

#define MAP_BYTES sizeof(struct kl_cu_tensor_map)
#define QUIRK_DRIVER 13010		/* drivers of CUDA 13.1 and older ... */
#define QUIRK_BYTES 131072		/* ... set a bit wrongly for tensors below this size ... */
#define QUIRK_BIT ((uint64_t)1 << 21)	/* ... in the descriptor's second word */

/* -- module ------------------------------------------------------------------ */

static int load(struct kl_gpu_module *m, const struct kl_gpu_device *d)
{
	int rc = d->cu->module_load(&m->handle, m->image);

	m->generation++;
	if (!rc)
		return 0;
	m->handle = NULL;
	if (rc == KL_CU_NO_BINARY)
		return kl_gpu_error(d->cu, rc, KL_ECANNOT,
				    "the cubin is not for %s, whose compute capability is %d.%d",
				    d->facts.name, d->facts.cc / 10, d->facts.cc % 10);
	return kl_gpu_error(d->cu, rc, rc == KL_CU_OUT_OF_MEMORY ? KL_EIO : KL_EINVALID,
			    "the driver cannot load the cubin");
}

int kl_gpu_module_load(struct kl_gpu_module **out, const struct kl_gpu_device *d,
		       const void *image, size_t n)
{
	struct kl_gpu_module *m = kl_calloc(1, sizeof(*m));
	int err;

	m->nimage = n;
	m->image = kl_calloc(n + 1, 1);	/* text ends in a zero byte */
	memcpy(m->image, image, n);
	err = load(m, d);
	if (err < 0) {
		kl_gpu_module_free(m, d);
		return err;
	}
	*out = m;
	return 0;
}

int kl_gpu_module_reload(struct kl_gpu_module *m, const struct kl_gpu_device *d)
{
	int rc = d->cu->stream_sync(d->stream);

	if (!rc && m->handle)
		rc = d->cu->module_unload(m->handle);
	m->handle = NULL;
	return rc ? kl_gpu_error(d->cu, rc, KL_EIO, "cannot unload the cubin") : load(m, d);
}

void kl_gpu_module_free(struct kl_gpu_module *m, const struct kl_gpu_device *d)
{
	if (!m)
		return;
	if (m->handle)
		d->cu->module_unload(m->handle);
	free(m->image);
	free(m);
}

/* -- binding ------------------------------------------------------------------ */

struct launch {
	const struct kl_plan_launch *plan;
	struct kl_cu_function *f;
	struct kl_cu_launch_config config;
	struct kl_cu_launch_attribute attr[3];
	unsigned char *store;			/* the arguments' bytes */
	void *arg[KL_PLAN_MAX_ARGS];		/* -> store */
	size_t size[KL_PLAN_MAX_ARGS];
};

struct kl_gpu_bound {
	struct kl_gpu_module *module;
	struct kl_gpu_set *set;
	struct kl_plan_at *at;
	unsigned generation;			/* of the module that the functions are of */
	struct kl_gpu_buffer scratch[KL_PLAN_MAX_SCRATCH];
	uint64_t seed;				/* of the scratch's slack */
	struct kl_cu_tensor_map map[KL_PLAN_MAX_MAPS];
	struct launch *prepare, *launch;
	bool quirk;
};

/* Where a pointer of the plan points: 0 if the set has no such tensor. */
static uint64_t pointer(const struct kl_gpu_bound *b, enum kl_plan_arg_kind kind, int index,
			int64_t offset)
{
	if (kind == KL_PLAN_SCRATCH)
		return b->scratch[index].at + (uint64_t)offset;
	if (kind != KL_PLAN_TENSOR || index < 0 || (size_t)index >= b->set->n ||
	    !b->set->layout[index].tensor)
		return 0;
	return b->set->buffer[index].at + (uint64_t)offset;
}

static int encode_map(struct kl_gpu_bound *b, const struct kl_gpu_device *d, size_t i, bool quirks)
{
	const struct kl_plan_map *m = &b->at->map[i];
	struct kl_cu_tensor_map *to = &b->map[i];
	uint64_t at = pointer(b, m->of_scratch ? KL_PLAN_SCRATCH : KL_PLAN_TENSOR, m->of, m->offset);
	int rc;

	if (!at)
		return kl_error(KL_EINVALID, "map '%s' is of no tensor", m->name);
	if (m->kind == KL_PLAN_TILED)
		rc = d->cu->map_tiled(to, m->dtype, (uint32_t)m->rank, (void *)(uintptr_t)at, m->dim,
				      m->stride, m->box, m->elem, m->interleave, m->swizzle, m->l2,
				      m->oob);
	else
		rc = d->cu->map_im2col(to, m->dtype, (uint32_t)m->rank, (void *)(uintptr_t)at, m->dim,
				       m->stride, m->lower, m->upper, m->channels, m->pixels, m->elem,
				       m->interleave, m->swizzle, m->l2, m->oob);
	if (rc)
		return kl_gpu_error(d->cu, rc, KL_EINVALID, "the driver refuses tensor map '%s'", m->name);
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
	at = pointer(b, r->kind, r->index, r->offset);
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
		at = pointer(b, a->kind, a->index, a->offset);
		if (!at)
			return kl_error(KL_EINVALID, "it is no tensor");
		memcpy(to, &at, sizeof(at));
		break;
	}
	return err;
}

/* Arguments begin at multiples of 64, as tensor maps have to. */
static int put_args(struct launch *l, const struct kl_gpu_bound *b)
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

static void add_attribute(struct launch *l, struct kl_cu_launch_attribute a)
{
	l->attr[l->config.nattr++] = a;
}

static void configure(struct launch *l, const struct kl_gpu_device *d)
{
	const struct kl_plan_launch *p = l->plan;

	memcpy(l->config.grid, p->grid, sizeof(l->config.grid));
	memcpy(l->config.block, p->block, sizeof(l->config.block));
	l->config.smem = (unsigned)p->smem;
	l->config.stream = d->stream;
	l->config.attr = l->attr;
	if (p->cooperative)
		add_attribute(l, (struct kl_cu_launch_attribute){
			.id = KL_CU_LAUNCH_COOPERATIVE, .value.cooperative = 1 });
	if (p->cluster[0])
		add_attribute(l, (struct kl_cu_launch_attribute){
			.id = KL_CU_LAUNCH_CLUSTER,
			.value.cluster = { p->cluster[0], p->cluster[1], p->cluster[2] } });
	if (p->pdl)
		add_attribute(l, (struct kl_cu_launch_attribute){
			.id = KL_CU_LAUNCH_PDL, .value.pdl = 1 });
}

/* -- is it a launch that this kernel takes? ---------------------------------------- */

static int check_params(const struct launch *l, const struct kl_gpu_device *d)
{
	const char *kernel = l->plan->kernel;
	size_t offset, size, n = 0;

	while (!d->cu->func_param(l->f, n, &offset, &size)) {
		if (n >= l->plan->nargs)
			return kl_error(KL_EINVALID, "'%s' has more than the %zu parameters that the plan "
					"gives", kernel, l->plan->nargs);
		if (size != l->size[n])
			return kl_error(KL_EINVALID, "'%s' has a parameter %zu of %zu bytes, the plan "
					"gives %zu", kernel, n, size, l->size[n]);
		n++;
	}
	if (n < l->plan->nargs)
		return kl_error(KL_EINVALID, "'%s' has %zu parameters, the plan gives %zu", kernel, n,
				l->plan->nargs);
	return 0;
}

static int func_attribute(const struct launch *l, const struct kl_gpu_device *d, int which)
{
	int v = 0;

	return d->cu->func_get(&v, which, l->f) ? 0 : v;
}

static int check_block(const struct launch *l, const struct kl_gpu_device *d)
{
	const struct kl_plan_launch *p = l->plan;
	uint64_t threads = (uint64_t)p->block[0] * p->block[1] * p->block[2];
	int most = func_attribute(l, d, KL_CU_FUNC_MAX_THREADS);
	int fixed = func_attribute(l, d, KL_CU_FUNC_STATIC_SMEM), rc;

	if (most > 0 && threads > (uint64_t)most)
		return kl_error(KL_EINVALID,
				"'%s' is launched with blocks of %llu threads; its registers or launch "
				"bounds allow %d", p->kernel, (unsigned long long)threads, most);
	if (p->smem + fixed > d->facts.smem_optin)
		return kl_error(KL_EINVALID,
				"'%s' needs %lld bytes of shared memory (%d of them static), a block can "
				"have %lld", p->kernel, (long long)p->smem + fixed, fixed,
				(long long)d->facts.smem_optin);
	if (p->smem > func_attribute(l, d, KL_CU_FUNC_MAX_DYNAMIC_SMEM) &&
	    (rc = d->cu->func_set(l->f, KL_CU_FUNC_MAX_DYNAMIC_SMEM, (int)p->smem)))
		return kl_gpu_error(d->cu, rc, KL_EINVALID, "'%s' cannot have %lld bytes of shared memory",
				    p->kernel, (long long)p->smem);
	return 0;
}

static int check_cluster(const struct launch *l, const struct kl_gpu_device *d)
{
	const struct kl_plan_launch *p = l->plan;
	int n = 0, rc;

	if (!p->cluster[0])
		return 0;
	if (!d->facts.cluster)
		return kl_error(KL_ECANNOT, "%s has no clusters, which '%s' asks for", d->facts.name,
				p->kernel);
	for (int i = 0; i < 3; i++)
		if (!p->cluster[i] || p->grid[i] % p->cluster[i])
			return kl_error(KL_EINVALID, "'%s': a grid of %u is no multiple of its cluster of %u",
					p->kernel, p->grid[i], p->cluster[i]);
	if (p->nonportable &&
	    (rc = d->cu->func_set(l->f, KL_CU_FUNC_NONPORTABLE_CLUSTER, 1)))
		return kl_gpu_error(d->cu, rc, KL_EINVALID, "'%s' cannot have a larger cluster", p->kernel);
	rc = d->cu->clusters(&n, l->f, &l->config);
	if (rc || n < 1)
		return kl_error(KL_EINVALID, "no cluster of %u x %u x %u blocks of '%s' fits",
				p->cluster[0], p->cluster[1], p->cluster[2], p->kernel);
	return 0;
}

static int check_cooperative(const struct launch *l, const struct kl_gpu_device *d)
{
	const struct kl_plan_launch *p = l->plan;
	uint64_t blocks = (uint64_t)p->grid[0] * p->grid[1] * p->grid[2];
	int n = 0, rc;

	if (!p->cooperative)
		return 0;
	rc = d->cu->occupancy(&n, l->f, (int)(p->block[0] * p->block[1] * p->block[2]), (size_t)p->smem);
	if (rc)
		return kl_gpu_error(d->cu, rc, KL_EINVALID, "'%s' cannot be launched", p->kernel);
	if (blocks > (uint64_t)n * (uint64_t)d->facts.sms)
		return kl_error(KL_EINVALID,
				"'%s' is cooperative with %llu blocks, of which %llu fit at once", p->kernel,
				(unsigned long long)blocks,
				(unsigned long long)n * (unsigned long long)d->facts.sms);
	return 0;
}

static int find_kernels(struct launch *l, size_t n, const struct kl_gpu_bound *b,
			const struct kl_gpu_device *d)
{
	int err, rc;

	for (size_t i = 0; i < n; i++) {
		rc = d->cu->module_function(&l[i].f, b->module->handle, l[i].plan->kernel);
		if (rc == KL_CU_NOT_FOUND)
			return kl_error(KL_EINVALID, "the cubin has no kernel '%s'", l[i].plan->kernel);
		if (rc)
			return kl_gpu_error(d->cu, rc, KL_EINVALID, "kernel '%s' cannot be had",
					    l[i].plan->kernel);
		if ((err = check_params(&l[i], d)) < 0 || (err = check_block(&l[i], d)) < 0 ||
		    (err = check_cluster(&l[i], d)) < 0 || (err = check_cooperative(&l[i], d)) < 0)
			return err;
	}
	return 0;
}

static int find_all(struct kl_gpu_bound *b, const struct kl_gpu_device *d)
{
	int err;

	if (b->generation == b->module->generation)
		return 0;
	if ((err = find_kernels(b->prepare, b->at->nprepare, b, d)) < 0 ||
	    (err = find_kernels(b->launch, b->at->nlaunch, b, d)) < 0)
		return err;
	b->generation = b->module->generation;
	return 0;
}

/* -- life --------------------------------------------------------------------------- */

static int make_scratch(struct kl_gpu_bound *b, const struct kl_gpu_device *d)
{
	int err;

	for (size_t i = 0; i < b->at->nscratch; i++) {
		const struct kl_plan_scratch *s = &b->at->scratch[i];
		uint64_t align = s->align > 8 ? (uint64_t)s->align : 8;

		if ((err = kl_gpu_buffer_make(&b->scratch[i], d, (uint64_t)s->bytes, align,
					      b->set->right)) < 0 ||
		    (err = kl_gpu_buffer_poison_slack(&b->scratch[i], d, kl_gpu_mix(b->seed, i))) < 0)
			return kl_error_in(err, "scratch '%s'", s->name);
	}
	return 0;
}

static int make_launches(struct launch **out, const struct kl_plan_launch *plan, size_t n,
			 const struct kl_gpu_bound *b, const struct kl_gpu_device *d)
{
	int err;

	*out = kl_calloc(n + 1, sizeof(**out));
	for (size_t i = 0; i < n; i++)
		(*out)[i].plan = &plan[i];
	for (size_t i = 0; i < n; i++) {
		if ((err = put_args(&(*out)[i], b)) < 0)
			return err;
		configure(&(*out)[i], d);
	}
	return 0;
}

static int build(struct kl_gpu_bound *b, const struct kl_gpu_device *d, bool quirks)
{
	int err = make_scratch(b, d);

	for (size_t i = 0; i < b->at->nmap && err == 0; i++)
		err = encode_map(b, d, i, quirks);
	if (err < 0 ||
	    (err = make_launches(&b->prepare, b->at->prepare, b->at->nprepare, b, d)) < 0 ||
	    (err = make_launches(&b->launch, b->at->launch, b->at->nlaunch, b, d)) < 0)
		return err;
	return find_all(b, d);
}

int kl_gpu_bound_make(struct kl_gpu_bound **out, const struct kl_gpu_device *d,
		      struct kl_gpu_module *m, struct kl_gpu_set *s, struct kl_plan_at *at,
		      bool quirks)
{
	struct kl_gpu_bound *b;
	int err;

	/* tensor maps are 64-aligned members */
	b = aligned_alloc(64, (sizeof(*b) + 63) / 64 * 64);
	if (!b) {
		kl_plan_at_free(at);
		return kl_error(KL_EIO, "no memory for a binding");
	}
	memset(b, 0, sizeof(*b));
	b->module = m;
	b->set = s;
	b->at = at;
	b->seed = s->slack_seed ^ 0x736372617463u;
	err = build(b, d, quirks);
	if (err < 0) {
		kl_gpu_bound_free(b, d);
		return err;
	}
	*out = b;
	return 0;
}

static void free_launches(struct launch *l, size_t n)
{
	for (size_t i = 0; l && i < n; i++)
		free(l[i].store);
	free(l);
}

void kl_gpu_bound_free(struct kl_gpu_bound *b, const struct kl_gpu_device *d)
{
	if (!b)
		return;
	free_launches(b->prepare, b->at->nprepare);
	free_launches(b->launch, b->at->nlaunch);
	for (size_t i = 0; i < b->at->nscratch; i++)
		kl_gpu_buffer_release(&b->scratch[i], d);
	kl_plan_at_free(b->at);
	free(b);
}

/* -- running -------------------------------------------------------------------------- */

/* No number that a kernel could live with: NaN as float, wild as integer and address. */
static int poison(const struct kl_gpu_buffer *b, const struct kl_gpu_device *d, uint64_t seed)
{
	const struct kl_gpu_pattern p = { .seed = seed, .keep = 0x003fffff003fffffu,
					  .set = 0x7f8000017f800001u };

	return kl_gpu_fill(d, b->at, b->bytes, b->at % 8, &p);
}

static int zero(const struct kl_gpu_buffer *b, const struct kl_gpu_device *d)
{
	return b->bytes % 4 || b->at % 4 ? d->cu->set8(b->at, 0, b->bytes, d->stream)
					 : d->cu->set32(b->at, 0, b->bytes / 4, d->stream);
}

static int first_state(struct kl_gpu_bound *b, const struct kl_gpu_device *d, uint64_t seed)
{
	int err = 0, rc;

	for (size_t i = 0; i < b->at->nscratch && err == 0; i++) {
		if ((err = kl_gpu_buffer_protect(&b->scratch[i], d, false)) < 0)
			return err;
		if (b->at->scratch[i].init != KL_PLAN_CARRY)
			err = poison(&b->scratch[i], d, kl_gpu_mix(seed, i));
		else if ((rc = zero(&b->scratch[i], d)))
			err = kl_gpu_error(d->cu, rc, KL_EIO, "cannot clear scratch '%s'",
					   b->at->scratch[i].name);
	}
	return err;
}

int kl_gpu_bound_prepare(struct kl_gpu_bound *b, const struct kl_gpu_device *d, uint64_t seed,
			 int64_t limit_ms)
{
	int err = find_all(b, d), rc = 0;

	if (err < 0 || (err = first_state(b, d, seed)) < 0)
		return err;
	if (d->cu->stream_sync(d->stream))
		return kl_error(KL_EIO, "the GPU does not do what it is told");
	for (size_t i = 0; i < b->at->nprepare; i++) {
		struct launch *l = &b->prepare[i];

		if ((rc = d->cu->launch(&l->config, l->f, l->arg, NULL)))
			return kl_gpu_error(d->cu, rc, KL_EINVALID, "prepare[%zu], '%s', was refused", i,
					    l->plan->kernel);
	}
	rc = kl_gpu_wait(d, limit_ms);
	if (rc == KL_CU_NOT_READY)
		return kl_error(KL_EINVALID, "prepare does not end within %lld ms", (long long)limit_ms);
	if (rc)
		return kl_gpu_error(d->cu, rc, KL_EINVALID, "prepare did not end well");
	for (size_t i = 0; i < b->at->nscratch && err == 0; i++)
		if (b->at->scratch[i].init == KL_PLAN_PREPARE)
			err = kl_gpu_buffer_protect(&b->scratch[i], d, true);
	return err;
}

int kl_gpu_bound_ready(struct kl_gpu_bound *b, const struct kl_gpu_device *d, uint64_t seed)
{
	int err = find_all(b, d);

	for (size_t i = 0; i < b->at->nscratch && err == 0; i++)
		if (b->at->scratch[i].init == KL_PLAN_POISON)
			err = poison(&b->scratch[i], d, kl_gpu_mix(seed, i));
	return err;
}

int kl_gpu_bound_launch(const struct kl_gpu_bound *b, const struct kl_gpu_device *d, int *which)
{
	int rc;

	*which = -1;
	for (size_t i = 0; i < b->at->nscratch; i++)
		if (b->at->scratch[i].init == KL_PLAN_ZERO && (rc = zero(&b->scratch[i], d)))
			return rc;
	for (size_t i = 0; i < b->at->nlaunch; i++) {
		const struct launch *l = &b->launch[i];

		*which = (int)i;
		/* neither of them is written by the driver */
		if ((rc = d->cu->launch(&l->config, l->f, (void **)(uintptr_t)l->arg, NULL)))
			return rc;
	}
	return 0;
}

int kl_gpu_bound_check(const struct kl_gpu_bound *b, const struct kl_gpu_device *d)
{
	uint64_t where = 0;
	int64_t at = 0;
	int err = 0;

	for (size_t i = 0; i < b->at->nscratch; i++) {
		const struct kl_plan_scratch *s = &b->at->scratch[i];

		err = kl_gpu_buffer_check_slack(&b->scratch[i], d, kl_gpu_mix(b->seed, i), &at);
		if (err == KL_ENO)
			return kl_error(KL_ENO, "wrote outside of scratch '%s': byte %lld of %lld", s->name,
					(long long)at, (long long)s->bytes);
		if (err == 0 && s->init == KL_PLAN_CARRY)
			err = kl_gpu_check_zero(d, b->scratch[i].at, b->scratch[i].bytes, &where);
		if (err == KL_ENO)
			return kl_error(KL_ENO, "left scratch '%s', which is carried from call to call, not "
					"zero: byte %llu", s->name, (unsigned long long)where);
		if (err < 0)
			return err;
	}
	return 0;
}

const char *kl_gpu_bound_kernel(const struct kl_gpu_bound *b, int which)
{
	return which >= 0 && (size_t)which < b->at->nlaunch ? b->at->launch[which].kernel : "";
}

size_t kl_gpu_bound_launches(const struct kl_gpu_bound *b)
{
	return b->at->nlaunch;
}

bool kl_gpu_bound_quirk(const struct kl_gpu_bound *b)
{
	return b->quirk;
}

/* -- waiting ---------------------------------------------------------------------------- */

int kl_gpu_wait(const struct kl_gpu_device *d, int64_t limit_ms)
{
	int64_t start = kl_clock_ns(), end = start + limit_ms * 1000000, now;
	int rc;

	while ((rc = d->cu->stream_query(d->stream)) == KL_CU_NOT_READY) {
		now = kl_clock_ns();
		if (now >= end)
			return rc;
		if (now - start > 2000000)	/* short ones are waited for by looking */
			usleep(50);
	}
	return rc;
}

bool kl_gpu_is_fault(int rc)
{
	switch (rc) {
	case KL_CU_ILLEGAL_ADDRESS:
	case KL_CU_LAUNCH_TIMEOUT:
	case KL_CU_ASSERT:
	case KL_CU_STACK_ERROR:
	case KL_CU_ILLEGAL_INSTRUCTION:
	case KL_CU_MISALIGNED:
	case KL_CU_ADDRESS_SPACE:
	case KL_CU_INVALID_PC:
	case KL_CU_LAUNCH_FAILED:
		return true;
	default:
		return false;
	}
}

bool kl_gpu_is_refusal(int rc)
{
	switch (rc) {
	case KL_CU_INVALID_VALUE:
	case KL_CU_OUT_OF_MEMORY:
	case KL_CU_LAUNCH_RESOURCES:
	case KL_CU_COOPERATIVE_TOO_LARGE:
	case KL_CU_INVALID_CLUSTER:
	case KL_CU_NOT_SUPPORTED:
	case KL_CU_INVALID_IMAGE:
		return true;
	default:
		return false;
	}
}
