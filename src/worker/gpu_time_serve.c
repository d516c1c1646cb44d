/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/stats.h"
#include "worker/gpu_launcher.h"
#include "worker/gpu_serve.h"
#include "worker/gpu_time_tool.h"
#include "worker/gpu_time_wire.h"

/* What a library zeroes between calls in Triton's do_bench. */
#define BENCH_BYTES ((uint64_t)256 << 20)
/* How long operations of the gate's own may take, beside those of a subject. */
#define OWN_MS 20000
/* Kernels, copies and fills that a call of a vendor's library, or of host code, may be. */
#define VENDOR_OPS 8
/* CUdevice_attribute */
#define DEV_MEMORY_CLOCK 36
#define DEV_MEMORY_BITS 37

struct subject {
	bool there;
	uint32_t bind[KL_GPU_TIME_CALLS];
	struct kl_gpu_baseline *vendor;		/* NULL: bound */
	struct kl_cu_graph_exec *graph;		/* of the last batch */
	bool no_graph;
};

/* The pristine contents of tensors that are written and read. */
struct pristine {
	struct kl_gpu_buffer copy[KL_GPU_MAX_TENSORS];
	bool has[KL_GPU_MAX_TENSORS];
};

struct time {
	struct kl_gpu_serve *s;
	struct kl_gpu_device *device;
	const struct kl_gpu_driver *cu;
	struct kl_gpu_time_tool tool;
	struct subject subject[KL_GPU_TIME_SUBJECTS];
	uint32_t nset, set[KL_GPU_TIME_CALLS];
	struct pristine pristine[KL_GPU_TIME_CALLS];
	uint64_t key;
	uint64_t prints;		/* device: two words for each call and tensor */
	uint64_t stamps;		/* device: two stamps a call */
	uint64_t sink;			/* device: where reading inputs leaves a fingerprint */
	uint64_t bench;			/* device: BENCH_BYTES; 0: not yet */
	struct kl_cu_event *before[KL_GPU_TIME_CALLS], *after[KL_GPU_TIME_CALLS];
};

#define PRINT_BYTES ((uint64_t)KL_GPU_TIME_CALLS * KL_GPU_MAX_TENSORS * 16)
#define STAMP_BYTES ((uint64_t)KL_GPU_TIME_CALLS * 2 * sizeof(struct kl_gpu_stamp))

/* -- beginning --------------------------------------------------------------------- */

static int device_memory(uint64_t *at, const struct kl_gpu_device *d, uint64_t bytes)
{
	struct kl_gpu_buffer b = { 0 };
	int err = kl_gpu_buffer_make(&b, d, bytes, 256, false);

	*at = b.at;		/* lives as long as the context */
	return err;
}

static int time_open(struct time **out, struct kl_gpu_serve *s)
{
	struct time *t = s->time;
	int err, rc = 0;

	if (t) {
		*out = t;
		return 0;
	}
	t = kl_calloc(1, sizeof(*t));
	t->s = s;
	t->device = s->device;
	t->cu = s->cu;
	if ((err = kl_gpu_time_tool_open(&t->tool, s->device)) < 0 ||
	    (err = device_memory(&t->prints, s->device, PRINT_BYTES)) < 0 ||
	    (err = device_memory(&t->stamps, s->device, STAMP_BYTES)) < 0 ||
	    (err = device_memory(&t->sink, s->device, 64)) < 0 ||
	    (err = kl_gpu_flush_prepare(s->device)) < 0)
		return err;
	for (int i = 0; i < KL_GPU_TIME_CALLS && !rc; i++)
		if (!(rc = t->cu->event_create(&t->before[i], 0)))
			rc = t->cu->event_create(&t->after[i], 0);
	if (rc)
		return kl_gpu_error(t->cu, rc, KL_EIO, "no events");
	s->time = *out = t;
	return 0;
}

static void drop_graph(struct time *t, struct subject *x)
{
	if (x->graph)
		t->cu->graph_exec_free(x->graph);
	x->graph = NULL;
}

static void drop_subject(struct time *t, struct subject *x)
{
	drop_graph(t, x);
	kl_gpu_baseline_free(x->vendor);
	memset(x, 0, sizeof(*x));
}

static struct kl_gpu_set *set_of(const struct time *t, uint32_t place)
{
	return t->s->set[t->set[place]].set;
}

