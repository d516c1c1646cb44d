/* SPDX-License-Identifier: Apache-2.0 */
/* plan_launch - parses a plan's launches and their arguments */
#include <ctype.h>
#include <string.h>

#include "plan/plan_parts.h"

/* A launch while it is parsed. */
struct reading {
	struct kl_plan *p;
	bool prepare;
};

/* --- arguments ---------------------------------------------------------------- */

static int parse_memory(enum kl_plan_arg_kind *kind, int *index, const struct reading *r,
			const struct kl_spot *at, const char *name)
{
	int err = kl_plan_find_memory(kind, index, at, r->p, name);

	if (err < 0 || !r->prepare)
		return err;
	if (*kind == KL_PLAN_TENSOR)
		return kl_spot_error(
			at, "'%s' is a tensor: a prepare launch is not timed and may see none",
			name);
	if (r->p->scratch[*index].init != KL_PLAN_PREPARE)
		return kl_spot_error(
			at,
			"scratch '%s' has not init: prepare, so a prepare launch may not "
			"name it",
			name);
	return 0;
}

static int parse_map_name(int *index, const struct reading *r, const struct kl_spot *at,
			  const json_t *v)
{
	const char *s;
	int err = kl_spot_text(&s, at, v, 63);

	if (err < 0)
		return err;
	*index = kl_plan_find_map(r->p, s);
	if (*index < 0)
		return kl_spot_error(at, "the plan has no map '%s'", s);
	if (r->prepare) {
		const struct plan_map *m = &r->p->map[*index];

		if (!m->of_scratch || r->p->scratch[m->of].init != KL_PLAN_PREPARE)
			return kl_spot_error(at,
					     "map '%s' is not of scratch with init: prepare, so a "
					     "prepare "
					     "launch may not name it",
					     s);
	}
	return 0;
}

/* A tensor, a scratch, or a scalar of the contract. */
static int parse_name(struct plan_arg *a, const struct reading *r, const struct kl_spot *at,
		      const json_t *v)
{
	const char *s;
	int err = kl_spot_text(&s, at, v, 63);

	if (err < 0)
		return err;
	for (size_t i = 0; i < r->p->ntensor; i++) {
		const struct kl_plan_scalar *c = &r->p->scalar[i];
		int64_t whole;
		float f;

		if (!c->name || strcmp(c->name, s))
			continue;
		a->kind = KL_PLAN_VALUE;
		a->value = VALUE_BITS;
		a->size = strstr(c->dtype, "64") ? 8 :
			  strstr(c->dtype, "32") ? 4 :
			  strstr(c->dtype, "16") ? 2 :
						   1;
		if (c->dtype[0] == 'f' && a->size == 4) {
			f = (float)c->value;
			memcpy(&a->bits, &f, sizeof(f));
		} else if (c->dtype[0] == 'f') {
			memcpy(&a->bits, &c->value, sizeof(c->value));
		} else {
			whole = c->value >= 0x1p63 ? (int64_t)(uint64_t)c->value :
						     (int64_t)c->value;
			memcpy(&a->bits, &whole, (size_t)a->size);
		}
		return 0;
	}
	return parse_memory(&a->kind, &a->index, r, at, s);
}

static int parse_pointer(struct plan_arg *a, const struct reading *r, const struct kl_spot *up,
			 const json_t *v)
{
	static const char *const known[] = { "ptr", "offset", NULL };
	struct kl_spot ptr = kl_spot_key(up, "ptr"), offset = kl_spot_key(up, "offset");
	struct kl_expr_names names = kl_plan_expr_names(r->p);
	const char *s;
	int err;

	if ((err = kl_spot_keys(up, v, known, 1)) < 0 ||
	    (err = kl_spot_text(&s, &ptr, json_object_get(v, "ptr"), 63)) < 0 ||
	    (err = parse_memory(&a->kind, &a->index, r, &ptr, s)) < 0)
		return err;
	return json_object_get(v, "offset") ?
		       kl_spot_expr(&a->e, &offset, json_object_get(v, "offset"), &names) :
		       0;
}

