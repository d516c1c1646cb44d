/* SPDX-License-Identifier: Apache-2.0 */
/* Bills: each form that providers export, and refused files. */
#include "model/bill.h"
#include "model/money.h"
#include "scratch.h"

static int parse_bill(struct kl_bill *bill, const char *text)
{
	return kl_bill_parse(bill, "bill", text, strlen(text));
}

/* "<form> <first> <last>", then "; <day> <model> <nano> <rows>" for each line */
static void assert_bill(const char *text, const char *want)
{
	KL_AUTO(kl_bill_release) struct kl_bill bill = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;

	assert_ok(parse_bill(&bill, text));
	kl_buf_addf(&out, "%s %s %s", bill.form, bill.first, bill.last);
	for (size_t i = 0; i < bill.n; i++)
		kl_buf_addf(&out, "; %s %s %lld %zu", bill.line[i].day, bill.line[i].model,
			    (long long)bill.line[i].nano, bill.line[i].rows);
	assert_string_equal(out.ptr, want);
}

#define OPENAI                                                                                     \
	"start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,quantity,"   \
	"quantity_unit,line_item,user_id,api_key_id,project_id,organization_id,project_name,"      \
	"organization_name,user_email,api_source\n"                                                \
	"1790467200,1790553600,2026-09-27T00:00:00+00:00,2026-09-28T00:00:00+00:00,,,,,,,,,,,,,\n" \
	"1790553600,1790640000,2026-09-28T00:00:00,2026-09-29T00:00:00,"                           \
	"0.003835980000000000000000000000,usd,,,\"gpt-5-nano-2025-08-07, input\",,,,o,,O,,\n"      \
	"1790553600,1790640000,2026-09-28T00:00:00,2026-09-29T00:00:00,"                           \
	"0.5,usd,1000,tokens,\"gpt-5-nano-2025-08-07, output\",,key_1,p,o,P,O,,\n"

#define ANTHROPIC                                                                               \
	"usage_date_utc,model,workspace,api_key,usage_type,context_window,token_type,cost_usd," \
	"list_price_usd,cost_type,inference_geo,speed,api_key_id,api_key_status\n"              \
	"2026-08-04,Claude Haiku 4.5,Default,k,message,\xe2\x89\xa4 200k,input_no_cache,0.05,"  \
	"0.05,token,global,,a,active\n"                                                         \
	"2026-08-04,Claude Haiku 4.5,Default,k,message,\xe2\x89\xa4 200k,output,0.02,0.02,"     \
	"token,global,,a,active\n"                                                              \
	"2026-08-05,Claude Opus 4.5,Default,k,message,\xe2\x89\xa4 200k,output,0.30,0.30,"      \
	"token,global,,a,active\n"

#define OPENROUTER                                                                      \
	"generation_id,created_at,cost_total,cost_web_search,cost_cache,tokens_prompt," \
	"tokens_completion,model_permaslug,provider_name\n"                             \
	"gen-1,2026-06-28 03:46:57.713,0.0123,0,0,10389,137,openai/gpt-oss-120b,Groq\n" \
	"gen-2,2026-06-28 04:00:00.001,1.5e-06,0,-0.001,4,1,openai/gpt-oss-120b-20260801,Groq\n"

