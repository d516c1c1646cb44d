/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language that this program does not have, made of two rows in this file: C with the words begin
 * and end for its braces. Contracts parse, kernels compile in the jail, and a session judges them.
 */
#include "scratch.h"

#include <ctype.h>

#include "backend/backend.h"
#include "backend/c/compile.h"
#include "backend/machine.h"
#include "gate/build.h"
#include "gate/gate.h"
#include "gate/resolve.h"

/* --- what a contract of it may say ---------------------------------------------------------- */

static int flag_ok(const char *flag)
{
	return strcmp(flag, "-loud") ? kl_error(KL_EINVALID, "flag '%s' is not -loud", flag) : 0;
}

static const struct kl_field surface_fields[] = {
	KL_LANGUAGE_FIELD,
	KL_LANGUAGE_SOURCES_FIELD,
	KL_STRING_FIELD("entry", KL_NEEDED, offsetof(struct kl_contract, entry),
			&kl_language_entry),
	KL_LANGUAGE_FLAGS_FIELD,
	KL_VALUE_FIELD("mood", 0, 0, &kl_value_known), /* any will do */
	KL_FIELDS_END,
};
static const struct kl_schema surface_schema = {
	"'surface'", sizeof(struct kl_contract), surface_fields, NULL, NULL, NULL,
};

static const struct kl_language up = {
	.name = "up",
	.title = "Up",
	.suffixes = (const char *const[]){ ".up", ".txt", NULL },
	.mains = (const char *const[]){ ".up", NULL },
	.flag_ok = flag_ok,
	.baselines = (const char *const[]){ "up.none", NULL },
	.surface = { &surface_schema, NULL },
	.oracle = { &kl_language_c_oracle, NULL },
};

static const struct kl_languages languages = { { &kl_language_c, &up } };

/* --- how its kernels are compiled ------------------------------------------------------------ */

static int open_sessions, compiled_oracles;

struct session {
	struct kl_backend_session lent;
	struct kl_platform platform;
	struct kl_compile_tools tools;
	bool prepared;
};

static bool owns_platform(const char *platform)
{
	return !strncmp(platform, "up/", 3);
}

static int open_session(void **state, const struct kl_backend_session *lent)
{
	struct session *session;
	struct kl_platform platform;
	int err = kl_machine_platform(&platform, lent->platform ? lent->platform + 3 : NULL);

	if (err < 0)
		return err;
	*state = session = kl_calloc(1, sizeof(*session));
	session->lent = *lent;
	session->platform = platform;
	snprintf(session->platform.id, sizeof(session->platform.id), "up/%s", platform.id + 4);
	snprintf(session->platform.compiler, sizeof(session->platform.compiler), "up 1, %.100s",
		 platform.compiler);
	open_sessions++;
	return kl_compile_tools_open(&session->tools, lent->jail, &session->platform);
}

static void close_session(void *state)
{
	open_sessions--;
	kl_compile_tools_release(&((struct session *)state)->tools);
	free(state);
}

static int platform_of(struct kl_platform *out, void *state, const struct kl_surface *surface)
{
	*out = ((const struct session *)state)->platform;
	return 0;
}

static int prepare(void *state, const struct kl_surface *surface)
{
	struct session *session = state;

	session->prepared = true;
	return kl_compile_runtime(&session->tools, session->lent.dir);
}

/* Whole words only: `end` is one, `ending` is none. */
static char *translate(const char *text, size_t len)
{
	struct kl_buf out = KL_BUF_INIT;

	for (size_t i = 0, n; i < len; i += n) {
		for (n = 0; i + n < len && isalnum((unsigned char)text[i + n]); n++)
			;
		if (n == 5 && !memcmp(text + i, "begin", n))
			kl_buf_adds(&out, "{");
		else if (n == 3 && !memcmp(text + i, "end", n))
			kl_buf_adds(&out, "}");
		else
			kl_buf_add(&out, text + i, n ? n : 1);
		n = n ? n : 1;
	}
	return kl_buf_detach(&out);
}

