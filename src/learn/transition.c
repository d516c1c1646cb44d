/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/transition.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "event/trust.h"
#include "lineage/import.h"
#include "lineage/view.h"
#include "repo/notes.h"
#include "repo/refs.h"
#include "retrieve/target.h"

#define MAX_STEPS 100000

static void transition_release(struct kl_transition *t)
{
	free(t->lineage);
	kl_step_release(&t->step);
	free(t->said);
	kl_surface_free(t->from);
	kl_surface_free(t->to);
	free(t->diff);
	kl_event_free(t->event);
	kl_event_free(t->confirmed);
	kl_strvec_release(&t->gained);
	kl_strvec_release(&t->lost);
	kl_strvec_release(&t->had);
	free(t->platform);
}

void kl_transitions_release(struct kl_transitions *t)
{
	for (size_t i = 0; i < t->n; i++)
		transition_release(&t->v[i]);
	for (size_t i = 0; i < t->nr; i++) {
		free(t->r[i].lineage);
		kl_step_release(&t->r[i].step);
		free(t->r[i].said);
		kl_event_free(t->r[i].event);
	}
	free(t->v);
	free(t->r);
	kl_strvec_release(&t->lineages);
	kl_strvec_release(&t->notes);
	kl_map_release(&t->events);
}

/* --- a lineage, wherever it lies ------------------------------------------------------- */

struct source {
	struct kl_transitions *t;
	struct kl_repo *repo;
	const struct kl_map *notes; /* of a directory; NULL: those of the repository */
	char *lineage;
	const git_oid *commit; /* K_0 ... */
	size_t n;
	struct kl_strvec had;      /* features of the state before */
	struct kl_surface *before; /* and its files */
	char before_surface[KL_DIGEST_HEX];
};

/* every good event of a commit goes into the common map; the ids come out, in order */
static int events_of(struct kl_strvec *ids, struct source *s, const git_oid *commit)
{
	KL_AUTO(kl_buf_release) struct kl_buf note = KL_BUF_INIT, text = KL_BUF_INIT;
	char hex[KL_OID_HEX];
	const char *lines;
	int err;

	if (s->notes) {
		kl_oid_hex(hex, commit);
		lines = kl_map_get(s->notes, hex);
		kl_buf_adds(&note, lines ? lines : "");
	} else if ((err = kl_notes_read(&note, s->repo, KL_NOTES_GATE, commit)) < 0) {
		return err;
	}
	if ((err = kl_trust_filter(&text, s->repo, note.ptr, note.len)) < 0)
		return err;
	for (const char *p = text.ptr; *p;) {
		size_t n = strcspn(p, "\n");
		struct kl_event *e = NULL;

		if (n && !kl_event_parse(&e, p, n)) {
			kl_strvec_push(ids, e->id);
			if (kl_map_get(&s->t->events, e->id))
				kl_event_free(e);
			else
				kl_map_put(&s->t->events, e->id, e);
		}
		kl_error_clear();
		p += n + (p[n] == '\n');
	}
	return 0;
}

static bool is_gate(const struct kl_event *e, enum kl_verdict verdict)
{
	return e->kind == KL_KIND_GATE && e->verdict == verdict;
}

/*
 * of a state's events the newest that passed and, where `vs` is given, was compared with that
 * surface
 */
static const struct kl_event *pick_event(const struct source *s, const struct kl_strvec *ids,
					 const char *surface, const char *vs)
{
	const struct kl_event *best = NULL;

	for (size_t i = 0; i < ids->n; i++) {
		const struct kl_event *e = kl_map_get(&s->t->events, ids->v[i]);

		if (is_gate(e, KL_VERDICT_PASS) && kl_event_is_for(e, surface, NULL) &&
		    (!vs || kl_event_is_against(e, vs)) && kl_event_is_newer(e, best))
			best = e;
	}
	return best;
}

static void set_features(struct kl_strvec *out, const struct kl_event *e)
{
	kl_strvec_release(out);
	*out = (struct kl_strvec)KL_STRVEC_INIT;
	if (e)
		kl_strvec_copy(out, &e->facts.features);
}

