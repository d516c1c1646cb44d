/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_fixture.h"

#include <unistd.h>

#include "backend/cuda/cubin.h"
#include "base/proc.h"
#include "text/digest.h"

#define K "extern \"C\" __global__ void k(const float *x, float *y) "
#define I "int i = blockIdx.x * 256 + threadIdx.x; "

static void refused(const char *class_, const char *part, const char *source, const char *plan)
{
	struct kl_artefact *artefact = NULL;
	int err = cuda_compile(&artefact, &kernel, source, plan, NULL);

	kl_artefact_free(artefact);
	if (err != KL_ENO || !kernel.class_ || strcmp(kernel.class_, class_) ||
	    !strstr(kl_error_last(), part))
		fail_msg("wanted %s '%s', got %d %s: %s\n%s", class_, part, err,
			 kernel.class_ ? kernel.class_ : "-", err ? kl_error_last() : "accepted",
			 source);
}

static void accepted(const char *source, const char *plan, const char *flags)
{
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;

	if (cuda_compile(&artefact, &kernel, source, plan, flags) < 0)
		fail_msg("%s: %s\n%s", kernel.class_ ? kernel.class_ : "-", kl_error_last(),
			 source);
	assert_true(kl_fs_exists(artefact->object));
	assert_int_equal(strlen(artefact->facts.code_digest), 64);
}

static void test_compiles(void **state)
{
	NEEDS_NVCC();
	accepted(K "{ " I "y[i] = x[i] * 2.f; }\n", NULL, NULL);
	accepted(K "{ " I "y[i] = x[i] / 3.f + F; }\n", NULL,
		 "-use_fast_math -DF=2 --maxrregcount=32 -Xptxas=-O1");
	/* constants of the plan, a standard of the plan */
	accepted("#if N != 7 || __cplusplus < 202002L\n#error N\n#endif\n" K "{ " I
		 "y[i] = x[i]; }\n",
		 "klineage-launch: 1\ncompile: {arch: sm_90, std: c++20, define: {N: 7}}\n"
		 "launch:\n  - {kernel: k, grid: [\"n / 256\"], block: [256], args: [x, y]}\n",
		 NULL);
	/* what is not launched is nobody's business */
	accepted("#include <stdio.h>\n__device__ int counter;\n"
		 "__global__ void other() { counter++; }\n" K "{ " I "y[i] = x[i]; }\n",
		 NULL, NULL);
}

static void test_compile_errors(void **state)
{
	NEEDS_NVCC();
	refused("compile", "k.cu:2: error: identifier \"z\" is undefined",
		K "{ " I "\ny[i] = z; }\n", NULL);
	refused("compile", "k.cu:1:", "#include \"nothing.h\"\n", NULL);
	/* what only the assembler refuses has a line, too */
	refused("compile",
		"k.cu:3: error:", K "{\n" I "\nasm volatile(\"add.s32 1, 2;\"); y[i] = x[i]; }\n",
		NULL);
	refused("compile", "k.cu:2: error: kernel launch from",
		"__global__ void c() {}\n" K "{ c<<<1, 1>>>(); }\n", NULL);
	/* an instruction of another architecture */
	refused("compile", "k.cu:1: error:",
		K "{ " I "asm volatile(\"setmaxnreg.inc.sync.aligned.u32 240;\"); y[i] = x[i]; }\n",
		"klineage-launch: 1\ncompile: {arch: sm_90}\n"
		"launch:\n  - {kernel: k, grid: [\"n / 256\"], block: [256], args: [x, y]}\n");
}

