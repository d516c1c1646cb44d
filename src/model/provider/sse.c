/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/sse.h"

#include <string.h>

#include "base/error.h"

static int dispatch_event(struct kl_sse *sse)
{
	int err = 0;

	if (sse->has_data) {
		/* each data line has appended a newline; remove the last one */
		sse->data.ptr[--sse->data.len] = '\0';
		err = sse->event(sse->type.ptr, sse->data.ptr, sse->data.len, sse->payload);
	}
	kl_buf_clear(&sse->data);
	kl_buf_clear(&sse->type);
	sse->has_data = false;
	return err;
}

static int end_line(struct kl_sse *sse)
{
	const char *line = sse->line.ptr, *value;
	size_t len = sse->line.len, name;

	if (!sse->not_first && len >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)) {
		line += 3;
		len -= 3;
	}
	sse->not_first = true;
	if (!len)
		return dispatch_event(sse);
	value = memchr(line, ':', len);
	name = value ? (size_t)(value - line) : len;
	value = value ? value + 1 : line + len;
	value += value < line + len && *value == ' ';
	len = (size_t)(line + len - value);
	if (name == 5 && !memcmp(line, "event", 5)) {
		kl_buf_clear(&sse->type);
		kl_buf_add(&sse->type, value, len);
	} else if (name == 4 && !memcmp(line, "data", 4)) {
		if (sse->data.len + len > KL_SSE_MAX)
			return kl_error(KL_EINVALID, "the event is larger than %zu MiB",
					KL_SSE_MAX >> 20);
		kl_buf_add(&sse->data, value, len);
		kl_buf_addch(&sse->data, '\n');
		sse->has_data = true;
	}
	return 0;
}

int kl_sse_feed(struct kl_sse *sse, const char *at, size_t n)
{
	const char *end = at + n;

	while (at < end) {
		size_t part = 0;
		int err;

		if (sse->after_cr && *at == '\n')
			at++;
		sse->after_cr = false;
		while (at + part < end && at[part] != '\n' && at[part] != '\r')
			part++;
		if (sse->line.len + part > KL_SSE_MAX)
			return kl_error(KL_EINVALID, "the line is longer than %zu MiB",
					KL_SSE_MAX >> 20);
		kl_buf_add(&sse->line, at, part);
		at += part;
		if (at == end)
			break;
		sse->after_cr = *at++ == '\r';
		err = end_line(sse);
		kl_buf_clear(&sse->line);
		if (err < 0)
			return err;
	}
	return 0;
}

bool kl_sse_pending(const struct kl_sse *sse)
{
	return sse->line.len || sse->has_data;
}

void kl_sse_release(struct kl_sse *sse)
{
	kl_buf_release(&sse->line);
	kl_buf_release(&sse->type);
	kl_buf_release(&sse->data);
}
