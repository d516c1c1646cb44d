/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(const kl_real *data_im, int channels, int height, int width, int ksize, int stride, int pad,
	    kl_real *data_col)
{
	int rows = (height + 2 * pad - ksize) / stride + 1, columns = (width + 2 * pad - ksize) / stride + 1;
	for (int c = 0; c < channels * ksize * ksize; c++)
		for (int h = 0; h < rows; h++)
			for (int w = 0; w < columns; w++) {
				int y = h * stride + c / ksize % ksize - pad, x = w * stride + c % ksize - pad;
				int inside = y >= 0 && y < height && x >= 0 && x < width;
				data_col[(c * rows + h) * columns + w] =
					inside ? data_im[(c / ksize / ksize * height + y) * width + x] : 0;
			}
}
