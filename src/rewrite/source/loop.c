/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/source/loop.h"

#include <string.h>

#include "base/mem.h"
#include "rewrite/source/nest.h"

/* maximum number of loops of a file; no hand-written file has more */
#define MAX_LOOPS 512

/* --- what a body may not do ------------------------------------------------------------------- */

static bool is_char(const struct kl_ctokens *tokens, size_t i, char ch)
{
	return i < tokens->n && tokens->t[i].kind == KL_CT_PUNCT &&
	       tokens->text[tokens->t[i].off] == ch;
}

/* Check that token `i` is `ch` and follows the previous token without white space. */
static bool is_adjacent(const struct kl_ctokens *tokens, size_t i, char ch)
{
	return is_char(tokens, i, ch) && i > 0 &&
	       tokens->t[i - 1].off + tokens->t[i - 1].len == tokens->t[i].off;
}

/* Check that an assignment operator begins at token `i`: "=" but not "==", or "+=", "<<=". */
static bool is_assignment(const struct kl_ctokens *tokens, size_t i)
{
	if (is_char(tokens, i, '='))
		return !is_adjacent(tokens, i + 1, '=');
	if (i < tokens->n && tokens->t[i].kind == KL_CT_PUNCT &&
	    strchr("+-*/%&|^", tokens->text[tokens->t[i].off]))
		return is_adjacent(tokens, i + 1, '=');
	return (is_char(tokens, i, '<') || is_char(tokens, i, '>')) &&
	       is_adjacent(tokens, i + 1, tokens->text[tokens->t[i].off]) &&
	       is_adjacent(tokens, i + 2, '=');
}

static bool is_step(const struct kl_ctokens *tokens, size_t i)
{
	return (is_char(tokens, i, '+') && is_adjacent(tokens, i + 1, '+')) ||
	       (is_char(tokens, i, '-') && is_adjacent(tokens, i + 1, '-'));
}

bool kl_loop_is_update(const struct kl_ctokens *tokens, size_t i)
{
	return is_assignment(tokens, i) || is_step(tokens, i);
}

bool kl_loop_takes_address(const struct kl_ctokens *tokens, size_t i)
{
	static const char *const word[] = { "return", "sizeof", "else", "do", "case" };
	enum kl_ctok_kind kind;
	size_t and = 0;

	while (and < i && is_char(tokens, i - 1 - and, '&') &&
	       (!and || is_adjacent(tokens, i - and, '&')))
		and++;
	if (and % 2 == 0 || and+1 > i)
		return and % 2;
	if (and > 1) /* "a &&&b" */
		return true;
	for (size_t k = 0; k < KL_ARRAY_SIZE(word); k++)
		if (kl_ctoken_is(tokens, i - 2, word[k]))
			return true;
	/* a ')' may end a cast */
	kind = tokens->t[i - 2].kind;
	return kind != KL_CT_IDENT && kind != KL_CT_NUMBER && !is_char(tokens, i - 2, ']');
}

bool kl_loop_assigns(const struct kl_ctokens *tokens, size_t first, size_t last, const char *name)
{
	for (size_t i = first; i <= last; i++) {
		size_t next = i + 1;

		if (!kl_ctoken_is(tokens, i, name))
			continue;
		if (i > 1 && (is_step(tokens, i - 2) || kl_loop_takes_address(tokens, i)))
			return true;
		while (is_char(tokens, next, '[') && tokens->t[next].match > 0)
			next = (size_t)tokens->t[next].match + 1;
		if (kl_loop_is_update(tokens, next))
			return true;
	}
	return false;
}

