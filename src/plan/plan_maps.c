/* SPDX-License-Identifier: Apache-2.0 */
/* plan_maps - parses and resolves the tensor maps of a plan */
#include <string.h>

#include "plan/plan_parts.h"

/* Element types: name, CUtensorMapDataType, bytes of an element, and whether it is a float. */
/* clang-format off */
static const struct { const char *name; int value, size; bool is_float; } dtypes[] = {
	{ "u8", 0, 1, false }, { "i8", 0, 1, false }, { "u16", 1, 2, false }, { "i16", 1, 2, false },
	{ "u32", 2, 4, false }, { "i32", 3, 4, false }, { "u64", 4, 8, false }, { "i64", 5, 8, false },
	{ "f16", 6, 2, true }, { "f32", 7, 4, true }, { "f64", 8, 8, true }, { "bf16", 9, 2, true },
	{ "f32-ftz", 10, 4, true }, { "tf32", 11, 4, true }, { "tf32-ftz", 12, 4, true },
};
/* clang-format on */

/* Words that the fields can have, in the order of the CUDA enums. */
static const char *const kinds[] = { "tiled", "im2col", NULL };
static const char *const interleaves[] = { "none", "16B", "32B", NULL };
static const char *const swizzles[] = { "none",          "32B",
					"64B",           "128B",
					"128B-atom-32B", "128B-atom-32B-flip-8B",
					"128B-atom-64B", NULL };
static const int swizzle_span[] = { 0, 32, 64, 128, 128, 128, 128 };
static const char *const l2s[] = { "none", "64B", "128B", "256B", NULL };
static const char *const oobs[] = { "zero", "nan", NULL };

enum { INTERLEAVE_NONE, INTERLEAVE_16B, INTERLEAVE_32B };
#define SWIZZLE_32B 1
#define FIRST_ATOM 4

/* --- parsing ---------------------------------------------------------------- */

static int read_of(void *at, const char *file, const struct kl_field *field,
		   const struct kl_yaml *node)
{
	struct plan_map *map = at;
	enum kl_plan_arg_kind kind;
	int err = kl_plan_read_memory(&kind, &map->of, &map->part, field, node);

	map->of_scratch = kind == KL_PLAN_SCRATCH;
	return err;
}

static int read_dtype(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	const char *words[KL_ARRAY_SIZE(dtypes) + 1] = { NULL };
	const struct kl_field word = KL_WORD_FIELD(field->key, 0, 0, words);

	for (size_t i = 0; i < KL_ARRAY_SIZE(dtypes); i++)
		words[i] = dtypes[i].name;
	return kl_schema_read_value(at, file, &word, node);
}

/*
 * Return the number of entries that a list must have: the number of dims of the map, one fewer for
 * `strides`, two fewer for `lower` and `upper`.
 */
static size_t count_needed(const struct plan_map *map, const char *key)
{
	bool stride = !strcmp(key, "strides"),
	     corner = !strcmp(key, "lower") || !strcmp(key, "upper");

	return map->dim.n - stride - 2 * corner;
}

/* Read a list of expressions and check the number of entries. */
static int read_counted(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	size_t n = count_needed(kl_schema_owner(at, field), field->key);

	if (node->kind == KL_YAML_SEQ && node->n != n)
		return kl_yaml_error(file, node, "'%s' has %zu %s, but must have %zu", field->key,
				     node->n, node->n == 1 ? "entry" : "entries", n);
	return kl_plan_exprs_value.read(at, file, field, node);
}

static void release_counted(void *at)
{
	kl_plan_exprs_value.release(at);
}

static const struct kl_value_type of_value = { .read = read_of };
static const struct kl_value_type dtype_value = { .read = read_dtype };
static const struct kl_value_type counted_value = { .read = read_counted,
						    .release = release_counted };

#define AT(m) offsetof(struct plan_map, m)
/* clang-format off */
#define FIRST_FIELDS(least_dims) \
	KL_VALUE_FIELD("kind", KL_NEEDED, 0, &kl_value_known), \
	KL_VALUE_FIELD("of", KL_NEEDED, 0, &of_value), \
	KL_VALUE_FIELD("dtype", KL_NEEDED, AT(dtype), &dtype_value), \
	KL_VALUES_FIELD("dims", KL_NEEDED, AT(dim), &kl_plan_exprs_value, least_dims, 5), \
	KL_VALUE_FIELD("strides", KL_NEEDED, AT(stride), &counted_value)
