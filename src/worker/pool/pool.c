/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/pool_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/rng.h"
#include "worker/pool/build.h"
#include "worker/pool/member_file.h"
#include "worker/pool/members.h"

#define MEMBERS "members" /* name of the file in the pool's directory */

/* -- the file of the members ------------------------------------------------ */

static bool may_be_none(const struct kl_member *member)
{
	return member->late || member->further || !strcmp(member->band, KL_POOL_TWIN);
}

static void plan_file(struct kl_pool *pool)
{
	pool->at = kl_calloc(pool->n + 1, sizeof(*pool->at));
	pool->none = kl_calloc(pool->n + 1, sizeof(*pool->none));
	pool->measured = kl_calloc(pool->n + 1, sizeof(*pool->measured));
	pool->bytes = kl_poolfile_places(pool->at, pool->job, pool->member, pool->n);
}

static void unmap_file(struct kl_pool *pool)
{
	if (pool->base)
		munmap(pool->base, pool->bytes);
	pool->base = NULL;
}

static void point_members(struct kl_pool *pool)
{
	for (size_t i = 0; i < pool->n; i++) {
		struct kl_poolfile layout;

		kl_poolfile_init(&layout, pool->job, &pool->member[i]);
		kl_poolfile_point(&pool->member[i], &layout, pool->job, pool->base + pool->at[i]);
	}
}

static int map_file(struct kl_pool *pool, int fd, int prot)
{
	void *base = mmap(NULL, pool->bytes, prot, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return kl_error_errno("cannot map the members of the pool '%s'", pool->dir);
	pool->base = base;
	point_members(pool);
	return 0;
}

/*
 * Create the file and map it, so that members can be made in it. The file is sparse: only members
 * that are made take room on disk (allocate_members()).
 */
static int create_file(struct kl_pool *pool, int *fd)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(pool->dir, MEMBERS);

	if (!pool->bytes)
		return 0;
	/* never overwrite the old file in place, because another worker may have it mapped */
	if (unlink(path) < 0 && errno != ENOENT)
		return kl_error_errno("cannot remove '%s'", path);
	*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (*fd < 0 || ftruncate(*fd, (off_t)pool->bytes) < 0)
		return kl_error_errno("cannot create '%s'", path);
	return map_file(pool, *fd, PROT_READ | PROT_WRITE);
}

/*
 * Allocate the bytes of all members that are not skipped, before they are made, so that a full disk
 * is an error here and not a SIGBUS later.
 */
static int allocate_members(const struct kl_pool *pool, int fd, const bool *skip)
{
	for (size_t i = 0, end; i < pool->n; i = end) {
		size_t first = pool->at[i], bytes;

		for (end = i + 1; end < pool->n && skip[end] == skip[i];)
			end++;
		bytes = (end < pool->n ? pool->at[end] : pool->bytes) - first;
		if (skip[i])
			continue;
		errno = posix_fallocate(fd, (off_t)first, (off_t)bytes);
		if (errno)
			return kl_error_errno("cannot allocate %zu bytes for the members of the "
					      "pool '%s'",
					      bytes, pool->dir);
	}
	return 0;
}

static int open_file(struct kl_pool *pool)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(pool->dir, MEMBERS);
	KL_AUTO(kl_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return kl_error_errno("cannot open '%s'", path);
	if ((size_t)st.st_size != pool->bytes)
		return kl_error(KL_EINVALID, "'%s' has the wrong size for its members", path);
	return pool->bytes ? map_file(pool, fd, PROT_READ) : 0;
}

/* -- making ------------------------------------------------------------------- */

/*
 * Choose the late members to be made: those at points where the honest errors measured so far
 * differ too much to compute tolerances from them. Return false if there are none.
 */
static bool choose_late(bool *skip, const struct kl_pool *pool)
{
	bool any = false;

	for (size_t i = 0; i < pool->n; i++) {
		const struct kl_member *member = &pool->member[i];

		skip[i] = !member->late ||
			  kl_yardsticks_settled(&pool->yardsticks, member->point,
						kl_members_freedom(pool->job, member->point));
		any = any || !skip[i];
	}
	return any;
}

static int build_members(struct kl_pool *pool, int fd, struct kl_poolbuild *build)
{
	int err = allocate_members(pool, fd, build->skip);

	return err < 0 ? err : kl_poolbuild(build);
}

/* Make the planned members in a new file, the late ones last and only if they are needed. */
static int make_members(struct kl_pool *pool, const struct kl_key *key, const atomic_bool *stop)
{
	KL_AUTO(kl_freep) bool *skip = kl_calloc(pool->n + 1, sizeof(*skip));
	KL_AUTO(kl_closep) int fd = -1;
	struct kl_poolbuild build = {
		.job = pool->job,
		.key = *key,
		.member = pool->member,
		.n = pool->n,
		.skip = skip,
		.at = pool->at,
		.none = pool->none,
		.stop = stop,
		.cost = pool->index.cost,
	};
	int err = create_file(pool, &fd);

	build.base = pool->base;
	for (size_t i = 0; i < pool->n; i++)
		skip[i] = pool->none[i] = pool->member[i].late;
	if (err == 0)
		err = build_members(pool, fd, &build);
	if (err == 0)
		err = kl_pool_measure(pool);
	if (err == 0 && choose_late(skip, pool)) {
		kl_pool_forget(pool);
		err = build_members(pool, fd, &build);
	}
	if (err == 0 && pool->base && mprotect(pool->base, pool->bytes, PROT_READ) < 0)
		return kl_error_errno("cannot protect the members of the pool '%s'", pool->dir);
	return err;
}

/* -- the pool of a session ---------------------------------------------------- */

