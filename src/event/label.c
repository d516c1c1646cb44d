/* SPDX-License-Identifier: Apache-2.0 */
#include "event/label.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"
#include "event/note_writer.h"
#include "event/own.h"
#include "repo/notes.h"

#define MAX_REASON 1000

static int check_reason(const char *reason)
{
	size_t n = reason ? strlen(reason) : 0;

	if (n <= MAX_REASON && (!n || kl_utf8_span(reason, n) == n))
		return 0;
	return kl_error(KL_EINVALID, "the reason must be UTF-8 text of at most %d bytes",
			MAX_REASON);
}

static struct kl_event *make_label(const struct kl_label_opts *opts, const char *by,
				   const char *before)
{
	struct kl_event *event = kl_event_new();
	char now[21];

	kl_clock_iso(now);
	event->kind = KL_KIND_LABEL;
	event->time = kl_event_keep(event, now);
	event->by = kl_event_keep(event, by);
	event->workload = kl_event_keep(event, opts->workload);
	event->surface = kl_event_keep(event, opts->surface);
	event->contract = kl_event_keep(event, opts->contract);
	if (opts->mechanism)
		event->mechanism = kl_event_keep(event, opts->mechanism);
	if (opts->reason)
		event->message = kl_event_keep(event, opts->reason);
	event->of = kl_event_keep(event, before);
	kl_event_seal(event);
	return event;
}

static bool is_replaced(const struct kl_event *label, struct kl_event *const *event, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (event[i]->kind == KL_KIND_LABEL && !strcmp(event[i]->of, label->id))
			return true;
	return false;
}

const struct kl_event *kl_label_holding(struct kl_event *const *event, size_t n)
{
	const struct kl_event *holding = NULL;

	for (size_t i = 0; i < n; i++)
		if (event[i]->kind == KL_KIND_LABEL && !is_replaced(event[i], event, n) &&
		    kl_event_is_newer(event[i], holding))
			holding = event[i];
	return holding;
}

/*
 * Like kl_label_in_note(), but *out can be a label without a mechanism, which takes a label back.
 */
static void find_holding(struct kl_event **out, const char *text, size_t len)
{
	struct kl_event **label = NULL;
	size_t n = 0, alloc = 0, line_len;

	for (const char *at = text, *end = text + len; at < end; at += line_len + 1) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct kl_event *event = NULL;

		line_len = (size_t)((newline ? newline : end) - at);
		if (!line_len || !memmem(at, line_len, "\"kind\":\"label\"", 14) ||
		    kl_event_parse(&event, at, line_len) < 0) {
			kl_error_clear();
			continue;
		}
		KL_GROW(label, n + 1, alloc);
		label[n++] = event;
	}
	*out = kl_event_ref(kl_label_holding(label, n));
	for (size_t i = 0; i < n; i++)
		kl_event_free(label[i]);
	free(label);
}

void kl_label_in_note(struct kl_event **out, const char *text, size_t len)
{
	find_holding(out, text, len);
	if (*out && !*(*out)->mechanism) {
		kl_event_free(*out);
		*out = NULL;
	}
}

char *kl_label_author(const struct kl_event *label)
{
	size_t n = strcspn(label->by, "<");

	while (n && label->by[n - 1] == ' ')
		n--;
	return n ? kl_strndup(label->by, n) : kl_strdup("somebody");
}

int kl_label_put(struct kl_event **out, struct kl_repo *repo, const struct kl_label_opts *opts)
{
	KL_AUTO(kl_noting_release) struct kl_noting noting = { .repo = repo, .sign = opts->sign };
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL, *before = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *by;
	int err;

	if ((err = check_reason(opts->reason)) < 0 || (err = kl_repo_identity(&by, repo)) < 0 ||
	    (err = kl_notes_read(&text, repo, KL_NOTES_GATE, opts->commit)) < 0)
		return err;
	find_holding(&before, text.ptr, text.len);
	event = make_label(opts, by, before ? before->id : "");
	if ((err = kl_noting_add(&noting, opts->commit, event)) < 0 ||
	    (err = kl_own_add_one(repo, event->id)) < 0 || (err = kl_noting_write(&noting)) < 0)
		return err;
	*out = kl_steal(&event);
	return 0;
}
