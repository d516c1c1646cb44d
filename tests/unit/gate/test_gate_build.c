/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session compiles: at once, each in its own directory, oracles once for all sessions of a
 * clone, and the next candidate while a device judges one.
 */
#include "scratch.h"

#include <sys/stat.h>

#include "backend/object_cache.h"
#include "base/clock.h"
#include "base/par.h"
#include "gate/ahead.h"

static const char contract_text[] =
	"klineage: 1\nworkload: twice\ncase: {op: scale, dims: {n: 1000}}\n"
	"surface: {language: c, sources: [k.c], entry: k, flags: [-O1]}\n"
	"args:\n  - {name: n, kind: dim}\n"
	"  - {name: x, kind: in, dtype: f32, shape: [n], fill: normal}\n"
	"  - {name: y, kind: out, dtype: f32, shape: [n]}\n"
	"cases: [{dims: {n: 1000}, weight: 1}]\n"
	"oracle: {language: c, sources: [oracle.c], entry: oracle}\n"
	"accept: {rule: noise, max: 4, rms: 2}\n";
static const char oracle_text[] = "#include <stdint.h>\n#include \"kl_oracle.h\"\n"
				  "void oracle(int64_t n, const kl_real *x, kl_real *y)\n"
				  "{\n\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = 2 * x[i];\n}\n";
static const char kernel_text[] =
	"#include <stdint.h>\nvoid k(int64_t n, const float *x, float *y)\n"
	"{\n\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i] + x[i];\n}\n";

/* One session over a directory of sources. */
struct session {
	struct kl_jail jail;
	struct kl_builder b;
	char *scratch;
	struct kl_surface *candidate, *parent;
};

static void put(const char *dir, const char *name, const char *text)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, name);

	assert_ok(kl_fs_put(path, text, strlen(text), 0644));
}

static void put_all(const char *dir)
{
	put(dir, "klineage.yaml", contract_text);
	put(dir, "oracle.c", oracle_text);
	put(dir, "k.c", kernel_text);
}

static void session_open(struct session *session, struct kl_repo *repo, const char *dir,
			 enum kl_jail_level level)
{
	static const char other[] =
		"#include <stdint.h>\nvoid k(int64_t n, const float *x, float *y)\n"
		"{\n\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = 2 * x[i];\n}\n";
	const struct kl_file edit = { .path = (char *)"k.c",
				      .mode = 0100644,
				      .data = (char *)other,
				      .len = sizeof(other) - 1 };

	*session = (struct session){ .scratch = NULL };
	assert_ok(kl_jail_open(&session->jail, level));
	assert_ok(kl_fs_tempdir(&session->scratch, "kl-build"));
	session->b = (struct kl_builder){
		.session = { .jail = &session->jail, .repo = repo, .dir = session->scratch },
	};
	assert_ok(kl_builder_open(&session->b));
	assert_ok(kl_surface_from_dir(&session->candidate, dir, ""));
	assert_ok(kl_surface_with(&session->parent, session->candidate, &edit, 1));
}

static void session_close(struct session *session)
{
	kl_builder_release(&session->b);
	kl_surface_free(session->candidate);
	kl_surface_free(session->parent);
	kl_fs_tempdir_cleanup(&session->scratch);
}

static int all(struct kl_builder_set *set, struct session *session)
{
	const struct kl_builder_needs wanted = { .candidate = session->candidate,
						 .parent = session->parent };

	return kl_builder_all(set, &session->b, &wanted);
}

/*
 * How many compilers ran on what the gate adds to a kernel (both builds of the oracle, the runtime,
 * the library that records lookups), by what they left.
 */
static int compiled(const struct session *session)
{
	KL_AUTO(kl_freep) char *n = sh_text(session->scratch,
					    "find . -name src-truth -o -name src-honest "
					    "-o -path '*/runtime/rt/runtime.c' "
					    "-o -path '*/lookups/rt/lookups.c' | wc -l");

	return atoi(n);
}

static char *bytes(const char *path)
{
	return sh_text("/", "sha256sum <'%s'", path);
}

static void one_judgement_is_compiled_at_once(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("at-once");

	put_all(dir);
	for (int level = KL_JAIL_BWRAP; level <= KL_JAIL_NONE; level++) {
		KL_AUTO(session_close) struct session session = { .scratch = NULL };
		struct kl_builder_set set, again;
		const struct kl_built *alone;
		struct kl_jail probe;

		if (kl_jail_open(&probe, (enum kl_jail_level)level) < 0) {
			print_message("SKIPPED: %s\n", kl_error_last());
			continue;
		}
		session_open(&session, NULL, dir, (enum kl_jail_level)level);
		assert_ok(all(&set, &session));
		assert_non_null(set.candidate->artefact);
		assert_non_null(set.parent->artefact);
		assert_string_not_equal(set.candidate->artefact->digest, "");
		assert_true(kl_fs_exists(set.candidate->artefact->object) &&
			    kl_fs_exists(set.parent->artefact->object));
		assert_true(kl_fs_exists(set.oracle->truth) && kl_fs_exists(set.oracle->honest));
		assert_null(set.baseline);
		/* what is there stays */
		assert_ok(all(&again, &session));
		assert_memory_equal(&set, &again, sizeof(set));
		assert_ok(kl_builder_surface(&alone, &session.b, session.parent));
		assert_ptr_equal(alone, set.parent);
		assert_int_equal(compiled(&session), 4);
	}
}

