/* SPDX-License-Identifier: Apache-2.0 */
/* plan_resolve - resolves a plan to the numbers of one point on one device */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "plan/plan_parts.h"

#define MAX_THREADS 1024
#define CLUSTER_PORTABLE 8
#define CLUSTER_MAX 16

/* --- values -------------------------------------------------------------- */

/* " at M = 4096, sms = 132": what an expression speaks of, in numbers. */
static void add_values(struct kl_buf *out, const struct plan_point *pt, const struct kl_expr *expr)
{
	KL_AUTO(kl_freep) bool *used = kl_calloc(pt->p->nname + 1, sizeof(*used));
	const char *sep = " at ";

	kl_expr_uses(expr, used);
	for (size_t i = 0; i < pt->p->nname; i++) {
		if (!used[i])
			continue;
		kl_buf_addf(out, "%s%s = %lld", sep, pt->p->name[i], (long long)pt->value[i]);
		sep = ", ";
	}
}

int kl_plan_eval(int64_t *out, const struct plan_point *pt, const struct kl_spot *at,
		 const struct kl_expr *expr, int64_t dflt)
{
	KL_AUTO(kl_buf_release) struct kl_buf values = KL_BUF_INIT;

	*out = dflt;
	if (!expr || !kl_expr_eval(out, expr, pt->value))
		return 0;
	kl_buf_adds(&values, kl_error_last());
	add_values(&values, pt, expr);
	return kl_spot_error(at, "%s", values.ptr);
}

int kl_plan_eval_in(int64_t *out, const struct plan_point *pt, const struct kl_spot *at,
		    const struct kl_expr *expr, int64_t min, int64_t max, const char *what)
{
	KL_AUTO(kl_buf_release) struct kl_buf values = KL_BUF_INIT;
	int err = kl_plan_eval(out, pt, at, expr, 0);

	if (err < 0 || (*out >= min && *out <= max))
		return err;
	add_values(&values, pt, expr);
	return kl_spot_error(at, "%s is %lld%s: from %lld to %lld is possible", what,
			     (long long)*out, values.ptr, (long long)min, (long long)max);
}

int64_t kl_plan_memory_bytes(const struct plan_point *pt, bool scratch, int index)
{
	return scratch ? pt->at->scratch[index].bytes : pt->tensor_bytes[index];
}

static int set_values(struct plan_point *pt, const int64_t *dims)
{
	const struct kl_plan *plan = pt->p;
	const struct kl_plan_facts *plan_facts = pt->facts;
	const int64_t facts[KL_PLAN_FACTS] = { plan_facts->sms, plan_facts->smem_optin,
					       plan_facts->cc, plan_facts->l2 };
	struct kl_spot top = { .place = pt->place }, let = kl_spot_key(&top, "let");
	size_t n = 0;

	for (size_t i = 0; i < plan->ndim; i++)
		pt->value[n++] = dims[i];
	for (size_t i = 0; i < KL_PLAN_FACTS; i++)
		pt->value[n++] = facts[i];
	for (size_t i = 0; i < plan->compile.ndefine; i++)
		pt->value[n++] = plan->compile.define[i].value;
	for (size_t i = 0; i < plan->nlet; i++, n++) {
		struct kl_spot at = kl_spot_key(&let, plan->name[n]);
		int err = kl_plan_eval(&pt->value[n], pt, &at, plan->let[i], 0);

		if (err < 0)
			return err;
	}
	return 0;
}

static int check_require(const struct plan_point *pt)
{
	struct kl_spot top = { .place = pt->place }, all = kl_spot_key(&top, "require");

	for (size_t i = 0; i < pt->p->nrequire; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf values = KL_BUF_INIT;
		struct kl_spot at = kl_spot_item(&all, i);
		int64_t yes;
		int err = kl_plan_eval(&yes, pt, &at, pt->p->require[i], 0);

		if (err < 0)
			return err;
		if (yes)
			continue;
		add_values(&values, pt, pt->p->require[i]);
		return kl_spot_fail(&at, KL_ENO, "'%s' does not hold%s", pt->p->require_text[i],
				    values.ptr);
	}
	return 0;
}