static void each_form_of_csv_is_read(void **state)
{
	KL_AUTO(kl_bill_release) struct kl_bill bill = { 0 };

	assert_bill(OPENAI, "openai-csv 2026-09-27 2026-09-28; 2026-09-28 gpt-5-nano 503835980 2");
	assert_bill(ANTHROPIC, "anthropic-csv 2026-08-04 2026-08-05; "
			       "2026-08-04 claude-haiku-4-5 70000000 2; "
			       "2026-08-05 claude-opus-4-5 300000000 1");
	assert_bill(OPENROUTER, "openrouter-csv 2026-06-28 2026-06-28; "
				"2026-06-28 gpt-oss-120b 12301500 2");
	assert_bill("Date,Slug,Usage,BYOK Usage,Requests\r\n\"2026-05-12 00:00:00\","
		    "\"anthropic/claude-opus-4.7\",\"430.07\",\"0\",\"4115\"\r\n",
		    "openrouter-days-csv 2026-05-12 2026-05-12; "
		    "2026-05-12 claude-opus-4-7 430070000000 1");
	/* only OpenAI's items have a comma before something that is not the model */
	assert_bill("time,model,cost\n2026-11-20,\"m-1, tuned\",1\n",
		    "plain 2026-11-20 2026-11-20; 2026-11-20 m-1,-tuned 1000000000 1");
	assert_ok(parse_bill(&bill, "time,model,input,output,cache_read,cache_write,cost\n"
				    "2026-11-20T10:00:00Z,m-1,10,20,30,40,0.25\n"
				    "2026-11-20T11:00:00Z,m-1,1,2,3,4,-0.05\n"
				    "2026-11-21,m-1,,,,,1\n"));
	assert_string_equal(bill.form, "plain");
	assert_int_equal(bill.n, 2);
	assert_int_equal(bill.line[0].nano, KL_DOLLAR / 5);
	assert_true(bill.line[0].usage.known);
	assert_int_equal(bill.line[0].usage.cache_read, 33);
	assert_int_equal(bill.line[0].usage.cache_write_5m, 44);
	assert_false(bill.line[1].usage.known);
	assert_true(bill.has_models);
	assert_false(bill.whole_cents);
}

static void each_form_of_json_is_read(void **state)
{
	assert_bill("{\"object\":\"page\",\"data\":[{\"object\":\"bucket\",\"start_time\":"
		    "1730419200,\"end_time\":1730505600,\"results\":[{\"amount\":{\"value\":0.06,"
		    "\"currency\":\"usd\"},\"line_item\":null,\"project_id\":null}]},"
		    "{\"start_time\":1730505600,\"results\":[]}],\"has_more\":false}",
		    "openai-json 2024-11-01 2024-11-02; 2024-11-01  60000000 1");
	assert_bill("\n{\"data\":[{\"starting_at\":\"2025-08-01T00:00:00Z\",\"ending_at\":"
		    "\"2025-08-02T00:00:00Z\",\"results\":[{\"amount\":\"123.78912\",\"currency\":"
		    "\"USD\",\"model\":\"claude-opus-4-20250514\"},{\"amount\":\"1\",\"currency\":"
		    "\"USD\",\"model\":null}]}],\"has_more\":false,\"next_page\":null}",
		    "anthropic-json 2025-08-01 2025-08-01; 2025-08-01 claude-opus-4 1237891200 1; "
		    "2025-08-01  10000000 1");
	assert_bill("{\"data\":[{\"date\":\"2025-08-24\",\"model\":\"openai/gpt-4.1\","
		    "\"model_permaslug\":\"openai/gpt-4.1-2025-04-14\",\"usage\":0.015,"
		    "\"requests\":5}]}",
		    "openrouter-json 2025-08-24 2025-08-24; 2025-08-24 gpt-4-1 15000000 1");
}

/* Numbers of JSON are read as decimals, to the nano-dollar. */
static void numbers_of_json_are_exact(void **state)
{
	static const struct {
		const char *number;
		int64_t nano;
	} cases[] = {
		{ "123456.789012345", 123456789012345 },
		{ "0.1", KL_DOLLAR / 10 },
		{ "999999.999999999", KL_MONEY_MAX - 1 },
		{ "-12.345678901", -12345678901 },
		{ "1e-9", 1 },
		{ "5e-10", 1 },
		{ "1e-300", 0 },
		{ "1000000", KL_MONEY_MAX },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(cases); i++) {
		KL_AUTO(kl_bill_release) struct kl_bill bill = { 0 };
		KL_AUTO(kl_freep) char *text = kl_asprintf(
			"{\"data\":[{\"date\":\"2026-11-20\",\"model\":\"m\",\"usage\":%s}]}",
			cases[i].number);

		assert_ok(parse_bill(&bill, text));
		assert_int_equal(bill.line[0].nano, cases[i].nano);
	}
}

