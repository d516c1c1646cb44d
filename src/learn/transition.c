/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/transition.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "event/label.h"
#include "event/trust.h"
#include "learn/transition_parts.h"
#include "lineage/import.h"
#include "lineage/view.h"
#include "repo/notes.h"
#include "repo/refs.h"
#include "retrieve/target.h"

#define MAX_STEPS 100000

static void transition_release(struct kl_transition *transition)
{
	free(transition->lineage);
	kl_step_release(&transition->step);
	free(transition->said);
	kl_surface_free(transition->from);
	kl_surface_free(transition->to);
	free(transition->diff);
	kl_event_free(transition->event);
	kl_event_free(transition->confirmed);
	kl_strvec_release(&transition->gained);
	kl_strvec_release(&transition->lost);
	kl_strvec_release(&transition->had);
	kl_strvec_release(&transition->requires);
	kl_strvec_release(&transition->conflicts);
	free(transition->platform);
}

void kl_transitions_release(struct kl_transitions *transitions)
{
	for (size_t i = 0; i < transitions->n; i++)
		transition_release(&transitions->v[i]);
	for (size_t i = 0; i < transitions->nr; i++) {
		free(transitions->r[i].lineage);
		kl_step_release(&transitions->r[i].step);
		free(transitions->r[i].said);
		kl_event_free(transitions->r[i].event);
	}
	free(transitions->v);
	free(transitions->r);
	kl_strvec_release(&transitions->lineages);
	kl_strvec_release(&transitions->notes);
	kl_map_release(&transitions->events);
}

/* --- where a lineage is read from ------------------------------------------------------------- */

struct source {
	struct kl_transitions *t;
	struct kl_repo *repo;
	/* notes of an exported directory; NULL to read the repository's notes */
	const struct kl_map *notes;
	char *lineage;
	const git_oid *commit; /* commits of K_0, K_1, ... */
	size_t n;
	struct kl_strvec had;      /* features of the state that was read last */
	int64_t had_version;       /* version of the feature list that gave `had` */
	struct kl_surface *before; /* surface of that state */
	char before_surface[KL_DIGEST_HEX];
};

/*
 * Add the trusted events of a commit to the map of all events, and append their ids in order to
 * `ids`.
 */
static int events_of(struct kl_strvec *ids, struct source *source, const git_oid *commit)
{
	KL_AUTO(kl_buf_release) struct kl_buf note = KL_BUF_INIT, text = KL_BUF_INIT;
	char hex[KL_OID_HEX];
	const char *lines;
	int err;

	if (source->notes) {
		kl_oid_hex(hex, commit);
		lines = kl_map_get(source->notes, hex);
		kl_buf_adds(&note, lines ? lines : "");
	} else if ((err = kl_notes_read(&note, source->repo, KL_NOTES_GATE, commit)) < 0) {
		return err;
	}
	if ((err = kl_trust_filter(&text, source->repo, note.ptr, note.len)) < 0)
		return err;
	for (const char *at = text.ptr; *at;) {
		size_t n = strcspn(at, "\n");
		struct kl_event *event = NULL;

		if (n && !kl_event_parse(&event, at, n)) {
			kl_strvec_push(ids, event->id);
			if (kl_map_get(&source->t->events, event->id))
				kl_event_free(event);
			else
				kl_map_put(&source->t->events, event->id, event);
		}
		kl_error_clear();
		at += n + (at[n] == '\n');
	}
	return 0;
}

static bool is_gate(const struct kl_event *event, enum kl_verdict verdict)
{
	return event->kind == KL_KIND_GATE && event->verdict == verdict;
}

/*
 * Return the newest passing event of a surface among `ids`, or NULL. If `vs` is not NULL, the event
 * must compare the surface with `vs`.
 */
