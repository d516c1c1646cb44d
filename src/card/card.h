/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_CARD_H
#define KL_CARD_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "text/json.h"
#include "text/yaml.h"

/*
 * card - a SkillCard in memory: sigma = (intent, anchor, carrier, pre, effect, evidence, risk,
 * scope, ver), as docs/formats.md ("Cards") has it.
 *
 * A card comes from outside as YAML or JSON and is hostile: kl_card_parse takes it only whole and
 * right (ids, paths, patches, predicates, the status that its `ver` supports), and says else where
 * it goes wrong. What it cannot see is whether a cited event or commit exists: that is library.h.
 *
 *	err = kl_card_parse(&card, "cards/x.yaml", text, len);
 *	kl_card_add_evidence(card, &row);		takes the strings of `row`
 *	kl_card_write(&out, card);			canonical: parse -> write is the identity
 *
 * Strings are owned by the card, and NULL where the field is absent. Ratios and dollars are exact:
 * millionths in memory, decimals of at most six places in the file. Every list that is a set of
 * rows is kept in canonical order (kl_card_normalize), so that two cards that say the same are the
 * same bytes; rows are known by the event that they cite, never by their place.
 */
#define KL_CARD_SCHEMA 1
#define KL_CARD_MAX_BYTES (1u << 20)

enum kl_card_status {
	KL_CARD_HYPOTHESIS,  /* nothing held out was reproduced yet */
	KL_CARD_PROVISIONAL, /* reproduced, but only on a lineage that it was learned from */
	KL_CARD_ADMITTED,    /* reproduced on another lineage, or farther away */
	KL_CARD_RETRACTED,   /* taken back, for good: a tombstone */
};

/** How far from the card's evidence a trial was; by kl_level_rank, not by number. */
enum kl_level {
	KL_LEVEL_OTHER_STATE,
	KL_LEVEL_OTHER_LINEAGE,
	KL_LEVEL_OTHER_WORKLOAD,
	KL_LEVEL_OTHER_LANGUAGE,
	KL_LEVEL_OTHER_PLATFORM,
};

enum kl_carrier_form {
	KL_CARRIER_SNIPPET,  /* "annotated-snippet" */
	KL_CARRIER_DIFF,     /* "diff": a unified diff below the contract's directory; mechanical */
	KL_CARRIER_COCCI,    /* "semantic-patch": for Coccinelle; mechanical */
	KL_CARRIER_SCHEDULE, /* "schedule" */
	KL_CARRIER_PSEUDOCODE, /* "pseudocode" */
	KL_CARRIER_PROSE,      /* "prose" */
};

/** How a transition came to be its forward edit (docs/formats.md, "Trailers"). */
enum kl_derivation { KL_DERIVED_ANEW, KL_DERIVED_UNISOLATED, KL_DERIVED_INVERSE };

/** What a row of `effect` was measured by; only the first two are verified points. */
enum kl_row_by {
	KL_ROW_TRIAL,      /* a held-out trial of this card that passed */
	KL_ROW_REDERIVED,  /* a transition that was derived anew */
	KL_ROW_UNVERIFIED, /* a backward step turned round, or one not isolated */
};

struct kl_card_dim {
	char *name;
	int64_t v;
};
struct kl_card_dims {
	struct kl_card_dim *v;
	size_t n, alloc;
}; /* sorted by name */

/** Times the speed; millionths. `ppm` 0: not known. */
struct kl_card_ratio {
	int64_t ppm, lo, hi;
};

/** What to look for in the code of one language. */
struct kl_card_find {
	char *language;
	struct kl_strvec facts;       /* features that are there, "!x": that are not */
	struct kl_strvec loop_has;    /* words of the loop's body */
	struct kl_card_dims constant; /* "const": {num_stages: 1} */
};

struct kl_card_anchor {
	char *construct; /* what code it is about */
	char *acts_on;   /* and what of it changes */
	struct {
		struct kl_card_find *v;
		size_t n, alloc;
	} find; /* by language */
};

struct kl_card_carrier {
	char *language;
	enum kl_carrier_form form;
	char *of;   /* event of the evidence it was taken from; NULL: of none */
	char *text; /* verbatim, into a prompt or a tool */
};

enum kl_pre_state { KL_PRE_ASSUMED, KL_PRE_WITNESSED };

