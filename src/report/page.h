/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_PAGE_H
#define KL_REPORT_PAGE_H

#include "report/content.h"

/*
 * page - writes the parts of a report's page as HTML. Every text of the repository is escaped. An
 * element that can be cited has an id: "<workload>/<name>/K_3", "<workload>/<name>/rejected-1".
 */
/* most bytes of a page; edits and evidence beyond this are left out, and a note says so */
#define KL_PAGE_MOST ((size_t)32 << 20)

void kl_page_time(struct kl_buf *buf, int64_t ns);
void kl_page_ratio(struct kl_buf *buf, const struct kl_ratio *ratio);
/** Write the text, or a dash if it is NULL or "". */
void kl_page_or_dash(struct kl_buf *buf, const char *text);
/** Write a term and its text in a <dl>; nothing if the text is NULL or "". */
void kl_page_pair(struct kl_buf *buf, const char *term, const char *text);
/** Write the id of a commit in full, as a link to a forge if one is known to have it. */
void kl_page_commit(struct kl_buf *buf, const struct kl_report_content *content,
		    const git_oid *commit);

/** Write what is known of the kernel, the device and the reference. */
void kl_page_head(struct kl_buf *buf, const struct kl_report_content *content);
void kl_page_states(struct kl_buf *buf, const struct kl_report_content *content);
void kl_page_rejected(struct kl_buf *buf, const struct kl_report_content *content);
/** Write a state in detail: its commit, conditions, edit and evidence. */
int kl_page_state(struct kl_buf *buf, struct kl_repo *repo, const struct kl_report_content *content,
		  size_t i);

#endif