/* The files as C; others than .up are left out. */
static struct kl_file *translated(size_t *n, const struct kl_file *file, size_t nfile)
{
	struct kl_file *out = kl_calloc(nfile + 1, sizeof(*out));

	*n = 0;
	for (size_t i = 0; i < nfile; i++) {
		size_t stem = strlen(file[i].path) - strlen(".up");

		if (!kl_suffix_in(file[i].path, up.mains))
			continue;
		out[*n].path = kl_asprintf("%.*s.c", (int)stem, file[i].path);
		out[*n].data = translate(file[i].data, file[i].len);
		out[*n].len = strlen(out[*n].data);
		out[(*n)++].mode = file[i].mode;
	}
	return out;
}

static void files_free(struct kl_file *file, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(file[i].path);
		free(file[i].data);
	}
	free(file);
}

/* The contract of the surface in C: its compiler does not know -loud. */
static struct kl_contract without_flags(const struct kl_surface *surface)
{
	struct kl_contract contract = *surface->contract;

	contract.flags = (struct kl_strvec)KL_STRVEC_INIT;
	return contract;
}

static int compile_surface(struct kl_artefact **out, const char **class_, const void *state,
			   const struct kl_surface *surface, const char *dir)
{
	const struct session *session = state;
	struct kl_contract contract = without_flags(surface);
	struct kl_surface in_c = { .contract = &contract };
	int err;

	assert_true(session->prepared);
	in_c.file = translated(&in_c.nfile, surface->file, surface->nfile);
	err = kl_compile_surface(out, class_, &session->tools, &in_c, dir);
	files_free(in_c.file, in_c.nfile);
	return err;
}

static int compile_oracle(const void *state, const struct kl_surface *surface,
			  const struct kl_launch *launch, enum kl_oracle which, const char *dir)
{
	const struct session *session = state;
	struct kl_contract contract = without_flags(surface);
	struct kl_surface in_c = { .contract = &contract };
	int err;

	assert_null(launch);
	__atomic_add_fetch(&compiled_oracles, 1, __ATOMIC_RELAXED);
	in_c.oracle = translated(&in_c.noracle, surface->oracle, surface->noracle);
	err = kl_compile_oracle(&session->tools, &in_c, which, dir);
	files_free(in_c.oracle, in_c.noracle);
	return err;
}

static int add_recipe(struct kl_digest *key, const void *state)
{
	const struct session *session = state;

	kl_digest_adds(key, "up 1");
	kl_compile_recipe(key, &session->tools);
	return 0;
}

static int name_tools(char **out, struct kl_repo *repo)
{
	*out = kl_strdup("up 1");
	return 0;
}

static bool has_feature(const char *name)
{
	return !strcmp(name, "upper");
}

static void describe_job(struct kl_job *job, const struct kl_backend_job *of)
{
	job->isa = kl_strdup(of->platform->march);
}

static const struct kl_backend up_backend = {
	.language = &up,
	.object = "image",
	.surface = KL_SURFACE_C,
	.peak = { .bytes_per_ns = 1000, .flops_per_ns = 1000 },
	.has_feature = has_feature,
	.describe = describe_job,
	.platforms = "up/x86-64-v<number>",
	.owns = owns_platform,
	.tools = name_tools,
	.open = open_session,
	.close = close_session,
	.platform = platform_of,
	.prepare = prepare,
	.compile = compile_surface,
	.oracle = compile_oracle,
	.recipe = add_recipe,
};

static const struct kl_backends backends = { { &kl_backend_c, &up_backend } };

/* --- a kernel in it ------------------------------------------------------------------------- */

