/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated walks that are killed at any moment, some of them by two processes at once: whatever
 * happens, what the pretended provider charged stays within the cap, and no reply that is stored is
 * bought again. 200 walks; all 1,000 with KLINEAGE_LONG=1. KLINEAGE_SEED=<n> draws the same again.
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/rng.h"
#include "chat_fake.h"
#include "model/ledger.h"
#include "model/money.h"
#include "model/request.h"

#define WALKS_EACH 25 /* of one workload, that is: under one cap */
#define MAX_TURNS 3
#define MAX_REPLY 4000
#define DONE 0
#define SPENT 3  /* exit code: the budget does not allow more */
#define FAILED 4 /* a request failed in a way that can be repeated */

static const char *const blocks[] = { "the rules", "the contract" };

struct walk {
	char workload[16], name[16]; /* the name is the phase: a conversation each */
	size_t turns;
	int kills; /* that it has yet to survive */
	bool calm; /* nothing fails, and each reply is as long as it may be */
	bool over, spent;
};

struct tally {
	size_t walks, runs, kills, spent, failures, turns, charges, doubles;
	int64_t charged, cap, fullest_ppm;
};

/*
 * --- a walker: does with its conversation what a process of `deopt` does --------------------
 */

static void be_killed_in(int64_t us)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec itimerspec = { .it_value = { us / 1000000, us % 1000000 * 1000 + 1 } };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) ||
	    timer_settime(timer, 0, &itimerspec, NULL))
		abort();
}

static struct kl_rng own; /* a walker's luck */

static void be_slow(void)
{
	usleep((useconds_t)kl_rng_below(&own, 3000));
}

/* mostly good; else in each of the ways that a provider fails */
static void draw_luck(bool calm)
{
	static const enum fake_way way[] = {
		FAKE_SILENT, FAKE_REFUSED, FAKE_CUT,    FAKE_EMPTY,
		FAKE_ABSURD, FAKE_BUSY,    FAKE_BROKEN,
	};
	uint64_t n = kl_rng_below(&own, 30);

	fake.way = n < KL_ARRAY_SIZE(way) && !calm ? way[n] : FAKE_GOOD;
	fake.times = fake.asked + 1 + (int)(n % 2);
	fake.at_once = true;
	/* cut to the allowed length */
	fake.out = calm ? 0 : (int64_t)kl_rng_below(&own, 2 * MAX_REPLY);
	fake.before = fake.after = be_slow;
}

static int walk_on(struct kl_repo *repo, const struct walk *walk)
{
	struct kl_session_opts opts = { .workload = walk->workload };
	KL_AUTO(kl_session_freep) struct kl_session *session = NULL;
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
	int err = kl_session_open(&session, repo, &opts);

	if (err < 0 ||
	    (err = kl_session_conversation(&conversation, session, "n", walk->name, blocks, 2)) < 0)
		return err;
	for (size_t i = 0; i < walk->turns; i++) {
		char user[64];
		struct kl_request request = { .user = user };
		const char *reply;

		snprintf(user, sizeof(user), "question %zu of %s/%s", i, walk->workload,
			 walk->name);
		draw_luck(walk->calm);
		if ((err = kl_request_send(&reply, &conversation, i, &request)) < 0)
			return err;
	}
	return 0;
}

static pid_t start(struct kl_repo *repo, const struct walk *walk, uint64_t seed, int64_t kill_us)
{
	pid_t pid = fork();
	int err;

	if (pid)
		return pid;
	kl_rng_seed(&own, seed);
	if (kill_us >= 0)
		be_killed_in(kill_us);
	err = walk_on(repo, walk);
	if (!err)
		_exit(DONE);
	if (err == KL_ENO)
		_exit(SPENT);
	/* the ways of chat_fake.h; anything else is a fault of ours */
	if (strstr(kl_error_last(), "529: overloaded") ||
	    strstr(kl_error_last(), "connection broke"))
		_exit(FAILED);
	fprintf(stderr, "walker: %d: %s\n", err, kl_error_last());
	_exit(1);
}

static void stop(pid_t pid, struct walk *walk, struct tally *tally)
{
	int status;

	tally->runs++;
	if (waitpid(pid, &status, 0) != pid)
		fail_msg("a walker is lost");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		tally->kills++;
		walk->kills--;
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == SPENT) {
		tally->spent++;
		walk->over = walk->spent = true;
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == FAILED) {
		tally->failures++;
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == DONE) {
		walk->over = true;
	} else {
		fail_msg("walker of %s/%s: status %x", walk->workload, walk->name,
			 (unsigned)status);
	}
}

/* --- walks, two processes at a time ----------------------------------------------------- */

static int64_t when_to_kill(const struct walk *walk, struct kl_rng *rng)
{
	/* a turn takes some 15 ms, with another process beside it */
	return walk->kills > 0 ? (int64_t)kl_rng_below(rng, 20000 * walk->turns) : -1;
}

