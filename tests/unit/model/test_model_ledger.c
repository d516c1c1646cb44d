/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger: sums, caps, several processes at once, and refs that are not ledgers. */
#include <sys/wait.h>

#include "model/ledger.h"
#include "model/money.h"
#include "repo/refs.h"
#include "scratch.h"

struct fixture {
	char *dir;
	struct kl_repo *r;
};

static void fixture_release(struct fixture *fixture)
{
	kl_repo_free(fixture->r);
	free(fixture->dir);
}

static struct fixture fixture(const char *name)
{
	struct fixture other = { .dir = scratch_repo(name) };

	assert_ok(kl_repo_open_at(&other.r, other.dir));
	return other;
}

#define FIXTURE(name) KL_AUTO(fixture_release) struct fixture f = fixture(name)
#define REF "refs/klineage/ledger/w"

static struct kl_ledger_ask ask(int64_t cap)
{
	return (struct kl_ledger_ask){
		.cap = cap,
		.name = "n",
		.phase = "back-0",
		.model = "m",
		.turn = 3,
		.fixed = 1000,
		.per_token = 10,
		.tokens = 500,
		.least_tokens = 100,
	};
}

static struct kl_ledger_bill bill(const struct kl_reservation *reservation, int64_t nano)
{
	static const struct kl_usage usage = {
		.known = true, .input = 7, .output = 8, .cache_read = 9
	};

	return (struct kl_ledger_bill){
		.name = "n",
		.phase = "back-0",
		.model = "m",
		.turn = 3,
		.reservation = reservation,
		.nano = nano,
		.usage = &usage,
	};
}

static void assert_totals(struct kl_repo *repo, int64_t settled, int64_t reserved)
{
	struct kl_ledger_totals totals;

	assert_ok(kl_ledger_totals(&totals, repo, "w"));
	assert_int_equal(totals.of[KL_BUDGET_INDUCE].settled, settled);
	assert_int_equal(totals.of[KL_BUDGET_INDUCE].reserved, reserved);
}

static void reserves_and_settles(void **state)
{
	FIXTURE("settles");
	struct kl_ledger_ask left = ask(KL_DOLLAR);
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	struct kl_reservation one, two;
	struct kl_ledger_bill ledger_bill;

	assert_totals(f.r, 0, 0);
	assert_ok(kl_ledger_reserve(&one, f.r, "w", &left));
	assert_int_equal(one.nano, 6000);
	assert_int_equal(one.tokens, 500);
	assert_ok(kl_ledger_reserve(&two, f.r, "w", &left));
	assert_string_not_equal(one.id, two.id);
	assert_totals(f.r, 0, 12000);
	ledger_bill = bill(&one, 4321);
	assert_ok(kl_ledger_settle(f.r, "w", &ledger_bill, NULL));
	assert_totals(f.r, 4321, 6000);
	assert_sh("3", f.dir, "git rev-list --count --first-parent " REF);
	assert_sh("ledger: settle $0.0001, back-0 of n, turn 3", f.dir,
		  "git log -1 --format=%%s " REF);
	assert_sh("klineage: settle", f.dir, "git log -1 -g --format=%%gs " REF);
	assert_sh("{\"budget\":\"induce\"", f.dir, "git show " REF ":ledger.json | cut -c1-18");
	assert_sh("", f.dir, "git fsck --strict 2>&1 | grep -v dangling || :");
	assert_ok(kl_ledger_load(&ledger, f.r, "w"));
	assert_int_equal(ledger.n, 3);
	assert_int_equal(ledger.e[0].kind, KL_LEDGER_RESERVE);
	assert_string_equal(ledger.e[0].id, one.id);
	assert_string_equal(ledger.e[1].id, two.id);
	assert_int_equal(ledger.e[2].kind, KL_LEDGER_SETTLE);
	assert_string_equal(ledger.e[2].id, one.id);
	assert_int_equal(ledger.e[2].nano, 4321);
	assert_int_equal(ledger.e[2].released, 6000);
	assert_int_equal(ledger.e[2].usage.cache_read, 9);
	assert_string_equal(ledger.e[2].phase, "back-0");
}

