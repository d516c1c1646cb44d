/* SPDX-License-Identifier: Apache-2.0 */
/* Ledgers against a bill: sums per day and model, and reasons for a difference. */
#include "model/ledger.h"
#include "model/money.h"
#include "model/reconciliation.h"
#include "scratch.h"

#define CENT (KL_DOLLAR / 100)

struct fixture {
	char *dir;
	struct kl_repo *r;
};

static void fixture_release(struct fixture *fixture)
{
	unsetenv("KLINEAGE_TIME");
	kl_repo_free(fixture->r);
	free(fixture->dir);
}

static struct fixture fixture(const char *name)
{
	struct fixture made = { .dir = scratch_repo(name) };

	assert_ok(kl_repo_open_at(&made.r, made.dir));
	return made;
}

#define FIXTURE(name) KL_AUTO(fixture_release) struct fixture f = fixture(name)

/* Reserve $1 for a request at a time. */
static struct kl_reservation reserve_at(struct fixture *fixture, const char *workload,
					const char *model, const char *time)
{
	struct kl_ledger_ask ask = { .cap = 100 * KL_DOLLAR,
				     .name = "n",
				     .phase = "p",
				     .model = model,
				     .fixed = KL_DOLLAR,
				     .tokens = 1 };
	struct kl_reservation reservation;

	setenv("KLINEAGE_TIME", time, 1);
	assert_ok(kl_ledger_reserve(&reservation, fixture->r, workload, &ask));
	return reservation;
}

enum how { COUNTED, UNCOUNTED, ESTIMATED, IMPLAUSIBLE };

/* Settle it, always on the 29th. */
static void settle_request(struct fixture *fixture, const char *workload, const char *model,
			   const struct kl_reservation *reservation, int64_t nano, enum how how)
{
	static const struct kl_usage usage = { .known = true, .input = 7, .output = 8 };
	struct kl_ledger_bill bill = { .name = "n",
				       .phase = "p",
				       .model = model,
				       .reservation = reservation,
				       .nano = nano,
				       .usage = how == COUNTED ? &usage : NULL,
				       .estimated = how == ESTIMATED,
				       .implausible = how == IMPLAUSIBLE };

	setenv("KLINEAGE_TIME", "2026-11-29T00:00:00Z", 1);
	assert_ok(kl_ledger_settle(fixture->r, workload, &bill, NULL));
}

static void spend_at(struct fixture *fixture, const char *model, const char *time, int64_t nano,
		     enum how how)
{
	struct kl_reservation reservation = reserve_at(fixture, "w", model, time);

	settle_request(fixture, "w", model, &reservation, nano, how);
}

static int try_compare(struct kl_reconciliation *out, struct fixture *fixture, const char *rows,
		       const struct kl_reconciliation_opts *opts)
{
	KL_AUTO(kl_bill_release) struct kl_bill bill = { 0 };
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		"time,model,input,output,cache_read,cache_write,cost\n%s", rows);

	assert_ok(kl_bill_parse(&bill, "bill", text, strlen(text)));
	return kl_reconciliation_make(out, fixture->r, &bill, opts);
}

#define RECONCILE(name, rows, ...)                                                \
	KL_AUTO(kl_reconciliation_release) struct kl_reconciliation name = { 0 }; \
	assert_ok(try_compare(&name, &f, rows, &(struct kl_reconciliation_opts){ __VA_ARGS__ }))