/* Nothing of this machine is in reach of a compilation. */
static void test_leaks(void **state)
{
	static const char *const inside[] = { "/etc/passwd", "/etc/hostname", "/root/.bashrc",
					      "/proc/self/environ" };
	NEEDS_NVCC();
	if (kernel.jail.level == KL_JAIL_NONE)
		skip();
	for (size_t i = 0; i < KL_ARRAY_SIZE(inside); i++) {
		KL_AUTO(kl_freep) char *source = kl_asprintf("#include \"%s\"\n" K "{}\n",
							     inside[i]);

		refused("compile", "No such file", source, NULL);
	}
	/* host code is not compiled, so nothing is put into an object of it */
	accepted("asm(\".incbin \\\"/etc/passwd\\\"\");\n" K "{ " I "y[i] = x[i]; }\n", NULL, NULL);
	setenv("NVCC_APPEND_FLAGS", "-DLEAK", 1);
	accepted("#ifdef LEAK\n#error leak\n#endif\n" K "{ " I "y[i] = x[i]; }\n", NULL, NULL);
	unsetenv("NVCC_APPEND_FLAGS");
}

static void test_limits(void **state)
{
	NEEDS_NVCC();
	kernel.jail.compile_ms = 2000;
	refused("compile", "stopped after 2 s",
		"template <int N, int M> struct T { static const int v = T<N - 1, 2 * M>::v + T<N - 1, 2 * M + 1>::v; };\n"
		"template <int M> struct T<0, M> { static const int v = M; };\n" K
		"{ y[0] = T<22, 0>::v; }\n",
		NULL);
	kernel.jail.compile_ms = 0;
}

static void test_state(void **state)
{
	NEEDS_NVCC();
	refused("cheat", "'counter'",
		"__device__ int counter;\n" K "{ " I "y[i] = x[i] + counter++; }\n", NULL);
	/* read only, but nothing says so */
	refused("cheat", "'seen'",
		"__device__ float seen[4];\n" K "{ " I "y[i] = x[i] + seen[i & 3]; }\n", NULL);
	refused("cheat", "'first'",
		"__device__ int first = 1;\n" K "{ " I "if (i == 0) first = 0; y[i] = x[i]; }\n",
		NULL);
	refused("cheat", "'deep'",
		"__device__ int deep;\n__device__ __noinline__ float f(float v) { return v + deep++; }\n" K
		"{ " I "y[i] = f(x[i]); }\n",
		NULL);
	/* through a table of functions */
	refused("cheat", "'deep'",
		"__device__ int deep;\n"
		"static __device__ __noinline__ float f(float v) { return v + deep++; }\n"
		"static __device__ __noinline__ float g(float v) { return v * 2; }\n"
		"static __device__ float (*const t[2])(float) = { f, g };\n" K "{ " I
		"y[i] = t[i & 1](x[i]); }\n",
		NULL);
	/* in assembly, under the name of one that nobody uses */
	refused("cheat", "'k' declares a global variable in inline assembly",
		"__device__ int hid;\n" K "{ " I
		"int r; asm volatile(\"{ .global .u32 hid; ld.global.u32 %0, [hid]; st.global.u32 [hid], 7; }\""
		" : \"=r\"(r)); y[i] = r; }\n",
		NULL);
	refused("cheat", "managed",
		"__device__ __managed__ int m;\n" K "{ " I "y[i] = x[i] + m; }\n", NULL);
	/* tables are read, whatever they are */
	accepted(
		"__constant__ float c[4] = {1, 2, 3, 4};\n__device__ const float d[4] = {4, 5, 6, 7};\n" K
		"{ " I "y[i] = x[i] * c[i & 3] + d[i & 3]; }\n",
		NULL, NULL);
	/* a large argument reduction has a table of its own */
	accepted(K "{ " I "y[i] = sinf(x[i]); }\n", NULL, NULL);
}

static void test_services(void **state)
{
	NEEDS_NVCC();
	refused("cheat", "'vprintf'",
		"#include <stdio.h>\n" K "{ " I "printf(\"%d\\n\", i); y[i] = x[i]; }\n", NULL);
	refused("cheat", "'malloc'",
		K "{ " I "float *p = (float *)malloc(64); *p = x[i]; y[i] = *p; }\n", NULL);
	refused("cheat", "'__assertfail'",
		"#undef NDEBUG\n#include <assert.h>\n" K "{ " I
		"assert(x[i] > 0); y[i] = x[i]; }\n",
		NULL);
	accepted("#include <assert.h>\n" K "{ " I "assert(x[i] > 0); y[i] = x[i]; }\n", NULL, NULL);
	accepted(K "{ " I "if (x[i] > 1e30f) __trap(); y[i] = x[i]; }\n", NULL, NULL);
}

