/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_FINAL_PARTS_H
#define KL_STUDY_FINAL_PARTS_H

#include "study/final.h"

/* final_parts - declarations shared by the files final*.c */

/** Append a measurement. KL_ECHANGED: another process has appended one. */
int kl_final_append(struct kl_final *final, struct kl_repo *repo, const struct kl_study *study,
		    const struct kl_final_line *line);

#endif
