/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "job/job_domain.h"

static const char whole[] =
	"{\"schema\":\"klineage.job/2\",\"surface\":\"c\","
	"\"truth\":\"/d/truth.so\",\"honest\":\"/d/honest.so\",\"candidate\":\"/d/cand.so\",\"parent\":null,"
	"\"baseline\":\"openblas.sgemm\",\"isa\":\"x86-64-v3\",\"pool\":\"/d/pool\",\"args\":["
	"{\"name\":\"M\",\"kind\":\"dim\",\"dtype\":\"i64\"},"
	"{\"name\":\"alpha\",\"kind\":\"scalar\",\"dtype\":\"f32\",\"value\":1.5},"
	"{\"name\":\"A\",\"kind\":\"in\",\"dtype\":\"f32\",\"fill\":{\"normal\":[0.0,1.0]},\"sweep\":true},"
	"{\"name\":\"C\",\"kind\":\"out\",\"dtype\":\"f32\"}],"
	"\"points\":[{\"id\":\"case0\",\"perf\":true,\"rank\":\"hot\",\"weight\":3,\"floor_ns\":7,"
	"\"values\":[1024,1.5,[1024,512],[1024]]}],"
	"\"accept\":[{\"out\":\"C\",\"rule\":\"noise\",\"max\":5.0,\"rms\":2.5,\"per\":[0]}],"
	"\"exact\":[{\"A\":{\"ints\":[-2,2]}}],\"bands\":[],\"deterministic\":true,"
	"\"do\":[\"audit\",\"profile\"],\"seed\":\"18446744073709551615\",\"arena_bytes\":268435456,\"call_ms\":10000,"
	"\"profile\":{\"min_blocks\":8,\"max_ms\":15000}}";

/* A job in whose domain the worker draws further points and values. */
static const char searched[] =
	"{\"schema\":\"klineage.job/2\",\"surface\":\"c\","
	"\"truth\":\"/d/truth.so\",\"honest\":\"/d/honest.so\",\"candidate\":\"/d/cand.so\",\"parent\":null,"
	"\"baseline\":null,\"isa\":null,\"pool\":\"/d/pool\",\"dims\":[\"R\",\"N\"],\"args\":["
	"{\"name\":\"N\",\"kind\":\"dim\",\"dtype\":\"i32\"},"
	"{\"name\":\"at\",\"kind\":\"in\",\"dtype\":\"i32\",\"fill\":{\"repeat\":{\"index\":{\"case0\":9,\"expr\":\"N\"}}},"
	"\"sweep\":false},{\"name\":\"C\",\"kind\":\"out\",\"dtype\":\"f32\"}],"
	"\"points\":[{\"id\":\"case0\",\"dims\":[4,9],\"perf\":true,\"rank\":\"hot\",\"weight\":3,\"floor_ns\":7,"
	"\"values\":[9,[4,9],[4,8]]}],\"accept\":[{\"out\":\"C\",\"rule\":\"exact\"}],"
	"\"exact\":[],\"bands\":[],\"domain\":{\"conditions\":[\"N >= 2\",\"R >= 1 && R <= N\"],"
	"\"shapes\":{\"at\":[\"R\",\"N\"],\"C\":[\"R\",\"N - 1\"]}},"
	"\"values\":{\"nan\":\"undefined\",\"inf\":\"oracle\",\"denormal\":\"oracle\"},"
	"\"deterministic\":true,\"do\":[\"correct\"],\"seed\":\"0\",\"arena_bytes\":0,\"call_ms\":10000,\"threads\":4,"
	"\"profile\":{\"min_blocks\":8,\"max_ms\":15000}}";

/* The text with the first `from` in it replaced. Owned. */
static char *edited(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);

	assert_non_null(at);
	return kl_asprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static int parse(struct kl_job **out, const char *text)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	int err = kl_json_parse(&doc, text, strlen(text));

	return err < 0 ? err : kl_job_parse(out, doc);
}

