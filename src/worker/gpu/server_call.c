/* SPDX-License-Identifier: Apache-2.0 */
/* server_call - makes a call of a binding in the GPU process */
#include <stdio.h>

#include "base/error.h"
#include "worker/gpu/server.h"

int kl_gpu_server_upload(struct kl_gpu_server *server, struct kl_gpu_server_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->set->n && err == 0; i++)
		if (set->set->layout[i].tensor && !set->set->layout[i].output)
			err = kl_gpu_set_upload(set->set, server->device, i,
						set->host + set->offset[i]);
	return err < 0 ? err : kl_gpu_set_zero(set->set, server->device);
}

int kl_gpu_server_download(struct kl_gpu_server *server, struct kl_gpu_server_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->set->n && err == 0; i++)
		if (set->set->layout[i].tensor && set->set->layout[i].writable)
			err = kl_gpu_set_download(set->set, server->device, i,
						  set->host + set->offset[i]);
	return err;
}

/*
 * Do the work that precedes the launches and wait for its end, so that a later error is the
 * kernels' fault.
 */
static int before_call(struct kl_gpu_server *server, const struct kl_gpu_do_call *call,
		       struct kl_gpu_bound *bound, struct kl_gpu_server_set *set,
		       struct kl_gpu_module *module)
{
	int err = 0, rc;

	if (call->flags & KL_GPU_CALL_RELOAD)
		err = kl_gpu_module_reload(module, server->device);
	if (err == 0 && call->flags & KL_GPU_CALL_UPLOAD)
		err = kl_gpu_server_upload(server, set);
	if (err == 0 && call->flags & KL_GPU_CALL_POISON)
		err = kl_gpu_set_poison(set->set, server->device, call->seed);
	if (err < 0 ||
	    (err = kl_gpu_bound_ready(bound, server->device, call->seed,
				      call->flags & KL_GPU_CALL_POISON)) < 0 ||
	    (call->flags & KL_GPU_CALL_SCRUB && (err = kl_gpu_scrub(server->device)) < 0))
		return err;
	rc = server->cu->stream_sync(server->device->stream);
	return rc ? kl_gpu_error(server->cu, rc, KL_EIO, "the GPU failed before the call") : 0;
}

static int run_call(struct kl_gpu_server *server, const struct kl_gpu_do_call *call,
		    const struct kl_gpu_bound *bound, struct kl_gpu_called *out)
{
	int rc, which, ran;
	float ms = 0;

	server->cu->event_record(server->before, server->device->stream);
	rc = kl_gpu_bound_launch(bound, server->device, &which);
	server->cu->event_record(server->after, server->device->stream);
	ran = kl_gpu_wait(server->device, call->limit_ms);
	if (ran == KL_CU_NOT_READY) {
		out->end = KL_GPU_CALL_HANG;
		out->r.state = KL_GPU_STUCK;
		return 0;
	}
	if (!rc && !ran) {
		if (!server->cu->event_ms(&ms, server->before, server->after))
			out->event_ns = (int64_t)((double)ms * 1e6);
		return 0;
	}
	out->launch = which;
	if (rc && !ran && kl_gpu_is_refusal(rc)) {
		out->end = KL_GPU_CALL_REFUSED;
	} else {
		rc = ran ? ran : rc;
		out->end = KL_GPU_CALL_FAULT;
		if (!kl_gpu_is_fault(rc))
			return kl_gpu_error(server->cu, rc, KL_EIO,
					    "the GPU failed in a call of '%s'",
					    kl_gpu_bound_kernel(bound, which));
	}
	kl_gpu_driver_name(server->cu, rc, out->name);
	/* a refusal belongs to launch `which`, but any launch can have caused a fault */
	if (out->end == KL_GPU_CALL_FAULT && kl_gpu_bound_launches(bound) > 1)
		out->launch = -1;
	snprintf(out->kernel, sizeof(out->kernel), "%s", kl_gpu_bound_kernel(bound, out->launch));
	return 0;
}

static int after_call(struct kl_gpu_server *server, const struct kl_gpu_do_call *call,
		      const struct kl_gpu_bound *bound, struct kl_gpu_server_set *set,
		      struct kl_gpu_called *out)
{
	size_t arg = 0;
	int err = 0;

	if (call->flags & KL_GPU_CALL_CHECK) {
		err = kl_gpu_set_check(set->set, server->device, &arg, &out->where);
		if (err == KL_ENO) {
			out->end = KL_GPU_CALL_SLACK;
			out->arg = (int32_t)arg;
			return 0;
		}
		if (err == 0)
			err = kl_gpu_bound_check(bound, server->device);
		if (err == KL_ENO) {
			out->end = KL_GPU_CALL_SCRATCH;
			snprintf(out->r.message, sizeof(out->r.message), "%s", kl_error_last());
			kl_error_clear();
			return 0;
		}
	}
	if (err == 0 && call->flags & KL_GPU_CALL_DOWNLOAD)
		err = kl_gpu_server_download(server, set);
	return err;
}

int kl_gpu_server_call(struct kl_gpu_server *server, const void *request, int fd)
{
	const struct kl_gpu_do_call *call = request;
	struct kl_gpu_called out = { .launch = -1, .arg = -1 };
	struct kl_gpu_server_set *set = NULL;
	struct kl_gpu_bound *bound = NULL;
	int err = kl_gpu_server_get_bound(&bound, server, call->head.slot);

	if (err == 0)
		err = kl_gpu_server_get_set(&set, server, server->bind[call->head.slot].set);
	if (err == 0)
		err = before_call(server, call, bound, set,
				  server->module[server->bind[call->head.slot].module]);
	if (err == 0 && call->flags & KL_GPU_CALL_RUN)
		err = run_call(server, call, bound, &out);
	if (err == 0 && out.end == KL_GPU_CALL_OK)
		err = after_call(server, call, bound, set, &out);
	if (err < 0) {
		out.r.err = err;
		snprintf(out.r.message, sizeof(out.r.message), "%s", kl_error_last());
		kl_error_clear();
	} else {
		out.quirk = kl_gpu_bound_quirk(bound);
	}
	return kl_gpu_server_reply(server, request, &out, sizeof(out));
}
