/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(const kl_real *_x, const kl_real *_y, kl_real *xcorr, int len, int max_pitch, int arch)
{
	for (int i = 0; i < max_pitch; i++) {
		xcorr[i] = 0;
		for (int j = 0; j < len; j++)
			xcorr[i] += _x[j] * _y[i + j];
	}
}
