/* SPDX-License-Identifier: Apache-2.0 */
/* loop_access - finds the elements of arrays that the statements of a loop read and write */
#include <string.h>

#include "base/mem.h"
#include "rewrite/source/loop.h"

#define MAX_POINTERS 4 /* maximum number of local pointers between an access and its root */

static char first_char(const struct kl_ctokens *tokens, size_t i)
{
	return i < tokens->n ? tokens->text[tokens->t[i].off] : '\0';
}

/* Check that token `i` names a function without side effects. */
static bool is_pure(const struct kl_ctokens *tokens, size_t i)
{
	static const char *const name[] = { "sqrtf",  "sqrt",  "fabsf", "fabs", "expf",  "exp",
					    "logf",   "log",   "tanhf", "tanh", "fmaf",  "fma",
					    "fmaxf",  "fmax",  "fminf", "fmin", "powf",  "pow",
					    "sinf",   "sin",   "cosf",  "cos",  "__ldg", "rsqrtf",
					    "floorf", "ceilf", "erff",  NULL };

	for (const char *const *at = name; *at; at++)
		if (kl_ctoken_is(tokens, i, *at))
			return true;
	return false;
}

/*
 * --- the place of an element ------------------------------------------------------------------
 */

/* Check that a variable is changed as a whole after token `i`: "x = ", "x += ", "x++". */
static bool is_changed(const struct kl_loops *loops, const struct kl_cvar *var, size_t i)
{
	const struct kl_ctokens *tokens = loops->tokens;

	for (; i < var->until; i++) {
		char before = i > 1 ? first_char(tokens, i - 1) : ' ';

		if (!kl_ctoken_is(tokens, i, var->name))
			continue;
		if (kl_loop_is_update(tokens, i + 1) || kl_loop_takes_address(tokens, i) ||
		    (strchr("+-", before) && before == first_char(tokens, i - 2)))
			return true;
	}
	return false;
}

static bool is_counter(const struct kl_loops *loops, size_t at, const char *name)
{
	for (size_t i = 0; i < loops->n; i++)
		if (loops->v[i].first < at && at <= loops->v[i].last &&
		    !strcmp(loops->v[i].counter, name))
			return true;
	return false;
}

/*
 * Replace local variables in an index by their initial values, until only counters of loops around
 * token `at`, parameters and variables of the function's outermost block remain. Return false if
 * the value of a variable is not known.
 */
static bool expand_names(struct kl_affine *index, const struct kl_loops *loops, size_t at)
{
	char name[KL_AFFINE_PRODUCT];

	for (size_t k = 0, done = 0; kl_affine_name(name, index, k);) {
		const struct kl_cvar *var = kl_cvars_get(&loops->vars, at, name);
		struct kl_affine init;

		if (!var || is_counter(loops, at, name)) {
			k++;
			continue;
		}
		if (is_changed(loops, var, var->init_first ? var->init_last + 1 : var->at + 1))
			return false;
		if (!var->param && var->init_first &&
		    kl_affine_read(&init, loops->tokens, var->init_first, var->init_last)) {
			if (!kl_affine_replace(index, name, &init) || ++done > 16)
				return false;
			k = 0;
		} else if (var->param || var->until == loops->tokens->fn[var->fn].last) {
			k++;
		} else {
			return false;
		}
	}
	return true;
}

/*
 * Replace a local pointer by its initial value. Return false if it has none, or the value is not a
 * sum.
 */
static bool follow_pointer(struct kl_access *access, const struct kl_loops *loops)
{
	const struct kl_cvar *var = access->root, *next = NULL;
	struct kl_affine init, offset = { 0 };

	if (!var->init_first ||
	    !kl_affine_read(&init, loops->tokens, var->init_first, var->init_last) ||
	    is_changed(loops, var, var->init_last + 1))
		return false;
	for (size_t i = 0; i < init.n; i++) {
		const struct kl_cvar *part = kl_cvars_get(&loops->vars, var->init_first,
							  init.term[i].product);

		if (part && (part->stars || part->array)) {
			if (next || init.term[i].factor != 1 || strcmp(part->type, var->type))
				return false;
			next = part;
			continue;
		}
		offset.term[offset.n++] = init.term[i];
	}
	access->root = next;
	return next && kl_affine_add(&access->index, &offset, 1);
}

static bool find_root(struct kl_access *access, const struct kl_loops *loops)
{
	for (int i = 0; i < MAX_POINTERS; i++) {
		if (access->root->array)
			return true;
		if (access->root->allocated)
			return !is_changed(loops, access->root, access->root->init_last + 1);
		if (access->root->param) /* a pointer that the function moves has no fixed place */
			return !is_changed(loops, access->root, access->root->at + 1);
		if (!follow_pointer(access, loops))
			return false;
	}
	return false;
}

