/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_fixture.h"

/*
 * One thing wrong in a good plan: what is replaced, and by what. The error must stand
 * where the ^ is, which is taken out, or where `at` begins.
 */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
struct row {
	const char *from, *to, *what, *at;
};

/* clang-format off */
static const struct row gemm[] = {
	/* the document */
	{ "launch: 1", "launch: ^2", "unsupported version 2 of the launch plan (supported: 1)" },
	{ "klineage-launch: 1\n", "^", "'klineage-launch' is missing" },
	{ "launch: 1", "launch: ^one", "whole number" },
	{ "\nlaunch:", "\n^lunch:", "unknown key 'lunch'" },
	{ "\nlet:", "\n^lett:", "unknown key 'lett' in a launch plan" },
	{ "\nlaunch:", "\n^access_policy_window: {bytes: 4}\nlaunch:", "cannot set L2 access policies" },
	{ "prepare:\n  - {kernel: tile_order, grid: [1], block: [128],\n     args: [order, "
	  "{i32: \"cdiv(M,BM)\"}, {i32: \"cdiv(N,BN)\"}, {i32: ctas/2}]}", "prepare: ^{}", "prepare: 'prepare' must be a list" },
	{ "let:\n  ctas: min(cdiv(M, BM) * cdiv(N, BN), sms - sms % 2)\n"
	  "  smem: STAGES * (BM + BN) * BK * 2 + BM * BN * 2 + 1280", "let: ^7", "let: 'let' must be a map" },
	/* compile */
	{ "sm_90a", "^sm_91", "unknown architecture 'sm_91' (known: sm_75, sm_80, sm_86," },
	{ "sm_90a", "^compute_90a", "unknown architecture 'compute_90a' (known: sm_75, sm_80," },
	{ "sm_90a, std: c++17, define: {BM: 128, BN: 256, BK: 64, STAGES: 3}",
	  "sm_80, define: {BM: 128, BN: 256, BK: 64, STAGES: 1}",
	  "maps.tA: tensor maps need compute capability 9.0, but the", "{kind: tiled, of: A" },
	{ "c++17", "^c++14", "'std' must be one of c++17, c++20, not 'c++14'" },
	{ "{arch: sm_90a, ", "^{", "'arch' is missing in 'compile'" },
	{ "std:", "^flags:", "unknown key 'flags'" },
	{ "BM: 128", "BM: ^12x", "whole number" },
	{ "BM: 128", "^M: 128", "'M' is already the name of a dim, a device fact or a" },
	{ "BM: 128", "^__B: 128", "reserved" },
	{ "BM: 128", "^1B: 128", "not a C identifier" },
	{ "BM: 128", "BM: ^99999999999999999999", "whole number" },
	/* let, require */
	{ "ctas: min", "^sms: min", "'sms' is already the name of a dim, a device fact or a" },
	{ "ctas: min", "^min: min", "'min' is already the name of a function" },
	{ "cdiv(M, BM)", "cdiv(^P, BM)", "'P' is not a dim, a constant, a 'let' above it" },
	{ "sms - sms % 2", "^smem", "'smem' is not a dim" },
	{ "BM * BN * 2 + 1280", "(BM * BN * 2 + 1280^", "ends where ')' is expected" },
	{ "smem: STAGES", "smem: ^4611686018427387904 * STAGES", "overflow beyond 64 bits at BM = 128, BN" },
	{ "ctas: min(", "ctas: ^M / (N - N) * min(", "division by zero at M = 4096, N = 4096" },
	{ "min(cdiv(M, BM) * cdiv(N, BN), sms - sms % 2)", "^[1]", "'ctas' must be a single value" },
	{ "min(cdiv(M, BM) * cdiv(N, BN), sms - sms % 2)", "^M == 4", "found a condition where a number is expected" },
	{ "K % BK == 0", "^K % BK", "found a number where a condition is expected" },
	{ "K % BK == 0", "^K == 4096", "'K == 4096' does not hold at K = 64 (also0)" },
	{ "require: [", "require: [^M, ", "found a number where a condition is expected" },
	/* scratch */
	{ "  order: {", "  ^A: {", "'A' is already the name of an argument of the contract" },
	{ "i32, shape", "^i33, shape", "'dtype' must be one of f64, f32," },
	{ "[ctas, 64]", "[ctas, ^0]", "an extent is 0, but must be from 1 to 1099511627776" },
	{ "[ctas, 64]", "[ctas, ^M - 4096]", "an extent is 0 at M = 4096" },
	{ "[ctas, 64]", "[ctas, ^1099511627776]", "the scratch is larger than 2^40 bytes" },
	{ "{dtype: i32, shape: [ctas, 64]", "^{dtype: i32, shape: [ctas, 1000000000]",
	  "bytes in total, but a device has at most" },
	{ "[ctas, 64]", "^[]", "'shape' has no entry" },
	{ "init: prepare", "init: ^ones", "'init' must be one of poison, zero, carry, prepare, not 'ones'" },
	{ "init: prepare", "init: zero", "a prepare launch cannot use scratch 'order', which does", "order, {i32: \"cdiv(M" },
	{ "{dtype: i32,", "^{dtype: i32, bytes: 4,", "cannot have both" },
	{ "dtype: i32, shape: [ctas, 64]", "bytes: 128, align: ^3", "must be a power of two" },
	{ "{dtype: i32, shape: [ctas, 64]", "^{dtype: i32", "must have 'dtype' and 'shape'" },
	{ "dtype: i32, shape: [ctas, 64]", "bytes: ^-1", "a size in bytes is -1" },
	/* maps */
	{ "kind: tiled, of: A", "kind: ^tile, of: A", "'kind' must be one of tiled, im2col, not 'tile'" },
	{ "{kind: tiled, of: A", "^{of: A", "'kind' is missing in a tensor map" },
	{ "of: A,", "of: ^X,", "'X' is neither a tensor of the contract nor a scratch" },
	{ "bf16, dims: [K, M]", "^bf17, dims: [K, M]", "f32-ftz, tf32, tf32-ftz, not 'bf17'" },
	{ "dims: [K, M]", "dims: [K, ^0]", "dims is 0, but must be from 1 to 4294967296" },
	{ "dims: [K, M]", "dims: [K, ^4294967297]", "dims is 4294967297" },
	{ "dims: [K, M]", "dims: ^[K, M + 1]", "covers 33562624 bytes from byte 0, but the tensor has "
	 "only 33554432" },
	{ "dims: [K, M]", "dims: ^[]", "'dims' has no entry" },
	{ "dims: [K, M], strides: [K*2]", "dims: [K, M, M], strides: ^[K*2]", "'strides' has 1 entry, but must "
	 "have 2" },
	{ "strides: [K*2]", "strides: [^K*2+8]", "a stride of 8200 bytes is not a multiple of 16" },
	{ "strides: [K*2]", "strides: [^0]", "strides is 0" },
	{ "strides: [K*2]", "strides: [^1099511627776]", "strides is 1099511627776" },
	{ "dims: [K, M], strides: [K*2]", "dims: ^[4294967296, 4294967296], strides: [1099511627760]",
	  "does not fit into 64 bits" },
	{ "box: [BK, BM]", "box: [BK, ^BM * 4]", "box is 512 at BM = 128, but must be from 1 to 256" },
	{ "box: [BK, BM]", "box: [^0, BM]", "box is 0" },
	{ "box: [BK, BM]", "box: [^BK * 2, BM]", "256 bytes, but swizzle 128B allows at most 128" },
	{ "box: [BK, BM]", "box: [^4, BM]", "8 bytes, but must be a multiple of 16" },
	{ "box: [BK, BM]", "box: ^[BK]", "'box' has 1 entry, but must have 2" },
	{ "elem: [1, 1]", "elem: [1, ^9]", "elem is 9, but must be from 1 to 8" },
	{ "elem: [1, 1]", "elem: [^0, 1]", "elem is 0" },
	{ "interleave: none", "interleave: ^16B", "at least 3 dims" },
	{ "interleave: none", "interleave: ^64B", "'interleave' must be one of none, 16B, 32B, not '64B'" },
	{ "swizzle: 128B", "swizzle: ^256B", "128B-atom-64B, not '256B'" },
	{ "swizzle: 128B", "swizzle: ^128B-atom-64B", "swizzle 128B-atom-64B needs compute capability 10.0, but" },
	{ "l2: 256B", "l2: ^512B", "'l2' must be one of none, 64B, 128B, 256B, not '512B'" },
	{ "oob: zero", "oob: ^one", "'oob' must be one of zero, nan, not 'one'" },
	{ "bf16, dims: [K, M], strides: [K*2], box: [BK, BM],   elem: [1, 1],\n"
	  "       interleave: none, swizzle: 128B, l2: 256B, oob: zero",
	  "u16, dims: [K, M], strides: [K*2], box: [BK, BM],   elem: [1, 1],\n"
	  "       interleave: none, swizzle: 128B, l2: 256B, oob: ^nan", "'oob: nan' is only for floats, not for u16" },
	{ "interleave: none", "offset: ^8, interleave: none", "the offset 8 must be within the 33554432 bytes of the" },
	{ "interleave: none", "offset: ^33554432, interleave: none", "the offset 33554432 must be within the 33554432 bytes of" },
	{ "interleave: none", "^pixels: 4, interleave: none", "unknown key 'pixels'" },
	{ "interleave: none", "^l2_policy: 4, interleave: none", "cannot set L2 access policies" },
	/* launches */
	{ "kernel: tile_order", "kernel: ^tile order", "'tile order' is not a valid symbol" },
	{ "kernel: tile_order", "kernel: ^tile<1", "'tile<1' is not a valid symbol, nor a name of C++" },
	{ "kernel: tile_order", "kernel: ^'tile<1>;'", "'tile<1>;' is not a valid symbol, nor a name of C++" },
	{ "kernel: tile_order, ", "kernel: tile_order, symbol: ^k, ", "a plan must not set 'symbol'" },
	{ "kernel: tile_order", "kernel: ^''", "'kernel' is empty" },
	{ "{kernel: tile_order, ", "^{", "'kernel' is missing" },
	{ "kernel: tile_order", "kernel: ^true", "'kernel' must be text; put true in quotes" },
	{ "kernel: tile_order", "kernel: ^12", "'kernel' must be text; put 12 in quotes" },
	{ "grid: [ctas]", "grid: [^null]", "'grid' must be a number or an expression, not null" },
	{ "grid: [ctas]", "grid: ^null", "'grid' must not be null" },
	{ "args: [order, ", "args: [^C, ", "'C' is a tensor; a prepare launch is not timed" },
	{ "args: [order, ", "args: [{map: ^tA}, ", "a prepare launch cannot use map 'tA', which is not of" },
	{ "block: [128]", "block: [128], pdl: ^true", "a prepare launch is not timed, so it cannot have 'pdl'" },
	{ "grid: [ctas]", "grid: [^ctas * 0]", "grid is 0 at ctas = 132, but must be from 1 to 2147483647" },
	{ "grid: [ctas]", "grid: [^M * M * M]", "grid is 68719476736 at M = 4096" },
	{ "grid: [ctas]", "grid: [ctas, ^65536]", "grid is 65536, but must be from 1 to 65535" },
	{ "grid: [ctas]", "grid: [ctas, 1, ^65536]", "grid is 65536, but must be from 1 to 65535" },
	{ "grid: [ctas]", "grid: ^[ctas, 1, 1, 1]", "'grid' has 4 entries, more than 3" },
	{ "grid: [ctas]", "grid: [^ctas - 1]", "the extent 131 of the grid is not a multiple of the cluster's extent 2" },
	{ "grid: [ctas]", "grid: [^M * M * M * M * M * M]", "overflow beyond 64 bits at M = 4096" },
	{ "grid: [ctas]", "grid: ^ctas", "'grid' must be a list" },
	{ "block: [384]", "block: [^1025]", "block is 1025, but must be from 1 to 1024" },
	{ "block: [384]", "block: ^[32, 64]", "a block has 32 x 64 x 1 threads, but can have at most" },
	{ "block: [384]", "block: [1, 1, ^65]", "block is 65, but must be from 1 to 64" },
	{ "block: [384]", "block: [^-1]", "block is -1" },
	{ "cluster: [2]", "cluster: ^[12]", "a cluster has 12 blocks, but can have at most 8, or 16" },
	{ "cluster: [2]", "nonportable: true\n    cluster: [^17]", "cluster is 17" },
	{ "cluster: [2]", "nonportable: true\n    cluster: ^[4, 8]", "a cluster has 32 blocks" },
	{ "cluster: [2]", "cluster: ^[1, 2, 1, 1]", "has 4 entries, more than 3" },
	{ "cluster: [2]", "cluster: [1, 2]", "the extent 1 of the grid is not a multiple of the cluster's extent 2", "[ctas]\n" },
	{ "cluster: [2]", "cluster: [4]\n    nonportable: ^maybe", "'nonportable' must be true or false" },
	{ "smem: smem", "smem: ^smem * 2", "428544 bytes of shared memory, but the device has at most 232448" },
	{ "smem: smem\n", "smem: ^0 - smem\n", "-214272 bytes" },
	{ "cooperative: false", "cooperative: ^no", "'cooperative' must be true or false" },
	{ "cooperative: false", "pdl: ^true", "the first launch of a plan cannot have 'pdl'" },
	{ "cooperative: false", "^accessPolicyWindow: {}", "cannot set L2 access policies" },
	{ "cooperative: false", "^stream: 1", "unknown key 'stream'" },
	/* arguments */
	{ "args: [{map: tA}", "args: [{map: ^tX}", "the plan has no map 'tX'" },
	{ "tC}, order,", "tC}, ^ordre,", "'ordre' is neither a tensor of the contract nor a scratch" },
	{ "{i32: M}", "{^i33: M}", "unknown key 'i33'" },
	{ "{i32: M}", "{i32: ^M * M * 1024}", "the value is 17179869184 at M = 4096" },
	{ "{i32: M}", "{u32: ^-M}", "the value is -4096 at M = 4096" },
	{ "{i32: M}", "{f32: ^M}", "must be a number, not 'M'; use i32 or i64" },
	{ "{i32: M}", "{f32: ^1e39}", "out of the range of a float" },
	{ "{i32: M}", "{f64: ^1e999}", "out of the range of a double" },
	{ "{i32: M}", "^{i32: M, i64: N}", "an argument must be a name, null, or one of {map: }," },
	{ "{i32: M}", "^{}", "an argument must be a name, null, or one of {map: }," },
	{ "{i32: M}", "^[M]", "an argument must be a name, null, or one of {map: }," },
	{ "{i32: M}", "{ptr: ^M}", "'M' is neither a tensor" },
	{ "{i32: M}", "{ptr: A, offset: ^M * M * 2}", "an offset in bytes is 33554432" },
	{ "{i32: M}", "{ptr: A, ^off: 4}", "unknown key 'off'" },
	{ "{i32: M}", "{bytes: ^none.bin}", "'bytes' must name one of the sources" },
	{ "{i32: M}", "{bytes: ^empty.bin}", "'empty.bin' has 0 bytes" },
	{ "{i32: M}", "{bytes: params.bin, at: [{off: ^4, ptr: A}]}", "an entry of 8 bytes cannot be at byte 4 of 80: it must" },
	{ "{i32: M}", "{bytes: params.bin, at: [{off: ^80, ptr: A}]}", "an entry of 8 bytes cannot be at byte 80 of 80: it must" },
	{ "{i32: M}", "{bytes: params.bin, at: [{off: ^0, map: tA}]}", "an entry of 128 bytes cannot be at byte 0 of 80: it must" },
	{ "{i32: M}", "{bytes: params.bin, at: [{off: 0, ptr: A}, {off: ^0, ptr: B}]}", "the entry overlaps the entry at byte 0" },
	{ "{i32: M}", "{bytes: params.bin, at: [^{ptr: A}]}", "'off' is missing" },
};
/* clang-format on */

