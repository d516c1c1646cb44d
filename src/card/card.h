/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_CARD_H
#define KL_CARD_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "event/profile.h"
#include "text/json.h"
#include "text/yaml.h"

/*
 * card - a SkillCard in memory: sigma = (intent, anchor, carrier, pre, effect, evidence, risk,
 * scope, ver), as described in docs/formats.md ("Cards").
 *
 * A card is read from YAML or JSON, and its text is untrusted. kl_card_parse() checks ids, paths,
 * patches and predicates, and that the trials in `ver` support the status; an error names line and
 * column. kl_library_check() (library.h) checks that cited events and commits exist.
 *
 *	err = kl_card_parse(&card, "cards/x.yaml", text, len);
 *	kl_card_add_evidence(card, &row);		takes ownership of the strings of `row`
 *	kl_card_write(&out, card);			canonical; parsing it gives the same card
 *
 * The card owns its strings; a string is NULL if its field is absent. Ratios and dollars are exact:
 * millionths in memory, decimals of at most six places in the file. The rows of a list are kept in
 * canonical order (kl_card_normalize), so that equal cards have equal text. A row is identified by
 * the event it cites, not by its index.
 */
/*
 * the newest schema that can be read; a card is written with the least one that can hold it, so
 * that older programs read it if they can (kl_card_normalize)
 */
#define KL_CARD_SCHEMA 2
#define KL_CARD_MAX_BYTES (1u << 20)

enum kl_card_status {
	KL_CARD_HYPOTHESIS,  /* no trial of the card counts (kl_status_counts) */
	KL_CARD_PROVISIONAL, /* at least one trial counts, but not enough for `admitted` */
	/*
	 * a trial that counts is beyond other-lineage, or trials on two states are at other-lineage
	 */
	KL_CARD_ADMITTED,
	/* withdrawn for good; the card stays in the library, so that it is not learned again */
	KL_CARD_RETRACTED,
};

/**
 * Distance of a trial from the card's evidence. Compare levels by kl_level_rank(), not by enum
 * value.
 */
enum kl_level {
	/* nearly the code of a state in the evidence: such a trial shows nothing new */
	KL_LEVEL_SAME_CODE,
	KL_LEVEL_OTHER_STATE,
	KL_LEVEL_OTHER_LINEAGE,
	KL_LEVEL_OTHER_AUTHOR,
	KL_LEVEL_OTHER_WORKLOAD,
	KL_LEVEL_OTHER_LANGUAGE,
	KL_LEVEL_OTHER_PLATFORM,
};

enum kl_carrier_form {
	KL_CARRIER_SNIPPET, /* "annotated-snippet" */
	/* "diff": unified diff, paths relative to the contract's directory; mechanical */
	KL_CARRIER_DIFF,
	KL_CARRIER_COCCI,      /* "semantic-patch": applied by Coccinelle; mechanical */
	KL_CARRIER_SCHEDULE,   /* "schedule" */
	KL_CARRIER_PSEUDOCODE, /* "pseudocode" */
	KL_CARRIER_PROSE,      /* "prose" */
	/* "transform": one of the program's transformations (rewrite/transform.h); mechanical */
	KL_CARRIER_TRANSFORM,
};

/** How the forward edit of a transition was obtained (docs/formats.md, "Trailers"). */
enum kl_derivation { KL_DERIVED_ANEW, KL_DERIVED_UNISOLATED, KL_DERIVED_INVERSE };

/** How a row of `effect` was measured. Rows of the first two kinds can be verified. */
enum kl_row_by {
	KL_ROW_TRIAL,     /* by a held-out trial of this card that passed */
	KL_ROW_REDERIVED, /* by a forward step that was re-derived */
	/* by the inverse of a backward step, or by a forward step that was not isolated */
	KL_ROW_UNVERIFIED,
};

struct kl_card_dim {
	char *name;
	int64_t v;
};
struct kl_card_dims {
	struct kl_card_dim *v;
	size_t n, alloc;
}; /* sorted by name */

/** How to recognize the anchor in code of one language. */
struct kl_card_find {
	char *language;
	/* features that the code has; with a "!" before the name, features that it lacks */
	struct kl_strvec facts;
	struct kl_strvec loop_has; /* words that occur in the loop's body */
	/* "const": constants by name, with their values in the code: {num_stages: 1} */
	struct kl_card_dims constant;
};

