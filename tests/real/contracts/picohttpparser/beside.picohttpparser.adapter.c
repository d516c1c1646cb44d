/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MOST 32

struct line {
	const char *name;
	size_t name_length;
	const char *value;
	size_t value_length;
};

struct work {
	size_t length, lines;
	struct line line[MOST];
	char text[MOST * 136];
};

#if KL_TIMED
#include "picohttpparser.h"

int adapter_call(void *workspace, int32_t n, const uint8_t *sizes, int32_t *found)
{
	struct work *work = workspace;

	work->lines = MOST;
	return phr_parse_headers(work->text, work->length, (struct phr_header *)work->line, &work->lines, 0);
}
#else
void adapter_pack(void *workspace, int32_t n, const uint8_t *sizes, int32_t *found)
{
	struct work *work = workspace;
	size_t at = 0;

	for (int i = 0; i < n; i++) {
		for (int k = 0; k <= sizes[2 * i]; k++)
			work->text[at++] = (char)('a' + (i + k) % 26);
		work->text[at++] = ':';
		work->text[at++] = ' ';
		for (int k = 0; k < sizes[2 * i + 1]; k++)
			work->text[at++] = (char)('A' + (3 * i + k) % 26);
		memcpy(work->text + at, "\r\n", 2);
		at += 2;
	}
	memcpy(work->text + at, "\r\n", 2);
	work->length = at + 2;
}

void adapter_finish(void *workspace, int32_t n, const uint8_t *sizes, int32_t *found)
{
	const struct work *work = workspace;

	for (int i = 0; i < n; i++) {
		found[4 * i] = (int32_t)(work->line[i].name - work->text);
		found[4 * i + 1] = (int32_t)work->line[i].name_length;
		found[4 * i + 2] = (int32_t)(work->line[i].value - work->text);
		found[4 * i + 3] = (int32_t)work->line[i].value_length;
	}
}
#endif
