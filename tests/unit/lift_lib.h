/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LIFT_LIB_H
#define KL_LIFT_LIB_H

#include "event_lib.h"
#include "learn/lift.h"
#include "repo/notes.h"
#include "repo/refs.h"
#include "scratch.h"

/*
 * lift_lib - lineages made by hand: each state's source is one comment, each event says what the
 * table says.
 */
#define CONTRACT(op, more)                                       \
	"klineage: 1\n"                                          \
	"workload: %s\n"                                         \
	"case: {op: " op ", dims: {n: 64}}\n"                    \
	"surface: {language: c, sources: [k.c], entry: k}\n"     \
	"args:\n"                                                \
	"  - {name: x, kind: in, dtype: f32, shape: [n]}\n"      \
	"  - {name: y, kind: out, dtype: f32, shape: [n]}\n"     \
	"oracle: {language: c, sources: [oracle.c], entry: k}\n" \
	"accept: {rule: exact}\n" more

static const char simple[] = CONTRACT("copy", "");
static const char other_op[] = CONTRACT("scale", "domain: [n %% 8 == 0, n <= 4096]\n");
static const char two_cases[] = CONTRACT("copy", "cases:\n"
						 "  - {dims: {n: 64}}\n  - {dims: {n: 128}}\n");

struct made {
	const char *action, *mechanism, *trait, *delta, *features;
	int64_t ratio;  /* ppm, forward; the word follows; below 0: hidden by noise */
	int64_t second; /* of the second case; 0: there is none */
	bool anew;      /* with a K' of its own, confirmed */
	int dram;       /* ppm of the memory's speed that the state uses; 0: not measured */
};

static inline json_t *vs(const char *surface, int64_t ppm)
{
	int64_t wide = ppm < 0 ? 500000 : 10;
	json_t *value = json_object();

	kl_json_set_str(value, "what", "parent");
	if (surface)
		kl_json_set_str(value, "surface", surface);
	kl_json_set_str(value, "verdict",
			ppm < 0       ? "ambiguous" :
			ppm > 1020000 ? "fast" :
			ppm < 980000  ? "slow" :
					"same");
	ppm = ppm < 0 ? -ppm : ppm;
	kl_json_set_int(value, "ratio_ppm", ppm);
	kl_json_set_int(value, "lo_ppm", ppm - wide);
	kl_json_set_int(value, "hi_ppm", ppm + wide);
	return value;
}

static inline json_t *event(const struct kl_surface *surface, const char *features, int n)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	json_t *entry = json_object(), *platform = json_object(), *profile = json_object(),
	       *list = json_array();
	KL_AUTO(kl_freep) char *time = kl_asprintf("2026-01-01T00:00:%02dZ", n);

	kl_strvec_split(&names, features, " ");
	kl_strvec_sort(&names);
	for (size_t i = 0; i < names.n; i++)
		json_array_append_new(list, json_string(names.v[i]));
	kl_json_set_int(entry, "v", 1);
	kl_json_set_str(entry, "kind", "gate");
	kl_json_set_str(entry, "verdict", "pass");
	kl_json_set_str(entry, "surface", surface->digest);
	kl_json_set_str(entry, "contract", surface->contract_digest);
	kl_json_set_str(entry, "time", time);
	kl_json_set(entry, "features", list);
	kl_json_set_str(platform, "id", "cpu/x86-64-v3");
	kl_json_set(entry, "platform", platform);
	kl_json_set_int(profile, "ns", 1000);
	kl_json_set(profile, "vs", json_array());
	kl_json_set(entry, "profile", profile);
	return entry;
}

static inline void add_counters(json_t *entry, int dram)
{
	json_t *object = json_object(), *list = json_array(), *launch = json_object();

	kl_json_set_int(launch, "dram_ppm", dram);
	json_array_append_new(list, launch);
	kl_json_set(object, "launches", list);
	kl_json_set(entry, "counters", object);
}

static inline void note(struct kl_repo *repo, const git_oid *commit, json_t *entry)
{
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
	struct kl_note_line note_line = { .commit = *commit };
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	if (!json_object_get(entry, "id"))
		seal_doc(entry);
	kl_json_set_str(entry, "commit", hex);
	kl_json_canonical(&line, entry);
	note_line.line = line.ptr;
	assert_ok(kl_notes_add(repo, KL_NOTES_GATE, &note_line, 1));
}

static inline json_t *forward_of(json_t *own, json_t *before)
{
	KL_AUTO(kl_event_freep) struct kl_event *state = kl_event_from_json(own);
	KL_AUTO(kl_event_freep) struct kl_event *pair = kl_event_from_json(before);
	KL_AUTO(kl_event_freep) struct kl_event *forward = kl_event_inverse(state, pair,
									    1800000000);

	return kl_event_json(forward);
}

static inline git_oid state_tree(struct kl_repo *repo, const char *contract, const char *workload,
				 const char *source)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf(contract, workload);
	struct kl_tree_edit edit[] = {
		{ "klineage.yaml", text, strlen(text), 0 },
		{ "oracle.c", "x", 1, 0 },
		{ "k.c", source, strlen(source), 0 },
	};
	git_oid tree;

	assert_ok(kl_repo_tree_edit(&tree, repo, NULL, edit, KL_ARRAY_SIZE(edit)));
	return tree;
}

static inline git_oid commit(struct kl_repo *repo, const git_oid *tree, const git_oid *parent,
			     size_t np, struct kl_step *step)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	struct kl_commit_spec spec = { .tree = *tree, .parent = parent, .nparent = np };
	git_oid out;

	kl_step_message(&message, step);
	spec.message = message.ptr;
	assert_ok(kl_repo_commit_write(&out, repo, &spec));
	return out;
}

