/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_ARTEFACT_H
#define KL_BACKEND_ARTEFACT_H

#include "contract/launch.h"
#include "event/facts.h"

/*
 * artefact - what a kernel was compiled to, once it passed the audit of its code: the object that
 * the worker is given, and what can be read from it without running it.
 */
struct kl_artefact {
	char *object; /* path, in the session's directory: a shared object, or a cubin */
	char digest[KL_DIGEST_HEX]; /* SHA-256 of its bytes */
	struct kl_facts facts;
	char *log;                /* the compiler's messages, cut at 16 KiB */
	struct kl_strvec kernels; /* those in an object whose own host code launches them */
	json_t *statics;          /* figures of each kernel that need no run; NULL: none */
	struct kl_launch *launch; /* the plan that it is launched by; NULL: none is needed */
};

void kl_artefact_free(struct kl_artefact *artefact);
KL_DEFINE_CLEANUP(struct kl_artefact *, kl_artefact_free)

#endif