#define LAST_FIELDS \
	KL_VALUE_FIELD("offset", 0, AT(offset), &kl_plan_expr_value), \
	KL_VALUE_FIELD("elem", 0, AT(elem), &counted_value), \
	KL_WORD_FIELD("interleave", 0, AT(interleave), interleaves), \
	KL_WORD_FIELD("swizzle", 0, AT(swizzle), swizzles), \
	KL_WORD_FIELD("l2", 0, AT(l2), l2s), \
	KL_WORD_FIELD("oob", 0, AT(oob), oobs), \
	KL_FIELDS_END
/* clang-format on */

static const struct kl_field kind_field = KL_WORD_FIELD("kind", KL_NEEDED, AT(kind), kinds);
static const struct kl_field tiled_fields[] = {
	FIRST_FIELDS(1),
	KL_VALUE_FIELD("box", KL_NEEDED, AT(box), &counted_value),
	LAST_FIELDS,
};
static const struct kl_field im2col_fields[] = {
	FIRST_FIELDS(3),
	KL_VALUE_FIELD("lower", KL_NEEDED, AT(lower), &counted_value),
	KL_VALUE_FIELD("upper", KL_NEEDED, AT(upper), &counted_value),
	KL_VALUE_FIELD("channels", KL_NEEDED, AT(channels), &kl_plan_expr_value),
	KL_VALUE_FIELD("pixels", KL_NEEDED, AT(pixels), &kl_plan_expr_value),
	LAST_FIELDS,
};
#undef AT

/* indexed by enum kl_plan_map_kind */
static const struct kl_schema schemas[] = {
	{ "a tiled map", sizeof(struct plan_map), tiled_fields, NULL, NULL, NULL },
	{ "an im2col map", sizeof(struct plan_map), im2col_fields, NULL, NULL, NULL },
};

/* Check the words of a map, which do not depend on the values of expressions. */
static int check_words(const struct plan_map *map)
{
	const char *file = map->part.plan->file;

	if (map->interleave != INTERLEAVE_NONE && map->dim.n < 3)
		return kl_yaml_error(
			file, kl_plan_key_node(&map->part, "interleave"),
			"an interleaved map must have at least 3 dims, but this one has %zu",
			map->dim.n);
	if (map->interleave == INTERLEAVE_32B && map->swizzle != SWIZZLE_32B)
		return kl_yaml_error(file, kl_plan_key_node(&map->part, "swizzle"),
				     "'interleave: 32B' requires 'swizzle: 32B'");
	if (map->oob && !dtypes[map->dtype].is_float)
		return kl_yaml_error(file, kl_plan_key_node(&map->part, "oob"),
				     "'oob: nan' is only for floats, not for %s",
				     dtypes[map->dtype].name);
	return 0;
}

static int read_one(struct kl_plan *plan, const char *name, const struct kl_yaml *node)
{
	struct plan_map *map = &plan->map[plan->nmap];
	int err = kl_schema_peek(map, "a tensor map", plan->file, &kind_field, node);

	if (err < 0)
		return err;
	map->part = (struct plan_part){ plan, node };
	memcpy(map->name, name, strlen(name) + 1);
	plan->nmap++;
	err = kl_plan_read(map, &schemas[map->kind], plan->file, node);
	return err < 0 ? err : check_words(map);
}

static int read_maps(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	int err = kl_plan_check_map(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++)
		err = read_one(at, node->key[i], node->item[i]);
	return err;
}

static void release_maps(void *at)
{
	struct kl_plan *plan = at;

	for (size_t i = 0; i < plan->nmap; i++)
		kl_schema_release(&plan->map[i], &schemas[plan->map[i].kind]);
}

const struct kl_value_type kl_plan_maps_value = { .read = read_maps, .release = release_maps };

/* --- resolving ---------------------------------------------------------------- */

/* A map while it is resolved. */
struct resolving {
	const struct plan_point *pt;
	const struct plan_map *map;
	struct kl_plan_map *out;
	const char *file;
	int64_t size; /* bytes of an element */
};

