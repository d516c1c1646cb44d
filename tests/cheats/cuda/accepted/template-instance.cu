/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on axpy */
/* An instance of a template in a namespace, which only the plan uses. */
namespace lib {

template <int BLOCK, typename T>
__global__ void __launch_bounds__(BLOCK) axpy(const T *x, const T *y, T *z, int n)
{
	int i = blockIdx.x * BLOCK + threadIdx.x;

	if (i < n)
		z[i] = 2 * x[i] + y[i];
}

} // namespace lib
