/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_fixture.h"

#include "contract/surface.h"

/* A surface on disk: the contract of chain.yaml with these files beside it. */
struct fixture {
	char *dir;
};

static void fixture_release(struct fixture *fixture)
{
	kl_fs_tempdir_cleanup(&fixture->dir);
}

static void put(const struct fixture *fixture, const char *name, const char *text)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(fixture->dir, name);

	assert_ok(kl_fs_write(path, text, strlen(text)));
}

static void start(struct fixture *fixture, const char *sources)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *contract = NULL;

	assert_ok(kl_fs_tempdir(&fixture->dir, "launch"));
	plan_text(&text, "gemm.contract");
	contract = plan_edit(text.ptr, "[gemm.cu, launch.yaml]", sources);
	put(fixture, "klineage.yaml", contract);
	put(fixture, "gemm.cu", "__global__ void k() {}\n");
	put(fixture, "d.cubin", "abc");
	put(fixture, "oracle.cu", "__global__ void o() {}\n");
	put(fixture, "launch.yaml",
	    "klineage-launch: 1\ncompile: {arch: sm_80}\n"
	    "launch: [{kernel: k, grid: [M], block: [32], args: [A, C]}]\n");
	put(fixture, "oracle.yaml",
	    "klineage-launch: 1\nlaunch: [{kernel: o, grid: [M], block: [32], args: [A, "
	    "C]}]\n");
}

static struct kl_surface *surface(const struct fixture *fixture)
{
	struct kl_surface *other = NULL;

	assert_ok(kl_surface_from_dir(&other, fixture->dir, ""));
	return other;
}

static void both_plans_are_read(void **state)
{
	KL_AUTO(fixture_release) struct fixture fixture = { NULL };
	KL_AUTO(kl_surface_freep) struct kl_surface *other = NULL;
	KL_AUTO(kl_launch_freep) struct kl_launch *other_launch = NULL, *launch = NULL;

	start(&fixture, "[gemm.cu, launch.yaml]");
	other = surface(&fixture);
	assert_ok(kl_launch_read(&other_launch, other, false, NULL));
	assert_string_equal(other_launch->platform, "cuda/sm_80");
	assert_ok(kl_launch_read(&launch, other, true, NULL));
	/* it says none, so it is the kernel's */
	assert_string_equal(launch->arch, "sm_80");
}

