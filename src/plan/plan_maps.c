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

static int parse_dtype(int *out, const struct kl_spot *up, const json_t *v)
{
	const char *words[KL_ARRAY_SIZE(dtypes) + 1] = { NULL };
	struct kl_spot at = kl_spot_key(up, "dtype");

	for (size_t i = 0; i < KL_ARRAY_SIZE(dtypes); i++)
		words[i] = dtypes[i].name;
	return kl_spot_choice(out, &at, json_object_get(v, "dtype"), words);
}

static int parse_list(struct kl_expr **out, const struct kl_plan *p, const struct kl_spot *up,
		      const json_t *v, const char *key, size_t n)
{
	struct kl_spot at = kl_spot_key(up, key);
	struct kl_expr_names names = kl_plan_expr_names(p);
	const json_t *list = json_object_get(v, key);
	int err = kl_spot_list(&at, list, n, n);

	for (size_t i = 0; !err && i < n; i++) {
		struct kl_spot here = kl_spot_item(&at, i);

		err = kl_spot_expr(&out[i], &here, json_array_get(list, i), &names);
	}
	return err;
}

static int parse_expr(struct kl_expr **out, const struct kl_plan *p, const struct kl_spot *up,
		      const json_t *v, const char *key)
{
	struct kl_spot at = kl_spot_key(up, key);
	struct kl_expr_names names = kl_plan_expr_names(p);

	return kl_spot_expr(out, &at, json_object_get(v, key), &names);
}

static int parse_word(int *out, const struct kl_spot *up, const json_t *v, const char *key,
		      const char *const *words)
{
	struct kl_spot at = kl_spot_key(up, key);

	return json_object_get(v, key) ? kl_spot_choice(out, &at, json_object_get(v, key), words) :
					 0;
}

static int parse_of(struct plan_map *m, const struct kl_plan *p, const struct kl_spot *up,
		    const json_t *v)
{
	struct kl_spot at = kl_spot_key(up, "of");
	enum kl_plan_arg_kind kind;
	const char *s;
	int err;

	if ((err = kl_spot_text(&s, &at, json_object_get(v, "of"), 63)) < 0 ||
	    (err = kl_plan_find_memory(&kind, &m->of, &at, p, s)) < 0)
		return err;
	m->of_scratch = kind == KL_PLAN_SCRATCH;
	return json_object_get(v, "offset") ? parse_expr(&m->offset, p, up, v, "offset") : 0;
}

static int parse_rank(struct plan_map *m, const struct kl_spot *up, const json_t *v)
{
	struct kl_spot at = kl_spot_key(up, "dims");
	int err = kl_spot_list(&at, json_object_get(v, "dims"), m->kind == KL_PLAN_IM2COL ? 3 : 1,
			       5);

	m->rank = (int)json_array_size(json_object_get(v, "dims"));
	return err;
}

static int parse_fields(struct plan_map *m, const struct kl_plan *p, const struct kl_spot *at,
			const json_t *v)
{
	size_t rank = (size_t)m->rank;
	int err;

	if ((err = parse_list(m->dim, p, at, v, "dims", rank)) < 0 ||
	    (err = parse_list(m->stride, p, at, v, "strides", rank - 1)) < 0 ||
	    (json_object_get(v, "elem") && (err = parse_list(m->elem, p, at, v, "elem", rank)) < 0))
		return err;
	if (m->kind == KL_PLAN_TILED)
		return parse_list(m->box, p, at, v, "box", rank);
	if ((err = parse_list(m->lower, p, at, v, "lower", rank - 2)) < 0 ||
	    (err = parse_list(m->upper, p, at, v, "upper", rank - 2)) < 0 ||
	    (err = parse_expr(&m->channels, p, at, v, "channels")) < 0)
		return err;
	return parse_expr(&m->pixels, p, at, v, "pixels");
}

