/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/fill.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "base/rng.h"
#include "job/tensor.h"

/* maximum number of elements drawn from one stream, except for longer rows */
#define BLOCK ((size_t)65536)
#define SCALE_UP 0x1p6
#define SCALE_DOWN 0x1p-10

enum kind { NORMAL, UNIFORM, INTS, CONST, ONE_HOT, CHOICE, CAUCHY, INDEX, REPEAT, OUTLIERS };

static const char *const kinds[] = {
	"normal", "uniform", "ints",  "const",  "one-hot",
	"choice", "cauchy",  "index", "repeat", "outliers",
};

enum map { MAP_NONE, MAP_SIGMOID, MAP_LOGSIGMOID, MAP_EXP, MAP_ABS, MAP_SOFTPLUS };

static const char *const maps[] = { "", "sigmoid", "logsigmoid", "exp", "abs", "softplus" };

struct fill {
	enum kind kind;
	double a, b;    /* parameters of normal, uniform, const, outliers */
	int64_t lo, hi; /* ints, index: both ends included */
	double *choice;
	size_t nchoice;
	struct fill *inner; /* repeat */
	enum map map;
	double scale;
	bool unit;       /* scale each row to length 1 */
	int lower;       /* axis of the triangle's rows; -1 if there is no triangle */
	int64_t running; /* number of rows in a running sum; 0 if no running sums */
};

static void fill_free(struct fill *fill)
{
	if (fill->inner)
		fill_free(fill->inner);
	free(fill->choice);
	free(fill);
}
KL_DEFINE_CLEANUP(struct fill *, fill_free)

int kl_fill_number(double *out, const json_t *value)
{
	const char *text = json_string_value(value);

	if (json_is_number(value))
		*out = json_number_value(value);
	else if (text && !strcmp(text, "inf"))
		*out = INFINITY;
	else if (text && !strcmp(text, "-inf"))
		*out = -INFINITY;
	else if (text && !strcmp(text, "nan"))
		*out = NAN;
	else if (text && !strcmp(text, "-0"))
		*out = -0.0;
	else
		return kl_error(KL_EINVALID, "a fill value must be a number, inf, -inf, nan or -0");
	return 0;
}

static int read_pair(double *first, double *second, const json_t *value, const char *what)
{
	int err;

	if (!json_is_array(value) || json_array_size(value) != 2)
		return kl_error(KL_EINVALID, "fill '%s' needs two numbers", what);
	err = kl_fill_number(first, json_array_get(value, 0));
	return err < 0 ? err : kl_fill_number(second, json_array_get(value, 1));
}

static int parse_ints(struct fill *fill, const json_t *value)
{
	const json_t *lo = json_array_get(value, 0), *hi = json_array_get(value, 1);

	if (json_array_size(value) != 2 || !json_is_integer(lo) || !json_is_integer(hi) ||
	    json_integer_value(lo) > json_integer_value(hi))
		return kl_error(KL_EINVALID,
				"fill 'ints' needs two whole numbers, the smaller first");
	fill->lo = json_integer_value(lo);
	fill->hi = json_integer_value(hi);
	return 0;
}

static int parse_index(struct fill *fill, const json_t *value, const char *point)
{
	if (json_is_object(value))
		value = json_object_get(value, point);
	if (!json_is_integer(value) || json_integer_value(value) < 1)
		return kl_error(KL_EINVALID, "fill 'index' has no positive bound at point '%s'",
				point);
	fill->lo = 0;
	fill->hi = json_integer_value(value) - 1;
	return 0;
}

static int parse_choice(struct fill *fill, const json_t *value)
{
	int err = 0;

	fill->nchoice = json_array_size(value);
	if (!fill->nchoice)
		return kl_error(KL_EINVALID, "fill 'choice' needs at least one value");
	fill->choice = kl_calloc(fill->nchoice, sizeof(*fill->choice));
	for (size_t i = 0; i < fill->nchoice && err == 0; i++)
		err = kl_fill_number(&fill->choice[i], json_array_get(value, i));
	return err;
}

static int parse_fill(struct fill **out, const json_t *value, const char *point);

static int parse_kind(struct fill *fill, const json_t *value, const char *point)
{
	switch (fill->kind) {
	case NORMAL:
	case UNIFORM:
	case OUTLIERS:
		return read_pair(&fill->a, &fill->b, value, kinds[fill->kind]);
	case CONST:
		return kl_fill_number(&fill->a, value);
	case INTS:
		return parse_ints(fill, value);
	case INDEX:
		return parse_index(fill, value, point);
	case CHOICE:
		return parse_choice(fill, value);
	case REPEAT:
		return parse_fill(&fill->inner, value, point);
	case ONE_HOT:
	case CAUCHY:
		break;
	}
	return 0;
}

