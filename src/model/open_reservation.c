/* SPDX-License-Identifier: Apache-2.0 */
#include "model/open_reservation.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/conversation.h"
#include "model/session_impl.h"
#include "repo/refs.h"
#include "text/yaml_node.h"

struct settler {
	struct kl_unsettled *u;
	int64_t left;          /* of what the user said */
	struct kl_strvec open; /* "<name>/<phase>" of those that have open ones */
};

static void settler_release(struct settler *s)
{
	kl_strvec_release(&s->open);
}

/* --- which are open -------------------------------------------------------------- */

/* ids of all that were settled */
static void note_settled(struct kl_map *ids, const struct kl_ledger *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->e[i].settles)
			kl_map_put(ids, l->e[i].id, (void *)l);
}

static bool is_meant(const struct kl_unsettled *u, const struct kl_ledger_entry *e)
{
	return (!u->name || !strcmp(u->name, e->name)) &&
	       (!u->phase || !strcmp(u->phase, e->phase));
}

/* the ledger may come from anybody, and names become a path */
static bool is_name(const struct kl_ledger_entry *e)
{
	return kl_node_is_slug(e->name) && kl_node_is_slug(e->phase);
}

static int find_open(struct settler *s)
{
	KL_AUTO(kl_ledger_release) struct kl_ledger l = { 0 };
	KL_AUTO(kl_map_release) struct kl_map ids = { 0 };
	int err = kl_ledger_load(&l, s->u->repo, s->u->workload);

	if (err < 0)
		return err;
	note_settled(&ids, &l);
	for (size_t i = 0; i < l.n; i++) {
		const struct kl_ledger_entry *e = &l.e[i];

		if (!e->settles && !kl_map_get(&ids, e->id) && is_meant(s->u, e) && is_name(e))
			kl_strvec_pushf(&s->open, "%s/%s", e->name, e->phase);
	}
	kl_strvec_uniq(&s->open);
	return 0;
}

/* --- what one did cost ------------------------------------------------------------- */

static const struct kl_turn *turn_of(const struct kl_conversation *c, const char *id)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->turn[i].reservation && !strcmp(c->turn[i].reservation, id))
			return &c->turn[i];
	return NULL;
}

/* what was said is for all of them: the first bears it */
static int64_t take_stated(struct settler *s)
{
	int64_t nano = s->left;

	s->left = 0;
	return nano;
}

static int settle_one(struct settler *s, const struct kl_ledger_entry *e, const struct kl_turn *t)
{
	struct kl_unsettled *u = s->u;
	struct kl_reservation r = { .nano = e->nano };
	enum kl_settled_by by = t       ? KL_SETTLED_REPLY :
				u->cost ? KL_SETTLED_STATED :
					  KL_SETTLED_WORST;
	struct kl_ledger_bill bill = {
		.budget = e->budget,
		.name = e->name,
		.phase = e->phase,
		.model = e->model,
		.turn = e->turn,
		.reservation = &r,
		.nano = t ? t->nano : e->nano,
		.usage = t ? &t->usage : NULL,
		.stated = by == KL_SETTLED_STATED,
	};
	int err;

	memcpy(r.id, e->id, sizeof(r.id));
	if (bill.stated)
		bill.nano = take_stated(s);
	if ((err = kl_ledger_settle(u->repo, u->workload, &bill, NULL)) < 0)
		return err;
	if (u->tell)
		u->tell(e, bill.nano, by, u->payload);
	return 0;
}

/* --- a conversation ---------------------------------------------------------------------- */

struct account {
	struct kl_ledger l;
	struct kl_map ids;
	struct kl_conversation c;
};

static void account_release(struct account *t)
{
	kl_ledger_release(&t->l);
	kl_map_release(&t->ids);
	kl_conversation_release(&t->c);
}

/* as things stand once the conversation is locked: its owner may have settled meanwhile */
static int account_load(struct account *t, const struct kl_unsettled *u, const char *name,
			const char *phase)
{
	int err;

	if ((err = kl_ledger_load(&t->l, u->repo, u->workload)) < 0 ||
	    (err = kl_conversation_load(&t->c, u->repo, u->workload, name, phase)) < 0)
		return err;
	note_settled(&t->ids, &t->l);
	return 0;
}

static bool is_open(const struct account *t, const struct kl_ledger_entry *e)
{
	return !e->settles && !kl_map_get(&t->ids, e->id) && !strcmp(e->name, t->c.name) &&
	       !strcmp(e->phase, t->c.phase);
}

static int settle_conversation(struct settler *s, const struct account *t)
{
	for (size_t i = 0; i < t->l.n; i++) {
		const struct kl_ledger_entry *e = &t->l.e[i];
		const struct kl_turn *turn;
		int err;

		if (!is_open(t, e))
			continue;
		turn = turn_of(&t->c, e->id);
		if (!turn && s->u->stored_only)
			continue;
		if ((err = settle_one(s, e, turn)) < 0)
			return err;
	}
	return 0;
}

static void under_way(struct settler *s, const struct account *t)
{
	for (size_t i = 0; i < t->l.n && s->u->tell; i++)
		if (is_open(t, &t->l.e[i]))
			s->u->tell(&t->l.e[i], 0, KL_SETTLED_NOT, s->u->payload);
}

static int settle_named(struct settler *s, const char *which)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	KL_AUTO(account_release) struct account t = { 0 };
	KL_AUTO(kl_freep) char *name = kl_strndup(which, strcspn(which, "/"));
	const char *phase = which + strlen(name) + 1;
	int cleared, err = 0;

	if (!s->u->locked)
		err = kl_conversation_lock(&lock, s->u->repo, s->u->workload, name, phase, 0);
	if (err == KL_EBUSY) {
		kl_error_clear();
		if (!(err = account_load(&t, s->u, name, phase)))
			under_way(s, &t);
		return err;
	}
	/* who was killed while he stored the reply may yet have stored it */
	if (err < 0 || (err = kl_refs_recover(s->u->repo, &cleared)) < 0 ||
	    (err = account_load(&t, s->u, name, phase)) < 0)
		return err;
	return settle_conversation(s, &t);
}

int kl_unsettled_settle(struct kl_unsettled *u)
{
	KL_AUTO(settler_release) struct settler s = { .u = u, .left = u->cost ? *u->cost : 0 };
	int err = find_open(&s);

	for (size_t i = 0; !err && i < s.open.n; i++)
		err = settle_named(&s, s.open.v[i]);
	return err;
}
