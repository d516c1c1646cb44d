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
	struct lib lib = { .dir = scratch_dir(name) };

	sh(lib.dir, "git init -q -b main .");
	assert_ok(kl_repo_open_at(&lib.r, lib.dir));
	return lib;
}

static inline void lib_release(struct lib *lib)
{
	for (size_t i = 0; i < lib->n; i++)
		kl_card_free(lib->card[i]);
	free(lib->card);
	kl_repo_free(lib->r);
	free(lib->dir);
}

static inline void lib_add(struct lib *lib, struct kl_card *card)
{
	KL_GROW(lib->card, lib->n + 1, lib->alloc);
	lib->card[lib->n++] = card;
}

/* Write all cards as the library's branch, in one commit. */
static inline void lib_commit(struct lib *lib)
{
	KL_AUTO(kl_freep) struct kl_tree_edit *edit = kl_calloc(lib->n + 1, sizeof(*edit));
	KL_AUTO(kl_strvec_release) struct kl_strvec path = KL_STRVEC_INIT, text = KL_STRVEC_INIT;
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(lib->r);
	struct kl_commit_spec spec = { .message = "cards\n" };
	git_oid tip, old;

	for (size_t i = 0; i < lib->n; i++) {
		struct kl_buf buf = KL_BUF_INIT;

		kl_card_write(&buf, lib->card[i]);
		edit[i].len = buf.len;
		kl_strvec_pushf(&path, "cards/%s.yaml", lib->card[i]->id);
		kl_strvec_take(&text, kl_buf_detach(&buf));
	}
	for (size_t i = 0; i < lib->n; i++) {
		edit[i].path = path.v[i];
		edit[i].data = text.v[i];
	}
	assert_ok(kl_repo_tree_edit(&spec.tree, lib->r, NULL, edit, lib->n));
	assert_ok(kl_repo_commit_write(&tip, lib->r, &spec));
	if (kl_refs_get(&old, lib->r, KL_LIBRARY_REF) == 0)
		kl_refs_txn_update(txn, KL_LIBRARY_REF, &tip, &old);
	else
		kl_refs_txn_create(txn, KL_LIBRARY_REF, &tip);
	assert_ok(kl_refs_txn_commit(txn, "test"));
}

/* --- cards ------------------------------------------------------------------------------ */

static inline struct kl_card *card(const char *id, const char *provides, const char *requires)
{
	struct kl_card *other = kl_card_new();

	other->id = kl_strdup(id);
	other->intent = kl_strdup("an intent");
	other->anchor.construct = kl_strdup("a loop");
	kl_strvec_split(&other->provides, provides, " ");
	kl_strvec_copy(&other->scope.provides, &other->provides);
	kl_strvec_split(&other->scope.requires, requires, " ");
	return other;
}

/*
 * A held-out trial of a case ("gemm f32 c cpu/x86-64-v3 M=1024 N=1024 K=1024"), with its row if it
 * passed.
 */
static inline void tried(struct kl_card *card, const char *point, bool pass)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec list = KL_STRVEC_INIT;
	struct kl_card_row row = { .by = KL_ROW_TRIAL, .ratio = { 1500000, 1400000, 1600000 } };
	struct kl_card_trial trial;
	static uint64_t n;

	kl_strvec_split(&list, point, " ");
	kl_card_trial_init(&trial);
	trial.trial = 1;
	trial.level = KL_LEVEL_OTHER_WORKLOAD;
	trial.workload = kl_strdup("w");
	trial.case_ = kl_strdup(list.v[0]);
	trial.dtype = kl_strdup(list.v[1]);
	trial.language = kl_strdup(list.v[2]);
	trial.platform = kl_strdup(list.v[3]);
	for (size_t i = 4; i < list.n; i++) {
		char *eq = strchr(list.v[i], '=');

		*eq = '\0';
		kl_card_dims_add(&trial.dims, list.v[i], atoll(eq + 1));
	}
	trial.state = skill_gen_hex(1, n, 1, 40);
	trial.event = skill_gen_hex(1, n++, 2, 64);
	trial.isolated = true;
	trial.result = pass ? KL_RESULT_PASS : KL_RESULT_FAIL;
	trial.class_ = pass ? NULL : kl_strdup("slower");
	trial.how = KL_HOW_MECHANICAL;
	if (pass) {
		trial.ratio = row.ratio;
		row.case_ = kl_strdup(trial.case_);
		kl_card_dims_copy(&row.dims, &trial.dims);
		row.dtype = kl_strdup(trial.dtype);
		row.language = kl_strdup(trial.language);
		row.platform = kl_strdup(trial.platform);
		row.event = kl_strdup(trial.event);
		kl_card_add_row(card, &row);
	}
	kl_card_add_trial(card, &trial);
	kl_card_normalize(card);
}

