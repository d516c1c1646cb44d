/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/naming/naming.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "rewrite/naming/naming_constants.h"
#include "rewrite/naming/naming_rules.h"
#include "rewrite/naming/shape.h"

#define FACT_GAIN 6     /* per cent added for each gained fact of the mechanism */
#define FACT_GAINS 3    /* maximum number of gained facts that count */
#define FACT_NONE 8     /* per cent subtracted if none was gained */
#define FACT_FOREIGN 4  /* per cent subtracted for each fact that the mechanism does not explain */
#define FACT_FOREIGNS 4 /* maximum number of unexplained facts that count */
#define ORDER_PERCENT 74
#define FACT_PERCENT 55
#define MOST 95
#define MOST_TEXT 300 /* bytes of the evidence */
#define MOST_PATHS 64 /* maximum number of paths to innermost loops that are compared */

void kl_naming_release(struct kl_naming *naming)
{
	kl_buf_release(&naming->evidence);
}

static void add_evidence(struct kl_buf *out, const char *what, long before, long after)
{
	kl_buf_addf(out, "%s%s %ld -> %ld", out->len ? "; " : "", what, before, after);
}

/*
 * --- the source -------------------------------------------------------------------------------
 */

struct shapes {
	struct kl_shape fast, plain;
};

static void shapes_release(struct shapes *shapes)
{
	kl_shape_release(&shapes->fast);
	kl_shape_release(&shapes->plain);
}

static long count_words(const struct kl_shape *shape, const char *patterns)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec list = KL_STRVEC_INIT;
	long n = 0;

	kl_strvec_split(&list, patterns, " ");
	for (size_t i = 0; i < list.n; i++)
		n += kl_shape_words(shape, list.v[i]);
	return n;
}

static bool holds(enum kl_naming_sense sense, long fast, long plain)
{
	switch (sense) {
	case KL_NAMING_MORE:
		return fast > plain;
	case KL_NAMING_LESS:
		return fast < plain;
	case KL_NAMING_NOT_MORE:
		return fast <= plain;
	case KL_NAMING_NOT_LESS:
		return fast >= plain;
	case KL_NAMING_SAME:
		return fast == plain;
	case KL_NAMING_MANY:
		return fast >= 4 && fast >= 2 * plain;
	case KL_NAMING_NEW:
		return fast > 0 && !plain;
	case KL_NAMING_NONE:
		return !fast && !plain;
	default:
		return true;
	}
}

static bool passes_rule(struct kl_buf *evidence, const struct kl_naming_rule *rule,
			const struct shapes *shapes)
{
	if (rule->words) {
		long fast = count_words(&shapes->fast, rule->words);
		long plain = count_words(&shapes->plain, rule->words);

		/* a small increase of a large number is a by-product */
		if (fast <= plain || (plain && fast * 4 < plain * 5))
			return false;
		add_evidence(evidence, "words of it in the source", plain, fast);
	}
	if (rule->alone &&
	    memcmp(shapes->fast.count, shapes->plain.count, sizeof(shapes->fast.count)))
		return false;
	for (size_t i = 0; i < KL_NAMING_TESTS && rule->test[i].sense; i++) {
		enum kl_shape_item item = rule->test[i].item;
		long fast = shapes->fast.count[item], plain = shapes->plain.count[item];

		if (!holds(rule->test[i].sense, fast, plain))
			return false;
		if (fast != plain)
			add_evidence(evidence, kl_shape_name(item), plain, fast);
	}
	return true;
}

static int compare_parts(const void *one, const void *two)
{
	return strcmp(*(char *const *)one, *(char *const *)two);
}

/* Check that two paths to an innermost loop have the same loops in a different order. */
static bool is_permuted(const char *left, const char *right)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec one = KL_STRVEC_INIT, two = KL_STRVEC_INIT;

	if (!strcmp(left, right))
		return false;
	kl_strvec_split(&one, left, ";");
	kl_strvec_split(&two, right, ";");
	if (one.n < 2 || one.n != two.n)
		return false;
	qsort(one.v, one.n, sizeof(*one.v), compare_parts);
	qsort(two.v, two.n, sizeof(*two.v), compare_parts);
	for (size_t i = 0; i < one.n; i++)
		if (strcmp(one.v[i], two.v[i]))
			return false;
	return true;
}

/* Check that the loops around an innermost loop were interchanged. */
static bool is_interchanged(struct kl_buf *evidence, const struct shapes *shapes)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec only_fast = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec only_plain = KL_STRVEC_INIT;

	kl_strvec_minus(&only_fast, &shapes->fast.paths, &shapes->plain.paths);
	kl_strvec_minus(&only_plain, &shapes->plain.paths, &shapes->fast.paths);
	for (size_t i = 0; i < only_fast.n && i < MOST_PATHS; i++)
		for (size_t k = 0; k < only_plain.n && k < MOST_PATHS; k++)
			if (is_permuted(only_fast.v[i], only_plain.v[k])) {
				kl_buf_addf(evidence, "loops in another order: %s was %s",
					    only_fast.v[i], only_plain.v[k]);
				return true;
			}
	return false;
}

