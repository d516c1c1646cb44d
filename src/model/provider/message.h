/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_MESSAGE_H
#define KL_MODEL_PROVIDER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/json.h"

/*
 * message - requests to a model and its replies, the same for every provider (provider.h).
 * Requests borrow everything they point to; replies own it.
 */
enum kl_cache_ttl { /* how long the provider is asked to cache the stable prefix */
		    KL_CACHE_NONE,
		    KL_CACHE_5M,
		    KL_CACHE_1H,
};

struct kl_message {
	bool assistant;   /* written by the model; otherwise by the user, i.e. us */
	const char *text; /* UTF-8 */
};

struct kl_provider_request {
	const char *model;
	int64_t max_tokens; /* maximum tokens of the reply */
	/* system texts, the most stable first; a cached prefix can end after each of them */
	const char *const *system;
	size_t nsystem;
	const struct kl_message *message; /* user, assistant, user ... user */
	size_t nmessage;
	enum kl_cache_ttl cache;
	/* no further turn is expected, so the messages need not be written to a cache */
	bool ends;
	/* the same for all requests that begin with the same texts, or NULL */
	const char *cache_key;
	/* how hard the model should think ("low"); NULL for the model's default */
	const char *effort;
	const char *tier; /* service tier, or NULL */
	/* members that the user adds to the body, or NULL; they replace members of the same name */
	const json_t *extra;
};

/** Tokens as counted by the provider; each token is counted in only one member. */
struct kl_usage {
	bool known;    /* false if not reported, or reported only for a part of the reply */
	int64_t input; /* tokens of the prompt that were neither read from nor written to a cache */
	int64_t output;
	int64_t cache_read, cache_write_5m, cache_write_1h;
};

enum kl_stop { KL_STOP_END, KL_STOP_LENGTH, KL_STOP_REFUSAL, KL_STOP_OTHER };

/** Why the text of a complete reply cannot be used (flaw.h). */
enum kl_flaw {
	KL_FLAW_NONE,
	KL_FLAW_LENGTH,    /* the text was cut at the limit of tokens */
	KL_FLAW_REASONING, /* all tokens were spent before any text */
	KL_FLAW_REFUSAL,
	KL_FLAW_EMPTY,
	KL_FLAW_TOOL,   /* a tool call, although no tools were offered */
	KL_FLAW_NUL,    /* the text had a NUL character */
	KL_FLAW_CHOICES /* more than one answer */
};

/**
 * What is known of a failed attempt, apart from its tokens, which are in the usage of the reply.
 */
struct kl_send_failure {
	bool transient;   /* the same request can succeed later */
	int64_t after_ms; /* pause that the server asks for; -1 if there is none */
	bool begun;       /* a part of the reply arrived */
	int64_t bytes;    /* number of bytes of its text and reasoning that arrived */
	int64_t wait_ms;  /* time until the first byte of text; without text, until the failure */
};

struct kl_reply {
	char *text;       /* never empty after a success: kl_flaw_note() replaces a missing text */
	char *model;      /* as reported by the provider, or NULL */
	char *request_id; /* the provider's id of the request, or NULL */
	enum kl_stop stop;
	enum kl_flaw flaw;
	struct kl_usage usage;
	/* factor of the price in thousandths, for tier and region; 0 for the listed price */
	int64_t permille;
	int64_t stated_nano; /* cost that the provider states, nano-dollars; -1 if there is none */
	struct kl_send_failure failure;
	/*
	 * the model had no access to the repository: it saw only the request, or the repository was
	 * hidden from the command of `exec`
	 */
	bool alone;
};

void kl_reply_release(struct kl_reply *reply);

#endif
