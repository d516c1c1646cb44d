/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/artefact.h"

#include <stdlib.h>

void kl_artefact_free(struct kl_artefact *artefact)
{
	if (!artefact)
		return;
	free(artefact->object);
	free(artefact->log);
	kl_strvec_release(&artefact->notes);
	json_decref(artefact->statics);
	kl_launch_free(artefact->launch);
	kl_strvec_release(&artefact->kernels);
	kl_strvec_release(&artefact->notes);
	kl_facts_release(&artefact->facts);
	free(artefact);
}