/* --- arguments ------------------------------------------------------------ */

static int resolve_offset(int64_t *out, const struct plan_point *pt, const struct kl_spot *at,
			  const struct kl_expr *expr, enum kl_plan_arg_kind kind, int index)
{
	int64_t bytes;

	*out = 0;
	if (!expr)
		return 0;
	bytes = kl_plan_memory_bytes(pt, kind == KL_PLAN_SCRATCH, index);
	return kl_plan_eval_in(out, pt, at, expr, 0, bytes - 1, "an offset in bytes");
}

static int resolve_value(struct kl_plan_arg *out, const struct plan_point *pt,
			 const struct kl_spot *up, const struct plan_arg *arg)
{
	/* clang-format off */
	static const struct { const char *key; int64_t min, max; } ranges[] = {
		[VALUE_I32] = { "i32", INT32_MIN, INT32_MAX },
		[VALUE_I64] = { "i64", INT64_MIN, INT64_MAX },
		[VALUE_U32] = { "u32", 0, UINT32_MAX },
		[VALUE_U64] = { "u64", 0, INT64_MAX },
	};
	/* clang-format on */
	struct kl_spot at;
	int64_t value;
	int err;

	out->size = arg->size;
	out->bits = arg->bits;
	if (arg->value == VALUE_BITS)
		return 0;
	at = kl_spot_key(up, ranges[arg->value].key);
	err = kl_plan_eval_in(&value, pt, &at, arg->e, ranges[arg->value].min,
			      ranges[arg->value].max, "the value");
	if (err < 0)
		return err;
	out->bits = arg->size == 4 ? (uint32_t)value : (uint64_t)value;
	return 0;
}

static int resolve_bytes(struct kl_plan_arg *out, const struct plan_point *pt,
			 const struct kl_spot *up, const struct plan_arg *arg)
{
	struct kl_spot list = kl_spot_key(up, "at");

	out->blob = arg->blob;
	out->nblob = arg->nblob;
	out->nreloc = arg->nreloc;
	for (size_t i = 0; i < arg->nreloc; i++) {
		struct kl_spot item = kl_spot_item(&list, i), at = kl_spot_key(&item, "offset");
		int err;

		out->reloc[i] = (struct kl_plan_reloc){ .at = arg->reloc[i].at,
							.kind = arg->reloc[i].kind,
							.index = arg->reloc[i].index };
		if ((err = resolve_offset(&out->reloc[i].offset, pt, &at, arg->reloc[i].offset,
					  arg->reloc[i].kind, arg->reloc[i].index)) < 0)
			return err;
	}
	return 0;
}

static int resolve_arg(struct kl_plan_arg *out, const struct plan_point *pt,
		       const struct kl_spot *up, const struct plan_arg *arg)
{
	struct kl_spot offset = kl_spot_key(up, "offset");

	out->kind = arg->kind;
	out->index = arg->index;
	if (arg->kind == KL_PLAN_VALUE)
		return resolve_value(out, pt, up, arg);
	if (arg->kind == KL_PLAN_BYTES)
		return resolve_bytes(out, pt, up, arg);
	if (arg->kind == KL_PLAN_TENSOR || arg->kind == KL_PLAN_SCRATCH)
		return resolve_offset(&out->offset, pt, &offset, arg->e, arg->kind, arg->index);
	return 0;
}

/*
 * Where an argument would lie if each had its natural alignment; the kernel's own word is asked
 * later.
 */
static size_t param_end(size_t at, const struct kl_plan_arg *arg)
{
	size_t size = 8, align = 8;

	if (arg->kind == KL_PLAN_MAP) {
		size = 128;
		align = 64;
	} else if (arg->kind == KL_PLAN_VALUE) {
		size = align = (size_t)arg->size;
	} else if (arg->kind == KL_PLAN_BYTES) {
		size = arg->nblob;
		align = 1;
	}
	return (at + align - 1) / align * align + size;
}

