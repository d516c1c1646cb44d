/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/body.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

static void add_escaped(struct kl_buf *out, char ch)
{
	switch (ch) {
	case '"':
	case '\\':
		kl_buf_addch(out, '\\');
		kl_buf_addch(out, ch);
		break;
	case '\n':
		kl_buf_adds(out, "\\n");
		break;
	case '\t':
		kl_buf_adds(out, "\\t");
		break;
	case '\r':
		kl_buf_adds(out, "\\r");
		break;
	default:
		kl_buf_addf(out, "\\u%04x", (unsigned)(unsigned char)ch);
	}
}

void kl_body_string(struct kl_buf *out, const char *text)
{
	size_t len = strlen(text);

	kl_buf_addch(out, '"');
	while (len) {
		size_t n = kl_utf8_char(text, len);

		if (n == 1 &&
		    ((unsigned char)*text < ' ' || *text == '"' || *text == '\\' || *text == 0x7f))
			add_escaped(out, *text);
		else if (n)
			kl_buf_add(out, text, n);
		else
			kl_buf_adds(out, "\xef\xbf\xbd");
		text += n ? n : 1;
		len -= n ? n : 1;
	}
	kl_buf_addch(out, '"');
}

void kl_body_member(struct kl_buf *out, const char *key, const char *value)
{
	kl_body_string(out, key);
	kl_buf_addch(out, ':');
	kl_body_string(out, value);
}

size_t kl_body_messages(struct kl_buf *out, const struct kl_provider_request *request,
			const char *key)
{
	size_t end = out->len;

	for (size_t i = 0; i < request->nmessage; i++) {
		kl_buf_adds(out, i ? ",{" : "{");
		kl_body_member(out, "role", request->message[i].assistant ? "assistant" : "user");
		kl_buf_addch(out, ',');
		kl_body_member(out, key, request->message[i].text);
		end = out->len;
		kl_buf_addch(out, '}');
	}
	return end;
}

/*
 * Return true if a character of `n` bytes is a control character. U+0080 to U+009F control a
 * terminal just as ASCII control characters do.
 */
static bool is_control(const char *text, size_t n)
{
	const unsigned char *bytes = (const unsigned char *)text;

	return n == 1 ? *bytes < ' ' || *bytes == 0x7f :
			n == 2 && *bytes == 0xc2 && bytes[1] < 0xa0;
}

void kl_body_quote(struct kl_buf *out, const char *text, size_t len, size_t max)
{
	size_t from = out->len;
	bool space = false;

	while (len) {
		size_t n = kl_utf8_char(text, len);

		if (*text == ' ' || *text == '\n' || *text == '\t' || *text == '\r') {
			space = out->len > from;
		} else {
			if (out->len - from + n + space > max) {
				kl_buf_adds(out, "...");
				return;
			}
			if (space)
				kl_buf_addch(out, ' ');
			space = false;
			if (n && !is_control(text, n))
				kl_buf_add(out, text, n);
			else
				kl_buf_addch(out, '?');
		}
		text += n ? n : 1;
		len -= n ? n : 1;
	}
}
