/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/fill.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

#define MAX_CHOICES 64
#define MAX_MAGNITUDE 1e300

struct reading {
	enum kl_dtype dtype;
	const struct kl_expr_names *dims;
	bool inside_repeat;
};

static int read_any(json_t **out, struct kl_node node, const struct reading *reading);

/* JSON has no infinities and jansson writes -0.0 unsteadily: words instead. */
static json_t *fill_number(double value)
{
	if (isnan(value))
		return json_string("nan");
	if (isinf(value))
		return json_string(value > 0 ? "inf" : "-inf");
	if (value == 0 && signbit(value))
		return json_string("-0");
	return json_real(value);
}

static int read_value(double *out, struct kl_node node, const struct reading *reading)
{
	int err = kl_node_num(out, node);

	if (err < 0)
		return err;
	if (!kl_dtype_is_float(reading->dtype) &&
	    !(*out >= kl_dtype_int_min(reading->dtype) &&
	      *out <= kl_dtype_int_max(reading->dtype) && *out == floor(*out)))
		return kl_node_error(node, "'%s' must be an integer that %s holds", node.what,
				     kl_dtype_name(reading->dtype));
	return 0;
}

static int need_float(struct kl_node node, const struct reading *reading)
{
	if (kl_dtype_is_float(reading->dtype))
		return 0;
	return kl_node_error(node,
			     "'%s' makes no %s: take ints, zeros, ones, const, choice, "
			     "one-hot, index or repeat",
			     node.what, kl_dtype_name(reading->dtype));
}

/* [a, b] of finite numbers. */
static int read_pair(double values[2], struct kl_node node)
{
	int err;

	if (node.y->kind != KL_YAML_SEQ || node.y->n != 2)
		return kl_node_error(node, "'%s' takes two numbers [a, b]", node.what);
	for (size_t i = 0; i < 2; i++)
		if ((err = kl_node_num_in(&values[i], kl_node_item(node, i), -MAX_MAGNITUDE,
					  MAX_MAGNITUDE)) < 0)
			return err;
	return 0;
}

static int read_normal(json_t **out, struct kl_node node, const struct reading *reading)
{
	double values[2];
	int err;

	if ((err = need_float(node, reading)) < 0 || (err = read_pair(values, node)) < 0)
		return err;
	if (values[1] <= 0)
		return kl_node_error(node, "'normal' takes [mean, sd] with sd above 0");
	*out = json_pack("[ff]", values[0] + 0.0, values[1]);
	return 0;
}

static int read_uniform(json_t **out, struct kl_node node, const struct reading *reading)
{
	double values[2];
	int err;

	if ((err = need_float(node, reading)) < 0 || (err = read_pair(values, node)) < 0)
		return err;
	if (values[0] >= values[1])
		return kl_node_error(node, "'uniform' takes [lo, hi] with lo below hi");
	*out = json_pack("[ff]", values[0] + 0.0, values[1] + 0.0);
	return 0;
}

static int read_ints(json_t **out, struct kl_node node, const struct reading *reading)
{
	int64_t values[2];
	int err;

	if (node.y->kind != KL_YAML_SEQ || node.y->n != 2)
		return kl_node_error(node, "'ints' takes two numbers [lo, hi]");
	for (size_t i = 0; i < 2; i++)
		if ((err = kl_node_int(&values[i], kl_node_item(node, i),
				       (int64_t)kl_dtype_int_min(reading->dtype),
				       (int64_t)kl_dtype_int_max(reading->dtype))) < 0)
			return err;
	if (values[0] > values[1])
		return kl_node_error(node, "'ints' takes [lo, hi] with lo not above hi");
	*out = json_pack("[II]", (json_int_t)values[0], (json_int_t)values[1]);
	return 0;
}

static int read_const(json_t **out, struct kl_node node, const struct reading *reading)
{
	double value;
	int err = read_value(&value, node, reading);

	if (!err)
		*out = fill_number(value);
	return err;
}

static int read_choice(json_t **out, struct kl_node node, const struct reading *reading)
{
	KL_AUTO(json_decrefp) json_t *list = json_array();
	int err;

	if ((err = kl_node_list(node, 1, MAX_CHOICES)) < 0)
		return err;
	for (size_t i = 0; i < node.y->n; i++) {
		double value;

		if ((err = read_value(&value, kl_node_item(node, i), reading)) < 0)
			return err;
		json_array_append_new(list, fill_number(value));
	}
	*out = kl_steal(&list);
	return 0;
}

