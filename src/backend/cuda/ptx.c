/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/ptx_parts.h"
#include "base/error.h"
#include "base/mem.h"

static struct kl_ptx_fn *add_function(struct kl_ptx_reader *reader, const char *name)
{
	struct kl_ptx *ptx = reader->ptx;
	uintptr_t place = (uintptr_t)kl_map_get(&reader->place, name);

	if (place)
		return place <= KL_PTX_MAX_ITEMS ? &ptx->fn[place - 1] : NULL;
	KL_GROW(ptx->fn, ptx->nfn + 1, ptx->fn_alloc);
	ptx->fn[ptx->nfn] = (struct kl_ptx_fn){ .name = kl_strdup(name) };
	kl_map_put(&reader->place, name, (void *)(uintptr_t)(ptx->nfn + 1));
	return &ptx->fn[ptx->nfn++];
}

static int skip_parens(struct kl_ptx_reader *reader)
{
	int depth = 0, err;

	do {
		depth += kl_ptx_is(reader, "(") ? 1 : kl_ptx_is(reader, ")") ? -1 : 0;
		err = kl_ptx_next(reader);
	} while (!err && depth && reader->t.kind != KL_PTX_END);
	return err;
}

/* At ".entry" or ".func": read the declaration or definition of a function. */
static int read_function(struct kl_ptx_reader *reader)
{
	KL_AUTO(kl_freep) char *name = NULL;
	bool entry = kl_ptx_is(reader, ".entry");
	struct kl_ptx_fn *fn;
	int err = kl_ptx_next(reader);

	while (!err && reader->t.kind == KL_PTX_NAME && reader->t.s[0] == '.')
		err = kl_ptx_next(reader);
	if (!err && kl_ptx_is(reader, "("))
		err = skip_parens(reader);
	if (!err &&
	    (reader->t.kind != KL_PTX_NAME || reader->t.s[0] == '.' || reader->t.s[0] == '%'))
		err = kl_ptx_bad(reader, "a function without a name");
	if (err)
		return err;
	name = kl_strndup(reader->t.s, reader->t.n);
	fn = add_function(reader, name);
	if (!fn || reader->ptx->nfn >= KL_PTX_MAX_ITEMS)
		return kl_ptx_bad(reader, fn ? "too many functions" : "a name used twice");
	fn->entry = entry;
	err = kl_ptx_next(reader);
	while (!err && reader->t.kind != KL_PTX_END && !kl_ptx_is(reader, "{") &&
	       !kl_ptx_is(reader, ";")) {
		if (reader->t.kind == KL_PTX_NAME && reader->t.s[0] == '.')
			kl_strvec_take(&fn->directive, kl_strndup(reader->t.s, reader->t.n));
		err = kl_ptx_is(reader, "(") ? skip_parens(reader) : kl_ptx_next(reader);
	}
	if (err || kl_ptx_is(reader, ";"))
		return err ? err : kl_ptx_next(reader);
	if (fn->defined)
		return kl_ptx_bad(reader, "a function defined twice");
	fn->defined = true;
	return kl_ptx_read_body(reader, fn);
}

static void note_space(struct kl_ptx_var *var, const struct kl_ptx_reader *reader)
{
	/* clang-format off */
	static const struct { const char *word; enum kl_ptx_space space; } spaces[] = {
		{ ".global", KL_PTX_GLOBAL }, { ".const", KL_PTX_CONST }, { ".shared", KL_PTX_SHARED },
		{ ".tex", KL_PTX_HANDLE }, { ".texref", KL_PTX_HANDLE }, { ".samplerref", KL_PTX_HANDLE },
		{ ".surfref", KL_PTX_HANDLE },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(spaces); i++)
		if (kl_ptx_is(reader, spaces[i].word))
			/* the last state space counts: ".global .texref t" is a texture */
			var->space = spaces[i].space;
	if (kl_ptx_is(reader, ".managed"))
		var->managed = true;
}

/* At "=": read the initial value. Names in the value are references. */
static int read_value(struct kl_ptx_reader *reader, struct kl_ptx_var *var)
{
	int err = kl_ptx_next(reader);

	var->initialised = true;
	while (!err && reader->t.kind != KL_PTX_END && !kl_ptx_is(reader, ";")) {
		if (reader->t.kind == KL_PTX_NAME)
			kl_strvec_take(&var->ref, kl_strndup(reader->t.s, reader->t.n));
		err = kl_ptx_next(reader);
	}
	return err;
}

/* At ".global", ".const", ".shared" or ".tex": read the declaration of one variable, up to ";". */
static int read_variable(struct kl_ptx_reader *reader)
{
	struct kl_ptx *ptx = reader->ptx;
	struct kl_ptx_var var = { .space = KL_PTX_GLOBAL };
	bool vector = false;
	int err = 0;

	while (!err && reader->t.kind != KL_PTX_END && !kl_ptx_is(reader, ";")) {
		if (reader->t.kind == KL_PTX_NAME && reader->t.s[0] == '.') {
			note_space(&var, reader);
		} else if (reader->t.kind == KL_PTX_NAME && !var.name) {
			var.name = kl_strndup(reader->t.s, reader->t.n);
		} else if (kl_ptx_is(reader, ",") && var.name) {
			/* several variables in one statement: nvcc writes no such statement */
			vector = true;
		} else if (kl_ptx_is(reader, "=")) {
			err = read_value(reader, &var);
			break;
		}
		err = kl_ptx_next(reader);
	}
	if (!err && (!var.name || vector || kl_map_get(&reader->place, var.name) ||
		     ptx->nvar >= KL_PTX_MAX_ITEMS))
		err = kl_ptx_bad(reader, var.name ? "an unsupported variable declaration" :
						    "a variable without a name");
	if (err) {
		free(var.name);
		kl_strvec_release(&var.ref);
		return err;
	}
	kl_map_put(&reader->place, var.name, (void *)(uintptr_t)(KL_PTX_MAX_ITEMS + ptx->nvar + 1));
	KL_GROW(ptx->var, ptx->nvar + 1, ptx->var_alloc);
	ptx->var[ptx->nvar++] = var;
	return kl_ptx_next(reader);
}