static const struct kl_event *pick_event(const struct source *source, const struct kl_strvec *ids,
					 const char *surface, const char *vs)
{
	const struct kl_event *best = NULL;

	for (size_t i = 0; i < ids->n; i++) {
		const struct kl_event *event = kl_map_get(&source->t->events, ids->v[i]);

		if (is_gate(event, KL_VERDICT_PASS) && kl_event_is_for(event, surface, NULL) &&
		    (!vs || kl_event_is_against(event, vs)) && kl_event_is_newer(event, best))
			best = event;
	}
	return best;
}

/*
 * If the events contain a label that is in force, let it set the step's mechanism. The step then
 * claims the primary traits of that mechanism, as a proposal would.
 */
static int take_label(struct kl_transition *transition, const struct source *source,
		      const struct kl_strvec *ids)
{
	struct kl_mechanisms mechanisms = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf traits = KL_BUF_INIT;
	const struct kl_mechanism *mechanism;
	struct kl_event **event = kl_calloc(ids->n + 1, sizeof(struct kl_event *));
	const struct kl_event *label;
	int err;

	for (size_t i = 0; i < ids->n; i++)
		event[i] = kl_map_get(&source->t->events, ids->v[i]);
	label = kl_label_holding(event, ids->n);
	free(event);
	if (!label || !*label->mechanism)
		return 0;
	if ((err = kl_mechanisms_load_shipped(&mechanisms)) < 0)
		return err;
	mechanism = kl_mechanisms_find(&mechanisms, label->mechanism);
	for (size_t i = 0; mechanism && i < mechanism->primary.n; i++)
		if (!strncmp(mechanism->primary.v[i], "trait:", 6))
			kl_buf_addf(&traits, "%s%s", traits.len ? ", " : "",
				    mechanism->primary.v[i] + 6);
	kl_mechanisms_release(&mechanisms);
	free(transition->step.mechanism);
	free(transition->step.trait);
	transition->step.mechanism = kl_strdup(label->mechanism);
	transition->step.trait = traits.len ? kl_buf_detach(&traits) : NULL;
	transition->labelled = true;
	return 0;
}

static void set_features(struct kl_strvec *out, const struct kl_event *event)
{
	kl_strvec_release(out);
	*out = (struct kl_strvec)KL_STRVEC_INIT;
	if (event)
		kl_strvec_copy(out, &event->facts.features);
}

static void note_left_out(struct source *source, const struct kl_step *step, const char *why)
{
	kl_strvec_pushf(&source->t->notes, "%s step %d (%s): %s", source->lineage, step->number,
			step->action ? step->action : "-", why);
}

/* Copy the first line of the message's body; "" if that line is a trailer. */
static char *first_line(const char *message)
{
	const char *text = strstr(message, "\n\n");

	text = text ? text + strspn(text, "\n") : "";
	return strncmp(text, "Klineage-", 9) ? kl_strndup(text, strcspn(text, "\n")) :
					       kl_strdup("");
}

/* --- reading a transition --------------------------------------------------------------------- */

static int read_surface(struct kl_surface **out, git_oid *tree, struct source *source,
			const git_oid *commit)
{
	int err = kl_repo_tree_of(tree, source->repo, commit);

	return err < 0 ? err : kl_surface_from_tree(out, source->repo, tree, "");
}

/* Read K_i' and its event. If K_i' was derived in isolation and confirmed, it becomes `to`. */
static int read_rederived(struct kl_transition *transition, git_oid *tree, struct source *source,
			  const git_oid *commit)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	KL_AUTO(kl_surface_freep) struct kl_surface *made = NULL;
	git_oid made_tree;
	int err;

	transition->rederived = *commit;
	if ((err = read_surface(&made, &made_tree, source, commit)) < 0 ||
	    (err = events_of(&ids, source, commit)) < 0)
		return err;
	transition->confirmed = kl_event_ref(pick_event(source, &ids, made->digest, NULL));
	if (!transition->confirmed || !transition->step.derivation ||
	    strcmp(transition->step.derivation, "rederived"))
		return 0;
	kl_surface_free(transition->to);
	transition->to = kl_steal(&made);
	*tree = made_tree;
	return 0;
}

