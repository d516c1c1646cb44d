/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/ctoken.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"

struct lexer {
	const char *s;
	size_t len, pos;
	int line;
	bool line_start; /* only white space since the last newline */
};

static int peek_char(const struct lexer *l, size_t ahead)
{
	return l->pos + ahead < l->len ? (unsigned char)l->s[l->pos + ahead] : -1;
}

static void step_char(struct lexer *l)
{
	if (l->s[l->pos] == '\n') {
		l->line++;
		l->line_start = true;
	}
	l->pos++;
}

static void skip_comment(struct lexer *l)
{
	if (peek_char(l, 1) == '/') {
		while (l->pos < l->len && l->s[l->pos] != '\n')
			step_char(l);
		return;
	}
	step_char(l);
	step_char(l);
	while (l->pos < l->len && !(peek_char(l, 0) == '*' && peek_char(l, 1) == '/'))
		step_char(l);
	for (int i = 0; i < 2 && l->pos < l->len; i++)
		step_char(l);
}

static bool at_comment(const struct lexer *l)
{
	return peek_char(l, 0) == '/' && (peek_char(l, 1) == '/' || peek_char(l, 1) == '*');
}

/* a directive ends before its newline; comments and continuations belong to it */
static void take_directive(struct lexer *l)
{
	while (l->pos < l->len && l->s[l->pos] != '\n') {
		if (l->s[l->pos] == '\\' && l->pos + 1 < l->len) {
			step_char(l);
			step_char(l);
		} else if (at_comment(l)) {
			skip_comment(l);
		} else {
			step_char(l);
		}
	}
}

static void take_quoted(struct lexer *l)
{
	char quote = l->s[l->pos];

	step_char(l);
	while (l->pos < l->len && l->s[l->pos] != quote && l->s[l->pos] != '\n') {
		if (l->s[l->pos] == '\\' && l->pos + 1 < l->len)
			step_char(l);
		step_char(l);
	}
	if (l->pos < l->len && l->s[l->pos] == quote)
		step_char(l);
}

static bool is_word(int c)
{
	return c == '_' || c == '$' || (c >= 0 && isalnum(c)) || c >= 0x80;
}

static enum kl_ctok_kind take_token(struct lexer *l)
{
	int c = peek_char(l, 0);

	if (c == '#' && l->line_start) {
		take_directive(l);
		return KL_CT_DIRECTIVE;
	}
	if (c == '"' || c == '\'') {
		take_quoted(l);
		return KL_CT_STRING;
	}
	if (isdigit(c) || (c == '.' && isdigit(peek_char(l, 1)))) {
		while (is_word(peek_char(l, 0)) || peek_char(l, 0) == '.' ||
		       ((peek_char(l, 0) == '+' || peek_char(l, 0) == '-') &&
			strchr("eEpP", l->s[l->pos - 1])))
			step_char(l);
		return KL_CT_NUMBER;
	}
	if (is_word(c)) {
		while (is_word(peek_char(l, 0)))
			step_char(l);
		return KL_CT_IDENT;
	}
	step_char(l);
	return KL_CT_PUNCT;
}

static void match_brackets(struct kl_ctokens *c)
{
	size_t *open = kl_calloc(c->n + 1, sizeof(*open));
	size_t depth = 0;

	for (size_t i = 0; i < c->n; i++) {
		char ch = c->text[c->t[i].off];
		char want = ch == ')' ? '(' : ch == ']' ? '[' : '{';

		if (c->t[i].kind != KL_CT_PUNCT)
			continue;
		if (ch == '(' || ch == '[' || ch == '{') {
			open[depth++] = i;
		} else if (ch == ')' || ch == ']' || ch == '}') {
			if (depth && c->text[c->t[open[depth - 1]].off] == want) {
				depth--;
				c->t[i].match = (int)open[depth];
				c->t[open[depth]].match = (int)i;
			}
		}
	}
	free(open);
}

/* token of the function's name for a body that opens at `brace`, or -1 */
static long name_of_body(const struct kl_ctokens *c, size_t brace)
{
	long i = (long)brace - 1;

	while (i > 0 && kl_ctoken_is(c, i, ")") && c->t[i].match > 0) {
		long name = c->t[i].match - 1;

		if (c->t[name].kind != KL_CT_IDENT)
			return -1;
		if (!kl_ctoken_is(c, name, "__attribute__"))
			return name;
		i = name - 1;
	}
	return -1;
}

/* extern "C" { and namespace x { hold functions, and are none */
static bool opens_scope(const struct kl_ctokens *c, size_t brace)
{
	if (brace && kl_ctoken_is(c, brace - 1, "namespace"))
		return true;
	return brace > 1 &&
	       ((c->t[brace - 1].kind == KL_CT_STRING && kl_ctoken_is(c, brace - 2, "extern")) ||
		kl_ctoken_is(c, brace - 2, "namespace"));
}

static void find_functions(struct kl_ctokens *c)
{
	for (size_t i = 0; i < c->n; i++) {
		long name;

		if (!kl_ctoken_is(c, i, "{") || c->t[i].match < 0 || opens_scope(c, i))
			continue;
		name = name_of_body(c, i);
		if (name >= 0) {
			struct kl_cfn *f;
			size_t first = name;

			/* the declaration begins after the last ; { } or directive */
			while (first > 0 && !kl_ctoken_is(c, first - 1, ";") &&
			       !kl_ctoken_is(c, first - 1, "{") &&
			       !kl_ctoken_is(c, first - 1, "}") &&
			       c->t[first - 1].kind != KL_CT_DIRECTIVE)
				first--;
			KL_GROW(c->fn, c->nfn + 1, c->fn_alloc);
			f = &c->fn[c->nfn++];
			f->name_off = c->t[name].off;
			f->name_len = c->t[name].len;
			f->first = first;
			f->last = c->t[i].match;
			for (size_t k = first; k <= f->last; k++)
				c->t[k].fn = (int)c->nfn - 1;
		}
		i = c->t[i].match;
	}
}

