/* SPDX-License-Identifier: Apache-2.0 */
/* request - one conversation: stored turns are free, a new one is reserved, sent and stored */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/rng.h"
#include "model/session_impl.h"
#include "model/conversation.h"
#include "model/money.h"
#include "model/open_reservation.h"
#include "model/provider/body.h"
#include "model/turn.h"
#include "repo/refs.h"

#define LONG_PAUSE_MS (4 * 60 * 1000)	/* beyond, five minutes of cache may be over */
#define STORE_MS 180000

struct kl_talk {
	struct kl_session *session;
	struct kl_conversation c;
	int64_t stored_ns;	/* when the last turn was stored by us; 0: not by us */
	bool looked;		/* for reservations of replies that are stored */
};

void kl_talk_free(struct kl_talk *t)
{
	if (!t)
		return;
	kl_conversation_release(&t->c);
	free(t);
}

int kl_talk_open(struct kl_talk **out, struct kl_session *c, const char *name, const char *phase,
		 const char *const *block, size_t nblock)
{
	KL_AUTO(kl_talk_freep) struct kl_talk *t = kl_calloc(1, sizeof(*t));
	int err = kl_conversation_load(&t->c, c->repo, c->workload, name, phase);

	if (err < 0)
		return err;
	t->session = c;
	kl_conversation_system(&t->c, block, nblock);
	*out = kl_steal(&t);
	return 0;
}

size_t kl_talk_turns(const struct kl_talk *t)
{
	return t->c.n;
}

const char *kl_talk_user(const struct kl_talk *t, size_t turn)
{
	return t->c.turn[turn].user;
}

const char *kl_talk_system(const struct kl_talk *t, size_t i)
{
	return i < t->c.nsystem ? t->c.system[i] : NULL;
}

const char *kl_talk_reply(const struct kl_talk *t, size_t turn)
{
	return t->c.turn[turn].reply;
}

int64_t kl_talk_cost(const char **model, const struct kl_talk *t)
{
	const struct kl_turn *last = t->c.n ? &t->c.turn[t->c.n - 1] : NULL;
	int64_t nano = 0;
	bool metered = false;

	for (size_t i = 0; i < t->c.n; i++) {
		nano += t->c.turn[i].nano;
		metered |= t->c.turn[i].reservation != NULL;
	}
	*model = !last ? NULL : last->answered ? last->answered : last->model;
	return metered ? nano : -1;
}

bool kl_talk_alone(const struct kl_talk *t, size_t turn)
{
	for (size_t i = 0; i <= turn; i++)
		if (!t->c.turn[i].alone)
			return false;
	return true;
}

/* --- a turn that is being bought -------------------------------------------------- */

struct purchase {
	struct kl_talk *talk;
	struct kl_session *session;
	const struct kl_ask *ask;
	const char *key;
	struct kl_chat_request q;
	struct kl_chat_message *message;
	const char **keys;
	int64_t request_bytes;
	struct kl_reservation reserved;	/* for the attempt that goes on */
	struct kl_chat_reply reply;
	int64_t nano;			/* what it did cost */
	bool heard;			/* something of the reply came */
};

static void purchase_release(struct purchase *p)
{
	free(p->message);
	free(p->keys);
	kl_chat_reply_release(&p->reply);
}

/* how long the pause before the next turn will be, as far as it can be known */
static enum kl_chat_cache pick_cache(const struct kl_talk *t)
{
	int64_t pause = t->session->pause_ms;

	if (t->session->cache != KL_CACHE_AUTO)
		return (enum kl_chat_cache)t->session->cache;
	if (t->stored_ns && (kl_clock_ns() - t->stored_ns) / 1000000 > pause)
		pause = (kl_clock_ns() - t->stored_ns) / 1000000;
	return pause > LONG_PAUSE_MS ? KL_CACHE_1H : KL_CACHE_5M;
}

static void build_request(struct purchase *p)
{
	const struct kl_conversation *c = &p->talk->c;

	p->message = kl_calloc(2 * c->n + 1, sizeof(*p->message));
	p->keys = kl_calloc(c->n + 1, sizeof(*p->keys));
	for (size_t i = 0; i < c->n; i++) {
		p->message[2 * i] = (struct kl_chat_message){ false, c->turn[i].user };
		p->message[2 * i + 1] = (struct kl_chat_message){ true, c->turn[i].reply };
		p->keys[i] = c->turn[i].key;
	}
	p->message[2 * c->n] = (struct kl_chat_message){ false, p->ask->user };
	p->keys[c->n] = p->key;
	p->q = (struct kl_chat_request){
		.model = p->session->model, .system = (const char *const *)c->system, .nsystem = c->nsystem,
		.message = p->message, .nmessage = 2 * c->n + 1, .cache = pick_cache(p->talk),
		.max_tokens = p->ask->max_tokens > 0 ? p->ask->max_tokens : p->session->max_tokens,
	};
}

