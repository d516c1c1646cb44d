/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/fs.h"
#include "contract/contract.h"
#include "contract/launch.h"

#define DATA KL_SOURCE "/tests/data/contracts"

static void read_named(struct kl_buf *text, const char *dir, const char *name)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf(DATA "/%s/%s", dir, name);

	assert_ok(kl_fs_read(text, path, KL_CONTRACT_MAX_BYTES + 10));
}

static struct kl_contract *good(const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_contract *contract = NULL;

	read_named(&text, "good", name);
	assert_ok(kl_contract_parse(&contract, name, text.ptr, text.len));
	return contract;
}

static void assert_json(const json_t *value, const char *want)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_json_canonical(&buf, value);
	assert_string_equal(buf.ptr, want);
}

/* The first line says where and how the rest of the file goes wrong. */
static void bad_files_are_refused_at_their_place(void **state)
{
	static const char mark[] = "# expect: ";
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;

	assert_ok(kl_fs_list(&names, DATA "/bad"));
	assert_true(names.n > 100);
	for (size_t i = 0; i < names.n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *where = NULL, *what = NULL;
		struct kl_contract *contract = NULL;
		const char *start, *gap;
		int err;

		read_named(&text, "bad", names.v[i]);
		assert_memory_equal(text.ptr, mark, strlen(mark));
		start = text.ptr + strlen(mark);
		gap = strchr(start, ' '); /* "3:11: what is wrong" */
		where = kl_asprintf("%s:%.*s ", names.v[i], (int)(gap - start), start);
		what = kl_strndup(gap + 1, strcspn(gap + 1, "\n"));
		err = kl_contract_parse(&contract, names.v[i], text.ptr, text.len);
		if (err != KL_EINVALID || strncmp(kl_error_last(), where, strlen(where)) ||
		    !strstr(kl_error_last(), what))
			fail_msg("%d: %s\nwanted %s%s", err, err ? kl_error_last() : "accepted",
				 where, what);
		assert_null(contract);
	}
}

static void defaults_are_filled_in(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = good("least.yaml");

	assert_string_equal(contract->workload, "w");
	assert_int_equal(contract->nperf, 1);
	assert_int_equal(contract->perf[0].weight, 1);
	assert_false(contract->perf[0].hot);
	assert_int_equal(contract->perf[0].dims.v[0], 8);
	assert_int_equal(contract->nalso, 0);
	assert_int_equal(contract->flags.n, 0);
	assert_json(contract->arg[0].fill, "{\"normal\":[0.0,1.0]}");
	assert_true(contract->arg[0].sweep);
	assert_null(contract->arg[1].fill);
	assert_false(contract->arg[1].sweep);
	assert_json(contract->accept, "[{\"out\":\"y\",\"rule\":\"exact\"}]");
	assert_json(contract->exact, "[]");
	assert_json(contract->bands, "[]");
	for (size_t i = 0; i < KL_VALUES; i++)
		assert_false(contract->values.undefined[i]);
	assert_true(contract->deterministic);
	assert_null(contract->baseline);
	assert_true(contract->floor.bytes_auto);
	assert_null(contract->floor.flops);
	assert_int_equal(contract->arena_mib, 256);
	assert_int_equal(contract->call_s, 10);
}

/* The keys that say how sources are built become the compiler's arguments, in the gate's folder. */
static void build_keys_become_arguments(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = good("built.yaml");
	KL_AUTO(kl_contract_freep) struct kl_contract *least = good("least.yaml");
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

	kl_contract_build_flags(&argv, contract, "src-kernel");
	for (size_t i = 0; i < argv.n; i++)
		kl_buf_addf(&line, "%s%s", i ? " " : "", argv.v[i]);
	assert_string_equal(line.ptr, "-UDEBUG -DNDEBUG -D_GNU_SOURCE -DNAME=\"a b\" "
				      "-iquote src-kernel/src -Isrc-kernel/include -Isrc-kernel "
				      "-isystem src-kernel/include -include src-kernel/config.h");
	assert_true(kl_contract_may_trap(contract->build.traps.v[2]));
	assert_false(kl_contract_may_trap("clock"));
	kl_strvec_release(&argv);
	kl_contract_build_flags(&argv, least, "src-kernel");
	assert_int_equal(argv.n, 0);
}