static int resolve_args(struct kl_plan_launch *out, const struct plan_point *pt,
			const struct kl_spot *up, const struct plan_launch *launch)
{
	struct kl_spot list = kl_spot_key(up, "args");
	size_t end = 0;

	out->nargs = launch->nargs;
	for (size_t i = 0; i < launch->nargs; i++) {
		struct kl_spot at = kl_spot_item(&list, i);
		int err = resolve_arg(&out->arg[i], pt, &at, &launch->arg[i]);

		if (err < 0)
			return err;
		end = param_end(end, &out->arg[i]);
		if (end > KL_PLAN_MAX_PARAM_BYTES)
			return kl_spot_error(&at, "the arguments take more than %d bytes",
					     KL_PLAN_MAX_PARAM_BYTES);
	}
	return 0;
}

/* --- shape of a launch --------------------------------------------------------- */

static int resolve_axes(uint32_t out[3], const struct plan_point *pt, const struct kl_spot *up,
			const char *key, struct kl_expr *const *exprs, size_t n,
			const int64_t max[3])
{
	struct kl_spot list = kl_spot_key(up, key);

	for (size_t i = 0; i < 3; i++) {
		struct kl_spot at = kl_spot_item(&list, i);
		int64_t value = 1;
		int err = i < n ? kl_plan_eval_in(&value, pt, &at, exprs[i], 1, max[i], key) : 0;

		if (err < 0)
			return err;
		out[i] = (uint32_t)value;
	}
	return 0;
}

static int need_cc90(const struct plan_point *pt, const struct kl_spot *at, const char *what)
{
	long long cc = (long long)pt->facts->cc;

	return cc >= 90 ? 0 :
			  kl_spot_fail(at, KL_ECANNOT,
				       "%s needs compute capability 9.0, here is "
				       "%lld.%lld",
				       what, cc / 10, cc % 10);
}

static int resolve_cluster(struct kl_plan_launch *out, const struct plan_point *pt,
			   const struct kl_spot *up, const struct plan_launch *launch)
{
	static const int64_t most[3] = { CLUSTER_MAX, CLUSTER_MAX, CLUSTER_MAX };
	struct kl_spot at = kl_spot_key(up, "cluster");
	uint32_t blocks;
	int err;

	if (!launch->ncluster)
		return 0;
	if ((err = need_cc90(pt, &at, "a cluster")) < 0 ||
	    (err = resolve_axes(out->cluster, pt, up, "cluster", launch->cluster, launch->ncluster,
				most)) < 0)
		return err;
	blocks = out->cluster[0] * out->cluster[1] * out->cluster[2];
	if (blocks > CLUSTER_MAX || (blocks > CLUSTER_PORTABLE && !launch->nonportable))
		return kl_spot_error(&at,
				     "a cluster of %u blocks: %d are possible, up to %d with "
				     "nonportable: true",
				     blocks, CLUSTER_PORTABLE, CLUSTER_MAX);
	for (size_t i = 0; i < 3; i++) {
		struct kl_spot grid = kl_spot_key(up, "grid"), axis = kl_spot_item(&grid, i);

		if (out->grid[i] % out->cluster[i])
			return kl_spot_error(i < launch->ngrid ? &axis : &grid,
					     "a grid of %u is no multiple "
					     "of the "
					     "cluster's %u",
					     out->grid[i], out->cluster[i]);
	}
	return 0;
}

static int resolve_shape(struct kl_plan_launch *out, const struct plan_point *pt,
			 const struct kl_spot *at, const struct plan_launch *launch)
{
	static const int64_t grid[3] = { INT32_MAX, 65535, 65535 },
			     block[3] = { MAX_THREADS, MAX_THREADS, 64 };
	struct kl_spot blocks = kl_spot_key(at, "block"), smem = kl_spot_key(at, "smem");
	int err;

	if ((err = resolve_axes(out->grid, pt, at, "grid", launch->grid, launch->ngrid, grid)) <
		    0 ||
	    (err = resolve_axes(out->block, pt, at, "block", launch->block, launch->nblock,
				block)) < 0 ||
	    (err = resolve_cluster(out, pt, at, launch)) < 0 ||
	    (err = kl_plan_eval(&out->smem, pt, &smem, launch->smem, 0)) < 0)
		return err;
	if ((uint64_t)out->block[0] * out->block[1] * out->block[2] > MAX_THREADS)
		return kl_spot_error(&blocks,
				     "a block of %u x %u x %u threads: at most %d are possible",
				     out->block[0], out->block[1], out->block[2], MAX_THREADS);
	if (out->smem < 0)
		return kl_spot_error(&smem, "%lld bytes of shared memory", (long long)out->smem);
	if (out->smem > pt->facts->smem_optin)
		return kl_spot_fail(&smem, KL_ECANNOT,
				    "%lld bytes of shared memory, a block has at most "
				    "%lld here",
				    (long long)out->smem, (long long)pt->facts->smem_optin);
	return 0;
}

