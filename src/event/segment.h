/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SEGMENT_H
#define KL_EVENT_SEGMENT_H

#include "event/event.h"

/*
 * segment - the format of segments, which hold events that are too many for a note each
 * (docs/formats.md, "Segments"). A segment is a commit on the ref of its campaign,
 * refs/klineage/campaign/<workload>/<name>. Its events are in files of the tree, one file for all
 * surfaces whose digests begin with the same two digits. The first line of a file says where the
 * events of each surface are, so that they are found without reading the others.
 *
 *	kl_segment_line_read(&line[i], text, len, workload);	for each event
 *	n = kl_segment_sort(line, n);
 *	kl_segment_write(&file, workload, line, n);
 *
 *	kl_segment_open(&segment, "topk", file.ptr, file.len);
 *	kl_segment_of_surface(&segment, surface, on_line, payload);
 *
 * A file has exactly one form for its events, and its name is its digest.
 */
#define KL_SEGMENT_REFS "refs/klineage/campaign/"
#define KL_SEGMENT_TREES "trees" /* directory with the trees of candidates that have no commit */
#define KL_SEGMENT_MAX_LINES ((size_t)65536)
#define KL_SEGMENT_MAX_LINE ((size_t)1 << 20)
#define KL_SEGMENT_MAX_BYTES ((size_t)64 << 20) /* all lines of one segment, with newlines */
/** Maximum number of bytes of a file: its events and its index line. */
#define KL_SEGMENT_MAX_FILE (KL_SEGMENT_MAX_BYTES + ((size_t)2 << 20))

/** A line of a segment, and its sort key. */
struct kl_segment_line {
	const char *text; /* borrowed; without a newline */
	size_t len;
	char surface[KL_DIGEST_HEX], contract[KL_DIGEST_HEX], id[KL_DIGEST_HEX];
	char time[32]; /* truncated if longer */
	bool is_signed;
	git_oid tree; /* the tree of a candidate that has no commit; zero if there is none */
};

/**
 * Describe an event and the line with its canonical form. Return KL_EINVALID if the line is too
 * long, or the event is for another workload, or has no digest of a surface or of a contract.
 */
int kl_segment_line_of(struct kl_segment_line *out, const struct kl_event *event, const char *text,
		       size_t len, const char *workload);
/**
 * Parse a line and describe it. `event` gets the event, which the caller frees; NULL if it is not
 * wanted. Also return KL_EINVALID if the line is not an event in canonical form.
 */
int kl_segment_line_read(struct kl_segment_line *out, struct kl_event **event, const char *text,
			 size_t len, const char *workload);
/**
 * Sort lines by surface, contract, time and id, and drop repeated ids: a signed line is kept rather
 * than its unsigned copy. Return the number of lines that are left.
 */
size_t kl_segment_sort(struct kl_segment_line *line, size_t n);
/** Append the file of these lines, which are sorted. */
void kl_segment_write(struct kl_buf *out, const char *workload, const struct kl_segment_line *line,
		      size_t n);

/** Size of the path of a file: "<2 digits of the surfaces>/<digest of the file>.jsonl". */
#define KL_SEGMENT_PATH (3 + KL_DIGEST_HEX + 6)
void kl_segment_path(char out[KL_SEGMENT_PATH], const struct kl_buf *file, const char *surface);

/** An open file; borrows its text. */
struct kl_segment {
	const char *lines; /* the bytes after the index line */
	size_t len, n;     /* its length, and the number of events */
	struct kl_segment_place {
		char prefix[17]; /* the first 16 digits of a surface */
		uint32_t at;     /* offset of its first event in `lines` */
	} * place;
	size_t nplaces;
};
void kl_segment_release(struct kl_segment *segment);
/**
 * Read the index line. Return KL_EINVALID if it is malformed, or does not match the length of the
 * file.
 */
int kl_segment_open(struct kl_segment *out, const char *workload, const char *text, size_t len);

/** A function that is called for a line, without its newline; to stop, it returns nonzero. */
typedef int kl_segment_fn(const char *line, size_t len, void *payload);
/** Call `fn` for the lines of all surfaces with the same first 16 digits as `surface`. */
int kl_segment_of_surface(const struct kl_segment *segment, const char *surface, kl_segment_fn *fn,
			  void *payload);
/** Call `fn` for each line of a text. */
int kl_segment_each_line(const char *text, size_t len, kl_segment_fn *fn, void *payload);

struct kl_segment_check {
	/**
	 * Called for each flaw. `line` is counted from 1, the index line; it is 0 for a flaw of the
	 * whole file.
	 */
	void (*flaw)(const char *path, size_t line, const char *what, void *payload);
	/** Called for each valid event; NULL if not wanted. */
	void (*event)(const char *path, struct kl_event *event, void *payload);
	void *payload;
	size_t flaws, events; /* numbers of both */
};
/**
 * Check every byte of a file with this path: its name, its index line, each of its events, their
 * order, and that there is nothing else.
 */
void kl_segment_check(struct kl_segment_check *check, const char *workload, const char *path,
		      const char *text, size_t len);

#endif
