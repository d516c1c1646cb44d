/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_BUILD_H
#define KL_GATE_BUILD_H

#include "base/map.h"
#include "base/progress.h"
#include "gate/baseline_cuda.h"
#include "gate/compile.h"
#include "gate/launch.h"
#include "gate/nvcc.h"

/*
 * build - what a session compiles, once each: surfaces to audited objects with their facts, oracles to
 * truth and honest yardstick. Here the languages part: `c` by gcc to a shared object, `cuda` by nvcc to a
 * cubin with its launch plan; what comes out is used alike.
 *
 *	kl_builder_platform(&p, b, surface);	needed before: it is part of a verdict's key
 *	kl_builder_surface(&built, b, surface);
 *	built->artefact ? ... : built->class_, built->message
 *
 * What a language needs of the machine (gcc, nvcc) is looked for when the first surface asks.
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
	const char *dir;		/* private scratch */
	const char *platform;		/* asked for, or NULL */
	const char *nvcc_setting;
	struct kl_platform cpu;		/* id "": not looked for yet */
	struct kl_nvcc nvcc;		/* nvcc NULL: not looked for yet */
	struct kl_map built;		/* surface and contract -> struct kl_built */
	struct kl_map oracle;		/* contract -> struct kl_built_oracle */
	struct kl_map baseline;		/* contract -> struct kl_baseline_cuda */
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

/** KL_ECANNOT, whatever is wrong with an oracle: no kernel can be judged by it. Borrowed. */
int kl_builder_oracle(const struct kl_built_oracle **out, struct kl_builder *b, const struct kl_surface *s);

/** The contract's baseline for `arch`, if it is a kernel of ours and can be had; else NULL. Borrowed. */
const struct kl_baseline_cuda *kl_builder_baseline(struct kl_builder *b, const struct kl_surface *s,
						   const char *arch);

#endif
