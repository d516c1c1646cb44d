/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(int32_t *c, int64_t stride)
{
	int32_t a = c[0], b = c[stride], d = c[2 * stride], e = c[3 * stride];
	int32_t sum = a + b, difference = d - e, middle = (sum - difference) >> 1;

	c[0] = sum - (middle - e);
	c[stride] = middle - e;
	c[2 * stride] = middle - b;
	c[3 * stride] = difference + middle - b;
}