/* Clock and width of the device memory, at two transfers a clock. */
static double peak(const struct time *t)
{
	int khz = 0, bits = 0;

	if (t->cu->device_attribute(&khz, DEV_MEMORY_CLOCK, t->device->dev) ||
	    t->cu->device_attribute(&bits, DEV_MEMORY_BITS, t->device->dev))
		return 0;
	return 2.0 * khz * 1e3 * bits / 8 / 1e9;
}

static int begin(struct time *t, const struct kl_gpu_time_begin *q, double *bytes_per_ns)
{
	struct kl_gpu_serve_set *set;
	int err;

	*bytes_per_ns = peak(t);

	for (int i = 0; i < KL_GPU_TIME_SUBJECTS; i++)
		drop_subject(t, &t->subject[i]);
	for (int i = 0; i < KL_GPU_TIME_CALLS; i++)
		for (int k = 0; k < KL_GPU_MAX_TENSORS; k++)
			if (t->pristine[i].has[k]) {
				kl_gpu_buffer_release(&t->pristine[i].copy[k], t->device);
				t->pristine[i].has[k] = false;
			}
	t->nset = 0;
	if (q->nset < 1 || q->nset > KL_GPU_TIME_CALLS)
		return kl_error(KL_EINVALID, "%u sets of tensors to time with", q->nset);
	for (uint32_t i = 0; i < q->nset; i++) {
		if ((err = kl_gpu_serve_get_set(&set, t->s, q->set[i])) < 0)
			return err;
		t->set[i] = q->set[i];
	}
	t->nset = q->nset;
	t->key = q->key;
	return 0;
}

static int get_place(const struct time *t, uint32_t place)
{
	if (place >= t->nset || !set_of(t, place))
		return kl_error(KL_EINVALID, "no set of tensors %u to time with", place);
	return 0;
}

static int get_subject(struct subject **out, struct time *t, uint32_t who)
{
	if (who >= KL_GPU_TIME_SUBJECTS || !t->subject[who].there)
		return kl_error(KL_EINVALID, "no subject %u to time", who);
	*out = &t->subject[who];
	return 0;
}

static int add_bound(struct time *t, const struct kl_gpu_time_bound *q)
{
	struct kl_gpu_bound *b;
	struct subject *x = NULL;
	int err;

	if (q->head.slot >= KL_GPU_TIME_SUBJECTS)
		return kl_error(KL_EINVALID, "no subject %u to time", q->head.slot);
	x = &t->subject[q->head.slot];
	drop_subject(t, x);
	for (uint32_t i = 0; i < t->nset; i++) {
		if ((err = kl_gpu_serve_get_bound(&b, t->s, q->bind[i])) < 0)
			return err;
		if (t->s->bind[q->bind[i]].set != t->set[i])
			return kl_error(KL_EINVALID, "binding %u is of another set", q->bind[i]);
		x->bind[i] = q->bind[i];
	}
	x->there = true;
	return 0;
}

static void addresses(uint64_t at[KL_GPU_MAX_TENSORS], const struct kl_gpu_set *set)
{
	for (size_t i = 0; i < KL_GPU_MAX_TENSORS; i++)
		at[i] = i < set->n && set->layout[i].tensor ? set->buffer[i].at : 0;
}

static int add_vendor(struct time *t, const struct kl_gpu_time_vendor *q, char what[96])
{
	uint64_t at[KL_GPU_MAX_TENSORS];
	struct subject *x = NULL;
	int err, rc;

	if (q->head.slot >= KL_GPU_TIME_SUBJECTS || !t->nset)
		return kl_error(KL_EINVALID, "no subject %u to time", q->head.slot);
	if ((err = get_place(t, 0)) < 0)
		return err;
	x = &t->subject[q->head.slot];
	drop_subject(t, x);
	addresses(at, set_of(t, 0));
	if ((err = kl_gpu_baseline_open(&x->vendor, &q->spec, t->device, at)) < 0)
		return err;
	if ((rc = kl_gpu_wait(t->device, OWN_MS)))
		return kl_gpu_error(t->cu, rc, KL_ECANNOT, "%s does not work here", q->spec.name);
	memcpy(what, x->vendor->what, 96);
	x->there = true;
	return 0;
}

