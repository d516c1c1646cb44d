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
static const char other_op[] = CONTRACT("scale", "domain: [n % 8 == 0, n <= 4096]\n");
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
	json_t *v = json_object();

	kl_json_set_str(v, "what", "parent");
	if (surface)
		kl_json_set_str(v, "surface", surface);
	kl_json_set_str(v, "verdict",
			ppm < 0       ? "ambiguous" :
			ppm > 1020000 ? "fast" :
			ppm < 980000  ? "slow" :
					"same");
	ppm = ppm < 0 ? -ppm : ppm;
	kl_json_set_int(v, "ratio_ppm", ppm);
	kl_json_set_int(v, "lo_ppm", ppm - wide);
	kl_json_set_int(v, "hi_ppm", ppm + wide);
	return v;
}

static inline json_t *event(const struct kl_surface *s, const char *features, int n)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec f = KL_STRVEC_INIT;
	json_t *e = json_object(), *platform = json_object(), *profile = json_object(),
	       *list = json_array();
	KL_AUTO(kl_freep) char *time = kl_asprintf("2026-01-01T00:00:%02dZ", n);

	kl_strvec_split(&f, features, " ");
	kl_strvec_sort(&f);
	for (size_t i = 0; i < f.n; i++)
		json_array_append_new(list, json_string(f.v[i]));
	kl_json_set_int(e, "v", 1);
	kl_json_set_str(e, "kind", "gate");
	kl_json_set_str(e, "verdict", "pass");
	kl_json_set_str(e, "surface", s->digest);
	kl_json_set_str(e, "contract", s->contract_digest);
	kl_json_set_str(e, "time", time);
	kl_json_set(e, "features", list);
	kl_json_set_str(platform, "id", "cpu/x86-64-v3");
	kl_json_set(e, "platform", platform);
	kl_json_set_int(profile, "ns", 1000);
	kl_json_set(profile, "vs", json_array());
	kl_json_set(e, "profile", profile);
	return e;
}

static inline void add_counters(json_t *e, int dram)
{
	json_t *o = json_object(), *list = json_array(), *launch = json_object();

	kl_json_set_int(launch, "dram_ppm", dram);
	json_array_append_new(list, launch);
	kl_json_set(o, "launches", list);
	kl_json_set(e, "counters", o);
}

static inline void note(struct kl_repo *r, const git_oid *commit, json_t *e)
{
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
	struct kl_note_line n = { .commit = *commit };
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	if (!json_object_get(e, "id"))
		seal_doc(e);
	kl_json_set_str(e, "commit", hex);
	kl_json_canonical(&line, e);
	n.line = line.ptr;
	assert_ok(kl_notes_add(r, KL_NOTES_GATE, &n, 1));
}

static inline json_t *forward_of(json_t *own, json_t *before)
{
	KL_AUTO(kl_event_freep) struct kl_event *state = kl_event_from_json(own);
	KL_AUTO(kl_event_freep) struct kl_event *pair = kl_event_from_json(before);
	KL_AUTO(kl_event_freep) struct kl_event *forward = kl_event_inverse(state, pair,
									    1800000000);

	return kl_event_json(forward);
}

static inline git_oid state_tree(struct kl_repo *r, const char *contract, const char *workload,
				 const char *source)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf(contract, workload);
	struct kl_tree_edit edit[] = {
		{ "klineage.yaml", text, strlen(text), 0 },
		{ "oracle.c", "x", 1, 0 },
		{ "k.c", source, strlen(source), 0 },
	};
	git_oid tree;

	assert_ok(kl_repo_tree_edit(&tree, r, NULL, edit, KL_ARRAY_SIZE(edit)));
	return tree;
}

static inline git_oid commit(struct kl_repo *r, const git_oid *tree, const git_oid *parent,
			     size_t np, struct kl_step *s)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	struct kl_commit_spec spec = { .tree = *tree, .parent = parent, .nparent = np };
	git_oid out;

	kl_step_message(&message, s);
	spec.message = message.ptr;
	assert_ok(kl_repo_commit_write(&out, r, &spec));
	return out;
}

/* points of the pair's event, as a walk measures: backward */
static inline void add_points(json_t *e, int64_t a, int64_t b)
{
	json_t *points = json_array();
	int64_t ppm[] = { a, b };

	for (int i = 0; i < 2; i++) {
		json_t *p = json_object(), *list = json_array();

		json_array_append_new(list, vs(NULL, ppm[i]));
		kl_json_set(p, "vs", list);
		json_array_append_new(points, p);
	}
	kl_json_set(json_object_get(e, "profile"), "points", points);
}

static inline int64_t turned(int64_t ppm)
{
	return (1000000 * (int64_t)1000000 + ppm / 2) / ppm;
}

