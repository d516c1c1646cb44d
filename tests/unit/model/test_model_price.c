/* SPDX-License-Identifier: Apache-2.0 */
/* Prices: exact, from files and configuration, and refused values. */
#include "model/money.h"
#include "model/price.h"
#include "model/provider/usage.h"
#include "scratch.h"

#define MODEL(name, more)                                                                      \
	"  " name ":\n"                                                                        \
	"    {input: \"3\", output: \"15\", cache_read: \"0.30\", cache_write_5m: \"3.75\",\n" \
	"     cache_write_1h: \"6\", date: 2026-11-20, source: here" more "}\n"
#define HEAD "unit: usd-per-mtok\nmodels:\n"

static void money_is_exact(void **state)
{
	static const struct {
		const char *text;
		int64_t nano;
	} good[] = {
		{ "0", 0 },
		{ "40", 40 * KL_DOLLAR },
		{ "0.25", KL_DOLLAR / 4 },
		{ "0.000000001", 1 },
		{ "10.10", 10100000000 },
		{ "1000000", KL_MONEY_MAX },
		{ "007", 7 * KL_DOLLAR },
	};
	static const char *const bad[] = {
		"",
		".",
		"1.",
		".5",
		"-1",
		"+1",
		" 1",
		"1 ",
		"1e3",
		"0x10",
		"1,5",
		"1.0000000001",
		"1000000.000000001",
		"99999999999999999999",
		"nan",
		"inf",
		"$1",
		"1.2.3",
	};
	int64_t n = -1;

	for (size_t i = 0; i < KL_ARRAY_SIZE(good); i++) {
		assert_true(kl_money_parse(&n, good[i].text));
		assert_int_equal(n, good[i].nano);
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		if (kl_money_parse(&n, bad[i]))
			fail_msg("taken for money: '%s'", bad[i]);
}

static void money_is_never_shown_as_less(void **state)
{
	/* clang-format off */
	static const struct { int64_t nano; const char *text; } t[] = {
		{ 0, "$0.0000" }, { 1, "$0.0001" }, { 100000, "$0.0001" }, { 100001, "$0.0002" },
		{ 12345600000, "$12.3456" }, { -1, "-$0.0001" },
		{ INT64_MIN, "-$9223372036.8548" }, { INT64_MAX, "$9223372036.8548" },
	};
	/* clang-format on */
	char text[KL_MONEY_TEXT];

	for (size_t i = 0; i < KL_ARRAY_SIZE(t); i++) {
		kl_money_text(text, t[i].nano);
		assert_string_equal(text, t[i].text);
	}
}

static void amounts_of_programs_are_exact(void **state)
{
	static const struct {
		const char *text;
		int unit;
		int64_t nano;
	} good[] = {
		{ "0", 0, 0 },
		{ "-0.0", 0, 0 },
		{ "1.", 0, KL_DOLLAR },
		{ ".5", 0, KL_DOLLAR / 2 },
		{ "-12.345678901", 0, -12345678901 },
		{ "0.0000000004", 0, 0 },
		{ "0.0000000005", 0, 1 },
		{ "0.99999999999999999999", 0, KL_DOLLAR },
		{ "1e-9", 0, 1 },
		{ "2.5E3", 0, 2500 * KL_DOLLAR },
		{ "1e-99", 0, 0 },
		{ "0e99", 0, 0 },
		{ "123.45", -2, 1234500000 },
		{ "1000000", 0, KL_MONEY_MAX },
	};
	static const char *const bad[] = { "",    "-",    ".",   "+1",    "1 ",   " 1", "1e",
					   "1e+", "1e--", "1,5", "1e100", "0x10", "inf" };
	int64_t nano;

	for (size_t i = 0; i < KL_ARRAY_SIZE(good); i++) {
		assert_true(kl_money_read_amount(&nano, good[i].text, good[i].unit));
		assert_int_equal(nano, good[i].nano);
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_false(kl_money_read_amount(&nano, bad[i], 0));
	assert_false(kl_money_read_amount(&nano, "1000000.000000001", 0));
	assert_false(kl_money_read_amount(&nano, "9e98", 0));
}

/* --- files -------------------------------------------------------------------- */

struct fixture {
	char *dir, *file;
	struct kl_repo *r;
};

static void fixture_release(struct fixture *fixture)
{
	kl_repo_free(fixture->r);
	free(fixture->file);
	free(fixture->dir);
}

static struct fixture fixture(const char *name, const char *prices)
{
	struct fixture other = { .dir = scratch_repo(name) };

	other.file = kl_fs_join(other.dir, "prices.yaml");
	assert_ok(kl_fs_put(other.file, prices, strlen(prices), 0644));
	sh(other.dir, "git config klineage.chat.prices '%s'", other.file);
	assert_ok(kl_repo_open_at(&other.r, other.dir));
	return other;
}

#define FIXTURE(name, text) KL_AUTO(fixture_release) struct fixture f = fixture(name, text)

static void a_file_gives_the_cost_of_tokens(void **state)
{
	FIXTURE("file",
		HEAD MODEL("small", "") MODEL(
			"long",
			",\n     long: {above: 1000, input: \"6\", output: \"22.5\", cache_read: \"0.6\", "
			"cache_write_5m: \"7.5\", cache_write_1h: \"12\"}"));
	KL_AUTO(kl_price_freep) struct kl_price *price = NULL, *other = NULL;
	struct kl_usage usage = { .known = true,
				  .input = 100,
				  .output = 10,
				  .cache_read = 700,
				  .cache_write_5m = 150,
				  .cache_write_1h = 50 };
	int64_t n;

	assert_ok(kl_price_find(&price, f.r, "small"));
	assert_contains(price->from, "prices.yaml:3, 2026-11-20");
	assert_int_equal(price->rates.input, 3000000);
	assert_int_equal(price->rates.output, 15000000);
	assert_int_equal(price->rates.cache_read, 300000);
	assert_int_equal(price->rates.cache_write_5m, 3750000);
	assert_int_equal(price->rates.cache_write_1h, 6000000);
	assert_ok(kl_price_cost(&n, price, &usage, 1000));
	assert_int_equal(n, 100 * 3000 + 10 * 15000 + 700 * 300 + 150 * 3750 + 50 * 6000);
	/* 1000 tokens of prompt are not more than 1000, 1001 are */
	assert_ok(kl_price_find(&other, f.r, "long"));
	assert_ok(kl_price_cost(&n, other, &usage, 1000));
	assert_int_equal(n, 100 * 3000 + 10 * 15000 + 700 * 300 + 150 * 3750 + 50 * 6000);
	usage.input++;
	assert_ok(kl_price_cost(&n, other, &usage, 1000));
	assert_int_equal(n, 101 * 6000 + 10 * 22500 + 700 * 600 + 150 * 7500 + 50 * 12000);
	usage.output = -1;
	assert_error(KL_EINVALID, "impossible token counts",
		     kl_price_cost(&n, price, &usage, 1000));
	usage.output = INT64_MAX;
	assert_error(KL_EINVALID, "impossible token counts",
		     kl_price_cost(&n, price, &usage, 1000));
}

#define SMALL(name, price)                                                               \
	"  " name ": {input: \"" price "\", output: \"" price "\", cache_read: \"" price \
	"\",\n     cache_write_5m: \"" price "\", cache_write_1h: \"" price              \
	"\", date: 2026-11-20, source: here}\n"

/*
 * A price with four decimals or more costs what the bill says, to the nearest nano-dollar, and never
 * more than is reserved for it.
 */
static void small_prices_cost_what_the_bill_says(void **state)
{
	FIXTURE("small", HEAD SMALL("a", "0.0375") SMALL("b", "0.075") SMALL("c", "0.001")
				 SMALL("d", "0.012345") SMALL("e", "0.100001"));
	/* clang-format off */
	static const struct { const char *model; int64_t tokens, nano; } is[] = {
		{ "a", 1, 38 }, { "a", 2, 75 }, { "a", 1000, 37500 }, { "a", 1000001, 37500038 },
		{ "b", 1, 75 }, { "b", 1000, 75000 }, { "b", 1000001, 75000075 },
		{ "c", 1, 1 }, { "c", 1000000, 1000000 },
		{ "d", 1, 12 }, { "d", 1000, 12345 }, { "d", 1000001, 12345012 },
		{ "e", 1, 100 }, { "e", 1000000, 100001000 }, { "e", KL_USAGE_MAX, 100001000000 },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(kl_price_freep) struct kl_price *price = NULL;
		int64_t tokens = is[i].tokens, n, fixed, per;
		struct kl_usage in = { .known = true, .input = tokens }, out = { .output = tokens };

		assert_ok(kl_price_find(&price, f.r, is[i].model));
		assert_ok(kl_price_cost(&n, price, &in, 1000));
		assert_int_equal(n, is[i].nano);
		assert_ok(kl_price_cost(&n, price, &out, 1000));
		assert_int_equal(n, is[i].nano);
		kl_price_worst(&fixed, &per, price, KL_CACHE_NONE, tokens - KL_PRICE_ALLOWANCE);
		assert_true(fixed >= is[i].nano && fixed <= is[i].nano + 1);
		assert_true(per * tokens >= is[i].nano);
	}
}

/* The cost is rounded once, after the kinds of tokens and the factor of the tier. */
static void a_request_is_rounded_once(void **state)
{
	const struct kl_rates rates = { 37500, 37500, 37500, 37500, 37500 };
	const struct kl_usage usage = { true, 1, 1, 1, 1, 1 };

	assert_int_equal(kl_rates_cost(&rates, &usage, 1000), 188);
	assert_int_equal(kl_rates_cost(&rates, &usage, 500), 94);
	assert_int_equal(kl_rates_cost(&rates, &usage, 1100), 206);
}

/* no split of the bytes into tokens, and of those over the kinds, may cost more */
static void the_worst_is_the_worst(void **state)
{
	FIXTURE("worst",
		HEAD MODEL(
			"m",
			",\n     long: {above: 5000, input: \"6\", output: \"22.5\", cache_read: \"0.6\", "
			"cache_write_5m: \"7.5\", cache_write_1h: \"12\"}"));
	KL_AUTO(kl_price_freep) struct kl_price *price = NULL;

	assert_ok(kl_price_find(&price, f.r, "m"));
	for (int cache = KL_CACHE_NONE; cache <= KL_CACHE_1H; cache++)
		for (int64_t bytes = 1; bytes < 9000; bytes += 997) {
			int64_t fixed, per, n, tokens = bytes + KL_PRICE_ALLOWANCE;

			kl_price_worst(&fixed, &per, price, cache, bytes);
			for (int kind = 0; kind < 3 + (cache == KL_CACHE_1H); kind++) {
				struct kl_usage usage = { .known = true, .output = 77 };

				*(kind == 0 ? &usage.input :
				  kind == 1 ? &usage.cache_read :
				  kind == 2 ? &usage.cache_write_5m :
					      &usage.cache_write_1h) = tokens;
				assert_ok(kl_price_cost(&n, price, &usage, 1000));
				assert_true(n <= fixed + 77 * per);
			}
		}
}

static void a_snapshot_has_its_models_price(void **state)
{
	static const char *const good[] = {
		"claude-x-4",
		"claude-x-4-20260101",
		"claude-x-4-2026-01-01",
		"claude-x-4-latest",
	};
	static const char *const bad[] = {
		"claude-x",           "claude-x-45",          "claude-x-4-5-20260101",
		"claude-x-4-2026010", "claude-x-4-202601011", "claude-x-4-fast",
		"Claude-x-4",         "claude-x-4-latest-2",  "",
	};
	FIXTURE("alias", HEAD MODEL("claude-x-4", ""));

	for (size_t i = 0; i < KL_ARRAY_SIZE(good); i++) {
		KL_AUTO(kl_price_freep) struct kl_price *price = NULL;

		assert_ok(kl_price_find(&price, f.r, good[i]));
		assert_string_equal(price->model, "claude-x-4");
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(kl_price_freep) struct kl_price *price = NULL;

		assert_error(KL_EINVALID, "has no price, but", kl_price_find(&price, f.r, bad[i]));
		assert_contains(kl_error_hints(), "input=2 output=10");
	}
}

static void its_own_entry_goes_before_its_models(void **state)
{
	FIXTURE("own",
		HEAD MODEL(
			"a-1",
			"") "  a-1-20260101: {input: \"9\", output: \"9\", cache_read: \"9\", "
			    "cache_write_5m: \"9\", cache_write_1h: \"9\", date: 2026-01-01, source: x}\n");
	KL_AUTO(kl_price_freep) struct kl_price *price = NULL;

	assert_ok(kl_price_find(&price, f.r, "a-1-20260101"));
	assert_int_equal(price->rates.input, 9000000);
}

static void what_is_wrong_is_refused_with_its_line(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *says; } t[] = {
		{ "models:\n" MODEL("m", ""), ":1:1: 'unit: usd-per-mtok' is missing" },
		{ "unit: usd-per-token\nmodels:\n" MODEL("m", ""), ":1:7: the unit must be usd-per-mtok" },
		{ "unit: eur-per-mtok\nmodels:\n" MODEL("m", ""), ":1:7: the unit" },
		{ "unit: [usd-per-mtok]\nmodels:\n" MODEL("m", ""), ":1:7: the unit" },
		{ "unit: usd-per-mtok\n", "'models' is missing" },
		{ "unit: usd-per-mtok\nmodels: [m]\n", ":2:9: 'models' must be a map" },
		{ "unit: usd-per-mtok\nprices: 1\nmodels:\n" MODEL("m", ""), ":2:1: unknown key 'prices'" },
		{ HEAD "  m: 3\n", ":3:6: the prices of a model must be a map" },
		{ HEAD MODEL("m", ", per: token"), "unknown key 'per'" },
		{ HEAD "  m:\n    input: \"3\"\n    output: \"-15\"\n", ":5:13: a price must be a decimal number" },
		{ HEAD "  m:\n    input: 3e-6\n", ":4:12: a price must be a decimal number" },
		{ HEAD "  m:\n    input: [3]\n", ":4:12: a price must be a decimal number" },
		{ HEAD "  m:\n    input: \"0.000003\"\n", ":4:12: a price is 0 or at least $0.001; is it per million tokens?" },
		{ HEAD "  m:\n    input: \"0.000999\"\n", ":4:12: a price is 0 or at least $0.001" },
		{ HEAD "  m:\n    input: \"0.0375001\"\n", ":4:12: a price has at most 6 decimals" },
		{ HEAD "  m:\n    input: \"3000000\"\n", "a price must be a decimal" },
		{ HEAD "  m:\n    input: \"30000\"\n", ":4:12: a price is at most $10000 per million" },
		{ HEAD "  m:\n    input: \"3\"\n    output: \"15\"\n", ":4:5: the price of 'cache_read' is missing" },
		{ HEAD "  m: {input: \"3\", output: \"15\", cache_read: \"1\", cache_write_5m: \"1\", "
		  "cache_write_1h: \"1\", source: x}\n", ":3:6: 'date' is missing" },
		{ HEAD "  m: {input: \"3\", output: \"15\", cache_read: \"1\", cache_write_5m: \"1\", "
		  "cache_write_1h: \"1\", date: 2026-01-01}\n", ":3:6: 'source' is missing" },
		{ HEAD MODEL("m", ", long: {above: 10, input: \"3\"}"), "the price of 'output' is missing" },
		{ HEAD MODEL("m", ", long: {input: \"3\"}"), "'above' is missing" },
		{ HEAD MODEL("m", ", long: {above: many}"), "expected a number of tokens" },
		{ HEAD MODEL("m", ", long: {above: 0}"), "expected a number of tokens" },
		{ HEAD MODEL("m", ", date: 2026-01-01"), "date" },
		{ HEAD "  m:\n    date: yesterday\n", ":4:11: expected a date" },
		{ HEAD "  m: &a {input: 1}\n", "" },
		{ "[]", ":1:1: a price file must be a map" },
		{ "", "" },
	};
	/* clang-format on */
	FIXTURE("wrong", HEAD MODEL("other", ""));

	for (size_t i = 0; i < KL_ARRAY_SIZE(t); i++) {
		KL_AUTO(kl_price_freep) struct kl_price *price = NULL;
		int err;

		assert_ok(kl_fs_put(f.file, t[i].text, strlen(t[i].text), 0644));
		err = kl_price_find(&price, f.r, "m");
		if (err != KL_EINVALID || !strstr(kl_error_last(), t[i].says) ||
		    !strstr(kl_error_last(), "prices.yaml"))
			fail_msg("%zu: %d: %s (wanted: %s)", i, err, err ? kl_error_last() : "",
				 t[i].says);
		assert_null(price);
	}
	sh(f.dir, "rm prices.yaml");
	{
		KL_AUTO(kl_price_freep) struct kl_price *price = NULL;

		assert_error(KL_ENOTFOUND, "prices.yaml", kl_price_find(&price, f.r, "m"));
	}
}

/* --- configuration ------------------------------------------------------------ */

static void the_user_has_the_first_and_the_last_word(void **state)
{
	FIXTURE("config", HEAD MODEL("gpt-5.5", ""));
	KL_AUTO(kl_repo_freep) struct kl_repo *again = NULL;
	KL_AUTO(kl_price_freep) struct kl_price *own = NULL, *file = NULL, *rest = NULL;

	sh(f.dir, "git config klineage.gpt-6.7.price 'input=2 output=10, cache-read=0.2'; "
		  "git config klineage.chat.price free");
	assert_ok(kl_repo_open_at(&again, f.dir));
	assert_ok(kl_price_find(&own, again, "gpt-6.7"));
	assert_int_equal(own->rates.input, 2000000);
	assert_int_equal(own->rates.output, 10000000);
	assert_int_equal(own->rates.cache_read, 200000);
	assert_int_equal(own->rates.cache_write_5m, 4000000);
	assert_int_equal(own->rates.cache_write_1h, 4000000);
	assert_string_equal(own->from, "config klineage.gpt-6.7.price");
	assert_ok(kl_price_find(&file, again, "gpt-5.5"));
	assert_int_equal(file->rates.input, 3000000);
	assert_ok(kl_price_find(&rest, again, "llama"));
	assert_int_equal(rest->rates.input, 0);
	assert_int_equal(rest->rates.output, 0);
	assert_string_equal(rest->from, "config klineage.chat.price");
}

static void a_bad_price_of_the_configuration_is_refused(void **state)
{
	/* clang-format off */
	static const struct { const char *value, *says; } t[] = {
		{ "input=2", "has no output=" }, { "output=2", "has no input=" },
		{ "", "has no input=" }, { "2", "'2' is not one of" }, { "free input=1", "'free' is not one of" },
		{ "input=2 output=10 input=3", "input is given twice" }, { "in=2 out=3", "'in' is not one of" },
		{ "input=-2 output=10", "input: a price must be a decimal number" },
		{ "input=0.000002 output=10", "is it per million tokens?" }, { "input=0.0375001 output=1", "at most 6 decimals" },
		{ "input= output=1", "a decimal number" },
		{ "input=20000 output=1", "at most $10000" },
	};
	/* clang-format on */
	FIXTURE("badconfig", HEAD MODEL("x", ""));

	for (size_t i = 0; i < KL_ARRAY_SIZE(t); i++) {
		KL_AUTO(kl_repo_freep) struct kl_repo *again = NULL;
		KL_AUTO(kl_price_freep) struct kl_price *price = NULL;

		sh(f.dir, "git config klineage.m.price '%s'", t[i].value);
		assert_ok(kl_repo_open_at(&again, f.dir));
		assert_error(KL_EINVALID, t[i].says, kl_price_find(&price, again, "m"));
		assert_contains(kl_error_last(), "config klineage.m.price");
	}
}

static void a_sum_of_the_configuration_is_decimal(void **state)
{
	static const char *const bad[] = { "-1", "1k", "$40", "1e3", "", "2000000", "forty" };
	FIXTURE("sum", HEAD MODEL("x", ""));
	int64_t n;

	assert_ok(kl_money_config(&n, f.r, "klineage.budget.induce", 7));
	assert_int_equal(n, 7);
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(kl_repo_freep) struct kl_repo *again = NULL;

		sh(f.dir, "git config klineage.budget.induce '%s'", bad[i]);
		assert_ok(kl_repo_open_at(&again, f.dir));
		assert_error(KL_EINVALID, "config klineage.budget.induce",
			     kl_money_config(&n, again, "klineage.budget.induce", 7));
	}
}

