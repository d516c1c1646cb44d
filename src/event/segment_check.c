/* SPDX-License-Identifier: Apache-2.0 */
/* segment_check - checks every byte of a file of a segment */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "event/segment.h"

struct checking {
	struct kl_segment_check *check;
	const char *workload, *path;
	struct kl_segment_line *line; /* the lines that are valid */
	size_t n, alloc, number;
};

static void report_flaw(struct checking *checking, size_t line, const char *what)
{
	struct kl_segment_check *check = checking->check;

	check->flaws++;
	check->flaw(checking->path, line, what, check->payload);
}

static int check_line(const char *text, size_t len, void *payload)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	struct checking *checking = payload;
	struct kl_segment_line line;

	checking->number++;
	if (kl_segment_line_read(&line, &event, text, len, checking->workload) < 0) {
		report_flaw(checking, checking->number, kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (strncmp(line.surface, checking->path, 2))
		report_flaw(checking, checking->number,
			    "the event belongs into another directory, because its surface begins "
			    "with other digits");
	KL_GROW(checking->line, checking->n + 1, checking->alloc);
	checking->line[checking->n++] = line;
	checking->check->events++;
	if (checking->check->event)
		checking->check->event(checking->path, event, checking->check->payload);
	return 0;
}

/* Find the first line that is out of order or repeated, given the lines in the right order. */
static size_t first_misplaced(const struct checking *checking, const char *const *text,
			      size_t sorted)
{
	size_t i = 0;

	while (i < sorted && i < checking->n && checking->line[i].text == text[i])
		i++;
	return i;
}

/* Compare the file with the one that has the same events, which has only one form. */
static void check_form(struct checking *checking, const char *text, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf file = KL_BUF_INIT;
	KL_AUTO(kl_freep) const char **order = kl_calloc(checking->n + 1, sizeof(*order));
	size_t sorted, at;

	for (size_t i = 0; i < checking->n; i++)
		order[i] = checking->line[i].text;
	sorted = kl_segment_sort(checking->line, checking->n);
	at = first_misplaced(checking, order, sorted);
	if (at < checking->n) {
		report_flaw(checking, at + 2,
			    sorted < checking->n ? "an event is out of order or repeated" :
						   "an event is out of order");
		return;
	}
	kl_segment_write(&file, checking->workload, checking->line, sorted);
	if (file.len != len || memcmp(file.ptr, text, len))
		report_flaw(checking, 1, "the index line does not fit to the events");
}

static void check_name(struct checking *checking, const char *text, size_t len)
{
	const char *slash = strchr(checking->path, '/');
	char hex[KL_DIGEST_HEX];

	kl_digest_hex(hex, text, len);
	if (!slash || slash != checking->path + 2 || strncmp(slash + 1, hex, strlen(hex)) ||
	    strcmp(slash + strlen(hex) + 1, ".jsonl"))
		report_flaw(checking, 0, "the name of the file is not its digest");
}

void kl_segment_check(struct kl_segment_check *check, const char *workload, const char *path,
		      const char *text, size_t len)
{
	KL_AUTO(kl_segment_release) struct kl_segment segment = { 0 };
	struct checking checking = { check, workload, path, .number = 1 };
	const char *end = memchr(text, '\n', len);
	size_t flaws = check->flaws, start = end ? (size_t)(end - text) + 1 : len;

	check_name(&checking, text, len);
	if (kl_segment_open(&segment, workload, text, len) < 0) {
		report_flaw(&checking, 1, kl_error_last());
		kl_error_clear();
	}
	kl_segment_each_line(text + start, len - start, check_line, &checking);
	if (check->flaws == flaws)
		check_form(&checking, text, len);
	free(checking.line);
}
