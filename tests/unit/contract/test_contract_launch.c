/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_fixture.h"

#include "contract/surface.h"

/* A surface on disk: the contract of chain.yaml with these files beside it. */
struct fixture {
	char *dir;
};

static void fixture_release(struct fixture *f)
{
	kl_fs_tempdir_cleanup(&f->dir);
}

static void put(const struct fixture *f, const char *name, const char *text)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(f->dir, name);

	assert_ok(kl_fs_write(path, text, strlen(text)));
}

static void start(struct fixture *f, const char *sources)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *contract = NULL;

	assert_ok(kl_fs_tempdir(&f->dir, "launch"));
	plan_text(&text, "gemm.contract");
	contract = plan_edit(text.ptr, "[gemm.cu, launch.yaml]", sources);
	put(f, "klineage.yaml", contract);
	put(f, "gemm.cu", "__global__ void k() {}\n");
	put(f, "d.cubin", "abc");
	put(f, "oracle.cu", "__global__ void o() {}\n");
	put(f, "launch.yaml",
	    "klineage-launch: 1\ncompile: {arch: sm_80}\n"
	    "launch: [{kernel: k, grid: [M], block: [32], args: [A, C]}]\n");
	put(f, "oracle.yaml",
	    "klineage-launch: 1\nlaunch: [{kernel: o, grid: [M], block: [32], args: [A, "
	    "C]}]\n");
}

static struct kl_surface *surface(const struct fixture *f)
{
	struct kl_surface *s = NULL;

	assert_ok(kl_surface_from_dir(&s, f->dir, ""));
	return s;
}

static void both_plans_are_read(void **state)
{
	KL_AUTO(fixture_release) struct fixture f = { NULL };
	KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL;
	KL_AUTO(kl_launch_freep) struct kl_launch *l = NULL, *o = NULL;

	start(&f, "[gemm.cu, launch.yaml]");
	s = surface(&f);
	assert_ok(kl_launch_read(&l, s, false));
	assert_string_equal(l->platform, "cuda/sm_80");
	assert_ok(kl_launch_read(&o, s, true));
	/* it says none, so it is the kernel's */
	assert_string_equal(o->arch, "sm_80");
}

static void an_oracle_runs_where_its_kernel_does(void **state)
{
	KL_AUTO(fixture_release) struct fixture f = { NULL };
	KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL;
	struct kl_launch *o = NULL;

	start(&f, "[gemm.cu, launch.yaml]");
	put(&f, "oracle.yaml",
	    "klineage-launch: 1\ncompile: {arch: sm_90a}\n"
	    "launch: [{kernel: o, grid: [M], block: [32], args: [A, C]}]\n");
	s = surface(&f);
	assert_error(KL_EINVALID,
		     "oracle.yaml:2:17: compile.arch: code for sm_90a does not run where the "
		     "kernel's does (sm_80)",
		     kl_launch_read(&o, s, true));
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
	KL_AUTO(fixture_release) struct fixture f = { NULL };
	KL_AUTO(kl_surface_freep) struct kl_surface *a = NULL, *b = NULL, *c = NULL;
	KL_AUTO(kl_launch_freep) struct kl_launch *l = NULL;
	struct kl_launch *none = NULL;

	start(&f, "[d.cubin, launch.yaml]");
	put(&f, "launch.yaml", good);
	a = surface(&f);
	assert_ok(kl_launch_read(&l, a, false));
	assert_string_equal(kl_plan_artefact(l->plan)->cubin, "d.cubin");
	assert_string_equal(l->platform, "cuda/sm_90");
	put(&f, "launch.yaml", bad);
	b = surface(&f);
	assert_error(KL_EINVALID,
		     "launch.yaml:2:49: artefact.sha256: 'd.cubin' has the digest ba7816bf",
		     kl_launch_read(&none, b, false));
	put(&f, "launch.yaml",
	    "klineage-launch: 1\ncompile: {arch: sm_80}\n"
	    "launch: [{kernel: k, grid: [M], block: [32], args: []}]\n");
	c = surface(&f);
	assert_error(KL_EINVALID, "'d.cubin' is machine code, which needs 'artefact'",
		     kl_launch_read(&none, c, false));
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
		KL_AUTO(kl_contract_freep) struct kl_contract *c = NULL;
		KL_AUTO(kl_launch_freep) struct kl_launch *l = NULL;

		assert_ok(kl_fs_read(&text, path, 1 << 20));
		assert_ok(kl_contract_parse(&c, path, text.ptr, text.len));
		if (!c->launch)
			continue;
		plan = kl_fs_join(dir, c->oracle_launch);
		assert_ok(kl_fs_read(&yaml, plan, 1 << 20));
		assert_ok(kl_launch_parse(&l, c, plan, yaml.ptr, yaml.len, NULL, 0, "sm_90a"));
		seen++;
	}
	assert_true(seen >= 8);
}

static void other_languages_have_no_plan(void **state)
{
	struct kl_launch *l = NULL;
	struct kl_contract c = { .language = &kl_language_c, .name = (char[]){ "klineage.yaml" } };
	struct kl_surface plain = { .contract = &c };

	assert_error(KL_ENOTFOUND, "language 'c' has no launch plan",
		     kl_launch_read(&l, &plain, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_plans_are_read),
		cmocka_unit_test(an_oracle_runs_where_its_kernel_does),
		cmocka_unit_test(machine_code_needs_its_digest),
		cmocka_unit_test(the_oracles_of_the_templates_are_good),
		cmocka_unit_test(other_languages_have_no_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
