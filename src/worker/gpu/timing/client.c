/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/timing/client.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/stats.h"
#include "worker/gpu/plan_text.h"
#include "worker/gpu/process_pool.h"
#include "worker/subject/poison.h"

#define ASK_MS 120000
#define OUTSIDE_ROUNDS 3
/* More sets cost more to make than they are worth. */
#define MOST_SETS 48
/* Of the device's memory. */
#define MEMORY_SHARE 4
#define MEMORY_SHARE_HOST 16 /* several processes have sets */

const char *kl_gpu_timer_what(const struct kl_job *job, int who)
{
	return who == KL_BLOCKS_PARENT   ? "parent" :
	       who == KL_BLOCKS_BASELINE ? job->baseline :
					   "the kernel";
}

static struct kl_gpu_child *child_of(const struct kl_gpu_timer *t, int who)
{
	return t->child[t->job->host ? who : 0];
}

/* -- tensors ---------------------------------------------------------------------- */

static void lay_out(struct kl_gpu_timer *t)
{
	int64_t size[KL_JOB_MAX_ARGS];

	kl_job_tensor_bytes(size, t->job, t->point, 0);
	for (size_t i = 0; i < t->job->nargs; i++) {
		struct kl_gpu_tensor_layout *l = &t->layout[i];
		enum kl_role role = t->job->arg[i].role;

		l->tensor = role == KL_ROLE_IN || role == KL_ROLE_OUT || role == KL_ROLE_INOUT;
		if (!l->tensor)
			continue;
		l->bytes = (uint64_t)size[i];
		l->writable = role != KL_ROLE_IN;
		l->output = role == KL_ROLE_OUT;
		kl_poison_mask(&l->keep, &l->set, t->job->arg[i].dtype, false);
		kl_poison_mask(&l->keep_like, &l->set_like, t->job->arg[i].dtype, true);
		t->bytes += l->bytes;
	}
}

/*
 * Cold: so many that together they are twice the L2 cache. Hot: as many as surely stay
 * in it. Never fewer than there are inputs, since these have to differ.
 */
static size_t count_sets(const struct kl_gpu_timer *t)
{
	const struct kl_gpu_facts *f = kl_gpu_child_facts(t->child[0]);
	uint64_t one = t->bytes ? t->bytes : 1;
	uint64_t n = t->point->hot ? (uint64_t)f->l2 / 4 / one : 2 * (uint64_t)f->l2 / one + 1;
	uint64_t most = (uint64_t)f->bytes / (t->job->host ? MEMORY_SHARE_HOST : MEMORY_SHARE) /
			one;

	n = n < most ? n : most;
	n = n < MOST_SETS ? n : MOST_SETS;
	return n > t->nmember ? (size_t)n : t->nmember;
}

static int make_hosts(struct kl_gpu_timer *t)
{
	int err;

	for (size_t m = 0; m < t->nmember; m++) {
		if ((err = kl_gpu_host_make(&t->host[m], t->layout, t->job->nargs)) < 0)
			return err;
		for (size_t i = 0; i < t->job->nargs; i++)
			if (t->member[m]->input[i])
				memcpy(t->host[m].at + t->host[m].offset[i], t->member[m]->input[i],
				       t->layout[i].bytes);
	}
	t->nset = count_sets(t);
	return 0;
}

static int make_sets(struct kl_gpu_timer *t, int who)
{
	int err;

	for (size_t i = 0; i < t->nset; i++)
		if ((err = kl_gpu_child_set(child_of(t, who), (uint32_t)i, t->layout, t->job->nargs,
					    i % 2, &t->host[i % t->nmember])) < 0)
			return err;
	return 0;
}

/* -- asking ------------------------------------------------------------------------ */

static int ask_child(struct kl_gpu_timer *t, int who, void *q, size_t n, void *reply, size_t nreply,
		     int64_t limit_ms)
{
	return kl_gpu_child_ask(child_of(t, who), q, n, -1, reply, nreply, limit_ms);
}

