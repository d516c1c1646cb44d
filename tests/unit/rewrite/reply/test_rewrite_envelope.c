/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite_state.h"

#include "rewrite/edits.h"
#include "rewrite/naming/residue.h"
#include "rewrite/reply/envelope.h"
#include "rewrite/rewriter.h"

#define STEP                                                 \
	"<step>\naction: untile\nmechanism: register-tile\n" \
	"locus: copy.c:copy\ntraits: tiled=no\nwhy: one at a time\n</step>\n"
#define EDIT "<edit path=copy.c>\n<search>\na\n</search>\n<replace>\nb\n</replace>\n</edit>\n"

/* --- parsing ------------------------------------------------------------------ */

static void test_good(void **state)
{
	static const char text[] =
		"I will remove the <b>tile</b>; a <step> follows.\r\n\n"
		"  <step>\n\taction:  untile \nlocus: copy.c:copy:3-9\nwhy: a: b\n"
		"mechanism: -\ntraits: tiled=no, coalesced=unknown\n\n</step>\t\r\n"
		"Now the edits.\n"
		"<file path=\"a b.c\">\nint a;\n\n  <steps of a stair>\n</file>\n"
		"<function path='copy.c' name=f>\n</function>\n"
		"<edit path=copy.c>\n\n<search>\n\tx\n</search>\n<replace>\n</replace>\n</edit>\n"
		"That is all.";
	struct kl_envelope envelope;

	assert_ok(kl_envelope_parse(&envelope, text, strlen(text)));
	assert_int_equal(envelope.kind, KL_ENVELOPE_STEP);
	assert_string_equal(envelope.action, "untile");
	assert_string_equal(envelope.mechanism, "");
	assert_string_equal(envelope.locus, "copy.c:copy:3-9");
	assert_string_equal(envelope.why, "a: b");
	assert_string_equal(kl_json_str_or(envelope.traits, "tiled", ""), "no");
	assert_string_equal(kl_json_str_or(envelope.traits, "coalesced", ""), "unknown");
	assert_int_equal(envelope.n, 3);
	assert_int_equal(envelope.edit[0].kind, KL_EDIT_FILE);
	assert_string_equal(envelope.edit[0].path, "a b.c");
	assert_string_equal(envelope.edit[0].text, "int a;\n\n  <steps of a stair>\n");
	assert_int_equal(envelope.edit[0].line, 12);
	assert_int_equal(envelope.edit[1].kind, KL_EDIT_FUNCTION);
	assert_string_equal(envelope.edit[1].name, "f");
	assert_string_equal(envelope.edit[1].text, "");
	assert_int_equal(envelope.edit[2].kind, KL_EDIT_SEARCH);
	assert_string_equal(envelope.edit[2].search, "\tx\n");
	assert_string_equal(envelope.edit[2].text, "");
	kl_envelope_release(&envelope);
}

static void test_card(void **state)
{
	static const char with[] =
		"<step>\naction: vectorize\nmechanism: -\nlocus: copy.c\ntraits: -\nwhy: wide\ncard: vector-loop-1234567\n"
		"</step>\n" EDIT;
	static const char twice[] =
		"<step>\naction: vectorize\nmechanism: -\nlocus: copy.c\ntraits: -\nwhy: wide\ncard: a\ncard: b\n</step>\n" EDIT;
	struct kl_envelope envelope;

	assert_ok(kl_envelope_parse(&envelope, with, strlen(with)));
	assert_string_equal(envelope.card, "vector-loop-1234567");
	kl_envelope_release(&envelope);
	assert_ok(kl_envelope_parse(&envelope, STEP EDIT, strlen(STEP EDIT)));
	assert_null(envelope.card);
	kl_envelope_release(&envelope);
	assert_int_equal(kl_envelope_parse(&envelope, twice, strlen(twice)), KL_EINVALID);
	assert_non_null(strstr(kl_error_last(), "a second line 'card:'"));
}