static void everything_arrives(void **state)
{
	KL_AUTO(kl_job_freep) struct kl_job *job = NULL;

	if (parse(&job, whole) < 0)
		fail_msg("%s", kl_error_last());
	assert_string_equal(job->truth_path, "/d/truth.so");
	assert_string_equal(job->candidate_path, "/d/cand.so");
	assert_null(job->parent_path);
	assert_string_equal(job->isa, "x86-64-v3");
	assert_int_equal(job->nargs, 4);
	assert_int_equal(job->arg[1].kind, KL_ARG_SCALAR);
	assert_true(job->arg[1].value == 1.5);
	assert_true(job->arg[2].sweep && job->arg[2].fill);
	assert_int_equal(job->arg[3].kind, KL_ARG_OUT);
	assert_int_equal(job->npoint, 1);
	assert_true(job->point[0].perf && job->point[0].hot);
	assert_int_equal(job->point[0].weight, 3);
	assert_int_equal(job->point[0].floor_ns, 7);
	assert_int_equal(job->point[0].arg[0].value, 1024);
	assert_int_equal(job->point[0].arg[2].extent[1], 512);
	assert_int_equal(kl_point_elements(&job->point[0], 2), 1024 * 512);
	assert_int_equal(kl_job_point_elements(job, &job->point[0]), 1024 * 512 + 1024);
	assert_int_equal(job->nrule, 1);
	assert_int_equal(job->rule[0].out, 3);
	assert_true(job->rule[0].max == 5 && job->rule[0].rms == 2.5);
	assert_int_equal(job->rule[0].npaxes, 1);
	assert_true(job->do_audit && !job->do_correct && job->do_profile);
	assert_true(job->seed == UINT64_MAX);
	assert_int_equal(json_array_size(job->exact), 1);
	assert_int_equal(job->call_ms, 10000);
	assert_int_equal(job->profile_min_blocks, 8);
}

/* Dims below 1 count as 1, and points of one size keep their order. */
static void points_are_ordered_by_size(void **state)
{
	struct kl_point point[] = {
		{ .dim = { 8, 9 } }, { .dim = { 0, 5 } }, { .dim = { 5, 1 } },
		{ .dim = { 2, 2 } }, { .dim = { 9, 8 } },
	};
	const struct kl_job job = { .point = point, .npoint = KL_ARRAY_SIZE(point), .ndim = 2 };
	static const size_t want[] = { 3, 1, 2, 0, 4 };
	size_t order[KL_ARRAY_SIZE(point)];

	kl_job_order_points(order, &job);
	assert_memory_equal(order, want, sizeof(want));
}

/* Without names of dims, those that are arguments count, and no other numbers. */
static void dims_can_be_arguments(void **state)
{
	static struct kl_job job = {
		.nargs = 3,
		.arg = { { .kind = KL_ARG_DIM },
			 { .kind = KL_ARG_SCALAR },
			 { .kind = KL_ARG_DIM } },
	};
	struct kl_point point[] = {
		{ .arg = { { .value = 7 }, { .value = 1 }, { .value = 3 } } },
		{ .arg = { { .value = 0 }, { .value = 90 }, { .value = 20 } } },
	};
	static const size_t want[] = { 1, 0 };
	size_t order[KL_ARRAY_SIZE(point)];

	job.point = point;
	job.npoint = KL_ARRAY_SIZE(point);
	assert_true(kl_job_volume(&job, &point[0]) == 21);
	assert_true(kl_job_volume(&job, &point[1]) == 20);
	kl_job_order_points(order, &job);
	assert_memory_equal(order, want, sizeof(want));
}

/* All that the parser keeps is written, in the form that it was read from. */
static void assert_written_again(const char *text)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL, *again = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf want = KL_BUF_INIT, got = KL_BUF_INIT;
	KL_AUTO(kl_job_freep) struct kl_job *job = NULL;

	assert_int_equal(kl_json_parse(&doc, text, strlen(text)), 0);
	assert_int_equal(kl_job_parse(&job, doc), 0);
	again = kl_job_write(job);
	kl_json_canonical(&want, doc);
	kl_json_canonical(&got, again);
	assert_string_equal(got.ptr, want.ptr);
}

static void what_is_parsed_can_be_written(void **state)
{
	KL_AUTO(kl_freep) char *zeros = edited(whole, "\"kind\":\"out\"",
					       "\"init\":\"zeros\",\"kind\":\"out\"");

	KL_AUTO(kl_freep) char *adapter = edited(whole, "\"isa\"", "\"adapter\":true,\"isa\"");
	KL_AUTO(kl_freep) char *base = edited(whole, "\"kind\":\"out\"",
					      "\"base\":64,\"kind\":\"out\"");

	assert_written_again(whole);
	assert_written_again(zeros);
	assert_written_again(adapter);
	assert_written_again(base);
}

