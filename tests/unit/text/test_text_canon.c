/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/rng.h"
#include "text/canon.h"

/* Any JSON: of its strings some need escapes, of its numbers some are real. */
static json_t *any(struct kl_rng *rng, int depth)
{
	static const char *const words[] = { "",     "a",     "vec.256",  "it's",        "x y",
					     "a\"b", "tab\t", "\xc3\xa9", "back\\slash", "del\x7f",
					     "/" };
	json_t *value;

	switch (kl_rng_below(rng, depth ? 8 : 6)) {
	case 0:
		return json_integer((json_int_t)kl_rng_u64(rng));
	case 1:
		return json_integer((json_int_t)kl_rng_below(rng, 2001) - 1000);
	case 2:
		return json_string(words[kl_rng_below(rng, KL_ARRAY_SIZE(words))]);
	case 3:
		return json_boolean(kl_rng_below(rng, 2));
	case 4:
		return json_null();
	case 5:
		return kl_rng_below(rng, 8) ? json_integer(0) : json_real(kl_rng_normal(rng));
	case 6:
		value = json_array();
		for (uint64_t n = kl_rng_below(rng, 4); n; n--)
			json_array_append_new(value, any(rng, depth - 1));
		return value;
	default:
		value = json_object();
		for (uint64_t n = kl_rng_below(rng, 6); n; n--) {
			char key[8];

			snprintf(key, sizeof(key), "%c%.*s", 'a' + (int)kl_rng_below(rng, 26),
				 (int)kl_rng_below(rng, 4), "bcd");
			json_object_set_new(value, key, any(rng, depth - 1));
		}
		return value;
	}
}

/* Whatever it takes is what would be written again; whatever it refuses has a reason. */
static void it_takes_canonical_text_alone(void **state)
{
	struct kl_rng rng;
	size_t taken = 0, refused = 0, damaged = 0;

	kl_rng_seed(&rng, 1);
	for (int i = 0; i < 20000; i++) {
		KL_AUTO(json_decrefp) json_t *value = json_object(), *back = NULL, *other = NULL;
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, again = KL_BUF_INIT;

		json_object_set_new(value, "it", any(&rng, 4));
		kl_json_canonical(&text, value);
		if (kl_canon_load(&back, NULL, text.ptr, text.len)) {
			taken++;
			assert_true(json_equal(value, back));
		} else {
			refused++;
			assert_true(strpbrk(text.ptr, "\\.\x7f") || strlen(text.ptr) > 18);
		}
		text.ptr[kl_rng_below(&rng, text.len)] = (char)kl_rng_below(&rng, 128);
		if (!kl_canon_load(&other, NULL, text.ptr, text.len))
			continue;
		damaged++;
		kl_json_canonical(&again, other);
		assert_int_equal(again.len, text.len);
		assert_memory_equal(again.ptr, text.ptr, text.len);
	}
	assert_true(taken > 5000 && refused > 1000 && damaged > 100);
}

static void it_refuses_other_dress(void **state)
{
	static const char *const no[] = {
		"",
		"1",
		"\"a\"",
		"{",
		"{\"a\":1",
		"{\"a\":1} ",
		"{ \"a\":1}",
		"{\"a\": 1}",
		"{\"b\":1,\"a\":2}",
		"{\"a\":1,\"a\":2}",
		"{\"a\":01}",
		"{\"a\":-0}",
		"{\"a\":-}",
		"{\"a\":1.0}",
		"{\"a\":1e3}",
		"{\"a\":1234567890123456789012}",
		"{\"a\":\"\\u0041\"}",
		"{\"a\":\"\xc3\xa9\"}",
		"{\"a\":tru}",
		"{\"a\":1,}",
		"[1,]",
		"{\"a\":\"x}",
		"{\"a\"}",
		"{a:1}",
	};
	KL_AUTO(kl_buf_release) struct kl_buf deep = KL_BUF_INIT;
	json_t *value = NULL;

	for (size_t i = 0; i < KL_ARRAY_SIZE(no); i++)
		if (kl_canon_load(&value, NULL, no[i], strlen(no[i])))
			fail_msg("taken: %s", no[i]);
	assert_false(kl_canon_load(&value, NULL, "{\"a\":1\0}", 8));
	for (int i = 0; i < 100000; i++)
		kl_buf_addch(&deep, '[');
	assert_false(kl_canon_load(&value, NULL, deep.ptr, deep.len));
}

static void members_can_be_cut_out(void **state)
{
	static const char text[] = "{\"a\":{\"id\":1},\"b\":[1,2],\"id\":\"x\",\"sig\":null}";
	static const char *const names[][3] = {
		{ "id", "sig" }, { "a" }, { "nothing", "i" }, { "a", "b" }
	};
	static const char *const want[] = { "{\"a\":{\"id\":1},\"b\":[1,2]}",
					    "{\"b\":[1,2],\"id\":\"x\",\"sig\":null}", text,
					    "{\"id\":\"x\",\"sig\":null}" };
	KL_AUTO(json_decrefp) json_t *value = NULL;
	struct kl_canon members;

	assert_true(kl_canon_load(&value, &members, text, strlen(text)));
	for (size_t i = 0; i < KL_ARRAY_SIZE(want); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

		kl_canon_without(&buf, &members, names[i]);
		assert_string_equal(buf.ptr, want[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_takes_canonical_text_alone),
		cmocka_unit_test(it_refuses_other_dress),
		cmocka_unit_test(members_can_be_cut_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