static void test_nothing(void **state)
{
	static const char *const good[] = {
		"<nothing-left>it is plain</nothing-left>",
		"Well.\n<nothing-left>\nit is\nplain\n</nothing-left>\nBye.\n",
		"<nothing-left>it is\nplain</nothing-left>\n",
	};
	struct kl_envelope envelope;

	for (size_t i = 0; i < KL_ARRAY_SIZE(good); i++) {
		assert_ok(kl_envelope_parse(&envelope, good[i], strlen(good[i])));
		assert_int_equal(envelope.kind, KL_ENVELOPE_NOTHING);
		assert_string_equal(envelope.why, "it is plain");
		kl_envelope_release(&envelope);
	}
}

static void test_refused(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *says; } bad[] = {
		{ "", "no <step>" },
		{ "I am sorry, I cannot do that.", "no <step>" },
		{ "<html><body>502 Bad Gateway</body></html>\n", "no <step>" },
		{ STEP, "no edit" },
		{ EDIT, "no <step> that describes" },
		{ STEP STEP EDIT, "line 8 of the reply: the reply has a second <step>; the first is in line 1" },
		{ STEP EDIT STEP, "a second <step>" },
		{ STEP EDIT "<nothing-left>x</nothing-left>\n", "the reply has both a step and <nothing-left>; write only one" },
		{ "<nothing-left>x</nothing-left>\n" STEP EDIT, "<step> and <nothing-left>" },
		{ "<nothing-left>x</nothing-left>\n<nothing-left>y</nothing-left>\n", "a second <nothing-left>" },
		{ "<nothing-left>x\n", "never closed by </nothing-left>" },
		{ "<nothing-left>x\n<step>\n</nothing-left>\n", "<step> within <nothing-left>" },
		{ "<nothing-left why=x>x</nothing-left>\n", "no attributes" },
		{ "<step>\naction: untile\n", "never closed by </step>" },
		{ "<step>\naction: untile\n</step>\n" EDIT, "has no line 'mechanism:'" },
		{ "<step>\naction: a\naction: b\n</step>\n", "a second line 'action:'" },
		{ "<step>\naction: a\nbecause\n</step>\n", "'because' is not a line of a <step>" },
		{ "<step>\naction: a\n<file path=a>\n</file>\n</step>\n", "<file> within the <step> of line 1" },
		{ "<step>\naction: Un Tile\nmechanism: -\nlocus: a\ntraits: -\nwhy: x\n</step>\n", "the action 'Un Tile'" },
		{ "<step>\naction: a\nmechanism: x/y\nlocus: a\ntraits: -\nwhy: x\n</step>\n", "the mechanism 'x/y'" },
		{ "<step>\naction: a\nmechanism: -\nlocus: here and there\ntraits: -\nwhy: x\n</step>\n", "the locus" },
		{ "<step>\naction: a\nmechanism: -\nlocus: a\ntraits: tiled\nwhy: x\n</step>\n", "not 'tiled'" },
		{ "<step>\naction: a\nmechanism: -\nlocus: a\ntraits: tiled=maybe\nwhy: x\n</step>\n", "not 'maybe'" },
		{ "<step>\naction: a\nmechanism: -\nlocus: a\ntraits: x=no, x=no\nwhy: x\n</step>\n", "the trait x is given twice" },
		{ "<step>\naction: a\nmechanism: -\nlocus: a\ntraits: -\nwhy:\n</step>\n", "'why:' must be one line of at most 2000 bytes" },
		{ "<step> action: a\n", "<step> must be alone on its line" },
		{ "</step>\n", "</step> has no opening tag" },
		{ STEP "<file>\n</file>\n", "<file> needs path=..." },
		{ STEP "<file path=>\n</file>\n", "<file> has an empty attribute 'path'" },
		{ STEP "<file path=\"a>\n</file>\n", "<file> has an empty attribute 'path'" },
		{ STEP "<file path=a path=b>\n</file>\n", "has the attribute 'path' twice" },
		{ STEP "<file path=a mode=755>\n</file>\n", "no attribute 'mode'" },
		{ STEP "<file path=a> x\n</file>\n", "alone on its line" },
		{ STEP "<file path=a\n</file>\n", "alone on its line" },
		{ STEP "<file path=a>\nint x;\n", "line 8 of the reply is never closed by </file>" },
		{ STEP "<file path=a>\nint x;\n</function>\n", "</function> within the <file> of line 8" },
		{ STEP "<file path=a>\n<file path=b>\n</file>\n</file>\n", "<file> within the <file>" },
		{ STEP "<file path=a>\n  <step of a stair>\n</file>\n", "<step> within the <file>" },
		{ STEP "<file path=a>\n```c\nint x;\n```\n</file>\n", "without a fence" },
		{ STEP "<function path=a>\n</function>\n", "<function> needs name=..." },
		{ STEP "<edit path=a>\n<replace>\n</replace>\n</edit>\n", "<search> here" },
		{ STEP "<edit path=a>\nx\n<search>\n</search>\n</edit>\n", "<search> here" },
		{ STEP "<edit path=a>\n<search>\nx\n</search>\n</edit>\n", "<replace> here" },
		{ STEP "<edit path=a>\n<search>\nx\n</search>\n<replace>\n</replace>\n", "ends where </edit>" },
		{ STEP "<search>\nx\n</search>\n", "<search> is outside of an <edit>" },
		{ STEP EDIT "<refused>oracle.c is a link</refused>\n", "oracle.c is a link" },
		{ STEP "<file path=a>\n\xff\xfe\n</file>\n", "not UTF-8 at byte" },
		{ STEP "<file path=a>\n\xed\xa0\x80\n</file>\n", "not UTF-8" },
	};
	/* clang-format on */
	struct kl_envelope envelope;

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		assert_error(KL_EINVALID, bad[i].says,
			     kl_envelope_parse(&envelope, bad[i].text, strlen(bad[i].text)));
		assert_null(envelope.edit);
	}
	assert_error(KL_EINVALID, "NUL byte", kl_envelope_parse(&envelope, "<st\0ep>", 7));
}

