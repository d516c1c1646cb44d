/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_SECRET_H
#define KL_MODEL_PROVIDER_SECRET_H

#include "base/buf.h"
#include "base/mem.h"
#include "repo/repo.h"

/*
 * secret - the API key of a provider, kept out of logs, commits, core dumps and errors. It is held
 * in memory that is locked, excluded from dumps, empty in forked children and wiped on release.
 * After the first lookup the process makes no core dumps and cannot be traced by other processes of
 * its user.
 */
struct kl_secret;

struct kl_secret_from {
	const char *prefix; /* of its header, before the key: "x-api-key: " */
	/* run by /bin/sh; prints the key, or JSON with a token and when it expires; or NULL */
	const char *command;
	const char *setting; /* that has the command, for messages; outlives the secret */
	const char *vendor;  /* environment variable, or NULL */
	const char *url;     /* ask git's credential helpers for it, without a prompt; or NULL */
};

/**
 * Look for the key in $KLINEAGE_CHAT_KEY, then ask the command, then the variable `vendor`, then
 * git's credential helpers (`repo` can be NULL). `*out` is NULL if there is no key. It is never
 * read from configuration or from a file in a repository. KL_EINVALID: a key with white space,
 * control or non-ASCII characters (the message does not quote it), or a command that fails.
 */
int kl_secret_find(struct kl_secret **out, struct kl_repo *repo, const struct kl_secret_from *from);
void kl_secret_free(struct kl_secret *secret);
KL_DEFINE_CLEANUP(struct kl_secret *, kl_secret_free)

/**
 * To be called at program start: disables core dumps if the environment has a key, since they would
 * contain the environment.
 */
void kl_secret_guard(void);

/** The header line, in the secret's own memory so that it is not copied; borrowed. */
char *kl_secret_header(struct kl_secret *secret);
/** Can its source give another one when it is refused? A command can, and credential helpers. */
bool kl_secret_is_renewable(const struct kl_secret *secret);
/** Will it expire within a minute, as far as its command said? */
bool kl_secret_is_stale(const struct kl_secret *secret);
/** Source of the key: "ANTHROPIC_API_KEY", "a credential helper of git". */
const char *kl_secret_source(const struct kl_secret *secret);

/**
 * Replace every occurrence of the key in `text` by "[key]", unless the key has less than 8 bytes.
 * `secret` can be NULL.
 */
void kl_secret_scrub(const struct kl_secret *secret, struct kl_buf *text);
/** kl_body_quote() of a text that can contain the key; removes it before the text is cut. */
void kl_secret_quote(struct kl_buf *out, const struct kl_secret *secret, const char *text,
		     size_t len, size_t max);
/** Remove the key from the current error message; returns `err`. */
int kl_secret_scrub_error(const struct kl_secret *secret, int err);

#endif
