/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on twice */
/* CuTe: tiles of a layout, a thread's part of a tile, what is beyond the end left out */
#include <cute/tensor.hpp>
using namespace cute;

template <class T, int N>
__global__ void twice(T const *x, T *y, int64_t n)
{
	auto shape = make_shape(n);
	Tensor gx = make_tensor(make_gmem_ptr(x), shape);
	Tensor gy = make_tensor(make_gmem_ptr(y), shape);
	Tensor tx = local_tile(gx, Shape<Int<N>>{}, make_coord(blockIdx.x));
	Tensor ty = local_tile(gy, Shape<Int<N>>{}, make_coord(blockIdx.x));
	auto id = local_tile(make_identity_tensor(shape), Shape<Int<N>>{}, make_coord(blockIdx.x));
	Layout threads = make_layout(Int<N>{});
	Tensor px = local_partition(tx, threads, threadIdx.x);
	Tensor py = local_partition(ty, threads, threadIdx.x);
	Tensor pid = local_partition(id, threads, threadIdx.x);

	for (int i = 0; i < size(px); i++)
		if (elem_less(pid(i), shape))
			py(i) = px(i) * T(2);
}

extern "C" int klineage_launch(void *const *in, void *const *out, void *stream)
{
	int64_t n = kl_dim(n);
	unsigned blocks = (unsigned)((n + 255) / 256);

	twice<float, 256><<<blocks, 256, 0, (cudaStream_t)stream>>>((const float *)in[0], (float *)out[0], n);
	return cudaGetLastError();
}
