/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_CONVERSATION_H
#define KL_MODEL_CONVERSATION_H

#include "model/ledger.h"
#include "model/price.h"
#include "repo/refs.h"
#include "text/digest.h"

/*
 * conversation - a stored conversation with a model, on
 * refs/klineage/chat/<workload>/<name>/<phase>: a commit a turn, with all that it takes to send
 * the same bytes again. docs/formats.md, "Conversations".
 *
 *	kl_conversation_load(&c, repo, "c-topk", "x86-64-v3-1a2b3c4", "back-0");
 *	kl_conversation_write(&oid, repo, &c, &turn);	... move c.ref from c.tip to oid ...
 *	kl_conversation_push(&c, &turn, &oid);
 *
 * Such a ref may come from anybody: what is read is bounded and must be of the format.
 */
#define KL_CHAT_REFS "refs/klineage/chat/"

struct kl_turn {
	char *user, *reply;
	char *key; /* struct kl_request_context; never NULL */
	char *provider, *model;
	char *answered;   /* the model, as it calls itself; or NULL */
	char *request_id; /* or NULL */
	char *time;
	char *reservation; /* in the ledger; NULL: it was not metered */
	enum kl_budget budget;
	enum kl_cache_ttl cache;
	enum kl_stop stop;
	int64_t max_tokens;
	struct kl_usage usage;
	int64_t nano; /* what it did cost */
	/* where the price of its tokens stands; NULL: it has none */
	char *price;
	struct kl_rates rates;      /* that price */
	char prompt[KL_DIGEST_HEX]; /* digest of all that was sent */
	char chain[KL_DIGEST_HEX];  /* kl_provider_key of all turns so far */
	bool alone;                 /* struct kl_reply */
	git_oid commit;
};

void kl_turn_release(struct kl_turn *turn);

struct kl_conversation {
	char *ref, *workload, *name, *phase;
	char **system;
	size_t nsystem;
	struct kl_turn *turn;
	size_t n, alloc;
	git_oid tip; /* zero: nothing is stored yet */
	/* of one that is gone on with: kl_session_conversation */
	struct kl_session *session; /* borrowed; NULL: it was only read */
	int64_t stored_ns;          /* when we stored its last turn; 0: we did not */
	bool settled;               /* reservations of stored replies were looked for */
};

/** Not there: an empty one. KL_EINVALID: a name that is none, or not of the format. */
int kl_conversation_load(struct kl_conversation *out, struct kl_repo *repo, const char *workload,
			 const char *name, const char *phase);
/** The same by the whole name of the ref. */
int kl_conversation_load_ref(struct kl_conversation *out, struct kl_repo *repo, const char *ref);
void kl_conversation_release(struct kl_conversation *conversation);

/**
 * What its turns did cost, nano-dollars; -1: not metered. `*model`: who answered, or NULL;
 * borrowed.
 */
int64_t kl_conversation_cost(const char **model, const struct kl_conversation *conversation);
/** Check that every reply up to this turn came from a model that had no access to a repository. */
bool kl_conversation_alone(const struct kl_conversation *conversation, size_t turn);

/** Take the system blocks over; of one that has turns they stand as they are. */
void kl_conversation_system(struct kl_conversation *conversation, const char *const *block,
			    size_t n);

/** Those of `from`, which is left without. */
void kl_conversation_take_system(struct kl_conversation *conversation,
				 struct kl_conversation *from);

/** Digests of turn `n` of the conversation, which says `user`, under `key`. */
void kl_conversation_digests(char prompt[KL_DIGEST_HEX], char chain[KL_DIGEST_HEX],
			     const struct kl_conversation *conversation, size_t n, const char *user,
			     const char *key);

/** The commit of the next turn; no ref moves. Its objects are on the disk. */
int kl_conversation_write(git_oid *out, struct kl_repo *repo,
			  const struct kl_conversation *conversation, const struct kl_turn *turn);
/** The ref is at `oid`: takes the turn's strings. */
void kl_conversation_push(struct kl_conversation *conversation, struct kl_turn *turn,
			  const git_oid *oid);

/** Every conversation, or those of one workload, or of one name of it; by ref. */
struct kl_conversations {
	struct kl_conversation *c;
	size_t n, alloc;
};
int kl_conversations_load(struct kl_conversations *out, struct kl_repo *repo, const char *workload,
			  const char *name);
void kl_conversations_release(struct kl_conversations *conversations);

#endif
