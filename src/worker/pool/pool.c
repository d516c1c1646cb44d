/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/pool.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/rng.h"
#include "job/tensor.h"
#include "worker/compare/yard.h"
#include "worker/pool/build.h"
#include "worker/pool/key.h"
#include "worker/pool/member_file.h"

/*
 * An honest error over a handful of elements is small by luck now and then, and no
 * yardstick for another's. Where groups are that small each band is drawn a few
 * more times, for the yards alone; draws from SPARE on are these.
 */
#define SPARE 1000
#define SPARES 15
#define SPARE_GROUP 32
#define SPARE_ELEMENTS ((int64_t)4 << 20) /* inputs beyond this: a few only */
/* An also point of no more elements has a twin, too. */
#define TWIN_ELEMENTS 65536

struct slot {
	void *at; /* the mapped file */
	size_t len;
	bool none; /* a twin that could not be had: an empty file */
};

struct kl_pool {
	char *dir;
	uint64_t seed;
	size_t nrule;
	struct kl_member *member;
	size_t n, alloc;
	struct slot *slot; /* one a member */
};

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

static bool does_sweep(const struct kl_job *job)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (job->arg[i].sweep && kl_arg_is_input(&job->arg[i]))
			return true;
	return false;
}

static bool has_twin(const struct kl_job *job, const struct kl_point *pt)
{
	int64_t inputs = 0, all = 0;

	for (size_t i = 0; i < job->nargs; i++) {
		bool in = kl_arg_is_input(&job->arg[i]);

		if (in || kl_arg_is_output(&job->arg[i]))
			all += kl_point_elements(pt, i);
		inputs += in ? kl_point_elements(pt, i) : 0;
	}
	return inputs && (pt->perf || all <= TWIN_ELEMENTS);
}

static bool is_spare(const struct kl_member *m)
{
	return m->draw >= SPARE;
}

static int count_spares(const struct kl_job *job, const struct kl_point *pt)
{
	int64_t inputs = 0;
	bool small = false;

	for (size_t i = 0; i < job->nargs; i++)
		inputs += kl_arg_is_input(&job->arg[i]) ? kl_point_elements(pt, i) : 0;
	for (size_t r = 0; r < job->nrule; r++) {
		size_t n = kl_yard_group(job, r, pt);

		small = small || (n > 0 && n < SPARE_GROUP);
	}
	return !small ? 0 : inputs > SPARE_ELEMENTS ? SPARES / 5 : SPARES;
}

/* Once more for each band that is there, from member `first` on. */
static void plan_spares(struct kl_pool *p, const struct kl_job *job, size_t first)
{
	size_t last = p->n;

	for (size_t i = first; i < last; i++) {
		char band[32];
		struct kl_member m = p->member[i];
		int n = m.draw || m.exact || !strcmp(m.band, KL_POOL_TWIN) ?
				0 :
				count_spares(job, m.point);

		snprintf(band, sizeof(band), "%s", m.band);
		for (int d = 0; d < n; d++)
			plan_add(p, m.point, band, SPARE + d, false);
	}
}

static void plan_members(struct kl_pool *p, const struct kl_job *job)
{
	char band[32];

	for (size_t i = 0; i < job->npoint; i++) {
		const struct kl_point *pt = &job->point[i];
		size_t first = p->n;

		for (int d = 0; d < (pt->perf ? KL_POOL_DRAWS : 1); d++)
			plan_add(p, pt, "noise", d, false);
		if (has_twin(job, pt))
			plan_add(p, pt, KL_POOL_TWIN, 0, false);
		for (size_t e = 0; e < json_array_size(job->exact); e++) {
			snprintf(band, sizeof(band), "exact%zu", e);
			if (kl_job_band_at(json_array_get(job->exact, e), pt))
				plan_add(p, pt, band, 0, true);
		}
		for (size_t b = 0; b < json_array_size(job->bands); b++) {
			snprintf(band, sizeof(band), "band%zu", b);
			if (kl_job_band_at(json_array_get(job->bands, b), pt))
				plan_add(p, pt, band, 0, false);
		}
		if (pt->perf && does_sweep(job)) {
			plan_add(p, pt, "scale-up", 0, false);
			plan_add(p, pt, "scale-down", 0, false);
		}
		plan_spares(p, job, first);
	}
}

static int build_pool(struct kl_pool *p, const struct kl_job *job, const json_t *key)
{
	struct kl_poolbuild all = { .job = job, .dir = p->dir, .member = p->member, .n = p->n };
	int err;

	p->seed = all.seed = job->seed ? job->seed : kl_rng_os_seed();
	err = kl_poolkey_clear(p->dir);
	if (err == 0)
		err = kl_poolbuild(&all);
	return err < 0 ? err : kl_poolkey_write(p->dir, job, key, p->seed);
}

/* -- opening ------------------------------------------------------------ */

