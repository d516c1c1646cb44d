/* SPDX-License-Identifier: Apache-2.0 */
#include "model/request.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/rng.h"
#include "model/money.h"
#include "model/open_reservation.h"
#include "model/provider/body.h"
#include "model/provider/usage.h"
#include "model/session_impl.h"
#include "model/turn.h"
#include "repo/refs.h"

#define LONG_PAUSE_MS (4 * 60 * 1000) /* after a longer pause a 5-minute cache can have expired */
#define STORE_MS 180000

/* --- a request on its way --------------------------------------------------------- */

struct request {
	struct kl_conversation *conversation;
	struct kl_session *session;
	const struct kl_request *spec;
	const char *key;
	struct kl_provider_request q;
	struct kl_message *message;
	const char **keys;
	int64_t request_bytes;
	struct kl_reservation reserved; /* of the current attempt */
	struct kl_reply reply;
	int64_t nano;     /* actual cost, nano-dollars */
	bool heard;       /* part of the reply has arrived */
	bool implausible; /* the provider's counts cannot be right, so the cost is unknown */
};

static void request_release(struct request *req)
{
	free(req->message);
	free(req->keys);
	kl_reply_release(&req->reply);
}

/* Choose the cache lifetime by the expected pause before the next turn. */
static enum kl_cache_ttl pick_cache(const struct kl_conversation *conversation)
{
	int64_t pause = conversation->session->pause_ms;

	if (conversation->session->cache != KL_CACHE_AUTO)
		return (enum kl_cache_ttl)conversation->session->cache;
	if (conversation->stored_ns && (kl_clock_ns() - conversation->stored_ns) / 1000000 > pause)
		pause = (kl_clock_ns() - conversation->stored_ns) / 1000000;
	return pause > LONG_PAUSE_MS ? KL_CACHE_1H : KL_CACHE_5M;
}

static void build_request(struct request *req)
{
	const struct kl_conversation *conversation = req->conversation;
	int64_t most = req->spec->max_tokens;

	req->message = kl_calloc(2 * conversation->n + 1, sizeof(*req->message));
	req->keys = kl_calloc(conversation->n + 1, sizeof(*req->keys));
	for (size_t i = 0; i < conversation->n; i++) {
		req->message[2 * i] = (struct kl_message){ false, conversation->turn[i].user };
		req->message[2 * i + 1] = (struct kl_message){ true, conversation->turn[i].reply };
		req->keys[i] = conversation->turn[i].key;
	}
	req->message[2 * conversation->n] = (struct kl_message){ false, req->spec->user };
	req->keys[conversation->n] = req->key;
	req->q = (struct kl_provider_request){
		.model = req->session->model,
		.system = (const char *const *)conversation->system,
		.nsystem = conversation->nsystem,
		.message = req->message,
		.nmessage = 2 * conversation->n + 1,
		.cache = pick_cache(conversation),
		.max_tokens = most > 0 ? most : req->session->max_tokens,
	};
}

/* Reserve the worst-case cost of an attempt whose reply has at least `least_tokens`. */
static int reserve_tokens(struct request *req, int64_t least_tokens)
{
	const struct kl_conversation *conversation = req->conversation;
	const struct kl_session *session = req->session;
	struct kl_ledger_ask ask = {
		.budget = session->budget,
		.cap = session->cap,
		.name = conversation->name,
		.phase = conversation->phase,
		.model = session->model,
		.turn = (int64_t)conversation->n,
		.tokens = req->q.max_tokens,
		.least_tokens = least_tokens,
	};
	int err;

	if (ask.least_tokens > ask.tokens)
		ask.least_tokens = ask.tokens;
	kl_price_worst(&ask.fixed, &ask.per_token, session->price, req->q.cache,
		       req->request_bytes);
	if ((err = KL_FAULT("chat-reserve")) < 0 ||
	    (err = kl_ledger_reserve(&req->reserved, session->repo, session->workload, &ask)) < 0)
		return err;
	req->q.max_tokens = req->reserved.tokens;
	return KL_FAULT("chat-reserved");
}