static int add_launcher(struct time *t, const struct kl_gpu_time_launcher *q)
{
	struct subject *x = NULL;
	int err;

	if (q->head.slot >= KL_GPU_TIME_SUBJECTS || !t->s->launcher)
		return kl_error(KL_EINVALID, "no host code for subject %u", q->head.slot);
	if ((err = get_place(t, 0)) < 0)
		return err;
	x = &t->subject[q->head.slot];
	drop_subject(t, x);
	x->vendor = kl_gpu_launcher_timed(t->s->launcher, set_of(t, 0), q->dim);
	x->there = true;
	return 0;
}

/* -- around a call -------------------------------------------------------------------- */

static struct kl_gpu_bound *bound_of(const struct time *t, const struct subject *x, uint32_t place)
{
	return t->s->bind[x->bind[place]].bound;
}

/* Tensors that are read and written: as they were. */
static int restore(struct time *t, uint32_t place)
{
	const struct kl_gpu_set *set = set_of(t, place);
	int rc = 0;

	for (size_t i = 0; i < set->n && !rc; i++)
		if (t->pristine[place].has[i])
			rc = t->cu->copy(set->buffer[i].at, t->pristine[place].copy[i].at,
					 set->layout[i].bytes, t->device->stream);
	return rc ? kl_gpu_error(t->cu, rc, KL_EIO, "cannot copy on the GPU") : 0;
}

static int ready(struct time *t, struct subject *x, uint32_t place, uint64_t seed)
{
	uint64_t at[KL_GPU_MAX_TENSORS];
	int err, rc;

	if ((err = kl_gpu_set_poison(set_of(t, place), t->device, seed)) < 0 || (err = restore(t, place)) < 0)
		return err;
	if (!x->vendor)
		return kl_gpu_bound_ready(bound_of(t, x, place), t->device, seed);
	if (!x->vendor->before)
		return 0;
	addresses(at, set_of(t, place));
	rc = x->vendor->before(x->vendor, at);
	return rc ? kl_error(KL_EIO, "the library failed before the call: status %d", rc) : 0;
}

static int finish(struct time *t, struct subject *x, uint32_t place)
{
	uint64_t at[KL_GPU_MAX_TENSORS];
	int rc;

	if (!x->vendor || !x->vendor->after)
		return 0;
	addresses(at, set_of(t, place));
	rc = x->vendor->after(x->vendor, at);
	return rc ? kl_error(KL_EIO, "the library failed after the call: status %d", rc) : 0;
}

/* The call itself, enqueued: 0, or what refused it. */
static int launch(struct time *t, struct subject *x, uint32_t place, int *which)
{
	uint64_t at[KL_GPU_MAX_TENSORS];

	*which = -1;
	if (!x->vendor)
		return kl_gpu_bound_launch(bound_of(t, x, place), t->device, which);
	addresses(at, set_of(t, place));
	return x->vendor->run(x->vendor, at);
}

/* Inputs read by a kernel of ours: in the L2 cache as far as they fit. */
static int touch(struct time *t, uint32_t place)
{
	const struct kl_gpu_set *set = set_of(t, place);
	int err = 0;

	for (size_t i = 0; i < set->n && err == 0; i++)
		if (set->layout[i].tensor && !set->layout[i].output && set->layout[i].bytes)
			err = kl_gpu_fingerprint_to(t->device, t->sink, set->buffer[i].at,
						    set->layout[i].bytes, 0);
	return err;
}

/* Without the reset of persisting lines, which may wait for the stream. */
static int flush(struct time *t)
{
	int rc = t->cu->set32(t->device->flush_at, 0x5a5a5a5a, t->device->flush_bytes / 4,
			      t->device->stream);

	return rc ? kl_gpu_error(t->cu, rc, KL_EIO, "cannot flush the L2 cache") : 0;
}

static int print(struct time *t, uint32_t call, uint32_t place)
{
	const struct kl_gpu_set *set = set_of(t, place);
	int err = 0;

	for (size_t i = 0; i < set->n && err == 0; i++)
		if (set->layout[i].tensor && set->layout[i].writable && set->layout[i].bytes)
			err = kl_gpu_fingerprint_to(t->device,
						    t->prints + 16 * (call * KL_GPU_MAX_TENSORS + i),
						    set->buffer[i].at, set->layout[i].bytes, t->key);
	return err;
}