static int resolve_launch(struct kl_plan_launch *out, const struct plan_point *pt,
			  const struct kl_spot *at, const struct plan_launch *launch)
{
	struct kl_spot pdl = kl_spot_key(at, "pdl");
	int err;

	memcpy(out->kernel, launch->kernel, sizeof(out->kernel));
	out->nonportable = launch->nonportable;
	out->cooperative = launch->cooperative;
	out->pdl = launch->pdl;
	if ((launch->pdl && (err = need_cc90(pt, &pdl, "programmatic launch")) < 0) ||
	    (err = resolve_shape(out, pt, at, launch)) < 0)
		return err;
	return resolve_args(out, pt, at, launch);
}

static int resolve_list(struct kl_plan_launch *out, const struct plan_point *pt, const char *key,
			const struct plan_launch *launch, size_t n)
{
	struct kl_spot top = { .place = pt->place }, list = kl_spot_key(&top, key);

	for (size_t i = 0; i < n; i++) {
		struct kl_spot at = kl_spot_item(&list, i);
		int err = resolve_launch(&out[i], pt, &at, &launch[i]);

		if (err < 0)
			return err;
	}
	return 0;
}

int kl_plan_launches_resolve(struct plan_point *pt)
{
	const struct kl_plan *plan = pt->p;
	int err;

	pt->at->nprepare = plan->nprepare;
	pt->at->nlaunch = plan->nlaunch;
	pt->at->prepare = kl_calloc(plan->nprepare + 1, sizeof(*pt->at->prepare));
	pt->at->launch = kl_calloc(plan->nlaunch + 1, sizeof(*pt->at->launch));
	if ((err = resolve_list(pt->at->prepare, pt, "prepare", plan->prepare, plan->nprepare)) < 0)
		return err;
	return resolve_list(pt->at->launch, pt, "launch", plan->launch, plan->nlaunch);
}

/* --- the whole ------------------------------------------------------------------ */

int kl_plan_resolve_place(struct kl_plan_at **out, const struct kl_plan *plan, const int64_t *dims,
			  const int64_t *tensor_bytes, const struct kl_plan_facts *facts,
			  char *place)
{
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = kl_calloc(1, sizeof(*at));
	KL_AUTO(kl_freep) int64_t *value = kl_calloc(plan->nname + 1, sizeof(*value));
	struct plan_point pt = {
		.p = plan,
		.at = at,
		.value = value,
		.tensor_bytes = tensor_bytes,
		.facts = facts,
		.place = place,
	};
	int err;

	if (place)
		place[0] = '\0';
	if ((err = set_values(&pt, dims)) < 0 || (err = check_require(&pt)) < 0 ||
	    (err = kl_plan_scratch_resolve(&pt)) < 0 || (err = kl_plan_maps_resolve(&pt)) < 0 ||
	    (err = kl_plan_launches_resolve(&pt)) < 0)
		return err;
	*out = kl_steal(&at);
	return 0;
}

int kl_plan_resolve(struct kl_plan_at **out, const struct kl_plan *plan, const int64_t *dims,
		    const int64_t *tensor_bytes, const struct kl_plan_facts *facts)
{
	return kl_plan_resolve_place(out, plan, dims, tensor_bytes, facts, NULL);
}

void kl_plan_at_free(struct kl_plan_at *at)
{
	if (!at)
		return;
	free(at->prepare);
	free(at->launch);
	free(at);
}
