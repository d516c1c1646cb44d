/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_ARTEFACT_H
#define KL_BACKEND_ARTEFACT_H

#include "contract/launch.h"
#include "event/facts.h"

/*
 * artefact - the result of compiling a kernel whose code passed the audit: the object file for the
 * worker, and the facts that can be read from it without running it.
 */
struct kl_artefact {
	char *object;               /* path in the session's directory: an image or a cubin */
	char digest[KL_DIGEST_HEX]; /* SHA-256 of its bytes */
	struct kl_facts facts;
	char *log;                /* the compiler's messages, cut at 16 KiB */
	struct kl_strvec kernels; /* kernels that the object's own host code launches */
	json_t *statics;          /* figures of each kernel that need no run; NULL if none */
	struct kl_launch *launch; /* its launch plan; NULL if it needs none */
};

void kl_artefact_free(struct kl_artefact *artefact);
KL_DEFINE_CLEANUP(struct kl_artefact *, kl_artefact_free)

#endif