static int reserve_first(struct request *req)
{
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	int err = kl_provider_body(&body, NULL, req->session->provider, &req->q);

	req->request_bytes = (int64_t)body.len;
	return err < 0 ? err : reserve_tokens(req, req->session->least_tokens);
}

/* --- progress ------------------------------------------------------------------------ */

static void show_progress(struct request *req, int64_t bytes, const struct kl_usage *usage)
{
	char money[KL_MONEY_TEXT] = "unmetered";
	/* some providers report input tokens at the start; this count need not be final */
	struct kl_usage so_far = usage ? *usage : (struct kl_usage){ 0 };
	int64_t in = so_far.input + so_far.cache_read + so_far.cache_write_5m +
		     so_far.cache_write_1h;
	int64_t out = so_far.output, nano = 0;

	/* estimate at least one token per 4 bytes received, if the count is lower */
	if (out < bytes / 4)
		out = bytes / 4;
	so_far.output = out;
	if (req->session->price && !kl_price_cost(&nano, req->session->price, &so_far))
		kl_money_text(money, nano);
	kl_progress_step(req->session->progress, "%s, turn %zu: %lld tokens in, %lld out, %s",
			 req->conversation->phase, req->conversation->n, (long long)in,
			 (long long)out, money);
}

static int count_bytes(int64_t bytes, const struct kl_usage *so_far, void *payload)
{
	struct request *req = payload;
	bool first = !req->heard;

	req->heard = true;
	show_progress(req, bytes, so_far);
	return kl_proc_interrupted() || (first && KL_FAULT("chat-heard") < 0);
}

static void show_pause(int64_t ms, const char *why, void *payload)
{
	struct request *req = payload;

	kl_progress_step(req->session->progress, "%s, turn %zu: retrying in %lld s: %s",
			 req->conversation->phase, req->conversation->n,
			 (long long)(ms + 999) / 1000, why);
}

/* Reserve once more: the previous attempt can have cost money, so its reservation stays. */
static int reserve_again(void *payload)
{
	struct request *req = payload;
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());
	int err = req->session->price ? reserve_tokens(req, req->q.max_tokens) : 0;

	if (err == KL_ENO)
		kl_error(KL_ENO, "%s (and the budget does not allow another attempt)", message);
	return err;
}

/* --- afterwards ---------------------------------------------------------------------- */

static struct kl_ledger_bill bill_of(const struct request *req)
{
	const struct kl_conversation *conversation = req->conversation;

	return (struct kl_ledger_bill){
		.budget = req->session->budget,
		.name = conversation->name,
		.phase = conversation->phase,
		.model = req->session->model,
		.turn = (int64_t)conversation->n,
		.reservation = &req->reserved,
		.nano = req->nano,
		.usage = &req->reply.usage,
		.implausible = req->implausible,
	};
}

/* Are the counts those of this request and reply, and the cost within what was reserved? */
static bool is_plausible(struct request *req)
{
	const struct kl_usage_bounds bounds = {
		.prompt = req->request_bytes + KL_PRICE_ALLOWANCE,
		.output = req->q.max_tokens,
		.replied = req->reply.text && *req->reply.text,
	};

	if (!kl_usage_is_possible(&req->reply.usage, &bounds))
		return false;
	if (kl_price_cost(&req->nano, req->session->price, &req->reply.usage) < 0) {
		kl_error_clear();
		return false;
	}
	return req->nano <= req->reserved.nano;
}

/*
 * An unknown cost counts as the reserved amount, never as 0, and so does one that follows from
 * counts that cannot be right: a provider can report anything.
 */
