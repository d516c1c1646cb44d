/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "event_lib.h"

static struct kl_event *read(const char *text)
{
	json_t *doc = NULL;

	assert_ok(kl_json_parse(&doc, text, strlen(text)));
	return event_of(doc, false);
}

/* Measured was K_{i-1} against K_i: its time is half, so K_i takes twice as long. */
static void a_forward_event_is_its_pair_turned_round(void **state)
{
	KL_AUTO(kl_event_freep) struct kl_event *own = read(
		"{\"v\":1,\"kind\":\"gate\",\"id\":\"aa\",\"commit\":\"c\",\"sig\":\"x\",\"surface\":\"Ki\","
		"\"more\":1,\"profile\":{\"ns\":10,\"cpu\":2,\"vs\":[{\"what\":\"parent\",\"ratio_ppm\":9},"
		"{\"what\":\"blas\",\"ratio_ppm\":700000,\"mhz\":3}]}}");
	KL_AUTO(kl_event_freep) struct kl_event *pair = read(
		"{\"v\":1,\"kind\":\"gate\",\"id\":\"bb\",\"surface\":\"Kj\",\"profile\":{\"ns\":20,\"vs\":[{"
		"\"what\":\"parent\",\"surface\":\"Ki\",\"ratio_ppm\":500000,\"lo_ppm\":400000,"
		"\"hi_ppm\":625000,\"verdict\":\"slow\"}]}}");
	KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_inverse(own, pair, 0);
	KL_AUTO(kl_freep) char *line = line_of(event);
	KL_AUTO(kl_freep) char *want = kl_asprintf(
		"{\"id\":\"%s\",\"inverse\":{\"pair\":\"bb\",\"state\":\"aa\"},\"kind\":\"gate\",\"more\":1,"
		"\"profile\":{\"cpu\":2,\"ns\":10,\"vs\":[{\"hi_ppm\":2500000,\"lo_ppm\":1600000,"
		"\"ratio_ppm\":2000000,\"surface\":\"Kj\",\"verdict\":\"fast\",\"what\":\"parent\"},"
		"{\"mhz\":3,\"ratio_ppm\":700000,\"what\":\"blas\"}]},\"surface\":\"Ki\","
		"\"time\":\"1970-01-01T00:00:00Z\",\"v\":1}",
		event->id);

	assert_int_equal(strlen(event->id), 64);
	assert_string_equal(line, want);
	assert_string_equal(own->commit, "c");
}

static void a_state_that_was_not_timed_has_no_comparison(void **state)
{
	KL_AUTO(kl_event_freep) struct kl_event *own = read("{\"kind\":\"gate\",\"id\":\"aa\"}");
	KL_AUTO(kl_event_freep) struct kl_event *pair = read("{\"kind\":\"gate\",\"id\":\"bb\"}");
	KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_inverse(own, pair, 0);
	KL_AUTO(json_decrefp) json_t *doc = kl_event_json(event);

	assert_false(event->profile.there);
	assert_null(json_object_get(doc, "profile"));
}

static void lines_are_events_by_their_ids(void **state)
{
	KL_AUTO(kl_map_release) struct kl_map events = KL_MAP_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_event *found;
	char id[KL_DIGEST_HEX];

	for (int i = 0; i < 3; i++) {
		KL_AUTO(kl_event_freep) struct kl_event *event = event_of(
			json_pack("{s:i,s:s,s:i}", "v", 1, "kind", "gate", "policy", i), true);

		kl_event_write(&text, event);
		kl_buf_adds(&text, "\n\n");
		snprintf(id, sizeof(id), "%s", event->id);
	}
	assert_ok(kl_event_load(&events, "name", text.ptr, text.len));
	assert_int_equal(events.n, 3);
	found = kl_map_get(&events, id);
	assert_non_null(found);
	assert_int_equal(found->policy, 2);
	kl_buf_adds(&text, "{}\n");
	assert_error(KL_EINVALID, "name:7", kl_event_load(&events, "name", text.ptr, text.len));
}

static void questions(void **state)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_new(), *other = kl_event_new();
	struct kl_comparison parent = { .what = "parent", .surface = "p" };

	event->surface = "s";
	event->contract = "c";
	assert_true(kl_event_is_for(event, "s", "c") && kl_event_is_for(event, NULL, "c") &&
		    kl_event_is_for(event, "s", NULL));
	assert_false(kl_event_is_for(event, "s", "d") || kl_event_is_for(event, "t", NULL));
	assert_true(kl_event_is_newer(event, NULL));
	assert_false(kl_event_is_newer(event, other));
	event->id = "1";
	assert_true(kl_event_is_newer(event, other));
	other->time = "2";
	assert_false(kl_event_is_newer(event, other));
	assert_false(kl_event_is_against(event, ""));
	event->profile.vs = (struct kl_comparisons){ &parent, 1 };
	assert_true(kl_event_is_against(event, "p"));
	assert_false(kl_event_is_against(event, "q"));
	event->profile.vs = (struct kl_comparisons){ 0 };
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_forward_event_is_its_pair_turned_round),
		cmocka_unit_test(a_state_that_was_not_timed_has_no_comparison),
		cmocka_unit_test(lines_are_events_by_their_ids),
		cmocka_unit_test(questions),
	};

	return cmocka_run_group_tests_name("event/event", tests, NULL, NULL);
}