static int resolve_extent(struct resolving *resolving)
{
	const struct plan_map *map = resolving->map;
	int64_t unit = map->interleave == INTERLEAVE_32B ? 32 : 16, value;
	int err;

	for (size_t i = 0; i < map->dim.n; i++) {
		if ((err = kl_plan_eval_in(&value, resolving->pt, &map->dim.v[i], 1, 1LL << 32,
					   "dims")) < 0)
			return err;
		resolving->out->dim[i] = (uint64_t)value;
	}
	for (size_t i = 0; i < map->stride.n; i++) {
		if ((err = kl_plan_eval_in(&value, resolving->pt, &map->stride.v[i], unit,
					   (1LL << 40) - 1, "strides")) < 0)
			return err;
		if (value % unit)
			return kl_yaml_error(resolving->file, map->stride.v[i].node,
					     "a stride of %lld bytes is not a multiple of %lld",
					     (long long)value, (long long)unit);
		resolving->out->stride[i] = (uint64_t)value;
	}
	return 0;
}

static int check_inner(const struct resolving *resolving, const struct kl_yaml *node, int64_t inner)
{
	const struct plan_map *map = resolving->map;
	int span = swizzle_span[map->swizzle];

	if (map->interleave != INTERLEAVE_NONE)
		return 0;
	if (map->kind == KL_PLAN_TILED && inner % 16)
		return kl_yaml_error(
			resolving->file, node,
			"the innermost extent of the box is %lld bytes, but must be a multiple of "
			"16",
			(long long)inner);
	if (span && inner > span)
		return kl_yaml_error(
			resolving->file, node,
			"the innermost extent of the box is %lld bytes, but swizzle %s allows at "
			"most %d",
			(long long)inner, swizzles[map->swizzle], span);
	return 0;
}

static int resolve_box(struct resolving *resolving)
{
	const struct plan_exprs *box = &resolving->map->box;

	for (size_t i = 0; i < box->n; i++) {
		int64_t value;
		int err = kl_plan_eval_in(&value, resolving->pt, &box->v[i], 1, 256, "box");

		if (err < 0)
			return err;
		resolving->out->box[i] = (uint32_t)value;
	}
	return check_inner(resolving, box->v[0].node, resolving->out->box[0] * resolving->size);
}

static int resolve_corners(struct resolving *resolving)
{
	/* a corner has n coordinates, each of which must be from -reach[n] to reach[n] - 1 */
	static const int64_t reach[] = { 0, 1 << 15, 1 << 7, 1 << 4 };
	const struct plan_exprs *lower = &resolving->map->lower, *upper = &resolving->map->upper;
	struct kl_plan_map *out = resolving->out;
	int64_t most = reach[lower->n];

	for (size_t i = 0; i < lower->n; i++) {
		int64_t low, up;
		int err;

		if ((err = kl_plan_eval_in(&low, resolving->pt, &lower->v[i], -most, most - 1,
					   "lower")) < 0 ||
		    (err = kl_plan_eval_in(&up, resolving->pt, &upper->v[i], -most, most - 1,
					   "upper")) < 0)
			return err;
		out->lower[i] = (int)low;
		out->upper[i] = (int)up;
		if ((int64_t)out->dim[i + 1] + up - low < 1)
			return kl_yaml_error(
				resolving->file, upper->v[i].node,
				"the bounding box is empty: it goes from 'lower' %lld to 'upper' "
				"%lld",
				(long long)low, (long long)up);
	}
	return 0;
}

static int resolve_im2col(struct resolving *resolving)
{
	const struct plan_map *map = resolving->map;
	int64_t column, at;
	int err;

	if ((err = resolve_corners(resolving)) < 0 ||
	    (err = kl_plan_eval_in(&column, resolving->pt, &map->channels, 1, 256, "channels")) <
		    0 ||
	    (err = kl_plan_eval_in(&at, resolving->pt, &map->pixels, 1, 1024, "pixels")) < 0)
		return err;
	resolving->out->channels = (uint32_t)column;
	resolving->out->pixels = (uint32_t)at;
	return check_inner(resolving, map->channels.node, column * resolving->size);
}

static int resolve_elem(struct resolving *resolving)
{
	const struct plan_exprs *elem = &resolving->map->elem;

	for (size_t i = 0; i < resolving->map->dim.n; i++) {
		int64_t value = 1;
		int err = elem->node ? kl_plan_eval_in(&value, resolving->pt, &elem->v[i], 1, 8,
						       "elem") :
				       0;

		if (err < 0)
			return err;
		resolving->out->elem[i] = (uint32_t)value;
	}
	return 0;
}