/*
 * --- the facts --------------------------------------------------------------------------------
 */

static bool matches_any(const struct kl_strvec *globs, const char *fact)
{
	for (size_t i = 0; i < globs->n; i++)
		if (!fnmatch(globs->v[i], fact, 0))
			return true;
	return false;
}

static bool is_trait(const char *fact)
{
	return !strncmp(fact, "trait:", 6);
}

/*
 * Return false if the facts contradict the mechanism: none of its features was gained, and it has
 * no trait, which machine code need not show.
 */
static bool is_possible(const struct kl_mechanism *mechanism, const struct kl_strvec *gained)
{
	bool trait = false;

	for (size_t i = 0; i < mechanism->primary.n; i++) {
		if (is_trait(mechanism->primary.v[i]))
			trait = true;
		else if (kl_strvec_has(gained, mechanism->primary.v[i]))
			return true;
	}
	/* 128-bit vectors that were written by hand count, too */
	return trait ||
	       (!strcmp(mechanism->name, "vector-loop") && kl_strvec_has(gained, "vec.128"));
}

/* Return the greatest n of the features "loop.depth.<n>". */
static long depth_of(const struct kl_facts *facts)
{
	long most = 0;

	for (size_t i = 0; i < facts->features.n; i++)
		if (!strncmp(facts->features.v[i], "loop.depth.", 11)) {
			long depth = strtol(facts->features.v[i] + 11, NULL, 10);

			most = depth > most ? depth : most;
		}
	return most;
}

/*
 * Return true if the facts rule out a mechanism whose own facts cannot show it: a cache block that
 * removed loops, for example.
 */
static bool is_denied(const struct kl_mechanism *mechanism, const struct kl_naming_sides *sides,
		      const struct kl_strvec *gained)
{
	if (!strcmp(mechanism->name, "cache-block"))
		return depth_of(sides->had) < depth_of(sides->has);
	if (!strcmp(mechanism->name, "strength-reduction"))
		return kl_strvec_has(gained, "idiv") || kl_strvec_has(gained, "div");
	if (!strcmp(mechanism->name, "smem-tile") || !strcmp(mechanism->name, "sm-stage") ||
	    !strcmp(mechanism->name, "smem-pad"))
		return sides->had->features.n && !kl_strvec_has(&sides->had->features, "smem");
	return false;
}

/*
 * Return the amount that the facts add to the confidence, and append the gained facts to
 * `evidence`. Return -100 if they contradict the mechanism.
 */
static int weigh_facts(struct kl_buf *evidence, const struct kl_mechanism *mechanism,
		       const struct kl_naming_sides *sides)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec gained = KL_STRVEC_INIT, lost = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	int own = 0, foreign = 0;

	kl_strvec_minus(&gained, &sides->had->features, &sides->has->features);
	kl_strvec_minus(&lost, &sides->has->features, &sides->had->features);
	if (!is_possible(mechanism, &gained) || is_denied(mechanism, sides, &gained))
		return -100;
	for (size_t i = 0; i < gained.n; i++) {
		if (!matches_any(&mechanism->primary, gained.v[i]) &&
		    !matches_any(&mechanism->companions, gained.v[i])) {
			foreign++;
			continue;
		}
		own++;
		kl_buf_addf(&list, "%s%s", list.len ? ", " : "gained ", gained.v[i]);
	}
	for (size_t i = 0; i < lost.n; i++)
		foreign += !matches_any(&mechanism->fallbacks, lost.v[i]);
	if (list.len)
		kl_buf_addf(evidence, "%s%s", evidence->len ? "; " : "", list.ptr);
	own = own > FACT_GAINS ? FACT_GAINS : own;
	foreign = foreign > FACT_FOREIGNS ? FACT_FOREIGNS : foreign;
	return (own ? own * FACT_GAIN : -FACT_NONE) - foreign * FACT_FOREIGN;
}

/* --- the name --------------------------------------------------------------------------------- */

/* Take this name if its confidence is greater than that of the best name so far. */
static void consider_name(struct kl_naming *out, const struct kl_naming_sides *sides,
			  const char *name, int percent, const struct kl_buf *evidence)
{
	const struct kl_mechanism *mechanism = kl_mechanisms_find(sides->mechanisms, name);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	if (!mechanism)
		return;
	kl_buf_adds(&text, evidence->ptr);
	percent += weigh_facts(&text, mechanism, sides);
	percent = percent > MOST ? MOST : percent;
	if (percent <= out->percent)
		return;
	out->percent = percent;
	out->mechanism = mechanism;
	kl_buf_clear(&out->evidence);
	kl_buf_adds(&out->evidence, text.ptr);
}