static void null_is_a_name_and_zeros_lead(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = good("loose.yaml");

	assert_string_equal(contract->workload, "null");
	assert_string_equal(contract->op, "null");
	assert_string_equal(contract->entry, "null");
	assert_string_equal(contract->dim_name[0], "null");
	assert_int_equal(contract->dims.v[0], 8);
	assert_int_equal(contract->perf[0].weight, 7);
	assert_json(contract->arg[0].fill, "{\"index\":\"null\"}");
	assert_false(contract->floor.bytes_auto);
	assert_non_null(contract->floor.bytes);
	assert_int_equal(contract->arena_mib, 16);
}

static void every_form_is_read(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = good("most.yaml");

	assert_int_equal(contract->nargs, 12);
	assert_int_equal(contract->arg[0].kind, KL_ARG_DIM);
	assert_int_equal(contract->arg[1].dtype, KL_I32);
	assert_int_equal(contract->arg[1].dim, 1);
	assert_true(contract->arg[2].value == -1.25e-2);
	assert_true(contract->arg[3].value == 255);
	assert_json(contract->arg[4].fill,
		    "{\"map\":\"exp\",\"normal\":[0.0,2.5],\"scale\":0.5,\"unit\":\"last\"}");
	assert_json(contract->arg[5].fill, "{\"index\":\"cols - 1\"}");
	assert_json(contract->arg[6].fill,
		    "{\"choice\":[\"inf\",\"-inf\",\"-0\",\"nan\",1.0,0.0025000000000000001]}");
	assert_json(contract->arg[7].fill,
		    "{\"repeat\":{\"map\":\"sigmoid\",\"uniform\":[-1.0,1.0]}}");
	assert_json(contract->arg[8].fill, "{\"const\":0.0}");
	assert_json(
		contract->accept,
		"[{\"indices\":\"indices\",\"of\":\"x\",\"rule\":\"multiset\",\"values\":\"values\"},"
		"{\"out\":\"state\",\"per\":[0],\"rule\":\"rel-l2\",\"tol\":0.001},"
		"{\"acc\":32.0,\"out\":\"sum\",\"rule\":\"elementwise\",\"ulps\":2.0}]");
	assert_json(contract->exact, "[{\"state\":{\"one-hot\":true},\"x\":{\"ints\":[-2,2]}}]");
	assert_json(contract->bands,
		    "[{\"x\":{\"cauchy\":true}},"
		    "{\"h\":{\"const\":1.0},\"x\":{\"repeat\":{\"index\":\"cols\"}}}]");
	assert_false(contract->arg[4].sweep);
	assert_true(contract->arg[6].sweep);
	assert_true(contract->arg[8].sweep);
	assert_true(contract->values.undefined[KL_VALUE_NAN]);
	assert_false(contract->values.undefined[KL_VALUE_INF]);
	assert_true(contract->values.undefined[KL_VALUE_DENORMAL]);
	assert_string_equal(contract->arg[5].shape_text[1], "min(cols, 2 * k)");
	assert_false(contract->deterministic);
	assert_string_equal(contract->baseline, "onednn.conv2d");
	assert_int_equal(contract->perf[0].weight, 3);
	assert_true(contract->perf[0].hot);
	assert_int_equal(contract->perf[1].dims.v[0], 2); /* in the case's order, not the file's */
	assert_int_equal(contract->perf[1].dims.v[2], 1);
	assert_int_equal(contract->arena_mib, 16);
	assert_int_equal(contract->call_s, 3);
}

