/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_PROTOTYPE_H
#define KL_CONTRACT_PROTOTYPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "contract/pointer_use.h"

/*
 * prototype - reads a kernel's prototype from its C source, without a compiler. It splits the
 * source into tokens and parses as much of C's declarations as it needs to find a function
 * definition and its parameters. Macros are not expanded, but a macro that stands for a qualifier
 * or for an element of a pointer is recognized. A parameter of an unknown type has no `dtype`.
 */
struct kl_file; /* contract/surface.h */

struct kl_param {
	char *name;
	/*
	 * without qualifiers; a typedef of the source is replaced by its C type, such as "uint32_t"
	 */
	char *type;
	const char *dtype; /* name of the type in contracts; NULL if the type is unknown */
	bool pointer;      /* the parameter is written as *p or p[] */
	/* levels of pointers, where brackets count as one: 2 for a pointer to pointers */
	size_t stars;
	bool is_const; /* a pointer to const */
	/* a guess, if not a pointer: the value is a size, not a flag or a seed */
	bool size;
	/* for a pointer that is not to const: whether the body writes through it */
	enum kl_pointer_use use;
	/* a guess: the body reads an element before it writes an element */
	bool read_first;
	/* "M", "N" for p[M][N]; "" for an extent that is not a name or number */
	struct kl_strvec extent;
};

struct kl_proto {
	char *name;
	char *text;               /* the whole prototype on one line */
	bool returns;             /* the return type is not void */
	struct kl_param returned; /* the returned value, without a name, if `returns` */
	struct kl_param *param;
	size_t n;
	struct kl_strvec headers; /* files that the source includes by #include "..." */
	bool plain_name;          /* extern "C" */
	char *scope;              /* the namespaces that the function is in: "ns::"; "" if none */
	/*
	 * for a template: its parameters, and the arguments of the instance that the source
	 * launches; an unknown argument is ""
	 */
	struct kl_strvec given, argument;
	/* for a kernel on a GPU: expressions of its launch in the source; NULL if unknown */
	char *grid, *block, *smem;
};

/**
 * Find the definition of `entry` ("tile", or in C++ "ns::tile<float, 8>"); if `entry` is NULL, find
 * the only function that is not static. If `kernel` is true, only kernels on a GPU (__global__)
 * count. Return KL_ENOTFOUND if there is no such function. Return KL_EINVALID if there are several
 * (the message lists them), or the prototype cannot be read.
 */
int kl_proto_read(struct kl_proto **out, const char *text, size_t len, const char *entry,
		  bool kernel);
/**
 * Append the names of the functions that a source defines, such as "ns::scale" or "tile<int N>". If
 * `kernel` is true, append only the names of kernels on a GPU (__global__).
 */
void kl_proto_names(struct kl_strvec *out, const char *text, size_t len, bool kernel);
/**
 * Append the first of these names in several files to a message, such as "'scale', 'tile<int N>'".
 */
void kl_proto_list(struct kl_buf *out, const struct kl_file *file, size_t nfile, bool kernel);
/**
 * Return the function's name as contracts in C++ and launch plans write it: "ns::tile<float, 8>". A
 * template's argument that the source does not show is "TODO". The caller frees it.
 */
char *kl_proto_full_name(const struct kl_proto *proto);
void kl_proto_free(struct kl_proto *proto);
KL_DEFINE_CLEANUP(struct kl_proto *, kl_proto_free)

#endif