/* What was settled can be corrected, in either direction and again. */
static void a_settlement_is_corrected(void **state)
{
	FIXTURE("correct");
	struct kl_ledger_ask left = ask(KL_DOLLAR);
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	struct kl_reservation one, two;
	struct kl_ledger_bill ledger_bill;
	int64_t before;

	assert_ok(kl_ledger_reserve(&one, f.r, "w", &left));
	assert_error(KL_EINVALID, "is not settled",
		     kl_ledger_correct(&before, f.r, "w", one.id, 1));
	assert_ok(kl_ledger_reserve(&two, f.r, "w", &left));
	ledger_bill = bill(&one, 4321);
	ledger_bill.estimated = true;
	assert_ok(kl_ledger_settle(f.r, "w", &ledger_bill, NULL));
	assert_ok(kl_ledger_correct(&before, f.r, "w", one.id, 21));
	assert_int_equal(before, 4321);
	assert_totals(f.r, 21, 6000);
	assert_ok(kl_ledger_correct(&before, f.r, "w", one.id, 5000));
	assert_int_equal(before, 21);
	assert_totals(f.r, 5000, 6000);
	assert_error(KL_ENOTFOUND, "no reservation",
		     kl_ledger_correct(&before, f.r, "w", "00000000000000000000000000000000", 1));
	assert_ok(kl_ledger_load(&ledger, f.r, "w"));
	assert_int_equal(ledger.n, 5);
	assert_true(ledger.e[2].estimated);
	assert_int_equal(ledger.e[4].kind, KL_LEDGER_CORRECT);
	assert_int_equal(ledger.e[4].before, 21);
	assert_int_equal(kl_ledger_settled_by(&ledger.e[4]), 4979);
	assert_true(ledger.e[4].stated);
	assert_string_equal(ledger.e[4].phase, "back-0");
	assert_sh("ledger: correct to $0.0001, back-0 of n, turn 3", f.dir,
		  "git log -1 --format=%%s " REF);
	/* a reader of the first version refuses it, rather than to take it for a settlement */
	assert_sh("klineage.ledger/2", f.dir,
		  "git show " REF ":ledger.json | sed 's/.*\"schema\":\"\\([^\"]*\\).*/\\1/'");
	assert_sh("klineage.ledger/1", f.dir,
		  "git show " REF "~2:ledger.json | sed 's/.*\"schema\":\"\\([^\"]*\\).*/\\1/'");
}

/* Counts that an earlier version wrote, and no count at all of a later one. */
static void large_counts_are_read_back(void **state)
{
	static const char entry[] =
		"{\"budget\":\"induce\",\"id\":\"0123456789abcdef0123456789abcdef\",\"kind\":\"settle\","
		"\"model\":\"m\",\"name\":\"n\",\"nano\":5,\"phase\":\"p\",\"released\":7,"
		"\"schema\":\"klineage.ledger/1\",\"time\":\"2026-01-01T00:00:00Z\",\"totals\":{\"induce\":"
		"{\"reserved\":0,\"settled\":5},\"materialize\":{\"reserved\":0,\"settled\":0}},\"turn\":0,"
		"\"usage\":{\"cache_read\":0,\"cache_write_1h\":0,\"cache_write_5m\":0,\"input\":%s,\"output\":1},"
		"\"workload\":\"w\"}\n";
	static const struct {
		const char *input;
		bool ok;
	} is[] = { { "1000000001", true }, { "10000000000", true }, { "10000000001", false } };

	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(kl_freep) char *text = kl_asprintf(entry, is[i].input);
		struct kl_ledger_entry e;
		int err = kl_ledger_entry_parse(&e, text, strlen(text), "w");

		assert_int_equal(err, is[i].ok ? 0 : KL_EINVALID);
		if (!err)
			kl_ledger_entry_release(&e);
	}
}

