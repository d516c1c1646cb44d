/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/fill.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "base/rng.h"
#include "job/tensor.h"

#define BLOCK ((size_t)65536) /* most elements drawn from one stream, unless a row is longer */
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
	bool unit;
	int lower;       /* axis, or -1 */
	int64_t running; /* rows that a running sum goes over, 0: none */
};

static void fill_free(struct fill *f)
{
	if (f->inner)
		fill_free(f->inner);
	free(f->choice);
	free(f);
}
KL_DEFINE_CLEANUP(struct fill *, fill_free)

int kl_fill_number(double *out, const json_t *j)
{
	const char *s = json_string_value(j);

	if (json_is_number(j))
		*out = json_number_value(j);
	else if (s && !strcmp(s, "inf"))
		*out = INFINITY;
	else if (s && !strcmp(s, "-inf"))
		*out = -INFINITY;
	else if (s && !strcmp(s, "nan"))
		*out = NAN;
	else if (s && !strcmp(s, "-0"))
		*out = -0.0;
	else
		return kl_error(KL_EINVALID,
				"a number of a fill is neither a number nor inf, -inf, nan, -0");
	return 0;
}

static int read_pair(double *a, double *b, const json_t *v, const char *what)
{
	int err;

	if (!json_is_array(v) || json_array_size(v) != 2)
		return kl_error(KL_EINVALID, "fill '%s' needs two numbers", what);
	err = kl_fill_number(a, json_array_get(v, 0));
	return err < 0 ? err : kl_fill_number(b, json_array_get(v, 1));
}

static int parse_ints(struct fill *f, const json_t *v)
{
	const json_t *lo = json_array_get(v, 0), *hi = json_array_get(v, 1);

	if (json_array_size(v) != 2 || !json_is_integer(lo) || !json_is_integer(hi) ||
	    json_integer_value(lo) > json_integer_value(hi))
		return kl_error(KL_EINVALID,
				"fill 'ints' needs two whole numbers, the smaller first");
	f->lo = json_integer_value(lo);
	f->hi = json_integer_value(hi);
	return 0;
}

static int parse_index(struct fill *f, const json_t *v, const char *point)
{
	if (json_is_object(v))
		v = json_object_get(v, point);
	if (!json_is_integer(v) || json_integer_value(v) < 1)
		return kl_error(KL_EINVALID, "fill 'index' has no positive bound at point '%s'",
				point);
	f->lo = 0;
	f->hi = json_integer_value(v) - 1;
	return 0;
}

static int parse_choice(struct fill *f, const json_t *v)
{
	int err = 0;

	f->nchoice = json_array_size(v);
	if (!f->nchoice)
		return kl_error(KL_EINVALID, "fill 'choice' needs at least one value");
	f->choice = kl_calloc(f->nchoice, sizeof(*f->choice));
	for (size_t i = 0; i < f->nchoice && err == 0; i++)
		err = kl_fill_number(&f->choice[i], json_array_get(v, i));
	return err;
}

static int parse_fill(struct fill **out, const json_t *j, const char *point);

static int parse_kind(struct fill *f, const json_t *v, const char *point)
{
	switch (f->kind) {
	case NORMAL:
	case UNIFORM:
	case OUTLIERS:
		return read_pair(&f->a, &f->b, v, kinds[f->kind]);
	case CONST:
		return kl_fill_number(&f->a, v);
	case INTS:
		return parse_ints(f, v);
	case INDEX:
		return parse_index(f, v, point);
	case CHOICE:
		return parse_choice(f, v);
	case REPEAT:
		return parse_fill(&f->inner, v, point);
	case ONE_HOT:
	case CAUCHY:
		break;
	}
	return 0;
}

static int parse_after(struct fill *f, const json_t *j)
{
	const char *map = json_string_value(json_object_get(j, "map"));
	const char *unit = json_string_value(json_object_get(j, "unit"));
	const json_t *scale = json_object_get(j, "scale"), *lower = json_object_get(j, "lower");
	const json_t *running = json_object_get(j, "running");

	f->lower = lower ? (int)json_integer_value(lower) : -1;
	f->running = json_integer_value(running);
	if ((lower && (!json_is_integer(lower) || f->lower < 0)) ||
	    (running && (!json_is_integer(running) || f->running < 1)))
		return kl_error(KL_EINVALID,
				"'lower' and 'running' of a fill are no whole numbers");
	if (map) {
		for (size_t i = 1; i < KL_ARRAY_SIZE(maps); i++)
			if (!strcmp(map, maps[i]))
				f->map = (enum map)i;
		if (f->map == MAP_NONE)
			return kl_error(KL_EINVALID, "unknown map '%s' of a fill", map);
	}
	f->unit = unit && !strcmp(unit, "last");
	f->scale = 1.0;
	return scale ? kl_fill_number(&f->scale, scale) : 0;
}

