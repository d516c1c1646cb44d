/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/fill.h"

#include <math.h>

#define MAX_CHOICES 64
#define MAX_MAGNITUDE 1e300

/* A fill while it is read. */
struct reading {
	enum kl_dtype dtype;
	const struct kl_expr_names *dims;
	bool inside_repeat;
	json_t *fill;           /* the part that has been read, in canonical form */
	int map, unit;          /* indices into `maps` and `units`; -1 if absent */
	double scale;           /* 0 if absent */
	int64_t lower, running; /* if absent, `lower` is -1 and `running` is 1 */
};

static int read_any(json_t **out, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node, const struct reading *of);

/* --- reading numbers ---------------------------------------------------------------- */

/*
 * Return a number as JSON. NaN and infinities, which JSON lacks, and -0.0, which jansson can lose,
 * become strings.
 */
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

/* Read a number, and check that the type can hold it. */
static int read_number(json_t **out, const char *file, const char *key, const struct kl_yaml *node,
		       enum kl_dtype dtype)
{
	const struct kl_field any = KL_DOUBLE_FIELD(key, 0, 0, 0, 0);
	double value;
	int err = kl_schema_read_value(&value, file, &any, node);

	if (err < 0)
		return err;
	if (!kl_dtype_is_float(dtype) &&
	    !(value >= kl_dtype_int_min(dtype) && value <= kl_dtype_int_max(dtype) &&
	      value == floor(value)))
		return kl_yaml_error(file, node, "'%s' must be an integer that fits into %s", key,
				     kl_dtype_name(dtype));
	*out = fill_number(value);
	return 0;
}

static int need_float(const char *file, const char *key, const struct kl_yaml *node,
		      enum kl_dtype dtype)
{
	if (kl_dtype_is_float(dtype))
		return 0;
	return kl_yaml_error(
		file, node,
		"'%s' cannot generate %s; use ints, zeros, ones, const, choice, one-hot, index or "
		"repeat",
		key, kl_dtype_name(dtype));
}

static bool is_pair(const struct kl_yaml *node)
{
	return node->kind == KL_YAML_SEQ && node->n == 2;
}

/* Read [a, b], two finite numbers. The argument must be floating-point. */
static int read_pair(double values[2], const struct reading *reading, const char *file,
		     const struct kl_field *field, const struct kl_yaml *node)
{
	const struct kl_field number = KL_DOUBLE_FIELD(field->key, 0, 0, -MAX_MAGNITUDE,
						       MAX_MAGNITUDE);
	int err = need_float(file, field->key, node, reading->dtype);

	if (!err && !is_pair(node))
		return kl_yaml_error(file, node, "'%s' must be two numbers [a, b]", field->key);
	for (size_t i = 0; !err && i < 2; i++)
		err = kl_schema_read_value(&values[i], file, &number, node->item[i]);
	return err;
}

/* --- reading generators -------------------------------------------------------------- */

/*
 * Set the generator of a fill. Return KL_EINVALID if the fill already has one. Takes the reference
 * to `value`.
 */
static int add_generator(struct reading *reading, const char *file, const struct kl_field *field,
			 const struct kl_yaml *node, json_t *value)
{
	if (json_object_size(reading->fill)) {
		json_decref(value);
		return kl_yaml_error(
			file, node,
			"a fill can have only one generator, but '%s' is a second generator",
			field->key);
	}
	kl_json_set(reading->fill, field->key, value);
	return 0;
}

static int read_normal(void *at, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	double values[2];
	int err = read_pair(values, at, file, field, node);

	if (err < 0)
		return err;
	if (values[1] <= 0)
		return kl_yaml_error(file, node, "'normal' must be [mean, sd] with sd above 0");
	return add_generator(at, file, field, node, json_pack("[ff]", values[0] + 0.0, values[1]));
}

static int read_uniform(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	double values[2];
	int err = read_pair(values, at, file, field, node);

	if (err < 0)
		return err;
	if (values[0] >= values[1])
		return kl_yaml_error(file, node, "'uniform' must be [lo, hi] with lo below hi");
	return add_generator(at, file, field, node,
			     json_pack("[ff]", values[0] + 0.0, values[1] + 0.0));
}

/*
 * Read [p, sd]: values are standard normal; with probability p, a normal value with standard
 * deviation sd is added to a value.
 */
static int read_outliers(void *at, const char *file, const struct kl_field *field,
			 const struct kl_yaml *node)
{
	double values[2];
	int err = read_pair(values, at, file, field, node);

	if (err < 0)
		return err;
	if (values[0] <= 0 || values[0] > 1 || values[1] <= 0)
		return kl_yaml_error(file, node,
				     "'outliers' must be [p, sd] with p in (0, 1] and sd above 0");
	return add_generator(at, file, field, node, json_pack("[ff]", values[0], values[1]));
}