static int map_member(struct kl_pool *p, const struct kl_job *job, size_t i)
{
	KL_AUTO(kl_freep) char *path = kl_poolbuild_path(p->dir, i);
	KL_AUTO(kl_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct kl_member *m = &p->member[i];
	struct kl_poolfile l;
	struct stat st;
	char *at;

	if (p->slot[i].at)
		return 0;
	kl_poolfile_init(&l, job, m);
	if (fd < 0 || fstat(fd, &st) < 0)
		return kl_error_errno("cannot open '%s'", path);
	p->slot[i].none = st.st_size == 0 && !strcmp(m->band, KL_POOL_TWIN);
	if (p->slot[i].none)
		return 0;
	if ((size_t)st.st_size != l.total)
		return kl_error(KL_EINVALID, "'%s' has another size than its member", path);
	at = mmap(NULL, l.total, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return kl_error_errno("cannot map '%s'", path);
	p->slot[i].at = at;
	p->slot[i].len = l.total;
	m->seed = p->seed;
	kl_poolfile_point(m, &l, job, at);
	return 0;
}

static void unmap_pool(struct kl_pool *p)
{
	for (size_t i = 0; p->slot && i < p->n; i++) {
		if (p->slot[i].at)
			munmap(p->slot[i].at, p->slot[i].len);
		p->slot[i].at = NULL;
	}
}

static int map_all(struct kl_pool *p, const struct kl_job *job)
{
	int err = 0;

	for (size_t i = 0; i < p->n && err == 0; i++)
		err = map_member(p, job, i);
	if (err < 0)
		unmap_pool(p);
	return err;
}

/* Twins that could not be had are no members, nor is what was drawn for the yards alone. */
static void drop_hidden(struct kl_pool *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (is_spare(&p->member[i]) && p->slot[i].at)
			munmap(p->slot[i].at, p->slot[i].len);
		if (p->slot[i].none || is_spare(&p->member[i]))
			continue;
		p->member[n] = p->member[i];
		p->slot[n++] = p->slot[i];
	}
	p->n = n;
}

/* Is this a spare draw of what the member is a draw of? */
static bool spare_of(const struct kl_member *spare, const struct kl_member *m)
{
	return is_spare(spare) && !m->exact && spare->point == m->point &&
	       !strcmp(spare->band, strcmp(m->band, KL_POOL_TWIN) ? m->band : "noise");
}

/* What the spare draws of a member's band show, added to its own yards. */
static int widen_yards(struct kl_pool *p, const struct kl_job *job, size_t member)
{
	struct kl_yard *y = (struct kl_yard *)p->member[member].yard;
	size_t n = 1;

	for (size_t i = member + 1; i < p->n && p->member[i].point == p->member[member].point;
	     i++) {
		if (!spare_of(&p->member[i], &p->member[member]))
			continue;
		for (size_t r = 0; r < job->nrule; r++) {
			struct kl_yard other;
			int err;

			if (job->rule[r].kind != KL_RULE_NOISE)
				continue;
			err = kl_yard_make(&other, job, r, &p->member[i]);
			if (err < 0)
				return err;
			kl_yard_merge(&y[r], &other, n);
			kl_yard_release(&other);
		}
		n++;
	}
	return 0;
}

static int make_yards(struct kl_pool *p, const struct kl_job *job)
{
	p->nrule = job->nrule;
	for (size_t i = 0; i < p->n; i++) {
		struct kl_yard *y;
		int err = 0;

		if (p->slot[i].none || is_spare(&p->member[i]))
			continue;
		y = kl_calloc(job->nrule + 1, sizeof(*y));
		p->member[i].yard = y;
		for (size_t r = 0; r < job->nrule && err == 0; r++)
			err = kl_yard_make(&y[r], job, r, &p->member[i]);
		if (err == 0)
			err = widen_yards(p, job, i);
		if (err < 0)
			return err;
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
	plan_members(p, job);
	p->slot = kl_calloc(p->n + 1, sizeof(*p->slot));
	/* another worker of the operation may be building it right now */
	if (err == 0)
		err = kl_lock_take(&lock, lock_path, -1);
	if (err < 0)
		return err;
	if (!kl_poolkey_fresh(p->dir, job, key, &p->seed) || map_all(p, job) < 0) {
		kl_error_clear();
		err = build_pool(p, job, key);
		if (err == 0)
			err = map_all(p, job);
	}
	if (err < 0)
		return err;
	err = make_yards(p, job);
	if (err < 0)
		return err;
	drop_hidden(p);
	*out = kl_steal(&p);
	return 0;
}

void kl_pool_free(struct kl_pool *p)
{
	unmap_pool(p);
	for (size_t i = 0; i < p->n; i++) {
		struct kl_yard *y = (struct kl_yard *)p->member[i].yard;

		for (size_t r = 0; y && r < p->nrule; r++)
			kl_yard_release(&y[r]);
		free(y);
	}
	free(p->member);
	free(p->slot);
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

const struct kl_member *kl_pool_twin(const struct kl_pool *p, const struct kl_point *pt)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->member[i].point == pt && !strcmp(p->member[i].band, KL_POOL_TWIN))
			return &p->member[i];
	return NULL;
}

uint64_t kl_pool_seed(const struct kl_pool *p)
{
	return p->seed;
}