/* Check whether the tokens may leave the loop, or have an unknown meaning. */
static bool leaves_loop(const struct kl_loops *loops, size_t first, size_t last)
{
	const struct kl_ctokens *tokens = loops->tokens;
	static const char *const word[] = { "break", "continue", "goto",  "return",  "switch",
					    "case",  "default",  "asm",   "__asm__", "setjmp",
					    "exit",  "abort",    "__asm", "longjmp", NULL };

	for (size_t i = first; i <= last; i++) {
		if (tokens->t[i].kind == KL_CT_DIRECTIVE)
			return true;
		for (const char *const *at = word; *at; at++)
			if (kl_ctoken_is(tokens, i, *at))
				return true;
		for (size_t k = 0; k < loops->macros.n; k++)
			if (kl_ctoken_is(tokens, i, loops->macros.v[k]))
				return true;
	}
	return false;
}

/* Check that a bound or an initial value has the same value whenever it is computed. */
static bool is_stable(const struct kl_ctokens *tokens, size_t first, size_t last,
		      const struct kl_loop *loop)
{
	if (first > last)
		return false;
	for (size_t i = first; i <= last; i++) {
		const struct kl_ctok *token = &tokens->t[i];
		KL_AUTO(kl_freep) char *name = kl_strndup(tokens->text + token->off, token->len);

		if (token->kind == KL_CT_STRING || token->kind == KL_CT_DIRECTIVE ||
		    kl_loop_is_update(tokens, i))
			return false;
		if (token->kind == KL_CT_PUNCT && !strchr("+-*/%()[]<>?:.", *name))
			return false;
		if (token->kind == KL_CT_IDENT &&
		    (is_char(tokens, i + 1, '(') || !strcmp(name, loop->counter) ||
		     kl_loop_assigns(tokens, loop->body_first, loop->body_last, name)))
			return false;
	}
	return true;
}

/* --- the head of a loop ----------------------------------------------------------------------- */

/* Read "int64_t i = 0" or "i = 0" before the token `semi`. */
static bool read_start(struct kl_loop *out, const struct kl_loops *loops, size_t i, size_t semi)
{
	const struct kl_ctokens *tokens = loops->tokens;
	const struct kl_cvar *var;
	size_t name = i;

	while (kl_cvar_type(tokens, name) && name < semi)
		name++;
	if (name >= semi || tokens->t[name].kind != KL_CT_IDENT ||
	    !is_char(tokens, name + 1, '=') || !(var = kl_cvars_at(&loops->vars, name)) ||
	    var->stars || var->array || kl_cvar_is_float(var->type) || kl_cvar_bytes(var->type) < 4)
		return false;
	out->declares = name > i;
	out->counter = kl_strdup(var->name);
	out->type = var->type;
	out->from_first = name + 2;
	out->from_last = semi - 1;
	for (size_t k = out->from_first; k <= out->from_last; k++) {
		if (is_char(tokens, k, ','))
			return false;
		out->remainder |= is_char(tokens, k, '/') || is_char(tokens, k, '%');
	}
	out->from_zero = out->from_first == out->from_last &&
			 kl_ctoken_is(tokens, out->from_first, "0");
	return out->from_first <= out->from_last;
}

/* Read "i < n" or, as an unrolled loop has it, "i + 4 <= n". */
static bool read_bound(struct kl_loop *out, const struct kl_ctokens *tokens, size_t i, size_t semi)
{
	bool wide = is_char(tokens, i + 1, '+') && i + 2 < semi &&
		    tokens->t[i + 2].kind == KL_CT_NUMBER;
	size_t sign = wide ? i + 3 : i + 1;

	out->bound_first = sign + 1 + wide;
	out->bound_last = semi - 1;
	return out->bound_first < semi && kl_ctoken_is(tokens, i, out->counter) &&
	       is_char(tokens, sign, '<') && is_adjacent(tokens, sign + 1, '=') == wide &&
	       !is_adjacent(tokens, sign + 1, '<');
}

