/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail compile */
/* on axpy, decided here */
/* What a diagnostic might show. */
#include "/etc/hostname"

extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
}