static int parse_after(struct fill *fill, const json_t *value)
{
	const char *map = json_string_value(json_object_get(value, "map"));
	const char *unit = json_string_value(json_object_get(value, "unit"));
	const json_t *scale = json_object_get(value, "scale"),
		     *lower = json_object_get(value, "lower");
	const json_t *running = json_object_get(value, "running");

	fill->lower = lower ? (int)json_integer_value(lower) : -1;
	fill->running = json_integer_value(running);
	if ((lower && (!json_is_integer(lower) || fill->lower < 0)) ||
	    (running && (!json_is_integer(running) || fill->running < 1)))
		return kl_error(KL_EINVALID,
				"'lower' and 'running' of a fill must be whole numbers");
	if (map) {
		for (size_t i = 1; i < KL_ARRAY_SIZE(maps); i++)
			if (!strcmp(map, maps[i]))
				fill->map = (enum map)i;
		if (fill->map == MAP_NONE)
			return kl_error(KL_EINVALID, "unknown map '%s' in a fill", map);
	}
	fill->unit = unit && !strcmp(unit, "last");
	fill->scale = 1.0;
	return scale ? kl_fill_number(&fill->scale, scale) : 0;
}

static int parse_fill(struct fill **out, const json_t *item, const char *point)
{
	KL_AUTO(fill_freep) struct fill *fill = kl_calloc(1, sizeof(*fill));
	const json_t *value = NULL;
	int err;

	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds) && !value; i++) {
		value = json_object_get(item, kinds[i]);
		fill->kind = (enum kind)i;
	}
	if (!value)
		return kl_error(KL_EINVALID, "a fill has no known kind");
	err = parse_kind(fill, value, point);
	if (err == 0)
		err = parse_after(fill, item);
	if (err < 0)
		return err;
	*out = kl_steal(&fill);
	return 0;
}

static int64_t draw_int(const struct fill *fill, struct kl_rng *rng)
{
	uint64_t span = (uint64_t)fill->hi - (uint64_t)fill->lo;
	uint64_t off = span == UINT64_MAX ? kl_rng_u64(rng) : kl_rng_below(rng, span + 1);

	return (int64_t)((uint64_t)fill->lo + off);
}

static double apply_map(enum map map, double value)
{
	switch (map) {
	case MAP_SIGMOID:
		return 1.0 / (1.0 + exp(-value));
	case MAP_LOGSIGMOID:
		return value < 0 ? value - log1p(exp(value)) : -log1p(exp(-value));
	case MAP_EXP:
		return exp(value);
	case MAP_ABS:
		return fabs(value);
	case MAP_SOFTPLUS:
		return value > 0 ? value + log1p(exp(-value)) : log1p(exp(value));
	case MAP_NONE:
		break;
	}
	return value;
}

static void apply_maps(const struct fill *fill, double *row, size_t n)
{
	double sum = 0;

	if (fill->map != MAP_NONE)
		for (size_t i = 0; i < n; i++)
			row[i] = apply_map(fill->map, row[i]);
	if (fill->scale != 1.0)
		for (size_t i = 0; i < n; i++)
			row[i] *= fill->scale;
	if (!fill->unit)
		return;
	for (size_t i = 0; i < n; i++)
		sum += row[i] * row[i];
	if (sum > 0)
		for (size_t i = 0; i < n; i++)
			row[i] /= sqrt(sum);
}

/*
 * Draw one row; `first` is true for the first row of the tensor. The fill `repeat` draws only the
 * first row; for any other row it leaves `row` unchanged, so that all rows are the same.
 */
