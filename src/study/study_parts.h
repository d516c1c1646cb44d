/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_STUDY_PARTS_H
#define KL_STUDY_STUDY_PARTS_H

#include "study/study.h"

/* study_parts - declarations shared by the files study*.c */

/** Read study.json; the caller releases *out, also after an error. */
int kl_study_from_json(struct kl_study *out, const json_t *json);
/** Check that the names of all cells are valid. */
int kl_study_check_names(const struct kl_study *study);

#endif
