/* SPDX-License-Identifier: Apache-2.0 */
/* witness_record - writes the judged kernel as a commit and updates the card's conditions */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "learn/witness_parts.h"
#include "walk/step.h"

/* --- writing the judged surface as a commit --------------------------------------------------- */

static void add_edits(struct kl_tree_edit *edit, struct kl_strvec *paths, const char *dir,
		      const struct kl_file *file, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		kl_strvec_pushf(paths, "%s%s%s", dir, *dir ? "/" : "", file[i].path);
		edit[i] = (struct kl_tree_edit){ .data = file[i].data, .len = file[i].len };
	}
}

static int edit_tree(git_oid *tree, struct kl_repo *repo, const char *dir,
		     const struct kl_file *file, size_t n)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	struct kl_tree_edit *edit = kl_calloc(n + 1, sizeof(*edit));
	int err;

	add_edits(edit, &paths, dir, file, n);
	for (size_t i = 0; i < n; i++)
		edit[i].path = paths.v[i];
	err = kl_repo_tree_edit(tree, repo, tree, edit, n);
	free(edit);
	return err;
}

/* Replace all files of the surface, because contract and plan can differ from the parent's. */
static int tree_of(git_oid *out, struct kl_repo *repo, const git_oid *parent,
		   const struct kl_surface *surface)
{
	int err = kl_repo_tree_of(out, repo, parent);

	/* a file can be both source and oracle, so edit the two sets one after the other */
	if (!err)
		err = edit_tree(out, repo, surface->dir, surface->file, surface->nfile);
	if (!err)
		err = edit_tree(out, repo, surface->dir, surface->oracle, surface->noracle);
	return err < 0 ? err : edit_tree(out, repo, surface->dir, &surface->contract_file, 1);
}

static int message_of(struct kl_buf *out, struct kl_witness_search *search,
		      const struct kl_transition *transition, const struct kl_judgement *judgement,
		      const char *what)
{
	bool fail = judgement->event->verdict != KL_VERDICT_PASS;
	KL_AUTO(kl_step_release) struct kl_step step = {
		.kind = fail ? KL_STEP_REJECTED : KL_STEP_FORWARD,
		.forward = true,
		.number = transition->step.number,
		.action = kl_strdup("witness"),
		.rewriter = kl_strdup("witness"),
		.class_ = fail ? kl_strdup(kl_event_class(judgement->event)) : NULL,
		.text = kl_asprintf("Where '%s' of card %s is false:\n%s.", search->r->pre,
				    search->card->id, what),
	};
	char blob[KL_OID_HEX];
	size_t at;
	int err = kl_library_find(&at, search->o->library, search->card->id);

	if (err < 0)
		return err;
	kl_oid_hex(blob, kl_library_blob(search->o->library, at));
	kl_step_message(out, &step);
	kl_buf_addf(out, "Klineage-Skill: %s@%s\n", search->card->id, blob);
	return 0;
}

int kl_witness_keep(struct kl_witness_search *search, const struct kl_transition *transition,
		    const git_oid *parent, const struct kl_surface *surface,
		    const struct kl_judgement *judgement, const char *what)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	struct kl_commit_spec spec = { .parent = parent, .nparent = 1 };
	git_oid made;
	int err = message_of(&message, search, transition, judgement, what);

	spec.message = message.ptr;
	if (err < 0 || (err = tree_of(&spec.tree, search->o->repo, parent, surface)) < 0 ||
	    (err = kl_repo_commit_write(&made, search->o->repo, &spec)) < 0)
		return err;
	return kl_keep_add(&search->keep, &made,
			   &(struct kl_card_commit){
				   .card = search->card,
				   .class_ = kl_event_class(judgement->event),
				   .event = judgement->event,
			   });
}

/* --- changing the card ------------------------------------------------------------------------ */

static char *new_id(const struct kl_card *card, const char *id)
{
	for (int i = 2;; i++) {
		char *out = kl_asprintf("%.56s-%d", id, i);

		if (!kl_card_has_pre(card, out))
			return out;
		free(out);
	}
}

/* Append a condition to the card's `sound` list; takes ownership of its strings. */
static void add_pre(struct kl_card *card, struct kl_card_pre pre)
{
	KL_GROW(card->sound.v, card->sound.n + 1, card->sound.alloc);
	card->sound.v[card->sound.n++] = pre;
}

static struct kl_card_pre take_pre(struct kl_card *card, size_t at)
{
	struct kl_card_pre pre = card->sound.v[at];

	card->sound.n--;
	memmove(card->sound.v + at, card->sound.v + at + 1, (card->sound.n - at) * sizeof(pre));
	return pre;
}

/*
 * Join the clauses whose outcome is `end`. Return `test` unchanged if all clauses have this
 * outcome, NULL if no clause has it.
 */
