/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on axpy, decided here */
/* Memory of the device's own heap, which outlives the call. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	float *room;

	if (i >= n)
		return;
	room = (float *)malloc(sizeof(*room));
	if (!room)
		return;
	*room = 2 * x[i];
	z[i] = *room + y[i];
	free(room);
}
