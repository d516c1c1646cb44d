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
	const char *prefix; /* start of the header line, before the key: "x-api-key: " */
	/*
	 * command for /bin/sh that prints the key, or a JSON object with a token and its expiry
	 * time; or NULL
	 */
	const char *command;
	/* name of the setting that has the command, for messages; must outlive the secret */
	const char *setting;
	const char *vendor; /* environment variable, or NULL */
	/* URL to ask git's credential helpers about, without a prompt; or NULL */
	const char *url;
};

/**
 * Look for the key in $KLINEAGE_CHAT_KEY, then ask the command, then the variable `vendor`, then
 * git's credential helpers (`repo` can be NULL). `*out` is NULL if there is no key. A key is never
 * read from the configuration or from a file in a repository. Return KL_EINVALID if a key has white
 * space, control or non-ASCII characters (the message does not quote it), or a command fails.
 */
int kl_secret_find(struct kl_secret **out, struct kl_repo *repo, const struct kl_secret_from *from);
void kl_secret_free(struct kl_secret *secret);
KL_DEFINE_CLEANUP(struct kl_secret *, kl_secret_free)

/**
 * Disable core dumps if the environment has a key, since they would contain the environment. To be
 * called at program start.
 */
void kl_secret_guard(void);

/**
 * Return the header line with the key. It is borrowed from the secret, so that no copy of the key
 * is made.
 */
char *kl_secret_header(struct kl_secret *secret);
/**
 * Return true if the source can give another key after the server refuses this one: commands and
 * credential helpers can.
 */
bool kl_secret_is_renewable(const struct kl_secret *secret);
/** Return true if the key expires within a minute, according to the output of its command. */
bool kl_secret_is_stale(const struct kl_secret *secret);
/** Return the source of the key, such as "ANTHROPIC_API_KEY" or "a credential helper of git". */
const char *kl_secret_source(const struct kl_secret *secret);

/**
 * Replace every occurrence of the key in `text` by "[key]", unless the key has less than 8 bytes.
 * `secret` can be NULL.
 */
void kl_secret_scrub(const struct kl_secret *secret, struct kl_buf *text);
/**
 * Append a text with kl_body_quote(), but remove the key from it before it is cut. `secret` can be
 * NULL.
 */
void kl_secret_quote(struct kl_buf *out, const struct kl_secret *secret, const char *text,
		     size_t len, size_t max);
/** Remove the key from the current error message; returns `err`. */
int kl_secret_scrub_error(const struct kl_secret *secret, int err);

#endif
