/* SPDX-License-Identifier: Apache-2.0 */
/* module - loads and reloads a cubin */
#include <string.h>

#include "base/error.h"
#include "worker/gpu/bind.h"

static int load_module(struct kl_gpu_module *module, const struct kl_gpu_device *device)
{
	int rc = device->cu->module_load(&module->handle, module->image);

	module->generation++;
	if (!rc)
		return 0;
	module->handle = NULL;
	if (rc == KL_CU_NO_BINARY)
		return kl_gpu_error(
			device->cu, rc, KL_ECANNOT,
			"the cubin was not compiled for %s, whose compute capability is %d.%d",
			device->facts.name, device->facts.cc / 10, device->facts.cc % 10);
	return kl_gpu_error(device->cu, rc, rc == KL_CU_OUT_OF_MEMORY ? KL_EIO : KL_EINVALID,
			    "the driver cannot load the cubin");
}

int kl_gpu_module_load(struct kl_gpu_module **out, const struct kl_gpu_device *device,
		       const void *image, size_t n)
{
	struct kl_gpu_module *module = kl_calloc(1, sizeof(*module));
	int err;

	module->nimage = n;
	module->image = kl_calloc(n + 1, 1); /* PTX text needs a terminating zero byte */
	memcpy(module->image, image, n);
	err = load_module(module, device);
	if (err < 0) {
		kl_gpu_module_free(module, device);
		return err;
	}
	*out = module;
	return 0;
}

int kl_gpu_module_reload(struct kl_gpu_module *module, const struct kl_gpu_device *device)
{
	int rc = device->cu->stream_sync(device->stream);

	if (!rc && module->handle)
		rc = device->cu->module_unload(module->handle);
	module->handle = NULL;
	return rc ? kl_gpu_error(device->cu, rc, KL_EIO, "cannot unload the cubin") :
		    load_module(module, device);
}

void kl_gpu_module_free(struct kl_gpu_module *module, const struct kl_gpu_device *device)
{
	if (!module)
		return;
	if (module->handle)
		device->cu->module_unload(module->handle);
	free(module->image);
	free(module);
}
