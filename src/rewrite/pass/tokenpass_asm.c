/* SPDX-License-Identifier: Apache-2.0 */
/* tokenpass_asm - token passes for CUDA that replace instructions written as inline PTX */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/prefix.h"
#include "rewrite/pass/ptx.h"
#include "rewrite/pass/tokenpass_parts.h"

/* most statements of a file that are replaced; no hand-written file has more */
#define MAX_STATEMENTS 4096

/* The replacement for one instruction. If `code` is NULL, the instruction is only removed. */
struct rule {
	const char *name; /* its first words: "cp.async.cg." */
	bool (*code)(struct kl_ptx *out, const struct kl_asm *statement,
		     const struct kl_asm_arguments *arguments, const char *whole);
};

/*
 * Write the helper functions before the first function that uses them, once for a file. They are
 * part of each site; of equal edits only the first is applied.
 */
static void add_helpers(struct kl_cedits *out, const struct kl_ctokens *tokens, size_t first,
			const char *helpers, int site)
{
	const struct kl_ctok *at = &tokens->t[first];
	KL_AUTO(kl_freep) char *word = kl_strndup(tokens->text + at->off, at->len);
	KL_AUTO(kl_freep) char *text = kl_asprintf("%s\n%s", helpers, word);

	kl_cedits_tokens(out, tokens, first, first, text, site);
}

/* Replace the statement as `rule` says. Return false if the form is not known. */
static bool apply_rule(struct kl_cedits *edits, struct kl_ptx *ptx, const struct kl_ctokens *tokens,
		       const struct rule *rule, const struct kl_asm *statement)
{
	struct kl_asm_arguments arguments = { 0 };
	KL_AUTO(kl_freep) char *whole = NULL;
	bool known = kl_asm_find(&arguments, &whole, statement, rule->name);

	kl_buf_clear(&ptx->code);
	if (known && rule->code)
		known = rule->code(ptx, statement, &arguments, whole);
	if (known)
		kl_cedits_tokens(edits, tokens, statement->first, statement->last,
				 ptx->code.len ? ptx->code.ptr : ";", 0);
	kl_asm_arguments_release(&arguments);
	return known;
}

/* Check whether directive `i`, such as a macro, has an instruction of a rule or `without`. */
static bool names_one(const struct kl_ctokens *tokens, size_t i, const struct rule *rules, size_t n,
		      const char *without)
{
	KL_AUTO(kl_freep) char *text = kl_strndup(tokens->text + tokens->t[i].off,
						  tokens->t[i].len);

	for (size_t k = 0; k < n; k++)
		if (strstr(text, rules[k].name))
			return true;
	return without && strstr(text, without);
}

/*
 * Apply the rules to all statements of a file, as one site, because one instruction waits for what
 * another one begins. Nothing changes if a statement has one of the instructions in another form,
 * or an instruction whose name contains `without`.
 */
static void replace_all(struct kl_cedits *out, const struct kl_ctokens *tokens,
			const struct rule *rules, size_t n, const char *without)
{
	KL_AUTO(kl_cedits_release) struct kl_cedits edits = { 0 };
	KL_AUTO(kl_map_release) struct kl_map macros = { 0 };
	struct kl_ptx ptx = { KL_BUF_INIT, KL_BUF_INIT };
	bool known = true, readable;
	size_t first = 0;

	kl_asm_macros(&macros, tokens);
	for (size_t i = 0; i < tokens->n && known && edits.n <= MAX_STATEMENTS; i++) {
		struct kl_asm statement;

		if (tokens->t[i].kind == KL_CT_DIRECTIVE) {
			known = !names_one(tokens, i, rules, n, without);
			continue;
		}
		if (!kl_ctoken_is(tokens, i, "asm") && !kl_ctoken_is(tokens, i, "__asm__"))
			continue;
		readable = kl_asm_read(&statement, tokens, &macros, i) && tokens->t[i].fn >= 0;
		if (!statement.text || (without && strstr(statement.text, without)))
			known = false;
		for (size_t k = 0; known && k < n; k++)
			if (strstr(statement.text, rules[k].name)) {
				if (readable && !edits.n)
					first = tokens->fn[tokens->t[i].fn].first;
				known = readable &&
					apply_rule(&edits, &ptx, tokens, &rules[k], &statement);
				break;
			}
		kl_asm_release(&statement);
	}
	if (known && edits.n && edits.n <= MAX_STATEMENTS) {
		if (ptx.helpers.len)
			add_helpers(&edits, tokens, first, ptx.helpers.ptr, 0);
		*out = edits;
		edits = (struct kl_cedits){ 0 };
	}
	kl_buf_release(&ptx.code);
	kl_buf_release(&ptx.helpers);
}

/* --- the passes -------------------------------------------------------------------------------- */

void kl_tokenpass_even_registers(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const struct rule rules[] = { { "setmaxnreg.", NULL } };

	replace_all(out, tokens, rules, KL_ARRAY_SIZE(rules), NULL);
}

void kl_tokenpass_plain_copy(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const struct rule rules[] = {
		{ "cp.async.ca.", kl_ptx_copy },   { "cp.async.cg.", kl_ptx_copy },
		{ "cp.async.commit_group", NULL }, { "cp.async.wait_group", NULL },
		{ "cp.async.wait_all", NULL },
	};

	/* an mbarrier that counts the copies would wait for ever */
	replace_all(out, tokens, rules, KL_ARRAY_SIZE(rules), "cp.async.mbarrier");
}

void kl_tokenpass_plain_operand(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const struct rule rules[] = { { "ldmatrix.", kl_ptx_load_matrix } };

	replace_all(out, tokens, rules, KL_ARRAY_SIZE(rules), NULL);
}

void kl_tokenpass_scatter_store(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const struct rule rules[] = { { "stmatrix.", kl_ptx_store_matrix } };

	replace_all(out, tokens, rules, KL_ARRAY_SIZE(rules), NULL);
}

void kl_tokenpass_scalar_product(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const struct rule rules[] = { { "mma.sync.", kl_ptx_multiply } };

	replace_all(out, tokens, rules, KL_ARRAY_SIZE(rules), NULL);
}

void kl_tokenpass_scalar_group_product(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	static const struct rule rules[] = {
		{ "wgmma.mma_async.", kl_ptx_multiply_group },
		{ "wgmma.fence.", NULL },
		{ "wgmma.commit_group.", NULL },
		{ "wgmma.wait_group.", kl_ptx_wait_group },
	};

	replace_all(out, tokens, rules, KL_ARRAY_SIZE(rules), NULL);
}
