/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "gate/compile_cuda.h"
#include "gate/compile_host.h"

static void built_free(void *p)
{
	struct kl_built *b = p;

	kl_artefact_free(b->artefact);
	kl_launch_free(b->launch);
	free(b->message);
	free(b);
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
	if (asks_for_device(b))
		return 0;
	err = kl_platform_detect(&b->cpu, b->platform);
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
	kl_nvcc_release(&b->nvcc);
}

static int want_cpu(struct kl_builder *b)
{
	if (asks_for_device(b))
		return kl_error(KL_ECANNOT, "platform '%s' is asked for, and this kernel is in C",
				b->platform);
	return b->cpu.id[0] ? 0 : kl_platform_detect(&b->cpu, b->platform);
}

static int want_nvcc(struct kl_builder *b)
{
	return b->nvcc.nvcc ? 0 : kl_nvcc_find(&b->nvcc, b->nvcc_setting);
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
	if ((err = want_nvcc(b)) < 0)
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
	if (asks_for_device(b) && strcmp(b->platform, out->id))
		return kl_error(KL_ECANNOT, "the kernel is for %s, and %s is asked for", out->id,
				b->platform);
	return 0;
}

/* -- surfaces --------------------------------------------------------------------------------- */

static int compile_c(struct kl_built *to, struct kl_builder *b, const struct kl_surface *s, const char *dir)
{
	int err = want_cpu(b);

	return err ? err : kl_compile_surface(&to->artefact, &to->class_, b->jail, &b->cpu, s, dir);
}

static int compile_cuda(struct kl_built *to, struct kl_builder *b, const struct kl_surface *s,
			const char *dir)
{
	int err = want_nvcc(b);

	if (err < 0)
		return err;
	if (s->contract->host)
		return kl_compile_host(&to->artefact, &to->class_, b->jail, &b->nvcc, s, dir);
	err = kl_launch_read(&to->launch, s, false);
	if (err == KL_EINVALID) {	/* a plan is a source like any other */
		to->class_ = "launch";
		return kl_error(KL_ENO, "%s", kl_error_last());
	}
	return err ? err : kl_compile_cuda(&to->artefact, &to->class_, b->jail, &b->nvcc, s, to->launch, dir);
}

int kl_builder_surface(const struct kl_built **out, struct kl_builder *b, const struct kl_surface *s)
{
	/* the contract decides entry and flags: it is part of what was built */
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s-%s", s->digest, s->contract_digest);
	KL_AUTO(kl_freep) char *dir = kl_asprintf("%s/%.16s-%.16s", b->dir, s->digest, s->contract_digest);
	struct kl_built *to;
	int err;

	*out = kl_map_get(&b->built, key);
	if (*out)
		return 0;
	kl_progress_step(b->progress, "compile");
	if ((err = kl_fs_mkdir(dir)) < 0)
		return err;
	to = kl_calloc(1, sizeof(*to));
	err = kl_contract_is_cuda(s->contract) ? compile_cuda(to, b, s, dir) : compile_c(to, b, s, dir);
	if (err < 0 && err != KL_ENO) {
		built_free(to);
		return err;
	}
	to->message = err ? kl_strdup(kl_error_last()) : NULL;
	kl_error_clear();
	kl_map_put(&b->built, key, to);
	*out = to;
	return 0;
}

/* -- oracles ------------------------------------------------------------------------------------- */

static int oracle_cuda(struct kl_built_oracle *to, struct kl_builder *b, const struct kl_surface *s,
		       const char *dir)
{
	int err = kl_launch_read(&to->launch, s, true);

	return err ? err : kl_compile_cuda_oracle(b->jail, &b->nvcc, s, to->launch, dir);
}

int kl_builder_oracle(const struct kl_built_oracle **out, struct kl_builder *b, const struct kl_surface *s)
{
	KL_AUTO(kl_freep) char *dir = kl_asprintf("%s/oracle-%.16s", b->dir, s->contract_digest);
	bool cuda = kl_contract_is_cuda(s->contract);
	struct kl_built_oracle *to;
	int err;

	*out = kl_map_get(&b->oracle, s->contract_digest);
	if (*out)
		return 0;
	kl_progress_step(b->progress, "compile the oracle");
	/* a tool that is missing is not the oracle's fault */
	if ((err = cuda ? want_nvcc(b) : want_cpu(b)) < 0 || (err = kl_fs_mkdir(dir)) < 0)
		return err;
	to = kl_calloc(1, sizeof(*to));
	err = cuda ? oracle_cuda(to, b, s, dir) : kl_compile_oracle(b->jail, &b->cpu, s, dir);
	if (err < 0) {
		oracle_free(to);
		if (err == KL_EINTR || err == KL_EIO)
			return err;
		return kl_error(KL_ECANNOT, "oracle of '%s': %s", s->contract->workload, kl_error_last());
	}
	to->truth = kl_asprintf("%s/truth.%s", dir, cuda ? "cubin" : "so");
	to->honest = kl_asprintf("%s/honest.%s", dir, cuda ? "cubin" : "so");
	to->pool = kl_fs_join(dir, "pool");
	kl_map_put(&b->oracle, s->contract_digest, to);
	*out = to;
	return 0;
}

/* -- baselines ----------------------------------------------------------------------------------- */

const struct kl_baseline_cuda *kl_builder_baseline(struct kl_builder *b, const struct kl_surface *s,
						   const char *arch)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s-%s", s->contract_digest, arch);
	KL_AUTO(kl_freep) char *dir = kl_asprintf("%s/base-%.16s-%s", b->dir, s->contract_digest, arch);
	struct kl_baseline_cuda *to = kl_map_get(&b->baseline, key);
	int err;

	if (to || !kl_contract_is_cuda(s->contract) || !s->contract->baseline || want_nvcc(b) < 0)
		return to;
	err = kl_baseline_cuda(&to, b->jail, &b->nvcc, s, arch, dir);
	if (err < 0 && err != KL_ENOTFOUND)	/* the comparison is left out, no more */
		kl_progress_say(b->progress, "%s", kl_error_last());
	kl_error_clear();
	if (err < 0)
		return NULL;
	kl_map_put(&b->baseline, key, to);
	return to;
}
