/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#if KL_TIMED
#include "kiss_fft.h"

struct work {
	kiss_fft_cfg plan;
};

void adapter_prepare(void *workspace, int32_t nfft)
{
	struct work *work = workspace;

	work->plan = kiss_fft_alloc(nfft, 0, 0, 0);
}

void adapter_call(void *workspace, int32_t nfft, const float *fin, float *fout)
{
	struct work *work = workspace;

	kiss_fft(work->plan, (const kiss_fft_cpx *)fin, (kiss_fft_cpx *)fout);
}
#endif
