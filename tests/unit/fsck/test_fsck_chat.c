/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fsck says of conversations and ledgers; and a recording, from which the same replies come
 * again.
 */
#include "fsck/check_chat.h"
#include "lineage/spend.h"
#include "model/money.h"
#include "model/recording.h"
#include "model/request.h"
#include "scratch.h"

/* the real providers: a command that answers, and the recording of its answers */
#define SCRIPT                                                                                               \
	"read -r q; n=$(printf %%s \"$q\" | tr -cd T | wc -c); "                                             \
	"printf '{\"schema\":\"klineage.chat-reply/1\",\"text\":\"answer \\303\\244 %%s\",\"model\":\"sh\"," \
	"\"usage\":{\"input\":%%s,\"output\":7,\"cache_read\":3}}' \"$n\" 100"

struct fixture {
	char *dir;
	struct kl_repo *r;
};

static void fixture_release(struct fixture *fixture)
{
	kl_repo_free(fixture->r);
	free(fixture->dir);
}

static const char *const blocks[] = { "T" };

static void say(struct kl_repo *repo, const struct kl_session_opts *opts, const char *phase,
		size_t turns, struct kl_buf *replies)
{
	KL_AUTO(kl_session_freep) struct kl_session *session = NULL;
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };

	assert_ok(kl_session_open(&session, repo, opts));
	assert_ok(kl_session_conversation(&conversation, session, "n", phase, blocks, 1));
	for (size_t i = 0; i < turns; i++) {
		KL_AUTO(kl_freep) char *user = kl_asprintf("question %zu T", i);
		struct kl_request request = { .user = user };
		const char *reply;

		assert_ok(kl_request_send(&reply, &conversation, i, &request));
		kl_buf_addf(replies, "%s %zu: %s\n", phase, i, reply);
	}
}

/* two conversations of a metered command: 3 turns */
static struct fixture fixture(const char *name, struct kl_buf *replies)
{
	struct fixture other = { .dir = scratch_repo(name) };
	struct kl_session_opts opts = { .workload = "w", .provider = "exec" };

	sh(other.dir,
	   "git config klineage.chat.exec ./answer && git config klineage.chat.model m && "
	   "git config klineage.chat.metered true && git config klineage.m.price 'input=3 output=15 cache-read=1' && "
	   "git config klineage.chat.exec \"sh $(pwd)/answer\"");
	sh(other.dir, "cat >answer <<'X'\n" SCRIPT "\nX\n");
	assert_ok(kl_repo_open_at(&other.r, other.dir));
	say(other.r, &opts, "back-0", 2, replies);
	say(other.r, &opts, "forward-1", 1, replies);
	return other;
}

#define FIXTURE(name)                                             \
	KL_AUTO(kl_buf_release) struct kl_buf said = KL_BUF_INIT; \
	KL_AUTO(fixture_release) struct fixture f = fixture(name, &said)

static void note(bool error, const char *where, const char *what, void *payload)
{
	kl_buf_addf(payload, "%s %s: %s\n", error ? "error" : "warning", where, what);
}

static char *findings(struct fixture *fixture)
{
	struct kl_buf buf = KL_BUF_INIT;
	struct kl_chat_check check = { .repo = fixture->r, .report = note, .payload = &buf };

	assert_ok(kl_chat_check(&check));
	return kl_buf_detach(&buf);
}

static void assert_findings(struct fixture *fixture, const char *part)
{
	KL_AUTO(kl_freep) char *got = findings(fixture);

	if (*part ? !strstr(got, part) : *got)
		fail_msg("wanted '%s', got: %s", part, got);
}

static void what_is_sound_is_sound(void **state)
{
	FIXTURE("sound");

	assert_findings(&f, "");
	assert_contains(said.ptr, "back-0 1: answer \xc3\xa4 3");
}

#define LEDGER "refs/klineage/ledger/w"
#define EDIT_LEDGER(expr)                                                                                   \
	"set -- $(git rev-list --first-parent --reverse " LEDGER "); parent=; for c; do "                   \
	"git show $c:ledger.json >l; sed " expr " l >ledger.json; "                                         \
	"tree=$(printf '100644 blob %s\\tledger.json\\n' $(git hash-object -w ledger.json) | git mktree); " \
	"parent=$(git commit-tree ${parent:+-p $parent} -m x $tree); done; git update-ref " LEDGER          \
	" $parent"

