/* SPDX-License-Identifier: Apache-2.0 */
/* server_visit - a visit: timed calls one by one, or as a batch */
#include "base/error.h"
#include "worker/gpu/timing/server_state.h"

/* -- call by call --------------------------------------------------------------- */

/* About what one call and all around it take of the stream's queue. */
static size_t count_operations(const struct kl_gpu_timing *t, const struct kl_gpu_timed *x)
{
	return 2 * (kl_gpu_timing_launches(t, x) + KL_PLAN_MAX_SCRATCH) +
	       4 * kl_gpu_timing_set(t, 0)->n + 16;
}

static int enqueue_call(struct kl_gpu_timing *t, struct kl_gpu_timed *x,
			const struct kl_gpu_time_visit *q, uint32_t c, int *rc, int *which)
{
	uint32_t place = q->which[c];
	bool hot = q->mode == KL_GPU_TIME_HOT;
	int err;

	if ((err = kl_gpu_scrub(t->device)) < 0 ||
	    (hot && (err = kl_gpu_timing_ready(t, x, q->warm, ~q->seed)) < 0) ||
	    (err = kl_gpu_timing_ready(t, x, place, q->seed + 2 * c)) < 0)
		return err;
	if (hot) {
		if ((err = kl_gpu_timing_touch(t, place)) < 0)
			return err;
		if ((*rc = kl_gpu_timing_launch(t, x, q->warm, which)))
			return 0;
	} else if ((err = kl_gpu_timing_flush(t)) < 0) {
		return err;
	}
	if ((err = kl_gpu_timing_stamp(t, c, 0)) < 0)
		return err;
	t->cu->event_record(t->before[c], t->device->stream);
	*rc = kl_gpu_timing_launch(t, x, place, which);
	t->cu->event_record(t->after[c], t->device->stream);
	if (*rc)
		return 0;
	if ((err = kl_gpu_timing_stamp(t, c, 1)) < 0 ||
	    (err = kl_gpu_timing_finish(t, x, place)) < 0)
		return err;
	return kl_gpu_timing_print(t, c, place);
}

static int reset_l2(struct kl_gpu_timing *t)
{
	int rc = t->device->facts.persisting_l2 ? t->cu->ctx_reset_l2() : 0;

	return rc ? kl_gpu_error(t->cu, rc, KL_EIO, "cannot reset the L2 cache") : 0;
}

/* As many calls behind one hold as the queue takes. */
static int visit_calls(struct kl_gpu_timing *t, struct kl_gpu_timed *x,
		       const struct kl_gpu_time_visit *q, struct kl_gpu_time_visited *out)
{
	size_t most = KL_GPU_HOLD_OPS / count_operations(t, x), n;
	int err = 0, rc = 0, which = -1;
	bool late[KL_GPU_TIME_CALLS] = { false };

	for (uint32_t c = 0; c < q->ncall && err == 0 && out->how.end == KL_GPU_CALL_OK;
	     c += (uint32_t)n) {
		n = most < 1 ? 1 : most < q->ncall - c ? most : q->ncall - c;
		if ((err = reset_l2(t)) < 0 || (err = kl_gpu_hold(&t->tool)) < 0)
			return err;
		for (size_t i = 0; i < n && err == 0 && !rc; i++)
			err = enqueue_call(t, x, q, c + (uint32_t)i, &rc, &which);
		/* the hold gives way after a while: then the processor may have been too slow */
		for (size_t i = 0; i < n; i++)
			late[c + i] = t->cu->event_query(t->before[c]) != KL_CU_NOT_READY;
		if (err < 0) {
			kl_gpu_release(&t->tool);
			return err;
		}
		err = kl_gpu_timing_settle(t, &out->how, x, rc, which, q->limit_ms);
	}
	for (uint32_t c = 0; c < q->ncall && err == 0 && out->how.end == KL_GPU_CALL_OK; c++)
		out->ns[c] = late[c] ? -1 : kl_gpu_timing_event_ns(t, c);
	out->ntime = q->ncall;
	return err;
}

/* -- all calls at once ---------------------------------------------------------- */

static int launch_all(struct kl_gpu_timing *t, struct kl_gpu_timed *x,
		      const struct kl_gpu_time_visit *q, int *which)
{
	int rc = 0;

	for (uint32_t c = 0; c < q->ncall && !rc; c++)
		rc = kl_gpu_timing_launch(t, x, q->which[c], which);
	return rc;
}

/*
 * A graph of the calls; without one where it cannot be captured. Made anew for every batch: one
 * graph is faster than its like by up to one in a hundred, for as long as it lives.
 */
