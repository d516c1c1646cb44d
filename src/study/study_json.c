/* SPDX-License-Identifier: Apache-2.0 */
/* study_json - writes and reads study.json, the frozen form of a study */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "model/money.h"
#include "search/policy/policy.h"
#include "study/study_parts.h"
#include "text/name.h"
#include "text/schema.h"

#define SCHEMA "klineage.study/1"

/* --- writing --------------------------------------------------------------------------------- */

static void set_commit(json_t *json, const char *key, const git_oid *oid)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, oid);
	kl_json_set_str(json, key, git_oid_is_zero(oid) ? NULL : hex);
}

static json_t *task_json(const struct kl_study_task *task)
{
	json_t *json = json_object();

	kl_json_set_str(json, "id", task->id);
	kl_json_set_str(json, "workload", task->workload);
	kl_json_set_str(json, "lineage", task->lineage);
	kl_json_set_str(json, "place", task->place);
	set_commit(json, "root", &task->root);
	set_commit(json, "expert", &task->expert);
	kl_json_set_str(json, "surface", task->surface);
	kl_json_set_str(json, "contract", task->contract);
	if (*task->table)
		kl_json_set_str(json, "table", task->table);
	return json;
}

static json_t *arm_json(const struct kl_study_arm *arm)
{
	json_t *json = json_object(), *setup = kl_setup_write(&arm->setup);

	json_object_del(setup, "key");
	kl_json_set_str(json, "id", arm->id);
	kl_json_set(json, "setup", setup);
	if (arm->skill)
		kl_json_set_str(json, "skill", arm->skill);
	return json;
}

json_t *kl_study_json(const struct kl_study *study)
{
	json_t *json = json_object(), *tasks = json_array(), *arms = json_array(),
	       *p = json_array();

	for (size_t i = 0; i < study->ntask; i++)
		json_array_append_new(tasks, task_json(&study->task[i]));
	for (size_t i = 0; i < study->narm; i++)
		json_array_append_new(arms, arm_json(&study->arm[i]));
	for (size_t i = 0; i < study->threshold.n; i++)
		json_array_append_new(p, json_integer(study->threshold.v[i]));
	kl_json_set_str(json, "schema", SCHEMA);
	kl_json_set_str(json, "name", study->name);
	kl_json_set(json, "tasks", tasks);
	kl_json_set(json, "policies", arms);
	kl_json_set_int(json, "seeds", study->seeds);
	kl_json_set_int(json, "candidates", study->candidates);
	kl_json_set_int(json, "cap_nano", study->cap);
	kl_json_set_str(json, "provider", study->provider);
	kl_json_set_str(json, "model", study->model);
	kl_json_set_str(json, "judge", study->judge);
	kl_json_set_int(json, "final", study->final);
	kl_json_set(json, "p_ppm", p);
	kl_json_set_int(json, "sd_ppm", study->sd);
	kl_json_set_str(json, "version", study->version);
	kl_json_set_int(json, "gate_policy", study->policy);
	return json;
}

/* --- reading --------------------------------------------------------------------------------- */

/* Copy one line of text. The study may be a stranger's, and its report shows what it says. */
static int copy_line(char **out, const json_t *json, const char *key)
{
	const char *text;
	int err = kl_json_str(&text, json, key);

	if (err < 0)
		return err;
	if (!kl_string_is_line(text))
		return kl_error(KL_EINVALID, "'%s' must be one line without control characters",
				key);
	*out = kl_strdup(text);
	return 0;
}

/* A member that is null stays NULL. */
static int copy_line_or_null(char **out, const json_t *json, const char *key)
{
	return json_is_null(json_object_get(json, key)) ? 0 : copy_line(out, json, key);
}

static int copy_slug(char **out, const json_t *json, const char *key)
{
	int err = copy_line(out, json, key);

	return err < 0 || kl_name_is_slug(*out) ?
		       err :
		       kl_error(KL_EINVALID, "'%s' is no name: '%.80s'", key, *out);
}

/* Ids are joined by '.' to the names of cells. */
static int copy_id(char **out, const json_t *json)
{
	int err = copy_slug(out, json, "id");

	return err < 0 || !strchr(*out, '.') ?
		       err :
		       kl_error(KL_EINVALID, "'id' must have no '.': '%s'", *out);
}

static int copy_commit(git_oid *out, const json_t *json, const char *key)
{
	const char *hex;
	int err = kl_json_str(&hex, json, key);

	if (err < 0)
		return err;
	return kl_oid_parse(out, hex) < 0 ? kl_error(KL_EINVALID, "'%s' is no commit", key) : 0;
}

static int copy_digest(char out[KL_DIGEST_HEX], const json_t *json, const char *key)
{
	uint8_t bytes[(KL_DIGEST_HEX - 1) / 2];
	const char *hex;
	int err = kl_json_str(&hex, json, key);

	if (err < 0)
		return err;
	if (strlen(hex) != KL_DIGEST_HEX - 1 || !kl_digest_bytes(bytes, sizeof(bytes), hex))
		return kl_error(KL_EINVALID, "'%s' is no digest", key);
	snprintf(out, KL_DIGEST_HEX, "%s", hex);
	return 0;
}

