/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "text/name.h"
#include "text/schema.h"

/* A structure with one field of each kind that is tested here. */
struct thing {
	char *name;
	int64_t count, strict, ppm;
	double ratio, any;
	int word, only;
	double pair[2];
	size_t noted;
};

static int read_pair(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	const struct kl_field number = KL_DOUBLE_FIELD(field->key, 0, 0, 0, 0);
	double *pair = at;
	int err = kl_schema_check_list(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++)
		err = kl_schema_read_value(&pair[i], file, &number, node->item[i]);
	return err;
}

static int read_notes(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	size_t *noted = at;
	int err = kl_schema_check_map(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++) {
		const char *text;

		err = kl_schema_read_text(&text, file, field, node->item[i]);
		*noted += err ? 0 : strlen(text);
	}
	return err;
}

static const struct kl_value_type pair_value = { .read = read_pair };
static const struct kl_value_type notes_value = { .read = read_notes };
static const char *const words[] = { "one", "two", NULL };
static const char *const only[] = { "last", NULL };
#define AT(m) offsetof(struct thing, m)
static const struct kl_field fields[] = {
	KL_STRING_FIELD("name", KL_LOOSE, AT(name), &kl_string_ident),
	KL_INT_FIELD("count", KL_LOOSE, AT(count), 2, 9),
	KL_INT_FIELD("strict", 0, AT(strict), 1, 0),
	KL_DECIMAL_FIELD("ppm", 0, AT(ppm), 500000, 2000000),
	KL_DOUBLE_FIELD("ratio", 0, AT(ratio), 0.5, 2),
	KL_DOUBLE_FIELD("any", 0, AT(any), 0, 0),
	KL_VALUE_FIELD("word", 0, 0, &kl_value_known),
	KL_WORD_FIELD("only", 0, AT(only), only),
	KL_VALUES_FIELD("pair", 0, AT(pair), &pair_value, 2, 2),
	KL_VALUES_FIELD("notes", 0, AT(noted), &notes_value, 1, 3),
	KL_FIELDS_END,
};
static const struct kl_schema schema = {
	"a thing", sizeof(struct thing), fields, NULL, NULL, NULL
};

static int read_thing(struct thing *thing, const char *text)
{
	kl_freep(&thing->name);
	*thing = (struct thing){ 0 };
	kl_schema_clear(thing, &schema);
	return kl_schema_parse(thing, &schema, "f", text, strlen(text));
}

static void numbers_are_within_their_range(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *message; } bad[] = {
		{ "count: x", "f:1:8: 'count' must be a whole number from 2 to 9, not 'x'" },
		{ "count: 1", "f:1:8: 'count' is out of its range from 2 to 9: 1" },
		{ "count: [3]", "f:1:8: 'count' must be a single value" },
		{ "count: '3'", "f:1:8: 'count' must be a whole number from 2 to 9, not '3'" },
		{ "count: 99999999999999999999", "f:1:8: 'count' must be a whole number" },
		{ "strict: 007", "f:1:9: 'strict' must be a whole number from 1 on, not '007'" },
		{ "strict: 0", "f:1:9: 'strict' is out of its range from 1 on: 0" },
		{ "ppm: 2.5", "f:1:6: 'ppm' is out of its range from 0.5 to 2: 2.5" },
		{ "ratio: 0x1", "f:1:8: 'ratio' must be a number from 0.5 to 2, not '0x1'" },
		{ "ratio: .inf", "f:1:8: 'ratio' must be a number from 0.5 to 2, not '.inf'" },
		{ "any: 1e999", "f:1:6: 'any' must be a number, not '1e999'" },
		{ "any: inf", "f:1:6: 'any' must be a number, not 'inf'" },
		{ "any: ''", "f:1:6: 'any' is empty" },
	};
	/* clang-format on */
	struct thing thing = { 0 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_error(KL_EINVALID, bad[i].message, read_thing(&thing, bad[i].text));
	assert_ok(read_thing(&thing, "{count: 007, ratio: 1.5, any: -.inf, ppm: 0.5}"));
	assert_int_equal(thing.count, 7);
	assert_true(thing.ratio == 1.5 && thing.any < -1e308);
	assert_int_equal(thing.ppm, 500000);
	assert_ok(read_thing(&thing, "any: .nan"));
	assert_true(thing.any != thing.any);
}