static int parse_value(struct plan_arg *a, const struct reading *r, const struct kl_spot *up,
		       const json_t *v, const char *key)
{
	static const struct {
		const char *key;
		enum plan_value value;
		int size;
	} forms[] = {
		{ "i32", VALUE_I32, 4 },
		{ "i64", VALUE_I64, 8 },
		{ "u32", VALUE_U32, 4 },
		{ "u64", VALUE_U64, 8 },
	};
	struct kl_spot at = kl_spot_key(up, key);
	struct kl_expr_names names = kl_plan_expr_names(r->p);

	a->kind = KL_PLAN_VALUE;
	for (size_t i = 0; i < KL_ARRAY_SIZE(forms); i++) {
		if (!strcmp(forms[i].key, key)) {
			a->value = forms[i].value;
			a->size = forms[i].size;
		}
	}
	return kl_spot_expr(&a->e, &at, json_object_get(v, key), &names);
}

static int parse_float(struct plan_arg *a, const struct kl_spot *up, const json_t *v,
		       const char *key)
{
	struct kl_spot at = kl_spot_key(up, key);
	double d;
	float f;
	int err = kl_spot_num(&d, &at, json_object_get(v, key));

	if (err < 0)
		return err;
	a->kind = KL_PLAN_VALUE;
	a->value = VALUE_BITS;
	f = (float)d;
	if (!strcmp(key, "f32")) {
		if (f - f != 0)
			return kl_spot_error(&at, "a number that a float holds is needed here");
		a->size = 4;
		memcpy(&a->bits, &f, 4);
	} else {
		a->size = 8;
		memcpy(&a->bits, &d, 8);
	}
	return 0;
}

/* --- structs by value ------------------------------------------------------------ */

static int hex_nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse_hex(struct plan_arg *a, const struct kl_spot *up, const json_t *v)
{
	static const char *const known[] = { "hex", NULL };
	struct kl_spot at = kl_spot_key(up, "bytes");
	const char *s;
	size_t n;
	int err;

	if (json_is_string(v))
		return kl_spot_error(&at, "'%.64s' was not put in place of its name",
				     json_string_value(v));
	if ((err = kl_spot_keys(&at, v, known, 1)) < 0)
		return err;
	s = json_string_value(json_object_get(v, "hex"));
	n = s ? strlen(s) : 0;
	if (!n || n % 2 || n / 2 > KL_PLAN_MAX_PARAM_BYTES || s[strspn(s, "0123456789abcdef")])
		return kl_spot_error(&at, "1 to %d bytes are needed here", KL_PLAN_MAX_PARAM_BYTES);
	a->nblob = n / 2;
	a->blob = kl_malloc(a->nblob);
	for (size_t i = 0; i < a->nblob; i++)
		a->blob[i] = (uint8_t)(hex_nibble(s[2 * i]) << 4 | hex_nibble(s[2 * i + 1]));
	return 0;
}

static int parse_reloc(struct plan_arg *a, const struct reading *r, const struct kl_spot *up,
		       const json_t *v)
{
	static const char *const map_keys[] = { "off", "map", NULL };
	static const char *const ptr_keys[] = { "off", "ptr", "offset", NULL };
	struct plan_reloc *l = &a->reloc[a->nreloc];
	bool map = json_object_get(v, "map");
	int64_t size = map ? 128 : 8, unit = map ? 64 : 8;
	struct kl_spot off = kl_spot_key(up, "off"), what = kl_spot_key(up, map ? "map" : "ptr");
	struct kl_spot offset = kl_spot_key(up, "offset");
	struct kl_expr_names names = kl_plan_expr_names(r->p);
	const char *s;
	int err;

	if ((err = kl_spot_keys(up, v, map ? map_keys : ptr_keys, 2)) < 0 ||
	    (err = kl_spot_int(&l->at, &off, json_object_get(v, "off"), 0,
			       KL_PLAN_MAX_PARAM_BYTES)) < 0)
		return err;
	if (l->at % unit || l->at + size > (int64_t)a->nblob)
		return kl_spot_error(
			&off, "%lld bytes at %lld of %zu: it must be a multiple of %lld and fit",
			(long long)size, (long long)l->at, a->nblob, (long long)unit);
	for (size_t i = 0; i < a->nreloc; i++) {
		const struct plan_reloc *o = &a->reloc[i];

		if (l->at < o->at + (o->kind == KL_PLAN_MAP ? 128 : 8) && o->at < l->at + size)
			return kl_spot_error(&off, "it lies over the entry at %lld",
					     (long long)o->at);
	}
	l->kind = KL_PLAN_MAP;
	if (map)
		err = parse_map_name(&l->index, r, &what, json_object_get(v, "map"));
	else if (!(err = kl_spot_text(&s, &what, json_object_get(v, "ptr"), 63)))
		err = parse_memory(&l->kind, &l->index, r, &what, s);
	a->nreloc++;
	if (err < 0 || !json_object_get(v, "offset"))
		return err;
	return kl_spot_expr(&l->offset, &offset, json_object_get(v, "offset"), &names);
}

