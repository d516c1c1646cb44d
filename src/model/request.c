/* SPDX-License-Identifier: Apache-2.0 */
#include "model/request.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/rng.h"
#include "model/open_reservation.h"
#include "model/provider/body.h"
#include "model/sending.h"
#include "model/turn.h"
#include "repo/refs.h"

#define STORE_MS 180000

/* --- storing ------------------------------------------------------------------------- */

/*
 * Return a copy of `text`, which came from the server, without control characters, so that it can
 * be stored and shown in a terminal. The caller frees the copy. If `text` is NULL, return NULL.
 */
static char *quote_plain(const char *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	if (!text)
		return NULL;
	kl_body_quote(&buf, text, strlen(text), KL_TURN_TEXT / 2);
	return kl_buf_detach(&buf);
}

static void fill_turn(struct kl_turn *turn, const struct kl_sending *sending)
{
	*turn = (struct kl_turn){
		.user = kl_strdup(sending->spec->user),
		.reply = kl_strdup(sending->reply.text),
		.key = kl_strdup(sending->key),
		.model = kl_strdup(sending->session->model),
		.provider = kl_strdup(kl_provider_name(sending->session->provider)),
		.answered = quote_plain(sending->reply.model),
		.request_id = quote_plain(sending->reply.request_id),
		.time = kl_calloc(1, 21),
		.budget = sending->session->budget,
		.cache = sending->q.cache,
		.stop = sending->reply.stop,
		.flaw = sending->reply.flaw,
		.options = kl_model_options_text(&sending->options),
		.max_tokens = sending->q.max_tokens,
		.usage = sending->reply.usage,
		.implausible = sending->by == KL_COST_IMPLAUSIBLE,
		.nano = sending->nano,
		.alone = sending->reply.alone,
	};
	kl_clock_iso(turn->time);
	if (sending->session->price) {
		turn->reservation = kl_strdup(sending->reserved.id);
		turn->price = quote_plain(sending->session->price->from);
		turn->rates = *kl_price_rates(sending->session->price, &turn->usage);
	}
	kl_conversation_digests(turn->prompt, turn->chain, sending->conversation,
				sending->conversation->n, turn);
}

/*
 * Move only the ref of the conversation, because the session is not metered or the ledger cannot be
 * written.
 */
static int move_alone(struct kl_session *session, const struct kl_ledger_also *also)
{
	int64_t start = kl_clock_ns();
	int err;

	for (;;) {
		KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(session->repo);
		git_oid now;

		kl_refs_txn_update(txn, also->ref, &also->to, &also->from);
		err = kl_refs_txn_commit(txn, "klineage: reply");
		if (!err || (!kl_refs_get(&now, session->repo, also->ref) &&
			     !memcmp(&now, &also->to, sizeof(now))))
			return 0;
		if ((err != KL_EBUSY && err != KL_EINTR) ||
		    (kl_clock_ns() - start) / 1000000 > STORE_MS)
			return err;
		kl_clock_sleep_ms(20 + (int64_t)(kl_rng_os_seed() % 100));
	}
}

/*
 * Store reply and settlement. If the ledger cannot be written, store at least the reply, because it
 * is paid for.
 */
static int store_reply(struct kl_sending *sending)
{
	struct kl_conversation *conversation = sending->conversation;
	struct kl_ledger_bill bill = kl_sending_bill(sending);
	struct kl_ledger_also also = { .ref = conversation->ref, .from = conversation->tip };
	KL_AUTO(kl_turn_release) struct kl_turn turn = { 0 };
	int err;

	fill_turn(&turn, sending);
	if ((err = KL_FAULT("chat-answered")) < 0 ||
	    (err = kl_conversation_write(&also.to, sending->session->repo, conversation, &turn)) <
		    0 ||
	    (err = KL_FAULT("chat-objects")) < 0)
		return err;
	if (!sending->session->price)
		err = move_alone(sending->session, &also);
	else if ((err = kl_ledger_settle(sending->session->repo, sending->session->account, &bill,
					 &also)) < 0 &&
		 err != KL_ECHANGED && !move_alone(sending->session, &also))
		err = 0;
	if (err < 0)
		return err;
	kl_conversation_push(conversation, &turn, &also.to);
	sending->conversation->stored_ns = kl_clock_ns();
	return KL_FAULT("chat-stored");
}

/* --- sending -------------------------------------------------------------------------- */