/* Read "i++", "++i" or "i += 4" before the token `close`. */
static bool read_step(struct kl_loop *out, const struct kl_ctokens *tokens, size_t i, size_t close)
{
	out->step = 1;
	if (close - i == 3 && is_char(tokens, i, '+') && is_step(tokens, i))
		return kl_ctoken_is(tokens, i + 2, out->counter);
	if (close - i < 3 || !kl_ctoken_is(tokens, i, out->counter) || !is_char(tokens, i + 1, '+'))
		return false;
	if (close - i == 3)
		return is_step(tokens, i + 1);
	if (close - i != 4 || !is_adjacent(tokens, i + 2, '=') ||
	    tokens->t[i + 3].kind != KL_CT_NUMBER || tokens->t[i + 3].len > 6)
		return false;
	out->step = strtol(tokens->text + tokens->t[i + 3].off, NULL, 10);
	return out->step > 0;
}

/* Find the end of the statement that begins at `i`. Return 0 if it is not known. */
static size_t statement_end(const struct kl_ctokens *tokens, size_t i, size_t end)
{
	if (i >= end)
		return 0;
	if (is_char(tokens, i, '{'))
		return tokens->t[i].match > 0 ? (size_t)tokens->t[i].match : 0;
	while (kl_ctoken_is(tokens, i, "for") && tokens->t[i + 1].match > 0) {
		i = (size_t)tokens->t[i + 1].match + 1;
		if (is_char(tokens, i, '{'))
			return tokens->t[i].match > 0 ? (size_t)tokens->t[i].match : 0;
	}
	if (kl_ctoken_is(tokens, i, "if") || kl_ctoken_is(tokens, i, "do") ||
	    kl_ctoken_is(tokens, i, "while") || kl_ctoken_is(tokens, i, "else"))
		return 0;
	i = kl_nest_semicolon(tokens, i, end);
	return i < end ? i : 0;
}

static bool read_body(struct kl_loop *out, const struct kl_loops *loops, size_t close)
{
	const struct kl_ctokens *tokens = loops->tokens;
	size_t end = tokens->fn[tokens->t[close].fn].last;

	out->last = statement_end(tokens, close + 1, end);
	if (!out->last)
		return false;
	out->braces = is_char(tokens, close + 1, '{');
	out->body_first = close + 1 + out->braces;
	out->body_last = out->last - out->braces;
	out->innermost = true;
	for (size_t i = out->body_first; i <= out->body_last; i++)
		out->innermost &= !kl_ctoken_is(tokens, i, "for") &&
				  !kl_ctoken_is(tokens, i, "while");
	return out->body_first <= out->body_last && !leaves_loop(loops, out->first, out->body_last);
}

/*
 * Check that the loop at token `i` is a statement of a block and has one directive before it, which
 * is "#pragma omp for" or the like and concerns this loop alone.
 */
static bool is_parallel(const struct kl_ctokens *tokens, size_t i)
{
	static const char *const other[] = { "collapse", "ordered", "lastprivate", "linear",
					     "simd" };
	const struct kl_ctok *token = &tokens->t[i - 1];
	KL_AUTO(kl_freep) char *text = kl_strndup(tokens->text + token->off, token->len);
	const char *omp = strstr(text, " omp ");

	for (size_t k = 0; k < KL_ARRAY_SIZE(other); k++)
		if (strstr(text, other[k]))
			return false;
	return omp && strstr(omp, " for") && i > 1 &&
	       (is_char(tokens, i - 2, ';') || is_char(tokens, i - 2, '{') ||
		is_char(tokens, i - 2, '}'));
}

static bool read_loop(struct kl_loop *out, const struct kl_loops *loops, size_t i)
{
	const struct kl_ctokens *tokens = loops->tokens;
	size_t close, first, second;

	*out = (struct kl_loop){ .first = i, .parent = -1 };
	if (tokens->t[i].fn < 0 || !is_char(tokens, i + 1, '(') || tokens->t[i + 1].match < 0)
		return false;
	close = (size_t)tokens->t[i + 1].match;
	first = kl_nest_semicolon(tokens, i + 2, close);
	second = kl_nest_semicolon(tokens, first + 1, close);
	out->hinted = i > 0 && tokens->t[i - 1].kind == KL_CT_DIRECTIVE;
	out->parallel = out->hinted && is_parallel(tokens, i);
	return second < close && read_start(out, loops, i + 2, first) &&
	       read_bound(out, tokens, first + 1, second) &&
	       read_step(out, tokens, second + 1, close) && read_body(out, loops, close) &&
	       !kl_loop_assigns(tokens, out->body_first, out->body_last, out->counter) &&
	       is_stable(tokens, out->from_first, out->from_last, out) &&
	       is_stable(tokens, out->bound_first, out->bound_last, out);
}

