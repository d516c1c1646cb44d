/* SPDX-License-Identifier: Apache-2.0 */
/* trailer - reads the trailers of a commit message as git does */
#include "repo/repo.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * The rules are those of git interpret-trailers, as documented and as observed. Trailers are in the
 * last paragraph, unless that is also the first paragraph; only comments can follow them. Either
 * all lines of this paragraph are trailers, or at least a quarter of the lines are trailers and git
 * itself wrote one of the trailers.
 */
static const char scissors[] = "# ------------------------ >8 ------------------------\n";

struct line {
	const char *text;
	size_t len; /* without the newline */
};

struct lines {
	struct line *l;
	size_t n, alloc;
};

static void lines_release(struct lines *lines)
{
	free(lines->l);
}

/*
 * Return true if git treats this character as a space. Unlike C's isspace(), git's does not include
 * \v and \f, and ignores the locale.
 */
static bool is_space(char ch)
{
	return ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r';
}

static bool is_token(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       ch == '-';
}

static bool starts_with(const struct line *line, const char *prefix)
{
	size_t n = strlen(prefix);

	return line->len >= n && !memcmp(line->text, prefix, n);
}

static bool is_comment(const struct line *line)
{
	return line->len && line->text[0] == '#';
}

static bool is_blank(const struct line *line)
{
	for (size_t i = 0; i < line->len; i++)
		if (!is_space(line->text[i]))
			return false;
	return true;
}

/*
 * Split the message into lines, up to the start of a patch ("---") or the scissors line of `git
 * commit --verbose`.
 */
static void split_message(struct lines *out, const char *message)
{
	for (const char *at = message; *at;) {
		size_t n = strcspn(at, "\n");

		if (!strncmp(at, "---", 3) && is_space(at[3]))
			return;
		if (!strncmp(at, scissors, sizeof(scissors) - 1))
			return;
		KL_GROW(out->l, out->n + 1, out->alloc);
		out->l[out->n++] = (struct line){ at, n };
		at += n + (at[n] == '\n');
	}
}

/* Remove comments, empty lines and an old-style list "Conflicts:" from the end. */
static void drop_tail(struct lines *lines)
{
	size_t keep = 0;
	bool conflicts = false;

	for (size_t i = 0; i < lines->n; i++) {
		const struct line *line = lines->l + i;

		if (!line->len || is_comment(line))
			continue;
		if (line->len == strlen("Conflicts:") && starts_with(line, "Conflicts:") &&
		    line->text[line->len] == '\n') {
			conflicts = true;
			continue;
		}
		if (conflicts && line->text[0] == '\t')
			continue;
		keep = i + 1;
		conflicts = false;
	}
	lines->n = keep;
}

/* Return the length of the token before the colon of a trailer; 0 if the line is not a trailer. */
static size_t token_end(const struct line *line)
{
	bool space = false;

	for (size_t i = 0; i < line->len; i++) {
		char ch = line->text[i];

		if (ch == ':')
			return i;
		if (!space && is_token(ch))
			continue;
		if (!i || (ch != ' ' && ch != '\t'))
			return 0;
		space = true;
	}
	return 0;
}

static bool written_by_git(const struct line *line)
{
	return starts_with(line, "Signed-off-by: ") ||
	       starts_with(line, "(cherry picked from commit ");
}

/* Return the index of the first line of the trailers; `lines->n` if there are none. */
static size_t find_block(const struct lines *lines)
{
	size_t title = 0, trailers = 0, others = 0, folded = 0;
	bool by_git = false, seen = false;

	while (title < lines->n && (is_comment(lines->l + title) || !is_blank(lines->l + title)))
		title++;
	for (size_t i = lines->n; i-- > title;) {
		const struct line *line = lines->l + i;

		if (is_comment(line)) {
			others += folded;
			folded = 0;
		} else if (is_blank(line)) {
			if (!seen)
				continue;
			others += folded;
			if ((by_git && trailers * 3 >= others) || (trailers && !others))
				return i + 1;
			return lines->n;
		} else if (written_by_git(line) || (!is_space(line->text[0]) && token_end(line))) {
			by_git |= written_by_git(line);
			trailers++;
			folded = 0;
			seen = true;
		} else if (is_space(line->text[0])) {
			folded++;
			seen = true;
		} else {
			others += folded + 1;
			folded = 0;
			seen = true;
		}
	}
	return lines->n;
}

/*
 * Append a line with its leading white space replaced by one space, as git unfolds a continuation
 * line.
 */
static void unfold_line(struct kl_buf *buf, const struct line *line)
{
	size_t skip = 0;

	while (skip < line->len && is_space(line->text[skip]))
		skip++;
	if (buf->len)
		kl_buf_addch(buf, ' ');
	kl_buf_add(buf, line->text + skip, line->len - skip);
}

static void trim_right(char *text)
{
	size_t n = strlen(text);

	while (n && (is_space(text[n - 1]) || text[n - 1] == '\v' || text[n - 1] == '\f'))
		n--;
	text[n] = '\0';
}

/*
 * Return the index of the key that equals the token of the trailer, which is the first `end` bytes
 * of the line; return `n` if no key does.
 */
static size_t which_key(const struct line *line, size_t end, const char *const *key, size_t n)
{
	while (end && is_space(line->text[end - 1]))
		end--;
	for (size_t i = 0; i < n; i++)
		if (end == strlen(key[i]) && !strncasecmp(line->text, key[i], end))
			return i;
	return n;
}

void kl_trailers_get(char **value, const char *message, const char *const *key, size_t n)
{
	KL_AUTO(lines_release) struct lines lines = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	size_t at = n;
	bool open = false;

	memset(value, 0, n * sizeof(*value));
	split_message(&lines, message);
	drop_tail(&lines);
	for (size_t i = find_block(&lines); i < lines.n; i++) {
		const struct line *line = lines.l + i;
		size_t end;

		/* a continuation line belongs to the preceding trailer */
		if (open && is_space(line->text[0])) {
			if (at == n)
				continue;
			kl_buf_clear(&buf);
			kl_buf_adds(&buf, value[at]);
			unfold_line(&buf, line);
		} else {
			end = is_comment(line) ? 0 : token_end(line);
			open = end > 0;
			at = open ? which_key(line, end, key, n) : n;
			if (at == n)
				continue;
			kl_buf_clear(&buf);
			unfold_line(&buf,
				    &(struct line){ line->text + end + 1, line->len - end - 1 });
		}
		free(value[at]);
		value[at] = kl_strndup(buf.ptr, buf.len);
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
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	const char *at = message;

	for (;;) {
		size_t n = strcspn(at, "\n");
		struct line line = { at, n };

		if (!is_blank(&line)) {
			if (buf.len)
				kl_buf_addch(&buf, ' ');
			kl_buf_add(&buf, at, n);
			kl_buf_rtrim(&buf);
		} else if (buf.len) {
			break;
		}
		if (!at[n])
			break;
		at += n + 1;
	}
	return kl_buf_detach(&buf);
}