/* One edit of the whole each, and a word of the message that has to come. */
static const struct edit {
	const char *from, *to, *says;
} edits[] = {
	{ "klineage.job/2", "klineage.job/1", "reads klineage.job/2, not 'klineage.job/1'" },
	{ "\"surface\":\"c\"", "\"surface\":\"metal\"", "metal" },
	{ "\"surface\":\"c\"", "\"surface\":\"cuda\"", "arch" },
	{ "\"seed\"", "\"plan\":{},\"seed\"", "'plan' is only for surface cuda" },
	{ "\"floor_ns\":7", "\"floor_ns\":7,\"dims\":[4]", "has 1 entries for 0 dims" },
	{ "\"pool\":\"/d/pool\",", "", "pool" },
	{ "\"pool\":\"/d/pool\"", "\"pool\":7", "pool" },
	{ "\"name\":\"M\"", "\"name\":\"\"", "name" },
	{ "\"schema\"", "\"entry\":\"sgemm\",\"schema\"", "unknown member 'entry'" },
	{ "\"schema\"", "\"extra\":1,\"schema\"", "unknown member 'extra'" },
	{ "\"kind\":\"dim\"", "\"kind\":\"dimension\"", "dimension" },
	{ "\"dtype\":\"i64\"", "\"dtype\":\"f32\"", "is not an integer" },
	{ "\"dtype\":\"i64\"", "\"dtype\":\"int\"", "'int'" },
	{ "\"name\":\"C\"", "\"name\":\"A\"", "two arguments" },
	{ "\"kind\":\"out\"", "\"kind\":\"out\",\"init\":\"ones\"", "'init' must be" },
	{ "\"kind\":\"in\"", "\"kind\":\"in\",\"init\":\"zeros\"", "only an out" },
	{ "\"kind\":\"in\"", "\"kind\":\"in\",\"returned\":true", "only an out" },
	{ "\"kind\":\"in\"", "\"kind\":\"in\",\"base\":2", "'base' is 2; it must be 4 to 2048" },
	{ "\"kind\":\"in\"", "\"kind\":\"in\",\"base\":4096", "it must be 4 to 2048" },
	{ "\"kind\":\"in\"", "\"kind\":\"in\",\"base\":24", "not a power of two" },
	{ "\"kind\":\"dim\"", "\"kind\":\"dim\",\"base\":64", "passed as a pointer" },
	{ "\"name\":\"M\",\"kind\":\"dim\",\"dtype\":\"i64\"",
	  "\"name\":\"M\",\"kind\":\"out\",\"dtype\":\"i64\",\"returned\":true",
	  "must be the last" },
	{ "\"kind\":\"out\",\"dtype\":\"f32\"",
	  "\"kind\":\"out\",\"dtype\":\"f16\",\"returned\":true", "cannot return f16" },
	{ "\"kind\":\"out\"", "\"kind\":\"out\",\"returned\":true", "its extents must be [1]" },
	{ ",\"value\":1.5}", "}", "alpha" },
	{ ",\"value\":1.5}", ",\"value\":\"much\"}", "alpha" },
	{ ",\"fill\":{\"normal\":[0.0,1.0]}", "", "needs a fill" },
	{ "{\"normal\":[0.0,1.0]}", "{}", "0 generators" },
	{ "{\"normal\":[0.0,1.0]}", "{\"normal\":[0,1],\"const\":1}", "2 generators" },
	{ "{\"normal\":[0.0,1.0]}", "{\"gauss\":[0,1]}", "gauss" },
	{ "[1024,1.5,[1024,512],[1024]]", "[1024,1.5,[1024,512]]", "has 3 entries for 4" },
	{ "[1024,1.5,[1024,512],[1024]]", "[1024.5,1.5,[1024,512],[1024]]", "whole number" },
	{ "[1024,1.5,[1024,512],[1024]]", "[1024,1.5,[1024,-1],[1024]]", "extent" },
	{ "[1024,1.5,[1024,512],[1024]]", "[1024,1.5,[4611686018427387904,512],[1024]]", "2^40" },
	{ "[1024,1.5,[1024,512],[1024]]", "[1024,1.5,[1048576,1048576],[1024]]", "2^40" },
	{ "[1024,1.5,[1024,512],[1024]]", "[1024,1.5,[1,1,1,1,1,1,1,1,1],[1024]]", "at most 8" },
	{ "\"dtype\":\"i64\"", "\"dtype\":\"u8\"", "dim 'M' does not fit in u8" },
	{ "\"rank\":\"hot\"", "\"rank\":\"warm\"", "warm" },
	{ "\"weight\":3", "\"weight\":0", "weight" },
	{ "\"out\":\"C\"", "\"out\":\"D\"", "'D'" },
	{ "\"out\":\"C\"", "\"out\":\"A\"", "input" },
	{ "\"out\":\"C\"", "\"out\":\"M\"", "not a tensor" },
	{ "\"rule\":\"noise\"", "\"rule\":\"loud\"", "loud" },
	{ "\"rule\":\"noise\"", "\"rule\":\"exact\"", "unknown member" },
	{ "\"max\":5.0", "\"max\":-5.0", "'max'" },
	{ "\"per\":[0]", "\"per\":[8]", "'per'" },
	{ "\"per\":[0]", "\"per\":[{\"8\":2}]", "'per'" },
	{ "\"per\":[0]", "\"per\":[{\"0\":0}]", "'per'" },
	{ "\"per\":[0]", "\"per\":[{\"0\":2,\"1\":2}]", "'per'" },
	{ "\"per\":[0]", "\"per\":[{}]", "'per'" },
	{ "\"per\":[0]", "\"per\":[\"0\"]", "'per'" },
	{ "\"per\":[0]", "\"zeros\":true", "unknown member" },
	{ "{\"A\":{\"ints\":[-2,2]}}", "{\"A\":{\"ints\":[-2,2]},\"at\":\"edges\"}", "'at'" },
	{ "{\"A\":{\"ints\":[-2,2]}}", "{\"A\":{\"ints\":[-2,2]},\"must_exceed\":-1}",
	  "'must_exceed'" },
	{ "{\"A\":{\"ints\":[-2,2]}}", "{\"at\":{\"ints\":[-2,2]}}", "'at'" },
	{ "[{\"out\":\"C\",\"rule\":\"noise\",\"max\":5.0,\"rms\":2.5,\"per\":[0]}]", "[]",
	  "no rule judges output 'C'" },
	{ "{\"A\":{\"ints\":[-2,2]}}", "{\"C\":{\"ints\":[-2,2]}}", "not an input" },
	{ "\"audit\"", "\"audits\"", "audits" },
	{ "\"candidate\":\"/d/cand.so\"", "\"candidate\":null", "'candidate' is missing" },
	{ "18446744073709551615", "18446744073709551616", "2^64" },
	{ "\"18446744073709551615\"", "\"0x10\"", "0x10" },
	{ "\"call_ms\":10000", "\"call_ms\":0", "call_ms" },
	{ "\"call_ms\":10000", "\"call_ms\":10000,\"threads\":0", "threads" },
	{ "\"call_ms\":10000", "\"call_ms\":10000,\"threads\":65", "threads" },
	{ "\"min_blocks\":8", "\"min_blocks\":0", "min_blocks" },
	{ "\"deterministic\":true", "\"deterministic\":1", "deterministic" },
	{ "\"surface\":\"c\",", "\"surface\":\"c\",\"adapter\":1,", "'adapter'" },
};