static void note_left_out(struct source *s, const struct kl_step *step, const char *why)
{
	kl_strvec_pushf(&s->t->notes, "%s step %d (%s): %s", s->lineage, step->number,
			step->action ? step->action : "-", why);
}

/* a trailer is nobody's words */
static char *first_line(const char *message)
{
	const char *s = strstr(message, "\n\n");

	s = s ? s + strspn(s, "\n") : "";
	return strncmp(s, "Klineage-", 9) ? kl_strndup(s, strcspn(s, "\n")) : kl_strdup("");
}

/* --- one transition ---------------------------------------------------------------------- */

static int read_surface(struct kl_surface **out, git_oid *tree, struct source *s,
			const git_oid *commit)
{
	int err = kl_repo_tree_of(tree, s->repo, commit);

	return err < 0 ? err : kl_surface_from_tree(out, s->repo, tree, "");
}

/* K_i' and what the gate says of it, where it was derived in isolation */
static int read_rederived(struct kl_transition *t, git_oid *tree, struct source *s,
			  const git_oid *commit)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	KL_AUTO(kl_surface_freep) struct kl_surface *made = NULL;
	git_oid made_tree;
	int err;

	t->rederived = *commit;
	if ((err = read_surface(&made, &made_tree, s, commit)) < 0 ||
	    (err = events_of(&ids, s, commit)) < 0)
		return err;
	t->confirmed = kl_event_ref(pick_event(s, &ids, made->digest, NULL));
	if (!t->confirmed || !t->step.derivation || strcmp(t->step.derivation, "rederived"))
		return 0;
	kl_surface_free(t->to);
	t->to = kl_steal(&made);
	*tree = made_tree;
	return 0;
}

static int diff_states(struct kl_transition *t, struct source *s, const git_oid *from,
		       const git_oid *to)
{
	struct kl_buf b = KL_BUF_INIT;
	int err = kl_repo_diff(&b, s->repo, from, to, NULL);

	t->diff = kl_buf_detach(&b);
	return err;
}

/* the state that was just read is the one before, now */
static void move_on(struct source *s, struct kl_surface *at, const struct kl_event *event)
{
	kl_surface_free(s->before);
	s->before = at;
	snprintf(s->before_surface, sizeof(s->before_surface), "%s", at->digest);
	set_features(&s->had, event);
}

static void add_transition(struct source *s, struct kl_transition *t)
{
	KL_GROW(s->t->v, s->t->n + 1, s->t->alloc);
	s->t->v[s->t->n++] = *t;
	*t = (struct kl_transition){ 0 };
}

/* tau_i, once K_i's files and events are read */
static int make_transition(struct kl_transition *t, struct source *s, size_t i,
			   const struct kl_commit *c, const struct kl_strvec *ids,
			   const struct kl_surface *at, const struct kl_event *state)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec has = KL_STRVEC_INIT;
	git_oid tree, before_tree;
	int err;

	t->before = s->commit[i - 1];
	t->after = s->commit[i];
	t->event = kl_event_ref(pick_event(s, ids, at->digest, s->before_surface));
	set_features(&has, state);
	kl_strvec_minus(&t->gained, &has, &s->had);
	kl_strvec_minus(&t->lost, &s->had, &has);
	kl_strvec_copy(&t->had, &s->had);
	if ((err = read_surface(&t->from, &before_tree, s, &t->before)) < 0 ||
	    (err = read_surface(&t->to, &tree, s, &t->after)) < 0)
		return err;
	if (c->nparent > 1 && (err = read_rederived(t, &tree, s, &c->parent[1])) < 0)
		return err;
	t->platform = kl_strdup(t->event ? t->event->place.id : "");
	t->dtype = kl_target_dtype(t->from->contract);
	if (!*t->dtype)
		t->dtype = "none";
	return diff_states(t, s, &before_tree, &tree);
}