struct kl_card_anchor {
	char *construct; /* the code that the card is about */
	char *acts_on;   /* the part of the construct that the card changes */
	struct {
		struct kl_card_find *v;
		size_t n, alloc;
	} find; /* one entry per language */
};

struct kl_card_carrier {
	char *language;
	enum kl_carrier_form form;
	char *of;   /* event of the evidence row that the carrier was taken from, or NULL */
	char *text; /* passed verbatim to a prompt or a tool */
};

enum kl_pre_state {
	KL_PRE_ASSUMED,
	KL_PRE_WITNESSED,
	KL_PRE_NOT_NEEDED, /* the card's code was right where `test` was false */
	/* all kernels of the evidence promise it; what happens where it is false is not known */
	KL_PRE_NOT_TESTED,
};

struct kl_card_pre {
	char *id; /* slug, unique in the card */
	char *text;
	char *test; /* predicate (predicate.h), or NULL */
	enum kl_pre_state state;
	/*
	 * event of a kernel with the card's code where `test` was false: of a failure if `state` is
	 * witnessed, of a pass if it is not-needed
	 */
	char *by;
	char *class_; /* class of that failure: "fault", "wrong-edge", "slower", ... */
	/* event of the kernel without the card's code, K_{i-1}, that passed where `by` failed */
	char *pair;
	/* where the condition is written, such as a launch plan; NULL if it is nowhere */
	char *source;
};

/** The measured ratio of one event; it is never an average over several events. */
struct kl_card_row {
	char *case_; /* operator, such as "conv2d" */
	struct kl_card_dims dims;
	char *dtype, *language, *platform;
	struct kl_ratio ratio;
	enum kl_row_by by;
	char *event;
};

struct kl_card_evidence {
	char *lineage;        /* "<workload>/<name>" */
	int64_t step;         /* the transition from K_{step-1} to K_step */
	char *before, *after; /* commits, 40 hex digits */
	/* commit of K_step, re-derived on K_{step-1}; NULL if `derivation` is inverse */
	char *rederived;
	enum kl_derivation derivation;
	char *origin; /* "induced", "authored" or "historical" */
	char *language, *platform;
	/* event that compares K_step with K_{step-1} */
	char *event;
	char *confirmed; /* event of the commit `rederived`, or NULL */
	/* what the step changes beside its mechanism: constants, launch bounds, functions */
	struct kl_strvec also;
	/* what a probe measured of the step besides conditions: bits, values, resources */
	struct kl_strvec measured;
};

struct kl_card_risk {
	char *class_;
	char *violates; /* id of the precondition whose violation leads to this failure, or NULL */
	char *text;
	struct kl_strvec events; /* sorted */
};

enum kl_result { KL_RESULT_FAIL, KL_RESULT_PASS };
enum kl_trial_how { KL_HOW_AGENT, KL_HOW_MECHANICAL };

/**
 * Result of a control: either a model got only the card's intent, or the enabled cards were tried
 * without the card that enables them. `event` is NULL if no edit was made.
 */
struct kl_card_control {
	bool there;
	enum kl_result result;
	char *class_; /* class of the failure */
	struct kl_ratio ratio;
	char *event;
	int64_t usd;    /* millionths of a dollar; -1 if unknown */
	int64_t tokens; /* input and output of all turns; -1 if unknown */
	char *card;     /* for the arm `wrong`: the card that was shown; otherwise NULL */
};

/** Value of `rule` for trials whose level was computed from structure, not from names. */
#define KL_TRIAL_RULE 2

/**
 * A row of `ver`: one held-out trial, passed or failed; or, if `retracted` is set, the retraction
 * of the card.
 */
