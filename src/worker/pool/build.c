/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/build.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/par.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "worker/pool/member_bytes.h"

#define SHARES ((size_t)8)            /* threads at one point */
#define SHARE_BYTES ((size_t)1 << 30) /* what their members may take together */

char *kl_poolbuild_path(const char *dir, size_t i)
{
	return kl_asprintf("%s/m%04zu", dir, i);
}

static uint64_t member_seed(const struct kl_poolbuild *b, const struct kl_member *m)
{
	char label[128];

	snprintf(label, sizeof(label), "%s/%s/%d", m->point->id, m->band, m->draw);
	return kl_rng_derive(b->seed, label);
}

/* -- files ---------------------------------------------------------------- */

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

/*
 * A member's file being written while the next member is made. What goes wrong is said by who waits
 * for it: errors are the thread's own.
 */
struct writer {
	pthread_t thread;
	bool running;
	char *path, *data;
	size_t n;
	int err;
	char message[300];
};

static void *write_member(void *p)
{
	struct writer *w = p;

	w->err = write_file(w->path, w->data, w->n);
	if (w->err < 0)
		snprintf(w->message, sizeof(w->message), "%s", kl_error_last());
	return NULL;
}

static void writer_release(struct writer *w)
{
	if (w->running)
		pthread_join(w->thread, NULL);
	free(w->path);
	free(w->data);
	*w = (struct writer){ .err = w->err };
}

/* The last one stands, or why it does not. */
static int writer_wait(struct writer *w)
{
	int err;

	if (w->running)
		pthread_join(w->thread, NULL);
	w->running = false;
	err = w->err < 0 ? kl_error((enum kl_err)w->err, "%s", w->message) : 0;
	w->err = 0;
	writer_release(w);
	return err;
}

/* Takes both over. */
static int writer_start(struct writer *w, char *path, char *data, size_t n)
{
	int err = writer_wait(w);

	w->path = path;
	w->data = data;
	w->n = n;
	if (err < 0)
		return err;
	w->running = !pthread_create(&w->thread, NULL, write_member, w);
	if (w->running)
		return 0;
	write_member(w);
	return writer_wait(w);
}

/* -- one point -------------------------------------------------------------- */

/* Its members, which shares take as they come to them; the first and the twin are the leader's. */
struct making {
	const struct kl_poolbuild *b;
	size_t first, last, twin; /* [first, last); SIZE_MAX: no twin is planned */
	atomic_size_t next;
	atomic_bool failed;
};

struct share {
	struct making *m;
	bool leads;
	struct kl_oracles oracles;
	struct writer writer;
};

static void share_release(struct share *s)
{
	kl_oracles_release(&s->oracles);
	writer_release(&s->writer);
}

static int make_member(struct share *s, size_t i)
{
	const struct kl_poolbuild *b = s->m->b;
	KL_AUTO(kl_freep) char *base = NULL;
	struct kl_poolfile l;
	int err;

	kl_poolfile_init(&l, b->job, &b->member[i]);
	base = kl_calloc(1, l.total);
	err = kl_poolmake(base, b->job, &b->member[i], member_seed(b, &b->member[i]), &s->oracles);
	if (err < 0)
		return err;
	return writer_start(&s->writer, kl_poolbuild_path(b->dir, i), kl_steal(&base), l.total);
}

/* The first member, and its twin while the first is at hand. */
static int make_twins(struct share *s)
{
	const struct kl_poolbuild *b = s->m->b;
	size_t i = s->m->first, twin = s->m->twin;
	KL_AUTO(kl_freep) char *path = kl_poolbuild_path(b->dir, i), *base = NULL, *other = NULL;
	struct kl_member first = b->member[i];
	struct kl_poolfile l, lt;
	bool made;
	int err;

	kl_poolfile_init(&l, b->job, &first);
	kl_poolfile_init(&lt, b->job, &b->member[twin]);
	base = kl_calloc(1, l.total);
	other = kl_calloc(1, lt.total);
	err = kl_poolmake(base, b->job, &first, member_seed(b, &first), &s->oracles);
	first.seed = b->seed;
	kl_poolfile_point(&first, &l, b->job, base);
	if (err == 0)
		err = write_file(path, base, l.total);
	if (err == 0)
		err = kl_poolmake_twin(other, b->job, &b->member[twin], &first,
				       member_seed(b, &b->member[twin]), &s->oracles, &made);
	if (err < 0)
		return err;
	return writer_start(&s->writer, kl_poolbuild_path(b->dir, twin), kl_steal(&other),
			    made ? lt.total : 0);
}

