/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SKILL_LIB_H
#define KL_SKILL_LIB_H

/*
 * skill_lib - libraries for tests of retrieval: cards made in a few words, written as a branch in
 * one commit, and a target to ask for.
 */
#include "../bench/skill_gen.h"
#include "base/fs.h"
#include "card/status.h"
#include "repo/refs.h"
#include "retrieve/retrieve.h"
#include "scratch.h"

static struct kl_taxonomy *tax;

static inline int setup(void **state)
{
	assert_int_equal(scratch_setup(state), 0);
	assert_ok(kl_taxonomy_load(&tax));
	return 0;
}

static inline int teardown(void **state)
{
	kl_taxonomy_free(tax);
	return scratch_teardown(state);
}

/* --- a repository with cards ------------------------------------------------------- */

struct lib {
	char *dir;
	struct kl_repo *r;
	struct kl_card **card;
	size_t n, alloc;
};

static inline struct lib lib_new(const char *name)
{
	struct lib l = { .dir = scratch_dir(name) };

	sh(l.dir, "git init -q -b main .");
	assert_ok(kl_repo_open_at(&l.r, l.dir));
	return l;
}

static inline void lib_release(struct lib *l)
{
	for (size_t i = 0; i < l->n; i++)
		kl_card_free(l->card[i]);
	free(l->card);
	kl_repo_free(l->r);
	free(l->dir);
}

static inline void lib_add(struct lib *l, struct kl_card *c)
{
	KL_GROW(l->card, l->n + 1, l->alloc);
	l->card[l->n++] = c;
}

/* Write all cards as the library's branch, in one commit. */
static inline void lib_commit(struct lib *l)
{
	KL_AUTO(kl_freep) struct kl_tree_edit *edit = kl_calloc(l->n + 1, sizeof(*edit));
	KL_AUTO(kl_strvec_release) struct kl_strvec path = KL_STRVEC_INIT, text = KL_STRVEC_INIT;
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *t = kl_refs_txn_new(l->r);
	struct kl_commit_spec s = { .message = "cards\n" };
	git_oid tip, old;

	for (size_t i = 0; i < l->n; i++) {
		struct kl_buf b = KL_BUF_INIT;

		kl_card_write(&b, l->card[i]);
		edit[i].len = b.len;
		kl_strvec_pushf(&path, "cards/%s.yaml", l->card[i]->id);
		kl_strvec_take(&text, kl_buf_detach(&b));
	}
	for (size_t i = 0; i < l->n; i++) {
		edit[i].path = path.v[i];
		edit[i].data = text.v[i];
	}
	assert_ok(kl_repo_tree_edit(&s.tree, l->r, NULL, edit, l->n));
	assert_ok(kl_repo_commit_write(&tip, l->r, &s));
	if (kl_refs_get(&old, l->r, KL_LIBRARY_REF) == 0)
		kl_refs_txn_update(t, KL_LIBRARY_REF, &tip, &old);
	else
		kl_refs_txn_create(t, KL_LIBRARY_REF, &tip);
	assert_ok(kl_refs_txn_commit(t, "test"));
}

/* --- cards ------------------------------------------------------------------------------ */

static inline struct kl_card *card(const char *id, const char *provides, const char *requires)
{
	struct kl_card *c = kl_card_new();

	c->id = kl_strdup(id);
	c->intent = kl_strdup("an intent");
	c->anchor.construct = kl_strdup("a loop");
	kl_strvec_split(&c->provides, provides, " ");
	kl_strvec_copy(&c->scope.provides, &c->provides);
	kl_strvec_split(&c->scope.requires, requires, " ");
	return c;
}

/*
 * A held-out trial of a case ("gemm f32 c cpu/x86-64-v3 M=1024 N=1024 K=1024"), with its row if it
 * passed.
 */
static inline void tried(struct kl_card *c, const char *point, bool pass)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec w = KL_STRVEC_INIT;
	struct kl_card_row row = { .by = KL_ROW_TRIAL, .ratio = { 1500000, 1400000, 1600000 } };
	struct kl_card_trial t;
	static uint64_t n;

	kl_strvec_split(&w, point, " ");
	kl_card_trial_init(&t);
	t.trial = 1;
	t.level = KL_LEVEL_OTHER_WORKLOAD;
	t.workload = kl_strdup("w");
	t.case_ = kl_strdup(w.v[0]);
	t.dtype = kl_strdup(w.v[1]);
	t.language = kl_strdup(w.v[2]);
	t.platform = kl_strdup(w.v[3]);
	for (size_t i = 4; i < w.n; i++) {
		char *eq = strchr(w.v[i], '=');

		*eq = '\0';
		kl_card_dims_add(&t.dims, w.v[i], atoll(eq + 1));
	}
	t.state = skill_gen_hex(1, n, 1, 40);
	t.event = skill_gen_hex(1, n++, 2, 64);
	t.isolated = true;
	t.result = pass ? KL_RESULT_PASS : KL_RESULT_FAIL;
	t.class_ = pass ? NULL : kl_strdup("slower");
	t.how = KL_HOW_MECHANICAL;
	if (pass) {
		t.ratio = row.ratio;
		row.case_ = kl_strdup(t.case_);
		kl_card_dims_copy(&row.dims, &t.dims);
		row.dtype = kl_strdup(t.dtype);
		row.language = kl_strdup(t.language);
		row.platform = kl_strdup(t.platform);
		row.event = kl_strdup(t.event);
		kl_card_add_row(c, &row);
	}
	kl_card_add_trial(c, &t);
	kl_card_normalize(c);
}

