/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/machine.h"
#include "gate/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/headers.h"
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
	kl_baseline_cuda_free(p);
}

static bool asks_for_device(const struct kl_builder *b)
{
	return b->platform && !strncmp(b->platform, "cuda", 4);
}

/* A machine that has no C kernels to offer may have a GPU: that it is none is said when one asks. */
int kl_builder_open(struct kl_builder *b)
{
	int err;

	b->built.free_value = built_free;
	b->oracle.free_value = oracle_free;
	b->baseline.free_value = baseline_free;
	kl_headers_init(&b->headers);
	if (asks_for_device(b))
		return 0;
	err = kl_machine_platform(&b->cpu, b->platform);
	if (err == KL_ECANNOT && !b->platform) {
		kl_error_clear();
		return 0;
	}
	return err;
}

void kl_builder_release(struct kl_builder *b)
{
	kl_map_release(&b->built);
	kl_map_release(&b->oracle);
	kl_map_release(&b->baseline);
	kl_map_release(&b->headers);
	kl_nvcc_release(&b->nvcc);
	free(b->runtime);
}

static int want_cpu(struct kl_builder *b)
{
	if (asks_for_device(b))
		return kl_error(KL_ECANNOT, "platform '%s' is asked for, and this kernel is in C",
				b->platform);
	return b->cpu.id[0] ? 0 : kl_machine_platform(&b->cpu, b->platform);
}

static int want_cuda(struct kl_builder *b, const struct kl_surface *s)
{
	int err = b->nvcc.nvcc ? 0 : kl_nvcc_find(&b->nvcc, b->nvcc_setting);

	return err ? err : kl_headers_find(&b->headers, b->repo, &s->contract->headers);
}

int kl_builder_platform(struct kl_platform *out, struct kl_builder *b, const struct kl_surface *s)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *l = NULL;
	int err;

	if (!kl_contract_is_cuda(s->contract)) {
		err = want_cpu(b);
		if (!err)
			*out = b->cpu;
		return err;
	}
	if ((err = want_cuda(b, s)) < 0)
		return err;
	err = s->contract->host ? 0 : kl_launch_read(&l, s, false);
	if (err < 0 && err != KL_EINVALID)
		return err;
	if (err < 0) {
		kl_error_clear();	/* it will be said of the candidate */
		kl_nvcc_platform(out, &b->nvcc, "");
		snprintf(out->id, sizeof(out->id), "cuda");
		return 0;
	}
	kl_nvcc_platform(out, &b->nvcc, l ? l->arch : s->contract->arch);
	kl_headers_say(out->compiler, sizeof(out->compiler), &b->headers, &s->contract->headers);
	if (asks_for_device(b) && strcmp(b->platform, out->id))
		return kl_error(KL_ECANNOT, "the kernel is for %s, and %s is asked for", out->id,
				b->platform);
	return 0;
}

/* -- at once ------------------------------------------------------------------------------------- */

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

static char *baseline_key(const struct kl_surface *s, const char *arch)
{
	return kl_asprintf("%s-%s", s->contract_digest, arch);
}

static size_t want_surface(struct missing *m, struct kl_builder *b, const struct kl_surface *s)
{
	KL_AUTO(kl_freep) char *key = surface_key(s);

	if (kl_map_get(&b->built, key))
		return NONE;
	return kl_pieces_add(&m->pieces, KL_PIECE_SURFACE, b, s,
			     kl_asprintf("%s/%.16s-%.16s", b->dir, s->digest, s->contract_digest));
}

static int want_oracle(struct missing *m, struct kl_builder *b, const struct kl_surface *s)
{
	KL_AUTO(kl_freep) char *dir = kl_asprintf("%s/oracle-%.16s", b->dir, s->contract_digest);
	size_t at;
	int err;

	if (kl_map_get(&b->oracle, s->contract_digest))
		return 0;
	m->made = kl_calloc(1, sizeof(*m->made));
	if (kl_contract_is_cuda(s->contract) && (err = kl_launch_read(&m->made->launch, s, true)) < 0)
		return err;
	m->made->pool = kl_fs_join(dir, "pool");
	m->oracle = kl_pieces_add(&m->pieces, KL_PIECE_TRUTH, b, s, kl_fs_join(dir, "truth"));
	at = kl_pieces_add(&m->pieces, KL_PIECE_HONEST, b, s, kl_fs_join(dir, "honest"));
	m->pieces.piece[m->oracle].launch = m->pieces.piece[at].launch = m->made->launch;
	m->made->truth = kl_piece_oracle_path(&m->pieces.piece[m->oracle]);
	m->made->honest = kl_piece_oracle_path(&m->pieces.piece[at]);
	return 0;
}