static int read_ints(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	const struct reading *reading = at;
	const struct kl_field number = KL_INT_FIELD(field->key, KL_LOOSE, 0,
						    (int64_t)kl_dtype_int_min(reading->dtype),
						    (int64_t)kl_dtype_int_max(reading->dtype));
	int64_t values[2];
	int err = 0;

	if (!is_pair(node))
		return kl_yaml_error(file, node, "'ints' must be two numbers [lo, hi]");
	for (size_t i = 0; !err && i < 2; i++)
		err = kl_schema_read_value(&values[i], file, &number, node->item[i]);
	if (err < 0)
		return err;
	if (values[0] > values[1])
		return kl_yaml_error(file, node, "'ints' must be [lo, hi] with lo at most hi");
	return add_generator(at, file, field, node,
			     json_pack("[II]", (json_int_t)values[0], (json_int_t)values[1]));
}

static int read_const(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	const struct reading *reading = at;
	json_t *value;
	int err = read_number(&value, file, field->key, node, reading->dtype);

	return err < 0 ? err : add_generator(at, file, field, node, value);
}

static int read_choice(void *at, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	const struct reading *reading = at;
	KL_AUTO(json_decrefp) json_t *list = json_array();
	int err = kl_schema_check_list(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++) {
		json_t *value;

		if ((err = read_number(&value, file, field->key, node->item[i], reading->dtype)) ==
		    0)
			json_array_append_new(list, value);
	}
	return err < 0 ? err : add_generator(at, file, field, node, kl_steal(&list));
}

/* Read an expression over the dims. It is kept as text until kl_fill_resolve() is called. */
static int read_index(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
	const struct reading *reading = at;
	const char *text;
	size_t place;
	int err = kl_schema_read_text(&text, file, field, node);

	if (err < 0)
		return err;
	if (kl_expr_parse(&expr, text, reading->dims, KL_EXPR_NUMBER, &place) < 0)
		return kl_yaml_error_inside(file, node, place);
	return add_generator(at, file, field, node, json_string(text));
}

static int read_repeat(void *at, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	const struct reading *reading = at;
	struct reading inner = { .dtype = reading->dtype, .dims = reading->dims };
	json_t *value;
	int err;

	if (reading->inside_repeat)
		return kl_yaml_error(file, node, "a 'repeat' cannot be inside a 'repeat'");
	inner.inside_repeat = true;
	err = read_any(&value, file, field, node, &inner);
	return err < 0 ? err : add_generator(at, file, field, node, value);
}

static int read_flag(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	const struct kl_field flag = KL_BOOL_FIELD(field->key, 0, 0);
	bool yes;
	int err = kl_schema_read_value(&yes, file, &flag, node);

	if (err < 0)
		return err;
	if (!yes)
		return kl_yaml_error(file, node, "'%s' must be true", field->key);
	return add_generator(at, file, field, node, json_true());
}

static int read_cauchy(void *at, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	const struct reading *reading = at;
	int err = need_float(file, field->key, node, reading->dtype);

	return err < 0 ? err : read_flag(at, file, field, node);
}

/* --- a fill that is a map ------------------------------------------------------------- */

static const struct kl_value_type normal_value = { .read = read_normal };
static const struct kl_value_type uniform_value = { .read = read_uniform };
static const struct kl_value_type ints_value = { .read = read_ints };
static const struct kl_value_type const_value = { .read = read_const };
static const struct kl_value_type flag_value = { .read = read_flag };
static const struct kl_value_type choice_value = { .read = read_choice };
static const struct kl_value_type cauchy_value = { .read = read_cauchy };
static const struct kl_value_type index_value = { .read = read_index };
static const struct kl_value_type repeat_value = { .read = read_repeat };
static const struct kl_value_type outliers_value = { .read = read_outliers };

static const char *const maps[] = { "sigmoid", "logsigmoid", "exp", "abs", "softplus", NULL };
static const char *const units[] = { "last", NULL };

#define AT(m) offsetof(struct reading, m)
static const struct kl_field fill_fields[] = {
	KL_VALUE_FIELD("normal", 0, 0, &normal_value),
	KL_VALUE_FIELD("uniform", 0, 0, &uniform_value),
	KL_VALUE_FIELD("ints", 0, 0, &ints_value),
	KL_VALUE_FIELD("const", 0, 0, &const_value),
	KL_VALUE_FIELD("one-hot", 0, 0, &flag_value),
	KL_VALUES_FIELD("choice", 0, 0, &choice_value, 1, MAX_CHOICES),
	KL_VALUE_FIELD("cauchy", 0, 0, &cauchy_value),
	KL_VALUE_FIELD("index", KL_LOOSE, 0, &index_value),
	KL_VALUE_FIELD("repeat", 0, 0, &repeat_value),
	KL_VALUE_FIELD("outliers", 0, 0, &outliers_value),
	KL_WORD_FIELD("map", 0, AT(map), maps),
	KL_DOUBLE_FIELD("scale", 0, AT(scale), -MAX_MAGNITUDE, MAX_MAGNITUDE),
	KL_WORD_FIELD("unit", 0, AT(unit), units),
	KL_INT_FIELD("lower", KL_LOOSE, AT(lower), 0, 7),
	KL_INT_FIELD("running", KL_LOOSE, AT(running), 2, INT32_MAX),
	KL_FIELDS_END,
};
#undef AT
static const struct kl_schema fill_schema = {
	"a fill", sizeof(struct reading), fill_fields, NULL, NULL, NULL,
};