static void try_rules(struct kl_naming *out, const struct kl_naming_sides *sides,
		      const struct shapes *shapes)
{
	KL_AUTO(kl_buf_release) struct kl_buf order = KL_BUF_INIT;

	for (const struct kl_naming_rule *rule = kl_naming_rules; rule->mechanism; rule++) {
		KL_AUTO(kl_buf_release) struct kl_buf evidence = KL_BUF_INIT;

		if (passes_rule(&evidence, rule, shapes))
			consider_name(out, sides, rule->mechanism, rule->percent, &evidence);
	}
	if (is_interchanged(&order, shapes))
		consider_name(out, sides, "loop-interchange", ORDER_PERCENT, &order);
}

/* Check that no compiler makes this feature on its own, so that the source must ask for it. */
static bool is_asked_for(const char *fact)
{
	static const char *const list[] = { "prefetch",  "nt-store",  "cp.async", "tma.*",
					    "multicast", "ldmatrix",  "stmatrix", "mma",
					    "mma.*",     "wgmma",     "pdl",      "cluster",
					    "ballot",    "setmaxnreg" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(list); i++)
		if (!fnmatch(list[i], fact, 0))
			return true;
	return false;
}

/* Name a step by facts alone: its mechanism has a gained fact that only a source can ask for. */
static void try_facts(struct kl_naming *out, const struct kl_naming_sides *sides)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec gained = KL_STRVEC_INIT;

	kl_strvec_minus(&gained, &sides->had->features, &sides->has->features);
	for (size_t i = 0; i < sides->mechanisms->n; i++) {
		const struct kl_mechanism *mechanism = &sides->mechanisms->m[i];
		KL_AUTO(kl_buf_release) struct kl_buf evidence = KL_BUF_INIT;
		bool asked = false;

		for (size_t k = 0; k < mechanism->primary.n && !asked; k++)
			asked = is_asked_for(mechanism->primary.v[k]) &&
				kl_strvec_has(&gained, mechanism->primary.v[k]);
		if (asked)
			consider_name(out, sides, mechanism->name, FACT_PERCENT - FACT_GAIN,
				      &evidence);
	}
}

/* Turn a text that quotes a source into valid UTF-8 of bounded length. */
static void tidy_text(struct kl_buf *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf clean = KL_BUF_INIT;
	bool cut;

	kl_utf8_clean(&clean, text->ptr, text->len);
	cut = clean.len > MOST_TEXT;
	kl_buf_clear(text);
	kl_buf_add(text, clean.ptr, cut ? kl_utf8_cut(clean.ptr, clean.len, MOST_TEXT) : clean.len);
	if (cut)
		kl_buf_adds(text, "...");
}

/* Check that the sources can be read in reasonable time. */
static bool sources_fit(const struct kl_naming_sides *sides)
{
	return kl_shape_fits(sides->fast, sides->nfast) &&
	       kl_shape_fits(sides->plain, sides->nplain);
}

void kl_naming_find(struct kl_naming *out, const struct kl_naming_sides *sides)
{
	KL_AUTO(shapes_release) struct shapes shapes = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf evidence = KL_BUF_INIT;
	const char *name;

	*out = (struct kl_naming){ .evidence = KL_BUF_INIT };
	if (!sources_fit(sides)) {
		try_facts(out, sides);
	} else if (kl_naming_constants(&name, &evidence, sides)) {
		if (name)
			consider_name(out, sides, name, KL_NAMING_CONSTANT, &evidence);
	} else {
		kl_shape_read(&shapes.fast, sides->fast, sides->nfast);
		kl_shape_read(&shapes.plain, sides->plain, sides->nplain);
		try_rules(out, sides, &shapes);
		try_facts(out, sides);
	}
	tidy_text(&out->evidence);
	if (out->percent < KL_NAMING_LEAST)
		out->mechanism = NULL;
}

bool kl_naming_refutes(struct kl_buf *why, const struct kl_naming_sides *sides,
		       const struct kl_mechanism *claimed)
{
	KL_AUTO(shapes_release) struct shapes shapes = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf evidence = KL_BUF_INIT;
	const char *name;

	if (!sources_fit(sides))
		return false;
	if (kl_naming_constants(&name, &evidence, sides)) {
		bool tile = !strcmp(claimed->name, "register-tile") ||
			    !strcmp(claimed->name, "cache-block");

		if (!tile || (name && !strcmp(name, claimed->name)))
			return false;
		tidy_text(&evidence);
		kl_buf_addf(why, "only constants changed: %s", evidence.ptr);
		return true;
	}
	kl_shape_read(&shapes.fast, sides->fast, sides->nfast);
	kl_shape_read(&shapes.plain, sides->plain, sides->nplain);
	for (const struct kl_naming_rule *rule = kl_naming_rules; rule->mechanism; rule++) {
		if (strcmp(rule->mechanism, claimed->name) || !rule->only_words)
			continue;
		if (count_words(&shapes.fast, rule->words) >
		    count_words(&shapes.plain, rule->words))
			return false;
		kl_buf_addf(why, "nothing of it in the source changed (%s)", rule->words);
		return true;
	}
	return false;
}