static int make_share(void *ctx)
{
	struct share *s = ctx;
	struct making *m = s->m;
	const struct kl_poolbuild *b = m->b;
	int err = kl_oracles_start(&s->oracles, b->job, b->member[m->first].point);
	size_t i;

	if (err == 0 && s->leads)
		err = m->twin == SIZE_MAX ? make_member(s, m->first) : make_twins(s);
	while (err == 0 && !atomic_load(&m->failed) &&
	       (i = atomic_fetch_add(&m->next, 1)) < m->last)
		if (i != m->twin)
			err = make_member(s, i);
	if (err == 0)
		err = writer_wait(&s->writer);
	if (err < 0)
		atomic_store(&m->failed, true);
	/* its children are tied to the thread that made them */
	share_release(s);
	return err;
}

/* -- all points ------------------------------------------------------------ */

static size_t shares_of(const struct kl_poolbuild *b, const struct making *m)
{
	size_t n = (m->last - m->first) / 2, room;
	struct kl_poolfile l;

	/* a small point is not worth more children */
	if (!b->member[m->first].point->perf || n < 2)
		return 1;
	kl_poolfile_init(&l, b->job, &b->member[m->first]);
	room = SHARE_BYTES / l.total;
	n = n < SHARES ? n : SHARES;
	n = n < kl_par_width() ? n : kl_par_width();
	return n < room ? n : room ? room : 1;
}

struct plan {
	struct making *making;
	struct share *share;
	struct kl_task *task;
	size_t nmaking, nshare;
};

static void plan_release(struct plan *p)
{
	kl_tasks_release(p->task, p->nshare);
	free(p->making);
	free(p->share);
	free(p->task);
}

static void plan_points(struct plan *p, const struct kl_poolbuild *b)
{
	p->making = kl_calloc(b->n + 1, sizeof(*p->making));
	for (size_t i = 0; i < b->n; i++) {
		struct making *m = p->nmaking ? &p->making[p->nmaking - 1] : NULL;

		if (!m || b->member[i].point != b->member[m->first].point) {
			m = &p->making[p->nmaking++];
			*m = (struct making){ .b = b, .first = i, .twin = SIZE_MAX };
			atomic_store(&m->next, i + 1);
		}
		m->last = i + 1;
		if (!strcmp(b->member[i].band, KL_POOL_TWIN))
			m->twin = i;
	}
}

static void plan_shares(struct plan *p, const struct kl_poolbuild *b)
{
	bool alone = b->job->surface == KL_SURFACE_CUDA;

	p->share = kl_calloc(SHARES * p->nmaking + 1, sizeof(*p->share));
	p->task = kl_calloc(SHARES * p->nmaking + 1, sizeof(*p->task));
	for (size_t i = 0; i < p->nmaking; i++) {
		size_t n = alone ? 1 : shares_of(b, &p->making[i]);

		for (size_t k = 0; k < n; k++) {
			p->share[p->nshare] = (struct share){ .m = &p->making[i], .leads = k == 0 };
			p->task[p->nshare] = (struct kl_task){ .run = make_share,
							       .ctx = &p->share[p->nshare] };
			p->nshare++;
		}
	}
}

int kl_poolbuild(const struct kl_poolbuild *b)
{
	KL_AUTO(plan_release) struct plan p = { .nshare = 0 };
	int err = 0;

	plan_points(&p, b);
	plan_shares(&p, b);
	if (b->job->surface == KL_SURFACE_CUDA) {
		for (size_t i = 0; i < p.nshare && err == 0; i++)
			err = make_share(&p.share[i]);
		return err;
	}
	kl_tasks_run(p.task, p.nshare);
	for (size_t i = 0; i < p.nshare && err == 0; i++)
		err = kl_task_result(&p.task[i]);
	return err;
}