static int begin_child(struct kl_gpu_timer *t, int who)
{
	struct kl_gpu_time_begin q = { .head = kl_gpu_head((enum kl_gpu_op)KL_GPU_TIME_BEGIN, 0,
							   sizeof(q)),
				       .nset = (uint32_t)t->nset,
				       .key = kl_rng_os_seed() };
	struct kl_gpu_time_begun r;
	struct kl_gpu_reply plain;
	int err;

	for (uint32_t i = 0; i < t->nset; i++)
		q.set[i] = i;
	if ((err = ask_child(t, who, &q, sizeof(q), &r, sizeof(r), ASK_MS)) < 0)
		return err;
	t->bytes_per_ns = r.bytes_per_ns;
	for (uint32_t i = 0; i < t->nset; i++) {
		struct kl_gpu_head h = kl_gpu_head((enum kl_gpu_op)KL_GPU_TIME_UPLOAD, i,
						   sizeof(h));

		if ((err = ask_child(t, who, &h, sizeof(h), &plain, sizeof(plain), ASK_MS)) < 0)
			return err;
	}
	return 0;
}

static int add_plan(struct kl_gpu_timer *t, int who, const char *cubin, const struct kl_plan *plan)
{
	struct kl_gpu_time_bound q = {
		.head = kl_gpu_head((enum kl_gpu_op)KL_GPU_TIME_BOUND, (uint32_t)who, sizeof(q)),
	};
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	struct kl_gpu_reply r;
	int err = kl_gpu_child_module(child_of(t, who), (uint32_t)who, cubin);

	if (err < 0)
		return err;
	doc = kl_gpu_doc_make(t->job, t->point, plan, 0);
	for (uint32_t i = 0; i < t->nset; i++) {
		q.bind[i] = (uint32_t)who * KL_GPU_TIME_CALLS + i;
		if ((err = kl_gpu_child_bind(child_of(t, who), q.bind[i], (uint32_t)who, i, doc,
					     kl_rng_os_seed(), t->job->call_ms)) < 0)
			return err;
	}
	return ask_child(t, who, &q, sizeof(q), &r, sizeof(r), ASK_MS);
}

static int add_vendor(struct kl_gpu_timer *t, int who)
{
	struct kl_gpu_time_vendor q = {
		.head = kl_gpu_head((enum kl_gpu_op)KL_GPU_TIME_VENDOR, (uint32_t)who, sizeof(q)),
	};
	struct kl_gpu_time_vendored r;
	int err;

	if (strlen(t->job->baseline) >= sizeof(q.spec.name))
		return kl_error(KL_ECANNOT, "no baseline of that name");
	memcpy(q.spec.name, t->job->baseline, strlen(t->job->baseline) + 1);
	q.spec.nargs = (uint32_t)t->job->nargs;
	for (size_t i = 0; i < t->job->nargs; i++) {
		q.spec.arg[i].role = (int32_t)t->job->arg[i].role;
		q.spec.arg[i].dtype = (int32_t)t->job->arg[i].dtype;
		q.spec.arg[i].naxes = (int32_t)t->point->arg[i].naxes;
		memcpy(q.spec.arg[i].extent, t->point->arg[i].extent, sizeof(q.spec.arg[i].extent));
	}
	if ((err = ask_child(t, who, &q, sizeof(q), &r, sizeof(r), ASK_MS)) < 0)
		return err;
	memcpy(t->library, r.what, sizeof(t->library));
	t->library[sizeof(t->library) - 1] = '\0';
	return 0;
}

static int add_host(struct kl_gpu_timer *t, int who, const char *so)
{
	struct kl_gpu_time_launcher q = {
		.head = kl_gpu_head((enum kl_gpu_op)KL_GPU_TIME_LAUNCHER, (uint32_t)who, sizeof(q)),
	};
	struct kl_gpu_reply r;
	int err = kl_gpu_child_launcher(child_of(t, who), so, false);

	if (err < 0)
		return err;
	kl_gpu_keep_walled(t->job->gpu, child_of(t, who));
	memcpy(q.dim, t->point->dim, sizeof(q.dim));
	return ask_child(t, who, &q, sizeof(q), &r, sizeof(r), ASK_MS);
}

