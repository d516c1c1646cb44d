/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that return a value: which bytes of it count, and how whole kernels are judged by it. */
#include "worker_fixture.h"

#include "base/clock.h"
#include "worker/subject/subject.h"

/* a job whose kernel takes n and x, and returns a value of the dtype */
static struct fixture *returning(enum kl_dtype dtype)
{
	struct fixture *fixture = fx_new();
	struct kl_point *point = fx_point(fixture, "case0", true);
	int arg = fx_arg(fixture, "n", KL_ARG_DIM, KL_I64, NULL);

	point->arg[arg].value = 100;
	fx_extent(point, fx_arg(fixture, "x", KL_ARG_IN, KL_I32, "{\"ints\":[-50,50]}"), 1, 100, 0);
	arg = fx_arg(fixture, "return", KL_ARG_OUT, dtype, NULL);
	fixture->job.arg[arg].returned = true;
	fx_extent(point, arg, 1, 1, 0);
	fx_rule(fixture, KL_RULE_EXACT, arg);
	return fixture;
}

/* Call the candidate once with x[i] = i, and compare the value with `want`. */
static void assert_returns(struct fixture *fixture, const void *want)
{
	for (int right = 0; right < 2; right++) {
		KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
		const struct kl_subject_spec spec = { .kind = KL_SUBJECT_KERNEL,
						      .path = fixture->job.candidate_path,
						      .align_right = right,
						      .cpu = -1 };
		size_t size = kl_dtype_bytes(fixture->job.arg[2].dtype);
		struct kl_call end;
		int32_t *x;

		assert_ok(kl_subject_start(&subject, &fixture->job, fixture->point, &spec));
		x = kl_subject_buffer(subject, 1);
		for (int32_t i = 0; i < 100; i++)
			x[i] = i;
		for (uint64_t seed = 2; seed < 4; seed++) {
			kl_subject_poison(subject, seed);
			assert_ok(kl_subject_call(subject, &end));
			assert_int_equal(end.end, KL_CALL_OK);
			assert_int_equal(kl_subject_bytes(subject, 2), size);
			assert_memory_equal(kl_subject_buffer(subject, 2), want, size);
		}
	}
}

#define K "k(int64_t n, const int32_t *x)"

static void each_type_is_returned(void **state)
{
	static const double f64 = 1234.0625;
	static const float f32 = 99.5f;
	static const int64_t i64 = -9007199254740993, all = -1;
	static const char one = 1;
	static const uint64_t u64 = 0xfedcba9876543210u;
	static const struct {
		enum kl_dtype dtype;
		const char *body;
		const void *want;
	} rows[] = {
		{ KL_F64, "double " K " { return 1135.0625 + x[n - 1]; }", &f64 },
		{ KL_F32, "float " K " { return x[n - 1] + 0.5f; }", &f32 },
		{ KL_I64, "int64_t " K " { return -9007199254741092 + x[n - 1]; }", &i64 },
		{ KL_U64, "uint64_t " K " { return 0xfedcba98765431adu + x[n - 1]; }", &u64 },
		{ KL_I32, "int32_t " K " { return -x[1]; }", &all },
		{ KL_U32, "uint32_t " K " { return -x[1]; }", &all },
		{ KL_I16, "int16_t " K " { return -x[1]; }", &all },
		{ KL_U16, "uint16_t " K " { return -x[1]; }", &all },
		{ KL_I8, "int8_t " K " { return -x[1]; }", &all },
		{ KL_U8, "_Bool " K " { return x[1]; }", &one },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = returning(rows[i].dtype);

		fx_candidate(fixture, kl_dtype_name(rows[i].dtype), rows[i].body);
		assert_returns(fixture, rows[i].want);
	}
}

/* A dim arrives in the type of its prototype, of which it can have any value. */
static void dims_of_each_type_arrive(void **state)
{
	static const struct {
		enum kl_dtype dtype;
		const char *type;
		int64_t value;
	} rows[] = {
		{ KL_I64, "int64_t", (int64_t)1 << 40 },
		{ KL_U64, "size_t", (int64_t)1 << 40 },
		{ KL_I32, "int", INT32_MAX },
		{ KL_U32, "unsigned", UINT32_MAX },
		{ KL_I16, "short", 32767 },
		{ KL_U16, "unsigned short", 65535 },
		{ KL_I8, "signed char", 127 },
		{ KL_U8, "unsigned char", 255 },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = returning(KL_I64);
		KL_AUTO(kl_freep)
		char *body = kl_asprintf("int64_t k(%s n, const int32_t *x) { return n; }",
					 rows[i].type);

		fixture->job.arg[0].dtype = rows[i].dtype;
		fixture->point[0].arg[0].value = rows[i].value;
		fx_candidate(fixture, "dim", body);
		assert_returns(fixture, &rows[i].value);
	}
}

