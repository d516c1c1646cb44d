/* SPDX-License-Identifier: Apache-2.0 */
/* server_host - loads and calls host code in the GPU process */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "worker/gpu/launcher.h"
#include "worker/gpu/server.h"
#include "worker/gpu/wall.h"

/* Time in ns within which an event on an idle stream completes. */
#define LATE_NS 500000
/* Time in ns after which to sleep between two queries of an event. */
#define SPIN_NS 2000000

static void take_error(struct kl_gpu_reply *reply, int err)
{
	reply->err = err;
	if (err < 0)
		snprintf(reply->message, sizeof(reply->message), "%s", kl_error_last());
	kl_error_clear();
}

int kl_gpu_server_launcher(struct kl_gpu_server *server, const void *request, int fd)
{
	const struct kl_gpu_put_launcher *launcher = request;
	struct kl_gpu_launcher_ready out = { 0 };
	void *image = NULL;
	int err = 0;

	if ((server->closed & KL_GPU_CLOSED_WALL) != KL_GPU_CLOSED_WALL)
		err = kl_error(KL_EINVALID, "host code was sent to a process that is not confined");
	else if (server->launcher || launcher->bytes > KL_GPU_MAX_CUBIN)
		err = kl_error(KL_EINVALID,
			       "the host code is too large, or the process already has host code");
	if (err == 0 && (err = kl_gpu_server_map(&image, fd, launcher->bytes)) == 0) {
		const struct kl_gpu_launcher_file file = { fd, image, launcher->bytes };

		err = kl_gpu_launcher_open(&server->launcher, server->device, &file,
					   launcher->trace);
		munmap(image, launcher->bytes);
	}
	if (err == 0) {
		out.closed = server->closed |= server->launcher->closed;
		out.traced = server->launcher->trace != NULL;
		memcpy(out.why, server->launcher->why, sizeof(out.why));
	}
	take_error(&out.r, err);
	return kl_gpu_server_reply(server, request, &out, sizeof(out));
}

static int before_call(struct kl_gpu_server *server, const struct kl_gpu_do_launch *launch,
		       struct kl_gpu_server_set *set)
{
	int err = 0, rc;

	if (launch->flags & KL_GPU_CALL_RELOAD)
		kl_gpu_launcher_restore(server->launcher);
	if (launch->flags & KL_GPU_CALL_UPLOAD)
		err = kl_gpu_server_upload(server, set);
	if (err == 0 && launch->flags & KL_GPU_CALL_POISON)
		err = kl_gpu_set_poison(set->set, server->device, launch->seed);
	if (err < 0 ||
	    (launch->flags & KL_GPU_CALL_SCRUB && (err = kl_gpu_scrub(server->device)) < 0))
		return err;
	/* the first use of the default stream takes longer, so it comes before the measured call */
	rc = server->cu->event_record(server->others, KL_CU_DEFAULT_STREAM);
	if (!rc)
		rc = server->cu->ctx_sync();
	return rc ? kl_gpu_error(server->cu, rc, KL_EIO, "the GPU failed before the call") : 0;
}

/*
 * Wait for the streams of the process other than the device's own. *busy_ns is the time for which
 * one of them was seen busy; 0 if none was.
 *
 * Host code cannot create streams, so it can use only the default stream and blocking streams, for
 * which the default stream waits. So query an event on the default stream. The duration of a
 * synchronization does not tell whether the streams are busy, since it includes the time in which
 * the driver returns the memory that cudaFreeAsync() freed.
 */
static int wait_for_others(struct kl_gpu_server *server, int64_t limit_ms, int64_t *busy_ns)
{
	int rc = server->cu->event_record(server->others, KL_CU_DEFAULT_STREAM);
	int64_t from = kl_clock_ns(), asked = from;

	*busy_ns = 0;
	while (!rc && (rc = server->cu->event_query(server->others)) == KL_CU_NOT_READY) {
		*busy_ns = asked - from;
		if (*busy_ns >= limit_ms * 1000000)
			break;
		if (*busy_ns > SPIN_NS)
			usleep(50);
		asked = kl_clock_ns();
		rc = 0;
	}
	return rc;
}

