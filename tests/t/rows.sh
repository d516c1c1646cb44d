# SPDX-License-Identifier: Apache-2.0
# rows.sh - kernels of rows for the tests of probes: sourced after lib.sh

# kernel <columns at a time> <value of element j of row i>: rows of whole steps
kernel () {
	cat >scale.c <<-X
	#include <math.h>
	#include <stdint.h>

	void scale(int64_t m, int64_t n, const float *x, float *y)
	{
		for (int64_t i = 0; i < m; i++, x += n, y += n)
			for (int64_t at = 0; at + $1 <= n; at += $1)
				for (int64_t j = at; j < at + $1; j++)
					y[j] = $2;
	}
	X
}
commit () { git add . && git commit -q -m "$1"; }
