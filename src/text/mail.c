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

/* The next line without its newline; NULL at the end. */
static char *next_line(struct reader *r)
{
	size_t n = strcspn(r->at, "\n");
	char *line;

	if (!*r->at)
		return NULL;
	line = kl_strndup(r->at, n && r->at[n - 1] == '\r' ? n - 1 : n);
	r->at += n + (r->at[n] == '\n');
	r->line++;
	return line;
}

static int refuse_mail(const struct reader *r, const char *what)
{
	return kl_error(KL_EINVALID, "%s:%d: %s", r->name, r->line, what);
}

/* Drop "[PATCH 3/7] " and the like in front of a subject. */
static const char *subject_proper(const char *s)
{
	while (*s == '[') {
		const char *end = strchr(s, ']');

		if (!end)
			break;
		s = end + 1 + strspn(end + 1, " ");
	}
	return s;
}

static int read_header(struct reader *r, const char *line, struct kl_mail *m,
		       struct kl_buf *subject)
{
	const char *value = strchr(line, ':');

	if (!value)
		return refuse_mail(r, "a header line without a colon");
	value += 1 + strspn(value + 1, " \t");
	if (!strncasecmp(line, "From:", 5)) {
		free(m->from);
		m->from = kl_strdup(value);
	} else if (!strncasecmp(line, "Date:", 5)) {
		free(m->date);
		m->date = kl_strdup(value);
	} else if (!strncasecmp(line, "Subject:", 8)) {
		kl_buf_clear(subject);
		kl_buf_adds(subject, subject_proper(value));
	} else if (!strncasecmp(line, "Content-Transfer-Encoding:", 26) &&
		   strcasecmp(value, "8bit") && strcasecmp(value, "7bit")) {
		return refuse_mail(r, "an encoded mail body");
	} else if (!strncasecmp(line, "Content-Type:", 13) &&
		   strncasecmp(value, "text/plain", 10)) {
		return refuse_mail(r, "a mail of several parts");
	}
	return strstr(value, "=?") ? refuse_mail(r, "an encoded header") : 0;
}

static int read_headers(struct reader *r, struct kl_mail *m, struct kl_buf *subject)
{
	bool in_subject = false;

	for (;;) {
		KL_AUTO(kl_freep) char *line = next_line(r);
		int err;

		if (!line)
			return refuse_mail(r, "the mail ends in its headers");
		if (!*line)
			return 0;
		if (!strncmp(line, "From ", 5) && r->line == 1)
			continue;
		if (*line == ' ' || *line == '\t') { /* folded */
			if (in_subject)
				kl_buf_addf(subject, " %s", line + strspn(line, " \t"));
			continue;
		}
		in_subject = !strncasecmp(line, "Subject:", 8);
		if ((err = read_header(r, line, m, subject)) < 0)
			return err;
	}
}

int kl_mail_parse(struct kl_mail *out, const char *name, const char *text, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *copy = kl_strndup(text, len);
	KL_AUTO(kl_mail_release) struct kl_mail m = { NULL, NULL, NULL, NULL };
	struct reader r = { name, copy, 0 };
	const char *diff;
	size_t end;
	int err;

	if (strlen(copy) != len)
		return refuse_mail(&r, "a NUL byte");
	if ((err = read_headers(&r, &m, &message)) < 0)
		return err;
	if (!message.len || !m.from)
		return refuse_mail(&r, "no From: or no Subject:");
	kl_buf_adds(&message, "\n\n");
	for (;;) {
		const char *here = r.at;
		KL_AUTO(kl_freep) char *line = next_line(&r);

		if (!line || !strcmp(line, "---"))
			break;
		if (!strncmp(line, "diff --git ", 11)) {
			r.at = here;
			break;
		}
		kl_buf_addf(&message, "%s\n", line);
	}
	kl_buf_rtrim(&message);
	kl_buf_addch(&message, '\n');
	diff = !strncmp(r.at, "diff --git ", 11) ? r.at : strstr(r.at, "\ndiff --git ");
	m.diff = kl_strdup(!diff ? "" : diff == r.at ? diff : diff + 1);
	/* format-patch signs with "-- \n<version>\n" */
	diff = NULL;
	for (const char *s = strstr(m.diff, "\n-- \n"); s; s = strstr(s + 1, "\n-- \n"))
		diff = s;
	if (diff) {
		end = (size_t)(diff - m.diff) + 1;
		m.diff[end] = '\0';
	}
	m.message = kl_buf_detach(&message);
	if (!m.date)
		m.date = kl_strdup("");
	*out = m;
	m = (struct kl_mail){ NULL, NULL, NULL, NULL };
	return 0;
}

void kl_mail_release(struct kl_mail *m)
{
	free(m->from);
	free(m->date);
	free(m->message);
	free(m->diff);
	*m = (struct kl_mail){ NULL, NULL, NULL, NULL };
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
	/* the fixed date is how git tells its own patches from mailboxes */
	kl_buf_addf(out, "From %s Mon Sep 17 00:00:00 2001\n",
		    id ? id : "0000000000000000000000000000000000000000");
	kl_buf_addf(out, "From: %s\nDate: %s %c%02d%02d\nSubject: [PATCH] %.*s\n\n", from, date,
		    offset < 0 ? '-' : '+', away / 60, away % 60, (int)subject, message);
	kl_buf_adds(out, body);
	if (*body && body[strlen(body) - 1] != '\n')
		kl_buf_addch(out, '\n');
	kl_buf_addf(out, "---\n%s-- \ngit-klineage %s\n\n", diff, KL_VERSION);
}
