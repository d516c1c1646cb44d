/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/ptx_parts.h"
#include "base/error.h"
#include "base/mem.h"

static struct kl_ptx_fn *add_function(struct kl_ptx_reader *r, const char *name)
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

static int skip_parens(struct kl_ptx_reader *r)
{
	int depth = 0, err;

	do {
		depth += kl_ptx_is(r, "(") ? 1 : kl_ptx_is(r, ")") ? -1 : 0;
		err = kl_ptx_next(r);
	} while (!err && depth && r->t.kind != KL_PTX_END);
	return err;
}

/* At ".entry" or ".func": declaration or definition. */
static int read_function(struct kl_ptx_reader *r)
{
	KL_AUTO(kl_freep) char *name = NULL;
	bool entry = kl_ptx_is(r, ".entry");
	struct kl_ptx_fn *f;
	int err = kl_ptx_next(r);

	while (!err && r->t.kind == KL_PTX_NAME && r->t.s[0] == '.')
		err = kl_ptx_next(r);
	if (!err && kl_ptx_is(r, "("))
		err = skip_parens(r);
	if (!err && (r->t.kind != KL_PTX_NAME || r->t.s[0] == '.' || r->t.s[0] == '%'))
		err = kl_ptx_bad(r, "a function without a name");
	if (err)
		return err;
	name = kl_strndup(r->t.s, r->t.n);
	f = add_function(r, name);
	if (!f || r->ptx->nfn >= KL_PTX_MAX_ITEMS)
		return kl_ptx_bad(r, f ? "absurdly many functions" : "a name used twice");
	f->entry = entry;
	err = kl_ptx_next(r);
	while (!err && r->t.kind != KL_PTX_END && !kl_ptx_is(r, "{") && !kl_ptx_is(r, ";")) {
		if (r->t.kind == KL_PTX_NAME && r->t.s[0] == '.')
			kl_strvec_take(&f->directive, kl_strndup(r->t.s, r->t.n));
		err = kl_ptx_is(r, "(") ? skip_parens(r) : kl_ptx_next(r);
	}
	if (err || kl_ptx_is(r, ";"))
		return err ? err : kl_ptx_next(r);
	if (f->defined)
		return kl_ptx_bad(r, "a function defined twice");
	f->defined = true;
	return kl_ptx_read_body(r, f);
}

static void note_space(struct kl_ptx_var *v, const struct kl_ptx_reader *r)
{
	/* clang-format off */
	static const struct { const char *word; enum kl_ptx_space space; } spaces[] = {
		{ ".global", KL_PTX_GLOBAL }, { ".const", KL_PTX_CONST }, { ".shared", KL_PTX_SHARED },
		{ ".tex", KL_PTX_HANDLE }, { ".texref", KL_PTX_HANDLE }, { ".samplerref", KL_PTX_HANDLE },
		{ ".surfref", KL_PTX_HANDLE },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(spaces); i++)
		if (kl_ptx_is(r, spaces[i].word))
			v->space = spaces[i].space; /* ".global .texref t": the last one says it */
	if (kl_ptx_is(r, ".managed"))
		v->managed = true;
}

/* The value behind "=": names in it are references. */
static int read_value(struct kl_ptx_reader *r, struct kl_ptx_var *v)
{
	int err = kl_ptx_next(r);

	v->initialised = true;
	while (!err && r->t.kind != KL_PTX_END && !kl_ptx_is(r, ";")) {
		if (r->t.kind == KL_PTX_NAME)
			kl_strvec_take(&v->ref, kl_strndup(r->t.s, r->t.n));
		err = kl_ptx_next(r);
	}
	return err;
}

