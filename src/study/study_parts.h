/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_STUDY_PARTS_H
#define KL_STUDY_STUDY_PARTS_H

#include "study/study.h"

/* study_parts - declarations shared by the files study*.c */

/** Read study.json; the caller releases *out, also after an error. */
int kl_study_from_json(struct kl_study *out, const json_t *json);
/** Check that the judge mode, the tables, the provider and the skills fit each other. */
int kl_study_check_judging(const struct kl_study *study);
/** Open the table of a task, whose root must be a kernel of it that passed. */
int kl_study_take_table(struct kl_study_task *out, const char *what);
/** Write the path of a task's table in the tree of the study. */
void kl_study_table_path(char out[KL_STUDY_REF], const struct kl_study_task *task);
/** Check that the names of all cells are valid. */
int kl_study_check_names(const struct kl_study *study);

#endif