static int stamp(struct time *t, uint32_t call, int which)
{
	return kl_gpu_stamp_to(&t->tool, t->stamps + (2 * call + (uint64_t)which) *
						     sizeof(struct kl_gpu_stamp));
}

/* -- how it ended ---------------------------------------------------------------------- */

static size_t launches(const struct time *t, const struct subject *x)
{
	return x->vendor ? VENDOR_OPS : kl_gpu_bound_launches(bound_of(t, x, 0));
}

static void note_end(struct time *t, struct kl_gpu_time_end *how, const struct subject *x, int end, int rc,
		     int which)
{
	how->end = end;
	how->launch = end == KL_GPU_CALL_FAULT && launches(t, x) > 1 ? -1 : which;
	if (rc && !x->vendor)
		kl_gpu_driver_name(t->cu, rc, how->name);
	else if (rc)
		snprintf(how->name, sizeof(how->name), "status %d", rc);
	if (!x->vendor)
		snprintf(how->kernel, sizeof(how->kernel), "%s",
			 kl_gpu_bound_kernel(bound_of(t, x, 0), how->launch));
}

/*
 * Wait for what was enqueued; `rc` is what refused a launch, or 0. Negative: the machine is in trouble; 0
 * and how->end otherwise.
 */
static int settle(struct time *t, struct kl_gpu_time_end *how, const struct subject *x, int rc, int which,
		  int64_t limit_ms)
{
	int ran;

	kl_gpu_release(&t->tool);
	ran = kl_gpu_wait(t->device, limit_ms + OWN_MS);
	if (ran == KL_CU_NOT_READY)
		note_end(t, how, x, KL_GPU_CALL_HANG, 0, which);
	else if (ran && kl_gpu_is_fault(ran))
		note_end(t, how, x, KL_GPU_CALL_FAULT, ran, which);
	else if (ran)
		return kl_gpu_error(t->cu, ran, KL_EIO, "the GPU fails while it is timed");
	else if (rc)
		note_end(t, how, x, KL_GPU_CALL_REFUSED, rc, which);
	return 0;
}

static void check_scratch(struct time *t, struct subject *x, const struct kl_gpu_time_visit *q,
			  struct kl_gpu_time_visited *out)
{
	for (uint32_t i = 0; i < q->ncall && !x->vendor; i++)
		if (kl_gpu_bound_check(bound_of(t, x, q->which[i]), t->device) == KL_ENO) {
			out->how.end = KL_GPU_CALL_SCRATCH;
			snprintf(out->r.message, sizeof(out->r.message), "%s", kl_error_last());
			kl_error_clear();
			return;
		}
}

static int read_back(struct time *t, void *to, uint64_t from, size_t n)
{
	int rc = t->cu->to_host(to, from, n, t->device->stream);

	if (!rc)
		rc = t->cu->stream_sync(t->device->stream);
	return rc ? kl_gpu_error(t->cu, rc, KL_EIO, "cannot read from the GPU") : 0;
}

/* One fingerprint of a call from those of its outputs. */
static int read_prints(struct time *t, const struct kl_gpu_time_visit *q, struct kl_gpu_time_visited *out)
{
	KL_AUTO(kl_freep) uint64_t *all = kl_malloc(PRINT_BYTES);
	int err = read_back(t, all, t->prints, (size_t)q->ncall * KL_GPU_MAX_TENSORS * 16);

	if (err < 0)
		return err;
	for (uint32_t c = 0; c < q->ncall; c++) {
		const struct kl_gpu_set *set = set_of(t, q->which[c]);

		for (size_t i = 0; i < set->n; i++) {
			const uint64_t *p = all + 2 * (c * KL_GPU_MAX_TENSORS + i);

			if (!set->layout[i].tensor || !set->layout[i].writable || !set->layout[i].bytes)
				continue;
			out->print[c][0] = kl_gpu_mix(out->print[c][0] ^ p[0], i);
			out->print[c][1] = kl_gpu_mix(out->print[c][1] ^ p[1], i);
		}
	}
	return 0;
}

