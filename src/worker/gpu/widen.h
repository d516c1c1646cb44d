/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_WIDEN_H
#define KL_WORKER_GPU_WIDEN_H

/*
 * widen - converts f16, bf16 and f32 elements to float, exactly.
 *
 * The GPU (ptx.cu) and C use the same code, so that a test without a GPU can compare it with
 * job/tensor.h.
 */
#ifdef __CUDACC__
#define KL_WIDEN static __device__ __forceinline__
#else
#define KL_WIDEN static inline
#endif

/* The type from which elements are widened; 0 if they are not widened. */
enum kl_gpu_from { KL_GPU_FROM_F16 = 1, KL_GPU_FROM_BF16, KL_GPU_FROM_F32 };

KL_WIDEN unsigned kl_widen_bytes(unsigned from)
{
	return from == KL_GPU_FROM_F32 ? 4 : 2;
}

KL_WIDEN float kl_widen_bits(unsigned bits)
{
	union {
		unsigned bits;
		float value;
	} as;

	as.bits = bits;
	return as.value;
}

KL_WIDEN float kl_widen_bf16(unsigned short half)
{
	return kl_widen_bits((unsigned)half << 16);
}

KL_WIDEN float kl_widen_f16(unsigned short half)
{
	unsigned sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31, fraction = half & 1023;

	if (exponent == 31)
		return kl_widen_bits(sign | 0x7f800000u | fraction << 13);
	if (exponent)
		return kl_widen_bits(sign | (exponent + 112) << 23 | fraction << 13);
	/* a subnormal number is a multiple of 2^-24, which a float represents exactly */
	return kl_widen_bits(sign | 0x3f800000u) * (float)fraction * 5.9604644775390625e-8f;
}

/* Return element i of the array at `from`, whose elements have type `kind` (enum kl_gpu_from). */
KL_WIDEN float kl_widen_one(const void *from, unsigned kind, unsigned long long i)
{
	switch (kind) {
	case KL_GPU_FROM_F16:
		return kl_widen_f16(((const unsigned short *)from)[i]);
	case KL_GPU_FROM_BF16:
		return kl_widen_bf16(((const unsigned short *)from)[i]);
	default:
		return ((const float *)from)[i];
	}
}

#endif
