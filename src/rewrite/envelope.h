/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_ENVELOPE_H
#define KL_REWRITE_ENVELOPE_H

#include "base/buf.h"
#include "text/json.h"

/*
 * envelope - a model's reply, strictly parsed (docs/formats.md, "Replies"): one step with its
 * edits, or that nothing is left. Tags stand alone on their lines; what lies outside of them is
 * talk, and ignored.
 *
 *	err = kl_envelope_parse(&reply, text, len);
 *	if (err == KL_EINVALID)
 *		say kl_error_last() to the model and ask again
 *	err = kl_edits_apply(&file, &n, surface, &reply);	edits.h
 *	kl_envelope_release(&reply);
 *
 * Nothing of a reply is believed here: names are only checked for their form.
 */
#define KL_ENVELOPE_MAX ((size_t)2 << 20)
#define KL_ENVELOPE_EDITS 64
#define KL_ENVELOPE_WHY 2000

enum kl_envelope_kind { KL_ENVELOPE_STEP, KL_ENVELOPE_NOTHING };
enum kl_edit_kind {
	KL_EDIT_FILE,     /* `text` is the whole file */
	KL_EDIT_FUNCTION, /* `text` is the whole function `name`; "": it goes */
	KL_EDIT_SEARCH,   /* the lines `search` become the lines `text` */
};

struct kl_envelope_edit {
	enum kl_edit_kind kind;
	int line;     /* of the reply, where its tag stands; of a document -1, -2, ... */
	char *path;   /* as it was said */
	char *name;   /* of a function, else NULL */
	char *search; /* else NULL */
	char *text;   /* whole lines */
};

struct kl_envelope {
	enum kl_envelope_kind kind;
	char *action;                  /* slug */
	char *mechanism;               /* slug, or "": none was named */
	char *locus;                   /* "path", "path:symbol", "path:symbol:lines" */
	char *why;                     /* one line; of KL_ENVELOPE_NOTHING, too */
	char *card;                    /* that the step is by; NULL: none was named */
	json_t *traits;                /* {"tiled":"no"} */
	struct kl_envelope_edit *edit; /* in the order of the reply */
	size_t n, alloc;
};

/** KL_EINVALID: a sentence for who wrote it. `out` is released on failure. */
int kl_envelope_parse(struct kl_envelope *out, const char *text, size_t len);
/** A step as a JSON document (docs/formats.md, "Replies"), read as strictly. */
int kl_envelope_json(struct kl_envelope *out, const char *text, size_t len);
void kl_envelope_release(struct kl_envelope *envelope);

/**
 * The other kind of reply, of a reader of traits:
 * {"tiled":{"value":"yes","path":"a.c","lines":[3,9]}}, without path and lines where the value is
 * "unknown". KL_EINVALID likewise.
 */
int kl_envelope_traits(json_t **out, const char *text, size_t len);

/** "topk.c:scan:12-30" without its lines; caller frees. */
char *kl_envelope_place(const char *locus);
bool kl_envelope_locus_ok(const char *text);
/** Lower-case words joined by '-', at most 40 bytes. */
bool kl_envelope_slug(const char *text);

#endif
