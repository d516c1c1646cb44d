/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_REQUEST_H
#define KL_MODEL_REQUEST_H

#include "model/conversation.h"

/*
 * request - sends a turn of a conversation, or returns its stored reply. A stored turn keeps the
 * user text that was sent, even if the request now has another text, so that the sent bytes can be
 * rebuilt. For a new turn, the worst-case cost is reserved in the ledger, the request is sent, and
 * reply and settlement are stored in one transaction of both refs. If the ledger cannot be written,
 * only the reply is stored, and its reservation is settled later. An unmetered request is not in
 * the ledger.
 */
struct kl_request {
	const char *user; /* the user's text */
	const char *key;  /* provider.h, struct kl_request_context; NULL for `user` */
	/*
	 * maximum tokens of the reply, fewer if the budget is nearly spent; 0 for
	 * klineage.chat.maxTokens
	 */
	int64_t max_tokens;
	const char *dir;   /* exec: working directory */
	bool alone;        /* exec: hide our repository from the command (exec_sandbox.h) */
	const void *about; /* provider `table`: what the request is about */
	bool once;         /* do not repeat a failed attempt */
	/**
	 * exec: appends the files that the command left in `dir` to its reply, before the reply is
	 * stored; or NULL.
	 */
	int (*collect)(struct kl_buf *reply, const char *dir, void *payload);
	void *payload;
};

/**
 * Get the reply of turn `turn`, which must be a stored turn or the next one. The reply is borrowed
 * from the conversation. Return KL_ENO if the budget does not allow the request (the message has
 * the amounts); nothing was sent. Return KL_ECHANGED if another process has rewritten the
 * conversation. Other errors are those of kl_provider_send(); after such an error no turn is
 * stored, and the reserved amount counts as spent unless the provider reported the cost.
 */
int kl_request_send(const char **reply, struct kl_conversation *conversation, size_t turn,
		    const struct kl_request *request);

#endif
