/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_LANGUAGE_H
#define KL_CONTRACT_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * language - what a contract of one language may say, as data: a row for each. How its kernels are
 * compiled and judged is backend/backend.h, whose rows point to these.
 *
 *	c->language->name			of a contract that was read
 *	kl_suffix_in(path, c->language->mains)	is this file compiled by itself?
 *
 * Lists of suffixes (with their dot), keys and names have NULL at their end.
 */
struct kl_contract;
struct kl_node;

/* One of the sections `surface` and `oracle`. */
struct kl_language_section {
	const char *const *keys; /* that it may have */
	size_t required;         /* so many of the first must be there */
	/** Read the keys that say how the code is called, once `sources` are read. KL_EINVALID. */
	int (*read)(struct kl_contract *contract, struct kl_node section);
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
	const char *unit;            /* what one main source is; NULL: several may be */
	/**
	 * Where no argument of a kernel is a dim: how it gets one, in words before and behind the
	 * dim's name. NULL: dims are arguments.
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

/* Readers of a section for languages whose kernels are called as a function: `entry`. */
int kl_language_entry(struct kl_contract *contract, struct kl_node surface);
int kl_language_oracle_entry(struct kl_contract *contract, struct kl_node oracle);

#endif