static void test_large(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_envelope envelope;

	kl_buf_adds(&buf, STEP "<file path=copy.c>\n");
	while (buf.len <= KL_ENVELOPE_MAX)
		kl_buf_adds(&buf, "int x;\n");
	kl_buf_adds(&buf, "</file>\n");
	assert_error(KL_EINVALID, "bytes, but can have at most",
		     kl_envelope_parse(&envelope, buf.ptr, buf.len));
	kl_buf_clear(&buf);
	kl_buf_adds(&buf, STEP);
	for (int i = 0; i <= KL_ENVELOPE_EDITS; i++)
		kl_buf_adds(&buf, EDIT);
	assert_error(KL_EINVALID, "more than 64 edits",
		     kl_envelope_parse(&envelope, buf.ptr, buf.len));
}

static void check_place(const char *locus, const char *want)
{
	KL_AUTO(kl_freep) char *got = kl_envelope_place(locus);

	assert_string_equal(got, want);
}

static void test_place(void **state)
{
	check_place("a.c:f:3-9", "a.c:f");
	check_place("a.c:f", "a.c:f");
	check_place("a.c:3-9", "a.c");
	check_place("a.c", "a.c");
}

static void test_traits(void **state)
{
	static const char good[] =
		"As I read it:\n<trait>\nname: tiled\nvalue: yes\npath: a.c\nlines: 3-9\nwhy: blocks\n</trait>\n"
		"<trait>\nname: staged\nvalue: unknown\npath: -\nlines: -\nwhy: hard to say\n</trait>\n";
	/* clang-format off */
	static const struct { const char *text, *says; } bad[] = {
		{ "tiled: yes", "no <trait>" },
		{ "<trait>\nname: tiled\nvalue: yes\npath: a\nlines: 9-3\nwhy: x\n</trait>\n", "not '9-3'" },
		{ "<trait>\nname: tiled\nvalue: yes\npath: a\nlines: 0\nwhy: x\n</trait>\n", "not '0'" },
		{ "<trait>\nname: tiled\nvalue: yes\npath: a\nlines: all\nwhy: x\n</trait>\n", "not 'all'" },
		{ "<trait>\nname: tiled\nvalue: perhaps\npath: a\nlines: 1\nwhy: x\n</trait>\n", "not 'perhaps'" },
		{ "<trait>\nname: Tiled\nvalue: yes\npath: a\nlines: 1\nwhy: x\n</trait>\n", "not the name of a trait" },
		{ "<trait>\nname: tiled\n</trait>\n", "has no line 'value:'" },
		{ "<trait>\nname: tiled\n", "never closed" },
		{ "</trait>\n", "has no opening tag" },
	};
	/* clang-format on */
	KL_AUTO(json_decrefp) json_t *value = NULL;
	json_t *none = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	assert_ok(kl_envelope_traits(&value, good, strlen(good)));
	kl_json_canonical(&buf, value);
	assert_string_equal(buf.ptr,
			    "{\"staged\":{\"value\":\"unknown\"},"
			    "\"tiled\":{\"lines\":[3,9],\"path\":\"a.c\",\"value\":\"yes\"}}");
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_error(KL_EINVALID, bad[i].says,
			     kl_envelope_traits(&none, bad[i].text, strlen(bad[i].text)));
}

