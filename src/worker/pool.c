/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/rng.h"
#include "worker/compare.h"
#include "worker/fill.h"
#include "worker/poolkey.h"
#include "worker/tensor.h"
#include "worker/trial.h"

#define ALIGN 64	/* of the parts of a member's file: one cache line */

struct kl_pool {
	char *dir;
	uint64_t seed;
	size_t nrule;
	struct kl_member *member;
	size_t n, alloc;
	struct { void *at; size_t len; } *map;
};

/* Where a member's parts lie in its file. */
enum part { PART_INPUT, PART_TRUTH, PART_HONEST, PART_ABSUM, PARTS };

struct layout {
	size_t at[KL_JOB_MAX_ARGS][PARTS];
	size_t bytes[KL_JOB_MAX_ARGS][PARTS];	/* 0: there is none */
	size_t total;
};

static bool is_elementwise(const struct kl_job *job, size_t arg)
{
	for (size_t i = 0; i < job->nrule; i++)
		if (job->rule[i].kind == KL_RULE_ELEMENTWISE && job->rule[i].out == (int)arg)
			return true;
	return false;
}

static void layout_init(struct layout *l, const struct kl_job *job, const struct kl_member *m)
{
	*l = (struct layout){ 0 };
	for (size_t i = 0; i < job->nargs; i++) {
		const struct kl_job_arg *a = &job->arg[i];
		bool real = kl_dtype_is_float(a->dtype);
		size_t n, size = kl_dtype_bytes(a->dtype);

		if (!kl_arg_is_input(a) && !kl_arg_is_output(a))
			continue;
		n = (size_t)kl_point_elements(m->point, i);
		if (kl_arg_is_input(a))
			l->bytes[i][PART_INPUT] = n * size;
		if (kl_arg_is_output(a)) {
			l->bytes[i][PART_TRUTH] = n * (real ? sizeof(double) : size);
			l->bytes[i][PART_HONEST] = real ? n * sizeof(float) : 0;
			if (real && !m->exact && is_elementwise(job, i))
				l->bytes[i][PART_ABSUM] = n * sizeof(double);
		}
		for (int p = 0; p < PARTS; p++) {
			l->at[i][p] = l->total;
			l->total += (l->bytes[i][p] + ALIGN - 1) / ALIGN * ALIGN;
		}
	}
	l->total += ALIGN;	/* so that even empty tensors have an address */
}

/* -- which members there are -------------------------------------------- */

static void plan_add(struct kl_pool *p, const struct kl_point *pt, const char *band, int draw,
		     bool exact)
{
	struct kl_member *m;

	KL_GROW(p->member, p->n + 1, p->alloc);
	m = &p->member[p->n++];
	*m = (struct kl_member){ .point = pt, .draw = draw, .exact = exact };
	snprintf(m->band, sizeof(m->band), "%s", band);
}

static bool sweeps(const struct kl_job *job)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (job->arg[i].sweep && kl_arg_is_input(&job->arg[i]))
			return true;
	return false;
}

static void plan(struct kl_pool *p, const struct kl_job *job)
{
	char band[32];

	for (size_t i = 0; i < job->npoint; i++) {
		const struct kl_point *pt = &job->point[i];

		for (int d = 0; d < (pt->perf ? KL_POOL_DRAWS : 1); d++)
			plan_add(p, pt, "noise", d, false);
		for (size_t e = 0; e < json_array_size(job->exact); e++) {
			snprintf(band, sizeof(band), "exact%zu", e);
			plan_add(p, pt, band, 0, true);
		}
		for (size_t b = 0; b < json_array_size(job->bands); b++) {
			snprintf(band, sizeof(band), "band%zu", b);
			plan_add(p, pt, band, 0, false);
		}
		if (pt->perf && sweeps(job)) {
			plan_add(p, pt, "scale-up", 0, false);
			plan_add(p, pt, "scale-down", 0, false);
		}
	}
}

static uint64_t member_seed(const struct kl_pool *p, const struct kl_member *m)
{
	char label[128];

	snprintf(label, sizeof(label), "%s/%s/%d", m->point->id, m->band, m->draw);
	return kl_rng_derive(p->seed, label);
}

static char *member_path(const struct kl_pool *p, size_t i)
{
	return kl_asprintf("%s/m%04zu", p->dir, i);
}