static int diff_states(struct kl_transition *transition, struct source *source, const git_oid *from,
		       const git_oid *to)
{
	struct kl_buf buf = KL_BUF_INIT;
	int err = kl_repo_diff(&buf, source->repo, from, to, NULL);

	transition->diff = kl_buf_detach(&buf);
	return err;
}

/*
 * Make the state that was read last the `before` of the next transition. Takes ownership of `at`.
 */
static void move_on(struct source *source, struct kl_surface *at, const struct kl_event *event)
{
	kl_surface_free(source->before);
	source->before = at;
	snprintf(source->before_surface, sizeof(source->before_surface), "%s", at->digest);
	set_features(&source->had, event);
	source->had_version = event ? event->facts.features_version : KL_FEATURES_VERSION;
}

static void add_transition(struct source *source, struct kl_transition *transition)
{
	KL_GROW(source->t->v, source->t->n + 1, source->t->alloc);
	source->t->v[source->t->n++] = *transition;
	*transition = (struct kl_transition){ 0 };
}

/* Fill the transition from K_{i-1} to K_i. The surface and the events of K_i have been read. */
static int make_transition(struct kl_transition *transition, struct source *source, size_t i,
			   const struct kl_commit *commit, const struct kl_strvec *ids,
			   const struct kl_surface *at, const struct kl_event *state)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec has = KL_STRVEC_INIT;
	git_oid tree, before_tree;
	int err;

	transition->before = source->commit[i - 1];
	transition->after = source->commit[i];
	transition->event = kl_event_ref(
		pick_event(source, ids, at->digest, source->before_surface));
	set_features(&has, state);
	kl_features_minus(&transition->gained, &has, &source->had, source->had_version);
	kl_features_minus(&transition->lost, &source->had, &has,
			  state ? state->facts.features_version : KL_FEATURES_VERSION);
	kl_strvec_copy(&transition->had, &source->had);
	if ((err = read_surface(&transition->from, &before_tree, source, &transition->before)) <
		    0 ||
	    (err = read_surface(&transition->to, &tree, source, &transition->after)) < 0)
		return err;
	if (commit->nparent > 1 &&
	    (err = read_rederived(transition, &tree, source, &commit->parent[1])) < 0)
		return err;
	transition->platform = kl_strdup(transition->event ? transition->event->place.id : "");
	transition->dtype = kl_target_dtype(transition->from->contract);
	if (!*transition->dtype)
		transition->dtype = "none";
	return diff_states(transition, source, &before_tree, &tree);
}

static int read_step(struct source *source, size_t i)
{
	KL_AUTO(transition_release) struct kl_transition transition = { .lineage = kl_strdup(
										source->lineage) };
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	KL_AUTO(kl_surface_freep) struct kl_surface *at = NULL;
	KL_AUTO(kl_commit_release) struct kl_commit commit = { 0 };
	const struct kl_event *state;
	git_oid tree;
	int err;

	if ((err = kl_repo_commit_read(&commit, source->repo, &source->commit[i])) < 0 ||
	    (err = kl_step_parse(&transition.step, source->lineage, commit.message)) < 0 ||
	    (err = read_surface(&at, &tree, source, &source->commit[i])) < 0 ||
	    (err = events_of(&ids, source, &source->commit[i])) < 0)
		return err;
	transition.said = first_line(commit.message);
	state = pick_event(source, &ids, at->digest, NULL);
	if (i && (err = make_transition(&transition, source, i, &commit, &ids, at, state)) < 0)
		return err;
	if (i && (err = take_label(&transition, source, &ids)) < 0)
		return err;
	if (i && transition.event)
		add_transition(source, &transition);
	else if (i)
		note_left_out(source, &transition.step,
			      "no gate event compares this state with the state before");
	move_on(source, kl_steal(&at), state);
	return 0;
}

/* --- reading refusals ------------------------------------------------------------------------- */