/* --- edits -------------------------------------------------------------------- */

static const char source[] = "#include \"copy.h\"\n"
			     "/* of use below */\n"
			     "static int twice(int x)\n"
			     "{\n"
			     "\treturn 2 * x;\n"
			     "}\n"
			     "\n"
			     "extern \"C\" {\n"
			     "template <int N> __global__ void copy(int *a)\n"
			     "{\n"
			     "\ta[0] = twice(1);\n"
			     "\ta[1] = twice(1);\n"
			     "}\n"
			     "}\n"
			     "/* end */";

/* what the edits make of copy.c */
static char *edited(const char *edits)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = state_of(source, "int copy_h;\n");
	KL_AUTO(kl_freep) char *text = kl_asprintf("%s%s", STEP, edits);
	struct kl_envelope envelope;
	struct kl_file *file;
	size_t n;
	char *out;

	assert_ok(kl_envelope_parse(&envelope, text, strlen(text)));
	assert_ok(kl_edits_apply(&file, &n, surface, &envelope));
	assert_int_equal(n, 1);
	assert_string_equal(file[0].path, "copy.c");
	assert_int_equal(file[0].len, strlen(file[0].data));
	out = kl_strdup(file[0].data);
	kl_edits_free(file, n);
	kl_envelope_release(&envelope);
	return out;
}

static void check_edit(const char *edits, const char *part, const char *no_part)
{
	KL_AUTO(kl_freep) char *got = edited(edits);

	assert_contains(got, part);
	if (no_part && strstr(got, no_part))
		fail_msg("'%s' is still in: %s", no_part, got);
}

static void test_edits(void **state)
{
	KL_AUTO(kl_freep) char *whole = edited("<file path=copy.c>\nint a;\n</file>\n");

	assert_string_equal(whole, "int a;\n");
	check_edit(
		"<function path=copy.c name=twice>\nstatic int twice(int x)\n{\n\treturn x + x;\n}\n</function>\n",
		"/* of use below */\nstatic int twice(int x)\n{\n\treturn x + x;\n}\n\nextern",
		"2 * x");
	check_edit("<function path=copy.c name=copy>\n\nvoid copy(int *a)\n{\n}\n\n</function>\n",
		   "extern \"C\" {\nvoid copy(int *a)\n{\n}\n}\n/* end */", "template");
	check_edit("<function path=copy.c name=twice>\n</function>\n",
		   "/* of use below */\n\n\nextern", "2 * x");
	check_edit(
		"<edit path=copy.c>\n<search>\n\ta[1] = twice(1);\n</search>\n<replace>\n</replace>\n</edit>\n",
		"a[0] = twice(1);\n}\n", "a[1]");
	/* one after the other, and the last line without a newline */
	check_edit(
		"<edit path=copy.c>\n<search>\n\ta[0] = twice(1);\n</search>\n<replace>\n\tq();\n</replace>\n</edit>\n"
		"<edit path=copy.c>\n<search>\n\tq();\n\ta[1] = twice(1);\n</search>\n<replace>\n\tr();\n</replace>\n</edit>\n"
		"<edit path=copy.c>\n<search>\n/* end */\n</search>\n<replace>\n/* fin */\n</replace>\n</edit>\n",
		"{\n\tr();\n}\n}\n/* fin */\n", "a[1]");
}