static void outputs_may_start_at_zero(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = good("zeros.yaml");
	KL_AUTO(kl_contract_freep) struct kl_contract *without = good("axpy.yaml");

	assert_true(contract->arg[4].zeros);
	assert_false(contract->arg[3].zeros);
	assert_false(without->arg[4].zeros);
}

/* The value is an output of one element, which moves no bytes. */
static void a_kernel_may_return_its_answer(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = good("returns.yaml");
	const struct kl_arg *arg = &contract->arg[2];
	int64_t extent[KL_MAX_AXES], bytes;

	assert_int_equal(contract->nargs, 3);
	assert_string_equal(arg->name, "return");
	assert_int_equal(arg->kind, KL_ARG_OUT);
	assert_int_equal(arg->dtype, KL_U8);
	assert_true(arg->returned);
	assert_int_equal(arg->naxes, 1);
	assert_ok(kl_contract_shape(extent, contract, 2, &contract->dims));
	assert_int_equal(extent[0], 1);
	assert_ok(kl_contract_bytes(&bytes, contract, &contract->dims));
	assert_int_equal(bytes, 1000);
	assert_json(contract->accept, "[{\"out\":\"return\",\"rule\":\"exact\"}]");
}

static void dims_and_scalars_have_any_integer_type(void **state)
{
	static const enum kl_dtype want[] = { KL_U8,  KL_I16, KL_U32, KL_U64, KL_I8,
					      KL_U16, KL_I64, KL_U8,  KL_I8 };
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = good("types.yaml");

	for (size_t i = 0; i < KL_ARRAY_SIZE(want); i++)
		assert_int_equal(contract->arg[i].dtype, want[i]);
	assert_true(contract->arg[7].value == 1);
}

static void a_cuda_contract_names_plans(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = good("cuda.yaml");

	assert_string_equal(contract->language->name, "cuda");
	assert_null(contract->entry);
	assert_null(contract->oracle_entry);
	assert_string_equal(contract->launch, "plan.yaml");
	assert_string_equal(contract->oracle_launch, "oracle/o.yaml");
	assert_int_equal(contract->sources.n, 4);
	assert_int_equal(contract->flags.n, 6);
	assert_string_equal(contract->baseline, "cub.topk");
}

static void groups_cut_an_axis_and_bands_name_points(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = good("groups.yaml");

	assert_json(contract->accept,
		    "[{\"out\":\"y\",\"per\":[0,{\"1\":64},2],\"rule\":\"rel-l2\",\"tol\":0.001,"
		    "\"zeros\":true},"
		    "{\"max\":4.0,\"out\":\"z\",\"per\":[2],\"rms\":2.0,\"rule\":\"noise\"}]");
	assert_json(contract->exact,
		    "[{\"at\":\"cases\",\"must_exceed\":2048.0,\"x\":{\"ints\":[0,4]}}]");
	assert_json(contract->bands, "[{\"at\":\"also\",\"x\":{\"outliers\":[0.001,10.0]}}]");
	assert_json(contract->arg[0].fill, "{\"lower\":1,\"normal\":[0.0,0.5]}");
	assert_json(contract->arg[1].fill,
		    "{\"map\":\"logsigmoid\",\"normal\":[0.0,1.0],\"running\":64}");
	assert_false(contract->arg[0].sweep);
	assert_false(contract->arg[1].sweep);
}