/* clang-format off */
static const struct row conv[] = {
	{ "lower: [-pad, -pad]", "lower: ^[-pad]", "'lower' has 1 entry, but must have 2" },
	{ "lower: [-pad, -pad]", "lower: [-pad, ^-129]", "lower is -129, but must be from -128 to 127" },
	{ "upper: [pad-(S-1), ", "upper: [^128, ", "upper is 128" },
	{ "upper: [pad-(S-1), ", "upper: [^-57, ", "from 'lower' -1 to 'upper' -57" },
	{ "channels: BK", "channels: ^257", "channels is 257, but must be from 1 to 256" },
	{ "channels: BK", "channels: ^128", "256 bytes, but swizzle 128B allows at most 128" },
	{ "pixels: BM", "pixels: ^1025", "pixels is 1025, but must be from 1 to 1024" },
	{ "channels: BK, ", "", "'channels' is missing", "{kind: im2col" },
	{ "dims: [C, W, H, N], strides: [C*2, W*C*2, H*W*C*2]", "dims: ^[C, W], strides: [C*2]", "'dims' has 2 "
	 "entries, fewer than 3" },
	{ "interleave: none, swizzle: 128B", "interleave: 32B, swizzle: ^128B", "requires 'swizzle: "
	 "32B'" },
	{ "quirks: auto", "quirks: ^all", "'quirks' must be one of none, auto, not 'all'" },
	/* 7 * 5 rows of the smallest point */
	{ "dims: [F, rows]", "dims: ^[F, rows + 1]", "the map covers" },
};
/* clang-format on */