static const char device[] =
	"{\"schema\":\"klineage.job/2\",\"surface\":\"cuda\",\"arch\":\"sm_90a\",\"dims\":[\"M\",\"N\"],"
	"\"plan\":{\"klineage-launch\":1,\"let\":[{\"n\":\"M * N\"}],\"launch\":[{\"kernel\":\"k\","
	"\"grid\":[\"cdiv(n, 256)\"],\"block\":[256],\"args\":[\"A\",\"C\",\"alpha\",{\"i32\":\"n\"}]}]},"
	"\"parent_plan\":null,\"oracle_plan\":{\"klineage-launch\":1,\"launch\":[{\"kernel\":\"o\","
	"\"grid\":[1],\"block\":[32],\"args\":[\"A\",\"C\"]}]},"
	"\"truth\":\"/d/truth.cubin\",\"honest\":\"/d/honest.cubin\",\"candidate\":\"/d/cand.cubin\","
	"\"parent\":null,\"baseline\":null,\"pool\":\"/d/pool\",\"args\":["
	"{\"name\":\"A\",\"kind\":\"in\",\"dtype\":\"f16\",\"fill\":{\"normal\":[0.0,1.0]}},"
	"{\"name\":\"alpha\",\"kind\":\"scalar\",\"dtype\":\"f32\",\"value\":1.5},"
	"{\"name\":\"at\",\"kind\":\"in\",\"dtype\":\"i32\",\"fill\":{\"ints\":[0,4]}},"
	"{\"name\":\"C\",\"kind\":\"out\",\"dtype\":\"f16\"}],"
	"\"points\":[{\"id\":\"case0\",\"perf\":true,\"dims\":[64,100],\"values\":[[64,100],1.5,[64],[64,100]]}],"
	"\"accept\":[{\"out\":\"C\",\"rule\":\"noise\"}],"
	"\"do\":[\"correct\"],\"seed\":\"1\",\"arena_bytes\":0,\"call_ms\":10000}";

