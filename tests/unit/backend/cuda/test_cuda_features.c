/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_fixture.h"

#include "backend/cuda/features.h"

/* -- PTX alone: no compiler is needed ------------------------------------------------------- */

#define HEAD ".version 8.5\n.target sm_90a\n.address_size 64\n"

static void parse(struct kl_ptx *ptx, const char *text)
{
	if (kl_ptx_parse(ptx, text, strlen(text)) < 0)
		fail_msg("%s\n%s", kl_error_last(), text);
}

static struct kl_strvec features_of(const char *body, const char *verbose)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		HEAD ".visible .entry k(.param .u64 p)\n{\n%s\nret;\n}\n", body);
	struct kl_cuda_wish wish = { .arch = "sm_90a", .text = KL_BUF_INIT };
	const char *name = "k";
	struct kl_ptx ptx = { 0 };
	struct kl_sass sass = { 0 };
	struct kl_strvec out = KL_STRVEC_INIT;

	parse(&ptx, text);
	assert_ok(kl_ptx_reach(&ptx, &name, 1));
	kl_strvec_push(&wish.name, "k");
	kl_cuda_features(&out,
			 &(struct kl_cuda_code){
				 .ptx = &ptx, .sass = &sass, .wish = &wish, .verbose = verbose });
	kl_ptx_release(&ptx);
	kl_cuda_wish_release(&wish);
	return out;
}

