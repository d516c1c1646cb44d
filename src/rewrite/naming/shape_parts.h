/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_SHAPE_PARTS_H
#define KL_REWRITE_SHAPE_PARTS_H

#include "base/map.h"
#include "rewrite/naming/shape.h"
#include "rewrite/source/nest.h"

/* shape_parts - declarations that the files of shape share. Inside src/rewrite only. */

/** An array that a source declares. */
struct kl_shape_array {
	size_t name; /* token of the name */
	int fn;      /* index of the function that declares it; -1 outside of functions */
	long size;   /* number of elements; an estimate if an extent has names */
	bool shared, constant, is_static, valued, padded, doubled;
};

/** One source, with its tokens, loops and arrays. */
struct kl_shape_source {
	struct kl_ctokens tokens;
	struct kl_nest nest;
	struct kl_shape_array *array;
	size_t narray, alloc;
};

/** All sources of a surface. */
struct kl_shape_reader {
	struct kl_shape_source *source;
	size_t n;
	struct kl_strvec looped; /* functions that have loops */
	struct kl_strvec macros; /* macros with arguments that expand to an element of an array */
	struct kl_map constants; /* macros that are numbers: name -> text */
	struct kl_shape *out;
};

/** A statement "place = value", "place += value" or a declaration with a value. */
struct kl_shape_assignment {
	size_t place, place_end; /* tokens of the place: place ... place_end - 1 */
	size_t value, value_end; /* likewise */
	bool adds;               /* the old value of the place is part of the new one */
	bool memory;   /* the place is behind a pointer or in an array that is not local */
	bool declared; /* the place is declared here */
	const struct kl_shape_array *array; /* the local or shared array of the place, or NULL */
};

void kl_shape_reader_release(struct kl_shape_reader *reader);
bool kl_shape_same(const struct kl_ctokens *tokens, size_t left, size_t right);
/** Return the text of tokens first ... end - 1 without white space; the caller frees it. */
char *kl_shape_text(const struct kl_ctokens *tokens, size_t first, size_t end);
/** Check that token `i` is one of the words of `list`, which are separated by blanks. */
bool kl_shape_one_of(const struct kl_ctokens *tokens, size_t i, const char *list);
/** Find the directives and arrays of all sources. */
void kl_shape_declare(struct kl_shape_reader *reader);
/** Find the array that token `i` names; NULL if there is none. */
const struct kl_shape_array *kl_shape_array_at(const struct kl_shape_source *source, size_t i);
/**
 * Return the number of tokens of the place in memory that begins at token `i`, or 0: "a[i]", "*p",
 * "*p++", "C(i,j)".
 */
size_t kl_shape_place(const struct kl_shape_reader *reader, const struct kl_shape_source *source,
		      size_t i);
/** Read the assignment that begins at token `i`; false if none begins there. */
bool kl_shape_assignment(struct kl_shape_assignment *out, const struct kl_shape_reader *reader,
			 const struct kl_shape_source *source, size_t i);
/** Check that token `i` names a variable that is used as a pointer in its function. */
bool kl_shape_is_pointer(const struct kl_shape_source *source, size_t i);
/** Count the items of a source, except arrays and the actions of threads. */
void kl_shape_count(struct kl_shape_reader *reader, const struct kl_shape_source *source);
/** Count the arrays of a source, and the items that concern the threads of a GPU. */
void kl_shape_count_threads(struct kl_shape_reader *reader, const struct kl_shape_source *source);

#endif
