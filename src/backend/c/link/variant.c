/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/link/variant.h"

#include <string.h>

#include "base/error.h"

/*
 * The endings of the names that glibc gives the forms of a function, best form first, each with the
 * lowest level that has the instructions of the form. Forms with other endings are not used: they
 * are for features that no level has (FMA4, XOP, RTM), for a fast `rep movsb`, or for AVX without
 * AVX2.
 */
static const struct {
	const char *ending;
	int level;
} forms[] = {
	{ "_skx", 4 },
	{ "_evex_unaligned", 4 },
	{ "_evex_movbe", 4 },
	{ "_evex", 4 },
	{ "_avx512", 4 },
	{ "_fma", 3 },
	{ "_avx2_unaligned", 3 },
	{ "_avx2_movbe", 3 },
	{ "_avx_unaligned", 3 },
	{ "_avx2", 3 },
	{ "_sse4_2", 2 },
	{ "_sse42", 2 },
	{ "_sse4_1", 2 },
	{ "_sse41", 2 },
	{ "_sse4", 2 },
	{ "_avx2_wrapper", 1 }, /* calls the form for shorter vectors */
	{ "_sse_wrapper", 1 },
	{ "_sse2_unaligned", 1 },
	{ "_sse2", 1 },
	{ "_generic", 1 },
	{ "_c", 1 },
};

static bool ends_with(const char *text, const char *ending)
{
	size_t n = strlen(text), len = strlen(ending);

	return n > len && !strcmp(text + n - len, ending);
}

/*
 * Return the rank of a form at a level, 0 for the best; KL_ARRAY_SIZE(forms) if the form must not
 * be used.
 */
static size_t form_rank(const char *name, int level)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(forms); i++)
		if (ends_with(name, forms[i].ending))
			return forms[i].level <= level ? i : KL_ARRAY_SIZE(forms);
	return KL_ARRAY_SIZE(forms);
}

int kl_variant_choose(size_t *out, const struct kl_object *object, size_t sym, int level)
{
	const struct kl_osym *resolver = &object->sym[sym];
	size_t best = KL_ARRAY_SIZE(forms);

	if (resolver->sec < 0)
		return kl_error(KL_ECANNOT, "the IFUNC '%s' has no code", resolver->name);
	/* the resolver has a relocation for each form */
	for (size_t i = kl_object_rel_at(object, (size_t)resolver->sec, resolver->value);
	     i < object->nrel && object->rel[i].sec == (size_t)resolver->sec &&
	     object->rel[i].off - resolver->value < resolver->size;
	     i++) {
		size_t rank = form_rank(object->sym[object->rel[i].sym].name, level);

		if (rank < best) {
			best = rank;
			*out = object->rel[i].sym;
		}
	}
	return best < KL_ARRAY_SIZE(forms) ?
		       0 :
		       kl_error(KL_ECANNOT, "'%s' has no known variant for x86-64-v%d",
				resolver->name, level);
}
