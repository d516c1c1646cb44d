/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a library: whole or made anew, whoever makes it, from whatever. */
#include <sys/wait.h>

#include "base/mapfile.h"
#include "skill_lib.h"

static char *index_file(const struct lib *lib)
{
	KL_AUTO(kl_freep) char *name = sh_text(lib->dir,
					       "ls .git/klineage/cache/skills-*.index | head -n 1");

	return kl_asprintf("%s/%s", lib->dir, name);
}

static bool opens_whole(struct lib *lib, size_t n)
{
	KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
	bool built;

	assert_ok(kl_index_open(&ix, lib->r, tax));
	assert_int_equal(kl_index_count(ix), n);
	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
		const struct kl_index_card *entry = kl_index_card(ix, i);
		size_t passed, trials;

		assert_ok(kl_index_load(&card, ix, lib->r, i));
		assert_string_equal(kl_index_string(ix, entry->id), card->id);
		assert_int_equal(entry->status, card->status);
		assert_int_equal(entry->nrows, card->rows.n);
		assert_int_equal(entry->sound.n, 2 * card->sound.n);
		kl_status_count(&passed, &trials, card);
		assert_int_equal(entry->passed, passed);
		assert_int_equal(entry->trials, trials);
	}
	built = kl_index_was_built(ix);
	return !built;
}

static void test_index(void **state)
{
	/* clang-format off */
	static const struct { const char *how; } damage[] = {
		{ "printf X | dd of=f bs=1 seek=3000 conv=notrunc" },	/* a bit of the middle */
		{ "printf X | dd of=f bs=1 seek=3 conv=notrunc" },	/* the magic */
		{ "printf '\\377' | dd of=f bs=1 seek=8 conv=notrunc" },	/* the version */
		{ "printf '\\001' | dd of=f bs=1 seek=16 conv=notrunc" },	/* the length */
		{ "printf '\\001' | dd of=f bs=1 seek=130 conv=notrunc" },	/* a part's place */
		{ "head -c 5000 f >g; mv g f" }, { ": >f" }, { "echo x >>f" }, { "rm f; mkdir f; rmdir f" },
		{ "head -c 100000 /dev/zero >f" },
	};
	/* clang-format on */
	KL_AUTO(lib_release) struct lib lib = lib_new("index");
	struct skill_gen gen = { .seed = 5, .facts = 30, .lineages = 20, .text = 100 };
	KL_AUTO(kl_freep) char *path = NULL;

	assert_true(!opens_whole(&lib, 0)); /* no library: nothing is kept */
	fill(&lib, &gen, 60);
	assert_false(opens_whole(&lib, 60));
	assert_true(opens_whole(&lib, 60));
	path = index_file(&lib);
	for (size_t i = 0; i < KL_ARRAY_SIZE(damage); i++) {
		sh(lib.dir,
		   "cp '%s' f && { %s; } 2>/dev/null && { test -e f && mv f '%s' || rm '%s'; }",
		   path, damage[i].how, path, path);
		if (opens_whole(&lib, 60))
			fail_msg("took a damaged file: %s", damage[i].how);
		assert_true(opens_whole(&lib, 60));
	}
	/* a card that is none is left out, and counted */
	sh(lib.dir,
	   "cp .git/klineage/cache/* /dev/null; export GIT_INDEX_FILE=$PWD/i; git read-tree klineage/skills && "
	   "git update-index --add --cacheinfo 100644,$(echo nonsense | git hash-object -w --stdin),cards/bad.yaml && "
	   "git update-ref refs/heads/klineage/skills $(git commit-tree -m bad $(git write-tree))");
	{
		KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;

		assert_ok(kl_index_open(&ix, lib.r, tax));
		assert_int_equal(kl_index_count(ix), 60);
		assert_int_equal(kl_index_bad(ix), 1);
	}
}

/* made from an older one it is, byte for byte, what it is made from nothing */
static void test_incremental(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("incremental");
	struct skill_gen gen = { .seed = 6, .facts = 30, .lineages = 20, .text = 100 };
	struct skill_gen other = { .seed = 7, .facts = 30, .lineages = 20, .text = 100 };

	fill(&lib, &gen, 40);
	assert_false(opens_whole(&lib, 40));
	kl_card_free(lib.card[17]);
	lib.card[17] = skill_gen_card(&other, 17);
	fill(&lib, &gen, 55);
	assert_false(opens_whole(&lib, 55));
	sh(lib.dir,
	   "cd .git/klineage/cache && new=$(ls -t skills-*.index | head -n 1) && mv $new ../made && rm skills-*");
	assert_false(opens_whole(&lib, 55));
	sh(lib.dir, "cmp .git/klineage/made .git/klineage/cache/skills-*.index");
	/* files of older trees do not pile up */
	for (size_t n = 56; n < 66; n++) {
		fill(&lib, &gen, n);
		opens_whole(&lib, n);
	}
	assert_sh("5", lib.dir, "ls .git/klineage/cache/skills-*.index | wc -l");
}