static void null_is_a_text_where_a_field_is_loose(void **state)
{
	struct thing thing = { 0 };

	assert_ok(read_thing(&thing, "name: null"));
	assert_string_equal(thing.name, "null");
	assert_error(KL_EINVALID, "f:1:9: 'strict' must not be null",
		     read_thing(&thing, "strict: null"));
	assert_error(KL_EINVALID, "f:1:8: 'count' must be a whole number from 2 to 9, not 'null'",
		     read_thing(&thing, "count: null"));
	assert_error(KL_EINVALID, "f:1:7: 'name' must be a C identifier of at most 63 bytes",
		     read_thing(&thing, "name: 2x"));
	assert_error(KL_EINVALID, "f:1:7: 'only' must be last, not 'first'",
		     read_thing(&thing, "only: first"));
}

static void value_types_count_their_entries(void **state)
{
	struct thing thing = { 0 };

	assert_ok(read_thing(&thing, "{pair: [1, 2], notes: {a: ab, b: c}}"));
	assert_true(thing.pair[0] == 1 && thing.pair[1] == 2);
	assert_int_equal(thing.noted, 3);
	assert_error(KL_EINVALID, "f:1:7: 'pair' has 3 entries, but must have 2",
		     read_thing(&thing, "pair: [1, 2, 3]"));
	assert_error(KL_EINVALID, "f:1:7: 'pair' must be a list", read_thing(&thing, "pair: 1"));
	assert_error(KL_EINVALID, "f:1:11: 'pair' must be a number, not 'x'",
		     read_thing(&thing, "pair: [1, x]"));
	assert_error(KL_EINVALID, "f:1:8: 'notes' has no key", read_thing(&thing, "notes: {}"));
	assert_error(KL_EINVALID, "f:1:8: 'notes' has 4 keys, more than 3",
		     read_thing(&thing, "notes: {a: 1, b: 1, c: 1, d: 1}"));
	assert_error(KL_EINVALID, "f:1:12: 'notes' must be a single value",
		     read_thing(&thing, "notes: {a: []}"));
	assert_error(KL_EINVALID, "f:1:8: 'notes' must be a map {key: value}",
		     read_thing(&thing, "notes: [a]"));
}

static int peek(int *word, int flags, const char *text)
{
	const struct kl_field field = KL_WORD_FIELD("word", flags, 0, words);
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;

	assert_ok(kl_yaml_parse(&node, "f", text, strlen(text)));
	return kl_schema_peek(word, "a thing", "f", &field, node);
}

static void one_key_is_read_before_its_table(void **state)
{
	struct thing thing = { 0 };
	int word = 7;

	assert_ok(peek(&word, KL_NEEDED, "{other: 1, word: two}"));
	assert_int_equal(word, 1);
	assert_ok(peek(&word, 0, "{other: 1}"));
	assert_int_equal(word, 1);
	assert_error(KL_EINVALID, "f:1:1: 'word' is missing in a thing",
		     peek(&word, KL_NEEDED, "{other: 1}"));
	assert_error(KL_EINVALID, "f:1:8: 'word' must be one of one, two, not 'six'",
		     peek(&word, KL_NEEDED, "{word: six}"));
	assert_error(KL_EINVALID, "f:1:8: 'word' must not be null",
		     peek(&word, KL_NEEDED, "{word: null}"));
	assert_error(KL_EINVALID, "f:1:1: a thing must be a map", peek(&word, KL_NEEDED, "[word]"));
	/* in the table it is only known */
	assert_ok(read_thing(&thing, "word: six"));
	assert_error(KL_EINVALID, "f:1:1: unknown key 'work' in a thing (known: name, count,",
		     read_thing(&thing, "work: two"));
}

