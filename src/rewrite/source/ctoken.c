/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/source/ctoken.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"

struct lexer {
	const char *s;
	size_t len, pos;
	int line;
	bool line_start; /* there was only white space since the last newline */
};

static int peek_char(const struct lexer *lexer, size_t ahead)
{
	return lexer->pos + ahead < lexer->len ? (unsigned char)lexer->s[lexer->pos + ahead] : -1;
}

static void step_char(struct lexer *lexer)
{
	if (lexer->s[lexer->pos] == '\n') {
		lexer->line++;
		lexer->line_start = true;
	}
	lexer->pos++;
}

static void skip_comment(struct lexer *lexer)
{
	if (peek_char(lexer, 1) == '/') {
		while (lexer->pos < lexer->len && lexer->s[lexer->pos] != '\n')
			step_char(lexer);
		return;
	}
	step_char(lexer);
	step_char(lexer);
	while (lexer->pos < lexer->len &&
	       !(peek_char(lexer, 0) == '*' && peek_char(lexer, 1) == '/'))
		step_char(lexer);
	for (int i = 0; i < 2 && lexer->pos < lexer->len; i++)
		step_char(lexer);
}

static bool at_comment(const struct lexer *lexer)
{
	return peek_char(lexer, 0) == '/' &&
	       (peek_char(lexer, 1) == '/' || peek_char(lexer, 1) == '*');
}

/* Skip a directive up to its newline, including comments and continuation lines. */
static void take_directive(struct lexer *lexer)
{
	while (lexer->pos < lexer->len && lexer->s[lexer->pos] != '\n') {
		if (lexer->s[lexer->pos] == '\\' && lexer->pos + 1 < lexer->len) {
			step_char(lexer);
			step_char(lexer);
		} else if (at_comment(lexer)) {
			skip_comment(lexer);
		} else {
			step_char(lexer);
		}
	}
}

static void take_quoted(struct lexer *lexer)
{
	char quote = lexer->s[lexer->pos];

	step_char(lexer);
	while (lexer->pos < lexer->len && lexer->s[lexer->pos] != quote &&
	       lexer->s[lexer->pos] != '\n') {
		if (lexer->s[lexer->pos] == '\\' && lexer->pos + 1 < lexer->len)
			step_char(lexer);
		step_char(lexer);
	}
	if (lexer->pos < lexer->len && lexer->s[lexer->pos] == quote)
		step_char(lexer);
}

static bool is_word(int ch)
{
	return ch == '_' || ch == '$' || (ch >= 0 && isalnum(ch)) || ch >= 0x80;
}

static enum kl_ctok_kind take_token(struct lexer *lexer)
{
	int ch = peek_char(lexer, 0);

	if (ch == '#' && lexer->line_start) {
		take_directive(lexer);
		return KL_CT_DIRECTIVE;
	}
	if (ch == '"' || ch == '\'') {
		take_quoted(lexer);
		return KL_CT_STRING;
	}
	if (isdigit(ch) || (ch == '.' && isdigit(peek_char(lexer, 1)))) {
		while (is_word(peek_char(lexer, 0)) || peek_char(lexer, 0) == '.' ||
		       ((peek_char(lexer, 0) == '+' || peek_char(lexer, 0) == '-') &&
			strchr("eEpP", lexer->s[lexer->pos - 1])))
			step_char(lexer);
		return KL_CT_NUMBER;
	}
	if (is_word(ch)) {
		while (is_word(peek_char(lexer, 0)))
			step_char(lexer);
		return KL_CT_IDENT;
	}
	step_char(lexer);
	return KL_CT_PUNCT;
}

static void match_brackets(struct kl_ctokens *tokens)
{
	size_t *open = kl_calloc(tokens->n + 1, sizeof(*open));
	size_t depth = 0;

	for (size_t i = 0; i < tokens->n; i++) {
		char ch = tokens->text[tokens->t[i].off];
		char want = ch == ')' ? '(' : ch == ']' ? '[' : '{';

		if (tokens->t[i].kind != KL_CT_PUNCT)
			continue;
		if (ch == '(' || ch == '[' || ch == '{') {
			open[depth++] = i;
		} else if (ch == ')' || ch == ']' || ch == '}') {
			if (depth && tokens->text[tokens->t[open[depth - 1]].off] == want) {
				depth--;
				tokens->t[i].match = (int)open[depth];
				tokens->t[open[depth]].match = (int)i;
			}
		}
	}
	free(open);
}