/* Remember the name that "#define NAME body" defines, unless the body is a constant. */
static void note_macro(struct kl_loops *loops, size_t i)
{
	const char *text = loops->tokens->text;
	struct kl_cdefine macro;

	if (!kl_ctoken_define(&macro, loops->tokens, i))
		return;
	for (size_t k = macro.body; k < macro.end; k++)
		if (!strchr("0123456789.()+-*/ \tuUlLfF", text[k]) || text[macro.body] == '(') {
			kl_strvec_take(&loops->macros,
				       kl_strndup(text + macro.name, macro.name_len));
			return;
		}
}

/* --- all loops -------------------------------------------------------------------------------- */

/* Return the counter of a loop, where the loop sets it. */
static const struct kl_cvar *counter_of(const struct kl_loops *loops, const struct kl_loop *loop)
{
	return kl_cvars_at(&loops->vars, loop->from_first - 2);
}

/* Check that every use of the counter is in a loop that sets it. */
static bool owns_counter(const struct kl_loops *loops, const struct kl_loop *loop)
{
	const struct kl_ctokens *tokens = loops->tokens;
	const struct kl_cvar *var = counter_of(loops, loop);
	const struct kl_cfn *fn = &tokens->fn[tokens->t[loop->first].fn];

	for (size_t i = fn->first; var && i <= fn->last; i++) {
		bool set = i == var->at || !kl_ctoken_is(tokens, i, var->name) ||
			   kl_cvars_at(&loops->vars, i) != var;

		for (size_t k = 0; !set && k < loops->n; k++)
			set = loops->v[k].first < i && i <= loops->v[k].last &&
			      counter_of(loops, &loops->v[k]) == var;
		if (!set)
			return false;
	}
	return var;
}

void kl_loops_find(struct kl_loops *out, const struct kl_ctokens *tokens)
{
	*out = (struct kl_loops){ .tokens = tokens };
	kl_cvars_find(&out->vars, tokens);
	for (size_t i = 0; i < tokens->n; i++)
		if (tokens->t[i].kind == KL_CT_DIRECTIVE)
			note_macro(out, i);
	for (size_t i = 0; i < tokens->n && out->n < MAX_LOOPS; i++) {
		struct kl_loop loop;

		if (!kl_ctoken_is(tokens, i, "for"))
			continue;
		if (!read_loop(&loop, out, i)) {
			free(loop.counter);
			continue;
		}
		for (size_t k = 0; k < out->n; k++)
			if (out->v[k].first < i && i <= out->v[k].last)
				loop.parent = (int)k;
		loop.remainder |= loop.parent >= 0 && out->v[loop.parent].remainder;
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n++] = loop;
	}
	for (size_t i = 0; i < out->n; i++)
		out->v[i].owns = out->v[i].declares || owns_counter(out, &out->v[i]);
}

void kl_loops_keep(struct kl_loops *loops, const bool *kept)
{
	KL_AUTO(kl_freep) int *now = kl_calloc(loops->n + 1, sizeof(*now));
	size_t n = 0;

	for (size_t i = 0; i < loops->n; i++) {
		struct kl_loop *loop = &loops->v[i];

		if (!kept[loops->tokens->t[loop->first].fn]) {
			free(loop->counter);
			continue;
		}
		now[i] = (int)n;
		loop->parent = loop->parent < 0 ? -1 : now[loop->parent];
		loops->v[n++] = *loop;
	}
	loops->n = n;
}