/*
 * Wait for the other streams, once the device's stream is done. If one was busy for more than
 * LATE_NS, the call ends with KL_GPU_CALL_LATE.
 */
static int settle_call(struct kl_gpu_server *server, int64_t limit_ms, struct kl_gpu_called *out)
{
	int64_t busy_ns;
	float ms = 0;
	int rc = wait_for_others(server, limit_ms, &busy_ns);

	if (rc || (rc = server->cu->ctx_sync()))
		return rc;
	if (!server->cu->event_ms(&ms, server->before, server->after))
		out->event_ns = (int64_t)((double)ms * 1e6);
	if (busy_ns > LATE_NS) {
		out->end = KL_GPU_CALL_LATE;
		out->where = busy_ns;
	}
	return 0;
}

static int run_call(struct kl_gpu_server *server, const struct kl_gpu_do_launch *launch,
		    struct kl_gpu_server_set *set, struct kl_gpu_launched *out)
{
	int rc, ran;

	server->cu->event_record(server->before, server->device->stream);
	out->host_ns = kl_clock_ns();
	rc = kl_gpu_launcher_call(server->launcher, set->set, launch->dim);
	out->host_ns = kl_clock_ns() - out->host_ns;
	server->cu->event_record(server->after, server->device->stream);
	ran = kl_gpu_wait(server->device, launch->limit_ms);
	if (!ran)
		ran = settle_call(server, launch->limit_ms, &out->c);
	if (ran == KL_CU_NOT_READY) {
		out->c.end = KL_GPU_CALL_HANG;
		out->c.r.state = KL_GPU_STUCK;
		return 0;
	}
	if (ran) {
		out->c.end = KL_GPU_CALL_FAULT;
		if (!kl_gpu_is_fault(ran))
			return kl_gpu_error(server->cu, ran, KL_EIO,
					    "the GPU failed in a call of host code");
		kl_gpu_driver_name(server->cu, ran, out->c.name);
	} else if (rc) {
		out->c.end = KL_GPU_CALL_RETURNED;
		out->c.launch = rc;
	}
	return 0;
}

static int after_call(struct kl_gpu_server *server, const struct kl_gpu_do_launch *launch,
		      struct kl_gpu_server_set *set, struct kl_gpu_called *out)
{
	size_t arg = 0;
	int err = 0;

	if (launch->flags & KL_GPU_CALL_CHECK)
		err = kl_gpu_set_check(set->set, server->device, &arg, &out->where);
	if (err == KL_ENO) {
		out->end = KL_GPU_CALL_SLACK;
		out->arg = (int32_t)arg;
		return 0;
	}
	return err == 0 && launch->flags & KL_GPU_CALL_DOWNLOAD ?
		       kl_gpu_server_download(server, set) :
		       err;
}

static int traced_call(struct kl_gpu_server *server, const struct kl_gpu_do_launch *launch,
		       struct kl_gpu_server_set *set, struct kl_gpu_launched *out)
{
	int err;

	if (server->launcher->trace)
		kl_gpu_trace_begin(server->launcher->trace);
	err = run_call(server, launch, set, out);
	if (err == 0 && server->launcher->trace && out->c.end != KL_GPU_CALL_HANG)
		kl_gpu_trace_end(server->launcher->trace, &out->seen);
	return err;
}

int kl_gpu_server_launch(struct kl_gpu_server *server, const void *request, int fd)
{
	const struct kl_gpu_do_launch *launch = request;
	KL_AUTO(kl_freep) struct kl_gpu_launched *out = kl_calloc(1, sizeof(*out));
	struct kl_gpu_server_set *set = NULL;
	int err = server->launcher ? 0 :
				     kl_error(KL_EINVALID, "the process has no host code to call");

	out->c.launch = out->c.arg = -1;
	if (err == 0 && (err = kl_gpu_server_get_set(&set, server, launch->head.slot)) == 0)
		err = before_call(server, launch, set);
	if (err == 0 && launch->flags & KL_GPU_CALL_RUN)
		err = traced_call(server, launch, set, out);
	if (err == 0 && out->c.end == KL_GPU_CALL_OK)
		err = after_call(server, launch, set, &out->c);
	take_error(&out->c.r, err);
	return kl_gpu_server_reply(server, request, out, sizeof(*out));
}