static void a_device_job_arrives(void **state)
{
	static const struct kl_plan_facts h100 = { 132, 232448, 90, 50 << 20, 0 };
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = NULL;
	KL_AUTO(kl_job_freep) struct kl_job *job = NULL;
	int64_t bytes[KL_MAX_ARGS];

	if (parse(&job, device) < 0)
		fail_msg("%s", kl_error_last());
	assert_int_equal(job->surface, KL_SURFACE_CUDA);
	assert_string_equal(job->arch, "sm_90a");
	assert_int_equal(job->ndim, 2);
	assert_string_equal(job->dim_name[1], "N");
	assert_int_equal(job->point[0].dim[1], 100);
	assert_non_null(job->plan);
	assert_null(job->parent_plan);
	assert_non_null(job->oracle_plan);
	kl_job_tensor_bytes(bytes, job, &job->point[0], 8);
	assert_int_equal(bytes[0], 64 * 100 * 8);
	assert_int_equal(bytes[1], 0);
	assert_int_equal(bytes[2], 64 * 4);
	kl_job_tensor_bytes(bytes, job, &job->point[0], 0);
	assert_int_equal(bytes[3], 64 * 100 * 2);
	if (kl_plan_resolve(&at, job->plan, job->point[0].dim, bytes, &h100) < 0)
		fail_msg("%s", kl_error_last());
	assert_int_equal(at->launch[0].grid[0], 25);
	assert_int_equal(at->launch[0].arg[1].index, 3);
	assert_int_equal(at->launch[0].arg[2].bits, 0x3fc00000);
	assert_int_equal(at->launch[0].arg[3].bits, 6400);
}

static const struct edit domain_edits[] = {
	{ "\"dims\":[\"R\",\"N\"],", "", "0 dims" },
	{ "[\"N >= 2\",\"R >= 1 && R <= N\"]", "\"N >= 2\"", "'conditions'" },
	{ "\"N >= 2\"", "\"N >= P\"", "'P' is not" },
	{ "\"N >= 2\"", "\"N + 2\"", "'domain'" },
	{ "\"N >= 2\"", "2", "a condition is not a string" },
	{ "\"at\":[\"R\",\"N\"]", "\"at\":[\"R\"]",
	  "'at' has 1 axes in 'shapes', but 2 at point 'case0'" },
	{ "\"at\":[\"R\",\"N\"],", "", "'at' has 0 axes" },
	{ "\"N - 1\"", "\"N > 1\"", "'domain'" },
	{ "\"shapes\":", "\"shape\":", "unknown member 'shape'" },
	{ "\"nan\":\"undefined\"", "\"nan\":\"maybe\"", "must say oracle or undefined for 'nan'" },
	{ "\"nan\":\"undefined\",", "", "must say oracle or undefined for 'nan'" },
	{ "\"nan\":", "\"huge\":", "unknown member 'huge'" },
};