/* At ".section": skip the section, such as ".section .debug_str { ... }", which has no code. */
static int skip_section(struct kl_ptx_reader *reader)
{
	int depth = 0, err = 0;

	while (!err && reader->t.kind != KL_PTX_END && !kl_ptx_is(reader, "{"))
		err = kl_ptx_next(reader);
	do {
		depth += kl_ptx_is(reader, "{") ? 1 : kl_ptx_is(reader, "}") ? -1 : 0;
		err = err ? err : kl_ptx_next(reader);
	} while (!err && depth && reader->t.kind != KL_PTX_END);
	return err;
}

static int skip_file(struct kl_ptx_reader *reader)
{
	int err = kl_ptx_next(reader);

	while (!err && (reader->t.kind == KL_PTX_NUMBER || reader->t.kind == KL_PTX_STRING ||
			kl_ptx_is(reader, ",")))
		err = kl_ptx_next(reader);
	return err;
}

/*
 * At ".version", ".target" or ".address_size": skip the directive and its values, such as
 * ".target sm_90a, debug".
 */
static int skip_values(struct kl_ptx_reader *reader)
{
	int err = kl_ptx_next(reader);

	if (!err)
		err = kl_ptx_next(reader);
	while (!err && kl_ptx_is(reader, ",")) {
		err = kl_ptx_next(reader);
		if (!err)
			err = kl_ptx_next(reader);
	}
	return err;
}

static int skip_to_semicolon(struct kl_ptx_reader *reader)
{
	int err = 0;

	while (!err && reader->t.kind != KL_PTX_END && !kl_ptx_is(reader, ";"))
		err = kl_ptx_next(reader);
	return err ? err : kl_ptx_next(reader);
}

static int read_item(struct kl_ptx_reader *reader)
{
	static const char *const variable[] = { ".global", ".const", ".shared", ".tex" };

	if (kl_ptx_is(reader, ";") || kl_ptx_is(reader, ".visible") ||
	    kl_ptx_is(reader, ".extern") || kl_ptx_is(reader, ".weak") ||
	    kl_ptx_is(reader, ".common"))
		return kl_ptx_next(reader);
	if (kl_ptx_is(reader, ".entry") || kl_ptx_is(reader, ".func"))
		return read_function(reader);
	if (kl_ptx_is(reader, ".version") || kl_ptx_is(reader, ".target") ||
	    kl_ptx_is(reader, ".address_size"))
		return skip_values(reader);
	if (kl_ptx_is(reader, ".section"))
		return skip_section(reader);
	if (kl_ptx_is(reader, ".file"))
		return skip_file(reader);
	if (kl_ptx_is(reader, ".loc"))
		return kl_ptx_read_loc(reader);
	if (kl_ptx_is(reader, ".pragma"))
		return skip_to_semicolon(reader);
	for (size_t i = 0; i < KL_ARRAY_SIZE(variable); i++)
		if (kl_ptx_is(reader, variable[i]))
			return read_variable(reader);
	return kl_ptx_bad(reader, "an unknown statement outside functions");
}

int kl_ptx_parse(struct kl_ptx *out, const char *text, size_t len)
{
	KL_AUTO(kl_ptx_release) struct kl_ptx ptx = { 0 };
	struct kl_ptx_reader reader = { .at = text, .end = text + len, .line = 1, .ptx = &ptx };
	int err;

	if (len > KL_PTX_MAX_BYTES || memchr(text, '\0', len))
		return kl_error(KL_ENO, "the PTX does not have the form that a compiler writes: %s",
				len > KL_PTX_MAX_BYTES ? "more than 64 MiB" : "a NUL byte");
	err = kl_ptx_next(&reader);
	while (!err && reader.t.kind != KL_PTX_END)
		err = read_item(&reader);
	kl_map_release(&reader.place);
	if (err < 0)
		return err;
	*out = ptx;
	ptx = (struct kl_ptx){ 0 };
	return 0;
}

void kl_ptx_release(struct kl_ptx *ptx)
{
	for (size_t i = 0; i < ptx->nfn; i++) {
		struct kl_ptx_fn *fn = &ptx->fn[i];

		for (size_t k = 0; k < fn->nop; k++)
			free(fn->op[k].name);
		free(fn->op);
		free(fn->name);
		kl_strvec_release(&fn->special);
		kl_strvec_release(&fn->ref);
		kl_strvec_release(&fn->stored);
		kl_strvec_release(&fn->directive);
	}
	for (size_t i = 0; i < ptx->nvar; i++) {
		free(ptx->var[i].name);
		kl_strvec_release(&ptx->var[i].ref);
	}
	free(ptx->fn);
	free(ptx->var);
	*ptx = (struct kl_ptx){ 0 };
}
