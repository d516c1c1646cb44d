/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_MESSAGE_H
#define KL_MODEL_PROVIDER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * message - requests to a model and its replies, the same for every provider (provider.h).
 * Requests borrow all they point to; replies own it.
 */
enum kl_cache_ttl { /* how long the provider shall remember the stable prefix */
		    KL_CACHE_NONE,
		    KL_CACHE_5M,
		    KL_CACHE_1H,
};

struct kl_message {
	bool assistant;   /* else the user: that is us */
	const char *text; /* UTF-8 */
};

struct kl_provider_request {
	const char *model;
	int64_t max_tokens; /* of the reply */
	/* blocks, most stable first: each may end a cached prefix */
	const char *const *system;
	size_t nsystem;
	const struct kl_message *message; /* user, assistant, user ... user */
	size_t nmessage;
	enum kl_cache_ttl cache;
};

/** Tokens as the provider counts them; no token is in two of them. */
struct kl_usage {
	bool known;    /* false: the provider said nothing */
	int64_t input; /* neither read from nor written to a cache */
	int64_t output;
	int64_t cache_read, cache_write_5m, cache_write_1h;
};

enum kl_stop { KL_STOP_END, KL_STOP_LENGTH, KL_STOP_REFUSAL, KL_STOP_OTHER };

struct kl_reply {
	char *text;
	char *model;      /* that answered, as it calls itself */
	char *request_id; /* the provider's name for the request, or NULL */
	enum kl_stop stop;
	struct kl_usage usage;
	/* who answered saw the request (exec: and its directory), no repository */
	bool alone;
};

void kl_reply_release(struct kl_reply *reply);

#endif