/* -- building ----------------------------------------------------------- */

/* The oracles at one point; `abs` has its own child, since scalars are absolute there too. */
struct oracles {
	struct kl_subject *truth, *honest, *abs;
	struct kl_job abs_job;
};

static void oracles_release(struct oracles *o)
{
	kl_subject_freep(&o->truth);
	kl_subject_freep(&o->honest);
	kl_subject_freep(&o->abs);
	*o = (struct oracles){ 0 };
}

static int oracles_start(struct oracles *o, const struct kl_job *job, const struct kl_point *pt)
{
	bool elementwise = false;
	int err = kl_trial_oracle_start(&o->truth, job, pt, true);

	if (err == 0)
		err = kl_trial_oracle_start(&o->honest, job, pt, false);
	for (size_t i = 0; i < job->nargs; i++)
		elementwise = elementwise || is_elementwise(job, i);
	if (err < 0 || !elementwise)
		return err;
	o->abs_job = *job;
	for (size_t i = 0; i < job->nargs; i++)
		o->abs_job.arg[i].value = fabs(job->arg[i].value);
	return kl_trial_oracle_start(&o->abs, &o->abs_job, pt, true);
}

static bool all_finite(enum kl_dtype t, const void *base, size_t n)
{
	double room[256];

	for (size_t off = 0; off < n; off += 256) {
		size_t part = n - off < 256 ? n - off : 256;

		kl_tensor_load(room, t, base, off, part);
		for (size_t i = 0; i < part; i++)
			if (!isfinite(room[i]))
				return false;
	}
	return true;
}

/* "C[3,4] at 'case0', band 'noise'" */
static const char *place(char *out, size_t cap, const struct kl_job *job, const struct kl_member *m,
			 size_t arg, size_t i)
{
	const struct kl_point *p = m->point;
	int64_t index[KL_JOB_MAX_AXES];
	size_t n = 0;

	kl_tensor_index(index, p->arg[arg].extent, p->arg[arg].naxes, i);
	n += (size_t)snprintf(out, cap, "%s[", job->arg[arg].name);
	for (size_t a = 0; a < p->arg[arg].naxes && n < cap; a++)
		n += (size_t)snprintf(out + n, cap - n, "%s%" PRId64, a ? "," : "", index[a]);
	if (n < cap)
		snprintf(out + n, cap - n, "] at '%s', band '%s'", p->id, m->band);
	return out;
}

/* Finite inputs must have a finite truth; only `bands` may ask for other answers. */
static int check_truth(const struct kl_job *job, const struct kl_member *m, const char *base,
		       const struct layout *l)
{
	bool finite = true;
	char at[200];

	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_input(&job->arg[i]) && kl_dtype_is_float(job->arg[i].dtype))
			finite = finite && all_finite(job->arg[i].dtype, base + l->at[i][PART_INPUT],
						      (size_t)kl_point_elements(m->point, i));
	for (size_t i = 0; i < job->nargs; i++) {
		const double *y = (const double *)(base + l->at[i][PART_TRUTH]);
		enum kl_dtype t = job->arg[i].dtype;

		if (!kl_arg_is_output(&job->arg[i]) || !kl_dtype_is_float(t))
			continue;
		for (size_t k = 0; k < l->bytes[i][PART_TRUTH] / sizeof(*y); k++) {
			if (finite && !isfinite(y[k]) && strncmp(m->band, "band", 4))
				return kl_error(KL_ECANNOT,
						"the oracle gives %g for %s, and every input is finite",
						y[k], place(at, sizeof(at), job, m, i, k));
		}
	}
	return 0;
}

static void take(char *base, const struct layout *l, const struct kl_job *job, struct kl_subject *s,
		 enum part part)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (l->bytes[i][part])
			memcpy(base + l->at[i][part], kl_subject_buffer(s, i), l->bytes[i][part]);
}

static void absolute(void *out, enum kl_dtype t, const void *in, size_t n)
{
	double room[256];

	for (size_t off = 0; off < n; off += 256) {
		size_t part = n - off < 256 ? n - off : 256;

		kl_tensor_load(room, t, in, off, part);
		for (size_t i = 0; i < part; i++)
			room[i] = fabs(room[i]);
		kl_tensor_store(out, t, off, room, part);
	}
}

