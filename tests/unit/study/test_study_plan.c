/* SPDX-License-Identifier: Apache-2.0 */
/* the plan of a study: its defaults, and that a torn or changed plan is refused or read, never more */
#include "study/study_plan.h"

#include "search/policy/policy.h"
#include "study/study_parts.h"
#include "test.h"

static const char text[] =
	"klineage-study: 1\n"
	"name: ladder\n"
	"tasks:\n"
	"  - {id: topk, lineage: topk/x86-64-v3-b3a6115, root: K_3}\n"
	"  - {id: mine, workload: sgemv, table: t/mine.jsonl}\n"
	"policies:\n"
	"  - {policy: best-of-n}\n"
	"  - {id: ada, policy: adaexplore, preset: paper, with: {pool: 4}, skill: deaf}\n"
	"seeds: 5\n"
	"budget: {usd: \"2.00\", candidates: 40}\n"
	"model: {provider: exec, skill: weak}\n"
	"report: {p: [0, 1.5]}\n";

static int parse_text(struct kl_study_plan *plan, const char *from)
{
	return kl_study_plan_parse(plan, "plan.yaml", from, strlen(from));
}

static void test_defaults(void **state)
{
	struct kl_study_plan plan;

	assert_ok(parse_text(&plan, text));
	assert_int_equal(plan.task.n, 2);
	assert_string_equal(plan.task.v[0].root, "K_3");
	assert_string_equal(plan.task.v[1].root, "HEAD");
	assert_string_equal(plan.arm.v[0].id, "best-of-n");
	assert_string_equal(plan.arm.v[1].with.v[0].text, "4");
	assert_int_equal(plan.width, 1);
	assert_int_equal(plan.final, 3);
	assert_int_equal(plan.sd, 500000);
	assert_string_equal(plan.judge, "real");
	assert_null(plan.model);
	assert_null(plan.task.v[0].table);
	assert_string_equal(plan.task.v[1].table, "t/mine.jsonl");
	assert_null(plan.arm.v[0].skill);
	assert_string_equal(plan.arm.v[1].skill, "deaf");
	assert_string_equal(plan.skill, "weak");
	assert_int_equal(plan.threshold.n, 2);
	assert_int_equal(plan.threshold.v[1], 1500000);
	kl_study_plan_release(&plan);
}

/* Replace `from` by `to` in the plan, which must then be refused with `part` in the message. */
static void assert_refused(const char *from, const char *to, const char *part)
{
	KL_AUTO(kl_freep) char *copy = kl_calloc(1, sizeof(text) + strlen(to));
	const char *at = strstr(text, from);
	struct kl_study_plan plan;

	snprintf(copy, sizeof(text) + strlen(to), "%.*s%s%s", (int)(at - text), text, to,
		 at + strlen(from));
	assert_error(KL_EINVALID, part, parse_text(&plan, copy));
	kl_study_plan_release(&plan);
}

static void test_bad(void **state)
{
	assert_refused("[0, 1.5]", "[1.5, 0]", "plan.yaml:12:19: each entry of 'p'");
	assert_refused("[0, 1.5]", "[]", "'p' has no entry");
	assert_refused("[0, 1.5]", "[-1]", "'p'");
	assert_refused("klineage-study: 1", "klineage-study: 2", "out of its range");
	assert_refused("id: mine", "id: topk", "appears twice");
	assert_refused("name: ladder", "name: ../x", "'name' must be an id");
	assert_refused("skill: deaf", "skill: Deaf", "'skill'");
	assert_refused("skill: weak", "command: rm", "unknown key 'command'");
	assert_refused("seeds: 5", "seeds: 5\nwidth: 0", "'width'");
}

/* A plan that ends early, or in which a byte was changed, is refused or is another plan. */
static void test_torn(void **state)
{
	char copy[sizeof(text)];

	for (size_t i = 0; i + 1 < sizeof(text); i++) {
		struct kl_study_plan plan;

		memcpy(copy, text, sizeof(text));
		copy[i] = '\0';
		parse_text(&plan, copy);
		kl_study_plan_release(&plan);
		memcpy(copy, text, sizeof(text));
		for (const char *change = "\n:{}[]&*9\"\x80"; *change; change++) {
			copy[i] = *change;
			parse_text(&plan, copy);
			kl_study_plan_release(&plan);
		}
	}
}

