/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_CSV_H
#define KL_TEXT_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * csv - reads comma-separated values (RFC 4180) of an untrusted file, one row at a time.
 *
 * A field can be quoted. A quoted field can contain newlines, and each quote in it is doubled.
 * Lines can end with CR LF. A byte order mark at the start and blank lines are skipped.
 *
 *	KL_AUTO(kl_csv_release) struct kl_csv csv;
 *
 *	kl_csv_start(&csv, "bill.csv", text, len);
 *	while ((more = kl_csv_next(&csv)) > 0)
 *		... kl_csv_field(&csv, 2) ...
 */
#define KL_CSV_FIELDS 256             /* maximum number of fields of a row */
#define KL_CSV_ROW ((size_t)64 << 10) /* maximum number of bytes of a row */

struct kl_csv {
	const char *name; /* name of the file, for messages; borrowed, as is the text */
	const char *at, *end;
	int64_t line, next_line; /* lines on which this row and the next row begin, from 1 */
	struct kl_buf text;      /* the fields of this row, each ended by NUL */
	size_t field[KL_CSV_FIELDS];
	size_t n; /* number of fields of this row */
};

void kl_csv_start(struct kl_csv *out, const char *name, const char *text, size_t len);
void kl_csv_release(struct kl_csv *csv);

/**
 * Read the next row. Return 1 for a row and 0 at the end. Return KL_EINVALID if the row is
 * malformed or too long. The message begins with "<name>:<line>".
 */
int kl_csv_next(struct kl_csv *csv);

/**
 * Return the field with index `i` (from 0) of this row, or "" if there is none. It is valid until
 * the next row is read.
 */
const char *kl_csv_field(const struct kl_csv *csv, size_t i);

#endif