static void the_shipped_prices_can_be_read(void **state)
{
	KL_AUTO(kl_freep) char *path = NULL;

	assert_ok(kl_fs_share(&path, "templates/prices.yaml"));
	assert_ok(kl_price_check_file(path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amounts_of_programs_are_exact),
		cmocka_unit_test(money_is_exact),
		cmocka_unit_test(money_is_never_shown_as_less),
		cmocka_unit_test(a_file_gives_the_cost_of_tokens),
		cmocka_unit_test(small_prices_cost_what_the_bill_says),
		cmocka_unit_test(a_request_is_rounded_once),
		cmocka_unit_test(the_worst_is_the_worst),
		cmocka_unit_test(a_snapshot_has_its_models_price),
		cmocka_unit_test(its_own_entry_goes_before_its_models),
		cmocka_unit_test(what_is_wrong_is_refused_with_its_line),
		cmocka_unit_test(the_user_has_the_first_and_the_last_word),
		cmocka_unit_test(a_bad_price_of_the_configuration_is_refused),
		cmocka_unit_test(a_sum_of_the_configuration_is_decimal),
		cmocka_unit_test(the_shipped_prices_can_be_read),
	};

	return cmocka_run_group_tests_name("chat/price", tests, scratch_setup, scratch_teardown);
}
