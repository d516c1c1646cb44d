/* SPDX-License-Identifier: Apache-2.0 */
/* witness_record - records a witness: a commit of what was judged, and the card's new conditions */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "learn/witness_parts.h"
#include "walk/step.h"

/* --- what was judged becomes a commit --------------------------------------------------------- */

static void add_edits(struct kl_tree_edit *e, struct kl_strvec *paths, const char *dir,
		      const struct kl_file *file, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		kl_strvec_pushf(paths, "%s%s%s", dir, *dir ? "/" : "", file[i].path);
		e[i] = (struct kl_tree_edit){ .data = file[i].data, .len = file[i].len };
	}
}

static int edit_tree(git_oid *tree, struct kl_repo *r, const char *dir, const struct kl_file *file,
		     size_t n)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	struct kl_tree_edit *e = kl_calloc(n + 1, sizeof(*e));
	int err;

	add_edits(e, &paths, dir, file, n);
	for (size_t i = 0; i < n; i++)
		e[i].path = paths.v[i];
	err = kl_repo_tree_edit(tree, r, tree, e, n);
	free(e);
	return err;
}

/* all its files: of a state, the contract may differ, and launch plans */
static int tree_of(git_oid *out, struct kl_repo *r, const git_oid *parent,
		   const struct kl_surface *s)
{
	int err = kl_repo_tree_of(out, r, parent);

	/* a file may be source and oracle: one set after the other */
	if (!err)
		err = edit_tree(out, r, s->dir, s->file, s->nfile);
	if (!err)
		err = edit_tree(out, r, s->dir, s->oracle, s->noracle);
	return err < 0 ? err : edit_tree(out, r, s->dir, &s->contract_file, 1);
}

static int message_of(struct kl_buf *out, struct kl_seeker *s, const struct kl_transition *t,
		      const struct kl_judgement *v, const char *what)
{
	bool fail = v->event->verdict != KL_VERDICT_PASS;
	KL_AUTO(kl_step_release) struct kl_step step = {
		.kind = fail ? KL_STEP_REJECTED : KL_STEP_FORWARD,
		.forward = true,
		.number = t->step.number,
		.action = kl_strdup("witness"),
		.rewriter = kl_strdup("witness"),
		.class_ = fail ? kl_strdup(kl_event_class(v->event)) : NULL,
		.text = kl_asprintf("Where '%s' of card %s is false:\n%s.", s->r->pre, s->card->id,
				    what),
	};
	char blob[KL_OID_HEX];
	size_t at;
	int err = kl_library_find(&at, s->o->library, s->card->id);

	if (err < 0)
		return err;
	kl_oid_hex(blob, kl_library_blob(s->o->library, at));
	kl_step_message(out, &step);
	kl_buf_addf(out, "Klineage-Skill: %s@%s\n", s->card->id, blob);
	return 0;
}

int kl_witness_keep(struct kl_seeker *s, const struct kl_transition *t, const git_oid *parent,
		    const struct kl_surface *surface, const struct kl_judgement *v,
		    const char *what)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	struct kl_commit_spec spec = { .parent = parent, .nparent = 1 };
	git_oid made;
	int err = message_of(&message, s, t, v, what);

	spec.message = message.ptr;
	if (err < 0 || (err = tree_of(&spec.tree, s->o->repo, parent, surface)) < 0 ||
	    (err = kl_repo_commit_write(&made, s->o->repo, &spec)) < 0)
		return err;
	return kl_keep_add(&s->keep, &made,
			   &(struct kl_made){
				   .card = s->card,
				   .class_ = kl_event_class(v->event),
				   .event = v->event,
			   });
}

/* --- into the card ---------------------------------------------------------------------------- */

static char *new_id(const struct kl_card *c, const char *id)
{
	for (int i = 2;; i++) {
		char *out = kl_asprintf("%.56s-%d", id, i);

		if (!kl_card_has_pre(c, out))
			return out;
		free(out);
	}
}

/* takes the strings */
static void add_pre(struct kl_card *c, struct kl_card_pre p)
{
	KL_GROW(c->sound.v, c->sound.n + 1, c->sound.alloc);
	c->sound.v[c->sound.n++] = p;
}

static struct kl_card_pre take_pre(struct kl_card *c, size_t at)
{
	struct kl_card_pre p = c->sound.v[at];

	c->sound.n--;
	memmove(c->sound.v + at, c->sound.v + at + 1, (c->sound.n - at) * sizeof(p));
	return p;
}

