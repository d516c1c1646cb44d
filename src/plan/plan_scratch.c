/* SPDX-License-Identifier: Apache-2.0 */
/* plan_scratch - parses and resolves the scratch memory of a plan */
#include <string.h>

#include "plan/plan_parts.h"

#define DEFAULT_ALIGN 256
#define MAX_ALIGN (2 << 20)

/* `real` is the kl_real of an oracle: double or float. Its size here is that of double. */
static const char *const dtypes[] = { "f64", "f32", "f16", "bf16", "i64", "i32",  "i16",
				      "i8",  "u64", "u32", "u16",  "u8",  "real", NULL };
static const int sizes[] = { 8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 8 };
static const char *const inits[] = { "poison", "zero", "carry", "prepare", NULL };

#define AT(m) offsetof(struct plan_scratch, m)
static const struct kl_field fields[] = {
	KL_WORD_FIELD("dtype", 0, AT(dtype), dtypes),
	KL_VALUES_FIELD("shape", 0, AT(shape), &kl_plan_exprs_value, 1, KL_MAX_AXES),
	KL_VALUE_FIELD("bytes", 0, AT(bytes), &kl_plan_expr_value),
	KL_INT_FIELD("align", KL_LOOSE, AT(align), 1, MAX_ALIGN),
	KL_WORD_FIELD("init", 0, AT(init), inits),
	KL_FIELDS_END,
};
#undef AT
static const struct kl_schema schema = {
	"a scratch", sizeof(struct plan_scratch), fields, NULL, NULL, NULL,
};

static int check_scratch(const struct plan_scratch *scratch)
{
	const char *file = scratch->part.plan->file;
	const struct kl_yaml *node = scratch->part.node;
	bool dtype = kl_yaml_get(node, "dtype"), shape = scratch->shape.node;

	if (scratch->bytes.node && (dtype || shape))
		return kl_yaml_error(file, node,
				     "a scratch cannot have both 'bytes' and 'dtype' or 'shape'");
	if (!scratch->bytes.node && !(dtype && shape))
		return kl_yaml_error(file, node,
				     "a scratch must have 'dtype' and 'shape', or 'bytes'");
	if (scratch->align & (scratch->align - 1))
		return kl_yaml_error(file, kl_plan_key_node(&scratch->part, "align"),
				     "'align' must be a power of two, not %lld",
				     (long long)scratch->align);
	return 0;
}

static int read_one(struct kl_plan *plan, const struct kl_yaml *map, size_t i)
{
	struct plan_scratch *scratch = &plan->scratch[plan->nscratch];
	const char *name = map->key[i];
	int err;

	if (kl_plan_find_scalar(plan, name) >= 0 || kl_plan_find_tensor(plan, name) >= 0)
		return kl_yaml_key_error(plan->file, map, i,
					 "'%s' is already the name of an argument of the contract",
					 name);
	scratch->part = (struct plan_part){ plan, map->item[i] };
	scratch->align = DEFAULT_ALIGN;
	memcpy(scratch->name, name, strlen(name) + 1);
	plan->nscratch++;
	err = kl_plan_read(scratch, &schema, plan->file, map->item[i]);
	return err < 0 ? err : check_scratch(scratch);
}

static int read_scratch(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	int err = kl_plan_check_map(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++)
		err = read_one(at, node, i);
	return err;
}

static void release_scratch(void *at)
{
	struct kl_plan *plan = at;

	for (size_t i = 0; i < plan->nscratch; i++)
		kl_schema_release(&plan->scratch[i], &schema);
}

const struct kl_value_type kl_plan_scratch_value = { .read = read_scratch,
						     .release = release_scratch };

/* --- resolving ------------------------------------------------------------------- */

static int resolve_shape(struct kl_plan_scratch *out, const struct plan_point *pt,
			 const struct plan_scratch *scratch)
{
	out->bytes = sizes[scratch->dtype];
	for (size_t i = 0; i < scratch->shape.n; i++) {
		const struct plan_expr *axis = &scratch->shape.v[i];
		int64_t n;
		int err = kl_plan_eval_in(&n, pt, axis, 1, KL_TENSOR_MAX_BYTES, "an extent");

		if (err < 0)
			return err;
		if (__builtin_mul_overflow(out->bytes, n, &out->bytes) ||
		    out->bytes > KL_TENSOR_MAX_BYTES)
			return kl_yaml_error(pt->p->file, axis->node,
					     "the scratch is larger than 2^40 bytes");
	}
	return 0;
}

static int resolve_one(struct kl_plan_scratch *out, const struct plan_point *pt,
		       const struct plan_scratch *scratch)
{
	memcpy(out->name, scratch->name, sizeof(out->name));
	out->init = (enum kl_plan_init)scratch->init;
	out->align = scratch->align;
	return scratch->bytes.node ? kl_plan_eval_in(&out->bytes, pt, &scratch->bytes, 1,
						     KL_TENSOR_MAX_BYTES, "a size in bytes") :
				     resolve_shape(out, pt, scratch);
}

int kl_plan_scratch_resolve(struct plan_point *pt)
{
	const struct kl_plan *plan = pt->p;
	int64_t sum = 0;

	pt->at->nscratch = plan->nscratch;
	for (size_t i = 0; i < plan->nscratch; i++) {
		int err = resolve_one(&pt->at->scratch[i], pt, &plan->scratch[i]);

		if (err < 0)
			return err;
		sum += pt->at->scratch[i].bytes;
		if (sum > KL_TENSOR_MAX_BYTES)
			return kl_yaml_error(
				plan->file, plan->scratch[i].part.node,
				"the plan's scratch buffers have more than 2^40 bytes in total");
		if (pt->facts->memory && sum > pt->facts->memory)
			return kl_yaml_error(
				plan->file, plan->scratch[i].part.node,
				"the plan's scratch buffers need %lld bytes in total, but a device "
				"has at most %lld",
				(long long)sum, (long long)pt->facts->memory);
	}
	return 0;
}