#define CONTRACT(surface)                                                    \
	"klineage: 1\nworkload: twice\ncase: {op: scale, dims: {n: 1000}}\n" \
	"surface: {language: up, " surface "}\n"                             \
	"args:\n  - {name: n, kind: dim}\n"                                  \
	"  - {name: x, kind: in, dtype: f32, shape: [n], fill: normal}\n"    \
	"  - {name: y, kind: out, dtype: f32, shape: [n]}\n"                 \
	"oracle: {language: up, sources: [oracle.up], entry: oracle}\n"      \
	"accept: {rule: noise, max: 4, rms: 2}\n"
#define SURFACE "sources: [k.up], entry: k, flags: [-loud]"
#define KERNEL(value)                                                        \
	"#include <stdint.h>\nvoid k(int64_t n, const float *x, float *y)\n" \
	"begin\n\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = " value ";\nend\n"

static const char oracle[] =
	"#include <stdint.h>\n#include \"kl_oracle.h\"\n"
	"void oracle(int64_t n, const kl_real *x, kl_real *y)\n"
	"begin\n\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = 2 * x[i];\nend\n";

static void put(const char *dir, const char *name, const char *text)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, name);

	assert_ok(kl_fs_put(path, text, strlen(text), 0644));
}

static struct kl_surface *surface_of(const char *dir, const char *kernel)
{
	struct kl_surface *surface = NULL;

	put(dir, "klineage.yaml", CONTRACT(SURFACE));
	put(dir, "oracle.up", oracle);
	put(dir, "k.up", kernel);
	assert_ok(kl_surface_from_dir_in(&surface, &languages, dir, ""));
	return surface;
}

/* A session's builder, with a scratch directory. */
struct built {
	struct kl_jail jail;
	struct kl_builder b;
	char *dir;
};

static void builder_close(struct built *built)
{
	kl_builder_release(&built->b);
	kl_fs_tempdir_cleanup(&built->dir);
}

static int builder_open(struct built *built, struct kl_repo *repo, const char *platform)
{
	assert_ok(kl_jail_open(&built->jail, KL_JAIL_AUTO));
	assert_ok(kl_fs_tempdir(&built->dir, "kl-backend"));
	built->b = (struct kl_builder){
		.session = {
			.jail = &built->jail, .repo = repo, .dir = built->dir, .platform = platform,
		},
		.backends = &backends,
	};
	return kl_builder_open(&built->b);
}

/* --- tests ---------------------------------------------------------------------------------- */

static int parse(const struct kl_languages *known, const char *text)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;

	return kl_contract_parse_in(&contract, known, "k.yaml", text, strlen(text));
}

static void its_contracts_say_what_its_row_says(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *message; } bad[] = {
		{ CONTRACT("sources: [k.c], entry: k"), "'k.c' is not a .up or .txt file" },
		{ CONTRACT("sources: [k.txt], entry: k"), "'sources' has no .up file" },
		{ CONTRACT("sources: [k.up]"), "'entry' is missing" },
		{ CONTRACT("sources: [k.up], entry: k, flags: [-O1]"), "flag '-O1' is not -loud" },
		{ CONTRACT("sources: [k.up], entry: k, host: true"), "unknown key 'host'" },
		{ CONTRACT(SURFACE) "baseline: openblas.sgemm\n", "'baseline' must be up.none, not 'openblas.sgemm'" },
	};
	/* clang-format on */

	assert_ok(parse(&languages, CONTRACT(SURFACE)));
	assert_ok(parse(&languages, CONTRACT("sources: [k.up, a.txt], entry: k, mood: any")));
	assert_error(KL_EINVALID, "'language' must be one of c, cpp, c++, cuda, not 'up'",
		     parse(&kl_languages, CONTRACT(SURFACE)));
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_error(KL_EINVALID, bad[i].message, parse(&languages, bad[i].text));
}

static void a_copy_of_its_surface_is_in_it(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("copy");
	KL_AUTO(kl_surface_freep) struct kl_surface *other = surface_of(dir, KERNEL("2 * x[i]"));
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	const struct kl_file edit = {
		.path = (char[]){ "k.up" },
		.data = (char[]){ KERNEL("x[i]") },
		.len = strlen(KERNEL("x[i]")),
	};

	assert_ok(kl_surface_with(&surface, other, &edit, 1));
	assert_ptr_equal(surface->contract->language, &up);
	assert_string_not_equal(surface->digest, other->digest);
}

