/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/source/loop_text.h"

#include <stdarg.h>
#include <string.h>

#include "base/mem.h"

/* --- copies of tokens ------------------------------------------------------------------------- */

static size_t token_end(const struct kl_ctokens *tokens, size_t i)
{
	return tokens->t[i].off + tokens->t[i].len;
}

static const char *replacement_of(const struct kl_ctokens *tokens, size_t i,
				  const struct kl_rename *rename, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (tokens->t[i].kind == KL_CT_IDENT && kl_ctoken_is(tokens, i, rename[k].from))
			return rename[k].to;
	return NULL;
}

/* Check that a sum at token `i` needs no parentheses: "[i + 1]", "(j + i + 1)". */
static bool may_be_bare(const struct kl_ctokens *tokens, size_t i)
{
	char before = i ? tokens->text[tokens->t[i - 1].off] : ' ';
	char after = i + 1 < tokens->n ? tokens->text[tokens->t[i + 1].off] : ' ';

	return strchr("[(,+", before) && strchr("]),+-", after);
}

void kl_ctokens_copy(struct kl_buf *out, const struct kl_ctokens *tokens, size_t first, size_t last,
		     const struct kl_rename *rename, size_t n)
{
	for (size_t i = first; i <= last; i++) {
		const char *to = replacement_of(tokens, i, rename, n);

		if (i > first && token_end(tokens, i - 1) < tokens->t[i].off)
			kl_buf_addch(out, ' ');
		if (!to)
			kl_buf_add(out, tokens->text + tokens->t[i].off, tokens->t[i].len);
		else if (strchr(to, ' ') && !may_be_bare(tokens, i))
			kl_buf_addf(out, "(%s)", to);
		else
			kl_buf_adds(out, to);
	}
}