/* The convention leaves the upper bits of the register open. */
static void other_bits_of_the_register_do_not_count(void **state)
{
	static const enum kl_dtype dtypes[] = { KL_I32, KL_U32, KL_I16, KL_U16, KL_I8, KL_U8 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(dtypes); i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = returning(dtypes[i]);
		size_t bits = 8 * kl_dtype_bytes(dtypes[i]);
		KL_AUTO(kl_freep)
		char *body = kl_asprintf("uint64_t " K
					 " { return 0xdeadbeefdeadbeef << %zu | (uint64_t)x[5]; }",
					 bits);

		fx_candidate(fixture, "rubbish", body);
		assert_returns(fixture, (const char[]){ 5, 0, 0, 0 });
	}
}

/* -- whole kernels ------------------------------------------------------------------------ */

#define SUM_BODY(type) \
	"{ " type " s = 0; for (int64_t i = 0; i < n; i++) s = s * 31 + x[i]; return s; }"
#define SUM(type) type " " K " " SUM_BODY(type)
#define SUM_ORACLE "uint32_t oracle(int64_t n, const int32_t *x) " SUM_BODY("uint32_t")

static void cached_values_are_refused(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = returning(KL_U32);
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	/* clang-format off */
	static const struct { const char *body, *class, *says; } rows[] = {
		{ SUM("uint32_t"), "", "" },
		/* wider than the contract says: the low bytes are the value */
		{ SUM("uint64_t"), "", "" },
		{ "static uint32_t kept; static int known; uint32_t " K
		  "{ if (known) return kept; uint32_t s = 0; for (int64_t i = 0; i < n; i++) s = s * 31 + x[i];"
		  "known = 1; return kept = s; }", "nondeterministic", "the kernel returned" },
		{ "uint32_t " K " { uint32_t s = 0; for (int64_t i = 0; i < n / 2; i++) s = s * 31 + x[i]; return s; }",
		  "wrong-all", "the kernel returned" },
		{ "void " K " { }", "wrong-all", "the kernel returned" },
		/* not SUM("uint16_t"): what that leaves in the other bytes is often right */
		{ "uint32_t " K " { uint32_t s = 0; for (int64_t i = 0; i < n; i++) s = s * 31 + x[i];"
		  "return s & 0xffff; }", "wrong-all", "the kernel returned" },
	};
	/* clang-format on */

	fx_oracle(fixture, SUM_ORACLE);
	assert_ok(kl_pool_open(&pool, &fixture->job));
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(json_decrefp) json_t *result = json_object();

		fx_candidate(fixture, "whole", rows[i].body);
		assert_ok(kl_stage_correct(result, &fixture->job, pool));
		if (strcmp(kl_json_str_or(result, "class", ""), rows[i].class) ||
		    !strstr(kl_json_str_or(result, "message", ""), rows[i].says))
			fail_msg("%zu: %s: %s", i, kl_json_str_or(result, "class", ""),
				 kl_json_str_or(result, "message", ""));
	}
}

/* A float is judged by the rule that judges an output of one element. */
static void a_float_is_returned_within_its_tolerance(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = returning(KL_F32);
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	static const struct {
		const char *body, *class;
	} rows[] = {
		{ "float " K
		  " { float s = 0; for (int64_t i = n; i-- > 0;) s += x[i] * 0.1f; return s; }",
		  "" },
		{ "float " K
		  " { float s = 0; for (int64_t i = n; i-- > 1;) s += x[i] * 0.1f; return s; }",
		  "wrong-all" },
	};

	/* without cancellation, which the rule would not allow for: x is no float */
	json_decref(fixture->job.arg[1].fill);
	fixture->job.arg[1].fill = fx_json("{\"ints\":[1,50]}");
	fixture->rule[0].kind = KL_RULE_ELEMENTWISE;
	fixture->rule[0].ulps = 16;
	fixture->rule[0].acc = 100;
	fx_oracle(fixture,
		  "kl_real oracle(int64_t n, const int32_t *x)"
		  "{ kl_real s = 0; for (int64_t i = 0; i < n; i++) s += x[i] * (kl_real)0.1f;"
		  " return s; }");
	assert_ok(kl_pool_open(&pool, &fixture->job));
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(json_decrefp) json_t *result = json_object();

		fx_candidate(fixture, "float", rows[i].body);
		assert_ok(kl_stage_correct(result, &fixture->job, pool));
		if (strcmp(kl_json_str_or(result, "class", ""), rows[i].class))
			fail_msg("%zu: %s", i, kl_json_str_or(result, "message", ""));
	}
}