/* What nvcc 13.0 writes for each; the features are all that there are. */
/* clang-format off */
static const struct { const char *body, *features; } shown[] = {
	{ "ld.global.f32 %f1, [%rd1];", "" },
	{ "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];", "ldg.128" },
	{ "ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];", "cache-hint ldg.128" },
	{ "ld.global.v2.u64 {%rd2, %rd3}, [%rd1];", "ldg.128" },
	{ "ld.relaxed.gpu.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];", "ldg.128" },
	{ "ld.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];", "ldg.128" },
	{ "ld.global.v2.f32 {%f1, %f2}, [%rd1];", "" },
	{ "st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};", "stg.128" },
	{ "st.global.cs.v2.b64 [%rd1], {%rd2, %rd3};", "stg.128" },
	{ "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r5];", "lds.128 smem" },
	{ "st.shared.v4.u32 [%r5], {%r1, %r2, %r3, %r4};", "smem sts.128" },
	{ "ld.shared.u32 %r1, [%r2];", "smem" },
	{ "bar.sync 0;", "bar" },
	{ "barrier.sync 1, 128;", "bar" },
	{ "cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;\ncp.async.commit_group;\ncp.async.wait_group 2;", "cp.async smem" },
	{ "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];", "ldmatrix smem" },
	{ "stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%r5], {%r1, %r2, %r3, %r4};", "smem stmatrix" },
	{ "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, "
	  "{%f1, %f2, %f3, %f4};", "mma mma.bf16" },
	{ "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r3, %r4, %r5, %r6}, {%r7, %r8}, {%r1, %r2};",
	  "mma mma.f16 mma.sum-f16" },
	{ "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r2}, {%f1};", "mma mma.tf32 tf32" },
	{ "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%r1}, {%r1}, {%r2}, {%r1};", "mma mma.s8" },
	{ "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f1}, {%r1}, {%r2}, {%f1};", "wmma wmma.f16" },
	{ "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%f1}, %rd1, %rd2, %p1, 1, 1, 0, 0;\n"
	  "wgmma.commit_group.sync.aligned;", "wgmma wgmma.bf16" },
	{ "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];",
	  "smem tma.load" },
	{ "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
	  "[%r1], [%rd1, {%r2, %r3}], [%r4], %rs1;", "multicast smem tma.load" },
	{ "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
	  "[%r1], [%rd1, {%r2, %r3, %r4, %r5}], [%r6], {%rs1, %rs2};", "smem tma.im2col tma.load" },
	{ "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1, %r2}], [%r3];\ncp.async.bulk.commit_group;\n"
	  "cp.async.bulk.wait_group.read 0;", "smem tma.store" },
	{ "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%rd1, {%r1, %r2}], [%r3];", "smem tma.reduce" },
	{ "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];", "bulk.load smem" },
	{ "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r1, %r2}];", "prefetch" },
	{ "prefetch.tensormap [%rd1];", "prefetch" },
	{ "mbarrier.init.shared::cta.b64 [%r1], 1;", "mbarrier smem" },
	{ "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;\n@!%p1 bra WAIT;", "mbarrier smem" },
	{ "fence.proxy.async.shared::cta;", "fence.proxy smem" },
	{ "setmaxnreg.dec.sync.aligned.u32 40;", "setmaxnreg" },
	{ "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;", "cluster" },
	{ "mov.u32 %r1, %cluster_ctarank;", "cluster" },
	{ "mapa.shared::cluster.u32 %r1, %r2, 1;", "cluster smem" },
	{ "griddepcontrol.wait;", "pdl" },
	{ "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;", "shfl" },
	{ "vote.sync.ballot.b32 %r1, %p1, -1;", "ballot vote" },
	{ "vote.sync.any.pred %p2, %p1, -1;", "vote" },
	{ "redux.sync.add.s32 %r1, %r2, -1;", "redux" },
	{ "elect.sync %r1|%p1, -1;", "elect" },
	{ "atom.shared.add.u32 %r1, [%r2], 1;", "atom.shared smem" },
	{ "atom.global.add.u32 %r1, [%rd2], 1;", "atom.global" },
	{ "red.relaxed.gpu.global.add.f32 [%rd2], %f1;", "atom.global" },
	{ "atom.add.u32 %r1, [%rd2], 1;", "atom.global" },
	{ "fma.rn.f32 %f1, %f2, %f3, %f4;", "fma.f32" },
	{ "fma.rn.ftz.f32 %f1, %f2, %f3, %f4;", "fma.f32" },
	{ "fma.rn.f64 %fd1, %fd2, %fd3, %fd4;", "fma.f64" },
	{ "fma.rn.bf16x2 %r1, %r2, %r3, %r4;", "fma.f16" },
	{ "ex2.approx.ftz.f32 %f1, %f2;", "ex2.approx" },
	{ "div.rn.f32 %f1, %f2, %f3;\nsqrt.rn.f32 %f1, %f1;", "div sqrt" },
	{ "div.u32 %r1, %r2, %r3;\nrem.s64 %rd1, %rd2, %rd3;", "idiv" },
	/* a name in a comment or behind another statement's line is not an instruction */
	{ "// mma.sync.aligned\n/* shfl.sync\n*/ add.s32 %r1, %r2, 3;", "" },
	/* what stands behind a line number is one */
	{ ".loc 1 3 4\nshfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;", "shfl" },
	{ "{ .reg .b32 t; shfl/**/.sync/* */ .bfly.b32 t|%p1, %r2, 16, 31, -1; }", "shfl" },
};
/* clang-format on */

static void test_shown(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(shown); i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec list = features_of(shown[i].body, "");
		KL_AUTO(kl_buf_release) struct kl_buf have = KL_BUF_INIT;

		for (size_t k = 0; k < list.n; k++) {
			kl_buf_addf(&have, "%s%s", k ? " " : "", list.v[k]);
			assert_true(kl_cuda_has_feature(list.v[k]));
		}
		if (strcmp(have.ptr, shown[i].features))
			fail_msg("%s\nshows '%s', not '%s'", shown[i].body, have.ptr,
				 shown[i].features);
	}
}

