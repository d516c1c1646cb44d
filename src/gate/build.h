/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_BUILD_H
#define KL_GATE_BUILD_H

#include "backend/c/compile.h"
#include "backend/cuda/baseline.h"
#include "backend/cuda/nvcc.h"
#include "base/map.h"
#include "base/progress.h"
#include "contract/launch.h"

/*
 * build - what a session compiles, once each: surfaces to audited objects with their facts, oracles to
 * truth and honest yardstick. Here the languages part: `c` by gcc to a shared object, `cuda` by nvcc to a
 * cubin with its launch plan; what comes out is used alike.
 *
 *	kl_builder_platform(&p, b, surface);	needed before: it is part of a verdict's key
 *	kl_builder_all(&set, b, &wanted);
 *	set.candidate->artefact ? ... : set.candidate->class_, set.candidate->message
 *
 * What is wanted is compiled at once, each in a directory and jails of its own. What a language needs of
 * the machine (gcc, nvcc) is looked for when the first surface asks. Oracles outlive the session
 * (backend/object_cache.h).
 */
struct kl_built {
	struct kl_artefact *artefact;	/* NULL: refused */
	const char *class_;
	char *message;
	struct kl_launch
		*launch; /* cuda, unless the plan is what is wrong or host code launches; else NULL */
};

struct kl_built_oracle {
	char *truth, *honest, *pool;	/* paths */
	struct kl_launch *launch;	/* cuda */
};

struct kl_builder {
	const struct kl_jail *jail;	/* borrowed, as all that is asked for */
	struct kl_progress *progress;
	struct kl_repo *repo;		/* NULL: nothing outlives the session */
	const char *dir;		/* private scratch */
	const char *platform;		/* asked for, or NULL */
	const char *nvcc_setting;
	struct kl_platform cpu;		/* id "": not looked for yet */
	struct kl_nvcc nvcc;		/* nvcc NULL: not looked for yet */
	struct kl_map headers;		/* found so far (backend/headers.h) */
	char *runtime;			/* the runtime's object; NULL: not made yet */
	struct kl_map built;		/* surface and contract -> struct kl_built */
	struct kl_map oracle;		/* contract -> struct kl_built_oracle */
	struct kl_map baseline;		/* contract and architecture -> struct kl_baseline_cuda */
};

/** `platform` is checked for its form, and that of the machine for it. */
int kl_builder_open(struct kl_builder *b);
void kl_builder_release(struct kl_builder *b);

/**
 * Where a surface is judged: for c this machine's level, for cuda the architecture of its plan ("cuda" if the
 * plan is broken), the device not yet known. KL_ECANNOT: no compiler; another platform was asked for.
 */
int kl_builder_platform(struct kl_platform *out, struct kl_builder *b, const struct kl_surface *s);

/** Compile and audit, once per surface. A refusal is a result; an error is not kept. Borrowed. */
int kl_builder_surface(const struct kl_built **out, struct kl_builder *b, const struct kl_surface *s);

/* All that one judgement needs. */
struct kl_builder_wanted {
	const struct kl_surface *candidate, *parent;	/* parent NULL: none */
	const char *arch;	/* cuda: a baseline of ours for it is wanted, too; or NULL */
};
struct kl_builder_set {
	const struct kl_built *candidate, *parent;
	const struct kl_built_oracle *oracle;		/* of the candidate's contract */
	const struct kl_baseline_cuda *baseline;	/* NULL: none of ours, or not to be had */
};

/**
 * KL_ECANNOT, whatever is wrong with an oracle: no kernel can be judged by it. Beside a candidate that was
 * refused there is no parent and no baseline. Borrowed.
 */
int kl_builder_all(struct kl_builder_set *out, struct kl_builder *b, const struct kl_builder_wanted *w);

#endif
