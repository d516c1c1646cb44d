/* SPDX-License-Identifier: Apache-2.0 */
#include "model/open_reservation.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/conversation.h"
#include "model/session_impl.h"
#include "repo/refs.h"
#include "text/name.h"

struct settler {
	struct kl_open_reservations *u;
	int64_t left;          /* rest of the cost that the user stated, nano-dollars */
	struct kl_strvec open; /* "<name>/<phase>" of conversations with open reservations */
};

static void settler_release(struct settler *settler)
{
	kl_strvec_release(&settler->open);
}

/* --- open reservations ----------------------------------------------------------- */

/* Add the ids of all settled reservations to `ids`. */
static void note_settled(struct kl_map *ids, const struct kl_ledger *ledger)
{
	for (size_t i = 0; i < ledger->n; i++)
		if (ledger->e[i].kind != KL_LEDGER_RESERVE)
			kl_map_put(ids, ledger->e[i].id, (void *)ledger);
}

static int load_ledger(struct kl_ledger *out, const struct kl_open_reservations *reservations)
{
	KL_AUTO(kl_freep) char *account = kl_ledger_account(reservations->workload,
							    reservations->purse);

	return kl_ledger_load(out, reservations->repo, account);
}

static bool is_meant(const struct kl_open_reservations *reservations,
		     const struct kl_ledger_entry *entry)
{
	return (!reservations->name || !strcmp(reservations->name, entry->name)) &&
	       (!reservations->phase || !strcmp(reservations->phase, entry->phase));
}

/*
 * Return true if the name and the phase of an entry are valid. They come from an untrusted ledger
 * and become part of a path.
 */
static bool is_name(const struct kl_ledger_entry *entry)
{
	return kl_name_is_slug(entry->name) && kl_name_is_slug(entry->phase);
}

static int find_open(struct settler *settler)
{
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	KL_AUTO(kl_map_release) struct kl_map ids = { 0 };
	int err = load_ledger(&ledger, settler->u);

	if (err < 0)
		return err;
	note_settled(&ids, &ledger);
	for (size_t i = 0; i < ledger.n; i++) {
		const struct kl_ledger_entry *entry = &ledger.e[i];

		if (entry->kind == KL_LEDGER_RESERVE && !kl_map_get(&ids, entry->id) &&
		    is_meant(settler->u, entry) && is_name(entry))
			kl_strvec_pushf(&settler->open, "%s/%s", entry->name, entry->phase);
	}
	kl_strvec_uniq(&settler->open);
	return 0;
}

/* --- settling one reservation ------------------------------------------------------ */

static const struct kl_turn *turn_of(const struct kl_conversation *conversation, const char *id)
{
	for (size_t i = 0; i < conversation->n; i++)
		if (conversation->turn[i].reservation &&
		    !strcmp(conversation->turn[i].reservation, id))
			return &conversation->turn[i];
	return NULL;
}

/*
 * Return the cost to book for a reservation without a stored reply. The user states the total cost
 * of all such reservations, so the first one gets the total and the others get 0.
 */
static int64_t take_stated(struct settler *settler)
{
	int64_t nano = settler->left;

	settler->left = 0;
	return nano;
}

static int settle_one(struct settler *settler, const struct kl_ledger_entry *entry,
		      const struct kl_turn *turn)
{
	struct kl_open_reservations *reservations = settler->u;
	KL_AUTO(kl_freep) char *account = kl_ledger_account(reservations->workload,
							    reservations->purse);
	struct kl_reservation reservation = { .nano = entry->nano };
	enum kl_settled_by by = turn               ? KL_SETTLED_REPLY :
				reservations->cost ? KL_SETTLED_STATED :
						     KL_SETTLED_WORST;
	struct kl_ledger_bill bill = {
		.budget = entry->budget,
		.name = entry->name,
		.phase = entry->phase,
		.model = entry->model,
		.turn = entry->turn,
		.reservation = &reservation,
		.nano = turn ? turn->nano : entry->nano,
		.usage = turn ? &turn->usage : NULL,
		.stated = by == KL_SETTLED_STATED,
		.implausible = turn && turn->implausible,
	};
	int err;

	memcpy(reservation.id, entry->id, sizeof(reservation.id));
	if (bill.stated)
		bill.nano = take_stated(settler);
	if ((err = kl_ledger_settle(reservations->repo, account, &bill, NULL)) < 0)
		return err;
	if (reservations->tell)
		reservations->tell(entry, bill.nano, by, reservations->payload);
	return 0;
}

/* --- a conversation ---------------------------------------------------------------------- */

struct account {
	struct kl_ledger l;
	struct kl_map ids;
	struct kl_conversation c;
};

static void account_release(struct account *account)
{
	kl_ledger_release(&account->l);
	kl_map_release(&account->ids);
	kl_conversation_release(&account->c);
}

/* Load ledger and conversation again: another process can have settled since find_open(). */
static int account_load(struct account *account, const struct kl_open_reservations *reservations,
			const char *name, const char *phase)
{
	int err;

	if ((err = load_ledger(&account->l, reservations)) < 0 ||
	    (err = kl_conversation_load(&account->c, reservations->repo, reservations->workload,
					name, phase)) < 0)
		return err;
	note_settled(&account->ids, &account->l);
	return 0;
}

static bool is_open(const struct account *account, const struct kl_ledger_entry *entry)
{
	return entry->kind == KL_LEDGER_RESERVE && !kl_map_get(&account->ids, entry->id) &&
	       !strcmp(entry->name, account->c.name) && !strcmp(entry->phase, account->c.phase);
}

static int settle_conversation(struct settler *settler, const struct account *account)
{
	for (size_t i = 0; i < account->l.n; i++) {
		const struct kl_ledger_entry *entry = &account->l.e[i];
		const struct kl_turn *turn;
		int err;

		if (!is_open(account, entry))
			continue;
		turn = turn_of(&account->c, entry->id);
		if (!turn && settler->u->stored_only)
			continue;
		if ((err = settle_one(settler, entry, turn)) < 0)
			return err;
	}
	return 0;
}

static void under_way(struct settler *settler, const struct account *account)
{
	for (size_t i = 0; i < account->l.n && settler->u->tell; i++)
		if (is_open(account, &account->l.e[i]))
			settler->u->tell(&account->l.e[i], 0, KL_SETTLED_NOT, settler->u->payload);
}

static int settle_named(struct settler *settler, const char *which)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	KL_AUTO(account_release) struct account account = { 0 };
	KL_AUTO(kl_freep) char *name = kl_strndup(which, strcspn(which, "/"));
	const char *phase = which + strlen(name) + 1;
	int cleared, err = 0;

	if (!settler->u->locked)
		err = kl_conversation_lock(&lock, settler->u->repo, settler->u->workload, name,
					   phase, 0);
	if (err == KL_EBUSY) {
		kl_error_clear();
		if (!(err = account_load(&account, settler->u, name, phase)))
			under_way(settler, &account);
		return err;
	}
	/* a process killed while storing a reply can have left a transaction to complete */
	if (err < 0 || (err = kl_refs_recover(settler->u->repo, &cleared)) < 0 ||
	    (err = account_load(&account, settler->u, name, phase)) < 0)
		return err;
	return settle_conversation(settler, &account);
}

int kl_open_reservations_settle(struct kl_open_reservations *reservations)
{
	KL_AUTO(settler_release) struct settler settler = {
		.u = reservations, .left = reservations->cost ? *reservations->cost : 0
	};
	int err = find_open(&settler);

	for (size_t i = 0; !err && i < settler.open.n; i++)
		err = settle_named(&settler, settler.open.v[i]);
	return err;
}