/* Alone and at once, with and without a runtime made beforehand: the same bytes. */
static void order_does_not_matter(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("order");
	KL_AUTO(session_close) struct session other = { .scratch = NULL },
					      session = { .scratch = NULL };
	struct kl_builder_set set;
	const struct kl_built *alone;

	put_all(dir);
	session_open(&other, NULL, dir, KL_JAIL_AUTO);
	session_open(&session, NULL, dir, KL_JAIL_AUTO);
	assert_ok(all(&set, &other));
	assert_ok(kl_builder_surface(&alone, &session.b, session.candidate));
	assert_string_equal(alone->artefact->digest, set.candidate->artefact->digest);
	assert_int_equal(compiled(&session), 2);
}

static void refusals_and_errors_keep_their_order(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("refused");
	struct kl_builder_set set;

	put_all(dir);
	put(dir, "k.c", "this is no C\n");
	{
		KL_AUTO(session_close) struct session session = { .scratch = NULL };

		session_open(&session, NULL, dir, KL_JAIL_AUTO);
		assert_ok(all(&set, &session));
		assert_null(set.candidate->artefact);
		assert_string_equal(set.candidate->class_, "compile");
		assert_contains(set.candidate->message, "k.c:1:");
		assert_null(set.parent);
	}
	/* without an oracle nothing can be said of any candidate */
	put(dir, "oracle.c", "also no C\n");
	{
		KL_AUTO(session_close) struct session session = { .scratch = NULL };

		session_open(&session, NULL, dir, KL_JAIL_AUTO);
		assert_error(KL_ECANNOT,
			     "oracle of 'twice': oracle: oracle.c:1:", all(&set, &session));
		/* an error is not kept: it is asked again */
		assert_error(KL_ECANNOT,
			     "oracle of 'twice': oracle: oracle.c:1:", all(&set, &session));
	}
	put(dir, "oracle.c", "/* KL_ORACLE_TODO */\n");
	{
		KL_AUTO(session_close) struct session session = { .scratch = NULL };

		session_open(&session, NULL, dir, KL_JAIL_AUTO);
		assert_error(KL_ECANNOT, "not written yet", all(&set, &session));
	}
}

/* ---- from session to session ---- */

#define OBJECTS ".git/klineage/cache/objects"

static void the_next_session_has_the_oracle(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("next");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(session_close) struct session session = { .scratch = NULL },
					      other_session = { .scratch = NULL },
					      other = { .scratch = NULL };
	KL_AUTO(kl_freep) char *first = NULL, *second = NULL, *third = NULL;
	struct kl_builder_set set;

	put_all(dir);
	assert_ok(kl_repo_open_at(&repo, dir));
	session_open(&session, repo, dir, KL_JAIL_AUTO);
	assert_ok(all(&set, &session));
	assert_int_equal(compiled(&session), 4);
	first = bytes(set.oracle->truth);
	assert_sh("4", dir, "find " OBJECTS " -type f | wc -l");
	session_open(&other_session, repo, dir, KL_JAIL_AUTO);
	assert_ok(all(&set, &other_session));
	assert_int_equal(compiled(&other_session), 0);
	second = bytes(set.oracle->truth);
	assert_string_equal(first, second);
	assert_non_null(set.candidate->artefact);
	/* another oracle is another object, and the old one is not touched */
	sh(dir, "sed -i 's/2 \\* x/3 * x/' oracle.c");
	session_open(&other, repo, dir, KL_JAIL_AUTO);
	assert_ok(all(&set, &other));
	assert_int_equal(compiled(&other), 2);
	third = bytes(set.oracle->truth);
	assert_string_not_equal(first, third);
	assert_sh("6", dir, "find " OBJECTS " -type f | wc -l");
	sh(dir, "git fsck --strict");
}

/* Whatever is wrong with an entry, it is compiled again and put in its place. */
static void an_entry_that_is_not_ours_is_none(void **state)
{
	static const char *const harm[] = {
		": >\"$f\"",
		"printf x | dd of=\"$f\" bs=1 seek=2000 conv=notrunc 2>/dev/null",
		"head -c 900 \"$f\" >x && mv x \"$f\"",
		"chmod g+w \"$f\"",
		"chmod o+w \"$f\"",
		"mv \"$f\" \"$f.x\" && ln -s \"$f.x\" \"$f\"",
		"cp \"$g\" \"$f\"",
		"rm \"$f\" && mkfifo \"$f\"",
	};
	KL_AUTO(kl_freep) char *dir = scratch_repo("harm");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_builder_set set;

	put_all(dir);
	assert_ok(kl_repo_open_at(&repo, dir));
	for (size_t i = 0; i < KL_ARRAY_SIZE(harm); i++) {
		for (int turn = 0; turn < 2; turn++) {
			KL_AUTO(session_close) struct session session = { .scratch = NULL };

			session_open(&session, repo, dir, KL_JAIL_AUTO);
			assert_ok(all(&set, &session));
			if (compiled(&session) != (turn ? 1 : 4))
				fail_msg("%s: %d compiled", harm[i], compiled(&session));
			if (!turn)
				sh(dir, "set -- $(find $PWD/" OBJECTS " -type f); f=$1 g=$2; %s",
				   harm[i]);
		}
		sh(dir, "rm -rf " OBJECTS);
	}
}