/* -- the audit -------------------------------------------------------------------------------- */

static json_t *audited(struct fixture *fixture, const char *oracle)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	json_t *result = json_object();

	/* inputs of another oracle's pool would be taken for its own */
	free(fixture->job.pool);
	fixture->job.pool = kl_asprintf("%s/pool-%lld", fixture->dir, (long long)kl_clock_ns());
	fx_oracle(fixture, oracle);
	assert_ok(kl_pool_open(&pool, &fixture->job));
	assert_ok(kl_stage_audit(result, &fixture->job, pool));
	return result;
}

static void assert_audit(struct fixture *fixture, const char *oracle, const char *list,
			 const char *says)
{
	KL_AUTO(json_decrefp) json_t *result = audited(fixture, oracle);
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	const json_t *audit = json_object_get(result, "audit");

	kl_json_canonical(&buf, list ? json_object_get(audit, list) : audit);
	if (!strstr(buf.ptr, says))
		fail_msg("%s\nwanted %s", buf.ptr, says);
	assert_int_equal(kl_json_bool_or(audit, "ok", false), !list || strcmp(list, "problems"));
}

/* An input often moves a flag, and often not: each of 20 audits must let both be. */
static void flags_and_sums_can_be_judged(void **state)
{
	for (int i = 0; i < 20; i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = returning(KL_U8);

		assert_audit(
			fixture,
			"_Bool oracle(int64_t n, const int32_t *x)"
			"{ int64_t s = 0; for (int64_t i = 0; i < n; i++) s += x[i]; return s > 0; }",
			NULL, "\"ok\":true");
	}
	for (int i = 0; i < 2; i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = returning(KL_U32);

		assert_audit(fixture, SUM_ORACLE, NULL, "\"ok\":true");
	}
}

static void values_that_say_nothing_are_named(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = returning(KL_I32);
	int more;

	assert_audit(fixture, "int32_t oracle(int64_t n, const int32_t *x) { return 0; }",
		     "problems",
		     "rule exact of 'return' passes an answer of zeros, for each of 67 inputs, at "
		     "'case0'");
	assert_audit(fixture, "int32_t oracle(int64_t n, const int32_t *x) { return 7; }",
		     "problems", "passes the answer to another input, for each of 67 inputs");
	assert_audit(fixture, "int32_t oracle(int64_t n, const int32_t *x) { return x[0]; }",
		     "notes", "'return' is a copy of 'x' at 'case0'");
	/* with another output, a status is harmless */
	fixture->job.arg[3] = fixture->job.arg[2];
	memset(&fixture->job.arg[2], 0, sizeof(fixture->job.arg[2]));
	fixture->job.nargs--;
	more = fx_arg(fixture, "y", KL_ARG_OUT, KL_I32, NULL);
	fixture->job.nargs++;
	fixture->point[0].arg[3] = fixture->point[0].arg[2];
	fx_extent(fixture->point, more, 1, 100, 0);
	fixture->rule[0].out = 3;
	fx_rule(fixture, KL_RULE_EXACT, more);
	assert_audit(fixture,
		     "int32_t oracle(int64_t n, const int32_t *x, int32_t *y)"
		     "{ for (int64_t i = 0; i < n; i++) y[i] = 3 * x[i] + 7; return 0; }",
		     "notes", "'return' is the same for each of 67 inputs at 'case0'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_is_returned),
		cmocka_unit_test(dims_of_each_type_arrive),
		cmocka_unit_test(other_bits_of_the_register_do_not_count),
		cmocka_unit_test(cached_values_are_refused),
		cmocka_unit_test(a_float_is_returned_within_its_tolerance),
		cmocka_unit_test(flags_and_sums_can_be_judged),
		cmocka_unit_test(values_that_say_nothing_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
