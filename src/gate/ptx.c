/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/ptx.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"

/* -- tokens ------------------------------------------------------------------- */

enum kind { END, NAME, NUMBER, STRING, PUNCT };

struct token {
	enum kind kind;
	const char *s;
	size_t n;
};

struct reader {
	const char *at, *end;
	size_t line;
	struct token t;		/* the present one */
	struct kl_ptx *ptx;
	struct kl_map place;	/* name -> index + 1; variables behind KL_PTX_MAX_ITEMS */
};

static int bad(const struct reader *r, const char *what)
{
	return kl_error(KL_ENO, "the PTX is not what a compiler makes: %s, at line %zu", what, r->line);
}

static bool starts_name(char c)
{
	return isalpha((unsigned char)c) || strchr("_$%.", c);
}

/* "%tid.x" and "ld.global.L1::no_allocate.u32" are one token, "0f3F800000" and "12" a number. */
static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%';
}

static int skip_space(struct reader *r)
{
	while (r->at < r->end) {
		if (*r->at == '\n')
			r->line++;
		if (isspace((unsigned char)*r->at)) {
			r->at++;
		} else if (r->end - r->at > 1 && r->at[0] == '/' && r->at[1] == '/') {
			while (r->at < r->end && *r->at != '\n')
				r->at++;
		} else if (r->end - r->at > 1 && r->at[0] == '/' && r->at[1] == '*') {
			for (r->at += 2; r->end - r->at > 1 && (r->at[0] != '*' || r->at[1] != '/'); r->at++)
				r->line += *r->at == '\n';
			if (r->end - r->at < 2)
				return bad(r, "a comment without an end");
			r->at += 2;
		} else {
			break;
		}
	}
	return 0;
}

static int read_string(struct reader *r)
{
	const char *from = r->at++;

	while (r->at < r->end && *r->at != '"' && *r->at != '\n')
		r->at += *r->at == '\\' && r->end - r->at > 1 ? 2 : 1;
	if (r->at >= r->end || *r->at != '"')
		return bad(r, "a string without an end");
	r->at++;
	r->t = (struct token){ STRING, from, (size_t)(r->at - from) };
	return 0;
}

static int next(struct reader *r)
{
	int err = skip_space(r);
	const char *from = r->at;

	if (err < 0)
		return err;
	if (from == r->end) {
		r->t = (struct token){ END, from, 0 };
		return 0;
	}
	if (*from == '"')
		return read_string(r);
	if (starts_name(*from) || isdigit((unsigned char)*from)) {
		while (r->at < r->end) {
			if (r->end - r->at > 2 && r->at[0] == ':' && r->at[1] == ':' &&
			    isalnum((unsigned char)r->at[2]))
				r->at += 2;
			else if (!in_name(*r->at))
				break;
			r->at++;
		}
		r->t = (struct token){ isdigit((unsigned char)*from) ? NUMBER : NAME, from,
				       (size_t)(r->at - from) };
		return 0;
	}
	if (!strchr("@!{}()[]<>,;:+-*/=&|^~?", *from))
		return bad(r, "a character that has no place in it");
	r->at++;
	r->t = (struct token){ PUNCT, from, 1 };
	return 0;
}

static bool is(const struct reader *r, const char *s)
{
	return r->t.n == strlen(s) && !strncmp(r->t.s, s, r->t.n);
}

/* -- what is collected ----------------------------------------------------------- */

static void add_once(struct kl_strvec *v, struct kl_map *seen, const char *name)
{
	if (!kl_map_get(seen, name)) {
		kl_map_put(seen, name, seen);
		kl_strvec_push(v, name);
	}
}

struct body {			/* of the function being read */
	struct kl_map op, special, ref, stored;
};

static void body_release(struct body *b)
{
	kl_map_release(&b->op);
	kl_map_release(&b->special);
	kl_map_release(&b->ref);
	kl_map_release(&b->stored);
}

static void count_op(struct kl_ptx_fn *f, struct body *b, const char *name)
{
	uintptr_t i = (uintptr_t)kl_map_get(&b->op, name);

	if (!i) {
		KL_GROW(f->op, f->nop + 1, f->alloc);
		f->op[f->nop] = (struct kl_ptx_op){ .name = kl_strdup(name) };
		i = ++f->nop;
		kl_map_put(&b->op, name, (void *)i);
	}
	f->op[i - 1].n++;
}

