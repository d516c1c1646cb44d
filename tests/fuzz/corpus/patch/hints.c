#define KC 256
static __attribute__((always_inline, hot)) void f(float *restrict a, const float *__restrict__ b)
{
#pragma GCC unroll 4
	for (int i = 0; i < KC; i++)
		if (__builtin_expect(a[i] > 0, 1))
			_mm256_stream_ps(a, _mm256_fmadd_ps(_mm256_load_ps(b), x, y));
}