/* What does not depend on numbers. */
static int check_words(const struct plan_map *m, const struct kl_spot *at)
{
	struct kl_spot swizzle = kl_spot_key(at, "swizzle"), oob = kl_spot_key(at, "oob");
	struct kl_spot interleave = kl_spot_key(at, "interleave");

	if (m->interleave != INTERLEAVE_NONE && m->rank < 3)
		return kl_spot_error(&interleave,
				     "an interleaved map has at least 3 dims, this has %d",
				     m->rank);
	if (m->interleave == INTERLEAVE_32B && m->swizzle != SWIZZLE_32B)
		return kl_spot_error(&swizzle, "interleave 32B goes with swizzle 32B alone");
	if (m->oob && !dtypes[m->dtype].is_float)
		return kl_spot_error(&oob, "'nan' is for floats, not for %s",
				     dtypes[m->dtype].name);
	return 0;
}

static int parse_one(struct kl_plan *p, const struct kl_spot *at, const char *name, const json_t *v)
{
	static const char *const tiled[] = { "kind", "of",     "dtype", "dims",       "strides",
					     "box",  "offset", "elem",  "interleave", "swizzle",
					     "l2",   "oob",    NULL };
	static const char *const im2col[] = { "kind",    "of",     "dtype", "dims",
					      "strides", "lower",  "upper", "channels",
					      "pixels",  "offset", "elem",  "interleave",
					      "swizzle", "l2",     "oob",   NULL };
	struct plan_map *m = &p->map[p->nmap];
	int kind = 0, err;

	if (!json_is_object(v))
		return kl_spot_error(at, "a map {key: value} is needed here");
	if (!json_object_get(v, "kind"))
		return kl_spot_error(at, "'kind' is missing");
	if ((err = parse_word(&kind, at, v, "kind", kinds)) < 0)
		return err;
	m->kind = (enum kl_plan_map_kind)kind;
	memcpy(m->name, name, strlen(name) + 1);
	p->nmap++;
	if ((err = kl_spot_keys(at, v, kind ? im2col : tiled, kind ? 9 : 6)) < 0 ||
	    (err = parse_of(m, p, at, v)) < 0 || (err = parse_dtype(&m->dtype, at, v)) < 0 ||
	    (err = parse_rank(m, at, v)) < 0 || (err = parse_fields(m, p, at, v)) < 0 ||
	    (err = parse_word(&m->interleave, at, v, "interleave", interleaves)) < 0 ||
	    (err = parse_word(&m->swizzle, at, v, "swizzle", swizzles)) < 0 ||
	    (err = parse_word(&m->l2, at, v, "l2", l2s)) < 0 ||
	    (err = parse_word(&m->oob, at, v, "oob", oobs)) < 0)
		return err;
	return check_words(m, at);
}

int kl_plan_maps_parse(struct kl_plan *p, const struct kl_spot *at, const json_t *v)
{
	const char *key;
	json_t *value;
	int err;

	if (!v)
		return 0;
	if ((err = kl_spot_map(at, v, KL_PLAN_MAX_MAPS)) < 0)
		return err;
	json_object_foreach((json_t *)(uintptr_t)v, key, value) {
		struct kl_spot here = kl_spot_key(at, key);

		if ((err = parse_one(p, &here, key, value)) < 0)
			return err;
	}
	return 0;
}

static void release_exprs(struct kl_expr **e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		kl_expr_free(e[i]);
}

