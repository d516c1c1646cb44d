/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_SESSION_H
#define KL_MODEL_SESSION_H

#include "base/progress.h"
#include "model/provider/message.h"
#include "repo/repo.h"

/*
 * session - talks with a model that survive a crash and cannot overspend.
 *
 *	KL_AUTO(kl_session_freep) struct kl_session *session = NULL;
 *	kl_session_open(&session, repo, &opts);
 *	kl_talk_open(&talk, session, "x86-64-v3-1a2b3c4", "back-0", system, nsystem);
 *	err = kl_talk_ask(&text, talk, turn, &ask);
 *
 * A talk is refs/klineage/chat/<workload>/<name>/<phase>, a commit a turn
 * (docs/formats.md, "Conversations"). A turn that is stored is answered from there: its own text
 * stands, whatever `ask` says, so that what was sent is rebuilt to the byte. Otherwise the
 * worst case of its cost is reserved in the ledger, the provider asked, and reply and settlement
 * are stored in one transaction of both refs.
 */
struct kl_session;
struct kl_talk;

enum kl_budget { KL_BUDGET_INDUCE, KL_BUDGET_MATERIALIZE };	/* $40 and $10 a workload */

struct kl_session_opts {
	const char *provider;	/* NULL: klineage.chat.provider */
	const char *command;	/* of provider exec; NULL: klineage.chat.exec, never of a tracked file */
	const char *replay;	/* of provider replay; NULL: klineage.chat.replay */
	const char *model;	/* NULL: klineage.chat.model */
	const char *workload;	/* whose ledger */
	enum kl_budget budget;
	const int64_t *cap;	/* of that budget, nano-dollars; NULL: as configured */
	int64_t pause_ms;	/* how long gating takes between two turns; 0: unknown */
	struct kl_progress *progress;	/* tokens and money while a reply comes; or NULL */
};

/** KL_EINVALID: no provider, no model, a model without a price; says what to configure. */
int kl_session_open(struct kl_session **out, struct kl_repo *repo, const struct kl_session_opts *o);
void kl_session_free(struct kl_session *session);
KL_DEFINE_CLEANUP(struct kl_session *, kl_session_free)

/** Money of this workload and budget, in nano-dollars: what is spent or reserved, and the cap. */
int kl_session_money(int64_t *spent, int64_t *cap, struct kl_session *session);
/** What a request of so many bytes and reply tokens costs at least and at most; 0 if unmetered. */
void kl_session_cost(int64_t *least, int64_t *most, const struct kl_session *session,
		     int64_t request_bytes, int64_t reply_tokens);

/** `system` must be the same at every turn of a talk; borrowed. */
int kl_talk_open(struct kl_talk **out, struct kl_session *session, const char *name, const char *phase,
		 const char *const *system, size_t nsystem);
void kl_talk_free(struct kl_talk *t);
KL_DEFINE_CLEANUP(struct kl_talk *, kl_talk_free)

size_t kl_talk_turns(const struct kl_talk *t);		/* stored, that is: answered */
const char *kl_talk_user(const struct kl_talk *t, size_t turn);	/* borrowed */
/** System text i, as it is stored or will be; NULL behind the last. */
const char *kl_talk_system(const struct kl_talk *t, size_t i);
const char *kl_talk_reply(const struct kl_talk *t, size_t turn);
/** What its stored turns did cost, nano-dollars; -1: not metered. `*model`: who answered, or NULL. */
int64_t kl_talk_cost(const char **model, const struct kl_talk *t);

/** Was all up to this turn said by somebody who could see no repository of ours? */
bool kl_talk_alone(const struct kl_talk *t, size_t turn);

struct kl_ask {
	const char *user;	/* what is said */
	const char *key;	/* provider.h, struct kl_exchange; NULL: `user` */
	int64_t max_tokens;	/* 0: klineage.chat.maxTokens; less where the budget is nearly spent */
	const char *dir;	/* exec: where it runs */
	bool alone;		/* exec: it is to see nothing of our repository (exec_sandbox.h) */
	/** exec: what the command left in `dir`, added to its reply before that is stored; or NULL. */
	int (*collect)(struct kl_buf *reply, const char *dir, void *payload);
	void *payload;
};

/**
 * The reply to turn `turn`, which is stored or the next one. Borrowed from the talk.
 * KL_ENO: the budget does not allow it (the message says the figures); nothing was sent.
 * Others as kl_provider_send: the talk is as it was, and the reservation stands as spent
 * unless the provider said otherwise.
 */
int kl_talk_ask(const char **reply, struct kl_talk *t, size_t turn, const struct kl_ask *ask);

#endif
