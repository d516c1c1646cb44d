/* SPDX-License-Identifier: Apache-2.0 */
/* the plan of a study: its defaults, and that a torn or changed plan is refused or read, never more */
#include "study/study_plan.h"

#include "test.h"

static const char text[] = "klineage-study: 1\n"
			   "name: ladder\n"
			   "tasks:\n"
			   "  - {id: topk, lineage: topk/x86-64-v3-b3a6115, root: K_3}\n"
			   "  - {id: mine, workload: sgemv}\n"
			   "policies:\n"
			   "  - {policy: best-of-n}\n"
			   "  - {id: ada, policy: adaexplore, preset: paper, with: {pool: 4}}\n"
			   "seeds: 5\n"
			   "budget: {usd: \"2.00\", candidates: 40}\n"
			   "model: {provider: exec}\n"
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
	assert_refused("exec}", "exec, command: rm}", "unknown key 'command'");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
