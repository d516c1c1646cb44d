/* SPDX-License-Identifier: Apache-2.0 */
/* materialize_offer - shows cards to a model, and offers those that fit a node */
#include <string.h>

#include "apply/materialize_climber.h"
#include "base/error.h"
#include "rewrite/prompt.h"

/* --- showing cards ---------------------------------------------------------------------------- */

static int load_card(struct kl_card **out, const struct kl_materialize_climber *climber,
		     size_t card)
{
	return kl_index_load(out, climber->run->o->index, climber->run->o->library, card);
}

int kl_materialize_tell_card(bool *ok, struct kl_buf *out, struct kl_materialize_climber *climber,
			     const struct kl_retrieved *retrieved)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	*ok = kl_strvec_has(&climber->told, retrieved->id);
	if (*ok || kl_strvec_has(&climber->run->m->left_out, retrieved->id))
		return 0;
	if ((err = load_card(&card, climber, retrieved->card)) < 0)
		return err;
	kl_agent_card(&text, card, climber->run->o->arm);
	*ok = climber->told_bytes + text.len <= KL_MATERIALIZE_PREFIX_MAX;
	kl_strvec_push(*ok ? &climber->told : &climber->run->m->left_out, retrieved->id);
	kl_strvec_uniq(*ok ? &climber->told : &climber->run->m->left_out);
	if (!*ok)
		return 0;
	climber->told_bytes += text.len;
	kl_buf_add(out, text.ptr, text.len);
	kl_buf_addch(out, '\n');
	return 0;
}

/*
 * Check that the conversation's system texts have the card. A stored conversation can have other
 * cards than this run.
 */
static bool is_told(const struct kl_materialize_climber *climber, const char *card)
{
	KL_AUTO(kl_freep) char *whole = kl_asprintf("\nid: %s\n", card);
	KL_AUTO(kl_freep) char *label = kl_asprintf("\n%s: ", card);
	const struct kl_conversation *conversation = &climber->driver.conversation;

	for (size_t i = 0; i < conversation->nsystem; i++)
		if (strstr(conversation->system[i], whole) ||
		    strstr(conversation->system[i], label))
			return true;
	return false;
}

void kl_materialize_forget_untold(struct kl_materialize_climber *climber)
{
	struct kl_strvec told = climber->told;

	climber->told = (struct kl_strvec)KL_STRVEC_INIT;
	for (size_t i = 0; i < told.n; i++)
		if (is_told(climber, told.v[i]))
			kl_strvec_push(&climber->told, told.v[i]);
	kl_strvec_release(&told);
}

/* --- offering cards -------------------------------------------------------------------------- */

static char *closed_key(size_t at, const char *card)
{
	return kl_asprintf("%zu %s", at, card);
}

void kl_materialize_close_card(struct kl_materialize_climber *climber, size_t at, const char *card)
{
	KL_AUTO(kl_freep) char *key = closed_key(at, card);

	kl_map_put(&climber->closed, key, climber);
}

static bool may_offer(const struct kl_materialize_climber *climber,
		      const struct kl_retrieved *retrieved)
{
	KL_AUTO(kl_freep) char *key = closed_key(climber->at, retrieved->id);

	return !kl_map_get(&climber->closed, key) &&
	       (!climber->only.n || kl_strvec_has(&climber->only, retrieved->id));
}

static void offer_card(struct kl_materialize_climber *climber, const struct kl_retrieved *retrieved,
		       struct kl_buf *list)
{
	kl_buf_addf(list, "%zu. %s (%s", ++climber->noffer, retrieved->id,
		    kl_card_status_name(retrieved->status));
	for (size_t i = 0; i < retrieved->needs.n; i++)
		kl_buf_addf(list, "%s%s", i ? ", " : "; after ", retrieved->needs.v[i]);
	kl_buf_addf(list, ")\n");
	kl_buf_addf(&climber->offered, "%s%s", climber->offered.len ? " " : "", retrieved->id);
}

int kl_materialize_make_offer(struct kl_materialize_climber *climber)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf cards = KL_BUF_INIT;
	int err = 0;

	kl_buf_release(&climber->offer);
	kl_buf_release(&climber->offered);
	climber->offer = climber->offered = (struct kl_buf)KL_BUF_INIT;
	climber->noffer = 0;
	if (climber->run->o->arm == KL_CARDS_NONE)
		return 0;
	if (!climber->pooled) {
		kl_retrieval_release(&climber->pool);
		climber->pool = (struct kl_retrieval){ 0 };
		err = kl_materialize_pool(&climber->pool, climber->run, climber->at, 0);
		climber->pooled = !err;
	}
	for (size_t i = 0; !err && i < climber->pool.n; i++) {
		bool ok = false;

		if (!may_offer(climber, &climber->pool.v[i]))
			continue;
		err = kl_materialize_tell_card(&ok, &cards, climber, &climber->pool.v[i]);
		if (ok)
			offer_card(climber, &climber->pool.v[i], &list);
	}
	if (err < 0 || !climber->noffer)
		return err;
	if (cards.len)
		kl_buf_addf(&climber->offer, "More cards, which fit it now:\n\n%s\n", cards.ptr);
	kl_buf_adds(&climber->offer, "Cards that fit it, in the order to try:\n\n");
	kl_prompt_fence(&climber->offer, "", list.ptr, list.len);
	return 0;
}

/* --- taking the card that a reply names ------------------------------------------------------- */

static size_t index_find(const struct kl_index *ix, const char *id)
{
	for (size_t i = 0; i < kl_index_count(ix); i++)
		if (!strcmp(kl_index_string(ix, kl_index_card(ix, i)->id), id))
			return i;
	return SIZE_MAX;
}

/*
 * Check that the current turn offered the card. The key of a stored turn lists what was offered when
 * the turn was sent, which can differ from what this run would offer.
 */
static bool was_offered(const struct kl_materialize_climber *climber, const char *id)
{
	const struct kl_driver *driver = &climber->driver;
	const char *key = driver->conversation.turn[driver->dialogue.turn].key;
	const char *line = key ? strstr(key, "\n" KL_AGENT_OFFERED " ") : NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *list = NULL;

	if (!line)
		return false;
	line += strlen("\n" KL_AGENT_OFFERED " ");
	list = kl_strndup(line, strcspn(line, "\n"));
	kl_strvec_split(&ids, list, " ");
	for (size_t i = 0; i < ids.n; i++)
		if (!strcmp(ids.v[i], id))
			return true;
	return false;
}

int kl_materialize_named_card(struct kl_card **out, struct kl_materialize_attempt *attempt,
			      const struct kl_materialize_climber *climber, const char *id)
{
	const struct kl_index *ix = climber->run->o->index;
	size_t card;

	if (!id || !*id) {
		attempt->free = KL_FREE_NO_CARD;
		return 0;
	}
	card = was_offered(climber, id) ? index_find(ix, id) : SIZE_MAX;
	if (card == SIZE_MAX) {
		attempt->free = KL_FREE_NOT_OFFERED;
		return 0;
	}
	attempt->status = (enum kl_card_status)kl_index_card(ix, card)->status;
	kl_oid_hex(attempt->blob, &kl_index_card(ix, card)->blob);
	return load_card(out, climber, card);
}
