/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_fixture.h"

/* An H100: what the plans' comments were counted with. */
static const struct kl_plan_facts h100 = {
	.sms = 132, .smem_optin = 232448, .cc = 90, .l2 = 50 << 20
};

static struct kl_plan_at *resolve(const struct kl_contract *contract, const struct kl_plan *plan,
				  const struct kl_dims *dims, const struct kl_plan_facts *facts)
{
	struct kl_plan_at *at = NULL;
	int64_t bytes[KL_MAX_ARGS] = { 0 };

	for (size_t i = 0; i < contract->nargs; i++)
		if (contract->arg[i].naxes)
			assert_ok(kl_contract_tensor_bytes(&bytes[i], contract, i, dims));
	assert_ok(kl_plan_resolve(&at, plan, dims->v, bytes, facts));
	return at;
}

static const struct kl_plan_map *map(const struct kl_plan_at *at, const char *name)
{
	for (size_t i = 0; i < at->nmap; i++)
		if (!strcmp(at->map[i].name, name))
			return &at->map[i];
	fail_msg("no map %s", name);
	return NULL;
}

static void gemm_at_4096(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = plan_contract("gemm");
	KL_AUTO(kl_launch_freep) struct kl_launch *other = plan_good(contract, "gemm");
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = resolve(contract, other->plan,
								  &contract->dims, &h100);
	const struct kl_plan_launch *launch = at->launch;
	const struct kl_plan_map *plan_map = map(at, "tB");

	assert_string_equal(other->arch, "sm_90a");
	assert_string_equal(other->platform, "cuda/sm_90");
	assert_string_equal(kl_plan_compile(other->plan)->std, "c++17");
	assert_int_equal(kl_plan_compile(other->plan)->ndefine, 4);
	assert_int_equal(at->nlaunch, 1);
	assert_int_equal(at->nprepare, 1);
	assert_string_equal(launch->kernel, "gemm_bf16_ws");
	/* min(32 * 16, 132 - 132 % 2) */
	assert_int_equal(launch->grid[0], 132);
	assert_int_equal(launch->grid[1], 1);
	assert_int_equal(launch->block[0], 384);
	assert_int_equal(launch->cluster[0], 2);
	assert_int_equal(launch->cluster[2], 1);
	/* 3 * 384 * 64 * 2 + 128 * 256 * 2 + 1280 */
	assert_int_equal(launch->smem, 214272);
	assert_int_equal(launch->nargs, 7);
	assert_int_equal(launch->arg[0].kind, KL_PLAN_MAP);
	assert_int_equal(launch->arg[3].kind, KL_PLAN_SCRATCH);
	assert_int_equal(launch->arg[6].kind, KL_PLAN_VALUE);
	assert_int_equal(launch->arg[6].size, 4);
	assert_int_equal(launch->arg[6].bits, 4096);
	assert_int_equal(at->prepare[0].arg[1].bits, 32);
	assert_int_equal(at->prepare[0].arg[3].bits, 66);
	assert_int_equal(at->scratch[0].bytes, 132 * 64 * 4);
	assert_int_equal(at->scratch[0].init, KL_PLAN_PREPARE);
	assert_int_equal(at->scratch[0].align, 256);
	assert_int_equal(plan_map->kind, KL_PLAN_TILED);
	assert_int_equal(plan_map->of, 1);
	assert_int_equal(plan_map->dtype, 9);
	assert_int_equal(plan_map->rank, 2);
	assert_int_equal(plan_map->dim[0], 4096);
	assert_int_equal(plan_map->stride[0], 8192);
	assert_int_equal(plan_map->box[0], 64);
	assert_int_equal(plan_map->box[1], 128);
	assert_int_equal(plan_map->elem[1], 1);
	assert_int_equal(plan_map->swizzle, 3);
	assert_int_equal(plan_map->l2, 3);
	assert_int_equal(plan_map->span, 4096 * 4096 * 2);
}

static void a_smaller_device_gets_a_smaller_grid(void **state)
{
	static const struct kl_plan_facts pcie = {
		.sms = 115, .smem_optin = 232448, .cc = 90, .l2 = 1
	};
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = plan_contract("gemm");
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = plan_good(contract, "gemm");
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = resolve(contract, launch->plan,
								  &contract->dims, &pcie);
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *few = resolve(contract, launch->plan,
								   &contract->also[0], &pcie);

	assert_int_equal(at->launch[0].grid[0], 114);
	assert_int_equal(few->launch[0].grid[0], 4);
}