/* state n of a lineage: its files, its own event, and the forward event against the state before */
static inline void make_lineage(struct kl_repo *r, const char *contract, const char *workload,
				const struct made *m, size_t n)
{
	KL_AUTO(json_decrefp) json_t *before = NULL;
	KL_AUTO(kl_freep) char *ref = kl_asprintf("refs/heads/klineage/lineage/%s/x", workload);
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *t = kl_refs_txn_new(r);
	git_oid at[2] = { 0 };

	for (size_t i = 0; i <= n; i++) {
		KL_AUTO(kl_freep) char *source = kl_asprintf(
			"/* %s %zu */\nvoid k(void)\n{\n\tf%zu(1);\n}\n", workload, i, i);
		KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL;
		KL_AUTO(json_decrefp) json_t *own = NULL, *forward = NULL;
		git_oid tree = state_tree(r, contract, workload, source), made;
		struct kl_step step = { .kind = i ? KL_STEP_FORWARD : KL_STEP_ROOT,
					.number = (int)i };
		size_t np = i ? 1 : 0;

		assert_ok(kl_surface_from_tree(&s, r, &tree, ""));
		own = event(s, i ? m[i - 1].features : "", (int)i);
		if (i && m[i - 1].dram)
			add_counters(own, m[i - 1].dram);
		if (i < n) { /* measured against the state that the walk came from */
			kl_json_set(json_object_get(own, "profile"), "vs", json_array());
			json_array_append_new(json_object_get(json_object_get(own, "profile"),
							      "vs"),
					      vs("later", turned(m[i].ratio)));
			if (m[i].second)
				add_points(own, turned(m[i].ratio), turned(m[i].second));
		}
		if (i) {
			step.action = kl_strdup(m[i - 1].action);
			step.mechanism = m[i - 1].mechanism ? kl_strdup(m[i - 1].mechanism) : NULL;
			step.trait = m[i - 1].trait ? kl_strdup(m[i - 1].trait) : NULL;
			step.delta = kl_strdup(m[i - 1].delta ? m[i - 1].delta : "clean");
			step.locus = kl_strdup("k.c:k");
			step.origin = kl_strdup("induced");
			step.derivation = kl_strdup(m[i - 1].anew ? "rederived" : "inverse");
		} else {
			step.workload = kl_strdup(workload);
		}
		if (i && m[i - 1].anew) {
			KL_AUTO(kl_freep) char *text = kl_asprintf("/* anew */\n%s", source);
			KL_AUTO(kl_surface_freep) struct kl_surface *k = NULL;
			KL_AUTO(json_decrefp) json_t *e = NULL;
			git_oid anew = state_tree(r, contract, workload, text);

			at[1] = commit(r, &anew, at, 1, &step);
			assert_ok(kl_surface_from_tree(&k, r, &anew, ""));
			e = event(k, m[i - 1].features, (int)i);
			note(r, &at[1], e);
			np = 2;
		}
		made = commit(r, &tree, at, np, &step);
		kl_step_release(&step);
		at[0] = made;
		note(r, &made, own);
		if (i) {
			forward = forward_of(own, before);
			note(r, &made, forward);
		}
		json_decref(before);
		before = json_incref(own);
	}
	kl_refs_txn_create(t, ref, &at[0]);
	assert_ok(kl_refs_txn_commit(t, "test"));
}

static inline void lift(struct kl_lift *l, struct kl_transitions *t, struct kl_repo *r,
			struct kl_library **lib)
{
	*t = (struct kl_transitions){ 0 };
	assert_ok(kl_transitions_load(t, r, NULL));
	assert_ok(kl_library_open(lib, r));
	assert_ok(kl_lift_run(l, t, *lib));
}

static inline const struct kl_card *card_of(const struct kl_lift *l, const char *mechanism)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].card->mechanism, mechanism))
			return l->v[i].card;
	fail_msg("no card of %s", mechanism);
	return NULL;
}

static inline const struct kl_card_pre *sound(const struct kl_card *c, const char *id)
{
	for (size_t i = 0; i < c->sound.n; i++)
		if (!strcmp(c->sound.v[i].id, id))
			return &c->sound.v[i];
	return NULL;
}

struct world {
	char *dir;
	struct kl_repo *r;
	struct kl_library *lib;
	struct kl_transitions t;
	struct kl_lift l;
};

static inline void open_world(struct world *w, const char *name)
{
	*w = (struct world){ .dir = scratch_repo(name) };
	assert_ok(kl_repo_open_at(&w->r, w->dir));
}

static inline void close_world(struct world *w)
{
	kl_lift_release(&w->l);
	kl_transitions_release(&w->t);
	kl_library_free(w->lib);
	kl_repo_free(w->r);
	free(w->dir);
}

#endif
