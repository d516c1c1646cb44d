/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <glob.h>

#include "base/fs.h"
#include "event/event.h"

static json_t *json(const char *text)
{
	json_t *value = NULL;

	assert_ok(kl_json_parse(&value, text, strlen(text)));
	return value;
}

/* --- the events of the repository -------------------------------------------------- */

typedef void golden_fn(const char *line, size_t len);

static size_t each_line(const char *path, golden_fn *fn)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	size_t n = 0;

	assert_ok(kl_fs_read(&text, path, 64u << 20));
	for (const char *string = text.ptr; *string; n++) {
		size_t len = strcspn(string, "\n");

		fn(string, len);
		string += len + (string[len] == '\n');
	}
	return n;
}

static size_t each_golden(const char *pattern, golden_fn *fn)
{
	KL_AUTO(kl_freep) char *whole = kl_asprintf("%s/%s", KL_SOURCE, pattern);
	glob_t found;
	size_t n = 0;

	assert_int_equal(glob(whole, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		n += each_line(found.gl_pathv[i], fn);
	globfree(&found);
	return n;
}

static void assert_line(const struct kl_event *event, const char *line, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_event_write(&text, event);
	if (text.len != len || memcmp(text.ptr, line, len))
		fail_msg("read:\n%.*s\nwritten:\n%s", (int)len, line, text.ptr);
}

static void is_written_as_it_was_read(const char *line, size_t len)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	KL_AUTO(kl_freep) char *id = NULL;

	assert_ok(kl_event_parse(&event, line, len));
	assert_line(event, line, len);
	id = kl_strdup(event->id);
	kl_event_seal(event);
	assert_string_equal(event->id, id);
}

static void forget(struct kl_comparisons *vs)
{
	for (size_t i = 0; i < vs->n; i++)
		vs->v[i].doc = NULL;
}

/* The members alone, without the document, say the same: none is missing, and none is lost. */
static void is_written_from_its_members(const char *line, size_t len)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	KL_AUTO(kl_freep) char *id = NULL;

	assert_ok(kl_event_parse(&event, line, len));
	doc = kl_steal(&event->doc);
	forget(&event->profile.vs);
	assert_line(event, line, len);
	id = kl_strdup(event->id);
	event->id = "";
	kl_event_seal(event);
	assert_string_equal(event->id, id);
}

static void the_events_of_the_repository_stay_the_same(void **state)
{
	size_t cited = each_golden("skills/evidence/*/*.json", is_written_as_it_was_read);
	size_t lineages = each_golden("skills/lineages/*/gate.jsonl", is_written_as_it_was_read);
	size_t others = each_golden("skills/held-out/*/gate.jsonl", is_written_as_it_was_read);
	size_t data = each_golden("tests/data/*/evidence/*/*.json", is_written_as_it_was_read);

	assert_true(cited >= 200 && lineages >= 100 && others >= 20 && data >= 20);
}

static void their_members_say_all(void **state)
{
	assert_true(each_golden("skills/evidence/*/*.json", is_written_from_its_members) >= 200);
	assert_true(each_golden("skills/lineages/*/gate.jsonl", is_written_from_its_members) >=
		    100);
}

/* --- members ------------------------------------------------------------------------ */

