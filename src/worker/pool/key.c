/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"

#define SCHEMA "klineage.pool/4"
#define MAX_INDEX (16u << 20)
#define MAX_OBJECT (64u << 20)

static json_t *arg_key(const struct kl_job_arg *a)
{
	json_t *o = json_object();
	char value[40];

	kl_json_set_str(o, "name", a->name);
	kl_json_set_int(o, "role", a->role);
	kl_json_set_int(o, "dtype", a->dtype);
	snprintf(value, sizeof(value), "%a", a->value);
	kl_json_set_str(o, "value", value);
	kl_json_set_bool(o, "sweep", a->sweep);
	kl_json_set(o, "fill", a->fill ? json_deep_copy(a->fill) : json_null());
	return o;
}

static json_t *point_key(const struct kl_job *job, const struct kl_point *p)
{
	json_t *o = json_object(), *values = json_array();

	kl_json_set_str(o, "id", p->id);
	kl_json_set_bool(o, "perf", p->perf);
	for (size_t i = 0; i < job->nargs; i++) {
		json_t *extent = json_array();

		for (size_t a = 0; a < p->arg[i].naxes; a++)
			json_array_append_new(extent, json_integer(p->arg[i].extent[a]));
		json_array_append_new(values, json_integer(p->arg[i].value));
		json_array_append_new(values, extent);
	}
	kl_json_set(o, "values", values);
	if (job->surface == KL_SURFACE_CUDA) {
		json_t *dims = json_array();

		for (size_t i = 0; i < job->ndim; i++)
			json_array_append_new(dims, json_integer(p->dim[i]));
		kl_json_set(o, "dims", dims);
	}
	return o;
}

/* Twins are told apart by the rules. */
static json_t *rule_key(const struct kl_rule *r)
{
	const double number[] = { r->max, r->rms, r->ulps, r->acc, r->tol };
	json_t *o = json_object(), *numbers = json_array(), *per = json_array();
	char text[40];

	kl_json_set_int(o, "kind", r->kind);
	kl_json_set_int(o, "out", r->out);
	kl_json_set_int(o, "indices", r->indices);
	kl_json_set_int(o, "of", r->of);
	for (size_t i = 0; i < KL_ARRAY_SIZE(number); i++) {
		snprintf(text, sizeof(text), "%a", number[i]);
		json_array_append_new(numbers, json_string(text));
	}
	for (int i = 0; i < r->npaxes; i++) {
		json_array_append_new(per, json_integer(r->per[i]));
		json_array_append_new(per, json_integer(r->cut[i]));
	}
	kl_json_set_bool(o, "zeros", r->zeros);
	kl_json_set(o, "numbers", numbers);
	kl_json_set(o, "per", per);
	return o;
}

json_t *kl_poolkey_of(const struct kl_job *job)
{
	json_t *o = json_object(), *args = json_array(), *points = json_array();
	json_t *rules = json_array();

	for (size_t i = 0; i < job->nargs; i++)
		json_array_append_new(args, arg_key(&job->arg[i]));
	for (size_t i = 0; i < job->npoint; i++)
		json_array_append_new(points, point_key(job, &job->point[i]));
	for (size_t i = 0; i < job->nrule; i++)
		json_array_append_new(rules, rule_key(&job->rule[i]));
	kl_json_set_str(o, "oracle_entry", job->oracle_entry);
	if (job->oracle_plan)
		kl_json_set(o, "oracle_plan", json_deep_copy(kl_plan_doc(job->oracle_plan)));
	kl_json_set(o, "args", args);
	kl_json_set(o, "points", points);
	kl_json_set(o, "rules", rules);
	kl_json_set(o, "exact", job->exact ? json_deep_copy(job->exact) : json_array());
	kl_json_set(o, "bands", job->bands ? json_deep_copy(job->bands) : json_array());
	return o;
}

static bool same_file(const char *a, const char *b)
{
	KL_AUTO(kl_buf_release) struct kl_buf x = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf y = KL_BUF_INIT;

	return kl_fs_read(&x, a, MAX_OBJECT) == 0 && kl_fs_read(&y, b, MAX_OBJECT) == 0 &&
	       x.len == y.len && !memcmp(x.ptr, y.ptr, x.len);
}

/* The key as it reads after a round through text: numbers may lose what text does not say. */
static bool same_key(const json_t *kept, const json_t *key)
{
	KL_AUTO(kl_buf_release) struct kl_buf x = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf y = KL_BUF_INIT;

	kl_json_canonical(&x, kept);
	kl_json_canonical(&y, key);
	return x.len == y.len && !memcmp(x.ptr, y.ptr, x.len);
}

static int read_index(json_t **out, const char *dir)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "index.json");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, path, MAX_INDEX);

	return err < 0 ? err : kl_json_parse(out, text.ptr, text.len);
}

bool kl_poolkey_fresh(const char *dir, const struct kl_job *job, const json_t *key, uint64_t *seed)
{
	KL_AUTO(kl_freep) char *truth = kl_fs_join(dir, "truth.so");
	KL_AUTO(kl_freep) char *honest = kl_fs_join(dir, "honest.so");
	KL_AUTO(json_decrefp) json_t *index = NULL;
	const char *text;
	uint64_t kept;

	if (read_index(&index, dir) < 0 || strcmp(kl_json_str_or(index, "schema", ""), SCHEMA))
		return false;
	text = kl_json_str_or(index, "seed", "");
	kept = strtoull(text, NULL, 10);
	if (!kept || (job->seed && job->seed != kept) ||
	    !same_key(json_object_get(index, "key"), key) || !same_file(truth, job->truth_so) ||
	    !same_file(honest, job->honest_so))
		return false;
	*seed = kept;
	return true;
}

int kl_poolkey_clear(const char *dir)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "index.json");

	return kl_fs_remove(path);
}

static int copy_digest(const char *dir, const char *name, const char *from)
{
	KL_AUTO(kl_freep) char *to = kl_fs_join(dir, name);
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	int err = kl_fs_read(&b, from, MAX_OBJECT);

	return err < 0 ? err : kl_fs_put(to, b.ptr, b.len, 0600);
}

int kl_poolkey_write(const char *dir, const struct kl_job *job, const json_t *key, uint64_t seed)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "index.json");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *index = json_object();
	char digits[24];
	int err = copy_digest(dir, "truth.so", job->truth_so);

	if (err == 0)
		err = copy_digest(dir, "honest.so", job->honest_so);
	if (err < 0)
		return err;
	snprintf(digits, sizeof(digits), "%" PRIu64, seed);
	kl_json_set_str(index, "schema", SCHEMA);
	kl_json_set_str(index, "seed", digits);
	kl_json_set(index, "key", json_deep_copy(key));
	kl_json_pretty(&text, index);
	return kl_fs_write(path, text.ptr, text.len);
}