struct kl_card_pre {
	char *id; /* slug, unique in the card */
	char *text;
	char *test; /* predicate.h; NULL: not written as one */
	enum kl_pre_state state;
	char *by;     /* witnessed: event of a failure where it was false */
	char *class_; /* of that failure: "fault", "wrong-edge", "slower", ... */
};

/** One measured point, never an average. */
struct kl_card_row {
	char *case_; /* operator: "conv2d" */
	struct kl_card_dims dims;
	char *dtype, *language, *platform;
	struct kl_card_ratio ratio;
	enum kl_row_by by;
	char *event;
};

struct kl_card_evidence {
	char *lineage;        /* "<workload>/<name>" */
	int64_t step;         /* K_{step-1} -> K_step */
	char *before, *after; /* commits, 40 hex digits */
	char *rederived;      /* K_step' on K_{step-1}; NULL: inverse */
	enum kl_derivation derivation;
	char *origin; /* induced, authored, historical */
	char *language, *platform;
	/* the forward event of K_step: how it compares with K_{step-1} */
	char *event;
	char *confirmed; /* derived anew: the event of K_step', or NULL */
};

struct kl_card_risk {
	char *class_;
	char *violates; /* id of a `pre`, or NULL */
	char *text;
	struct kl_strvec events; /* sorted */
};

enum kl_result { KL_RESULT_FAIL, KL_RESULT_PASS };
enum kl_trial_how { KL_HOW_AGENT, KL_HOW_MECHANICAL };

/** What came of the intent alone, or of a card without its enabler; no event if no edit came. */
struct kl_card_control {
	bool there;
	enum kl_result result;
	char *class_; /* of a failure */
	struct kl_card_ratio ratio;
	char *event;
	int64_t usd; /* millionths; -1: not known */
};

/** One held-out trial, passed or not; or, where `retracted` is set, the card's end. */
struct kl_card_trial {
	char *retracted; /* why; then only `by` and `time` besides, maybe `event` */
	char *by, *time; /* "Name <mail>", "2026-11-20T10:00:00Z" */
	bool foreign;    /* told by another library: kept, not counted */
	int64_t trial;   /* of this card on this state: 1, 2, 3 */
	enum kl_level level;
	char *workload;
	char *lineage; /* that the state belongs to: "<workload>/<name>"; NULL: none */
	char *case_;
	struct kl_card_dims dims;
	char *dtype, *language, *platform;
	char *state; /* commit, 40 hex digits */
	char *made;  /* the commit that was made, or NULL */
	enum kl_result result;
	char *class_;               /* of a failure; "no-edit" where none came */
	struct kl_card_ratio ratio; /* against the state */
	int64_t recovered;          /* millionths of the successor's log-gain; -1: not known */
	char *event;                /* NULL: no edit came that could be judged */
	int64_t repairs;
	enum kl_trial_how how;
	char *model; /* agent */
	int64_t usd; /* millionths; -1: not known */
	bool isolated;
	struct kl_strvec with;          /* cards that this one enabled */
	struct kl_card_control alone;   /* an enabler: those cards without this one */
	struct kl_card_control control; /* the intent alone */
};

struct kl_card_scope { /* declared; verified scope is what the rows say */
	struct kl_strvec cases, languages;
	struct kl_strvec needs;                         /* capabilities of the platform */
	struct kl_strvec requires, provides, conflicts; /* facts, "trait:x", or ids of cards */
};

struct kl_card {
	int64_t schema;             /* KL_CARD_SCHEMA */
	char *id;                   /* slug; the file's name without ".yaml" */
	enum kl_card_status status; /* as computed (status.h) */
	char *intent;
	char *mechanism; /* entry of templates/mechanisms.yaml, or NULL */
	char *action;    /* the backward action it was learned from, or NULL */
	struct kl_card_anchor anchor;
	struct {
		struct kl_card_carrier *v;
		size_t n, alloc;
	} carriers;
	struct {
		struct kl_card_pre *v;
		size_t n, alloc;
	} sound, useful;
	struct kl_strvec enables;  /* effect.kind: ids of cards; empty: a win */
	struct kl_strvec provides; /* facts that are there afterwards: "cp.async", "trait:tiled" */
	struct {
		struct kl_card_row *v;
		size_t n, alloc;
	} rows;
	struct {
		struct kl_card_evidence *v;
		size_t n, alloc;
	} evidence;
	struct {
		struct kl_card_risk *v;
		size_t n, alloc;
	} risk;
	struct kl_card_scope scope;
	struct {
		struct kl_card_trial *v;
		size_t n, alloc;
	} ver;
};

