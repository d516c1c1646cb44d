/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_LIKENESS_H
#define KL_LEARN_LIKENESS_H

#include "contract/surface.h"

/*
 * likeness - measures how many lines of code two kernels share, whatever their names are.
 *
 * A line counts by its tokens: white space, comments and braces are left out, and names that a programmer
 * chooses are replaced by the order in which they appear in the line. So a copy with other names
 * has the same lines, and so has a copy with its functions in another order. Lines without a name
 * or a number, such as ");", are left out.
 *
 *	kl_likeness_lines(&left, surface);
 *	kl_likeness_compare(&likeness, &left, &right);
 *	if (kl_likeness_is_same(&likeness)) ...
 */
struct kl_likeness {
	/* lines of the longer kernel that the other does not have */
	int64_t changed;
	/* lines that both have, as a share of the longer kernel, in millionths */
	int64_t alike;
};

/** Append the lines of all sources, sorted. */
void kl_likeness_lines(struct kl_strvec *out, const struct kl_surface *surface);
/**
 * Append the lines that a unified diff shows of one side, context included, sorted: of the old
 * side, or of the new side if `after`.
 */
void kl_likeness_diff_lines(struct kl_strvec *out, const char *diff, bool after);

/** Compare two lists of lines, which must be sorted. */
void kl_likeness_compare(struct kl_likeness *out, const struct kl_strvec *left,
			 const struct kl_strvec *right);
/** Return the number of lines that both sorted lists have. */
size_t kl_likeness_common(const struct kl_strvec *left, const struct kl_strvec *right);

/**
 * Return true if the two are nearly the same code: more than 90 % of the lines are the same, or at
 * least half of them are, and fewer than 30 lines differ. (Two short kernels that have nothing in
 * common also differ by fewer than 30 lines.)
 */
bool kl_likeness_is_same(const struct kl_likeness *likeness);

#endif