#define CLUSTERS(launch)                                \
	"klineage-launch: 1\ncompile: {arch: sm_90a}\n" \
	"launch:\n  - {kernel: k, " launch ", block: [256], args: [x, y]}\n"
#define CK(dims) \
	"extern \"C\" __global__ void __cluster_dims__(" dims ") k(const float *x, float *y) "

/* What the code says of its clusters is compared with the plan before anything is launched. */
static void test_clusters(void **state)
{
	NEEDS_NVCC();
	accepted(CK("2") "{ " I "y[i] = x[i]; }\n", CLUSTERS("grid: [n / 256], cluster: [2]"),
		 NULL);
	accepted(CK("2") "{ " I "y[i] = x[i]; }\n", CLUSTERS("grid: [n / 256]"), NULL);
	refused("launch",
		"clusters of (2, 1, 1) blocks (__cluster_dims__), but the plan launches clusters of (4, 1, 1)",
		CK("2") "{ " I "y[i] = x[i]; }\n", CLUSTERS("grid: [n / 256], cluster: [4]"));
	refused("launch", "clusters of (1, 2, 1)", CK("1, 2") "{ " I "y[i] = x[i]; }\n",
		CLUSTERS("grid: [n / 256], cluster: [2]"));
	refused("launch", "a grid of (5, 1, 1), which is not a multiple",
		CK("2") "{ " I "if (i < 1024) y[i] = x[i]; }\n", CLUSTERS("grid: [n / 256 + 1]"));
	refused("launch",
		"at most 2 blocks (__launch_bounds__), but the plan launches clusters of 4",
		"extern \"C\" __global__ void __launch_bounds__(256, 1, 2) k(const float *x, float *y) { " I
		"y[i] = x[i]; }\n",
		CLUSTERS("grid: [n / 256], cluster: [4]"));
}

static void test_clocks(void **state)
{
	NEEDS_NVCC();
	refused("cheat", "%clock64", K "{ " I "y[i] = x[i] + (clock64() & 1); }\n", NULL);
	refused("cheat", "%clock", K "{ " I "y[i] = x[i] + (clock() & 1); }\n", NULL);
	refused("cheat", "%globaltimer",
		K "{ " I "long t; asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t));\n"
		  "y[i] = x[i] + (t & 1); }\n",
		NULL);
	refused("cheat", "%gridid",
		K "{ " I "long t; asm volatile(\"mov/* x */.u64 %0,%%gridid;\" : \"=l\"(t));\n"
		  "y[i] = x[i] + t; }\n",
		NULL);
	/* behind what looks like a line number, in a function that is called */
	refused("cheat", "%globaltimer_lo",
		"__device__ __noinline__ int f() { int t;\n"
		"asm volatile(\".loc 1 1 1\\n mov.u32 %0, %%globaltimer_lo;\" : \"=r\"(t)); return t; }\n" K
		"{ " I "y[i] = f(); }\n",
		NULL);
	refused("cheat", "%envreg",
		K "{ " I "int t; asm volatile(\"mov.u32 %0, %%envreg1;\" : \"=r\"(t));\n"
		  "y[i] = x[i] + t; }\n",
		NULL);
	accepted(
		K
		"{ " I
		"int s; asm volatile(\"mov.u32 %0, %%smid;\" : \"=r\"(s)); y[i] = x[i] + 0 * s; }\n",
		NULL, NULL);
	accepted(
		"#include <cooperative_groups.h>\n" K "{ cooperative_groups::this_grid().sync(); " I
		"y[i] = x[i]; }\n",
		"klineage-launch: 1\ncompile: {arch: sm_90a}\n"
		"launch:\n  - {kernel: k, grid: [\"n / 256\"], block: [256], cooperative: true, args: [x, y]}\n",
		NULL);
}

#define PLAN(line) "klineage-launch: 1\ncompile: {arch: sm_90a}\nlaunch:\n  - " line "\n"

