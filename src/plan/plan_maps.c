/* SPDX-License-Identifier: Apache-2.0 */
/* plan_maps - tensor maps of a plan, parsed and resolved */
#include <string.h>

#include "plan/plan_parts.h"

/* Values of CUtensorMapDataType, and what they take. */
/* clang-format off */
static const struct { const char *name; int value, size; bool is_float; } dtypes[] = {
	{ "u8", 0, 1, false }, { "i8", 0, 1, false }, { "u16", 1, 2, false }, { "i16", 1, 2, false },
	{ "u32", 2, 4, false }, { "i32", 3, 4, false }, { "u64", 4, 8, false }, { "i64", 5, 8, false },
	{ "f16", 6, 2, true }, { "f32", 7, 4, true }, { "f64", 8, 8, true }, { "bf16", 9, 2, true },
	{ "f32-ftz", 10, 4, true }, { "tf32", 11, 4, true }, { "tf32-ftz", 12, 4, true },
};
/* clang-format on */

/* In the order of the CUDA enums. */
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

static int parse_dtype(int *out, const struct kl_spot *up, const json_t *value)
{
	const char *words[KL_ARRAY_SIZE(dtypes) + 1] = { NULL };
	struct kl_spot at = kl_spot_key(up, "dtype");

	for (size_t i = 0; i < KL_ARRAY_SIZE(dtypes); i++)
		words[i] = dtypes[i].name;
	return kl_spot_choice(out, &at, json_object_get(value, "dtype"), words);
}

static int parse_list(struct kl_expr **out, const struct kl_plan *plan, const struct kl_spot *up,
		      const json_t *value, const char *key, size_t n)
{
	struct kl_spot at = kl_spot_key(up, key);
	struct kl_expr_names names = kl_plan_expr_names(plan);
	const json_t *list = json_object_get(value, key);
	int err = kl_spot_list(&at, list, n, n);

	for (size_t i = 0; !err && i < n; i++) {
		struct kl_spot here = kl_spot_item(&at, i);

		err = kl_spot_expr(&out[i], &here, json_array_get(list, i), &names);
	}
	return err;
}

static int parse_expr(struct kl_expr **out, const struct kl_plan *plan, const struct kl_spot *up,
		      const json_t *value, const char *key)
{
	struct kl_spot at = kl_spot_key(up, key);
	struct kl_expr_names names = kl_plan_expr_names(plan);

	return kl_spot_expr(out, &at, json_object_get(value, key), &names);
}

static int parse_word(int *out, const struct kl_spot *up, const json_t *value, const char *key,
		      const char *const *words)
{
	struct kl_spot at = kl_spot_key(up, key);

	return json_object_get(value, key) ?
		       kl_spot_choice(out, &at, json_object_get(value, key), words) :
		       0;
}

static int parse_of(struct plan_map *map, const struct kl_plan *plan, const struct kl_spot *up,
		    const json_t *value)
{
	struct kl_spot at = kl_spot_key(up, "of");
	enum kl_plan_arg_kind kind;
	const char *text;
	int err;

	if ((err = kl_spot_text(&text, &at, json_object_get(value, "of"), 63)) < 0 ||
	    (err = kl_plan_find_memory(&kind, &map->of, &at, plan, text)) < 0)
		return err;
	map->of_scratch = kind == KL_PLAN_SCRATCH;
	return json_object_get(value, "offset") ?
		       parse_expr(&map->offset, plan, up, value, "offset") :
		       0;
}

static int parse_rank(struct plan_map *map, const struct kl_spot *up, const json_t *value)
{
	struct kl_spot at = kl_spot_key(up, "dims");
	int err = kl_spot_list(&at, json_object_get(value, "dims"),
			       map->kind == KL_PLAN_IM2COL ? 3 : 1, 5);

	map->rank = (int)json_array_size(json_object_get(value, "dims"));
	return err;
}

static int parse_fields(struct plan_map *map, const struct kl_plan *plan, const struct kl_spot *at,
			const json_t *value)
{
	size_t rank = (size_t)map->rank;
	int err;

	if ((err = parse_list(map->dim, plan, at, value, "dims", rank)) < 0 ||
	    (err = parse_list(map->stride, plan, at, value, "strides", rank - 1)) < 0 ||
	    (json_object_get(value, "elem") &&
	     (err = parse_list(map->elem, plan, at, value, "elem", rank)) < 0))
		return err;
	if (map->kind == KL_PLAN_TILED)
		return parse_list(map->box, plan, at, value, "box", rank);
	if ((err = parse_list(map->lower, plan, at, value, "lower", rank - 2)) < 0 ||
	    (err = parse_list(map->upper, plan, at, value, "upper", rank - 2)) < 0 ||
	    (err = parse_expr(&map->channels, plan, at, value, "channels")) < 0)
		return err;
	return parse_expr(&map->pixels, plan, at, value, "pixels");
}