static inline void sound(struct kl_card *card, const char *id, const char *test)
{
	struct kl_card_pre pre = { .id = kl_strdup(id),
				   .text = kl_strdup("it must"),
				   .test = kl_strdup(test) };

	KL_GROW(card->sound.v, card->sound.n + 1, card->sound.alloc);
	card->sound.v[card->sound.n++] = pre;
	kl_card_normalize(card);
}

static inline void useful(struct kl_card *card, const char *id, const char *test)
{
	struct kl_card_pre pre = { .id = kl_strdup(id),
				   .text = kl_strdup("it pays"),
				   .test = kl_strdup(test) };

	KL_GROW(card->useful.v, card->useful.n + 1, card->useful.alloc);
	card->useful.v[card->useful.n++] = pre;
	kl_card_normalize(card);
}

static inline void learned(struct kl_card *card, const char *lineage, int64_t step)
{
	static uint64_t n;
	struct kl_card_evidence evidence = {
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
	kl_card_add_evidence(card, &evidence);
}

#define HOME_POINT "gemm f32 c cpu/x86-64-v3 M=1024 N=1024 K=1024"

/* one that was tried just where the target is, and passed */
static inline struct kl_card *at_home(const char *id, const char *provides, const char *requires)
{
	struct kl_card *other = card(id, provides, requires);

	tried(other, HOME_POINT, true);
	return other;
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

static inline struct kl_surface surface_of(struct kl_contract *contract, struct kl_file *file,
					   const char *source)
{
	*file = (struct kl_file){ .path = (char *)"sgemm.c",
				  .mode = 0100644,
				  .data = (char *)source,
				  .len = strlen(source) };
	return (struct kl_surface){
		.contract = contract, .dir = (char *)"", .file = file, .nfile = 1
	};
}

static inline struct kl_target target(const char *platform)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;
	struct kl_target other;
	struct kl_surface surface;
	struct kl_file file;

	assert_ok(kl_contract_parse(&contract, "klineage.yaml", sgemm, strlen(sgemm)));
	surface = surface_of(
		contract, &file,
		"#define BM 64\n#define BM 128\n # define KC 256 \n#define F(x) 3\n#define E 1e3\n"
		"#define HEADS 3\t/* of a block */\n#define LOW (-2)\n#define LESS -2\n#define MASK 0xffu\n"
		"#define WORDS 16u // of a row\n#define SUM 1 + 2\n#define HUGE 99999999999999999999\n"
		"enum tile { MR = 6, NR = 16, AREA = MR * NR, REST };\n/* enum { NOT = 1 }; #define NOR 1 */\n"
		"static const int RUNS = 32;\nstatic constexpr unsigned STAGES = 4;\nconst float *at;\n"
		"int f(void)\n{\n\tconst int local = 7;\n\treturn local;\n}\n");
	assert_ok(kl_target_init(&other, tax, &surface, platform));
	return other;
}

/* --- asking ----------------------------------------------------------------------------------- */

static inline struct kl_retrieval ask_opts(struct lib *lib, struct kl_target *target,
					   struct kl_retrieve_opts opts)
{
	KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
	struct kl_retrieval retrieval;

	assert_ok(kl_index_open(&ix, lib->r, tax));
	assert_ok(kl_retrieve(&retrieval, ix, target, &opts));
	return retrieval;
}

static inline struct kl_retrieval ask(struct lib *lib, struct kl_target *target)
{
	return ask_opts(lib, target, (struct kl_retrieve_opts)KL_RETRIEVE_OPTS_INIT);
}

static inline void assert_ids(const struct kl_retrieval *retrieval, const char *want)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < retrieval->n; i++)
		kl_buf_addf(&buf, "%s%s", i ? " " : "", retrieval->v[i].id);
	assert_string_equal(buf.ptr, want);
}

static inline const struct kl_retrieved *find(const struct kl_retrieved *retrieved, size_t n,
					      const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(retrieved[i].id, id))
			return &retrieved[i];
	fail_msg("no card '%s'", id);
	return NULL;
}

/** Generated cards until there are n, committed. */
static inline void fill(struct lib *lib, const struct skill_gen *gen, size_t n)
{
	while (lib->n < n)
		lib_add(lib, skill_gen_card(gen, lib->n));
	lib_commit(lib);
}

#endif
