/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "adopt/command.h"
#include "adopt/options.h"
#include "adopt/shell_line.h"
#include "base/buf.h"
#include "base/error.h"

/* Write the words as "[a][b c]|[d]", with the unknown ones after "?". */
static void show_line(struct kl_buf *out, const struct kl_shell_line *line)
{
	for (size_t i = 0; i < line->n; i++) {
		kl_buf_adds(out, i ? "|" : "");
		for (size_t k = 0; k < line->v[i].n; k++)
			kl_buf_addf(out, "[%s]", line->v[i].v[k]);
	}
	for (size_t i = 0; i < line->unknown.n; i++)
		kl_buf_addf(out, "?%s", line->unknown.v[i]);
}

static void lines_are_split_as_a_shell_does(void **state)
{
	/* clang-format off */
	static const struct { const char *line, *words; } rows[] = {
		{ "", "" },
		{ "gcc -c a.c", "[gcc][-c][a.c]" },
		{ "  gcc\t-c   a.c\r\n", "[gcc][-c][a.c]" },
		{ "gcc '-DA=b c' \"-DB=\\\"x\\\"\" -DC=\\\"y\\\" a\\ b.c", "[gcc][-DA=b c][-DB=\"x\"][-DC=\"y\"][a b.c]" },
		{ "gcc -D'X'\"Y\"Z ''", "[gcc][-DXYZ][]" },
		{ "cd sub && gcc -c a.c; echo done | cat", "[cd][sub]|[gcc][-c][a.c]|[echo][done]|[cat]" },
		{ "(cd sub; make) || exit 1 &", "[cd][sub]|[make]|[exit][1]" },
		{ "gcc -c a.c >log 2>&1 <in -O2", "[gcc][-c][a.c][-O2]" },
		{ "gcc -c a.c # -O3", "[gcc][-c][a.c]" },
		{ "gcc -c a#b.c", "[gcc][-c][a#b.c]" },
		{ "gcc \\\n -c \\\r\n a.c", "[gcc][-c][a.c]" },
		{ "gcc `pkg-config --cflags x` $(y z) $CFLAGS ${A B} -c a.c",
		  "[gcc][-c][a.c]?`pkg-config --cflags x`?$(y z)?$CFLAGS?${A B}" },
		{ "gcc \"-I$HOME/x\" -c a.c", "[gcc][-c][a.c]?\"-I$HOME/x\"" },
		{ "gcc '$HOME'", "[gcc][$HOME]" },
		{ "rm -rf / ; `reboot`", "[rm][-rf][/]?`reboot`" },
	};
	/* clang-format on */
	static const char *const bad[] = { "gcc 'a", "gcc \"a", "gcc `a", "gcc $(a", "gcc \"`a\"" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_shell_release) struct kl_shell_line line = { .v = NULL };
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		kl_buf_adds(&text, "");
		assert_ok(kl_shell_split(&line, rows[i].line, strlen(rows[i].line)));
		show_line(&text, &line);
		assert_string_equal(text.len ? text.ptr : "", rows[i].words);
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(kl_shell_release) struct kl_shell_line line = { .v = NULL };

		assert_error(KL_EINVALID, "unterminated",
			     kl_shell_split(&line, bad[i], strlen(bad[i])));
	}
}

