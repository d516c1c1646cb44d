/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/pool.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/rng.h"
#include "worker/compare/tolerance.h"
#include "worker/pool/build.h"
#include "worker/pool/key.h"
#include "worker/pool/member_file.h"
#include "worker/pool/members.h"

struct slot {
	void *at;   /* the mapped file */
	size_t len; /* bytes of the file */
	bool none;  /* the file is empty: a twin or member of a further band could not be made */
};

struct kl_pool {
	char *dir;
	const struct kl_job *job;
	struct kl_poolindex index;
	size_t nrule;
	struct kl_member *member;
	size_t n;
	struct slot *slot; /* one for each member */
};

static int build_pool(struct kl_pool *pool, const json_t *key)
{
	struct kl_poolbuild all = {
		.job = pool->job,
		.dir = pool->dir,
		.member = pool->member,
		.n = pool->n,
		.cost = pool->index.cost,
	};
	int err;

	kl_key_master(&all.key, pool->job->seed);
	err = kl_poolkey_clear(pool->dir);
	if (err == 0)
		err = kl_poolbuild(&all);
	return err < 0 ? err : kl_poolkey_write(pool->dir, pool->job, key, &pool->index);
}

/* -- map the files ------------------------------------------------------ */

static int map_member(struct kl_pool *pool, size_t i)
{
	KL_AUTO(kl_freep) char *path = kl_poolbuild_path(pool->dir, i);
	KL_AUTO(kl_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct kl_member *member = &pool->member[i];
	struct kl_poolfile layout;
	struct stat st;
	char *at;

	if (pool->slot[i].at)
		return 0;
	kl_poolfile_init(&layout, pool->job, member);
	if (fd < 0 || fstat(fd, &st) < 0)
		return kl_error_errno("cannot open '%s'", path);
	pool->slot[i].none = st.st_size == 0 &&
			     (member->further || !strcmp(member->band, KL_POOL_TWIN));
	if (pool->slot[i].none)
		return 0;
	if ((size_t)st.st_size != layout.total)
		return kl_error(KL_EINVALID, "'%s' has the wrong size for its member", path);
	at = mmap(NULL, layout.total, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return kl_error_errno("cannot map '%s'", path);
	pool->slot[i].at = at;
	pool->slot[i].len = layout.total;
	kl_poolfile_point(member, &layout, pool->job, at);
	return 0;
}

static void unmap_pool(struct kl_pool *pool)
{
	for (size_t i = 0; pool->slot && i < pool->n; i++) {
		if (pool->slot[i].at)
			munmap(pool->slot[i].at, pool->slot[i].len);
		pool->slot[i].at = NULL;
	}
}

static int map_all(struct kl_pool *pool)
{
	int err = 0;

	for (size_t i = 0; i < pool->n && err == 0; i++)
		err = map_member(pool, i);
	if (err < 0)
		unmap_pool(pool);
	return err;
}

/* Drop the members that could not be made, and the spare draws: tolerances are computed by now. */
static void drop_hidden(struct kl_pool *pool)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->n; i++) {
		if (kl_members_is_spare(&pool->member[i]) && pool->slot[i].at)
			munmap(pool->slot[i].at, pool->slot[i].len);
		if (pool->slot[i].none || kl_members_is_spare(&pool->member[i]))
			continue;
		pool->member[n] = pool->member[i];
		pool->slot[n++] = pool->slot[i];
	}
	pool->n = n;
}

/* Merge the tolerances of the spare draws of the member's band into the member's tolerances. */
static int widen_tolerances(struct kl_pool *pool, size_t member)
{
	const struct kl_job *job = pool->job;
	struct kl_tolerance *tolerance = (struct kl_tolerance *)pool->member[member].tolerance;
	size_t n = 1;

	for (size_t i = member + 1;
	     i < pool->n && pool->member[i].point == pool->member[member].point; i++) {
		if (!kl_members_spare_of(&pool->member[i], &pool->member[member]))
			continue;
		for (size_t rule = 0; rule < job->nrule; rule++) {
			struct kl_tolerance spare;
			int err;

			if (job->rule[rule].kind != KL_RULE_NOISE)
				continue;
			err = kl_tolerance_make(&spare, job, rule, &pool->member[i]);
			if (err < 0)
				return err;
			kl_tolerance_merge(&tolerance[rule], &spare, n);
			kl_tolerance_release(&spare);
		}
		n++;
	}
	return 0;
}

