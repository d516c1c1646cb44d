/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_SESSION_H
#define KL_MODEL_SESSION_H

#include "base/progress.h"
#include "repo/repo.h"

/*
 * session - a model that may be asked, for a workload: provider, model, price and cap, opened once.
 *
 *	KL_AUTO(kl_session_freep) struct kl_session *session = NULL;
 *	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
 *
 *	kl_session_open(&session, repo, &opts);
 *	kl_session_conversation(&conversation, session, name, phase, system, nsystem);
 *	err = kl_request_send(&reply, &conversation, turn, &request);
 *
 * Terms, here and in all that uses this room:
 *
 *	provider	who answers: provider.h
 *	session		this
 *	conversation	what is stored, refs/klineage/chat/<workload>/<name>/<phase>: system texts and
 *			turns. It survives a crash, and is gone on with from there: conversation.h
 *	turn		one text of the user's and the reply to it, a commit
 *	request		a turn on its way: its worst cost is reserved, it is sent, reply and
 *			settlement are stored in one transaction: request.h
 *	dialogue	which turn follows which: rewrite/dialogue.h
 *
 * "chat" is a word of users alone: the verb, the rewriter, the refs, klineage.chat.* in git config.
 */
struct kl_conversation;
struct kl_session;

enum kl_budget { KL_BUDGET_INDUCE, KL_BUDGET_MATERIALIZE }; /* $40 and $10 a workload */

struct kl_session_opts {
	const char *provider; /* NULL: klineage.chat.provider */
	/* of provider exec; NULL: klineage.chat.exec, never of a tracked file */
	const char *command;
	const char *replay;   /* of provider replay; NULL: klineage.chat.replay */
	const char *model;    /* NULL: klineage.chat.model */
	const char *workload; /* whose ledger */
	enum kl_budget budget;
	const int64_t *cap;           /* of that budget, nano-dollars; NULL: as configured */
	int64_t pause_ms;             /* how long gating takes between two turns; 0: unknown */
	struct kl_progress *progress; /* tokens and money while a reply comes; or NULL */
};

/** KL_EINVALID: no provider, no model, a model without a price; says what to configure. */
int kl_session_open(struct kl_session **out, struct kl_repo *repo,
		    const struct kl_session_opts *opts);
void kl_session_free(struct kl_session *session);
KL_DEFINE_CLEANUP(struct kl_session *, kl_session_free)

/** Get what this workload has spent or reserved, and its cap, both in nano-dollars. */
int kl_session_money(int64_t *spent, int64_t *cap, struct kl_session *session);
/** What a request of so many bytes and reply tokens costs at least and at most; 0 if unmetered. */
void kl_session_cost(int64_t *least, int64_t *most, const struct kl_session *session,
		     int64_t request_bytes, int64_t reply_tokens);

/**
 * A conversation of the session's workload, with the turns that are stored; those system texts that
 * are stored stand, else `text` is copied. The caller releases it. KL_EINVALID as
 * kl_conversation_load.
 */
int kl_session_conversation(struct kl_conversation *out, struct kl_session *session,
			    const char *name, const char *phase, const char *const *text,
			    size_t ntext);

#endif
