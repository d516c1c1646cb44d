/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_PROVIDER_H
#define KL_MODEL_PROVIDER_PROVIDER_H

#include "base/buf.h"
#include "model/provider/message.h"
#include "repo/repo.h"

/*
 * provider - the providers of language models: one table, one file each.
 *
 *	anthropic	Anthropic Messages, streamed
 *	openai		chat completions at any URL, streamed (vLLM, llama.cpp, Ollama ...)
 *	exec		a command of the user's: request on stdin, reply on stdout
 *	replay		a recorded conversation; refuses what it has not recorded
 *
 * A provider has no memory and knows no money: conversation.h keeps what was
 * said, ledger.h what it cost. Keys come from the environment or a credential
 * helper of git and are in no error, log, core dump or commit.
 */
struct kl_provider;

/* What is NULL or 0 is read from git's configuration, if there is a repository. */
struct kl_provider_opts {
	const char *name;    /* of the table; klineage.chat.provider */
	const char *url;     /* klineage.chat.url, else the provider's own */
	const char *command; /* exec: run by /bin/sh; klineage.chat.exec, never a tracked file */
	const char *replay;  /* replay: the file that was recorded; klineage.chat.replay */
	/* without a byte; exec: in all; klineage.chat.timeout, else 10 minutes */
	int64_t timeout_ms;
};

/** Told while a reply streams in. Returning non-zero ends it with KL_EINTR. */
struct kl_provider_watch {
	int (*heard)(int64_t bytes, const struct kl_usage *so_far, void *payload);
	/** A pause before the next attempt, and why. */
	void (*waiting)(int64_t ms, const char *why, void *payload);
	/**
	 * The connection broke after the request was sent and before a byte of its reply, or the
	 * server failed (a status that does not say that no model has begun): it may charge for it
	 * all the same. Called when the pause is over. 0: what that costs is reserved once more,
	 * ask again; else, or NULL, that is the end.
	 */
	int (*again)(void *payload);
	void *payload;
};

/** What a request is besides its bytes. */
struct kl_request_context {
	const char *phase; /* "back-3": its conversation */
	size_t turn;       /* from 0 */
	/**
	 * What of the request does not change from run to run (no measured time, no drawn index): a
	 * recorded reply is found by the keys of all turns so far. NULL: the user's text.
	 */
	const char *const *key; /* one per turn, turn + 1 of them */
	const char *dir;        /* exec: working directory, no repository; NULL: a new empty one */
	/* exec: our repository is to be hidden from it, if that can be done */
	bool alone;
};

/**
 * `repo` is borrowed and may be NULL. KL_EINVALID, KL_EUSAGE: what is missing, and where to say it.
 */
int kl_provider_open(struct kl_provider **out, struct kl_repo *repo,
		     const struct kl_provider_opts *opts);
void kl_provider_free(struct kl_provider *provider);
KL_DEFINE_CLEANUP(struct kl_provider *, kl_provider_free)

const char *kl_provider_name(const struct kl_provider *provider);
/** Does it cost money? Only then is a price needed, and a reservation made. */
bool kl_provider_metered(const struct kl_provider *provider);

/**
 * The bytes that would be sent. Those of turn n begin with the cached prefix of turn n-1;
 * `*prefix`, if not NULL, is how many bytes of `out` are covered by a cache mark.
 */
int kl_provider_body(struct kl_buf *out, size_t *prefix, const struct kl_provider *provider,
		     const struct kl_provider_request *request);

/**
 * Ask, and wait for the whole reply. Asks again where it is worth it (408, 409, 429, 5xx, 529, a
 * connection that broke) and nothing was bought, or `again` allows it.
 * KL_EIO: the server's own message; KL_ETIMEOUT; KL_EINTR; KL_EINVALID: a reply that breaks the
 * protocol (cut, not JSON, HTML, empty, over 8 MiB).
 * When an error comes after the request was sent it may have cost money: `out->usage` says
 * what is known of it even then (known and all 0: it cost nothing). Release `out` in any case.
 */
int kl_provider_send(struct kl_reply *out, struct kl_provider *provider,
		     const struct kl_provider_request *request,
		     const struct kl_request_context *context,
		     const struct kl_provider_watch *watch);

#endif