static int make_tolerances(struct kl_pool *pool)
{
	const struct kl_job *job = pool->job;

	pool->nrule = job->nrule;
	for (size_t i = 0; i < pool->n; i++) {
		struct kl_tolerance *tolerance;
		int err = 0;

		if (pool->slot[i].none || kl_members_is_spare(&pool->member[i]))
			continue;
		tolerance = kl_calloc(job->nrule + 1, sizeof(*tolerance));
		pool->member[i].tolerance = tolerance;
		for (size_t rule = 0; rule < job->nrule && err == 0; rule++)
			err = kl_tolerance_make(&tolerance[rule], job, rule, &pool->member[i]);
		if (err == 0)
			err = widen_tolerances(pool, i);
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
		return kl_error_errno("cannot restrict access to '%s'", dir);
	return 0;
}

static struct kl_pool *pool_new(const struct kl_job *job, const char *dir)
{
	struct kl_pool *pool = kl_calloc(1, sizeof(*pool));

	pool->dir = kl_strdup(dir);
	pool->job = job;
	pool->index.cost = kl_calloc(job->npoint + 1, sizeof(*pool->index.cost));
	return pool;
}

/* Compute the tolerances, then drop the members that are needed only for this. */
static int finish_pool(struct kl_pool *pool)
{
	int err = make_tolerances(pool);

	if (err == 0)
		drop_hidden(pool);
	return err;
}

int kl_pool_open(struct kl_pool **out, const struct kl_job *job)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = pool_new(job, job->pool);
	KL_AUTO(json_decrefp) json_t *key = kl_poolkey_of(job);
	KL_AUTO(kl_freep) char *lock_path = kl_fs_join(job->pool, "lock");
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	bool fresh;
	int err = make_dir(job->pool);

	/* another worker of the same operation may be building this pool right now */
	if (err == 0)
		err = kl_lock_take(&lock, lock_path, -1);
	if (err < 0)
		return err;
	fresh = kl_poolkey_fresh(pool->dir, job, key, &pool->index);
	if (!fresh)
		pool->index.choice = job->seed ? 0 : kl_rng_os_seed();
	kl_members_plan(&pool->member, &pool->n, job, pool->index.choice);
	pool->slot = kl_calloc(pool->n + 1, sizeof(*pool->slot));
	if (!fresh || map_all(pool) < 0) {
		kl_error_clear();
		err = build_pool(pool, key);
		if (err == 0)
			err = map_all(pool);
	}
	if (err == 0)
		err = finish_pool(pool);
	if (err == 0)
		*out = kl_steal(&pool);
	return err;
}

void kl_pool_free(struct kl_pool *pool)
{
	unmap_pool(pool);
	for (size_t i = 0; i < pool->n; i++) {
		struct kl_tolerance *tolerance = (struct kl_tolerance *)pool->member[i].tolerance;

		for (size_t rule = 0; tolerance && rule < pool->nrule; rule++)
			kl_tolerance_release(&tolerance[rule]);
		free(tolerance);
	}
	free(pool->member);
	free(pool->slot);
	free(pool->index.cost);
	free(pool->dir);
	free(pool);
}

size_t kl_pool_size(const struct kl_pool *pool)
{
	return pool->n;
}

const struct kl_member *kl_pool_get(const struct kl_pool *pool, size_t i)
{
	return &pool->member[i];
}

int64_t kl_pool_cost(const struct kl_pool *pool, const struct kl_point *pt)
{
	return pool->index.cost[pt - pool->job->point];
}

size_t kl_pool_noise(const struct kl_pool *pool, const struct kl_point *pt,
		     const struct kl_member **out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->n && n < max; i++)
		if (pool->member[i].point == pt && !strcmp(pool->member[i].band, "noise"))
			out[n++] = &pool->member[i];
	return n;
}

const struct kl_member *kl_pool_twin(const struct kl_pool *pool, const struct kl_point *pt)
{
	for (size_t i = 0; i < pool->n; i++)
		if (pool->member[i].point == pt && !strcmp(pool->member[i].band, KL_POOL_TWIN))
			return &pool->member[i];
	return NULL;
}

/* -- pools of one process ------------------------------------------------- */

size_t kl_pool_find(const struct kl_pool *pool, const struct kl_member *of)
{
	for (size_t i = 0; i < pool->n; i++)
		if (pool->member[i].point == of->point && pool->member[i].draw == of->draw &&
		    !strcmp(pool->member[i].band, of->band))
			return i;
	return KL_POOL_NONE;
}

