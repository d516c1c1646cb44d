/* SPDX-License-Identifier: Apache-2.0 */
#include "study/study_plan.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/money.h"
#include "text/name.h"

#define MOST_ID 24
#define MOST_FINAL 100

/* --- names ----------------------------------------------------------------------------------- */

/*
 * Ids are joined by '.' to the names of cells, so they must not contain a '.', and must be short
 * enough for the joined name.
 */
static bool is_id(const char *text, size_t len)
{
	return len <= MOST_ID && strlen(text) == len && kl_name_is_slug(text) && !strchr(text, '.');
}

static const struct kl_string_type id_type = {
	"an id of lower-case letters, digits, '_' and '-', at most 24 characters, that begins with a "
	"letter or a digit",
	is_id,
	NULL,
};

static bool is_dollars(const char *text, size_t len)
{
	int64_t nano;

	return strlen(text) == len && kl_money_parse(&nano, text);
}

static const struct kl_string_type dollars_type = {
	"US dollars, like \"2.00\"",
	is_dollars,
	NULL,
};

/* --- thresholds of fast_p -------------------------------------------------------------------- */

static int read_thresholds(void *at, const char *file, const struct kl_field *field,
			   const struct kl_yaml *node)
{
	static const struct kl_field one = KL_DECIMAL_FIELD("p", 0, 0, 0, 1000 * (int64_t)1000000);
	struct kl_thresholds *list = at;
	int err = kl_schema_check_list(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++) {
		int64_t value = -1;

		if ((err = kl_schema_read_value(&value, file, &one, node->item[i])) < 0)
			return err;
		if (list->n && list->v[list->n - 1] >= value)
			return kl_yaml_error(
				file, node->item[i],
				"each entry of 'p' must be greater than the one before");
		KL_GROW(list->v, list->n + 1, list->alloc);
		list->v[list->n++] = value;
	}
	return err;
}

static void release_thresholds(void *at)
{
	struct kl_thresholds *list = at;

	free(list->v);
	*list = (struct kl_thresholds){ 0 };
}

static const struct kl_value_type thresholds_value = {
	.read = read_thresholds,
	.release = release_thresholds,
};

/* --- tasks and arms -------------------------------------------------------------------------- */

static int check_task(const void *obj, const char *file, const struct kl_yaml *at)
{
	const struct kl_planned_task *task = obj;
	const char *slash;

	if (!task->lineage == !task->workload)
		return kl_yaml_error(file, at, "task '%s' must have either 'lineage' or 'workload'",
				     task->id);
	slash = task->lineage ? strchr(task->lineage, '/') : NULL;
	if (task->lineage && (!slash || strchr(slash + 1, '/')))
		return kl_yaml_error(
			file, at, "'lineage' of task '%s' must be <workload>/<name>, not '%.80s'",
			task->id, task->lineage);
	return 0;
}

static const struct kl_field task_fields[] = {
#define AT(m) offsetof(struct kl_planned_task, m)
	KL_STRING_FIELD("id", KL_KEY | KL_NEEDED, AT(id), &id_type),
	KL_STRING_FIELD("lineage", 0, AT(lineage), &kl_string_path),
	KL_STRING_FIELD("workload", 0, AT(workload), &kl_string_slug),
	KL_STRING_FIELD("root", 0, AT(root), &kl_string_line),
	KL_STRING_FIELD("table", 0, AT(table), &kl_string_line),
	KL_FIELDS_END
#undef AT
};
static const struct kl_schema task_schema = {
	"a task", sizeof(struct kl_planned_task), task_fields, check_task, NULL, NULL,
};

static int check_arm(const void *obj, const char *file, const struct kl_yaml *at)
{
	const struct kl_planned_arm *arm = obj;

	return arm->id || is_id(arm->policy, strlen(arm->policy)) ?
		       0 :
		       kl_yaml_error(file, at, "policy '%.64s' needs an 'id'", arm->policy);
}

static const struct kl_field arm_fields[] = {
#define AT(m) offsetof(struct kl_planned_arm, m)
	KL_STRING_FIELD("id", 0, AT(id), &id_type),
	KL_STRING_FIELD("policy", KL_NEEDED, AT(policy), &kl_string_slug),
	KL_STRING_FIELD("preset", 0, AT(preset), &kl_string_slug),
	KL_STRING_FIELD("skill", 0, AT(skill), &kl_string_slug),
	KL_VALUE_FIELD("with", 0, AT(with), &kl_texts_value),
	KL_FIELDS_END
#undef AT
};
static const struct kl_schema arm_schema = {
	"a policy", sizeof(struct kl_planned_arm), arm_fields, check_arm, NULL, NULL,
};

/* --- the plan -------------------------------------------------------------------------------- */