static const char sample[] =
	"{\"audit\":{\"tiled\":{\"value\":\"yes\"}},\"by\":\"A <a@x>\",\"class\":\"wrong-edge\",\"code\":\"abc\","
	"\"commit\":\"c0\",\"contract\":\"k\",\"correct\":{\"cases\":3},\"counters\":{\"by\":\"ncu\"},"
	"\"features\":[\"fma\",\"vec.256\"],\"features_version\":2,\"id\":\"i\",\"inverse\":{\"pair\":\"p\",\"state\":\"s\"},"
	"\"job\":\"j\",\"kind\":\"check\",\"message\":\"m\",\"notes\":[\"n\"],\"platform\":{\"compiler\":\"gcc\","
	"\"device\":\"d\",\"driver\":\"r\",\"flags\":[\"-O2\"],\"id\":\"cpu\"},\"policy\":2,\"profile\":"
	"{\"aa_ppm\":7,\"ns\":8,\"points\":[{\"aa\":{\"hi_ppm\":1000009,\"lo_ppm\":999999},\"id\":\"p0\",\"ns\":9,"
	"\"vs\":[{\"hi_ppm\":3,\"lo_ppm\":1,\"ratio_ppm\":2,\"what\":\"parent\"}]}],\"vs\":[{\"hi_ppm\":6,"
	"\"lo_ppm\":4,\"ratio_ppm\":5,\"surface\":\"t\",\"verdict\":\"slow\",\"what\":\"parent\"},{\"hi_ppm\":12,"
	"\"lo_ppm\":10,\"ratio_ppm\":11,\"verdict\":\"same\",\"what\":\"openblas\"}]},\"session\":{\"rounds\":5,\"states\":9},\"sig\":\"g\",\"signer\":\"h\","
	"\"static\":[{\"kernel\":\"k\"}],\"surface\":\"u\",\"tier\":\"device-only\",\"time\":\"t0\",\"traits\":"
	"{\"tiled\":\"yes\"},\"tree\":\"t1\",\"v\":1,\"verdict\":\"fail\",\"workload\":\"w\"}";

static void members_are_read(void **state)
{
	KL_AUTO(json_decrefp) json_t *doc = json(sample);
	KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_from_json(doc);
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);

	assert_int_equal(event->kind, KL_KIND_CHECK);
	assert_int_equal(event->verdict, KL_VERDICT_FAIL);
	assert_int_equal(event->failure, KL_FAILURE_WRONG_EDGE);
	assert_int_equal(event->tier, KL_TIER_DEVICE_ONLY);
	assert_int_equal(event->policy, 2);
	assert_string_equal(event->place.device, "d");
	assert_string_equal(event->place.flags.v[0], "-O2");
	assert_true(event->compiled);
	assert_int_equal(event->facts.features.n, 2);
	assert_int_equal(event->facts.features_version, 2);
	assert_string_equal(event->facts.code_digest, "abc");
	assert_string_equal(kl_map_get(&event->facts.traits, "tiled"), "yes");
	assert_true(event->inverse.there);
	assert_string_equal(event->inverse.pair, "p");
	assert_true(event->session.there);
	assert_int_equal(event->session.rounds, 5);
	assert_int_equal(event->session.states, 9);
	assert_int_equal(event->profile.ns, 8);
	assert_int_equal(parent->ratio.ppm, 5);
	assert_int_equal(parent->ratio.lo, 4);
	assert_int_equal(parent->ratio.hi, 6);
	assert_int_equal(parent->speed, KL_SPEED_SLOW);
	assert_string_equal(parent->surface, "t");
	assert_string_equal(kl_comparisons_baseline(&event->profile.vs)->what, "openblas");
	assert_int_equal(event->profile.npoint, 1);
	assert_int_equal(event->profile.point[0].aa_ppm, 9);
	assert_int_equal(kl_comparisons_parent(&event->profile.point[0].vs)->ratio.ppm, 2);
}

static void assert_same(json_t *doc)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_from_json(doc);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_json_canonical(&text, doc);
	assert_line(event, text.ptr, text.len);
}

/* `doc` with each member of `at`, which is in it, absent or something that it should not be. */
static void spoil_members(json_t *doc, json_t *at)
{
	static const char *const odd[] = {
		"null", "7",  "1.5",          "true", "\"word\"",
		"\"\"", "[]", "[1,\"a\",{}]", "{}",   "{\"new\":[1]}",
	};
	KL_AUTO(json_decrefp) json_t *keys = json_array();
	const char *name;
	json_t *value;

	json_object_foreach(at, name, value)
		json_array_append_new(keys, json_string(name));
	for (size_t i = 0; i < json_array_size(keys); i++) {
		const char *key = json_string_value(json_array_get(keys, i));
		KL_AUTO(json_decrefp) json_t *good = json_incref(json_object_get(at, key));

		json_object_del(at, key);
		assert_same(doc);
		for (size_t k = 0; k < KL_ARRAY_SIZE(odd); k++) {
			json_object_set_new(at, key, json_loads(odd[k], JSON_DECODE_ANY, NULL));
			assert_same(doc);
		}
		json_object_set(at, key, good);
	}
	json_object_set_new(at, "unknown", json_pack("[i]", 1));
	assert_same(doc);
	json_object_del(at, "unknown");
}