/* points of the pair's event, as a walk measures: backward */
static inline void add_points(json_t *entry, int64_t left, int64_t right)
{
	json_t *points = json_array();
	int64_t ppm[] = { left, right };

	for (int i = 0; i < 2; i++) {
		json_t *profile = json_object(), *list = json_array();

		json_array_append_new(list, vs(NULL, ppm[i]));
		kl_json_set(profile, "vs", list);
		json_array_append_new(points, profile);
	}
	kl_json_set(json_object_get(entry, "profile"), "points", points);
}

static inline int64_t turned(int64_t ppm)
{
	return (1000000 * (int64_t)1000000 + ppm / 2) / ppm;
}

/* the sources of make_lineage() have CR LF */
static bool with_crlf;

/* state n of a lineage: its files, its own event, and the forward event against the state before */
static inline void make_lineage(struct kl_repo *repo, const char *contract, const char *workload,
				const struct made *other, size_t n)
{
	KL_AUTO(json_decrefp) json_t *before = NULL;
	KL_AUTO(kl_freep) char *ref = kl_asprintf("refs/heads/klineage/lineage/%s/x", workload);
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(repo);
	git_oid at[2] = { 0 };

	for (size_t i = 0; i <= n; i++) {
		const char *end = with_crlf ? "\r\n" : "\n";
		KL_AUTO(kl_freep) char *source = kl_asprintf(
			"/* %s %zu */%svoid k(void)%s{%s\tf%zu(1);%s}%s", workload, i, end, end,
			end, i, end, end);
		KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
		KL_AUTO(json_decrefp) json_t *own = NULL, *forward = NULL;
		git_oid tree = state_tree(repo, contract, workload, source), made;
		struct kl_step step = { .kind = i ? KL_STEP_FORWARD : KL_STEP_ROOT,
					.number = (int)i };
		size_t np = i ? 1 : 0;

		assert_ok(kl_surface_from_tree(&surface, repo, &tree, ""));
		own = event(surface, i ? other[i - 1].features : "", (int)i);
		if (i && other[i - 1].dram)
			add_counters(own, other[i - 1].dram);
		if (i < n) { /* measured against the state that the walk came from */
			kl_json_set(json_object_get(own, "profile"), "vs", json_array());
			json_array_append_new(json_object_get(json_object_get(own, "profile"),
							      "vs"),
					      vs("later", turned(other[i].ratio)));
			if (other[i].second)
				add_points(own, turned(other[i].ratio), turned(other[i].second));
		}
		if (i) {
			step.action = kl_strdup(other[i - 1].action);
			step.mechanism = other[i - 1].mechanism ?
						 kl_strdup(other[i - 1].mechanism) :
						 NULL;
			step.trait = other[i - 1].trait ? kl_strdup(other[i - 1].trait) : NULL;
			step.delta = kl_strdup(other[i - 1].delta ? other[i - 1].delta : "clean");
			step.locus = kl_strdup("k.c:k");
			step.origin = kl_strdup("induced");
			step.derivation = kl_strdup(other[i - 1].anew ? "rederived" : "inverse");
		} else {
			step.workload = kl_strdup(workload);
		}
		if (i && other[i - 1].anew) {
			KL_AUTO(kl_freep) char *text = kl_asprintf("/* anew */\n%s", source);
			KL_AUTO(kl_surface_freep) struct kl_surface *other_surface = NULL;
			KL_AUTO(json_decrefp) json_t *entry = NULL;
			git_oid anew = state_tree(repo, contract, workload, text);

			at[1] = commit(repo, &anew, at, 1, &step);
			assert_ok(kl_surface_from_tree(&other_surface, repo, &anew, ""));
			entry = event(other_surface, other[i - 1].features, (int)i);
			note(repo, &at[1], entry);
			np = 2;
		}
		made = commit(repo, &tree, at, np, &step);
		kl_step_release(&step);
		at[0] = made;
		note(repo, &made, own);
		if (i) {
			forward = forward_of(own, before);
			note(repo, &made, forward);
		}
		json_decref(before);
		before = json_incref(own);
	}
	kl_refs_txn_create(txn, ref, &at[0]);
	assert_ok(kl_refs_txn_commit(txn, "test"));
}

static inline void lift(struct kl_lift *other, struct kl_transitions *transitions,
			struct kl_repo *repo, struct kl_library **lib)
{
	*transitions = (struct kl_transitions){ 0 };
	assert_ok(kl_transitions_load(transitions, repo, NULL));
	assert_ok(kl_library_open(lib, repo));
	assert_ok(kl_lift_run(other, transitions, *lib));
}

static inline const struct kl_card *card_of(const struct kl_lift *lift, const char *mechanism)
{
	for (size_t i = 0; i < lift->n; i++)
		if (!strcmp(lift->v[i].card->mechanism, mechanism))
			return lift->v[i].card;
	fail_msg("no card of %s", mechanism);
	return NULL;
}

static inline const struct kl_card_pre *sound(const struct kl_card *card, const char *id)
{
	for (size_t i = 0; i < card->sound.n; i++)
		if (!strcmp(card->sound.v[i].id, id))
			return &card->sound.v[i];
	return NULL;
}

struct world {
	char *dir;
	struct kl_repo *r;
	struct kl_library *lib;
	struct kl_transitions t;
	struct kl_lift l;
};

static inline void open_world(struct world *world, const char *name)
{
	*world = (struct world){ .dir = scratch_repo(name) };
	assert_ok(kl_repo_open_at(&world->r, world->dir));
}

static inline void close_world(struct world *world)
{
	kl_lift_release(&world->l);
	kl_transitions_release(&world->t);
	kl_library_free(world->lib);
	kl_repo_free(world->r);
	free(world->dir);
}

#endif
