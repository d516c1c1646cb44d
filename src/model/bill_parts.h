/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_BILL_PARTS_H
#define KL_MODEL_BILL_PARTS_H

#include "base/map.h"
#include "model/bill.h"

/* bill_parts - functions shared by the files bill*.c. */
struct kl_bill_row {
	char day[KL_BILL_DAY];
	const char *model; /* name of the model in the file; NULL or "" if the row names none */
	bool has_amount;   /* false if the row only says that the bill covers its day */
	int64_t nano;
	struct kl_usage usage;
};

/* A bill that is being read. */
struct kl_bill_reader {
	struct kl_bill bill;
	size_t alloc;     /* allocated elements of bill.line */
	int64_t gross;    /* sum of all charges and refunds, both counted as positive */
	struct kl_map at; /* "<day> <model>" -> the number of its line, from 1 */
};

/**
 * Add a row to the line of its day and model; if there is no such line, add one. Return KL_EINVALID
 * if there are too many lines, or the sum is too large.
 */
int kl_bill_add(struct kl_bill_reader *reader, const struct kl_bill_row *row);

/**
 * Return the model of an item of OpenAI's bills, "<model>, <kind of tokens>", owned by the caller.
 */
char *kl_bill_item_model(const char *item);

/** Parse a bill in CSV, or in JSON. Error messages begin with `name`. */
int kl_bill_parse_csv(struct kl_bill_reader *reader, const char *name, const char *text,
		      size_t len);
int kl_bill_parse_json(struct kl_bill_reader *reader, const char *name, const char *text,
		       size_t len);

#endif
