/* SPDX-License-Identifier: Apache-2.0 */
/* plan_scratch - scratch memory of a plan, parsed and resolved */
#include <string.h>

#include "plan/plan_parts.h"

#define DEFAULT_ALIGN 256
#define MAX_ALIGN (2 << 20)

/* `real` is the kl_real of an oracle, at its larger. */
static const char *const dtypes[] = { "f64", "f32", "f16", "bf16", "i64", "i32",  "i16",
				      "i8",  "u64", "u32", "u16",  "u8",  "real", NULL };
static const int sizes[] = { 8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 8 };
static const char *const inits[] = { "poison", "zero", "carry", "prepare", NULL };

static int parse_shape(struct plan_scratch *scratch, const struct kl_plan *plan,
		       const struct kl_spot *up, const json_t *value)
{
	struct kl_spot dtype = kl_spot_key(up, "dtype"), shape = kl_spot_key(up, "shape");
	struct kl_expr_names names = kl_plan_expr_names(plan);
	const json_t *list = json_object_get(value, "shape");
	int which, err;

	if (!json_object_get(value, "dtype") || !list)
		return kl_spot_error(up, "a scratch has 'dtype' and 'shape', or 'bytes'");
	if (json_object_get(value, "bytes"))
		return kl_spot_error(up, "a scratch has 'dtype' and 'shape', or 'bytes', not both");
	if ((err = kl_spot_choice(&which, &dtype, json_object_get(value, "dtype"), dtypes)) < 0 ||
	    (err = kl_spot_list(&shape, list, 1, KL_MAX_AXES)) < 0)
		return err;
	scratch->item = sizes[which];
	scratch->naxes = json_array_size(list);
	for (size_t i = 0; i < scratch->naxes; i++) {
		struct kl_spot at = kl_spot_item(&shape, i);

		if ((err = kl_spot_expr(&scratch->shape[i], &at, json_array_get(list, i), &names)) <
		    0)
			return err;
	}
	return 0;
}

static int parse_bytes(struct plan_scratch *scratch, const struct kl_plan *plan,
		       const struct kl_spot *up, const json_t *value)
{
	struct kl_spot at = kl_spot_key(up, "bytes");
	struct kl_expr_names names = kl_plan_expr_names(plan);

	if (json_object_get(value, "dtype") || json_object_get(value, "shape"))
		return kl_spot_error(up, "a scratch has 'dtype' and 'shape', or 'bytes', not both");
	scratch->in_bytes = true;
	scratch->item = 1;
	scratch->naxes = 1;
	return kl_spot_expr(&scratch->shape[0], &at, json_object_get(value, "bytes"), &names);
}

static int parse_one(struct kl_plan *plan, const struct kl_spot *at, const char *name,
		     const json_t *value)
{
	static const char *const known[] = { "dtype", "shape", "bytes", "align", "init", NULL };
	struct plan_scratch *scratch = &plan->scratch[plan->nscratch];
	struct kl_spot init = kl_spot_key(at, "init"), align = kl_spot_key(at, "align");
	int which = KL_PLAN_POISON, err = kl_spot_keys(at, value, known, 0);

	if (err < 0)
		return err;
	memcpy(scratch->name, name, strlen(name) + 1);
	scratch->align = DEFAULT_ALIGN;
	if (json_object_get(value, "init") &&
	    (err = kl_spot_choice(&which, &init, json_object_get(value, "init"), inits)) < 0)
		return err;
	scratch->init = (enum kl_plan_init)which;
	if (json_object_get(value, "align") &&
	    (err = kl_spot_int(&scratch->align, &align, json_object_get(value, "align"), 1,
			       MAX_ALIGN)) < 0)
		return err;
	if (scratch->align & (scratch->align - 1))
		return kl_spot_error(&align, "%lld is no power of two", (long long)scratch->align);
	plan->nscratch++;
	return json_object_get(value, "bytes") && !json_object_get(value, "dtype") ?
		       parse_bytes(scratch, plan, at, value) :
		       parse_shape(scratch, plan, at, value);
}

int kl_plan_scratch_parse(struct kl_plan *plan, const struct kl_spot *at, const json_t *item)
{
	const char *key;
	json_t *value;
	int err;

	if (!item)
		return 0;
	if ((err = kl_spot_map(at, item, KL_PLAN_MAX_SCRATCH)) < 0)
		return err;
	json_object_foreach((json_t *)(uintptr_t)item, key, value) {
		struct kl_spot here = kl_spot_key(at, key);
		bool scalar = false;

		for (size_t i = 0; i < plan->ntensor; i++)
			scalar |= plan->scalar[i].name && !strcmp(plan->scalar[i].name, key);
		if (scalar || kl_plan_find_tensor(plan, key) >= 0)
			return kl_spot_error_key(at, key, "'%s' is an argument of the contract",
						 key);
		if ((err = parse_one(plan, &here, key, value)) < 0)
			return err;
	}
	return 0;
}

static int resolve_one(struct plan_point *pt, size_t i, const struct kl_spot *at)
{
	const struct plan_scratch *scratch = &pt->p->scratch[i];
	struct kl_plan_scratch *out = &pt->at->scratch[i];
	bool bytes = scratch->in_bytes;
	struct kl_spot shape = kl_spot_key(at, bytes ? "bytes" : "shape");

	memcpy(out->name, scratch->name, sizeof(out->name));
	out->init = scratch->init;
	out->align = scratch->align;
	out->bytes = scratch->item;
	for (size_t k = 0; k < scratch->naxes; k++) {
		struct kl_spot axis = bytes ? shape : kl_spot_item(&shape, k);
		int64_t n;
		int err = kl_plan_eval_in(&n, pt, &axis, scratch->shape[k], 1, KL_TENSOR_MAX_BYTES,
					  bytes ? "a size in bytes" : "an extent");

		if (err < 0)
			return err;
		if (__builtin_mul_overflow(out->bytes, n, &out->bytes) ||
		    out->bytes > KL_TENSOR_MAX_BYTES)
			return kl_spot_error(&axis, "the scratch takes more than 2^40 bytes");
	}
	return 0;
}

int kl_plan_scratch_resolve(struct plan_point *pt)
{
	struct kl_spot top = { .place = pt->place }, all = kl_spot_key(&top, "scratch");
	int64_t sum = 0;

	pt->at->nscratch = pt->p->nscratch;
	for (size_t i = 0; i < pt->p->nscratch; i++) {
		struct kl_spot at = kl_spot_key(&all, pt->p->scratch[i].name);
		int err = resolve_one(pt, i, &at);

		if (err < 0)
			return err;
		sum += pt->at->scratch[i].bytes;
		if (sum > KL_TENSOR_MAX_BYTES)
			return kl_spot_error(&at,
					     "the scratch of this plan takes more than 2^40 bytes "
					     "together");
	}
	return 0;
}