static int build_pool(struct kl_pool *pool, const json_t *key)
{
	struct kl_key master;
	int err;

	kl_key_master(&master, pool->job->seed);
	err = kl_poolkey_clear(pool->dir);
	if (err == 0)
		err = make_members(pool, &master, NULL);
	if (err < 0)
		return err;
	json_decref(pool->index.none);
	pool->index.none = json_array();
	for (size_t i = 0; i < pool->n; i++)
		if (pool->none[i])
			json_array_append_new(pool->index.none, json_integer((json_int_t)i));
	return kl_poolkey_write(pool->dir, pool->job, key, &pool->index);
}

/* Map the members that an earlier worker made. */
static int reopen_pool(struct kl_pool *pool)
{
	int err = open_file(pool);
	json_t *value;
	size_t k;

	json_array_foreach(pool->index.none, k, value) {
		size_t i = (size_t)json_integer_value(value);

		if (err == 0 && (i >= pool->n || !may_be_none(&pool->member[i])))
			err = kl_error(KL_EINVALID, "the index of the pool '%s' is damaged",
				       pool->dir);
		if (err == 0)
			pool->none[i] = true;
	}
	if (err < 0)
		unmap_file(pool);
	return err;
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
	pool->nrule = job->nrule;
	pool->yardsticks.job = job;
	pool->index.cost = kl_calloc(job->npoint + 1, sizeof(*pool->index.cost));
	return pool;
}

/*
 * Drop the members that were not made or cannot be judged, and the spare draws, which are no longer
 * needed once the tolerances are computed.
 */
static void drop_hidden(struct kl_pool *pool)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->n; i++) {
		if (pool->none[i])
			continue;
		if (kl_members_is_spare(&pool->member[i]) ||
		    kl_pool_vanishes(pool, &pool->member[i]))
			kl_pool_free_tolerances(&pool->member[i], pool->nrule);
		else
			pool->member[n++] = pool->member[i];
	}
	pool->n = n;
}

/* Compute the tolerances, then drop the members that are needed only for this. */
static int finish_pool(struct kl_pool *pool)
{
	int err = kl_pool_measure(pool);

	kl_pool_set_yardsticks(pool, &pool->yardsticks);
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
	plan_file(pool);
	if (!fresh || reopen_pool(pool) < 0) {
		kl_error_clear();
		err = build_pool(pool, key);
	}
	if (err == 0)
		err = finish_pool(pool);
	if (err == 0)
		*out = kl_steal(&pool);
	return err;
}

void kl_pool_free(struct kl_pool *pool)
{
	unmap_file(pool);
	for (size_t i = 0; i < pool->n; i++)
		kl_pool_free_tolerances(&pool->member[i], pool->nrule);
	kl_yardsticks_release(&pool->yardsticks);
	free(pool->member);
	free(pool->at);
	free(pool->none);
	free(pool->measured);
	free(pool->index.cost);
	json_decref(pool->index.none);
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

const struct kl_yardsticks *kl_pool_yardsticks(const struct kl_pool *pool)
{
	return &pool->yardsticks;
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
	return kl_members_measures(member, of) ||
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

/*
 * Make the planned members in the pool's own directory, which the caller removes; the mapping
 * outlives the file.
 */
static int build_alone(struct kl_pool *pool, const struct kl_key *key, const atomic_bool *stop)
{
	int err = make_dir(pool->dir);

	plan_file(pool);
	if (err == 0)
		err = make_members(pool, key, stop);
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
	if ((err = build_alone(pool, &key, NULL)) == 0)
		*out = kl_steal(&pool);
	return err;
}

int kl_pool_make_own(struct kl_pool **out, const struct kl_job *job, const atomic_bool *stop)
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
	if ((err = build_alone(pool, &key, stop)) == 0)
		*out = kl_steal(&pool);
	return err;
}

/* -- fresh draws ------------------------------------------------------------ */

/*
 * Build the planned members of `pool` under a key for `purpose`, with the yardsticks of `like`. The
 * file is removed before this returns.
 */
static int build_like(struct kl_pool *pool, const struct kl_pool *like, const char *purpose)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = kl_strdup(pool->dir);
	struct kl_key master, key;
	int err;

	kl_key_master(&master, pool->job->seed);
	key = kl_key_derive(&master, purpose);
	memcpy(pool->index.cost, like->index.cost, pool->job->npoint * sizeof(*pool->index.cost));
	if ((err = build_alone(pool, &key, NULL)) == 0)
		kl_pool_set_yardsticks(pool, &like->yardsticks);
	return err;
}

int kl_pool_make_fresh(struct kl_pool **out, const struct kl_job *job, const struct kl_pool *like,
		       size_t draws)
{
	KL_AUTO(kl_freep) char *dir = kl_asprintf("%s/fresh-%d", job->pool, (int)getpid());
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = pool_new(job, dir);
	int err;

	kl_members_plan_timed(&pool->member, &pool->n, job, draws);
	if ((err = build_like(pool, like, "timed")) == 0)
		*out = kl_steal(&pool);
	return err;
}

int kl_pool_make_again(struct kl_pool **out, const struct kl_job *job, const struct kl_pool *like,
		       const struct kl_member *of, size_t draws, int number)
{
	KL_AUTO(kl_freep) char *dir = kl_asprintf("%s/again-%d", job->pool, (int)getpid());
	KL_AUTO(kl_freep) char *purpose = kl_asprintf("again/%d", number);
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = pool_new(job, dir);
	int err;

	kl_members_plan_again(&pool->member, &pool->n, job, of, draws);
	if ((err = build_like(pool, like, purpose)) == 0)
		*out = kl_steal(&pool);
	return err;
}