static int read_refusal(git_oid *next, bool *more, struct source *source, const git_oid *commit)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	KL_AUTO(kl_commit_release) struct kl_commit parsed = { 0 };
	struct kl_refusal refusal = { .lineage = kl_strdup(source->lineage), .commit = *commit };
	int err = kl_repo_commit_read(&parsed, source->repo, commit);

	if (!err)
		err = kl_step_parse(&refusal.step, source->lineage, parsed.message);
	if (!err)
		err = events_of(&ids, source, commit);
	refusal.said = first_line(err ? "" : parsed.message);
	*more = !err && parsed.nparent > 1;
	if (!err && parsed.nparent)
		refusal.on = parsed.parent[0];
	if (*more)
		*next = parsed.parent[1];
	for (size_t i = 0; i < ids.n && !refusal.event; i++) {
		const struct kl_event *event = kl_map_get(&source->t->events, ids.v[i]);

		if (is_gate(event, KL_VERDICT_FAIL))
			refusal.event = kl_event_ref(event);
	}
	KL_GROW(source->t->r, source->t->nr + 1, source->t->nr_alloc);
	source->t->r[source->t->nr++] = refusal;
	return err;
}

static int read_refusals(struct source *source, const git_oid *tip)
{
	git_oid at = *tip;
	bool more = true;
	int err = 0;

	for (size_t i = 0; !err && more && i < MAX_STEPS; i++)
		err = read_refusal(&at, &more, source, &at);
	return err;
}

static int read_lineage(struct source *source, const git_oid *rejected)
{
	int err = 0;

	if (kl_strvec_has(&source->t->lineages, source->lineage))
		return 0;
	kl_strvec_push(&source->t->lineages, source->lineage);
	for (size_t i = 0; !err && i < source->n; i++)
		err = read_step(source, i);
	if (!err && rejected)
		err = read_refusals(source, rejected);
	return err < 0 ? kl_error_in(err, "lineage %s", source->lineage) : 0;
}

static void source_release(struct source *source)
{
	free(source->lineage);
	kl_surface_free(source->before);
	kl_strvec_release(&source->had);
}

/* --- loading lineage branches ----------------------------------------------------------------- */

static int commit_chain(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *tip)
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
		if ((err = kl_repo_parents(&parent, &np, repo, &at)) < 0)
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

/* Set *out to true if this is the root of a pruned lineage. */
static int is_pruned(bool *out, struct kl_repo *repo, const git_oid *root)
{
	struct kl_commit commit = { 0 };
	KL_AUTO(kl_freep) char *undone = NULL;
	int err = kl_repo_commit_read(&commit, repo, root);

	if (err < 0)
		return err;
	undone = kl_trailer_get(commit.message, "Klineage-Pruned");
	*out = undone != NULL;
	kl_commit_release(&commit);
	return 0;
}

static int load_ref(struct kl_transitions *transitions, struct kl_repo *repo, const char *ref)
{
	KL_AUTO(source_release) struct source source = { .t = transitions, .repo = repo };
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *name = NULL;
	KL_AUTO(kl_freep) char *refused = NULL;
	KL_AUTO(kl_freep) git_oid *list = NULL;
	git_oid tip, rejected;
	bool pruned = false;
	int err;

	if ((err = kl_view_split(&workload, &name, ref)) < 0 ||
	    (err = kl_refs_get(&tip, repo, ref)) < 0 ||
	    (err = commit_chain(&list, &source.n, repo, &tip)) < 0 ||
	    (err = is_pruned(&pruned, repo, &list[0])) < 0)
		return err;
	if (pruned) {
		kl_strvec_pushf(&transitions->notes,
				"%s/%s: left out, since its steps are those of the lineage that it "
				"was pruned from",
				workload, name);
		return 0;
	}
	source.commit = list;
	source.lineage = kl_asprintf("%s/%s", workload, name);
	refused = kl_asprintf("refs/klineage/rejected/%s", source.lineage);
	err = kl_refs_get(&rejected, repo, refused);
	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	err = read_lineage(&source, err ? NULL : &rejected);
	return err < 0 ? err : kl_transition_relations(transitions, repo, workload, name);
}

