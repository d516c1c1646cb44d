/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/fs.h"
#include "base/proc.h"
#include "gate/gate.h"
#include "gate/resolve.h"

#define DATA KL_SOURCE "/tests/data/contracts/good/"

static struct kl_contract *contract(const char *name)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf(DATA "%s", name);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_contract *other = NULL;

	assert_ok(kl_fs_read(&text, path, KL_CONTRACT_MAX_BYTES));
	assert_ok(kl_contract_parse(&other, name, text.ptr, text.len));
	return other;
}

/* Make the job at these points, or those of the contract, with the tensors at these addresses. */
static int make_job(struct kl_job **out, const struct kl_contract *contract, const char *dims,
		    bool timed, const char *base)
{
	static const struct kl_platform platform = { .id = "cpu/x86-64-v3", .march = "x86-64-v3" };
	const struct kl_artefact candidate = { .object = (char[]){ "/c.so" } };
	const struct kl_resolve_of of = {
		.backend = kl_backend_of(contract),
		.contract = contract,
		.platform = &platform,
		.truth = "/t.so",
		.honest = "/h.so",
		.candidate = &candidate,
		.pool = "/pool",
		.audit = true,
		.profile = true,
		.seed = UINT64_MAX,
		.profile_max_ms = 1234,
		.dims = dims,
		.timed = timed,
		.base = base,
	};

	return kl_resolve_job(out, &of);
}

/* Make the job, at the points of the contract or, if `dims` is not NULL, at these. */
static json_t *job_at(const struct kl_contract *contract, const char *dims, bool timed)
{
	KL_AUTO(kl_job_freep) struct kl_job *made = NULL;

	assert_ok(make_job(&made, contract, dims, timed, NULL));
	return kl_job_write(made);
}

static json_t *job(const struct kl_contract *contract)
{
	return job_at(contract, NULL, false);
}

/* The member at a path of keys and indices ("points.0.values") must be `want`. */
static void assert_at(const json_t *value, const char *path, const char *want)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec part = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf got = KL_BUF_INIT;

	kl_strvec_split(&part, path, ".");
	for (size_t i = 0; value && i < part.n; i++)
		value = json_is_array(value) ? json_array_get(value, strtoul(part.v[i], NULL, 10)) :
					       json_object_get(value, part.v[i]);
	if (!value)
		fail_msg("no %s", path);
	kl_json_canonical(&got, value);
	if (strcmp(got.ptr, want))
		fail_msg("%s is %s, not %s", path, got.ptr, want);
}