static void budgets_are_apart(void **state)
{
	FIXTURE("budgets");
	struct kl_ledger_ask left = ask(6000);
	struct kl_reservation reservation;
	struct kl_ledger_totals totals;

	assert_ok(kl_ledger_reserve(&reservation, f.r, "w", &left));
	assert_error(KL_ENO, "budget", kl_ledger_reserve(&reservation, f.r, "w", &left));
	left.budget = KL_BUDGET_MATERIALIZE;
	assert_ok(kl_ledger_reserve(&reservation, f.r, "w", &left));
	assert_ok(kl_ledger_reserve(&reservation, f.r, "w2", &left));
	assert_ok(kl_ledger_totals(&totals, f.r, "w"));
	assert_int_equal(totals.of[KL_BUDGET_INDUCE].reserved, 6000);
	assert_int_equal(totals.of[KL_BUDGET_MATERIALIZE].reserved, 6000);
}

static void a_reply_shrinks_to_what_is_left(void **state)
{
	FIXTURE("shrinks");
	struct kl_ledger_ask left = ask(9999);
	struct kl_reservation reservation;

	assert_ok(kl_ledger_reserve(&reservation, f.r, "w", &left));
	assert_ok(kl_ledger_reserve(&reservation, f.r, "w", &left));
	assert_int_equal(reservation.tokens, 299); /* 3999 left, 1000 of it for the request */
	assert_int_equal(reservation.nano, 3990);
	assert_totals(f.r, 0, 9990);
	assert_error(KL_ENO,
		     "can cost up to $0.0001: $0.0001 of $0.0001 are left ($0.0000 spent, "
		     "$0.0001 reserved)",
		     kl_ledger_reserve(&reservation, f.r, "w", &left));
	assert_contains(kl_error_hints(), "klineage.budget.induce");
	assert_totals(f.r, 0, 9990);
	/* exactly the remaining amount is enough, a nano-dollar less is not */
	left.fixed = 0;
	left.per_token = 1;
	left.tokens = 20;
	left.least_tokens = 9;
	assert_ok(kl_ledger_reserve(&reservation, f.r, "w", &left));
	assert_int_equal(reservation.tokens, 9);
	left.tokens = left.least_tokens = 1;
	assert_error(KL_ENO, "are left", kl_ledger_reserve(&reservation, f.r, "w", &left));
}

static void a_budget_of_nothing_allows_nothing(void **state)
{
	FIXTURE("nothing");
	struct kl_ledger_ask left = ask(0);
	struct kl_reservation reservation;

	assert_error(KL_ENO, "budget", kl_ledger_reserve(&reservation, f.r, "w", &left));
	left.fixed = left.per_token = 0; /* not even a free request */
	assert_error(KL_ENO, "budget", kl_ledger_reserve(&reservation, f.r, "w", &left));
	assert_sh("", f.dir, "git for-each-ref refs/klineage");
	assert_sh("0", f.dir, "git count-objects | cut -d' ' -f1 >n; expr $(cat n) - 5 || :");
}

static void a_settlement_may_be_above_its_reservation(void **state)
{
	FIXTURE("above");
	struct kl_ledger_ask left = ask(KL_DOLLAR);
	struct kl_reservation reservation;
	struct kl_ledger_bill ledger_bill;

	assert_ok(kl_ledger_reserve(&reservation, f.r, "w", &left));
	ledger_bill = bill(&reservation, 2 * KL_DOLLAR);
	assert_ok(kl_ledger_settle(f.r, "w", &ledger_bill, NULL));
	assert_totals(f.r, 2 * KL_DOLLAR, 0);
	assert_error(KL_ENO, "$0.0000 of $1.0000 are left",
		     kl_ledger_reserve(&reservation, f.r, "w", &left));
}

