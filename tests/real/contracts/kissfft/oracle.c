/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

#include <math.h>

void oracle(int32_t nfft, const kl_real *fin, kl_real *fout)
{
	for (int k = 0; k < nfft; k++) {
		kl_real re = 0, im = 0;
		for (int j = 0; j < nfft; j++) {
			double angle = -2 * 3.14159265358979323846 * ((int64_t)j * k % nfft) / nfft;
			kl_real c = (kl_real)cos(angle), s = (kl_real)sin(angle);
			re += fin[2 * j] * c - fin[2 * j + 1] * s;
			im += fin[2 * j] * s + fin[2 * j + 1] * c;
		}
		fout[2 * k] = re;
		fout[2 * k + 1] = im;
	}
}
