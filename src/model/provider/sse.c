/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/sse.h"

#include <string.h>

#include "base/error.h"

static int dispatch_event(struct kl_sse *s)
{
	int err = 0;

	if (s->has_data) {
		/* each data line has put a newline behind itself; the last is not part of it */
		s->data.ptr[--s->data.len] = '\0';
		err = s->event(s->type.ptr, s->data.ptr, s->data.len, s->payload);
	}
	kl_buf_clear(&s->data);
	kl_buf_clear(&s->type);
	s->has_data = false;
	return err;
}

static int end_line(struct kl_sse *s)
{
	const char *line = s->line.ptr, *value;
	size_t len = s->line.len, name;

	if (!s->not_first && len >= 3 && !memcmp(line, "\xef\xbb\xbf", 3)) {
		line += 3;
		len -= 3;
	}
	s->not_first = true;
	if (!len)
		return dispatch_event(s);
	value = memchr(line, ':', len);
	name = value ? (size_t)(value - line) : len;
	value = value ? value + 1 : line + len;
	value += value < line + len && *value == ' ';
	len = (size_t)(line + len - value);
	if (name == 5 && !memcmp(line, "event", 5)) {
		kl_buf_clear(&s->type);
		kl_buf_add(&s->type, value, len);
	} else if (name == 4 && !memcmp(line, "data", 4)) {
		if (s->data.len + len > KL_SSE_MAX)
			return kl_error(KL_EINVALID, "an event of more than %zu MiB",
					KL_SSE_MAX >> 20);
		kl_buf_add(&s->data, value, len);
		kl_buf_addch(&s->data, '\n');
		s->has_data = true;
	}
	return 0;
}

int kl_sse_feed(struct kl_sse *s, const char *p, size_t n)
{
	const char *end = p + n;

	while (p < end) {
		size_t part = 0;
		int err;

		if (s->after_cr && *p == '\n')
			p++;
		s->after_cr = false;
		while (p + part < end && p[part] != '\n' && p[part] != '\r')
			part++;
		if (s->line.len + part > KL_SSE_MAX)
			return kl_error(KL_EINVALID, "a line of more than %zu MiB",
					KL_SSE_MAX >> 20);
		kl_buf_add(&s->line, p, part);
		p += part;
		if (p == end)
			break;
		s->after_cr = *p++ == '\r';
		err = end_line(s);
		kl_buf_clear(&s->line);
		if (err < 0)
			return err;
	}
	return 0;
}

bool kl_sse_pending(const struct kl_sse *s)
{
	return s->line.len || s->has_data;
}

void kl_sse_release(struct kl_sse *s)
{
	kl_buf_release(&s->line);
	kl_buf_release(&s->type);
	kl_buf_release(&s->data);
}