/* the worst that an attempt can cost, with a reply of at least so many tokens */
static int reserve(struct purchase *p, int64_t least_tokens)
{
	struct kl_ledger_ask a = {
		.budget = p->session->budget, .cap = p->session->cap, .name = p->talk->c.name,
		.phase = p->talk->c.phase, .model = p->session->model, .turn = (int64_t)p->talk->c.n,
		.tokens = p->q.max_tokens, .least_tokens = least_tokens,
	};
	int err;

	if (a.least_tokens > a.tokens)
		a.least_tokens = a.tokens;
	kl_price_worst(&a.fixed, &a.per_token, p->session->price, p->q.cache, p->request_bytes);
	if ((err = KL_FAULT("chat-reserve")) < 0 ||
	    (err = kl_ledger_reserve(&p->reserved, p->session->repo, p->session->workload, &a)) < 0)
		return err;
	p->q.max_tokens = p->reserved.tokens;
	return KL_FAULT("chat-reserved");
}

static int reserve_first(struct purchase *p)
{
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	int err = kl_provider_body(&body, NULL, p->session->provider, &p->q);

	p->request_bytes = (int64_t)body.len;
	return err < 0 ? err : reserve(p, p->session->least_tokens);
}

/* --- while it comes ------------------------------------------------------------------ */

static void show(struct purchase *p, int64_t bytes, const struct kl_chat_usage *u)
{
	char money[KL_MONEY_TEXT] = "unmetered";
	/* some say at the beginning what came in; that the count is not the last one does not matter here */
	struct kl_chat_usage so_far = u ? *u : (struct kl_chat_usage){ 0 };
	int64_t in = so_far.input + so_far.cache_read + so_far.cache_write_5m + so_far.cache_write_1h;
	int64_t out = so_far.output, nano = 0;

	/* what came is at least a token for every few bytes, whatever was counted so far */
	if (out < bytes / 4)
		out = bytes / 4;
	so_far.output = out;
	if (p->session->price && !kl_price_cost(&nano, p->session->price, &so_far))
		kl_money_text(money, nano);
	kl_progress_step(p->session->progress, "%s, turn %zu: %lld tokens in, %lld out, %s", p->talk->c.phase,
			 p->talk->c.n, (long long)in, (long long)out, money);
}

static int heard(int64_t bytes, const struct kl_chat_usage *so_far, void *payload)
{
	struct purchase *p = payload;
	bool first = !p->heard;

	p->heard = true;
	show(p, bytes, so_far);
	return kl_proc_interrupted() || (first && KL_FAULT("chat-heard") < 0);
}

static void waiting(int64_t ms, const char *why, void *payload)
{
	struct purchase *p = payload;

	kl_progress_step(p->session->progress, "%s, turn %zu: again in %lld s: %s", p->talk->c.phase,
			 p->talk->c.n, (long long)(ms + 999) / 1000, why);
}

/* The attempt before may have cost money: what was reserved for it stands. */
static int again(void *payload)
{
	struct purchase *p = payload;
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());
	int err = p->session->price ? reserve(p, p->q.max_tokens) : 0;

	if (err == KL_ENO)
		kl_error(KL_ENO, "%s (and the budget does not allow to ask again)", message);
	return err;
}

/* --- afterwards ---------------------------------------------------------------------- */

static struct kl_ledger_bill bill_of(const struct purchase *p)
{
	return (struct kl_ledger_bill){
		.budget = p->session->budget, .name = p->talk->c.name, .phase = p->talk->c.phase,
		.model = p->session->model, .turn = (int64_t)p->talk->c.n, .reservation = &p->reserved,
		.nano = p->nano, .usage = &p->reply.usage,
	};
}

/* What is not known counts as what was reserved: never as nothing. */
static void work_out_cost(struct purchase *p)
{
	struct kl_chat_usage *u = &p->reply.usage;

	if (!p->session->price)
		return;
	if (u->known && kl_price_cost(&p->nano, p->session->price, u) < 0) {
		kl_error_clear();
		u->known = false;
	}
	if (!u->known)
		p->nano = p->reserved.nano;
}

/* Nobody knows what it cost, so it counts as its worst case; the user may know better. */
static int stands(const struct purchase *p, int err)
{
	char money[KL_MONEY_TEXT];

	kl_money_text(money, p->reserved.nano);
	return kl_error_hint(err, "what this request cost is not known: %s stay reserved for it; "
			     "'git klineage chat settle' ends that", money);
}

/*
 * The exchange failed. What the provider is sure of is settled: that it cost nothing, or what a
 * reply did cost that came to its end without being one. Of one that was cut nobody knows how
 * many tokens were made: the reservation stands.
 */