static void what_is_not_known_is_written_as_it_was_read(void **state)
{
	KL_AUTO(json_decrefp) json_t *doc = json(sample);
	json_t *profile = json_object_get(doc, "profile");
	json_t *point = json_array_get(json_object_get(profile, "points"), 0);

	spoil_members(doc, doc);
	spoil_members(doc, json_object_get(doc, "platform"));
	spoil_members(doc, json_object_get(doc, "traits"));
	spoil_members(doc, json_object_get(doc, "inverse"));
	spoil_members(doc, profile);
	spoil_members(doc, json_array_get(json_object_get(profile, "vs"), 0));
	spoil_members(doc, json_array_get(json_object_get(profile, "vs"), 1));
	spoil_members(doc, point);
	spoil_members(doc, json_object_get(point, "aa"));
	spoil_members(doc, json_array_get(json_object_get(point, "vs"), 0));
}

static struct kl_event *made(void)
{
	struct kl_event *event = kl_event_new();

	event->kind = KL_KIND_GATE;
	event->time = "t";
	event->workload = "w";
	event->surface = kl_event_keep(event, "s");
	event->contract = "c";
	event->policy = 2;
	event->tier = KL_TIER_HOST_SANDBOXED;
	event->place.id = "cpu";
	return event;
}

static void assert_written(const struct kl_event *event, const char *want)
{
	assert_line(event, want, strlen(want));
}

static void an_event_is_made_of_its_members(void **state)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = made();
	KL_AUTO(json_decrefp) json_t *draft = kl_event_draft(event), *want = NULL;

	assert_written(
		event,
		"{\"by\":null,\"contract\":\"c\",\"kind\":\"gate\",\"platform\":{\"device\":\"\",\"flags\":[],"
		"\"id\":\"cpu\"},\"policy\":2,\"surface\":\"s\",\"tier\":\"host-sandboxed\",\"time\":\"t\","
		"\"v\":1,\"workload\":\"w\"}");
	want = json(
		"{\"by\":null,\"contract\":\"c\",\"kind\":\"gate\",\"platform\":{\"flags\":[],\"id\":\"cpu\"},"
		"\"policy\":2,\"surface\":\"s\",\"tier\":\"host-sandboxed\",\"v\":1,\"workload\":\"w\"}");
	assert_true(json_equal(draft, want));
	event->verdict = KL_VERDICT_PASS;
	event->compiled = true;
	assert_written(
		event,
		"{\"by\":null,\"class\":null,\"code\":\"\",\"contract\":\"c\",\"features\":[],\"kind\":\"gate\","
		"\"platform\":{\"device\":\"\",\"flags\":[],\"id\":\"cpu\"},\"policy\":2,\"surface\":\"s\","
		"\"tier\":\"host-sandboxed\",\"time\":\"t\",\"v\":1,\"verdict\":\"pass\",\"workload\":\"w\"}");
}