static char *test_of(const struct kl_witness_search *search, const char *test,
		     enum kl_witness_end end)
{
	KL_AUTO(kl_freep) bool *keep = kl_calloc(search->r->n + 1, sizeof(*keep));
	size_t n = 0;

	for (size_t i = 0; i < search->r->n; i++)
		n += keep[i] = search->r->clause[i].end == end;
	return n == search->r->n ? kl_strdup(test) : kl_clauses_join(&search->clauses, keep);
}

static void add_risk(struct kl_card *card, const struct kl_witness_clause *clause, const char *id)
{
	struct kl_card_risk risk = {
		.class_ = kl_strdup(clause->class_),
		.violates = kl_strdup(id),
		.text = kl_asprintf("without '%.400s', at %.400s", clause->text, clause->at),
	};

	kl_strvec_push(&risk.events, clause->event);
	kl_card_add_risk(card, &risk);
}

static void add_witnessed(struct kl_card *card, const struct kl_witness_search *search,
			  const struct kl_card_pre *old, size_t i)
{
	const struct kl_witness_clause *clause = &search->r->clause[i];
	char *id = kl_card_has_pre(card, old->id) ? new_id(card, old->id) : kl_strdup(old->id);

	add_pre(card, (struct kl_card_pre){
			      .id = id,
			      .text = kl_strdup(old->text),
			      .test = search->r->n == 1 ? kl_strdup(old->test) :
							  kl_clauses_one(&search->clauses, i),
			      .state = KL_PRE_WITNESSED,
			      .by = kl_strdup(clause->event),
			      .class_ = kl_strdup(clause->class_),
			      .source = old->source ? kl_strdup(old->source) : NULL,
		      });
	add_risk(card, clause, id);
}

/* Remove the references of all risks to a condition that is removed. */
static void forget_pre(struct kl_card *card, const char *id)
{
	for (size_t i = 0; i < card->risk.n; i++)
		if (card->risk.v[i].violates && !strcmp(card->risk.v[i].violates, id)) {
			free(card->risk.v[i].violates);
			card->risk.v[i].violates = NULL;
		}
}

/*
 * Split the condition by the outcomes of its clauses: open clauses stay together in one condition,
 * each witnessed clause becomes a condition with its event, and clauses that are not needed are
 * removed.
 */
static void change_card(struct kl_card *card, const struct kl_witness_search *search, size_t pre)
{
	struct kl_card_pre old = take_pre(card, pre);
	char *open = test_of(search, old.test, KL_WITNESS_OPEN);

	if (open)
		add_pre(card, (struct kl_card_pre){
				      .id = kl_strdup(old.id),
				      .text = kl_strdup(old.text),
				      .test = open,
				      .state = old.state,
				      .source = old.source ? kl_strdup(old.source) : NULL,
			      });
	for (size_t i = 0; i < search->r->n; i++)
		if (search->r->clause[i].end == KL_WITNESS_FAILS)
			add_witnessed(card, search, &old, i);
	if (!kl_card_has_pre(card, old.id))
		forget_pre(card, old.id);
	kl_card_pre_release(&old);
	kl_card_normalize(card);
}

/* --- putting the card into the library -------------------------------------------------------- */

static void add_result(struct kl_buf *body, const struct kl_witness_clause *clause)
{
	kl_buf_addf(body, "%s%s: ", body->len ? "\n" : "", clause->text);
	if (clause->end == KL_WITNESS_FAILS)
		kl_buf_addf(body, "%s without it\n  %s\n  event %s", clause->class_, clause->at,
			    clause->event);
	else if (clause->end == KL_WITNESS_PASSES)
		kl_buf_addf(body, "not needed, right without it\n  %s\n  event %s", clause->at,
			    clause->event);
	else
		kl_buf_addf(body, "open, %s", clause->why ? clause->why : "nothing was judged");
}

int kl_witness_put(struct kl_witness_search *search, size_t pre)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = kl_card_copy(search->card);
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *subject = NULL;
	size_t n[3] = { 0 };
	int err;

	for (size_t i = 0; i < search->r->n; i++) {
		n[search->r->clause[i].end]++;
		add_result(&body, &search->r->clause[i]);
	}
	subject = kl_asprintf("witness: %s '%s', %zu witnessed, %zu not needed", search->card->id,
			      search->r->pre, n[KL_WITNESS_FAILS], n[KL_WITNESS_PASSES]);
	change_card(card, search, pre);
	if ((err = KL_FAULT("witness-put")) < 0)
		return err;
	err = kl_library_put(search->o->library,
			     &(struct kl_library_change){
				     .card = card,
				     .base = search->card,
				     .events = &search->events,
				     .subject = subject,
				     .body = body.ptr,
				     .also = search->keep.n ? kl_keep_into : NULL,
				     .payload = &search->keep,
			     });
	search->r->put = !err;
	return err;
}