/* Source without a suffix is compiled for the platform that is asked for, and its oracle, too. */
static void an_architecture_means_at_least(void **state)
{
	/* clang-format off */
	static const struct { const char *arch, *platform, *want; } rows[] = {
		{ "sm_80", NULL, "sm_80" }, { "sm_80", "cuda/sm_90", "sm_90" }, { "sm_80", "cuda/sm_80", "sm_80" },
		{ "sm_75", "cuda/sm_86", "sm_86" }, { "sm_80", "cuda/sm_120", "sm_120" },
		/* no earlier one, none that is unknown, and no code for exactly one */
		{ "sm_90", "cuda/sm_80", "sm_90" }, { "sm_80", "cuda/sm_91", "sm_80" }, { "sm_90a", "cuda/sm_100", "sm_90a" },
		{ "sm_80", "cpu/x86-64-v3", "sm_80" }, { "sm_80", "cuda", "sm_80" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(fixture_release) struct fixture fixture = { NULL };
		KL_AUTO(kl_surface_freep) struct kl_surface *own = NULL;
		KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL, *oracle = NULL;
		KL_AUTO(kl_freep) char *plan = kl_asprintf(
			"klineage-launch: 1\ncompile: {arch: %s}\n"
			"launch: [{kernel: k, grid: [M], block: [32], args: [A, C]}]\n",
			rows[i].arch);
		KL_AUTO(kl_freep) char *platform = kl_asprintf(
			"cuda/%.*s", (int)strcspn(rows[i].want, "a"), rows[i].want);

		start(&fixture, "[gemm.cu, launch.yaml]");
		put(&fixture, "launch.yaml", plan);
		own = surface(&fixture);
		assert_ok(kl_launch_read(&launch, own, false, rows[i].platform));
		assert_string_equal(launch->arch, rows[i].want);
		assert_string_equal(launch->platform, platform);
		assert_ok(kl_launch_read(&oracle, own, true, rows[i].platform));
		assert_string_equal(oracle->arch, rows[i].want);
	}
}

static void an_oracle_runs_where_its_kernel_does(void **state)
{
	KL_AUTO(fixture_release) struct fixture fixture = { NULL };
	KL_AUTO(kl_surface_freep) struct kl_surface *other = NULL;
	struct kl_launch *launch = NULL;

	start(&fixture, "[gemm.cu, launch.yaml]");
	put(&fixture, "oracle.yaml",
	    "klineage-launch: 1\ncompile: {arch: sm_90a}\n"
	    "launch: [{kernel: o, grid: [M], block: [32], args: [A, C]}]\n");
	other = surface(&fixture);
	assert_error(KL_EINVALID,
		     "oracle.yaml:2:17: compile.arch: code for sm_90a does not run on the "
		     "kernel's architecture, sm_80",
		     kl_launch_read(&launch, other, true, NULL));
}

static void machine_code_needs_its_digest(void **state)
{
	static const char sha[] =
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	KL_AUTO(kl_freep) char *good = kl_asprintf(
		"klineage-launch: 1\nartefact: {cubin: d.cubin, arch: "
		"sm_90, "
		"sha256: %s}\nlaunch: [{kernel: k, grid: [M], block: [32], args: [A]}]\n",
		sha);
	KL_AUTO(kl_freep) char *bad = plan_edit(good, "ba78", "ba79");
	KL_AUTO(fixture_release) struct fixture fixture = { NULL };
	KL_AUTO(kl_surface_freep) struct kl_surface *left = NULL, *right = NULL, *other = NULL;
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	struct kl_launch *none = NULL;

	start(&fixture, "[d.cubin, launch.yaml]");
	put(&fixture, "launch.yaml", good);
	left = surface(&fixture);
	assert_ok(kl_launch_read(&launch, left, false, NULL));
	assert_string_equal(kl_plan_artefact(launch->plan)->cubin, "d.cubin");
	assert_string_equal(launch->platform, "cuda/sm_90");
	put(&fixture, "launch.yaml", bad);
	right = surface(&fixture);
	assert_error(
		KL_EINVALID,
		"launch.yaml:2:49: artefact.sha256: the digest does not match: 'd.cubin' has the digest ba7816bf",
		kl_launch_read(&none, right, false, NULL));
	put(&fixture, "launch.yaml",
	    "klineage-launch: 1\ncompile: {arch: sm_80}\n"
	    "launch: [{kernel: k, grid: [M], block: [32], args: []}]\n");
	other = surface(&fixture);
	assert_error(KL_EINVALID, "'d.cubin' is machine code, for which the plan must have",
		     kl_launch_read(&none, other, false, NULL));
}

/* What is shipped: an oracle's plan is whole before there is a kernel. */
static void the_oracles_of_the_templates_are_good(void **state)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	size_t seen = 0;

	assert_ok(kl_fs_list(&names, KL_SOURCE "/templates/workloads"));
	for (size_t i = 0; i < names.n; i++) {
		KL_AUTO(kl_freep) char *dir = kl_asprintf(KL_SOURCE "/templates/workloads/%s",
							  names.v[i]);
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "klineage.yaml"), *plan = NULL;
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, yaml = KL_BUF_INIT;
		KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;
		KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;

		assert_ok(kl_fs_read(&text, path, 1 << 20));
		assert_ok(kl_contract_parse(&contract, path, text.ptr, text.len));
		if (!contract->launch)
			continue;
		plan = kl_fs_join(dir, contract->oracle_launch);
		assert_ok(kl_fs_read(&yaml, plan, 1 << 20));
		assert_ok(kl_launch_parse(&launch, contract, plan, yaml.ptr, yaml.len, NULL, 0,
					  "sm_90a"));
		seen++;
	}
	assert_true(seen >= 8);
}

static void other_languages_have_no_plan(void **state)
{
	struct kl_launch *launch = NULL;
	struct kl_contract contract = { .language = &kl_language_c,
					.name = (char[]){ "klineage.yaml" } };
	struct kl_surface plain = { .contract = &contract };

	assert_error(KL_ENOTFOUND, "language 'c' has no launch plan",
		     kl_launch_read(&launch, &plain, false, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_plans_are_read),
		cmocka_unit_test(an_architecture_means_at_least),
		cmocka_unit_test(an_oracle_runs_where_its_kernel_does),
		cmocka_unit_test(machine_code_needs_its_digest),
		cmocka_unit_test(the_oracles_of_the_templates_are_good),
		cmocka_unit_test(other_languages_have_no_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
