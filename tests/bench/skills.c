/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skills - what is done with many cards.
 *
 *	skills write <dir> <n>		a library of n cards, with the events that they cite
 *	skills index <dir>		the index, from nothing: nanoseconds, peak memory in KiB
 *	skills retrieve <dir> <n>	n questions, each with the index opened anew: nanoseconds of each
 *
 * Making the cards is not in any figure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/proc.h"
#include "retrieve/retrieve.h"
#include "skill_gen.h"

#define EVENTS 4096

static void gen_init(struct skill_gen *gen)
{
	*gen = (struct skill_gen){
		.seed = 1, .facts = 300, .lineages = 400, .text = 900, .nevent = EVENTS
	};
	gen->event = kl_calloc(EVENTS, sizeof(*gen->event));
}

static void add_file(struct kl_buf *out, const char *path, const struct kl_buf *text)
{
	kl_buf_addf(out, "M 100644 inline %s\ndata %zu\n", path, text->len);
	kl_buf_add(out, text->ptr, text->len);
	kl_buf_addch(out, '\n');
}

static void add_events(struct kl_buf *out, struct skill_gen *gen)
{
	for (size_t k = 0; k < EVENTS; k++) {
		KL_AUTO(json_decrefp) json_t *entry = skill_gen_event(gen, k);
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		const char *id = kl_json_str_or(entry, "id", "");
		KL_AUTO(kl_freep) char *path = kl_asprintf("evidence/%.2s/%s.json", id, id);

		snprintf(gen->event[k], sizeof(gen->event[k]), "%s", id);
		kl_json_canonical(&text, entry);
		kl_buf_addch(&text, '\n');
		add_file(out, path, &text);
	}
}

static int write_cards(const char *dir, size_t n)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	struct kl_proc_result res;
	struct skill_gen gen;
	git_oid root;
	char hex[KL_OID_HEX];
	int err = kl_repo_open_at(&repo, dir);

	if (!err)
		err = kl_library_root(&root, repo);
	if (err < 0)
		return err;
	kl_oid_hex(hex, &root);
	gen_init(&gen);
	kl_buf_addf(&out,
		    "commit " KL_LIBRARY_REF
		    "\ncommitter bench <bench@klineage.invalid> 1 +0000\ndata 0\n"
		    "from %s\n",
		    hex);
	add_events(&out, &gen);
	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = skill_gen_card(&gen, i);
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *path = kl_asprintf("cards/%s.yaml", card->id);

		kl_card_write(&text, card);
		add_file(&out, path, &text);
	}
	free(gen.event);
	err = kl_proc_run(&res, &(struct kl_proc_opts){
					.argv = (const char *const[]){ "git", "fast-import",
								       "--quiet", "--force", NULL },
					.dir = dir,
					.in = out.ptr,
					.in_len = out.len,
					.flags = KL_PROC_INHERIT_STDERR });
	if (!err && res.exit)
		err = kl_error(KL_EIO, "git fast-import: exit %d", res.exit);
	return err;
}

static int build_index(const char *dir)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
	struct rusage use;
	int64_t start = kl_clock_ns();
	int err = kl_repo_open_at(&repo, dir);

	if (!err)
		err = kl_taxonomy_load(&tax);
	if (!err)
		err = kl_index_open(&ix, repo, tax);
	if (err < 0)
		return err;
	if (!kl_index_was_built(ix) || kl_index_bad(ix))
		return kl_error(KL_EINVALID, "the index was there, or %zu cards are none",
				kl_index_bad(ix));
	getrusage(RUSAGE_SELF, &use);
	printf("%zu %" PRId64 " %ld\n", kl_index_count(ix), kl_clock_ns() - start, use.ru_maxrss);
	return 0;
}

/* a target of one of the generator's kinds */
static int make_target(struct kl_target *target, const struct kl_taxonomy *tax, size_t i)
{
	static const char text[] =
		"klineage: 1\nworkload: sgemm\ncase: {op: gemm, dims: {M: %d, N: 1024, K: 512}}\n"
		"surface: {language: c, sources: [k.c], entry: sgemm, flags: [-O2]}\n"
		"args:\n  - {name: M, kind: dim}\n  - {name: N, kind: dim}\n  - {name: K, kind: dim}\n"
		"  - {name: A, kind: in, dtype: f32, shape: [M, K]}\n  - {name: B, kind: in, dtype: f32, shape: [K, N]}\n"
		"  - {name: C, kind: out, dtype: f32, shape: [M, N]}\n"
		"domain: [M >= 1, N >= 1, K >= 1]\nalso: [{M: 127, N: 63, K: 65}]\n"
		"oracle: {language: c, sources: [oracle.c], entry: oracle}\naccept: {rule: noise}\n";
	KL_AUTO(kl_freep) char *contract = kl_asprintf(text, 64 << i % 6);
	KL_AUTO(kl_contract_freep) struct kl_contract *other = NULL;
	struct kl_file file = { .path = (char *)"k.c", .mode = 0100644, .data = (char *)"" };
	struct kl_surface surface = { .dir = (char *)"", .file = &file, .nfile = 1 };
	int err = kl_contract_parse(&other, "klineage.yaml", contract, strlen(contract));

	surface.contract = other;
	if (!err)
		err = kl_target_init(target, tax, &surface, i % 2 ? "cpu/x86-64-v3" : "cuda/sm_90");
	for (size_t k = 0; !err && k < i % 5; k++) {
		KL_AUTO(kl_freep) char *fact = kl_asprintf("fact.%zu", 3 * (i + k) + 1);

		kl_target_add_prior(target, fact);
	}
	return err;
}

static int ask(const char *dir, size_t n)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	struct kl_retrieve_opts opts = KL_RETRIEVE_OPTS_INIT;
	int err = kl_repo_open_at(&repo, dir);

	if (!err)
		err = kl_taxonomy_load(&tax);
	for (size_t i = 0; !err && i < n; i++) {
		KL_AUTO(kl_target_release) struct kl_target target = { .known = KL_KNOWN_INIT };
		KL_AUTO(kl_retrieval_release) struct kl_retrieval found = { 0 };
		KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
		int64_t start;

		if ((err = make_target(&target, tax, i)) < 0)
			break;
		start = kl_clock_ns();
		err = kl_index_open(&ix, repo, tax);
		if (!err)
			err = kl_retrieve(&found, ix, &target, &opts);
		if (!err && !found.n)
			err = kl_error(KL_EINVALID, "nothing was found");
		if (!err)
			printf("%zu %" PRId64 "\n", found.cards, kl_clock_ns() - start);
	}
	return err;
}

int main(int argc, char **argv)
{
	int err;

	if (argc == 4 && !strcmp(argv[1], "write"))
		err = write_cards(argv[2], (size_t)atol(argv[3]));
	else if (argc == 3 && !strcmp(argv[1], "index"))
		err = build_index(argv[2]);
	else if (argc == 4 && !strcmp(argv[1], "retrieve"))
		err = ask(argv[2], (size_t)atol(argv[3]));
	else
		err = kl_error(KL_EUSAGE,
			       "usage: skills write <dir> <n> | index <dir> | retrieve <dir> <n>");
	if (err)
		fprintf(stderr, "skills: %s\n", kl_error_last());
	return err ? 1 : 0;
}
