/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a kernel has the code that a card works on. */
#include "event_lib.h"
#include "learn/locus.h"
#include "skill_lib.h"

struct place {
	struct kl_contract *contract;
	struct kl_file file;
	struct kl_surface surface;
	struct kl_target target;
};

static void place_init(struct place *out)
{
	assert_ok(kl_contract_parse(&out->contract, "klineage.yaml", sgemm, strlen(sgemm)));
	out->surface = surface_of(out->contract, &out->file, "int f(void)\n{\n\treturn 1;\n}\n");
	out->target = target("cpu/x86-64-v3");
}

static void place_release(struct place *place)
{
	kl_target_release(&place->target);
	kl_contract_free(place->contract);
}

static void is_missing(struct place *place, const struct kl_card *card, const char *want)
{
	KL_AUTO(kl_freep) char *why = kl_locus_missing(&place->target, card, &place->surface);

	if (!want) {
		assert_null(why);
		return;
	}
	assert_non_null(why);
	assert_contains(why, want);
}

/* A card that was learned from these operators, with an anchor in C that has the facts. */
static struct kl_card *of_ops(const char *ops, const char *facts)
{
	struct kl_card *made = card("made", "m", "");
	struct kl_card_find *find;

	kl_strvec_split(&made->scope.cases, ops, " ");
	KL_GROW(made->anchor.find.v, 1, made->anchor.find.alloc);
	find = &made->anchor.find.v[made->anchor.find.n++];
	*find = (struct kl_card_find){ .language = kl_strdup("c") };
	kl_strvec_split(&find->facts, facts, " ");
	return made;
}

static void test_operator(void **state)
{
	KL_AUTO(place_release) struct place place = { 0 };
	KL_AUTO(kl_card_freep) struct kl_card *near = of_ops("conv2d", ""),
					      *far = of_ops("topk", "loop.depth.3"),
					      *general = of_ops("topk softmax", "");

	place_init(&place); /* of gemm */
	is_missing(&place, near, NULL);
	kl_target_add_prior(&place.target, "loop.depth.3");
	is_missing(&place, far, "learned from no operator like 'gemm', and its anchor has no fact");
	is_missing(&place, general, NULL);
}

static void test_facts(void **state)
{
	KL_AUTO(place_release) struct place place = { 0 };
	KL_AUTO(kl_card_freep) struct kl_card *far = of_ops("topk", "!vec.256 fma.scalar spill");

	place_init(&place);
	is_missing(&place, far, "does not have 'fma.scalar', which");
	kl_target_add_prior(&place.target, "fma.scalar");
	is_missing(&place, far, "does not have 'spill', which");
	kl_target_add_prior(&place.target, "spill");
	is_missing(&place, far, NULL);
	useful(far, "small", "M < 1024");
	is_missing(&place, far, "the useful precondition 'small' is false");
	far->useful.v[0].state = KL_PRE_NOT_TESTED;
	is_missing(&place, far, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operator),
		cmocka_unit_test(test_facts),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
