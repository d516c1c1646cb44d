/* SPDX-License-Identifier: Apache-2.0 */
#include "search/table/build.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/proc.h"
#include "contract/select.h"
#include "lineage/view.h"
#include "retrieve/constants.h"
#include "search/table/variant.h"

#define MOST_VALUE (INT64_C(1) << 30)

void kl_table_build_release(struct kl_table_build *build)
{
	for (size_t i = 0; build->table && i < build->table->n; i++)
		kl_surface_free(build->surface[i]);
	free(build->surface);
	free(build->known);
	kl_search_table_free(build->table);
	kl_wave_release(&build->wave);
}

/* --- states ---------------------------------------------------------------------------------- */

/* Return the index of the state with these sources, or the number of states. */
static size_t find_state(const struct kl_table_build *build, const struct kl_surface *surface)
{
	const struct kl_table_state *state = kl_search_table_find(build->table, surface->digest);

	return state ? (size_t)(state - build->table->state) : build->table->n;
}

/*
 * Add a state unless the table has its kernel. `spec` says how it is made; takes over its strings,
 * its constants and the surface.
 */
static void add_state(struct kl_table_build *build, struct kl_table_state *spec,
		      struct kl_surface *surface)
{
	struct kl_search_table *table = build->table;
	size_t at = table->n, states = table->alloc;

	if (find_state(build, surface) < at) {
		kl_table_state_release(spec);
		kl_surface_free(surface);
		return;
	}
	KL_GROW(table->state, at + 1, table->alloc);
	if (table->alloc != states) {
		build->surface = kl_realloc(build->surface, table->alloc, sizeof(*build->surface));
		build->known = kl_realloc(build->known, table->alloc, sizeof(*build->known));
	}
	table->state[at] = *spec;
	table->n++;
	build->surface[at] = surface;
	build->known[at] = false;
	memcpy(table->state[at].surface, surface->digest, KL_DIGEST_HEX);
	kl_table_state_diff(&table->state[at], at ? build->surface[spec->from] : NULL, surface);
	kl_map_put(&table->by_surface, surface->digest, (void *)(uintptr_t)(at + 1));
}

/* "K_3", or "K_3@1" in a lineage that is not the first. */
static char *lineage_id(int64_t lineage, int64_t at)
{
	return lineage ? kl_asprintf("K_%" PRId64 "@%" PRId64, at, lineage) :
			 kl_asprintf("K_%" PRId64, at);
}

static bool is_full(struct kl_table_build *build)
{
	bool full = (int64_t)build->table->n >= build->limit;

	build->limited |= full;
	return full;
}

/* --- lineages -------------------------------------------------------------------------------- */

static int load_surface(struct kl_surface **out, const struct kl_table_build *build,
			const git_oid *commit, const char *workload)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_freep) char *place = NULL;
	git_oid tree;
	int err;

	if ((err = kl_repo_tree_of(&tree, build->repo, commit)) < 0 ||
	    (err = kl_select_place(&place, build->repo, &tree, workload)) < 0 ||
	    (err = kl_surface_from_tree(&surface, build->repo, &tree, place)) < 0)
		return err;
	if (build->table->n && strcmp(surface->contract_digest, build->table->contract) != 0)
		return kl_error(KL_EINVALID,
				"the lineages are of several contracts, whose kernels cannot be "
				"compared; name lineages of one contract");
	memcpy(build->table->contract, surface->contract_digest, KL_DIGEST_HEX);
	*out = kl_steal(&surface);
	return 0;
}

static int add_lineage_state(struct kl_table_build *build, const struct kl_view *view, size_t at,
			     size_t *last)
{
	int64_t lineage = (int64_t)build->table->lineage.n - 1;
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	const char *by = view->step[at].step.mechanism;
	struct kl_table_state spec = { .kind = KL_TABLE_LINEAGE, .lineage = lineage };
	int err = load_surface(&surface, build, &view->step[at].commit, view->workload);

	if (err < 0)
		return err;
	spec.at = (int64_t)at;
	spec.id = lineage_id(lineage, spec.at);
	spec.by = kl_strdup(by && *by ? by : at ? "step" : "root");
	spec.from = *last;
	if ((*last = find_state(build, surface)) == build->table->n)
		add_state(build, &spec, kl_steal(&surface));
	else
		kl_table_state_release(&spec);
	return 0;
}