/* clang-format off */
static const struct row chain[] = {
	{ "[1],            init: carry", "[1], init: ^prepare", "'init: prepare' requires a prepare launch, but the plan" },
	{ "align: 128", "align: ^0", "'align' is out of its range from 1 to 2097152: 0" },
	{ "G, scale]", "G, ^scala]", "'scala' is neither" },
	{ "  tick:", "  ^scale:", "'scale' is already the name of an argument of the contract" },
	{ "sm_90}", "sm_80}", "programmatic launch needs compute capability 9.0, but the", "true, "
	 "args: [G" },
	{ "sm_90}", "sm_86, std: c++20}\nprepare: ^[]", "'prepare' has no entry" },
	{ "compile: {arch: sm_90}", "artefact: ^{cubin: d.cubin}", "'sha256' is missing" },
	{ "compile: {arch: sm_90}", "artefact: {cubin: d.cubin, sha256: ^abc}", "64 lower-case hexadecimal" },
	{ "compile:", "artefact: ^{}\ncompile:", "both 'compile' and 'artefact'" },
	{ "compile: {arch: sm_90}", "artefact: {cubin: ^d.cubin, arch: sm_90, sha256: "
	  "0123456789012345678901234567890123456789012345678901234567890123}", "'d.cubin' is not one of the sources" },
	{ "compile: {arch: sm_90}", "artefact: {cubin: params.bin, arch: sm_90, sha256: "
	  "^\"0123456789012345678901234567890123456789012345678901234567890123\"}", "'params.bin' has the digest" },
	{ "klineage-launch: 1\ncompile: {arch: sm_90}\n", "^klineage-launch: 1\n", "'arch' is missing in "
	 "'compile'" },
};
/* clang-format on */

