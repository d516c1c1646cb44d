/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_PROVIDER_H
#define KL_MODEL_PROVIDER_PROVIDER_H

#include "base/buf.h"
#include "model/provider/message.h"
#include "repo/repo.h"

/*
 * provider - opens a language model provider and sends requests.
 *
 *	<a row>		a service over HTTP, streamed (service.h)
 *	exec		a user-supplied command: request on stdin, reply on stdout
 *	table		a function of the caller, which makes replies from a table of kernels
 *	replay		a recorded conversation; refuses requests that were not recorded
 *
 * A provider is stateless and does no accounting: conversation.h stores turns, ledger.h costs. API
 * keys come from the environment, a command of the user or a git credential helper, and never get
 * into an error, log, core dump or commit.
 */
struct kl_provider;

/* A member that is NULL or 0 is read from git's configuration, if there is a repository. */
struct kl_provider_opts {
	const char *name; /* "exec", "replay" or the name of a row; klineage.chat.provider */
	const char *url;  /* klineage.chat.url; default: the URL of the row */
	/* exec: command for /bin/sh; klineage.chat.exec, which is never read from a tracked file */
	const char *command;
	const char *replay; /* replay: path of the recording; klineage.chat.replay */
	/*
	 * maximum time without a received or sent byte; with exec, the maximum total time;
	 * klineage.chat.timeout, default 10 minutes
	 */
	int64_t timeout_ms;
	/**
	 * table: make the reply to a request; `about` is that of its context, and the provider
	 * frees *text. It never sees the request itself.
	 */
	int (*answer)(char **text, const void *about, void *payload);
	void *payload;
};

/** Watches a request while it is sent. */
struct kl_provider_watch {
	/** Called as the reply arrives; non-zero ends the request with KL_EINTR. Can be NULL. */
	int (*heard)(int64_t bytes, const struct kl_usage *so_far, void *payload);
	void *payload;
};

/** Data that belong to a request but are not part of its prompt. */
struct kl_request_context {
	const char *phase; /* phase of its conversation: "back-3" */
	size_t turn;       /* from 0 */
	/**
	 * Keys by which a recorded reply is looked up. The key of a turn is the part of its request
	 * that is the same in every run (no measured times, no random indices). NULL if the user
	 * texts are the keys.
	 */
	const char *const *key; /* the keys of this turn and of all turns before: turn + 1 keys */
	/* exec: working directory, which is not a repository; NULL for a new empty directory */
	const char *dir;
	/* exec: hide our repository from the command, if that is possible */
	bool alone;
	const void *about; /* table: what the request is about; NULL for other providers */
};

/**
 * Open a provider. `repo` is borrowed and can be NULL. Return KL_EINVALID or KL_EUSAGE if an option
 * is missing or invalid. The message says which to set.
 */
int kl_provider_open(struct kl_provider **out, struct kl_repo *repo,
		     const struct kl_provider_opts *opts);
void kl_provider_free(struct kl_provider *provider);
KL_DEFINE_CLEANUP(struct kl_provider *, kl_provider_free)

const char *kl_provider_name(const struct kl_provider *provider);
/** Return true if the provider charges, so that a request needs a price and a reservation. */
bool kl_provider_metered(const struct kl_provider *provider);
/**
 * Return true if the model sees only the request, so that the size of the request bounds the tokens
 * of the prompt.
 */
bool kl_provider_blind(const struct kl_provider *provider);

/**
 * Set `*out` to the URL of requests for a model, which the caller frees; NULL if the provider uses
 * no URL.
 */
int kl_provider_target(char **out, const struct kl_provider *provider, const char *model);

/**
 * Append the request as it would be sent. The request of turn n begins with the cached prefix of
 * the request of turn n-1. If `prefix` is not NULL, `*prefix` is the length in bytes of the cached
 * prefix of this request.
 */
int kl_provider_body(struct kl_buf *out, size_t *prefix, const struct kl_provider *provider,
		     const struct kl_provider_request *request);

/**
 * Send a request once, and wait for the complete reply. A reply whose text cannot be used is no
 * error; its `flaw` says why.
 *
 * Return KL_EIO, with the server's message, if the server reports an error; KL_ETIMEOUT; KL_EINTR.
 * Return KL_EINVALID if the reply violates the protocol (truncated, not JSON, HTML, over 8 MiB), or
 * the request is invalid. Return KL_ENOTFOUND if the recording of `replay` has no such reply, or
 * KL_ECANNOT if libcurl is missing.
 *
 * On an error, `out->failure` says whether another attempt can succeed, and how much of the reply
 * arrived. The failed request can have cost money: `out->usage` has the known token counts. If the
 * usage is known and all counts are 0, the request cost nothing; if the usage is not known, the
 * counts are those of a part of the reply. The caller releases `out` in any case.
 */
int kl_provider_send(struct kl_reply *out, struct kl_provider *provider,
		     const struct kl_provider_request *request,
		     const struct kl_request_context *context,
		     const struct kl_provider_watch *watch);

#endif
