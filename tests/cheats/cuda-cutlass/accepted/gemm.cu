/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on gemm */
/* C = A B^T in bf16 as CUTLASS builds it for sm_90: TMA, wgmma, clusters of two. */
#include <cute/tensor.hpp>
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

using namespace cute;
using bf16 = cutlass::bfloat16_t;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using Block = Shape<_128, _256, _64>;
using Cluster = Shape<_2, _1, _1>;

using Sm90 = cutlass::arch::Sm90;
using Cores = cutlass::arch::OpClassTensorOp;
using Store = cutlass::epilogue::collective::CollectiveBuilder<
	Sm90, Cores, Block, Cluster, cutlass::epilogue::collective::EpilogueTileAuto, float, float,
	void, Row, 8, bf16, Row, 8, cutlass::epilogue::TmaWarpSpecializedCooperative>::CollectiveOp;
using Stages = cutlass::gemm::collective::StageCountAutoCarveout<
	static_cast<int>(sizeof(typename Store::SharedStorage))>;
using Loop = cutlass::gemm::collective::CollectiveBuilder<
	Sm90, Cores, bf16, Row, 8, bf16, Column, 8, float, Block, Cluster, Stages,
	cutlass::gemm::KernelTmaWarpSpecializedCooperative>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Loop, Store>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

extern "C" int klineage_launch(void *const *in, void *const *out, void *stream)
{
	int m = (int)kl_dim(M), n = (int)kl_dim(N), k = (int)kl_dim(K);
	cutlass::KernelHardwareInfo hw;
	Gemm gemm;

	hw.device_id = 0;
	hw.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(0);
	typename Gemm::Arguments args = {
		cutlass::gemm::GemmUniversalMode::kGemm, { m, n, k, 1 },
		{ (const bf16 *)in[0], typename Kernel::StrideA{k, {}, 0},
		  (const bf16 *)in[1], typename Kernel::StrideB{k, {}, 0} },
		{ { 1.0f, 0.0f }, nullptr, {}, (bf16 *)out[0],
		  typename Kernel::StrideD{n, {}, 0} },
		hw
	};

	if (gemm.can_implement(args) != cutlass::Status::kSuccess)
		return 1;
	if (Gemm::get_workspace_size(args) != 0)
		return 2;
	if (gemm.initialize(args, nullptr, (cudaStream_t)stream) != cutlass::Status::kSuccess)
		return 3;
	return gemm.run((cudaStream_t)stream) == cutlass::Status::kSuccess ? 0 : 4;
}
