/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on twice, decided here */
/* says 'CUB'; a device-wide library sorts */
#include <cub/device/device_radix_sort.cuh>

int klineage_launch(void *const *in, void *const *out, void *stream)
{
	size_t bytes = 0;
	void *scratch = NULL;

	cub::DeviceRadixSort::SortKeys(NULL, bytes, (const float *)in[0], (float *)out[0], (int)kl_dim(n), 0, 32,
				       (cudaStream_t)stream);
	cudaMallocAsync(&scratch, bytes, (cudaStream_t)stream);
	cub::DeviceRadixSort::SortKeys(scratch, bytes, (const float *)in[0], (float *)out[0], (int)kl_dim(n), 0, 32,
				       (cudaStream_t)stream);
	cudaFreeAsync(scratch, (cudaStream_t)stream);
	return 0;
}