static int add_child(struct kl_gpu_timer *t, int who)
{
	const struct kl_job *j = t->job;

	if (j->host && who != KL_BLOCKS_BASELINE)
		return add_host(t, who, who == KL_BLOCKS_PARENT ? j->parent_so : j->candidate_so);

	switch (who) {
	case KL_BLOCKS_PARENT:
		return add_plan(t, who, j->parent_so, j->parent_plan);
	case KL_BLOCKS_BASELINE:
		return j->baseline_so ? add_plan(t, who, j->baseline_so, j->baseline_plan) :
					add_vendor(t, who);
	default:
		return add_plan(t, who, j->candidate_so, j->plan);
	}
}

/* -- life ---------------------------------------------------------------------------- */

/* Process, tensors, inputs; with host code for each subject. */
static int start_child(struct kl_gpu_timer *t, int who)
{
	struct kl_gpu_child **c = &t->child[t->job->host ? who : 0];
	int err = t->job->host && who != KL_BLOCKS_BASELINE ? kl_gpu_keep_host(c, t->job) :
							      kl_gpu_keep_child(c, t->job, NULL);

	if (err < 0)
		return err;
	if (!t->nset) {
		t->l2 = (uint64_t)kl_gpu_child_facts(child_of(t, who))->l2;
		if ((err = make_hosts(t)) < 0)
			return err;
	}
	if ((err = make_sets(t, who)) < 0)
		return err;
	return begin_child(t, who);
}

static int load_children(struct kl_gpu_timer *t, bool there[KL_BLOCKS_SUBJECTS], json_t *notes)
{
	int err = t->job->host ? 0 : start_child(t, 0);

	for (int who = 0; who < KL_BLOCKS_SUBJECTS && err == 0; who++) {
		if (!there[who] || ((err = t->job->host ? start_child(t, who) : 0) == 0 &&
				    (err = add_child(t, who)) == 0))
			continue;
		if (who < KL_BLOCKS_PARENT)
			return err;
		kl_blocks_note(notes, "%s is not compared: %s", kl_gpu_timer_what(t->job, who),
			       kl_error_last());
		there[who] = false;
		/* once more, without it */
		err = kl_gpu_timer_alive(t) ? 0 : KL_EBUSY;
	}
	memcpy(t->there, there, sizeof(t->there));
	return err;
}

bool kl_gpu_timer_alive(const struct kl_gpu_timer *t)
{
	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++)
		if (t->child[i] && !kl_gpu_child_alive(t->child[i]))
			return false;
	return true;
}

int kl_gpu_timer_open(struct kl_gpu_timer **out, const struct kl_job *job,
		      const struct kl_point *pt, const struct kl_member *const *member,
		      size_t nmember, bool there[KL_BLOCKS_SUBJECTS], json_t *notes)
{
	int err;

	do {
		KL_AUTO(kl_gpu_timer_freep) struct kl_gpu_timer *t = kl_calloc(1, sizeof(*t));

		t->job = job;
		t->point = pt;
		t->nmember = nmember < KL_GPU_TIMER_MEMBERS ? nmember : KL_GPU_TIMER_MEMBERS;
		memcpy(t->member, member, t->nmember * sizeof(*member));
		for (size_t i = 0; i < KL_GPU_TIMER_MEMBERS; i++)
			t->host[i].fd = -1;
		lay_out(t);
		if ((err = load_children(t, there, notes)) == 0)
			*out = kl_steal(&t);
	} while (err == KL_EBUSY);
	return err;
}

void kl_gpu_timer_free(struct kl_gpu_timer *t)
{
	if (!t)
		return;
	/* what it holds is of this point alone */
	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++) {
		if (!t->child[i])
			continue;
		if (kl_gpu_child_alive(t->child[i]))
			kl_gpu_child_kill(t->child[i]);
		kl_gpu_keep_back(t->job->gpu, t->child[i]);
	}
	for (size_t i = 0; i < KL_GPU_TIMER_MEMBERS; i++)
		kl_gpu_host_release(&t->host[i]);
	free(t);
}

/* -- measuring ------------------------------------------------------------------------- */

static void end_strings(struct kl_gpu_time_end *how)
{
	how->name[sizeof(how->name) - 1] = '\0';
	how->kernel[sizeof(how->kernel) - 1] = '\0';
}

/* A process that does not answer was held up by the kernel. */
static int is_hung(int err, struct kl_gpu_time_end *how)
{
	if (err != KL_ETIMEOUT)
		return err;
	kl_error_clear();
	how->end = KL_GPU_CALL_HANG;
	return 0;
}

