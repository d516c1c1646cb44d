/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_LANGUAGE_H
#define KL_CONTRACT_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "text/schema.h"

/*
 * language - what a contract of one language may say, as data: a row for each. backend/backend.h says
 * how its kernels are compiled and judged; its rows point to these.
 *
 *	c->language->name			of a contract that was read
 *	kl_suffix_in(path, c->language->mains)	is this file compiled by itself?
 *
 * Lists of suffixes (with their dot) and names have NULL at their end.
 */
struct kl_contract;

/* One of the sections `surface` and `oracle`. */
struct kl_language_section {
	const struct kl_schema *schema; /* over struct kl_contract */
	/** What the table cannot say, and defaults. KL_EINVALID at its place. NULL: nothing. */
	int (*finish)(struct kl_contract *contract, const struct kl_yaml *section);
};

/* What `init` writes for a kernel of which it has the prototype; paths as for kl_fs_share(). */
struct kl_language_init {
	const char *contract, *oracle; /* templates */
	const char *oracle_name;       /* of the file */
};

struct kl_language {
	const char *name;  /* `language:` */
	const char *title; /* in messages: "C" */
	/** The key of `surface` that, if true, chooses this row of its name; NULL: the first. */
	const char *variant;
	const char *const *suffixes; /* of sources */
	const char *const *mains;    /* of sources that are compiled, the usual first */
	const char *const *texts;    /* of sources in the tokens of C, which rewriters read */
	const char *const *spatch;   /* of sources that Coccinelle reads; NULL: none */
	const char *unit;            /* what its only main source is; NULL: there may be several */
	/**
	 * Where a kernel's dims are not among its arguments: how it gets one, as the words before and
	 * behind the name of the dim. NULL: they are.
	 */
	const char *dims[2];
	int (*flag_ok)(const char *flag); /* contract/flags.h */
	const char *const *baselines;
	struct kl_language_section surface, oracle;
	const struct kl_language_init *init; /* NULL: `init` does not know it */
};

#define KL_LANGUAGES_MAX 15
struct kl_languages {
	const struct kl_language *row[KL_LANGUAGES_MAX + 1]; /* NULL at the end */
};

/** Those of this program. */
extern const struct kl_languages kl_languages;
extern const struct kl_language kl_language_c, kl_language_cuda, kl_language_cuda_host;

/** The first row of a name, or NULL. */
const struct kl_language *kl_language_find(const struct kl_languages *known, const char *name);
/** Their names, each once, in the table's order; NULL at the end; borrowed. */
void kl_language_names(const char *out[KL_LANGUAGES_MAX + 1], const struct kl_languages *known);
/** Does the path end in one of the suffixes? `suffixes` NULL: no. */
bool kl_suffix_in(const char *path, const char *const *suffixes);

/*
 * Fields for the tables of sections. `language` is read before the table is chosen by it; all but
 * it are checked against what the row of the language says.
 */
#define KL_LANGUAGE_MAX_SOURCES 64
#define KL_LANGUAGE_MAX_FLAGS 64
/* clang-format off */
#define KL_LANGUAGE_FIELD KL_VALUE_FIELD("language", KL_NEEDED, 0, &kl_value_known)
#define KL_LANGUAGE_SOURCES_FIELD \
	KL_VALUES_FIELD("sources", KL_NEEDED, 0, &kl_language_sources, 1, KL_LANGUAGE_MAX_SOURCES)
#define KL_LANGUAGE_FLAGS_FIELD \
	KL_VALUES_FIELD("flags", 0, 0, &kl_language_flags, 0, KL_LANGUAGE_MAX_FLAGS)
#define KL_LANGUAGE_ORACLE_SOURCES_FIELD \
	KL_VALUES_FIELD("sources", KL_NEEDED, 0, &kl_language_oracle_sources, \
			1, KL_LANGUAGE_MAX_SOURCES)
/* clang-format on */
extern const struct kl_value_type kl_language_sources, kl_language_oracle_sources;
extern const struct kl_value_type kl_language_flags;
/** `entry`: the function by which a kernel is called. */
extern const struct kl_string_type kl_language_entry;
/** The sections of a language whose kernels are functions, as C has them. */
extern const struct kl_schema kl_language_c_surface, kl_language_c_oracle;

#endif
