/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_NAMING_RULES_H
#define KL_REWRITE_NAMING_RULES_H

#include "rewrite/naming/shape.h"

/*
 * naming_rules - a table of the traces that each mechanism leaves in a source. Inside src/rewrite
 * only.
 */

/** How a construct must differ between the faster source and the other. */
enum kl_naming_sense {
	KL_NAMING_END,
	KL_NAMING_MORE,
	KL_NAMING_LESS,
	KL_NAMING_NOT_MORE,
	KL_NAMING_NOT_LESS,
	KL_NAMING_SAME,
	KL_NAMING_MANY, /* at least four, and at least twice as many */
	KL_NAMING_NEW,  /* the faster source has some, the other has none */
	KL_NAMING_NONE, /* neither source has any */
};

#define KL_NAMING_TESTS 5

struct kl_naming_test {
	enum kl_shape_item item;
	enum kl_naming_sense sense;
};

struct kl_naming_rule {
	const char *mechanism;
	int percent;       /* confidence from the source alone */
	const char *words; /* patterns, separated by blanks; the faster source has more of them */
	struct kl_naming_test test[KL_NAMING_TESTS]; /* all of them must hold */
	/* the mechanism cannot be written without these words: it is refuted if none was added */
	bool only_words;
	/*
	 * the mechanism is a promise to the compiler, so nothing else in the shape of the source
	 * may differ: new functions and loops bring such words along
	 */
	bool alone;
};

extern const struct kl_naming_rule kl_naming_rules[]; /* the last rule has no mechanism */

#endif
