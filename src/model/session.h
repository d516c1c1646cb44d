/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_SESSION_H
#define KL_MODEL_SESSION_H

#include "base/progress.h"
#include "repo/repo.h"

/*
 * session - a configured model for a workload: provider, model, price and cap.
 *
 *	KL_AUTO(kl_session_freep) struct kl_session *session = NULL;
 *	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
 *
 *	kl_session_open(&session, repo, &opts);
 *	kl_session_conversation(&conversation, session, name, phase, system, nsystem);
 *	err = kl_request_send(&reply, &conversation, turn, &request);
 *
 * Terms, here and in all code that uses model/:
 *
 *	provider	reaches a model: provider.h
 *	session		as above
 *	conversation	stored system texts and turns. It can be continued after a crash:
 *			conversation.h
 *	turn		a user text and the reply to it, stored as one commit
 *	request		a turn in progress: its worst-case cost is reserved, it is sent, and reply
 *			and settlement are stored in one transaction: request.h
 *	dialogue	the rule for which turn follows which: rewrite/dialogue.h
 *
 * "chat" is used only in names that users see: the verb, the rewriter, the refs, klineage.chat.*.
 */
struct kl_conversation;
struct kl_session;

enum kl_budget { KL_BUDGET_INDUCE, KL_BUDGET_MATERIALIZE }; /* default caps: $40 and $10 */

struct kl_session_opts {
	const char *provider; /* NULL for the value of klineage.chat.provider */
	/*
	 * command of provider `exec`; NULL for the value of klineage.chat.exec, which is never read
	 * from a tracked file
	 */
	const char *command;
	/* recording of provider `replay`; NULL for the value of klineage.chat.replay */
	const char *replay;
	/* answer and payload of provider `table` (provider/provider.h) */
	int (*answer)(char **text, const void *about, void *payload);
	void *payload;
	const char *model;    /* NULL for the value of klineage.chat.model */
	const char *workload; /* the workload whose ledger is used */
	const char *purse;    /* name of a search, whose purse is used instead; NULL if none */
	enum kl_budget budget;
	const int64_t *cap; /* cap of `budget`, nano-dollars; NULL to use the configured one */
	/* expected pause between two turns (while a candidate is gated); 0 if unknown */
	int64_t pause_ms;
	struct kl_progress *progress; /* shows tokens and cost while a reply arrives; or NULL */
};

/**
 * Open a session. Return KL_EINVALID or KL_EUSAGE if the provider or one of its options is missing
 * or invalid, or the session is metered and has no model, or its model has no price. The message or
 * the hint says what to configure.
 */
int kl_session_open(struct kl_session **out, struct kl_repo *repo,
		    const struct kl_session_opts *opts);
void kl_session_free(struct kl_session *session);
KL_DEFINE_CLEANUP(struct kl_session *, kl_session_free)

/** Get the amount that the workload has spent or reserved, and its cap, both in nano-dollars. */
int kl_session_money(int64_t *spent, int64_t *cap, struct kl_session *session);
/**
 * Estimate the lowest and the highest cost of a request, in nano-dollars; both are 0 if the session
 * is not metered.
 */
void kl_session_cost(int64_t *least, int64_t *most, const struct kl_session *session,
		     int64_t request_bytes, int64_t reply_tokens);

/**
 * Load a conversation of the session's workload. If nothing is stored yet, the texts in `text` are
 * copied as its system texts; otherwise its stored system texts are kept. The caller releases the
 * conversation. Errors are those of kl_conversation_load().
 */
int kl_session_conversation(struct kl_conversation *out, struct kl_session *session,
			    const char *name, const char *phase, const char *const *text,
			    size_t ntext);

#endif