static int parse_bytes(struct plan_arg *a, const struct reading *r, const struct kl_spot *up,
		       const json_t *v)
{
	static const char *const known[] = { "bytes", "at", NULL };
	struct kl_spot at = kl_spot_key(up, "at");
	const json_t *list = json_object_get(v, "at"), *item;
	size_t i;
	int err;

	a->kind = KL_PLAN_BYTES;
	if ((err = kl_spot_keys(up, v, known, 1)) < 0 ||
	    (err = parse_hex(a, up, json_object_get(v, "bytes"))) < 0)
		return err;
	if (!list)
		return 0;
	if ((err = kl_spot_list(&at, list, 0, KL_PLAN_MAX_RELOC)) < 0)
		return err;
	json_array_foreach(list, i, item) {
		struct kl_spot here = kl_spot_item(&at, i);

		if ((err = parse_reloc(a, r, &here, item)) < 0)
			return err;
	}
	return 0;
}

/* An object: its first known key says which form it is. */
static int parse_object(struct plan_arg *a, const struct reading *r, const struct kl_spot *at,
			const json_t *v)
{
	static const char *const forms[] = {
		"map", "i32", "i64", "u32", "u64", "f32", "f64", NULL
	};
	struct kl_spot map = kl_spot_key(at, "map");
	int err;

	if (json_object_get(v, "ptr"))
		return parse_pointer(a, r, at, v);
	if (json_object_get(v, "bytes"))
		return parse_bytes(a, r, at, v);
	if ((err = kl_spot_keys(at, v, forms, 0)) < 0)
		return err;
	if (json_object_size(v) != 1)
		return kl_spot_error(
			at, "an argument is a name, null, or one of {map: }, {i32: }, {i64: }, "
			    "{u32: }, {u64: }, {f32: }, {f64: }, {ptr: , offset: }, "
			    "{bytes: , at: }");
	if (json_object_get(v, "map")) {
		a->kind = KL_PLAN_MAP;
		return parse_map_name(&a->index, r, &map, json_object_get(v, "map"));
	}
	for (size_t i = 1; forms[i]; i++)
		if (json_object_get(v, forms[i]))
			return forms[i][0] == 'f' ? parse_float(a, at, v, forms[i]) :
						    parse_value(a, r, at, v, forms[i]);
	return 0;
}

static int parse_arg(struct plan_arg *a, const struct reading *r, const struct kl_spot *at,
		     const json_t *v)
{
	if (json_is_null(v)) {
		a->kind = KL_PLAN_NULL;
		return 0;
	}
	return json_is_object(v) ? parse_object(a, r, at, v) : parse_name(a, r, at, v);
}

static int parse_args(struct plan_launch *l, const struct reading *r, const struct kl_spot *up,
		      const json_t *list)
{
	struct kl_spot at = kl_spot_key(up, "args");
	int err = kl_spot_list(&at, list, 0, KL_PLAN_MAX_ARGS);

	if (err < 0)
		return err;
	l->arg = kl_calloc(json_array_size(list) + 1, sizeof(*l->arg));
	while (l->nargs < json_array_size(list)) {
		struct kl_spot here = kl_spot_item(&at, l->nargs);

		l->nargs++; /* released as far as it got */
		if ((err = parse_arg(&l->arg[l->nargs - 1], r, &here,
				     json_array_get(list, l->nargs - 1))) < 0)
			return err;
	}
	return 0;
}

/* --- launches -------------------------------------------------------------------- */

static int parse_kernel(struct plan_launch *l, const struct kl_spot *up, const json_t *v)
{
	struct kl_spot at = kl_spot_key(up, "kernel");
	const char *s;
	int err = kl_spot_text(&s, &at, v, sizeof(l->kernel) - 1);

	if (err < 0)
		return err;
	for (const char *c = s; *c; c++)
		if (!(isalnum((unsigned char)*c) || strchr("_$.", *c)) ||
		    isdigit((unsigned char)s[0]))
			return kl_spot_error(&at, "'%.64s' is no symbol", s);
	memcpy(l->kernel, s, strlen(s) + 1);
	return 0;
}

