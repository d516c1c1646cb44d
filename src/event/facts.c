/* SPDX-License-Identifier: Apache-2.0 */
#include "event/facts.h"

#include <fnmatch.h>
#include <string.h>

#include "base/mem.h"
#include "base/prefix.h"

void kl_facts_release(struct kl_facts *facts)
{
	kl_strvec_release(&facts->features);
	kl_map_release(&facts->traits);
	*facts = (struct kl_facts){ 0 };
}

/* Patterns of the features that version 2 of the list added. */
static const char *const second[] = {
	"madd", "sad", "mul.wide", "clmul", "crc32", "aes", "sha", "table-shuffle", "accumulators*",
};

/* Return true if this version of the list has the feature. */
static bool is_listed(const char *feature, int64_t version)
{
	static const char pointer[] = "pointer.";

	if (version >= 2)
		return true;
	if (kl_prefix_has(feature, pointer))
		feature += strlen(pointer);
	for (size_t i = 0; i < KL_ARRAY_SIZE(second); i++)
		if (!fnmatch(second[i], feature, 0))
			return false;
	return true;
}

void kl_features_minus(struct kl_strvec *out, const struct kl_strvec *left,
		       const struct kl_strvec *right, int64_t version)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec all = KL_STRVEC_INIT;

	kl_strvec_minus(&all, left, right);
	for (size_t i = 0; i < all.n; i++)
		if (is_listed(all.v[i], version))
			kl_strvec_push(out, all.v[i]);
}

static bool has_trait(const struct kl_facts *facts, const char *name)
{
	const char *value = kl_map_get(&facts->traits, name);

	return value && !strncmp(value, "yes", 3);
}

/* Append the facts that `left` has and `right` lacks: features, and traits as "trait:<name>". */
static void all_minus(struct kl_strvec *out, const struct kl_facts *left,
		      const struct kl_facts *right)
{
	kl_features_minus(out, &left->features, &right->features, right->features_version);
	for (size_t i = 0; i < left->traits.n; i++) {
		const char *name = left->traits.e[i].key;

		if (has_trait(left, name) && kl_map_get(&right->traits, name) &&
		    !has_trait(right, name))
			kl_strvec_pushf(out, "trait:%s", name);
	}
}

static bool matches_any(const struct kl_strvec *globs, const char *fact)
{
	for (size_t i = 0; i < globs->n; i++)
		if (!fnmatch(globs->v[i], fact, 0))
			return true;
	return false;
}

static void add_reason(struct kl_buf *why, const char *what, const char *fact)
{
	kl_buf_addf(why, "%s%s %s", why->len ? ", " : "", what, fact);
}

/* Count the facts in `delta` that match neither `allow` nor `allow2`, and add them to `why`. */
static size_t count_foreign(struct kl_buf *why, const char *what, const struct kl_strvec *delta,
			    const struct kl_strvec *allow, const struct kl_strvec *allow2)
{
	size_t n = 0;

	for (size_t i = 0; i < delta->n; i++) {
		const char *fact = delta->v[i];

		if (!fnmatch("accumulators*", fact, 0) || (allow && matches_any(allow, fact)) ||
		    (allow2 && matches_any(allow2, fact)))
			continue;
		add_reason(why, what, fact);
		n++;
	}
	return n;
}

static bool has_fact(const struct kl_facts *facts, const char *fact)
{
	return strncmp(fact, "trait:", 6) ? kl_strvec_has(&facts->features, fact) :
					    has_trait(facts, fact + 6);
}

/* List the primary facts that disappeared or remain, and return how many disappeared. */
static size_t list_primary(struct kl_buf *why, const struct kl_mechanism *mechanism,
			   const struct kl_strvec *gone, const struct kl_facts *after)
{
	size_t n = 0;

	for (size_t i = 0; mechanism && i < mechanism->primary.n; i++) {
		if (kl_strvec_has(gone, mechanism->primary.v[i])) {
			add_reason(why, "gone:", mechanism->primary.v[i]);
			n++;
		} else if (has_fact(after, mechanism->primary.v[i])) {
			add_reason(why, "still there:", mechanism->primary.v[i]);
		}
	}
	if (!n && !why->len)
		kl_buf_adds(why, "no primary fact disappeared");
	return n;
}

bool kl_facts_moved(struct kl_buf *why, const struct kl_mechanism *mechanism,
		    const struct kl_facts *before, const struct kl_facts *after)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec gone = KL_STRVEC_INIT;

	all_minus(&gone, before, after);
	return list_primary(why, mechanism, &gone, after) > 0;
}

enum kl_delta kl_facts_judge(struct kl_buf *why, const struct kl_mechanism *mechanism,
			     const struct kl_facts *before, const struct kl_facts *after)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec gone = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec came = KL_STRVEC_INIT;
	size_t foreign;

	if (!strcmp(before->code_digest, after->code_digest)) {
		kl_buf_adds(why, "the machine code is the same");
		return KL_DELTA_NO_CHANGE;
	}
	all_minus(&gone, before, after);
	all_minus(&came, after, before);
	foreign = count_foreign(why, "lost", &gone, mechanism ? &mechanism->primary : NULL,
				mechanism ? &mechanism->companions : NULL);
	foreign += count_foreign(why, "gained", &came, mechanism ? &mechanism->fallbacks : NULL,
				 NULL);
	if (foreign)
		return KL_DELTA_COMPOUND;
	return list_primary(why, mechanism, &gone, after) ? KL_DELTA_CLEAN : KL_DELTA_UNMOVED;
}
