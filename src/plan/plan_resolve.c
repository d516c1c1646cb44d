/* SPDX-License-Identifier: Apache-2.0 */
/* plan_resolve - resolves a plan to the numbers of one point on one device */
#include <stdio.h>

#include "base/buf.h"
#include "base/error.h"
#include "plan/plan_parts.h"

#define MAX_THREADS 1024
#define CLUSTER_PORTABLE 8
#define CLUSTER_MAX 16

/* --- values -------------------------------------------------------------- */

/* Append the values of the names that an expression uses: " at M = 4096, sms = 132". */
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

int kl_plan_eval(int64_t *out, const struct plan_point *pt, const struct plan_expr *expr,
		 int64_t dflt)
{
	KL_AUTO(kl_buf_release) struct kl_buf values = KL_BUF_INIT;

	*out = dflt;
	if (!expr->expr || !kl_expr_eval(out, expr->expr, pt->value))
		return 0;
	kl_buf_adds(&values, kl_error_last());
	add_values(&values, pt, expr->expr);
	return kl_yaml_error(pt->p->file, expr->node, "%s", values.ptr);
}

int kl_plan_eval_in(int64_t *out, const struct plan_point *pt, const struct plan_expr *expr,
		    int64_t min, int64_t max, const char *what)
{
	KL_AUTO(kl_buf_release) struct kl_buf values = KL_BUF_INIT;
	int err = kl_plan_eval(out, pt, expr, 0);

	if (err < 0 || (*out >= min && *out <= max))
		return err;
	add_values(&values, pt, expr->expr);
	return kl_yaml_error(pt->p->file, expr->node, "%s is %lld%s, but must be from %lld to %lld",
			     what, (long long)*out, values.ptr, (long long)min, (long long)max);
}

const struct kl_yaml *kl_plan_key_node(const struct plan_part *part, const char *key)
{
	const struct kl_yaml *node = kl_yaml_get(part->node, key);

	return node ? node : part->node;
}

int kl_plan_need_cc(const struct plan_point *pt, const struct kl_yaml *node, int64_t cc,
		    const char *what)
{
	long long have = (long long)pt->facts->cc;

	if (have >= cc)
		return 0;
	kl_yaml_error(pt->p->file, node,
		      "%s compute capability %lld.%lld, but the device has %lld.%lld", what,
		      (long long)cc / 10, (long long)cc % 10, have / 10, have % 10);
	return kl_error(KL_ECANNOT, "%s", kl_error_last());
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
	size_t n = 0;

	for (size_t i = 0; i < plan->ndim; i++)
		pt->value[n++] = dims[i];
	for (size_t i = 0; i < KL_PLAN_FACTS; i++)
		pt->value[n++] = facts[i];
	for (size_t i = 0; i < plan->compile.ndefine; i++)
		pt->value[n++] = plan->compile.define[i].value;
	for (size_t i = 0; i < plan->nlet; i++, n++) {
		int err = kl_plan_eval(&pt->value[n], pt, &plan->let[i], 0);

		if (err < 0)
			return err;
	}
	return 0;
}

static int check_require(const struct plan_point *pt)
{
	for (size_t i = 0; i < pt->p->nrequire; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf values = KL_BUF_INIT;
		const struct plan_expr *condition = &pt->p->require[i];
		int64_t yes;
		int err = kl_plan_eval(&yes, pt, condition, 0);

		if (err < 0)
			return err;
		if (yes)
			continue;
		add_values(&values, pt, condition->expr);
		kl_yaml_error(pt->p->file, condition->node, "'%s' does not hold%s",
			      condition->node->text, values.ptr);
		return kl_error(KL_ENO, "%s", kl_error_last());
	}
	return 0;
}

/* --- arguments ------------------------------------------------------------ */

static int resolve_offset(int64_t *out, const struct plan_point *pt, const struct plan_expr *expr,
			  enum kl_plan_arg_kind kind, int index)
{
	int64_t bytes;

	*out = 0;
	if (!expr->expr)
		return 0;
	bytes = kl_plan_memory_bytes(pt, kind == KL_PLAN_SCRATCH, index);
	return kl_plan_eval_in(out, pt, expr, 0, bytes - 1, "an offset in bytes");
}