static void make_graph(struct kl_gpu_timing *t, struct kl_gpu_timed *x,
		       const struct kl_gpu_time_visit *q)
{
	struct kl_cu_graph *g = NULL;
	int which, rc;

	kl_gpu_timing_drop_graph(t, x);
	if (x->no_graph)
		return;
	rc = t->cu->capture_begin(t->device->stream, 2 /* relaxed: this thread alone, any call */);
	if (!rc) {
		rc = launch_all(t, x, q, &which);
		if (t->cu->capture_end(t->device->stream, &g) || rc || !g)
			rc = rc ? rc : -1;
	}
	if (!rc)
		rc = t->cu->graph_instantiate(&x->graph, g, 0);
	if (g)
		t->cu->graph_free(g);
	if (rc) {
		x->graph = NULL;
		x->no_graph = true;
	}
}

static int prepare_batch(struct kl_gpu_timing *t, struct kl_gpu_timed *x,
			 const struct kl_gpu_time_visit *q)
{
	int err = 0;

	for (uint32_t c = 0; c < q->ncall && err == 0; c++)
		err = kl_gpu_timing_ready(t, x, q->which[c], q->seed + 2 * c);
	if (err < 0 || (err = kl_gpu_scrub(t->device)) < 0)
		return err;
	if (q->mode == KL_GPU_TIME_BATCH_COLD)
		return kl_gpu_timing_flush(t);
	for (uint32_t c = 0; c < q->ncall && err == 0; c++)
		err = kl_gpu_timing_touch(t, q->which[c]);
	return err;
}

static int visit_batch(struct kl_gpu_timing *t, struct kl_gpu_timed *x,
		       const struct kl_gpu_time_visit *q, struct kl_gpu_time_visited *out)
{
	int err, rc, which = -1;
	bool late;

	make_graph(t, x, q);
	if ((err = reset_l2(t)) < 0 || (err = prepare_batch(t, x, q)) < 0)
		return err;
	if ((rc = kl_gpu_wait(t->device, KL_GPU_OWN_MS)))
		return kl_gpu_error(t->cu, rc, KL_EIO, "the GPU fails before it is timed");
	if ((err = kl_gpu_hold(&t->tool)) < 0)
		return err;
	if ((err = kl_gpu_timing_stamp(t, 0, 0)) < 0) {
		kl_gpu_release(&t->tool);
		return err;
	}
	t->cu->event_record(t->before[0], t->device->stream);
	rc = x->graph ? t->cu->graph_launch(x->graph, t->device->stream) :
			launch_all(t, x, q, &which);
	t->cu->event_record(t->after[0], t->device->stream);
	err = kl_gpu_timing_stamp(t, 0, 1);
	late = t->cu->event_query(t->before[0]) != KL_CU_NOT_READY;
	for (uint32_t c = 0; c < q->ncall && err == 0 && !rc; c++)
		if ((err = kl_gpu_timing_finish(t, x, q->which[c])) == 0)
			err = kl_gpu_timing_print(t, c, q->which[c]);
	if (err < 0) {
		kl_gpu_release(&t->tool);
		return err;
	}
	if ((err = kl_gpu_timing_settle(t, &out->how, x, rc, which, q->limit_ms)) < 0)
		return err;
	out->ntime = 1;
	out->ns[0] = late ? -1 : kl_gpu_timing_event_ns(t, 0) / q->ncall;
	return 0;
}

int kl_gpu_timing_visit(struct kl_gpu_timing *t, const struct kl_gpu_time_visit *q,
			struct kl_gpu_time_visited *out)
{
	bool batch = q->mode == KL_GPU_TIME_BATCH_COLD || q->mode == KL_GPU_TIME_BATCH_HOT;
	struct kl_gpu_timed *x = NULL;
	int err = kl_gpu_timing_subject(&x, t, q->head.slot);

	if (err == 0 && (q->ncall < 1 || q->ncall > t->nset || q->mode > KL_GPU_TIME_BATCH_HOT))
		err = kl_error(KL_EINVALID, "%u calls on %u sets", q->ncall, t->nset);
	for (uint32_t i = 0; err == 0 && i < q->ncall; i++)
		err = q->which[i] == q->warm && q->mode == KL_GPU_TIME_HOT ?
			      kl_error(KL_EINVALID, "a call on the set that warms it up") :
			      kl_gpu_timing_check_place(t, q->which[i]);
	if (err == 0 && q->mode == KL_GPU_TIME_HOT)
		err = kl_gpu_timing_check_place(t, q->warm);
	if (err < 0)
		return err;
	out->ncall = q->ncall;
	/* a stamp of an earlier visit is none of this one */
	if ((err = t->cu->set8(t->stamps, 0, KL_GPU_STAMP_BYTES, t->device->stream)))
		return kl_gpu_error(t->cu, err, KL_EIO, "cannot write to the GPU");
	err = batch ? visit_batch(t, x, q, out) : visit_calls(t, x, q, out);
	if (err < 0 || out->how.end != KL_GPU_CALL_OK)
		return err;
	kl_gpu_timing_check_scratch(t, x, q, out);
	if ((err = kl_gpu_timing_read_prints(t, q, out)) < 0)
		return err;
	return kl_gpu_timing_read_clock(t, batch ? 1 : q->ncall, &out->mhz);
}