/* At ".global", ".const", ".shared" ...: one or several variables up to ";". */
static int read_variable(struct kl_ptx_reader *r)
{
	struct kl_ptx *p = r->ptx;
	struct kl_ptx_var v = { .space = KL_PTX_GLOBAL };
	bool vector = false;
	int err = 0;

	while (!err && r->t.kind != KL_PTX_END && !kl_ptx_is(r, ";")) {
		if (r->t.kind == KL_PTX_NAME && r->t.s[0] == '.') {
			note_space(&v, r);
		} else if (r->t.kind == KL_PTX_NAME && !v.name) {
			v.name = kl_strndup(r->t.s, r->t.n);
		} else if (kl_ptx_is(r, ",") && v.name) {
			vector = true; /* nvcc writes one variable in each statement */
		} else if (kl_ptx_is(r, "=")) {
			err = read_value(r, &v);
			break;
		}
		err = kl_ptx_next(r);
	}
	if (!err &&
	    (!v.name || vector || kl_map_get(&r->place, v.name) || p->nvar >= KL_PTX_MAX_ITEMS))
		err = kl_ptx_bad(r, v.name ? "a variable in a form of its own" :
					     "a variable without a name");
	if (err) {
		free(v.name);
		kl_strvec_release(&v.ref);
		return err;
	}
	kl_map_put(&r->place, v.name, (void *)(uintptr_t)(KL_PTX_MAX_ITEMS + p->nvar + 1));
	KL_GROW(p->var, p->nvar + 1, p->var_alloc);
	p->var[p->nvar++] = v;
	return kl_ptx_next(r);
}

/* .section .debug_str { ... }: no code */
static int skip_section(struct kl_ptx_reader *r)
{
	int depth = 0, err = 0;

	while (!err && r->t.kind != KL_PTX_END && !kl_ptx_is(r, "{"))
		err = kl_ptx_next(r);
	do {
		depth += kl_ptx_is(r, "{") ? 1 : kl_ptx_is(r, "}") ? -1 : 0;
		err = err ? err : kl_ptx_next(r);
	} while (!err && depth && r->t.kind != KL_PTX_END);
	return err;
}

static int skip_file(struct kl_ptx_reader *r)
{
	int err = kl_ptx_next(r);

	while (!err &&
	       (r->t.kind == KL_PTX_NUMBER || r->t.kind == KL_PTX_STRING || kl_ptx_is(r, ",")))
		err = kl_ptx_next(r);
	return err;
}

/* .version 9.0, .target sm_90a, debug, .address_size 64: they end with their last value */
static int skip_values(struct kl_ptx_reader *r)
{
	int err = kl_ptx_next(r);

	if (!err)
		err = kl_ptx_next(r);
	while (!err && kl_ptx_is(r, ",")) {
		err = kl_ptx_next(r);
		if (!err)
			err = kl_ptx_next(r);
	}
	return err;
}

static int skip_to_semicolon(struct kl_ptx_reader *r)
{
	int err = 0;

	while (!err && r->t.kind != KL_PTX_END && !kl_ptx_is(r, ";"))
		err = kl_ptx_next(r);
	return err ? err : kl_ptx_next(r);
}

static int read_item(struct kl_ptx_reader *r)
{
	static const char *const variable[] = { ".global", ".const", ".shared", ".tex" };

	if (kl_ptx_is(r, ";") || kl_ptx_is(r, ".visible") || kl_ptx_is(r, ".extern") ||
	    kl_ptx_is(r, ".weak") || kl_ptx_is(r, ".common"))
		return kl_ptx_next(r);
	if (kl_ptx_is(r, ".entry") || kl_ptx_is(r, ".func"))
		return read_function(r);
	if (kl_ptx_is(r, ".version") || kl_ptx_is(r, ".target") || kl_ptx_is(r, ".address_size"))
		return skip_values(r);
	if (kl_ptx_is(r, ".section"))
		return skip_section(r);
	if (kl_ptx_is(r, ".file"))
		return skip_file(r);
	if (kl_ptx_is(r, ".loc"))
		return kl_ptx_read_loc(r);
	if (kl_ptx_is(r, ".pragma"))
		return skip_to_semicolon(r);
	for (size_t i = 0; i < KL_ARRAY_SIZE(variable); i++)
		if (kl_ptx_is(r, variable[i]))
			return read_variable(r);
	return kl_ptx_bad(r, "a statement outside of any function");
}

int kl_ptx_parse(struct kl_ptx *out, const char *text, size_t len)
{
	KL_AUTO(kl_ptx_release) struct kl_ptx p = { 0 };
	struct kl_ptx_reader r = { .at = text, .end = text + len, .line = 1, .ptx = &p };
	int err;

	if (len > KL_PTX_MAX_BYTES || memchr(text, '\0', len))
		return kl_error(KL_ENO, "the PTX is not what a compiler makes: %s",
				len > KL_PTX_MAX_BYTES ? "more than 64 MiB" : "a NUL byte");
	err = kl_ptx_next(&r);
	while (!err && r.t.kind != KL_PTX_END)
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
