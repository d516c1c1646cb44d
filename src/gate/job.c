/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/job.h"

#include <string.h>

#include "base/error.h"
#include "contract/fill.h"
#include "plan/expr.h"

#define MIN_BLOCKS 8

static const char *kind_name(enum kl_arg_kind k)
{
	static const char *const names[] = {
		[KL_ARG_DIM] = "dim", [KL_ARG_SCALAR] = "scalar", [KL_ARG_IN] = "in",
		[KL_ARG_OUT] = "out", [KL_ARG_INOUT] = "inout",
	};

	return names[k];
}

/* An `index` fill's bound at every point: {"case0": 4096, ...}. */
static int index_bounds(json_t **out, const struct kl_contract *c, const char *text)
{
	KL_AUTO(kl_expr_freep) struct kl_expr *e = NULL;
	KL_AUTO(json_decrefp) json_t *bounds = json_object();
	struct kl_expr_names names = kl_contract_names(c);
	int err = kl_expr_parse(&e, text, &names, KL_EXPR_NUMBER, NULL);

	for (size_t i = 0; !err && i < kl_contract_npoints(c); i++) {
		char id[32];
		const struct kl_dims *d = kl_contract_point(c, i, id);
		int64_t v;

		err = kl_expr_eval(&v, e, d->v);
		if (!err)
			kl_json_set_int(bounds, id, v);
	}
	if (!err)
		*out = kl_steal(&bounds);
	return err;
}

static int resolve_fill(json_t **out, const struct kl_contract *c, json_t *fill)
{
	KL_AUTO(json_decrefp) json_t *bounds = NULL;
	const char *text = kl_fill_index(fill);
	int err;

	if (!text) {
		*out = json_incref(fill);
		return 0;
	}
	err = index_bounds(&bounds, c, text);
	if (!err)
		*out = kl_fill_resolve(fill, bounds);
	return err;
}

static int write_args(json_t *job, const struct kl_contract *c)
{
	json_t *args = json_array();

	kl_json_set(job, "args", args);
	for (size_t i = 0; i < c->nargs; i++) {
		const struct kl_arg *a = &c->arg[i];
		json_t *o = json_object(), *fill = NULL;
		int err;

		json_array_append_new(args, o);
		kl_json_set_str(o, "name", a->name);
		kl_json_set_str(o, "kind", kind_name(a->kind));
		kl_json_set_str(o, "dtype", a->dtype);
		if (a->kind == KL_ARG_SCALAR)
			kl_json_set_num(o, "value", a->value);
		if (!a->fill)
			continue;
		if ((err = resolve_fill(&fill, c, a->fill)) < 0)
			return err;
		kl_json_set(o, "fill", fill);
		kl_json_set_bool(o, "sweep", a->sweep);
	}
	return 0;
}

static int write_values(json_t *values, const struct kl_contract *c, const struct kl_dims *d)
{
	for (size_t i = 0; i < c->nargs; i++) {
		const struct kl_arg *a = &c->arg[i];
		int64_t extent[KL_MAX_AXES];
		json_t *axes;
		int err;

		if (a->kind == KL_ARG_DIM) {
			json_array_append_new(values, json_integer(d->v[a->dim]));
			continue;
		}
		if (a->kind == KL_ARG_SCALAR) {
			json_array_append_new(values, json_real(a->value));
			continue;
		}
		if ((err = kl_contract_shape(extent, c, i, d)) < 0)
			return err;
		axes = json_array();
		for (size_t k = 0; k < a->naxes; k++)
			json_array_append_new(axes, json_integer(extent[k]));
		json_array_append_new(values, axes);
	}
	return 0;
}

static int floor_ns(int64_t *out, const struct kl_job_spec *s, const struct kl_dims *d)
{
	const struct kl_contract *c = s->contract;
	int64_t bytes = 0, flops = 0;
	int err = 0;

	if (c->floor.bytes)
		err = kl_expr_eval(&bytes, c->floor.bytes, d->v);
	else if (c->floor.bytes_auto)
		err = kl_contract_bytes(&bytes, c, d);
	if (!err && c->floor.flops)
		err = kl_expr_eval(&flops, c->floor.flops, d->v);
	if (err < 0)
		return err;
	bytes /= s->backend->peak.bytes_per_ns;
	flops /= s->backend->peak.flops_per_ns;
	*out = bytes > flops ? bytes : flops;
	if (*out < 0)
		*out = 0;
	return 0;
}