struct kl_card_trial {
	/*
	 * reason for the retraction; NULL if the row is a trial. The only other members of a
	 * retraction are `by`, `time` and optionally `event`
	 */
	char *retracted;
	char *by, *time; /* "Name <mail>", "2026-11-20T10:00:00Z" */
	bool foreign;    /* imported from another library: the trial is kept, but does not count */
	int64_t trial;   /* number of the trial of this card on this state: 1, 2, 3 */
	int64_t rule;    /* KL_TRIAL_RULE; 0 for an earlier rule, which compared names */
	enum kl_level level;
	/*
	 * lines in which the state differs from the nearest state of the evidence, and the share of
	 * lines that are the same, in millionths; -1 if no state of the evidence could be read
	 */
	int64_t changed, alike;
	char *workload;
	char *lineage; /* "<workload>/<name>" of the lineage that the state belongs to, or NULL */
	char *case_;
	struct kl_card_dims dims;
	char *dtype, *language, *platform;
	char *state; /* commit, 40 hex digits */
	char *made;  /* commit that the trial made; NULL if no edit was made */
	enum kl_result result;
	char *class_;          /* class of the failure; "no-edit" if no edit was made */
	struct kl_ratio ratio; /* speed of the edited state compared with the state */
	/*
	 * log(gain of the trial) / log(gain of the lineage's own next step), in millionths; -1 if
	 * unknown
	 */
	int64_t recovered;
	char *event; /* NULL if no edit was made, so nothing was judged */
	int64_t repairs;
	enum kl_trial_how how;
	char *model;    /* name of the model; NULL if a tool applied the card */
	int64_t usd;    /* millionths of a dollar; -1 if unknown */
	int64_t tokens; /* input and output of all turns with the card; -1 if unknown */
	bool isolated;
	int64_t seed; /* the state and the order of the arms were drawn with it; 0 if not drawn */
	char *arms;   /* arms in the order in which they ran: "intent card wrong bare"; or NULL */
	/* enabled cards that were applied together with this card */
	struct kl_strvec with;
	/* if the card enables others: the result of trying the cards `with` without this card */
	struct kl_card_control alone;
	/*
	 * the results of models that got, in place of the card, its intent alone (`control`), the
	 * card without conditions and risks (`bare`), and another card (`wrong`)
	 */
	struct kl_card_control control, bare, wrong;
};

/* The scope that the card claims. kl_card_row_is_verified() tells where the effect was measured. */
struct kl_card_scope {
	struct kl_strvec cases, languages;
	struct kl_strvec needs;                         /* capabilities of the platform */
	struct kl_strvec requires, provides, conflicts; /* facts, "trait:x", or ids of cards */
};