static void a_reply_moves_with_its_settlement(void **state)
{
	FIXTURE("also");
	struct kl_ledger_ask left = ask(KL_DOLLAR);
	struct kl_reservation reservation;
	struct kl_ledger_bill ledger_bill;
	struct kl_ledger_also also = { .ref = "refs/klineage/chat/w/n/p",
				       .to = oid_of(f.dir, "HEAD") };

	assert_ok(kl_ledger_reserve(&reservation, f.r, "w", &left));
	ledger_bill = bill(&reservation, 10);
	assert_ok(kl_ledger_settle(f.r, "w", &ledger_bill, &also));
	assert_oid(f.dir, also.ref, &also.to);
	assert_totals(f.r, 10, 0);
	/* somebody else has moved it: nothing at all is written */
	sh(f.dir, "git commit -q --allow-empty -m two && git update-ref %s HEAD", also.ref);
	assert_ok(kl_ledger_reserve(&reservation, f.r, "w", &left));
	ledger_bill = bill(&reservation, 10);
	also.from = also.to;
	assert_error(KL_ECHANGED, "updated by another process",
		     kl_ledger_settle(f.r, "w", &ledger_bill, &also));
	assert_totals(f.r, 10, 6000);
}

/* children that all try at once: the cap holds, and no entry is lost */
/*
 * the spending of a search is neither in the ledger of its workload nor in that of another search
 */
static void purses_are_apart(void **state)
{
	FIXTURE("purses");
	struct kl_ledger_ask small = ask(7000);
	struct kl_ledger_totals totals;
	struct kl_reservation one;

	assert_ok(kl_ledger_reserve(&one, f.r, "w/climb-1", &small));
	assert_ok(kl_ledger_reserve(&one, f.r, "w/climb-2", &small));
	assert_error(KL_ENO, "the budget does not allow",
		     kl_ledger_reserve(&one, f.r, "w/climb-1", &small));
	assert_contains(kl_error_hints(), "--budget");
	assert_ok(kl_ledger_totals(&totals, f.r, "w/climb-1"));
	assert_int_equal(totals.of[KL_BUDGET_INDUCE].reserved, 6000);
	assert_totals(f.r, 0, 0);
	sh(f.dir,
	   "git cat-file -p refs/klineage/purse/w/climb-1:ledger.json | grep '\"w/climb-1\"'");
}