/* Whoever wrote it, and however good its sum: what is taken can be asked. */
static void test_hostile(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("hostile");
	struct skill_gen gen = { .seed = 9, .facts = 12, .lineages = 5, .text = 50 };
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_buf_release) struct kl_buf whole = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = NULL;
	size_t taken = 0, refused = 0, head = sizeof(struct kl_mapfile_head);
	struct kl_rng rng;

	fill(&lib, &gen, 60);
	assert_false(opens_whole(&lib, 60));
	path = index_file(&lib);
	assert_ok(kl_fs_read(&whole, path, SIZE_MAX / 2));
	kl_rng_seed(&rng, 9);
	for (int round = 0; round < 400; round++) {
		KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
		KL_AUTO(kl_retrieval_release) struct kl_retrieval found = { 0 };
		KL_AUTO(kl_buf_release) struct kl_buf bad = KL_BUF_INIT;
		struct kl_retrieve_opts opts = KL_RETRIEVE_OPTS_INIT;

		kl_buf_add(&bad, whole.ptr, whole.len);
		for (uint64_t n = 1 + kl_rng_below(&rng, 3); n; n--) {
			uint32_t word = (uint32_t)kl_rng_below(
				&rng, kl_rng_below(&rng, 2) ? 100 : UINT32_MAX);
			/* the beginning, too, where the places of the parts are */
			size_t from = head +
				      4 * (size_t)kl_rng_below(
						  &rng, round % 4 ? (whole.len - head) / 4 : 30);

			memcpy(bad.ptr + from, &word, sizeof(word));
		}
		kl_mapfile_end(&bad);
		assert_ok(kl_fs_write(path, bad.ptr, bad.len));
		assert_ok(kl_index_open(&ix, lib.r, tax));
		if (kl_index_was_built(ix))
			refused++;
		else
			taken++;
		opts.statuses = ~0u;
		assert_ok(kl_retrieve(&found, ix, &other, &opts));
		for (size_t i = 0; i < found.n; i++)
			assert_true(strlen(found.v[i].id) < 1000);
	}
	/* both happen: it is not one check that refuses all */
	assert_true(taken > 20 && refused > 20);
}

static void test_left_over(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("leftover");
	struct skill_gen gen = { .seed = 10, .facts = 30, .lineages = 20, .text = 100 };

	fill(&lib, &gen, 5);
	sh(lib.dir,
	   "mkdir -p .git/klineage/cache && cd .git/klineage/cache && touch skills-a.index.tmp-new keep.tmp-old && "
	   "touch -d '2 hours ago' skills-a.index.tmp-old keep.tmp-old && mkfifo skills-fifo.index");
	assert_false(opens_whole(&lib, 5));
	assert_sh("keep.tmp-old skills-a.index.tmp-new", lib.dir,
		  "echo $(cd .git/klineage/cache && ls | grep tmp-)");
}

static void test_two_builders(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("builders");
	struct skill_gen gen = { .seed = 8, .facts = 30, .lineages = 20, .text = 100 };
	int status, failed = 0;

	fill(&lib, &gen, 80);
	for (int round = 0; round < 5; round++) {
		sh(lib.dir, "rm -rf .git/klineage/cache");
		for (int i = 0; i < 6; i++)
			if (!fork()) {
				KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
				KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
				bool good = kl_repo_open_at(&repo, lib.dir) == 0 &&
					    kl_index_open(&ix, repo, tax) == 0 &&
					    kl_index_count(ix) == 80;

				_exit(!good);
			}
		for (int i = 0; i < 6; i++) {
			wait(&status);
			failed += status != 0;
		}
		assert_int_equal(failed, 0);
		assert_true(opens_whole(&lib, 80));
		assert_sh("1", lib.dir, "ls .git/klineage/cache | wc -l");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index),        cmocka_unit_test(test_incremental),
		cmocka_unit_test(test_two_builders), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_left_over),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
