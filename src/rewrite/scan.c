/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/scan.h"

#include <string.h>

#include "base/error.h"
#include "rewrite/envelope.h"
#include "text/utf8.h"

int kl_scan_check(const char *text, size_t len)
{
	if (len > KL_ENVELOPE_MAX)
		return kl_error(KL_EINVALID,
				"the reply has %zu bytes, more than %zu; use "
				"<function> or <edit> "
				"for a small change of a large file",
				len, KL_ENVELOPE_MAX);
	if (memchr(text, '\0', len))
		return kl_error(KL_EINVALID, "the reply holds a NUL byte");
	if (kl_utf8_span(text, len) != len)
		return kl_error(KL_EINVALID, "the reply is not UTF-8 at byte %zu",
				kl_utf8_span(text, len));
	return 0;
}

/* --- lines and tags -------------------------------------------------------- */

bool kl_scan_take(struct kl_scan_line *out, struct kl_scan *s)
{
	const char *nl;

	if (s->pos >= s->len)
		return false;
	out->s = s->text + s->pos;
	nl = memchr(out->s, '\n', s->len - s->pos);
	out->n = (nl ? (size_t)(nl - out->s) : s->len - s->pos);
	s->pos += out->n + (nl ? 1 : 0);
	s->line++;
	return true;
}

struct kl_scan_line kl_scan_trim(struct kl_scan_line l)
{
	while (l.n && strchr(" \t\r", l.s[l.n - 1]))
		l.n--;
	while (l.n && strchr(" \t", l.s[0])) {
		l.s++;
		l.n--;
	}
	return l;
}

static bool is_text(struct kl_scan_line l, const char *s)
{
	return l.n == strlen(s) && !memcmp(l.s, s, l.n);
}

bool kl_scan_tag(struct kl_scan_tag *out, const struct kl_scan *s, struct kl_scan_line l)
{
	size_t i = 1, n;

	l = kl_scan_trim(l);
	if (l.n < 2 || l.s[0] != '<')
		return false;
	out->closing = l.s[1] == '/';
	i += out->closing;
	for (n = 0; i + n < l.n && ((l.s[i + n] >= 'a' && l.s[i + n] <= 'z') || l.s[i + n] == '-');
	     n++)
		;
	for (size_t k = 0; s->tag[k]; k++) {
		if (strlen(s->tag[k]) != n || memcmp(s->tag[k], l.s + i, n))
			continue;
		out->name = s->tag[k];
		out->rest = (struct kl_scan_line){ l.s + i + n, l.n - i - n };
		return out->rest.n && strchr("> \t", out->rest.s[0]);
	}
	return false;
}

int kl_scan_bad(const struct kl_scan *s, const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&b, fmt, ap);
	va_end(ap);
	return kl_error(KL_EINVALID, "line %d of the reply: %s", s->line, b.ptr);
}

int kl_scan_alone(const struct kl_scan *s, const struct kl_scan_tag *t)
{
	if (is_text(t->rest, ">"))
		return 0;
	return kl_scan_bad(s, "the tag <%s%s> stands alone on its line", t->closing ? "/" : "",
			   t->name);
}

/* --- attributes ------------------------------------------------------------- */

static bool take_value(char **out, struct kl_scan_line *l)
{
	char quote = l->n && strchr("\"'", l->s[0]) ? l->s[0] : '\0';
	size_t n = 0, from = quote ? 1 : 0;

	while (from + n < l->n &&
	       (quote ? l->s[from + n] != quote : !strchr(" \t>", l->s[from + n])))
		n++;
	if (!n || (quote && from + n == l->n))
		return false;
	*out = kl_strndup(l->s + from, n);
	l->s += from + n + (quote ? 1 : 0);
	l->n -= from + n + (quote ? 1 : 0);
	return true;
}

int kl_scan_attributes(const struct kl_scan *s, const struct kl_scan_tag *t,
		       const struct kl_scan_field *list, size_t nlist)
{
	struct kl_scan_line l = t->rest;

	for (;;) {
		size_t k = 0, n;

		while (l.n && strchr(" \t", l.s[0])) {
			l.s++;
			l.n--;
		}
		if (is_text(l, ">"))
			break;
		for (n = 0; n < l.n && l.s[n] >= 'a' && l.s[n] <= 'z'; n++)
			;
		while (k < nlist && (strlen(list[k].key) != n || memcmp(list[k].key, l.s, n)))
			k++;
		if (!n || n == l.n || l.s[n] != '=')
			return kl_scan_bad(s,
					   "the tag <%s> cannot be read; it stands alone on "
					   "its line",
					   t->name);
		if (k == nlist)
			return kl_scan_bad(s, "<%s> has no attribute '%.*s'", t->name,
					   (int)(n < 40 ? n : 40), l.s);
		if (*list[k].value)
			return kl_scan_bad(s, "<%s> says '%s' twice", t->name, list[k].key);
		l.s += n + 1;
		l.n -= n + 1;
		if (!take_value(list[k].value, &l))
			return kl_scan_bad(s, "<%s> says nothing of '%s'", t->name, list[k].key);
	}
	for (size_t k = 0; k < nlist; k++)
		if (!*list[k].value)
			return kl_scan_bad(s, "<%s> needs %s=...", t->name, list[k].key);
	return 0;
}

