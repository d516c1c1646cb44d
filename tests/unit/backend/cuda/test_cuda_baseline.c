/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baselines that are kernels of ours fit the contracts that are shipped with them, and compile as
 * candidates do.
 */
#include "cuda_fixture.h"

#include <signal.h>

#include "backend/cuda/baseline.h"
#include "base/proc.h"

/* What is done with a baseline; `kept`: its object; `key`: only the digest of what it depends on. */
struct use {
	const char *kept;
	char *key;
};

/* If `text` is NULL, use the shipped contract of that workload. */
static int use_baseline(struct kl_artefact **out, const char *workload, const char *text,
			const struct use *use)
{
	KL_AUTO(kl_freep) char *relative = kl_asprintf("templates/workloads/%s/klineage.yaml",
						       workload);
	KL_AUTO(kl_freep) char *path = NULL, *dir = kl_fs_join(kernel.dir, workload);
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;
	struct kl_surface surface = { 0 };

	if (!text) {
		assert_ok(kl_fs_share(&path, relative));
		assert_ok(kl_fs_read(&buf, path, 1 << 20));
		text = buf.ptr;
	}
	assert_ok(kl_contract_parse(&contract, "klineage.yaml", text, strlen(text)));
	surface.contract = contract;
	if (use->key) {
		struct kl_digest *digest = kl_digest_new();
		int err = kl_baseline_cuda_recipe(digest, &surface);

		kl_digest_end(digest, use->key);
		return err;
	}
	if (use->kept)
		return kl_baseline_cuda_kept(out, &surface, "sm_90a", use->kept);
	return kl_baseline_cuda(out, &kernel.jail, &kernel.nvcc, &surface, "sm_90a", dir);
}

static int baseline(struct kl_artefact **out, const char *workload, const char *text)
{
	return use_baseline(out, workload, text, &(struct use){ .kept = NULL });
}

static void test_shipped(void **state)
{
	static const char *const workloads[] = {
		"cuda-topk", "cuda-gdn-cumsum", "cuda-gdn-kkt", "cuda-gdn-fwd", "cuda-gdn",
	};

	NEEDS_NVCC();
	for (size_t i = 0; i < KL_ARRAY_SIZE(workloads); i++) {
		KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;

		assert_ok(baseline(&artefact, workloads[i], NULL));
		assert_true(kl_fs_exists(artefact->object));
		assert_non_null(kl_yaml_get(kl_plan_tree(artefact->launch->plan), "launch"));
	}
}

/* An object that was compiled before is taken as it is; the plan is read again. */
static void test_kept(void **state)
{
	const struct use use = { .kept = "/kept.cubin" };
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
	struct kl_artefact *none = NULL;

	assert_ok(use_baseline(&artefact, "cuda-topk", NULL, &use));
	assert_string_equal(artefact->object, "/kept.cubin");
	assert_non_null(kl_yaml_get(kl_plan_tree(artefact->launch->plan), "launch"));
	assert_int_equal(use_baseline(&none, "cuda-gemm", NULL, &use), KL_ENOTFOUND);
	assert_error(KL_ECANNOT, "baseline 'cub.topk': cub.topk.yaml:",
		     use_baseline(&none, "w", CUDA_CONTRACT "baseline: cub.topk\n", &use));
	assert_null(none);
}

/* Source and plan are in the key, so that baselines of one family have keys of their own. */
static void test_recipe(void **state)
{
	char key[3][KL_DIGEST_HEX];
	static const char *const workloads[] = { "cuda-gdn-kkt", "cuda-gdn-fwd", "cuda-gdn-kkt" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(workloads); i++)
		assert_ok(use_baseline(NULL, workloads[i], NULL, &(struct use){ .key = key[i] }));
	assert_string_equal(key[0], key[2]);
	assert_string_not_equal(key[0], key[1]);
	assert_int_equal(use_baseline(NULL, "cuda-gemm", NULL, &(struct use){ .key = key[0] }),
			 KL_ENOTFOUND);
}

static void test_not_ours(void **state)
{
	struct kl_artefact *artefact = NULL;

	assert_int_equal(baseline(&artefact, "cuda-gemm", NULL), KL_ENOTFOUND);
	assert_null(artefact);
}

/* A contract with other names: the comparison is left out, and why is said. */
static void test_does_not_fit(void **state)
{
	static const char text[] = CUDA_CONTRACT "baseline: cub.topk\n";
	struct kl_artefact *artefact = NULL;

	assert_error(KL_ECANNOT,
		     "baseline 'cub.topk': cub.topk.yaml:", baseline(&artefact, "w", text));
	assert_null(artefact);
}

/* Not a baseline that is left out: the caller ends as well. Comes last, since it stays interrupted. */
static void test_interrupted(void **state)
{
	struct kl_artefact *artefact = NULL;

	NEEDS_NVCC();
	kl_proc_catch_signals();
	assert_int_equal(raise(SIGTERM), 0);
	assert_int_equal(baseline(&artefact, "cuda-topk", NULL), KL_EINTR);
	assert_null(artefact);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shipped),      cmocka_unit_test(test_kept),
		cmocka_unit_test(test_recipe),       cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_does_not_fit), cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, cuda_setup_group, cuda_teardown_group);
}
