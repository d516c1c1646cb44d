/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_POINTER_USE_PARTS_H
#define KL_CONTRACT_POINTER_USE_PARTS_H

#include "contract/pointer_use.h"

/*
 * pointer_use_parts - declares the search for uses of a pointer, shared by the files pointer_*.c.
 */

/* longest chain of copies and calls that is followed, so that a search does not take long */
#define KL_POINTER_DEEPEST 6

/* A search for all uses of one name in one function. */
struct pointer_search {
	const struct kl_founds *all;
	int depth;
	size_t read; /* number of tokens and functions read so far */
	bool seen, written, unknown;
	/*
	 * a followed name was set to another pointer, so that a write through it may go elsewhere
	 */
	bool lost;
	bool any, read_first; /* any: an element was used, so `read_first` is known */
};

/* A range of tokens in which a name is searched: a body, or the text of a macro. */
struct pointer_range {
	const struct kl_tokens *tokens;
	size_t from, to;
	const char *name;
	size_t axes; /* number of brackets that lead to an element; with fewer, p[i] is a pointer */
	/*
	 * for a copy: the name that it copies, and the index at which the copy is made; NULL if the
	 * name is a parameter
	 */
	const char *origin;
	size_t made;
	bool is_const; /* the name is declared as a pointer to const, which a cast can remove */
};

/** Note all uses of the range's name in `search`. */
void kl_pointer_search(struct pointer_search *search, const struct pointer_range *range);
/** Note how a call uses its argument at `i`; the bracket of the call is at `open`. */
void kl_pointer_call(struct pointer_search *search, const struct pointer_range *range, size_t open,
		     size_t i);

/** Note whether an element is read or written; only the first call has an effect. */
void kl_pointer_note_first(struct pointer_search *search, bool read);
/** Return true if the range's name occurs between `from` and the next token `end`. */
bool kl_pointer_mentions(struct pointer_search *search, const struct pointer_range *range,
			 size_t from, const char *end);
/** Return the text of the function-like macro that the word at `i` names, or NULL. */
const char *kl_pointer_macro(const struct kl_tokens *tokens, size_t i);
/** Return true if "const" occurs in [from, to) before the first star. */
bool kl_pointer_has_const(const struct kl_tokens *tokens, size_t from, size_t to);

#endif
