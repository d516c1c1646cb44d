/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "event/fold.h"

/* Lines of a note; a first byte '!' seals each that is an object, so that the id is no wall. */
static void seal_line(struct kl_buf *out, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;

	if (kl_json_parse(&doc, line, len) == 0 && json_is_object(doc)) {
		KL_AUTO(kl_event_freep) struct kl_event *e = kl_event_from_json(doc);

		kl_event_seal(e);
		kl_event_write(out, e);
	} else {
		kl_buf_add(out, line, len);
	}
	kl_buf_addch(out, '\n');
}

static void check_line(const char *line, size_t len)
{
	KL_AUTO(kl_event_freep) struct kl_event *e = NULL, *again = NULL;
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf written = KL_BUF_INIT, plain = KL_BUF_INIT;

	if (kl_event_parse(&e, line, len) < 0)
		return;
	kl_event_write(&written, e);
	MUST(!memchr(written.ptr, '\n', written.len));
	/* whatever stands in it, it is written as it was read */
	MUST(kl_json_parse(&doc, line, len) == 0);
	kl_json_canonical(&plain, doc);
	MUST(!strcmp(written.ptr, plain.ptr));
	MUST(kl_event_parse(&again, written.ptr, written.len) == 0);
	kl_event_free(kl_steal(&again));
	/* where it stands is no part of it */
	e->commit = "elsewhere";
	e->sig = "x";
	kl_buf_clear(&written);
	kl_event_write(&written, e);
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

static bool is_same_list(const struct kl_event_list *a, const struct kl_event_list *b)
{
	for (size_t i = 0; i < a->n && a->n == b->n; i++)
		if (strcmp(a->v[i]->id, b->v[i]->id) != 0)
			return false;
	return a->n == b->n;
}

static void check_fold(const char *text, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf back = KL_BUF_INIT, twice = KL_BUF_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold a = { 0 }, b = { 0 }, c = { 0 };

	kl_fold_lines(&a, text, len, NULL, NULL);
	MUST(a.skipped <= a.lines && a.verdicts.n <= a.lines - a.skipped);
	reverse(&back, text, len);
	kl_fold_lines(&b, back.ptr, back.len, NULL, NULL);
	MUST(b.lines == a.lines && b.skipped == a.skipped);
	MUST(is_same_list(&b.verdicts, &a.verdicts) && b.profiles.n == a.profiles.n);
	/* a merge of notes may double every line */
	kl_buf_add(&twice, text, len);
	kl_buf_add(&twice, text, len);
	kl_fold_lines(&c, twice.ptr, twice.len, NULL, NULL);
	MUST(is_same_list(&c.verdicts, &a.verdicts));
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