static int read_clock(struct time *t, uint32_t n, double *mhz)
{
	KL_AUTO(kl_freep) struct kl_gpu_stamp *s = kl_malloc(STAMP_BYTES);
	uint64_t ns = 0, cycles = 0;
	int err = read_back(t, s, t->stamps, n * 2 * sizeof(*s));

	if (err < 0)
		return err;
	for (uint32_t i = 0; i < n; i++) {
		if (!s[2 * i].clock || s[2 * i + 1].clock <= s[2 * i].clock ||
		    s[2 * i + 1].timer_ns <= s[2 * i].timer_ns)
			continue;
		ns += s[2 * i + 1].timer_ns - s[2 * i].timer_ns;
		cycles += s[2 * i + 1].clock - s[2 * i].clock;
	}
	*mhz = ns ? (double)cycles / (double)ns * 1e3 : 0;
	return 0;
}

static double event_ns(struct time *t, uint32_t call)
{
	float ms = 0;

	return t->cu->event_ms(&ms, t->before[call], t->after[call]) ? -1 : (double)ms * 1e6;
}

/* -- a visit: call by call --------------------------------------------------------------- */

/* About what one call and all around it take of the stream's queue. */
static size_t operations(const struct time *t, const struct subject *x)
{
	return 2 * (launches(t, x) + KL_PLAN_MAX_SCRATCH) + 4 * set_of(t, 0)->n + 16;
}

static int enqueue_call(struct time *t, struct subject *x, const struct kl_gpu_time_visit *q, uint32_t c,
			int *rc, int *which)
{
	uint32_t place = q->which[c];
	bool hot = q->mode == KL_GPU_TIME_HOT;
	int err;

	if ((err = kl_gpu_scrub(t->device)) < 0 || (hot && (err = ready(t, x, q->warm, ~q->seed)) < 0) ||
	    (err = ready(t, x, place, q->seed + 2 * c)) < 0)
		return err;
	if (hot) {
		if ((err = touch(t, place)) < 0)
			return err;
		if ((*rc = launch(t, x, q->warm, which)))
			return 0;
	} else if ((err = flush(t)) < 0) {
		return err;
	}
	if ((err = stamp(t, c, 0)) < 0)
		return err;
	t->cu->event_record(t->before[c], t->device->stream);
	*rc = launch(t, x, place, which);
	t->cu->event_record(t->after[c], t->device->stream);
	if (*rc)
		return 0;
	if ((err = stamp(t, c, 1)) < 0 || (err = finish(t, x, place)) < 0)
		return err;
	return print(t, c, place);
}

static int reset_l2(struct time *t)
{
	int rc = t->device->facts.persisting_l2 ? t->cu->ctx_reset_l2() : 0;

	return rc ? kl_gpu_error(t->cu, rc, KL_EIO, "cannot reset the L2 cache") : 0;
}

/* As many calls behind one hold as the queue takes. */
static int visit_calls(struct time *t, struct subject *x, const struct kl_gpu_time_visit *q,
		       struct kl_gpu_time_visited *out)
{
	size_t most = KL_GPU_HOLD_OPS / operations(t, x), n;
	int err = 0, rc = 0, which = -1;
	bool late[KL_GPU_TIME_CALLS] = { false };

	for (uint32_t c = 0; c < q->ncall && err == 0 && out->how.end == KL_GPU_CALL_OK; c += (uint32_t)n) {
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
		err = settle(t, &out->how, x, rc, which, q->limit_ms);
	}
	for (uint32_t c = 0; c < q->ncall && err == 0 && out->how.end == KL_GPU_CALL_OK; c++)
		out->ns[c] = late[c] ? -1 : event_ns(t, c);
	out->ntime = q->ncall;
	return err;
}

/* -- a visit: all calls at once ---------------------------------------------------------- */

static int launch_all(struct time *t, struct subject *x, const struct kl_gpu_time_visit *q, int *which)
{
	int rc = 0;

	for (uint32_t c = 0; c < q->ncall && !rc; c++)
		rc = launch(t, x, q->which[c], which);
	return rc;
}

/*
 * A graph of the calls; without one where it cannot be captured. Made anew for every batch: one
 * graph is faster than its like by up to one in a hundred, for as long as it lives.
 */