static int read_step(struct source *s, size_t i)
{
	KL_AUTO(transition_release) struct kl_transition t = { .lineage = kl_strdup(s->lineage) };
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	KL_AUTO(kl_surface_freep) struct kl_surface *at = NULL;
	KL_AUTO(kl_commit_release) struct kl_commit c = { 0 };
	const struct kl_event *state;
	git_oid tree;
	int err;

	if ((err = kl_repo_commit_read(&c, s->repo, &s->commit[i])) < 0 ||
	    (err = kl_step_parse(&t.step, s->lineage, c.message)) < 0 ||
	    (err = read_surface(&at, &tree, s, &s->commit[i])) < 0 ||
	    (err = events_of(&ids, s, &s->commit[i])) < 0)
		return err;
	t.said = first_line(c.message);
	state = pick_event(s, &ids, at->digest, NULL);
	if (i && (err = make_transition(&t, s, i, &c, &ids, at, state)) < 0)
		return err;
	if (i && t.event)
		add_transition(s, &t);
	else if (i)
		note_left_out(s, &t.step, "no gate event compares it with the state before");
	move_on(s, kl_steal(&at), state);
	return 0;
}

/* --- refusals ------------------------------------------------------------------------------ */

static int read_refusal(git_oid *next, bool *more, struct source *s, const git_oid *commit)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	KL_AUTO(kl_commit_release) struct kl_commit c = { 0 };
	struct kl_refusal r = { .lineage = kl_strdup(s->lineage), .commit = *commit };
	int err = kl_repo_commit_read(&c, s->repo, commit);

	if (!err)
		err = kl_step_parse(&r.step, s->lineage, c.message);
	if (!err)
		err = events_of(&ids, s, commit);
	r.said = first_line(err ? "" : c.message);
	*more = !err && c.nparent > 1;
	if (!err && c.nparent)
		r.on = c.parent[0];
	if (*more)
		*next = c.parent[1];
	for (size_t i = 0; i < ids.n && !r.event; i++) {
		const struct kl_event *e = kl_map_get(&s->t->events, ids.v[i]);

		if (is_gate(e, KL_VERDICT_FAIL))
			r.event = kl_event_ref(e);
	}
	KL_GROW(s->t->r, s->t->nr + 1, s->t->nr_alloc);
	s->t->r[s->t->nr++] = r;
	return err;
}

static int read_refusals(struct source *s, const git_oid *tip)
{
	git_oid at = *tip;
	bool more = true;
	int err = 0;

	for (size_t i = 0; !err && more && i < MAX_STEPS; i++)
		err = read_refusal(&at, &more, s, &at);
	return err;
}

static int read_lineage(struct source *s, const git_oid *rejected)
{
	int err = 0;

	if (kl_strvec_has(&s->t->lineages, s->lineage))
		return 0;
	kl_strvec_push(&s->t->lineages, s->lineage);
	for (size_t i = 0; !err && i < s->n; i++)
		err = read_step(s, i);
	if (!err && rejected)
		err = read_refusals(s, rejected);
	return err < 0 ? kl_error_in(err, "lineage %s", s->lineage) : 0;
}

static void source_release(struct source *s)
{
	free(s->lineage);
	kl_surface_free(s->before);
	kl_strvec_release(&s->had);
}

/* --- branches -------------------------------------------------------------------------------- */

static int commit_chain(git_oid **out, size_t *n, struct kl_repo *r, const git_oid *tip)
{
	KL_AUTO(kl_freep) git_oid *list = NULL;
	size_t alloc = 0;
	git_oid at = *tip;

	*n = 0;
	for (bool more = true; more;) {
		KL_AUTO(kl_freep) git_oid *parent = NULL;
		size_t np;
		int err;

		KL_GROW(list, *n + 1, alloc);
		list[(*n)++] = at;
		if ((err = kl_repo_parents(&parent, &np, r, &at)) < 0)
			return err;
		more = np && *n < MAX_STEPS;
		if (more)
			at = parent[0];
	}
	for (size_t i = 0; i < *n / 2; i++) {
		git_oid tmp = list[i];

		list[i] = list[*n - 1 - i];
		list[*n - 1 - i] = tmp;
	}
	*out = kl_steal(&list);
	return 0;
}

