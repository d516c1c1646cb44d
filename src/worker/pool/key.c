/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "job/job_domain.h"

#define SCHEMA "klineage.pool/8"
#define MAX_INDEX (16u << 20)
#define MAX_OBJECT (64u << 20)

static json_t *arg_key(const struct kl_job_arg *arg)
{
	json_t *object = json_object();
	char value[40];

	kl_json_set_str(object, "name", arg->name);
	kl_json_set_int(object, "role", arg->kind);
	kl_json_set_int(object, "dtype", arg->dtype);
	snprintf(value, sizeof(value), "%a", arg->value);
	kl_json_set_str(object, "value", value);
	kl_json_set_bool(object, "sweep", arg->sweep);
	kl_json_set(object, "fill", arg->fill ? json_deep_copy(arg->fill) : json_null());
	return object;
}

static json_t *point_key(const struct kl_job *job, const struct kl_point *point)
{
	json_t *object = json_object(), *values = json_array();

	kl_json_set_str(object, "id", point->id);
	kl_json_set_bool(object, "perf", point->perf);
	kl_json_set_bool(object, "drawn", point->drawn);
	for (size_t i = 0; i < job->nargs; i++) {
		json_t *extent = json_array();

		for (size_t axis = 0; axis < point->arg[i].naxes; axis++)
			json_array_append_new(extent, json_integer(point->arg[i].extent[axis]));
		json_array_append_new(values, json_integer(point->arg[i].value));
		json_array_append_new(values, extent);
	}
	kl_json_set(object, "values", values);
	if (job->ndim) {
		json_t *dims = json_array();

		for (size_t i = 0; i < job->ndim; i++)
			json_array_append_new(dims, json_integer(point->dim[i]));
		kl_json_set(object, "dims", dims);
	}
	return object;
}

/*
 * Return the key of a rule. The pool depends on rules, because they decide whether a twin differs
 * enough.
 */
static json_t *rule_key(const struct kl_rule *rule)
{
	const double number[] = { rule->max, rule->rms, rule->ulps, rule->acc, rule->tol };
	json_t *object = json_object(), *numbers = json_array(), *per = json_array();
	char text[40];

	kl_json_set_int(object, "kind", rule->kind);
	kl_json_set_int(object, "out", rule->out);
	kl_json_set_int(object, "indices", rule->indices);
	kl_json_set_int(object, "of", rule->of);
	for (size_t i = 0; i < KL_ARRAY_SIZE(number); i++) {
		snprintf(text, sizeof(text), "%a", number[i]);
		json_array_append_new(numbers, json_string(text));
	}
	for (int i = 0; i < rule->npaxes; i++) {
		json_array_append_new(per, json_integer(rule->per[i]));
		json_array_append_new(per, json_integer(rule->cut[i]));
	}
	kl_json_set_bool(object, "zeros", rule->zeros);
	kl_json_set(object, "numbers", numbers);
	kl_json_set(object, "per", per);
	return object;
}

json_t *kl_poolkey_of(const struct kl_job *job)
{
	json_t *object = json_object(), *args = json_array(), *points = json_array();
	json_t *rules = json_array(), *values = json_array();

	for (size_t i = 0; i < job->nargs; i++)
		json_array_append_new(args, arg_key(&job->arg[i]));
	for (size_t i = 0; i < job->npoint; i++)
		json_array_append_new(points, point_key(job, &job->point[i]));
	for (size_t i = 0; i < job->nrule; i++)
		json_array_append_new(rules, rule_key(&job->rule[i]));
	if (job->oracle_plan)
		kl_json_set(object, "oracle_plan", kl_plan_to_json(job->oracle_plan));
	kl_json_set(object, "args", args);
	kl_json_set(object, "points", points);
	kl_json_set(object, "rules", rules);
	/* further bands (further.h) depend on which values the contract calls undefined */
	for (size_t i = 0; i < KL_VALUES && job->further; i++)
		json_array_append_new(values, json_boolean(job->values.undefined[i]));
	kl_json_set(object, "values", values);
	if (job->domain)
		kl_json_set(object, "domain", kl_job_write_domain(job));
	kl_json_set(object, "exact", job->exact ? json_deep_copy(job->exact) : json_array());
	kl_json_set(object, "bands", job->bands ? json_deep_copy(job->bands) : json_array());
	return object;
}