static void run_pair(struct kl_repo *repo, struct walk *left, struct walk *right,
		     struct kl_rng *rng, struct tally *tally)
{
	while (!left->over || (right && !right->over)) {
		/* alone, both processes are on the one walk that is left, now and then */
		bool twice = !right && kl_rng_below(rng, 2);
		struct walk *second = twice ? left : right && !right->over ? right : NULL;
		pid_t one = -1, two = -1;

		if (!left->over)
			one = start(repo, left, kl_rng_u64(rng), when_to_kill(left, rng));
		if (second)
			two = start(repo, second, kl_rng_u64(rng), when_to_kill(second, rng));
		tally->doubles += twice;
		if (one > 0)
			stop(one, left, tally);
		if (two > 0)
			stop(two, second, tally);
	}
}

static void draw_walks(struct walk *walk, size_t n, size_t group, struct kl_rng *rng)
{
	bool calm = group % 4 == 3;

	for (size_t i = 0; i < n; i++) {
		walk[i] = (struct walk){ .turns = 1 + kl_rng_below(rng, MAX_TURNS),
					 .calm = calm,
					 .kills = calm ? 0 : (int)kl_rng_below(rng, 3) };
		snprintf(walk[i].workload, sizeof(walk[i].workload), "w%zu", group);
		snprintf(walk[i].name, sizeof(walk[i].name), "n%zu", i);
	}
}

/* --- what must be true afterwards ---------------------------------------------------------- */

/* The amount charged for a turn, and the amount in the ledger. */
struct account {
	char charge[24]; /* the last one */
	int64_t charged, counted;
};

static struct account *account_of(struct kl_map *books, const char *name, size_t turn)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s %zu", name, turn);
	struct account *account = kl_map_get(books, key);

	if (!account) {
		account = kl_calloc(1, sizeof(*account));
		kl_map_put(books, key, account);
	}
	return account;
}

static void read_till(struct kl_map *books, const char *till)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	if (!kl_fs_exists(till))
		return;
	assert_ok(kl_fs_read(&text, till, (size_t)256 << 20));
	for (char *string = text.ptr, *end; *string; string = end + 1) {
		KL_AUTO(kl_strvec_release) struct kl_strvec word = KL_STRVEC_INIT;
		struct account *account;

		end = strchr(string, '\n');
		*end = '\0';
		kl_strvec_split(&word, string, " ");
		assert_int_equal(word.n, 5);
		account = account_of(books, word.v[0], (size_t)atol(word.v[1]));
		account->charged += atoll(word.v[3]);
		snprintf(account->charge, sizeof(account->charge), "%s", word.v[4]);
	}
}

/* the totals of each entry are those of all before it, and none passes the cap */
static void read_ledger(struct kl_map *books, struct kl_repo *repo, const char *workload,
			int64_t cap)
{
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	int64_t settled = 0, reserved = 0;

	assert_ok(kl_ledger_load(&ledger, repo, workload));
	for (size_t i = 0; i < ledger.n; i++) {
		const struct kl_ledger_entry *entry = &ledger.e[i];

		reserved += entry->kind ? -entry->released : entry->nano;
		settled += kl_ledger_settled_by(entry);
		account_of(books, entry->phase, (size_t)entry->turn)->counted += entry->nano -
										 entry->released;
		assert_int_equal(entry->after.of[0].settled, settled);
		assert_int_equal(entry->after.of[0].reserved, reserved);
		assert_true(settled + reserved <= cap);
	}
}

/* A stored reply names its charge: had it been bought again, a later charge would be there. */
static void check_turns(struct kl_repo *repo, const struct walk *walk, struct kl_map *books,
			struct tally *tally)
{
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };

	assert_ok(kl_conversation_load(&conversation, repo, walk->workload, "n", walk->name));
	assert_true(conversation.n <= walk->turns &&
		    (conversation.n == walk->turns || walk->spent));
	for (size_t i = 0; i < walk->turns; i++) {
		const struct account *account = account_of(books, walk->name, i);

		if (i < conversation.n &&
		    (!*account->charge || !strstr(conversation.turn[i].reply, account->charge)))
			fail_msg("%s, turn %zu was bought again: '%s', last charge %s",
				 conversation.ref, i, conversation.turn[i].reply, account->charge);
		if (account->charged > account->counted)
			fail_msg("%s, turn %zu: %lld charged, the ledger counts %lld",
				 conversation.ref, i, (long long)account->charged,
				 (long long)account->counted);
	}
	tally->turns += conversation.n;
}

static void check_group(struct kl_repo *repo, const struct walk *walk, size_t n, int64_t cap,
			struct tally *tally)
{
	KL_AUTO(kl_map_release) struct kl_map books = { .free_value = free };
	size_t times;
	int64_t charged = fake_charged(&times);

