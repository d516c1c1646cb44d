/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_BUILD_H
#define KL_GATE_BUILD_H

#include "backend/backend.h"
#include "base/map.h"
#include "base/progress.h"

/*
 * build - what a session compiles, once each: surfaces to audited objects with their facts, oracles
 * to truth and honest yardstick, each by the backend of its language (backend/backend.h).
 *
 *	kl_builder_platform(&p, b, surface);	needed before: it is part of a verdict's key
 *	kl_builder_all(&set, b, &wanted);
 *	set.candidate->artefact ? ... : set.candidate->class_, set.candidate->message
 *
 * What is wanted is compiled at once, each in a directory and jails of its own. A backend is opened
 * when the first surface asks for it. Oracles outlive the session (backend/object_cache.h).
 */
struct kl_built {
	struct kl_artefact *artefact; /* NULL: refused */
	const char *class_;
	char *message;
};

struct kl_built_oracle {
	char *truth, *honest, *pool; /* paths */
	struct kl_launch *launch;    /* NULL: it has no plan */
};

struct kl_builder_state {
	const struct kl_backend *backend;
	void *state;
};

struct kl_builder {
	struct kl_backend_session session;  /* what the backends are lent */
	const struct kl_backends *backends; /* NULL: those of this program */
	struct kl_progress *progress;       /* borrowed */
	/* private */
	struct kl_builder_state state[KL_LANGUAGES_MAX + 1]; /* of those that are open */
	struct kl_map built;    /* surface and contract -> struct kl_built */
	struct kl_map oracle;   /* contract -> struct kl_built_oracle */
	struct kl_map baseline; /* contract and architecture -> struct kl_artefact */
};

/** The platform that is asked for is checked, and this machine for it. */
int kl_builder_open(struct kl_builder *builder);
void kl_builder_release(struct kl_builder *builder);

/** The backend of a surface; KL_ECANNOT: there is none. */
int kl_builder_backend(const struct kl_backend **out, const struct kl_builder *builder,
		       const struct kl_surface *surface);
/** Where a surface is judged (backend->platform). KL_ECANNOT: another platform was asked for. */
int kl_builder_platform(struct kl_platform *out, struct kl_builder *builder,
			const struct kl_surface *surface);
/**
 * Where this machine would judge what was judged on `platform`: there, if the kernel names it, else
 * where it judges kernels of that backend. KL_ECANNOT, KL_EINVALID: nowhere.
 */
int kl_builder_machine(struct kl_platform *out, struct kl_builder *builder, const char *platform);

/** Compile and audit, once per surface. A refusal is a result; an error is not kept. Borrowed. */
int kl_builder_surface(const struct kl_built **out, struct kl_builder *builder,
		       const struct kl_surface *surface);

/* All that one judgement needs. */
struct kl_builder_needs {
	const struct kl_surface *candidate, *parent; /* parent NULL: none */
	const char *march; /* a baseline of ours for it is wanted, too; or NULL */
};
struct kl_builder_set {
	const struct kl_built *candidate, *parent;
	const struct kl_built_oracle *oracle; /* of the candidate's contract */
	const struct kl_artefact *baseline;   /* NULL: none of ours, or not to be had */
};

/**
 * KL_ECANNOT, whatever is wrong with an oracle: no kernel can be judged by it. Beside a candidate
 * that was refused there is no parent and no baseline. Borrowed.
 */
int kl_builder_all(struct kl_builder_set *out, struct kl_builder *builder,
		   const struct kl_builder_needs *wanted);

#endif
