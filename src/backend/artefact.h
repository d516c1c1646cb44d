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
	char *object;               /* path of the image or cubin in the session's directory */
	char digest[KL_DIGEST_HEX]; /* SHA-256 of the bytes of the file `object` */
	struct kl_facts facts;
	char *log; /* the compiler's messages, cut at 16 KiB */
	/* names of the kernels in the object that the host code can launch */
	struct kl_strvec kernels;
	struct kl_strvec notes; /* sentences about the artefact for the event's `notes` */
	/* figures of each kernel, found without running it; NULL if there are none */
	json_t *statics;
	struct kl_launch *launch; /* the launch plan; NULL if the kernel needs none */
};

void kl_artefact_free(struct kl_artefact *artefact);
KL_DEFINE_CLEANUP(struct kl_artefact *, kl_artefact_free)

#endif
