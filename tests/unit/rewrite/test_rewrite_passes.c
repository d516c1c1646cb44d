/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage_fake.h"

#include "rewrite/pass/cocci.h"
#include "rewrite/rewriter.h"

static struct kl_jail jail;
static bool have_jail;

static int setup(void **state)
{
	have_jail = !kl_jail_open(&jail, KL_JAIL_AUTO);
	if (!have_jail)
		print_message("skipped: semantic patches need a jail: %s\n", kl_error_last());
	return scratch_setup(state);
}

#define NEED_JAIL()             \
	do {                    \
		if (!have_jail) \
			skip(); \
	} while (0)

/* a state of the copy contract with this source, in memory */
static struct kl_surface *state_of(const char *source)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("state");
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "copy.c");
	struct kl_surface *surface;

	sh(dir, "printf '%s' >klineage.yaml && echo 'void copy(void) {}' >oracle.c", fake_contract);
	assert_ok(kl_fs_put(path, source, strlen(source), 0644));
	assert_ok(kl_surface_from_dir(&surface, dir, ""));
	return surface;
}

struct seen {
	struct kl_strvec ids;
};

static bool tried(const char *id, const char *surface, const char *edit, bool again, void *payload)
{
	struct seen *seen = payload;

	return kl_strvec_has(&seen->ids, id);
}

/*
 * every proposal on one state, each rejected; "<action> <mechanism> <source>" lines, and the last
 * text by name
 */
static char *all_proposals(struct kl_surface *surface, const char *list, const char *want,
			   char **text)
{
	struct seen seen = { .ids = KL_STRVEC_INIT };
	struct kl_buf out = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *none = json_array();
	struct kl_rewrite rw = {
		.jail = &jail,
		.state = surface,
		.steps = none,
		.rejections = none,
		.tried = tried,
		.payload = &seen,
	};

	for (;;) {
		KL_AUTO(kl_proposal_freep) struct kl_proposal *proposal = NULL;
		bool stop;

		assert_ok(kl_rewrite_next(&proposal, &stop, &rw, list));
		if (!proposal)
			break;
		kl_strvec_push(&seen.ids, proposal->id);
		kl_buf_addf(&out, "%s %s %s\n", proposal->action, proposal->mechanism,
			    proposal->source);
		if (want && !strcmp(proposal->source, want)) {
			free(*text);
			*text = kl_strdup(proposal->candidate->file[0].data);
		}
		assert_true(seen.ids.n < 100);
	}
	kl_strvec_release(&seen.ids);
	kl_rewrite_release(&rw);
	return kl_buf_detach(&out);
}

static const char expert[] =
	"#include <immintrin.h>\n"
	"enum { BLOCK = 256 };\n"
	"static void one(long n, double *restrict y, const double *restrict x)\n"
	"{\n"
	"\tlong i = 0;\n"
	"\n"
	"\tfor (; i + 4 <= n; i += 4) {\n"
	"\t\t_mm_prefetch((const char *)(x + i + 64), _MM_HINT_T0);\n"
	"\t\t_mm256_storeu_pd(y + i, _mm256_loadu_pd(x + i));\n"
	"\t}\n"
	"\tfor (; i < n; i++)\n"
	"\t\ty[i] = x[i];\n"
	"}\n"
	"\n"
	"void copy(long n, const double *restrict x, double *restrict y)\n"
	"{\n"
	"\t__builtin_prefetch(x);\n"
	"#pragma GCC unroll 2\n"
	"\tfor (long b = 0; b < n; b += BLOCK)\n"
	"\t\tone(n - b < BLOCK ? n - b : BLOCK, y + b, x + b);\n"
	"}\n";

static void test_fires(void **state)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = state_of(expert);
	KL_AUTO(kl_freep) char *text = NULL;
	KL_AUTO(kl_freep) char *got = NULL;

	NEED_JAIL();
	got = all_proposals(surface, "passes", "drop-vector-loop", &text);
	/* whole surface first, then function by function */
	assert_contains(got, "prefetch-off prefetch drop-prefetch\n"
			     "prefetch-off prefetch drop-prefetch@copy.c:one\n"
			     "prefetch-off prefetch drop-prefetch@copy.c:copy\n");
	assert_contains(got, "unroll-off unroll drop-unroll\n");
	assert_contains(got, "restrict-off restrict drop-restrict\n");
	assert_contains(got, "devectorize vector-loop drop-vector-loop\n");
	/* 256 -> 16, and if that fails 128 */
	assert_contains(got, "lower-tile@copy.c:BLOCK\n");
	assert_non_null(text);
	assert_null(strstr(text, "_mm256"));
	assert_contains(text, "for (; i < n; i++)\n\t\ty[i] = x[i];");
}

