/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_SESSION_IMPL_H
#define KL_MODEL_SESSION_IMPL_H

#include "base/lock.h"
#include "model/ledger.h"
#include "model/patience.h"
#include "model/price.h"
#include "model/provider/provider.h"
#include "model/session.h"

/*
 * session_impl - private part of a session, shared by session.c, sending.c, request.c and
 * open_reservation.c.
 */
struct kl_session {
	struct kl_repo *repo;
	struct kl_provider *provider;
	struct kl_price *price; /* NULL if not metered */
	char *model, *workload;
	char *purse;   /* purse of struct kl_session_opts, or NULL */
	char *account; /* ledger.h */
	enum kl_budget budget;
	int64_t cap;
	int64_t max_tokens, least_tokens;
	int64_t pause_ms; /* as in struct kl_session_opts */
	int cache;        /* enum kl_cache_ttl, or KL_CACHE_AUTO */
	struct kl_patience patience;
	struct kl_progress *progress;
};

#define KL_CACHE_AUTO (-1)

/**
 * Lock a conversation. The sender of its next turn holds the lock until the reply is stored, so
 * that no two processes pay for the same turn. Errors are those of kl_lock_take().
 */
int kl_conversation_lock(struct kl_lock *lock, struct kl_repo *repo, const char *workload,
			 const char *name, const char *phase, int64_t wait_ms);

#endif