static void work_out_cost(struct request *req)
{
	static const struct kl_usage_bounds unmetered = { 4 * KL_USAGE_MAX, KL_USAGE_MAX, false };
	struct kl_usage *usage = &req->reply.usage;

	req->implausible = req->session->price ? usage->known && !is_plausible(req) :
						 !kl_usage_is_possible(usage, &unmetered);
	if (req->implausible)
		*usage = (struct kl_usage){ 0 };
	if (req->session->price && !usage->known)
		req->nano = req->reserved.nano;
}

/* The cost is unknown and counts as the worst case. Tell the user how to settle it. */
static int explain_open(const struct request *req, int err)
{
	char money[KL_MONEY_TEXT];

	kl_money_text(money, req->reserved.nano);
	return kl_error_hint(
		err,
		"the cost of this request is unknown: %s stay reserved for it until 'git klineage "
		"chat settle'",
		money);
}

/*
 * The request failed. Settle a known cost: nothing, or that of a complete but invalid reply. The
 * token count of a truncated reply is unknown, so its reservation stays.
 */
static int settle_failed(struct request *req, int err)
{
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());
	KL_AUTO(kl_freep) char *hints = kl_strdup(kl_error_hints());
	struct kl_ledger_bill bill;

	if (!req->session->price)
		return err;
	if (!req->reply.usage.known)
		return explain_open(req, err);
	work_out_cost(req);
	bill = bill_of(req);
	if (kl_ledger_settle(req->session->repo, req->session->workload, &bill, NULL) < 0)
		err = kl_error((enum kl_err)err,
			       "%s (and its reservation could not be settled: %s)", message,
			       kl_error_last());
	else
		err = kl_error((enum kl_err)err, "%s", message);
	return *hints ? kl_error_hint(err, "%s", hints) : err;
}

/* Sanitize a text of the server for storage and display; the caller frees. NULL gives NULL. */
static char *quote_plain(const char *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	if (!text)
		return NULL;
	kl_body_quote(&buf, text, strlen(text), KL_TURN_TEXT / 2);
	return kl_buf_detach(&buf);
}

static void fill_turn(struct kl_turn *turn, const struct request *req)
{
	*turn = (struct kl_turn){
		.user = kl_strdup(req->spec->user),
		.reply = kl_strdup(req->reply.text),
		.key = kl_strdup(req->key),
		.model = kl_strdup(req->session->model),
		.provider = kl_strdup(kl_provider_name(req->session->provider)),
		.answered = quote_plain(req->reply.model),
		.request_id = quote_plain(req->reply.request_id),
		.time = kl_calloc(1, 21),
		.budget = req->session->budget,
		.cache = req->q.cache,
		.stop = req->reply.stop,
		.max_tokens = req->q.max_tokens,
		.usage = req->reply.usage,
		.implausible = req->implausible,
		.nano = req->nano,
		.alone = req->reply.alone,
	};
	kl_clock_iso(turn->time);
	if (req->session->price) {
		turn->reservation = kl_strdup(req->reserved.id);
		turn->price = quote_plain(req->session->price->from);
		turn->rates = *kl_price_rates(req->session->price, &turn->usage);
	}
	kl_conversation_digests(turn->prompt, turn->chain, req->conversation, req->conversation->n,
				turn->user, turn->key);
}

/* Move the ref of the conversation alone: it is unmetered, or the ledger cannot be written. */
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

/* Store reply and settlement; if the ledger cannot be moved, the reply alone: it is paid for. */
static int store_reply(struct request *req)
{
	struct kl_conversation *conversation = req->conversation;
	struct kl_ledger_bill bill = bill_of(req);
	struct kl_ledger_also also = { .ref = conversation->ref, .from = conversation->tip };
	KL_AUTO(kl_turn_release) struct kl_turn turn = { 0 };
	int err;

	fill_turn(&turn, req);
	if ((err = KL_FAULT("chat-answered")) < 0 ||
	    (err = kl_conversation_write(&also.to, req->session->repo, conversation, &turn)) < 0 ||
	    (err = KL_FAULT("chat-objects")) < 0)
		return err;
	if (!req->session->price)
		err = move_alone(req->session, &also);
	else if ((err = kl_ledger_settle(req->session->repo, req->session->workload, &bill,
					 &also)) < 0 &&
		 err != KL_ECHANGED && !move_alone(req->session, &also))
		err = 0;
	if (err < 0)
		return err;
	kl_conversation_push(conversation, &turn, &also.to);
	req->conversation->stored_ns = kl_clock_ns();
	return KL_FAULT("chat-stored");
}