static inline void sound(struct kl_card *c, const char *id, const char *test)
{
	struct kl_card_pre p = { .id = kl_strdup(id),
				 .text = kl_strdup("it must"),
				 .test = kl_strdup(test) };

	KL_GROW(c->sound.v, c->sound.n + 1, c->sound.alloc);
	c->sound.v[c->sound.n++] = p;
	kl_card_normalize(c);
}

static inline void learned(struct kl_card *c, const char *lineage, int64_t step)
{
	static uint64_t n;
	struct kl_card_evidence e = {
		.lineage = kl_strdup(lineage),
		.step = step,
		.before = skill_gen_hex(2, n, 1, 40),
		.after = skill_gen_hex(2, n, 2, 40),
		.derivation = KL_DERIVED_INVERSE,
		.origin = kl_strdup("induced"),
		.language = kl_strdup("c"),
		.platform = kl_strdup("cpu/x86-64-v3"),
		.event = skill_gen_hex(2, n, 3, 64),
	};

	n++;
	kl_card_add_evidence(c, &e);
}

#define HOME_POINT "gemm f32 c cpu/x86-64-v3 M=1024 N=1024 K=1024"

/* one that was tried just where the target is, and passed */
static inline struct kl_card *at_home(const char *id, const char *provides, const char *requires)
{
	struct kl_card *c = card(id, provides, requires);

	tried(c, HOME_POINT, true);
	return c;
}

/* --- targets ------------------------------------------------------------------------------ */

static const char sgemm[] =
	"klineage: 1\nworkload: sgemm\ncase: {op: gemm, dims: {M: 1024, N: 1024, K: 1024}}\n"
	"surface: {language: c, sources: [sgemm.c], entry: sgemm, flags: [-O2]}\n"
	"args:\n  - {name: M, kind: dim}\n  - {name: N, kind: dim}\n  - {name: K, kind: dim}\n"
	"  - {name: A, kind: in, dtype: f32, shape: [M, K]}\n  - {name: B, kind: in, dtype: f32, shape: [K, N]}\n"
	"  - {name: C, kind: out, dtype: f32, shape: [M, N]}\n"
	"domain: [M >= 1, N >= 1, K >= 1]\nalso: [{M: 127, N: 63, K: 65}, {M: 1, N: 8, K: 8}]\n"
	"oracle: {language: c, sources: [oracle.c], entry: oracle}\naccept: {rule: noise}\n";

static inline struct kl_surface surface_of(struct kl_contract *c, struct kl_file *f,
					   const char *source)
{
	*f = (struct kl_file){ .path = (char *)"sgemm.c",
			       .mode = 0100644,
			       .data = (char *)source,
			       .len = strlen(source) };
	return (struct kl_surface){ .contract = c, .dir = (char *)"", .file = f, .nfile = 1 };
}

static inline struct kl_target target(const char *platform)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *c = NULL;
	struct kl_target t;
	struct kl_surface s;
	struct kl_file f;

	assert_ok(kl_contract_parse(&c, "klineage.yaml", sgemm, strlen(sgemm)));
	s = surface_of(
		c, &f,
		"#define BM 64\n#define BM 128\n # define KC 256 \n#define F(x) 3\n#define E 1e3\n"
		"#define HEADS 3\t/* of a block */\n#define LOW (-2)\n#define LESS -2\n#define MASK 0xffu\n"
		"#define WORDS 16u // of a row\n#define SUM 1 + 2\n#define HUGE 99999999999999999999\n"
		"enum tile { MR = 6, NR = 16, AREA = MR * NR, REST };\n/* enum { NOT = 1 }; #define NOR 1 */\n"
		"static const int RUNS = 32;\nstatic constexpr unsigned STAGES = 4;\nconst float *at;\n"
		"int f(void)\n{\n\tconst int local = 7;\n\treturn local;\n}\n");
	assert_ok(kl_target_init(&t, tax, &s, platform));
	return t;
}

/* --- asking ----------------------------------------------------------------------------------- */

static inline struct kl_retrieval ask_opts(struct lib *l, struct kl_target *t,
					   struct kl_retrieve_opts o)
{
	KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
	struct kl_retrieval r;

	assert_ok(kl_index_open(&ix, l->r, tax));
	assert_ok(kl_retrieve(&r, ix, t, &o));
	return r;
}

static inline struct kl_retrieval ask(struct lib *l, struct kl_target *t)
{
	return ask_opts(l, t, (struct kl_retrieve_opts)KL_RETRIEVE_OPTS_INIT);
}

static inline void assert_ids(const struct kl_retrieval *r, const char *want)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	for (size_t i = 0; i < r->n; i++)
		kl_buf_addf(&b, "%s%s", i ? " " : "", r->v[i].id);
	assert_string_equal(b.ptr, want);
}

static inline const struct kl_retrieved *find(const struct kl_retrieved *v, size_t n,
					      const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].id, id))
			return &v[i];
	fail_msg("no card '%s'", id);
	return NULL;
}

/** Generated cards until there are n, committed. */
static inline void fill(struct lib *l, const struct skill_gen *g, size_t n)
{
	while (l->n < n)
		lib_add(l, skill_gen_card(g, l->n));
	lib_commit(l);
}

#endif
