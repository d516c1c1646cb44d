/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sanitizer.h"

#ifdef __SANITIZE_ADDRESS__

#include <sanitizer/common_interface_defs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Texts in a report of ASan, LSan or UBSan, or in the error that its log file cannot be opened. */
static const char *const marks[] = {
	"Sanitizer",
	": runtime error: ",
	"ERROR: Can't open file: ",
};

static bool has_report(const char *text, size_t len)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(marks); i++)
		if (memmem(text, len, marks[i], strlen(marks[i])))
			return true;
	return false;
}

void kl_sanitizer_pass_on(const struct kl_buf *err_text, size_t from)
{
	const char *at = err_text->ptr + from, *end = err_text->ptr + err_text->len;
	/* longer lines are cut, because the sanitizer runtime cannot print 16 KiB at once */
	char line[1024];

	if (at >= end || !has_report(at, (size_t)(end - at)))
		return;
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);

		snprintf(line, sizeof(line), "%.*s", len < sizeof(line) ? (int)len : 1023, at);
		/* despite its name, this function prints any line */
		__sanitizer_report_error_summary(line);
		at += len + 1;
	}
}

#else

void kl_sanitizer_pass_on(const struct kl_buf *err_text, size_t from)
{
}

#endif