/* Return the index of a function's name if `brace` opens the function's body, else -1. */
static long name_of_body(const struct kl_ctokens *tokens, size_t brace)
{
	long i = (long)brace - 1;

	while (i > 0 && kl_ctoken_is(tokens, i, ")") && tokens->t[i].match > 0) {
		long name = tokens->t[i].match - 1;

		if (tokens->t[name].kind != KL_CT_IDENT)
			return -1;
		if (!kl_ctoken_is(tokens, name, "__attribute__"))
			return name;
		i = name - 1;
	}
	return -1;
}

/*
 * Check whether `brace` opens an extern "C" block or a namespace, which contains functions but is
 * not the body of one.
 */
static bool opens_scope(const struct kl_ctokens *tokens, size_t brace)
{
	if (brace && kl_ctoken_is(tokens, brace - 1, "namespace"))
		return true;
	return brace > 1 && ((tokens->t[brace - 1].kind == KL_CT_STRING &&
			      kl_ctoken_is(tokens, brace - 2, "extern")) ||
			     kl_ctoken_is(tokens, brace - 2, "namespace"));
}

static void find_functions(struct kl_ctokens *tokens)
{
	for (size_t i = 0; i < tokens->n; i++) {
		long name;

		if (!kl_ctoken_is(tokens, i, "{") || tokens->t[i].match < 0 ||
		    opens_scope(tokens, i))
			continue;
		name = name_of_body(tokens, i);
		if (name >= 0) {
			struct kl_cfn *cfn;
			size_t first = name;

			/* the declaration begins after the last ; { } or directive */
			while (first > 0 && !kl_ctoken_is(tokens, first - 1, ";") &&
			       !kl_ctoken_is(tokens, first - 1, "{") &&
			       !kl_ctoken_is(tokens, first - 1, "}") &&
			       tokens->t[first - 1].kind != KL_CT_DIRECTIVE)
				first--;
			KL_GROW(tokens->fn, tokens->nfn + 1, tokens->fn_alloc);
			cfn = &tokens->fn[tokens->nfn++];
			cfn->name_off = tokens->t[name].off;
			cfn->name_len = tokens->t[name].len;
			cfn->first = first;
			cfn->last = tokens->t[i].match;
			for (size_t k = first; k <= cfn->last; k++)
				tokens->t[k].fn = (int)tokens->nfn - 1;
		}
		i = tokens->t[i].match;
	}
}

void kl_ctoken_lex(struct kl_ctokens *out, const char *text, size_t len)
{
	struct lexer lexer = {
		.s = text, .len = len < INT_MAX ? len : INT_MAX, .line = 1, .line_start = true
	};

	*out = (struct kl_ctokens){ .text = text, .len = lexer.len };
	while (lexer.pos < lexer.len) {
		struct kl_ctok *token;
		size_t off = lexer.pos;
		int line = lexer.line;
		enum kl_ctok_kind kind;

		if (isspace((unsigned char)lexer.s[lexer.pos])) {
			step_char(&lexer);
			continue;
		}
		if (at_comment(&lexer)) {
			skip_comment(&lexer);
			continue;
		}
		kind = take_token(&lexer);
		lexer.line_start = false;
		KL_GROW(out->t, out->n + 1, out->alloc);
		token = &out->t[out->n++];
		*token = (struct kl_ctok){ .kind = kind,
					   .off = off,
					   .len = lexer.pos - off,
					   .line = line,
					   .fn = -1,
					   .match = -1 };
	}
	match_brackets(out);
	find_functions(out);
}

void kl_ctokens_release(struct kl_ctokens *tokens)
{
	free(tokens->t);
	free(tokens->fn);
	*tokens = (struct kl_ctokens){ 0 };
}

bool kl_ctoken_is(const struct kl_ctokens *tokens, size_t i, const char *text)
{
	size_t n = strlen(text);

	return i < tokens->n && tokens->t[i].len == n &&
	       !memcmp(tokens->text + tokens->t[i].off, text, n);
}

static char *function_name(const struct kl_ctokens *tokens, int fn)
{
	if (fn < 0)
		return kl_strdup("");
	return kl_strndup(tokens->text + tokens->fn[fn].name_off, tokens->fn[fn].name_len);
}

