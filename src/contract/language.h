/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_LANGUAGE_H
#define KL_CONTRACT_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "text/schema.h"

/*
 * language - describes what a contract may contain, in a table with a row for each language. The
 * rows in backend/backend.h point to these rows, and describe how kernels are compiled and judged.
 *
 *	c->language->name			language of a contract that was read
 *	kl_suffix_in(path, c->language->mains)	whether this file is compiled by itself
 *
 * Lists of suffixes (with their dot) and of names end with NULL.
 */
struct kl_contract;

/* How to read the section `surface` or `oracle`. */
struct kl_language_section {
	const struct kl_schema *schema; /* describes members of struct kl_contract */
	/**
	 * Set defaults, and check what the schema cannot. On KL_EINVALID, the message has the
	 * position. This is NULL if the schema suffices.
	 */
	int (*finish)(struct kl_contract *contract, const struct kl_yaml *section);
};

/* Templates from which `init` writes a contract and an oracle; paths as for kl_fs_share(). */
struct kl_language_init {
	const char *contract, *oracle; /* templates */
	const char *oracle_name;       /* name of the oracle's file */
	/* template of an adapter, and its name; NULL if there is none */
	const char *adapter, *adapter_name;
	const char *mains[4]; /* suffixes of a kernel's file; NULL at the end */
	/* suffixes of headers; if one has the kernel, `init` also writes a file that includes it */
	const char *headers[4];
	/* templates and names of the launch plans of kernel and oracle; NULL if there are none */
	const char *plan, *plan_name, *oracle_plan, *oracle_plan_name;
};

struct kl_language {
	const char *name; /* value of the key `language` */
	/* another value of the key with the same meaning; NULL if there is none */
	const char *alias;
	const char *title; /* name for messages: "C" */
	/**
	 * Boolean key of `surface` that chooses this row if several rows have the same name. NULL
	 * if this row is the first with its name, and the default.
	 */
	const char *variant;
	/* another language in which the oracle may be written; NULL if there is none */
	const char *oracle_language;
	const char *const *suffixes; /* suffixes of all sources */
	/* suffixes of sources that are compiled; the usual suffix is first */
	const char *const *mains;
	/* suffixes of sources made of C tokens, which rewriters read */
	const char *const *texts;
	/* suffixes of sources that Coccinelle reads; NULL if there is none */
	const char *const *spatch;
	/* name for messages, if only one main source is allowed; NULL if several are allowed */
	const char *unit;
	/**
	 * If dims are not arguments: the text of a message that says how the kernel gets a dim; the
	 * dim's name stands between the two parts. NULL if dims are arguments.
	 */
	const char *dims[2];
	int (*flag_ok)(const char *flag); /* checks a compiler flag (contract/flags.h) */
	const char *const *baselines;
	struct kl_language_section surface, oracle;
	const struct kl_language_init *init; /* NULL if `init` does not support the language */
};

#define KL_LANGUAGES_MAX 15
struct kl_languages {
	const struct kl_language *row[KL_LANGUAGES_MAX + 1]; /* NULL at the end */
};

/** The languages that this program supports. */
extern const struct kl_languages kl_languages;
extern const struct kl_language kl_language_c, kl_language_cpp, kl_language_cuda,
	kl_language_cuda_host;

/** Return the first row with this name or alias, or NULL. */
const struct kl_language *kl_language_find(const struct kl_languages *known, const char *name);
/**
 * List the names and aliases of the languages, each once, in the table's order. NULL ends the list.
 */
void kl_language_names(const char *out[2 * KL_LANGUAGES_MAX + 1], const struct kl_languages *known);
/** Return true if the path ends in one of the suffixes; false if `suffixes` is NULL. */
bool kl_suffix_in(const char *path, const char *const *suffixes);

/*
 * Fields for the schemas of sections. `language` is read first, since it chooses the schema; the
 * other fields are checked against the language's row.
 */
#define KL_LANGUAGE_MAX_SOURCES 512
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
/** Type of the key `entry`: name of the function that is called. */
extern const struct kl_string_type kl_language_entry;
/** Check that a function of a kernel in C or C++ does not have a reserved name. */
int kl_language_entry_ok(const char *name, const char *file, const struct kl_yaml *node,
			 const char *key);
/** Schemas of `surface` and `oracle` for languages whose kernels are C functions. */
extern const struct kl_schema kl_language_c_surface, kl_language_c_oracle;
/** Names of the baselines for kernels in C and C++. */
extern const char *const kl_language_c_baselines[];

#endif
