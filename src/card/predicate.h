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
 * predicate - a condition over the known facts of a target, in three-valued logic (docs/formats.md,
 * "Predicates"). Its value is true, false or unknown. A predicate has the operators and functions
 * of plan/expr.h; operands can also be decimals, texts and facts:
 *
 *	cap('cp.async') && K % 64 == 0
 *	cdiv(extent(reduction), BK) >= 2*STAGES || !has('ldg.128')
 *	dtype == 'f16' && sol.dram < 0.7
 *
 * A fact that is not listed is unknown (but see kl_known_close), and so is a value that cannot be
 * computed (overflow, division by zero, a text instead of a number). && || ! are Kleene's: false &&
 * unknown is false. A condition of a contract's domain is also a predicate, and means the same here
 * as in the contract if all facts are known. The text is untrusted, so its length and depth are
 * limited.
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

/* --- known facts -------------------------------------------------------------- */

/*
 * Facts by key. A key is a name ("K", "dtype", "sol.dram") or a call without blanks and quotes
 * ("cap(cp.async)", "align(A)", "stride_bytes(A,K)").
 */
struct kl_known {
	struct kl_map facts; /* values owned */
	/* functions whose true facts are all listed, so that all their other facts are false */
	struct kl_strvec closed;
};
#define KL_KNOWN_INIT                          \
	{                                      \
		.facts = {.free_value = free } \
	}

void kl_known_release(struct kl_known *known);
void kl_known_int(struct kl_known *known, const char *key, int64_t value);
/** Set a ratio, in millionths. Predicates compare the ratio with decimals. */
void kl_known_ratio(struct kl_known *known, const char *key, int64_t ppm);
void kl_known_text(struct kl_known *known, const char *key, const char *value);
void kl_known_truth(struct kl_known *known, const char *key, enum kl_truth value);
/** Set `<function>('<member>')` to true: kl_known_member(known, "has", "ldg.128"). */
void kl_known_member(struct kl_known *known, const char *function, const char *member);
/**
 * Declare that all true facts of `function` are listed. All its other facts are then false, not
 * unknown.
 */
void kl_known_close(struct kl_known *known, const char *function);
/** Check whether the key has a known value. */
bool kl_known_has(const struct kl_known *known, const char *key);
/**
 * Get a number in millionths. Return false if the key has no number, or if the number overflows.
 */
bool kl_known_number(int64_t *millionths, const struct kl_known *known, const char *key);
/**
 * Append all facts in the order in which they were set, one per line: "K = 4096", "has(fma) is
 * true".
 */
void kl_known_write(struct kl_buf *out, const struct kl_known *known);

/* --- predicates ----------------------------------------------------------------- */

struct kl_predicate {
	struct kl_expr *top; /* owned; plan/expr_tree.h */
};

/**
 * Parse `text`; the caller frees *out. Return KL_EINVALID if there is a syntax error at byte *at
 * (may be NULL).
 */
int kl_predicate_parse(struct kl_predicate **out, const char *text, size_t *at);
void kl_predicate_free(struct kl_predicate *predicate);
KL_DEFINE_CLEANUP(struct kl_predicate *, kl_predicate_free)

enum kl_truth kl_predicate_eval(const struct kl_predicate *predicate, const struct kl_known *known);
/** Append the keys that the predicate uses, sorted, without duplicates. */
void kl_predicate_keys(struct kl_strvec *out, const struct kl_predicate *predicate);
/** Append the keys with their values, for --explain: "K = 4096, cap(cp.async) is not known". */
void kl_predicate_explain(struct kl_buf *out, const struct kl_predicate *predicate,
			  const struct kl_known *known);

/* --- comparing two predicates (predicate_relate.c) -------------------------------------------- */

enum kl_relation {
	KL_RELATION_SAME,     /* each of the two predicates implies the other */
	KL_RELATION_STRONGER, /* the new predicate implies the old one, and not the reverse */
	/* the old predicate implies the new one, which therefore holds in more cases */
	KL_RELATION_WEAKER,
	/* no implication was found, so the new predicate may hold where the old one does not */
	KL_RELATION_OTHER,
};

/**
 * Relate `now`, the new predicate, to `old`. Only the syntax is compared: conjuncts, alternatives,
 * bounds, remainders by constants. `lost` (may be NULL) gets the texts of the conjuncts of `old`
 * that `now` does not imply.
 */
enum kl_relation kl_predicate_relation(const struct kl_predicate *old,
				       const struct kl_predicate *now, struct kl_strvec *lost);

#endif
