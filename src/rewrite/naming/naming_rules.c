/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/naming/naming_rules.h"

#define MORE(item)                              \
	{                                       \
		KL_SHAPE_##item, KL_NAMING_MORE \
	}
#define LESS(item)                              \
	{                                       \
		KL_SHAPE_##item, KL_NAMING_LESS \
	}
#define NOT_MORE(item)                              \
	{                                           \
		KL_SHAPE_##item, KL_NAMING_NOT_MORE \
	}
#define NOT_LESS(item)                              \
	{                                           \
		KL_SHAPE_##item, KL_NAMING_NOT_LESS \
	}
#define SAME(item)                              \
	{                                       \
		KL_SHAPE_##item, KL_NAMING_SAME \
	}
#define MANY(item)                              \
	{                                       \
		KL_SHAPE_##item, KL_NAMING_MANY \
	}
#define NEW(item)                              \
	{                                      \
		KL_SHAPE_##item, KL_NAMING_NEW \
	}
#define NONE(item)                              \
	{                                       \
		KL_SHAPE_##item, KL_NAMING_NONE \
	}
#define NO_TEST                                       \
	{                                             \
		{                                     \
			KL_SHAPE_LOOPS, KL_NAMING_END \
		}                                     \
	}

#define VECTORS                                                                        \
	"__m128* __m256* __m512* _mm*_loadu_* _mm*_load_* _mm*_set1_* _mm*_setzero_* " \
	"_mm*_add_* _mm*_mul_* _mm*_fmadd_* *vector_size* *float32x4* vld1q_*"

