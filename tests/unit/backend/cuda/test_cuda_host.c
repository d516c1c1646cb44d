/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_fixture.h"

#include "backend/cuda/host_audit.h"
#include "backend/cuda/host_compile.h"
#include "contract/launch.h"
#include "image/host_symbols.h"

/* Surfaces of cuda with host code: the contract, the compilation, the audit. More sources are in
 * tests/cheats/cuda-host, for tests/t/0620-cuda-host.sh. */
#define HOST_CONTRACT(surface, args)                                    \
	"klineage: 1\nworkload: w\ncase: {op: map, dims: {n: 1024}}\n"  \
	"surface: {language: cuda, " surface "}\n"                      \
	"args:\n  - {name: x, kind: in, dtype: f32, shape: [n]}\n" args \
	"  - {name: y, kind: out, dtype: f32, shape: [n]}\n"            \
	"oracle: {language: cuda, sources: [oracle.cu, oracle.yaml]}\n" \
	"accept: {rule: noise}\n"
#define SURFACE "host: true, arch: sm_90a, sources: [k.cu, a.cuh]"

static void parse(struct kl_contract **out, const char *text)
{
	assert_ok(kl_contract_parse(out, "klineage.yaml", text, strlen(text)));
}

static int setup(void **state)
{
	cuda_setup_group(state);
	kl_contract_free(kernel.contract);
	parse(&kernel.contract,
	      HOST_CONTRACT(SURFACE, "  - {name: alpha, kind: scalar, dtype: f32, value: 0.5}\n"));
	kernel.surface.contract = kernel.contract;
	return 0;
}

static void test_contract(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *part; } bad[] = {
		{ HOST_CONTRACT("host: true, sources: [k.cu]", ""), "4:10: 'arch' is missing" },
		{ HOST_CONTRACT("host: true, arch: sm_1, sources: [k.cu]", ""), "unknown architecture" },
		{ HOST_CONTRACT("host: true, arch: sm_90a, std: c++11, sources: [k.cu]", ""), "c++17" },
		{ HOST_CONTRACT("host: 1, arch: sm_90a, sources: [k.cu]", ""), "host" },
		{ HOST_CONTRACT("host: true, arch: sm_90a, sources: [k.cu, launch.yaml]", ""), "launches its kernels itself" },
		{ HOST_CONTRACT("host: true, arch: sm_90a, launch: l.yaml, sources: [k.cu]", ""), "launch" },
		{ HOST_CONTRACT("arch: sm_90a, sources: [k.cu, launch.yaml]", ""), "arch" },
		{ HOST_CONTRACT(SURFACE, "  - {name: n, kind: dim}\n"), "kl_dim(n)" },
	};
	/* clang-format on */
	struct kl_contract *contract = NULL;

	assert_ptr_equal(kernel.contract->language, &kl_language_cuda_host);
	assert_null(kernel.contract->launch);
	assert_string_equal(kernel.contract->arch, "sm_90a");
	assert_string_equal(kernel.contract->std, "c++17");
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		int err = kl_contract_parse(&contract, "klineage.yaml", bad[i].text,
					    strlen(bad[i].text));

		if (err != KL_EINVALID || !strstr(kl_error_last(), bad[i].part))
			fail_msg("wanted '%s', got %d: %s", bad[i].part, err,
				 err ? kl_error_last() : "parsed");
	}
	parse(&contract, HOST_CONTRACT("host: false, sources: [k.cu, launch.yaml]", ""));
	assert_ptr_equal(contract->language, &kl_language_cuda);
	assert_string_equal(contract->launch, "launch.yaml");
	kl_contract_free(contract);
}

/* The oracle stays device code with a plan, for the same architecture. */
static void test_oracle_plan(void **state)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL, *none = NULL;

	cuda_file(&kernel.oracle[0], "oracle.cu", "");
	cuda_file(&kernel.oracle[1], "oracle.yaml",
		  "klineage-launch: 1\nlaunch:\n"
		  "  - {kernel: o, grid: [1], block: [32], args: [x, y]}\n");
	kernel.surface.noracle = 2;
	assert_ok(kl_launch_read(&launch, &kernel.surface, true, NULL));
	assert_string_equal(launch->arch, "sm_90a");
	assert_int_equal(kl_launch_read(&none, &kernel.surface, false, NULL), KL_ENOTFOUND);
}