static int load_refs(struct kl_transitions *transitions, struct kl_repo *repo, const char *what)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec refs = KL_STRVEC_INIT;
	int err = kl_view_list(&refs, repo, what);

	if (!err && !refs.n && what)
		return kl_error(KL_ENOTFOUND,
				"there is no lineage '%s' here, nor a directory of that name",
				what);
	for (size_t i = 0; !err && i < refs.n; i++)
		err = load_ref(transitions, repo, refs.v[i]);
	return err;
}

/* --- loading exported directories ------------------------------------------------------------- */

static bool is_export(const char *dir)
{
	KL_AUTO(kl_freep) char *index = kl_fs_join(dir, "lineage.json");

	return kl_fs_exists(index);
}

static int load_export(struct kl_transitions *transitions, struct kl_repo *repo, const char *dir)
{
	KL_AUTO(source_release) struct source source = { .t = transitions, .repo = repo };
	KL_AUTO(kl_import_view_release) struct kl_import_view view = { 0 };
	int err = kl_import_view(&view, repo, dir);

	if (err < 0)
		return err;
	source.notes = &view.notes;
	source.commit = view.commit;
	source.n = view.n;
	source.lineage = kl_asprintf("%s/%s", view.workload, view.name);
	return read_lineage(&source, view.has_rejected ? &view.rejected : NULL);
}

static int load_dir(struct kl_transitions *transitions, struct kl_repo *repo, const char *dir)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	bool found = false;
	int err;

	if (is_export(dir))
		return load_export(transitions, repo, dir);
	err = kl_fs_list(&names, dir);
	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_freep) char *below = kl_fs_join(dir, names.v[i]);

		if (is_export(below)) {
			found = true;
			err = load_export(transitions, repo, below);
		}
	}
	if (!err && !found)
		return kl_error(KL_ENOTFOUND, "no exported lineage in '%s'", dir);
	return err;
}

int kl_transitions_load(struct kl_transitions *transitions, struct kl_repo *repo, const char *what)
{
	transitions->events.free_value = kl_event_free_value;
	if (what && kl_fs_is_dir(what))
		return load_dir(transitions, repo, what);
	return load_refs(transitions, repo, what);
}

/* --- measured points -------------------------------------------------------------------------- */

static bool take_ratio(struct kl_ratio *out, const struct kl_comparison *comparison)
{
	if (!comparison || comparison->ratio.ppm <= 0)
		return false;
	*out = (struct kl_ratio){ comparison->ratio.ppm, comparison->ratio.lo,
				  comparison->ratio.hi };
	return true;
}

bool kl_transition_ratio(struct kl_ratio *out, const struct kl_event *event,
			 const struct kl_event *pair, size_t i)
{
	const struct kl_event *from = event->inverse.there ? pair : event;
	size_t n = from ? from->profile.npoint : 0;
	const struct kl_comparison *at;
	struct kl_comparison turned;

	if (!n && !event->profile.npoint)
		return !i && take_ratio(out, kl_comparisons_parent(&event->profile.vs));
	at = i < n ? kl_comparisons_parent(&from->profile.point[i].vs) : NULL;
	if (!at || at->ratio.ppm <= 0)
		return false;
	turned = kl_comparison_inverted(at);
	return take_ratio(out, event->inverse.there ? &turned : at);
}

size_t kl_transition_points(const struct kl_transition *transition)
{
	return transition->from->contract->nperf;
}

bool kl_transition_point(struct kl_ratio *ratio, const struct kl_dims **dims,
			 const struct kl_transition *transition, const struct kl_map *events,
			 size_t i)
{
	const struct kl_event *pair = kl_map_get(events, transition->event->inverse.pair);

	*dims = &transition->from->contract->perf[i].dims;
	return kl_transition_ratio(ratio, transition->event, pair, i);
}
