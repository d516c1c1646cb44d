/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/fs.h"
#include "text/yaml.h"

/*
 * The recipes of templates/ci: they can be read, and no text of a stranger becomes a command or
 * gets a right.
 */

struct recipe {
	struct kl_buf text;
	struct kl_yaml *y;
};

static void recipe_release(struct recipe *recipe)
{
	kl_yaml_free(recipe->y);
	kl_buf_release(&recipe->text);
}

static void load(struct recipe *recipe, const char *name)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf(KL_SOURCE "/templates/ci/%s", name);

	*recipe = (struct recipe){ .text = KL_BUF_INIT };
	assert_ok(kl_fs_read(&recipe->text, path, 1 << 20));
	assert_ok(kl_yaml_parse(&recipe->y, name, recipe->text.ptr, recipe->text.len));
}

static const char *text_at(const struct kl_yaml *node, const char *left, const char *right,
			   const char *ch)
{
	const char *const keys[] = { left, right, ch };

	for (size_t i = 0; i < 3 && node && keys[i]; i++)
		node = kl_yaml_get(node, keys[i]);
	return node && node->text ? node->text : "";
}

/* f of every step of every job */
static void each_step(const struct kl_yaml *node, void (*f)(const struct kl_yaml *step))
{
	const struct kl_yaml *jobs = kl_yaml_get(node, "jobs");
	size_t seen = 0;

	assert_non_null(jobs);
	for (size_t i = 0; i < jobs->n; i++) {
		const struct kl_yaml *steps = kl_yaml_get(jobs->item[i], "steps");

		for (size_t k = 0; steps && k < steps->n; k++, seen++)
			f(steps->item[k]);
	}
	assert_true(seen >= 5);
}

static void runs_no_expression(const struct kl_yaml *step)
{
	const char *run = text_at(step, "run", NULL, NULL);

	if (strstr(run, "${{"))
		fail_msg("an expression in a command: %s", run);
}

static void has_no_right(const struct kl_yaml *step)
{
	const char *uses = text_at(step, "uses", NULL, NULL);

	if (!strncmp(uses, "actions/checkout@", 17))
		assert_string_equal(text_at(step, "with", "persist-credentials", NULL), "false");
}

static void checks_out_nothing_of_theirs(const struct kl_yaml *step)
{
	if (!strncmp(text_at(step, "uses", NULL, NULL), "actions/checkout@", 17))
		assert_string_equal(text_at(step, "with", "ref", NULL), "");
}

/* what whoever opens a pull request chooses */
static void names_nothing_chosen(const struct recipe *recipe)
{
	static const char *const bad[] = {
		"pull_request_target",
		"head_ref",
		"head.ref",
		"head_branch",
		".title",
		".body",
		".label",
		"display_title",
		"head_commit",
		"COMMIT_REF_NAME",
		"SOURCE_BRANCH",
		"CI_MERGE_REQUEST_TITLE",
		"COMMIT_MESSAGE",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		if (strstr(recipe->text.ptr, bad[i]))
			fail_msg("it has %s", bad[i]);
}

static void github_judges_without_rights(void **state)
{
	KL_AUTO(recipe_release) struct recipe recipe;
	const struct kl_yaml *on, *rights;

	load(&recipe, "github-actions.yml");
	on = kl_yaml_get(recipe.y, "on");
	assert_non_null(on);
	assert_int_equal(on->n, 1);
	assert_non_null(kl_yaml_get(on, "pull_request"));
	rights = kl_yaml_get(recipe.y, "permissions");
	assert_non_null(rights);
	assert_int_equal(rights->n, 1);
	assert_string_equal(text_at(rights, "contents", NULL, NULL), "read");
	assert_null(strstr(recipe.text.ptr, "secrets."));
	assert_null(strstr(recipe.text.ptr, "github.token"));
	names_nothing_chosen(&recipe);
	each_step(recipe.y, runs_no_expression);
	each_step(recipe.y, has_no_right);
}

static void answers_even_after_a_failure(const struct kl_yaml *step)
{
	if (!strcmp(text_at(step, "name", NULL, NULL), "answered"))
		assert_string_equal(text_at(step, "if", NULL, NULL), "always()");
}

static void github_reports_without_their_code(void **state)
{
	KL_AUTO(recipe_release) struct recipe recipe;
	const struct kl_yaml *on, *rights;

	load(&recipe, "github-report.yml");
	on = kl_yaml_get(recipe.y, "on");
	assert_non_null(on);
	assert_int_equal(on->n, 1);
	assert_non_null(kl_yaml_get(on, "workflow_run"));
	rights = kl_yaml_get(recipe.y, "permissions");
	assert_non_null(rights);
	/* the least: to fetch what the first job made, push notes, comment, and set the status */
	assert_int_equal(rights->n, 4);
	assert_string_equal(text_at(rights, "actions", NULL, NULL), "read");
	assert_string_equal(text_at(rights, "contents", NULL, NULL), "write");
	assert_string_equal(text_at(rights, "pull-requests", NULL, NULL), "write");
	assert_string_equal(text_at(rights, "statuses", NULL, NULL), "write");
	assert_null(strstr(recipe.text.ptr, "secrets."));
	names_nothing_chosen(&recipe);
	each_step(recipe.y, runs_no_expression);
	each_step(recipe.y, checks_out_nothing_of_theirs);
	each_step(recipe.y, answers_even_after_a_failure);
	/* only what the repository's own people sent is pushed */
	assert_non_null(strstr(
		recipe.text.ptr,
		"if: github.event.workflow_run.head_repository.full_name == github.repository\n"
		"        run: |\n          sh \"$KLINEAGE_CI\" take-notes\n"
		"          sh \"$KLINEAGE_CI\" push-notes\n"));
}

static void gitlab_reports_where_there_is_a_token(void **state)
{
	KL_AUTO(recipe_release) struct recipe recipe;
	const struct kl_yaml *rules;

	load(&recipe, "gitlab-ci.yml");
	names_nothing_chosen(&recipe);
	rules = kl_yaml_get(kl_yaml_get(recipe.y, "klineage-report"), "rules");
	assert_int_equal(rules->n, 1);
	assert_contains(text_at(rules->item[0], "if", NULL, NULL), "&& $KLINEAGE_TOKEN");
	assert_non_null(kl_yaml_get(kl_yaml_get(recipe.y, "klineage-gate"), "script"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(github_judges_without_rights),
		cmocka_unit_test(github_reports_without_their_code),
		cmocka_unit_test(gitlab_reports_where_there_is_a_token),
	};

	return cmocka_run_group_tests_name("ci", tests, NULL, NULL);
}
