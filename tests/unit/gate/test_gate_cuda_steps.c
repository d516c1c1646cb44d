/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_kernel.h"
#include "scratch.h"

#include "gate/gate.h"
#include "repo/repo.h"

/*
 * The shipped histories of device code: undoing each step takes away what its mechanism names and
 * nothing else, and never leaves the machine code as it was.
 */
static const char *const templates[] = { "cuda-topk", "cuda-gemm", "cuda-gdn-kkt",
					 "cuda-gdn-cumsum", "cuda-fmha" };

static void facts_of(struct kl_facts *out, struct kl_gate *gate, const char *dir, const char *name,
		     const char *rev)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_freep) char *at = kl_asprintf("%s/at", dir);

	sh(dir,
	   "rm -rf at && mkdir at && cp '%s'/templates/workloads/%s/*.cu '%s'/templates/workloads/%s/*.yaml at && "
	   "git archive %s | tar -x -C at",
	   KL_SOURCE, name, KL_SOURCE, name, rev);
	assert_ok(kl_surface_from_dir(&surface, at, ""));
	if (kl_gate_facts(out, gate, surface) < 0)
		fail_msg("%s %s: %s", name, rev, kl_error_last());
}

/* Claim the primary traits of the mechanism, as a walk does: the step forward adds them. */
static void claim_traits(const struct kl_mechanism *mechanism, struct kl_facts *before,
			 struct kl_facts *after)
{
	before->traits.free_value = after->traits.free_value = free;
	for (size_t i = 0; i < mechanism->primary.n; i++)
		if (!strncmp(mechanism->primary.v[i], "trait:", 6)) {
			kl_map_put(&before->traits, mechanism->primary.v[i] + 6, kl_strdup("no"));
			kl_map_put(&after->traits, mechanism->primary.v[i] + 6, kl_strdup("yes"));
		}
}

static void walk(const char *name, const struct kl_mechanisms *mechanisms)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir(name), *revs = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec rev = KL_STRVEC_INIT;
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = NULL;
	struct kl_facts before = { 0 }, after = { 0 };

	sh(dir, "git init -q . && git am -q '%s'/templates/workloads/%s/history/*.patch", KL_SOURCE,
	   name);
	revs = sh_text(dir, "git rev-list --reverse HEAD");
	kl_strvec_split(&rev, revs, "\n");
	assert_true(rev.n > 4);
	assert_ok(kl_gate_open(&gate, NULL, &(struct kl_gate_opts){ 0 }));
	for (size_t i = 0; i < rev.n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *mechanism = sh_text(
			dir,
			"git log -1 --format='%%(trailers:key=Klineage-Mechanism,"
			"valueonly,separator=)' %s",
			rev.v[i]);
		const struct kl_mechanism *other = kl_mechanisms_find(mechanisms, mechanism);

		facts_of(&after, gate, dir, name, rev.v[i]);
		if (i && !other)
			fail_msg("%s: no mechanism '%s'", name, mechanism);
		if (i)
			claim_traits(other, &before, &after);
		if (i && kl_facts_judge(&why, other, &after, &before) != KL_DELTA_CLEAN)
			fail_msg("%s, step %zu (%s): %s", name, i, mechanism, why.ptr);
		kl_facts_release(&before);
		before = after;
		after = (struct kl_facts){ 0 };
	}
	kl_facts_release(&before);
}

static void test_steps(void **state)
{
	struct kl_mechanisms mechanisms = { 0 };
	struct kl_nvcc nvcc;

	if (kl_nvcc_find(&nvcc, NULL) < 0) {
		print_message("SKIPPED: %s\n", kl_error_last());
		skip();
	}
	kl_nvcc_release(&nvcc);
	assert_ok(kl_mechanisms_load(&mechanisms, KL_SOURCE "/templates/mechanisms.yaml"));
	for (size_t i = 0; i < KL_ARRAY_SIZE(templates); i++)
		walk(templates[i], &mechanisms);
	kl_mechanisms_release(&mechanisms);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_steps) };

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