static void everything_is_resolved(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *other = contract("most.yaml");
	KL_AUTO(json_decrefp) json_t *value = job(other);
	/* clang-format off */
	static const struct { const char *path, *want; } rows[] = {
		{ "schema", "\"klineage.job/2\"" },
		{ "surface", "\"c\"" },
		{ "parent", "null" }, { "baseline", "\"onednn.conv2d\"" }, { "isa", "\"x86-64-v3\"" },
		{ "seed", "\"18446744073709551615\"" }, { "do", "[\"audit\",\"profile\"]" },
		{ "deterministic", "false" }, { "arena_bytes", "16777216" }, { "call_ms", "3000" },
		{ "profile.max_ms", "1234" },
		{ "args.1", "{\"dtype\":\"i32\",\"kind\":\"dim\",\"name\":\"cols\"}" },
		{ "args.2.value", "-0.012500000000000001" },
		{ "args.4.sweep", "false" }, { "args.6.sweep", "true" },
		/* an index is a number for each point */
		{ "args.5.fill", "{\"index\":{\"also0\":1,\"case0\":63,\"case1\":7,"
				  "\"expr\":\"cols - 1\"}}" },
		{ "bands.1.x", "{\"repeat\":{\"index\":{\"also0\":2,\"case0\":64,\"case1\":8,"
				 "\"expr\":\"cols\"}}}" },
		{ "exact.0.state", "{\"one-hot\":true}" },
		{ "accept.1", "{\"out\":\"state\",\"per\":[0],\"rule\":\"rel-l2\",\"tol\":0.001}" },
		{ "points.0.id", "\"case0\"" }, { "points.0.perf", "true" },
		{ "points.0.weight", "3" }, { "points.0.rank", "\"hot\"" },
		{ "points.1.rank", "\"cold\"" },
		{ "points.2.id", "\"also0\"" }, { "points.2.perf", "false" },
		{ "points.0.values", "[16,64,-0.012500000000000001,255.0,[16,64],[16,8],[32],[4],"
				     "[16,4],[16,4],[16,4],[16]]" },
		{ "points.1.values.5", "[2,2]" },
		/* what further points and values are drawn in */
		{ "dims", "[\"rows\",\"cols\",\"k\"]" }, { "points.1.dims", "[2,8,1]" },
		{ "domain.conditions.1", "\"k >= 1 && k <= cols\"" },
		{ "domain.shapes.perm", "[\"rows\",\"min(cols, 2 * k)\"]" },
		{ "values", "{\"denormal\":\"undefined\",\"inf\":\"oracle\","
			    "\"nan\":\"undefined\"}" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++)
		assert_at(value, rows[i].path, rows[i].want);
}

/* Only an output that starts at zero has the member `init`. */
static void zeros_are_said_in_the_job(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *zeros = contract("zeros.yaml");
	KL_AUTO(kl_contract_freep) struct kl_contract *plain = contract("axpy.yaml");
	KL_AUTO(json_decrefp) json_t *with = job(zeros), *without = job(plain);

	assert_at(with, "args.4",
		  "{\"dtype\":\"i32\",\"init\":\"zeros\",\"kind\":\"out\",\"name\":\"where\"}");
	assert_at(without, "args.4", "{\"dtype\":\"i32\",\"kind\":\"out\",\"name\":\"where\"}");
}

static void a_returned_value_is_the_last_argument(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *returns = contract("returns.yaml");
	KL_AUTO(json_decrefp) json_t *with = job(returns), *again = NULL;
	KL_AUTO(kl_job_freep) struct kl_job *parsed = NULL;

	assert_at(with, "args.2",
		  "{\"dtype\":\"u8\",\"kind\":\"out\",\"name\":\"return\",\"returned\":true}");
	assert_at(with, "points.0.values", "[[1000],1000,[1]]");
	assert_at(with, "domain.shapes.return", "[\"1\"]");
	assert_ok(kl_job_parse(&parsed, with));
	assert_true(parsed->arg[2].returned);
	again = kl_job_write(parsed);
	assert_true(json_equal(with, again));
}

/* A floor must be too fast for any machine, and grow with the work. */
static void floors_follow_the_contract(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *other = contract("axpy.yaml");
	KL_AUTO(json_decrefp) json_t *small = job(other), *large = NULL, *none = NULL;
	int64_t left, right;

	left = kl_json_int_or(json_array_get(json_object_get(small, "points"), 0), "floor_ns", -1);
	/* 64 KB in no less than a nanosecond, in no more than 10 GB/s would take */
	assert_in_range(left, 1, 6400);
	other->perf[0].dims.v[0] *= 100;
	large = job(other);
	right = kl_json_int_or(json_array_get(json_object_get(large, "points"), 0), "floor_ns", -1);
	assert_in_range(right, 95 * left, 105 * left + 105);
	other->floor.bytes_auto = false;
	none = job(other);
	assert_at(none, "points.0.floor_ns", "0");
	assert_at(none, "points.1.floor_ns", "0");
}

/* No entry and no machine level: plans, names of dims, and their values at each point. */
static void a_device_job_carries_plans(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *other = contract("cuda.yaml");
	static const char plan[] = "{\"klineage-launch\":1,\"launch\":[{\"args\":[],\"block\":[32],"
				   "\"grid\":[1],\"kernel\":\"k\"}]}";
	KL_AUTO(json_decrefp) json_t *doc = NULL, *value = NULL;
	KL_AUTO(kl_job_freep) struct kl_job *made = NULL;
	const char *dims[] = { "M", "N" };
	const struct kl_plan_names names = { .dim = dims, .ndim = 2 };
	static const struct kl_platform platform = { .id = "cuda/sm_90", .march = "sm_90a" };
	struct kl_launch launch = { .plan = NULL };
	const struct kl_artefact candidate = { .object = (char[]){ "/c.cubin" },
					       .launch = &launch };
	const struct kl_resolve_of of = {
		.backend = kl_backend_of(other),
		.contract = other,
		.platform = &platform,
		.truth = "/t.cubin",
		.honest = "/h.cubin",
		.candidate = &candidate,
		.oracle_launch = &launch,
		.pool = "/pool",
		.correct = true,
	};

	assert_ok(kl_json_parse(&doc, plan, strlen(plan)));
	assert_ok(kl_plan_parse_json(&launch.plan, doc, &names));
	assert_ok(kl_resolve_job(&made, &of));
	value = kl_job_write(made);
	assert_at(value, "surface", "\"cuda\"");
	assert_at(value, "arch", "\"sm_90a\"");
	assert_at(value, "dims", "[\"M\",\"N\"]");
	assert_at(value, "plan", plan);
	assert_at(value, "parent_plan", "null");
	assert_at(value, "points.0.dims", "[256,512]");
	assert_at(value, "points.1.dims", "[1,8]");
	assert_at(value, "points.1.values", "[[1,8],0.5,[1],[1,8]]");
	assert_null(json_object_get(value, "entry"));
	assert_null(json_object_get(value, "isa"));
	/* 100000 operations an element at 20 a femtosecond; its 0.5 MB take less */
	assert_at(value, "points.0.floor_ns", "655");
	kl_plan_free(launch.plan);
}

static void what_does_not_fit_here_is_not_asked(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *other = contract("axpy.yaml");
	static const struct kl_platform platform = { .march = "x86-64-v3" };
	const struct kl_resolve_of of = { .backend = kl_backend_of(other),
					  .contract = other,
					  .platform = &platform };
	struct kl_job *made = NULL;

	other->perf[0].dims.v[0] = 1LL << 35;
	assert_error(KL_ECANNOT, "half of this machine's memory", kl_resolve_job(&made, &of));
	assert_null(made);
}

/* One structure: a job that is written and parsed is written the same again. */
static void a_job_survives_the_way_to_the_worker(void **state)
{
	static const char *const names[] = { "most.yaml", "least.yaml", "axpy.yaml" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++) {
		KL_AUTO(kl_contract_freep) struct kl_contract *other = contract(names[i]);
		KL_AUTO(json_decrefp) json_t *value = job(other), *again = NULL;
		KL_AUTO(kl_job_freep) struct kl_job *parsed = NULL;
		KL_AUTO(kl_buf_release) struct kl_buf want = KL_BUF_INIT, got = KL_BUF_INIT;

		assert_ok(kl_job_parse(&parsed, value));
		again = kl_job_write(parsed);
		kl_json_canonical(&want, value);
		kl_json_canonical(&got, again);
		assert_string_equal(got.ptr, want.ptr);
	}
}

/* The worker reads strictly: what we write must be what it takes. */
static void the_worker_reads_what_is_written(void **state)
{
	static const char *const names[] = { "most.yaml", "least.yaml", "axpy.yaml" };
	KL_AUTO(kl_freep) char *worker = NULL;
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;

	if (kl_fs_program(&worker, "klineage-worker") < 0) {
		print_message("# skip: klineage-worker is not built\n");
		skip();
	}
	assert_ok(kl_fs_tempdir(&dir, "job"));
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++) {
		KL_AUTO(kl_contract_freep) struct kl_contract *other = contract(names[i]);
		KL_AUTO(json_decrefp) json_t *value = job(other), *result = NULL;
		KL_AUTO(kl_buf_release) struct kl_buf in = KL_BUF_INIT, out = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *pool = kl_fs_join(dir, names[i]);
		const char *const argv[] = { worker, NULL };
		struct kl_proc_opts opts = { .argv = argv, .out = &out, .timeout_ms = 60000 };
		struct kl_proc_result res;
		const char *message;

		kl_json_set_str(value, "pool", pool);
		kl_json_canonical(&in, value);
		opts.in = in.ptr;
		opts.in_len = in.len;
		assert_ok(kl_proc_run(&res, &opts));
		/* its objects do not exist: the job was read, and that is what it says */
		if (kl_json_parse(&result, out.ptr, out.len) < 0)
			fail_msg("%s: exit %d, no result: %s", names[i], res.exit, out.ptr);
		message = kl_json_str_or(result, "message", "");
		if (!strstr(message, ".so"))
			fail_msg("%s: %s", names[i], message);
	}
}

