/* SPDX-License-Identifier: Apache-2.0 */
/* when_store - keeps the events of a map in the repository, one file for each point */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "probe/when_parts.h"
#include "text/json.h"

#define SCHEMA "klineage.when/1"
#define MAX_FILE ((size_t)4 << 20)
#define PAIR "pair.json"
#define SUFFIX ".jsonl"

/* --- directories ------------------------------------------------------------------------------ */

char *kl_when_dir(struct kl_repo *repo, const struct kl_when_pair *pair)
{
	struct kl_digest *digest = kl_digest_new();
	KL_AUTO(kl_freep) char *policy = kl_asprintf("%d", KL_GATE_POLICY);
	char hex[KL_DIGEST_HEX];

	kl_digest_adds(digest, policy);
	kl_digest_adds(digest, pair->tier);
	kl_digest_adds(digest, pair->a->digest);
	kl_digest_adds(digest, pair->b->digest);
	kl_digest_adds(digest, pair->a->contract_digest);
	kl_digest_adds(digest, pair->platform->id);
	kl_digest_adds(digest, pair->platform->device);
	kl_digest_adds(digest, pair->platform->compiler);
	kl_digest_end(digest, hex);
	return kl_asprintf("%s/klineage/when/%s", kl_repo_common_dir(repo), hex);
}

int kl_when_dir_make(const char *dir, const struct kl_when_pair *pair)
{
	KL_AUTO(json_decrefp) json_t *doc = json_object();
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, PAIR);
	char now[21];
	int err = kl_fs_mkdir(dir);

	kl_clock_iso(now);
	kl_json_set_str(doc, "schema", SCHEMA);
	kl_json_set_str(doc, "time", now);
	kl_json_set_str(doc, "a", pair->a->digest);
	kl_json_set_str(doc, "b", pair->b->digest);
	kl_json_set_str(doc, "contract", pair->a->contract_digest);
	kl_json_set_str(doc, "platform", pair->platform->id);
	kl_json_set_str(doc, "device", pair->platform->device);
	kl_json_canonical(&text, doc);
	return err < 0 ? err : kl_fs_write(path, text.ptr, text.len);
}

/* Read the file of a directory. Return NULL if its map does not compare these surfaces. */
static json_t *read_pair(const char *dir, const struct kl_surface *a, const struct kl_surface *b)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, PAIR);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *doc = NULL;

	if (kl_fs_read(&text, path, MAX_FILE) < 0 || kl_json_parse(&doc, text.ptr, text.len) < 0) {
		kl_error_clear();
		return NULL;
	}
	if (strcmp(kl_json_str_or(doc, "a", ""), a->digest) != 0 ||
	    strcmp(kl_json_str_or(doc, "b", ""), b->digest) != 0 ||
	    strcmp(kl_json_str_or(doc, "contract", ""), a->contract_digest) != 0)
		return NULL;
	return json_incref(doc);
}

int kl_when_dirs_find(struct kl_map *out, struct kl_repo *repo, const struct kl_surface *a,
		      const struct kl_surface *b)
{
	KL_AUTO(kl_freep) char *top = kl_asprintf("%s/klineage/when", kl_repo_common_dir(repo));
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(kl_map_release) struct kl_map times = { .free_value = free };
	int err = kl_fs_is_dir(top) ? kl_fs_list(&names, top) : 0;

	for (size_t i = 0; i < names.n && !err; i++) {
		KL_AUTO(kl_freep) char *dir = kl_fs_join(top, names.v[i]), *place = NULL;
		KL_AUTO(json_decrefp) json_t *doc = read_pair(dir, a, b);
		const char *time = kl_json_str_or(doc, "time", ""), *newest;

		if (!doc)
			continue;
		place = kl_asprintf("%s\n%s", kl_json_str_or(doc, "platform", ""),
				    kl_json_str_or(doc, "device", ""));
		newest = kl_map_get(&times, place);
		if (newest && strcmp(time, newest) <= 0)
			continue;
		kl_map_put(&times, place, kl_strdup(time));
		kl_map_put(out, place, kl_steal(&dir));
	}
	return err;
}

/* --- points ----------------------------------------------------------------------------------- */

static char *point_path(const char *dir, const struct kl_contract *contract,
			const struct kl_dims *dims)
{
	KL_AUTO(kl_freep) char *text = kl_contract_dims_text(contract, dims);
	char hex[KL_DIGEST_HEX];

	kl_digest_hex(hex, text, strlen(text));
	return kl_asprintf("%s/%.32s" SUFFIX, dir, hex);
}