static int resolve_offset(struct resolving *resolving, int64_t bytes)
{
	const struct plan_map *map = resolving->map;
	int64_t unit = map->interleave == INTERLEAVE_32B ? 32 : 16;
	int64_t *offset = &resolving->out->offset;
	int err = kl_plan_eval(offset, resolving->pt, &map->offset, 0);

	if (err < 0)
		return err;
	if (*offset < 0 || *offset >= bytes || *offset % unit)
		return kl_yaml_error(
			resolving->file, kl_plan_key_node(&map->part, "offset"),
			"the offset %lld must be within the %lld bytes of the memory and a "
			"multiple of %lld",
			(long long)*offset, (long long)bytes, (long long)unit);
	return 0;
}

/* Set out->span to the bytes from the start of the map to its end. Return false on overflow. */
static bool compute_span(struct kl_plan_map *out, int64_t size)
{
	/* the dims are at most 2^32 and the strides below 2^40, so a product can overflow */
	if (__builtin_mul_overflow((int64_t)out->dim[0], size, &out->span))
		return false;
	for (int i = 1; i < out->rank; i++) {
		int64_t more;

		if (__builtin_mul_overflow((int64_t)out->dim[i] - 1, (int64_t)out->stride[i - 1],
					   &more) ||
		    __builtin_add_overflow(out->span, more, &out->span))
			return false;
	}
	return true;
}

/*
 * Check that the map stays inside its memory. Only elements within the dims count, because the
 * hardware clips accesses beyond the dims. Interleaved layouts are not checked here; the guards
 * around each buffer detect an overrun.
 */
static int resolve_reach(struct resolving *resolving)
{
	const struct plan_map *map = resolving->map;
	struct kl_plan_map *out = resolving->out;
	int64_t bytes = kl_plan_memory_bytes(resolving->pt, map->of_scratch, map->of), end;
	int err = resolve_offset(resolving, bytes);

	if (err < 0 || map->interleave != INTERLEAVE_NONE)
		return err;
	if (!compute_span(out, resolving->size))
		return kl_yaml_error(resolving->file, map->dim.node,
				     "the size of the map does not fit into 64 bits");
	if (__builtin_add_overflow(out->offset, out->span, &end) || end > bytes)
		return kl_yaml_error(
			resolving->file, map->dim.node,
			"the map covers %lld bytes from byte %lld, but the %s has only %lld",
			(long long)out->span, (long long)out->offset,
			map->of_scratch ? "scratch" : "tensor", (long long)bytes);
	return 0;
}

static int check_device(const struct resolving *resolving)
{
	const struct plan_map *map = resolving->map;
	KL_AUTO(kl_freep) char *what = kl_asprintf("swizzle %s needs", swizzles[map->swizzle]);
	int err = kl_plan_need_cc(resolving->pt, map->part.node, 90, "tensor maps need");

	if (err < 0 || map->swizzle < FIRST_ATOM)
		return err;
	return kl_plan_need_cc(resolving->pt, kl_plan_key_node(&map->part, "swizzle"), 100, what);
}

static int resolve_one(struct resolving *resolving)
{
	const struct plan_map *map = resolving->map;
	struct kl_plan_map *out = resolving->out;
	int err;

	memcpy(out->name, map->name, sizeof(out->name));
	out->kind = (enum kl_plan_map_kind)map->kind;
	out->of_scratch = map->of_scratch;
	out->of = map->of;
	out->dtype = dtypes[map->dtype].value;
	out->rank = (int)map->dim.n;
	out->interleave = map->interleave;
	out->swizzle = map->swizzle;
	out->l2 = map->l2;
	out->oob = map->oob;
	if ((err = check_device(resolving)) < 0 || (err = resolve_extent(resolving)) < 0 ||
	    (err = resolve_elem(resolving)) < 0)
		return err;
	err = map->kind == KL_PLAN_TILED ? resolve_box(resolving) : resolve_im2col(resolving);
	return err < 0 ? err : resolve_reach(resolving);
}

int kl_plan_maps_resolve(struct plan_point *pt)
{
	const struct kl_plan *plan = pt->p;

	pt->at->nmap = plan->nmap;
	for (size_t i = 0; i < plan->nmap; i++) {
		struct resolving resolving = {
			.pt = pt,
			.map = &plan->map[i],
			.out = &pt->at->map[i],
			.file = plan->file,
			.size = dtypes[plan->map[i].dtype].size,
		};
		int err = resolve_one(&resolving);

		if (err < 0)
			return err;
	}
	return 0;
}