/* What does not depend on numbers. */
static int check_words(const struct plan_map *map, const struct kl_spot *at)
{
	struct kl_spot swizzle = kl_spot_key(at, "swizzle"), oob = kl_spot_key(at, "oob");
	struct kl_spot interleave = kl_spot_key(at, "interleave");

	if (map->interleave != INTERLEAVE_NONE && map->rank < 3)
		return kl_spot_error(&interleave,
				     "an interleaved map has at least 3 dims, this has %d",
				     map->rank);
	if (map->interleave == INTERLEAVE_32B && map->swizzle != SWIZZLE_32B)
		return kl_spot_error(&swizzle, "interleave 32B goes with swizzle 32B alone");
	if (map->oob && !dtypes[map->dtype].is_float)
		return kl_spot_error(&oob, "'nan' is for floats, not for %s",
				     dtypes[map->dtype].name);
	return 0;
}

static int parse_one(struct kl_plan *plan, const struct kl_spot *at, const char *name,
		     const json_t *value)
{
	static const char *const tiled[] = { "kind", "of",     "dtype", "dims",       "strides",
					     "box",  "offset", "elem",  "interleave", "swizzle",
					     "l2",   "oob",    NULL };
	static const char *const im2col[] = { "kind",    "of",     "dtype", "dims",
					      "strides", "lower",  "upper", "channels",
					      "pixels",  "offset", "elem",  "interleave",
					      "swizzle", "l2",     "oob",   NULL };
	struct plan_map *map = &plan->map[plan->nmap];
	int kind = 0, err;

	if (!json_is_object(value))
		return kl_spot_error(at, "a map {key: value} is needed here");
	if (!json_object_get(value, "kind"))
		return kl_spot_error(at, "'kind' is missing");
	if ((err = parse_word(&kind, at, value, "kind", kinds)) < 0)
		return err;
	map->kind = (enum kl_plan_map_kind)kind;
	memcpy(map->name, name, strlen(name) + 1);
	plan->nmap++;
	if ((err = kl_spot_keys(at, value, kind ? im2col : tiled, kind ? 9 : 6)) < 0 ||
	    (err = parse_of(map, plan, at, value)) < 0 ||
	    (err = parse_dtype(&map->dtype, at, value)) < 0 ||
	    (err = parse_rank(map, at, value)) < 0 ||
	    (err = parse_fields(map, plan, at, value)) < 0 ||
	    (err = parse_word(&map->interleave, at, value, "interleave", interleaves)) < 0 ||
	    (err = parse_word(&map->swizzle, at, value, "swizzle", swizzles)) < 0 ||
	    (err = parse_word(&map->l2, at, value, "l2", l2s)) < 0 ||
	    (err = parse_word(&map->oob, at, value, "oob", oobs)) < 0)
		return err;
	return check_words(map, at);
}

int kl_plan_maps_parse(struct kl_plan *plan, const struct kl_spot *at, const json_t *item)
{
	const char *key;
	json_t *value;
	int err;

	if (!item)
		return 0;
	if ((err = kl_spot_map(at, item, KL_PLAN_MAX_MAPS)) < 0)
		return err;
	json_object_foreach((json_t *)(uintptr_t)item, key, value) {
		struct kl_spot here = kl_spot_key(at, key);

		if ((err = parse_one(plan, &here, key, value)) < 0)
			return err;
	}
	return 0;
}

static void release_exprs(struct kl_expr **exprs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		kl_expr_free(exprs[i]);
}

void kl_plan_maps_release(struct kl_plan *plan)
{
	for (size_t i = 0; i < plan->nmap; i++) {
		struct plan_map *map = &plan->map[i];

		release_exprs(map->dim, KL_ARRAY_SIZE(map->dim));
		release_exprs(map->stride, KL_ARRAY_SIZE(map->stride));
		release_exprs(map->box, KL_ARRAY_SIZE(map->box));
		release_exprs(map->elem, KL_ARRAY_SIZE(map->elem));
		release_exprs(map->lower, KL_ARRAY_SIZE(map->lower));
		release_exprs(map->upper, KL_ARRAY_SIZE(map->upper));
		kl_expr_free(map->offset);
		kl_expr_free(map->channels);
		kl_expr_free(map->pixels);
	}
}

/* --- resolving ---------------------------------------------------------------- */