static void an_error_stands_inside_its_scalar(void **state)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	const char *text = "{a: n + q, b: 'n + q'}";

	assert_ok(kl_yaml_parse(&node, "f", text, strlen(text)));
	kl_error(KL_EINVALID, "no q");
	assert_error(KL_EINVALID, "f:1:9: no q",
		     kl_yaml_error_inside("f", kl_yaml_get(node, "a"), 4));
	kl_error(KL_EINVALID, "no q");
	assert_error(KL_EINVALID, "f:1:20: no q",
		     kl_yaml_error_inside("f", kl_yaml_get(node, "b"), 4));
}

static void keys_are_checked_before_the_rest(void **state)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	const char *text = "{count: x, cuont: 3}";

	assert_ok(kl_yaml_parse(&node, "f", text, strlen(text)));
	assert_error(KL_EINVALID, "f:1:12: unknown key 'cuont' in a thing (known: name,",
		     kl_schema_check_keys(&schema, "f", node));
}

static void a_number_has_64_bits(void **state)
{
	const struct kl_field any = KL_INT_FIELD("any", 0, 0, INT64_MIN, 0);
	const struct kl_field millionths = KL_DECIMAL_FIELD("any", 0, 0, INT64_MIN, 0);
	struct kl_yaml node = { .kind = KL_YAML_SCALAR, .plain = true };
	int64_t value;

	node.text = (char[]){ "-9223372036854775808" };
	node.len = strlen(node.text);
	assert_ok(kl_schema_read_int(&value, "f", &any, &node));
	assert_true(value == INT64_MIN);
	node.text = (char[]){ "9223372036854775808" };
	assert_error(KL_EINVALID, "'any' must be a whole number, not '9223372036854775808'",
		     kl_schema_read_int(&value, "f", &any, &node));
	node.text = (char[]){ "-0.000001" };
	assert_ok(kl_schema_read_value(&value, "f", &millionths, &node));
	assert_true(value == -1);
	node.text = (char[]){ "-9223372036854.775808" };
	assert_ok(kl_schema_read_value(&value, "f", &millionths, &node));
	assert_true(value == INT64_MIN);
}

static void names_are_told_from_other_texts(void **state)
{
	static const char *const slugs[] = { "a", "0", "conv2d-nhwc", "a.b_c" };
	static const char *const others[] = { "", "A", "-a", "a..b", "a.", "a.lock", "a b", "a/b" };
	char lot[70];

	for (size_t i = 0; i < KL_ARRAY_SIZE(slugs); i++)
		assert_true(kl_name_is_slug(slugs[i]));
	for (size_t i = 0; i < KL_ARRAY_SIZE(others); i++)
		assert_false(kl_name_is_slug(others[i]));
	memset(lot, 'a', sizeof(lot));
	lot[64] = '\0';
	assert_true(kl_name_is_slug(lot));
	assert_false(kl_name_is_ident(lot));
	lot[64] = 'a';
	lot[65] = '\0';
	assert_false(kl_name_is_slug(lot));
	lot[63] = '\0';
	assert_true(kl_name_is_ident(lot) && kl_name_is_ident("_A9"));
	assert_false(kl_name_is_ident("") || kl_name_is_ident("9a") || kl_name_is_ident("a-b"));
}

/* A structure with a field of each kind that can be made absent. */
struct filled {
	char *name;
	struct kl_strvec set;
	int64_t count, ppm;
	double ratio;
	bool flag;
	int word;
	struct {
		struct inner {
			char *name;
			int64_t count;
		} * v;
		size_t n, alloc;
	} rows;
	struct kl_texts texts;
	int64_t grouped;
	struct part {
		bool is_there;
		int64_t count;
		char *name;
	} part;
};

