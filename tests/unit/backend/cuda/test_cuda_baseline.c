/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baselines that are kernels of ours fit the contracts that are shipped with them, and compile as
 * candidates do.
 */
#include "cuda_fixture.h"

#include <signal.h>

#include "backend/cuda/baseline.h"
#include "base/proc.h"

/* `text` NULL: the shipped contract of that workload. */
static int baseline(struct kl_artefact **out, const char *workload, const char *text)
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
	return kl_baseline_cuda(out, &kernel.jail, &kernel.nvcc, &surface, "sm_90a", dir);
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
		cmocka_unit_test(test_shipped),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_does_not_fit),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, cuda_setup_group, cuda_teardown_group);
}