	if (charged > cap)
		fail_msg("%s: %lld charged, the cap is %lld", walk->workload, (long long)charged,
			 (long long)cap);
	read_till(&books, fake.till);
	read_ledger(&books, repo, walk->workload, cap);
	for (size_t i = 0; i < n; i++)
		check_turns(repo, &walk[i], &books, tally);
	tally->charged += charged;
	tally->charges += times;
	tally->cap += cap;
	if (charged * 1000000 / cap > tally->fullest_ppm)
		tally->fullest_ppm = charged * 1000000 / cap;
}

static void run_group(size_t group, const char *dir, struct kl_rng *rng, struct tally *tally)
{
	struct walk walks[WALKS_EACH];
	/* 25 walks ask for some 2.5 dollars: every other group has less, and meets its cap */
	int64_t least = group % 2 ? 2 * KL_DOLLAR : KL_DOLLAR;
	int64_t cap = least + (int64_t)kl_rng_below(rng, group % 2 ? 4 * KL_DOLLAR : KL_DOLLAR);
	KL_AUTO(kl_repo_freep) struct kl_repo *own_repo = NULL;
	const char *who;

	free(fake.till);
	fake.till = kl_asprintf("%s/till-%zu", dir, group);
	sh(dir, "git config klineage.budget.induce %lld.%09lld", (long long)(cap / KL_DOLLAR),
	   (long long)(cap % KL_DOLLAR));
	assert_ok(kl_repo_open_at(&own_repo, dir));
	assert_ok(kl_repo_identity(&who, own_repo));
	draw_walks(walks, WALKS_EACH, group, rng);
	for (size_t i = 0; i < WALKS_EACH;) {
		bool pair = i + 1 < WALKS_EACH && kl_rng_below(rng, 4);

		run_pair(own_repo, &walks[i], pair ? &walks[i + 1] : NULL, rng, tally);
		i += pair ? 2 : 1;
	}
	tally->walks += WALKS_EACH;
	check_group(own_repo, walks, WALKS_EACH, cap, tally);
}

static void no_overspend_and_nothing_bought_twice(void **state)
{
	const char *seed_text = getenv("KLINEAGE_SEED");
	uint64_t seed = seed_text ? strtoull(seed_text, NULL, 0) : kl_rng_os_seed();
	size_t walks = getenv("KLINEAGE_LONG") ? 1000 : 200;
	KL_AUTO(kl_freep) char *dir = scratch_repo("budget");
	struct tally tally = { 0 };
	struct kl_rng rng;
	int64_t start_ns = kl_clock_ns();

	memset(&fake, 0, sizeof(fake));
	fake.name_charge = true;
	kl_rng_seed(&rng, seed);
	sh(dir,
	   "git config klineage.chat.provider fake; git config klineage.chat.model m; "
	   "git config klineage.chat.maxTokens %d; git config klineage.chat.leastTokens 100; "
	   "git config klineage.m.price 'input=3 output=15 cache-write-5m=3'",
	   MAX_REPLY);
	fprintf(stderr, "# seed %llu\n", (unsigned long long)seed);
	for (size_t i = 0; i * WALKS_EACH < walks; i++)
		run_group(i, dir, &rng, &tally);
	sh(dir, "git fsck --strict --no-dangling 2>&1 | grep -v '^notice' || :");
	assert_sh("", dir, "find .git -name '*.lock' -not -path '*/klineage/*'");
	fprintf(stderr,
		"# %zu walks, %zu processes (%zu times two on one walk), %zu killed, %zu failed, "
		"%zu stopped by the budget; %zu turns stored, %zu charges; charged %.4f of %.4f dollars, "
		"the fullest workload %.1f %%; %.1f s\n",
		tally.walks, tally.runs, tally.doubles, tally.kills, tally.failures, tally.spent,
		tally.turns, tally.charges, (double)tally.charged / 1e9, (double)tally.cap / 1e9,
		(double)tally.fullest_ppm / 1e4, (double)(kl_clock_ns() - start_ns) / 1e9);
	/*
	 * It was a test: kills, failures, caps that held, and walks that came through. Every seed
	 * has to show them, so the bounds lie more than four deviations below what seeds show.
	 */
	assert_true(tally.kills > tally.walks / 4 && tally.failures > tally.walks / 50);
	assert_true(tally.spent > tally.walks / 20 && tally.turns > tally.walks / 2);
	assert_true(tally.doubles > tally.walks / 50 && tally.charges > tally.turns);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		no_overspend_and_nothing_bought_twice) };

	/* thousands of little files, synced: where memory will do for them it is to */
	if (!getenv("TMPDIR") && !access("/dev/shm", W_OK | X_OK))
		setenv("TMPDIR", "/dev/shm", 1);
	return cmocka_run_group_tests_name("chat/budget", tests, scratch_setup, scratch_teardown);
}
