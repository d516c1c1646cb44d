/* SPDX-License-Identifier: Apache-2.0 */
#include "event/segment_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "event/own.h"
#include "event/segment_parts.h"
#include "event/signature.h"
#include "repo/refs.h"
#include "text/name.h"

/*
 * a flush writes at most about this many bytes at once, so that a log is not much longer than a
 * segment
 */
#define FLUSH_LINES 4096
#define FLUSH_BYTES ((size_t)4 << 20)

struct kl_segment_writer {
	struct kl_repo *repo; /* borrowed */
	char *workload, *name;
	bool sign;
	struct kl_buf lines;  /* events that are not flushed yet */
	struct kl_strvec own; /* ids of the events that this clone made */
	size_t n;
	/* length of the log after our last flush, and the number of its lines */
	size_t log_bytes, log_lines;
};

static int check_name(const char *what, const char *name)
{
	if (kl_name_is_slug(name))
		return 0;
	return kl_error(KL_EINVALID,
			"'%.80s' cannot be the %s of a campaign: use a-z, 0-9, '.', '_' and '-', "
			"beginning with a letter or digit",
			name, what);
}

int kl_segment_writer_open(struct kl_segment_writer **out, struct kl_repo *repo,
			   const char *workload, const char *name)
{
	KL_AUTO(kl_freep) char *ref = kl_asprintf(KL_SEGMENT_REFS "%s/%s", workload, name);
	struct kl_segment_writer *writer;
	const char *identity;
	bool sign;
	int err = check_name("workload", workload);

	if (err < 0 || (err = check_name("name", name)) < 0 ||
	    (err = kl_repo_identity(&identity, repo)) < 0 ||
	    (err = kl_sign_wanted(&sign, repo)) < 0)
		return err;
	err = kl_refs_can_create(repo, ref);
	if (err < 0 && err != KL_EEXISTS)
		return err;
	kl_error_clear();
	writer = kl_calloc(1, sizeof(*writer));
	*writer = (struct kl_segment_writer){ .repo = repo,
					      .workload = kl_strdup(workload),
					      .name = kl_strdup(name),
					      .sign = sign,
					      .lines = KL_BUF_INIT };
	*out = writer;
	return 0;
}

void kl_segment_writer_free(struct kl_segment_writer *writer)
{
	if (!writer)
		return;
	free(writer->workload);
	free(writer->name);
	kl_buf_release(&writer->lines);
	kl_strvec_release(&writer->own);
	free(writer);
}

void kl_segment_writer_sign(struct kl_segment_writer *writer, bool sign)
{
	writer->sign = sign;
}

int kl_segment_writer_add(struct kl_segment_writer *writer, struct kl_event *event,
			  const git_oid *tree)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_segment_line line;
	bool own = !*event->sig;
	int err = 0;

	if (tree) {
		char hex[KL_OID_HEX];
		size_t size;

		if ((err = kl_repo_object_size(&size, writer->repo, tree)) < 0)
			return err;
		kl_oid_hex(hex, tree);
		event->commit = "";
		event->tree = kl_event_keep(event, hex);
	}
	if (own && writer->sign && (err = kl_sign_event_now(writer->repo, event)) < 0)
		return kl_error_in(err, "klineage.sign");
	kl_event_write(&text, event);
	if ((err = kl_segment_line_of(&line, event, text.ptr, text.len, writer->workload)) < 0)
		return err;
	if (own)
		kl_strvec_push(&writer->own, event->id);
	kl_buf_add(&writer->lines, text.ptr, text.len);
	kl_buf_addch(&writer->lines, '\n');
	writer->n++;
	if (writer->n < FLUSH_LINES && writer->lines.len < FLUSH_BYTES)
		return 0;
	return kl_segment_writer_flush(writer);
}

/* Count the lines of the log, unless it is as our last flush left it. */
static int count_lines(struct kl_segment_writer *writer, const struct kl_segment_log *log)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if (log->bytes == writer->log_bytes)
		return 0;
	if ((err = kl_segment_log_read(&text, log)) < 0)
		return err;
	writer->log_lines = 0;
	for (const char *at = text.ptr; (at = strchr(at, '\n')); at++)
		writer->log_lines++;
	writer->log_bytes = log->bytes;
	return 0;
}

static int append_events(struct kl_segment_writer *writer, struct kl_segment_log *log)
{
	int err = count_lines(writer, log);

	/*
	 * record the ids first: an id without its event does no harm, but an event without its id
	 * would not count as our own
	 */
	if (!err)
		err = kl_own_add(writer->repo, (const char *const *)writer->own.v, writer->own.n);
	if (!err && writer->n)
		err = kl_segment_log_append(log, writer->lines.ptr, writer->lines.len);
	if (err < 0)
		return err;
	writer->log_bytes = log->bytes;
	writer->log_lines += writer->n;
	writer->n = 0;
	kl_buf_clear(&writer->lines);
	kl_strvec_release(&writer->own);
	writer->own = (struct kl_strvec)KL_STRVEC_INIT;
	return 0;
}

static int write_events(struct kl_segment_writer *writer, bool seal, size_t *n)
{
	struct kl_segment_log log;
	int err = kl_segment_log_lock(&log, writer->repo, writer->workload, writer->name);

	*n = 0;
	if (err < 0)
		return err;
	err = append_events(writer, &log);
	if (!err && (seal || writer->log_lines >= KL_SEGMENT_MAX_LINES ||
		     writer->log_bytes >= KL_SEGMENT_MAX_BYTES)) {
		err = kl_segment_seal(n, writer->repo, writer->workload, writer->name, &log);
		writer->log_bytes = SIZE_MAX; /* count anew */
	}
	kl_segment_log_unlock(&log);
	return err < 0 ? kl_error_in(err, "campaign %s/%s", writer->workload, writer->name) : 0;
}

int kl_segment_writer_flush(struct kl_segment_writer *writer)
{
	size_t n;

	return writer->n ? write_events(writer, false, &n) : 0;
}

int kl_segment_writer_seal(struct kl_segment_writer *writer, size_t *n)
{
	size_t made;
	int err = write_events(writer, true, &made);

	if (n)
		*n = made;
	return err;
}