/* The oracle on absolute inputs: what cancellation can cost. */
static int run_absolute(char *base, const struct layout *l, const struct kl_job *job,
			const struct kl_member *m, struct oracles *o)
{
	void *own[KL_JOB_MAX_ARGS] = { NULL };
	const void *input[KL_JOB_MAX_ARGS] = { NULL };
	int err;

	for (size_t i = 0; i < job->nargs; i++) {
		if (!kl_arg_is_input(&job->arg[i]))
			continue;
		input[i] = base + l->at[i][PART_INPUT];
		if (!kl_dtype_is_float(job->arg[i].dtype))
			continue;
		input[i] = own[i] = kl_malloc(l->bytes[i][PART_INPUT] + 1);
		absolute(own[i], job->arg[i].dtype, base + l->at[i][PART_INPUT],
			 (size_t)kl_point_elements(m->point, i));
	}
	err = kl_trial_oracle(o->abs, job, m->point, input, true);
	if (err == 0)
		take(base, l, job, o->abs, PART_ABSUM);
	for (size_t i = 0; i < job->nargs; i++)
		free(own[i]);
	return err;
}

static int fill_member(char *base, const struct layout *l, const struct kl_job *job,
		       const struct kl_pool *p, const struct kl_member *m, struct oracles *o)
{
	const void *input[KL_JOB_MAX_ARGS] = { NULL };
	int err = 0;

	for (size_t i = 0; i < job->nargs && err == 0; i++) {
		if (!kl_arg_is_input(&job->arg[i]))
			continue;
		input[i] = base + l->at[i][PART_INPUT];
		err = kl_fill_band(base + l->at[i][PART_INPUT], job, m->point, m->band,
				   member_seed(p, m), i);
	}
	if (err == 0)
		err = kl_trial_oracle(o->truth, job, m->point, input, true);
	if (err < 0)
		return err;
	take(base, l, job, o->truth, PART_TRUTH);
	err = check_truth(job, m, base, l);
	if (err == 0)
		err = kl_trial_oracle(o->honest, job, m->point, input, false);
	if (err < 0)
		return err;
	take(base, l, job, o->honest, PART_HONEST);
	return o->abs && !m->exact ? run_absolute(base, l, job, m, o) : 0;
}