/* Add a step that the gate refused, where it was refused and wherever else it can be made. */
static int add_rejection(struct kl_table_build *build, const struct kl_view_rejection *rejection,
			 const char *workload)
{
	const struct kl_step *step = &rejection->step;
	KL_AUTO(kl_surface_freep) struct kl_surface *before = NULL, *after = NULL;
	size_t n = build->table->n;
	int err;

	if ((err = load_surface(&before, build, &rejection->on, workload)) < 0 ||
	    (err = load_surface(&after, build, &rejection->commit, workload)) < 0)
		return err;
	for (size_t i = 0; i < n; i++) {
		const struct kl_table_state *on = &build->table->state[i];
		struct kl_table_state spec = { .kind = KL_TABLE_REFUSED, .lineage = on->lineage };
		struct kl_surface *surface = NULL;

		if (on->kind != KL_TABLE_LINEAGE)
			continue;
		if ((err = kl_variant_moved(&surface, build->surface[i], before, after)) < 0)
			return err;
		if (!surface)
			continue;
		spec.at = on->at;
		spec.from = i;
		spec.by = kl_strdup(step->action && *step->action ? step->action : "step");
		spec.id = kl_asprintf("%s.%s-%zu", on->id, spec.by, build->table->n);
		add_state(build, &spec, surface);
	}
	return 0;
}

static int add_lineage(struct kl_table_build *build, const char *ref)
{
	KL_AUTO(kl_view_rejections_release) struct kl_view_rejections all = { 0 };
	KL_AUTO(kl_view_release) struct kl_view view = { 0 };
	KL_AUTO(kl_freep) char *workload = NULL, *name = NULL;
	size_t last = 0;
	int err;

	if ((err = kl_view_split(&workload, &name, ref)) < 0 ||
	    (err = kl_view_load(&view, build->repo, workload, name)) < 0)
		return err;
	if (build->table->workload && strcmp(build->table->workload, workload) != 0)
		return kl_error(KL_EINVALID,
				"a table has lineages of one workload, not of '%s' and '%s'",
				build->table->workload, workload);
	if (!build->table->workload)
		build->table->workload = kl_strdup(workload);
	kl_strvec_pushf(&build->table->lineage, "%s/%s", workload, name);
	for (size_t i = 0; !err && i < view.n; i++)
		err = add_lineage_state(build, &view, i, &last);
	if (!err)
		err = kl_view_rejections(&all, build->repo, workload, name);
	for (size_t i = 0; !err && i < all.n; i++)
		if (!all.r[i].step.forward)
			err = add_rejection(build, &all.r[i], workload);
	return err < 0 ? kl_error_in(err, "'%s'", ref) : 0;
}

/* Add a comment and a syntax error for each state of a lineage. */
static int add_lines(struct kl_table_build *build)
{
	size_t n = build->table->n;

	for (size_t i = 0; i < 2 * n; i++) {
		const struct kl_table_state *on = &build->table->state[i / 2];
		struct kl_table_state spec = { .kind = i % 2 ? KL_TABLE_BROKEN : KL_TABLE_STALE,
					       .lineage = on->lineage };
		struct kl_surface *surface = NULL;
		int err;

		if (on->kind != KL_TABLE_LINEAGE)
			continue;
		err = i % 2 ? kl_variant_broken(&surface, build->surface[i / 2]) :
			      kl_variant_stale(&surface, build->surface[i / 2]);
		if (err < 0)
			return err;
		if (!surface)
			continue;
		spec.at = on->at;
		spec.from = i / 2;
		spec.by = kl_strdup(kl_table_kind_name[spec.kind]);
		spec.id = kl_asprintf("%s.%s", on->id, spec.by);
		add_state(build, &spec, surface);
	}
	return 0;
}

