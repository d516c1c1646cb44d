/* SPDX-License-Identifier: Apache-2.0 */
#include "adopt/shell_line.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"

struct splitter {
	struct kl_shell_line *out;
	const char *at, *end;
	struct kl_buf word, raw; /* the word so far, with quotes resolved, and as written */
	bool in_word, unknown;   /* unknown: the value of the word depends on a shell */
	bool skip;               /* the word is the file of a redirection */
	bool begin;              /* the next word begins a command */
};

static void end_word(struct splitter *split)
{
	struct kl_shell_line *out = split->out;
	bool dropped = split->unknown || split->skip;

	if (!split->in_word)
		return;
	if (split->unknown && !split->skip)
		kl_strvec_push(&out->unknown, split->raw.ptr);
	if (!dropped && split->begin) {
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n++] = (struct kl_strvec)KL_STRVEC_INIT;
		split->begin = false;
	}
	if (!dropped)
		kl_strvec_push(&out->v[out->n - 1], split->word.len ? split->word.ptr : "");
	kl_buf_clear(&split->word);
	kl_buf_clear(&split->raw);
	split->in_word = split->unknown = split->skip = false;
}

static void add_char(struct splitter *split, char ch)
{
	split->in_word = true;
	kl_buf_add(&split->word, &ch, 1);
}

/* Skip $NAME, ${...}, $(...) or `...`; split->at is after the first character. */
static int skip_substitution(struct splitter *split, char first)
{
	const char *from = split->at;
	int depth = 0;

	split->in_word = split->unknown = true;
	if (first == '$' && (from == split->end || (*from != '(' && *from != '{')))
		return 0;
	for (; split->at < split->end; split->at++) {
		char ch = *split->at;

		if (first == '`' && ch == '`') {
			split->at++;
			return 0;
		}
		if (first == '`')
			continue;
		depth += ch == '(' || ch == '{';
		depth -= ch == ')' || ch == '}';
		if (!depth) {
			split->at++;
			return 0;
		}
	}
	return kl_error(KL_EINVALID, "unterminated command substitution");
}

static int read_single(struct splitter *split)
{
	const char *close = memchr(split->at, '\'', (size_t)(split->end - split->at));

	split->in_word = true;
	if (!close)
		return kl_error(KL_EINVALID, "unterminated single quote");
	kl_buf_add(&split->word, split->at, (size_t)(close - split->at));
	split->at = close + 1;
	return 0;
}

static int read_double(struct splitter *split)
{
	split->in_word = true;
	while (split->at < split->end) {
		char ch = *split->at++;

		if (ch == '"')
			return 0;
		if (ch == '$' || ch == '`') {
			int err = skip_substitution(split, ch);

			if (err < 0)
				return err;
			continue;
		}
		if (ch == '\\' && split->at < split->end && strchr("\"\\$`\n", *split->at))
			ch = *split->at++;
		if (ch != '\n' || split->at[-2] != '\\')
			kl_buf_add(&split->word, &ch, 1);
	}
	return kl_error(KL_EINVALID, "unterminated double quote");
}

static void read_backslash(struct splitter *split)
{
	if (split->at == split->end)
		return;
	if (*split->at == '\n' || *split->at == '\r')
		split->at += *split->at == '\r' && split->at + 1 < split->end &&
					     split->at[1] == '\n' ?
				     2 :
				     1;
	else
		add_char(split, *split->at++);
}

/*
 * Read > or <. A number directly before it is a descriptor, and the next word is a file; both are
 * left out.
 */
static void read_redirection(struct splitter *split)
{
	bool number = split->in_word && split->word.len &&
		      strspn(split->word.ptr, "0123456789") == split->word.len;

	split->skip |= number;
	end_word(split);
	while (split->at < split->end && strchr("<>&|", *split->at))
		split->at++;
	while (split->at < split->end && (*split->at == ' ' || *split->at == '\t'))
		split->at++;
	split->skip = true;
}

static int read_char(struct splitter *split)
{
	char ch = *split->at++;

	switch (ch) {
	case '\'':
		return read_single(split);
	case '"':
		return read_double(split);
	case '\\':
		read_backslash(split);
		return 0;
	case '$':
	case '`':
		return skip_substitution(split, ch);
	case ' ':
	case '\t':
	case '\r':
		end_word(split);
		return 0;
	case '<':
	case '>':
		read_redirection(split);
		return 0;
	case '#':
		if (split->in_word)
			break;
		while (split->at < split->end && *split->at != '\n')
			split->at++;
		return 0;
	case '\n':
	case ';':
	case '&':
	case '|':
	case '(':
	case ')':
		end_word(split);
		split->begin = true;
		split->skip = false;
		return 0;
	}
	add_char(split, ch);
	return 0;
}

int kl_shell_split(struct kl_shell_line *out, const char *text, size_t len)
{
	struct splitter split = {
		.out = out,
		.at = text,
		.end = text + len,
		.word = KL_BUF_INIT,
		.raw = KL_BUF_INIT,
		.begin = true,
	};
	int err = 0;

	if (len > KL_SHELL_MAX_LINE)
		return kl_error(KL_EINVALID, "the command has more than %zu bytes",
				KL_SHELL_MAX_LINE);
	while (!err && split.at < split.end) {
		const char *from = split.at;

		err = read_char(&split);
		if (split.in_word)
			kl_buf_add(&split.raw, from, (size_t)(split.at - from));
	}
	end_word(&split);
	kl_buf_release(&split.word);
	kl_buf_release(&split.raw);
	return err;
}

void kl_shell_release(struct kl_shell_line *line)
{
	for (size_t i = 0; i < line->n; i++)
		kl_strvec_release(&line->v[i]);
	free(line->v);
	kl_strvec_release(&line->unknown);
	*line = (struct kl_shell_line){ .v = NULL };
}
