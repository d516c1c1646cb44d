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

static int parse_memory(enum kl_plan_arg_kind *kind, int *index, const struct reading *reading,
			const struct kl_spot *at, const char *name)
{
	int err = kl_plan_find_memory(kind, index, at, reading->p, name);

	if (err < 0 || !reading->prepare)
		return err;
	if (*kind == KL_PLAN_TENSOR)
		return kl_spot_error(
			at, "'%s' is a tensor: a prepare launch is not timed and may see none",
			name);
	if (reading->p->scratch[*index].init != KL_PLAN_PREPARE)
		return kl_spot_error(
			at,
			"scratch '%s' has not init: prepare, so a prepare launch may not "
			"name it",
			name);
	return 0;
}

static int parse_map_name(int *index, const struct reading *reading, const struct kl_spot *at,
			  const json_t *value)
{
	const char *text;
	int err = kl_spot_text(&text, at, value, 63);

	if (err < 0)
		return err;
	*index = kl_plan_find_map(reading->p, text);
	if (*index < 0)
		return kl_spot_error(at, "the plan has no map '%s'", text);
	if (reading->prepare) {
		const struct plan_map *map = &reading->p->map[*index];

		if (!map->of_scratch || reading->p->scratch[map->of].init != KL_PLAN_PREPARE)
			return kl_spot_error(at,
					     "map '%s' is not of scratch with init: prepare, so a "
					     "prepare "
					     "launch may not name it",
					     text);
	}
	return 0;
}

/* A tensor, a scratch, or a scalar of the contract. */
static int parse_name(struct plan_arg *arg, const struct reading *reading, const struct kl_spot *at,
		      const json_t *value)
{
	const char *text;
	int err = kl_spot_text(&text, at, value, 63);

	if (err < 0)
		return err;
	for (size_t i = 0; i < reading->p->ntensor; i++) {
		const struct kl_plan_scalar *scalar = &reading->p->scalar[i];
		int64_t whole;
		float factor;

		if (!scalar->name || strcmp(scalar->name, text))
			continue;
		arg->kind = KL_PLAN_VALUE;
		arg->value = VALUE_BITS;
		arg->size = strstr(scalar->dtype, "64") ? 8 :
			    strstr(scalar->dtype, "32") ? 4 :
			    strstr(scalar->dtype, "16") ? 2 :
							  1;
		if (scalar->dtype[0] == 'f' && arg->size == 4) {
			factor = (float)scalar->value;
			memcpy(&arg->bits, &factor, sizeof(factor));
		} else if (scalar->dtype[0] == 'f') {
			memcpy(&arg->bits, &scalar->value, sizeof(scalar->value));
		} else {
			whole = scalar->value >= 0x1p63 ? (int64_t)(uint64_t)scalar->value :
							  (int64_t)scalar->value;
			memcpy(&arg->bits, &whole, (size_t)arg->size);
		}
		return 0;
	}
	return parse_memory(&arg->kind, &arg->index, reading, at, text);
}

static int parse_pointer(struct plan_arg *arg, const struct reading *reading,
			 const struct kl_spot *up, const json_t *value)
{
	static const char *const known[] = { "ptr", "offset", NULL };
	struct kl_spot ptr = kl_spot_key(up, "ptr"), offset = kl_spot_key(up, "offset");
	struct kl_expr_names names = kl_plan_expr_names(reading->p);
	const char *text;
	int err;

	if ((err = kl_spot_keys(up, value, known, 1)) < 0 ||
	    (err = kl_spot_text(&text, &ptr, json_object_get(value, "ptr"), 63)) < 0 ||
	    (err = parse_memory(&arg->kind, &arg->index, reading, &ptr, text)) < 0)
		return err;
	return json_object_get(value, "offset") ?
		       kl_spot_expr(&arg->e, &offset, json_object_get(value, "offset"), &names) :
		       0;
}

static int parse_value(struct plan_arg *arg, const struct reading *reading,
		       const struct kl_spot *up, const json_t *item, const char *key)
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
	struct kl_expr_names names = kl_plan_expr_names(reading->p);

	arg->kind = KL_PLAN_VALUE;
	for (size_t i = 0; i < KL_ARRAY_SIZE(forms); i++) {
		if (!strcmp(forms[i].key, key)) {
			arg->value = forms[i].value;
			arg->size = forms[i].size;
		}
	}
	return kl_spot_expr(&arg->e, &at, json_object_get(item, key), &names);
}