#define OF(type, m) offsetof(struct type, m)
static const struct kl_field inner_fields[] = {
	KL_STRING_FIELD("name", KL_KEY | KL_NEEDED, OF(inner, name), &kl_string_slug),
	KL_INT_FIELD("count", 0, OF(inner, count), 0, 9),
	KL_FIELDS_END,
};
static const struct kl_schema inner_schema = { .what = "a row",
					       .size = sizeof(struct inner),
					       .field = inner_fields };
static const struct kl_field group_fields[] = {
	KL_INT_FIELD("grouped", 0, OF(filled, grouped), 1, 9),
	KL_FIELDS_END,
};
static const struct kl_schema group_schema = { .what = "a group", .field = group_fields };
static const struct kl_field part_fields[] = {
	KL_INT_FIELD("count", 0, OF(part, count), 3, 9),
	KL_STRING_FIELD("name", 0, OF(part, name), &kl_string_slug),
	KL_FIELDS_END,
};
static const struct kl_schema part_schema = { .what = "a part",
					      .size = sizeof(struct part),
					      .field = part_fields };
static const struct kl_field filled_fields[] = {
	KL_STRING_FIELD("name", 0, OF(filled, name), &kl_string_slug),
	KL_SET_FIELD("set", 0, OF(filled, set), &kl_string_slug, 1, 9),
	KL_INT_FIELD("count", 0, OF(filled, count), 2, 9),
	KL_DECIMAL_FIELD("ppm", 0, OF(filled, ppm), 500000, 2000000),
	KL_DOUBLE_FIELD("ratio", 0, OF(filled, ratio), 0, 0),
	KL_BOOL_FIELD("flag", 0, OF(filled, flag)),
	KL_WORD_FIELD("word", 0, OF(filled, word), words),
	KL_LIST_FIELD("rows", 0, OF(filled, rows), &inner_schema, 1, 9),
	KL_VALUES_FIELD("texts", 0, OF(filled, texts), &kl_texts_value, 1, 9),
	KL_GROUP_FIELD("group", 0, 0, &group_schema),
	KL_PART_FIELD("part", 0, OF(filled, part), &part_schema),
	KL_FIELDS_END,
};
static const struct kl_schema filled_schema = { .what = "a filled thing",
						.size = sizeof(struct filled),
						.field = filled_fields };

/* A cleared field is as in a structure that was cleared and never read. */
static void a_field_can_be_made_absent(void **state)
{
	static const char text[] = "{name: a, set: [b], count: 3, ppm: 1, ratio: 2.5, flag: true, "
				   "word: two, rows: [{name: c, count: 1}], texts: {d: e}, "
				   "group: {grouped: 4}, part: {count: 5, name: f}}";
	struct filled filled = { 0 }, absent = { 0 };

	kl_schema_clear(&filled, &filled_schema);
	kl_schema_clear(&absent, &filled_schema);
	assert_ok(kl_schema_parse(&filled, &filled_schema, "f", text, strlen(text)));
	assert_true(filled.part.is_there && filled.rows.n == 1 && filled.grouped == 4);
	for (const struct kl_field *field = filled_fields; field->key; field++)
		kl_schema_clear_field(&filled, field);
	assert_memory_equal(&filled, &absent, sizeof(filled));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_field_can_be_made_absent),
		cmocka_unit_test(numbers_are_within_their_range),
		cmocka_unit_test(null_is_a_text_where_a_field_is_loose),
		cmocka_unit_test(value_types_count_their_entries),
		cmocka_unit_test(one_key_is_read_before_its_table),
		cmocka_unit_test(an_error_stands_inside_its_scalar),
		cmocka_unit_test(keys_are_checked_before_the_rest),
		cmocka_unit_test(a_number_has_64_bits),
		cmocka_unit_test(names_are_told_from_other_texts),
	};

	return cmocka_run_group_tests_name("text schema", tests, NULL, NULL);
}
