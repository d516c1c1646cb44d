/* SPDX-License-Identifier: Apache-2.0 */
/* server_visit - makes a visit: times calls of one subject, one by one or as a batch */
#include "base/error.h"
#include "worker/gpu/timing/server_state.h"

/* -- timing call by call -------------------------------------------------------- */

/* Estimate the number of operations that one call enqueues, with its preparation and its checks. */
static size_t count_operations(const struct kl_gpu_timing *timing, const struct kl_gpu_timed *timed)
{
	return 2 * (kl_gpu_timing_launches(timing, timed) + KL_PLAN_MAX_SCRATCH) +
	       4 * kl_gpu_timing_set(timing, 0)->n + 16;
}

static int enqueue_call(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed,
			const struct kl_gpu_time_visit *visit, uint32_t call, int *rc, int *which)
{
	uint32_t place = visit->which[call];
	bool hot = visit->mode == KL_GPU_TIME_HOT;
	int err;

	if ((err = kl_gpu_scrub(timing->device)) < 0 ||
	    (hot &&
	     (err = kl_gpu_timing_ready(timing, timed, visit->warm, ~visit->seed, true)) < 0) ||
	    (err = kl_gpu_timing_ready(timing, timed, place, visit->seed + 2 * call, true)) < 0)
		return err;
	if (hot) {
		if ((err = kl_gpu_timing_touch(timing, place)) < 0)
			return err;
		if ((*rc = kl_gpu_timing_launch(timing, timed, visit->warm, which)))
			return 0;
	} else if ((err = kl_gpu_flush(timing->device)) < 0) {
		return err;
	}
	if ((err = kl_gpu_timing_stamp(timing, call, 0)) < 0)
		return err;
	timing->cu->event_record(timing->before[call], timing->device->stream);
	*rc = kl_gpu_timing_launch(timing, timed, place, which);
	timing->cu->event_record(timing->after[call], timing->device->stream);
	if (*rc)
		return 0;
	if ((err = kl_gpu_timing_stamp(timing, call, 1)) < 0 ||
	    (err = kl_gpu_timing_finish(timing, timed, place)) < 0)
		return err;
	return kl_gpu_timing_print(timing, call, place);
}

static int reset_l2(struct kl_gpu_timing *timing)
{
	int rc = timing->device->facts.persisting_l2 ? timing->cu->ctx_reset_l2() : 0;

	return rc ? kl_gpu_error(timing->cu, rc, KL_EIO, "cannot reset the L2 cache") : 0;
}

/*
 * Time the calls one by one. Enqueue as many calls as a held stream accepts, wait for their end,
 * and go on with the next ones.
 */
static int visit_calls(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed,
		       const struct kl_gpu_time_visit *visit, struct kl_gpu_time_visited *out)
{
	size_t most = KL_GPU_HOLD_OPS / count_operations(timing, timed), n;
	int err = 0, rc = 0, which = -1;
	bool late[KL_GPU_TIME_CALLS] = { false };

	for (uint32_t call = 0; call < visit->ncall && err == 0 && out->how.end == KL_GPU_CALL_OK;
	     call += (uint32_t)n) {
		n = most < 1 ? 1 : most < visit->ncall - call ? most : visit->ncall - call;
		if ((err = reset_l2(timing)) < 0 || (err = kl_gpu_hold(&timing->tool)) < 0)
			return err;
		for (size_t i = 0; i < n && err == 0 && !rc; i++)
			err = enqueue_call(timing, timed, visit, call + (uint32_t)i, &rc, &which);
		/*
		 * if the first of these calls has begun already, all count as late, because
		 * KL_GPU_HOLD_NS passed before the release
		 */
		for (size_t i = 0; i < n; i++)
			late[call + i] = timing->cu->event_query(timing->before[call]) !=
					 KL_CU_NOT_READY;
		if (err < 0) {
			kl_gpu_release(&timing->tool);
			return err;
		}
		err = kl_gpu_timing_settle(timing, &out->how, timed, rc, which, visit->limit_ms);
	}
	for (uint32_t call = 0; call < visit->ncall && err == 0 && out->how.end == KL_GPU_CALL_OK;
	     call++)
		out->ns[call] = late[call] ? -1 : kl_gpu_timing_event_ns(timing, call);
	out->ntime = visit->ncall;
	return err;
}

/* -- timing all calls as a batch ------------------------------------------------ */

static int launch_all(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed,
		      const struct kl_gpu_time_visit *visit, int *which)
{
	int rc = 0;

	for (uint32_t call = 0; call < visit->ncall && !rc; call++)
		rc = kl_gpu_timing_launch(timing, timed, visit->which[call], which);
	return rc;
}

/*
 * Capture the calls of a batch as a graph. If that fails, timed->graph is NULL, and the caller
 * launches the calls without a graph. Every batch gets a new graph, because two graphs of the same
 * calls can differ in their time by up to 1 % for as long as they exist.
 */
