/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations as commits: written and read back byte for byte, and refs that are not
 * conversations.
 */
#include "model/conversation.h"
#include "repo/refs.h"
#include "scratch.h"

struct fixture {
	char *dir;
	struct kl_repo *r;
	struct kl_conversation c;
};

static void fixture_release(struct fixture *fixture)
{
	kl_conversation_release(&fixture->c);
	kl_repo_free(fixture->r);
	free(fixture->dir);
}

static struct fixture fixture(const char *name)
{
	struct fixture other = { .dir = scratch_repo(name) };

	assert_ok(kl_repo_open_at(&other.r, other.dir));
	assert_ok(kl_conversation_load(&other.c, other.r, "w", "n", "back-0"));
	return other;
}

#define FIXTURE(name) KL_AUTO(fixture_release) struct fixture f = fixture(name)
#define REF "refs/klineage/chat/w/n/back-0"

static const struct kl_rates whole = { 21000, 22000, 23000, 24000, 25000 };

static void add_turn_at(struct fixture *fixture, const char *user, const char *reply,
			const char *key, const struct kl_rates *rates)
{
	struct kl_turn turn = {
		.user = kl_strdup(user),
		.reply = kl_strdup(reply),
		.key = kl_strdup(key),
		.provider = kl_strdup("fake"),
		.model = kl_strdup("m-1"),
		.time = kl_strdup("2026-11-20T10:00:00Z"),
		.reservation = kl_strdup("00112233445566778899aabbccddeeff"),
		.cache = KL_CACHE_1H,
		.stop = KL_STOP_LENGTH,
		.max_tokens = 99,
		.nano = 123456789,
		.budget = KL_BUDGET_MATERIALIZE,
		.price = kl_strdup("templates/prices.yaml:7"),
		.rates = *rates,
		.usage = { .known = true,
			   .input = 1,
			   .output = 2,
			   .cache_read = 3,
			   .cache_write_5m = 4,
			   .cache_write_1h = 5 },
	};
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(fixture->r);
	git_oid oid;

	kl_conversation_digests(turn.prompt, turn.chain, &fixture->c, fixture->c.n, &turn);
	assert_ok(kl_conversation_write(&oid, fixture->r, &fixture->c, &turn));
	kl_refs_txn_update(txn, fixture->c.ref, &oid, &fixture->c.tip);
	assert_ok(kl_refs_txn_commit(txn, "test"));
	kl_conversation_push(&fixture->c, &turn, &oid);
	kl_turn_release(&turn);
}

static void add_turn(struct fixture *fixture, const char *user, const char *reply, const char *key)
{
	add_turn_at(fixture, user, reply, key, &whole);
}

/* every byte but NUL, twice over, and no newline at the end */
static char *all_bytes(void)
{
	char *text = kl_calloc(1, 512);

	for (int i = 0; i < 510; i++)
		text[i] = (char)(i % 255 + 1);
	return text;
}

static void comes_back_byte_for_byte(void **state)
{
	static const char *const system[] = { "one\n", "", "\xef\xbb\xbfthree" };
	FIXTURE("bytes");
	KL_AUTO(kl_freep) char *bytes = all_bytes();
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
	const struct kl_turn *turn;

	kl_conversation_system(&f.c, system, 3);
	add_turn(&f, bytes, "reply\r\n", "k0");
	add_turn(&f, " ", bytes, "");
	assert_ok(kl_conversation_load(&conversation, f.r, "w", "n", "back-0"));
	assert_int_equal(conversation.nsystem, 3);
	for (int i = 0; i < 3; i++)
		assert_string_equal(conversation.system[i], system[i]);
	assert_int_equal(conversation.n, 2);
	assert_string_equal(conversation.turn[0].user, bytes);
	assert_string_equal(conversation.turn[0].reply, "reply\r\n");
	assert_string_equal(conversation.turn[0].key, "k0");
	assert_string_equal(conversation.turn[1].user, " ");
	assert_string_equal(conversation.turn[1].reply, bytes);
	assert_string_equal(conversation.turn[1].key, "");
	turn = &conversation.turn[1];
	assert_string_equal(turn->provider, "fake");
	assert_string_equal(turn->reservation, "00112233445566778899aabbccddeeff");
	assert_null(turn->answered);
	assert_int_equal(turn->stop, KL_STOP_LENGTH);
	assert_int_equal(turn->cache, KL_CACHE_1H);
	assert_int_equal(turn->budget, KL_BUDGET_MATERIALIZE);
	assert_int_equal(turn->nano, 123456789);
	assert_int_equal(turn->usage.cache_write_1h, 5);
	assert_string_equal(turn->price, "templates/prices.yaml:7");
	assert_int_equal(turn->rates.input, 21000);
	assert_int_equal(turn->rates.cache_write_1h, 25000);
	/* plain git sees the same */
	assert_sh("one", f.dir, "git show " REF "~1:system/00");
	assert_sh("key,meta.json,reply,system,user", f.dir,
		  "git ls-tree --name-only " REF " | paste -sd,");
	assert_sh("chat: back-0 of n, turn 1 (m-1, $0.1235)", f.dir,
		  "git log -1 --format=%%s " REF);
	assert_sh("", f.dir, "git fsck --strict 2>&1 | grep -v dangling || :");
}

