/* SPDX-License-Identifier: Apache-2.0 */
/* The digest by which a recorded reply is found. */
#include "model/provider/key.h"
#include "test.h"

#define KEY(hex, ...)                                                       \
	do {                                                                \
		const char *const key_[] = { __VA_ARGS__ };                 \
		kl_provider_key(hex, key_, sizeof(key_) / sizeof(key_[0])); \
	} while (0)

/* what `printf '5\0hello' | sha256sum` and the like print */
static void is_what_the_format_says(void **state)
{
	char hex[KL_DIGEST_HEX];

	KEY(hex, "hello");
	assert_string_equal(hex,
			    "3d4c083fcbeca5fb370ebcaeec1999e3ff3a920e12fdc584bd55bda6718e560c");
	KEY(hex, "hello", "");
	assert_string_equal(hex,
			    "f007d7400e5a398fffe3aee053725a5518bad3f8b625eb01d3c8f306c4a798fe");
}

static void every_turn_counts_and_none_runs_into_the_next(void **state)
{
	char left[KL_DIGEST_HEX], right[KL_DIGEST_HEX];

	KEY(left, "ab", "c");
	KEY(right, "a", "bc");
	assert_string_not_equal(left, right);
	KEY(right, "ab");
	assert_string_not_equal(left, right);
	KEY(right, "c", "ab");
	assert_string_not_equal(left, right);
	KEY(right, "ab", "c");
	assert_string_equal(left, right);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_what_the_format_says),
		cmocka_unit_test(every_turn_counts_and_none_runs_into_the_next),
	};

	return cmocka_run_group_tests_name("chat/key", tests, NULL, NULL);
}
