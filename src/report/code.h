/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_CODE_H
#define KL_REPORT_CODE_H

#include "report/content.h"

/*
 * code - writes the sources of K* as HTML, with the state that brought each block of lines. It also
 * writes what that state gained, and the ground is darker the more it gained.
 */
int kl_report_code(struct kl_buf *out, struct kl_repo *repo,
		   const struct kl_report_content *content);

#endif