int kl_gpu_timer_visit(struct kl_gpu_timer *t, int who, enum kl_gpu_time_mode mode,
		       const uint32_t *which, size_t n, uint32_t warm, uint64_t seed,
		       struct kl_gpu_time_visited *out)
{
	struct kl_gpu_time_visit q = {
		.head = kl_gpu_head((enum kl_gpu_op)KL_GPU_TIME_VISIT, (uint32_t)who, sizeof(q)),
		.mode = mode,
		.ncall = (uint32_t)n,
		.warm = warm,
		.seed = seed,
		.limit_ms = t->job->call_ms * (int64_t)n,
	};
	int err;

	memset(out, 0, sizeof(*out));
	t->last = who;
	memcpy(q.which, which, n * sizeof(*which));
	err = is_hung(ask_child(t, who, &q, sizeof(q), out, sizeof(*out), q.limit_ms + ASK_MS),
		      &out->how);
	if (err == 0 && (out->ncall > n || out->ntime > n))
		return kl_error(KL_EIO, "the GPU process answers for %u calls", out->ncall);
	end_strings(&out->how);
	return err;
}

int kl_gpu_timer_slope(struct kl_gpu_timer *t, int who, uint32_t calls, uint32_t rounds,
		       struct kl_gpu_time_sloped *out)
{
	struct kl_gpu_time_slope q = {
		.head = kl_gpu_head((enum kl_gpu_op)KL_GPU_TIME_SLOPE, (uint32_t)who, sizeof(q)),
		.calls = calls,
		.rounds = rounds,
		.limit_ms = 2 * t->job->call_ms * calls,
	};

	memset(out, 0, sizeof(*out));
	return is_hung(ask_child(t, who, &q, sizeof(q), out, sizeof(*out),
				 10 * q.limit_ms + ASK_MS),
		       &out->how);
}

int kl_gpu_timer_bench(struct kl_gpu_timer *t, int who, uint32_t warm, uint32_t calls,
		       struct kl_gpu_time_benched *out)
{
	struct kl_gpu_time_bench q = {
		.head = kl_gpu_head((enum kl_gpu_op)KL_GPU_TIME_BENCH, (uint32_t)who, sizeof(q)),
		.warm = warm,
		.calls = calls,
		.limit_ms = t->job->call_ms * KL_GPU_TIME_CALLS,
	};

	memset(out, 0, sizeof(*out));
	return is_hung(ask_child(t, who, &q, sizeof(q), out, sizeof(*out), 4 * q.limit_ms + ASK_MS),
		       &out->how);
}

int kl_gpu_timer_outside(struct kl_gpu_timer *t, int who, uint32_t calls, uint32_t rounds,
			 double *ns)
{
	struct kl_gpu_time_sloped r;
	double took[2][OUTSIDE_ROUNDS];
	uint32_t times = rounds < OUTSIDE_ROUNDS ? rounds : OUTSIDE_ROUNDS;
	int err = 0;

	*ns = NAN;
	for (uint32_t i = 0; i < times; i++)
		for (int k = 0; k < 2; k++) {
			int64_t from = kl_clock_ns();

			if ((err = kl_gpu_timer_slope(t, who, calls << k, rounds, &r)) < 0 ||
			    r.how.end != KL_GPU_CALL_OK)
				return err;
			took[k][i] = (double)(kl_clock_ns() - from);
		}
	/* sorted by this: what disturbs makes it later */
	kl_stats_median(took[0], times);
	kl_stats_median(took[1], times);
	*ns = (took[1][0] - took[0][0]) / (3.0 * calls * rounds);
	return 0;
}

int kl_gpu_timer_answer(struct kl_gpu_timer *t, uint32_t set, const void **got)
{
	int who = t->last;
	struct kl_gpu_head h = kl_gpu_head((enum kl_gpu_op)KL_GPU_TIME_FETCH, set, sizeof(h));
	const struct kl_gpu_host *host = &t->host[set % t->nmember];
	struct kl_gpu_reply r;
	int err = ask_child(t, who, &h, sizeof(h), &r, sizeof(r), ASK_MS);

	for (size_t i = 0; i < t->job->nargs; i++)
		got[i] = t->layout[i].tensor ? host->at + host->offset[i] : NULL;
	return err;
}
