/* SPDX-License-Identifier: Apache-2.0 */
/* Trailers: we read the same trailers as `git interpret-trailers --parse`. */
#include "scratch.h"

#include "base/rng.h"

static const char *const cases[] = {
	"Subject\n\nKlineage-Action: untile\nKlineage-Step: 3\n",
	"Subject\n\nBody\n\nKlineage-Action: untile\n",
	"Subject\nKlineage-Action: in the title\n",
	"Subject\n\nBody text\nKlineage-Action: mixed\n",
	"Subject\n\none\ntwo\nthree\nKlineage-Action: x\nSigned-off-by: A <b>\n",
	"Subject\n\n1\n2\n3\n4\n5\n6\n7\nKlineage-Action: x\nSigned-off-by: A <b>\n",
	"Subject\n\nKlineage-Action: a\nKlineage-Action: b\n",
	"Subject\n\nklineage-action: lower case\n",
	"Subject\n\nKlineage-Action : space\n",
	"Subject\n\nKlineage-Action:no space\n",
	"Subject\n\nKlineage-Action:\n",
	"Subject\n\nKlineage-Action: a \n  folded\tonce \n and twice\nOther: x\n",
	"Subject\n\nKlineage-Action:\n  only folded\n",
	"Subject\n\nKlineage-Action: a\n\n\n",
	"Subject\n\nKlineage-Action: a\n# comment\n\n# more\n",
	"Subject\n\n# comment\nKlineage-Action: a\n# inside\n  folded?\n",
	"Subject\n\nKlineage-Action: a\n---\nKlineage-Action: b\n",
	"Subject\n\nKlineage-Action: a\n--- \n a.c | 2 ++\n",
	"Subject\n\nKlineage-Action: a\n---",
	"Subject\n\nKlineage-Action: a\n\nConflicts:\n\ta.c\n\tb.c\n",
	"Subject\n\nKlineage-Action: a\n# ------------------------ >8 ------------------------\nX: y\n",
	"Subject\n\nKlineage-Action: a\n\nnot a trailer\n",
	"Subject\n\n  indented: no\nKlineage-Action: a\n",
	"Subject\n\n(cherry picked from commit 1234)\nKlineage-Action: a\nwords\nwords\n",
	"Subject\n\nKlineage-Action: a\r\nOther: b\r\n",
	"\n\nSubject\n\nKlineage-Action: a\n",
	"Subject\n \nKlineage-Action: a\n",
	"Subject\n\nKlineage Action: no\nKlineage-Action: yes\n",
	"Subject\n\nKlineage-Action: a",
	"Subject",
	"",
	"\n",
	":",
	"a\n\n:b\nKlineage-Action: x\n",
};

/* Return the last value of the key in the parsed output; NULL if it is not there. */
static char *as_git(const char *dir, const char *message, const char *key)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "message");
	KL_AUTO(kl_freep) char *text = NULL;
	size_t n = strlen(key);
	char *value = NULL;

	assert_ok(kl_fs_put(path, message, strlen(message), 0600));
	text = sh_text(dir, "git interpret-trailers --parse message");
	for (char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (strncasecmp(at, key, n) || at[n] != ':')
			continue;
		free(value);
		value = kl_strndup(at + n + 2, strcspn(at + n + 2, "\n"));
	}
	return value;
}

static void compare(const char *dir, const char *message)
{
	KL_AUTO(kl_freep) char *want = as_git(dir, message, "Klineage-Action");
	KL_AUTO(kl_freep) char *got = kl_trailer_get(message, "Klineage-Action");

	if (!want != !got || (want && strcmp(want, got)))
		fail_msg("'%s' instead of '%s' from:\n%s", got ? got : "(none)",
			 want ? want : "(none)", message);
}

/* Reading several keys at once gives the same values as reading each alone. */
static void several(void)
{
	static const char *const key[] = { "Klineage-Action", "absent", "other", "Klineage-Step" };
	char *value[KL_ARRAY_SIZE(key)];

	for (size_t i = 0; i < KL_ARRAY_SIZE(cases); i++) {
		kl_trailers_get(value, cases[i], key, KL_ARRAY_SIZE(key));
		for (size_t k = 0; k < KL_ARRAY_SIZE(key); k++) {
			KL_AUTO(kl_freep) char *alone = kl_trailer_get(cases[i], key[k]);

			if (!alone != !value[k] || (alone && strcmp(alone, value[k])))
				fail_msg("%s: '%s' instead of '%s'", key[k], value[k], alone);
			free(value[k]);
		}
	}
}

static void known(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("trailers");
	KL_AUTO(kl_freep) char *value = kl_trailer_get(cases[0], "klineage-step");

	assert_string_equal(value, "3");
	assert_null(kl_trailer_get(cases[0], "Klineage"));
	several();
	for (size_t i = 0; i < KL_ARRAY_SIZE(cases); i++)
		compare(dir, cases[i]);
}

static void random_messages(void **state)
{
	static const char *const piece[] = {
		"Klineage-Action: x\n",
		"Klineage-Action: long value\n",
		"Other-Key: y\n",
		"\n",
		"\n",
		"words here\n",
		" folded\n",
		"# comment\n",
		"Signed-off-by: A <b@c>\n",
		"(cherry picked from commit 12)\n",
		"Conflicts:\n",
		"\tfile\n",
		"---\n",
		"klineage-action : z\n",
		"   \n",
		"key without value:\n",
	};
	KL_AUTO(kl_freep) char *dir = scratch_repo("random");
	uint64_t seed = kl_rng_os_seed();
	struct kl_rng rng;

	kl_rng_seed(&rng, seed);
	print_message("seed %llu\n", (unsigned long long)seed);
	for (int i = 0; i < 200; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
		uint64_t n = kl_rng_below(&rng, 12);

		kl_buf_adds(&buf, kl_rng_below(&rng, 8) ? "Subject\n\n" : "");
		while (n--)
			kl_buf_adds(&buf, piece[kl_rng_below(&rng, KL_ARRAY_SIZE(piece))]);
		compare(dir, buf.ptr);
	}
}

static void subjects(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("subjects");
	const char *const message[] = {
		"one line",
		"two\nlines\n\nbody\n",
		"\n\n  late\nstart \n\nbody",
		"with body\n\nx\n",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(message); i++) {
		KL_AUTO(kl_freep) char *got = kl_trailer_subject(message[i]);
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "message");

		assert_ok(kl_fs_put(path, message[i], strlen(message[i]), 0600));
		assert_sh(got, dir,
			  "git log -1 --format=%%s $(git commit-tree -F message HEAD^{tree})");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known),
		cmocka_unit_test(random_messages),
		cmocka_unit_test(subjects),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
