/* SPDX-License-Identifier: Apache-2.0 */
/* study_report_csv - writes the cells and the curves of a study as CSV */
#include <inttypes.h>

#include "study/study_report.h"

/* Names and digests need no quotes, because they are slugs and hex digits. */
static void add_text(struct kl_buf *out, const json_t *row, const char *key)
{
	kl_buf_addf(out, ",%s", kl_json_str_or(row, key, ""));
}

static void add_number(struct kl_buf *out, const json_t *row, const char *key)
{
	kl_buf_addf(out, ",%" PRId64, kl_json_int_or(row, key, 0));
}

void kl_study_report_cells_csv(struct kl_buf *out, const json_t *report)
{
	static const char *const text[] = { "cell", "task", "policy" };
	static const char *const number[] = { "seed",     "tickets",   "candidates", "correct",
					      "best_ppm", "final_ppm", "first_gain", "spent_nano",
					      "added",    "again" };
	const json_t *cells = json_object_get(report, "cells");

	kl_buf_adds(out, "evidence");
	for (size_t k = 0; k < KL_ARRAY_SIZE(text); k++)
		kl_buf_addf(out, ",%s", text[k]);
	for (size_t k = 0; k < KL_ARRAY_SIZE(number); k++)
		kl_buf_addf(out, ",%s", number[k]);
	for (int k = 0; k < KL_VALIDITIES; k++)
		kl_buf_addf(out, ",%s", kl_validity_name[k]);
	kl_buf_adds(out, ",reason,chain\n");
	for (size_t i = 0; i < json_array_size(cells); i++) {
		const json_t *row = json_array_get(cells, i);

		kl_buf_adds(out, kl_json_str_or(report, "evidence", ""));
		for (size_t k = 0; k < KL_ARRAY_SIZE(text); k++)
			add_text(out, row, text[k]);
		for (size_t k = 0; k < KL_ARRAY_SIZE(number); k++)
			add_number(out, row, number[k]);
		for (int k = 0; k < KL_VALIDITIES; k++)
			add_number(out, json_object_get(row, "validity"), kl_validity_name[k]);
		add_text(out, row, "reason");
		add_text(out, row, "chain");
		kl_buf_addch(out, '\n');
	}
}

void kl_study_report_curves_csv(struct kl_buf *out, const json_t *report)
{
	const json_t *policies = json_object_get(report, "policies");

	kl_buf_adds(out, "evidence,policy,candidates,nano,speed_ppm,lo_ppm,hi_ppm\n");
	for (size_t i = 0; i < json_array_size(policies); i++) {
		const json_t *policy = json_array_get(policies, i);
		const json_t *curve = json_object_get(policy, "curve");

		for (size_t k = 0; k < json_array_size(curve); k++) {
			const json_t *row = json_array_get(curve, k);

			kl_buf_adds(out, kl_json_str_or(report, "evidence", ""));
			add_text(out, policy, "policy");
			add_number(out, row, "candidates");
			add_number(out, row, "nano");
			add_number(out, row, "speed_ppm");
			add_number(out, row, "lo_ppm");
			add_number(out, row, "hi_ppm");
			kl_buf_addch(out, '\n');
		}
	}
}
