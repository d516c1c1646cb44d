/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "base/nearest.h"

static const char *const verbs[] = { "init",   "gate", "log",  "show",  "chat",
				     "status", "step", "sync", "skills" };

static void the_nearest_come_first(void **state)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec near = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec part = KL_STRVEC_INIT;

	kl_nearest(&near, "shaw", verbs, KL_ARRAY_SIZE(verbs));
	assert_int_equal(near.n, 3);
	assert_string_equal(near.v[0], "show");
	assert_string_equal(near.v[1], "chat");
	kl_nearest(&part, "skills-list", verbs, KL_ARRAY_SIZE(verbs));
	assert_int_equal(part.n, 1);
	assert_string_equal(part.v[0], "skills");
}

static void only_a_likely_name_is_sure(void **state)
{
	static const struct {
		const char *name, *want;
	} row[] = {
		{ "gat", "gate" }, { "stats", "status" }, { "skil", "skills" }, { "logg", "log" },
		{ "lo", "log" },   { "s", NULL },         { "xyz", NULL },      { "ini", "init" },
		{ "", NULL },      { "gate", "gate" },    { "gateway", NULL },
	};
	char longer[400] = "";

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec near = KL_STRVEC_INIT;

		kl_nearest_sure(&near, row[i].name, verbs, KL_ARRAY_SIZE(verbs));
		assert_int_equal(near.n, row[i].want != NULL);
		if (near.n)
			assert_string_equal(near.v[0], row[i].want);
	}
	memset(longer, 'a', sizeof(longer) - 1);
	KL_AUTO(kl_strvec_release) struct kl_strvec near = KL_STRVEC_INIT;
	kl_nearest_sure(&near, longer, verbs, KL_ARRAY_SIZE(verbs));
	kl_nearest(&near, longer, verbs, KL_ARRAY_SIZE(verbs));
	assert_int_equal(near.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_come_first),
		cmocka_unit_test(only_a_likely_name_is_sure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