/* --- bodies ----------------------------------------------------------------- */

static bool is_fence(struct kl_scan_line l)
{
	l = kl_scan_trim(l);
	return l.n >= 3 && !memcmp(l.s, "```", 3);
}

static int refuse_unclosed(const char *name, int line)
{
	return kl_error(KL_EINVALID,
			"the <%s> of line %d of the reply is never closed by </%s>; was the "
			"reply cut short?",
			name, line, name);
}

int kl_scan_body(char **out, struct kl_scan *s, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	int first = s->line;
	struct kl_scan_line l;
	struct kl_scan_tag t;

	while (kl_scan_take(&l, s)) {
		if (!kl_scan_tag(&t, s, l)) {
			if (!b.len && is_fence(l))
				return kl_scan_bad(s,
						   "<%s> holds the text itself, without a fence "
						   "around it",
						   name);
			kl_buf_add(&b, l.s, l.n);
			kl_buf_addch(&b, '\n');
			continue;
		}
		if (!t.closing || strcmp(t.name, name))
			return kl_scan_bad(s,
					   "<%s%s> within the <%s> of line %d, which has no </%s> "
					   "before it",
					   t.closing ? "/" : "", t.name, name, first, name);
		if (kl_scan_alone(s, &t) < 0)
			return KL_EINVALID;
		*out = kl_buf_detach(&b);
		return 0;
	}
	return refuse_unclosed(name, first);
}

static const char *is_bare(const char *key)
{
	return key + (*key == '?');
}

int kl_scan_keys(struct kl_scan *s, const char *name, const struct kl_scan_field *list,
		 size_t nlist)
{
	int first = s->line;
	struct kl_scan_line l;
	struct kl_scan_tag t;

	while (kl_scan_take(&l, s)) {
		size_t k = 0, n = 0;

		if (kl_scan_tag(&t, s, l)) {
			if (!t.closing || strcmp(t.name, name))
				return kl_scan_bad(s, "<%s%s> within the <%s> of line %d",
						   t.closing ? "/" : "", t.name, name, first);
			for (k = 0; k < nlist; k++)
				if (!*list[k].value && *list[k].key != '?')
					return kl_scan_bad(s,
							   "the <%s> of line %d has no line '%s:'",
							   name, first, list[k].key);
			return kl_scan_alone(s, &t);
		}
		l = kl_scan_trim(l);
		if (!l.n)
			continue;
		while (n < l.n && l.s[n] != ':')
			n++;
		while (k < nlist &&
		       (strlen(is_bare(list[k].key)) != n || memcmp(is_bare(list[k].key), l.s, n)))
			k++;
		if (n == l.n || k == nlist)
			return kl_scan_bad(s, "'%.*s' is no line of a <%s>",
					   (int)(l.n < 60 ? l.n : 60), l.s, name);
		if (*list[k].value)
			return kl_scan_bad(s, "a second line '%s:' in one <%s>",
					   is_bare(list[k].key), name);
		l = kl_scan_trim((struct kl_scan_line){ l.s + n + 1, l.n - n - 1 });
		*list[k].value = kl_strndup(l.s, l.n);
	}
	return refuse_unclosed(name, first);
}

int kl_scan_phrase(char **out, struct kl_scan *s, const struct kl_scan_tag *t)
{
	KL_AUTO(kl_freep) char *end = kl_asprintf("</%s>", t->name);
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	size_t n = strlen(end);
	struct kl_scan_line l = t->rest;
	int first = s->line;
	struct kl_scan_tag inner;

	if (l.s[0] != '>')
		return kl_scan_bad(s, "<%s> has no attributes", t->name);
	l.s++;
	l.n--;
	do {
		l = kl_scan_trim(l);
		if (s->line != first && kl_scan_tag(&inner, s, l) && strcmp(inner.name, t->name))
			return kl_scan_bad(s, "<%s%s> within <%s>", inner.closing ? "/" : "",
					   inner.name, t->name);
		if (l.n >= n && !memcmp(l.s + l.n - n, end, n)) {
			kl_buf_add(&b, l.s, l.n - n);
			kl_buf_rtrim(&b);
			*out = kl_buf_detach(&b);
			return 0;
		}
		kl_buf_add(&b, l.s, l.n);
		if (b.len && l.n)
			kl_buf_addch(&b, ' ');
	} while (kl_scan_take(&l, s));
	return refuse_unclosed(t->name, first);
}
