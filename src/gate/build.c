/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "gate/build_task.h"

static void built_free(void *p)
{
	kl_built_free(p);
}

static void oracle_free(void *p)
{
	struct kl_built_oracle *o = p;

	kl_launch_free(o->launch);
	free(o->truth);
	free(o->honest);
	free(o->pool);
	free(o);
}

static void baseline_free(void *p)
{
	kl_artefact_free(p);
}

/* -- backends -------------------------------------------------------------------------------- */

/* Its state in this session; opened when it is first asked for. */
static int open_backend(const struct kl_builder_state **out, struct kl_builder *b,
			const struct kl_backend *backend)
{
	struct kl_builder_state *at = b->state;
	int err;

	while (at->backend && at->backend != backend)
		at++;
	if (!at->backend) {
		if ((err = backend->open(&at->state, &b->session)) < 0)
			return err;
		at->backend = backend;
	}
	*out = at;
	return 0;
}

/* A kernel that is judged where the machine says cannot be judged on a platform of another kind. */
static int check_platform(const struct kl_builder *b, const struct kl_backend *backend)
{
	const char *asked = b->session.platform;

	if (!asked || backend->own_platform || backend->owns(asked))
		return 0;
	return kl_error(KL_ECANNOT, "platform '%s' is asked for, and this kernel is in %s", asked,
			backend->language->title);
}

/* The backend of a surface, opened. */
static int want_backend(const struct kl_builder_state **out, struct kl_builder *b,
			const struct kl_surface *s)
{
	const struct kl_backend *backend = NULL;
	int err = kl_builder_backend(&backend, b, s);

	if (!err)
		err = check_platform(b, backend);
	return err ? err : open_backend(out, b, backend);
}

int kl_builder_open(struct kl_builder *b)
{
	const struct kl_backend *backend = NULL;
	const struct kl_builder_state *state;
	int err;

	b->built.free_value = built_free;
	b->oracle.free_value = oracle_free;
	b->baseline.free_value = baseline_free;
	if (!b->backends)
		b->backends = &kl_backends;
	if (!b->session.platform)
		return 0;
	err = kl_backend_owner(&backend, b->backends, b->session.platform);
	return err ? err : open_backend(&state, b, backend);
}

void kl_builder_release(struct kl_builder *b)
{
	kl_map_release(&b->built);
	kl_map_release(&b->oracle);
	kl_map_release(&b->baseline);
	for (struct kl_builder_state *at = b->state; at->backend; at++)
		at->backend->close(at->state);
}

int kl_builder_backend(const struct kl_backend **out, const struct kl_builder *b,
		       const struct kl_surface *s)
{
	return kl_backend_find(out, b->backends, s->contract);
}

int kl_builder_platform(struct kl_platform *out, struct kl_builder *b, const struct kl_surface *s)
{
	const struct kl_builder_state *of = NULL;
	int err = want_backend(&of, b, s);

	return err ? err : of->backend->platform(out, of->state, s);
}

int kl_builder_machine(struct kl_platform *out, struct kl_builder *b, const char *platform)
{
	const struct kl_backend *backend = NULL;
	const struct kl_builder_state *of = NULL;
	int err = kl_backend_owner(&backend, b->backends, platform);

	if (err < 0)
		return err;
	if (backend->own_platform) {
		*out = (struct kl_platform){ .id = "" };
		snprintf(out->id, sizeof(out->id), "%s", platform);
		return 0;
	}
	if ((err = check_platform(b, backend)) < 0 || (err = open_backend(&of, b, backend)) < 0)
		return err;
	return backend->platform(out, of->state, NULL);
}

/*
 * -- at once -------------------------------------------------------------------------------------
 */

#define NONE SIZE_MAX

/* What is not there yet; places in `pieces`, of an oracle its first one. */
struct missing {
	struct kl_pieces pieces;
	size_t candidate, parent, oracle, baseline;
	struct kl_built_oracle *made;
};

static void missing_release(struct missing *m)
{
	kl_pieces_release(&m->pieces);
	if (m->made)
		oracle_free(m->made);
}

/* the contract decides entry and flags: it is part of what was built */
static char *surface_key(const struct kl_surface *s)
{
	return kl_asprintf("%s-%s", s->digest, s->contract_digest);
}