static int parse_float(struct plan_arg *arg, const struct kl_spot *up, const json_t *value,
		       const char *key)
{
	struct kl_spot at = kl_spot_key(up, key);
	double distance;
	float factor;
	int err = kl_spot_num(&distance, &at, json_object_get(value, key));

	if (err < 0)
		return err;
	arg->kind = KL_PLAN_VALUE;
	arg->value = VALUE_BITS;
	factor = (float)distance;
	if (!strcmp(key, "f32")) {
		if (factor - factor != 0)
			return kl_spot_error(&at, "a number that a float holds is needed here");
		arg->size = 4;
		memcpy(&arg->bits, &factor, 4);
	} else {
		arg->size = 8;
		memcpy(&arg->bits, &distance, 8);
	}
	return 0;
}

/* --- structs by value ------------------------------------------------------------ */

static int hex_nibble(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

static int parse_hex(struct plan_arg *arg, const struct kl_spot *up, const json_t *value)
{
	static const char *const known[] = { "hex", NULL };
	struct kl_spot at = kl_spot_key(up, "bytes");
	const char *text;
	size_t n;
	int err;

	if (json_is_string(value))
		return kl_spot_error(&at, "'%.64s' was not put in place of its name",
				     json_string_value(value));
	if ((err = kl_spot_keys(&at, value, known, 1)) < 0)
		return err;
	text = json_string_value(json_object_get(value, "hex"));
	n = text ? strlen(text) : 0;
	if (!n || n % 2 || n / 2 > KL_PLAN_MAX_PARAM_BYTES ||
	    text[strspn(text, "0123456789abcdef")])
		return kl_spot_error(&at, "1 to %d bytes are needed here", KL_PLAN_MAX_PARAM_BYTES);
	arg->nblob = n / 2;
	arg->blob = kl_malloc(arg->nblob);
	for (size_t i = 0; i < arg->nblob; i++)
		arg->blob[i] = (uint8_t)(hex_nibble(text[2 * i]) << 4 |
					 hex_nibble(text[2 * i + 1]));
	return 0;
}

static int parse_reloc(struct plan_arg *arg, const struct reading *reading,
		       const struct kl_spot *up, const json_t *value)
{
	static const char *const map_keys[] = { "off", "map", NULL };
	static const char *const ptr_keys[] = { "off", "ptr", "offset", NULL };
	struct plan_reloc *reloc = &arg->reloc[arg->nreloc];
	bool map = json_object_get(value, "map");
	int64_t size = map ? 128 : 8, unit = map ? 64 : 8;
	struct kl_spot off = kl_spot_key(up, "off"), what = kl_spot_key(up, map ? "map" : "ptr");
	struct kl_spot offset = kl_spot_key(up, "offset");
	struct kl_expr_names names = kl_plan_expr_names(reading->p);
	const char *text;
	int err;

	if ((err = kl_spot_keys(up, value, map ? map_keys : ptr_keys, 2)) < 0 ||
	    (err = kl_spot_int(&reloc->at, &off, json_object_get(value, "off"), 0,
			       KL_PLAN_MAX_PARAM_BYTES)) < 0)
		return err;
	if (reloc->at % unit || reloc->at + size > (int64_t)arg->nblob)
		return kl_spot_error(
			&off, "%lld bytes at %lld of %zu: it must be a multiple of %lld and fit",
			(long long)size, (long long)reloc->at, arg->nblob, (long long)unit);
	for (size_t i = 0; i < arg->nreloc; i++) {
		const struct plan_reloc *plan_reloc = &arg->reloc[i];

		if (reloc->at < plan_reloc->at + (plan_reloc->kind == KL_PLAN_MAP ? 128 : 8) &&
		    plan_reloc->at < reloc->at + size)
			return kl_spot_error(&off, "it lies over the entry at %lld",
					     (long long)plan_reloc->at);
	}
	reloc->kind = KL_PLAN_MAP;
	if (map)
		err = parse_map_name(&reloc->index, reading, &what, json_object_get(value, "map"));
	else if (!(err = kl_spot_text(&text, &what, json_object_get(value, "ptr"), 63)))
		err = parse_memory(&reloc->kind, &reloc->index, reading, &what, text);
	arg->nreloc++;
	if (err < 0 || !json_object_get(value, "offset"))
		return err;
	return kl_spot_expr(&reloc->offset, &offset, json_object_get(value, "offset"), &names);
}

static int parse_bytes(struct plan_arg *arg, const struct reading *reading,
		       const struct kl_spot *up, const json_t *value)
{
	static const char *const known[] = { "bytes", "at", NULL };
	struct kl_spot at = kl_spot_key(up, "at");
	const json_t *list = json_object_get(value, "at"), *item;
	size_t i;
	int err;

	arg->kind = KL_PLAN_BYTES;
	if ((err = kl_spot_keys(up, value, known, 1)) < 0 ||
	    (err = parse_hex(arg, up, json_object_get(value, "bytes"))) < 0)
		return err;
	if (!list)
		return 0;
	if ((err = kl_spot_list(&at, list, 0, KL_PLAN_MAX_RELOC)) < 0)
		return err;
	json_array_foreach(list, i, item) {
		struct kl_spot here = kl_spot_item(&at, i);

		if ((err = parse_reloc(arg, reading, &here, item)) < 0)
			return err;
	}
	return 0;
}

/* An object: its first known key says which form it is. */
static int parse_object(struct plan_arg *arg, const struct reading *reading,
			const struct kl_spot *at, const json_t *value)
{
	static const char *const forms[] = {
		"map", "i32", "i64", "u32", "u64", "f32", "f64", NULL
	};
	struct kl_spot map = kl_spot_key(at, "map");
	int err;

	if (json_object_get(value, "ptr"))
		return parse_pointer(arg, reading, at, value);
	if (json_object_get(value, "bytes"))
		return parse_bytes(arg, reading, at, value);
	if ((err = kl_spot_keys(at, value, forms, 0)) < 0)
		return err;
	if (json_object_size(value) != 1)
		return kl_spot_error(
			at, "an argument is a name, null, or one of {map: }, {i32: }, {i64: }, "
			    "{u32: }, {u64: }, {f32: }, {f64: }, {ptr: , offset: }, "
			    "{bytes: , at: }");
	if (json_object_get(value, "map")) {
		arg->kind = KL_PLAN_MAP;
		return parse_map_name(&arg->index, reading, &map, json_object_get(value, "map"));
	}
	for (size_t i = 1; forms[i]; i++)
		if (json_object_get(value, forms[i]))
			return forms[i][0] == 'f' ? parse_float(arg, at, value, forms[i]) :
						    parse_value(arg, reading, at, value, forms[i]);
	return 0;
}

static int parse_arg(struct plan_arg *arg, const struct reading *reading, const struct kl_spot *at,
		     const json_t *value)
{
	if (json_is_null(value)) {
		arg->kind = KL_PLAN_NULL;
		return 0;
	}
	return json_is_object(value) ? parse_object(arg, reading, at, value) :
				       parse_name(arg, reading, at, value);
}

static int parse_args(struct plan_launch *launch, const struct reading *reading,
		      const struct kl_spot *up, const json_t *list)
{
	struct kl_spot at = kl_spot_key(up, "args");
	int err = kl_spot_list(&at, list, 0, KL_PLAN_MAX_ARGS);

	if (err < 0)
		return err;
	launch->arg = kl_calloc(json_array_size(list) + 1, sizeof(*launch->arg));
	while (launch->nargs < json_array_size(list)) {
		struct kl_spot here = kl_spot_item(&at, launch->nargs);

		launch->nargs++; /* released as far as it got */
		if ((err = parse_arg(&launch->arg[launch->nargs - 1], reading, &here,
				     json_array_get(list, launch->nargs - 1))) < 0)
			return err;
	}
	return 0;
}

/* --- launches -------------------------------------------------------------------- */

static int parse_kernel(struct plan_launch *launch, const struct kl_spot *up, const json_t *value)
{
	struct kl_spot at = kl_spot_key(up, "kernel");
	const char *text;
	int err = kl_spot_text(&text, &at, value, sizeof(launch->kernel) - 1);

	if (err < 0)
		return err;
	for (const char *ch = text; *ch; ch++)
		if (!(isalnum((unsigned char)*ch) || strchr("_$.", *ch)) ||
		    isdigit((unsigned char)text[0]))
			return kl_spot_error(&at, "'%.64s' is no symbol", text);
	memcpy(launch->kernel, text, strlen(text) + 1);
	return 0;
}

static int parse_axes(struct kl_expr **out, size_t *n, const struct reading *reading,
		      const struct kl_spot *up, const json_t *value, const char *key)
{
	struct kl_spot at = kl_spot_key(up, key);
	struct kl_expr_names names = kl_plan_expr_names(reading->p);
	const json_t *list = json_object_get(value, key);
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

static int parse_switch(bool *out, const struct kl_spot *up, const json_t *value, const char *key)
{
	struct kl_spot at = kl_spot_key(up, key);

	return json_object_get(value, key) ? kl_spot_bool(out, &at, json_object_get(value, key)) :
					     0;
}

static int parse_launch(struct plan_launch *launch, const struct reading *reading,
			const struct kl_spot *at, const json_t *value, bool first)
{
	static const char *const known[] = { "kernel",  "grid",        "block", "args",
					     "cluster", "nonportable", "smem",  "cooperative",
					     "pdl",     NULL };
	struct kl_spot smem = kl_spot_key(at, "smem"), pdl = kl_spot_key(at, "pdl");
	struct kl_expr_names names = kl_plan_expr_names(reading->p);
	int err;

	if ((err = kl_spot_keys(at, value, known, 4)) < 0 ||
	    (err = parse_kernel(launch, at, json_object_get(value, "kernel"))) < 0 ||
	    (err = parse_axes(launch->grid, &launch->ngrid, reading, at, value, "grid")) < 0 ||
	    (err = parse_axes(launch->block, &launch->nblock, reading, at, value, "block")) < 0 ||
	    (err = parse_axes(launch->cluster, &launch->ncluster, reading, at, value, "cluster")) <
		    0 ||
	    (err = parse_switch(&launch->nonportable, at, value, "nonportable")) < 0 ||
	    (err = parse_switch(&launch->cooperative, at, value, "cooperative")) < 0 ||
	    (err = parse_switch(&launch->pdl, at, value, "pdl")) < 0)
		return err;
	if (json_object_get(value, "smem") &&
	    (err = kl_spot_expr(&launch->smem, &smem, json_object_get(value, "smem"), &names)) < 0)
		return err;
	if (launch->pdl && reading->prepare)
		return kl_spot_error(&pdl, "a prepare launch is not timed: it has no use for pdl");
	if (launch->pdl && first)
		return kl_spot_error(&pdl,
				     "programmatic launch is for one that follows a launch of the "
				     "plan's own");
	return parse_args(launch, reading, at, json_object_get(value, "args"));
}

int kl_plan_launches_parse(struct kl_plan *plan, const struct kl_spot *at, const json_t *value,
			   bool prepare)
{
	struct plan_launch **list = prepare ? &plan->prepare : &plan->launch;
	size_t *n = prepare ? &plan->nprepare : &plan->nlaunch;
	const struct reading reading = { plan, prepare };
	int err;

	if (!value)
		return 0;
	if ((err = kl_spot_list(at, value, 1, KL_PLAN_MAX_LAUNCHES)) < 0)
		return err;
	*list = kl_calloc(json_array_size(value), sizeof(**list));
	while (*n < json_array_size(value)) {
		struct kl_spot here = kl_spot_item(at, *n);

		++*n; /* released as far as it got */
		if ((err = parse_launch(&(*list)[*n - 1], &reading, &here,
					json_array_get(value, *n - 1), *n == 1)) < 0)
			return err;
	}
	return 0;
}

static void release_args(struct plan_launch *launch)
{
	for (size_t i = 0; i < launch->nargs; i++) {
		kl_expr_free(launch->arg[i].e);
		free(launch->arg[i].blob);
		for (size_t k = 0; k < KL_PLAN_MAX_RELOC; k++)
			kl_expr_free(launch->arg[i].reloc[k].offset);
	}
	free(launch->arg);
}

void kl_plan_launches_release(struct plan_launch *launch, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < 3; k++) {
			kl_expr_free(launch[i].grid[k]);
			kl_expr_free(launch[i].block[k]);
			kl_expr_free(launch[i].cluster[k]);
		}
		kl_expr_free(launch[i].smem);
		release_args(&launch[i]);
	}
	free(launch);
}