static void test_header(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_compile_host_header(&buf, kernel.contract);
	assert_non_null(strstr(buf.ptr, "#define KL_DIM_n 0\n"));
	assert_non_null(strstr(buf.ptr, "#define KL_SCALAR_alpha 0x1p-1\n"));
}

static void test_symbols(void **state)
{
	static const char *const may[] = {
		"cudaLaunchKernelExC",
		"memcpy",
		"expf",
		"malloc",
		"_Znwm",
		"_ZSt20__throw_length_errorPKc",
		"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_appendEPKcm",
		"fprintf",
	};
	static const char *const may_not[] = {
		"dlopen",
		"dlsym",
		"fork",
		"execve",
		"system",
		"pthread_create",
		"socket",
		"ptrace",
		"mmap",
		"mprotect",
		"open",
		"getenv",
		"clock_gettime",
		"syscall",
		"cudaStreamCreate",
		"cudaEventRecord",
		"cudaStreamSynchronize",
		"cudaDeviceSynchronize",
		"cudaHostAlloc",
		"cudaMalloc",
		"cudaLaunchHostFunc",
		"cudaGraphLaunch",
		"cudaLibraryLoadData",
		"cuModuleLoadData",
		"cuGetProcAddress_v2",
		"cublasCreate_v2",
		"cudnnCreate",
		"_ZNSt6thread15_M_start_threadE",
		"",
		"__real_cudaGetDriverEntryPoint",
		"_ZNSt13basic_filebufIcSt11char_traitsIcEEC1Ev",
		"ioctl",
		"cudaIpcOpenMemHandle",
		"fprintf vprintf", /* neighbours in the list */
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(may); i++)
		if (!kl_host_symbol_may_use(may[i]))
			fail_msg("'%s' is refused", may[i]);
	for (size_t i = 0; i < KL_ARRAY_SIZE(may_not); i++)
		if (kl_host_symbol_may_use(may_not[i]))
			fail_msg("'%s' may be used", may_not[i]);
	assert_true(kl_host_symbol_reserved("__cudaRegisterFatBinary"));
	assert_true(kl_host_symbol_reserved("__wrap_cudaGetDriverEntryPoint"));
	assert_false(kl_host_symbol_reserved("klineage_launch"));
	assert_false(kl_host_symbol_reserved("_ZN7cutlass13device_kernelEv"));
}

static int compile(struct kl_artefact **out, const char *text)
{
	cuda_file(&kernel.file[0], "k.cu", text);
	cuda_file(&kernel.file[1], "a.cuh", "#pragma once\n#define TWO 2\n");
	kernel.surface.nfile = 2;
	kernel.class_ = NULL;
	return kl_compile_host(out, &kernel.class_, &kernel.jail, &kernel.nvcc, NULL,
			       &kernel.surface, kernel.dir);
}

#define KERNEL \
	"static __global__ void k(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] * 2; }\n"
#define LAUNCH                                                                    \
	"int klineage_launch(void *const *in, void *const *out, void *stream) { " \
	"k<<<1, 256, 0, (cudaStream_t)stream>>>((const float *)in[0], (float *)out[0]); return 0; }\n"

static void refused(const char *class_, const char *part, const char *text)
{
	struct kl_artefact *artefact = NULL;
	int err = compile(&artefact, text);

	kl_artefact_free(artefact);
	if (err != KL_ENO || !kernel.class_ || strcmp(kernel.class_, class_) ||
	    !strstr(kl_error_last(), part))
		fail_msg("wanted %s '%s', got %d %s: %s\n%s", class_, part, err,
			 kernel.class_ ? kernel.class_ : "-", err ? kl_error_last() : "accepted",
			 text);
}