static void what_does_not_add_up_is_found(void **state)
{
	/* clang-format off */
	static const struct { const char *script, *says; } t[] = {
		/* the third entry reserves for turn 1, the second settled turn 0 */
		{ EDIT_LEDGER("'s/\"settled\":[1-9][0-9]*/\"settled\":5/'"), "do not add up" },
		{ EDIT_LEDGER("'/\"kind\":\"settle\"/s/\"id\":\"./\"id\":\"0/; /\"kind\":\"reserve\"/s/\"id\":\"./\"id\":\"1/'"),
		  "settlement of unknown reservation" },
		{ EDIT_LEDGER("'/\"kind\":\"settle\"/s/\"nano\":[0-9]*/\"nano\":9/'"), "differs from its cost in the ledger" },
		{ EDIT_LEDGER("'s/\"released\":[0-9]*/\"released\":9/'"), "differs from the reservation" },
		{ EDIT_LEDGER("'s/\"id\":\"[0-9a-f]*/\"id\":\"00000000000000000000000000000000/'"), "duplicate reservation" },
		{ EDIT_LEDGER("'s/\"id\":\"[0-9a-f]*/\"id\":\"00000000000000000000000000000000/'"),
		  "which is not in the ledger" },
		{ "git update-ref -d " LEDGER, "which is not in the ledger" },
		{ "git update-ref " LEDGER " HEAD", "error " LEDGER },
		{ "git update-ref refs/klineage/ledger/A HEAD", "not named after a workload" },
		{ "git update-ref refs/klineage/chat/x HEAD", "is not named" },
		{ "git update-ref refs/klineage/chat/x/y/z HEAD", "error refs/klineage/chat/x/y/z" },
		{ "git update-ref " LEDGER " " LEDGER "~1", "are reserved but not settled" },
	};
	/* clang-format on */
	FIXTURE("wrong");

	sh(f.dir,
	   "git for-each-ref --format='create %%(refname) %%(objectname)' refs/klineage >refs");
	for (size_t i = 0; i < KL_ARRAY_SIZE(t); i++) {
		sh(f.dir, "%s", t[i].script);
		assert_findings(&f, t[i].says);
		sh(f.dir,
		   "git for-each-ref --format='delete %%(refname)' refs/klineage | git update-ref --stdin && "
		   "git update-ref --stdin <refs");
		assert_findings(&f, "");
	}
}

static void a_turn_that_was_changed_is_found(void **state)
{
	/* clang-format off */
	static const struct { const char *script, *says; } t[] = {
		{ "sed -i 's/\"nano\": [0-9]*/\"nano\": 1/' meta.json", "differs from the price of its tokens" },
		{ "sed -i 's/\"nano\": [0-9]*/\"nano\": 1/' meta.json", "differs from its cost in the ledger" },
		{ "sed -i 's/\"reservation\": \".*\"/\"reservation\": null/' meta.json", "has a cost but no reservation" },
		{ "printf x >user", "error refs/klineage/chat/w/n/back-0" },
	};
	/* clang-format on */
	FIXTURE("turn");

	sh(f.dir, "git update-ref refs/good refs/klineage/chat/w/n/back-0");
	for (size_t i = 0; i < KL_ARRAY_SIZE(t); i++) {
		sh(f.dir,
		   "export GIT_DIR=$PWD/.git GIT_INDEX_FILE=$PWD/.git/own GIT_WORK_TREE=$PWD/tree && "
		   "rm -rf .git/own tree && mkdir tree && git read-tree refs/good && git checkout-index -a && cd tree && "
		   "%s && git add -A . && cd .. && git update-ref refs/klineage/chat/w/n/back-0 "
		   "$(git commit-tree -p refs/good~1 -m x $(git write-tree))",
		   t[i].script);
		assert_findings(&f, t[i].says);
	}
}

static void a_recording_answers_the_same(void **state)
{
	FIXTURE("recording");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, again = KL_BUF_INIT,
					      none = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *file = kl_fs_join(f.dir, "rec.jsonl"),
			       *dir = scratch_repo("replayed");
	KL_AUTO(kl_repo_freep) struct kl_repo *other = NULL;
	struct kl_session_opts opts = { .workload = "w", .provider = "replay", .replay = file };

	assert_ok(kl_recording_format(&text, f.r, "w", "n"));
	assert_ok(kl_fs_put(file, text.ptr, text.len, 0644));
	assert_sh("4", f.dir, "wc -l <rec.jsonl");
	assert_ok(kl_repo_open_at(&other, dir));
	say(other, &opts, "back-0", 2, &again);
	say(other, &opts, "forward-1", 1, &again);
	assert_string_equal(again.ptr, said.ptr);
	assert_error(KL_ENOTFOUND, "no conversation", kl_recording_format(&none, f.r, "w", "m"));
	assert_int_equal(none.len, 0);
}

/* money by phase, and the best time in its course */
static void spend_puts_money_and_time_together(void **state)
{
	FIXTURE("spend");
	KL_AUTO(kl_spend_release) struct kl_spend spend = { 0 }, none = { 0 };
	int64_t turn = 100 * 3000 + 7 * 15000 + 3 * 1000;

	assert_ok(kl_spend_load(&spend, f.r, "w"));
	assert_int_equal(spend.n, 2);
	assert_string_equal(spend.phase[0].phase, "back-0");
	assert_int_equal(spend.phase[0].requests, 2);
	assert_int_equal(spend.phase[0].settled, 2 * turn);
	assert_int_equal(spend.phase[0].reserved, 0);
	assert_int_equal(spend.phase[0].usage.cache_read, 6);
	assert_int_equal(spend.phase[1].settled, turn);
	assert_int_equal(spend.totals.of[KL_BUDGET_INDUCE].settled, 3 * turn);
	assert_int_equal(spend.cap[KL_BUDGET_MATERIALIZE], 10 * KL_DOLLAR);
	assert_int_equal(spend.npoint, 4);
	assert_int_equal(spend.point[0].nano, 0);
	assert_int_equal(spend.point[3].nano, 3 * turn);
	assert_int_equal(spend.point[3].ns, 0);
	assert_ok(kl_spend_load(&none, f.r, "v"));
	assert_int_equal(none.npoint, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sound_is_sound),
		cmocka_unit_test(what_does_not_add_up_is_found),
		cmocka_unit_test(a_turn_that_was_changed_is_found),
		cmocka_unit_test(a_recording_answers_the_same),
		cmocka_unit_test(spend_puts_money_and_time_together),
	};

	return cmocka_run_group_tests_name("chat/check", tests, scratch_setup, scratch_teardown);
}