static void draw_row(const struct fill *fill, struct kl_rng *rng, double *row, size_t n, bool first)
{
	switch (fill->kind) {
	case NORMAL:
		for (size_t i = 0; i < n; i++)
			row[i] = fill->a + fill->b * kl_rng_normal(rng);
		break;
	case UNIFORM:
		for (size_t i = 0; i < n; i++)
			row[i] = fill->a + (fill->b - fill->a) * kl_rng_uniform(rng);
		break;
	case CONST:
		for (size_t i = 0; i < n; i++)
			row[i] = fill->a;
		break;
	case INTS:
	case INDEX:
		for (size_t i = 0; i < n; i++)
			row[i] = (double)draw_int(fill, rng);
		break;
	case ONE_HOT:
		memset(row, 0, n * sizeof(*row));
		if (n)
			row[kl_rng_below(rng, n)] = 1.0;
		break;
	case CHOICE:
		for (size_t i = 0; i < n; i++)
			row[i] = fill->choice[kl_rng_below(rng, fill->nchoice)];
		break;
	case OUTLIERS:
		for (size_t i = 0; i < n; i++) {
			row[i] = kl_rng_normal(rng);
			if (kl_rng_uniform(rng) < fill->a)
				row[i] += fill->b * kl_rng_normal(rng);
		}
		break;
	case CAUCHY:
		for (size_t i = 0; i < n; i++)
			row[i] = tan(M_PI * (kl_rng_uniform(rng) - 0.5));
		break;
	case REPEAT:
		if (!first)
			return;
		draw_row(fill->inner, rng, row, n, true);
		break;
	}
	apply_maps(fill, row, n);
}

/* Turn row `i` into a row of a lower triangle: 1 on the diagonal, zeros right of the diagonal. */
static void make_lower(double *row, size_t n, const struct kl_fill_spec *spec, int axis, size_t i)
{
	for (size_t outer = spec->naxes - 1; outer-- > (size_t)axis + 1;)
		i /= (size_t)spec->extent[outer];
	i = i % (size_t)spec->extent[axis] % n;
	row[i] = 1;
	for (size_t col = i + 1; col < n; col++)
		row[col] = 0;
}

/*
 * Add `before`, the running sum up to the previous row, to row `i`, unless a new running sum begins
 * at this row. Store the result in `row` and in `before`. A running sum extends over `stretch`
 * rows.
 */
static void make_running(double *row, double *before, size_t n, const struct kl_fill_spec *spec,
			 int64_t stretch, size_t i)
{
	bool first = (int64_t)(i % (size_t)spec->extent[spec->naxes - 2]) % stretch == 0;

	for (size_t k = 0; k < n; k++)
		before[k] = row[k] += first ? 0 : before[k];
}

static int check_axes(const struct fill *fill, const struct kl_fill_spec *spec)
{
	if (fill->running && spec->naxes < 2)
		return kl_error(KL_EINVALID, "fill 'running' needs an axis before the last");
	if (fill->lower >= 0 && (size_t)fill->lower + 1 >= spec->naxes)
		return kl_error(KL_EINVALID, "fill 'lower' needs an axis before the last");
	return 0;
}

static bool fits_whole(const struct fill *fill, const struct kl_fill_spec *spec)
{
	return !kl_dtype_is_float(spec->dtype) && (fill->kind == INTS || fill->kind == INDEX) &&
	       fill->map == MAP_NONE && fill->scale == 1.0 && !fill->unit;
}

/*
 * Draw whole numbers without converting them to double. To store a number in a narrower integer
 * type, copy the low bytes of its int64_t (two's complement, little-endian).
 */
static void draw_whole(char *out, const struct fill *fill, enum kl_dtype dtype, size_t n,
		       struct kl_rng *rng)
{
	size_t size = kl_dtype_bytes(dtype);

	for (size_t i = 0; i < n; i++) {
		int64_t value = draw_int(fill, rng);

		memcpy(out + i * size, &value, size);
	}
}

/* A tensor being drawn in blocks of whole rows. */
struct drawing {
	const struct fill *fill;
	const struct kl_fill_spec *spec;
	void *out;
	size_t n, rows, block; /* elements of a row; number of rows; rows of a block */
};

/*
 * Start the random stream of the block that begins at `row`. Each block has a stream of its own, so
 * that blocks can be drawn in parallel.
 */
static void block_stream(struct kl_rng *rng, const struct drawing *drawing, size_t row)
{
	kl_rng_key(rng, &drawing->spec->key, row / drawing->block);
}