/* When a draft comes back with a result, missing members are added and its own members stay. */
static void a_draft_becomes_an_event(void **state)
{
	KL_AUTO(kl_event_freep) struct kl_event *first = made(), *event = NULL;
	KL_AUTO(json_decrefp) json_t *draft = kl_event_draft(first);

	json_object_set_new(draft, "later", json_true());
	event = kl_event_from_json(draft);
	event->time = "t2";
	event->place.device = "gpu";
	event->verdict = KL_VERDICT_FAIL;
	kl_event_set_class(event, "melted");
	assert_int_equal(event->failure, KL_FAILURE_OTHER);
	assert_written(
		event,
		"{\"by\":null,\"class\":\"melted\",\"contract\":\"c\",\"kind\":\"gate\",\"later\":true,"
		"\"platform\":{\"device\":\"gpu\",\"flags\":[],\"id\":\"cpu\"},\"policy\":2,\"surface\":\"s\","
		"\"tier\":\"host-sandboxed\",\"time\":\"t2\",\"v\":1,\"verdict\":\"fail\",\"workload\":\"w\"}");
	event->verdict = KL_VERDICT_PASS;
	kl_event_set_class(event, NULL);
	assert_written(
		event,
		"{\"by\":null,\"class\":null,\"contract\":\"c\",\"kind\":\"gate\",\"later\":true,"
		"\"platform\":{\"device\":\"gpu\",\"flags\":[],\"id\":\"cpu\"},\"policy\":2,\"surface\":\"s\","
		"\"tier\":\"host-sandboxed\",\"time\":\"t2\",\"v\":1,\"verdict\":\"pass\",\"workload\":\"w\"}");
}

static void the_id_is_of_what_it_covers(void **state)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = made(), *back = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *id = NULL;

	kl_event_seal(event);
	id = kl_strdup(event->id);
	event->commit = "abc";
	event->tree = "def";
	event->sig = "ghi";
	kl_event_seal(event);
	assert_string_equal(event->id, id);
	kl_event_write(&line, event);
	assert_ok(kl_event_parse(&back, line.ptr, line.len));
	assert_string_equal(back->commit, "abc");
	kl_event_free(kl_steal(&back));
	event->workload = "x";
	kl_buf_clear(&line);
	kl_event_write(&line, event);
	assert_error(KL_EINVALID, "does not match its id",
		     kl_event_parse(&back, line.ptr, line.len));
	kl_event_seal(event);
	assert_string_not_equal(event->id, id);
}

static void what_a_reader_added_goes_again(void **state)
{
	KL_AUTO(json_decrefp) json_t *doc = json(sample);
	KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_from_json(doc);
	KL_AUTO(json_decrefp) json_t *out = NULL;

	event->commit = event->tree = event->sig = "";
	kl_map_put(&event->facts.traits, "tiled", kl_strdup("no"));
	json_decref(kl_steal(&event->audit));
	out = kl_event_json(event);
	assert_null(json_object_get(out, "commit"));
	assert_null(json_object_get(out, "sig"));
	assert_null(json_object_get(out, "audit"));
	assert_string_equal(kl_json_str_or(json_object_get(out, "traits"), "tiled", ""), "no");
	/* the document that it was read from is the reader's */
	assert_string_equal(kl_json_str_or(doc, "commit", ""), "c0");
}

static void hostile_lines(void **state)
{
	static const char *const bad[] = { "{}",
					   "[]",
					   "1",
					   "{\"v\":2,\"kind\":\"gate\",\"id\":\"\"}",
					   "{\"v\":1,\"kind\":3,\"id\":\"\"}",
					   "{\"v\":\"1\"}",
					   "\xff",
					   NULL };
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

	for (const char *const *at = bad; *at; at++)
		if (kl_event_parse(&event, *at, strlen(*at)) != KL_EINVALID)
			fail_msg("accepted %s", *at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_events_of_the_repository_stay_the_same),
		cmocka_unit_test(their_members_say_all),
		cmocka_unit_test(members_are_read),
		cmocka_unit_test(what_is_not_known_is_written_as_it_was_read),
		cmocka_unit_test(an_event_is_made_of_its_members),
		cmocka_unit_test(a_draft_becomes_an_event),
		cmocka_unit_test(the_id_is_of_what_it_covers),
		cmocka_unit_test(what_a_reader_added_goes_again),
		cmocka_unit_test(hostile_lines),
	};

	return cmocka_run_group_tests_name("event/event_json", tests, NULL, NULL);
}