static void test_launch(void **state)
{
	static const char *const source = K "{ " I "y[i] = x[i]; }\n";
	NEEDS_NVCC();
	refused("launch", "'other', which the code does not define: the code has 'k'", source,
		PLAN("{kernel: other, grid: [4], block: [256], args: [x, y]}"));
	refused("launch", "takes 2 arguments, and the plan passes 3", source,
		PLAN("{kernel: k, grid: [4], block: [256], args: [x, y, {i32: n}]}"));
	refused("launch", "argument 1 of kernel 'k' has 8 bytes, and the plan passes 4", source,
		PLAN("{kernel: k, grid: [4], block: [256], args: [x, {i32: n}]}"));
	refused("launch", "at most 128 threads",
		"extern \"C\" __global__ void __launch_bounds__(128) k(const float *x, float *y) { y[0] = x[0]; }\n",
		NULL);
	refused("launch", "local memory",
		K "{ volatile float a[20000]; " I "a[i * 7] = x[i]; y[i] = a[(int)x[0]]; }\n",
		NULL);
	accepted(
		"struct m { alignas(64) char b[128]; };\n"
		"extern \"C\" __global__ void k(const float *x, float *y, int s, const __grid_constant__ m t, double d)\n"
		"{ y[0] = x[0] + s + t.b[3] + d; }\n",
		"klineage-launch: 1\ncompile: {arch: sm_90a}\n"
		"maps:\n  t: {kind: tiled, of: x, dtype: f32, dims: [n], strides: [], box: [64], elem: [1],\n"
		"      interleave: none, swizzle: none, l2: none, oob: zero}\n"
		"launch:\n  - {kernel: k, grid: [4], block: [256], args: [x, y, {i32: 3}, {map: t}, {f64: 2.5}]}\n",
		NULL);
}

static int compile_oracle(const struct kl_launch *launch)
{
	int err = kl_compile_cuda_oracle(&kernel.jail, &kernel.nvcc, &kernel.surface, launch,
					 KL_ORACLE_TRUTH, kernel.dir);

	return err ? err :
		     kl_compile_cuda_oracle(&kernel.jail, &kernel.nvcc, &kernel.surface, launch,
					    KL_ORACLE_HONEST, kernel.dir);
}

static void test_oracle(void **state)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	KL_AUTO(kl_freep) char *truth = kl_fs_join(kernel.dir, "truth.cubin");
	KL_AUTO(kl_freep) char *honest = kl_fs_join(kernel.dir, "honest.cubin");

	NEEDS_NVCC();
	cuda_file(&kernel.file[1], "launch.yaml", CUDA_PLAN);
	cuda_file(
		&kernel.oracle[0], "oracle.cu",
		"#include \"kl_oracle.cuh\"\n"
		"KL_ORACLE oracle(const kl_real *x, kl_real *y) { int i = blockIdx.x * 256 + threadIdx.x;\n"
		"y[i] = kl_exp(x[i]) * kl_sqrt(kl_fabs(x[i])) + kl_floor(x[i]); }\n");
	cuda_file(
		&kernel.oracle[1], "oracle.yaml",
		"klineage-launch: 1\n"
		"launch:\n  - {kernel: oracle, grid: [\"cdiv(n, 256)\"], block: [256], args: [x, y]}\n");
	kernel.surface.noracle = kernel.surface.nfile = 2;
	assert_ok(kl_launch_read(&launch, &kernel.surface, true, NULL));
	assert_ok(compile_oracle(launch));
	assert_true(kl_fs_exists(truth) && kl_fs_exists(honest));
	cuda_file(&kernel.oracle[0], "oracle.cu", "/* KL_ORACLE_TODO */\n");
	assert_error(KL_ECANNOT, "'oracle.cu'", compile_oracle(launch));
	cuda_file(&kernel.oracle[0], "oracle.cu",
		  "#include \"kl_oracle.cuh\"\nKL_ORACLE oracle(kl_real *x) {}\n");
	assert_error(KL_EINVALID, "oracle: kernel 'oracle' takes 1 arguments",
		     compile_oracle(launch));
}