static void what_is_no_bill_is_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "the bill is empty" },
		{ "time,model,cost\n", "the bill is empty" },
		{ "a,b\n1,2\n", "bill:1: no known form" },
		{ "usage_date_utc,model_version,usage_output_tokens\n", "but no costs" },
		{ "time,model,cost\n2026-13-01,m,1\n", "bill:2: expected a time in UTC" },
		{ "time,model,cost\n2026-11-20,m,\n", "bill:2: invalid amount ''" },
		{ "time,model,cost\n2026-11-20,m,$1\n", "invalid amount '$1'" },
		{ "time,model,cost\n2026-11-20,m,nan\n", "invalid amount" },
		{ "time,model,cost\n2026-11-20,m,1000001\n", "invalid amount" },
		{ "time,model,cost\n2026-11-20,m,1e6\n2026-11-20,m,-1\n", "bill:3: the charges" },
		{ "time,model,input,output,cache_read,cache_write,cost\n2026-11-20,m,-1,,,,1\n",
		  "invalid number of tokens" },
		{ "start_time_iso,line_item,amount_value,amount_currency\n2026-11-20,m,1,eur\n",
		  "expected the currency usd, not 'eur'" },
		{ "{", "bill: JSON line 1" },
		{ "{}", "bill: " },
		{ "{\"data\":[]}", "bill: the bill is empty" },
		{ "{\"data\":[{}]}", "no known form" },
		{ "{\"data\":[{\"date\":\"2026-11-20\",\"usage\":1}],\"has_more\":true}",
		  "one page of a longer bill" },
		{ "{\"data\":[{\"date\":\"yesterday\",\"usage\":1}]}", "element 0 of 'data'" },
		{ "{\"data\":[{\"date\":\"2026-11-20\",\"usage\":1e300}]}", "or too large" },
		{ "{\"data\":[{\"date\":\"2026-11-20\",\"usage\":true}]}", "not a number" },
		{ "{\"data\":[{\"start_time\":-1,\"results\":[]}]}", "the time is invalid" },
		{ "{\"data\":[{\"starting_at\":\"2026-11-20\",\"results\":[{\"amount\":\"1\","
		  "\"currency\":\"eur\"}]}]}",
		  "expected the currency usd" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(cases); i++) {
		KL_AUTO(kl_bill_release) struct kl_bill bill = { 0 };

		assert_error(KL_EINVALID, cases[i].why, parse_bill(&bill, cases[i].text));
	}
}

static void days_are_in_utc(void **state)
{
	static const char *const good[] = { "2026-11-20",
					    "2026-11-20T23:59",
					    "2026-11-20T23:59:59Z",
					    "2026-11-20 23:59:59.123456",
					    "2026-11-20T23:59:59+00:00",
					    "2026-11-20 23:59:59 UTC",
					    "2026-11-20T23:59:60Z" };
	static const char *const bad[] = { "",
					   "2026-11-2",
					   "2026-02-30",
					   "2026-00-01",
					   "2026-11-20T",
					   "2026-11-20X10:00",
					   "20261120",
					   "2026-11-20T10:00+01",
					   "20-11-2026",
					   "2026-11-20T24:00",
					   "2026-11-20T10:60",
					   "2026-11-20T10:00:61Z" };
	char day[KL_BILL_DAY];

	for (size_t i = 0; i < KL_ARRAY_SIZE(good); i++) {
		assert_true(kl_bill_day(day, good[i]));
		assert_string_equal(day, "2026-11-20");
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_false(kl_bill_day(day, bad[i]));
}

static void names_of_a_model_are_the_same(void **state)
{
	static const struct {
		const char *name, *model;
	} cases[] = {
		{ "Claude Opus 4.5", "claude-opus-4-5" },
		{ "anthropic/claude-opus-4.5", "claude-opus-4-5" },
		{ "claude-opus-4-5-20251101", "claude-opus-4-5" },
		{ "gpt-5-nano-2025-08-07", "gpt-5-nano" },
		{ "mistral-large-latest", "mistral-large" },
		{ "gpt-5-mini", "gpt-5-mini" },
		{ "", "" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(cases); i++) {
		KL_AUTO(kl_freep) char *model = kl_bill_model(cases[i].name);

		assert_string_equal(model, cases[i].model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_of_csv_is_read),
		cmocka_unit_test(each_form_of_json_is_read),
		cmocka_unit_test(numbers_of_json_are_exact),
		cmocka_unit_test(what_is_no_bill_is_refused),
		cmocka_unit_test(days_are_in_utc),
		cmocka_unit_test(names_of_a_model_are_the_same),
	};

	return cmocka_run_group_tests_name("model/bill", tests, NULL, NULL);
}