/* --- sending ------------------------------------------------------------------------- */

static int collect_files(struct request *req)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if (!req->spec->collect)
		return 0;
	kl_buf_adds(&text, req->reply.text);
	if ((err = req->spec->collect(&text, req->spec->dir, req->spec->payload)) < 0)
		return err;
	if (strlen(text.ptr) != text.len)
		return kl_error(KL_EINVALID, "the files left in '%s' are not text", req->spec->dir);
	free(req->reply.text);
	req->reply.text = kl_buf_detach(&text);
	return 0;
}

static int send_request(struct request *req)
{
	struct kl_request_context context = {
		.phase = req->conversation->phase,
		.turn = req->conversation->n,
		.key = req->keys,
		.dir = req->spec->dir,
		.alone = req->spec->alone,
	};
	struct kl_provider_watch watch = {
		.heard = count_bytes,
		.waiting = show_pause,
		.again = reserve_again,
		.payload = req,
	};
	int err;

	show_progress(req, 0, NULL);
	err = kl_provider_send(&req->reply, req->session->provider, &req->q, &context, &watch);
	if (err < 0)
		return settle_failed(req, err);
	work_out_cost(req);
	err = collect_files(req);
	return err < 0 ? settle_failed(req, err) : 0;
}

static int send_turn(struct kl_conversation *conversation, const struct kl_request *spec)
{
	KL_AUTO(request_release) struct request req = {
		.conversation = conversation,
		.session = conversation->session,
		.spec = spec,
		.key = spec->key ? spec->key : spec->user,
	};
	int err;

	if (!spec->user || !*spec->user)
		return kl_error(KL_EINVALID, "the request has no text");
	build_request(&req);
	if (req.session->price && (err = reserve_first(&req)) < 0)
		return err;
	if ((err = send_request(&req)) < 0)
		return err;
	return store_reply(&req);
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
			 "%s, turn %zu: waiting for another process to send it",
			 conversation->phase, conversation->n);
	return lock_turn(lock, conversation, -1);
}

/*
 * Settle the reservations of replies that were stored without the ledger. We hold the lock of the
 * conversation, so other open reservations of it are of interrupted requests; their cost is unknown
 * and they are left alone.
 */
static int settle_stored(struct kl_conversation *conversation)
{
	struct kl_open_reservations reservations = {
		.repo = conversation->session->repo,
		.workload = conversation->workload,
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
	if ((err = kl_ledger_totals(&now, reservations.repo, conversation->workload)) < 0)
		return err;
	for (int budget = 0; budget < KL_BUDGETS; budget++)
		reserved += now.of[budget].reserved;
	return reserved ? kl_open_reservations_settle(&reservations) : 0;
}

/* Append the turns that other processes have stored since we loaded; ours stay in place. */
static int load_others(struct kl_conversation *conversation)
{
	KL_AUTO(kl_conversation_release) struct kl_conversation now = { 0 };
	static const git_oid none;
	size_t n = conversation->n;
	int err = kl_conversation_load_ref(&now, conversation->session->repo, conversation->ref);

	if (err < 0 || !memcmp(&now.tip, &conversation->tip, sizeof(now.tip)))
		return err;
	if (now.n < n ||
	    memcmp(n ? &now.turn[n - 1].commit : &none, &conversation->tip, sizeof(none)))
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