static int failed(struct purchase *p, int err)
{
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());
	KL_AUTO(kl_freep) char *hints = kl_strdup(kl_error_hints());
	struct kl_ledger_bill bill;

	if (!p->session->price)
		return err;
	if (!p->reply.usage.known)
		return stands(p, err);
	work_out_cost(p);
	bill = bill_of(p);
	if (kl_ledger_settle(p->session->repo, p->session->workload, &bill, NULL) < 0)
		err = kl_error((enum kl_err)err, "%s (and its reservation stands: %s)", message,
			       kl_error_last());
	else
		err = kl_error((enum kl_err)err, "%s", message);
	return *hints ? kl_error_hint(err, "%s", hints) : err;
}

/* words of a server's, as they may be stored and shown; the caller frees */
static char *plain(const char *s)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	if (!s)
		return NULL;
	kl_body_quote(&b, s, strlen(s), KL_TURN_TEXT / 2);
	return kl_buf_detach(&b);
}

static void fill_turn(struct kl_turn *t, const struct purchase *p)
{
	*t = (struct kl_turn){
		.user = kl_strdup(p->ask->user), .reply = kl_strdup(p->reply.text),
		.key = kl_strdup(p->key), .model = kl_strdup(p->session->model),
		.provider = kl_strdup(kl_provider_name(p->session->provider)),
		.answered = plain(p->reply.model), .request_id = plain(p->reply.request_id),
		.time = kl_calloc(1, 21), .budget = p->session->budget, .cache = p->q.cache,
		.stop = p->reply.stop, .max_tokens = p->q.max_tokens,
		.usage = p->reply.usage, .nano = p->nano, .alone = p->reply.alone,
	};
	kl_clock_iso(t->time);
	if (p->session->price) {
		t->reservation = kl_strdup(p->reserved.id);
		t->price = plain(p->session->price->from);
		t->rates = *kl_price_rates(p->session->price, &t->usage);
	}
	kl_conversation_digests(t->prompt, t->chain, &p->talk->c, p->talk->c.n, t->user, t->key);
}

/* the conversation alone: of one that costs nothing, and where the ledger cannot be written */
static int move_alone(struct kl_session *c, const struct kl_ledger_also *also)
{
	int64_t start = kl_clock_ns();
	int err;

	for (;;) {
		KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *t = kl_refs_txn_new(c->repo);
		git_oid now;

		kl_refs_txn_update(t, also->ref, &also->to, &also->from);
		err = kl_refs_txn_commit(t, "klineage: reply");
		if (!err || (!kl_refs_get(&now, c->repo, also->ref) &&
			     !memcmp(&now, &also->to, sizeof(now))))
			return 0;
		if ((err != KL_EBUSY && err != KL_EINTR) || (kl_clock_ns() - start) / 1000000 > STORE_MS)
			return err;
		kl_clock_sleep_ms(20 + (int64_t)(kl_rng_os_seed() % 100));
	}
}

/* Reply and settlement, or, if the ledger cannot be moved, the reply: it is never bought again. */
static int store(struct purchase *p)
{
	struct kl_conversation *c = &p->talk->c;
	struct kl_ledger_bill bill = bill_of(p);
	struct kl_ledger_also also = { .ref = c->ref, .from = c->tip };
	KL_AUTO(kl_turn_release) struct kl_turn t = { 0 };
	int err;

	fill_turn(&t, p);
	if ((err = KL_FAULT("chat-answered")) < 0 ||
	    (err = kl_conversation_write(&also.to, p->session->repo, c, &t)) < 0 ||
	    (err = KL_FAULT("chat-objects")) < 0)
		return err;
	if (!p->session->price)
		err = move_alone(p->session, &also);
	else if ((err = kl_ledger_settle(p->session->repo, p->session->workload, &bill, &also)) < 0 &&
		 err != KL_ECHANGED && !move_alone(p->session, &also))
		err = 0;
	if (err < 0)
		return err;
	kl_conversation_push(c, &t, &also.to);
	p->talk->stored_ns = kl_clock_ns();
	return KL_FAULT("chat-stored");
}

/* --- asking -------------------------------------------------------------------------- */

static int collect(struct purchase *p)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if (!p->ask->collect)
		return 0;
	kl_buf_adds(&text, p->reply.text);
	if ((err = p->ask->collect(&text, p->ask->dir, p->ask->payload)) < 0)
		return err;
	if (strlen(text.ptr) != text.len)
		return kl_error(KL_EINVALID, "what was left in '%s' is not text", p->ask->dir);
	free(p->reply.text);
	p->reply.text = kl_buf_detach(&text);
	return 0;
}