static char *baseline_key(const struct kl_surface *s, const char *march)
{
	return kl_asprintf("%s-%s", s->contract_digest, march);
}

/* A surface and its backend, which is prepared for it. */
struct prepared {
	const struct kl_surface *surface;
	const struct kl_builder_state *by;
};

static size_t add_piece(struct missing *m, enum kl_piece_kind kind, const struct prepared *of,
			char *dir)
{
	const struct kl_piece piece = {
		.kind = kind,
		.backend = of->by->backend,
		.state = of->by->state,
		.surface = of->surface,
		.dir = dir,
	};

	return kl_pieces_add(&m->pieces, &piece);
}

static size_t want_surface(struct missing *m, struct kl_builder *b, const struct prepared *of)
{
	const struct kl_surface *s = of->surface;
	KL_AUTO(kl_freep) char *key = surface_key(s);

	if (kl_map_get(&b->built, key))
		return NONE;
	return add_piece(m, KL_PIECE_SURFACE, of,
			 kl_asprintf("%s/%.16s-%.16s", b->session.dir, s->digest,
				     s->contract_digest));
}

static int want_oracle(struct missing *m, struct kl_builder *b, const struct prepared *of)
{
	const struct kl_surface *s = of->surface;
	KL_AUTO(kl_freep) char *name = kl_asprintf("oracle-%.16s", s->contract_digest);
	KL_AUTO(kl_freep) char *dir = kl_fs_join(b->session.dir, name);
	size_t at;
	int err;

	if (kl_map_get(&b->oracle, s->contract_digest))
		return 0;
	m->made = kl_calloc(1, sizeof(*m->made));
	if (s->contract->oracle_launch && (err = kl_launch_read(&m->made->launch, s, true)) < 0)
		return err;
	m->made->pool = kl_fs_join(dir, "pool");
	m->oracle = add_piece(m, KL_PIECE_TRUTH, of, kl_fs_join(dir, "truth"));
	at = add_piece(m, KL_PIECE_HONEST, of, kl_fs_join(dir, "honest"));
	m->pieces.piece[m->oracle].launch = m->pieces.piece[at].launch = m->made->launch;
	m->made->truth = kl_piece_oracle_path(&m->pieces.piece[m->oracle]);
	m->made->honest = kl_piece_oracle_path(&m->pieces.piece[at]);
	return 0;
}

static void want_baseline(struct missing *m, struct kl_builder *b, const struct prepared *of,
			  const char *march)
{
	const struct kl_surface *s = of->surface;
	KL_AUTO(kl_freep) char *key = NULL;

	if (!march || !*march || !s->contract->baseline || !of->by->backend->baseline)
		return;
	key = baseline_key(s, march);
	if (kl_map_get(&b->baseline, key))
		return;
	m->baseline = add_piece(m, KL_PIECE_BASELINE, of,
				kl_asprintf("%s/base-%.16s-%s", b->session.dir, s->contract_digest,
					    march));
	m->pieces.piece[m->baseline].march = march;
}

/* Whatever is wrong with an oracle, it is not the candidate's fault. */
static int blame_oracle(int err, const struct kl_surface *s)
{
	if (err == KL_EINTR || err == KL_EIO)
		return err;
	return kl_error(KL_ECANNOT, "oracle of '%s': %s", s->contract->workload, kl_error_last());
}

static int take_oracle(struct missing *m, struct kl_builder *b, const struct kl_surface *s)
{
	int err = 0;

	if (m->oracle == NONE)
		return 0;
	for (size_t i = m->oracle; !err && i < m->oracle + 2; i++)
		err = kl_task_result(&m->pieces.task[i]);
	if (err < 0)
		return blame_oracle(err, s);
	kl_map_put(&b->oracle, s->contract_digest, kl_steal(&m->made));
	return 0;
}

static int take_surface(struct missing *m, struct kl_builder *b, const struct kl_surface *s,
			size_t at)
{
	KL_AUTO(kl_freep) char *key = surface_key(s);
	int err = at == NONE ? 0 : kl_task_result(&m->pieces.task[at]);

	if (!err && at != NONE)
		kl_map_put(&b->built, key, kl_steal(&m->pieces.piece[at].built));
	return err;
}

