/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "rewrite/source/include_name.h"

static bool define(struct kl_include_macros *macros, const char *text)
{
	return kl_include_name_define(macros, text, strlen(text));
}

static void assert_name(const struct kl_include_macros *macros, const char *text,
			enum kl_include_kind kind, const char *name)
{
	struct kl_include_name found;

	assert_int_equal(kl_include_name_read(&found, macros, text, strlen(text)), kind);
	if (name)
		assert_string_equal(found.text, name);
	else
		assert_null(found.text);
	kl_include_name_release(&found);
}

static void names_in_quotes_and_brackets(void **state)
{
	struct kl_include_macros none = KL_INCLUDE_MACROS_INIT;

	assert_name(&none, "#include \"a.h\"", KL_INCLUDE_FILE, "a.h");
	assert_name(&none, "#  include<sys/a.h> // \"b.h\"", KL_INCLUDE_FILE, "sys/a.h");
	assert_name(&none, "#include \"a.h", KL_INCLUDE_NONE, NULL);
	assert_name(&none, "#include", KL_INCLUDE_NONE, NULL);
	assert_name(&none, "#include 1", KL_INCLUDE_NONE, NULL);
	assert_name(&none, "#include_next <a.h>", KL_INCLUDE_NONE, NULL);
	assert_name(&none, "#define include \"a.h\"", KL_INCLUDE_NONE, NULL);
	assert_name(&none, "", KL_INCLUDE_NONE, NULL);
	assert_name(&none, "#include BODY", KL_INCLUDE_MACRO, "BODY");
	kl_map_release(&none.value);
}

static void macros_stand_for_names(void **state)
{
	struct kl_include_macros macros = KL_INCLUDE_MACROS_INIT;

	kl_include_name_option(&macros, "CONFIG=\"my.h\"");
	kl_include_name_option(&macros, "FLAG");
	assert_true(define(&macros, "#define BODY \"a.h\" /* of this */\n"));
	assert_true(define(&macros, "# define OTHER\tBODY"));
	assert_true(define(&macros, "#define CALL(x) \"x.h\""));
	assert_true(define(&macros, "#define LOOP LOOP"));
	assert_false(define(&macros, "#include BODY"));
	assert_false(define(&macros, "#defined X"));
	assert_name(&macros, "#include CONFIG", KL_INCLUDE_FILE, "my.h");
	assert_name(&macros, "#include OTHER // BODY", KL_INCLUDE_FILE, "a.h");
	assert_name(&macros, "#include CALL(a)", KL_INCLUDE_MACRO, "CALL");
	assert_name(&macros, "#include LOOP", KL_INCLUDE_MACRO, "LOOP");
	assert_name(&macros, "#include FLAG", KL_INCLUDE_MACRO, "FLAG");
	assert_true(define(&macros, "#undef BODY"));
	assert_name(&macros, "#include BODY", KL_INCLUDE_MACRO, "BODY");
	assert_true(define(&macros, "#define BODY <b.h>"));
	assert_name(&macros, "#include BODY", KL_INCLUDE_FILE, "b.h");
	kl_map_release(&macros.value);
}

static void definitions_that_differ_stand_for_nothing(void **state)
{
	struct kl_include_macros macros = KL_INCLUDE_MACROS_INIT;

	define(&macros, "#define BODY \"a.h\"");
	define(&macros, "#define BODY \"a.h\"");
	assert_name(&macros, "#include BODY", KL_INCLUDE_FILE, "a.h");
	define(&macros, "#define BODY \"b.h\"");
	assert_name(&macros, "#include BODY", KL_INCLUDE_MACRO, "BODY");
	macros.unordered = true;
	define(&macros, "#undef BODY");
	define(&macros, "#define BODY \"b.h\"");
	assert_name(&macros, "#include BODY", KL_INCLUDE_MACRO, "BODY");
	kl_map_release(&macros.value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_in_quotes_and_brackets),
		cmocka_unit_test(macros_stand_for_names),
		cmocka_unit_test(definitions_that_differ_stand_for_nothing),
	};

	return cmocka_run_group_tests_name("include name", tests, NULL, NULL);
}
