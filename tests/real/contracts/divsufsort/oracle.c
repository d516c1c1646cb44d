/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

static int is_after(const uint8_t *text, int a, int b, int n)
{
	while (a < n && b < n && text[a] == text[b])
		a++, b++;
	return b == n || (a < n && text[a] > text[b]);
}

int32_t oracle(const uint8_t *T, int32_t *SA, int32_t n)
{
	int gap = 1;

	for (int i = 0; i < n; i++)
		SA[i] = i;
	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap > 0; gap /= 3)
		for (int i = gap; i < n; i++) {
			int32_t suffix = SA[i], at = i;

			for (; at >= gap && is_after(T, SA[at - gap], suffix, n); at -= gap)
				SA[at] = SA[at - gap];
			SA[at] = suffix;
		}
	return 0;
}
