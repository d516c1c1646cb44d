/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(const int32_t *in, uint32_t *out, uint64_t N)
{
	for (uint64_t i = 0; i < N; i++)
		out[i] = in[i] < 0 ? 2 * (uint32_t)(-1 - in[i]) + 1 : 2 * (uint32_t)in[i];
}
