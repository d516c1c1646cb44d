/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_fixture.h"

#include "backend/cuda/torch_stub.h"
#include "backend/demangle.h"

#define ARGS "(const float *x, float *y)"
#define BODY(n) "{ int i = blockIdx.x * " n " + threadIdx.x; y[i] = x[i] * 2.f; }\n"

static char *plan_of(const char *name)
{
	return kl_asprintf(
		"klineage-launch: 1\ncompile: {arch: sm_90a}\nlaunch:\n  - {kernel: \"%s\", "
		"grid: [\"cdiv(n, 256)\"], block: [256], args: [x, y]}\n",
		name);
}

/* What stands behind a source to find the kernel changes nothing that is judged. */
static void names_leave_the_code_alone(void **state)
{
	static const struct {
		const char *source, *name;
	} rows[] = {
		{ "__global__ void k" ARGS BODY("256"), "k" },
		{ "namespace a { namespace { __global__ void k" ARGS BODY("256") "} }", "a::k" },
		{ "template <int N> __global__ void t" ARGS BODY("N"), "t<256>" },
		{ "template <int N> static __global__ void t" ARGS BODY("N") "// no newline",
		  "t<256>" },
		{ "__global__ void k(const double *x, float *y) {}\n__global__ void k" ARGS BODY(
			  "256"),
		  "k(const float *, float *)" },
	};
	KL_AUTO(kl_artefact_freep) struct kl_artefact *plain = NULL;

	NEEDS_NVCC();
	assert_ok(cuda_compile(&plain, &kernel, "extern \"C\" __global__ void k" ARGS BODY("256"),
			       NULL, NULL));
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_artefact_freep) struct kl_artefact *got = NULL;
		KL_AUTO(kl_freep) char *plan = plan_of(rows[i].name);

		if (cuda_compile(&got, &kernel, rows[i].source, plan, NULL) < 0)
			fail_msg("%s: %s\n%s", kernel.class_, kl_error_last(), rows[i].source);
		assert_string_equal(got->facts.code_digest, plain->facts.code_digest);
		assert_string_equal(kl_json_str_or(json_array_get(got->statics, 0), "kernel", ""),
				    rows[i].name);
		assert_int_equal(got->facts.features.n, plain->facts.features.n);
	}
}

static void stubs_stay_in_their_folder(void **state)
{
	static const char *const outside[] = {
		"<torch/../../x.h>", "<c10//x.h>",    "<ATen/>",
		"<vector>",          "<torch/a b.h>", "<torch/'a.h>",
	};
	static const char *const inside[] = { "<torch/extension.h>", "\"c10/cuda/CUDAGuard.h\"" };
	bool any;

	for (size_t i = 0; i < KL_ARRAY_SIZE(outside) + KL_ARRAY_SIZE(inside); i++) {
		bool wanted = i >= KL_ARRAY_SIZE(outside);
		KL_AUTO(kl_freep)
		char *text = kl_asprintf("int x;\n  # include %s // more",
					 wanted ? inside[i - KL_ARRAY_SIZE(outside)] : outside[i]);
		struct kl_file file[2];

		cuda_file(&file[0], "k.cu", text);
		cuda_file(&file[1], "torch/extension.h", "");
		assert_ok(kl_torch_stubs_put(&any, kernel.dir, file, 1));
		assert_int_equal(any, wanted);
		/* the surface's own header needs no stub */
		if (i == KL_ARRAY_SIZE(outside)) {
			assert_ok(kl_torch_stubs_put(&any, kernel.dir, file, 2));
			assert_false(any);
		}
	}
}

static void symbols_are_translated(void **state)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec symbol = KL_STRVEC_INIT, name = KL_STRVEC_INIT;

	kl_strvec_push(&symbol, "scale");
	kl_strvec_push(&symbol, "_ZN2ns1fIfLi4EEEvPKT_PS1_i");
	kl_strvec_push(&symbol, "_Z\nid");
	kl_strvec_push(&symbol, "_Z1hPf");
	assert_ok(kl_demangle(&name, &kernel.jail, kernel.dir, &symbol, false));
	assert_int_equal(name.n, 4);
	assert_string_equal(name.v[0], "scale");
	assert_string_equal(name.v[1], "void ns::f<float, 4>(float const*, float*, int)");
	assert_string_equal(name.v[2], "_Z\nid");
	assert_string_equal(name.v[3], "h(float*)");
	assert_error(KL_ENO, "'h' and 'g<int>', not _z",
		     kl_demangle_error(kl_error(KL_ENO, "'_Z1hPf' and '_Z1gIiEvT_', not _z"),
				       &kernel.jail, kernel.dir));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_leave_the_code_alone),
		cmocka_unit_test(stubs_stay_in_their_folder),
		cmocka_unit_test(symbols_are_translated),
	};

	return cmocka_run_group_tests(tests, cuda_setup_group, cuda_teardown_group);
}
