/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_SECRET_H
#define KL_MODEL_PROVIDER_SECRET_H

#include "base/buf.h"
#include "base/mem.h"
#include "repo/repo.h"

/*
 * secret - the key of a provider: found, held and forgotten so that no log, commit, core dump
 * or error has it. It lies in memory that is locked, in no dump, empty in forked children and
 * wiped at the end. From the first key on this process makes no core dump and lets none of
 * its user's other processes look into it.
 */
struct kl_secret;

/**
 * The key from $KLINEAGE_CHAT_KEY, else from the variable `vendor`, else, where `url` is not NULL,
 * from the credential helpers that git has for it (no prompt; `repo` may be NULL). `*out` is
 * NULL if none has one. Never from configuration and never from a file in a repository.
 * `prefix` is what stands before it in its header: "x-api-key: ".
 * KL_EINVALID: a key with white space, controls or what is not ASCII; it is not quoted.
 */
int kl_secret_find(struct kl_secret **out, struct kl_repo *repo, const char *prefix,
		   const char *vendor, const char *url);
void kl_secret_free(struct kl_secret *secret);
KL_DEFINE_CLEANUP(struct kl_secret *, kl_secret_free)

/**
 * Called as a program begins: where the environment has a key, the process makes no core dump from
 * here on, for that would have the environment in it.
 */
void kl_secret_guard(void);

/** The header line, in the secret's own memory: libcurl is given it as it is. */
char *kl_secret_header(struct kl_secret *secret);
/** Where it came from: "ANTHROPIC_API_KEY", "a credential helper of git". */
const char *kl_secret_source(const struct kl_secret *secret);

/** Take every occurrence of the key out of `text`. `secret` may be NULL. */
void kl_secret_scrub(const struct kl_secret *secret, struct kl_buf *text);
/** kl_body_quote of text that may have the key in it, whole or where it would be cut. */
void kl_secret_quote(struct kl_buf *out, const struct kl_secret *secret, const char *text,
		     size_t len, size_t max);
/** Scrub the error that is set; returns `err`. */
int kl_secret_scrub_error(const struct kl_secret *secret, int err);

#endif