char *kl_ctokens_text(const struct kl_ctokens *tokens, size_t first, size_t last,
		      const struct kl_rename *rename, size_t n)
{
	struct kl_buf out = KL_BUF_INIT;

	kl_ctokens_copy(&out, tokens, first, last, rename, n);
	return kl_buf_detach(&out);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Return the white space at the beginning of the line of token `i`; the caller frees it. */
static char *indent_of(const struct kl_ctokens *tokens, size_t i)
{
	size_t start = tokens->t[i].off, n = 0;

	while (start > 0 && tokens->text[start - 1] != '\n')
		start--;
	while (tokens->text[start + n] == ' ' || tokens->text[start + n] == '\t')
		n++;
	return kl_strndup(tokens->text + start, n);
}

void kl_loop_text_init(struct kl_loop_text *text, const struct kl_loops *loops,
		       const struct kl_loop *loop)
{
	KL_AUTO(kl_freep) char *inner = indent_of(loops->tokens, loop->body_first);
	size_t n;

	*text = (struct kl_loop_text){ .buf = KL_BUF_INIT, .loops = loops };
	text->indent = indent_of(loops->tokens, loop->first);
	n = strlen(text->indent);
	text->unit = kl_strdup(!strncmp(inner, text->indent, n) && inner[n] ? inner + n : "\t");
}

void kl_loop_text_release(struct kl_loop_text *text)
{
	kl_buf_release(&text->buf);
	free(text->indent);
	free(text->unit);
}

static void begin_line(struct kl_loop_text *text, int depth)
{
	if (text->buf.len) {
		kl_buf_addch(&text->buf, '\n');
		kl_buf_adds(&text->buf, text->indent);
	}
	for (int i = 0; i < depth && text->buf.len; i++)
		kl_buf_adds(&text->buf, text->unit);
	text->lines += depth == 0;
}

void kl_loop_text_line(struct kl_loop_text *text, int depth, const char *fmt, ...)
{
	va_list ap;

	begin_line(text, depth);
	va_start(ap, fmt);
	kl_buf_vaddf(&text->buf, fmt, ap);
	va_end(ap);
}

void kl_loop_text_code(struct kl_loop_text *text, const char *code)
{
	begin_line(text, 1);
	for (; *code; code++) {
		kl_buf_addch(&text->buf, *code);
		if (*code == '\n' && code[1] && code[1] != '\n')
			kl_buf_adds(&text->buf, text->unit);
	}
}

/* Add the comments before token `i`, a line each. */
static void add_comments(struct kl_loop_text *text, int depth, size_t i)
{
	const struct kl_ctokens *tokens = text->loops->tokens;
	size_t at = i ? token_end(tokens, i - 1) : 0, end = tokens->t[i].off;

	while (at < end) {
		size_t n = strcspn(tokens->text + at, "\n");
		const char *line = tokens->text + at;

		if (n > end - at)
			n = end - at;
		at += n + 1;
		while (n && strchr(" \t", *line)) {
			line++;
			n--;
		}
		while (n && strchr(" \t\r", line[n - 1]))
			n--;
		if (n)
			kl_loop_text_line(text, depth, "%.*s", (int)n, line);
	}
}

static void add_loop(struct kl_loop_text *text, int depth, const struct kl_loop *loop,
		     const struct kl_rename *rename, size_t n)
{
	const struct kl_ctokens *tokens = text->loops->tokens;
	struct kl_cstmts body;
	KL_AUTO(kl_freep) char *head = kl_ctokens_text(
		tokens, loop->first, (size_t)tokens->t[loop->first + 1].match, rename, n);

	kl_loop_text_line(text, depth, "%s%s", head, loop->braces ? " {" : "");
	if (kl_loop_body(&body, text->loops, loop)) {
		kl_loop_text_stmts(text, depth + 1, &body, rename, n);
	} else {
		KL_AUTO(kl_freep) char *all = kl_ctokens_text(tokens, loop->body_first,
							      loop->body_last, rename, n);

		kl_loop_text_line(text, depth + 1, "%s", all);
	}
	kl_cstmts_release(&body);
	if (loop->braces)
		kl_loop_text_line(text, depth, "}");
}

void kl_loop_text_stmt(struct kl_loop_text *text, int depth, const struct kl_cstmt *stmt,
		       const struct kl_rename *rename, size_t n)
{
	if (!n)
		add_comments(text, depth, stmt->first);
	if (stmt->kind == KL_CSTMT_LOOP) {
		add_loop(text, depth, stmt->loop, rename, n);
		return;
	}
	begin_line(text, depth);
	kl_ctokens_copy(&text->buf, text->loops->tokens, stmt->first, stmt->last, rename, n);
}

void kl_loop_text_stmts(struct kl_loop_text *text, int depth, const struct kl_cstmts *stmts,
			const struct kl_rename *rename, size_t n)
{
	for (size_t i = 0; i < stmts->n; i++)
		kl_loop_text_stmt(text, depth, &stmts->v[i], rename, n);
}

void kl_loop_text_replace(struct kl_cedits *cedits, struct kl_loop_text *text,
			  const struct kl_loop *loop)
{
	const struct kl_ctokens *tokens = text->loops->tokens;
	size_t before = loop->first - 1;
	int site = cedits->nsite;

	if (text->lines > 1 && loop->first && !loop->hinted &&
	    (kl_ctoken_is(tokens, before, ")") || kl_ctoken_is(tokens, before, "else"))) {
		KL_AUTO(kl_freep) char *outer = indent_of(tokens, before);

		kl_cedits_tokens(cedits, tokens, before, before,
				 kl_ctoken_is(tokens, before, ")") ? ") {" : "else {", site);
		kl_buf_addf(&text->buf, "\n%s}", outer);
	}
	kl_cedits_tokens(cedits, tokens, loop->first, loop->last, text->buf.ptr, site);
}

/* --- heads of loops --------------------------------------------------------------------------- */

char *kl_loop_head(const struct kl_loops *loops, const struct kl_loop *loop)
{
	size_t open = loop->first + 1;

	return kl_ctokens_text(loops->tokens, open + 1, (size_t)loops->tokens->t[open].match - 1,
			       NULL, 0);
}

char *kl_loop_bound(const struct kl_loops *loops, const struct kl_loop *loop)
{
	KL_AUTO(kl_freep) char *text = kl_ctokens_text(loops->tokens, loop->bound_first,
						       loop->bound_last, NULL, 0);

	return loop->bound_first == loop->bound_last ? kl_steal(&text) : kl_asprintf("(%s)", text);
}

/* Return "int64_t i = 0", as it is in the loop. */
static char *start_of(const struct kl_loops *loops, const struct kl_loop *loop)
{
	return kl_ctokens_text(loops->tokens, loop->first + 2, loop->from_last, NULL, 0);
}

char *kl_loop_wide_head(const struct kl_loops *loops, const struct kl_loop *loop, int64_t width)
{
	KL_AUTO(kl_freep) char *start = start_of(loops, loop);
	KL_AUTO(kl_freep) char *bound = kl_loop_bound(loops, loop);

	/* OpenMP allows only the counter itself before the "<". */
	if (loop->parallel && loop->from_zero)
		return kl_asprintf("%s; %s < %s / %lld * %lld; %s += %lld", start, loop->counter,
				   bound, (long long)width, (long long)width, loop->counter,
				   (long long)width);
	return kl_asprintf("%s; %s + %lld <= %s; %s += %lld", start, loop->counter,
			   (long long)width, bound, loop->counter, (long long)width);
}

char *kl_loop_rest_head(const struct kl_loops *loops, const struct kl_loop *loop, int64_t width)
{
	const struct kl_ctokens *tokens = loops->tokens;
	KL_AUTO(kl_freep) char *bound = kl_loop_bound(loops, loop);
	KL_AUTO(kl_freep) char *plain = kl_ctokens_text(tokens, loop->bound_first, loop->bound_last,
							NULL, 0);
	KL_AUTO(kl_freep) char *from = kl_ctokens_text(tokens, loop->from_first, loop->from_last,
						       NULL, 0);
	KL_AUTO(kl_freep) char *name = kl_ctokens_text(tokens, loop->first + 2,
						       loop->from_first - 1, NULL, 0);

	if (!loop->declares && !loop->parallel)
		return kl_asprintf("; %s < %s; %s++", loop->counter, plain, loop->counter);
	if (loop->from_zero)
		return kl_asprintf("%s %s / %lld * %lld; %s < %s; %s++", name, bound,
				   (long long)width, (long long)width, loop->counter, plain,
				   loop->counter);
	return kl_asprintf("%s (%s) + (%s - (%s)) / %lld * %lld; %s < %s; %s++", name, from, bound,
			   from, (long long)width, (long long)width, loop->counter, plain,
			   loop->counter);
}