static void test_spills(void **state)
{
	static const char said[] =
		"ptxas info    : Function properties for k2\n"
		"    8 bytes stack frame, 96 bytes spill stores, 100 bytes spill loads\n"
		"ptxas info    : Function properties for k\n"
		"    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n";
	struct kl_cuda_spill spill = kl_cuda_spill(said, "k");
	KL_AUTO(kl_strvec_release) struct kl_strvec list = features_of("add.s32 %r1, %r2, 3;",
								       said);
	KL_AUTO(kl_strvec_release) struct kl_strvec names = features_of(
		"st.local.u32 [%rd1], %r1;",
		"Function properties for k\n"
		" 16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n");

	assert_int_equal(spill.frame, 16);
	assert_int_equal(spill.stores, 12);
	assert_int_equal(spill.loads, 20);
	assert_int_equal(kl_cuda_spill(said, "other").stores, 0);
	assert_true(kl_strvec_has(&list, "spill") && !kl_strvec_has(&list, "local"));
	assert_true(kl_strvec_has(&names, "local") && !kl_strvec_has(&names, "spill"));
	assert_true(kl_cuda_has_feature("local") && kl_cuda_has_feature("spill"));
	assert_false(kl_cuda_has_feature("vec.256") || kl_cuda_has_feature("wgm"));
}

/* Who refers to whom, by calls, tables and names of variables. */
static void test_reach(void **state)
{
	static const char text[] = HEAD
		".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
		".func (.param .b32 r) late(.param .b32 x);\n"
		".global .align 4 .u32 used;\n.global .align 4 .u32 unused = 3;\n"
		".global .align 8 .u64 table[2] = {late, generic(first)};\n.const .align 4 .b8 bank[64];\n"
		".global .align 4 .b8 first[4] = {1, 2, 3, 4};\n.extern .shared .align 16 .b8 smem[];\n"
		".func (.param .b32 r) late(.param .b32 x)\n{ st.global.u32 [used], 5; ret; }\n"
		".visible .entry a(.param .u64 p) .maxntid 128, 1, 1 .minnctapersm 2\n{\nmov.u64 %rd1, table; ret;\n}\n"
		".visible .entry b()\n{\n.reg .pred %p<3>;\n@%p1 bra $L;\nmov.u64 %rd1, bank;\n"
		"{ .param .b32 q; call.uni (q), vprintf, (%rd1, %rd2); }\n$L: ret;\n}\n";
	const char *left = "a", *right = "b", *ch = "late";
	struct kl_ptx ptx = { 0 };

	parse(&ptx, text);
	assert_ok(kl_ptx_reach(&ptx, &left, 1));
	assert_true(kl_ptx_variable(&ptx, "table")->reached &&
		    kl_ptx_variable(&ptx, "first")->reached);
	assert_true(kl_ptx_function(&ptx, "late")->reached &&
		    kl_ptx_variable(&ptx, "used")->reached);
	assert_true(kl_ptx_variable(&ptx, "used")->stored &&
		    !kl_ptx_variable(&ptx, "table")->stored);
	assert_false(kl_ptx_variable(&ptx, "bank")->reached ||
		     kl_ptx_variable(&ptx, "unused")->reached);
	assert_false(kl_ptx_function(&ptx, "b")->reached ||
		     kl_ptx_function(&ptx, "vprintf")->reached);
	assert_true(kl_strvec_has(&kl_ptx_function(&ptx, "a")->directive, ".maxntid"));
	assert_ok(kl_ptx_reach(&ptx, &right, 1));
	assert_true(kl_ptx_function(&ptx, "vprintf")->reached &&
		    kl_ptx_variable(&ptx, "bank")->reached);
	assert_error(KL_ENO, "'late'", kl_ptx_reach(&ptx, &ch, 1));
	kl_ptx_release(&ptx);
}

