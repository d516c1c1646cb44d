/* SPDX-License-Identifier: Apache-2.0 */
/* segment_seal - makes segments, commits on the ref of their campaign, of the events in a log */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/map.h"
#include "base/proc.h"
#include "base/rng.h"
#include "event/segment.h"
#include "event/segment_parts.h"
#include "repo/refs.h"
#include "repo/tree.h"

#define RETRY_MS (12 * 1000)

struct sealing {
	struct kl_repo *repo;
	const char *workload;
	struct kl_segment_line *line; /* all events of the log, in the order in which they came */
	size_t n, alloc, number;
	git_oid old, tip, tree; /* tip: the newest segment so far; zero if there is none */
	size_t made;            /* number of events in the new segments */
};

static int take_line(const char *text, size_t len, void *payload)
{
	struct sealing *sealing = payload;
	struct kl_segment_line line;
	int err;

	sealing->number++;
	err = kl_segment_line_read(&line, NULL, text, len, sealing->workload);
	if (err < 0)
		return kl_error_in(err, "line %zu", sealing->number);
	KL_GROW(sealing->line, sealing->n + 1, sealing->alloc);
	sealing->line[sealing->n++] = line;
	return 0;
}

/*
 * --- dropping events that a segment has already -------------------------------------
 */

struct known {
	/*
	 * ids of the campaign's events for the surfaces of the new events; "s" if the event is
	 * signed
	 */
	struct kl_map ids;
	struct sealing *sealing;
};

static int know_line(const char *text, size_t len, void *payload)
{
	struct known *known = payload;
	struct kl_segment_line line;

	if (kl_segment_line_read(&line, NULL, text, len, known->sealing->workload) < 0)
		kl_error_clear();
	else if (line.is_signed || !kl_map_get(&known->ids, line.id))
		kl_map_put(&known->ids, line.id, (void *)(line.is_signed ? "s" : "u"));
	return 0;
}

/* Read the events that a file has for the surfaces of the lines, which are sorted. */
static int know_file(struct known *known, const git_oid *blob, const struct kl_segment_line *line,
		     size_t n)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_segment_release) struct kl_segment file = { 0 };
	struct sealing *sealing = known->sealing;
	int err = kl_repo_blob_read(&text, sealing->repo, blob, KL_SEGMENT_MAX_FILE);

	if (err < 0)
		return err;
	if (kl_segment_open(&file, sealing->workload, text.ptr, text.len) < 0) {
		kl_error_clear(); /* fsck reports it */
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(line[i - 1].surface, line[i].surface))
			kl_segment_of_surface(&file, line[i].surface, know_line, known);
	return 0;
}

/*
 * Drop the lines that the campaign has already. The lines are sorted and belong to one directory.
 * An unsigned copy in the campaign does not exclude a signed copy.
 */
static int drop_known(size_t *left, struct sealing *sealing, struct kl_segment_line *line, size_t n)
{
	KL_AUTO(kl_tree_entries_release) struct kl_tree_entries files = { 0 };
	struct known known = { .ids = KL_MAP_INIT, .sealing = sealing };
	char dir[3];
	int err = 0;

	*left = n;
	if (git_oid_is_zero(&sealing->tip))
		return 0;
	snprintf(dir, sizeof(dir), "%.2s", line->surface);
	err = kl_repo_tree_level(&files, sealing->repo, &sealing->tree, dir);
	for (size_t i = 0; !err && i < files.n; i++)
		if (files.v[i].mode == KL_MODE_FILE)
			err = know_file(&known, &files.v[i].oid, line, n);
	*left = 0;
	for (size_t i = 0; !err && i < n; i++) {
		const char *state = kl_map_get(&known.ids, line[i].id);

		if (!state || (*state == 'u' && line[i].is_signed))
			line[(*left)++] = line[i];
	}
	kl_map_release(&known.ids);
	return err;
}

/*
 * --- one segment ----------------------------------------------------------------------
 */

/* Keep the tree of a candidate alive. If git gc has removed it meanwhile, fsck reports that. */
static void add_candidate(struct kl_tree_entries *out, struct sealing *sealing,
			  const struct kl_segment_line *line)
{
	char hex[KL_OID_HEX], path[sizeof(KL_SEGMENT_TREES) + KL_OID_HEX + 2];
	size_t size;

	if (git_oid_is_zero(&line->tree))
		return;
	if (kl_repo_object_size(&size, sealing->repo, &line->tree) < 0) {
		kl_error_clear();
		return;
	}
	kl_oid_hex(hex, &line->tree);
	snprintf(path, sizeof(path), KL_SEGMENT_TREES "/%.2s/%s", hex, hex + 2);
	kl_tree_entries_add(out, path, &line->tree, KL_MODE_TREE);
}

/* Write the file of the lines, which are sorted and belong to one directory. */
static int write_file(struct kl_tree_entries *out, struct sealing *sealing,
		      struct kl_segment_line *line, size_t n)
{
	KL_AUTO(kl_buf_release) struct kl_buf file = KL_BUF_INIT;
	char path[KL_SEGMENT_PATH];
	git_oid blob;
	size_t left;
	int err = drop_known(&left, sealing, line, n);