static int read_index(json_t **out, struct kl_node node, const struct reading *reading)
{
	KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
	const char *text;
	size_t at;
	int err;

	if ((err = kl_node_text(&text, node)) < 0)
		return err;
	if (kl_expr_parse(&expr, text, reading->dims, KL_EXPR_NUMBER, &at) < 0)
		return kl_node_error_at(node, at);
	*out = json_string(text);
	return 0;
}

static int read_repeat(json_t **out, struct kl_node node, const struct reading *reading)
{
	struct reading inner = *reading;

	if (reading->inside_repeat)
		return kl_node_error(node, "'repeat' inside 'repeat'");
	inner.inside_repeat = true;
	return read_any(out, node, &inner);
}

static int read_flag(json_t **out, struct kl_node node, const struct reading *reading)
{
	bool yes;
	int err = kl_node_bool(&yes, node);

	if (err < 0)
		return err;
	if (!yes)
		return kl_node_error(node, "'%s' takes true", node.what);
	*out = json_true();
	return 0;
}

static int read_cauchy(json_t **out, struct kl_node node, const struct reading *reading)
{
	int err = need_float(node, reading);

	return err < 0 ? err : read_flag(out, node, reading);
}

/* [p, sd]: a standard normal, to which with chance p a normal of that sd is added. */
static int read_outliers(json_t **out, struct kl_node node, const struct reading *reading)
{
	double values[2];
	int err;

	if ((err = need_float(node, reading)) < 0 || (err = read_pair(values, node)) < 0)
		return err;
	if (values[0] <= 0 || values[0] > 1 || values[1] <= 0)
		return kl_node_error(node,
				     "'outliers' takes [p, sd] with p in (0, 1] and sd above 0");
	*out = json_pack("[ff]", values[0], values[1]);
	return 0;
}

static const struct generator {
	const char *key;
	int (*read)(json_t **out, struct kl_node n, const struct reading *r);
} generators[] = {
	{ "normal", read_normal },     { "uniform", read_uniform }, { "ints", read_ints },
	{ "const", read_const },       { "one-hot", read_flag },    { "choice", read_choice },
	{ "cauchy", read_cauchy },     { "index", read_index },     { "repeat", read_repeat },
	{ "outliers", read_outliers },
};

static int read_word(json_t **out, struct kl_node node, const struct reading *reading)
{
	static const char *const words[] = { "normal",  "uniform", "zeros", "ones",
					     "one-hot", "cauchy",  NULL };
	int which, err;

	if ((err = kl_node_choice(&which, node, words)) < 0)
		return err;
	/* in messages the word stands for itself */
	node.what = words[which];
	if (which == 0 || which == 1 || which == 5)
		if ((err = need_float(node, reading)) < 0)
			return err;
	switch (which) {
	case 0:
		*out = json_pack("{s:[ff]}", "normal", 0.0, 1.0);
		break;
	case 1:
		*out = json_pack("{s:[ff]}", "uniform", 0.0, 1.0);
		break;
	case 2:
		*out = json_pack("{s:f}", "const", 0.0);
		break;
	case 3:
		*out = json_pack("{s:f}", "const", 1.0);
		break;
	case 4:
		*out = json_pack("{s:b}", "one-hot", 1);
		break;
	default:
		*out = json_pack("{s:b}", "cauchy", 1);
		break;
	}
	return 0;
}

