/* SPDX-License-Identifier: Apache-2.0 */
/* server - requests of the profile in the GPU process: inputs, outputs, dispatch */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "worker/gpu/timing/server_state.h"

/* -- inputs and outputs --------------------------------------------------------------------- */

static int upload_place(struct kl_gpu_timing *t, uint32_t place)
{
	struct kl_gpu_set *set;
	int err = kl_gpu_timing_check_place(t, place), rc;

	if (err < 0 || (err = kl_gpu_serve_upload(t->s, &t->s->set[t->set[place]])) < 0)
		return err;
	set = kl_gpu_timing_set(t, place);
	for (size_t i = 0; i < set->n; i++) {
		struct kl_gpu_pristine *p = &t->pristine[place];

		if (!set->layout[i].tensor || !set->layout[i].writable || set->layout[i].output ||
		    !set->layout[i].bytes)
			continue;
		if (!p->has[i] && (err = kl_gpu_buffer_make(&p->copy[i], t->device,
							    set->layout[i].bytes, 256, false)) < 0)
			return err;
		p->has[i] = true;
		if ((rc = t->cu->copy(p->copy[i].at, set->buffer[i].at, set->layout[i].bytes,
				      t->device->stream)))
			return kl_gpu_error(t->cu, rc, KL_EIO, "cannot copy on the GPU");
	}
	rc = kl_gpu_wait(t->device, KL_GPU_OWN_MS);
	return rc ? kl_gpu_error(t->cu, rc, KL_EIO, "cannot copy to the GPU") : 0;
}

static int fetch_place(struct kl_gpu_timing *t, uint32_t place)
{
	int err = kl_gpu_timing_check_place(t, place);

	return err < 0 ? err : kl_gpu_serve_download(t->s, &t->s->set[t->set[place]]);
}

/* -- the door ---------------------------------------------------------------------------------- */

static const size_t sizes[] = {
	[KL_GPU_TIME_BEGIN - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_begin),
	[KL_GPU_TIME_BOUND - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_bound),
	[KL_GPU_TIME_VENDOR - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_vendor),
	[KL_GPU_TIME_UPLOAD - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_head),
	[KL_GPU_TIME_FETCH - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_head),
	[KL_GPU_TIME_VISIT - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_visit),
	[KL_GPU_TIME_SLOPE - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_slope),
	[KL_GPU_TIME_BENCH - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_bench),
	[KL_GPU_TIME_LAUNCHER - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_launcher),
};

union reply {
	struct kl_gpu_reply plain;
	struct kl_gpu_time_begun begun;
	struct kl_gpu_time_vendored vendored;
	struct kl_gpu_time_visited visited;
	struct kl_gpu_time_sloped sloped;
	struct kl_gpu_time_benched benched;
};

static int serve_request(struct kl_gpu_serve *s, const struct kl_gpu_head *h, union reply *r,
			 size_t *n)
{
	const void *q = h;
	struct kl_gpu_timing *t = NULL;
	int err;

	*n = sizeof(r->plain);
	switch (h->op) {
	case KL_GPU_TIME_BEGIN:
		*n = sizeof(r->begun);
		break;
	case KL_GPU_TIME_VENDOR:
		*n = sizeof(r->vendored);
		break;
	case KL_GPU_TIME_VISIT:
		*n = sizeof(r->visited);
		break;
	case KL_GPU_TIME_SLOPE:
		*n = sizeof(r->sloped);
		break;
	case KL_GPU_TIME_BENCH:
		*n = sizeof(r->benched);
		break;
	}
	if ((err = kl_gpu_timing_open(&t, s)) < 0)
		return err;
	switch (h->op) {
	case KL_GPU_TIME_BEGIN:
		return kl_gpu_timing_begin(t, q, &r->begun.bytes_per_ns);
	case KL_GPU_TIME_BOUND:
		return kl_gpu_timing_add_bound(t, q);
	case KL_GPU_TIME_VENDOR:
		return kl_gpu_timing_add_vendor(t, q, r->vendored.what);
	case KL_GPU_TIME_UPLOAD:
		return upload_place(t, h->slot);
	case KL_GPU_TIME_FETCH:
		return fetch_place(t, h->slot);
	case KL_GPU_TIME_VISIT:
		return kl_gpu_timing_visit(t, q, &r->visited);
	case KL_GPU_TIME_LAUNCHER:
		return kl_gpu_timing_add_launcher(t, q);
	case KL_GPU_TIME_SLOPE:
		return kl_gpu_timing_slope(t, q, &r->sloped);
	default:
		return kl_gpu_timing_bench(t, q, &r->benched);
	}
}

int kl_gpu_time_serve(struct kl_gpu_serve *s, const struct kl_gpu_head *h, size_t n, int fd)
{
	union reply r;
	size_t size;
	int err;

	if (h->op - KL_GPU_OP_TIME >= KL_ARRAY_SIZE(sizes) || sizes[h->op - KL_GPU_OP_TIME] != n)
		return kl_error(KL_EINVALID, "operation %u of %zu bytes", h->op, n);
	memset(&r, 0, sizeof(r));
	err = serve_request(s, h, &r, &size);
	r.plain.err = err;
	if (err < 0)
		snprintf(r.plain.message, sizeof(r.plain.message), "%s", kl_error_last());
	kl_error_clear();
	return kl_gpu_serve_reply(s, h, &r, size);
}
