/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/cuda/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "text/digest.h"

/* Append the model of a GPU, which the driver gives as "Model: \t\t NVIDIA H100 80GB HBM3". */
static void add_model(struct kl_buf *buf, const char *gpu)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("/proc/driver/nvidia/gpus/%s/information", gpu);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *model;

	if (kl_fs_read(&text, path, 1 << 16) < 0)
		return;
	model = strstr(text.ptr, "Model:");
	if (model) {
		model += 6 + strspn(model + 6, " \t");
		kl_buf_addf(buf, "%.*s;", (int)strcspn(model, "\n"), model);
	}
}

static void list_devices(char *out, size_t size)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec gpus = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT, version = KL_BUF_INIT;
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	char hex[KL_DIGEST_HEX];

	if (kl_fs_list(&gpus, "/proc/driver/nvidia/gpus") == 0)
		for (size_t i = 0; i < gpus.n; i++)
			add_model(&buf, gpus.v[i]);
	if (kl_fs_read(&version, "/proc/driver/nvidia/version", 1 << 16) == 0)
		kl_buf_adds(&buf, version.ptr);
	kl_error_clear();
	kl_buf_adds(&buf, visible ? visible : "");
	kl_digest_hex(hex, buf.ptr, buf.len);
	snprintf(out, size, "%s", buf.len ? hex : "");
}

static bool is_shown(void)
{
	/* /dev/dxg is the device of WSL on Windows */
	static const char *const shown[] = { "/proc/driver/nvidia/version", "/dev/nvidiactl",
					     "/dev/dxg" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(shown); i++)
		if (kl_fs_exists(shown[i]))
			return true;
	return false;
}

static const char *const environment[] = { "CUDA_VISIBLE_DEVICES",
					   "CUDA_DEVICE_ORDER",
					   "LD_LIBRARY_PATH",
					   "NVIDIA_VISIBLE_DEVICES",
					   "NVIDIA_DRIVER_CAPABILITIES",
					   "KLINEAGE_CUDA_LIBRARIES",
					   NULL };

const struct kl_backend_device kl_cuda_device = {
	.name = "GPU",
	.is_shown = is_shown,
	.list = list_devices,
	.environment = environment,
};
