/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baselines without a GPU: what fits whom, what is said of a library that is not here; and the
 * binary interfaces that are declared in the sources against the headers, where there are any.
 */
#include "test.h"

#include "job/job.h"
#include "worker/gpu/baseline.h"
#include "worker/gpu/cudnn.h"

#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif

static const struct kl_gpu_device device;

static struct kl_gpu_baseline_arg arg(int role, int dtype, int naxes, int64_t left, int64_t right,
				      int64_t column, int64_t dim)
{
	return (struct kl_gpu_baseline_arg){
		.kind = role, .dtype = dtype, .naxes = naxes, .extent = { left, right, column, dim }
	};
}

static void refused(struct kl_gpu_baseline_spec *spec, const char *name, const char *part)
{
	const uint64_t at[KL_GPU_BASELINE_ARGS] = { 0 };
	struct kl_gpu_baseline *baseline = NULL;

	snprintf(spec->name, sizeof(spec->name), "%s", name);
	assert_error(KL_ECANNOT, part, kl_gpu_baseline_open(&baseline, spec, &device, at));
	assert_null(baseline);
}

static void signatures(void **state)
{
	struct kl_gpu_baseline_spec spec = { .nargs = 3 };

	spec.arg[0] = arg(KL_ARG_IN, KL_BF16, 2, 64, 32, 0, 0);
	spec.arg[1] = arg(KL_ARG_IN, KL_BF16, 2, 48, 32, 0, 0);
	spec.arg[2] = arg(KL_ARG_OUT, KL_F32, 2, 64, 48, 0, 0);
	refused(&spec, "cublas.gemm", "cublas.gemm: needs A, B and C all in bf16");
	spec.arg[2].dtype = KL_BF16;
	spec.arg[1].extent[1] = 31;
	refused(&spec, "cublas.gemm", "needs A [M,K], B [N,K], C [M,N]");
	spec.arg[1].naxes = 3;
	refused(&spec, "cublas.gemm", "needs matrices");
	refused(&spec, "cublas.syrk", "there is no baseline named 'cublas.syrk'");

	spec.arg[0] = arg(KL_ARG_IN, KL_F16, 4, 8, 56, 56, 64);
	spec.arg[1] = arg(KL_ARG_IN, KL_F16, 4, 128, 3, 3, 64);
	spec.arg[2] = arg(KL_ARG_OUT, KL_F16, 4, 8, 55, 56, 128);
	refused(&spec, "cudnn.conv2d", "cudnn.conv2d: needs x [N,H,W,C]");
	spec.arg[2] = arg(KL_ARG_OUT, KL_F16, 4, 8, 56, 56, 64);
	refused(&spec, "cudnn.conv2d-nchw", "cudnn.conv2d-nchw: needs x [N,H,W,C]");

	spec.nargs = 4;
	for (int i = 0; i < 4; i++)
		spec.arg[i] = arg(i < 3 ? KL_ARG_IN : KL_ARG_OUT, KL_F16, 4, 2, 128, 4, 64);
	spec.arg[2].extent[3] = 128;
	refused(&spec, "cudnn.sdpa", "needs q, o [B,S,H,D]");
}

static void missing_library(void **state)
{
	static const char *const names[] = { "libkl-nobody-has-this.so.1", NULL };
	void *lib;

	setenv("KLINEAGE_CUDA_LIBRARIES", "/nonexistent:relative", 1);
	assert_error(KL_ECANNOT, "cannot find libkl-nobody-has-this.so.1",
		     kl_gpu_baseline_library(&lib, names));
	unsetenv("KLINEAGE_CUDA_LIBRARIES");
}

static void library_path(void **state)
{
	static const char *const names[] = { "libkl-test-lib.so.1", NULL };
	KL_AUTO(kl_freep) char *dir = kl_strdup("/tmp/kl-test-XXXXXX"), *so = NULL, *cmd = NULL,
			       *path = NULL;
	void *lib, *data = NULL;
	const struct kl_gpu_symbol one[] = { { &data, "kl_test_symbol" } },
				   none[] = { { &data, "kl_test_none" } };

	assert_non_null(mkdtemp(dir));
	so = kl_asprintf("%s/libkl-test-lib.so.1", dir);
	cmd = kl_asprintf(
		"echo 'int kl_test_symbol(void) { return 7; }' | gcc -x c -shared -fPIC -o %s -",
		so);
	assert_int_equal(system(cmd), 0);
	path = kl_asprintf("/nonexistent:%s", dir);
	setenv("KLINEAGE_CUDA_LIBRARIES", path, 1);
	assert_ok(kl_gpu_baseline_library(&lib, names));
	assert_ok(kl_gpu_baseline_symbols(lib, one, 1));
	assert_int_equal(((int (*)(void))data)(), 7);
	assert_error(KL_ECANNOT, "lacks the function kl_test_none",
		     kl_gpu_baseline_symbols(lib, none, 1));
	unsetenv("KLINEAGE_CUDA_LIBRARIES");
	free(cmd);
	cmd = kl_asprintf("rm -r %s", dir);
	assert_int_equal(system(cmd), 0);
}

static void declarations(void **state)
{
#if __has_include(<cudnn.h>)
	assert_int_equal(KL_CUDNN_CONV, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
	assert_int_equal(KL_CUDNN_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	assert_int_equal(KL_CUDNN_ENGINECFG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	assert_int_equal(KL_CUDNN_HEUR, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
	assert_int_equal(KL_CUDNN_PLAN, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	assert_int_equal(KL_CUDNN_OP_CONV, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
	assert_int_equal(KL_CUDNN_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	assert_int_equal(KL_CUDNN_PACK, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
#if CUDNN_VERSION >= 91300
	assert_int_equal(KL_CUDNN_OP_SDPA, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
#endif
	assert_int_equal(KL_CUDNN_TENSOR, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	assert_int_equal(KL_CUDNN_T_HANDLE, CUDNN_TYPE_HANDLE);
	assert_int_equal(KL_CUDNN_T_DATA_TYPE, CUDNN_TYPE_DATA_TYPE);
	assert_int_equal(KL_CUDNN_T_BOOLEAN, CUDNN_TYPE_BOOLEAN);
	assert_int_equal(KL_CUDNN_T_INT64, CUDNN_TYPE_INT64);
	assert_int_equal(KL_CUDNN_T_FLOAT, CUDNN_TYPE_FLOAT);
	assert_int_equal(KL_CUDNN_T_VOID_PTR, CUDNN_TYPE_VOID_PTR);
	assert_int_equal(KL_CUDNN_T_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE);
	assert_int_equal(KL_CUDNN_T_HEUR_MODE, CUDNN_TYPE_HEUR_MODE);
	assert_int_equal(KL_CUDNN_T_NOTE, CUDNN_TYPE_NUMERICAL_NOTE);
	assert_int_equal(KL_CUDNN_T_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR);
	assert_int_equal(KL_CUDNN_FLOAT, CUDNN_DATA_FLOAT);
	assert_int_equal(KL_CUDNN_HALF, CUDNN_DATA_HALF);
#else
	print_message("SKIPPED: no cudnn.h\n");
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signatures),
		cmocka_unit_test(missing_library),
		cmocka_unit_test(library_path),
		cmocka_unit_test(declarations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