void kl_ctoken_lex(struct kl_ctokens *out, const char *text, size_t len)
{
	struct lexer l = {
		.s = text, .len = len < INT_MAX ? len : INT_MAX, .line = 1, .line_start = true
	};

	*out = (struct kl_ctokens){ .text = text, .len = l.len };
	while (l.pos < l.len) {
		struct kl_ctok *t;
		size_t off = l.pos;
		int line = l.line;
		enum kl_ctok_kind kind;

		if (isspace((unsigned char)l.s[l.pos])) {
			step_char(&l);
			continue;
		}
		if (at_comment(&l)) {
			skip_comment(&l);
			continue;
		}
		kind = take_token(&l);
		l.line_start = false;
		KL_GROW(out->t, out->n + 1, out->alloc);
		t = &out->t[out->n++];
		*t = (struct kl_ctok){ .kind = kind,
				       .off = off,
				       .len = l.pos - off,
				       .line = line,
				       .fn = -1,
				       .match = -1 };
	}
	match_brackets(out);
	find_functions(out);
}

void kl_ctokens_release(struct kl_ctokens *c)
{
	free(c->t);
	free(c->fn);
	*c = (struct kl_ctokens){ 0 };
}

bool kl_ctoken_is(const struct kl_ctokens *c, size_t i, const char *s)
{
	size_t n = strlen(s);

	return i < c->n && c->t[i].len == n && !memcmp(c->text + c->t[i].off, s, n);
}

static char *function_name(const struct kl_ctokens *c, int fn)
{
	if (fn < 0)
		return kl_strdup("");
	return kl_strndup(c->text + c->fn[fn].name_off, c->fn[fn].name_len);
}

char *kl_ctoken_function(const struct kl_ctokens *c, size_t i)
{
	return function_name(c, i < c->n ? c->t[i].fn : -1);
}

char *kl_ctoken_function_at(const struct kl_ctokens *c, int line)
{
	for (size_t f = 0; f < c->nfn; f++)
		if (c->t[c->fn[f].first].line <= line && line <= c->t[c->fn[f].last].line)
			return function_name(c, (int)f);
	return kl_strdup("");
}

void kl_cedits_release(struct kl_cedits *e)
{
	for (size_t i = 0; i < e->n; i++)
		free(e->e[i].with);
	free(e->e);
	*e = (struct kl_cedits){ 0 };
}

void kl_cedits_tokens(struct kl_cedits *e, const struct kl_ctokens *c, size_t first, size_t last,
		      const char *with, int site)
{
	struct kl_cedit *d;

	KL_GROW(e->e, e->n + 1, e->alloc);
	d = &e->e[e->n++];
	d->off = c->t[first].off;
	d->len = c->t[last].off + c->t[last].len - d->off;
	d->with = kl_strdup(with);
	d->site = site;
	d->line = c->t[first].line;
	d->fn = c->t[first].fn;
	if (site >= e->nsite)
		e->nsite = site + 1;
}

/* a removal that leaves its lines blank takes them along, with their newline */
static void widen_to_line(size_t *from, size_t *to, const char *text, size_t len)
{
	size_t a = *from, b = *to;

	while (a > 0 && (text[a - 1] == ' ' || text[a - 1] == '\t'))
		a--;
	while (b < len && (text[b] == ' ' || text[b] == '\t'))
		b++;
	if ((a == 0 || text[a - 1] == '\n') && (b == len || text[b] == '\n')) {
		*from = a;
		*to = b < len ? b + 1 : b;
	} else if (b > *to && (a == 0 || a < *from || strchr("\n(*", text[a - 1]))) {
		*to = b; /* inside a line: not two blanks in a row */
	}
}

static int by_offset(const void *pa, const void *pb)
{
	const struct kl_cedit *a = *(const struct kl_cedit *const *)pa;
	const struct kl_cedit *b = *(const struct kl_cedit *const *)pb;

	return a->off < b->off ? -1 : a->off > b->off;
}

void kl_cedits_apply(struct kl_buf *out, const struct kl_ctokens *c, const struct kl_cedits *e,
		     bool (*take_it)(const struct kl_cedit *e, void *payload), void *payload)
{
	const struct kl_cedit **order = kl_calloc(e->n + 1, sizeof(*order));
	size_t n = 0, pos = 0;

	for (size_t i = 0; i < e->n; i++)
		if (!take_it || take_it(&e->e[i], payload))
			order[n++] = &e->e[i];
	qsort(order, n, sizeof(*order), by_offset);
	for (size_t i = 0; i < n; i++) {
		size_t from = order[i]->off, to = from + order[i]->len;

		if (from < pos)
			continue;
		if (!*order[i]->with)
			widen_to_line(&from, &to, c->text, c->len);
		if (from < pos)
			from = pos;
		kl_buf_add(out, c->text + pos, from - pos);
		kl_buf_adds(out, order[i]->with);
		pos = to;
	}
	kl_buf_add(out, c->text + pos, c->len - pos);
	free(order);
}
