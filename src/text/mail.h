/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_MAIL_H
#define KL_TEXT_MAIL_H

#include <stdint.h>

#include "base/buf.h"

/*
 * mail - reads and writes one patch in the format of `git format-patch` and `git am`:
 *
 *	From <40 hex> Mon Sep 17 00:00:00 2001
 *	From: Name <mail>
 *	Date: Thu, 1 Jan 2026 00:00:00 +0000
 *	Subject: [PATCH] area: what it does
 *
 *	why ...
 *
 *	Klineage-Action: untile
 *	---
 *	diff --git a/x.c b/x.c
 *
 * Only plain UTF-8 bodies are supported: MIME parts, transfer encodings and encoded words are
 * errors, since git-klineage never writes them.
 */
struct kl_mail {
	char *from;    /* "Name <mail>" */
	char *date;    /* the Date header, not parsed; "" if it is absent */
	char *message; /* subject, empty line, body; newline at the end */
	/* the text from the first line "diff --git ..." on; "" if there is no such line */
	char *diff;
};

/** Parse a mail; the caller releases `out`. On KL_EINVALID, the message is "<name>:<line>: ...". */
int kl_mail_parse(struct kl_mail *out, const char *name, const char *text, size_t len);
void kl_mail_release(struct kl_mail *mail);
/**
 * Append a mail. `time` is in seconds since the epoch, `offset` is the time zone in minutes east of
 * UTC; `id` is a commit id of 40 hex digits or NULL.
 */
void kl_mail_write(struct kl_buf *out, const char *id, const char *from, int64_t time, int offset,
		   const char *message, const char *diff);

#endif