static int write_file(const char *path, const char *data, size_t n)
{
	KL_AUTO(kl_closep) int fd = -1;

	/* never into the old file: another worker may have it mapped */
	if (unlink(path) < 0 && errno != ENOENT)
		return kl_error_errno("cannot remove '%s'", path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return kl_error_errno("cannot create '%s'", path);
	while (n) {
		ssize_t k = write(fd, data, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return kl_error_errno("cannot write '%s'", path);
		data += k;
		n -= (size_t)k;
	}
	return 0;
}

static int build_member(const struct kl_pool *p, const struct kl_job *job, size_t i,
			struct oracles *o)
{
	KL_AUTO(kl_freep) char *path = member_path(p, i);
	KL_AUTO(kl_freep) char *base = NULL;
	struct layout l;
	int err;

	layout_init(&l, job, &p->member[i]);
	base = kl_calloc(1, l.total);
	err = fill_member(base, &l, job, p, &p->member[i], o);
	return err < 0 ? err : write_file(path, base, l.total);
}

static int build(struct kl_pool *p, const struct kl_job *job, const json_t *key)
{
	KL_AUTO(oracles_release) struct oracles o = { 0 };
	int err = 0;

	p->seed = job->seed ? job->seed : kl_rng_os_seed();
	err = kl_poolkey_clear(p->dir);
	for (size_t i = 0; i < p->n && err == 0; i++) {
		if (i == 0 || p->member[i].point != p->member[i - 1].point) {
			oracles_release(&o);
			err = oracles_start(&o, job, p->member[i].point);
		}
		if (err == 0)
			err = build_member(p, job, i, &o);
	}
	return err < 0 ? err : kl_poolkey_write(p->dir, job, key, p->seed);
}

/* -- opening ------------------------------------------------------------ */

static int map_member(struct kl_pool *p, const struct kl_job *job, size_t i)
{
	KL_AUTO(kl_freep) char *path = member_path(p, i);
	KL_AUTO(kl_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct kl_member *m = &p->member[i];
	struct layout l;
	struct stat st;
	char *at;

	layout_init(&l, job, m);
	if (fd < 0 || fstat(fd, &st) < 0)
		return kl_error_errno("cannot open '%s'", path);
	if ((size_t)st.st_size != l.total)
		return kl_error(KL_EINVALID, "'%s' has another size than its member", path);
	at = mmap(NULL, l.total, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return kl_error_errno("cannot map '%s'", path);
	p->map[i].at = at;
	p->map[i].len = l.total;
	m->seed = p->seed;
	for (size_t a = 0; a < job->nargs; a++) {
		bool out = kl_arg_is_output(&job->arg[a]), real = kl_dtype_is_float(job->arg[a].dtype);

		m->input[a] = kl_arg_is_input(&job->arg[a]) ? at + l.at[a][PART_INPUT] : NULL;
		m->truth[a] = out ? at + l.at[a][PART_TRUTH] : NULL;
		m->honest[a] = out && real ? at + l.at[a][PART_HONEST] : NULL;
		m->absum[a] = l.bytes[a][PART_ABSUM] ? at + l.at[a][PART_ABSUM] : NULL;
	}
	return 0;
}

static void unmap(struct kl_pool *p)
{
	for (size_t i = 0; p->map && i < p->n; i++) {
		if (p->map[i].at)
			munmap(p->map[i].at, p->map[i].len);
		p->map[i].at = NULL;
	}
}

static int map_all(struct kl_pool *p, const struct kl_job *job)
{
	int err = 0;

	for (size_t i = 0; i < p->n && err == 0; i++)
		err = map_member(p, job, i);
	if (err < 0)
		unmap(p);
	return err;
}

static int make_yards(struct kl_pool *p, const struct kl_job *job)
{
	p->nrule = job->nrule;
	for (size_t i = 0; i < p->n; i++) {
		struct kl_yard *y = kl_calloc(job->nrule + 1, sizeof(*y));

		p->member[i].yard = y;
		for (size_t r = 0; r < job->nrule; r++) {
			int err = kl_yard_make(&y[r], job, r, &p->member[i]);

			if (err < 0)
				return err;
		}
	}
	return 0;
}

static int make_dir(const char *dir)
{
	int err = kl_fs_mkdir(dir);

	if (err < 0)
		return err;
	if (chmod(dir, 0700) < 0)
		return kl_error_errno("cannot close '%s' to others", dir);
	return 0;
}

int kl_pool_open(struct kl_pool **out, const struct kl_job *job)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *p = kl_calloc(1, sizeof(*p));
	KL_AUTO(json_decrefp) json_t *key = kl_poolkey_of(job);
	KL_AUTO(kl_freep) char *lock_path = kl_fs_join(job->pool, "lock");
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	int err = make_dir(job->pool);

	p->dir = kl_strdup(job->pool);
	plan(p, job);
	p->map = kl_calloc(p->n + 1, sizeof(*p->map));
	/* another worker of the operation may be building it right now */
	if (err == 0)
		err = kl_lock_take(&lock, lock_path, -1);
	if (err < 0)
		return err;
	if (!kl_poolkey_fresh(p->dir, job, key, &p->seed) || map_all(p, job) < 0) {
		kl_error_clear();
		err = build(p, job, key);
		if (err == 0)
			err = map_all(p, job);
	}
	if (err == 0)
		err = make_yards(p, job);
	if (err < 0)
		return err;
	*out = kl_steal(&p);
	return 0;
}

void kl_pool_free(struct kl_pool *p)
{
	unmap(p);
	for (size_t i = 0; i < p->n; i++) {
		struct kl_yard *y = (struct kl_yard *)p->member[i].yard;

		for (size_t r = 0; y && r < p->nrule; r++)
			kl_yard_release(&y[r]);
		free(y);
	}
	free(p->member);
	free(p->map);
	free(p->dir);
	free(p);
}

size_t kl_pool_size(const struct kl_pool *p)
{
	return p->n;
}

const struct kl_member *kl_pool_get(const struct kl_pool *p, size_t i)
{
	return &p->member[i];
}

size_t kl_pool_noise(const struct kl_pool *p, const struct kl_point *pt,
		     const struct kl_member **out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n && n < max; i++)
		if (p->member[i].point == pt && !strcmp(p->member[i].band, "noise"))
			out[n++] = &p->member[i];
	return n;
}

uint64_t kl_pool_seed(const struct kl_pool *p)
{
	return p->seed;
}