/* Does the instruction write where its bracket points? Opcodes that copy by bulk write to the first, too. */
static bool writes(const char *op)
{
	static const char *const stores[] = {
		"st.",	    "atom",	  "red.", "cp.",   "mbarrier",	"multimem",
		"stmatrix", "wmma.store", "sust", "sured", "tensormap", "discard",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(stores); i++)
		if (!strncmp(op, stores[i], strlen(stores[i])))
			return true;
	return !strcmp(op, "st") || !strcmp(op, "red");
}

/* "%r12", as the compiler numbers its registers: none of the machine's own has such a name */
static bool is_register(const char *name)
{
	static const char *const kinds[] = { "p", "r", "rs", "rd", "rq", "f", "fd", "h", "hh" };
	size_t n = strcspn(name + 1, "0123456789");

	if (!name[1 + n] || name[1 + n + strspn(name + 1 + n, "0123456789")])
		return false;
	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i]) == n && !strncmp(kinds[i], name + 1, n))
			return true;
	return false;
}

static void take_name(struct reader *r, struct kl_ptx_fn *f, struct body *b, const char *op, int brackets)
{
	KL_AUTO(kl_freep) char *name = kl_strndup(r->t.s, r->t.n);

	if (name[0] == '%') {
		if (!is_register(name))
			add_once(&f->special, &b->special, name);
	} else if (name[0] != '.') {
		add_once(&f->ref, &b->ref, name);
		if (brackets && op && writes(op))
			add_once(&f->stored, &b->stored, name);
	}
}

/* The opcode and the modifiers that belong to it, wherever comments and blanks stand. */
static int read_op(struct reader *r, struct kl_buf *op)
{
	int err = 0;

	kl_buf_clear(op);
	do {
		kl_buf_add(op, r->t.s, r->t.n);
		err = next(r);
	} while (!err && r->t.kind == NAME && r->t.s[0] == '.');
	return err;
}

static int read_rest(struct reader *r, struct kl_ptx_fn *f, struct body *b, const char *op)
{
	int brackets = 0, err = 0;

	/* a brace may be a vector operand, {%f1, %f2}: so it does not end a statement with an opcode */
	while (!err && r->t.kind != END && !is(r, ";")) {
		if (r->t.kind == NAME)
			take_name(r, f, b, op, brackets);
		brackets += is(r, "[") ? 1 : is(r, "]") ? -1 : 0;
		err = next(r);
	}
	if (!err && r->t.kind == END)
		err = bad(r, "an instruction without an end");
	return err ? err : next(r);
}

/* .loc 1 2 3, function_name $L, inlined_at 1 2 3: ends where nothing belongs to it any more */
static int read_loc(struct reader *r)
{
	int err = next(r);

	while (!err && (r->t.kind == NUMBER || is(r, ",") || is(r, "function_name") || is(r, "inlined_at") ||
			is(r, "+") || (r->t.kind == NAME && !strncmp(r->t.s, "$L__info_string", 15))))
		err = next(r);
	return err;
}

/* After a label or at a brace: one statement. `op` is working storage. */
static int read_statement(struct reader *r, struct kl_ptx_fn *f, struct body *b, struct kl_buf *op)
{
	int err = 0;

	if (is(r, "@")) {		/* @p, @!p */
		err = next(r);
		if (!err && is(r, "!"))
			err = next(r);
		if (!err && r->t.kind == NAME) {
			take_name(r, f, b, NULL, 0);
			err = next(r);
		}
	}
	if (err || is(r, ";"))
		return err ? err : next(r);
	if (r->t.kind != NAME)
		return bad(r, "a statement that begins with no word");
	if (is(r, ".loc"))
		return read_loc(r);
	if (is(r, ".global") || is(r, ".const"))
		f->hidden_state = true;
	if (r->t.s[0] == '.')
		return read_rest(r, f, b, NULL);
	err = read_op(r, op);
	if (err || is(r, ":"))		/* a label */
		return err ? err : next(r);
	count_op(f, b, op->ptr);
	return read_rest(r, f, b, op->ptr);
}

