/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/source/cvar.h"

#include <string.h>

#include "base/mem.h"

#define MAX_BLOCKS 64 /* maximum number of blocks that contain each other */

static const struct {
	const char *name;
	size_t bytes;
} types[] = {
	{ "float", 4 },    { "double", 8 },    { "int", 4 },      { "unsigned", 4 },
	{ "long", 8 },     { "short", 2 },     { "char", 1 },     { "int8_t", 1 },
	{ "int16_t", 2 },  { "int32_t", 4 },   { "int64_t", 8 },  { "uint8_t", 1 },
	{ "uint16_t", 2 }, { "uint32_t", 4 },  { "uint64_t", 8 }, { "size_t", 8 },
	{ "ssize_t", 8 },  { "ptrdiff_t", 8 },
};

/* "volatile" is missing, because the value of such a variable is never known */
static const char *const qualifiers[] = { "const",      "static",       "register", "restrict",
					  "__restrict", "__restrict__", NULL };

const char *kl_cvar_type(const struct kl_ctokens *tokens, size_t i)
{
	for (size_t k = 0; k < KL_ARRAY_SIZE(types); k++)
		if (kl_ctoken_is(tokens, i, types[k].name))
			return types[k].name;
	return NULL;
}

size_t kl_cvar_bytes(const char *type)
{
	for (size_t k = 0; k < KL_ARRAY_SIZE(types); k++)
		if (!strcmp(types[k].name, type))
			return types[k].bytes;
	return 0;
}

bool kl_cvar_is_float(const char *type)
{
	return !strcmp(type, "float") || !strcmp(type, "double");
}

static bool is_qualifier(const struct kl_ctokens *tokens, size_t i)
{
	for (const char *const *name = qualifiers; *name; name++)
		if (kl_ctoken_is(tokens, i, *name))
			return true;
	return false;
}

static bool is_restrict(const struct kl_ctokens *tokens, size_t i)
{
	return kl_ctoken_is(tokens, i, "restrict") || kl_ctoken_is(tokens, i, "__restrict") ||
	       kl_ctoken_is(tokens, i, "__restrict__");
}

static void add_var(struct kl_cvars *vars, const struct kl_cvar *var)
{
	const struct kl_ctok *token = &vars->tokens->t[var->at];

	KL_GROW(vars->v, vars->n + 1, vars->alloc);
	vars->v[vars->n] = *var;
	vars->v[vars->n++].name = kl_strndup(vars->tokens->text + token->off, token->len);
}

/* Return the token after the expression that begins at `i`: the ',' ';' or ')' that ends it. */
static size_t skip_expression(const struct kl_ctokens *tokens, size_t i, size_t end)
{
	while (i < end && !kl_ctoken_is(tokens, i, ",") && !kl_ctoken_is(tokens, i, ";") &&
	       !kl_ctoken_is(tokens, i, ")"))
		i = tokens->t[i].match > (int)i ? (size_t)tokens->t[i].match + 1 : i + 1;
	return i;
}

static bool is_allocation(const struct kl_ctokens *tokens, size_t first, size_t last)
{
	static const char *const name[] = { "malloc", "calloc", "aligned_alloc", "__builtin_malloc",
					    "__builtin_calloc" };

	for (size_t i = first; i < last; i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(name); k++)
			if (kl_ctoken_is(tokens, i, name[k]) && kl_ctoken_is(tokens, i + 1, "("))
				return true;
	return false;
}

/*
 * Read "* restrict name [n] = value" at `i` into `var` and add it. Return the token after it; 0 if
 * it is not a declarator.
 */
static size_t read_declarator(struct kl_cvars *vars, struct kl_cvar var, size_t i, size_t end)
{
	const struct kl_ctokens *tokens = vars->tokens;

	for (; i < end && (kl_ctoken_is(tokens, i, "*") || is_qualifier(tokens, i)); i++) {
		var.stars += kl_ctoken_is(tokens, i, "*");
		var.restricted |= is_restrict(tokens, i);
		if (!var.stars)
			var.to_const |= kl_ctoken_is(tokens, i, "const");
	}
	if (i >= end || tokens->t[i].kind != KL_CT_IDENT || kl_cvar_type(tokens, i))
		return 0;
	var.at = i++;
	while (i < end && kl_ctoken_is(tokens, i, "[") && tokens->t[i].match > 0) {
		/* a parameter "float x[8]" is a pointer */
		for (size_t k = i; var.param && k < (size_t)tokens->t[i].match; k++)
			var.restricted |= is_restrict(tokens, k);
		var.stars += var.param;
		var.array = !var.param;
		i = (size_t)tokens->t[i].match + 1;
	}
	if (i < end && kl_ctoken_is(tokens, i, "=")) {
		var.init_first = i + 1;
		i = skip_expression(tokens, i + 1, end);
		var.init_last = i - 1;
		var.allocated = var.stars == 1 &&
				is_allocation(tokens, var.init_first, var.init_last);
	}
	if (i < end && !kl_ctoken_is(tokens, i, ",") && !kl_ctoken_is(tokens, i, ";") &&
	    !kl_ctoken_is(tokens, i, ")"))
		return 0;
	add_var(vars, &var);
	return i;
}

