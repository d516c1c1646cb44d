/* SPDX-License-Identifier: Apache-2.0 */
#include "event/segment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "text/json.h"

#define SCHEMA "klineage.segment/1"
#define PREFIX 16
#define PLACE (PREFIX + 8) /* digits of a place in the index line */
#define MAX_INDEX ((size_t)2 << 20)
#define HEX (KL_DIGEST_HEX - 1)

/* --- lines ------------------------------------------------------------------------ */

static bool is_digest(const char *text)
{
	uint8_t bytes[HEX / 2];

	return strlen(text) == HEX && kl_digest_bytes(bytes, sizeof(bytes), text);
}

int kl_segment_line_of(struct kl_segment_line *out, const struct kl_event *event, const char *text,
		       size_t len, const char *workload)
{
	if (len > KL_SEGMENT_MAX_LINE)
		return kl_error(KL_EINVALID, "the event is too long: %zu bytes", len);
	if (strcmp(event->workload, workload))
		return kl_error(KL_EINVALID, "event %.12s is for workload '%.64s', not '%s'",
				event->id, event->workload, workload);
	if (!is_digest(event->surface) || !is_digest(event->contract))
		return kl_error(KL_EINVALID,
				"event %.12s has no digest of a surface and a contract", event->id);
	*out = (struct kl_segment_line){ .text = text, .len = len, .is_signed = *event->sig };
	snprintf(out->surface, sizeof(out->surface), "%s", event->surface);
	snprintf(out->contract, sizeof(out->contract), "%s", event->contract);
	snprintf(out->id, sizeof(out->id), "%s", event->id);
	snprintf(out->time, sizeof(out->time), "%s", event->time);
	if (*event->commit || !*event->tree)
		return 0;
	return kl_oid_parse(&out->tree, event->tree);
}

int kl_segment_line_read(struct kl_segment_line *out, struct kl_event **event, const char *text,
			 size_t len, const char *workload)
{
	KL_AUTO(kl_event_freep) struct kl_event *parsed = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf canonical = KL_BUF_INIT;
	int err = kl_event_parse(&parsed, text, len);

	if (err < 0)
		return err;
	kl_event_write(&canonical, parsed);
	if (canonical.len != len || memcmp(canonical.ptr, text, len))
		return kl_error(KL_EINVALID, "event %.12s is not in canonical form", parsed->id);
	err = kl_segment_line_of(out, parsed, text, len, workload);
	if (!err && event)
		*event = kl_steal(&parsed);
	return err;
}

/* The order of a file; of the lines with one id, the one to keep comes first. */
static int by_surface(const void *left, const void *right)
{
	const struct kl_segment_line *x = left, *y = right;
	int order = strcmp(x->surface, y->surface);

	if (!order)
		order = strcmp(x->contract, y->contract);
	if (!order)
		order = strcmp(x->time, y->time);
	if (!order)
		order = strcmp(x->id, y->id);
	if (!order)
		order = y->is_signed - x->is_signed;
	if (!order)
		order = memcmp(y->text, x->text, x->len < y->len ? x->len : y->len);
	return order ? order : (x->len < y->len) - (x->len > y->len);
}

size_t kl_segment_sort(struct kl_segment_line *line, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(line, n, sizeof(*line), by_surface);
	for (size_t i = 0; i < n; i++)
		if (!kept || strcmp(line[kept - 1].id, line[i].id))
			line[kept++] = line[i];
	return kept;
}

/* --- writing a file --------------------------------------------------------------- */

void kl_segment_write(struct kl_buf *out, const char *workload, const struct kl_segment_line *line,
		      size_t n)
{
	KL_AUTO(json_decrefp) json_t *index = json_object();
	KL_AUTO(kl_buf_release) struct kl_buf places = KL_BUF_INIT;
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		if (!i || strcmp(line[i - 1].surface, line[i].surface))
			kl_buf_addf(&places, "%.*s%08zx", PREFIX, line[i].surface, at);
		at += line[i].len + 1;
	}
	kl_json_set_str(index, "schema", SCHEMA);
	kl_json_set_str(index, "workload", workload);
	kl_json_set_int(index, "lines", (int64_t)n);
	kl_json_set_int(index, "bytes", (int64_t)at);
	kl_json_set_str(index, "places", places.ptr);
	kl_json_canonical(out, index);
	kl_buf_addch(out, '\n');
	kl_buf_reserve(out, at);
	for (size_t i = 0; i < n; i++) {
		kl_buf_add(out, line[i].text, line[i].len);
		kl_buf_addch(out, '\n');
	}
}