static void test_tile(void **state)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = state_of(expert);
	KL_AUTO(kl_freep) char *text = NULL;
	KL_AUTO(kl_freep) char *got = NULL;
	const char *first;

	NEED_JAIL();
	got = all_proposals(surface, "passes", "lower-tile@copy.c:BLOCK", &text);
	first = strstr(got, "lower-tile@");
	assert_non_null(first);
	assert_non_null(strstr(first + 1, "lower-tile@")); /* two sizes */
	assert_contains(text, "enum { BLOCK = 128 };");    /* the last one */
}

static void test_interchange(void **state)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = state_of(
		"void copy(long n, double *y, const double *x)\n{\n"
		"\tfor (long k = 0; k < n; k++) {\n"
		"\t\tfor (long j = 0; j < n; j++)\n\t\t\ty[j] += x[k * n + j];\n\t}\n}\n");
	KL_AUTO(kl_freep) char *text = NULL;
	KL_AUTO(kl_freep) char *got = NULL;
	const char *j, *k;

	NEED_JAIL();
	got = all_proposals(surface, "passes", "undo-interchange", &text);
	assert_non_null(text);
	j = strstr(text, "long j");
	k = strstr(text, "long k");
	assert_true(j && k && j < k);
	/* what was undone is not done again */
	{
		KL_AUTO(kl_surface_freep) struct kl_surface *after = state_of(text);
		KL_AUTO(kl_freep) char *again = all_proposals(after, "passes", NULL, NULL);

		assert_null(strstr(again, "undo-interchange"));
	}
}

/* a cuda surface: the passes that are for it, and no other */
static void test_cuda(void **state)
{
	static const char kernel[] =
		"extern \"C\" __global__ void __launch_bounds__(32)\n"
		"cumsum(const float *__restrict__ g, float *__restrict__ G, int H)\n{\n"
		"\tif (__builtin_expect(H > 0, 1))\n"
		"\t\tfor (int i = 0; i < 4; i++)\n"
		"\t\t\t*(float4 *)&G[4 * i] = *(const float4 *)&g[4 * i];\n}\n";
	KL_AUTO(kl_freep) char *dir = scratch_dir("cuda");
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "cumsum.cu");
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_freep) char *text = NULL;
	KL_AUTO(kl_freep) char *got = NULL;

	sh(dir, "cp '%s'/templates/workloads/cuda-gdn-cumsum/*.* . && cp oracle.yaml launch.yaml",
	   KL_SOURCE);
	assert_ok(kl_fs_put(path, kernel, strlen(kernel), 0644));
	assert_ok(kl_surface_from_dir(&surface, dir, ""));
	got = all_proposals(surface, "passes", "scalar-load", &text);
	assert_string_equal(
		got, "restrict-off restrict drop-restrict\nexpect-off compiler-hint drop-expect\n"
		     "bounds-off launch-bounds drop-bounds\nunroll-off unroll roll-loop\n"
		     "scalar-load vector-load scalar-load\n");
	assert_non_null(text);
	assert_contains(text, "((float *)&G[4 * i])[3] = kl_v.w;");
}

/* constants of the launch plan, those of a pass first; a constant that is no integer stays */
static void test_plan(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("plan");
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_freep) char *text = NULL;
	KL_AUTO(kl_freep) char *got = NULL;

	sh(dir,
	   "cp '%s'/templates/workloads/cuda-gdn-cumsum/*.* . && "
	   "sed 's/^compile: {.*/compile: {arch: sm_90a, define: {STAGES: 4, T: float, BM: 64, ON: 1}}/' "
	   "<oracle.yaml >launch.yaml && grep -q STAGES launch.yaml && "
	   "echo 'void cumsum();' >cumsum.cu",
	   KL_SOURCE);
	assert_ok(kl_surface_from_dir(&surface, dir, ""));
	got = all_proposals(surface, "passes", NULL, NULL);
	assert_string_equal(got, "unpipeline software-pipeline one-stage@launch.yaml:STAGES\n"
				 "unpipeline software-pipeline one-stage@launch.yaml:STAGES\n"
				 "untile register-tile lower-define@launch.yaml:BM\n"
				 "untile register-tile lower-define@launch.yaml:BM\n"
				 "untile register-tile lower-define@launch.yaml:BM\n");
}

static void test_cocci(void **state)
{
	static const char prog[] =
		"@script:python@\n@@\nimport os; os.system('touch /tmp/klineage-pwned')\n";
	static const char broken[] = "@@\n@@\n- f(\n";
	static const char good[] = "@@\n@@\n- f();\n+ g();\n";
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	static const char caller[] = "void a(void)\n{\n\tf();\n}\n";
	bool changed;

	NEED_JAIL();
	assert_error(KL_EINVALID, "script",
		     kl_cocci_run(&out, &changed, &jail, "p", prog, strlen(prog), "int x;\n", 7));
	assert_error(KL_EINVALID, "cannot run semantic patch",
		     kl_cocci_run(&out, &changed, &jail, "p", broken, strlen(broken), "int x;\n",
				  7));
	assert_ok(kl_cocci_run(&out, &changed, &jail, "p", good, strlen(good), "int x;\n", 7));
	assert_false(changed);
	assert_ok(kl_cocci_run(&out, &changed, &jail, "p", good, strlen(good), caller,
			       strlen(caller)));
	assert_true(changed);
	assert_string_equal(out.ptr, "void a(void)\n{\n\tg();\n}\n");
	/* a source it cannot parse is left as it is */
	assert_ok(kl_cocci_run(&out, &changed, &jail, "p", good, strlen(good), "}}} f(); ((", 11));
	assert_false(changed);
}