static const struct edit device_edits[] = {
	{ "sm_90a", "sm_1", "unknown architecture" },
	{ "\"arch\"", "\"adapter\":true,\"arch\"", "'adapter' is only for surface c" },
	{ "\"arch\":\"sm_90a\",", "", "arch" },
	{ "[\"M\",\"N\"]", "[]", "'dims' has 0 entries; it must have 1 to 16" },
	{ "[\"M\",\"N\"]", "[\"M\",7]", "not a name" },
	{ "\"dims\":[64,100]", "\"dims\":[64]", "has 1 entries for 2 dims" },
	{ "\"dims\":[64,100]", "\"dims\":[64,-1]", "whole number of at least 0" },
	{ "\"dims\":[64,100],", "", "has 0 entries for 2 dims" },
	{ "\"n\":\"M * N\"", "\"n\":\"M * P\"", "'plan': let[0].n: 'P' is not" },
	{ "\"parent\":null", "\"parent\":\"/d/p.cubin\"", "'parent_plan' is missing" },
	{ "\"oracle_plan\"", "\"isa\":null,\"xoracle_plan\"", "unknown member 'xoracle_plan'" },
	{ "\"kernel\":\"o\"", "\"kernel\":\"\"",
	  "'oracle_plan': launch[0].kernel: 'kernel' is empty" },
	{ "\"kind\":\"out\"", "\"kind\":\"dim\"", "job" },
	{ "\"kind\":\"out\"", "\"kind\":\"out\",\"returned\":true", "only a kernel of surface c" },
	{ "\"kind\":\"out\"", "\"kind\":\"out\",\"base\":16", "of a kernel of surface c" },
};

static void edits_are_refused_in(const char *whole_job, const struct edit *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct edit *edit = &list[i];
		KL_AUTO(kl_freep) char *text = edited(whole_job, edit->from, edit->to);
		struct kl_job *job = NULL;
		int err = parse(&job, text);

		if (err >= 0 || !strstr(kl_error_last(), edit->says))
			fail_msg("%s -> %s: %s", edit->from, edit->to,
				 err < 0 ? kl_error_last() : "accepted");
		assert_null(job);
	}
}

static void edits_are_refused(void **state)
{
	edits_are_refused_in(whole, edits, KL_ARRAY_SIZE(edits));
	edits_are_refused_in(device, device_edits, KL_ARRAY_SIZE(device_edits));
	edits_are_refused_in(searched, domain_edits, KL_ARRAY_SIZE(domain_edits));
}

static void odd_scalars(void **state)
{
	KL_AUTO(kl_freep) char *text = edited(whole, "\"value\":1.5", "\"value\":\"-inf\"");
	KL_AUTO(kl_job_freep) struct kl_job *job = NULL;

	assert_int_equal(parse(&job, text), 0);
	assert_true(job->arg[1].value < -1e308);
}

static void points_are_made_in_the_domain(void **state)
{
	static const int64_t good[] = { 3, 5 }, flat[] = { 1, 1 }, wide[] = { 1, (int64_t)1 << 31 };
	KL_AUTO(json_decrefp) json_t *doc = NULL, *again = NULL, *fill = NULL;
	KL_AUTO(kl_job_freep) struct kl_job *job = NULL;
	struct kl_point point;

	assert_int_equal(kl_json_parse(&doc, searched, strlen(searched)), 0);
	assert_int_equal(kl_job_parse(&job, doc), 0);
	again = kl_job_write(job);
	assert_true(json_equal(doc, again));
	assert_true(job->further && job->values.undefined[KL_VALUE_NAN]);
	assert_false(job->values.undefined[KL_VALUE_INF]);
	assert_int_equal(kl_job_point_at(&point, job, "drawn7", good), 0);
	assert_string_equal(point.id, "drawn7");
	assert_false(point.perf);
	assert_int_equal(point.dim[1], 5);
	assert_int_equal(point.arg[0].value, 5);
	assert_int_equal(point.arg[1].extent[0], 3);
	assert_int_equal(point.arg[1].extent[1], 5);
	assert_int_equal(point.arg[2].extent[1], 4);
	assert_int_equal(kl_job_fill_at(&fill, job, job->arg[1].fill, &point), 0);
	assert_int_equal(
		json_integer_value(json_object_get(
			json_object_get(json_object_get(fill, "repeat"), "index"), "drawn7")),
		5);
	/* the job's own fill is not changed */
	assert_null(json_object_get(
		json_object_get(json_object_get(job->arg[1].fill, "repeat"), "index"), "drawn7"));
	assert_int_equal(kl_job_point_at(&point, job, "drawn0", flat), KL_EINVALID);
	assert_int_equal(kl_job_point_at(&point, job, "drawn0", wide), KL_EINVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_arrives),
		cmocka_unit_test(points_are_ordered_by_size),
		cmocka_unit_test(dims_can_be_arguments),
		cmocka_unit_test(what_is_parsed_can_be_written),
		cmocka_unit_test(a_device_job_arrives),
		cmocka_unit_test(edits_are_refused),
		cmocka_unit_test(odd_scalars),
		cmocka_unit_test(points_are_made_in_the_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
