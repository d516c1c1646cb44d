/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_CVAR_H
#define KL_REWRITE_CVAR_H

#include "rewrite/source/ctoken.h"

/*
 * cvar - the variables that C functions declare, found from tokens.
 *
 * Only variables of the usual arithmetic types, pointers to them and arrays of them are found. A
 * name refers to its nearest earlier declaration whose block has not ended.
 */
struct kl_cvar {
	char *name;
	const char *type;             /* "float", "int64_t", ...: from a fixed table */
	int fn;                       /* index into kl_ctokens.fn */
	size_t at;                    /* token of the name in its first declaration */
	size_t init_first, init_last; /* tokens of its initial value; both 0 if there is none */
	int stars;                    /* number of '*'; 1 for a pointer */
	bool param;
	bool array;      /* declared with brackets, not as a parameter */
	bool to_const;   /* of a pointer: it points to const */
	bool restricted; /* of a pointer: it is declared with restrict */
	bool allocated;  /* of a pointer: its initial value is memory from malloc() or the like */
	size_t until;    /* token that ends the block of the declaration */
};

struct kl_cvars {
	const struct kl_ctokens *tokens; /* borrowed */
	struct kl_cvar *v;
	size_t n, alloc;
};

/** Find the variables of all functions. The caller releases `out`. */
void kl_cvars_find(struct kl_cvars *out, const struct kl_ctokens *tokens);
void kl_cvars_release(struct kl_cvars *vars);

/**
 * Find the variable to which `name` refers at token `i`. Return NULL if its function does not
 * declare it.
 */
const struct kl_cvar *kl_cvars_get(const struct kl_cvars *vars, size_t i, const char *name);
/** Find the variable that token `i` names. Return NULL if its function does not declare it. */
const struct kl_cvar *kl_cvars_at(const struct kl_cvars *vars, size_t i);
/** Return the type that token `i` names, or NULL. */
const char *kl_cvar_type(const struct kl_ctokens *tokens, size_t i);
/** Return the bytes of a value of a type that kl_cvar_type() returned. */
size_t kl_cvar_bytes(const char *type);
bool kl_cvar_is_float(const char *type);

#endif