int kl_when_point_store(const char *dir, const struct kl_contract *contract,
			const struct kl_dims *dims, const struct kl_event *a,
			const struct kl_event *b)
{
	KL_AUTO(kl_freep) char *path = point_path(dir, contract, dims);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_event_write(&text, a);
	kl_buf_addch(&text, '\n');
	if (b) {
		kl_event_write(&text, b);
		kl_buf_addch(&text, '\n');
	}
	return kl_fs_write(path, text.ptr, text.len);
}

int kl_when_point_give_up(const char *dir, const struct kl_contract *contract,
			  const struct kl_dims *dims, const char *why)
{
	KL_AUTO(kl_freep) char *path = point_path(dir, contract, dims);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *doc = json_object();
	json_t *object = json_object();

	for (size_t i = 0; i < dims->n; i++)
		kl_json_set_int(object, contract->dim_name[i], dims->v[i]);
	kl_json_set(doc, "dims", object);
	kl_json_set_str(doc, "why", why);
	kl_json_canonical(&text, doc);
	kl_buf_addch(&text, '\n');
	return kl_fs_write(path, text.ptr, text.len);
}

/* Read the dims of a stored point. Return false if they are not those of the contract. */
static bool read_dims(struct kl_dims *out, const struct kl_contract *contract, const json_t *dims)
{
	*out = (struct kl_dims){ .n = contract->dims.n };
	for (size_t i = 0; i < out->n; i++) {
		out->v[i] = kl_json_int_or(dims, contract->dim_name[i], 0);
		if (out->v[i] < 1)
			return false;
	}
	return true;
}

/* Parse the lines of a file: two events, or the reason why there are none. */
static bool take_lines(struct kl_when_point *point, const struct kl_contract *contract,
		       const struct kl_strvec *lines)
{
	KL_AUTO(kl_event_freep) struct kl_event *a = NULL, *b = NULL;
	KL_AUTO(json_decrefp) json_t *doc = NULL;

	if (!lines->n || kl_json_parse(&doc, lines->v[0], strlen(lines->v[0])) < 0)
		return false;
	if (json_object_get(doc, "why")) {
		point->why = kl_strdup(kl_json_str_or(doc, "why", ""));
		point->b.end = point->a.end = KL_WHEN_UNTESTED;
		return read_dims(&point->dims, contract, json_object_get(doc, "dims"));
	}
	if (kl_event_parse(&a, lines->v[0], strlen(lines->v[0])) < 0 ||
	    (lines->n > 1 && kl_event_parse(&b, lines->v[1], strlen(lines->v[1])) < 0) ||
	    !read_dims(&point->dims, contract, json_object_get(a->point, "dims")))
		return false;
	kl_when_take(point, a, b);
	return true;
}

/*
 * Load a file of a point. Return false if it is missing or damaged, so that the point is judged
 * again.
 */
static bool load_file(struct kl_when_point *point, const char *path,
		      const struct kl_contract *contract)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;
	bool good = kl_fs_read(&text, path, MAX_FILE) == 0;

	*point = (struct kl_when_point){ .why = NULL };
	if (good) {
		kl_strvec_split(&lines, text.ptr, "\n");
		good = take_lines(point, contract, &lines);
	}
	kl_error_clear();
	if (good) {
		kl_when_measure_point(point, contract);
		return true;
	}
	free(point->why);
	*point = (struct kl_when_point){ .why = NULL };
	return false;
}

bool kl_when_point_load(struct kl_when_point *point, const char *dir,
			const struct kl_contract *contract)
{
	KL_AUTO(kl_freep) char *path = point_path(dir, contract, &point->dims);
	const struct kl_dims dims = point->dims;
	bool known = load_file(point, path, contract);

	if (known && !memcmp(dims.v, point->dims.v, dims.n * sizeof(*dims.v)))
		return true;
	free(point->why);
	*point = (struct kl_when_point){ .dims = dims };
	kl_when_measure_point(point, contract);
	return false;
}

int kl_when_points_load(struct kl_when *when, const char *dir)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err = kl_fs_list(&names, dir);

	if (err < 0)
		return err;
	when->point = kl_calloc(names.n + 1, sizeof(*when->point));
	for (size_t i = 0; i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, names.v[i]);
		size_t len = strlen(names.v[i]);

		if (len > strlen(SUFFIX) && !strcmp(names.v[i] + len - strlen(SUFFIX), SUFFIX))
			when->n += load_file(&when->point[when->n], path, when->contract);
	}
	return 0;
}