/* those of one fate as a predicate; all of them are the text that it was */
static char *test_of(const struct kl_seeker *s, const char *test, enum kl_witness_end end)
{
	KL_AUTO(kl_freep) bool *keep = kl_calloc(s->r->n + 1, sizeof(*keep));
	size_t n = 0;

	for (size_t i = 0; i < s->r->n; i++)
		n += keep[i] = s->r->clause[i].end == end;
	return n == s->r->n ? kl_strdup(test) : kl_clauses_join(&s->clauses, keep);
}

static void add_risk(struct kl_card *c, const struct kl_witness_clause *k, const char *id)
{
	struct kl_card_risk risk = {
		.class_ = kl_strdup(k->class_),
		.violates = kl_strdup(id),
		.text = kl_asprintf("without '%.400s', at %.400s", k->text, k->at),
	};

	kl_strvec_push(&risk.events, k->event);
	kl_card_add_risk(c, &risk);
}

static void add_witnessed(struct kl_card *c, const struct kl_seeker *s,
			  const struct kl_card_pre *old, size_t i)
{
	const struct kl_witness_clause *k = &s->r->clause[i];
	char *id = kl_card_has_pre(c, old->id) ? new_id(c, old->id) : kl_strdup(old->id);

	add_pre(c, (struct kl_card_pre){
			   .id = id,
			   .text = kl_strdup(old->text),
			   .test = s->r->n == 1 ? kl_strdup(old->test) :
						  kl_clauses_one(&s->clauses, i),
			   .state = KL_PRE_WITNESSED,
			   .by = kl_strdup(k->event),
			   .class_ = kl_strdup(k->class_),
		   });
	add_risk(c, k, id);
}

/* a risk violates what is there */
static void forget_pre(struct kl_card *c, const char *id)
{
	for (size_t i = 0; i < c->risk.n; i++)
		if (c->risk.v[i].violates && !strcmp(c->risk.v[i].violates, id)) {
			free(c->risk.v[i].violates);
			c->risk.v[i].violates = NULL;
		}
}

/*
 * what is open stays one condition, what is witnessed has one of its own for each event, the rest
 * goes
 */
static void change_card(struct kl_card *c, const struct kl_seeker *s, size_t pre)
{
	struct kl_card_pre old = take_pre(c, pre);
	char *open = test_of(s, old.test, KL_WITNESS_OPEN);

	if (open)
		add_pre(c, (struct kl_card_pre){
				   .id = kl_strdup(old.id),
				   .text = kl_strdup(old.text),
				   .test = open,
			   });
	for (size_t i = 0; i < s->r->n; i++)
		if (s->r->clause[i].end == KL_WITNESS_FAILS)
			add_witnessed(c, s, &old, i);
	if (!kl_card_has_pre(c, old.id))
		forget_pre(c, old.id);
	kl_card_pre_release(&old);
	kl_card_normalize(c);
}

/* --- into the library ------------------------------------------------------------------------- */

static void add_result(struct kl_buf *body, const struct kl_witness_clause *k)
{
	kl_buf_addf(body, "%s%s: ", body->len ? "\n" : "", k->text);
	if (k->end == KL_WITNESS_FAILS)
		kl_buf_addf(body, "%s without it\n  %s\n  event %s", k->class_, k->at, k->event);
	else if (k->end == KL_WITNESS_PASSES)
		kl_buf_addf(body, "not needed, right without it\n  %s\n  event %s", k->at,
			    k->event);
	else
		kl_buf_addf(body, "open, %s", k->why ? k->why : "nothing was judged");
}

int kl_witness_put(struct kl_seeker *s, size_t pre)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = kl_card_copy(s->card);
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *subject = NULL;
	size_t n[3] = { 0 };
	int err;

	for (size_t i = 0; i < s->r->n; i++) {
		n[s->r->clause[i].end]++;
		add_result(&body, &s->r->clause[i]);
	}
	subject = kl_asprintf("witness: %s '%s', %zu witnessed, %zu not needed", s->card->id,
			      s->r->pre, n[KL_WITNESS_FAILS], n[KL_WITNESS_PASSES]);
	change_card(card, s, pre);
	if ((err = KL_FAULT("witness-put")) < 0)
		return err;
	err = kl_library_put(s->o->library, &(struct kl_library_change){
						    .card = card,
						    .base = s->card,
						    .events = &s->events,
						    .subject = subject,
						    .body = body.ptr,
						    .also = s->keep.n ? kl_keep_into : NULL,
						    .payload = &s->keep,
					    });
	s->r->put = !err;
	return err;
}