#define AT(m) offsetof(struct kl_study_plan, m)
static const struct kl_field budget_fields[] = {
	KL_STRING_FIELD("usd", KL_NEEDED, AT(usd), &dollars_type),
	KL_INT_FIELD("candidates", KL_NEEDED, AT(candidates), 1, 100000), KL_FIELDS_END
};
static const struct kl_schema budget_schema = {
	"the budget", sizeof(struct kl_study_plan), budget_fields, NULL, NULL, NULL,
};

static const struct kl_field model_fields[] = {
	KL_STRING_FIELD("provider", KL_NEEDED, AT(provider), &kl_string_slug),
	KL_STRING_FIELD("name", 0, AT(model), &kl_string_line),
	KL_STRING_FIELD("skill", 0, AT(skill), &kl_string_slug), KL_FIELDS_END
};
static const struct kl_schema model_schema = {
	"the model", sizeof(struct kl_study_plan), model_fields, NULL, NULL, NULL,
};

static const struct kl_field judge_fields[] = {
	KL_STRING_FIELD("mode", 0, AT(judge), &kl_string_slug),
	KL_INT_FIELD("final", 0, AT(final), 1, MOST_FINAL), KL_FIELDS_END
};
static const struct kl_schema judge_schema = {
	"'judge'", sizeof(struct kl_study_plan), judge_fields, NULL, NULL, NULL,
};

static const struct kl_field report_fields[] = {
	KL_VALUES_FIELD("p", 0, AT(threshold), &thresholds_value, 1, KL_STUDY_THRESHOLDS),
	KL_DECIMAL_FIELD("sd", 0, AT(sd), 1, 10 * (int64_t)1000000), KL_FIELDS_END
};
static const struct kl_schema report_schema = {
	"'report'", sizeof(struct kl_study_plan), report_fields, NULL, NULL, NULL,
};

static const struct kl_field plan_fields[] = {
	KL_INT_FIELD("klineage-study", KL_NEEDED, AT(version), 1, 1),
	KL_STRING_FIELD("name", KL_NEEDED, AT(name), &id_type),
	KL_LIST_FIELD("tasks", KL_NEEDED, AT(task), &task_schema, 1, KL_STUDY_TASKS),
	KL_LIST_FIELD("policies", KL_NEEDED, AT(arm), &arm_schema, 1, KL_STUDY_ARMS),
	KL_INT_FIELD("seeds", KL_NEEDED, AT(seeds), 1, KL_STUDY_SEEDS),
	KL_GROUP_FIELD("budget", KL_NEEDED, 0, &budget_schema),
	KL_GROUP_FIELD("model", KL_NEEDED, 0, &model_schema),
	KL_INT_FIELD("width", 0, AT(width), 1, 1000),
	KL_GROUP_FIELD("judge", 0, 0, &judge_schema),
	KL_GROUP_FIELD("report", 0, 0, &report_schema),
	KL_FIELDS_END
};
#undef AT
static const struct kl_schema plan_schema = {
	"a study", sizeof(struct kl_study_plan), plan_fields, NULL, NULL, NULL,
};

void kl_study_plan_release(struct kl_study_plan *plan)
{
	kl_schema_release(plan, &plan_schema);
}

static void set_defaults(struct kl_study_plan *plan)
{
	static const int64_t thresholds[] = { 0, 500000, 800000, 1000000, 1500000, 2000000 };

	for (size_t i = 0; i < plan->task.n; i++) {
		struct kl_planned_task *task = &plan->task.v[i];

		if (!task->root)
			task->root = kl_strdup(task->lineage ? "first" : "HEAD");
	}
	for (size_t i = 0; i < plan->arm.n; i++)
		if (!plan->arm.v[i].id)
			plan->arm.v[i].id = kl_strdup(plan->arm.v[i].policy);
	if (!plan->width)
		plan->width = 1;
	if (!plan->judge)
		plan->judge = kl_strdup("real");
	if (!plan->final)
		plan->final = 3;
	if (!plan->sd)
		plan->sd = 500000;
	if (!plan->threshold.n) {
		KL_GROW(plan->threshold.v, KL_ARRAY_SIZE(thresholds), plan->threshold.alloc);
		memcpy(plan->threshold.v, thresholds, sizeof(thresholds));
		plan->threshold.n = KL_ARRAY_SIZE(thresholds);
	}
}

static int check_arms(const struct kl_study_plan *plan, const char *file)
{
	for (size_t i = 0; i < plan->arm.n; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(plan->arm.v[i].id, plan->arm.v[k].id))
				return kl_error(KL_EINVALID,
						"%s: two policies have the id '%s'; give each its "
						"own 'id'",
						file, plan->arm.v[i].id);
	return 0;
}

int kl_study_plan_parse(struct kl_study_plan *out, const char *file, const char *text, size_t len)
{
	int err;

	*out = (struct kl_study_plan){ 0 };
	kl_schema_clear(out, &plan_schema);
	if ((err = kl_schema_parse(out, &plan_schema, file, text, len)) < 0)
		return err;
	set_defaults(out);
	return check_arms(out, file);
}