static int read_task(struct kl_study_task *task, const json_t *json)
{
	int err;

	if ((err = copy_id(&task->id, json)) < 0 ||
	    (err = copy_slug(&task->workload, json, "workload")) < 0 ||
	    (err = copy_line_or_null(&task->lineage, json, "lineage")) < 0 ||
	    (err = copy_line(&task->place, json, "place")) < 0 ||
	    (err = copy_commit(&task->root, json, "root")) < 0 ||
	    (err = copy_digest(task->surface, json, "surface")) < 0 ||
	    (err = copy_digest(task->contract, json, "contract")) < 0 ||
	    (json_object_get(json, "table") && (err = copy_digest(task->table, json, "table")) < 0))
		return err;
	return json_is_null(json_object_get(json, "expert")) ?
		       0 :
		       copy_commit(&task->expert, json, "expert");
}

/* Read the setup of an arm, which has no key. */
static int read_arm(struct kl_study_arm *arm, const json_t *json)
{
	KL_AUTO(json_decrefp) json_t *copy = NULL;
	char none[KL_DIGEST_HEX];
	json_t *setup;
	int err;

	if ((err = copy_id(&arm->id, json)) < 0 ||
	    (json_object_get(json, "skill") && (err = copy_slug(&arm->skill, json, "skill")) < 0) ||
	    (err = kl_json_obj(&setup, json, "setup")) < 0)
		return err;
	kl_digest_hex(none, "", 0);
	copy = json_copy(setup);
	kl_json_set_str(copy, "key", none);
	if ((err = kl_setup_read(&arm->setup, copy)) < 0)
		return kl_error_in(err, "policy '%s'", arm->id);
	arm->setup.key[0] = '\0';
	/* a setup does not own its memory, and no plan can give one */
	if (kl_steal(&arm->setup.memory))
		return kl_error(KL_EINVALID, "policy '%s': a study has no memory", arm->id);
	return 0;
}

/* Check that each id is that of one task or one policy, so that no two cells are the same. */
static int check_ids(const struct kl_study *study)
{
	for (size_t i = 0; i < study->ntask; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(study->task[i].id, study->task[k].id))
				return kl_error(KL_EINVALID, "two tasks have the id '%s'",
						study->task[i].id);
	for (size_t i = 0; i < study->narm; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(study->arm[i].id, study->arm[k].id))
				return kl_error(KL_EINVALID, "two policies have the id '%s'",
						study->arm[i].id);
	return 0;
}

static int read_rows(struct kl_study *out, const json_t *json)
{
	json_t *tasks, *arms, *p;
	int err;

	if ((err = kl_json_arr(&tasks, json, "tasks")) < 0 ||
	    (err = kl_json_arr(&arms, json, "policies")) < 0 ||
	    (err = kl_json_arr(&p, json, "p_ppm")) < 0)
		return err;
	if (!json_array_size(tasks) || json_array_size(tasks) > KL_STUDY_TASKS ||
	    !json_array_size(arms) || json_array_size(arms) > KL_STUDY_ARMS ||
	    json_array_size(p) > KL_STUDY_THRESHOLDS)
		return kl_error(KL_EINVALID, "'tasks', 'policies' or 'p_ppm' is too long or empty");
	out->task = kl_calloc(json_array_size(tasks), sizeof(*out->task));
	out->arm = kl_calloc(json_array_size(arms), sizeof(*out->arm));
	out->threshold.v = kl_calloc(json_array_size(p) + 1, sizeof(*out->threshold.v));
	for (size_t i = 0; i < json_array_size(p); i++)
		out->threshold.v[out->threshold.n++] = json_integer_value(json_array_get(p, i));
	while (!err && out->ntask < json_array_size(tasks)) {
		size_t i = out->ntask++;

		err = read_task(&out->task[i], json_array_get(tasks, i));
	}
	while (!err && out->narm < json_array_size(arms)) {
		size_t i = out->narm++;

		err = read_arm(&out->arm[i], json_array_get(arms, i));
	}
	return err < 0 ? err : check_ids(out);
}

int kl_study_from_json(struct kl_study *out, const json_t *json)
{
	int err;

	if (strcmp(kl_json_str_or(json, "schema", ""), SCHEMA) != 0)
		return kl_error(KL_EINVALID, "its schema is not %s", SCHEMA);
	if ((err = copy_slug(&out->name, json, "name")) < 0 ||
	    (err = copy_slug(&out->provider, json, "provider")) < 0 ||
	    (err = copy_line_or_null(&out->model, json, "model")) < 0 ||
	    (err = copy_slug(&out->judge, json, "judge")) < 0 ||
	    (err = copy_line(&out->version, json, "version")) < 0 ||
	    (err = kl_json_count(&out->policy, json, "gate_policy", INT32_MAX)) < 0 ||
	    (err = kl_json_count(&out->seeds, json, "seeds", KL_STUDY_SEEDS)) < 0 ||
	    (err = kl_json_count(&out->candidates, json, "candidates", 100000)) < 0 ||
	    (err = kl_json_count(&out->cap, json, "cap_nano", KL_MONEY_MAX)) < 0 ||
	    (err = kl_json_count(&out->final, json, "final", INT32_MAX)) < 0 ||
	    (err = kl_json_count(&out->sd, json, "sd_ppm", INT32_MAX)) < 0)
		return err;
	if (!out->seeds || !out->candidates || !out->final)
		return kl_error(KL_EINVALID,
				"'seeds', 'candidates' and 'final' must be at least 1");
	err = read_rows(out, json);
	return err < 0 ? err : kl_study_check_judging(out);
}