/* A requested point is timed as a case is, with the first case's rank; nothing else is judged. */
static void a_requested_point_can_be_timed(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *other = contract("most.yaml");
	KL_AUTO(json_decrefp) json_t *timed = job_at(other, "rows=3,cols=8,k=2", true);
	KL_AUTO(json_decrefp) json_t *drawn = job_at(other, "rows=3,cols=8,k=2", false);

	assert_int_equal(json_array_size(json_object_get(timed, "points")), 1);
	assert_at(timed, "points.0.id", "\"case0\"");
	assert_at(timed, "points.0.dims", "[3,8,2]");
	assert_at(timed, "points.0.perf", "true");
	assert_at(timed, "points.0.rank", "\"hot\"");
	assert_at(timed, "domain.conditions", "[]");
	assert_at(timed, "args.5.fill", "{\"index\":{\"case0\":7,\"expr\":\"cols - 1\"}}");
	assert_at(drawn, "points.0.id", "\"drawn0\"");
	assert_at(drawn, "points.0.perf", "false");
}

/* One tensor lies where the caller says, the others at addresses that suit every kernel. */
static void addresses_can_be_asked_for(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *other = contract("most.yaml");
	KL_AUTO(json_decrefp) json_t *any = job_at(other, NULL, false);
	static const char *const wrong[] = { "x=2", "x=4096", "x=24", "x=", "x", "=8", "rows=8" };
	struct kl_job *made = NULL;
	const struct kl_job_arg *x;

	assert_ok(make_job(&made, other, "rows=3,cols=8,k=2", false, "x=8"));
	x = &made->arg[kl_job_arg_index(made, "x")];
	assert_int_equal(x->base, 8);
	for (size_t i = 0; i < made->nargs; i++)
		if (&made->arg[i] != x)
			assert_int_equal(made->arg[i].base,
					 kl_arg_kind_is_tensor(made->arg[i].kind) ? KL_GATE_BASE :
										    0);
	kl_job_free(made);
	for (size_t i = 0; i < KL_ARRAY_SIZE(wrong); i++)
		assert_int_equal(make_job(&made, other, NULL, false, wrong[i]), KL_EUSAGE);
	for (size_t i = 0; i < json_array_size(json_object_get(any, "args")); i++)
		assert_null(
			json_object_get(json_array_get(json_object_get(any, "args"), i), "base"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_is_resolved),
		cmocka_unit_test(a_requested_point_can_be_timed),
		cmocka_unit_test(addresses_can_be_asked_for),
		cmocka_unit_test(zeros_are_said_in_the_job),
		cmocka_unit_test(a_returned_value_is_the_last_argument),
		cmocka_unit_test(floors_follow_the_contract),
		cmocka_unit_test(a_device_job_carries_plans),
		cmocka_unit_test(what_does_not_fit_here_is_not_asked),
		cmocka_unit_test(a_job_survives_the_way_to_the_worker),
		cmocka_unit_test(the_worker_reads_what_is_written),
	};

	return cmocka_run_group_tests_name("gate job", tests, NULL, NULL);
}