/* "<line>:<column>" of a byte of the text. */
static char *place_of(const char *text, const char *at)
{
	const char *line = text;
	int n = 1;

	for (const char *string = text; string < at; string++) {
		if (*string == '\n') {
			n++;
			line = string + 1;
		}
	}
	return kl_asprintf("launch.yaml:%d:%d: ", n, (int)(at - line) + 1);
}

static int check_row(const struct kl_contract *contract, const char *good, const struct row *row)
{
	KL_AUTO(kl_freep) char *bad = plan_edit(good, row->from, row->to), *where = NULL;
	char *mark = row->at ? strstr(bad, row->at) : strchr(bad, '^');
	struct kl_launch *launch = NULL;
	int err;

	if (!mark)
		fail_msg("'%s' says no place", row->to);
	where = place_of(bad, mark);
	if (!row->at)
		memmove(mark, mark + 1, strlen(mark));
	err = plan_read(&launch, contract, bad);
	kl_launch_free(launch);
	if (err == KL_EINVALID && !strncmp(kl_error_last(), where, strlen(where)) &&
	    strstr(kl_error_last(), row->what))
		return 0;
	print_error("'%s' -> '%s': %d: %s\n\twanted %s%s\n", row->from, row->to, err,
		    err ? kl_error_last() : "accepted", where, row->what);
	return 1;
}

