/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_TABLE_TABLE_H
#define KL_SEARCH_TABLE_TABLE_H

#include "base/map.h"
#include "contract/surface.h"
#include "event/event.h"

/*
 * table - kernels of one workload with the verdicts that the gate gave them, in one file
 * (docs/formats.md, "Tables").
 *
 * The kernels, or states, are the states of lineages and what is reached from them by a change: of a
 * constant, by a step that the gate refused, by a comment, by a syntax error. A search that takes
 * its verdicts from a table needs neither a compiler nor a device, and finds the same ones on every
 * machine. The table says on what the times were measured.
 *
 * The sources of a state follow from those of the state that it was made from. The digest of its
 * surface shows that they are the ones that were judged. A table is not trusted: it is parsed
 * strictly, and its verdicts are never written as events.
 *
 *	err = kl_search_table_read(&table, "topk.jsonl");
 *	state = kl_search_table_find(table, surface->digest);
 *	event = kl_search_table_event(table, state, root);
 */
#define KL_SEARCH_TABLE_SCHEMA "klineage.table/1"
#define KL_SEARCH_TABLE_STATES 20000
#define KL_SEARCH_TABLE_BYTES ((size_t)16 << 20)

/** How a state was made from the one that it is based on. */
enum kl_table_kind {
	KL_TABLE_LINEAGE, /* a state of a lineage, made by a step */
	KL_TABLE_TUNE,    /* another value of a constant */
	KL_TABLE_REFUSED, /* a step that the gate refused in a walk */
	KL_TABLE_STALE,   /* a comment: the same kernel */
	KL_TABLE_BROKEN,  /* a syntax error */
};
#define KL_TABLE_KINDS (KL_TABLE_BROKEN + 1)
extern const char *const kl_table_kind_name[KL_TABLE_KINDS];

/** Replaces `drop` lines of a file, from line `line` on (the first is 0), by `text`. */
struct kl_table_edit {
	char *path, *text;
	int64_t line, drop;
};

struct kl_table_constant {
	char *name;
	int64_t value;
};

struct kl_table_state {
	char *id; /* "K_3", "K_3.MC=48", "K_3.drop-tail" */
	enum kl_table_kind kind;
	int64_t lineage, at; /* K_at of the lineage of this number */
	size_t from;         /* the state that it was made from; of the root: itself */
	char *by;            /* mechanism of the step, name of the constant, or of the change */
	struct kl_table_constant *set; /* the constants that were changed, sorted by name */
	size_t nset;
	struct kl_table_edit *edit; /* makes its sources from those of `from` */
	size_t nedit;
	char surface[KL_DIGEST_HEX];
	char event[KL_DIGEST_HEX]; /* the gate's event, which the table does not have */
	enum kl_verdict verdict;
	char *class_; /* class of the failure, or NULL */
	int64_t ns;
	struct kl_ratio root; /* speed compared with the table's root; ppm 0: not timed */
	int64_t *case_ppm;    /* the same at each case of the contract, if there are several */
	size_t ncase;
	struct kl_strvec features;
};

struct kl_search_table {
	char *workload, *platform, *device, *compiler;
	char contract[KL_DIGEST_HEX];
	int64_t policy; /* version of the gate's rules */
	struct kl_strvec lineage;
	struct kl_table_state *state; /* [0] is the root */
	size_t n, alloc;
	char digest[KL_DIGEST_HEX]; /* of the file that was parsed */
	struct kl_map by_surface;   /* digest of a surface -> 1 + index of its state */
};

/** Parse a table. KL_EINVALID: it is malformed; the message names the line. Free *out. */
int kl_search_table_parse(struct kl_search_table **out, const char *text, size_t len);
/**
 * Read a table: a path, or the name of a shipped table, such as "c-topk". KL_ENOTFOUND: there is no
 * such file.
 */
int kl_search_table_open(struct kl_search_table **out, const char *what);
/** Append the table as the bytes of its file. */
void kl_search_table_write(struct kl_buf *out, const struct kl_search_table *table);
void kl_search_table_free(struct kl_search_table *table);
KL_DEFINE_CLEANUP(struct kl_search_table *, kl_search_table_free)
void kl_table_state_release(struct kl_table_state *state);

/** Return the state whose sources have this digest, or NULL. */
const struct kl_table_state *kl_search_table_find(const struct kl_search_table *table,
						  const char *surface);
/**
 * Make the sources of a state. `base` is a surface with the contract of the table. KL_EINVALID: the
 * contract is another one, or the sources do not have the digest of the state.
 */
int kl_search_table_surface(struct kl_surface **out, const struct kl_search_table *table,
			    const struct kl_table_state *state, const struct kl_surface *base);
/** Append the edits that turn the sources of one surface into those of another of its contract. */
void kl_table_state_diff(struct kl_table_state *state, const struct kl_surface *from,
			 const struct kl_surface *to);
/**
 * Return the verdict of a state as an event, which is not sealed and must not be written: it has the
 * id of the gate's event, but not all of its members. Its speed is compared with `root`.
 */
struct kl_event *kl_search_table_event(const struct kl_table_state *state,
				       const struct kl_table_state *root);

#endif
