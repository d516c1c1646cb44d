/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on axpy */
/* Writes nothing: what lay there may be right. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
}