static void several_at_once_keep_the_cap(void **state)
{
	FIXTURE("several");
	enum { N = 4, EACH = 12 };
	struct kl_ledger_ask left = ask(30 * 6000 + 1234);
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	struct kl_ledger_totals totals;
	int64_t settled = 0, reserved = 0;
	int status;

	for (int i = 0; i < N; i++) {
		if (fork())
			continue;
		for (int k = 0; k < EACH; k++) {
			KL_AUTO(kl_repo_freep) struct kl_repo *own = NULL;
			struct kl_reservation reservation;
			int err;

			if (kl_repo_open_at(&own, f.dir))
				_exit(2);
			err = kl_ledger_reserve(&reservation, own, "w", &left);
			if (!err && k % 3 == 0) {
				struct kl_ledger_bill ledger_bill = bill(&reservation,
									 reservation.nano);

				err = kl_ledger_settle(own, "w", &ledger_bill, NULL);
			}
			if (err && err != KL_ENO)
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < N; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_ok(kl_ledger_load(&ledger, f.r, "w"));
	for (size_t i = 0; i < ledger.n; i++) {
		const struct kl_ledger_entry *entry = &ledger.e[i];

		reserved += entry->kind ? -entry->released : entry->nano;
		settled += kl_ledger_settled_by(entry);
		assert_int_equal(entry->after.of[0].reserved, reserved);
		assert_int_equal(entry->after.of[0].settled, settled);
		assert_true(settled + reserved <= left.cap);
	}
	assert_ok(kl_ledger_totals(&totals, f.r, "w"));
	/* the requests exceeded the budget: the rest is too little for another one */
	assert_true(left.cap - totals.of[0].settled - totals.of[0].reserved < 2000);
}

static void what_is_no_ledger_is_refused(void **state)
{
	/* clang-format off */
	static const struct { const char *edit, *says; } t[] = {
		{ "s/klineage.ledger.1/klineage.ledger\\/3/", "schema" },
		{ "s/klineage.ledger.1/klineage.ledger\\/2/", "schema" },
		{ "s/\"reserve\"/\"correct\"/", "schema" },
		{ "s/\"workload\":\"w\"/\"workload\":\"v\"/", "workload 'v'" },
		{ "s/\"reserve\"/\"steal\"/", "not reserve, settle or correct" },
		{ "s/\"id\":\"./\"id\":\"/", "32 hex digits" },
		{ "s/\"id\":\"./\"id\":\"G/", "32 hex digits" },
		{ "s/\"induce\",/\"spend\",/", "neither induce" },
		{ "s/\"nano\":6000/\"nano\":-6000/", "negative or too large" },
		{ "s/\"nano\":6000/\"nano\":6000.5/", "nano" },
		{ "s/\"nano\":6000/\"nano\":9223372036854775807/", "negative or too large" },
		{ "s/\"nano\":6000/\"nano\":92233720368547758070/", "" },
		{ "s/\"reserved\":6000/\"reserved\":-1/", "negative or too large" },
		{ "s/\"settled\":0/\"paid\":0/", "settled" },
		{ "s/\"totals\"/\"total\"/", "totals" },
		{ "s/\"name\":\"n\"/\"name\":7/", "name" },
		{ "s/}$//", "" },
		{ "s/.*//", "" },
	};
	/* clang-format on */
	FIXTURE("broken");
	struct kl_ledger_ask left = ask(KL_DOLLAR);
	struct kl_reservation reservation;

	assert_ok(kl_ledger_reserve(&reservation, f.r, "w", &left));
	sh(f.dir, "git show " REF ":ledger.json >good");
	for (size_t i = 0; i < KL_ARRAY_SIZE(t); i++) {
		KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
		struct kl_ledger_totals sum;

		sh(f.dir,
		   "sed '%s' good >ledger.json && ! cmp -s good ledger.json && "
		   "tree=$(printf '100644 blob %%s\\tledger.json\\n' $(git hash-object -w ledger.json) | git mktree) && "
		   "git update-ref " REF " $(git commit-tree -m x $tree)",
		   t[i].edit);
		assert_error(KL_EINVALID, t[i].says, kl_ledger_totals(&sum, f.r, "w"));
		assert_contains(kl_error_last(), REF);
		assert_error(KL_EINVALID, t[i].says, kl_ledger_load(&ledger, f.r, "w"));
		assert_error(KL_EINVALID, "", kl_ledger_reserve(&reservation, f.r, "w", &left));
	}
	/* entries that are sound, one by one, and whose sum nothing can hold */
	sh(f.dir,
	   "sed 's/\"nano\":6000/\"nano\":2000000000000000000/' good >ledger.json && p= && for i in 1 2 3 4 5; do "
	   "tree=$(printf '100644 blob %%s\tledger.json\n' $(git hash-object -w ledger.json) | git mktree) && "
	   "p=$(git commit-tree ${p:+-p $p} -m x $tree) || exit 1; done && git update-ref " REF
	   " $p");
	{
		KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };

		assert_error(KL_EINVALID, "are too large", kl_ledger_load(&ledger, f.r, "w"));
	}
	sh(f.dir, "git update-ref " REF " HEAD");
	{
		struct kl_ledger_totals sum;

		assert_error(KL_EINVALID, REF, kl_ledger_totals(&sum, f.r, "w"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reserves_and_settles),
		cmocka_unit_test(a_settlement_is_corrected),
		cmocka_unit_test(large_counts_are_read_back),
		cmocka_unit_test(budgets_are_apart),
		cmocka_unit_test(a_reply_shrinks_to_what_is_left),
		cmocka_unit_test(a_budget_of_nothing_allows_nothing),
		cmocka_unit_test(a_settlement_may_be_above_its_reservation),
		cmocka_unit_test(a_reply_moves_with_its_settlement),
		cmocka_unit_test(purses_are_apart),
		cmocka_unit_test(several_at_once_keep_the_cap),
		cmocka_unit_test(what_is_no_ledger_is_refused),
	};

	return cmocka_run_group_tests_name("chat/ledger", tests, scratch_setup, scratch_teardown);
}
