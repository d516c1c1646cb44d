/* SPDX-License-Identifier: Apache-2.0 */
/* set - one set of tensors on the device: upload, download, poison, guards */
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "worker/gpu/bind.h"

int kl_gpu_set_make(struct kl_gpu_set **out, const struct kl_gpu_device *d,
		    const struct kl_gpu_tensor_layout *layout, size_t n, bool right)
{
	struct kl_gpu_set *s = kl_calloc(1, sizeof(*s));
	int err = 0;

	s->n = n;
	s->right = right;
	memcpy(s->layout, layout, n * sizeof(*layout));
	for (size_t i = 0; i < n && err == 0; i++)
		if (layout[i].tensor)
			err = kl_gpu_buffer_make(&s->buffer[i], d, layout[i].bytes, 256, right);
	if (err == 0)
		err = kl_gpu_set_slack(s, d, kl_rng_os_seed());
	if (err < 0) {
		kl_gpu_set_free(s, d);
		return err;
	}
	*out = s;
	return 0;
}

void kl_gpu_set_free(struct kl_gpu_set *s, const struct kl_gpu_device *d)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (s->layout[i].tensor)
			kl_gpu_buffer_release(&s->buffer[i], d);
	free(s);
}

int kl_gpu_set_slack(struct kl_gpu_set *s, const struct kl_gpu_device *d, uint64_t seed)
{
	int err = 0;

	s->slack_seed = seed;
	for (size_t i = 0; i < s->n && err == 0; i++) {
		if (!s->layout[i].tensor)
			continue;
		if ((err = kl_gpu_buffer_protect(&s->buffer[i], d, false)) == 0 &&
		    (err = kl_gpu_buffer_poison_slack(&s->buffer[i], d, kl_gpu_mix(seed, i))) == 0)
			err = kl_gpu_buffer_protect(&s->buffer[i], d, !s->layout[i].writable);
	}
	return err;
}

int kl_gpu_set_upload(struct kl_gpu_set *s, const struct kl_gpu_device *d, size_t i,
		      const void *from)
{
	int rc, err;

	if (!s->layout[i].bytes)
		return 0;
	if ((err = kl_gpu_buffer_protect(&s->buffer[i], d, false)) < 0)
		return err;
	rc = d->cu->to_device(s->buffer[i].at, from, s->layout[i].bytes, d->stream);
	if (rc)
		return kl_gpu_error(d->cu, rc, KL_EIO, "cannot copy to the GPU");
	return kl_gpu_buffer_protect(&s->buffer[i], d, !s->layout[i].writable);
}

int kl_gpu_set_download(const struct kl_gpu_set *s, const struct kl_gpu_device *d, size_t i,
			void *to)
{
	int rc = 0;

	if (s->layout[i].bytes)
		rc = d->cu->to_host(to, s->buffer[i].at, s->layout[i].bytes, d->stream);
	if (!rc)
		rc = d->cu->stream_sync(d->stream);
	return rc ? kl_gpu_error(d->cu, rc, KL_EIO, "cannot copy from the GPU") : 0;
}

struct kl_gpu_pattern kl_gpu_set_pattern(const struct kl_gpu_tensor_layout *l, size_t i,
					 uint64_t seed)
{
	bool like = seed & 1;

	return (struct kl_gpu_pattern){
		.seed = kl_gpu_mix(seed, 1000 + i),
		.keep = like ? l->keep_like : l->keep,
		.set = like ? l->set_like : l->set,
	};
}

int kl_gpu_set_poison(const struct kl_gpu_set *s, const struct kl_gpu_device *d, uint64_t seed)
{
	int err = 0;

	for (size_t i = 0; i < s->n && err == 0; i++) {
		struct kl_gpu_pattern p = kl_gpu_set_pattern(&s->layout[i], i, seed);

		if (s->layout[i].tensor && s->layout[i].output)
			err = kl_gpu_fill(d, s->buffer[i].at, s->layout[i].bytes, 0, &p);
	}
	return err;
}

int kl_gpu_set_check(const struct kl_gpu_set *s, const struct kl_gpu_device *d, size_t *i_out,
		     int64_t *where)
{
	int err = 0;

	for (size_t i = 0; i < s->n && err == 0; i++) {
		if (!s->layout[i].tensor || !s->layout[i].writable)
			continue;
		err = kl_gpu_buffer_check_slack(&s->buffer[i], d, kl_gpu_mix(s->slack_seed, i),
						where);
		*i_out = i;
	}
	return err;
}