/* --- study.json ----------------------------------------------------------------------------- */

#define DIGEST "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static json_t *frozen_json(void)
{
	static const char frozen[] =
		"{\"schema\":\"klineage.study/1\",\"name\":\"ladder\",\"seeds\":5,\"candidates\":40,"
		"\"cap_nano\":2000000000,\"provider\":\"exec\",\"model\":\"m\",\"judge\":\"real\","
		"\"final\":3,\"p_ppm\":[0,1500000],\"sd_ppm\":500000,\"version\":\"0.1\","
		"\"gate_policy\":1,\"policies\":[{\"id\":\"hill\"}],\"tasks\":[{\"id\":\"mine\","
		"\"workload\":\"w\",\"lineage\":null,\"place\":\"k\",\"expert\":null,"
		"\"root\":\"0011223344556677889900112233445566778899\","
		"\"surface\":\"" DIGEST "\",\"contract\":\"" DIGEST "\"}]}";
	struct kl_setup setup;
	json_t *json;

	kl_setup_init(&setup, kl_policy_find("climb"));
	assert_ok(kl_json_parse(&json, frozen, strlen(frozen)));
	kl_json_set(json_array_get(json_object_get(json, "policies"), 0), "setup",
		    kl_setup_write(&setup));
	return json;
}

/* A study of a stranger cannot put lines or control characters into a report. */
static void test_frozen(void **state)
{
	static const struct {
		const char *key, *value;
	} bad[] = {
		{ "model", "m\n#\n" },     { "model", "\x1b[2J" }, { "version", "1\n" },
		{ "version", "\xc2\x9b" }, { "name", "../x" },     { "provider", "a\nb" },
	};
	KL_AUTO(json_decrefp) json_t *json = frozen_json();
	struct kl_study study = { 0 };

	assert_ok(kl_study_from_json(&study, json));
	assert_string_equal(study.model, "m");
	kl_study_release(&study);
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(json_decrefp) json_t *copy = json_deep_copy(json);

		kl_json_set_str(copy, bad[i].key, bad[i].value);
		assert_error(KL_EINVALID, bad[i].key, kl_study_from_json(&study, copy));
		kl_study_release(&study);
	}
}

/* Two cells with the same name would be one search. */
static void test_ids(void **state)
{
	static const char *const key[] = { "tasks", "policies" };
	static const char *const says[] = { "two tasks have the id", "two policies have the id" };
	KL_AUTO(json_decrefp) json_t *dot = frozen_json();
	struct kl_study study = { 0 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(key); i++) {
		KL_AUTO(json_decrefp) json_t *json = frozen_json();
		json_t *rows = json_object_get(json, key[i]);

		json_array_append(rows, json_array_get(rows, 0));
		assert_error(KL_EINVALID, says[i], kl_study_from_json(&study, json));
		kl_study_release(&study);
	}
	kl_json_set_str(json_array_get(json_object_get(dot, "tasks"), 0), "id", "a.b");
	assert_error(KL_EINVALID, "'id' must have no '.'", kl_study_from_json(&study, dot));
	kl_study_release(&study);
}

/* The memory of a setup would be freed with the document. */
static void test_memory(void **state)
{
	KL_AUTO(json_decrefp) json_t *json = frozen_json();
	json_t *arm = json_array_get(json_object_get(json, "policies"), 0);
	struct kl_study study = { 0 };
	struct kl_setup setup;

	kl_setup_init(&setup, kl_policy_find("adaexplore"));
	kl_json_set(arm, "setup", kl_setup_write(&setup));
	kl_json_set(json_object_get(arm, "setup"), "memory", json_object());
	assert_error(KL_EINVALID, "a study has no memory", kl_study_from_json(&study, json));
	kl_study_release(&study);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_bad),
		cmocka_unit_test(test_torn),     cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_ids),      cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
