/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_PROTOTYPE_H
#define KL_CONTRACT_PROTOTYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/vec.h"

/*
 * prototype - reads a kernel's prototype from its C source, without a compiler: a tokenizer that
 * knows comments, strings and directives, and enough of C's declarations to find a function
 * definition and its parameters. Macros are not expanded; what it does not understand it leaves
 * unknown instead of guessing.
 */
struct kl_param {
	char *name;
	char *type;              /* as written, without qualifiers: "unsigned char" */
	const char *dtype;       /* contract's name for it, or NULL: unknown */
	bool pointer;            /* *p or p[] */
	bool is_const;           /* what it points at may not be written */
	bool read_first;         /* the body seems to read p[...] before it writes it */
	struct kl_strvec extent; /* of p[M][N], those that are given, as text */
};

struct kl_proto {
	char *name;
	char *text;   /* the whole of it on one line */
	bool returns; /* something else than void */
	struct kl_param *param;
	size_t n;
	struct kl_strvec headers; /* #include "..." of the file */
};

/**
 * Find the definition of `entry`, or, if that is NULL, of the only function
 * that is not static. KL_ENOTFOUND: there is none; KL_EINVALID: several (the
 * message lists them), or one that cannot be read.
 */
int kl_proto_read(struct kl_proto **out, const char *text, size_t len, const char *entry);
void kl_proto_free(struct kl_proto *proto);
KL_DEFINE_CLEANUP(struct kl_proto *, kl_proto_free)

#endif
