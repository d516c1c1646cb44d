/* SPDX-License-Identifier: Apache-2.0 */
#include "event/facts.h"

#include <fnmatch.h>
#include <string.h>

#include "base/mem.h"

void kl_facts_release(struct kl_facts *f)
{
	kl_strvec_release(&f->features);
	kl_map_release(&f->traits);
	*f = (struct kl_facts){ 0 };
}

static bool has_trait(const struct kl_facts *f, const char *name)
{
	const char *value = kl_map_get(&f->traits, name);

	return value && !strncmp(value, "yes", 3);
}

/* Facts of `a` that are not of `b`: features, and traits as "trait:<name>". */
static void all_minus(struct kl_strvec *out, const struct kl_facts *a, const struct kl_facts *b)
{
	kl_strvec_minus(out, &a->features, &b->features);
	for (size_t i = 0; i < a->traits.n; i++) {
		const char *name = a->traits.e[i].key;

		if (has_trait(a, name) && kl_map_get(&b->traits, name) && !has_trait(b, name))
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

/* Facts of `delta` outside the mechanism, into `why`; how many. */
static size_t count_foreign(struct kl_buf *why, const char *what, const struct kl_strvec *delta,
			    const struct kl_strvec *allow, const struct kl_strvec *allow2)
{
	size_t n = 0;

	for (size_t i = 0; i < delta->n; i++) {
		const char *fact = delta->v[i];

		if ((allow && matches_any(allow, fact)) || (allow2 && matches_any(allow2, fact)))
			continue;
		add_reason(why, what, fact);
		n++;
	}
	return n;
}

static bool has_fact(const struct kl_facts *f, const char *fact)
{
	return strncmp(fact, "trait:", 6) ? kl_strvec_has(&f->features, fact) :
					    has_trait(f, fact + 6);
}

static void say_primary(struct kl_buf *why, const struct kl_mechanism *m,
			const struct kl_strvec *gone, const struct kl_facts *after)
{
	for (size_t i = 0; m && i < m->primary.n; i++) {
		if (kl_strvec_has(gone, m->primary.v[i]))
			add_reason(why, "gone:", m->primary.v[i]);
		else if (has_fact(after, m->primary.v[i]))
			add_reason(why, "still there:", m->primary.v[i]);
	}
}

enum kl_delta kl_facts_judge(struct kl_buf *why, const struct kl_mechanism *m,
			     const struct kl_facts *before, const struct kl_facts *after)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec gone = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec came = KL_STRVEC_INIT;
	size_t n;

	if (!strcmp(before->code_digest, after->code_digest)) {
		kl_buf_adds(why, "the machine code is the same");
		return KL_DELTA_NO_CHANGE;
	}
	all_minus(&gone, before, after);
	all_minus(&came, after, before);
	n = count_foreign(why, "lost", &gone, m ? &m->primary : NULL, m ? &m->companions : NULL);
	n += count_foreign(why, "gained", &came, m ? &m->fallbacks : NULL, NULL);
	if (n)
		return KL_DELTA_COMPOUND;
	say_primary(why, m, &gone, after);
	return KL_DELTA_CLEAN;
}
