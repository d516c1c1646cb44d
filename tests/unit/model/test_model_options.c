/* SPDX-License-Identifier: Apache-2.0 */
/* Options of requests: for all conversations, for those of a role, and refused values. */
#include "chat_fixture.h"

#include "model/options.h"

static void roles_override_what_is_set_for_all(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("roles");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_model_options options;
	/* clang-format off */
	static const struct { const char *phase, *text; } is[] = {
		{ "back-3", "{\"effort\":\"high\",\"extra\":{\"temperature\":0.5,\"top_p\":1}}" },
		{ "traits-12", "{\"effort\":\"low\",\"extra\":{\"temperature\":0.5,\"top_p\":1},\"tier\":\"flex\"}" },
		{ "lift-tiling-0123abc", "{\"effort\":\"high\",\"extra\":{\"temperature\":0.25},\"tier\":\"flex\"}" },
		{ "control", "{\"extra\":{\"temperature\":0.5,\"top_p\":1}}" },
	};
	/* clang-format on */

	sh(dir,
	   "git config klineage.chat.effort high; git config klineage.chat.traits.effort low;"
	   "git config klineage.chat.temperature 0.5; git config klineage.chat.extra '{\"top_p\":1}';"
	   "git config klineage.chat.lift.extra '{}'; git config klineage.chat.lift.temperature 0.25;"
	   "git config klineage.chat.lift.tier flex; git config klineage.chat.traits.tier flex;"
	   "git config klineage.chat.control.effort ''");
	assert_ok(kl_repo_open_at(&repo, dir));
	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(kl_freep) char *text = NULL;

		assert_ok(kl_model_options_read(&options, repo, is[i].phase));
		text = kl_model_options_text(&options);
		assert_string_equal(text, is[i].text);
		kl_model_options_release(&options);
	}
}

static void none_is_the_default(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("none");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_model_options options;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_model_options_read(&options, repo, "back-0"));
	assert_null(kl_model_options_text(&options));
	assert_null(options.extra);
}

static void what_is_malformed_is_refused(void **state)
{
	/* clang-format off */
	static const struct { const char *key, *value, *says; } is[] = {
		{ "effort", "very hard", "klineage.chat.effort: 'very hard' is not a word" },
		{ "back.effort", "\"}", "klineage.chat.back.effort" }, { "tier", "a,b", "klineage.chat.tier" },
		{ "temperature", "hot", "not a number from 0 to 2" }, { "temperature", "-1", "not a number" },
		{ "temperature", "nan", "not a number" }, { "temperature", "2.01", "not a number" },
		{ "extra", "[1]", "klineage.chat.extra: not a JSON object" }, { "extra", "{", "klineage.chat.extra" },
		{ "extra", "{\"stream\":false}", "'stream' is set by git-klineage" },
		{ "extra", "{\"messages\":[]}", "'messages' is set by git-klineage" },
		{ "back.extra", "{\"model\":\"x\"}", "klineage.chat.back.extra: 'model'" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(kl_freep) char *dir = scratch_repo("bad");
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		struct kl_model_options options;

		sh(dir, "git config klineage.chat.%s '%s'", is[i].key, is[i].value);
		assert_ok(kl_repo_open_at(&repo, dir));
		assert_error(KL_EINVALID, is[i].says,
			     kl_model_options_read(&options, repo, "back-0"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_override_what_is_set_for_all),
		cmocka_unit_test(none_is_the_default),
		cmocka_unit_test(what_is_malformed_is_refused),
	};

	return cmocka_run_group_tests_name("model/options", tests, scratch_setup, scratch_teardown);
}
