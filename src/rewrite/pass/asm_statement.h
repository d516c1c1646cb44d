/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_ASM_STATEMENT_H
#define KL_REWRITE_ASM_STATEMENT_H

#include "base/map.h"
#include "rewrite/source/ctoken.h"

/*
 * asm_statement - reads statements of inline PTX: "asm volatile("ldmatrix ..." : "=r"(x) : "r"(p));".
 *
 * Macros in the operands are expanded, because long lists of operands are written with them.
 */
#define KL_ASM_OPERANDS 192

struct kl_asm_operand {
	char *constraint; /* "=r", without the quotes */
	char *value;      /* the expression */
};

struct kl_asm {
	size_t first, last; /* tokens of the statement, with the ';' */
	char *text;         /* the instructions, with single blanks */
	struct kl_asm_operand operand[KL_ASM_OPERANDS];
	size_t n;
};

/** Collect the macros with arguments that a file defines; values are tokens of the file. */
void kl_asm_macros(struct kl_map *out, const struct kl_ctokens *tokens);
/**
 * Read the statement that begins at token `i`. Return false if it is no such statement, or if its
 * form is not known. The caller releases `out` in either case.
 */
bool kl_asm_read(struct kl_asm *out, const struct kl_ctokens *tokens, const struct kl_map *macros,
		 size_t i);
void kl_asm_release(struct kl_asm *statement);

/** The operands of one instruction: "[%0]", "{%1, %2}", "16". */
struct kl_asm_arguments {
	char *v[16];
	size_t n;
};

/**
 * Find the instruction whose name begins with `name`, and read its arguments. Set *whole to its
 * whole name, which the caller frees. Return false if the text does not have the instruction, or
 * has it twice.
 */
bool kl_asm_find(struct kl_asm_arguments *out, char **whole, const struct kl_asm *statement,
		 const char *name);
void kl_asm_arguments_release(struct kl_asm_arguments *arguments);
/**
 * Return the expression of "%3", or a number as it is; NULL for any other operand. The caller frees
 * it.
 */
char *kl_asm_value(const struct kl_asm *statement, const char *argument);
/** Return the expression of the address "[%3]"; NULL for any other form. The caller frees it. */
char *kl_asm_address(const struct kl_asm *statement, const char *argument);
/** Return the k-th expression of "{%0, %1}", or NULL if there is none. The caller frees it. */
char *kl_asm_element(const struct kl_asm *statement, const char *argument, size_t k);

#endif
