/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on twice */
/* a tensor map built on the host, through the driver's own function */
#include <cuda.h>
#include <cudaTypedefs.h>

#define BOX 256

__global__ void twice(const __grid_constant__ CUtensorMap map, float *y)
{
	__shared__ alignas(128) float tile[BOX];
	__shared__ alignas(8) unsigned long long bar;
	unsigned at = (unsigned)__cvta_generic_to_shared(tile), b = (unsigned)__cvta_generic_to_shared(&bar);
	int x = blockIdx.x * BOX;

	if (!threadIdx.x) {
		asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(b));
		asm volatile("fence.proxy.async.shared::cta;");
		asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(b), "n"(BOX * 4));
		asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
			     "[%0], [%1, {%2}], [%3];" :: "r"(at), "l"(&map), "r"(x), "r"(b) : "memory");
	}
	__syncthreads();
	asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }"
		     :: "r"(b) : "memory");
	y[x + threadIdx.x] = tile[threadIdx.x] * 2;
}

int klineage_launch(void *const *in, void *const *out, void *stream)
{
	static PFN_cuTensorMapEncodeTiled_v12000 encode;
	cudaDriverEntryPointQueryResult found;
	cuuint64_t dims[1] = { (cuuint64_t)kl_dim(n) }, strides[1] = { (cuuint64_t)kl_dim(n) * 4 };
	cuuint32_t box[1] = { BOX }, step[1] = { 1 };
	CUtensorMap map;
	void *f = NULL;

	if (!encode) {
		if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault,
						     &found) || !f)
			return 1;
		encode = (PFN_cuTensorMapEncodeTiled_v12000)f;
	}
	if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, in[0], dims, strides, box, step,
		   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
		   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
		return 2;
	twice<<<(unsigned)(kl_dim(n) / BOX), BOX, 0, (cudaStream_t)stream>>>(map, (float *)out[0]);
	return (int)cudaGetLastError();
}