/* clang-format off */
/* the rules in the order of preference among names of equal confidence */
const struct kl_naming_rule kl_naming_rules[] = {
	/* instructions, and promises to the compiler, each with its own words */
	{ "prefetch", 70, "_mm_prefetch __builtin_prefetch \\\"*prefetch*", NO_TEST, true, false },
	{ "nt-store", 70, "_mm*_stream_* __builtin_nontemporal_store __stcs __stwt", NO_TEST, false, false },
	{ "wgmma", 78, "\\\"*wgmma.mma*", NO_TEST, false, false },
	{ "ldmatrix", 70, "\\\"*ldmatrix*", NO_TEST, false, false },
	{ "stmatrix", 70, "\\\"*stmatrix*", NO_TEST, false, false },
	{ "mma", 74, "\\\"*mma.sync* mma_sync wmma", NO_TEST, false, false },
	{ "cluster-multicast", 79, "\\\"*multicast*", NO_TEST, false, false },
	{ "tma-load", 76, "\\\"*cp.async.bulk* CUtensorMap cp_async_bulk*", NO_TEST, false, false },
	{ "setmaxnreg", 75, "\\\"*setmaxnreg*", NO_TEST, true, false },
	{ "pdl", 72, "\\\"*griddepcontrol* cudaGridDependencySynchronize", NO_TEST, false, false },
	{ "cluster-share", 70, "__cluster_dims__ map_shared_rank \\\"*mapa*", NO_TEST, false, false },
	{ "cp-async", 72, "__pipeline_memcpy_async memcpy_async \\\"*cp.async.c[ag]*", NO_TEST,
		false, false },
	{ "launch-bounds", 70, "__launch_bounds__", NO_TEST, true, true },
	{ "ballot-compaction", 70, "__ballot*", NO_TEST, false, false },
	{ "warp-scan", 70, "__shfl*", NO_TEST, false, false },
	{ "fast-exp", 66, "__expf __exp2f exp2f ex2* __exp10f \\\"*ex2.approx*", NO_TEST, false, false },
	{ "vector-load", 70, "float4 int4 uint4 float2 make_float4 longlong2 "
		"ulonglong2 double2", NO_TEST, false, false },
	{ "restrict", 70, "restrict __restrict __restrict__", NO_TEST, true, true },
	{ "no-alias", 70, "#*ivdep* #*omp*simd* #*independent*", NO_TEST, true, true },
	{ "compiler-hint", 60, "__builtin_expect likely unlikely __builtin_unreachable always_inline "
		"__forceinline__ hot flatten __builtin_assume", NO_TEST, false, true },
	{ "alignment", 62, "aligned __aligned__ _Alignas alignas aligned_alloc posix_memalign __align__ "
		"_mm_malloc", NO_TEST, false, true },
	{ "inline-asm", 54, "asm __asm__ __asm", NO_TEST, false, false },
	{ "approximation", 72, "*_rcp*_p[sd] *_rsqrt*_p[sd] *_rcp*_ss *_rsqrt*_ss", NO_TEST, false, false },
	{ "bit-count", 68, "__builtin_popcount* __builtin_ctz* __builtin_clz* _mm_popcnt* _tzcnt* "
		"_lzcnt* _pext* _pdep*", NO_TEST, false, false },
	{ "gather", 72, "_mm*gather*", NO_TEST, true, false },
	{ "masked-tail", 72, "__mmask* _mm*_mask_* _mm*_maskz_* _mm*_maskload* "
		"_mm*_maskstore*", NO_TEST, false, false },
	{ "wide-vector", 74, "__m512* _mm512_*", { SAME(BLOCKS) }, false, false },
	{ "vector-loop", 68, VECTORS, NO_TEST, false, false },
	{ "fma", 60, "fma fmaf _mm*_fmadd_* _mm*_fnmadd_* __fmaf_rn", NO_TEST, false, false },

	/* threads of a GPU */
	{ "smem-pad", 75, NULL, { MORE(PADDED), SAME(SHARED) }, false, false },
	{ "software-pipeline", 70, NULL, { MORE(DOUBLED), NOT_MORE(SHARED) }, false, false },
	{ "block-parallel", 76, NULL, { NEW(THREADS) }, false, false },
	{ "smem-tile", 72, "__shared__", { MORE(SHARED), MORE(STAGES), MORE(BLOCKS) }, false, false },
	{ "sm-stage", 64, "__shared__", { MORE(SHARED), MORE(STAGES) }, false, false },
	{ "coalesce", 70, NULL, { MORE(COALESCED), LESS(STRIDED), SAME(SHARED) }, false, false },
	{ "split-k", 62, "atomicAdd", { SAME(SHARED) }, false, false },

	/* tiles and loops */
	{ "lane-reduce", 72, NULL, { MORE(PARTIAL), MORE(ACCUMULATORS), NOT_MORE(BLOCKS) }, false, false },
	{ "cache-block", 68, NULL, { MORE(BLOCKS), NOT_LESS(LOOPS) }, false, false },
	{ "pack-panel", 70, NULL, { MORE(COPIES), NOT_LESS(LOOPS), NOT_MORE(STAGES), NONE(THREADS) },
		false, false },
	{ "register-tile", 71, NULL, { MANY(ACCUMULATORS), NOT_MORE(PARTIAL) }, false, false },
	{ "register-tile", 69, NULL, { MANY(ZEROED), NOT_LESS(ACCUMULATORS), NOT_MORE(PARTIAL) },
		false, false },
	{ "unroll-jam", 62, NULL, { MORE(JAMS) }, false, false },
	{ "unroll", 64, NULL, { MORE(UNROLLED) }, false, false },
	{ "unroll", 62, "#*pragma*unroll*", NO_TEST, false, true },
	{ "loop-fusion", 64, NULL, { LESS(INNER), NOT_MORE(BLOCKS), NOT_MORE(JAMS), LESS(LOOPS),
		MORE(MEMORY_SUMS) }, false, false },
	{ "loop-fusion", 58, NULL, { LESS(INNER), SAME(BLOCKS), SAME(JAMS), LESS(LOOPS),
		NOT_MORE(COPIES) }, false, false },
	{ "strength-reduction", 62, NULL, { LESS(DIVISIONS), MORE(SHIFTS), SAME(LOOPS) }, false, false },
	{ "strength-reduction", 60, NULL, { MORE(WALKS), NOT_MORE(ACCESSES), SAME(LOOPS) }, false, false },
	{ "branchless", 66, NULL, { LESS(BRANCHES), MORE(CHOICES), SAME(LOOPS) }, false, false },
	{ "lookup-table", 68, NULL, { MORE(TABLES) }, false, false },
	{ "static-scratch", 64, NULL, { MORE(STATICS), SAME(COPIES) }, false, false },
	{ "hoist-invariant", 62, NULL, { MORE(GUARDS), SAME(COPIES) }, false, false },
	{ "hoist-invariant", 58, NULL, { MORE(HOISTS), LESS(ACCESSES), SAME(LOOPS),
		NOT_MORE(SHARED) }, false, false },
	{ 0 },
};
/* clang-format on */