static void conv2d(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = plan_contract("conv2d");
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = plan_good(contract, "conv2d");
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = resolve(contract, launch->plan,
								  &contract->dims, &h100);
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *tail = resolve(contract, launch->plan,
								    &contract->also[0], &h100);
	const struct kl_plan_map *plan_map = map(at, "tX");

	assert_true(kl_plan_quirks(launch->plan));
	/* 8 * 56 * 56 rows in blocks of 192 */
	assert_int_equal(at->launch[0].grid[0], 131);
	assert_int_equal(at->launch[0].grid[1], 1);
	assert_int_equal(at->launch[0].smem, 206080);
	assert_int_equal(at->launch[0].cluster[0], 0);
	assert_int_equal(at->launch[0].arg[5].bits, 25088);
	assert_int_equal(plan_map->kind, KL_PLAN_IM2COL);
	assert_int_equal(plan_map->rank, 4);
	assert_int_equal(plan_map->dim[1], 56);
	assert_int_equal(plan_map->stride[0], 128);
	assert_int_equal(plan_map->stride[1], 56 * 64 * 2);
	assert_int_equal(plan_map->stride[2], 56 * 56 * 64 * 2);
	assert_int_equal(plan_map->lower[0], -1);
	assert_int_equal(plan_map->upper[1], -1);
	assert_int_equal(plan_map->channels, 64);
	assert_int_equal(plan_map->pixels, 192);
	assert_int_equal(plan_map->span, 8 * 56 * 56 * 64 * 2);
	assert_int_equal(tail->launch[0].grid[0], 1);
	assert_int_equal(map(tail, "tX")->stride[2], 7 * 5 * 64 * 2);
	assert_int_equal(map(tail, "tY")->dim[1], 35);
}

static void chain_of_launches(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = plan_contract("chain");
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = plan_good(contract, "chain");
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = resolve(contract, launch->plan,
								  &contract->dims, &h100);
	const struct kl_plan_arg *arg = at->launch[2].arg;
	const char *kernel[4];

	assert_int_equal(kl_plan_kernels(launch->plan, kernel, 4), 3);
	assert_string_equal(kernel[1], "kkt_solve");
	assert_int_equal(at->nlaunch, 3);
	assert_false(at->launch[0].pdl);
	assert_true(at->launch[2].pdl);
	assert_int_equal(at->launch[0].arg[0].index, 0);
	/* a scalar of the contract: 0.5f */
	assert_int_equal(at->launch[0].arg[2].size, 4);
	assert_int_equal(at->launch[0].arg[2].bits, 0x3f000000);
	assert_int_equal(at->launch[1].arg[1].kind, KL_PLAN_NULL);
	assert_int_equal(at->launch[1].grid[1], 32);
	assert_int_equal(arg[1].offset, 16384);
	assert_int_equal(arg[3].kind, KL_PLAN_TENSOR);
	assert_int_equal(arg[3].index, 2);
	assert_int_equal(arg[6].bits, 0x3e000000);         /* 0.125f */
	assert_true(arg[7].bits == 0xbf50624dd2f1a9fcULL); /* -1e-3 */
	assert_int_equal(arg[8].bits, 4096);
	assert_true(arg[9].bits == (uint64_t)-4096);
	assert_int_equal(arg[10].bits, 132);
	assert_int_equal(arg[11].kind, KL_PLAN_BYTES);
	assert_int_equal(arg[11].nblob, 80);
	assert_int_equal(arg[11].blob[0], 1);
	assert_int_equal(arg[11].blob[1], 255);
	assert_int_equal(arg[11].nreloc, 2);
	assert_int_equal(arg[11].reloc[1].at, 72);
	assert_int_equal(arg[11].reloc[1].offset, 8);
	assert_int_equal(at->scratch[1].bytes, 2LL * 4096 * 16 * 64 * 2);
	assert_int_equal(at->scratch[2].init, KL_PLAN_CARRY);
	assert_int_equal(at->scratch[3].bytes, 128 * 4096);
	assert_int_equal(at->scratch[3].align, 128);
}

/* A job is written with its keys sorted; the worker must read the same plan out of it. */
/* A symbol stands beside the name that the plan gives the kernel, which messages keep. */
static void symbols_of_names(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = plan_contract("chain");
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = plan_good(contract, "chain");
	KL_AUTO(kl_freep) char *long_symbol = kl_calloc(KL_PLAN_MAX_SYMBOL + 1, 1);
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = NULL;

	assert_string_equal(kl_plan_symbol(launch->plan, "kkt_solve"), "kkt_solve");
	assert_ok(kl_plan_set_symbol(launch->plan, "kkt_solve", "_Z9kkt_solvePf"));
	assert_string_equal(kl_plan_symbol(launch->plan, "kkt_solve"), "_Z9kkt_solvePf");
	at = resolve(contract, launch->plan, &contract->dims, &h100);
	assert_string_equal(at->launch[0].symbol, at->launch[0].kernel);
	assert_string_equal(at->launch[1].kernel, "kkt_solve");
	assert_string_equal(at->launch[1].symbol, "_Z9kkt_solvePf");
	memset(long_symbol, 'a', KL_PLAN_MAX_SYMBOL);
	assert_error(KL_EINVALID, "has 1024 bytes; at most 1023",
		     kl_plan_set_symbol(launch->plan, "kkt_solve", long_symbol));
}

