/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

/*
 * The text has n lines "<name>: <value>", with names of 1 + sizes[i][0] letters and values of
 * sizes[i][1]. Return its length; found has the place and length of each name and value.
 */
int oracle(int32_t n, const uint8_t *sizes, int32_t *found)
{
	int32_t at = 0;

	for (int i = 0; i < n; i++) {
		found[4 * i] = at;
		found[4 * i + 1] = 1 + sizes[2 * i];
		found[4 * i + 2] = at + 1 + sizes[2 * i] + 2;
		found[4 * i + 3] = sizes[2 * i + 1];
		at = found[4 * i + 2] + found[4 * i + 3] + 2;
	}
	return at + 2;
}