static void a_database_is_data(void **state)
{
	static const char text[] =
		"[{\"directory\": \"/p/build\", \"file\": \"../a.c\","
		" \"command\": \"/usr/bin/cc -O3 -I../inc -o a.o -c ../a.c\"},\r\n"
		"{\"directory\": \"/p\", \"file\": \"/p/b.c\", \"output\": \"b.o\","
		" \"arguments\": [\"ccache\", \"gcc-12\", \"-DX=a b\", \"-c\", \"b.c\"]},\n"
		"{\"directory\": \"sub\", \"file\": \"c.c\", \"command\": \"strange-compiler -c c.c\"},\n"
		"{\"directory\": \"/p\", \"file\": \"d.c\", \"command\": \"gcc 'd.c\"},\n"
		"{\"directory\": \"/p\", \"file\": \"e.c\"}, 7, null,\n"
		"{\"directory\": \"/p\", \"file\": \"f.c\", \"arguments\": [1, 2]},\n"
		"{\"directory\": \"/p\", \"command\": \"gcc f.c\"}]\n";
	KL_AUTO(kl_commands_release) struct kl_commands commands = { .v = NULL };
	struct kl_commands bad = { .v = NULL };

	assert_ok(kl_commands_json(&commands, "/p", text, sizeof(text) - 1));
	assert_int_equal(commands.n, 3);
	assert_int_equal(commands.skipped, 6);
	assert_string_equal(commands.v[0].file, "/p/a.c");
	assert_string_equal(commands.v[0].dir, "/p/build");
	assert_string_equal(commands.v[1].word.v[0], "gcc-12");
	assert_string_equal(commands.v[1].word.v[1], "-DX=a b");
	assert_string_equal(commands.v[2].file, "/p/sub/c.c");
	assert_error(KL_EINVALID, "not a JSON list", kl_commands_json(&bad, "/p", "{}", 2));
	assert_error(KL_EINVALID, "", kl_commands_json(&bad, "/p", "[{\"a\"", 5));
	assert_int_equal(bad.n, 0);
}

static void what_make_prints_is_followed(void **state)
{
	static const char text[] = "make: Entering directory '/p'\n"
				   "echo \"CC a.c\"\n"
				   "gcc -O3 -Iinc -c -o obj/a.o a.c\r\n"
				   "mkdir -p obj && cd lib && CFLAGS=x ccache clang -c \\\n"
				   "	b.c -o b.o\n"
				   "make -C sub all\n"
				   "make[1]: Entering directory '/p/sub'\n"
				   "/bin/sh ../libtool --tag=CC --mode=compile gcc -DSUB -c c.c\n"
				   "if test -f x; then gcc -c 'broken; fi\n"
				   "make[1]: Leaving directory '/p/sub'\n"
				   "gcc -o run main.c util.c obj/a.o -lm -I .. -include pre.c\n"
				   "ar rcs liba.a obj/a.o\n"
				   "grep gcc d.c\n"
				   "make: Leaving directory '/p'\n";
	KL_AUTO(kl_commands_release) struct kl_commands commands = { .v = NULL };
	static const char *const files[] = { "/p/a.c",    "/p/lib/b.c", "/p/sub/c.c",
					     "/p/main.c", "/p/util.c",  "/p/d.c" };

	assert_ok(kl_commands_make(&commands, "/elsewhere", text, sizeof(text) - 1));
	assert_int_equal(commands.n, KL_ARRAY_SIZE(files));
	assert_int_equal(commands.skipped, 1);
	for (size_t i = 0; i < commands.n; i++)
		assert_string_equal(commands.v[i].file, files[i]);
	assert_string_equal(commands.v[1].dir, "/p/lib");
	assert_string_equal(commands.v[1].word.v[0], "clang");
	assert_string_equal(commands.v[2].word.v[1], "-DSUB");
	assert_string_equal(commands.v[3].dir, "/p");
}

static void assert_list(const struct kl_strvec *list, const char *want)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	for (size_t i = 0; i < list->n; i++)
		kl_buf_addf(&text, "%s%s", i ? " " : "", list->v[i]);
	assert_string_equal(text.len ? text.ptr : "", want);
}

static bool has_reason(const struct kl_options *options, const char *start)
{
	for (size_t i = 0; i < options->dropped.n; i++)
		if (!strncmp(options->dropped.v[i], start, strlen(start)))
			return true;
	return false;
}