static int resolve_value(struct kl_plan_arg *out, const struct plan_point *pt,
			 const struct plan_arg *arg)
{
	/* clang-format off */
	static const struct { int64_t min, max; } ranges[] = {
		[VALUE_I32] = { INT32_MIN, INT32_MAX },
		[VALUE_I64] = { INT64_MIN, INT64_MAX },
		[VALUE_U32] = { 0, UINT32_MAX },
		[VALUE_U64] = { 0, INT64_MAX },
	};
	/* clang-format on */
	int64_t value;
	int err;

	out->size = arg->size;
	out->bits = arg->bits;
	if (arg->value == VALUE_BITS)
		return 0;
	err = kl_plan_eval_in(&value, pt, &arg->expr, ranges[arg->value].min,
			      ranges[arg->value].max, "the value");
	if (err < 0)
		return err;
	out->bits = arg->size == 4 ? (uint32_t)value : (uint64_t)value;
	return 0;
}

static int resolve_bytes(struct kl_plan_arg *out, const struct plan_point *pt,
			 const struct plan_arg *arg)
{
	out->blob = arg->blob;
	out->nblob = arg->nblob;
	out->nreloc = arg->nreloc;
	for (size_t i = 0; i < arg->nreloc; i++) {
		const struct plan_reloc *reloc = &arg->reloc[i];
		int err;

		out->reloc[i] = (struct kl_plan_reloc){ .at = reloc->at,
							.kind = reloc->kind,
							.index = reloc->index };
		if ((err = resolve_offset(&out->reloc[i].offset, pt, &reloc->offset, reloc->kind,
					  reloc->index)) < 0)
			return err;
	}
	return 0;
}

static int resolve_arg(struct kl_plan_arg *out, const struct plan_point *pt,
		       const struct plan_arg *arg)
{
	out->kind = arg->kind;
	out->index = arg->index;
	if (arg->kind == KL_PLAN_VALUE)
		return resolve_value(out, pt, arg);
	if (arg->kind == KL_PLAN_BYTES)
		return resolve_bytes(out, pt, arg);
	if (arg->kind == KL_PLAN_TENSOR || arg->kind == KL_PLAN_SCRATCH)
		return resolve_offset(&out->offset, pt, &arg->expr, arg->kind, arg->index);
	return 0;
}

/*
 * Return the offset in bytes of the end of `arg`, which starts at the first naturally aligned
 * offset that is not below `at`. The layout that the kernel itself declares is checked later.
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
			const struct plan_launch *launch)
{
	size_t end = 0;

	out->nargs = launch->nargs;
	for (size_t i = 0; i < launch->nargs; i++) {
		int err = resolve_arg(&out->arg[i], pt, &launch->arg[i]);

		if (err < 0)
			return err;
		end = param_end(end, &out->arg[i]);
		if (end > KL_PLAN_MAX_PARAM_BYTES)
			return kl_yaml_error(pt->p->file, launch->arg[i].part.node,
					     "the arguments are larger than %d bytes",
					     KL_PLAN_MAX_PARAM_BYTES);
	}
	return 0;
}

/* --- shape of a launch --------------------------------------------------------- */

static int resolve_axes(uint32_t out[3], const struct plan_point *pt, const struct plan_exprs *list,
			const int64_t max[3], const char *what)
{
	for (size_t i = 0; i < 3; i++) {
		int64_t value = 1;
		int err = i < list->n ? kl_plan_eval_in(&value, pt, &list->v[i], 1, max[i], what) :
					0;

		if (err < 0)
			return err;
		out[i] = (uint32_t)value;
	}
	return 0;
}

static int resolve_cluster(struct kl_plan_launch *out, const struct plan_point *pt,
			   const struct plan_launch *launch)
{
	static const int64_t most[3] = { CLUSTER_MAX, CLUSTER_MAX, CLUSTER_MAX };
	const char *file = pt->p->file;
	uint32_t blocks;
	int err;

	if (!launch->cluster.node)
		return 0;
	if ((err = kl_plan_need_cc(pt, launch->cluster.node, 90, "a cluster needs")) < 0 ||
	    (err = resolve_axes(out->cluster, pt, &launch->cluster, most, "cluster")) < 0)
		return err;
	blocks = out->cluster[0] * out->cluster[1] * out->cluster[2];
	if (blocks > CLUSTER_MAX || (blocks > CLUSTER_PORTABLE && !launch->nonportable))
		return kl_yaml_error(
			file, launch->cluster.node,
			"a cluster has %u blocks, but can have at most %d, or %d with nonportable: "
			"true",
			blocks, CLUSTER_PORTABLE, CLUSTER_MAX);
	for (size_t i = 0; i < 3; i++)
		if (out->grid[i] % out->cluster[i])
			return kl_yaml_error(
				file,
				i < launch->grid.n ? launch->grid.v[i].node : launch->grid.node,
				"the extent %u of the grid is not a multiple of the cluster's "
				"extent %u",
				out->grid[i], out->cluster[i]);
	return 0;
}