char *kl_ctoken_function(const struct kl_ctokens *tokens, size_t i)
{
	return function_name(tokens, i < tokens->n ? tokens->t[i].fn : -1);
}

char *kl_ctoken_function_at(const struct kl_ctokens *tokens, int line)
{
	for (size_t func = 0; func < tokens->nfn; func++)
		if (tokens->t[tokens->fn[func].first].line <= line &&
		    line <= tokens->t[tokens->fn[func].last].line)
			return function_name(tokens, (int)func);
	return kl_strdup("");
}

static size_t skip_blanks(const char *text, size_t at, size_t end)
{
	while (at < end && (text[at] == ' ' || text[at] == '\t'))
		at++;
	return at;
}

bool kl_ctoken_define(struct kl_cdefine *out, const struct kl_ctokens *tokens, size_t i)
{
	const char *text = tokens->text;
	size_t end = tokens->t[i].off + tokens->t[i].len;
	size_t at = skip_blanks(text, tokens->t[i].off + 1, end);

	if (end - at < 8 || memcmp(text + at, "define", 6) || !isspace((unsigned char)text[at + 6]))
		return false;
	out->name = at = skip_blanks(text, at + 6, end);
	while (at < end && (isalnum((unsigned char)text[at]) || text[at] == '_'))
		at++;
	out->name_len = at - out->name;
	out->body = at;
	out->end = end;
	return out->name_len > 0;
}

void kl_cedits_release(struct kl_cedits *cedits)
{
	for (size_t i = 0; i < cedits->n; i++)
		free(cedits->e[i].with);
	free(cedits->e);
	*cedits = (struct kl_cedits){ 0 };
}

void kl_cedits_tokens(struct kl_cedits *cedits, const struct kl_ctokens *tokens, size_t first,
		      size_t last, const char *with, int site)
{
	struct kl_cedit *edit;

	KL_GROW(cedits->e, cedits->n + 1, cedits->alloc);
	edit = &cedits->e[cedits->n++];
	edit->off = tokens->t[first].off;
	edit->len = tokens->t[last].off + tokens->t[last].len - edit->off;
	edit->with = kl_strdup(with);
	edit->site = site;
	edit->line = tokens->t[first].line;
	edit->fn = tokens->t[first].fn;
	if (site >= cedits->nsite)
		cedits->nsite = site + 1;
}

/* Widen a removal to whole lines, including the newline, if it would leave them blank. */
static void widen_to_line(size_t *from, size_t *to, const char *text, size_t len)
{
	size_t start = *from, end = *to;

	while (start > 0 && (text[start - 1] == ' ' || text[start - 1] == '\t'))
		start--;
	while (end < len && (text[end] == ' ' || text[end] == '\t'))
		end++;
	if ((start == 0 || text[start - 1] == '\n') && (end == len || text[end] == '\n')) {
		*from = start;
		*to = end < len ? end + 1 : end;
	} else if (end > *to && (start == 0 || start < *from || strchr("\n(*", text[start - 1]))) {
		*to = end; /* inside a line: leave no two blanks in a row */
	}
}

static int by_offset(const void *pa, const void *pb)
{
	const struct kl_cedit *a = *(const struct kl_cedit *const *)pa;
	const struct kl_cedit *b = *(const struct kl_cedit *const *)pb;

	return a->off < b->off ? -1 : a->off > b->off;
}

void kl_cedits_apply(struct kl_buf *out, const struct kl_ctokens *tokens,
		     const struct kl_cedits *cedits,
		     bool (*take_it)(const struct kl_cedit *cedits, void *payload), void *payload)
{
	const struct kl_cedit **order = kl_calloc(cedits->n + 1, sizeof(*order));
	size_t n = 0, pos = 0;

	for (size_t i = 0; i < cedits->n; i++)
		if (!take_it || take_it(&cedits->e[i], payload))
			order[n++] = &cedits->e[i];
	qsort(order, n, sizeof(*order), by_offset);
	for (size_t i = 0; i < n; i++) {
		size_t from = order[i]->off, to = from + order[i]->len;

		if (from < pos)
			continue;
		if (!*order[i]->with)
			widen_to_line(&from, &to, tokens->text, tokens->len);
		if (from < pos)
			from = pos;
		kl_buf_add(out, tokens->text + pos, from - pos);
		kl_buf_adds(out, order[i]->with);
		pos = to;
	}
	kl_buf_add(out, tokens->text + pos, tokens->len - pos);
	free(order);
}
