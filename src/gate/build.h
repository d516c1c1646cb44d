/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_BUILD_H
#define KL_GATE_BUILD_H

#include "backend/backend.h"
#include "base/map.h"
#include "base/progress.h"

/*
 * build - compiles the surfaces and oracles of a session, each of them once. A surface becomes an
 * audited artefact with its facts; an oracle becomes two objects, the truth and the honest
 * reference. The backend of the surface's language does the work (backend/backend.h).
 *
 *	kl_builder_platform(&p, b, surface);	first: the platform is part of a verdict's key
 *	kl_builder_all(&set, b, &needs);
 *	set.candidate->artefact ? ... : set.candidate->class_, set.candidate->message
 *
 * Everything that one judgement needs is compiled in parallel, each task in its own directory and
 * jails. A backend is opened when the first surface needs it. Oracles outlive the session
 * (backend/object_cache.h).
 */
struct kl_built {
	struct kl_artefact *artefact; /* NULL: the surface was refused */
	const char *class_;           /* if refused: class of the failure */
	char *message;                /* if refused: the reason */
};

struct kl_built_oracle {
	char *truth, *honest, *pool; /* paths */
	struct kl_launch *launch;    /* its launch plan; NULL: it has none */
};

struct kl_builder_state {
	const struct kl_backend *backend;
	void *state;
};

struct kl_builder {
	struct kl_backend_session session;  /* lent to the backends */
	const struct kl_backends *backends; /* NULL: kl_backends */
	struct kl_progress *progress;       /* borrowed */
	/* private */
	struct kl_builder_state state[KL_LANGUAGES_MAX + 1]; /* of the open backends */
	struct kl_map built;    /* surface and contract -> struct kl_built */
	struct kl_map oracle;   /* contract -> struct kl_built_oracle */
	struct kl_map baseline; /* contract and architecture -> struct kl_artefact */
};

/**
 * Prepare the builder. If the session requests a platform, open its backend, which checks that this
 * machine supports it: KL_EINVALID, KL_ECANNOT.
 */
int kl_builder_open(struct kl_builder *builder);
void kl_builder_release(struct kl_builder *builder);

/** Find the backend of a surface; KL_ECANNOT: its language has none. */
int kl_builder_backend(const struct kl_backend **out, const struct kl_builder *builder,
		       const struct kl_surface *surface);
/**
 * Get the platform that a surface is judged on (backend->platform). KL_ECANNOT: the session
 * requests a platform of another kind.
 */
int kl_builder_platform(struct kl_platform *out, struct kl_builder *builder,
			const struct kl_surface *surface);
/**
 * Get the platform on which this machine would judge a kernel that was judged on `platform`: the
 * same one if kernels of its backend name their platform, otherwise the one on which this machine
 * judges kernels of that backend. KL_ECANNOT, KL_EINVALID: there is none.
 */
int kl_builder_machine(struct kl_platform *out, struct kl_builder *builder, const char *platform);

/**
 * Compile and audit a surface, or return the earlier result of this session. A refused surface is a
 * result, not an error; errors are not cached. *out is borrowed from the builder.
 */
int kl_builder_surface(const struct kl_built **out, struct kl_builder *builder,
		       const struct kl_surface *surface);

/* Inputs of one judgement. */
struct kl_builder_needs {
	const struct kl_surface *candidate, *parent; /* parent NULL: none */
	const char *march; /* compile a shipped baseline for it; NULL: no baseline */
};
struct kl_builder_set {
	const struct kl_built *candidate, *parent;
	const struct kl_built_oracle *oracle; /* of the candidate's contract */
	const struct kl_artefact *baseline;   /* a shipped kernel; NULL: none, or it failed */
};

/**
 * Compile everything that one judgement needs. KL_ECANNOT: the oracle cannot be compiled, so no
 * kernel can be judged by it. If the candidate is refused, `parent` and `baseline` are NULL. The
 * members of *out are borrowed from the builder.
 */
int kl_builder_all(struct kl_builder_set *out, struct kl_builder *builder,
		   const struct kl_builder_needs *needs);

#endif