static void equal_sums_are_equal_to_the_cent(void **state)
{
	FIXTURE("equal");

	spend_at(&f, "m-1-20251101", "2026-11-20T23:59:59Z", 3 * CENT, COUNTED);
	spend_at(&f, "m-1", "2026-11-20T00:00:00Z", 4 * CENT, COUNTED);
	spend_at(&f, "m-2", "2026-11-21T00:00:00Z", 5 * CENT, COUNTED);
	spend_at(&f, "m-2", "2026-11-22T00:00:00Z", 6 * CENT, COUNTED);
	RECONCILE(exact, "2026-11-21,M 2,7,8,,,0.05\n2026-11-20,v/m-1,14,16,0,0,0.07\n");
	assert_true(kl_reconciliation_is_equal(&exact));
	assert_int_equal(exact.n, 2);
	assert_string_equal(exact.line[0].model, "m-1");
	assert_int_equal(exact.line[0].requests, 2);
	assert_int_equal(exact.line[0].settled, 7 * CENT);
	assert_true(exact.line[0].charged.known);
	assert_int_equal(exact.line[0].counted.input, 14);
	assert_int_equal(exact.total.billed, 12 * CENT);
	assert_int_equal(exact.outside.n, 1);
	assert_int_equal(exact.outside.nano, 6 * CENT);
	RECONCILE(near, "2026-11-21,m-2,,,,,0.0405\n2026-11-20,m-1,,,,,0.0700\n");
	assert_true(kl_reconciliation_is_equal(&near));
	RECONCILE(far, "2026-11-21,m-2,,,,,0.04\n2026-11-20,m-1,,,,,0.07\n");
	assert_false(kl_reconciliation_is_equal(&far));
	assert_int_equal(far.unequal, 1);
	/* each line is off by less than a cent, but not the total */
	RECONCILE(sum, "2026-11-21,m-2,,,,,0.0595\n2026-11-20,m-1,,,,,0.0795\n");
	assert_int_equal(sum.unequal, 0);
	assert_false(kl_reconciliation_is_equal(&sum));
	RECONCILE(one, "2026-11-20,m-1,,,,,0.07\n2026-11-21,x,,,,,9\n", .model = "M.1");
	assert_true(kl_reconciliation_is_equal(&one));
	assert_int_equal(one.n, 1);
}

static void what_is_known_roughly_explains(void **state)
{
	struct kl_reservation open;
	FIXTURE("rough");

	open = reserve_at(&f, "w", "m", "2026-11-20T00:00:00Z");
	spend_at(&f, "m", "2026-11-20T01:00:00Z", 10 * CENT, COUNTED);
	spend_at(&f, "m", "2026-11-20T02:00:00Z", 20 * CENT, ESTIMATED);
	spend_at(&f, "m", "2026-11-20T03:00:00Z", 30 * CENT, IMPLAUSIBLE);
	spend_at(&f, "m", "2026-11-20T04:00:00Z", 40 * CENT, UNCOUNTED);
	RECONCILE(least, "2026-11-20,m,,,,,0.10\n");
	assert_int_equal(least.total.settled, KL_DOLLAR);
	assert_int_equal(least.total.open.n, 1);
	assert_int_equal(least.total.open.nano, KL_DOLLAR);
	assert_int_equal(least.total.estimated.nano, 20 * CENT);
	assert_int_equal(least.total.implausible.nano, 30 * CENT);
	assert_int_equal(least.total.uncounted.nano, 40 * CENT);
	assert_false(least.total.counted.known);
	assert_false(kl_reconciliation_is_equal(&least));
	assert_true(kl_reconciled_is_explained(&least.total));
	RECONCILE(most, "2026-11-20,m,,,,,2\n");
	assert_true(kl_reconciled_is_explained(&most.total));
	RECONCILE(less, "2026-11-20,m,,,,,0.09\n");
	assert_false(kl_reconciled_is_explained(&less.total));
	RECONCILE(more, "2026-11-20,m,,,,,2.01\n");
	assert_false(kl_reconciled_is_explained(&more.total));
	/* settled later, it still counts on its own day, and a correction is no estimate */
	settle_request(&f, "w", "m", &open, 50 * CENT, UNCOUNTED);
	assert_ok(kl_ledger_correct(&(int64_t){ 0 }, f.r, "w", open.id, 60 * CENT));
	RECONCILE(settled, "2026-11-20,m,,,,,1.60\n");
	assert_true(kl_reconciliation_is_equal(&settled));
	assert_int_equal(settled.total.uncounted.nano, 40 * CENT);
}

