/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "model/provider/sse.h"

static int note(const char *type, const char *data, size_t len, void *payload)
{
	assert_int_equal(strlen(data), len);
	kl_buf_addf(payload, "<%s|%s>", type, data);
	return strcmp(data, "stop") ? 0 : kl_error(KL_ENO, "stopped");
}

/* The same events, whether the bytes come at once, one by one, or in two parts. */
static void expect(const char *want, bool pending, const char *stream)
{
	size_t n = strlen(stream);

	for (size_t cut = 0; cut <= n + 1; cut++) {
		KL_AUTO(kl_buf_release) struct kl_buf got = KL_BUF_INIT;
		struct kl_sse sse = KL_SSE_INIT(note, &got);

		if (cut > n) {
			for (size_t i = 0; i < n; i++)
				assert_ok(kl_sse_feed(&sse, stream + i, 1));
		} else {
			assert_ok(kl_sse_feed(&sse, stream, cut));
			assert_ok(kl_sse_feed(&sse, stream + cut, n - cut));
		}
		assert_string_equal(got.ptr, want);
		assert_int_equal(kl_sse_pending(&sse), pending);
		kl_sse_release(&sse);
	}
}

static void events_are_what_the_standard_says(void **state)
{
	expect("<a|1><|2>", false, "event: a\ndata: 1\n\ndata: 2\n\n");
	expect("<a|1><|2>", false, "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n");
	expect("<a|1><|2>", false, "event: a\rdata: 1\r\rdata: 2\r\r");
	expect("<|one\ntwo\n>", false, "data: one\ndata: two\ndata\n\n");
	expect("<|1>", false,
	       "\xef\xbb\xbf"
	       "data: 1\n\n");
	expect("<| 1>", false, "data:  1\n\n");
	expect("<|1>", false, "data:1\n\n");
	expect("<|>", false, "data:\n\n");
	expect("", false, ": ping\n\n\n\n");
	expect("<b|2>", false, "event: a\n\nid: 7\nretry: 5\nnonsense\n: c\nevent: b\ndata: 2\n\n");
	expect("<|{\"a\":\"b: c\"}>", false, "data: {\"a\":\"b: c\"}\n\n");
}

static void what_is_cut_off_is_no_event(void **state)
{
	expect("<|1>", true, "data: 1\n\ndata: 2");
	expect("<|1>", true, "data: 1\n\ndata: 2\n");
	expect("<|1>", true, "data: 1\n\ndat");
	expect("", false, "");
}

static void what_the_reader_returns_ends_it(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf got = KL_BUF_INIT;
	KL_AUTO(kl_sse_release) struct kl_sse sse = KL_SSE_INIT(note, &got);
	const char *stream = "data: 1\n\ndata: stop\n\ndata: 3\n\n";

	assert_error(KL_ENO, "stopped", kl_sse_feed(&sse, stream, strlen(stream)));
	assert_string_equal(got.ptr, "<|1><|stop>");
}

static void lines_and_events_have_a_ceiling(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf got = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *part = kl_malloc(1 << 20);
	struct kl_sse sse = KL_SSE_INIT(note, &got);
	int err = 0, fed = 0;

	memset(part, 'x', 1 << 20);
	for (; !err && fed < 100; fed++)
		err = kl_sse_feed(&sse, part, 1 << 20);
	assert_error(KL_EINVALID, "the line is longer than 16 MiB", err);
	assert_int_equal(fed, 17);
	kl_sse_release(&sse);

	memcpy(part, "data: ", 6);
	part[(1 << 20) - 1] = '\n';
	for (fed = 0, err = 0; !err && fed < 100; fed++)
		err = kl_sse_feed(&sse, part, 1 << 20);
	assert_error(KL_EINVALID, "the event is larger than 16 MiB", err);
	assert_int_equal(fed, 17);
	kl_sse_release(&sse);
	assert_string_equal(got.ptr, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_what_the_standard_says),
		cmocka_unit_test(what_is_cut_off_is_no_event),
		cmocka_unit_test(what_the_reader_returns_ends_it),
		cmocka_unit_test(lines_and_events_have_a_ceiling),
	};

	return cmocka_run_group_tests_name("chat/sse", tests, NULL, NULL);
}
