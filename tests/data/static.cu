/* SPDX-License-Identifier: Apache-2.0 */
/* Names that nvcc makes of the path of their source, for tests of builds in other directories. */
static __device__ const float kept_table[4] = { 1, 2, 3, 4 };

static __device__ __noinline__ float kept(int i)
{
	return kept_table[i & 3];
}