static void ledgers_and_days_are_chosen(void **state)
{
	struct kl_reservation other;
	FIXTURE("chosen");
	RECONCILE(none, "2026-11-20,m,,,,,1\n");
	struct kl_reconciliation unset = { 0 };

	assert_int_equal(none.workloads, 0);
	assert_int_equal(none.unequal, 1);
	assert_int_equal(none.line[0].requests, 0);
	spend_at(&f, "m", "2026-11-20T01:00:00Z", 10 * CENT, COUNTED);
	other = reserve_at(&f, "x", "m", "2026-11-20T01:00:00Z");
	settle_request(&f, "x", "m", &other, 20 * CENT, COUNTED);
	RECONCILE(both, "2026-11-20,m,,,,,0.30\n");
	assert_true(kl_reconciliation_is_equal(&both));
	assert_int_equal(both.workloads, 2);
	RECONCILE(one, "2026-11-20,m,,,,,0.20\n", .workload = "x");
	assert_true(kl_reconciliation_is_equal(&one));
	/* what a search spent from its purse is on the bill, too */
	other = reserve_at(&f, "x/climb-1", "m", "2026-11-19T01:00:00Z");
	settle_request(&f, "x/climb-1", "m", &other, 5 * CENT, COUNTED);
	RECONCILE(purse, "2026-11-20,m,,,,,0.20\n2026-11-19,m,,,,,0.05\n", .workload = "x");
	assert_true(kl_reconciliation_is_equal(&purse));
	RECONCILE(days, "2026-11-20,,,,,,0.30\n");
	assert_true(kl_reconciliation_is_equal(&days));
	assert_string_equal(days.line[0].model, "");
	assert_error(KL_ENOTFOUND, "the workload 'y' has no ledger",
		     try_compare(&unset, &f, "2026-11-20,m,,,,,1\n",
				 &(struct kl_reconciliation_opts){ .workload = "y" }));
	assert_error(KL_EINVALID, "names no models",
		     try_compare(&unset, &f, "2026-11-20,,,,,,1\n",
				 &(struct kl_reconciliation_opts){ .model = "m" }));
	assert_error(KL_EINVALID, "'v/' is not the beginning of a model's name",
		     try_compare(&unset, &f, "2026-11-20,m,,,,,1\n",
				 &(struct kl_reconciliation_opts){ .model = "v/" }));
	assert_error(KL_EINVALID, "'' is not the beginning of a model's name",
		     try_compare(&unset, &f, "2026-11-20,m,,,,,1\n",
				 &(struct kl_reconciliation_opts){ .model = "" }));
}

/* Anthropic's file has each row rounded to a cent. */
static void rounded_rows_are_allowed_for(void **state)
{
	static const char text[] = "usage_date_utc,model,cost_usd\n2026-11-20,M,0.01\n"
				   "2026-11-20,M,0.01\n2026-11-20,M,0.01\n2026-11-20,M,0.01\n";
	KL_AUTO(kl_bill_release) struct kl_bill bill = { 0 };
	KL_AUTO(kl_reconciliation_release) struct kl_reconciliation out = { 0 };
	struct kl_reconciliation_opts opts = { 0 };
	FIXTURE("rounded");

	spend_at(&f, "m", "2026-11-20T01:00:00Z", 6 * CENT, COUNTED);
	assert_ok(kl_bill_parse(&bill, "bill", text, strlen(text)));
	assert_ok(kl_reconciliation_make(&out, f.r, &bill, &opts));
	assert_int_equal(out.total.tolerance, 3 * CENT);
	assert_true(kl_reconciliation_is_equal(&out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_sums_are_equal_to_the_cent),
		cmocka_unit_test(what_is_known_roughly_explains),
		cmocka_unit_test(ledgers_and_days_are_chosen),
		cmocka_unit_test(rounded_rows_are_allowed_for),
	};

	return cmocka_run_group_tests_name("model/reconciliation", tests, scratch_setup,
					   scratch_teardown);
}