static int read_body(struct reader *r, struct kl_ptx_fn *f)
{
	KL_AUTO(body_release) struct body b = { .op = KL_MAP_INIT };
	KL_AUTO(kl_buf_release) struct kl_buf op = KL_BUF_INIT;
	int depth = 0, err = 0;

	do {
		if (is(r, "{") || is(r, "}")) {
			depth += is(r, "{") ? 1 : -1;
			err = next(r);
		} else {
			err = read_statement(r, f, &b, &op);
		}
	} while (!err && depth && r->t.kind != END);
	return !err && depth ? bad(r, "a function without an end") : err;
}

/* -- the module --------------------------------------------------------------------- */

static struct kl_ptx_fn *function(struct reader *r, const char *name)
{
	struct kl_ptx *p = r->ptx;
	uintptr_t i = (uintptr_t)kl_map_get(&r->place, name);

	if (i)
		return i <= KL_PTX_MAX_ITEMS ? &p->fn[i - 1] : NULL;
	KL_GROW(p->fn, p->nfn + 1, p->fn_alloc);
	p->fn[p->nfn] = (struct kl_ptx_fn){ .name = kl_strdup(name) };
	kl_map_put(&r->place, name, (void *)(uintptr_t)(p->nfn + 1));
	return &p->fn[p->nfn++];
}

static int skip_parens(struct reader *r)
{
	int depth = 0, err;

	do {
		depth += is(r, "(") ? 1 : is(r, ")") ? -1 : 0;
		err = next(r);
	} while (!err && depth && r->t.kind != END);
	return err;
}

/* At ".entry" or ".func": declaration or definition. */
static int read_function(struct reader *r)
{
	KL_AUTO(kl_freep) char *name = NULL;
	bool entry = is(r, ".entry");
	struct kl_ptx_fn *f;
	int err = next(r);

	while (!err && r->t.kind == NAME && r->t.s[0] == '.')
		err = next(r);
	if (!err && is(r, "("))
		err = skip_parens(r);
	if (!err && (r->t.kind != NAME || r->t.s[0] == '.' || r->t.s[0] == '%'))
		err = bad(r, "a function without a name");
	if (err)
		return err;
	name = kl_strndup(r->t.s, r->t.n);
	f = function(r, name);
	if (!f || r->ptx->nfn >= KL_PTX_MAX_ITEMS)
		return bad(r, f ? "absurdly many functions" : "a name used twice");
	f->entry = entry;
	err = next(r);
	while (!err && r->t.kind != END && !is(r, "{") && !is(r, ";")) {
		if (r->t.kind == NAME && r->t.s[0] == '.')
			kl_strvec_take(&f->directive, kl_strndup(r->t.s, r->t.n));
		err = is(r, "(") ? skip_parens(r) : next(r);
	}
	if (err || is(r, ";"))
		return err ? err : next(r);
	if (f->defined)
		return bad(r, "a function defined twice");
	f->defined = true;
	return read_body(r, f);
}

static void note_space(struct kl_ptx_var *v, const struct reader *r)
{
	static const struct { const char *word; enum kl_ptx_space space; } spaces[] = {
		{ ".global", KL_PTX_GLOBAL }, { ".const", KL_PTX_CONST }, { ".shared", KL_PTX_SHARED },
		{ ".tex", KL_PTX_HANDLE }, { ".texref", KL_PTX_HANDLE }, { ".samplerref", KL_PTX_HANDLE },
		{ ".surfref", KL_PTX_HANDLE },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(spaces); i++)
		if (is(r, spaces[i].word))
			v->space = spaces[i].space;	/* ".global .texref t": the last one says it */
	if (is(r, ".managed"))
		v->managed = true;
}

/* The value behind "=": names in it are references. */
static int read_value(struct reader *r, struct kl_ptx_var *v)
{
	int err = next(r);

	v->initialised = true;
	while (!err && r->t.kind != END && !is(r, ";")) {
		if (r->t.kind == NAME)
			kl_strvec_take(&v->ref, kl_strndup(r->t.s, r->t.n));
		err = next(r);
	}
	return err;
}