static void names_in_cxx(void **state)
{
	static const char *const good[] = { "k",           "_k1",
					    "a::b::k",     "k<1>",
					    "k<a<b<1>>>",  "a<int>::k<-1, unsigned char>",
					    "k(float *)",  "a::k<8>(const float *, int &)",
					    "k<(1), true>" };
	static const char *const bad[] = {
		"",     "1k",       "a::",   "::k",     "a:b",
		"k<1",  "k>",       "k<1>>", "k<(1>)",  "k<1>b",
		"k()b", "k<1>;",    "k{}",   "k<\"\">", "k<\n>",
		"k<#>", "k<1>()()", "a b",   "k<a.b>",  "k<<<<<<<<<<<<<<<<<1>>>>>>>>>>>>>>>>>"
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(good); i++)
		if (!kl_plan_is_cxx_name(good[i]))
			fail_msg("%s", good[i]);
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		if (kl_plan_is_cxx_name(bad[i]))
			fail_msg("%s", bad[i]);
}

static void survives_the_job(void **state)
{
	static const char *const names[] = { "gemm", "conv2d", "chain" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++) {
		KL_AUTO(kl_contract_freep) struct kl_contract *contract = plan_contract(names[i]);
		KL_AUTO(kl_launch_freep) struct kl_launch *launch = plan_good(contract, names[i]);
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		KL_AUTO(json_decrefp) json_t *doc = NULL, *written = NULL, *again = NULL;
		KL_AUTO(kl_plan_freep) struct kl_plan *plan = NULL;
		KL_AUTO(kl_plan_at_freep) struct kl_plan_at *want = resolve(contract, launch->plan,
									    &contract->dims, &h100);
		KL_AUTO(kl_plan_at_freep) struct kl_plan_at *got = NULL;
		const char *tensor[KL_MAX_ARGS] = { NULL };
		struct kl_plan_scalar scalar[KL_MAX_ARGS] = { { NULL, NULL, 0 } };
		const struct kl_plan_names plan_names = {
			.dim = (const char *const *)contract->dim_name,
			.ndim = contract->dims.n,
			.tensor = tensor,
			.ntensor = contract->nargs,
			.scalar = scalar,
		};

		for (size_t k = 0; k < contract->nargs; k++) {
			if (contract->arg[k].naxes)
				tensor[k] = contract->arg[k].name;
			else
				scalar[k] = (struct kl_plan_scalar){
					contract->arg[k].name,
					kl_dtype_name(contract->arg[k].dtype),
					contract->arg[k].value
				};
		}
		if (i == 2)
			assert_ok(kl_plan_set_symbol(launch->plan, "kkt_solve", "_Z9kkt_solvePf"));
		written = kl_plan_to_json(launch->plan);
		kl_json_canonical(&text, written);
		assert_ok(kl_json_parse(&doc, text.ptr, text.len));
		assert_ok(kl_plan_parse_json(&plan, doc, &plan_names));
		again = kl_plan_to_json(plan);
		assert_true(json_equal(doc, again));
		got = resolve(contract, plan, &contract->dims, &h100);
		assert_int_equal(got->nlaunch, want->nlaunch);
		for (size_t k = 0; k < want->nlaunch; k++) {
			const struct kl_plan_launch *left = &want->launch[k],
						    *right = &got->launch[k];

			assert_string_equal(left->kernel, right->kernel);
			assert_memory_equal(left->grid, right->grid, sizeof(left->grid));
			assert_memory_equal(left->block, right->block, sizeof(left->block));
			assert_memory_equal(left->cluster, right->cluster, sizeof(left->cluster));
			assert_int_equal(left->smem, right->smem);
			assert_int_equal(left->nargs, right->nargs);
			for (size_t count = 0; count < left->nargs; count++) {
				assert_int_equal(left->arg[count].kind, right->arg[count].kind);
				assert_true(left->arg[count].bits == right->arg[count].bits);
				if (left->arg[count].kind == KL_PLAN_MAP)
					assert_string_equal(want->map[left->arg[count].index].name,
							    got->map[right->arg[count].index].name);
			}
		}
	}
}

