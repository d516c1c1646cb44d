/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_BILL_H
#define KL_MODEL_BILL_H

#include "base/buf.h"
#include "model/provider/message.h"

/*
 * bill - reads the charges from a provider's export, and sums them per day and model. The columns
 * or members of the file show which form it has; docs/formats.md, "Bills", lists the forms. The
 * file is untrusted.
 *
 *	KL_AUTO(kl_bill_release) struct kl_bill bill = { 0 };
 *
 *	err = kl_bill_load(&bill, "cost_2026-11.csv");
 */
#define KL_BILL_DAY 11 /* "2026-11-20" and the NUL */

struct kl_bill_line {
	char day[KL_BILL_DAY]; /* in UTC */
	char *model;           /* as kl_bill_model() writes it; "" if the rows name no model */
	int64_t nano;          /* charged, nano-dollars; a refund is negative */
	size_t rows;           /* number of its rows that have an amount */
	struct kl_usage usage; /* tokens; known if all rows have token counts */
};

struct kl_bill {
	const char *form;        /* "openai-csv"; static */
	bool has_models;         /* at least one row names a model */
	bool whole_cents;        /* the provider rounds the amount of each row to a cent */
	char first[KL_BILL_DAY]; /* the days that the file covers */
	char last[KL_BILL_DAY];
	struct kl_bill_line *line;
	size_t n;
};

/**
 * Read the bill in the file `path`; `out` must be empty. Return KL_EINVALID if the form is unknown,
 * or the file is malformed or too large. The message names the file and, if known, the line.
 */
int kl_bill_load(struct kl_bill *out, const char *path);
/** Parse the text of a file; `name` is used in messages. `out` must be empty. */
int kl_bill_parse(struct kl_bill *out, const char *name, const char *text, size_t len);
void kl_bill_release(struct kl_bill *bill);

/**
 * Return the name under which a model is compared, owned by the caller: in lower case, without the
 * vendor before the last slash, without a snapshot suffix, and with '-' in place of blanks, dots
 * and underscores. For example, "Claude Opus 4.5", "anthropic/claude-opus-4.5" and
 * "claude-opus-4-5-20251101" have the same name.
 */
char *kl_bill_model(const char *name);

/**
 * Read the day of a time like "2026-11-20" or "2026-11-20T10:00:00.5Z". Return false if the time is
 * malformed or its time zone is not UTC.
 */
bool kl_bill_day(char out[KL_BILL_DAY], const char *time);

#endif
