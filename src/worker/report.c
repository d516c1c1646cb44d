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

void kl_report_release(struct kl_report *r)
{
	if (r->is_file)
		kl_closep(&r->fd);
	kl_lock_release(&r->lock);
	kl_map_release(&r->done);
	kl_buf_release(&r->text);
}

static int write_all(struct kl_report *r, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(r->fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return kl_error_errno("cannot write the results");
		p += done;
		n -= (size_t)done;
	}
	if (r->is_file && fsync(r->fd) < 0)
		return kl_error_errno("cannot write the results");
	return 0;
}

static int append_line(struct kl_report *r, const json_t *line)
{
	size_t from = r->text.len;

	kl_json_canonical(&r->text, line);
	kl_buf_addch(&r->text, '\n');
	return write_all(r, r->text.ptr + from, r->text.len - from);
}

static json_t *head_for(const char *bundle)
{
	json_t *head = json_object();

	kl_json_set_str(head, "schema", "klineage.results/1");
	kl_json_set_str(head, "bundle", bundle);
	kl_json_set_str(head, "worker", KL_VERSION);
	return head;
}

/* --- what is there already ------------------------------------------------------ */

static void seal_of(char hex[KL_SHA256_HEX], const json_t *line)
{
	KL_AUTO(json_decrefp) json_t *bare = json_copy((json_t *)line);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	json_object_del(bare, "sha256");
	kl_json_canonical(&text, bare);
	kl_sha256_hex(hex, text.ptr, text.len);
}

static char mark[] = "";

/* Is this a finished result? Then it counts. */
static bool take_line(struct kl_report *r, const char *text, size_t n)
{
	KL_AUTO(json_decrefp) json_t *line = NULL;
	char hex[KL_SHA256_HEX];
	const char *job;

	if (kl_json_parse(&line, text, n) < 0)
		return false;
	job = kl_json_str_or(line, "job", NULL);
	seal_of(hex, line);
	if (!job || strcmp(hex, kl_json_str_or(line, "sha256", "")))
		return false;
	kl_map_put(&r->done, job, mark);
	return true;
}

static int check_head(const char *text, size_t n, const char *bundle)
{
	KL_AUTO(json_decrefp) json_t *head = NULL;

	if (kl_json_parse(&head, text, n) < 0 ||
	    strcmp(kl_json_str_or(head, "schema", ""), "klineage.results/1"))
		return kl_error(KL_EINVALID, "there is something else in that file");
	if (strcmp(kl_json_str_or(head, "bundle", ""), bundle))
		return kl_error(KL_EINVALID, "it holds the results of another bundle");
	return 0;
}

/* Up to the first line that is not whole; the rest is lost anyway. */
static int resume_report(struct kl_report *r, const struct kl_buf *old, const char *bundle)
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
			r->ended = true;
		else if (at && !r->ended && !take_line(r, line, n))
			break;
		at += n + 1;
		good = at;
	}
	kl_error_clear();
	kl_buf_add(&r->text, old->ptr, good);
	if (ftruncate(r->fd, (off_t)good) < 0 || lseek(r->fd, 0, SEEK_END) < 0)
		return kl_error_errno("cannot go on with the results");
	return 0;
}

int kl_report_open(struct kl_report *r, const char *path, const char *bundle)
{
	KL_AUTO(json_decrefp) json_t *head = head_for(bundle);
	KL_AUTO(kl_buf_release) struct kl_buf old = KL_BUF_INIT;
	int err = 0;

	r->fd = STDOUT_FILENO;
	if (path) {
		r->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
		r->is_file = true;
		if (r->fd < 0)
			return kl_error_errno("cannot open '%s'", path);
		if ((err = kl_lock_take(&r->lock, path, 0)) < 0)
			return err == KL_EBUSY ?
				       kl_error(KL_EBUSY, "another klineage-worker writes '%s'",
						path) :
				       err;
		if (!(err = kl_buf_read_fd(&old, r->fd, MAX_REPORT)))
			err = resume_report(r, &old, bundle);
		if (err < 0)
			return kl_error_in(err, "%s", path);
	}
	return r->text.len ? 0 : append_line(r, head);
}

bool kl_report_has(const struct kl_report *r, const char *job)
{
	return kl_map_get(&r->done, job) != NULL;
}

int kl_report_add(struct kl_report *r, json_t *line)
{
	char hex[KL_SHA256_HEX];

	seal_of(hex, line);
	kl_json_set_str(line, "sha256", hex);
	kl_map_put(&r->done, kl_json_str_or(line, "job", ""), mark);
	return append_line(r, line);
}

/* --- the end --------------------------------------------------------------------- */

static int sign_text(char **sig, const struct kl_buf *text, const char *key)
{
	const char *argv[] = { "ssh-keygen", "-Y", "sign", "-n", "klineage-gate", "-f", key, NULL };
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT, words = KL_BUF_INIT;
	struct kl_proc_opts o = {
		.argv = argv,
		.in = text->ptr,
		.in_len = text->len,
		.out = &out,
		.err = &words,
	};
	struct kl_proc_result res;
	int err = kl_proc_run(&res, &o);

	if (err == KL_ENOTFOUND)
		return kl_error(KL_EIO,
				"'ssh-keygen' is not installed: the results are not signed");
	if (err < 0)
		return err;
	kl_buf_rtrim(&words);
	if (res.exit || !out.len)
		return kl_error(KL_EIO, "'ssh-keygen' does not sign the results: %s", words.ptr);
	*sig = kl_buf_detach(&out);
	return 0;
}

static int append_end(struct kl_report *r)
{
	KL_AUTO(json_decrefp) json_t *end = json_object();
	char hex[KL_SHA256_HEX];

	kl_sha256_hex(hex, r->text.ptr, r->text.len);
	kl_json_set_int(end, "end", (int64_t)r->done.n);
	kl_json_set_str(end, "sha256", hex);
	return append_line(r, end);
}

int kl_report_end(struct kl_report *r, const char *key)
{
	KL_AUTO(json_decrefp) json_t *last = json_object();
	KL_AUTO(kl_freep) char *sig = NULL;
	const char *before = strstr(r->text.ptr, "\n{\"sig\":");
	int err;

	if (!r->ended && (err = append_end(r)) < 0)
		return err;
	if (!key || before)
		return 0;
	if ((err = sign_text(&sig, &r->text, key)) < 0)
		return err;
	kl_json_set_str(last, "sig", sig);
	return append_line(r, last);
}