static void check(const char *name, const struct row *rows, size_t n)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = plan_contract(name);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int wrong = 0;

	plan_text(&text, name);
	for (size_t i = 0; i < n; i++)
		wrong += check_row(contract, text.ptr, &rows[i]);
	assert_int_equal(wrong, 0);
}

static void errors_stand_at_their_place(void **state)
{
	check("gemm", gemm, KL_ARRAY_SIZE(gemm));
}

static void errors_of_image_maps(void **state)
{
	check("conv2d", conv, KL_ARRAY_SIZE(conv));
}

static void errors_of_chains_and_artefacts(void **state)
{
	check("chain", chain, KL_ARRAY_SIZE(chain));
}

/* A copy of `unit`, n times over. */
static void add_times(struct kl_buf *out, const char *unit, size_t n)
{
	while (n--)
		kl_buf_adds(out, unit);
}

static void hostile_sizes_are_refused(void **state)
{
	/* clang-format off */
	static const struct { const char *from, *head, *unit, *tail, *what; size_t n; } rows[] = {
		{ "M % (2*BM) == 0", "", "(", "M", "is nested deeper than 32", 400 },
		{ "M % (2*BM) == 0", "M == ", "-", "1", "is nested deeper than 32", 400 },
		{ "M % (2*BM) == 0", "M == 1", " + 1", "", "longer than 512 bytes", 400 },
		{ "[ctas, 64]", "[ctas", ", 1", "]", "'shape' has 9 entries, more than 8", 8 },
		{ "{i32: M}", "null", ", null", "", "'args' has 87 entries, more than 64", 80 },
		{ "{i32: M}", "", "[", "", "launch.yaml:", 40 },
		{ "M % (2*BM) == 0", "M == 4", ", M == 4", "", "entries, more than 64", 64 },
		{ "grid: [ctas]", "xgrid: ", "x", "", "unknown key 'xgrid'", 2000 },
		{ "kernel: gemm_bf16_ws", "kernel: ", "x", "", "longer than 255 bytes", 300 },
		{ "args: [{map: tA}", "args: [{bytes: params.bin}", ", {map: tA}", "", "larger than 4096 "
		 "bytes", 40 },
	};
	/* clang-format on */
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = plan_contract("gemm");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	plan_text(&text, "gemm");
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf to = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *bad = NULL;
		struct kl_launch *launch = NULL;

		kl_buf_adds(&to, rows[i].head);
		add_times(&to, rows[i].unit, rows[i].n);
		kl_buf_adds(&to, rows[i].tail);
		bad = plan_edit(text.ptr, rows[i].from, to.ptr);
		assert_error(KL_EINVALID, rows[i].what, plan_read(&launch, contract, bad));
		assert_null(launch);
	}
}