/* One that cannot be had is left out, no more. */
static void take_baseline(struct missing *m, struct kl_builder *b, const struct kl_surface *s,
			  const char *march)
{
	KL_AUTO(kl_freep) char *key = baseline_key(s, march);
	int err;

	if (m->baseline == NONE)
		return;
	err = kl_task_result(&m->pieces.task[m->baseline]);
	if (!err)
		kl_map_put(&b->baseline, key, kl_steal(&m->pieces.piece[m->baseline].baseline));
	else if (err != KL_ENOTFOUND)
		kl_progress_say(b->progress, "%s", kl_error_last());
	kl_error_clear();
}

/* What has to be there before anything is compiled; a tool that is missing is nobody's fault. */
static int prepare_surface(struct prepared *out, struct kl_builder *b, const struct kl_surface *s)
{
	int err = want_backend(&out->by, b, s);

	out->surface = s;
	return err ? err : out->by->backend->prepare(out->by->state, s);
}

int kl_builder_surface(const struct kl_built **out, struct kl_builder *b,
		       const struct kl_surface *s)
{
	KL_AUTO(missing_release) struct missing m = { .made = NULL };
	KL_AUTO(kl_freep) char *key = surface_key(s);
	struct prepared of = { .surface = NULL };
	size_t at;
	int err = prepare_surface(&of, b, s);

	if (err < 0)
		return err;
	at = want_surface(&m, b, &of);
	m.pieces.repo = b->session.repo;
	kl_progress_step(b->progress, "compile");
	kl_pieces_compile(&m.pieces);
	err = take_surface(&m, b, s, at);
	*out = kl_map_get(&b->built, key);
	return err;
}

static int want_all(struct missing *m, struct kl_builder *b, const struct kl_builder_wanted *w)
{
	bool other = w->parent &&
		     (strcmp(w->parent->digest, w->candidate->digest) ||
		      strcmp(w->parent->contract_digest, w->candidate->contract_digest));
	struct prepared candidate = { .surface = NULL }, parent = { .surface = NULL };
	int err = prepare_surface(&candidate, b, w->candidate);

	if (!err && w->parent)
		err = prepare_surface(&parent, b, w->parent);
	if (err < 0)
		return err;
	/* the longest first */
	m->candidate = want_surface(m, b, &candidate);
	m->parent = other ? want_surface(m, b, &parent) : NONE;
	m->oracle = m->baseline = NONE;
	want_baseline(m, b, &candidate, w->march);
	err = want_oracle(m, b, &candidate);
	return err < 0 ? blame_oracle(err, w->candidate) : 0;
}

int kl_builder_all(struct kl_builder_set *out, struct kl_builder *b,
		   const struct kl_builder_wanted *w)
{
	KL_AUTO(missing_release) struct missing m = { .made = NULL };
	KL_AUTO(kl_freep) char *candidate = surface_key(w->candidate);
	KL_AUTO(kl_freep) char *parent = w->parent ? surface_key(w->parent) : NULL;
	KL_AUTO(kl_freep) char *baseline = w->march ? baseline_key(w->candidate, w->march) : NULL;
	int err, of_parent;

	*out = (struct kl_builder_set){ .candidate = NULL };
	m.pieces.repo = b->session.repo;
	if ((err = want_all(&m, b, w)) < 0)
		return err;
	if (m.pieces.n)
		kl_progress_step(b->progress, "compile");
	kl_pieces_compile(&m.pieces);
	if (baseline)
		take_baseline(&m, b, w->candidate, w->march);
	of_parent = parent ? take_surface(&m, b, w->parent, m.parent) : 0;
	if ((err = take_oracle(&m, b, w->candidate)) < 0 ||
	    (err = take_surface(&m, b, w->candidate, m.candidate)) < 0)
		return err;
	out->oracle = kl_map_get(&b->oracle, w->candidate->contract_digest);
	out->candidate = kl_map_get(&b->built, candidate);
	if (!out->candidate->artefact) /* nothing will be compared with it */
		return 0;
	out->parent = parent ? kl_map_get(&b->built, parent) : NULL;
	out->baseline = baseline ? kl_map_get(&b->baseline, baseline) : NULL;
	return of_parent < 0 ? kl_task_result(&m.pieces.task[m.parent]) : 0;
}
