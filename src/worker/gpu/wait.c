/* SPDX-License-Identifier: Apache-2.0 */
/* wait - waits for a stream, classifies CUDA results */
#include <unistd.h>

#include "base/clock.h"
#include "worker/gpu/bind.h"

int kl_gpu_wait(const struct kl_gpu_device *device, int64_t limit_ms)
{
	int64_t start = kl_clock_ns(), end = start + limit_ms * 1000000, now;
	int rc;

	while ((rc = device->cu->stream_query(device->stream)) == KL_CU_NOT_READY) {
		now = kl_clock_ns();
		if (now >= end)
			return rc;
		/* do not sleep while a short kernel can still be running */
		if (now - start > 2000000)
			usleep(50);
	}
	return rc;
}

bool kl_gpu_is_fault(int rc)
{
	switch (rc) {
	case KL_CU_ILLEGAL_ADDRESS:
	case KL_CU_LAUNCH_TIMEOUT:
	case KL_CU_ASSERT:
	case KL_CU_STACK_ERROR:
	case KL_CU_ILLEGAL_INSTRUCTION:
	case KL_CU_MISALIGNED:
	case KL_CU_ADDRESS_SPACE:
	case KL_CU_INVALID_PC:
	case KL_CU_LAUNCH_FAILED:
		return true;
	default:
		return false;
	}
}

bool kl_gpu_is_refusal(int rc)
{
	switch (rc) {
	case KL_CU_INVALID_VALUE:
	case KL_CU_OUT_OF_MEMORY:
	case KL_CU_LAUNCH_RESOURCES:
	case KL_CU_COOPERATIVE_TOO_LARGE:
	case KL_CU_INVALID_CLUSTER:
	case KL_CU_NOT_SUPPORTED:
	case KL_CU_INVALID_IMAGE:
		return true;
	default:
		return false;
	}
}