static void make_graph(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed,
		       const struct kl_gpu_time_visit *visit)
{
	struct kl_cu_graph *graph = NULL;
	int which, rc;

	kl_gpu_timing_drop_graph(timing, timed);
	if (timed->no_graph)
		return;
	rc = timing->cu->capture_begin(
		timing->device->stream,
		2 /* CU_STREAM_CAPTURE_MODE_RELAXED, which forbids no call */);
	if (!rc) {
		rc = launch_all(timing, timed, visit, &which);
		if (timing->cu->capture_end(timing->device->stream, &graph) || rc || !graph)
			rc = rc ? rc : -1;
	}
	if (!rc)
		rc = timing->cu->graph_instantiate(&timed->graph, graph, 0);
	if (graph)
		timing->cu->graph_free(graph);
	if (rc) {
		timed->graph = NULL;
		timed->no_graph = true;
	}
}

static int prepare_batch(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed,
			 const struct kl_gpu_time_visit *visit)
{
	int err = 0;

	for (uint32_t call = 0; call < visit->ncall && err == 0; call++)
		err = kl_gpu_timing_ready(timing, timed, visit->which[call], visit->seed + 2 * call,
					  true);
	if (err < 0 || (err = kl_gpu_scrub(timing->device)) < 0)
		return err;
	if (visit->mode == KL_GPU_TIME_BATCH_COLD)
		return kl_gpu_flush(timing->device);
	for (uint32_t call = 0; call < visit->ncall && err == 0; call++)
		err = kl_gpu_timing_touch(timing, visit->which[call]);
	return err;
}

static int visit_batch(struct kl_gpu_timing *timing, struct kl_gpu_timed *timed,
		       const struct kl_gpu_time_visit *visit, struct kl_gpu_time_visited *out)
{
	int err, rc, which = -1;
	bool late;

	make_graph(timing, timed, visit);
	if ((err = reset_l2(timing)) < 0 || (err = prepare_batch(timing, timed, visit)) < 0)
		return err;
	if ((rc = kl_gpu_wait(timing->device, KL_GPU_OWN_MS)))
		return kl_gpu_error(timing->cu, rc, KL_EIO,
				    "the GPU failed before the timed calls");
	if ((err = kl_gpu_hold(&timing->tool)) < 0)
		return err;
	if ((err = kl_gpu_timing_stamp(timing, 0, 0)) < 0) {
		kl_gpu_release(&timing->tool);
		return err;
	}
	timing->cu->event_record(timing->before[0], timing->device->stream);
	rc = timed->graph ? timing->cu->graph_launch(timed->graph, timing->device->stream) :
			    launch_all(timing, timed, visit, &which);
	timing->cu->event_record(timing->after[0], timing->device->stream);
	err = kl_gpu_timing_stamp(timing, 0, 1);
	late = timing->cu->event_query(timing->before[0]) != KL_CU_NOT_READY;
	for (uint32_t call = 0; call < visit->ncall && err == 0 && !rc; call++)
		if ((err = kl_gpu_timing_finish(timing, timed, visit->which[call])) == 0)
			err = kl_gpu_timing_print(timing, call, visit->which[call]);
	if (err < 0) {
		kl_gpu_release(&timing->tool);
		return err;
	}
	if ((err = kl_gpu_timing_settle(timing, &out->how, timed, rc, which, visit->limit_ms)) < 0)
		return err;
	out->ntime = 1;
	out->ns[0] = late ? -1 : kl_gpu_timing_event_ns(timing, 0) / visit->ncall;
	return 0;
}

int kl_gpu_timing_visit(struct kl_gpu_timing *timing, const struct kl_gpu_time_visit *visit,
			struct kl_gpu_time_visited *out)
{
	bool batch = visit->mode == KL_GPU_TIME_BATCH_COLD || visit->mode == KL_GPU_TIME_BATCH_HOT;
	struct kl_gpu_timed *timed = NULL;
	int err = kl_gpu_timing_subject(&timed, timing, visit->head.slot);

	if (err == 0 && (visit->ncall < 1 || visit->ncall > timing->nset ||
			 visit->mode > KL_GPU_TIME_BATCH_HOT))
		err = kl_error(KL_EINVALID,
			       "invalid timing request: %u calls on %u sets of tensors",
			       visit->ncall, timing->nset);
	for (uint32_t i = 0; err == 0 && i < visit->ncall; i++)
		err = visit->which[i] == visit->warm && visit->mode == KL_GPU_TIME_HOT ?
			      kl_error(KL_EINVALID,
				       "a timed call uses the set of tensors of the warm-up call") :
			      kl_gpu_timing_check_place(timing, visit->which[i]);
	if (err == 0 && visit->mode == KL_GPU_TIME_HOT)
		err = kl_gpu_timing_check_place(timing, visit->warm);
	if (err < 0)
		return err;
	out->ncall = visit->ncall;
	/* clear the stamps of an earlier visit */
	if ((err = timing->cu->set8(timing->stamps.at, 0, KL_GPU_STAMP_BYTES,
				    timing->device->stream)))
		return kl_gpu_error(timing->cu, err, KL_EIO, "cannot write to the GPU");
	err = batch ? visit_batch(timing, timed, visit, out) :
		      visit_calls(timing, timed, visit, out);
	if (err < 0 || out->how.end != KL_GPU_CALL_OK)
		return err;
	kl_gpu_timing_check_scratch(timing, timed, visit->which, visit->ncall, &out->how, &out->r);
	if ((err = kl_gpu_timing_read_prints(timing, visit->which, visit->ncall, out->print)) < 0)
		return err;
	return kl_gpu_timing_read_clock(timing, batch ? 1 : visit->ncall, &out->mhz);
}
