/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/materialize_estimate.h"

#include <string.h>

#include "apply/materialize_parts.h"
#include "rewrite/brief.h"

/* tokens of a model's reply, not counting the code in it */
#define SHORT_REPLY 400 /* a reply that only describes the edit */
#define LONG_REPLY 6000 /* a reply that also contains reasoning */
#define BYTES_PER_TOKEN 3
#define EVIDENCE 3000 /* bytes that the gate's result adds to each turn */
#define FEWEST 2 /* least number of requests: one for a step, one in which the model gives up */

static int add_cards(struct kl_buf *out, struct kl_materialize_estimate *estimate,
		     const struct kl_materialize_opts *opts)
{
	struct kl_materialization materialization = { .left_out = KL_STRVEC_INIT };
	struct kl_materialize_node root = { .commit = opts->commit,
					    .state = (struct kl_surface *)opts->root };
	struct kl_materialize_run run = { .o = opts,
					  .m = &materialization,
					  .platform = (char *)opts->platform };
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	int err;

	materialization.node = &root;
	materialization.nnode = 1;
	err = opts->arm == KL_CARDS_NONE ? 0 : kl_materialize_pool(&pool, &run, 0, 0);
	for (size_t i = 0; !err && i < pool.n && out->len < KL_MATERIALIZE_PREFIX_MAX; i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

		if (!(err = kl_index_load(&card, opts->index, opts->library, pool.v[i].card))) {
			kl_agent_card(out, card, opts->arm);
			estimate->cards++;
		}
	}
	return err;
}

static void add_requests(struct kl_materialize_estimate *estimate, int bound,
			 const struct kl_session *session)
{
	for (int64_t turn = 0; turn < estimate->requests[bound]; turn++) {
		int64_t all = estimate->prefix_bytes + estimate->state_bytes +
			      turn * (estimate->reply_tokens[bound] * BYTES_PER_TOKEN + EVIDENCE);
		int64_t cost[2], spare;

		kl_session_cost(&cost[0], &spare, session, all, estimate->reply_tokens[bound]);
		kl_session_cost(&spare, &cost[1], session, all / BYTES_PER_TOKEN,
				estimate->reply_tokens[bound]);
		estimate->nano[bound] += cost[bound];
	}
}

int kl_materialize_estimate(struct kl_materialize_estimate *out,
			    const struct kl_materialize_opts *opts)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf cards = KL_BUF_INIT;
	int err;

	*out = (struct kl_materialize_estimate){ 0 };
	if ((err = add_cards(&cards, out, opts)) < 0 ||
	    (err = kl_brief_system_cards(&texts, opts->repo, "materialize", opts->root,
					 cards.ptr ? cards.ptr : "")) < 0)
		return err;
	for (size_t i = 0; i < texts.n; i++)
		out->prefix_bytes += (int64_t)strlen(texts.v[i]);
	for (size_t i = 0; i < opts->root->nfile; i++)
		out->state_bytes += (int64_t)opts->root->file[i].len;
	out->requests[0] = FEWEST;
	/* when no card is left, the model can still make free steps */
	out->requests[1] = KL_DIALOGUE_TURNS;
	out->reply_tokens[0] = SHORT_REPLY + out->state_bytes / BYTES_PER_TOKEN / 4;
	out->reply_tokens[1] = LONG_REPLY + out->state_bytes / BYTES_PER_TOKEN;
	for (int bound = 0; bound < 2; bound++)
		add_requests(out, bound, opts->session);
	return 0;
}
