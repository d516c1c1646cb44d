/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_CONVERSATION_H
#define KL_MODEL_CONVERSATION_H

#include "model/ledger.h"
#include "model/price.h"
#include "repo/refs.h"
#include "text/digest.h"

/*
 * conversation - a conversation with a model, stored as a ref with one commit per turn. The ref is
 * refs/klineage/chat/<workload>/<name>/<phase>. The commits hold all data that are needed to send
 * the same bytes again; see docs/formats.md, "Conversations".
 *
 *	kl_conversation_load(&c, repo, "c-topk", "x86-64-v3-1a2b3c4", "back-0");
 *	kl_conversation_write(&oid, repo, &c, &turn);	... move c.ref from c.tip to oid ...
 *	kl_conversation_push(&c, &turn, &oid);
 *
 * Such a ref can come from an untrusted source: reading is bounded and checks the format.
 */
#define KL_CHAT_REFS "refs/klineage/chat/"

struct kl_turn {
	char *user, *reply;
	char *key; /* see struct kl_request_context; never NULL */
	char *provider, *model;
	char *answered;   /* the model's name as the provider reports it, or NULL */
	char *request_id; /* or NULL */
	char *time;
	char *reservation; /* id of its reservation in the ledger; NULL if not metered */
	enum kl_budget budget;
	enum kl_cache_ttl cache;
	enum kl_stop stop;
	char *options;     /* options of the request, as canonical JSON (options.h); or NULL */
	enum kl_flaw flaw; /* why the reply cannot be used, or KL_FLAW_NONE */
	int64_t max_tokens;
	struct kl_usage usage;
	bool implausible; /* the provider's token counts cannot be right and were dropped */
	int64_t nano;     /* actual cost, nano-dollars */
	/* source of the price (struct kl_price, `from`); NULL if not metered */
	char *price;
	struct kl_rates rates;      /* the rates of that price */
	char prompt[KL_DIGEST_HEX]; /* digest of everything sent */
	char chain[KL_DIGEST_HEX];  /* kl_provider_key() of the turns up to this one */
	bool alone;                 /* as in struct kl_reply */
	git_oid commit;
};

void kl_turn_release(struct kl_turn *turn);

struct kl_conversation {
	char *ref, *workload, *name, *phase;
	char **system;
	size_t nsystem;
	struct kl_turn *turn;
	size_t n, alloc;
	git_oid tip; /* zero if nothing is stored yet */
	/*
	 * the members below are set only by kl_session_conversation(), whose conversations can be
	 * continued
	 */
	struct kl_session *session; /* borrowed; NULL if the conversation can only be read */
	/*
	 * the conversation ends after its first turn, unless the reply of that turn cannot be used
	 */
	bool single;
	int64_t stored_ns; /* when this process stored its last turn; 0 for never */
	bool settled;      /* this process has tried to settle the stored replies */
};

/**
 * Load a conversation; it is empty if there is no such ref. Return KL_EINVALID if the name is
 * invalid, or the content is malformed.
 */
int kl_conversation_load(struct kl_conversation *out, struct kl_repo *repo, const char *workload,
			 const char *name, const char *phase);
/**
 * Load a conversation by the full name of its ref. It also returns KL_EINVALID if the name does not
 * have the form that is given at the top.
 */
int kl_conversation_load_ref(struct kl_conversation *out, struct kl_repo *repo, const char *ref);
void kl_conversation_release(struct kl_conversation *conversation);

/**
 * Return the cost of all turns in nano-dollars; -1 if not metered. Set `*model` to the model of the
 * last turn, borrowed, or NULL.
 */
int64_t kl_conversation_cost(const char **model, const struct kl_conversation *conversation);
/**
 * Return true if every reply up to turn `turn` came from a model that had no access to a
 * repository.
 */
bool kl_conversation_alone(const struct kl_conversation *conversation, size_t turn);

/** Copy the system blocks, unless the conversation has turns or system blocks already. */
void kl_conversation_system(struct kl_conversation *conversation, const char *const *block,
			    size_t n);

/** Replace the system blocks by those of `from`, and leave `from` without system blocks. */
void kl_conversation_take_system(struct kl_conversation *conversation,
				 struct kl_conversation *from);

/**
 * Compute the digests `prompt` and `chain` of `turn` as turn `n` of the conversation. Only the user
 * text, the key and the options of `turn` are read.
 */
void kl_conversation_digests(char prompt[KL_DIGEST_HEX], char chain[KL_DIGEST_HEX],
			     const struct kl_conversation *conversation, size_t n,
			     const struct kl_turn *turn);

/** Write the commit of the next turn, with its objects synced to disk. No ref is moved. */
int kl_conversation_write(git_oid *out, struct kl_repo *repo,
			  const struct kl_conversation *conversation, const struct kl_turn *turn);
/**
 * Append the turn whose commit is `oid`, after the ref has moved to `oid`. Take ownership of the
 * turn's strings.
 */
void kl_conversation_push(struct kl_conversation *conversation, struct kl_turn *turn,
			  const git_oid *oid);

/**
 * The conversations of a workload and a name, sorted by ref. If `name` is NULL, all conversations
 * of the workload; if both are NULL, all conversations of the repository.
 */
struct kl_conversations {
	struct kl_conversation *c;
	size_t n, alloc;
};
int kl_conversations_load(struct kl_conversations *out, struct kl_repo *repo, const char *workload,
			  const char *name);
void kl_conversations_release(struct kl_conversations *conversations);

#endif