static int read_shaping(json_t *fill, struct kl_node node, const struct reading *reading)
{
	static const char *const maps[] = {
		"sigmoid", "logsigmoid", "exp", "abs", "softplus", NULL
	};
	static const char *const units[] = { "last", NULL };
	struct kl_node map = kl_node_get(node, "map");
	struct kl_node scale = kl_node_get(node, "scale");
	struct kl_node unit = kl_node_get(node, "unit");
	struct kl_node lower = kl_node_get(node, "lower");
	struct kl_node running = kl_node_get(node, "running");
	const struct kl_node any = map.y   ? map :
				   scale.y ? scale :
				   unit.y  ? unit :
				   lower.y ? lower :
					     running;
	int64_t whole;
	int which, err;
	double value;

	if (!any.y)
		return 0;
	if ((err = need_float(any, reading)) < 0)
		return err;
	if (map.y) {
		if ((err = kl_node_choice(&which, map, maps)) < 0)
			return err;
		kl_json_set_str(fill, "map", maps[which]);
	}
	if (scale.y) {
		if ((err = kl_node_num_in(&value, scale, -MAX_MAGNITUDE, MAX_MAGNITUDE)) < 0)
			return err;
		if (value == 0)
			return kl_node_error(scale, "'scale' of 0 makes every value 0: say zeros");
		kl_json_set_num(fill, "scale", value);
	}
	if (unit.y) {
		if ((err = kl_node_choice(&which, unit, units)) < 0)
			return err;
		kl_json_set_str(fill, "unit", "last");
	}
	if (lower.y) {
		if ((err = kl_node_int(&whole, lower, 0, 7)) < 0)
			return err;
		kl_json_set_int(fill, "lower", whole);
	}
	if (running.y) {
		if ((err = kl_node_int(&whole, running, 2, INT32_MAX)) < 0)
			return err;
		kl_json_set_int(fill, "running", whole);
	}
	if (reading->inside_repeat && (lower.y || running.y))
		return kl_node_error(lower.y ? lower : running,
				     "'repeat' has one row, 'lower' and 'running' "
				     "are about several");
	return 0;
}

static int read_map(json_t **out, struct kl_node node, const struct reading *reading)
{
	static const char *const known[] = { "normal",  "uniform",  "ints",    "const",
					     "one-hot", "choice",   "cauchy",  "index",
					     "repeat",  "outliers", "map",     "scale",
					     "unit",    "lower",    "running", NULL };
	KL_AUTO(json_decrefp) json_t *fill = json_object();
	int err;

	if ((err = kl_node_keys(node, known, 0)) < 0)
		return err;
	for (size_t i = 0; i < KL_ARRAY_SIZE(generators); i++) {
		const struct generator *generator = &generators[i];
		struct kl_node inner = kl_node_get(node, generator->key);
		json_t *value;

		if (!inner.y)
			continue;
		if (json_object_size(fill))
			return kl_node_error(inner,
					     "a fill has one generator, '%s' is a second one",
					     generator->key);
		if ((err = generator->read(&value, inner, reading)) < 0)
			return err;
		kl_json_set(fill, generator->key, value);
	}
	if (!json_object_size(fill))
		return kl_node_error(
			node,
			"'%s' names no generator (normal, uniform, ints, const, one-hot, "
			"choice, cauchy, index, repeat, outliers)",
			node.what);
	if ((err = read_shaping(fill, node, reading)) < 0)
		return err;
	*out = kl_steal(&fill);
	return 0;
}

static int read_any(json_t **out, struct kl_node node, const struct reading *reading)
{
	return node.y->kind == KL_YAML_MAP ? read_map(out, node, reading) :
					     read_word(out, node, reading);
}

int kl_fill_read(json_t **out, struct kl_node node, enum kl_dtype dtype,
		 const struct kl_expr_names *dims)
{
	const struct reading reading = { .dtype = dtype, .dims = dims };

	return read_any(out, node, &reading);
}

json_t *kl_fill_default(enum kl_dtype dtype)
{
	return kl_dtype_is_float(dtype) ? json_pack("{s:[ff]}", "normal", 0.0, 1.0) : NULL;
}

bool kl_fill_is_shaped(const json_t *fill)
{
	return json_object_get(fill, "map") || json_object_get(fill, "unit") ||
	       json_object_get(fill, "lower") || json_object_get(fill, "running");
}

const char *kl_fill_index(const json_t *fill)
{
	const json_t *inner = json_object_get(fill, "repeat");

	return json_string_value(json_object_get(inner ? inner : fill, "index"));
}

json_t *kl_fill_resolve(const json_t *fill, json_t *value)
{
	json_t *copy = json_deep_copy(fill);
	json_t *inner = json_object_get(copy, "repeat");

	json_object_set(inner ? inner : copy, "index", value);
	return copy;
}