static void want_baseline(struct missing *m, struct kl_builder *b, const struct kl_surface *s,
			  const char *arch)
{
	KL_AUTO(kl_freep) char *key = NULL;

	if (!arch || !*arch || !s->contract->baseline)
		return;
	key = baseline_key(s, arch);
	if (kl_map_get(&b->baseline, key))
		return;
	m->baseline = kl_pieces_add(&m->pieces, KL_PIECE_BASELINE, b, s,
				    kl_asprintf("%s/base-%.16s-%s", b->dir, s->contract_digest, arch));
	m->pieces.piece[m->baseline].arch = arch;
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

static int take_surface(struct missing *m, struct kl_builder *b, const struct kl_surface *s, size_t at)
{
	KL_AUTO(kl_freep) char *key = surface_key(s);
	int err = at == NONE ? 0 : kl_task_result(&m->pieces.task[at]);

	if (!err && at != NONE)
		kl_map_put(&b->built, key, kl_steal(&m->pieces.piece[at].built));
	return err;
}

/* One that cannot be had is left out, no more. */
static void take_baseline(struct missing *m, struct kl_builder *b, const struct kl_surface *s,
			  const char *arch)
{
	KL_AUTO(kl_freep) char *key = baseline_key(s, arch);
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
static int want_tools(struct kl_builder *b, const struct kl_surface *s)
{
	int err;

	if (kl_contract_is_cuda(s->contract))
		return want_cuda(b, s);
	err = want_cpu(b);
	return err ? err : kl_piece_runtime(b);
}

int kl_builder_surface(const struct kl_built **out, struct kl_builder *b, const struct kl_surface *s)
{
	KL_AUTO(missing_release) struct missing m = { .made = NULL };
	KL_AUTO(kl_freep) char *key = surface_key(s);
	size_t at;
	int err = want_tools(b, s);

	if (err < 0)
		return err;
	at = want_surface(&m, b, s);
	kl_progress_step(b->progress, "compile");
	kl_pieces_compile(&m.pieces);
	err = take_surface(&m, b, s, at);
	*out = kl_map_get(&b->built, key);
	return err;
}

static int want_all(struct missing *m, struct kl_builder *b, const struct kl_builder_wanted *w)
{
	bool other = w->parent && (strcmp(w->parent->digest, w->candidate->digest) ||
				   strcmp(w->parent->contract_digest, w->candidate->contract_digest));
	int err;

	/* the longest first */
	m->candidate = want_surface(m, b, w->candidate);
	m->parent = other ? want_surface(m, b, w->parent) : NONE;
	m->oracle = m->baseline = NONE;
	want_baseline(m, b, w->candidate, w->arch);
	err = want_oracle(m, b, w->candidate);
	return err < 0 ? blame_oracle(err, w->candidate) : 0;
}

int kl_builder_all(struct kl_builder_set *out, struct kl_builder *b, const struct kl_builder_wanted *w)
{
	KL_AUTO(missing_release) struct missing m = { .made = NULL };
	KL_AUTO(kl_freep) char *candidate = surface_key(w->candidate);
	KL_AUTO(kl_freep) char *parent = w->parent ? surface_key(w->parent) : NULL;
	KL_AUTO(kl_freep) char *baseline = w->arch ? baseline_key(w->candidate, w->arch) : NULL;
	int err = want_tools(b, w->candidate), of_parent;

	*out = (struct kl_builder_set){ .candidate = NULL };
	if (!err && w->parent)
		err = want_tools(b, w->parent);
	if (err < 0 || (err = want_all(&m, b, w)) < 0)
		return err;
	if (m.pieces.n)
		kl_progress_step(b->progress, "compile");
	kl_pieces_compile(&m.pieces);
	if (baseline)
		take_baseline(&m, b, w->candidate, w->arch);
	of_parent = parent ? take_surface(&m, b, w->parent, m.parent) : 0;
	if ((err = take_oracle(&m, b, w->candidate)) < 0 ||
	    (err = take_surface(&m, b, w->candidate, m.candidate)) < 0)
		return err;
	out->oracle = kl_map_get(&b->oracle, w->candidate->contract_digest);
	out->candidate = kl_map_get(&b->built, candidate);
	if (!out->candidate->artefact)	/* nothing will be compared with it */
		return 0;
	out->parent = parent ? kl_map_get(&b->built, parent) : NULL;
	out->baseline = baseline ? kl_map_get(&b->baseline, baseline) : NULL;
	return of_parent < 0 ? kl_task_result(&m.pieces.task[m.parent]) : 0;
}
