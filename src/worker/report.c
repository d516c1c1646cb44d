/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/proc.h"

#define MAX_REPORT ((size_t)256 << 20)

void kl_report_release(struct kl_report *report)
{
	if (report->is_file)
		kl_closep(&report->fd);
	kl_lock_release(&report->lock);
	kl_map_release(&report->done);
	kl_buf_release(&report->text);
}

static int write_all(struct kl_report *report, const char *at, size_t n)
{
	while (n) {
		ssize_t done = write(report->fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return kl_error_errno("cannot write the results");
		at += done;
		n -= (size_t)done;
	}
	if (report->is_file && fsync(report->fd) < 0)
		return kl_error_errno("cannot write the results");
	return 0;
}

static int append_line(struct kl_report *report, const json_t *line)
{
	size_t from = report->text.len;

	kl_json_canonical(&report->text, line);
	kl_buf_addch(&report->text, '\n');
	return write_all(report, report->text.ptr + from, report->text.len - from);
}

static json_t *head_for(const char *bundle)
{
	json_t *head = json_object();

	kl_json_set_str(head, "schema", "klineage.results/1");
	kl_json_set_str(head, "bundle", bundle);
	kl_json_set_str(head, "worker", KL_VERSION);
	return head;
}

/* --- resuming a report ------------------------------------------------------ */

static void line_digest(char hex[KL_SHA256_HEX], const json_t *line)
{
	KL_AUTO(json_decrefp) json_t *bare = json_copy((json_t *)line);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	json_object_del(bare, "sha256");
	kl_json_canonical(&text, bare);
	kl_sha256_hex(hex, text.ptr, text.len);
}

static char mark[] = ""; /* value of every key in `done` */

/* Record the job of a result line as finished. Return false if the line is damaged. */
static bool take_line(struct kl_report *report, const char *text, size_t n)
{
	KL_AUTO(json_decrefp) json_t *line = NULL;
	char hex[KL_SHA256_HEX];
	const char *job;

	if (kl_json_parse(&line, text, n) < 0)
		return false;
	job = kl_json_str_or(line, "job", NULL);
	line_digest(hex, line);
	if (!job || strcmp(hex, kl_json_str_or(line, "sha256", "")))
		return false;
	kl_map_put(&report->done, job, mark);
	return true;
}

static int check_head(const char *text, size_t n, const char *bundle)
{
	KL_AUTO(json_decrefp) json_t *head = NULL;

	if (kl_json_parse(&head, text, n) < 0 ||
	    strcmp(kl_json_str_or(head, "schema", ""), "klineage.results/1"))
		return kl_error(KL_EINVALID, "the file exists, but is not a results file");
	if (strcmp(kl_json_str_or(head, "bundle", ""), bundle))
		return kl_error(KL_EINVALID, "the file holds the results of another bundle");
	return 0;
}

/*
 * Resume the report whose bytes are `old`: keep the file up to the first incomplete or damaged
 * line, and cut off the rest.
 */
static int resume_report(struct kl_report *report, const struct kl_buf *old, const char *bundle)
{
	size_t good = 0;

	for (size_t at = 0; at < old->len;) {
		const char *line = old->ptr + at, *end = memchr(line, '\n', old->len - at);
		size_t n = end ? (size_t)(end - line) : old->len - at;
		int err;

		if (!at && (end || old->len > 4096) && (err = check_head(line, n, bundle)) < 0)
			return err;
		if (!end)
			break;
		if (at && !strncmp(line, "{\"end\":", 7))
			report->ended = true;
		else if (at && !report->ended && !take_line(report, line, n))
			break;
		at += n + 1;
		good = at;
	}
	kl_error_clear();
	kl_buf_add(&report->text, old->ptr, good);
	if (ftruncate(report->fd, (off_t)good) < 0 || lseek(report->fd, 0, SEEK_END) < 0)
		return kl_error_errno("cannot resume the results");
	return 0;
}

int kl_report_open(struct kl_report *report, const char *path, const char *bundle)
{
	KL_AUTO(json_decrefp) json_t *head = head_for(bundle);
	KL_AUTO(kl_buf_release) struct kl_buf old = KL_BUF_INIT;
	int err = 0;

	report->fd = STDOUT_FILENO;
	if (path) {
		report->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
		report->is_file = true;
		if (report->fd < 0)
			return kl_error_errno("cannot open '%s'", path);
		if ((err = kl_lock_take(&report->lock, path, 0)) < 0)
			return err == KL_EBUSY ?
				       kl_error(KL_EBUSY,
						"another klineage-worker is writing to '%s'",
						path) :
				       err;
		if (!(err = kl_buf_read_fd(&old, report->fd, MAX_REPORT)))
			err = resume_report(report, &old, bundle);
		if (err < 0)
			return kl_error_in(err, "%s", path);
	}
	return report->text.len ? 0 : append_line(report, head);
}

bool kl_report_has(const struct kl_report *report, const char *job)
{
	return kl_map_get(&report->done, job) != NULL;
}

int kl_report_add(struct kl_report *report, json_t *line)
{
	char hex[KL_SHA256_HEX];

	line_digest(hex, line);
	kl_json_set_str(line, "sha256", hex);
	kl_map_put(&report->done, kl_json_str_or(line, "job", ""), mark);
	return append_line(report, line);
}

/* --- ending a report ------------------------------------------------------------- */

static int sign_text(char **sig, const struct kl_buf *text, const char *key)
{
	const char *argv[] = { "ssh-keygen", "-Y", "sign", "-n", "klineage-gate", "-f", key, NULL };
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT, words = KL_BUF_INIT;
	struct kl_proc_opts opts = {
		.argv = argv,
		.in = text->ptr,
		.in_len = text->len,
		.out = &out,
		.err = &words,
	};
	struct kl_proc_result res;
	int err = kl_proc_run(&res, &opts);

	if (err == KL_ENOTFOUND)
		return kl_error(KL_EIO, "cannot sign the results: 'ssh-keygen' is not installed");
	if (err < 0)
		return err;
	kl_buf_rtrim(&words);
	if (res.exit || !out.len)
		return kl_error(KL_EIO, "'ssh-keygen' cannot sign the results: %s", words.ptr);
	*sig = kl_buf_detach(&out);
	return 0;
}

static int append_end(struct kl_report *report)
{
	KL_AUTO(json_decrefp) json_t *end = json_object();
	char hex[KL_SHA256_HEX];

	kl_sha256_hex(hex, report->text.ptr, report->text.len);
	kl_json_set_int(end, "end", (int64_t)report->done.n);
	kl_json_set_str(end, "sha256", hex);
	return append_line(report, end);
}

int kl_report_end(struct kl_report *report, const char *key)
{
	KL_AUTO(json_decrefp) json_t *last = json_object();
	KL_AUTO(kl_freep) char *sig = NULL;
	const char *before = strstr(report->text.ptr, "\n{\"sig\":");
	int err;

	if (!report->ended && (err = append_end(report)) < 0)
		return err;
	if (!key || before)
		return 0;
	if ((err = sign_text(&sig, &report->text, key)) < 0)
		return err;
	kl_json_set_str(last, "sig", sig);
	return append_line(report, last);
}