static void questions_are_answered(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = good("most.yaml");
	struct kl_dims dims = { 3, { 2, 6, 6 } };
	int64_t extent[KL_MAX_AXES], bytes;
	char id[32];

	assert_int_equal(kl_contract_arg(contract, "state"), 8);
	assert_int_equal(kl_contract_arg(contract, "nothing"), -1);
	assert_int_equal(kl_contract_npoints(contract), 3);
	assert_ptr_equal(kl_contract_point(contract, 1, id), &contract->perf[1].dims);
	assert_string_equal(id, "case1");
	assert_ptr_equal(kl_contract_point(contract, 2, id), &contract->also[0]);
	assert_string_equal(id, "also0");
	assert_ok(kl_contract_in_domain(contract, &dims));
	assert_ok(kl_contract_shape(extent, contract, 5, &dims));
	assert_int_equal(extent[0], 2);
	assert_int_equal(extent[1], 6);
	assert_ok(kl_contract_tensor_bytes(&bytes, contract, 5, &dims));
	assert_int_equal(bytes, 2 * 6 * 4);
	/* x 48, perm 48, h 6, b 12, state 48 in and out, values 48, indices 48, sum 16 */
	assert_ok(kl_contract_bytes(&bytes, contract, &dims));
	assert_int_equal(bytes, 48 + 48 + 6 + 12 + 2 * 48 + 48 + 48 + 16);
	dims.v[2] = 7;
	assert_error(KL_ENO, "k >= 1 && k <= cols does not hold",
		     kl_contract_in_domain(contract, &dims));
	assert_ok(kl_contract_fits(contract));
	contract->dims.v[0] = contract->perf[0].dims.v[0] = 1LL << 30;
	assert_error(KL_ECANNOT, "the tensors of case0 need", kl_contract_fits(contract));
	contract->perf[0].dims.v[0] = INT64_MAX;
	assert_error(KL_EINVALID, "larger than 2^40 bytes", kl_contract_fits(contract));
}

static void size_is_bounded(void **state)
{
	KL_AUTO(kl_freep) char *big = kl_malloc(KL_CONTRACT_MAX_BYTES + 1);
	struct kl_contract *contract;

	memset(big, '#', KL_CONTRACT_MAX_BYTES + 1);
	assert_error(KL_EINVALID, "k:1:1: the contract is larger than 256 KiB",
		     kl_contract_parse(&contract, "k", big, KL_CONTRACT_MAX_BYTES + 1));
}

/* The plan of a template's oracle, at every point. */
static void check_oracle_plan(const struct kl_contract *contract, const char *root,
			      const char *name)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s/%s", root, name, contract->oracle_launch);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;

	assert_ok(kl_fs_read(&text, path, KL_CONTRACT_MAX_BYTES));
	assert_ok(kl_launch_parse(&launch, contract, path, text.ptr, text.len, NULL, 0, "sm_90a"));
}

/* The shipped contracts must be readable. */
static void templates_parse(void **state)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	static const char root[] = KL_SOURCE "/templates/workloads";
	size_t read = 0;

	assert_ok(kl_fs_list(&names, root));
	for (size_t i = 0; i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s/klineage.yaml", root, names.v[i]);
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;

		if (!kl_fs_exists(path))
			continue;
		assert_ok(kl_fs_read(&text, path, KL_CONTRACT_MAX_BYTES));
		assert_ok(kl_contract_parse(&contract, path, text.ptr, text.len));
		if (!strcmp(contract->language->name, "cuda"))
			check_oracle_plan(contract, root, names.v[i]);
		read++;
	}
	assert_true(read > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_files_are_refused_at_their_place),
		cmocka_unit_test(defaults_are_filled_in),
		cmocka_unit_test(build_keys_become_arguments),
		cmocka_unit_test(null_is_a_name_and_zeros_lead),
		cmocka_unit_test(every_form_is_read),
		cmocka_unit_test(outputs_may_start_at_zero),
		cmocka_unit_test(a_kernel_may_return_its_answer),
		cmocka_unit_test(dims_and_scalars_have_any_integer_type),
		cmocka_unit_test(a_cuda_contract_names_plans),
		cmocka_unit_test(groups_cut_an_axis_and_bands_name_points),
		cmocka_unit_test(questions_are_answered),
		cmocka_unit_test(size_is_bounded),
		cmocka_unit_test(templates_parse),
	};

	return cmocka_run_group_tests_name("gate contract", tests, NULL, NULL);
}