void kl_plan_maps_release(struct kl_plan *p)
{
	for (size_t i = 0; i < p->nmap; i++) {
		struct plan_map *m = &p->map[i];

		release_exprs(m->dim, KL_ARRAY_SIZE(m->dim));
		release_exprs(m->stride, KL_ARRAY_SIZE(m->stride));
		release_exprs(m->box, KL_ARRAY_SIZE(m->box));
		release_exprs(m->elem, KL_ARRAY_SIZE(m->elem));
		release_exprs(m->lower, KL_ARRAY_SIZE(m->lower));
		release_exprs(m->upper, KL_ARRAY_SIZE(m->upper));
		kl_expr_free(m->offset);
		kl_expr_free(m->channels);
		kl_expr_free(m->pixels);
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

static int eval_item(int64_t *out, const struct resolving *r, const char *key, size_t i,
		     const struct kl_expr *e, int64_t min, int64_t max)
{
	struct kl_spot list = kl_spot_key(r->at, key), at = kl_spot_item(&list, i);

	return kl_plan_eval_in(out, r->pt, &at, e, min, max, key);
}

static int resolve_extent(struct resolving *r)
{
	int64_t unit = r->m->interleave == INTERLEAVE_32B ? 32 : 16, v;
	struct kl_spot list = kl_spot_key(r->at, "strides");
	int err;

	for (size_t i = 0; i < (size_t)r->m->rank; i++) {
		if ((err = eval_item(&v, r, "dims", i, r->m->dim[i], 1, 1LL << 32)) < 0)
			return err;
		r->out->dim[i] = (uint64_t)v;
	}
	for (size_t i = 0; i + 1 < (size_t)r->m->rank; i++) {
		struct kl_spot at = kl_spot_item(&list, i);

		if ((err = eval_item(&v, r, "strides", i, r->m->stride[i], unit, (1LL << 40) - 1)) <
		    0)
			return err;
		if (v % unit)
			return kl_spot_error(&at, "a stride of %lld bytes is no multiple of %lld",
					     (long long)v, (long long)unit);
		r->out->stride[i] = (uint64_t)v;
	}
	return 0;
}

static int check_inner(const struct resolving *r, const struct kl_spot *at, int64_t inner)
{
	int span = swizzle_span[r->m->swizzle];

	if (r->m->interleave != INTERLEAVE_NONE)
		return 0;
	if (r->m->kind == KL_PLAN_TILED && inner % 16)
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
			(long long)inner, swizzles[r->m->swizzle], span);
	return 0;
}

static int resolve_box(struct resolving *r)
{
	struct kl_spot list = kl_spot_key(r->at, "box"), first = kl_spot_item(&list, 0);

	for (size_t i = 0; i < (size_t)r->m->rank; i++) {
		int64_t v;
		int err = eval_item(&v, r, "box", i, r->m->box[i], 1, 256);

		if (err < 0)
			return err;
		r->out->box[i] = (uint32_t)v;
	}
	return check_inner(r, &first, r->out->box[0] * r->size);
}

static int resolve_corners(struct resolving *r)
{
	/* bits of a corner's coordinate, by how many there are */
	static const int64_t reach[] = { 0, 1 << 15, 1 << 7, 1 << 4 };
	size_t n = (size_t)r->m->rank - 2;
	struct kl_spot list = kl_spot_key(r->at, "upper");

	for (size_t i = 0; i < n; i++) {
		struct kl_spot at = kl_spot_item(&list, i);
		int64_t low, up;
		int err;

		if ((err = eval_item(&low, r, "lower", i, r->m->lower[i], -reach[n],
				     reach[n] - 1)) < 0 ||
		    (err = eval_item(&up, r, "upper", i, r->m->upper[i], -reach[n], reach[n] - 1)) <
			    0)
			return err;
		r->out->lower[i] = (int)low;
		r->out->upper[i] = (int)up;
		if ((int64_t)r->out->dim[i + 1] + up - low < 1)
			return kl_spot_error(&at,
					     "the box from %lld to %lld beyond the end is empty",
					     (long long)low, (long long)up);
	}
	return 0;
}

static int resolve_im2col(struct resolving *r)
{
	struct kl_spot channels = kl_spot_key(r->at, "channels"),
		       pixels = kl_spot_key(r->at, "pixels");
	int64_t c, p;
	int err;

	if ((err = resolve_corners(r)) < 0 ||
	    (err = kl_plan_eval_in(&c, r->pt, &channels, r->m->channels, 1, 256, "channels")) < 0 ||
	    (err = kl_plan_eval_in(&p, r->pt, &pixels, r->m->pixels, 1, 1024, "pixels")) < 0)
		return err;
	r->out->channels = (uint32_t)c;
	r->out->pixels = (uint32_t)p;
	return check_inner(r, &channels, c * r->size);
}

static int resolve_elem(struct resolving *r)
{
	for (size_t i = 0; i < (size_t)r->m->rank; i++) {
		int64_t v = 1;
		int err = r->m->elem[i] ? eval_item(&v, r, "elem", i, r->m->elem[i], 1, 8) : 0;

		if (err < 0)
			return err;
		r->out->elem[i] = (uint32_t)v;
	}
	return 0;
}

/*
 * How far the map reaches: the last element of every dim, since what lies beyond is cut
 * off. An interleaved layout is not computed; the guards around each buffer see to it.
 */
static int resolve_reach(struct resolving *r)
{
	struct kl_spot offset = kl_spot_key(r->at, "offset"), dims = kl_spot_key(r->at, "dims");
	int64_t bytes = kl_plan_memory_bytes(r->pt, r->m->of_scratch, r->m->of), end;
	int64_t unit = r->m->interleave == INTERLEAVE_32B ? 32 : 16;
	int err = kl_plan_eval(&r->out->offset, r->pt, &offset, r->m->offset, 0);

	if (err < 0)
		return err;
	if (r->out->offset < 0 || r->out->offset >= bytes || r->out->offset % unit)
		return kl_spot_error(
			&offset,
			"an offset of %lld in %lld bytes: it must lie within, and be a "
			"multiple of %lld",
			(long long)r->out->offset, (long long)bytes, (long long)unit);
	if (r->m->interleave != INTERLEAVE_NONE)
		return 0;
	/* factors are below 2^33 and 2^40 */
	if (__builtin_mul_overflow((int64_t)r->out->dim[0], r->size, &r->out->span))
		return kl_spot_error(&dims, "the map reaches beyond 64 bits");
	for (int i = 1; i < r->m->rank; i++) {
		int64_t more;

		if (__builtin_mul_overflow((int64_t)r->out->dim[i] - 1,
					   (int64_t)r->out->stride[i - 1], &more) ||
		    __builtin_add_overflow(r->out->span, more, &r->out->span))
			return kl_spot_error(&dims, "the map reaches beyond 64 bits");
	}
	if (__builtin_add_overflow(r->out->offset, r->out->span, &end) || end > bytes)
		return kl_spot_error(&dims,
				     "the map reaches %lld bytes from byte %lld, the %s has %lld",
				     (long long)r->out->span, (long long)r->out->offset,
				     r->m->of_scratch ? "scratch" : "tensor", (long long)bytes);
	return 0;
}

static int check_device(const struct resolving *r)
{
	struct kl_spot swizzle = kl_spot_key(r->at, "swizzle");
	int64_t cc = r->pt->facts->cc;

	if (cc < 90)
		return kl_spot_fail(r->at, KL_ECANNOT,
				    "tensor maps need compute capability 9.0, here is "
				    "%lld.%lld",
				    (long long)cc / 10, (long long)cc % 10);
	if (r->m->swizzle >= FIRST_ATOM && cc < 100)
		return kl_spot_fail(&swizzle, KL_ECANNOT,
				    "swizzle %s needs compute capability 10.0, here is "
				    "%lld.%lld",
				    swizzles[r->m->swizzle], (long long)cc / 10,
				    (long long)cc % 10);
	return 0;
}

static int resolve_one(struct resolving *r)
{
	const struct plan_map *m = r->m;
	struct kl_plan_map *out = r->out;
	int err;

	memcpy(out->name, m->name, sizeof(out->name));
	out->kind = m->kind;
	out->of_scratch = m->of_scratch;
	out->of = m->of;
	out->dtype = dtypes[m->dtype].value;
	out->rank = m->rank;
	out->interleave = m->interleave;
	out->swizzle = m->swizzle;
	out->l2 = m->l2;
	out->oob = m->oob;
	if ((err = check_device(r)) < 0 || (err = resolve_extent(r)) < 0 ||
	    (err = resolve_elem(r)) < 0)
		return err;
	err = m->kind == KL_PLAN_TILED ? resolve_box(r) : resolve_im2col(r);
	return err < 0 ? err : resolve_reach(r);
}

int kl_plan_maps_resolve(struct plan_point *pt)
{
	struct kl_spot top = { .place = pt->place }, all = kl_spot_key(&top, "maps");

	pt->at->nmap = pt->p->nmap;
	for (size_t i = 0; i < pt->p->nmap; i++) {
		const struct plan_map *m = &pt->p->map[i];
		struct kl_spot at = kl_spot_key(&all, m->name);
		struct resolving r = {
			.pt = pt,
			.m = m,
			.out = &pt->at->map[i],
			.at = &at,
			.size = dtypes[m->dtype].size,
		};
		int err = resolve_one(&r);

		if (err < 0)
			return err;
	}
	return 0;
}