static void its_kernels_are_compiled_and_audited(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("compile");
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = surface_of(dir, KERNEL("2 * x[i]"));
	KL_AUTO(kl_surface_freep) struct kl_surface *parent = surface_of(dir, KERNEL("3 * x[i]"));
	struct kl_builder_set set;

	{
		KL_AUTO(builder_close) struct built at = { .dir = NULL };
		const struct kl_builder_needs wanted = {
			.candidate = surface,
			.parent = parent,
			.march = "x86-64-v3",
		};
		const struct kl_facts *facts;
		struct kl_platform platform;

		assert_ok(builder_open(&at, NULL, NULL));
		assert_int_equal(open_sessions, 0);
		assert_ok(kl_builder_platform(&platform, &at.b, surface));
		assert_int_equal(open_sessions, 1);
		assert_int_equal(strncmp(platform.id, "up/x86-64-v", 11), 0);
		assert_contains(platform.compiler, "up 1, gcc");
		assert_ok(kl_builder_all(&set, &at.b, &wanted));
		assert_non_null(set.candidate->artefact);
		assert_non_null(set.parent->artefact);
		assert_true(kl_fs_exists(set.candidate->artefact->object));
		facts = &set.candidate->artefact->facts;
		assert_true(kl_strvec_has(&facts->features, "loop.depth.1"));
		assert_string_not_equal(facts->code_digest,
					set.parent->artefact->facts.code_digest);
		assert_true(kl_fs_exists(set.oracle->truth) && kl_fs_exists(set.oracle->honest));
		assert_null(set.baseline);
	}
	assert_int_equal(open_sessions, 0);
}

static void what_is_refused_is_refused(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("refuse");
	static const struct {
		const char *kernel, *class_, *message;
	} rows[] = {
		{ "begin begin\n", "compile", "k.c:1:" },
		{ "#include <stdint.h>\nint puts(const char *);\n"
		  "void k(int64_t n, const float *x, float *y) begin puts(\"\"); end\n",
		  "cheat", "puts" },
	};
	KL_AUTO(builder_close) struct built at = { .dir = NULL };

	assert_ok(builder_open(&at, NULL, NULL));
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *surface = surface_of(dir,
										  rows[i].kernel);
		const struct kl_built *built;

		assert_ok(kl_builder_surface(&built, &at.b, surface));
		assert_null(built->artefact);
		assert_string_equal(built->class_, rows[i].class_);
		assert_contains(built->message, rows[i].message);
	}
}

static void its_oracles_outlive_a_session(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("outlive");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = surface_of(dir, KERNEL("2 * x[i]"));
	const struct kl_builder_needs wanted = { .candidate = surface };
	struct kl_builder_set set;

	assert_ok(kl_repo_open_at(&repo, dir));
	compiled_oracles = 0;
	for (int turn = 0; turn < 2; turn++) {
		KL_AUTO(builder_close) struct built at = { .dir = NULL };

		assert_ok(builder_open(&at, repo, NULL));
		assert_ok(kl_builder_all(&set, &at.b, &wanted));
		assert_int_equal(compiled_oracles, 2); /* twice, by the first */
	}
}