/* A map while it is resolved. */
struct resolving {
	const struct plan_point *pt;
	const struct plan_map *m;
	struct kl_plan_map *out;
	const struct kl_spot *at;
	int64_t size; /* bytes of an element */
};

static int eval_item(int64_t *out, const struct resolving *resolving, const char *key, size_t i,
		     const struct kl_expr *expr, int64_t min, int64_t max)
{
	struct kl_spot list = kl_spot_key(resolving->at, key), at = kl_spot_item(&list, i);

	return kl_plan_eval_in(out, resolving->pt, &at, expr, min, max, key);
}

static int resolve_extent(struct resolving *resolving)
{
	int64_t unit = resolving->m->interleave == INTERLEAVE_32B ? 32 : 16, value;
	struct kl_spot list = kl_spot_key(resolving->at, "strides");
	int err;

	for (size_t i = 0; i < (size_t)resolving->m->rank; i++) {
		if ((err = eval_item(&value, resolving, "dims", i, resolving->m->dim[i], 1,
				     1LL << 32)) < 0)
			return err;
		resolving->out->dim[i] = (uint64_t)value;
	}
	for (size_t i = 0; i + 1 < (size_t)resolving->m->rank; i++) {
		struct kl_spot at = kl_spot_item(&list, i);

		if ((err = eval_item(&value, resolving, "strides", i, resolving->m->stride[i], unit,
				     (1LL << 40) - 1)) < 0)
			return err;
		if (value % unit)
			return kl_spot_error(&at, "a stride of %lld bytes is no multiple of %lld",
					     (long long)value, (long long)unit);
		resolving->out->stride[i] = (uint64_t)value;
	}
	return 0;
}

static int check_inner(const struct resolving *resolving, const struct kl_spot *at, int64_t inner)
{
	int span = swizzle_span[resolving->m->swizzle];

	if (resolving->m->interleave != INTERLEAVE_NONE)
		return 0;
	if (resolving->m->kind == KL_PLAN_TILED && inner % 16)
		return kl_spot_error(
			at,
			"the inner side of the box has %lld bytes: it must be a multiple "
			"of 16",
			(long long)inner);
	if (span && inner > span)
		return kl_spot_error(
			at,
			"the inner side of the box has %lld bytes, swizzle %s takes at "
			"most %d",
			(long long)inner, swizzles[resolving->m->swizzle], span);
	return 0;
}

static int resolve_box(struct resolving *resolving)
{
	struct kl_spot list = kl_spot_key(resolving->at, "box"), first = kl_spot_item(&list, 0);

	for (size_t i = 0; i < (size_t)resolving->m->rank; i++) {
		int64_t value;
		int err = eval_item(&value, resolving, "box", i, resolving->m->box[i], 1, 256);

		if (err < 0)
			return err;
		resolving->out->box[i] = (uint32_t)value;
	}
	return check_inner(resolving, &first, resolving->out->box[0] * resolving->size);
}

static int resolve_corners(struct resolving *resolving)
{
	/* bits of a corner's coordinate, by how many there are */
	static const int64_t reach[] = { 0, 1 << 15, 1 << 7, 1 << 4 };
	size_t n = (size_t)resolving->m->rank - 2;
	struct kl_spot list = kl_spot_key(resolving->at, "upper");

	for (size_t i = 0; i < n; i++) {
		struct kl_spot at = kl_spot_item(&list, i);
		int64_t low, up;
		int err;

		if ((err = eval_item(&low, resolving, "lower", i, resolving->m->lower[i], -reach[n],
				     reach[n] - 1)) < 0 ||
		    (err = eval_item(&up, resolving, "upper", i, resolving->m->upper[i], -reach[n],
				     reach[n] - 1)) < 0)
			return err;
		resolving->out->lower[i] = (int)low;
		resolving->out->upper[i] = (int)up;
		if ((int64_t)resolving->out->dim[i + 1] + up - low < 1)
			return kl_spot_error(&at,
					     "the box from %lld to %lld beyond the end is empty",
					     (long long)low, (long long)up);
	}
	return 0;
}

static int resolve_im2col(struct resolving *resolving)
{
	struct kl_spot channels = kl_spot_key(resolving->at, "channels"),
		       pixels = kl_spot_key(resolving->at, "pixels");
	int64_t column, at;
	int err;

	if ((err = resolve_corners(resolving)) < 0 ||
	    (err = kl_plan_eval_in(&column, resolving->pt, &channels, resolving->m->channels, 1,
				   256, "channels")) < 0 ||
	    (err = kl_plan_eval_in(&at, resolving->pt, &pixels, resolving->m->pixels, 1, 1024,
				   "pixels")) < 0)
		return err;
	resolving->out->channels = (uint32_t)column;
	resolving->out->pixels = (uint32_t)at;
	return check_inner(resolving, &channels, column * resolving->size);
}