static int parse_fill(struct fill **out, const json_t *j, const char *point)
{
	KL_AUTO(fill_freep) struct fill *f = kl_calloc(1, sizeof(*f));
	const json_t *v = NULL;
	int err;

	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds) && !v; i++) {
		v = json_object_get(j, kinds[i]);
		f->kind = (enum kind)i;
	}
	if (!v)
		return kl_error(KL_EINVALID, "a fill names none of the known kinds");
	err = parse_kind(f, v, point);
	if (err == 0)
		err = parse_after(f, j);
	if (err < 0)
		return err;
	*out = kl_steal(&f);
	return 0;
}

static int64_t draw_int(const struct fill *f, struct kl_rng *r)
{
	uint64_t span = (uint64_t)f->hi - (uint64_t)f->lo;
	uint64_t off = span == UINT64_MAX ? kl_rng_u64(r) : kl_rng_below(r, span + 1);

	return (int64_t)((uint64_t)f->lo + off);
}

static double apply_map(enum map m, double x)
{
	switch (m) {
	case MAP_SIGMOID:
		return 1.0 / (1.0 + exp(-x));
	case MAP_LOGSIGMOID:
		return x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x));
	case MAP_EXP:
		return exp(x);
	case MAP_ABS:
		return fabs(x);
	case MAP_SOFTPLUS:
		return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
	case MAP_NONE:
		break;
	}
	return x;
}

static void apply_maps(const struct fill *f, double *row, size_t n)
{
	double sum = 0;

	if (f->map != MAP_NONE)
		for (size_t i = 0; i < n; i++)
			row[i] = apply_map(f->map, row[i]);
	if (f->scale != 1.0)
		for (size_t i = 0; i < n; i++)
			row[i] *= f->scale;
	if (!f->unit)
		return;
	for (size_t i = 0; i < n; i++)
		sum += row[i] * row[i];
	if (sum > 0)
		for (size_t i = 0; i < n; i++)
			row[i] /= sqrt(sum);
}

/* One row. For `repeat`, `first` says that the row was not drawn yet. */
static void draw_row(const struct fill *f, struct kl_rng *r, double *row, size_t n, bool first)
{
	switch (f->kind) {
	case NORMAL:
		for (size_t i = 0; i < n; i++)
			row[i] = f->a + f->b * kl_rng_normal(r);
		break;
	case UNIFORM:
		for (size_t i = 0; i < n; i++)
			row[i] = f->a + (f->b - f->a) * kl_rng_uniform(r);
		break;
	case CONST:
		for (size_t i = 0; i < n; i++)
			row[i] = f->a;
		break;
	case INTS:
	case INDEX:
		for (size_t i = 0; i < n; i++)
			row[i] = (double)draw_int(f, r);
		break;
	case ONE_HOT:
		memset(row, 0, n * sizeof(*row));
		if (n)
			row[kl_rng_below(r, n)] = 1.0;
		break;
	case CHOICE:
		for (size_t i = 0; i < n; i++)
			row[i] = f->choice[kl_rng_below(r, f->nchoice)];
		break;
	case OUTLIERS:
		for (size_t i = 0; i < n; i++) {
			row[i] = kl_rng_normal(r);
			if (kl_rng_uniform(r) < f->a)
				row[i] += f->b * kl_rng_normal(r);
		}
		break;
	case CAUCHY:
		for (size_t i = 0; i < n; i++)
			row[i] = tan(M_PI * (kl_rng_uniform(r) - 0.5));
		break;
	case REPEAT:
		if (!first)
			return;
		draw_row(f->inner, r, row, n, true);
		break;
	}
	apply_maps(f, row, n);
}

/* Row `i` as one of a lower triangle: ones on the diagonal, zeros right of it. */
static void make_lower(double *row, size_t n, const struct kl_fill_spec *s, int axis, size_t i)
{
	for (size_t a = s->naxes - 1; a-- > (size_t)axis + 1;)
		i /= (size_t)s->extent[a];
	i = i % (size_t)s->extent[axis] % n;
	row[i] = 1;
	for (size_t k = i + 1; k < n; k++)
		row[k] = 0;
}

/* `before` becomes this row, added to it unless a new stretch begins. */
static void make_running(double *row, double *before, size_t n, const struct kl_fill_spec *s,
			 int64_t stretch, size_t i)
{
	bool first = (int64_t)(i % (size_t)s->extent[s->naxes - 2]) % stretch == 0;

	for (size_t k = 0; k < n; k++)
		before[k] = row[k] += first ? 0 : before[k];
}

static int check_axes(const struct fill *f, const struct kl_fill_spec *s)
{
	if (f->running && s->naxes < 2)
		return kl_error(KL_EINVALID, "fill 'running' needs an axis before the last");
	if (f->lower >= 0 && (size_t)f->lower + 1 >= s->naxes)
		return kl_error(KL_EINVALID, "fill 'lower' needs an axis before the last");
	return 0;
}

