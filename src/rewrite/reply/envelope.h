/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_ENVELOPE_H
#define KL_REWRITE_ENVELOPE_H

#include "base/buf.h"
#include "text/json.h"

/*
 * envelope - strictly parses a model's reply: one step with its edits, or <nothing-left>.
 *
 * docs/formats.md ("Replies") describes the form. Tags stand alone on their lines; text outside of
 * tags is ignored.
 *
 *	err = kl_envelope_parse(&reply, text, len);
 *	if (err == KL_EINVALID)
 *		send kl_error_last() to the model and ask again
 *	err = kl_edits_apply(&file, &n, surface, &reply);	edits.h
 *	kl_envelope_release(&reply);
 *
 * Only the form of names is checked here, not whether something with the name exists.
 */
#define KL_ENVELOPE_MAX ((size_t)2 << 20)
#define KL_ENVELOPE_EDITS 64
#define KL_ENVELOPE_WHY 2000

enum kl_envelope_kind { KL_ENVELOPE_STEP, KL_ENVELOPE_NOTHING };
enum kl_edit_kind {
	KL_EDIT_FILE,     /* `text` is the whole file */
	KL_EDIT_FUNCTION, /* `text` is the whole function `name`; "" removes it */
	KL_EDIT_SEARCH,   /* `text` replaces the lines `search` */
};

struct kl_envelope_edit {
	enum kl_edit_kind kind;
	/*
	 * line of the edit's tag in the reply; in a JSON document, which has no such lines, the
	 * number of the edit, negated: -1, -2, ...
	 */
	int line;
	char *path;   /* copied from the reply, not yet checked */
	char *name;   /* KL_EDIT_FUNCTION, else NULL */
	char *search; /* KL_EDIT_SEARCH, else NULL */
	char *text;   /* whole lines */
};

struct kl_envelope {
	enum kl_envelope_kind kind;
	char *action;                  /* slug */
	char *mechanism;               /* slug, or "" if none was named */
	char *locus;                   /* "path", "path:symbol", "path:symbol:lines" */
	char *why;                     /* reason for the step, or why nothing is left; one line */
	char *card;                    /* id of the card that the step applies, or NULL */
	json_t *traits;                /* claims about the traits of the result: {"tiled":"no"} */
	struct kl_envelope_edit *edit; /* in the order of the reply */
	size_t n, alloc;
};

/**
 * Parse a reply. The caller releases `out`; on failure it is already released. Return KL_EINVALID
 * if the reply is malformed. The message tells its author what is wrong.
 */
int kl_envelope_parse(struct kl_envelope *out, const char *text, size_t len);
/** Parse a step as a JSON document (docs/formats.md, "Replies"), just as strictly. */
int kl_envelope_json(struct kl_envelope *out, const char *text, size_t len);
void kl_envelope_release(struct kl_envelope *envelope);

/**
 * Parse the reply of a trait audit into {"tiled":{"value":"yes","path":"a.c","lines":[3,9]}}, owned
 * by the caller; path and lines are absent if the value is "unknown". Return KL_EINVALID if the
 * reply is malformed. The message tells its author what is wrong.
 */
int kl_envelope_traits(json_t **out, const char *text, size_t len);

/** Return the locus without its lines: "topk.c:scan" for "topk.c:scan:12-30". Caller frees. */
char *kl_envelope_place(const char *locus);
/** Check that the text has the form of a locus. */
bool kl_envelope_locus_ok(const char *text);
/** Check that the text is lower-case words joined by '-', of at most 40 bytes. */
bool kl_envelope_slug(const char *text);

#endif