void kl_segment_path(char out[KL_SEGMENT_PATH], const struct kl_buf *file, const char *surface)
{
	char hex[KL_DIGEST_HEX];

	kl_digest_hex(hex, file->ptr, file->len);
	snprintf(out, KL_SEGMENT_PATH, "%.2s/%s.jsonl", surface, hex);
}

/* --- reading a file ----------------------------------------------------------------- */

void kl_segment_release(struct kl_segment *segment)
{
	free(segment->place);
	*segment = (struct kl_segment){ 0 };
}

static int bad_index(const char *what)
{
	return kl_error(KL_EINVALID, "the index line %s", what);
}

/* Read the places, which must be in order and at the beginnings of lines. */
static int read_places(struct kl_segment *out, const char *text)
{
	size_t n = strlen(text) / PLACE;

	if (strlen(text) % PLACE || !n != !out->len)
		return bad_index("has malformed places");
	out->place = kl_calloc(n + 1, sizeof(*out->place));
	for (size_t i = 0; i < n; i++, text += PLACE) {
		struct kl_segment_place *place = &out->place[i];
		uint8_t bytes[PLACE / 2];

		if (!kl_digest_bytes(bytes, sizeof(bytes), text))
			return bad_index("has malformed places");
		memcpy(place->prefix, text, PREFIX);
		place->at = (uint32_t)bytes[8] << 24 | (uint32_t)bytes[9] << 16 |
			    (uint32_t)bytes[10] << 8 | bytes[11];
		if (place->at >= out->len || (i ? place->at <= place[-1].at : place->at) ||
		    (i && strcmp(place->prefix, place[-1].prefix) < 0) ||
		    (place->at && out->lines[place->at - 1] != '\n'))
			return bad_index("has a place that is not the beginning of a line");
	}
	out->nplaces = n;
	return 0;
}

int kl_segment_open(struct kl_segment *out, const char *workload, const char *text, size_t len)
{
	KL_AUTO(json_decrefp) json_t *index = NULL;
	KL_AUTO(kl_segment_release) struct kl_segment found = { 0 };
	const char *end = memchr(text, '\n', len < MAX_INDEX ? len : MAX_INDEX), *places;
	int64_t bytes, lines;
	int err;

	if (!end)
		return bad_index("is missing");
	if ((err = kl_json_parse(&index, text, (size_t)(end - text))) < 0)
		return kl_error_in(err, "the index line");
	if (strcmp(kl_json_str_or(index, "schema", ""), SCHEMA))
		return bad_index("is not of " SCHEMA);
	if (strcmp(kl_json_str_or(index, "workload", ""), workload))
		return kl_error(KL_EINVALID, "the index line names workload '%.64s', not '%s'",
				kl_json_str_or(index, "workload", ""), workload);
	if ((err = kl_json_count(&bytes, index, "bytes", KL_SEGMENT_MAX_BYTES)) < 0 ||
	    (err = kl_json_count(&lines, index, "lines", KL_SEGMENT_MAX_LINES)) < 0 ||
	    (err = kl_json_str(&places, index, "places")) < 0)
		return kl_error_in(err, "the index line");
	found.lines = end + 1;
	found.len = len - (size_t)(end + 1 - text);
	found.n = (size_t)lines;
	if ((size_t)bytes != found.len)
		return kl_error(KL_EINVALID,
				"%s: the index line states %lld bytes of events, but the file "
				"has %zu",
				(size_t)bytes > found.len ? "the file is cut off" :
							    "bytes were added to the file",
				(long long)bytes, found.len);
	if (found.len && found.lines[found.len - 1] != '\n')
		return kl_error(KL_EINVALID, "the last line is not complete");
	if ((err = read_places(&found, places)) < 0)
		return err;
	*out = found;
	found = (struct kl_segment){ 0 };
	return 0;
}

int kl_segment_each_line(const char *text, size_t len, kl_segment_fn *fn, void *payload)
{
	for (const char *line = text, *end = text + len; line < end;) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));
		size_t n = (size_t)((nl ? nl : end) - line);
		int err = fn(line, n, payload);

		if (err)
			return err;
		line += n + 1;
	}
	return 0;
}

int kl_segment_of_surface(const struct kl_segment *segment, const char *surface, kl_segment_fn *fn,
			  void *payload)
{
	size_t lo = 0, hi = segment->nplaces, end;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strncmp(segment->place[mid].prefix, surface, PREFIX) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo;
	     end < segment->nplaces && !strncmp(segment->place[end].prefix, surface, PREFIX); end++)
		;
	if (lo == end)
		return 0;
	hi = end < segment->nplaces ? segment->place[end].at : segment->len;
	return kl_segment_each_line(segment->lines + segment->place[lo].at,
				    hi - segment->place[lo].at, fn, payload);
}