static void check_refused(const char *edits, const char *says)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = state_of(source, "int copy_h;\n");
	KL_AUTO(kl_freep) char *text = kl_asprintf("%s%s", STEP, edits);
	struct kl_envelope envelope;
	struct kl_file *file;
	size_t n;

	assert_ok(kl_envelope_parse(&envelope, text, strlen(text)));
	assert_error(KL_EINVALID, says, kl_edits_apply(&file, &n, surface, &envelope));
	kl_envelope_release(&envelope);
}

#define FILE_AT(path) "<file path=\"" path "\">\nint a;\n</file>\n"

static void test_edits_refused(void **state)
{
	check_refused(
		FILE_AT("other.c"),
		"'other.c' is not a file of this kernel; only these files can be changed: copy.c, copy.h");
	check_refused(FILE_AT("klineage.yaml"), "is the contract");
	check_refused(FILE_AT("oracle.c"), "is the oracle");
	check_refused(FILE_AT("/etc/passwd"), "is outside of the contract's directory");
	check_refused(FILE_AT("../copy.c"), "is outside of the contract's directory");
	check_refused(FILE_AT("./copy.c"), "is outside of the contract's directory");
	check_refused(FILE_AT("a/../copy.c"), "is outside of the contract's directory");
	check_refused(FILE_AT(".git/config"), "is outside of the contract's directory");
	check_refused(FILE_AT("a/.GIT/hooks/x"), "is outside of the contract's directory");
	check_refused(FILE_AT("copy.c") FILE_AT("copy.c"), "written whole and edited as well");
	check_refused(
		FILE_AT("copy.c") "<edit path=copy.c>\n<search>\nint a;\n</search>\n<replace>\n</replace>\n</edit>\n",
		"written whole and edited as well");
	check_refused("<function path=copy.c name=twice>\n</function>\n" FILE_AT("copy.c"),
		      "written whole");
	check_refused("<file path=copy.h>\nint copy_h;\n</file>\n", "it changes nothing in copy.h");
	check_refused("<function path=copy.c name=thrice>\nint thrice(void)\n{\n}\n</function>\n",
		      "copy.c has 0 functions 'thrice'; it has: twice, copy");
	check_refused("<function path=copy.c name=twice>\nint thrice(void)\n{\n}\n</function>\n",
		      "does not define 'twice' with a body");
	check_refused("<function path=copy.c name=twice>\nint twice(int);\n</function>\n",
		      "with a body");
	check_refused(
		"<edit path=copy.c>\n<search>\n\n</search>\n<replace>\nx\n</replace>\n</edit>\n",
		"<search> is empty");
	check_refused(
		"<edit path=copy.c>\n<search>\na[0] = twice(1);\n</search>\n<replace>\n</replace>\n</edit>\n",
		"<search> is not in copy.c");
	check_refused(
		"<edit path=copy.c>\n<search>\n\ta[0] = \n</search>\n<replace>\n</replace>\n</edit>\n",
		"whole lines exactly");
	check_refused(
		"<edit path=copy.c>\n<search>\n{\n</search>\n<replace>\n</replace>\n</edit>\n",
		"occurs more than once in copy.c");
	check_refused(
		"<edit path=copy.c>\n<search>\n/* end */\n</search>\n<replace>\nx\n</replace>\n</edit>\n"
		"<edit path=copy.c>\n<search>\nx\n</search>\n<replace>\n/* end */\n</replace>\n</edit>\n"
		"<edit path=copy.c>\n<search>\n/* end */\n</search>\n<replace>\n/* end */\n</replace>\n</edit>\n",
		"changes nothing");
}