/* What cannot be read is refused, never passed over. */
static void test_malformed(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *why; } bad[] = {
		{ ".visible .entry k() { add.s32 %r1, %r2, 3 }", "without an end" },
		{ ".visible .entry k() { ret; ", "without an end" },
		{ ".visible .entry k() { ret; } .visible .entry k() { ret; }", "defined twice" },
		{ ".visible .entry k() { .pragma \"x", "a string" },
		{ ".global .u32 a; .func a() { ret; }", "used twice" },
		{ ".global .u32 a, b;", "an unsupported variable declaration" },
		{ "add.s32 %r1, %r2, 3;", "outside functions" },
		{ "#include \"/etc/passwd\"", "an unexpected character" },
		{ ".func k /* ", "a comment" },
		{ ".entry { ret; }", "without a name" },
		{ ".visible .entry k() { \001 }", "an unexpected character" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		struct kl_ptx ptx = { 0 };

		assert_error(KL_ENO, bad[i].why,
			     kl_ptx_parse(&ptx, bad[i].text, strlen(bad[i].text)));
	}
}

static void test_source_line(void **state)
{
	static const char text[] = HEAD
		".entry k()\n{\n\t.loc\t1 7 3\nadd.s32 1;\n.loc 2 9 1, function_name $L, inlined_at 1 2 3\n"
		"ret;\n}\n\t.file\t1 \"/tmp/src/k.cu\"\n\t.file 2 \"u.cuh\"\n";
	KL_AUTO(kl_freep) char *first = kl_ptx_source_line(text, 7),
			       *second = kl_ptx_source_line(text, 9);

	assert_string_equal(first, "/tmp/src/k.cu:7");
	assert_string_equal(second, "u.cuh:9");
	assert_null(kl_ptx_source_line(text, 3));
}

/*
 * -- machine code, as nvdisasm 12.8 and 13.0 print it ----------------------------------------------
 */

static const char disassembly[] =
	"\t.headerflags\t@\"EF_CUDA_SM90\"\n\t.elftype\t@\"ET_EXEC\"\n"
	"//--------------------- .text.k --------------------------\n"
	"\t.section\t.text.k,\"ax\",@progbits\n\t.align\t128\n        .global         k\nk:\n.text.k:\n"
	"        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
	"        /*0010*/                   S2R R0, SR_TID.X ;\n"
	"        /*0020*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;\n"
	".L_x_1:\n"
	"        /*0030*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;\n"
	"        /*0040*/                   HMMA.16816.F32.BF16 R4, R8, R14, R4 ;\n"
	"        /*0050*/                   CS2R R2, SR_CLOCKLO ;\n"
	"        /*0060*/                   NOP;\n"
	"\t.section\t.nv.shared.k,\"aw\",@nobits\n"
	"        /*0000*/                   SHFL.BFLY PT, R1, R2, 0x1, 0x1f ;\n"
	"\t.section\t.text.other,\"ax\",@progbits\n"
	"        /*0000*/                   ULDC.64 UR6, c[0x4][0x20] ;\n";

static void test_sass(void **state)
{
	struct kl_sass sass = { 0 };
	const struct kl_sass_fn *fn;

	assert_ok(kl_sass_parse(&sass, disassembly, strlen(disassembly)));
	assert_int_equal(sass.n, 2);
	fn = kl_sass_function(&sass, "k");
	assert_non_null(fn);
	assert_int_equal(fn->nop, 6);
	assert_string_equal(fn->op[3].name, "HMMA.16816.F32.BF16");
	assert_int_equal(fn->op[3].n, 2);
	assert_true(kl_strvec_has(&fn->special, "SR_CLOCKLO") &&
		    kl_strvec_has(&fn->special, "SR_TID.X"));
	assert_false(fn->module_data);
	assert_true(kl_sass_function(&sass, "other")->module_data);
	kl_sass_release(&sass);
	assert_error(KL_ENO, "no code", kl_sass_parse(&sass, "nothing\n", 8));
}

/*
 * -- with nvcc ---------------------------------------------------------------------------------------
 */

#define K "extern \"C\" __global__ void k(const float *x, float *y) "
#define I "int i = blockIdx.x * 256 + threadIdx.x; "