static void platforms_go_to_who_owns_them(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("platform");
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = surface_of(dir, KERNEL("2 * x[i]"));
	struct kl_platform platform;

	{
		KL_AUTO(builder_close) struct built at = { .dir = NULL };

		assert_error(KL_EINVALID, "cpu/x86-64-v1 to cpu/x86-64-v4, up/x86-64-v<number>",
			     builder_open(&at, NULL, "cuda/sm_90"));
	}
	{
		KL_AUTO(builder_close) struct built at = { .dir = NULL };

		assert_ok(builder_open(&at, NULL, "up/x86-64-v1"));
		assert_ok(kl_builder_platform(&platform, &at.b, surface));
		assert_string_equal(platform.id, "up/x86-64-v1");
		assert_ok(kl_builder_machine(&platform, &at.b, "up/x86-64-v3"));
		assert_string_equal(platform.id, "up/x86-64-v1");
	}
	{
		KL_AUTO(builder_close) struct built at = { .dir = NULL };

		assert_ok(builder_open(&at, NULL, "cpu/x86-64-v1"));
		assert_error(KL_ECANNOT, "'cpu/x86-64-v1' was requested, but this kernel is in Up",
			     kl_builder_platform(&platform, &at.b, surface));
	}
	{ /* by a session without the row */
		KL_AUTO(builder_close) struct built at = { .dir = NULL };

		assert_ok(builder_open(&at, NULL, NULL));
		at.b.backends = &kl_backends;
		assert_error(KL_ECANNOT, "kernels in Up are not supported",
			     kl_builder_platform(&platform, &at.b, surface));
	}
}

/* Their `surface` is C, so the worker calls them like kernels in C. */
static void a_session_judges_them(void **state)
{
	static const struct {
		const char *kernel, *verdict;
	} rows[] = {
		{ KERNEL("x[i] + x[i]"), "pass" },
		{ KERNEL("2.001f * x[i]"), "fail" },
	};
	KL_AUTO(kl_freep) char *dir = scratch_dir("judge"), *worker = NULL;
	const struct kl_gate_opts opts = { .no_profile = true, .backends = &backends };

	if (kl_fs_program(&worker, "klineage-worker") < 0) {
		print_message("# skip: klineage-worker is not built\n");
		skip();
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_gate_freep) struct kl_gate *gate = NULL;
		KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
		KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;

		surface = surface_of(dir, rows[i].kernel);
		assert_ok(kl_gate_open(&gate, NULL, &opts));
		assert_ok(kl_gate_reaches(gate, surface));
		assert_ok(kl_gate_judge(&judgement, gate, surface, NULL));
		assert_string_equal(kl_verdict_name(judgement->event->verdict), rows[i].verdict);
		assert_contains(judgement->event->place.id, "up/");
	}
}

/* Of the shipped ones each says what every reader of a row takes for granted. */
static void the_shipped_rows_are_whole(void **state)
{
	for (size_t i = 0; kl_languages.row[i]; i++) {
		const struct kl_language *language = kl_languages.row[i];
		const struct kl_contract contract = { .language = language };
		const struct kl_backend *backend = kl_backend_of(&contract);

		assert_true(language->name && language->title && language->suffixes &&
			    language->mains);
		assert_true(language->flag_ok && language->baselines);
		assert_true(language->surface.schema && language->oracle.schema);
		for (const char *const *list = language->mains; *list; list++)
			assert_true(kl_suffix_in(*list, language->suffixes));
		assert_ptr_equal(backend->language, language);
		assert_true(backend->object && backend->describe && backend->platforms &&
			    backend->owns);
		assert_true(backend->guess && backend->port && backend->open && backend->close &&
			    backend->platform);
		assert_true(backend->prepare && backend->compile && backend->oracle &&
			    backend->recipe);
		assert_true(backend->peak.bytes_per_ns > 0 && backend->peak.flops_per_ns > 0);
		assert_true(!backend->walled || backend->tier != KL_TIER_OTHER);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_contracts_say_what_its_row_says),
		cmocka_unit_test(a_copy_of_its_surface_is_in_it),
		cmocka_unit_test(its_kernels_are_compiled_and_audited),
		cmocka_unit_test(what_is_refused_is_refused),
		cmocka_unit_test(its_oracles_outlive_a_session),
		cmocka_unit_test(platforms_go_to_who_owns_them),
		cmocka_unit_test(a_session_judges_them),
		cmocka_unit_test(the_shipped_rows_are_whole),
	};

	return cmocka_run_group_tests_name("backend", tests, scratch_setup, scratch_teardown);
}