/* Append the access "a[i]" whose name is token `i`. */
static bool add_access(struct kl_accesses *out, const struct kl_loops *loops, size_t i)
{
	const struct kl_ctokens *tokens = loops->tokens;
	struct kl_access access = { .first = i, .read = true };

	access.root = kl_cvars_at(&loops->vars, i);
	if (!access.root || tokens->t[i + 1].match < 0 ||
	    access.root->stars + access.root->array != 1)
		return false;
	access.last = (size_t)tokens->t[i + 1].match;
	access.index_first = i + 2;
	access.index_last = access.last - 1;
	access.type = access.root->type;
	if (first_char(tokens, access.last + 1) == '[' ||
	    !kl_affine_read(&access.index, tokens, access.index_first, access.index_last) ||
	    !find_root(&access, loops) || !expand_names(&access.index, loops, i))
		return false;
	KL_GROW(out->v, out->n + 1, out->alloc);
	out->v[out->n++] = access;
	return true;
}

/* --- expressions ------------------------------------------------------------------------------ */

/* Check that the '*', '&', '-' or '+' at `i` has only one operand. */
static bool is_unary(const struct kl_ctokens *tokens, size_t i, size_t first)
{
	if (i == first)
		return true;
	return tokens->t[i - 1].kind == KL_CT_PUNCT && !strchr(")]", first_char(tokens, i - 1));
}

/* Append the accesses of an expression; false as for kl_accesses_read(). */
static bool read_expression(struct kl_accesses *out, const struct kl_loops *loops, size_t first,
			    size_t last)
{
	const struct kl_ctokens *tokens = loops->tokens;

	for (size_t i = first; i <= last; i++) {
		char ch = first_char(tokens, i), next = first_char(tokens, i + 1);
		bool joined = i < last &&
			      tokens->t[i].off + tokens->t[i].len == tokens->t[i + 1].off;

		switch (tokens->t[i].kind) {
		case KL_CT_NUMBER:
			continue;
		case KL_CT_STRING:
		case KL_CT_DIRECTIVE:
			return false;
		case KL_CT_IDENT:
			if (next == '(' && i < last && !is_pure(tokens, i))
				return false;
			if (next == '[' && i < last) {
				if (!add_access(out, loops, i))
					return false;
				i = (size_t)tokens->t[i + 1].match;
			}
			continue;
		case KL_CT_PUNCT:
			break;
		}
		if (!strchr("+-*/%(),?:<>=!&|", ch) ||
		    (strchr("*&", ch) && is_unary(tokens, i, first)))
			return false;
		/* refuse "++", "--", "->" and assignments; "==", "<=", "&&" are allowed */
		if (joined && ((ch == '+' && next == '+') || (ch == '-' && strchr("->", next)) ||
			       (strchr("+-*/%&|", ch) && next == '=')))
			return false;
		if (ch == '=' && !(joined && next == '=') &&
		    !strchr("=<>!", i > first ? first_char(tokens, i - 1) : ' '))
			return false;
	}
	return true;
}

/* --- statements ------------------------------------------------------------------------------- */

static bool target_access(struct kl_accesses *out, const struct kl_loops *loops,
			  const struct kl_cstmt *stmt)
{
	if (stmt->name == stmt->target_last)
		return true;
	if (!add_access(out, loops, stmt->name))
		return false;
	out->v[out->n - 1].write = true;
	out->v[out->n - 1].read = stmt->op != '=';
	out->v[out->n - 1].accumulates = stmt->op == '+';
	return out->v[out->n - 1].last == stmt->target_last;
}

static bool pointer_value(const struct kl_loops *loops, const struct kl_cstmt *stmt)
{
	const struct kl_cvar *var = kl_cvars_at(&loops->vars, stmt->name);
	struct kl_affine sum;

	return var && var->stars &&
	       kl_affine_read(&sum, loops->tokens, stmt->value_first, stmt->value_last);
}

bool kl_accesses_read(struct kl_accesses *out, const struct kl_loops *loops,
		      const struct kl_cstmts *stmts)
{
	bool fine = true;

	for (size_t i = 0; fine && i < stmts->n; i++) {
		const struct kl_cstmt *stmt = &stmts->v[i];
		struct kl_cstmts inner = { 0 };

		if (stmt->kind == KL_CSTMT_LOOP) {
			fine = kl_loop_body(&inner, loops, stmt->loop) &&
			       kl_accesses_read(out, loops, &inner);
			kl_cstmts_release(&inner);
			continue;
		}
		/* a pointer's initial value is read where the pointer is used */
		if (stmt->kind == KL_CSTMT_DECLARE && pointer_value(loops, stmt))
			continue;
		fine = read_expression(out, loops, stmt->value_first, stmt->value_last) &&
		       (stmt->kind == KL_CSTMT_DECLARE || target_access(out, loops, stmt));
	}
	return fine;
}

void kl_accesses_release(struct kl_accesses *accesses)
{
	free(accesses->v);
	*accesses = (struct kl_accesses){ 0 };
}
