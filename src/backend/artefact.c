/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/artefact.h"

#include <stdlib.h>

void kl_artefact_free(struct kl_artefact *a)
{
	if (!a)
		return;
	free(a->object);
	free(a->log);
	json_decref(a->statics);
	kl_launch_free(a->launch);
	kl_strvec_release(&a->kernels);
	kl_facts_release(&a->facts);
	free(a);
}