static int check_smem(const struct kl_plan_launch *out, const struct plan_point *pt,
		      const struct plan_launch *launch)
{
	const struct kl_yaml *node = kl_plan_key_node(&launch->part, "smem");

	if (out->smem < 0)
		return kl_yaml_error(pt->p->file, node,
				     "'smem' is %lld bytes, but must not be negative",
				     (long long)out->smem);
	if (out->smem <= pt->facts->smem_optin)
		return 0;
	kl_yaml_error(pt->p->file, node,
		      "a block needs %lld bytes of shared memory, but the device has at most %lld",
		      (long long)out->smem, (long long)pt->facts->smem_optin);
	return kl_error(KL_ECANNOT, "%s", kl_error_last());
}

static int resolve_shape(struct kl_plan_launch *out, const struct plan_point *pt,
			 const struct plan_launch *launch)
{
	static const int64_t grid[3] = { INT32_MAX, 65535, 65535 },
			     block[3] = { MAX_THREADS, MAX_THREADS, 64 };
	int err;

	if ((err = resolve_axes(out->grid, pt, &launch->grid, grid, "grid")) < 0 ||
	    (err = resolve_axes(out->block, pt, &launch->block, block, "block")) < 0 ||
	    (err = resolve_cluster(out, pt, launch)) < 0 ||
	    (err = kl_plan_eval(&out->smem, pt, &launch->smem, 0)) < 0)
		return err;
	if ((uint64_t)out->block[0] * out->block[1] * out->block[2] > MAX_THREADS)
		return kl_yaml_error(pt->p->file, launch->block.node,
				     "a block has %u x %u x %u threads, but can have at most %d",
				     out->block[0], out->block[1], out->block[2], MAX_THREADS);
	return check_smem(out, pt, launch);
}

static int resolve_launch(struct kl_plan_launch *out, const struct plan_point *pt,
			  const struct plan_launch *launch)
{
	int err;

	snprintf(out->kernel, sizeof(out->kernel), "%s", launch->kernel);
	snprintf(out->symbol, sizeof(out->symbol), "%s",
		 launch->symbol ? launch->symbol : launch->kernel);
	out->nonportable = launch->nonportable;
	out->cooperative = launch->cooperative;
	out->pdl = launch->pdl;
	if ((launch->pdl && (err = kl_plan_need_cc(pt, kl_plan_key_node(&launch->part, "pdl"), 90,
						   "programmatic launch needs")) < 0) ||
	    (err = resolve_shape(out, pt, launch)) < 0)
		return err;
	return resolve_args(out, pt, launch);
}

static int resolve_list(struct kl_plan_launch **out, const struct plan_point *pt,
			const struct plan_launches *list)
{
	int err = 0;

	*out = kl_calloc(list->n + 1, sizeof(**out));
	for (size_t i = 0; !err && i < list->n; i++)
		err = resolve_launch(&(*out)[i], pt, &list->v[i]);
	return err;
}

int kl_plan_launches_resolve(struct plan_point *pt)
{
	struct kl_plan_at *at = pt->at;
	int err;

	at->nprepare = pt->p->prepare.n;
	at->nlaunch = pt->p->launch.n;
	if ((err = resolve_list(&at->prepare, pt, &pt->p->prepare)) < 0)
		return err;
	return resolve_list(&at->launch, pt, &pt->p->launch);
}

/* --- the whole plan ------------------------------------------------------------- */

int kl_plan_resolve(struct kl_plan_at **out, const struct kl_plan *plan, const int64_t *dims,
		    const int64_t *tensor_bytes, const struct kl_plan_facts *facts)
{
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = kl_calloc(1, sizeof(*at));
	KL_AUTO(kl_freep) int64_t *value = kl_calloc(plan->nname + 1, sizeof(*value));
	struct plan_point pt = {
		.p = plan,
		.at = at,
		.value = value,
		.tensor_bytes = tensor_bytes,
		.facts = facts,
	};
	int err;

	if ((err = set_values(&pt, dims)) < 0 || (err = check_require(&pt)) < 0 ||
	    (err = kl_plan_scratch_resolve(&pt)) < 0 || (err = kl_plan_maps_resolve(&pt)) < 0 ||
	    (err = kl_plan_launches_resolve(&pt)) < 0)
		return err;
	*out = kl_steal(&at);
	return 0;
}

void kl_plan_at_free(struct kl_plan_at *at)
{
	if (!at)
		return;
	free(at->prepare);
	free(at->launch);
	free(at);
}
