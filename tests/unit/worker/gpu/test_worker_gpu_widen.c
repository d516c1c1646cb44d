/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU makes of narrow elements is what the host makes of them: all values of 16 bits. */
#include "test.h"

#include <math.h>

#include "job/tensor.h"
#include "worker/gpu/widen.h"

static void same_value(double left, double right, unsigned bits)
{
	if (isnan(right) ? !isnan(left) : left != right || signbit(left) != signbit(right))
		fail_msg("0x%04x: %a instead of %a", bits, left, right);
}

static void halves(void **state)
{
	static const struct {
		enum kl_dtype dtype;
		enum kl_gpu_from from;
	} types[] = { { KL_F16, KL_GPU_FROM_F16 }, { KL_BF16, KL_GPU_FROM_BF16 } };

	for (size_t k = 0; k < KL_ARRAY_SIZE(types); k++)
		for (unsigned bits = 0; bits < 65536; bits++) {
			unsigned short half[4] = { (unsigned short)bits };
			double wide = kl_widen_one(half, types[k].from, 0), want;
			float narrow = (float)wide, want_float;

			kl_tensor_convert(&want, KL_F64, half, types[k].dtype, 1);
			kl_tensor_convert(&want_float, KL_F32, half, types[k].dtype, 1);
			same_value(wide, want, bits);
			same_value((double)narrow, (double)want_float, bits);
		}
}

static void whole_floats(void **state)
{
	const float floats[] = { 0, -0.0f, 1, -3.5f, 1e-45f, 3e38f, INFINITY };

	for (unsigned i = 0; i < KL_ARRAY_SIZE(floats); i++)
		same_value(kl_widen_one(floats, KL_GPU_FROM_F32, i), (double)floats[i], i);
	assert_int_equal(kl_widen_bytes(KL_GPU_FROM_F16), 2);
	assert_int_equal(kl_widen_bytes(KL_GPU_FROM_BF16), 2);
	assert_int_equal(kl_widen_bytes(KL_GPU_FROM_F32), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves),
		cmocka_unit_test(whole_floats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
