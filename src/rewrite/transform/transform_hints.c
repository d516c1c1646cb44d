/* SPDX-License-Identifier: Apache-2.0 */
/* transform_hints - adds qualifiers, directives and bounds that the compiler cannot derive */
#include <string.h>

#include "base/mem.h"
#include "rewrite/source/nest.h"
#include "rewrite/transform/transform_parts.h"

/* --- restrict --------------------------------------------------------------------------------- */

/*
 * Return true if a loop of the function writes elements of an array that is not local. Only then
 * can a compiler use the fact that pointers do not overlap.
 */
static bool writes_in_loop(const struct kl_transforming *work, int fn)
{
	const struct kl_ctokens *tokens = work->tokens;

	for (size_t i = tokens->fn[fn].first; i < tokens->fn[fn].last; i++) {
		size_t last;

		if (!kl_ctoken_is(tokens, i, "for") && !kl_ctoken_is(tokens, i, "while") &&
		    !kl_ctoken_is(tokens, i, "do"))
			continue;
		last = kl_nest_statement_end(tokens, i);
		for (size_t k = 0; k < work->loops->vars.n; k++) {
			const struct kl_cvar *var = &work->loops->vars.v[k];

			if (var->fn == fn && var->stars &&
			    kl_loop_assigns(tokens, i, last, var->name))
				return true;
		}
	}
	return false;
}

/*
 * Qualify the pointer parameters of the functions in `disjoint` that have at least two, if one of
 * them can be written through.
 */
static void qualify_pointers(struct kl_transforming *work, const char *word)
{
	const struct kl_cvars *vars = &work->loops->vars;

	for (size_t fn = 0; fn < work->tokens->nfn; fn++) {
		size_t pointers = 0, written = 0;
		int site = work->edits.nsite;

		for (size_t i = 0; i < vars->n; i++)
			if (vars->v[i].fn == (int)fn && vars->v[i].param && vars->v[i].stars) {
				pointers++;
				written += !vars->v[i].to_const;
			}
		if (pointers < 2 || !written || !kl_transform_has_disjoint(work, (int)fn) ||
		    !writes_in_loop(work, (int)fn))
			continue;
		for (size_t i = 0; i < vars->n; i++) {
			const struct kl_cvar *var = &vars->v[i];
			KL_AUTO(kl_freep) char *with = NULL;

			if (var->fn != (int)fn || !var->param || var->stars != 1 ||
			    var->restricted || !kl_ctoken_is(work->tokens, var->at - 1, "*"))
				continue;
			with = kl_asprintf("%s %s", word, var->name);
			kl_cedits_tokens(&work->edits, work->tokens, var->at, var->at, with, site);
		}
	}
}

void kl_transform_restrict(struct kl_transforming *work)
{
	qualify_pointers(work, "restrict");
}

void kl_transform_cuda_restrict(struct kl_transforming *work)
{
	qualify_pointers(work, "__restrict__");
}

/* --- directives before loops ------------------------------------------------------------------ */

/* Put a directive before the loop: a line of its own, in the loop's indentation. */
static void add_directive(struct kl_transforming *work, const struct kl_loop *loop,
			  const char *directive)
{
	const struct kl_ctokens *tokens = work->tokens;
	size_t start = tokens->t[loop->first].off, from;
	KL_AUTO(kl_freep) char *with = NULL;

	for (from = start; from > 0 && strchr(" \t", tokens->text[from - 1]); from--)
		;
	if (from > 0 && tokens->text[from - 1] != '\n')
		return; /* the loop is not the first on its line */
	with = kl_asprintf("%s\n%.*sfor", directive, (int)(start - from), tokens->text + from);
	kl_cedits_tokens(&work->edits, tokens, loop->first, loop->first, with, work->edits.nsite);
}

/*
 * Check that the loop stores to memory, and that no round uses an element that another round
 * writes.
 */
static bool is_free(const struct kl_transforming *work, const struct kl_loop *loop)
{
	struct kl_cstmts stmts = { 0 };
	struct kl_accesses accesses = { 0 };
	bool fine = kl_loop_body(&stmts, work->loops, loop) &&
		    kl_accesses_read(&accesses, work->loops, &stmts) &&
		    kl_transform_is_independent(work, &accesses, loop);
	bool writes = false;

	for (size_t i = 0; fine && i < accesses.n; i++) {
		struct kl_affine stride;

		if (!accesses.v[i].write)
			continue;
		writes = true;
		fine = kl_affine_stride(&stride, &accesses.v[i].index, loop->counter) &&
		       kl_affine_is(&stride, 1);
	}
	for (size_t i = 0; fine && i < stmts.n; i++)
		fine = stmts.v[i].kind == KL_CSTMT_DECLARE ||
		       stmts.v[i].name != stmts.v[i].target_last;
	kl_cstmts_release(&stmts);
	kl_accesses_release(&accesses);
	return fine && writes;
}

void kl_transform_ivdep(struct kl_transforming *work)
{
	for (size_t i = 0; i < work->loops->n; i++) {
		const struct kl_loop *loop = &work->loops->v[i];

		if (loop->innermost && kl_transform_is_plain(loop) && is_free(work, loop))
			add_directive(work, loop, "#pragma GCC ivdep");
	}
}

void kl_transform_pragma_unroll(struct kl_transforming *work)
{
	KL_AUTO(kl_freep) char *directive = kl_asprintf("#pragma unroll %lld",
							(long long)work->value);

	for (size_t i = 0; i < work->loops->n; i++)
		if (work->loops->v[i].innermost && !work->loops->v[i].hinted &&
		    !work->loops->v[i].remainder)
			add_directive(work, &work->loops->v[i], directive);
}

/* --- launch bounds ---------------------------------------------------------------------------- */

void kl_transform_launch_bounds(struct kl_transforming *work)
{
	const struct kl_ctokens *tokens = work->tokens;

	for (size_t fn = 0; work->source->threads && fn < tokens->nfn; fn++) {
		const struct kl_cfn *cfn = &tokens->fn[fn];
		KL_AUTO(kl_freep) char *with = NULL;
		size_t name = cfn->first;
		bool global = false;

		for (; name < cfn->last && tokens->t[name].off != cfn->name_off; name++)
			global |= kl_ctoken_is(tokens, name, "__global__");
		if (!global || kl_transform_count(tokens, cfn->first, name, "__launch_bounds__"))
			continue;
		with = kl_asprintf("__launch_bounds__(%lld) %.*s", (long long)work->source->threads,
				   (int)cfn->name_len, tokens->text + cfn->name_off);
		kl_cedits_tokens(&work->edits, tokens, name, name, with, work->edits.nsite);
	}
}