static void make_graph(struct time *t, struct subject *x, const struct kl_gpu_time_visit *q)
{
	struct kl_cu_graph *g = NULL;
	int which, rc;

	drop_graph(t, x);
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

static int prepare_batch(struct time *t, struct subject *x, const struct kl_gpu_time_visit *q)
{
	int err = 0;

	for (uint32_t c = 0; c < q->ncall && err == 0; c++)
		err = ready(t, x, q->which[c], q->seed + 2 * c);
	if (err < 0 || (err = kl_gpu_scrub(t->device)) < 0)
		return err;
	if (q->mode == KL_GPU_TIME_BATCH_COLD)
		return flush(t);
	for (uint32_t c = 0; c < q->ncall && err == 0; c++)
		err = touch(t, q->which[c]);
	return err;
}

static int visit_batch(struct time *t, struct subject *x, const struct kl_gpu_time_visit *q,
		       struct kl_gpu_time_visited *out)
{
	int err, rc, which = -1;
	bool late;

	make_graph(t, x, q);
	if ((err = reset_l2(t)) < 0 || (err = prepare_batch(t, x, q)) < 0)
		return err;
	if ((rc = kl_gpu_wait(t->device, OWN_MS)))
		return kl_gpu_error(t->cu, rc, KL_EIO, "the GPU fails before it is timed");
	if ((err = kl_gpu_hold(&t->tool)) < 0)
		return err;
	if ((err = stamp(t, 0, 0)) < 0) {
		kl_gpu_release(&t->tool);
		return err;
	}
	t->cu->event_record(t->before[0], t->device->stream);
	rc = x->graph ? t->cu->graph_launch(x->graph, t->device->stream) : launch_all(t, x, q, &which);
	t->cu->event_record(t->after[0], t->device->stream);
	err = stamp(t, 0, 1);
	late = t->cu->event_query(t->before[0]) != KL_CU_NOT_READY;
	for (uint32_t c = 0; c < q->ncall && err == 0 && !rc; c++)
		if ((err = finish(t, x, q->which[c])) == 0)
			err = print(t, c, q->which[c]);
	if (err < 0) {
		kl_gpu_release(&t->tool);
		return err;
	}
	if ((err = settle(t, &out->how, x, rc, which, q->limit_ms)) < 0)
		return err;
	out->ntime = 1;
	out->ns[0] = late ? -1 : event_ns(t, 0) / q->ncall;
	return 0;
}

static int visit(struct time *t, const struct kl_gpu_time_visit *q, struct kl_gpu_time_visited *out)
{
	bool batch = q->mode == KL_GPU_TIME_BATCH_COLD || q->mode == KL_GPU_TIME_BATCH_HOT;
	struct subject *x = NULL;
	int err = get_subject(&x, t, q->head.slot);

	if (err == 0 && (q->ncall < 1 || q->ncall > t->nset || q->mode > KL_GPU_TIME_BATCH_HOT))
		err = kl_error(KL_EINVALID, "%u calls on %u sets", q->ncall, t->nset);
	for (uint32_t i = 0; err == 0 && i < q->ncall; i++)
		err = q->which[i] == q->warm && q->mode == KL_GPU_TIME_HOT ?
			      kl_error(KL_EINVALID, "a call on the set that warms it up") :
			      get_place(t, q->which[i]);
	if (err == 0 && q->mode == KL_GPU_TIME_HOT)
		err = get_place(t, q->warm);
	if (err < 0)
		return err;
	out->ncall = q->ncall;
	/* a stamp of an earlier visit is none of this one */
	if ((err = t->cu->set8(t->stamps, 0, STAMP_BYTES, t->device->stream)))
		return kl_gpu_error(t->cu, err, KL_EIO, "cannot write to the GPU");
	err = batch ? visit_batch(t, x, q, out) : visit_calls(t, x, q, out);
	if (err < 0 || out->how.end != KL_GPU_CALL_OK)
		return err;
	check_scratch(t, x, q, out);
	if ((err = read_prints(t, q, out)) < 0)
		return err;
	return read_clock(t, batch ? 1 : q->ncall, &out->mhz);
}

/* -- by the clock -------------------------------------------------------------------------- */

/* n calls, one after the other over the sets: by our clock, from their release, and by events. */
static int run_of(struct time *t, struct subject *x, uint32_t n, struct kl_gpu_time_end *how,
		  int64_t limit_ms, double *wall_ns, double *device_ns)
{
	int64_t from;
	int err = kl_gpu_hold(&t->tool), rc = 0, which = -1;

	if (err < 0)
		return err;
	t->cu->event_record(t->before[0], t->device->stream);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = launch(t, x, i % t->nset, &which);
	t->cu->event_record(t->after[0], t->device->stream);
	from = kl_clock_ns();
	err = settle(t, how, x, rc, which, limit_ms);
	*wall_ns = (double)(kl_clock_ns() - from);
	*device_ns = err == 0 && how->end == KL_GPU_CALL_OK ? event_ns(t, 0) : 0;
	return err;
}

static int ready_all(struct time *t, struct subject *x, uint64_t seed)
{
	int err = 0, rc;

	for (uint32_t i = 0; i < t->nset && err == 0; i++)
		err = ready(t, x, i, seed);
	if (err == 0 && (rc = kl_gpu_wait(t->device, OWN_MS)))
		err = kl_gpu_error(t->cu, rc, KL_EIO, "the GPU fails before it is timed");
	return err;
}

#define SLOPE_ROUNDS KL_GPU_TIME_SLOPE_ROUNDS

struct slope {
	double wall[2][SLOPE_ROUNDS], device[2][SLOPE_ROUNDS];	/* of n calls, of 2 n */
};

static int run_slopes(struct time *t, struct subject *x, const struct kl_gpu_time_slope *q, uint32_t calls,
		      struct slope *s, struct kl_gpu_time_end *how)
{
	int err = 0;

	for (uint32_t i = 0; i < q->rounds && err == 0; i++) {
		err = ready_all(t, x, t->key + i);
		for (int k = 0; k < 2 && err == 0; k++) {
			err = run_of(t, x, calls << k, how, q->limit_ms, &s->wall[k][i],
				     &s->device[k][i]);
			if (how->end != KL_GPU_CALL_OK)
				return err;
		}
	}
	return err;
}

/* What disturbs a processor makes it later, never earlier: the least times are compared. */
static int slope(struct time *t, const struct kl_gpu_time_slope *q, struct kl_gpu_time_sloped *out)
{
	uint32_t calls = q->calls ? q->calls : 1;
	struct subject *x = NULL;
	struct slope s;
	double spread;
	int err = get_subject(&x, t, q->head.slot);

	if (err == 0 && (q->rounds < 1 || q->rounds > SLOPE_ROUNDS))
		err = kl_error(KL_EINVALID, "%u rounds for a slope", q->rounds);
	/* as many as can be enqueued behind one hold */
	while (err == 0 && calls > 1 && 2 * calls * launches(t, x) > KL_GPU_HOLD_OPS)
		calls /= 2;
	if (err < 0 || (err = run_slopes(t, x, q, calls, &s, &out->how)) < 0 ||
	    out->how.end != KL_GPU_CALL_OK)
		return err;
	spread = kl_stats_median(s.wall[1], q->rounds) - s.wall[1][0];	/* sorted */
	kl_stats_median(s.wall[0], q->rounds);
	kl_stats_median(s.device[0], q->rounds);
	kl_stats_median(s.device[1], q->rounds);
	out->wall_ns = (s.wall[1][0] - s.wall[0][0]) / calls;
	out->event_ns = (s.device[1][0] - s.device[0][0]) / calls;
	out->spread_ns = spread / calls;
	return 0;
}

/* -- as others do it ------------------------------------------------------------------------ */

/*
 * Triton's do_bench: always the same buffers, warm-up calls without a flush, then each call behind a
 * zeroing of 256 MB, which also hides the launch; the median of event times. Nothing is checked.
 */
static int bench(struct time *t, const struct kl_gpu_time_bench *q, struct kl_gpu_time_benched *out)
{
	KL_AUTO(kl_freep) double *ns = kl_calloc(q->calls ? q->calls : 1, sizeof(*ns));
	struct subject *x = NULL;
	size_t n = 0;
	int err = get_subject(&x, t, q->head.slot), rc = 0, which = -1;

	if (err == 0 && (q->calls < 1 || q->calls > 1000 || q->warm > 1000))
		err = kl_error(KL_EINVALID, "%u calls for do_bench", q->calls);
	if (err == 0 && !t->bench)
		err = device_memory(&t->bench, t->device, BENCH_BYTES);
	if (err < 0 || (err = ready_all(t, x, t->key)) < 0)
		return err;
	for (uint32_t i = 0; i < q->warm && !rc; i++)
		rc = launch(t, x, 0, &which);
	for (uint32_t c = 0; c < q->calls && !rc; c += KL_GPU_TIME_CALLS) {
		uint32_t part = q->calls - c < KL_GPU_TIME_CALLS ? q->calls - c : KL_GPU_TIME_CALLS;

		for (uint32_t i = 0; i < part && !rc; i++) {
			t->cu->set32(t->bench, 0, BENCH_BYTES / 4, t->device->stream);
			t->cu->event_record(t->before[i], t->device->stream);
			rc = launch(t, x, 0, &which);
			t->cu->event_record(t->after[i], t->device->stream);
		}
		if ((err = settle(t, &out->how, x, rc, which, q->limit_ms)) < 0 ||
		    out->how.end != KL_GPU_CALL_OK)
			return err;
		for (uint32_t i = 0; i < part; i++)
			ns[n++] = event_ns(t, i);
	}
	if (rc)
		return settle(t, &out->how, x, rc, which, q->limit_ms);
	out->median_ns = kl_stats_median(ns, n);
	return 0;
}

/* -- inputs and outputs --------------------------------------------------------------------- */

static int upload(struct time *t, uint32_t place)
{
	struct kl_gpu_set *set;
	int err = get_place(t, place), rc;

	if (err < 0 || (err = kl_gpu_serve_upload(t->s, &t->s->set[t->set[place]])) < 0)
		return err;
	set = set_of(t, place);
	for (size_t i = 0; i < set->n; i++) {
		struct pristine *p = &t->pristine[place];

		if (!set->layout[i].tensor || !set->layout[i].writable || set->layout[i].output ||
		    !set->layout[i].bytes)
			continue;
		if (!p->has[i] && (err = kl_gpu_buffer_make(&p->copy[i], t->device, set->layout[i].bytes,
							    256, false)) < 0)
			return err;
		p->has[i] = true;
		if ((rc = t->cu->copy(p->copy[i].at, set->buffer[i].at, set->layout[i].bytes,
				      t->device->stream)))
			return kl_gpu_error(t->cu, rc, KL_EIO, "cannot copy on the GPU");
	}
	rc = kl_gpu_wait(t->device, OWN_MS);
	return rc ? kl_gpu_error(t->cu, rc, KL_EIO, "cannot copy to the GPU") : 0;
}

static int fetch(struct time *t, uint32_t place)
{
	int err = get_place(t, place);

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

static int serve(struct kl_gpu_serve *s, const struct kl_gpu_head *h, union reply *r, size_t *n)
{
	const void *q = h;
	struct time *t = NULL;
	int err;

	*n = sizeof(r->plain);
	switch (h->op) {
	case KL_GPU_TIME_BEGIN: *n = sizeof(r->begun); break;
	case KL_GPU_TIME_VENDOR: *n = sizeof(r->vendored); break;
	case KL_GPU_TIME_VISIT: *n = sizeof(r->visited); break;
	case KL_GPU_TIME_SLOPE: *n = sizeof(r->sloped); break;
	case KL_GPU_TIME_BENCH: *n = sizeof(r->benched); break;
	}
	if ((err = time_open(&t, s)) < 0)
		return err;
	switch (h->op) {
	case KL_GPU_TIME_BEGIN: return begin(t, q, &r->begun.bytes_per_ns);
	case KL_GPU_TIME_BOUND: return add_bound(t, q);
	case KL_GPU_TIME_VENDOR: return add_vendor(t, q, r->vendored.what);
	case KL_GPU_TIME_UPLOAD: return upload(t, h->slot);
	case KL_GPU_TIME_FETCH: return fetch(t, h->slot);
	case KL_GPU_TIME_VISIT: return visit(t, q, &r->visited);
	case KL_GPU_TIME_LAUNCHER: return add_launcher(t, q);
	case KL_GPU_TIME_SLOPE: return slope(t, q, &r->sloped);
	default: return bench(t, q, &r->benched);
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
	err = serve(s, h, &r, &size);
	r.plain.err = err;
	if (err < 0)
		snprintf(r.plain.message, sizeof(r.plain.message), "%s", kl_error_last());
	kl_error_clear();
	return kl_gpu_serve_reply(s, h, &r, size);
}