/* Return true if `member` is needed to make `of` or its tolerances. */
static bool is_needed(const struct kl_member *member, const struct kl_member *of)
{
	bool twin = !strcmp(of->band, KL_POOL_TWIN);

	if (member->point != of->point)
		return false;
	return kl_members_spare_of(member, of) ||
	       (member->draw == of->draw &&
		(!strcmp(member->band, of->band) || (twin && !strcmp(member->band, "noise"))));
}

static void keep_needed(struct kl_pool *pool, const struct kl_member *of)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->n; i++)
		if (is_needed(&pool->member[i], of))
			pool->member[n++] = pool->member[i];
	pool->n = n;
}

/* Build the planned members in the pool's own directory, which the caller removes. */
static int build_alone(struct kl_pool *pool, const struct kl_key *key)
{
	struct kl_poolbuild build = {
		.job = pool->job,
		.dir = pool->dir,
		.key = *key,
		.member = pool->member,
		.n = pool->n,
		.cost = pool->index.cost,
	};
	int err = make_dir(pool->dir);

	pool->slot = kl_calloc(pool->n + 1, sizeof(*pool->slot));
	if (err == 0)
		err = kl_poolbuild(&build);
	if (err == 0)
		err = map_all(pool); /* the mappings outlive the files */
	return err < 0 ? err : finish_pool(pool);
}

int kl_pool_make_one(struct kl_pool **out, const struct kl_job *job, const struct kl_member *of)
{
	KL_AUTO(kl_fs_tempdir_cleanup)
	char *dir = kl_asprintf("%s/one-%d", job->pool, (int)getpid());
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = pool_new(job, dir);
	struct kl_key key;
	int err;

	if (!job->seed)
		KL_BUG("a pool of one member is for replays");
	kl_members_plan(&pool->member, &pool->n, job, 0);
	keep_needed(pool, of);
	kl_key_master(&key, job->seed);
	if ((err = build_alone(pool, &key)) == 0)
		*out = kl_steal(&pool);
	return err;
}

int kl_pool_make_own(struct kl_pool **out, const struct kl_job *job)
{
	KL_AUTO(kl_fs_tempdir_cleanup)
	char *dir = kl_asprintf("%s/own-%d", job->pool, (int)getpid());
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = pool_new(job, dir);
	struct kl_key key;
	int err;

	kl_members_plan(&pool->member, &pool->n, job, job->seed ? 0 : kl_rng_os_seed());
	for (size_t i = 0; i < pool->n; i++)
		pool->member[i].own = true;
	kl_key_master(&key, job->seed);
	if ((err = build_alone(pool, &key)) == 0)
		*out = kl_steal(&pool);
	return err;
}

/* -- fresh draws ------------------------------------------------------------ */

/* Merge the tolerances of `like`, the job's pool, into those of `pool` at points with spares. */
static void widen_fresh(struct kl_pool *pool, const struct kl_pool *like)
{
	const struct kl_job *job = pool->job;

	for (size_t i = 0; i < pool->n; i++) {
		struct kl_tolerance *tolerance = (struct kl_tolerance *)pool->member[i].tolerance;
		const struct kl_point *pt = pool->member[i].point;
		const struct kl_member *known;

		if (!kl_members_has_spares(job, pt) || !kl_pool_noise(like, pt, &known, 1))
			continue;
		for (size_t rule = 0; rule < job->nrule; rule++)
			if (job->rule[rule].kind == KL_RULE_NOISE)
				kl_tolerance_merge(&tolerance[rule], &known->tolerance[rule], 1);
	}
}

int kl_pool_make_fresh(struct kl_pool **out, const struct kl_job *job, const struct kl_pool *like,
		       size_t draws)
{
	KL_AUTO(kl_fs_tempdir_cleanup)
	char *dir = kl_asprintf("%s/fresh-%d", job->pool, (int)getpid());
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = pool_new(job, dir);
	struct kl_key master, key;
	int err;

	kl_members_plan_timed(&pool->member, &pool->n, job, draws);
	kl_key_master(&master, job->seed);
	key = kl_key_derive(&master, "timed");
	if ((err = build_alone(pool, &key)) < 0)
		return err;
	widen_fresh(pool, like);
	*out = kl_steal(&pool);
	return 0;
}