/*
 * A float scalar has the contract's type in both builds of the oracle: the worker passes it so, too
 * (test_oracle_in_both_arithmetics).
 */
static void test_oracle_scalars(void **state)
{
	static const char text[] =
		"klineage: 1\nworkload: w\ncase: {op: map, dims: {n: 1024}}\n"
		"surface: {language: cuda, sources: [k.cu, launch.yaml]}\n"
		"args:\n  - {name: x, kind: in, dtype: f32, shape: [n]}\n"
		"  - {name: alpha, kind: scalar, dtype: f32, value: 1.5}\n"
		"  - {name: beta, kind: scalar, dtype: f64, value: 0.1}\n"
		"  - {name: y, kind: out, dtype: f32, shape: [n]}\n"
		"oracle: {language: cuda, sources: [oracle.cu, oracle.yaml]}\naccept: {rule: noise}\n";
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;
	struct kl_contract *own = kernel.contract;

	NEEDS_NVCC();
	assert_ok(kl_contract_parse(&contract, "klineage.yaml", text, strlen(text)));
	kernel.surface.contract = contract;
	cuda_file(&kernel.file[1], "launch.yaml", CUDA_PLAN);
	cuda_file(&kernel.oracle[0], "oracle.cu",
		  "#include \"kl_oracle.cuh\"\n"
		  "KL_ORACLE oracle(const kl_real *x, kl_real *y, float alpha, double beta)\n"
		  "{ int i = blockIdx.x * 256 + threadIdx.x; y[i] = alpha * x[i] + beta; }\n");
	cuda_file(&kernel.oracle[1], "oracle.yaml",
		  "klineage-launch: 1\nlaunch:\n"
		  "  - {kernel: oracle, grid: [4], block: [256], args: [x, y, alpha, beta]}\n");
	kernel.surface.noracle = kernel.surface.nfile = 2;
	assert_ok(kl_launch_read(&launch, &kernel.surface, true, NULL));
	assert_ok(compile_oracle(launch));
	cuda_file(&kernel.oracle[0], "oracle.cu",
		  "#include \"kl_oracle.cuh\"\n"
		  "KL_ORACLE oracle(const kl_real *x, kl_real *y, kl_real alpha, double beta)\n"
		  "{ int i = blockIdx.x * 256 + threadIdx.x; y[i] = alpha * x[i] + beta; }\n");
	assert_error(KL_EINVALID,
		     "has 8 bytes, and the plan passes 4 (only tensors of floats are kl_real: "
		     "scalars have the contract's types)",
		     compile_oracle(launch));
	kernel.surface.contract = own;
}

/* A cubin made elsewhere: judged by its machine code, which needs nvdisasm. */
static int import(struct kl_artefact **out, const char *cubin, const char *kernel_name)
{
	static const char text[] =
		"klineage: 1\nworkload: w\ncase: {op: map, dims: {n: 1024}}\n"
		"surface: {language: cuda, sources: [k.cubin, launch.yaml]}\n"
		"args:\n  - {name: x, kind: in, dtype: f32, shape: [n]}\n"
		"  - {name: y, kind: out, dtype: f32, shape: [n]}\n"
		"oracle: {language: cuda, sources: [oracle.cu, oracle.yaml]}\naccept: {rule: noise}\n";
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf data = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *plan = NULL;
	struct kl_file file[2];
	struct kl_surface surface = { .file = file, .nfile = 2, .dir = (char *)"" };
	char hex[KL_DIGEST_HEX];

	assert_ok(kl_contract_parse(&contract, "klineage.yaml", text, strlen(text)));
	assert_ok(kl_fs_read(&data, cubin, KL_CUBIN_MAX_BYTES));
	kl_digest_hex(hex, data.ptr, data.len);
	plan = kl_asprintf(
		"klineage-launch: 1\nartefact: {cubin: k.cubin, arch: sm_90a, sha256: %s, producer: nvcc}\n"
		"launch:\n  - {kernel: %s, grid: [4], block: [256], args: [x, y]}\n",
		hex, kernel_name);
	surface.contract = contract;
	cuda_file(&file[0], "k.cubin", "");
	file[0].data = data.ptr;
	file[0].len = data.len;
	cuda_file(&file[1], "launch.yaml", plan);
	assert_ok(kl_launch_read(&launch, &surface, false, NULL));
	kernel.class_ = NULL;
	return kl_compile_cuda(out, &kernel.class_, &kernel.jail, &kernel.nvcc, NULL, &surface,
			       launch, kernel.dir);
}