static void draw_rows(void *ctx, size_t from, size_t to)
{
	const struct drawing *drawing = ctx;
	const struct kl_fill_spec *spec = drawing->spec;
	const struct fill *fill = drawing->fill;
	KL_AUTO(kl_freep) double *row = kl_calloc(drawing->n, sizeof(*row));
	KL_AUTO(kl_freep) double *before = kl_calloc(fill->running ? drawing->n : 1,
						     sizeof(*before));
	struct kl_rng rng;

	for (size_t i = from; i < to; i++) {
		if (i % drawing->block == 0)
			block_stream(&rng, drawing, i);
		draw_row(fill, &rng, row, drawing->n, i == 0);
		if (fill->lower >= 0)
			make_lower(row, drawing->n, spec, fill->lower, i);
		if (fill->running)
			make_running(row, before, drawing->n, spec, fill->running, i);
		if (spec->factor != 1.0 && (i == 0 || fill->kind != REPEAT))
			for (size_t k = 0; k < drawing->n; k++)
				row[k] *= spec->factor;
		kl_tensor_store(drawing->out, spec->dtype, i * drawing->n, row, drawing->n);
	}
}

static void draw_whole_rows(void *ctx, size_t from, size_t to)
{
	const struct drawing *drawing = ctx;
	size_t size = kl_dtype_bytes(drawing->spec->dtype);
	struct kl_rng rng;

	for (size_t i = from; i < to; i++) {
		if (i % drawing->block == 0)
			block_stream(&rng, drawing, i);
		draw_whole((char *)drawing->out + i * drawing->n * size, drawing->fill,
			   drawing->spec->dtype, drawing->n, &rng);
	}
}

int kl_fill_make(void *out, const struct kl_fill_spec *spec)
{
	KL_AUTO(fill_freep) struct fill *fill = NULL;
	struct drawing drawing = { .spec = spec, .out = out, .rows = 1 };
	int err = parse_fill(&fill, spec->fill, spec->point);

	if (err < 0 || (err = check_axes(fill, spec)) < 0)
		return err;
	drawing.fill = fill;
	drawing.n = spec->naxes ? (size_t)spec->extent[spec->naxes - 1] : 1;
	for (size_t axis = 0; axis + 1 < spec->naxes; axis++)
		drawing.rows *= (size_t)spec->extent[axis];
	if (!drawing.n || !drawing.rows)
		return 0;
	drawing.block = drawing.n < BLOCK ? BLOCK / drawing.n : 1;
	if (fits_whole(fill, spec))
		kl_par_for(drawing.rows, drawing.block, draw_whole_rows, &drawing);
	else if (fill->kind == REPEAT || fill->running) /* each row depends on the previous one */
		draw_rows(&drawing, 0, drawing.rows);
	else
		kl_par_for(drawing.rows, drawing.block, draw_rows, &drawing);
	return 0;
}

enum kl_fill_grain kl_fill_grain(const json_t *fill)
{
	if (json_object_get(fill, "repeat") || json_object_get(fill, "lower") ||
	    json_object_get(fill, "running"))
		return KL_GRAIN_TENSOR;
	return json_object_get(fill, "one-hot") || json_object_get(fill, "unit") ? KL_GRAIN_ROW :
										   KL_GRAIN_ELEMENT;
}

/*
 * Return the fill that a band ("exact3" of job->exact, "band1" of job->bands) sets for argument
 * `name`; NULL if the band sets no fill for this argument.
 */
static const json_t *band_fill(const struct kl_job *job, const char *band, const char *name)
{
	const json_t *list = NULL;
	const char *digits = band;

	if (!strncmp(band, "exact", 5)) {
		list = job->exact;
		digits += 5;
	} else if (!strncmp(band, "band", 4)) {
		list = job->bands;
		digits += 4;
	}
	return list ? json_object_get(json_array_get(list, strtoul(digits, NULL, 10)), name) : NULL;
}

int kl_fill_band(void *out, const struct kl_job *job, const struct kl_point *pt, const char *band,
		 const struct kl_key *key, size_t arg)
{
	const struct kl_job_arg *job_arg = &job->arg[arg];
	const json_t *own = band_fill(job, band, job_arg->name);
	struct kl_fill_spec spec = {
		.fill = own ? own : job_arg->fill,
		.dtype = job_arg->dtype,
		.extent = pt->arg[arg].extent,
		.naxes = pt->arg[arg].naxes,
		.point = pt->id,
		.key = kl_key_derive(key, job_arg->name),
		.factor = 1.0,
	};
	int err;

	if (job_arg->sweep && !strcmp(band, "scale-up"))
		spec.factor = SCALE_UP;
	if (job_arg->sweep && !strcmp(band, "scale-down"))
		spec.factor = SCALE_DOWN;
	err = kl_fill_make(out, &spec);
	return err < 0 ? kl_error_in(err, "argument '%s', band '%s'", job_arg->name, band) : 0;
}