/* --- constants ------------------------------------------------------------------------------- */

static bool has_set(const struct kl_table_state *state, const char *name)
{
	for (size_t i = 0; i < state->nset; i++)
		if (!strcmp(state->set[i].name, name))
			return true;
	return false;
}

/* Set the constants of `spec` to those of `from` and one more, sorted by name. */
static void add_set(struct kl_table_state *spec, const struct kl_table_state *from,
		    const char *name, int64_t value)
{
	bool done = false;

	spec->set = kl_calloc(from->nset + 1, sizeof(*spec->set));
	for (size_t i = 0; i <= from->nset; i++) {
		struct kl_table_constant *set = &spec->set[spec->nset++];
		bool here = !done && (i == from->nset || strcmp(name, from->set[i].name) < 0);

		set->name = kl_strdup(here ? name : from->set[i - done].name);
		set->value = here ? value : from->set[i - done].value;
		done |= here;
	}
}

static char *tuned_id(const struct kl_table_state *spec)
{
	KL_AUTO(kl_freep) char *id = lineage_id(spec->lineage, spec->at);
	struct kl_buf out = KL_BUF_INIT;

	kl_buf_adds(&out, id);
	for (size_t i = 0; i < spec->nset; i++)
		kl_buf_addf(&out, "%c%s=%" PRId64, i ? ',' : '.', spec->set[i].name,
			    spec->set[i].value);
	return kl_buf_detach(&out);
}

/* Return the n-th value to try: twice, half, four times, a quarter ...; 0: there is none. */
static int64_t tuned_value(int64_t value, int64_t n)
{
	int64_t factor = INT64_C(2) << (n / 2);

	if (n % 2 == 0)
		return value <= MOST_VALUE / factor ? value * factor : 0;
	return value % factor ? 0 : value / factor;
}

static int tune_constant(struct kl_table_build *build, size_t from, const char *name, int64_t value)
{
	for (int64_t i = 0; i < build->values && !is_full(build); i++) {
		const struct kl_table_state *on = &build->table->state[from];
		struct kl_table_state spec = { .kind = KL_TABLE_TUNE, .lineage = on->lineage };
		int64_t to = tuned_value(value, i);
		struct kl_surface *surface = NULL;
		int err;

		if (to < 1)
			continue;
		if ((err = kl_variant_tune(&surface, build->surface[from], name, value, to)) < 0)
			return err;
		if (!surface)
			return 0;
		spec.at = on->at;
		spec.from = from;
		spec.by = kl_strdup(name);
		add_set(&spec, on, name, to);
		spec.id = tuned_id(&spec);
		add_state(build, &spec, surface);
	}
	return 0;
}

static int tune_state(struct kl_table_build *build, size_t from)
{
	struct kl_card_dims dims = { 0 };
	int64_t tried = 0;
	int err = 0;

	kl_constants_read(&dims, build->surface[from]);
	for (size_t i = 0; !err && i < dims.n && tried < build->constants; i++) {
		if (dims.v[i].v < 2)
			continue;
		tried++;
		if (!has_set(&build->table->state[from], dims.v[i].name))
			err = tune_constant(build, from, dims.v[i].name, dims.v[i].v);
	}
	kl_constants_release(&dims);
	return err;
}

/* Add the states that one more constant makes of those from `build->level` on. */
static int add_level(struct kl_table_build *build)
{
	size_t end = build->table->n;
	int err = 0;

	for (size_t i = build->level; !err && i < end; i++) {
		const struct kl_table_state *state = &build->table->state[i];

		if (state->verdict == KL_VERDICT_PASS &&
		    (state->kind == KL_TABLE_LINEAGE || state->kind == KL_TABLE_TUNE))
			err = tune_state(build, i);
	}
	build->level = end;
	return err;
}

/* --- judging --------------------------------------------------------------------------------- */

