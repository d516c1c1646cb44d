/* SPDX-License-Identifier: Apache-2.0 */
#include "text/mail.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"

struct reader {
	const char *name;
	const char *at;
	int line;
};

/* Return the next line without its newline, or NULL at the end. The caller frees it. */
static char *next_line(struct reader *reader)
{
	size_t n = strcspn(reader->at, "\n");
	char *line;

	if (!*reader->at)
		return NULL;
	line = kl_strndup(reader->at, n && reader->at[n - 1] == '\r' ? n - 1 : n);
	reader->at += n + (reader->at[n] == '\n');
	reader->line++;
	return line;
}

static int refuse_mail(const struct reader *reader, const char *what)
{
	return kl_error(KL_EINVALID, "%s:%d: %s", reader->name, reader->line, what);
}

/* Return the subject without bracketed prefixes such as "[PATCH 3/7] ". */
static const char *subject_proper(const char *text)
{
	while (*text == '[') {
		const char *end = strchr(text, ']');

		if (!end)
			break;
		text = end + 1 + strspn(end + 1, " ");
	}
	return text;
}

static int read_header(struct reader *reader, const char *line, struct kl_mail *mail,
		       struct kl_buf *subject)
{
	const char *value = strchr(line, ':');

	if (!value)
		return refuse_mail(reader, "a header line has no colon");
	value += 1 + strspn(value + 1, " \t");
	if (!strncasecmp(line, "From:", 5)) {
		free(mail->from);
		mail->from = kl_strdup(value);
	} else if (!strncasecmp(line, "Date:", 5)) {
		free(mail->date);
		mail->date = kl_strdup(value);
	} else if (!strncasecmp(line, "Subject:", 8)) {
		kl_buf_clear(subject);
		kl_buf_adds(subject, subject_proper(value));
	} else if (!strncasecmp(line, "Content-Transfer-Encoding:", 26) &&
		   strcasecmp(value, "8bit") && strcasecmp(value, "7bit")) {
		return refuse_mail(reader, "encoded mail bodies are not supported");
	} else if (!strncasecmp(line, "Content-Type:", 13) &&
		   strncasecmp(value, "text/plain", 10)) {
		return refuse_mail(reader, "multipart mails are not supported");
	}
	return strstr(value, "=?") ? refuse_mail(reader, "encoded headers are not supported") : 0;
}

static int read_headers(struct reader *reader, struct kl_mail *mail, struct kl_buf *subject)
{
	bool in_subject = false;

	for (;;) {
		KL_AUTO(kl_freep) char *line = next_line(reader);
		int err;

		if (!line)
			return refuse_mail(reader, "the mail ends within its headers");
		if (!*line)
			return 0;
		if (!strncmp(line, "From ", 5) && reader->line == 1)
			continue;
		if (*line == ' ' || *line == '\t') { /* this line continues the header above */
			if (in_subject)
				kl_buf_addf(subject, " %s", line + strspn(line, " \t"));
			continue;
		}
		in_subject = !strncasecmp(line, "Subject:", 8);
		if ((err = read_header(reader, line, mail, subject)) < 0)
			return err;
	}
}

int kl_mail_parse(struct kl_mail *out, const char *name, const char *text, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *copy = kl_strndup(text, len);
	KL_AUTO(kl_mail_release) struct kl_mail mail = { NULL, NULL, NULL, NULL };
	struct reader reader = { name, copy, 0 };
	const char *diff;
	size_t end;
	int err;

	if (strlen(copy) != len)
		return refuse_mail(&reader, "the mail contains a NUL byte");
	if ((err = read_headers(&reader, &mail, &message)) < 0)
		return err;
	if (!message.len || !mail.from)
		return refuse_mail(&reader, "missing From: or Subject: header");
	kl_buf_adds(&message, "\n\n");
	for (;;) {
		const char *here = reader.at;
		KL_AUTO(kl_freep) char *line = next_line(&reader);

		if (!line || !strcmp(line, "---"))
			break;
		if (!strncmp(line, "diff --git ", 11)) {
			reader.at = here;
			break;
		}
		kl_buf_addf(&message, "%s\n", line);
	}
	kl_buf_rtrim(&message);
	kl_buf_addch(&message, '\n');
	diff = !strncmp(reader.at, "diff --git ", 11) ? reader.at :
							strstr(reader.at, "\ndiff --git ");
	mail.diff = kl_strdup(!diff ? "" : diff == reader.at ? diff : diff + 1);
	/* remove the signature of git format-patch: the last line "-- " and everything after it */
	diff = NULL;
	for (const char *signature = strstr(mail.diff, "\n-- \n"); signature;
	     signature = strstr(signature + 1, "\n-- \n"))
		diff = signature;
	if (diff) {
		end = (size_t)(diff - mail.diff) + 1;
		mail.diff[end] = '\0';
	}
	mail.message = kl_buf_detach(&message);
	if (!mail.date)
		mail.date = kl_strdup("");
	*out = mail;
	mail = (struct kl_mail){ NULL, NULL, NULL, NULL };
	return 0;
}

void kl_mail_release(struct kl_mail *mail)
{
	free(mail->from);
	free(mail->date);
	free(mail->message);
	free(mail->diff);
	*mail = (struct kl_mail){ NULL, NULL, NULL, NULL };
}

void kl_mail_write(struct kl_buf *out, const char *id, const char *from, int64_t time, int offset,
		   const char *message, const char *diff)
{
	time_t local = (time_t)(time + (int64_t)offset * 60);
	int away = offset < 0 ? -offset : offset;
	size_t subject = strcspn(message, "\n");
	const char *body = message + subject + strspn(message + subject, "\n");
	char date[64];
	struct tm tm;

	gmtime_r(&local, &tm);
	if (!strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S", &tm))
		date[0] = '\0';
	/*
	 * every mail of git format-patch has this date in its first line, by which git recognizes a
	 * patch
	 */
	kl_buf_addf(out, "From %s Mon Sep 17 00:00:00 2001\n",
		    id ? id : "0000000000000000000000000000000000000000");
	kl_buf_addf(out, "From: %s\nDate: %s %c%02d%02d\nSubject: [PATCH] %.*s\n\n", from, date,
		    offset < 0 ? '-' : '+', away / 60, away % 60, (int)subject, message);
	kl_buf_adds(out, body);
	if (*body && body[strlen(body) - 1] != '\n')
		kl_buf_addch(out, '\n');
	kl_buf_addf(out, "---\n%s-- \ngit-klineage %s\n\n", diff, KL_VERSION);
}