static void test_line_ends(void **state)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = state_of("int a;\r\nint b;\r\n",
									NULL);
	static const char text[] = STEP
		"<edit path=copy.c>\n<search>\nint b;\n</search>\n<replace>\nint c;\n</replace>\n</edit>\n";
	struct kl_envelope envelope;
	struct kl_file *file;
	size_t n;

	assert_ok(kl_envelope_parse(&envelope, text, strlen(text)));
	assert_ok(kl_edits_apply(&file, &n, surface, &envelope));
	assert_string_equal(file[0].data, "int a;\r\nint c;\r\n");
	kl_edits_free(file, n);
	kl_envelope_release(&envelope);
}

/* --- residue ------------------------------------------------------------------ */

static const char lean[] = "#define FAST 1\n"
			   "static void slow(void) { }\n"
			   "static void fast(void) { slow(); }\n"
			   "static void asleep(void) { }\n"
			   "void copy(int n)\n"
			   "{\n"
			   "\tfast();\n"
			   "\tif (n)\n"
			   "\t\tslow();\n"
			   "}\n";

static void check_residue(const char *after, const char *says)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *left = state_of(lean, NULL);
	KL_AUTO(kl_surface_freep) struct kl_surface *right = state_of(after, NULL);

	if (says)
		assert_error(KL_ENO, says, kl_residue_check(left, right));
	else
		assert_ok(kl_residue_check(left, right));
}

static void test_residue(void **state)
{
	check_residue("void copy(int n)\n{\n\tif (n > 0 && n < 1)\n\t\tn = 0;\n}\n", NULL);
	check_residue("static void asleep(void) { }\nvoid copy(int n) { }\n", NULL);
	check_residue(
		"static void slow(void) { }\nstatic void fast(void) { slow(); }\nvoid copy(int n) { }\n",
		"the function 'slow' behind");
	check_residue(
		"static void loop(void);\nstatic void slow(void) { slow(); }\nvoid copy(int n) { }\n",
		"the function 'slow' behind");
	check_residue(
		"static void slow(void) { }\nvoid copy(int n)\n{\n#if 0\n\tslow();\n#endif\n\tslow();\n}\n",
		"a conditional directive behind: '#if 0' in copy.c, line 4");
	check_residue("void slow(void) { }\nvoid copy(int n)\n{\n\tif (0)\n\t\tslow();\n}\n",
		      "behind a condition that never changes: 'if (0' in copy.c, line 4");
	check_residue("void slow(void) { }\nvoid copy(int n)\n{\n\tif (0 && n)\n\t\tslow();\n}\n",
		      "never changes");
	check_residue(
		"#define WIDE 0\nvoid slow(void) { }\nvoid copy(int n)\n{\n\tif (WIDE)\n\t\tslow();\n}\n",
		"'if (WIDE'");
	check_residue(
		"static const int wide = 0;\nvoid slow(void) { }\nvoid copy(int n)\n{\n\tif (!wide)\n\t\tslow();\n}\n",
		"'if (!wide'");
	check_residue(
		"constexpr bool wide = false;\nvoid slow(void) { }\nvoid copy(int n)\n{\n\tif constexpr (wide)\n"
		"\t\tslow();\n}\n",
		"never changes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),          cmocka_unit_test(test_card),
		cmocka_unit_test(test_nothing),       cmocka_unit_test(test_refused),
		cmocka_unit_test(test_large),         cmocka_unit_test(test_place),
		cmocka_unit_test(test_traits),        cmocka_unit_test(test_edits),
		cmocka_unit_test(test_edits_refused), cmocka_unit_test(test_line_ends),
		cmocka_unit_test(test_residue),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
