/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "backend/c/cxx.h"
#include "contract/contract.h"

static struct kl_file file_of(const char *path, const char *text)
{
	struct kl_file file = { .path = (char *)(uintptr_t)path,
				.data = (char *)(uintptr_t)text,
				.len = strlen(text) };

	return file;
}

static bool is_unit(const void *payload, const char *path)
{
	return kl_cxx_is_source(path) || kl_suffix_in(path, (const char *const[]){ ".c", NULL });
}

static void sources_in_cxx(void **state)
{
	static const char *const yes[] = { "a.cpp", "b/a.cc", "a.cxx" };
	static const char *const no[] = { "a.c", "a.hpp", "cpp", "a.cpp.h", "a.C" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(yes); i++)
		assert_true(kl_cxx_is_source(yes[i]));
	for (size_t i = 0; i < KL_ARRAY_SIZE(no); i++)
		assert_false(kl_cxx_is_source(no[i]));
}

/* The unit that defines the entry gets its declaration, or else the first that mentions it. */
static void unit_of_the_entry(void **state)
{
	const struct kl_file file[] = {
		file_of("a.c", "void scale(float *x) {}"),
		file_of("b.cpp", "void other() {} // scale"),
		file_of("scale.hpp", "namespace ns { template <int N> void tile(float *x) {} }"),
		file_of("c.cpp", "namespace ns { template <typename T> void scale(T *x) {} }"),
		file_of("d.cpp", "#include \"scale.hpp\"\nusing ns::tile;"),
	};
	struct kl_contract contract = { .entry = (char *)(uintptr_t) "ns::scale<float>" };

	assert_int_equal(kl_cxx_entry_unit(file, 5, &contract, is_unit, NULL), 3);
	contract.entry = (char *)(uintptr_t) "ns::tile<(1), 2>(float *)";
	assert_int_equal(kl_cxx_entry_unit(file, 5, &contract, is_unit, NULL), 4);
	contract.entry = (char *)(uintptr_t) "nowhere";
	assert_int_equal(kl_cxx_entry_unit(file, 5, &contract, is_unit, NULL), 1);
	assert_int_equal(kl_cxx_entry_unit(file, 1, &contract, is_unit, NULL), 1);
}

static void the_declaration(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_contract contract = {
		.entry = (char *)(uintptr_t) "ns::scale<float>(float *, int)", .nargs = 3
	};

	contract.arg[2].returned = true;
	kl_buf_adds(&text, "int last; // no newline");
	kl_cxx_declare(&text, &contract, "0123abcd");
	assert_contains(text.ptr, "no newline\n#line 1 \"kl_entry\"\n");
	assert_contains(text.ptr, "the contract passes 2 arguments");
	assert_contains(text.ptr, "kl_entry_address_0123abcd = "
				  "kl_checked_0123abcd(kl_chosen_0123abcd(&ns::scale<float>));");
	assert_contains(text.ptr, "(*kl_function_0123abcd)(float *, int)");
	assert_contains(text.ptr, "#ifdef ns\n");
	assert_contains(text.ptr, "#ifdef scale\n");
	assert_contains(text.ptr, "#ifdef float\n");
	assert_null(strchr(text.ptr, '@'));
}

static void what_c_plus_plus_has_to_do_with_it(void **state)
{
	static const struct {
		const char *message, *want, *class_;
	} rows[] = {
		{ "the kernel: uses '_Znwm', which is not allowed", "operator new: let",
		  "compile" },
		{ "the kernel: uses '_ZSt17__throw_bad_allocv'", "libstdc++", "compile" },
		{ "the kernel: uses '__cxa_throw'", "exceptions", "compile" },
		{ "the kernel: uses '__cxa_guard_acquire'", "constexpr", "compile" },
		{ "the kernel: has code that runs at load: section '.init_array.1'", "at load",
		  "compile" },
		{ "a.cpp:1:2: error: exception handling disabled, use", "return instead", "cheat" },
		{ "kl_entry:2:5: error: 'x' was not declared", "no source defines the entry 'x'",
		  "cheat" },
		{ "kl_entry:1:2: error: #error static assertion failed: 'x' is a macro",
		  "the entry 'x' does not fit the contract: 'x' is a macro", "cheat" },
		{ "the kernel: calls the system", NULL, "cheat" },
	};
	const struct kl_contract contract = { .entry = (char *)(uintptr_t) "x" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		const char *class_ = "cheat";
		KL_AUTO(kl_freep)
		char *got = kl_cxx_explain(rows[i].message, &class_, &contract, NULL, 0);

		if (rows[i].want)
			assert_contains(got, rows[i].want);
		else
			assert_null(got);
		assert_string_equal(class_, rows[i].class_);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources_in_cxx),
		cmocka_unit_test(unit_of_the_entry),
		cmocka_unit_test(the_declaration),
		cmocka_unit_test(what_c_plus_plus_has_to_do_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
