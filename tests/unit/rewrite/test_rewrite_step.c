/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite_state.h"

#include "rewrite/edits.h"
#include "rewrite/reply/envelope.h"
#include "rewrite/rewriter.h"

/* A step as a JSON document: what kl_envelope_json takes, refuses, and makes of its edits. */
#define WORDS "\"action\":\"untile\",\"locus\":\"copy.c:copy\",\"why\":\"one at a time\""
#define STEP(edits) "{" WORDS ",\"edits\":[" edits "]}"

static void takes_a_step(void **state)
{
	static const char text[] =
		"{" WORDS
		",\"mechanism\":\"register-tile\",\"traits\":{\"tiled\":\"no\"},\"edits\":["
		"{\"path\":\"a.c\",\"text\":\"int a;\"},"
		"{\"path\":\"b.c\",\"function\":\"f\",\"text\":\"\"},"
		"{\"path\":\"c.c\",\"search\":\"\\tx\",\"text\":\"\\ty\\n\\tz\\n\"}]}";
	struct kl_envelope envelope;

	assert_ok(kl_envelope_json(&envelope, text, strlen(text)));
	assert_int_equal(envelope.kind, KL_ENVELOPE_STEP);
	assert_string_equal(envelope.action, "untile");
	assert_string_equal(envelope.mechanism, "register-tile");
	assert_string_equal(envelope.why, "one at a time");
	assert_string_equal(kl_json_str_or(envelope.traits, "tiled", ""), "no");
	assert_int_equal(envelope.n, 3);
	assert_int_equal(envelope.edit[0].kind, KL_EDIT_FILE);
	assert_string_equal(envelope.edit[0].text, "int a;\n");
	assert_int_equal(envelope.edit[0].line, -1);
	assert_int_equal(envelope.edit[1].kind, KL_EDIT_FUNCTION);
	assert_string_equal(envelope.edit[1].text, "");
	assert_int_equal(envelope.edit[2].kind, KL_EDIT_SEARCH);
	assert_string_equal(envelope.edit[2].search, "\tx\n");
	assert_string_equal(envelope.edit[2].text, "\ty\n\tz\n");
	kl_envelope_release(&envelope);
}

static void refuses_what_is_none(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *says; } bad[] = {
		{ "", "JSON" },
		{ "[]", "the step is not an object" },
		{ "{" WORDS "}", "'edits' must be a list of 1 to 64" },
		{ STEP(""), "'edits' must be a list" },
		{ "{" WORDS ",\"edits\":{}}", "'edits' must be a list" },
		{ STEP("1"), "edit 1 is not an object" },
		{ STEP("{\"path\":\"a.c\"}"), "'text' of edit 1 is missing" },
		{ STEP("{\"text\":\"\"}"), "'path' of edit 1 is missing" },
		{ STEP("{\"path\":1,\"text\":\"\"}"), "'path' of edit 1 is not a string" },
		{ STEP("{\"path\":\"a\",\"text\":\"\",\"mode\":\"755\"}"), "edit 1 has an unknown member 'mode'" },
		{ STEP("{\"path\":\"a\",\"text\":\"\",\"search\":\"x\",\"function\":\"f\"}"), "edit 1 has both 'function' and 'search'; use only one of them" },
		{ "{\"action\":\"Un tile\",\"locus\":\"c\",\"why\":\"w\",\"edits\":[]}", "the action" },
		{ "{\"action\":\"a\",\"locus\":\"c d\",\"why\":\"w\",\"edits\":[]}", "the locus" },
		{ "{\"action\":\"a\",\"locus\":\"c\",\"why\":\"w\\nKlineage-Skill: x\",\"edits\":[]}", "one line" },
		{ "{\"action\":\"a\",\"locus\":\"c\",\"why\":\"\",\"edits\":[]}", "one line" },
		{ "{\"action\":\"a\",\"locus\":\"c\",\"edits\":[]}", "'why' of the step is missing" },
		{ "{" WORDS ",\"exec\":\"rm\",\"edits\":[]}", "the step has an unknown member 'exec'" },
		{ "{" WORDS ",\"mechanism\":\"-\",\"edits\":[]}", "the mechanism" },
		{ "{" WORDS ",\"traits\":{\"tiled\":true},\"edits\":[]}", "the trait tiled" },
		{ "{" WORDS ",\"traits\":{\"Ti\":\"no\"},\"edits\":[]}", "not the name of a trait" },
	};
	/* clang-format on */
	struct kl_envelope envelope;

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_error(KL_EINVALID, bad[i].says,
			     kl_envelope_json(&envelope, bad[i].text, strlen(bad[i].text)));
}

static void has_ceilings(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_envelope envelope;

	kl_buf_adds(&buf, "{" WORDS ",\"edits\":[{}");
	for (int i = 0; i < 64; i++)
		kl_buf_adds(&buf, ",{}");
	kl_buf_adds(&buf, "]}");
	assert_error(KL_EINVALID, "1 to 64", kl_envelope_json(&envelope, buf.ptr, buf.len));
	kl_buf_reserve(&buf, 3 * KL_ENVELOPE_MAX);
	assert_error(KL_EINVALID, "at most",
		     kl_envelope_json(&envelope, buf.ptr, 2 * KL_ENVELOPE_MAX + 1));
}

static void check_applied(const char *edits, const char *want, const char *refused)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = state_of("int a;\nint b;\n", NULL);
	KL_AUTO(kl_freep) char *text = kl_asprintf("{" WORDS ",\"edits\":[%s]}", edits);
	struct kl_envelope envelope;
	struct kl_file *file;
	size_t n;

	assert_ok(kl_envelope_json(&envelope, text, strlen(text)));
	if (refused) {
		assert_error(KL_EINVALID, refused, kl_edits_apply(&file, &n, surface, &envelope));
	} else {
		assert_ok(kl_edits_apply(&file, &n, surface, &envelope));
		assert_int_equal(n, 1);
		assert_string_equal(file[0].data, want);
		kl_edits_free(file, n);
	}
	kl_envelope_release(&envelope);
}

static void edits_apply_to_sources_alone(void **state)
{
	check_applied("{\"path\":\"copy.c\",\"search\":\"int b;\",\"text\":\"int c;\"}",
		      "int a;\nint c;\n", NULL);
	check_applied("{\"path\":\"copy.c\",\"search\":\"int b;\",\"text\":\"\"},"
		      "{\"path\":\"copy.c\",\"search\":\"int a;\",\"text\":\"int d;\"}",
		      "int d;\n", NULL);
	check_applied("{\"path\":\"copy.c\",\"search\":\"int x;\",\"text\":\"\"}", NULL,
		      "edit 1: its <search> is not in copy.c");
	check_applied("{\"path\":\"copy.c\",\"text\":\"int z;\"},{\"path\":\"../x\",\"text\":\"\"}",
		      NULL, "edit 2: '../x' is outside of the contract's directory");
	check_applied("{\"path\":\"/etc/passwd\",\"text\":\"\"}", NULL, "is outside of");
	check_applied("{\"path\":\"oracle.c\",\"text\":\"\"}", NULL, "is the oracle");
	check_applied("{\"path\":\"klineage.yaml\",\"text\":\"\"}", NULL, "is the contract");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_a_step),
		cmocka_unit_test(refuses_what_is_none),
		cmocka_unit_test(has_ceilings),
		cmocka_unit_test(edits_apply_to_sources_alone),
	};

	return cmocka_run_group_tests_name("step", tests, scratch_setup, scratch_teardown);
}