static void what_matters_is_taken(void **state)
{
	static const char line[] =
		"cc -c -O1 -g -Wall -Werror -std=c99 -O4 -std=gnu99 -I inc -I../up -Iinc -iquote q "
		"-isystem /opt/sys -DA -DB=1 -DB=2 '-DNAME=\"x y\"' -UB -UC -DC -D__X=1 '-DF(x)=x' -DNDEBUG "
		"-D_GNU_SOURCE -include config.h -march=native -mavx2 -ffast-math -fPIC -flto -fopenmp "
		"-funroll-loops -fplugin=x.so -MMD -MF a.d -x c @more -pipe -o a.o a.c -lm -Wl,-z,x -Wp,-DP "
		"$EXTRA";
	KL_AUTO(kl_commands_release) struct kl_commands commands = { .v = NULL };
	KL_AUTO(kl_options_release) struct kl_options options = { .include = KL_STRVEC_INIT };
	KL_AUTO(kl_options_release) struct kl_options other = { .include = KL_STRVEC_INIT };

	assert_ok(kl_commands_make(&commands, "/p/src", line, sizeof(line) - 1));
	assert_int_equal(commands.n, 1);
	kl_options_read(&options, &commands.v[0], &kl_language_c);
	assert_list(&options.flags, "-O3 -std=gnu99 -mavx2 -ffast-math -funroll-loops");
	assert_list(&options.include, "/p/src/inc /p/up");
	assert_list(&options.iquote, "/p/src/q");
	assert_list(&options.isystem, "/opt/sys");
	assert_list(&options.define, "A NAME=\"x y\" C _GNU_SOURCE");
	assert_list(&options.undefine, "B");
	assert_list(&options.preinclude, "config.h");
	assert_true(has_reason(&options, "-march=native: the platform"));
	assert_true(has_reason(&options, "-flto: "));
	assert_true(has_reason(&options, "-fopenmp: a kernel runs on one thread"));
	assert_true(has_reason(&options, "-fplugin=x.so: "));
	assert_true(has_reason(&options, "-D__X=1: "));
	assert_true(has_reason(&options, "-DF(x)=x: "));
	assert_true(has_reason(&options, "@more: "));
	assert_true(
		has_reason(&options, "-Wp,-DP: adopt does not read lists of preprocessor options"));
	assert_true(has_reason(&options, "$EXTRA: only a shell can expand this"));
	assert_int_equal(options.dropped.n, 9);
	kl_strvec_push(&other.define, "A=3");
	kl_strvec_push(&other.define, "NEW");
	kl_strvec_push(&other.undefine, "B");
	kl_strvec_push(&other.undefine, "C");
	kl_strvec_push(&other.undefine, "GONE");
	kl_strvec_push(&other.flags, "-mavx2");
	kl_strvec_push(&other.flags, "-O2");
	kl_strvec_push(&other.include, "/p/more");
	kl_options_merge(&options, &other, "b.c");
	assert_list(&options.define, "A NAME=\"x y\" C _GNU_SOURCE NEW");
	assert_list(&options.include, "/p/src/inc /p/up /p/more");
	assert_list(&options.undefine, "B GONE");
	assert_list(&options.flags, "-O3 -std=gnu99 -mavx2 -ffast-math -funroll-loops");
	assert_true(has_reason(&options, "-DA=3 of b.c: "));
	assert_true(has_reason(&options, "-UC of b.c: the kernel's own file"));
	assert_true(has_reason(&options, "-O2 of b.c: the kernel's own file"));
	assert_int_equal(options.dropped.n, 12);
}

static void flags_of_cpp_are_those_of_its_contracts(void **state)
{
	static const char line[] = "c++ -std=c++2a -std=gnu++1z -fno-rtti -fexceptions -O4 -c a.cc";
	KL_AUTO(kl_commands_release) struct kl_commands commands = { .v = NULL };
	KL_AUTO(kl_options_release) struct kl_options options = { .include = KL_STRVEC_INIT };
	KL_AUTO(kl_options_release) struct kl_options plain = { .include = KL_STRVEC_INIT };

	assert_ok(kl_commands_make(&commands, "/p", line, sizeof(line) - 1));
	assert_int_equal(commands.n, 1);
	kl_options_read(&options, &commands.v[0], &kl_language_cpp);
	assert_list(&options.flags, "-std=gnu++17 -fno-rtti -O3");
	assert_true(has_reason(&options, "-fexceptions: a kernel has no exceptions"));
	kl_options_read(&plain, &commands.v[0], &kl_language_c);
	assert_list(&plain.flags, "-O3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_split_as_a_shell_does),
		cmocka_unit_test(a_database_is_data),
		cmocka_unit_test(what_make_prints_is_followed),
		cmocka_unit_test(what_matters_is_taken),
		cmocka_unit_test(flags_of_cpp_are_those_of_its_contracts),
	};

	return cmocka_run_group_tests_name("adopt command", tests, NULL, NULL);
}