struct kl_card *kl_card_new(void);
void kl_card_free(struct kl_card *card);
KL_DEFINE_CLEANUP(struct kl_card *, kl_card_free)
struct kl_card *kl_card_copy(const struct kl_card *card);

/* --- reading and writing --------------------------------------------------- */

/**
 * Read one card, strictly. KL_EINVALID "<name>:<line>:<column>: <what>". KL_ECANNOT: it has a newer
 * schema. Rows come out in canonical order, whatever order they had.
 */
int kl_card_parse(struct kl_card **out, const char *name, const char *text, size_t len);
/** The same of a tree. */
int kl_card_from_yaml(struct kl_card **out, const char *name, const struct kl_yaml *node);
/** The same of what kl_card_to_json made (errors have no line). */
int kl_card_from_json(struct kl_card **out, const char *name, const json_t *value);

/** Canonical YAML, with the status that `ver` gives; `card` is normalized. */
void kl_card_write(struct kl_buf *out, const struct kl_card *card);
json_t *kl_card_to_json(const struct kl_card *card);
/** First line (from 1) in which `text` is not canonical, 0: it is. For `skills lint`. */
int kl_card_canonical_line(const struct kl_card *card, const char *text, size_t len);

/* --- changing --------------------------------------------------------------- */

/**
 * Put every set of rows in its order, drop doubles (the same row id: the one that says more), set
 * `status`. For who filled lists by hand; what the reader gives and the functions below leave is
 * so.
 */
void kl_card_normalize(struct kl_card *card);
/*
 * Each takes what its argument owns; false: the row was there already (the one that says more
 * stays).
 */
bool kl_card_add_evidence(struct kl_card *card, struct kl_card_evidence *evidence);
bool kl_card_add_row(struct kl_card *card, struct kl_card_row *row);
bool kl_card_add_trial(struct kl_card *card, struct kl_card_trial *trial);
bool kl_card_add_risk(struct kl_card *card, struct kl_card_risk *risk); /* unites events */
/** Everything absent; then fill it in. */
void kl_card_trial_init(struct kl_card_trial *trial);
/** Add a tombstone row; the card stays, retracted for ever. */
void kl_card_retract(struct kl_card *card, const char *why, const char *by, const char *time);

void kl_card_pre_release(struct kl_card_pre *pre);

void kl_card_dims_add(struct kl_card_dims *dims, const char *name, int64_t value);
void kl_card_dims_copy(struct kl_card_dims *to, const struct kl_card_dims *from);
/** Value of a dim; false: not there. */
bool kl_card_dims_get(int64_t *out, const struct kl_card_dims *dims, const char *name);

/* --- asking ------------------------------------------------------------------ */

/** Was the point verified? A row by trial is, if that trial passed and is this library's own. */
bool kl_card_row_is_verified(const struct kl_card *card, const struct kl_card_row *row);
/** Every event id that the card cites, sorted, each once. */
void kl_card_events(struct kl_strvec *out, const struct kl_card *card);
/** Every commit that it names, likewise. */
void kl_card_commits(struct kl_strvec *out, const struct kl_card *card);
/** Is the commit one that the card was learned from (before, after, re-derived)? */
bool kl_card_has_state(const struct kl_card *card, const char *commit);
/** The condition of this name, in either list; NULL: none. `sound` (may be NULL) gets in which. */
const struct kl_card_pre *kl_card_find_pre(const struct kl_card *card, const char *id, bool *sound);
bool kl_card_has_pre(const struct kl_card *card, const char *id);
/** The carrier for a language, or NULL. */
const struct kl_card_carrier *kl_card_carrier(const struct kl_card *card, const char *language);
/** Can a tool apply it, without a model? */
bool kl_carrier_is_mechanical(const struct kl_card_carrier *carrier);

/**
 * "<slug of the intent's first words>-<first 7 of the event>"; `event` NULL: of the intent's
 * digest. Caller frees.
 */
char *kl_card_make_id(const char *intent, const char *event);

/* --- words -------------------------------------------------------------------- */

const char *kl_card_status_name(enum kl_card_status status);
const char *kl_level_name(enum kl_level level); /* "other-state", ... */
/* 0 .. 3; language and platform are both 3 */
int kl_level_rank(enum kl_level level);
const char *kl_carrier_form_name(enum kl_carrier_form form);

#endif