/* The worker reads JSON that nobody else has looked at. */
static void the_worker_trusts_no_job(void **state)
{
	/* clang-format off */
	static const struct { const char *json, *what; } rows[] = {
		{ "[]", "a launch plan must be a map" },
		{ "{\"klineage-launch\":1}", "'launch' is missing" },
		{ "{\"klineage-launch\":1,\"launch\":{}}", "launch: 'launch' must be a list" },
		{ "{\"klineage-launch\":1,\"launch\":[null]}", "launch[0]: a launch must be a map" },
		{ "{\"klineage-launch\":1.0,\"launch\":[]}", "'klineage-launch' must be a whole number from 1 on, not '1.0'" },
		{ "{\"klineage-launch\":1,\"launch\":[{\"kernel\":\"k\",\"grid\":[1],\"block\":[1],"
		  "\"args\":[{\"bytes\":\"f\"}]}]}", "launch[0].args[0].bytes: 'bytes' must hold the contents of" },
		{ "{\"klineage-launch\":1,\"launch\":[{\"kernel\":\"k\",\"grid\":[1],\"block\":[1],"
		  "\"args\":[{\"bytes\":{\"hex\":\"0g\"}}]}]}", "launch[0].args[0].bytes: 'bytes' must be {hex: ...} with 1 to 4096 bytes" },
		{ "{\"klineage-launch\":1,\"launch\":[{\"kernel\":\"k\\u0007\",\"grid\":[1],\"block\":[1],"
		  "\"args\":[]}]}", "launch[0].kernel: 'kernel' contains bytes that cannot be printed" },
		{ "{\"klineage-launch\":1,\"let\":[{\"a\":\"b\"},{\"b\":1}],\"launch\":[]}", "let[0].a: 'b' "
		 "is not" },
		{ "{\"klineage-launch\":1,\"launch\":[{\"kernel\":1.5,\"grid\":[1],\"block\":[1],"
		  "\"args\":[]}]}", "launch[0].kernel: 'kernel' must be text; put 1.5 in quotes" },
		{ "{\"klineage-launch\":1,\"launch\":[{\"kernel\":\"k\",\"grid\":[2.0],\"block\":[1],"
		  "\"args\":[]}]}", "launch[0].grid[0]: unexpected '.0' after the expression" },
		{ "{\"klineage-launch\":1,\"let\":[7],\"launch\":[]}", "let[0]: 'let' must be a map" },
		{ "{\"klineage-launch\":1,\"x\\ny\":[7],\"launch\":[]}", "x?y: unknown key 'x?y'" },
	};
	/* clang-format on */
	const struct kl_plan_names names = { .ndim = 0 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(json_decrefp) json_t *doc = NULL;
		struct kl_plan *plan = NULL;

		assert_ok(kl_json_parse(&doc, rows[i].json, strlen(rows[i].json)));
		assert_error(KL_EINVALID, rows[i].what, kl_plan_parse_json(&plan, doc, &names));
		assert_null(plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_stand_at_their_place),
		cmocka_unit_test(errors_of_image_maps),
		cmocka_unit_test(errors_of_chains_and_artefacts),
		cmocka_unit_test(hostile_sizes_are_refused),
		cmocka_unit_test(the_worker_trusts_no_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