struct kl_card {
	int64_t schema;             /* the least schema that can hold the card */
	char *id;                   /* slug; the file is named "<id>.yaml" */
	enum kl_card_status status; /* as kl_status_of() computed it (status.h) */
	char *intent;
	char *mechanism; /* entry of templates/mechanisms.yaml, or NULL */
	/*
	 * the steps have no entry of that table: `mechanism` is their author's name, or the action
	 */
	bool unlisted;
	char *action; /* action of the backward step that the card was learned from, or NULL */
	struct kl_card_anchor anchor;
	struct {
		struct kl_card_carrier *v;
		size_t n, alloc;
	} carriers;
	struct {
		struct kl_card_pre *v;
		size_t n, alloc;
	} sound, useful;
	/*
	 * effect.kind: ids of the cards that this card enables; empty if the card is a win by
	 * itself
	 */
	struct kl_strvec enables;
	/* facts that hold after the card is applied: "cp.async", "trait:tiled" */
	struct kl_strvec provides;
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
 * Parse one card strictly and put its rows into canonical order. The caller frees *out. Return
 * KL_EINVALID if the card is malformed (the message is "<name>:<line>:<column>: <what>") or larger
 * than KL_CARD_MAX_BYTES. Return KL_ECANNOT if the card has a newer schema.
 */
int kl_card_parse(struct kl_card **out, const char *name, const char *text, size_t len);
/** Like kl_card_parse(), but read the card from a parsed YAML tree. */
int kl_card_from_yaml(struct kl_card **out, const char *name, const struct kl_yaml *node);
/**
 * Like kl_card_parse(), but read the card from JSON as kl_card_to_json() writes it. Error messages
 * have no line.
 */
int kl_card_from_json(struct kl_card **out, const char *name, const json_t *value);

/** Append canonical YAML, with the status computed from `ver`. `card` must be normalized. */
void kl_card_write(struct kl_buf *out, const struct kl_card *card);
json_t *kl_card_to_json(const struct kl_card *card);
/**
 * Return the number of the first line (from 1) where `text` differs from the canonical YAML, or 0
 * if the two are equal.
 */
int kl_card_canonical_line(const struct kl_card *card, const char *text, size_t len);

/* --- changing --------------------------------------------------------------- */

/**
 * Sort the rows of every list, drop duplicates (of two rows with one id, the row with more fields
 * stays) and set `status`. Call it only after filling lists directly: the functions that parse a
 * card, the kl_card_add functions below and kl_card_retract() do this themselves.
 */
void kl_card_normalize(struct kl_card *card);
/*
 * Add one row. Each function takes ownership of the strings of its argument. Return false if the
 * card already has a row with that id; the row with more fields then stays.
 */
bool kl_card_add_evidence(struct kl_card *card, struct kl_card_evidence *evidence);
bool kl_card_add_row(struct kl_card *card, struct kl_card_row *row);
bool kl_card_add_trial(struct kl_card *card, struct kl_card_trial *trial);
/* add a risk; if the card already has an equal one, unite the events of the two */
bool kl_card_add_risk(struct kl_card *card, struct kl_card_risk *risk);
/** Set every field of a trial to absent. */
void kl_card_trial_init(struct kl_card_trial *trial);
/** Add a row to `ver` that retracts the card for good, for the reason `why`. */
void kl_card_retract(struct kl_card *card, const char *why, const char *by, const char *time);

void kl_card_pre_release(struct kl_card_pre *pre);

void kl_card_dims_add(struct kl_card_dims *dims, const char *name, int64_t value);
void kl_card_dims_copy(struct kl_card_dims *to, const struct kl_card_dims *from);
/** Get the value of a dim. Return false if `dims` lacks the dim. */
bool kl_card_dims_get(int64_t *out, const struct kl_card_dims *dims, const char *name);

/* --- queries ----------------------------------------------------------------- */

/** Check whether the row is verified: its step was re-derived, or its trial counts (status.h). */
bool kl_card_row_is_verified(const struct kl_card *card, const struct kl_card_row *row);
/** Append the id of every event that the card cites, sorted, without duplicates. */
void kl_card_events(struct kl_strvec *out, const struct kl_card *card);
/** Append every commit that the card names, sorted, without duplicates. */
void kl_card_commits(struct kl_strvec *out, const struct kl_card *card);
/** Check whether the card's evidence names the commit as `before`, `after` or `rederived`. */
bool kl_card_has_state(const struct kl_card *card, const char *commit);
/**
 * Find a precondition by id. Return NULL if the card has none with this id. If `sound` is not NULL,
 * set *sound to whether the precondition is in the list `sound`.
 */
const struct kl_card_pre *kl_card_find_pre(const struct kl_card *card, const char *id, bool *sound);
bool kl_card_has_pre(const struct kl_card *card, const char *id);
/**
 * Check whether a target where the precondition is false is no target of the card. A precondition
 * that was not tested, or that is not needed, excludes nothing.
 */
bool kl_card_pre_counts(const struct kl_card_pre *pre);
/** Return the card's first carrier for a language, or NULL. */
const struct kl_card_carrier *kl_card_carrier(const struct kl_card *card, const char *language);
/** Check whether the carrier can be applied by a tool, without a model. */
bool kl_carrier_is_mechanical(const struct kl_card_carrier *carrier);

/**
 * Return a new id: the slug of the intent's first words, '-', and the first 7 digits of the event
 * or, if there is none, of the intent's digest. The caller frees it.
 */
char *kl_card_make_id(const char *intent, const char *event);

/* --- names -------------------------------------------------------------------- */

const char *kl_card_status_name(enum kl_card_status status);
const char *kl_pre_state_name(enum kl_pre_state state); /* "assumed", ... */
const char *kl_level_name(enum kl_level level);         /* "other-state", ... */
/**
 * Return the rank of a level, for comparing distances; other-author and other-workload have the
 * same rank, and so have other-language and other-platform.
 */
int kl_level_rank(enum kl_level level);
const char *kl_carrier_form_name(enum kl_carrier_form form);

#endif