/* At ".global", ".const", ".shared" ...: one or several variables up to ";". */
static int read_variable(struct reader *r)
{
	struct kl_ptx *p = r->ptx;
	struct kl_ptx_var v = { .space = KL_PTX_GLOBAL };
	bool vector = false;
	int err = 0;

	while (!err && r->t.kind != END && !is(r, ";")) {
		if (r->t.kind == NAME && r->t.s[0] == '.') {
			note_space(&v, r);
		} else if (r->t.kind == NAME && !v.name) {
			v.name = kl_strndup(r->t.s, r->t.n);
		} else if (is(r, ",") && v.name) {
			vector = true;	/* nvcc writes one variable in each statement */
		} else if (is(r, "=")) {
			err = read_value(r, &v);
			break;
		}
		err = next(r);
	}
	if (!err && (!v.name || vector || kl_map_get(&r->place, v.name) || p->nvar >= KL_PTX_MAX_ITEMS))
		err = bad(r, v.name ? "a variable in a form of its own" : "a variable without a name");
	if (err) {
		free(v.name);
		kl_strvec_release(&v.ref);
		return err;
	}
	kl_map_put(&r->place, v.name, (void *)(uintptr_t)(KL_PTX_MAX_ITEMS + p->nvar + 1));
	KL_GROW(p->var, p->nvar + 1, p->var_alloc);
	p->var[p->nvar++] = v;
	return next(r);
}

/* .section .debug_str { ... }: no code */
static int skip_section(struct reader *r)
{
	int depth = 0, err = 0;

	while (!err && r->t.kind != END && !is(r, "{"))
		err = next(r);
	do {
		depth += is(r, "{") ? 1 : is(r, "}") ? -1 : 0;
		err = err ? err : next(r);
	} while (!err && depth && r->t.kind != END);
	return err;
}

static int skip_file(struct reader *r)
{
	int err = next(r);

	while (!err && (r->t.kind == NUMBER || r->t.kind == STRING || is(r, ",")))
		err = next(r);
	return err;
}

/* .version 9.0, .target sm_90a, debug, .address_size 64: they end with their last value */
static int skip_values(struct reader *r)
{
	int err = next(r);

	if (!err)
		err = next(r);
	while (!err && is(r, ",")) {
		err = next(r);
		if (!err)
			err = next(r);
	}
	return err;
}

static int skip_to_semicolon(struct reader *r)
{
	int err = 0;

	while (!err && r->t.kind != END && !is(r, ";"))
		err = next(r);
	return err ? err : next(r);
}

static int read_item(struct reader *r)
{
	static const char *const variable[] = { ".global", ".const", ".shared", ".tex" };

	if (is(r, ";") || is(r, ".visible") || is(r, ".extern") || is(r, ".weak") || is(r, ".common"))
		return next(r);
	if (is(r, ".entry") || is(r, ".func"))
		return read_function(r);
	if (is(r, ".version") || is(r, ".target") || is(r, ".address_size"))
		return skip_values(r);
	if (is(r, ".section"))
		return skip_section(r);
	if (is(r, ".file"))
		return skip_file(r);
	if (is(r, ".loc"))
		return read_loc(r);
	if (is(r, ".pragma"))
		return skip_to_semicolon(r);
	for (size_t i = 0; i < KL_ARRAY_SIZE(variable); i++)
		if (is(r, variable[i]))
			return read_variable(r);
	return bad(r, "a statement outside of any function");
}

int kl_ptx_parse(struct kl_ptx *out, const char *text, size_t len)
{
	KL_AUTO(kl_ptx_release) struct kl_ptx p = { 0 };
	struct reader r = { .at = text, .end = text + len, .line = 1, .ptx = &p };
	int err;

	if (len > KL_PTX_MAX_BYTES || memchr(text, '\0', len))
		return kl_error(KL_ENO, "the PTX is not what a compiler makes: %s",
				len > KL_PTX_MAX_BYTES ? "more than 64 MiB" : "a NUL byte");
	err = next(&r);
	while (!err && r.t.kind != END)
		err = read_item(&r);
	kl_map_release(&r.place);
	if (err < 0)
		return err;
	*out = p;
	p = (struct kl_ptx){ 0 };
	return 0;
}

void kl_ptx_release(struct kl_ptx *p)
{
	for (size_t i = 0; i < p->nfn; i++) {
		struct kl_ptx_fn *f = &p->fn[i];

		for (size_t k = 0; k < f->nop; k++)
			free(f->op[k].name);
		free(f->op);
		free(f->name);
		kl_strvec_release(&f->special);
		kl_strvec_release(&f->ref);
		kl_strvec_release(&f->stored);
		kl_strvec_release(&f->directive);
	}
	for (size_t i = 0; i < p->nvar; i++) {
		free(p->var[i].name);
		kl_strvec_release(&p->var[i].ref);
	}
	free(p->fn);
	free(p->var);
	*p = (struct kl_ptx){ 0 };
}