/*
 * Read the qualifiers and the type of a declaration at `i`. Return the token after them; 0 if none.
 */
static size_t read_specifiers(struct kl_cvar *var, const struct kl_ctokens *tokens, size_t i,
			      size_t end)
{
	for (; i < end; i++) {
		const char *type = kl_cvar_type(tokens, i);

		if (type && (!var->type || !strcmp(type, "long") || !strcmp(type, "int")))
			var->type = var->type ? var->type : type;
		else if (is_qualifier(tokens, i))
			var->to_const |= kl_ctoken_is(tokens, i, "const");
		else
			break;
	}
	return var->type ? i : 0;
}

static void read_params(struct kl_cvars *vars, int fn, size_t open)
{
	const struct kl_ctokens *tokens = vars->tokens;
	size_t end = (size_t)tokens->t[open].match;

	for (size_t i = open + 1; i < end; i++) {
		struct kl_cvar var = { .fn = fn, .param = true, .until = tokens->fn[fn].last };
		size_t next = read_specifiers(&var, tokens, i, end);

		if (next)
			read_declarator(vars, var, next, end + 1);
		i = skip_expression(tokens, i, end);
	}
}

static void read_declaration(struct kl_cvars *vars, int fn, size_t i, size_t until)
{
	struct kl_cvar var = { .fn = fn, .until = until };

	i = read_specifiers(&var, vars->tokens, i, until);
	while (i && i < until) {
		i = read_declarator(vars, var, i, until);
		if (!i || !kl_ctoken_is(vars->tokens, i, ","))
			return;
		i++;
	}
}

static void read_function(struct kl_cvars *vars, int fn)
{
	const struct kl_ctokens *tokens = vars->tokens;
	const struct kl_cfn *cfn = &tokens->fn[fn];
	size_t open = (size_t)tokens->t[cfn->last].match;
	size_t until[MAX_BLOCKS] = { cfn->last }, depth = 0;

	for (size_t i = cfn->first; i < open; i++)
		if (tokens->t[i].off == cfn->name_off && tokens->t[i + 1].match > 0) {
			read_params(vars, fn, i + 1);
			break;
		}
	for (size_t i = open; i < cfn->last; i++) {
		if (kl_ctoken_is(tokens, i, "{") && depth + 1 < MAX_BLOCKS &&
		    tokens->t[i].match > 0)
			until[++depth] = (size_t)tokens->t[i].match;
		while (depth && i >= until[depth])
			depth--;
		if (kl_ctoken_is(tokens, i, "{") || kl_ctoken_is(tokens, i, ";") ||
		    kl_ctoken_is(tokens, i, "}") ||
		    (kl_ctoken_is(tokens, i, "(") && kl_ctoken_is(tokens, i - 1, "for")))
			read_declaration(vars, fn, i + 1, until[depth]);
	}
}

void kl_cvars_find(struct kl_cvars *out, const struct kl_ctokens *tokens)
{
	*out = (struct kl_cvars){ .tokens = tokens };
	for (size_t fn = 0; fn < tokens->nfn; fn++)
		if (tokens->t[tokens->fn[fn].last].match > 0)
			read_function(out, (int)fn);
}

void kl_cvars_release(struct kl_cvars *vars)
{
	for (size_t i = 0; i < vars->n; i++)
		free(vars->v[i].name);
	free(vars->v);
	*vars = (struct kl_cvars){ 0 };
}

const struct kl_cvar *kl_cvars_get(const struct kl_cvars *vars, size_t i, const char *name)
{
	const struct kl_cvar *found = NULL;

	for (size_t k = 0; k < vars->n; k++)
		if (vars->v[k].fn == vars->tokens->t[i].fn && vars->v[k].at <= i &&
		    i <= vars->v[k].until && !strcmp(vars->v[k].name, name))
			found = &vars->v[k]; /* in the order of the text: the last match is the
					      * nearest */
	return found;
}

const struct kl_cvar *kl_cvars_at(const struct kl_cvars *vars, size_t i)
{
	const struct kl_ctok *token = &vars->tokens->t[i];
	KL_AUTO(kl_freep) char *name = NULL;

	if (token->kind != KL_CT_IDENT)
		return NULL;
	name = kl_strndup(vars->tokens->text + token->off, token->len);
	return kl_cvars_get(vars, i, name);
}
