/* SPDX-License-Identifier: Apache-2.0 */
/* server_host - loads and calls host code in the GPU process */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "worker/gpu/launcher.h"
#include "worker/gpu/server.h"
#include "worker/gpu/wall.h"

/* Longer than asking an idle device takes. */
#define LATE_NS 500000

static void take_error(struct kl_gpu_reply *r, int err)
{
	r->err = err;
	if (err < 0)
		snprintf(r->message, sizeof(r->message), "%s", kl_error_last());
	kl_error_clear();
}

int kl_gpu_serve_launcher(struct kl_gpu_serve *s, const void *request, int fd)
{
	const struct kl_gpu_put_launcher *q = request;
	struct kl_gpu_launcher_ready out = { 0 };
	void *image = NULL;
	int err = 0;

	if ((s->closed & KL_GPU_CLOSED_WALL) != KL_GPU_CLOSED_WALL)
		err = kl_error(KL_EINVALID, "host code in a process that has no wall");
	else if (s->launcher || q->bytes > KL_GPU_MAX_CUBIN)
		err = kl_error(KL_EINVALID, "host code that is too large, or a second piece of it");
	if (err == 0 && (err = kl_gpu_serve_map(&image, fd, q->bytes, false)) == 0) {
		err = kl_gpu_launcher_open(&s->launcher, s->device, image, q->bytes, q->trace);
		munmap(image, q->bytes);
	}
	if (err == 0) {
		out.closed = s->closed |= s->launcher->closed;
		out.traced = s->launcher->trace != NULL;
		memcpy(out.why, s->launcher->why, sizeof(out.why));
	}
	take_error(&out.r, err);
	return kl_gpu_serve_reply(s, request, &out, sizeof(out));
}

static int before_call(struct kl_gpu_serve *s, const struct kl_gpu_do_launch *q,
		       struct kl_gpu_serve_set *set)
{
	int err = 0, rc;

	if (q->flags & KL_GPU_CALL_RELOAD)
		kl_gpu_launcher_restore(s->launcher);
	if (q->flags & KL_GPU_CALL_UPLOAD)
		err = kl_gpu_serve_upload(s, set);
	if (err < 0 || (err = kl_gpu_set_poison(set->set, s->device, q->seed)) < 0 ||
	    (q->flags & KL_GPU_CALL_SCRUB && (err = kl_gpu_scrub(s->device)) < 0))
		return err;
	rc = s->cu->ctx_sync();
	return rc ? kl_gpu_error(s->cu, rc, KL_EIO, "the GPU fails before the call") : 0;
}

/* Waiting for the device is spinning; being kept from the processor is not. */
static int64_t processor_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* The stream is done; is the device? */
static int settle_call(struct kl_gpu_serve *s, struct kl_gpu_called *out)
{
	int64_t from = processor_ns(), took;
	float ms = 0;
	int rc = s->cu->ctx_sync();

	took = processor_ns() - from;
	if (rc)
		return rc;
	if (!s->cu->event_ms(&ms, s->before, s->after))
		out->event_ns = (int64_t)((double)ms * 1e6);
	if (took > LATE_NS) {
		out->end = KL_GPU_CALL_LATE;
		out->where = took;
	}
	return 0;
}

static int run_call(struct kl_gpu_serve *s, const struct kl_gpu_do_launch *q,
		    struct kl_gpu_serve_set *set, struct kl_gpu_launched *out)
{
	int rc, ran;

	s->cu->event_record(s->before, s->device->stream);
	out->host_ns = kl_clock_ns();
	rc = kl_gpu_launcher_call(s->launcher, set->set, q->dim);
	out->host_ns = kl_clock_ns() - out->host_ns;
	s->cu->event_record(s->after, s->device->stream);
	ran = kl_gpu_wait(s->device, q->limit_ms);
	if (ran == KL_CU_NOT_READY) {
		out->c.end = KL_GPU_CALL_HANG;
		return 0;
	}
	if (!ran)
		ran = settle_call(s, &out->c);
	if (ran) {
		out->c.end = KL_GPU_CALL_FAULT;
		if (!kl_gpu_is_fault(ran))
			return kl_gpu_error(s->cu, ran, KL_EIO,
					    "the GPU fails in a call of host code");
		kl_gpu_driver_name(s->cu, ran, out->c.name);
	} else if (rc) {
		out->c.end = KL_GPU_CALL_RETURNED;
		out->c.launch = rc;
	}
	return 0;
}

static int after_call(struct kl_gpu_serve *s, const struct kl_gpu_do_launch *q,
		      struct kl_gpu_serve_set *set, struct kl_gpu_called *out)
{
	size_t arg = 0;
	int err = 0;

	if (q->flags & KL_GPU_CALL_CHECK)
		err = kl_gpu_set_check(set->set, s->device, &arg, &out->where);
	if (err == KL_ENO) {
		out->end = KL_GPU_CALL_SLACK;
		out->arg = (int32_t)arg;
		return 0;
	}
	return err == 0 && q->flags & KL_GPU_CALL_DOWNLOAD ? kl_gpu_serve_download(s, set) : err;
}

int kl_gpu_serve_launch(struct kl_gpu_serve *s, const void *request, int fd)
{
	const struct kl_gpu_do_launch *q = request;
	KL_AUTO(kl_freep) struct kl_gpu_launched *out = kl_calloc(1, sizeof(*out));
	struct kl_gpu_serve_set *set = NULL;
	int err = s->launcher ? 0 : kl_error(KL_EINVALID, "no host code to call");

	out->c.launch = out->c.arg = -1;
	if (err == 0 && (err = kl_gpu_serve_get_set(&set, s, q->head.slot)) == 0)
		err = before_call(s, q, set);
	if (err == 0 && s->launcher->trace)
		kl_gpu_trace_begin(s->launcher->trace);
	if (err == 0)
		err = run_call(s, q, set, out);
	if (err == 0 && s->launcher->trace && out->c.end != KL_GPU_CALL_HANG)
		kl_gpu_trace_end(s->launcher->trace, &out->seen);
	if (err == 0 && out->c.end == KL_GPU_CALL_OK)
		err = after_call(s, q, set, &out->c);
	take_error(&out->c.r, err);
	return kl_gpu_serve_reply(s, request, out, sizeof(*out));
}