/* -- reach ------------------------------------------------------------------------------ */

const struct kl_ptx_fn *kl_ptx_function(const struct kl_ptx *p, const char *name)
{
	for (size_t i = 0; i < p->nfn; i++)
		if (!strcmp(p->fn[i].name, name))
			return &p->fn[i];
	return NULL;
}

const struct kl_ptx_var *kl_ptx_variable(const struct kl_ptx *p, const char *name)
{
	for (size_t i = 0; i < p->nvar; i++)
		if (!strcmp(p->var[i].name, name))
			return &p->var[i];
	return NULL;
}

struct walk {
	struct kl_ptx *p;
	struct kl_map index;	/* name -> index + 1; variables behind nfn */
	size_t *todo, ntodo, alloc;
};

static void visit(struct walk *w, const char *name)
{
	size_t i = (size_t)(uintptr_t)kl_map_get(&w->index, name);
	bool *reached;

	if (!i)
		return;		/* a label, a parameter, a variable of the function */
	reached = i <= w->p->nfn ? &w->p->fn[i - 1].reached : &w->p->var[i - 1 - w->p->nfn].reached;
	if (*reached)
		return;
	*reached = true;
	KL_GROW(w->todo, w->ntodo + 1, w->alloc);
	w->todo[w->ntodo++] = i;
}

static void follow(struct walk *w, size_t i)
{
	const struct kl_strvec *ref =
		i <= w->p->nfn ? &w->p->fn[i - 1].ref : &w->p->var[i - 1 - w->p->nfn].ref;

	for (size_t k = 0; k < ref->n; k++)
		visit(w, ref->v[k]);
}

static void mark_stores(struct kl_ptx *p)
{
	for (size_t i = 0; i < p->nfn; i++)
		for (size_t k = 0; p->fn[i].reached && k < p->fn[i].stored.n; k++)
			for (size_t v = 0; v < p->nvar; v++)
				if (!strcmp(p->var[v].name, p->fn[i].stored.v[k]))
					p->var[v].stored = true;
}

int kl_ptx_reach(struct kl_ptx *p, const char *const *kernel, size_t n)
{
	struct walk w = { .p = p };
	int err = 0;

	for (size_t i = 0; i < p->nfn; i++)
		kl_map_put(&w.index, p->fn[i].name, (void *)(uintptr_t)(i + 1));
	for (size_t i = 0; i < p->nvar; i++)
		kl_map_put(&w.index, p->var[i].name, (void *)(uintptr_t)(p->nfn + i + 1));
	for (size_t i = 0; !err && i < n; i++) {
		const struct kl_ptx_fn *f = kl_ptx_function(p, kernel[i]);

		if (!f || !f->entry || !f->defined)
			err = kl_error(KL_ENO, "there is no kernel '%s'", kernel[i]);
		else
			visit(&w, kernel[i]);
	}
	while (!err && w.ntodo)
		follow(&w, w.todo[--w.ntodo]);
	if (!err)
		mark_stores(p);
	kl_map_release(&w.index);
	free(w.todo);
	return err;
}

/* -- where a line comes from --------------------------------------------------------------- */

static char *file_name(const char *text, unsigned number)
{
	for (const char *s = strstr(text, ".file"); s; s = strstr(s + 5, ".file")) {
		unsigned n;
		int at = 0;

		if (sscanf(s, ".file %u \"%n", &n, &at) == 1 && at && n == number)
			return kl_strndup(s + at, strcspn(s + at, "\"\n"));
	}
	return NULL;
}

char *kl_ptx_source_line(const char *text, size_t line)
{
	const char *s = text;
	unsigned file = 0, at = 0, f, l;

	for (size_t i = 1; i < line && s; i++) {
		s += strspn(s, " \t");
		if (sscanf(s, ".loc %u %u", &f, &l) == 2) {
			file = f;
			at = l;
		}
		s = strchr(s, '\n');
		s = s ? s + 1 : NULL;
	}
	if (at) {
		KL_AUTO(kl_freep) char *name = file_name(text, file);

		return name ? kl_asprintf("%s:%u", name, at) : NULL;
	}
	return NULL;
}