void kl_loops_release(struct kl_loops *loops)
{
	for (size_t i = 0; i < loops->n; i++)
		free(loops->v[i].counter);
	free(loops->v);
	kl_cvars_release(&loops->vars);
	kl_strvec_release(&loops->macros);
	*loops = (struct kl_loops){ 0 };
}

/* --- statements ------------------------------------------------------------------------------- */

/* Return the loop that begins at token `i`, or NULL. */
static const struct kl_loop *loop_at(const struct kl_loops *loops, size_t i)
{
	for (size_t k = 0; k < loops->n; k++)
		if (loops->v[k].first == i)
			return &loops->v[k];
	return NULL;
}

/* Read tokens i ... semi as "type name = value;". */
static bool read_declare(struct kl_cstmt *out, const struct kl_loops *loops, size_t i, size_t semi)
{
	for (size_t k = 0; k < loops->vars.n; k++) {
		const struct kl_cvar *var = &loops->vars.v[k];

		if (var->at <= i || var->at >= semi || var->param || !var->init_first)
			continue;
		out->kind = KL_CSTMT_DECLARE;
		out->name = var->at;
		out->value_first = var->init_first;
		out->value_last = var->init_last;
		return var->init_last + 1 == semi && !var->array;
	}
	return false;
}

/* Read tokens i ... semi as "target = value;". */
static bool read_assign(struct kl_cstmt *out, const struct kl_ctokens *tokens, size_t i,
			size_t semi)
{
	size_t next = i + 1;

	if (tokens->t[i].kind != KL_CT_IDENT)
		return false;
	if (is_char(tokens, next, '[') && tokens->t[next].match > 0)
		next = (size_t)tokens->t[next].match + 1;
	out->kind = KL_CSTMT_ASSIGN;
	out->name = i;
	out->target_last = next - 1;
	if (!is_assignment(tokens, next))
		return false;
	out->op = tokens->text[tokens->t[next].off];
	if (out->op != '=' && !strchr("+-*/", out->op))
		return false;
	out->value_first = next + (out->op == '=' ? 1 : 2);
	out->value_last = semi - 1;
	return out->value_first <= out->value_last;
}

static bool read_statement(struct kl_cstmt *out, const struct kl_loops *loops, size_t i, size_t end)
{
	const struct kl_ctokens *tokens = loops->tokens;

	*out = (struct kl_cstmt){ .first = i };
	if ((out->loop = loop_at(loops, i))) {
		out->kind = KL_CSTMT_LOOP;
		out->last = out->loop->last;
		return true;
	}
	out->last = kl_nest_semicolon(tokens, i, end);
	if (out->last >= end)
		return false;
	return kl_cvar_type(tokens, i) || kl_ctoken_is(tokens, i, "const") ||
			       kl_ctoken_is(tokens, i, "register") ?
		       read_declare(out, loops, i, out->last) :
		       read_assign(out, tokens, i, out->last);
}

bool kl_loop_body(struct kl_cstmts *out, const struct kl_loops *loops, const struct kl_loop *loop)
{
	size_t i = loop->body_first;

	*out = (struct kl_cstmts){ 0 };
	while (i <= loop->body_last) {
		struct kl_cstmt stmt;

		if (!read_statement(&stmt, loops, i, loop->body_last + 1))
			return false;
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n++] = stmt;
		i = stmt.last + 1;
	}
	return true;
}

void kl_cstmts_release(struct kl_cstmts *stmts)
{
	free(stmts->v);
	*stmts = (struct kl_cstmts){ 0 };
}

bool kl_cstmt_is_sum(const struct kl_loops *loops, const struct kl_cstmt *stmt)
{
	const struct kl_cvar *var;

	if (stmt->kind != KL_CSTMT_ASSIGN || stmt->op != '+' || stmt->name != stmt->target_last)
		return false;
	var = kl_cvars_at(&loops->vars, stmt->name);
	return var && !var->stars && !var->array && var->at < stmt->first;
}