static void take_times(struct kl_table_state *state, const struct kl_profile *profile, bool root)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&profile->vs);

	if (root)
		state->root = (struct kl_ratio){ 1000000, 1000000, 1000000 };
	else if (parent && parent->ratio.ppm > 0 && parent->ratio.lo > 0)
		state->root = parent->ratio;
	if (!state->root.ppm || !profile->npoint)
		return;
	state->case_ppm = kl_calloc(profile->npoint, sizeof(*state->case_ppm));
	for (size_t i = 0; i < profile->npoint; i++) {
		const struct kl_comparison *vs = kl_comparisons_parent(&profile->point[i].vs);

		state->case_ppm[i] = !root && vs && vs->ratio.ppm > 0 ? vs->ratio.ppm : 1000000;
	}
	state->ncase = profile->npoint;
}

static int take_event(struct kl_table_build *build, size_t i, const struct kl_event *event)
{
	struct kl_search_table *table = build->table;
	struct kl_table_state *state = &table->state[i];
	const char *class_ = kl_event_class(event);

	if (event->verdict == KL_VERDICT_NOT_RUN)
		return kl_error(KL_ECANNOT, "state %s: the gate did not run: %s", state->id,
				event->message);
	if (!i && event->verdict != KL_VERDICT_PASS)
		return kl_error(KL_ENO, "the root of the table fails the gate: %s", class_);
	state->verdict = event->verdict;
	state->class_ = event->verdict == KL_VERDICT_FAIL ? kl_strdup(class_) : NULL;
	snprintf(state->event, sizeof(state->event), "%s", event->id);
	kl_strvec_copy(&state->features, &event->facts.features);
	state->ns = event->profile.ns;
	if (event->verdict == KL_VERDICT_PASS)
		take_times(state, &event->profile, !i);
	if (!i) {
		table->platform = kl_strdup(event->place.id);
		table->device = kl_strdup(event->place.device);
		table->compiler = kl_strdup(event->place.compiler);
		table->policy = event->policy;
	}
	build->known[i] = true;
	return KL_FAULT("table-judged");
}

static int judge_state(struct kl_table_build *build, size_t i)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	int err;

	if (kl_proc_interrupted())
		return kl_error(KL_EINTR, "interrupted");
	kl_progress_step(build->progress, "state %zu of %zu: %s", i + 1, build->table->n,
			 build->table->state[i].id);
	if ((err = kl_gate_judge(&judgement, build->gate, build->surface[i],
				 i ? build->surface[0] : NULL)) < 0)
		return kl_error_in(err, "state %s", build->table->state[i].id);
	if (judgement->deferred)
		return 0;
	build->judged += !judgement->cached;
	build->cached += judgement->cached;
	return take_event(build, i, judgement->event);
}

/* Judge all states that are not known, level by level, until a verdict is missing. */
static int judge_wave(void *payload)
{
	struct kl_table_build *build = payload;
	size_t missing = 0;

	for (size_t i = 0; i < build->table->n; i++) {
		int err = 0;

		if (!build->known[i] &&
		    !(kl_gate_is_remote(build->gate) && kl_gate_is_full(build->gate)))
			err = judge_state(build, i);
		missing += !build->known[i];
		if (!err && !missing && i + 1 == build->table->n)
			err = add_level(build);
		if (err < 0)
			return err;
	}
	return 0;
}

int kl_table_build_run(struct kl_table_build *build)
{
	int err = 0;

	build->table = kl_calloc(1, sizeof(*build->table));
	for (size_t i = 0; !err && i < build->ref->n; i++)
		err = add_lineage(build, build->ref->v[i]);
	if (!err)
		err = add_lines(build);
	if (!err && build->table->n > KL_SEARCH_TABLE_STATES)
		err = kl_error(KL_EINVALID, "the lineages have more than %d states",
			       KL_SEARCH_TABLE_STATES);
	kl_progress_title(build->progress, "table");
	return err ? err : kl_wave_run(&build->wave, build->gate, judge_wave, build);
}
