/* SPDX-License-Identifier: Apache-2.0 */
/* server - receives the profile's requests in the GPU process and copies inputs and outputs */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "worker/gpu/timing/server_state.h"

/* -- inputs and outputs --------------------------------------------------------------------- */

static int upload_place(struct kl_gpu_timing *timing, uint32_t place)
{
	struct kl_gpu_set *set;
	int err = kl_gpu_timing_check_place(timing, place), rc;

	if (err < 0 ||
	    (err = kl_gpu_server_upload(timing->s, &timing->s->set[timing->set[place]])) < 0)
		return err;
	set = kl_gpu_timing_set(timing, place);
	for (size_t i = 0; i < set->n; i++) {
		struct kl_gpu_pristine *pristine = &timing->pristine[place];

		if (!set->layout[i].tensor || !set->layout[i].writable || set->layout[i].output ||
		    !set->layout[i].bytes)
			continue;
		if (!pristine->has[i] &&
		    (err = kl_gpu_buffer_make(&pristine->copy[i], timing->device,
					      set->layout[i].bytes, 256, false)) < 0)
			return err;
		pristine->has[i] = true;
		if ((rc = timing->cu->copy(pristine->copy[i].at, set->buffer[i].at,
					   set->layout[i].bytes, timing->device->stream)))
			return kl_gpu_error(timing->cu, rc, KL_EIO, "cannot copy on the GPU");
	}
	rc = kl_gpu_wait(timing->device, KL_GPU_OWN_MS);
	return rc ? kl_gpu_error(timing->cu, rc, KL_EIO, "cannot copy to the GPU") : 0;
}

static int fetch_place(struct kl_gpu_timing *timing, uint32_t place)
{
	int err = kl_gpu_timing_check_place(timing, place);

	return err < 0 ? err :
			 kl_gpu_server_download(timing->s, &timing->s->set[timing->set[place]]);
}

static int move_bytes(struct kl_gpu_timing *timing, uint64_t to, uint64_t from, uint64_t n)
{
	int rc = timing->cu->copy(to, from, n, timing->device->stream);

	return rc ? kl_gpu_error(timing->cu, rc, KL_EIO, "cannot copy on the GPU") : 0;
}

/* Make the spare buffer large enough for a tensor of `n` bytes. */
static int make_spare(struct kl_gpu_timing *timing, uint64_t n)
{
	if (timing->spare.bytes >= n)
		return 0;
	kl_gpu_buffer_release(&timing->spare, timing->device);
	return kl_gpu_buffer_make(&timing->spare, timing->device, n, 256, false);
}

static int exchange_buffers(struct kl_gpu_timing *timing, struct kl_gpu_buffer *left,
			    struct kl_gpu_buffer *right, uint64_t n)
{
	bool read_only = left->read_only;
	int err = make_spare(timing, n);

	if (err < 0 || (err = kl_gpu_buffer_protect(left, timing->device, false)) < 0 ||
	    (err = kl_gpu_buffer_protect(right, timing->device, false)) < 0 ||
	    (err = move_bytes(timing, timing->spare.at, left->at, n)) < 0 ||
	    (err = move_bytes(timing, left->at, right->at, n)) < 0 ||
	    (err = move_bytes(timing, right->at, timing->spare.at, n)) < 0 ||
	    (err = kl_gpu_buffer_protect(left, timing->device, read_only)) < 0)
		return err;
	return kl_gpu_buffer_protect(right, timing->device, read_only);
}

int kl_gpu_timing_exchange(struct kl_gpu_timing *timing, const uint32_t place[2])
{
	struct kl_gpu_set *left, *right;
	int err = kl_gpu_timing_check_place(timing, place[0]), rc;

	if (err < 0 || (err = kl_gpu_timing_check_place(timing, place[1])) < 0)
		return err;
	left = kl_gpu_timing_set(timing, place[0]);
	right = kl_gpu_timing_set(timing, place[1]);
	if (left->n != right->n)
		return kl_error(KL_EINVALID, "the sets to exchange have different tensors");
	for (size_t i = 0; i < left->n && err == 0 && left != right; i++) {
		struct kl_gpu_tensor_layout *layout = &left->layout[i];

		if (!layout->tensor || layout->output || !layout->bytes)
			continue;
		if (layout->bytes != right->layout[i].bytes)
			return kl_error(KL_EINVALID, "the sets to exchange have different tensors");
		err = layout->writable ?
			      exchange_buffers(timing, &timing->pristine[place[0]].copy[i],
					       &timing->pristine[place[1]].copy[i], layout->bytes) :
			      exchange_buffers(timing, &left->buffer[i], &right->buffer[i],
					       layout->bytes);
	}
	if (err == 0 && (rc = kl_gpu_wait(timing->device, KL_GPU_OWN_MS)))
		err = kl_gpu_error(timing->cu, rc, KL_EIO, "cannot copy on the GPU");
	return err;
}

