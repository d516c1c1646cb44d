/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/reply/scan.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "rewrite/reply/envelope.h"

int kl_scan_check(const char *text, size_t len)
{
	if (len > KL_ENVELOPE_MAX)
		return kl_error(
			KL_EINVALID,
			"the reply has %zu bytes, but can have at most %zu; use <function> or "
			"<edit> for a small change of a large file",
			len, KL_ENVELOPE_MAX);
	if (memchr(text, '\0', len))
		return kl_error(KL_EINVALID, "the reply contains a NUL byte");
	if (kl_utf8_span(text, len) != len)
		return kl_error(KL_EINVALID, "the reply is not UTF-8 at byte %zu",
				kl_utf8_span(text, len));
	return 0;
}

/* --- lines and tags -------------------------------------------------------- */

bool kl_scan_take(struct kl_scan_line *out, struct kl_scan *scan)
{
	const char *nl;

	if (scan->pos >= scan->len)
		return false;
	out->s = scan->text + scan->pos;
	nl = memchr(out->s, '\n', scan->len - scan->pos);
	out->n = (nl ? (size_t)(nl - out->s) : scan->len - scan->pos);
	scan->pos += out->n + (nl ? 1 : 0);
	scan->line++;
	return true;
}

struct kl_scan_line kl_scan_trim(struct kl_scan_line line)
{
	while (line.n && strchr(" \t\r", line.s[line.n - 1]))
		line.n--;
	while (line.n && strchr(" \t", line.s[0])) {
		line.s++;
		line.n--;
	}
	return line;
}

static bool is_text(struct kl_scan_line line, const char *text)
{
	return line.n == strlen(text) && !memcmp(line.s, text, line.n);
}

bool kl_scan_tag(struct kl_scan_tag *out, const struct kl_scan *scan, struct kl_scan_line line)
{
	size_t i = 1, n;

	line = kl_scan_trim(line);
	if (line.n < 2 || line.s[0] != '<')
		return false;
	out->closing = line.s[1] == '/';
	i += out->closing;
	for (n = 0; i + n < line.n &&
		    ((line.s[i + n] >= 'a' && line.s[i + n] <= 'z') || line.s[i + n] == '-');
	     n++)
		;
	for (size_t k = 0; scan->tag[k]; k++) {
		if (strlen(scan->tag[k]) != n || memcmp(scan->tag[k], line.s + i, n))
			continue;
		out->name = scan->tag[k];
		out->rest = (struct kl_scan_line){ line.s + i + n, line.n - i - n };
		return out->rest.n && strchr("> \t", out->rest.s[0]);
	}
	return false;
}

int kl_scan_bad(const struct kl_scan *scan, const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&buf, fmt, ap);
	va_end(ap);
	return kl_error(KL_EINVALID, "line %d of the reply: %s", scan->line, buf.ptr);
}

int kl_scan_alone(const struct kl_scan *scan, const struct kl_scan_tag *tag)
{
	if (is_text(tag->rest, ">"))
		return 0;
	return kl_scan_bad(scan, "the tag <%s%s> must be alone on its line",
			   tag->closing ? "/" : "", tag->name);
}

/* --- attributes ------------------------------------------------------------- */

static bool take_value(char **out, struct kl_scan_line *line)
{
	char quote = line->n && strchr("\"'", line->s[0]) ? line->s[0] : '\0';
	size_t n = 0, from = quote ? 1 : 0;

	while (from + n < line->n &&
	       (quote ? line->s[from + n] != quote : !strchr(" \t>", line->s[from + n])))
		n++;
	if (!n || (quote && from + n == line->n))
		return false;
	*out = kl_strndup(line->s + from, n);
	line->s += from + n + (quote ? 1 : 0);
	line->n -= from + n + (quote ? 1 : 0);
	return true;
}

int kl_scan_attributes(const struct kl_scan *scan, const struct kl_scan_tag *tag,
		       const struct kl_scan_field *list, size_t nlist)
{
	struct kl_scan_line line = tag->rest;

	for (;;) {
		size_t k = 0, n;

		while (line.n && strchr(" \t", line.s[0])) {
			line.s++;
			line.n--;
		}
		if (is_text(line, ">"))
			break;
		for (n = 0; n < line.n && line.s[n] >= 'a' && line.s[n] <= 'z'; n++)
			;
		while (k < nlist && (strlen(list[k].key) != n || memcmp(list[k].key, line.s, n)))
			k++;
		if (!n || n == line.n || line.s[n] != '=')
			return kl_scan_bad(
				scan, "cannot parse the tag <%s>; it must be alone on its line",
				tag->name);
		if (k == nlist)
			return kl_scan_bad(scan, "<%s> has no attribute '%.*s'", tag->name,
					   (int)(n < 40 ? n : 40), line.s);
		if (*list[k].value)
			return kl_scan_bad(scan, "<%s> has the attribute '%s' twice", tag->name,
					   list[k].key);
		line.s += n + 1;
		line.n -= n + 1;
		if (!take_value(list[k].value, &line))
			return kl_scan_bad(scan, "<%s> has an empty attribute '%s'", tag->name,
					   list[k].key);
	}
	for (size_t k = 0; k < nlist; k++)
		if (!*list[k].value)
			return kl_scan_bad(scan, "<%s> needs %s=...", tag->name, list[k].key);
	return 0;
}