static json_t *numbers_json(const struct kl_dims *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->n; i++)
		json_array_append_new(list, json_integer(d->v[i]));
	return list;
}

static int write_points(json_t *job, const struct kl_job_spec *s)
{
	const struct kl_contract *c = s->contract;
	size_t first = s->also_only && c->nalso ? c->nperf : 0;
	json_t *points = json_array();
	int err = 0;

	kl_json_set(job, "points", points);
	for (size_t i = first; !err && i < kl_contract_npoints(c); i++) {
		char id[32];
		const struct kl_dims *d = kl_contract_point(c, i, id);
		json_t *p = json_object(), *values = json_array();
		int64_t least = 0;

		json_array_append_new(points, p);
		kl_json_set_str(p, "id", id);
		kl_json_set(p, "values", values);
		if (c->language->dims[0]) /* they are no arguments */
			kl_json_set(p, "dims", numbers_json(d));
		kl_json_set_bool(p, "perf", i < c->nperf);
		if (i < c->nperf) {
			kl_json_set_int(p, "weight", c->perf[i].weight);
			kl_json_set_str(p, "rank", c->perf[i].hot ? "hot" : "cold");
			err = floor_ns(&least, s, d);
		}
		kl_json_set_int(p, "floor_ns", least);
		if (!err)
			err = write_values(values, c, d);
	}
	return err;
}

static int write_bands(json_t *job, const char *key, const struct kl_contract *c,
		       const json_t *bands)
{
	json_t *out = json_array(), *band, *fill;
	const char *arg;
	size_t i;

	kl_json_set(job, key, out);
	json_array_foreach(bands, i, band) {
		json_t *o = json_object();

		json_array_append_new(out, o);
		json_object_foreach(band, arg, fill) {
			json_t *resolved;
			int err = resolve_fill(&resolved, c, fill);

			if (err < 0)
				return err;
			kl_json_set(o, arg, resolved);
		}
	}
	return 0;
}

static void write_wishes(json_t *job, const struct kl_job_spec *s)
{
	json_t *wishes = json_array(), *profile = json_object();
	KL_AUTO(kl_freep) char *seed = kl_asprintf("%llu", (unsigned long long)s->seed);

	if (s->audit)
		json_array_append_new(wishes, json_string("audit"));
	if (s->correct)
		json_array_append_new(wishes, json_string("correct"));
	if (s->profile)
		json_array_append_new(wishes, json_string("profile"));
	if (s->counters)
		json_array_append_new(wishes, json_string("counters"));
	kl_json_set(job, "do", wishes);
	kl_json_set_str(job, "seed", seed);
	kl_json_set_int(profile, "min_blocks", MIN_BLOCKS);
	kl_json_set_int(profile, "max_ms", s->profile_max_ms);
	kl_json_set(job, "profile", profile);
}

int kl_job_write(json_t **out, const struct kl_job_spec *s)
{
	const struct kl_contract *c = s->contract;
	const struct kl_backend_job of = {
		.contract = c,
		.platform = s->platform,
		.candidate = s->candidate,
		.parent = s->parent,
		.baseline = s->baseline,
		.oracle = s->oracle_launch,
	};
	KL_AUTO(json_decrefp) json_t *job = json_object();
	int err = kl_contract_fits(c);

	if (err < 0)
		return err;
	kl_json_set_str(job, "schema", "klineage.job/1");
	kl_json_set_str(job, "surface", s->backend->subject);
	s->backend->describe(job, &of);
	kl_json_set_str(job, "truth", s->truth);
	kl_json_set_str(job, "honest", s->honest);
	kl_json_set_str(job, "candidate", s->candidate->object);
	kl_json_set_str(job, "parent", s->parent ? s->parent->object : NULL);
	kl_json_set_str(job, "baseline", c->baseline);
	kl_json_set_str(job, "pool", s->pool);
	kl_json_set(job, "accept", json_deep_copy(c->accept));
	kl_json_set_bool(job, "deterministic", c->deterministic);
	kl_json_set_int(job, "arena_bytes", c->arena_mib << 20);
	kl_json_set_int(job, "call_ms", c->call_s * 1000);
	write_wishes(job, s);
	if ((err = write_args(job, c)) < 0 || (err = write_points(job, s)) < 0 ||
	    (err = write_bands(job, "exact", c, c->exact)) < 0 ||
	    (err = write_bands(job, "bands", c, c->bands)) < 0)
		return err;
	*out = kl_steal(&job);
	return 0;
}