static int parse_axes(struct kl_expr **out, size_t *n, const struct reading *r,
		      const struct kl_spot *up, const json_t *v, const char *key)
{
	struct kl_spot at = kl_spot_key(up, key);
	struct kl_expr_names names = kl_plan_expr_names(r->p);
	const json_t *list = json_object_get(v, key);
	int err;

	if (!list)
		return 0;
	if ((err = kl_spot_list(&at, list, 1, 3)) < 0)
		return err;
	for (*n = 0; *n < json_array_size(list); ++*n) {
		struct kl_spot here = kl_spot_item(&at, *n);

		if ((err = kl_spot_expr(&out[*n], &here, json_array_get(list, *n), &names)) < 0)
			return err;
	}
	return 0;
}

static int parse_switch(bool *out, const struct kl_spot *up, const json_t *v, const char *key)
{
	struct kl_spot at = kl_spot_key(up, key);

	return json_object_get(v, key) ? kl_spot_bool(out, &at, json_object_get(v, key)) : 0;
}

static int parse_launch(struct plan_launch *l, const struct reading *r, const struct kl_spot *at,
			const json_t *v, bool first)
{
	static const char *const known[] = { "kernel",  "grid",        "block", "args",
					     "cluster", "nonportable", "smem",  "cooperative",
					     "pdl",     NULL };
	struct kl_spot smem = kl_spot_key(at, "smem"), pdl = kl_spot_key(at, "pdl");
	struct kl_expr_names names = kl_plan_expr_names(r->p);
	int err;

	if ((err = kl_spot_keys(at, v, known, 4)) < 0 ||
	    (err = parse_kernel(l, at, json_object_get(v, "kernel"))) < 0 ||
	    (err = parse_axes(l->grid, &l->ngrid, r, at, v, "grid")) < 0 ||
	    (err = parse_axes(l->block, &l->nblock, r, at, v, "block")) < 0 ||
	    (err = parse_axes(l->cluster, &l->ncluster, r, at, v, "cluster")) < 0 ||
	    (err = parse_switch(&l->nonportable, at, v, "nonportable")) < 0 ||
	    (err = parse_switch(&l->cooperative, at, v, "cooperative")) < 0 ||
	    (err = parse_switch(&l->pdl, at, v, "pdl")) < 0)
		return err;
	if (json_object_get(v, "smem") &&
	    (err = kl_spot_expr(&l->smem, &smem, json_object_get(v, "smem"), &names)) < 0)
		return err;
	if (l->pdl && r->prepare)
		return kl_spot_error(&pdl, "a prepare launch is not timed: it has no use for pdl");
	if (l->pdl && first)
		return kl_spot_error(&pdl,
				     "programmatic launch is for one that follows a launch of the "
				     "plan's own");
	return parse_args(l, r, at, json_object_get(v, "args"));
}

int kl_plan_launches_parse(struct kl_plan *p, const struct kl_spot *at, const json_t *v,
			   bool prepare)
{
	struct plan_launch **list = prepare ? &p->prepare : &p->launch;
	size_t *n = prepare ? &p->nprepare : &p->nlaunch;
	const struct reading r = { p, prepare };
	int err;

	if (!v)
		return 0;
	if ((err = kl_spot_list(at, v, 1, KL_PLAN_MAX_LAUNCHES)) < 0)
		return err;
	*list = kl_calloc(json_array_size(v), sizeof(**list));
	while (*n < json_array_size(v)) {
		struct kl_spot here = kl_spot_item(at, *n);

		++*n; /* released as far as it got */
		if ((err = parse_launch(&(*list)[*n - 1], &r, &here, json_array_get(v, *n - 1),
					*n == 1)) < 0)
			return err;
	}
	return 0;
}

static void release_args(struct plan_launch *l)
{
	for (size_t i = 0; i < l->nargs; i++) {
		kl_expr_free(l->arg[i].e);
		free(l->arg[i].blob);
		for (size_t k = 0; k < KL_PLAN_MAX_RELOC; k++)
			kl_expr_free(l->arg[i].reloc[k].offset);
	}
	free(l->arg);
}

void kl_plan_launches_release(struct plan_launch *l, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < 3; k++) {
			kl_expr_free(l[i].grid[k]);
			kl_expr_free(l[i].block[k]);
			kl_expr_free(l[i].cluster[k]);
		}
		kl_expr_free(l[i].smem);
		release_args(&l[i]);
	}
	free(l);
}
