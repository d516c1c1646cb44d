/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "text/yaml_json.h"

static void errors_name_a_path_where_a_tree_wants_it(void **state)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	const struct kl_yaml *item;
	const char *text = "a: [1, {b: n + q}]";

	assert_ok(kl_yaml_parse(&node, "f", text, strlen(text)));
	node->paths = true;
	item = kl_yaml_get(kl_yaml_get(node, "a")->item[1], "b");
	assert_error(KL_EINVALID, "f:1:12: a[1].b: wrong", kl_yaml_error("f", item, "wrong"));
	assert_error(KL_EINVALID, "f:1:9: a[1].b: wrong",
		     kl_yaml_key_error("f", item->up, 0, "wrong"));
	kl_error(KL_EINVALID, "no q");
	assert_error(KL_EINVALID, "f:1:16: a[1].b: no q", kl_yaml_error_inside("f", item, 4));
	assert_error(KL_EINVALID, "f:1:1: wrong", kl_yaml_error("f", node, "wrong"));
}

static void json_is_read_like_yaml(void **state)
{
	static const char text[] = "{\"i\": -9223372036854775808, \"r\": 2.0, \"s\": \"2\", "
				   "\"t\": 0.1, \"u\": 1e300, \"v\": [true, null]}";
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL, *rounded = NULL;
	KL_AUTO(json_decrefp) json_t *value = NULL;

	assert_ok(kl_json_parse(&value, text, strlen(text)));
	assert_ok(kl_yaml_from_json_exact(&node, value));
	assert_string_equal(kl_yaml_get(node, "i")->text, "-9223372036854775808");
	assert_string_equal(kl_yaml_get(node, "r")->text, "2.0");
	assert_true(strtod(kl_yaml_get(node, "t")->text, NULL) == 0.1);
	assert_true(strtod(kl_yaml_get(node, "u")->text, NULL) == 1e300);
	assert_string_equal(kl_yaml_get(node, "s")->text, "2");
	assert_false(kl_yaml_get(node, "s")->plain);
	assert_true(kl_yaml_get(node, "v")->item[1]->plain);
	node->paths = true;
	assert_error(KL_EINVALID, "v[1]: wrong",
		     kl_yaml_error(NULL, kl_yaml_get(node, "v")->item[1], "wrong"));
	assert_ok(kl_yaml_from_json(&rounded, value));
	assert_string_equal(kl_yaml_get(rounded, "r")->text, "2");
	assert_string_equal(kl_yaml_get(rounded, "t")->text, "0.1");
}

static void yaml_becomes_json(void **state)
{
	static const char text[] = "{i: 9223372036854775807, big: 9223372036854775808, q: '7', "
				   "r: 0.5, n: null, w: 12x, l: [true]}";
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	KL_AUTO(json_decrefp) json_t *value = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;

	assert_ok(kl_yaml_parse(&node, "f", text, strlen(text)));
	value = kl_yaml_to_json(node);
	kl_json_canonical(&out, value);
	/* a number beyond 64 bits is not cut to the greatest of them */
	assert_string_equal(out.ptr, "{\"big\":9.2233720368547758e18,\"i\":9223372036854775807,"
				     "\"l\":[true],\"n\":null,\"q\":\"7\",\"r\":0.5,"
				     "\"w\":\"12x\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_name_a_path_where_a_tree_wants_it),
		cmocka_unit_test(json_is_read_like_yaml),
		cmocka_unit_test(yaml_becomes_json),
	};

	return cmocka_run_group_tests_name("text yaml", tests, NULL, NULL);
}