static int exchange(struct purchase *p)
{
	struct kl_exchange x = {
		.phase = p->talk->c.phase, .turn = p->talk->c.n, .key = p->keys, .dir = p->ask->dir,
		.alone = p->ask->alone,
	};
	struct kl_chat_watch watch = { .heard = heard, .waiting = waiting, .again = again, .payload = p };
	int err;

	show(p, 0, NULL);
	err = kl_provider_send(&p->reply, p->session->provider, &p->q, &x, &watch);
	if (err < 0)
		return failed(p, err);
	work_out_cost(p);
	err = collect(p);
	return err < 0 ? failed(p, err) : 0;
}

static int buy(struct kl_talk *t, const struct kl_ask *ask)
{
	KL_AUTO(purchase_release) struct purchase p = {
		.talk = t, .session = t->session, .ask = ask, .key = ask->key ? ask->key : ask->user,
	};
	int err;

	if (!ask->user || !*ask->user)
		return kl_error(KL_EINVALID, "nothing to ask");
	build_request(&p);
	if (t->session->price && (err = reserve_first(&p)) < 0)
		return err;
	if ((err = exchange(&p)) < 0)
		return err;
	return store(&p);
}

int kl_talk_lock(struct kl_lock *lock, struct kl_repo *repo, const char *workload, const char *name,
		 const char *phase, int64_t wait_ms)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/klineage/talk/%s/%s/%s", kl_repo_common_dir(repo),
						   workload, name, phase);
	int err = kl_fs_mkdir_of(path);

	return err < 0 ? err : kl_lock_take(lock, path, wait_ms);
}

static int take_turn(struct kl_lock *lock, struct kl_talk *t)
{
	const struct kl_conversation *c = &t->c;
	int err = kl_talk_lock(lock, t->session->repo, c->workload, c->name, c->phase, 0);

	if (err != KL_EBUSY)
		return err;
	kl_error_clear();
	kl_progress_step(t->session->progress, "%s, turn %zu: another process asks", c->phase, c->n);
	return kl_talk_lock(lock, t->session->repo, c->workload, c->name, c->phase, -1);
}

/*
 * A reply that was stored while the ledger could not be moved is paid for, and no longer reserved.
 * Others' reservations of this talk broke off, or it would be locked; what they cost is not known.
 */
static int settle_stored(struct kl_talk *t)
{
	struct kl_unsettled u = {
		.repo = t->session->repo, .workload = t->c.workload, .name = t->c.name, .phase = t->c.phase,
		.stored_only = true, .locked = true,
	};
	struct kl_ledger_totals now;
	int64_t reserved = 0;
	int err;

	if (t->looked || !t->session->price)
		return 0;
	t->looked = true;
	if ((err = kl_ledger_totals(&now, t->session->repo, t->c.workload)) < 0)
		return err;
	for (int b = 0; b < KL_BUDGETS; b++)
		reserved += now.of[b].reserved;
	return reserved ? kl_unsettled_settle(&u) : 0;
}

/* What others have stored since we looked is added; what we have stays where it is. */
static int refresh(struct kl_talk *t)
{
	KL_AUTO(kl_conversation_release) struct kl_conversation now = { 0 };
	static const git_oid none;
	size_t n = t->c.n;
	int err = kl_conversation_load(&now, t->session->repo, t->c.workload, t->c.name, t->c.phase);

	if (err < 0 || !memcmp(&now.tip, &t->c.tip, sizeof(now.tip)))
		return err;
	if (now.n < n || memcmp(n ? &now.turn[n - 1].commit : &none, &t->c.tip, sizeof(none)))
		return kl_error(KL_ECHANGED, "'%s' was rewritten meanwhile", t->c.ref);
	if (!n)
		kl_conversation_take_system(&t->c, &now);
	for (size_t i = n; i < now.n; i++) {
		git_oid oid = now.turn[i].commit;

		kl_conversation_push(&t->c, &now.turn[i], &oid);
	}
	return 0;
}

static int next_turn(struct kl_talk *t, size_t turn, const struct kl_ask *ask)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	int cleared, err;

	/* who was killed while he stored the reply may yet have stored it */
	if ((err = take_turn(&lock, t)) < 0 || (err = kl_refs_recover(t->session->repo, &cleared)) < 0 ||
	    (err = refresh(t)) < 0 || (err = settle_stored(t)) < 0)
		return err;
	return turn < t->c.n ? 0 : buy(t, ask);
}

int kl_talk_ask(const char **reply, struct kl_talk *t, size_t turn, const struct kl_ask *ask)
{
	int err;

	if (turn > t->c.n)
		KL_BUG("turn %zu of a talk that has %zu", turn, t->c.n);
	if (turn == t->c.n && (err = next_turn(t, turn, ask)) < 0)
		return kl_error_in(err, "%s, turn %zu", t->c.phase, turn);
	*reply = t->c.turn[turn].reply;
	return 0;
}
