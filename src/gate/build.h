/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_BUILD_H
#define KL_GATE_BUILD_H

#include "backend/backend.h"
#include "base/map.h"
#include "base/progress.h"

/*
 * build - compiles the surfaces and oracles of a session, each surface and each oracle once. A
 * surface becomes an audited artefact with its facts; an oracle becomes two objects, the truth and
 * the honest reference. The backend of the surface's language does the work (backend/backend.h).
 *
 *	kl_builder_platform(&p, b, surface);	first, because a verdict's key contains it
 *	kl_builder_all(&set, b, &needs);
 *	set.candidate->artefact ? ... : set.candidate->class_, set.candidate->message
 *
 * Everything that one judgement needs is compiled in parallel, each task in its own directory and
 * jails. A backend is opened when the first surface needs it. Compiled oracles are kept for later
 * sessions (backend/object_cache.h).
 */
struct kl_built {
	struct kl_artefact *artefact; /* NULL if the surface was refused */
	const char *class_;           /* class of the failure, if refused */
	char *message;                /* the reason, if refused */
};

struct kl_built_oracle {
	char *truth, *honest, *pool; /* paths of the two objects and of the pool's directory */
	struct kl_launch *launch;    /* launch plan of the oracle, or NULL */
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
	/* the open backends; the entry after the last has no backend */
	struct kl_builder_state state[KL_LANGUAGES_MAX + 1];
	struct kl_map built;    /* surface and contract -> struct kl_built */
	struct kl_map oracle;   /* contract -> struct kl_built_oracle */
	struct kl_map baseline; /* contract and architecture -> struct kl_artefact */
};

/**
 * Prepare the builder. If the session requests a platform, open its backend. Return KL_EINVALID if
 * the platform is unknown. Return KL_ECANNOT if this machine does not support it.
 */
int kl_builder_open(struct kl_builder *builder);
void kl_builder_release(struct kl_builder *builder);

/** Find the backend of a surface. Return KL_ECANNOT if there is none for its language. */
int kl_builder_backend(const struct kl_backend **out, const struct kl_builder *builder,
		       const struct kl_surface *surface);
/**
 * Get the platform that a surface is judged on (backend->platform). Return KL_ECANNOT if the
 * session requests a platform of another backend.
 */
int kl_builder_platform(struct kl_platform *out, struct kl_builder *builder,
			const struct kl_surface *surface);
/**
 * Get the platform on which this machine would judge a kernel that was judged on `platform`. If the
 * kernels of the platform's backend name their own platform, this is `platform` itself; otherwise
 * it is the platform of this machine. Return KL_EINVALID if the platform is unknown. Return
 * KL_ECANNOT if this machine or session cannot judge kernels of that backend.
 */
int kl_builder_machine(struct kl_platform *out, struct kl_builder *builder, const char *platform);

/**
 * Compile and audit a surface, or return the earlier result of this session. A refused surface is a
 * result, not an error; errors are not cached. *out is borrowed from the builder.
 */
int kl_builder_surface(const struct kl_built **out, struct kl_builder *builder,
		       const struct kl_surface *surface);

/* The surfaces to compile for one judgement. */
struct kl_builder_needs {
	const struct kl_surface *candidate, *parent; /* `parent` may be NULL */
	const char *march; /* architecture of a shipped baseline to compile; NULL for no baseline */
};
struct kl_builder_set {
	const struct kl_built *candidate, *parent;
	const struct kl_built_oracle *oracle; /* of the candidate's contract */
	/* a shipped kernel; NULL if there is none, or if it could not be compiled */
	const struct kl_artefact *baseline;
};

/**
 * Compile everything that one judgement needs. Return KL_ECANNOT if the oracle cannot be compiled,
 * because then no kernel can be judged by it. If the candidate is refused, `parent` and `baseline`
 * are NULL. The members of *out are borrowed from the builder.
 */
int kl_builder_all(struct kl_builder_set *out, struct kl_builder *builder,
		   const struct kl_builder_needs *needs);

#endif