/* Prices are stored in nano-dollars per token; in pico-dollars if one of them is not whole. */
static void small_prices_come_back(void **state)
{
	const struct kl_rates small = { 37500, 1, 10000000000, 2000, 0 };
	FIXTURE("small");
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };

	add_turn(&f, "u", "r", "k");
	add_turn_at(&f, "u", "r", "k", &small);
	assert_ok(kl_conversation_load(&conversation, f.r, "w", "n", "back-0"));
	assert_memory_equal(&conversation.turn[0].rates, &whole, sizeof(whole));
	assert_memory_equal(&conversation.turn[1].rates, &small, sizeof(small));
	assert_sh("21", f.dir,
		  "git show " REF "~1:meta.json | sed -n 's/.*\"input\": \\(2.\\).*/\\1/p'");
	assert_sh("0", f.dir, "git show " REF "~1:meta.json | grep -c '\"unit\"' || :");
	assert_sh("1", f.dir, "git show " REF ":meta.json | grep -c '\"unit\": \"pico\"'");
}

/* the digest that formats.md describes, worked out by the shell */
static void the_prompt_digest_is_as_described(void **state)
{
	static const char *const system[] = { "sys" };
	FIXTURE("digest");

	kl_conversation_system(&f.c, system, 1);
	add_turn(&f, "hello", "hi", "k");
	add_turn(&f, "again", "yes", "l");
	{
		KL_AUTO(kl_freep) char *prompt = sh_text(
			f.dir, "printf '3\\0sysmessages\\0005\\0hello2\\0hi5\\0again' | "
			       "sha256sum | cut -c1-64");
		KL_AUTO(kl_freep) char *chain = sh_text(
			f.dir, "printf '1\\0k1\\0l' | sha256sum | cut -c1-64");

		assert_string_equal(f.c.turn[1].prompt, prompt);
		assert_string_equal(f.c.turn[1].chain, chain);
	}
}

static void the_first_system_blocks_stand(void **state)
{
	static const char *const system[] = { "first" }, *const other[] = { "second" };
	FIXTURE("system");
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };

	kl_conversation_system(&f.c, system, 1);
	add_turn(&f, "u", "r", "k");
	assert_ok(kl_conversation_load(&conversation, f.r, "w", "n", "back-0"));
	kl_conversation_system(&conversation, other, 1);
	assert_string_equal(conversation.system[0], "first");
}

static void names_are_slugs(void **state)
{
	static const char *const bad[] = { "",     ".",    "a/b",    "A",  "a b",
					   "../x", "a..b", "a.lock", "-a", "a\n" };
	FIXTURE("names");

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };

		assert_error(KL_EINVALID, "not valid in the name",
			     kl_conversation_load(&conversation, f.r, bad[i], "n", "p"));
		assert_error(KL_EINVALID, "not valid in the name",
			     kl_conversation_load(&conversation, f.r, "w", bad[i], "p"));
		assert_error(KL_EINVALID, "not valid in the name",
			     kl_conversation_load(&conversation, f.r, "w", "n", bad[i]));
	}
}

