/* SPDX-License-Identifier: Apache-2.0 */
/* trailer - reads the trailers of a commit message as git does */
#include "repo/repo.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * The rules are those that git(1) interpret-trailers documents and shows:
 * trailers are the last paragraph, not the first, with nothing after it but
 * comments; either every line of it is one, or it holds a line that git
 * itself writes and at least a quarter of its lines are trailers.
 */
static const char scissors[] = "# ------------------------ >8 ------------------------\n";

struct line {
	const char *p;
	size_t n; /* without the newline */
};

struct lines {
	struct line *l;
	size_t n, alloc;
};

static void lines_release(struct lines *x)
{
	free(x->l);
}

/* In the C locale, whatever the program's. */
static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_token(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-';
}

static bool starts_with(const struct line *l, const char *with)
{
	size_t n = strlen(with);

	return l->n >= n && !memcmp(l->p, with, n);
}

static bool is_comment(const struct line *l)
{
	return l->n && l->p[0] == '#';
}

static bool is_blank(const struct line *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (!is_space(l->p[i]))
			return false;
	return true;
}

/* Lines up to a patch ("---") or the scissors of `git commit --verbose`. */
static void split_message(struct lines *out, const char *message)
{
	for (const char *p = message; *p;) {
		size_t n = strcspn(p, "\n");

		if (!strncmp(p, "---", 3) && is_space(p[3]))
			return;
		if (!strncmp(p, scissors, sizeof(scissors) - 1))
			return;
		KL_GROW(out->l, out->n + 1, out->alloc);
		out->l[out->n++] = (struct line){ p, n };
		p += n + (p[n] == '\n');
	}
}

/* Drop comments, empty lines and an old "Conflicts:" list from the end. */
static void drop_tail(struct lines *x)
{
	size_t keep = 0;
	bool conflicts = false;

	for (size_t i = 0; i < x->n; i++) {
		const struct line *l = x->l + i;

		if (!l->n || is_comment(l))
			continue;
		if (l->n == strlen("Conflicts:") && starts_with(l, "Conflicts:") &&
		    l->p[l->n] == '\n') {
			conflicts = true;
			continue;
		}
		if (conflicts && l->p[0] == '\t')
			continue;
		keep = i + 1;
		conflicts = false;
	}
	x->n = keep;
}

/* Where the token of a trailer ends, 0 if the line is none. */
static size_t token_end(const struct line *l)
{
	bool space = false;

	for (size_t i = 0; i < l->n; i++) {
		char c = l->p[i];

		if (c == ':')
			return i;
		if (!space && is_token(c))
			continue;
		if (!i || (c != ' ' && c != '\t'))
			return 0;
		space = true;
	}
	return 0;
}

static bool written_by_git(const struct line *l)
{
	return starts_with(l, "Signed-off-by: ") || starts_with(l, "(cherry picked from commit ");
}

/* First line of the block of trailers; `x->n` if there is none. */
static size_t find_block(const struct lines *x)
{
	size_t title = 0, trailers = 0, others = 0, folded = 0;
	bool by_git = false, seen = false;

	while (title < x->n && (is_comment(x->l + title) || !is_blank(x->l + title)))
		title++;
	for (size_t i = x->n; i-- > title;) {
		const struct line *l = x->l + i;

		if (is_comment(l)) {
			others += folded;
			folded = 0;
		} else if (is_blank(l)) {
			if (!seen)
				continue;
			others += folded;
			if ((by_git && trailers * 3 >= others) || (trailers && !others))
				return i + 1;
			return x->n;
		} else if (written_by_git(l) || (!is_space(l->p[0]) && token_end(l))) {
			by_git |= written_by_git(l);
			trailers++;
			folded = 0;
			seen = true;
		} else if (is_space(l->p[0])) {
			folded++;
			seen = true;
		} else {
			others += folded + 1;
			folded = 0;
			seen = true;
		}
	}
	return x->n;
}

/* A folded line: its leading space becomes one, as git unfolds it. */
static void unfold_line(struct kl_buf *b, const struct line *l)
{
	size_t skip = 0;

	while (skip < l->n && is_space(l->p[skip]))
		skip++;
	if (b->len)
		kl_buf_addch(b, ' ');
	kl_buf_add(b, l->p + skip, l->n - skip);
}

static void trim_right(char *s)
{
	size_t n = strlen(s);

	while (n && (is_space(s[n - 1]) || s[n - 1] == '\v' || s[n - 1] == '\f'))
		n--;
	s[n] = '\0';
}

/* Index of the key that the token of a trailer is, or n. */
static size_t which_key(const struct line *l, size_t end, const char *const *key, size_t n)
{
	while (end && is_space(l->p[end - 1]))
		end--;
	for (size_t i = 0; i < n; i++)
		if (end == strlen(key[i]) && !strncasecmp(l->p, key[i], end))
			return i;
	return n;
}

void kl_trailers_get(char **value, const char *message, const char *const *key, size_t n)
{
	KL_AUTO(lines_release) struct lines x = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	size_t at = n;
	bool open = false;

	memset(value, 0, n * sizeof(*value));
	split_message(&x, message);
	drop_tail(&x);
	for (size_t i = find_block(&x); i < x.n; i++) {
		const struct line *l = x.l + i;
		size_t end;

		/* a folded line belongs to whatever trailer is open */
		if (open && is_space(l->p[0])) {
			if (at == n)
				continue;
			kl_buf_clear(&b);
			kl_buf_adds(&b, value[at]);
			unfold_line(&b, l);
		} else {
			end = is_comment(l) ? 0 : token_end(l);
			open = end > 0;
			at = open ? which_key(l, end, key, n) : n;
			if (at == n)
				continue;
			kl_buf_clear(&b);
			unfold_line(&b, &(struct line){ l->p + end + 1, l->n - end - 1 });
		}
		free(value[at]);
		value[at] = kl_strndup(b.ptr, b.len);
	}
	for (size_t i = 0; i < n; i++)
		if (value[i])
			trim_right(value[i]);
}

char *kl_trailer_get(const char *message, const char *key)
{
	char *value;

	kl_trailers_get(&value, message, &key, 1);
	return value;
}

char *kl_trailer_subject(const char *message)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	const char *p = message;

	for (;;) {
		size_t n = strcspn(p, "\n");
		struct line l = { p, n };

		if (!is_blank(&l)) {
			if (b.len)
				kl_buf_addch(&b, ' ');
			kl_buf_add(&b, p, n);
			kl_buf_rtrim(&b);
		} else if (b.len) {
			break;
		}
		if (!p[n])
			break;
		p += n + 1;
	}
	return kl_buf_detach(&b);
}