static struct kl_artefact *compiled(const char *source, const char *plan)
{
	struct kl_artefact *artefact = NULL;

	if (cuda_compile(&artefact, &kernel, source, plan, NULL) < 0)
		fail_msg("%s\n%s", kl_error_last(), source);
	return artefact;
}

static void same(const char *what, bool want, const char *source, const char *plan)
{
	KL_AUTO(kl_artefact_freep) struct kl_artefact *left = compiled(
		K "{ " I "y[i] = x[i] * 3.f; }\n", NULL);
	KL_AUTO(kl_artefact_freep) struct kl_artefact *right = compiled(source, plan);

	if (!strcmp(left->facts.code_digest, right->facts.code_digest) != want)
		fail_msg("%s: digests are%s the same", what, want ? " not" : "");
}

static void test_digest(void **state)
{
	NEEDS_NVCC();
	same("names, comments, lines", true,
	     "/* v */\n\n\nextern \"C\" __global__ void other(const float *in, float *out)\n{\n"
	     "int at = blockIdx.x * 256 + threadIdx.x;\nout[at] = in[at] * 3.f;\n}\n",
	     "klineage-launch: 1\ncompile: {arch: sm_90a, define: {W: 256}}\nlet: {blocks: \"n / W\"}\n"
	     "launch:\n  - {kernel: other, grid: [blocks], block: [W], args: [x, y]}\n");
	same("a kernel that nobody launches", true,
	     "__global__ void idle(int *p) { *p = 1; }\n" K "{ " I "y[i] = x[i] * 3.f; }\n", NULL);
	same("a constant", false, K "{ " I "y[i] = x[i] * 4.f; }\n", NULL);
	same("another block", false, K "{ " I "y[i] = x[i] * 3.f; }\n",
	     "klineage-launch: 1\ncompile: {arch: sm_90a}\n"
	     "launch:\n  - {kernel: k, grid: [\"cdiv(n, 128)\"], block: [128], args: [x, y]}\n");
	same("scratch", false, K "{ " I "y[i] = x[i] * 3.f; }\n",
	     "klineage-launch: 1\ncompile: {arch: sm_90a}\nscratch: {s: {dtype: f32, shape: [4], init: zero}}\n"
	     "launch:\n  - {kernel: k, grid: [\"cdiv(n, 256)\"], block: [256], args: [x, y]}\n");
}

static void test_static(void **state)
{
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
	const json_t *value;

	NEEDS_NVCC();
	artefact = compiled(
		K
		"{ __shared__ float s[512]; " I
		"s[threadIdx.x] = x[i]; __syncthreads(); y[i] = s[255 - threadIdx.x]; }\n"
		"extern \"C\" __global__ void idle(float *y) { y[0] = __shfl_xor_sync(-1, y[1], 1); }\n",
		"klineage-launch: 1\ncompile: {arch: sm_90a}\n"
		"launch:\n  - {kernel: k, grid: [\"cdiv(n, 256)\"], block: [256], smem: 65536, args: [x, y]}\n");
	assert_int_equal(json_array_size(artefact->statics), 1);
	value = json_array_get(artefact->statics, 0);
	assert_string_equal(kl_json_str_or(value, "kernel", ""), "k");
	assert_int_equal(kl_json_int_or(value, "smem_static", 0), 2048);
	assert_int_equal(kl_json_int_or(value, "smem", 0), 2048 + 65536);
	assert_int_equal(kl_json_int_or(value, "threads", 0), 256);
	assert_int_equal(kl_json_int_or(value, "blocks", 0), 4);
	assert_int_equal(kl_json_int_or(value, "spill_bytes", -1), 0);
	assert_in_range(kl_json_int_or(value, "registers", 0), 4, 32);
	/* 228 KiB / (66 KiB + 1 KiB) = 3 blocks of 8 warps of 64 */
	assert_int_equal(kl_json_int_or(value, "blocks_per_sm", 0), 3);
	assert_int_equal(kl_json_int_or(value, "occupancy_ppm", 0), 375000);
	assert_string_equal(kl_json_str_or(value, "limited_by", ""), "shared");
	assert_int_equal(kl_json_int_or(json_object_get(value, "instructions"), "shared_load", 0),
			 1);
	assert_true(kl_strvec_has(&artefact->facts.features, "smem") &&
		    kl_strvec_has(&artefact->facts.features, "bar"));
	assert_false(kl_strvec_has(&artefact->facts.features, "shfl")); /* idle's */
}

