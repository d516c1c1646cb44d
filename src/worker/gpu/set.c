/* SPDX-License-Identifier: Apache-2.0 */
/* set - allocates, uploads, downloads, poisons and checks a set of tensors on the device */
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "worker/gpu/bind.h"

/* Allocate the buffer for elements that are to be widened, large enough for any one input. */
static int make_narrow(struct kl_gpu_set *set, const struct kl_gpu_device *device)
{
	uint64_t most = 0;

	for (size_t i = 0; i < set->n; i++)
		if (set->layout[i].from && set->layout[i].upload > most)
			most = set->layout[i].upload;
	return most ? kl_gpu_buffer_make(&set->narrow, device, most, 256, false) : 0;
}

int kl_gpu_set_make(struct kl_gpu_set **out, const struct kl_gpu_device *device,
		    const struct kl_gpu_tensor_layout *layout, size_t n, bool right)
{
	struct kl_gpu_set *set = kl_calloc(1, sizeof(*set));
	int err = 0;

	set->n = n;
	set->right = right;
	memcpy(set->layout, layout, n * sizeof(*layout));
	for (size_t i = 0; i < n && err == 0; i++)
		if (layout[i].tensor)
			err = kl_gpu_buffer_make(&set->buffer[i], device, layout[i].bytes, 256,
						 right);
	if (err == 0)
		err = make_narrow(set, device);
	if (err == 0)
		err = kl_gpu_set_slack(set, device, kl_rng_os_seed());
	if (err < 0) {
		kl_gpu_set_free(set, device);
		return err;
	}
	*out = set;
	return 0;
}

void kl_gpu_set_free(struct kl_gpu_set *set, const struct kl_gpu_device *device)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n; i++)
		if (set->layout[i].tensor)
			kl_gpu_buffer_release(&set->buffer[i], device);
	kl_gpu_buffer_release(&set->narrow, device);
	free(set);
}

int kl_gpu_set_slack(struct kl_gpu_set *set, const struct kl_gpu_device *device, uint64_t seed)
{
	int err = 0;

	set->slack_seed = seed;
	for (size_t i = 0; i < set->n && err == 0; i++) {
		if (!set->layout[i].tensor)
			continue;
		if ((err = kl_gpu_buffer_protect(&set->buffer[i], device, false)) == 0 &&
		    (err = kl_gpu_buffer_poison_slack(&set->buffer[i], device,
						      kl_rng_split(seed, i))) == 0)
			err = kl_gpu_buffer_protect(&set->buffer[i], device,
						    !set->layout[i].writable);
	}
	return err;
}

int kl_gpu_set_upload(struct kl_gpu_set *set, const struct kl_gpu_device *device, size_t i,
		      const void *from)
{
	const struct kl_gpu_tensor_layout *layout = &set->layout[i];
	int rc, err;

	if (!layout->bytes)
		return 0;
	if ((err = kl_gpu_buffer_protect(&set->buffer[i], device, false)) < 0)
		return err;
	rc = device->cu->to_device(layout->from ? set->narrow.at : set->buffer[i].at, from,
				   layout->from ? layout->upload : layout->bytes, device->stream);
	if (rc)
		return kl_gpu_error(device->cu, rc, KL_EIO, "cannot copy to the GPU");
	if (layout->from && (err = kl_gpu_widen(device, set->buffer[i].at, set->narrow.at,
						layout->bytes / layout->real, layout->real,
						(enum kl_gpu_from)layout->from)) < 0)
		return err;
	return kl_gpu_buffer_protect(&set->buffer[i], device, !set->layout[i].writable);
}

int kl_gpu_set_download(const struct kl_gpu_set *set, const struct kl_gpu_device *device, size_t i,
			void *to)
{
	int rc = 0;

	if (set->layout[i].bytes)
		rc = device->cu->to_host(to, set->buffer[i].at, set->layout[i].bytes,
					 device->stream);
	if (!rc)
		rc = device->cu->stream_sync(device->stream);
	return rc ? kl_gpu_error(device->cu, rc, KL_EIO, "cannot copy from the GPU") : 0;
}

struct kl_gpu_pattern kl_gpu_set_pattern(const struct kl_gpu_tensor_layout *layout, size_t i,
					 uint64_t seed)
{
	bool like = seed & 1;

	return (struct kl_gpu_pattern){
		.seed = kl_rng_split(seed, 1000 + i),
		.keep = like ? layout->keep_like : layout->keep,
		.set = like ? layout->set_like : layout->set,
	};
}

int kl_gpu_set_poison(const struct kl_gpu_set *set, const struct kl_gpu_device *device,
		      uint64_t seed)
{
	int err = 0;

	for (size_t i = 0; i < set->n && err == 0; i++) {
		struct kl_gpu_pattern pattern = kl_gpu_set_pattern(&set->layout[i], i, seed);

		if (set->layout[i].tensor && set->layout[i].output && !set->layout[i].zeros)
			err = kl_gpu_fill(device, set->buffer[i].at, set->layout[i].bytes, 0,
					  &pattern);
	}
	return err;
}

int kl_gpu_set_zero(const struct kl_gpu_set *set, const struct kl_gpu_device *device)
{
	static const struct kl_gpu_pattern zero;
	int err = 0;

	for (size_t i = 0; i < set->n && err == 0; i++)
		if (set->layout[i].tensor && set->layout[i].zeros)
			err = kl_gpu_fill(device, set->buffer[i].at, set->layout[i].bytes, 0,
					  &zero);
	return err;
}

int kl_gpu_set_check(const struct kl_gpu_set *set, const struct kl_gpu_device *device,
		     size_t *tensor, int64_t *where)
{
	int err = 0;

	for (size_t i = 0; i < set->n && err == 0; i++) {
		if (!set->layout[i].tensor || !set->layout[i].writable)
			continue;
		err = kl_gpu_buffer_check_slack(&set->buffer[i], device,
						kl_rng_split(set->slack_seed, i), where);
		*tensor = i;
	}
	return err;
}
