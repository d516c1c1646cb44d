/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "event/event.h"

/* Lines of a note; a first byte '!' seals each that is an object, so that the id is no wall. */
static void seal_line(struct kl_buf *out, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *e = NULL;

	if (kl_json_parse(&e, line, len) == 0 && json_is_object(e)) {
		kl_event_doc_seal(e);
		kl_json_canonical(out, e);
	} else {
		kl_buf_add(out, line, len);
	}
	kl_buf_addch(out, '\n');
}

static void check_line(const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *e = NULL, *again = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	if (kl_event_doc_parse(&e, line, len) < 0)
		return;
	kl_json_canonical(&b, e);
	MUST(!memchr(b.ptr, '\n', b.len));
	MUST(kl_event_doc_parse(&again, b.ptr, b.len) == 0);
	MUST(json_equal(e, again));
	/* where it stands is no part of it */
	kl_json_set_str(e, "commit", "elsewhere");
	kl_json_set_str(e, "sig", "x");
	kl_buf_clear(&b);
	kl_json_canonical(&b, e);
	json_decref(again);
	again = NULL;
	MUST(kl_event_doc_parse(&again, b.ptr, b.len) == 0);
}

/* Later lines first. */
static void reverse(struct kl_buf *out, const char *text, size_t len)
{
	while (len) {
		const char *cut = memrchr(text, '\n', len - 1);
		size_t from = cut ? (size_t)(cut - text) + 1 : 0;

		kl_buf_add(out, text + from, len - from);
		len = from;
	}
}

static void check_fold(const char *text, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf back = KL_BUF_INIT, twice = KL_BUF_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold a = { 0 }, b = { 0 }, c = { 0 };

	kl_event_fold(&a, text, len, NULL, NULL);
	MUST(a.skipped <= a.lines && json_array_size(a.verdicts) <= a.lines - a.skipped);
	reverse(&back, text, len);
	kl_event_fold(&b, back.ptr, back.len, NULL, NULL);
	MUST(b.lines == a.lines && b.skipped == a.skipped);
	MUST(json_array_size(b.verdicts) == json_array_size(a.verdicts));
	MUST(json_object_size(b.profiles) == json_object_size(a.profiles));
	/* a merge of notes may double every line */
	kl_buf_add(&twice, text, len);
	kl_buf_add(&twice, text, len);
	kl_event_fold(&c, twice.ptr, twice.len, NULL, NULL);
	MUST(json_equal(c.verdicts, a.verdicts));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *s = (const char *)data;
	bool seal = size && s[0] == '!';

	for (size_t at = seal; at < size;) {
		const char *end = memchr(s + at, '\n', size - at);
		size_t n = end ? (size_t)(end - (s + at)) : size - at;

		check_line(s + at, n);
		if (seal) {
			seal_line(&text, s + at, n);
		} else {
			kl_buf_add(&text, s + at, n);
			kl_buf_addch(&text, '\n');
		}
		at += n + 1;
	}
	check_fold(text.ptr, text.len);
	kl_error_clear();
	return 0;
}