	if (err < 0 || !left)
		return err;
	kl_segment_write(&file, sealing->workload, line, left);
	kl_segment_path(path, &file, line->surface);
	if ((err = kl_repo_blob_write(&blob, sealing->repo, file.ptr, file.len)) < 0)
		return err;
	kl_tree_entries_add(out, path, &blob, KL_MODE_FILE);
	for (size_t i = 0; i < left; i++)
		add_candidate(out, sealing, &line[i]);
	sealing->made += left;
	return 0;
}

static int commit_segment(struct sealing *sealing, struct kl_tree_entries *entries, size_t events)
{
	KL_AUTO(kl_freep) char *message = kl_asprintf("segment: add %zu event%s\n", events,
						      events == 1 ? "" : "s");
	struct kl_commit_spec spec = {
		.parent = &sealing->tip,
		.nparent = !git_oid_is_zero(&sealing->tip),
		.message = message,
	};
	int err = kl_repo_tree_graft(&spec.tree, sealing->repo,
				     spec.nparent ? &sealing->tree : NULL, entries);
	git_oid made;

	if (err < 0 || (err = kl_repo_commit_write(&made, sealing->repo, &spec)) < 0)
		return err;
	sealing->tip = made;
	sealing->tree = spec.tree;
	return KL_FAULT("segment-committed");
}

static int make_segment(struct sealing *sealing, struct kl_segment_line *line, size_t n)
{
	KL_AUTO(kl_tree_entries_release) struct kl_tree_entries entries = { 0 };
	size_t before = sealing->made, sorted = kl_segment_sort(line, n);
	int err = KL_FAULT("segment-objects");

	for (size_t i = 0, end; !err && i < sorted; i = end) {
		for (end = i + 1; end < sorted && !strncmp(line[i].surface, line[end].surface, 2);
		     end++)
			;
		err = write_file(&entries, sealing, line + i, end - i);
	}
	if (!err && sealing->made > before)
		err = commit_segment(sealing, &entries, sealing->made - before);
	return err;
}

/* Return how many of the lines from `from` on fit into one segment. */
static size_t chunk_of(const struct sealing *sealing, size_t from)
{
	size_t n = 0, bytes = 0;

	while (from + n < sealing->n && n < KL_SEGMENT_MAX_LINES) {
		bytes += sealing->line[from + n].len + 1;
		if (bytes > KL_SEGMENT_MAX_BYTES)
			break;
		n++;
	}
	return n;
}

/* --- all segments of a log, and the ref ------------------------------------------------- */

static int make_segments(struct sealing *sealing, const char *ref, const char *text, size_t len)
{
	int err = kl_refs_get(&sealing->old, sealing->repo, ref);

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		sealing->old = kl_oid_none;
		err = 0;
	}
	sealing->tip = sealing->old;
	if (!err && !git_oid_is_zero(&sealing->tip))
		err = kl_repo_tree_of(&sealing->tree, sealing->repo, &sealing->tip);
	sealing->n = sealing->number = sealing->made = 0;
	if (!err)
		err = kl_segment_each_line(text, len, take_line, sealing);
	for (size_t at = 0, n; !err && at < sealing->n; at += n) {
		n = chunk_of(sealing, at);
		err = make_segment(sealing, sealing->line + at, n);
	}
	return err;
}

static int move_ref(struct sealing *sealing, const char *ref)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(sealing->repo);
	int err;

	if (!memcmp(&sealing->tip, &sealing->old, sizeof(git_oid)))
		return 0;
	/* the log is removed afterwards, so the objects must be on disk */
	if ((err = kl_repo_sync_written(sealing->repo)) < 0)
		return err;
	kl_refs_txn_update(txn, ref, &sealing->tip, &sealing->old);
	return kl_refs_txn_commit(txn, "klineage: add a segment");
}

/* Make the segments and move the ref; do it again if a sync has moved it meanwhile. */
static int seal_text(size_t *n, struct sealing *sealing, const char *ref, const char *text,
		     size_t len)
{
	int64_t start = kl_clock_ns(), nap = 4;
	int err;

	for (;; nap = nap < 256 ? nap * 2 : 256) {
		if ((err = make_segments(sealing, ref, text, len)) < 0)
			return err;
		err = move_ref(sealing, ref);
		*n = sealing->made;
		if (err != KL_ECHANGED && err != KL_EBUSY)
			return err;
		if ((kl_clock_ns() - start) / 1000000 > RETRY_MS)
			return kl_error_in(err, "gave up, because other processes kept moving '%s'",
					   ref);
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		kl_clock_sleep_ms(nap + (int64_t)(kl_rng_os_seed() % (uint64_t)nap));
	}
}

int kl_segment_seal(size_t *n, struct kl_repo *repo, const char *workload, const char *name,
		    struct kl_segment_log *log)
{
	KL_AUTO(kl_freep) char *ref = kl_asprintf(KL_SEGMENT_REFS "%s/%s", workload, name);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct sealing sealing = { .repo = repo, .workload = workload };
	int err;

	*n = 0;
	if (!log->bytes)
		return 0;
	if ((err = kl_segment_log_read(&text, log)) < 0)
		return err;
	err = seal_text(n, &sealing, ref, text.ptr, text.len);
	free(sealing.line);
	return err < 0 ? err : kl_segment_log_clear(log);
}