static void constants_have_64_bits(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = plan_contract("gemm");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	KL_AUTO(kl_freep) char *edited = NULL;
	const struct kl_plan_compile *compile;

	plan_text(&text, "gemm");
	edited = plan_edit(text.ptr, "BM: 128",
			   "MOST: 9223372036854775807, LEAST: -9223372036854775808, BM: 0128");
	assert_ok(plan_read(&launch, contract, edited));
	compile = kl_plan_compile(launch->plan);
	assert_true(compile->define[0].value == INT64_MAX);
	assert_true(compile->define[1].value == INT64_MIN);
	assert_true(compile->define[2].value == 128);
}

/* The worker reads -0 as the whole number 0: git-klineage must not read another number. */
static void a_whole_number_has_no_minus_zero(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = plan_contract("chain");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	KL_AUTO(kl_plan_at_freep) struct kl_plan_at *at = NULL;
	KL_AUTO(kl_freep) char *edited = NULL;

	plan_text(&text, "chain");
	edited = plan_edit(text.ptr, "{f32: 0.125}, {f64: -1e-3}", "{f32: -0}, {f64: -0.0}");
	assert_ok(plan_read(&launch, contract, edited));
	at = resolve(contract, launch->plan, &contract->dims, &h100);
	assert_true(at->launch[2].arg[6].bits == 0);
	assert_true(at->launch[2].arg[7].bits == 1ULL << 63);
}

static void architectures(void **state)
{
	/* clang-format off */
	static const struct { const char *arch; int64_t cc; bool runs; } rows[] = {
		{ "sm_90a", 90, true }, { "sm_90a", 80, false }, { "sm_90a", 100, false },
		{ "sm_90", 90, true }, { "sm_80", 80, true }, { "sm_80", 86, true }, { "sm_86", 80, false },
		{ "sm_80", 90, false }, { "sm_100a", 103, false }, { "sm_100f", 103, true },
		{ "sm_100", 103, true }, { "sm_120a", 121, false }, { "sm_9", 90, false }, { "sm_80a", 80,
											    false },
	};
	/* clang-format on */
	struct kl_plan_facts facts;

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++)
		if (kl_plan_arch_runs(rows[i].arch, rows[i].cc) != rows[i].runs)
			fail_msg("%s on %lld", rows[i].arch, (long long)rows[i].cc);
	assert_ok(kl_plan_arch_facts(&facts, "sm_80"));
	assert_int_equal(facts.smem_optin, 163 * 1024);
	assert_ok(kl_plan_arch_facts(&facts, "sm_120a"));
	assert_int_equal(facts.smem_optin, 99 * 1024);
	assert_error(KL_EINVALID, "unknown architecture 'sm_90b'",
		     kl_plan_arch_facts(&facts, "sm_90b"));
	assert_error(KL_EINVALID, "unknown architecture", kl_plan_arch_facts(&facts, ""));
}

/* What only the device decides comes as its own kind of error. */
static void a_device_may_be_too_small(void **state)
{
	static const struct kl_plan_facts half = {
		.sms = 132, .smem_optin = 101376, .cc = 90, .l2 = 1
	};
	static const struct kl_plan_facts old = {
		.sms = 108, .smem_optin = 232448, .cc = 80, .l2 = 1
	};
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = plan_contract("gemm"),
						      *other = plan_contract("chain");
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = plan_good(contract, "gemm"),
						  *chain = plan_good(other, "chain");
	struct kl_plan_at *at = NULL;
	int64_t bytes[KL_MAX_ARGS] = { 1LL << 25, 1LL << 25, 1LL << 25 };

	assert_error(KL_ENO,
		     "launch.yaml:6:54: require[3]: 'smem <= smem_optin' does not hold at "
		     "smem_optin = 101376, smem = 214272",
		     kl_plan_resolve(&at, launch->plan, contract->dims.v, bytes, &half));
	assert_error(KL_ECANNOT, "compute capability 9.0, but the device has 8.0",
		     kl_plan_resolve(&at, launch->plan, contract->dims.v, bytes, &old));
	assert_error(
		KL_ECANNOT,
		"launch[2].smem: a block needs 200704 bytes of shared memory, but the device has at most 101376",
		kl_plan_resolve(&at, chain->plan, other->dims.v, bytes, &half));
	assert_error(KL_ECANNOT, "launch[1].pdl: programmatic launch needs compute capability 9.0",
		     kl_plan_resolve(&at, chain->plan, other->dims.v, bytes, &old));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gemm_at_4096),
		cmocka_unit_test(a_smaller_device_gets_a_smaller_grid),
		cmocka_unit_test(conv2d),
		cmocka_unit_test(chain_of_launches),
		cmocka_unit_test(symbols_of_names),
		cmocka_unit_test(names_in_cxx),
		cmocka_unit_test(survives_the_job),
		cmocka_unit_test(constants_have_64_bits),
		cmocka_unit_test(a_whole_number_has_no_minus_zero),
		cmocka_unit_test(architectures),
		cmocka_unit_test(a_device_may_be_too_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