/* --- bodies ----------------------------------------------------------------- */

static bool is_fence(struct kl_scan_line line)
{
	line = kl_scan_trim(line);
	return line.n >= 3 && !memcmp(line.s, "```", 3);
}

static int refuse_unclosed(const char *name, int line)
{
	return kl_error(KL_EINVALID,
			"the <%s> of line %d of the reply is never closed by </%s>; was the "
			"reply cut short?",
			name, line, name);
}

int kl_scan_body(char **out, struct kl_scan *scan, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	int first = scan->line;
	struct kl_scan_line line;
	struct kl_scan_tag tag;

	while (kl_scan_take(&line, scan)) {
		if (!kl_scan_tag(&tag, scan, line)) {
			if (!buf.len && is_fence(line))
				return kl_scan_bad(
					scan,
					"<%s> must contain only the text, without a fence around "
					"it",
					name);
			kl_buf_add(&buf, line.s, line.n);
			kl_buf_addch(&buf, '\n');
			continue;
		}
		if (!tag.closing || strcmp(tag.name, name))
			return kl_scan_bad(scan,
					   "<%s%s> within the <%s> of line %d, which has no </%s> "
					   "before it",
					   tag.closing ? "/" : "", tag.name, name, first, name);
		if (kl_scan_alone(scan, &tag) < 0)
			return KL_EINVALID;
		*out = kl_buf_detach(&buf);
		return 0;
	}
	return refuse_unclosed(name, first);
}

static const char *bare_key(const char *key)
{
	return key + (*key == '?');
}

int kl_scan_keys(struct kl_scan *scan, const char *name, const struct kl_scan_field *list,
		 size_t nlist)
{
	int first = scan->line;
	struct kl_scan_line line;
	struct kl_scan_tag tag;

	while (kl_scan_take(&line, scan)) {
		size_t k = 0, n = 0;

		if (kl_scan_tag(&tag, scan, line)) {
			if (!tag.closing || strcmp(tag.name, name))
				return kl_scan_bad(scan, "<%s%s> within the <%s> of line %d",
						   tag.closing ? "/" : "", tag.name, name, first);
			for (k = 0; k < nlist; k++)
				if (!*list[k].value && *list[k].key != '?')
					return kl_scan_bad(scan,
							   "the <%s> of line %d has no line '%s:'",
							   name, first, list[k].key);
			return kl_scan_alone(scan, &tag);
		}
		line = kl_scan_trim(line);
		if (!line.n)
			continue;
		while (n < line.n && line.s[n] != ':')
			n++;
		while (k < nlist && (strlen(bare_key(list[k].key)) != n ||
				     memcmp(bare_key(list[k].key), line.s, n)))
			k++;
		if (n == line.n || k == nlist)
			return kl_scan_bad(scan, "'%.*s' is not a line of a <%s>",
					   (int)(line.n < 60 ? line.n : 60), line.s, name);
		if (*list[k].value)
			return kl_scan_bad(scan, "there is a second line '%s:' in one <%s>",
					   bare_key(list[k].key), name);
		line = kl_scan_trim((struct kl_scan_line){ line.s + n + 1, line.n - n - 1 });
		*list[k].value = kl_strndup(line.s, line.n);
	}
	return refuse_unclosed(name, first);
}

int kl_scan_phrase(char **out, struct kl_scan *scan, const struct kl_scan_tag *tag)
{
	KL_AUTO(kl_freep) char *end = kl_asprintf("</%s>", tag->name);
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	size_t n = strlen(end);
	struct kl_scan_line line = tag->rest;
	int first = scan->line;
	struct kl_scan_tag inner;

	if (line.s[0] != '>')
		return kl_scan_bad(scan, "<%s> has no attributes", tag->name);
	line.s++;
	line.n--;
	do {
		line = kl_scan_trim(line);
		if (scan->line != first && kl_scan_tag(&inner, scan, line) &&
		    strcmp(inner.name, tag->name))
			return kl_scan_bad(scan, "<%s%s> within <%s>", inner.closing ? "/" : "",
					   inner.name, tag->name);
		if (line.n >= n && !memcmp(line.s + line.n - n, end, n)) {
			kl_buf_add(&buf, line.s, line.n - n);
			kl_buf_rtrim(&buf);
			*out = kl_buf_detach(&buf);
			return 0;
		}
		kl_buf_add(&buf, line.s, line.n);
		if (buf.len && line.n)
			kl_buf_addch(&buf, ' ');
	} while (kl_scan_take(&line, scan));
	return refuse_unclosed(tag->name, first);
}