/* Add the keys that change the generated values, such as `map`, to the canonical fill. */
static int add_shaping(struct reading *reading, const char *file, const struct kl_yaml *node)
{
	static const char *const keys[] = { "map", "scale", "unit", "lower", "running" };
	const struct kl_yaml *scale = kl_yaml_get(node, "scale");
	const struct kl_yaml *lower = kl_yaml_get(node, "lower");
	const struct kl_yaml *running = kl_yaml_get(node, "running");

	for (size_t i = 0; i < KL_ARRAY_SIZE(keys); i++)
		if (kl_yaml_get(node, keys[i]) && !kl_dtype_is_float(reading->dtype))
			return need_float(file, keys[i], kl_yaml_get(node, keys[i]),
					  reading->dtype);
	if (scale && reading->scale == 0)
		return kl_yaml_error(file, scale, "'scale' must not be 0; use the fill 'zeros'");
	if (reading->inside_repeat && (lower || running))
		return kl_yaml_error(
			file, lower ? lower : running,
			"'lower' and 'running' cannot be inside 'repeat', which has only one row");
	if (reading->map >= 0)
		kl_json_set_str(reading->fill, "map", maps[reading->map]);
	if (scale)
		kl_json_set_num(reading->fill, "scale", reading->scale);
	if (reading->unit >= 0)
		kl_json_set_str(reading->fill, "unit", units[reading->unit]);
	if (lower)
		kl_json_set_int(reading->fill, "lower", reading->lower);
	if (running)
		kl_json_set_int(reading->fill, "running", reading->running);
	return 0;
}

static int read_map(json_t **out, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node, const struct reading *of)
{
	KL_AUTO(json_decrefp) json_t *fill = json_object();
	struct reading reading = *of;
	int err;

	kl_schema_clear(&reading, &fill_schema);
	reading.fill = fill;
	reading.map = reading.unit = -1;
	if ((err = kl_schema_read(&reading, &fill_schema, file, node)) < 0)
		return err;
	if (!json_object_size(fill))
		return kl_yaml_error(
			file, node,
			"'%s' does not have a generator (normal, uniform, ints, const, one-hot, "
			"choice, cauchy, index, repeat, outliers)",
			field->key);
	if ((err = add_shaping(&reading, file, node)) < 0)
		return err;
	*out = kl_steal(&fill);
	return 0;
}

/* --- a fill that is a word ------------------------------------------------------------ */

static const char *const words[] = {
	"normal", "uniform", "zeros", "ones", "one-hot", "cauchy", NULL,
};
enum { WORD_NORMAL, WORD_UNIFORM, WORD_ZEROS, WORD_ONES, WORD_ONE_HOT, WORD_CAUCHY };

static int read_word(json_t **out, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node, const struct reading *of)
{
	const struct kl_field word = KL_WORD_FIELD(field->key, 0, 0, words);
	int which, err = kl_schema_read_value(&which, file, &word, node);

	if (!err && (which == WORD_NORMAL || which == WORD_UNIFORM || which == WORD_CAUCHY))
		err = need_float(file, words[which], node, of->dtype);
	if (err < 0)
		return err;
	if (which == WORD_NORMAL || which == WORD_UNIFORM)
		*out = json_pack("{s:[ff]}", words[which], 0.0, 1.0);
	else if (which == WORD_ZEROS || which == WORD_ONES)
		*out = json_pack("{s:f}", "const", which == WORD_ONES ? 1.0 : 0.0);
	else
		*out = json_pack("{s:b}", words[which], 1);
	return 0;
}

static int read_any(json_t **out, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node, const struct reading *of)
{
	return node->kind == KL_YAML_MAP ? read_map(out, file, field, node, of) :
					   read_word(out, file, field, node, of);
}

/* --- public functions ----------------------------------------------------------------- */

int kl_fill_read(json_t **out, const char *file, const struct kl_field *field,
		 const struct kl_yaml *node, enum kl_dtype dtype, const struct kl_expr_names *dims)
{
	const struct reading reading = { .dtype = dtype, .dims = dims };

	return read_any(out, file, field, node, &reading);
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