/*
 * Instructions of Hopper, as experts write them: assembled, so that what is looked for is what
 * there is.
 */
static void test_hopper(void **state)
{
	static const char *const want[] = {
		"cluster", "fence.proxy", "mbarrier",  "multicast", "setmaxnreg",
		"smem",    "tma.load",    "tma.store", "wgmma",     "wgmma.bf16",
	};
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;

	NEEDS_NVCC();
	artefact = compiled(
		"struct alignas(64) map { char b[128]; };\n"
		"extern \"C\" __global__ void __cluster_dims__(2) __launch_bounds__(256, 1)\n"
		"k(const __grid_constant__ map t, float *y)\n{\nextern __shared__ __align__(1024) char s[];\n"
		"unsigned a = (unsigned)__cvta_generic_to_shared(s), b = a + 65536;\nfloat d[4] = { 0, 0, 0, 0 };\n"
		"unsigned long long m = (unsigned long long)&t, q = a >> 4;\n"
		"if (threadIdx.x >= 128) {\nasm volatile(\"setmaxnreg.dec.sync.aligned.u32 40;\");\n"
		"asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(b));\n"
		"asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes\"\n"
		"\".multicast::cluster [%0], [%1, {%3, %3}], [%2], %4;\"\n"
		":: \"r\"(a), \"l\"(m), \"r\"(b), \"r\"(0), \"h\"((short)3) : \"memory\");\n} else {\n"
		"asm volatile(\"setmaxnreg.inc.sync.aligned.u32 232;\");\n"
		"asm volatile(\"wgmma.fence.sync.aligned;\");\n"
		"asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;\"\n"
		": \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]) : \"l\"(q));\n"
		"asm volatile(\"wgmma.commit_group.sync.aligned;\\nwgmma.wait_group.sync.aligned 0;\");\n"
		"asm volatile(\"fence.proxy.async.shared::cta;\");\n"
		"asm volatile(\"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %2}], [%1];\"\n"
		":: \"l\"(m), \"r\"(a), \"r\"(0) : \"memory\");\n"
		"y[threadIdx.x] = d[0] + d[1] + d[2] + d[3];\n}\n}\n",
		"klineage-launch: 1\ncompile: {arch: sm_90a}\n"
		"maps:\n  t: {kind: tiled, of: x, dtype: f32, dims: [32, n / 32], strides: [128], box: [8, 8], elem: [1, 1],\n"
		"      interleave: none, swizzle: none, l2: none, oob: zero}\n"
		"launch:\n  - {kernel: k, grid: [2], block: [256], cluster: [2], smem: 70000, args: [{map: t}, y]}\n");
	for (size_t i = 0; i < KL_ARRAY_SIZE(want); i++)
		if (!kl_strvec_has(&artefact->facts.features, want[i]))
			fail_msg("no %s", want[i]);
	assert_int_equal(artefact->facts.features.n, KL_ARRAY_SIZE(want));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shown),       cmocka_unit_test(test_spills),
		cmocka_unit_test(test_reach),       cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_source_line), cmocka_unit_test(test_sass),
		cmocka_unit_test(test_digest),      cmocka_unit_test(test_static),
		cmocka_unit_test(test_hopper),
	};

	return cmocka_run_group_tests(tests, cuda_setup_group, cuda_teardown_group);
}