/* Root's clone used by root alone: what another user left there is not run. */
static void anothers_entry_is_none(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("owner"), *path = kl_asprintf("%s/x", dir);
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	char hex[KL_DIGEST_HEX];

	if (geteuid() != 0)
		skip();
	assert_ok(kl_repo_open_at(&repo, dir));
	kl_digest_hex(hex, "key", 3);
	put(dir, "o", "object");
	sh(dir, "cp o x");
	kl_objects_put(repo, hex, path);
	sh(dir, "rm x");
	assert_ok(kl_objects_get(repo, hex, path));
	assert_sh("object", dir, "cat x");
	sh(dir, "chown 65534 $(find " OBJECTS " -type f)");
	assert_int_equal(kl_objects_get(repo, hex, path), KL_ENOTFOUND);
}

/* A clone that cannot be written to is slower, no more. */
static void what_cannot_be_kept_is_no_error(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("full");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(session_close) struct session session = { .scratch = NULL };
	struct kl_builder_set set;

	put_all(dir);
	assert_ok(kl_repo_open_at(&repo, dir));
	sh(dir, "mkdir -p .git/klineage && : >.git/klineage/cache");
	session_open(&session, repo, dir, KL_JAIL_AUTO);
	assert_ok(all(&set, &session));
	assert_non_null(set.candidate->artefact);
}

/* A job that ends once something was compiled in the session's directory, or after a minute. */
static int wait_for_compiler(json_t **result, const struct kl_runner_work *work)
{
	int64_t end = kl_clock_ns() + (int64_t)60 * 1000000000;
	bool seen = false;

	while (!seen && kl_clock_ns() < end) {
		KL_AUTO(kl_freep) char *n = sh_text(work->dir, "find . -type f | wc -l");

		seen = atoi(n) > 0;
	}
	*result = json_pack("{s:b}", "seen", seen);
	return 0;
}

static int run_nothing(json_t **result, const struct kl_runner_work *work)
{
	return kl_error(KL_ECANNOT, "the worker is gone");
}

static void the_next_one_is_compiled_while_a_device_judges(void **state)
{
	static const struct kl_runner_way ways[] = { { .name = "waits", .run = wait_for_compiler },
						     { .name = "none", .run = run_nothing } };
	static const struct kl_backend_device device = { .name = "GPU" };
	KL_AUTO(kl_freep) char *dir = scratch_dir("ahead");
	KL_AUTO(session_close) struct session session = { .scratch = NULL };
	KL_AUTO(json_decrefp) json_t *result = NULL;
	struct kl_runner runner = { .way = &ways[1] };
	struct kl_runner_work work = { .device = &device };
	struct kl_ahead next = { .candidate = NULL };
	const struct kl_built *built;

	put_all(dir);
	session_open(&session, NULL, dir, KL_JAIL_NONE);
	work.dir = session.scratch;
	/* the error of the job is reported, and nothing is compiled for no candidate */
	assert_int_equal(kl_ahead_run(&result, &runner, &work, &session.b, &next), KL_ECANNOT);
	assert_contains(kl_error_last(), "the worker is gone");
	assert_int_equal(compiled(&session), 0);
	/* nor beside a kernel that a CPU judges */
	next.candidate = session.candidate;
	work.device = NULL;
	assert_int_equal(kl_ahead_run(&result, &runner, &work, &session.b, &next), KL_ECANNOT);
	assert_int_equal(compiled(&session), 0);
	work.device = &device;
	if (kl_par_width() < 2) {
		print_message("SKIPPED: one processor does one thing after the other\n");
		return;
	}
	runner.way = &ways[0];
	assert_ok(kl_ahead_run(&result, &runner, &work, &session.b, &next));
	assert_true(json_is_true(json_object_get(result, "seen")));
	assert_int_equal(compiled(&session), 4);
	assert_ok(kl_builder_surface(&built, &session.b, session.candidate));
	assert_non_null(built->artefact);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_one_is_compiled_while_a_device_judges),
		cmocka_unit_test(one_judgement_is_compiled_at_once),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(refusals_and_errors_keep_their_order),
		cmocka_unit_test(the_next_session_has_the_oracle),
		cmocka_unit_test(an_entry_that_is_not_ours_is_none),
		cmocka_unit_test(anothers_entry_is_none),
		cmocka_unit_test(what_cannot_be_kept_is_no_error),
	};

	return cmocka_run_group_tests_name("gate build", tests, scratch_setup, scratch_teardown);
}