/* a ref that somebody made: each script leaves the tree of a changed tip in $tree */
static void what_is_no_conversation_is_refused(void **state)
{
	/* clang-format off */
	static const struct { const char *script, *says; } t[] = {
		{ "printf x >user", "do not match the stored conversation" }, { "printf x >key", "do not match the stored conversation" },
		{ "printf x >system/00", "differ from those of the last turn" },
		{ "printf x >system/01", "differ from those of the last turn" },
		{ "rm -r system", "differ from those of the last turn" },
		{ "rm reply", "reply" }, { "rm meta.json", "meta.json" }, { "rm key", "key" },
		{ "printf 'a\\000b' >reply", "not text" }, { "rm reply; mkdir reply; echo x >reply/x", "" },
		{ "rm reply; ln -s user reply", "not text" }, { "chmod +x reply", "not text" },
		{ "head -c 17000000 /dev/zero | tr '\\0' a >reply", "" },
		{ "sed -i 's/turn.1/turn\\/9/' meta.json", "schema" },
		{ "sed -i 's/\"turn\": 1/\"turn\": 0/' meta.json", "the file is for turn 0" },
		{ "sed -i 's/\"stop\": \"length\"/\"stop\": \"pause\"/' meta.json", "'stop' has the unknown value 'pause'" },
		{ "sed -i 's/\"nano\": 123456789/\"nano\": -1/' meta.json", "'nano' is negative" },
		{ "sed -i 's/\"input\": 1,/\"input\": -1,/' meta.json", "negative or too large" },
		{ "sed -i 's/\"input\": 1,/\"input\": 1, \"more\": 2,/' meta.json", "five token counts" },
		{ "sed -i 's/\"prompt\": \"./\"prompt\": \"/' meta.json", "not a digest" },
		{ "sed -i 's/\"model\": \"m-1\"/\"model\": null/' meta.json", "model" },
		{ "sed -i 's/\"budget\": \".*\"/\"budget\": \"all\"/' meta.json", "'budget' has the unknown value 'all'" },
		{ "sed -i 's/\"output\": 22/\"output\": 22000000/' meta.json", "is negative or too large" },
		{ "sed -i 's/\"from\": .*/\"from\": 3,/' meta.json", "from" },
		{ "sed -i 's/\"from\": .*/&\"unit\": \"femto\",/' meta.json", "'unit' is not pico" },
		{ "sed -i 's/\"m-1\"/\"m\\\\u001b[2J\"/' meta.json", "not plain text" },
		{ "echo [] >meta.json", "meta.json" }, { "echo '{' >meta.json", "meta.json" }, { ": >meta.json", "meta.json" },
	};
	/* clang-format on */
	static const char *const system[] = { "sys" };
	FIXTURE("hostile");

	kl_conversation_system(&f.c, system, 1);
	add_turn(&f, "hello", "hi", "k");
	add_turn(&f, "again", "yes", "l");
	sh(f.dir, "git update-ref refs/good " REF);
	for (size_t i = 0; i < KL_ARRAY_SIZE(t); i++) {
		KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
		int err;

		sh(f.dir,
		   "export GIT_DIR=$PWD/.git GIT_INDEX_FILE=$PWD/.git/own GIT_WORK_TREE=$PWD/tree && rm -rf .git/own tree && mkdir tree && "
		   "git read-tree refs/good && git checkout-index -a && cd tree && (%s) && git add -A . && cd .. && "
		   "git update-ref " REF
		   " $(git commit-tree -p refs/good~1 -m x $(git write-tree))",
		   t[i].script);
		err = kl_conversation_load(&conversation, f.r, "w", "n", "back-0");
		if (err != KL_EINVALID || !strstr(kl_error_last(), t[i].says) ||
		    !strstr(kl_error_last(), REF))
			fail_msg("%s: %d: %s", t[i].script, err, err ? kl_error_last() : "");
	}
	sh(f.dir,
	   "git update-ref " REF " $(git commit-tree -p refs/good -p HEAD -m x refs/good^{tree})");
	{
		KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };

		assert_error(KL_EINVALID, "merge",
			     kl_conversation_load(&conversation, f.r, "w", "n", "back-0"));
	}
	sh(f.dir,
	   "c=$(git rev-parse refs/good~1); for i in $(seq 260); do c=$(git commit-tree -p $c -m x "
	   "refs/good^{tree}); done; git update-ref " REF " $c");
	{
		KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };

		assert_error(KL_EINVALID, "more than 256 turns",
			     kl_conversation_load(&conversation, f.r, "w", "n", "back-0"));
	}
	sh(f.dir, "git update-ref " REF
		  " $(git hash-object -w a.txt) 2>/dev/null || git update-ref " REF " HEAD");
	{
		KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };

		assert_error(KL_EINVALID, REF,
			     kl_conversation_load(&conversation, f.r, "w", "n", "back-0"));
	}
}

static void all_of_them_can_be_listed(void **state)
{
	FIXTURE("list");
	KL_AUTO(kl_conversations_release) struct kl_conversations conversations = { 0 },
								  one = { 0 }, none = { 0 },
								  bad = { 0 };

	add_turn(&f, "u", "r", "k");
	sh(f.dir, "git update-ref refs/klineage/chat/w/n/forward-1 " REF " && "
		  "git update-ref refs/klineage/chat/w2/n/back-0 " REF);
	assert_ok(kl_conversations_load(&conversations, f.r, NULL, NULL));
	assert_int_equal(conversations.n, 3);
	assert_string_equal(conversations.c[2].workload, "w2");
	assert_ok(kl_conversations_load(&one, f.r, "w", "n"));
	assert_int_equal(one.n, 2);
	assert_string_equal(one.c[1].phase, "forward-1");
	assert_ok(kl_conversations_load(&none, f.r, "w", "m"));
	assert_int_equal(none.n, 0);
	sh(f.dir, "git update-ref refs/klineage/chat/w3 " REF);
	assert_error(KL_EINVALID, "is not named", kl_conversations_load(&bad, f.r, NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_byte_for_byte),
		cmocka_unit_test(small_prices_come_back),
		cmocka_unit_test(the_prompt_digest_is_as_described),
		cmocka_unit_test(the_first_system_blocks_stand),
		cmocka_unit_test(names_are_slugs),
		cmocka_unit_test(what_is_no_conversation_is_refused),
		cmocka_unit_test(all_of_them_can_be_listed),
	};

	return cmocka_run_group_tests_name("chat/conversation", tests, scratch_setup,
					   scratch_teardown);
}