static void test_import(void **state)
{
	/* clang-format off */
	static const struct { const char *source, *refused; } cases[] = {
		{ K "{ " I "float4 v = ((const float4 *)x)[i & 63]; y[i] = v.x + v.y + v.z + v.w; }\n", NULL },
		{ K "{ " I "y[i] = x[i] + (clock64() & 1); }\n", "SR_CLOCKLO: a clock may only bound a wait" },
		{ "__device__ int kept;\n" K "{ " I "y[i] = x[i] + kept++; }\n", "'kept'" },
	};
	/* clang-format on */
	KL_AUTO(kl_freep) char *from = kl_fs_join(kernel.dir, "made.cubin"),
			       *cu = kl_fs_join(kernel.dir, "made.cu");

	NEEDS_NVCC();
	for (size_t i = 0; i < KL_ARRAY_SIZE(cases); i++) {
		const char *argv[] = {
			kernel.nvcc.nvcc, "-cubin", "-arch=sm_90a", "-o", from, cu, NULL
		};
		KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
		int err;

		assert_ok(kl_fs_put(cu, cases[i].source, strlen(cases[i].source), 0644));
		assert_ok(kl_proc_output(NULL, argv));
		err = import(&artefact, from, "k");
		if (!kernel.nvcc.disasm) {
			assert_int_equal(err, KL_ECANNOT);
			assert_contains(kl_error_last(), "nvdisasm");
			continue;
		}
		if (!cases[i].refused) {
			assert_ok(err);
			assert_true(kl_strvec_has(&artefact->facts.features, "ldg.128"));
			continue;
		}
		assert_error(KL_ENO, cases[i].refused, err);
		assert_string_equal(kernel.class_, "cheat");
	}
	assert_error(KL_ENO, "which the code does not define",
		     import(&(struct kl_artefact *){ NULL }, from, "other"));
	assert_string_equal(kernel.class_, "launch");
	/* cut short, and changed: never more than a refusal */
	assert_int_equal(truncate(from, 700), 0);
	assert_error(KL_ENO, "", import(&(struct kl_artefact *){ NULL }, from, "k"));
}

/* The toolkit is where the setting says, or there is none. */
static void test_toolkit(void **state)
{
	struct kl_platform platform;
	struct kl_nvcc nvcc;

	assert_error(KL_ECANNOT, "klineage.nvcc", kl_nvcc_find(&nvcc, "/nonexistent/nvcc"));
	assert_error(KL_ECANNOT, "klineage.nvcc", kl_nvcc_find(&nvcc, kernel.dir));
	NEEDS_NVCC();
	assert_ok(kl_nvcc_find(&nvcc, kernel.nvcc.nvcc));
	assert_string_equal(nvcc.nvcc, kernel.nvcc.nvcc);
	kl_nvcc_platform(&platform, &nvcc, "sm_90a");
	assert_string_equal(platform.id, "cuda/sm_90");
	assert_string_equal(platform.march, "sm_90a");
	assert_true(!strncmp(platform.compiler, "nvcc ", 5));
	kl_nvcc_release(&nvcc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_toolkit),        cmocka_unit_test(test_compiles),
		cmocka_unit_test(test_compile_errors), cmocka_unit_test(test_leaks),
		cmocka_unit_test(test_limits),         cmocka_unit_test(test_state),
		cmocka_unit_test(test_services),       cmocka_unit_test(test_clusters),
		cmocka_unit_test(test_clocks),         cmocka_unit_test(test_launch),
		cmocka_unit_test(test_oracle),         cmocka_unit_test(test_import),
		cmocka_unit_test(test_oracle_scalars),
	};

	return cmocka_run_group_tests(tests, cuda_setup_group, cuda_teardown_group);
}
