/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_PTX_H
#define KL_BACKEND_CUDA_PTX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

/*
 * ptx - the compiler's intermediate text, read for the audit and the facts: functions with their
 * instructions, the module's variables, and the references between them.
 *
 * ptxas assembles this text, and a hostile source can put anything into it (inline assembly). So it
 * is split into the assembler's own tokens, and a name counts as a reference wherever it occurs in
 * a body. Unknown text is an error (KL_ENO), never skipped.
 *
 *	kl_ptx_parse(&p, text, len);
 *	kl_ptx_reach(&p, kernel, nkernel);	p.fn[i].reached, p.var[i].reached
 */
#define KL_PTX_MAX_BYTES ((size_t)64 << 20)
#define KL_PTX_MAX_ITEMS 20000 /* functions and variables */

struct kl_ptx_op {
	char *name; /* "ld.global.nc.v4.f32" */
	size_t n;   /* how often it occurs */
};

struct kl_ptx_fn {
	char *name;
	bool entry, defined;
	bool reached;
	struct kl_ptx_op *op; /* in order of first appearance */
	size_t nop, alloc;
	struct kl_strvec special; /* special registers, "%clock64", "%ctaid.x", once each */
	struct kl_strvec ref;     /* names in its body, once each */
	/* names in the address of a store or an atomic, once each */
	struct kl_strvec stored;
	struct kl_strvec directive; /* ".maxntid", ".reqnctapercluster" ... before its body */
	bool hidden_state;          /* its body declares a global or constant */
	const char *body;           /* its text, braces included; borrowed from the parsed text */
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
	bool reached, stored; /* by a reached function; stored to by name */
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

/** Mark what the named kernels reach. KL_ENO: one is not defined, or is no kernel. */
int kl_ptx_reach(struct kl_ptx *ptx, const char *const *kernel, size_t n);

/** NULL if there is none. */
const struct kl_ptx_fn *kl_ptx_function(const struct kl_ptx *ptx, const char *name);
const struct kl_ptx_var *kl_ptx_variable(const struct kl_ptx *ptx, const char *name);

/**
 * The source line, such as "a.cu:12", of line `line` of a text with line information (-lineinfo);
 * NULL if unknown. The caller frees it.
 */
char *kl_ptx_source_line(const char *text, size_t line);

#endif