static bool fits_whole(const struct fill *f, const struct kl_fill_spec *s)
{
	return !kl_dtype_is_float(s->dtype) && (f->kind == INTS || f->kind == INDEX) &&
	       f->map == MAP_NONE && f->scale == 1.0 && !f->unit;
}

/* two's complement, little-endian: the low bytes are the narrower integer */
static void draw_whole(char *out, const struct fill *f, enum kl_dtype t, size_t n, struct kl_rng *r)
{
	size_t size = kl_dtype_bytes(t);

	for (size_t i = 0; i < n; i++) {
		int64_t v = draw_int(f, r);

		memcpy(out + i * size, &v, size);
	}
}

/* What is drawn, in blocks of whole rows. */
struct drawing {
	const struct fill *f;
	const struct kl_fill_spec *s;
	void *out;
	size_t n, rows, block; /* elements of a row; rows; rows of a block */
};

/* Each block draws from a stream of its own, so that they may be drawn side by side. */
static void block_stream(struct kl_rng *r, const struct drawing *d, size_t row)
{
	kl_rng_seed(r, row ? kl_rng_mix(d->s->seed ^ kl_rng_mix(row / d->block)) : d->s->seed);
}

static void draw_rows(void *ctx, size_t from, size_t to)
{
	const struct drawing *d = ctx;
	const struct kl_fill_spec *s = d->s;
	const struct fill *f = d->f;
	KL_AUTO(kl_freep) double *row = kl_calloc(d->n, sizeof(*row));
	KL_AUTO(kl_freep) double *before = kl_calloc(f->running ? d->n : 1, sizeof(*before));
	struct kl_rng r;

	for (size_t i = from; i < to; i++) {
		if (i % d->block == 0)
			block_stream(&r, d, i);
		draw_row(f, &r, row, d->n, i == 0);
		if (f->lower >= 0)
			make_lower(row, d->n, s, f->lower, i);
		if (f->running)
			make_running(row, before, d->n, s, f->running, i);
		if (s->factor != 1.0 && (i == 0 || f->kind != REPEAT))
			for (size_t k = 0; k < d->n; k++)
				row[k] *= s->factor;
		kl_tensor_store(d->out, s->dtype, i * d->n, row, d->n);
	}
}

static void draw_whole_rows(void *ctx, size_t from, size_t to)
{
	const struct drawing *d = ctx;
	size_t size = kl_dtype_bytes(d->s->dtype);
	struct kl_rng r;

	for (size_t i = from; i < to; i++) {
		if (i % d->block == 0)
			block_stream(&r, d, i);
		draw_whole((char *)d->out + i * d->n * size, d->f, d->s->dtype, d->n, &r);
	}
}

int kl_fill_make(void *out, const struct kl_fill_spec *s)
{
	KL_AUTO(fill_freep) struct fill *f = NULL;
	struct drawing d = { .s = s, .out = out, .rows = 1 };
	int err = parse_fill(&f, s->fill, s->point);

	if (err < 0 || (err = check_axes(f, s)) < 0)
		return err;
	d.f = f;
	d.n = s->naxes ? (size_t)s->extent[s->naxes - 1] : 1;
	for (size_t a = 0; a + 1 < s->naxes; a++)
		d.rows *= (size_t)s->extent[a];
	if (!d.n || !d.rows)
		return 0;
	d.block = d.n < BLOCK ? BLOCK / d.n : 1;
	if (fits_whole(f, s))
		kl_par_for(d.rows, d.block, draw_whole_rows, &d);
	else if (f->kind == REPEAT || f->running) /* a row needs the one before it */
		draw_rows(&d, 0, d.rows);
	else
		kl_par_for(d.rows, d.block, draw_rows, &d);
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

/* "exact3" of job->exact, "band1" of job->bands: the entry's own fill for `name`, or NULL */
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
		 uint64_t seed, size_t arg)
{
	const struct kl_job_arg *a = &job->arg[arg];
	const json_t *own = band_fill(job, band, a->name);
	struct kl_fill_spec s = {
		.fill = own ? own : a->fill,
		.dtype = a->dtype,
		.extent = pt->arg[arg].extent,
		.naxes = pt->arg[arg].naxes,
		.point = pt->id,
		.seed = kl_rng_derive(seed, a->name),
		.factor = 1.0,
	};
	int err;

	if (a->sweep && !strcmp(band, "scale-up"))
		s.factor = SCALE_UP;
	if (a->sweep && !strcmp(band, "scale-down"))
		s.factor = SCALE_DOWN;
	err = kl_fill_make(out, &s);
	return err < 0 ? kl_error_in(err, "argument '%s', band '%s'", a->name, band) : 0;
}
