/* SPDX-License-Identifier: Apache-2.0 */
/* module - loads a cubin into the driver, and loads it anew */
#include <string.h>

#include "base/error.h"
#include "worker/gpu/bind.h"

static int load_module(struct kl_gpu_module *m, const struct kl_gpu_device *d)
{
	int rc = d->cu->module_load(&m->handle, m->image);

	m->generation++;
	if (!rc)
		return 0;
	m->handle = NULL;
	if (rc == KL_CU_NO_BINARY)
		return kl_gpu_error(d->cu, rc, KL_ECANNOT,
				    "the cubin is not for %s, whose compute capability is %d.%d",
				    d->facts.name, d->facts.cc / 10, d->facts.cc % 10);
	return kl_gpu_error(d->cu, rc, rc == KL_CU_OUT_OF_MEMORY ? KL_EIO : KL_EINVALID,
			    "the driver cannot load the cubin");
}

int kl_gpu_module_load(struct kl_gpu_module **out, const struct kl_gpu_device *d, const void *image,
		       size_t n)
{
	struct kl_gpu_module *m = kl_calloc(1, sizeof(*m));
	int err;

	m->nimage = n;
	m->image = kl_calloc(n + 1, 1); /* text ends in a zero byte */
	memcpy(m->image, image, n);
	err = load_module(m, d);
	if (err < 0) {
		kl_gpu_module_free(m, d);
		return err;
	}
	*out = m;
	return 0;
}

int kl_gpu_module_reload(struct kl_gpu_module *m, const struct kl_gpu_device *d)
{
	int rc = d->cu->stream_sync(d->stream);

	if (!rc && m->handle)
		rc = d->cu->module_unload(m->handle);
	m->handle = NULL;
	return rc ? kl_gpu_error(d->cu, rc, KL_EIO, "cannot unload the cubin") : load_module(m, d);
}

void kl_gpu_module_free(struct kl_gpu_module *m, const struct kl_gpu_device *d)
{
	if (!m)
		return;
	if (m->handle)
		d->cu->module_unload(m->handle);
	free(m->image);
	free(m);
}
