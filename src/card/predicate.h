/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_PREDICATE_H
#define KL_CARD_PREDICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

/*
 * predicate - a condition over what is known of a target, with three answers: true, false, unknown
 * (docs/formats.md, "Predicates"). It has the signs and functions of plan/expr.h; a value may be a
 * decimal, a text or a fact, too:
 *
 *	cap('cp.async') && K % 64 == 0
 *	cdiv(extent(reduction), BK) >= 2*STAGES || !has('ldg.128')
 *	dtype == 'f16' && sol.dram < 0.7
 *
 * Facts are open: what the target does not know is unknown, and so is what cannot be computed
 * (overflow, division by zero, a text where a number is needed). && || ! are Kleene's: false &&
 * unknown is false. Each condition of a contract's domain is a predicate, too, and means the same
 * where all is known. The text is hostile: bounded in length and depth.
 *
 *	kl_predicate_parse(&p, "K % 64 == 0", &at);
 *	kl_known_int(&known, "K", 4096);
 *	kl_known_member(&known, "cap", "cp.async");
 *	kl_known_close(&known, "cap");			no other capability is there
 *	kl_predicate_eval(p, &known) == KL_TRUE
 */
#define KL_PREDICATE_MAX_TEXT 1024

enum kl_truth { KL_FALSE, KL_TRUE, KL_UNKNOWN };
const char *kl_truth_name(enum kl_truth truth); /* "false", "true", "unknown" */

/* --- what is known ------------------------------------------------------------ */

/*
 * Facts by key: a name ("K", "dtype", "sol.dram") or a call as it is written without blanks and
 * quotes ("cap(cp.async)", "align(A)", "stride_bytes(A,K)").
 */
struct kl_known {
	struct kl_map facts;     /* values owned */
	struct kl_strvec closed; /* functions of which everything that holds is listed */
};
#define KL_KNOWN_INIT                          \
	{                                      \
		.facts = {.free_value = free } \
	}

void kl_known_release(struct kl_known *known);
void kl_known_int(struct kl_known *known, const char *key, int64_t value);
/** Compares with decimals. */
void kl_known_ratio(struct kl_known *known, const char *key, int64_t ppm);
void kl_known_text(struct kl_known *known, const char *key, const char *value);
void kl_known_truth(struct kl_known *known, const char *key, enum kl_truth value);
/** `<function>('<member>')` holds: kl_known_member(known, "has", "ldg.128"). */
void kl_known_member(struct kl_known *known, const char *function, const char *member);
/** What is not listed of this function is false, not unknown. */
void kl_known_close(struct kl_known *known, const char *function);
/** Is anything known by that key? */
bool kl_known_has(const struct kl_known *known, const char *key);
/**
 * The number that is known by that key, in millionths; false: none, or beyond what that can hold.
 */
bool kl_known_number(int64_t *millionths, const struct kl_known *known, const char *key);
/** All of it, in the order it was set, one a line: "K = 4096", "has(fma) is true". */
void kl_known_write(struct kl_buf *out, const struct kl_known *known);

/* --- predicates ----------------------------------------------------------------- */

struct kl_predicate {
	struct kl_expr *top; /* owned; plan/expr_tree.h */
};

/** KL_EINVALID; `*at` (may be NULL) is the byte where the text goes wrong. */
int kl_predicate_parse(struct kl_predicate **out, const char *text, size_t *at);
void kl_predicate_free(struct kl_predicate *predicate);
KL_DEFINE_CLEANUP(struct kl_predicate *, kl_predicate_free)

enum kl_truth kl_predicate_eval(const struct kl_predicate *predicate, const struct kl_known *known);
/** Keys that it asks for, sorted, each once. */
void kl_predicate_keys(struct kl_strvec *out, const struct kl_predicate *predicate);
/** "K = 4096, cap(cp.async) is not known": its keys with their values, for --explain. */
void kl_predicate_explain(struct kl_buf *out, const struct kl_predicate *predicate,
			  const struct kl_known *known);

/* --- comparing (predicate_relate.c) ------------------------------------------------ */

enum kl_relation {
	KL_RELATION_SAME,     /* each follows from the other */
	KL_RELATION_STRONGER, /* the old one follows from the new one */
	KL_RELATION_WEAKER,   /* the new one follows from the old one: it holds in more cases */
	/* neither is seen to follow: it may hold where the old one did not */
	KL_RELATION_OTHER,
};

/**
 * How `now` stands to `old`, by their form alone: conjuncts, alternatives, bounds, remainders by
 * constants. `lost` (may be NULL) gets the conjuncts of `old` that do not follow from `now`, as
 * texts.
 */
enum kl_relation kl_predicate_relation(const struct kl_predicate *old,
				       const struct kl_predicate *now, struct kl_strvec *lost);

#endif
