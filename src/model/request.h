/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_REQUEST_H
#define KL_MODEL_REQUEST_H

#include "model/conversation.h"

/*
 * request - sends a turn of a conversation, or finds its reply stored. A stored turn's own text
 * stands, whatever the request says, so that what was sent is rebuilt to the byte. Of another the
 * worst case of its cost is reserved in the ledger, the provider is asked, and reply and settlement
 * are stored in one transaction of both refs.
 */
struct kl_request {
	const char *user; /* the user's text */
	const char *key;  /* provider.h, struct kl_request_context; NULL: `user` */
	/* 0: klineage.chat.maxTokens; less where the budget is nearly spent */
	int64_t max_tokens;
	const char *dir; /* exec: where it runs */
	bool alone;      /* exec: it is to see nothing of our repository (exec_sandbox.h) */
	/**
	 * exec: what the command left in `dir`, added to its reply before that is stored; or NULL.
	 */
	int (*collect)(struct kl_buf *reply, const char *dir, void *payload);
	void *payload;
};

/**
 * The reply to turn `turn`, which is stored or the next one; borrowed from the conversation.
 * KL_ENO: the budget does not allow it (the message says the figures); nothing was sent.
 * Others as kl_provider_send: the conversation is as it was, and the reservation stands as spent
 * unless the provider said otherwise.
 */
int kl_request_send(const char **reply, struct kl_conversation *conversation, size_t turn,
		    const struct kl_request *request);

#endif