/* -- receiving requests ------------------------------------------------------------------------ */

static const size_t sizes[] = {
	[KL_GPU_TIME_BEGIN - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_begin),
	[KL_GPU_TIME_BOUND - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_bound),
	[KL_GPU_TIME_VENDOR - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_vendor),
	[KL_GPU_TIME_UPLOAD - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_head),
	[KL_GPU_TIME_FETCH - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_head),
	[KL_GPU_TIME_VISIT - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_visit),
	[KL_GPU_TIME_RUN - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_run),
	[KL_GPU_TIME_BENCH - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_bench),
	[KL_GPU_TIME_LAUNCHER - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_launcher),
	[KL_GPU_TIME_EXCHANGE - KL_GPU_OP_TIME] = sizeof(struct kl_gpu_time_exchange),
};

union reply {
	struct kl_gpu_reply plain;
	struct kl_gpu_time_begun begun;
	struct kl_gpu_time_vendored vendored;
	struct kl_gpu_time_visited visited;
	struct kl_gpu_time_ran ran;
	struct kl_gpu_time_benched benched;
};

static int serve_request(struct kl_gpu_server *server, const struct kl_gpu_head *head,
			 union reply *reply, size_t *n)
{
	const void *request = head;
	struct kl_gpu_timing *timing = NULL;
	int err;

	*n = sizeof(reply->plain);
	switch (head->op) {
	case KL_GPU_TIME_BEGIN:
		*n = sizeof(reply->begun);
		break;
	case KL_GPU_TIME_VENDOR:
		*n = sizeof(reply->vendored);
		break;
	case KL_GPU_TIME_VISIT:
		*n = sizeof(reply->visited);
		break;
	case KL_GPU_TIME_RUN:
		*n = sizeof(reply->ran);
		break;
	case KL_GPU_TIME_BENCH:
		*n = sizeof(reply->benched);
		break;
	}
	if ((err = kl_gpu_timing_open(&timing, server)) < 0)
		return err;
	switch (head->op) {
	case KL_GPU_TIME_BEGIN:
		return kl_gpu_timing_begin(timing, request, &reply->begun.bytes_per_ns);
	case KL_GPU_TIME_BOUND:
		return kl_gpu_timing_add_bound(timing, request);
	case KL_GPU_TIME_VENDOR:
		return kl_gpu_timing_add_vendor(timing, request, reply->vendored.what);
	case KL_GPU_TIME_UPLOAD:
		return upload_place(timing, head->slot);
	case KL_GPU_TIME_FETCH:
		return fetch_place(timing, head->slot);
	case KL_GPU_TIME_VISIT:
		return kl_gpu_timing_visit(timing, request, &reply->visited);
	case KL_GPU_TIME_LAUNCHER:
		return kl_gpu_timing_add_launcher(timing, request);
	case KL_GPU_TIME_EXCHANGE:
		return kl_gpu_timing_exchange(timing,
					      ((const struct kl_gpu_time_exchange *)request)->set);
	case KL_GPU_TIME_RUN:
		return kl_gpu_timing_run(timing, request, &reply->ran);
	default:
		return kl_gpu_timing_bench(timing, request, &reply->benched);
	}
}

int kl_gpu_time_serve(struct kl_gpu_server *server, const struct kl_gpu_head *head, size_t n,
		      int fd)
{
	union reply reply;
	size_t size;
	int err;

	if (head->op - KL_GPU_OP_TIME >= KL_ARRAY_SIZE(sizes) ||
	    sizes[head->op - KL_GPU_OP_TIME] != n)
		return kl_error(KL_EINVALID, "unexpected operation %u of %zu bytes", head->op, n);
	memset(&reply, 0, sizeof(reply));
	err = serve_request(server, head, &reply, &size);
	reply.plain.err = err;
	if (err < 0)
		snprintf(reply.plain.message, sizeof(reply.plain.message), "%s", kl_error_last());
	kl_error_clear();
	return kl_gpu_server_reply(server, head, &reply, size);
}
