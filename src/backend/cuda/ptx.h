/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_PTX_H
#define KL_BACKEND_CUDA_PTX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

/*
 * ptx - parses PTX, the compiler's intermediate text: functions with their instructions, the
 * variables of the module, and the references between them.
 *
 * A hostile source can put any text into the PTX by inline assembly. Therefore the PTX is split
 * into the same tokens as ptxas uses, and a name counts as a reference wherever it occurs in a
 * body. Unknown text is an error (KL_ENO), never skipped.
 *
 *	kl_ptx_parse(&p, text, len);
 *	kl_ptx_reach(&p, kernel, nkernel);	sets p.fn[i].reached, p.var[i].reached
 */
#define KL_PTX_MAX_BYTES ((size_t)64 << 20)
#define KL_PTX_MAX_ITEMS 20000 /* maximum number of functions, and of variables */

struct kl_ptx_op {
	char *name; /* "ld.global.nc.v4.f32" */
	size_t n;   /* number of its occurrences */
};

struct kl_ptx_fn {
	char *name;
	bool entry, defined;
	bool reached;
	struct kl_ptx_op *op; /* opcodes in the order of their first occurrence */
	size_t nop, alloc;
	/* special registers that it reads, such as "%clock64", once each */
	struct kl_strvec special;
	struct kl_strvec ref; /* names that occur in its body, once each */
	/* names in the addresses of its stores and atomics, once each */
	struct kl_strvec stored;
	struct kl_strvec directive; /* directives before its body, such as ".maxntid" */
	bool hidden_state;          /* its body declares a global or constant variable */
	/* text of its body with the braces; borrowed from the parsed text */
	const char *body;
	size_t nbody, line;
};

enum kl_ptx_space {
	KL_PTX_GLOBAL,
	KL_PTX_CONST,
	KL_PTX_SHARED,
	KL_PTX_HANDLE /* texture, surface, sampler */
};

struct kl_ptx_var {
	char *name;
	enum kl_ptx_space space;
	bool initialised, managed;
	/* `reached` if a kernel reaches it, `stored` if a reached function stores to it by name */
	bool reached, stored;
	struct kl_strvec ref; /* names in its initial value */
};

struct kl_ptx {
	struct kl_ptx_fn *fn;
	size_t nfn, fn_alloc;
	struct kl_ptx_var *var;
	size_t nvar, var_alloc;
};

int kl_ptx_parse(struct kl_ptx *out, const char *text, size_t len);
void kl_ptx_release(struct kl_ptx *ptx);

/**
 * Mark the functions and variables that the named kernels reach. Return KL_ENO if the PTX does not
 * define a kernel with one of these names.
 */
int kl_ptx_reach(struct kl_ptx *ptx, const char *const *kernel, size_t n);

/** Find a function or a variable by its name; NULL if there is none. */
const struct kl_ptx_fn *kl_ptx_function(const struct kl_ptx *ptx, const char *name);
const struct kl_ptx_var *kl_ptx_variable(const struct kl_ptx *ptx, const char *name);

/**
 * Return the source line, such as "a.cu:12", from which line `line` of the PTX was made. Return
 * NULL if it is not known, for example because the PTX has no line information (-lineinfo). The
 * caller frees it.
 */
char *kl_ptx_source_line(const char *text, size_t line);

#endif