static int send_turn(struct kl_conversation *conversation, const struct kl_request *spec)
{
	KL_AUTO(kl_sending_release) struct kl_sending sending = { 0 };
	int err = kl_sending_run(&sending, conversation, spec);

	return err < 0 ? err : store_reply(&sending);
}

int kl_conversation_lock(struct kl_lock *lock, struct kl_repo *repo, const char *workload,
			 const char *name, const char *phase, int64_t wait_ms)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/klineage/talk/%s/%s/%s",
						   kl_repo_common_dir(repo), workload, name, phase);
	int err = kl_fs_mkdir_of(path);

	return err < 0 ? err : kl_lock_take(lock, path, wait_ms);
}

static int lock_turn(struct kl_lock *lock, const struct kl_conversation *conversation,
		     int64_t wait_ms)
{
	return kl_conversation_lock(lock, conversation->session->repo, conversation->workload,
				    conversation->name, conversation->phase, wait_ms);
}

static int take_turn(struct kl_lock *lock, const struct kl_conversation *conversation)
{
	int err = lock_turn(lock, conversation, 0);

	if (err != KL_EBUSY)
		return err;
	kl_error_clear();
	kl_progress_step(conversation->session->progress,
			 "%s, turn %zu: waiting for another process to send this turn",
			 conversation->phase, conversation->n);
	return lock_turn(lock, conversation, -1);
}

/*
 * Settle the reservations of replies that were stored without the ledger. The other open
 * reservations of the conversation, whose lock we hold, belong to interrupted requests. Their cost
 * is unknown, so they stay open.
 */
static int settle_stored(struct kl_conversation *conversation)
{
	struct kl_open_reservations reservations = {
		.repo = conversation->session->repo,
		.workload = conversation->workload,
		.purse = conversation->session->purse,
		.name = conversation->name,
		.phase = conversation->phase,
		.stored_only = true,
		.locked = true,
	};
	struct kl_ledger_totals now;
	int64_t reserved = 0;
	int err;

	if (conversation->settled || !conversation->session->price)
		return 0;
	conversation->settled = true;
	if ((err = kl_ledger_totals(&now, reservations.repo, conversation->session->account)) < 0)
		return err;
	for (int budget = 0; budget < KL_BUDGETS; budget++)
		reserved += now.of[budget].reserved;
	return reserved ? kl_open_reservations_settle(&reservations) : 0;
}

/* Append the turns that other processes have stored since we loaded the conversation. */
static int load_others(struct kl_conversation *conversation)
{
	KL_AUTO(kl_conversation_release) struct kl_conversation now = { 0 };
	size_t n = conversation->n;
	int err = kl_conversation_load_ref(&now, conversation->session->repo, conversation->ref);

	if (err < 0 || !memcmp(&now.tip, &conversation->tip, sizeof(now.tip)))
		return err;
	if (now.n < n ||
	    memcmp(n ? &now.turn[n - 1].commit : &kl_oid_none, &conversation->tip, sizeof(git_oid)))
		return kl_error(KL_ECHANGED, "'%s' was rewritten by another process",
				conversation->ref);
	if (!n)
		kl_conversation_take_system(conversation, &now);
	for (size_t i = n; i < now.n; i++) {
		git_oid oid = now.turn[i].commit;

		kl_conversation_push(conversation, &now.turn[i], &oid);
	}
	return 0;
}

static int next_turn(struct kl_conversation *conversation, size_t turn,
		     const struct kl_request *spec)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	int cleared, err;

	/* a process killed while storing a reply can have left a transaction to complete */
	if ((err = take_turn(&lock, conversation)) < 0 ||
	    (err = kl_refs_recover(conversation->session->repo, &cleared)) < 0 ||
	    (err = load_others(conversation)) < 0 || (err = settle_stored(conversation)) < 0)
		return err;
	return turn < conversation->n ? 0 : send_turn(conversation, spec);
}

int kl_request_send(const char **reply, struct kl_conversation *conversation, size_t turn,
		    const struct kl_request *request)
{
	int err;

	if (turn > conversation->n)
		KL_BUG("turn %zu of a conversation of %zu turns", turn, conversation->n);
	if (turn == conversation->n && (err = next_turn(conversation, turn, request)) < 0)
		return kl_error_in(err, "%s, turn %zu", conversation->phase, turn);
	*reply = conversation->turn[turn].reply;
	return 0;
}