static bool same_file(const char *left, const char *right)
{
	KL_AUTO(kl_buf_release) struct kl_buf left_bytes = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf right_bytes = KL_BUF_INIT;

	return kl_fs_read(&left_bytes, left, MAX_OBJECT) == 0 &&
	       kl_fs_read(&right_bytes, right, MAX_OBJECT) == 0 &&
	       left_bytes.len == right_bytes.len &&
	       !memcmp(left_bytes.ptr, right_bytes.ptr, left_bytes.len);
}

/*
 * Return true if the keys have the same canonical text. They are compared as text because `kept`
 * was written and read back: its numbers can have lost digits, but the canonical texts of both have
 * the same digits.
 */
static bool same_key(const json_t *kept, const json_t *key)
{
	KL_AUTO(kl_buf_release) struct kl_buf kept_text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf key_text = KL_BUF_INIT;

	kl_json_canonical(&kept_text, kept);
	kl_json_canonical(&key_text, key);
	return kept_text.len == key_text.len && !memcmp(kept_text.ptr, key_text.ptr, kept_text.len);
}

static int read_index(json_t **out, const char *dir)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "index.json");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, path, MAX_INDEX);

	return err < 0 ? err : kl_json_parse(out, text.ptr, text.len);
}

static void fill_index(struct kl_poolindex *out, const struct kl_job *job, const json_t *index)
{
	const json_t *costs = json_object_get(index, "costs");

	for (size_t i = 0; i < job->npoint; i++)
		out->cost[i] = json_integer_value(json_array_get(costs, i));
	out->choice = strtoull(kl_json_str_or(index, "choice", "0"), NULL, 10);
	out->none = json_incref(json_object_get(index, "none"));
}

bool kl_poolkey_fresh(const char *dir, const struct kl_job *job, const json_t *key,
		      struct kl_poolindex *out)
{
	KL_AUTO(kl_freep) char *truth = kl_fs_join(dir, "truth.so");
	KL_AUTO(kl_freep) char *honest = kl_fs_join(dir, "honest.so");
	KL_AUTO(json_decrefp) json_t *index = NULL;
	char digits[24];

	if (read_index(&index, dir) < 0 || strcmp(kl_json_str_or(index, "schema", ""), SCHEMA))
		return false;
	/*
	 * a live session (seed 0) must not use the pool of a replay, whose inputs can be known in
	 * advance
	 */
	snprintf(digits, sizeof(digits), "%" PRIu64, job->seed);
	if (strcmp(kl_json_str_or(index, "seed", ""), digits) ||
	    !same_key(json_object_get(index, "key"), key) || !same_file(truth, job->truth_path) ||
	    !same_file(honest, job->honest_path))
		return false;
	fill_index(out, job, index);
	return true;
}

int kl_poolkey_clear(const char *dir)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "index.json");

	return kl_fs_remove(path);
}

static int copy_object(const char *dir, const char *name, const char *from)
{
	KL_AUTO(kl_freep) char *to = kl_fs_join(dir, name);
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	int err = kl_fs_read(&bytes, from, MAX_OBJECT);

	return err < 0 ? err : kl_fs_put(to, bytes.ptr, bytes.len, 0600);
}

int kl_poolkey_write(const char *dir, const struct kl_job *job, const json_t *key,
		     const struct kl_poolindex *more)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "index.json");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *index = json_object();
	json_t *costs;
	char digits[24];
	int err = copy_object(dir, "truth.so", job->truth_path);

	if (err == 0)
		err = copy_object(dir, "honest.so", job->honest_path);
	if (err < 0)
		return err;
	costs = json_array();
	snprintf(digits, sizeof(digits), "%" PRIu64, job->seed);
	kl_json_set_str(index, "schema", SCHEMA);
	kl_json_set_str(index, "seed", digits);
	snprintf(digits, sizeof(digits), "%" PRIu64, more->choice);
	kl_json_set_str(index, "choice", digits);
	for (size_t i = 0; i < job->npoint; i++)
		json_array_append_new(costs, json_integer(more->cost[i]));
	kl_json_set(index, "costs", costs);
	kl_json_set(index, "none", json_incref(more->none));
	kl_json_set(index, "key", json_deep_copy(key));
	kl_json_pretty(&text, index);
	return kl_fs_write(path, text.ptr, text.len);
}