static void test_compile(void **state)
{
	KL_AUTO(kl_artefact_freep) struct kl_artefact *left = NULL, *right = NULL;
	NEEDS_NVCC();

	if (compile(&left, "#include \"a.cuh\"\n" KERNEL LAUNCH) < 0)
		fail_msg("%s: %s", kernel.class_ ? kernel.class_ : "-", kl_error_last());
	assert_true(kl_fs_exists(left->object));
	assert_int_equal(left->kernels.n, 1);
	assert_string_equal(left->kernels.v[0], "_Z1kPKfPf");
	kl_artefact_free(kl_steal(&left));
	if (compile(&left,
		    "#include <iostream>\n#include <sstream>\n" KERNEL
		    "void f(int v) { std::ostringstream o; o << v; std::cerr << o.str() << std::endl; }\n" LAUNCH) <
	    0)
		fail_msg("%s: %s", kernel.class_ ? kernel.class_ : "-", kl_error_last());
	/* what the host does is part of what the code is */
	assert_ok(compile(
		&right, KERNEL
		"int klineage_launch(void *const *in, void *const *out, void *stream) { "
		"k<<<1, 128, 0, (cudaStream_t)stream>>>((const float *)in[0], (float *)out[0]); return 0; }\n"));
	assert_string_not_equal(left->facts.code_digest, right->facts.code_digest);
	/* another function, as C++ sees it */
	refused("compile", "no source defines 'extern",
		KERNEL "int klineage_launch(void) { return 0; }\n");
	refused("compile", "no source defines 'extern", KERNEL);
	refused("compile", "k.cu:1: error:", "int f() { return kl_dim(m); }\n");
	refused("compile", "No such file", "#include \"/etc/hostname\"\n");
}

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define CXX STRING(__GNUC__)

static void test_refused(void **state)
{
	NEEDS_NVCC();
	refused("cheat", "no kernel of its own",
		"int klineage_launch(void *const *, void *const *, void *) { return 0; }\n");
	refused("cheat", "'counter'",
		"__device__ int counter;\nstatic __global__ void k(const float *x, float *y) "
		"{ y[threadIdx.x] = x[threadIdx.x] + counter++; }\n" LAUNCH);
	refused("cheat", "thread-local",
		KERNEL "static thread_local int seen;\n"
		       "int *where() { return &seen; }\n" LAUNCH);
	refused("cheat", "basic_",
		"#include <fstream>\n" KERNEL "void f() { std::ofstream(\"x\") << 1; }\n" LAUNCH);
	/* the compiler's own */
	refused("cheat", "runs at load",
		"#include </usr/include/c++/" CXX "/iostream>\n" KERNEL LAUNCH);
	refused("cheat", "runs at load",
		KERNEL "struct S { int v; S() { v = kl_dim(n); } };\nS s;\n" LAUNCH);
	refused("cheat", "section",
		KERNEL "__attribute__((section(\".mine\"))) int v = 1;\n" LAUNCH);
	refused("cheat", "",
		KERNEL
		"asm(\".section .preinit_array,\\\"aw\\\"\\n.quad klineage_launch\\n.text\");\n" LAUNCH);
	refused("cheat", "IFUNC",
		KERNEL
		"typedef int f_t(); static int f() { return 1; }\n"
		"extern \"C\" f_t *r() { return f; }\nint i() __attribute__((ifunc(\"r\")));\n" LAUNCH);
	refused("cheat", "rdtsc",
		KERNEL "unsigned long long t() { return __builtin_ia32_rdtsc(); }\n" LAUNCH);
	/* other device code, in the section where nvcc's own lies */
	refused("cheat", "",
		KERNEL
		"asm(\".section .nvFatBinSegment,\\\"aw\\\"\\n.zero 24\\n.text\");\n" LAUNCH);
	refused("cheat", "'__real_cudaGetDriverEntryPoint'",
		"extern \"C\" int __real_cudaGetDriverEntryPoint();\n" KERNEL
		"int f() { return __real_cudaGetDriverEntryPoint(); }\n" LAUNCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contract), cmocka_unit_test(test_oracle_plan),
		cmocka_unit_test(test_header),   cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_compile),  cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, setup, cuda_teardown_group);
}