static int load_ref(struct kl_transitions *t, struct kl_repo *r, const char *ref)
{
	KL_AUTO(source_release) struct source s = { .t = t, .repo = r };
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *name = NULL;
	KL_AUTO(kl_freep) char *refused = NULL;
	KL_AUTO(kl_freep) git_oid *list = NULL;
	git_oid tip, rejected;
	int err;

	if ((err = kl_view_split(&workload, &name, ref)) < 0 ||
	    (err = kl_refs_get(&tip, r, ref)) < 0 || (err = commit_chain(&list, &s.n, r, &tip)) < 0)
		return err;
	s.commit = list;
	s.lineage = kl_asprintf("%s/%s", workload, name);
	refused = kl_asprintf("refs/klineage/rejected/%s", s.lineage);
	err = kl_refs_get(&rejected, r, refused);
	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	return read_lineage(&s, err ? NULL : &rejected);
}

static int load_refs(struct kl_transitions *t, struct kl_repo *r, const char *what)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec refs = KL_STRVEC_INIT;
	int err = kl_view_list(&refs, r, what);

	if (!err && !refs.n && what)
		return kl_error(KL_ENOTFOUND,
				"there is no lineage '%s' here, and no such directory", what);
	for (size_t i = 0; !err && i < refs.n; i++)
		err = load_ref(t, r, refs.v[i]);
	return err;
}

/* --- directories ------------------------------------------------------------------------------ */

static bool is_export(const char *dir)
{
	KL_AUTO(kl_freep) char *index = kl_fs_join(dir, "lineage.json");

	return kl_fs_exists(index);
}

static int load_export(struct kl_transitions *t, struct kl_repo *r, const char *dir)
{
	KL_AUTO(source_release) struct source s = { .t = t, .repo = r };
	KL_AUTO(kl_import_view_release) struct kl_import_view v = { 0 };
	int err = kl_import_view(&v, r, dir);

	if (err < 0)
		return err;
	s.notes = &v.notes;
	s.commit = v.commit;
	s.n = v.n;
	s.lineage = kl_asprintf("%s/%s", v.workload, v.name);
	return read_lineage(&s, v.has_rejected ? &v.rejected : NULL);
}

static int load_dir(struct kl_transitions *t, struct kl_repo *r, const char *dir)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	bool found = false;
	int err;

	if (is_export(dir))
		return load_export(t, r, dir);
	err = kl_fs_list(&names, dir);
	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_freep) char *below = kl_fs_join(dir, names.v[i]);

		if (is_export(below)) {
			found = true;
			err = load_export(t, r, below);
		}
	}
	if (!err && !found)
		return kl_error(KL_ENOTFOUND, "no exported lineage in '%s'", dir);
	return err;
}

int kl_transitions_load(struct kl_transitions *t, struct kl_repo *r, const char *what)
{
	t->events.free_value = kl_event_free_value;
	if (what && kl_fs_is_dir(what))
		return load_dir(t, r, what);
	return load_refs(t, r, what);
}

/* --- points ----------------------------------------------------------------------------------- */

static bool take_ratio(struct kl_card_ratio *out, const struct kl_comparison *c)
{
	if (!c || c->ratio_ppm <= 0)
		return false;
	*out = (struct kl_card_ratio){ c->ratio_ppm, c->lo_ppm, c->hi_ppm };
	return true;
}

bool kl_transition_ratio(struct kl_card_ratio *out, const struct kl_event *event,
			 const struct kl_event *pair, size_t i)
{
	const struct kl_event *from = event->inverse.there ? pair : event;
	size_t n = from ? from->profile.npoint : 0;
	const struct kl_comparison *at;
	struct kl_comparison turned;

	if (!n && !event->profile.npoint)
		return !i && take_ratio(out, kl_comparisons_parent(&event->profile.vs));
	at = i < n ? kl_comparisons_parent(&from->profile.point[i].vs) : NULL;
	if (!at || at->ratio_ppm <= 0)
		return false;
	turned = kl_comparison_inverted(at);
	return take_ratio(out, event->inverse.there ? &turned : at);
}

size_t kl_transition_points(const struct kl_transition *t)
{
	return t->from->contract->nperf;
}

bool kl_transition_point(struct kl_card_ratio *ratio, const struct kl_dims **dims,
			 const struct kl_transition *t, const struct kl_map *events, size_t i)
{
	const struct kl_event *pair = kl_map_get(events, t->event->inverse.pair);

	*dims = &t->from->contract->perf[i].dims;
	return kl_transition_ratio(ratio, t->event, pair, i);
}
