/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "event/fold.h"

/* Lines of a note; a first byte '!' seals each that is an object, so that the id is no wall. */
static void seal_line(struct kl_buf *out, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;

	if (kl_json_parse(&doc, line, len) == 0 && json_is_object(doc)) {
		KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_from_json(doc);

		kl_event_seal(event);
		kl_event_write(out, event);
	} else {
		kl_buf_add(out, line, len);
	}
	kl_buf_addch(out, '\n');
}

static void check_line(const char *line, size_t len)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL, *again = NULL;
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf written = KL_BUF_INIT, plain = KL_BUF_INIT;

	if (kl_event_parse(&event, line, len) < 0)
		return;
	kl_event_write(&written, event);
	MUST(!memchr(written.ptr, '\n', written.len));
	/* whatever stands in it, it is written as it was read */
	MUST(kl_json_parse(&doc, line, len) == 0);
	kl_json_canonical(&plain, doc);
	MUST(!strcmp(written.ptr, plain.ptr));
	MUST(kl_event_parse(&again, written.ptr, written.len) == 0);
	kl_event_free(kl_steal(&again));
	/* where it stands is no part of it */
	event->commit = "elsewhere";
	event->sig = "x";
	kl_buf_clear(&written);
	kl_event_write(&written, event);
	MUST(kl_event_parse(&again, written.ptr, written.len) == 0);
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

static bool is_same_list(const struct kl_event_list *left, const struct kl_event_list *right)
{
	for (size_t i = 0; i < left->n && left->n == right->n; i++)
		if (strcmp(left->v[i]->id, right->v[i]->id) != 0)
			return false;
	return left->n == right->n;
}

static void check_fold(const char *text, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf back = KL_BUF_INIT, twice = KL_BUF_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold left = { 0 }, right = { 0 }, fold = { 0 };

	kl_fold_lines(&left, text, len, NULL, NULL);
	MUST(left.skipped <= left.lines && left.verdicts.n <= left.lines - left.skipped);
	reverse(&back, text, len);
	kl_fold_lines(&right, back.ptr, back.len, NULL, NULL);
	MUST(right.lines == left.lines && right.skipped == left.skipped);
	MUST(is_same_list(&right.verdicts, &left.verdicts) && right.profiles.n == left.profiles.n);
	/* a merge of notes may double every line */
	kl_buf_add(&twice, text, len);
	kl_buf_add(&twice, text, len);
	kl_fold_lines(&fold, twice.ptr, twice.len, NULL, NULL);
	MUST(is_same_list(&fold.verdicts, &left.verdicts));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *string = (const char *)data;
	bool seal = size && string[0] == '!';

	for (size_t at = seal; at < size;) {
		const char *end = memchr(string + at, '\n', size - at);
		size_t n = end ? (size_t)(end - (string + at)) : size - at;

		check_line(string + at, n);
		if (seal) {
			seal_line(&text, string + at, n);
		} else {
			kl_buf_add(&text, string + at, n);
			kl_buf_addch(&text, '\n');
		}
		at += n + 1;
	}
	check_fold(text.ptr, text.len);
	kl_error_clear();
	return 0;
}