static int resolve_elem(struct resolving *resolving)
{
	for (size_t i = 0; i < (size_t)resolving->m->rank; i++) {
		int64_t value = 1;
		int err = resolving->m->elem[i] ? eval_item(&value, resolving, "elem", i,
							    resolving->m->elem[i], 1, 8) :
						  0;

		if (err < 0)
			return err;
		resolving->out->elem[i] = (uint32_t)value;
	}
	return 0;
}

/*
 * How far the map reaches: the last element of every dim, since what lies beyond is cut
 * off. An interleaved layout is not computed; the guards around each buffer see to it.
 */
static int resolve_reach(struct resolving *resolving)
{
	struct kl_spot offset = kl_spot_key(resolving->at, "offset"),
		       dims = kl_spot_key(resolving->at, "dims");
	int64_t bytes = kl_plan_memory_bytes(resolving->pt, resolving->m->of_scratch,
					     resolving->m->of),
		end;
	int64_t unit = resolving->m->interleave == INTERLEAVE_32B ? 32 : 16;
	int err = kl_plan_eval(&resolving->out->offset, resolving->pt, &offset,
			       resolving->m->offset, 0);

	if (err < 0)
		return err;
	if (resolving->out->offset < 0 || resolving->out->offset >= bytes ||
	    resolving->out->offset % unit)
		return kl_spot_error(
			&offset,
			"an offset of %lld in %lld bytes: it must lie within, and be a "
			"multiple of %lld",
			(long long)resolving->out->offset, (long long)bytes, (long long)unit);
	if (resolving->m->interleave != INTERLEAVE_NONE)
		return 0;
	/* factors are below 2^33 and 2^40 */
	if (__builtin_mul_overflow((int64_t)resolving->out->dim[0], resolving->size,
				   &resolving->out->span))
		return kl_spot_error(&dims, "the map reaches beyond 64 bits");
	for (int i = 1; i < resolving->m->rank; i++) {
		int64_t more;

		if (__builtin_mul_overflow((int64_t)resolving->out->dim[i] - 1,
					   (int64_t)resolving->out->stride[i - 1], &more) ||
		    __builtin_add_overflow(resolving->out->span, more, &resolving->out->span))
			return kl_spot_error(&dims, "the map reaches beyond 64 bits");
	}
	if (__builtin_add_overflow(resolving->out->offset, resolving->out->span, &end) ||
	    end > bytes)
		return kl_spot_error(
			&dims, "the map reaches %lld bytes from byte %lld, the %s has %lld",
			(long long)resolving->out->span, (long long)resolving->out->offset,
			resolving->m->of_scratch ? "scratch" : "tensor", (long long)bytes);
	return 0;
}

static int check_device(const struct resolving *resolving)
{
	struct kl_spot swizzle = kl_spot_key(resolving->at, "swizzle");
	int64_t cc = resolving->pt->facts->cc;

	if (cc < 90)
		return kl_spot_fail(resolving->at, KL_ECANNOT,
				    "tensor maps need compute capability 9.0, here is "
				    "%lld.%lld",
				    (long long)cc / 10, (long long)cc % 10);
	if (resolving->m->swizzle >= FIRST_ATOM && cc < 100)
		return kl_spot_fail(&swizzle, KL_ECANNOT,
				    "swizzle %s needs compute capability 10.0, here is "
				    "%lld.%lld",
				    swizzles[resolving->m->swizzle], (long long)cc / 10,
				    (long long)cc % 10);
	return 0;
}

static int resolve_one(struct resolving *resolving)
{
	const struct plan_map *map = resolving->m;
	struct kl_plan_map *out = resolving->out;
	int err;

	memcpy(out->name, map->name, sizeof(out->name));
	out->kind = map->kind;
	out->of_scratch = map->of_scratch;
	out->of = map->of;
	out->dtype = dtypes[map->dtype].value;
	out->rank = map->rank;
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
	struct kl_spot top = { .place = pt->place }, all = kl_spot_key(&top, "maps");

	pt->at->nmap = pt->p->nmap;
	for (size_t i = 0; i < pt->p->nmap; i++) {
		const struct plan_map *map = &pt->p->map[i];
		struct kl_spot at = kl_spot_key(&all, map->name);
		struct resolving resolving = {
			.pt = pt,
			.m = map,
			.out = &pt->at->map[i],
			.at = &at,
			.size = dtypes[map->dtype].size,
		};
		int err = resolve_one(&resolving);

		if (err < 0)
			return err;
	}
	return 0;
}