/* a person's own directory of passes: read strictly */
static void test_own_passes(void **state)
{
	/* clang-format off */
	static const struct { const char *yaml, *why; } bad[] = {
		{ "passes: {}", "'passes' must be a list" },
		{ "passes:\n  - {name: x, kind: token, action: a, mechanism: m, text: t}\n", "unknown token pass 'x'" },
		{ "passes:\n  - {name: x, kind: cocci, file: ../x, action: a, mechanism: m, text: t}\n", "must be a path relative to" },
		{ "passes:\n  - {name: x, kind: cocci, file: s.cocci, action: a, mechanism: m, text: t}\n", "must not use" },
		{ "passes:\n  - {name: x, kind: magic, action: a, mechanism: m, text: t}\n", "'kind' must be one of token, cocci" },
		{ "passes:\n  - {nome: x}\n", "unknown key 'nome'" },
		{ "passes:\n  - {name: roll-loop, kind: token, action: a, mechanism: m, text: t, languages: cuda}\n",
		  "'languages' must be a list" },
		{ "passes:\n  - {name: roll-loop, kind: token, action: a, mechanism: m, text: t, languages: [go]}\n",
		  "c, cpp or cuda" },
		{ "passes:\n  - {name: drop-unroll, kind: token}\n", "'action' is missing in a pass" },
	};
	/* clang-format on */
	KL_AUTO(kl_freep) char *dir = scratch_dir("own");
	KL_AUTO(kl_freep) char *list = kl_asprintf("passes:%s", dir);

	sh(dir, "printf '@initialize:ocaml@\\n@@\\n' >s.cocci");
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "passes.yaml");

		assert_ok(kl_fs_put(path, bad[i].yaml, strlen(bad[i].yaml), 0644));
		assert_error(KL_EINVALID, bad[i].why, kl_rewriters_check(list));
	}
	assert_ok(kl_rewriters_check("history,passes"));
	assert_error(KL_EUSAGE, "is empty", kl_rewriters_check(","));
}

static void test_split(void **state)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = state_of(
		"int a(void)\n{\n\treturn 1;\n}\nint b(void)\n{\n\treturn 1;\n}\n");
	static const char both[] =
		"int a(void)\n{\n\treturn 2;\n}\nint b(void)\n{\n\treturn 2;\n}\n";
	struct kl_file edit = { .path = (char *)"copy.c",
				.data = (char *)both,
				.len = strlen(both) };
	struct kl_claim claim = { .rewriter = "r", .source = "s", .origin = "induced" };
	struct seen seen = { .ids = KL_STRVEC_INIT };
	struct kl_rewrite rw = { .state = surface, .tried = tried, .payload = &seen };
	KL_AUTO(kl_proposal_freep) struct kl_proposal *whole = NULL;
	KL_AUTO(kl_proposal_freep) struct kl_proposal *first = NULL;
	KL_AUTO(kl_proposal_freep) struct kl_proposal *second = NULL;
	KL_AUTO(kl_proposal_freep) struct kl_proposal *third = NULL;

	assert_ok(kl_rewrite_offer(&whole, &rw, &edit, 1, &claim));
	assert_string_equal(whole->locus, "copy.c:3-7");
	assert_ok(kl_rewrite_split(&first, &rw, whole));
	assert_string_equal(first->source, "s@copy.c:a");
	assert_string_equal(first->locus, "copy.c:a:3-3");
	assert_string_equal(first->candidate->file[0].data,
			    "int a(void)\n{\n\treturn 2;\n}\nint b(void)\n{\n\treturn 1;\n}\n");
	kl_strvec_push(&seen.ids, first->id);
	assert_ok(kl_rewrite_split(&second, &rw, whole));
	assert_string_equal(second->source, "s@copy.c:b");
	kl_strvec_push(&seen.ids, second->id);
	assert_ok(kl_rewrite_split(&third, &rw, whole));
	assert_null(third);
	kl_strvec_release(&seen.ids);
	kl_rewrite_release(&rw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fires),       cmocka_unit_test(test_tile),
		cmocka_unit_test(test_interchange), cmocka_unit_test(test_cuda),
		cmocka_unit_test(test_plan),        cmocka_unit_test(test_cocci),
		cmocka_unit_test(test_own_passes),  cmocka_unit_test(test_split),
	};

	return cmocka_run_group_tests(tests, setup, scratch_teardown);
}
