/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include "backend/c/lookups.h"

static struct kernel kernel;

static int setup(void **state)
{
	kernel_setup(&kernel);
	return 0;
}

static int teardown(void **state)
{
	kernel_teardown(&kernel);
	return 0;
}

#define RETURN(value) "int k(void) { return " value "; }\n"
#define HAS(what) "#if " what "\n" RETURN("1") "#else\n" RETURN("2") "#endif\n"

/* Sources that could be compiled to other code elsewhere. */
/* clang-format off */
static const struct { const char *what, *source, *flags, *message; } knowing[] = {
	{ "a file of the machine", HAS("__has_include(\"/etc/passwd\")"), NULL, "looks for the file '/etc/passwd'" },
	{ "a file that no machine has", HAS("__has_include(\"/nonexistent/file\")"), NULL, "'/nonexistent/file'" },
	{ "a pasted name", "#define PASTE(a, b) a##b\n" HAS("PASTE(__has_, include)(\"/etc/passwd\")"), NULL, "'/etc/passwd'" },
	{ "a name by another macro", "#define H __has_include\n#define F \"/etc/passwd\"\n" HAS("H(F)"), NULL, "'/etc/passwd'" },
	{ "a name by a flag", HAS("H(\"/etc/passwd\")"), "-DH=__has_include", "'/etc/passwd'" },
	{ "spelled in pieces", HAS("__has_\\\ninclude(\"/proc/self/exe\")"), NULL, "'/proc/self/exe'" },
	{ "the next one", HAS("__has_include_next(<cuda.h>)"), NULL, "cuda.h" },
	{ "a package", HAS("__has_include(<cuda.h>)"), NULL, "cuda.h" },
	{ "a header of Linux", "#include <linux/version.h>\n" RETURN("LINUX_VERSION_CODE"), NULL, "linux/version.h" },
	{ "a header that is not there", HAS("__has_include(\"config.h\")"), NULL, "config.h" },
	{ "the gate's files", HAS("__has_include(\"../rt/lookups.c\")"), NULL, "lookups.c" },
	{ "the gate's folder", HAS("__has_include(\"../src-kernel/k.c\")"), NULL, "../src-kernel/k.c" },
	{ "the directory above", HAS("__has_include(\"../../../../etc/passwd\")"), NULL, "/etc/passwd" },
	{ "a dependency", "#pragma GCC dependency \"/usr/bin/env\"\n" RETURN("1"), NULL, "/usr/bin/env" },
	{ "bytes of a program", "__asm__(\".section .rodata\\n.incbin \\\"/usr/bin/env\\\"\\n.text\");\n" RETURN("1"), NULL, "/usr/bin/env" },
	{ "the compiler's own bytes", "__asm__(\".section .rodata\\n.incbin \\\"/usr/bin/../bin/as\\\",0,16\\n.text\");\n" RETURN("1"), NULL, "bin/as" },
	{ "assembly of a device", "__asm__(\".include \\\"/dev/null\\\"\");\n" RETURN("1"), NULL, "/dev/null" },
	{ "its name", "const char *k(void) { return __FILE__; }\n", NULL, "k.c: depends on where or when it is compiled: remove __FILE__" },
	{ "a letter of its name", RETURN("__FILE__[0] == '/'"), NULL, "remove __FILE__" },
	{ "whether its name is the gate's", "#include <string.h>\n" RETURN("!strcmp(__FILE__, \"src-kernel/k.c\")"), "-O2", "remove __FILE__" },
	{ "the first name", "const char *k(void) { return __BASE_FILE__; }\n", NULL, "remove __BASE_FILE__" },
	{ "the name by a builtin", RETURN("__builtin_FILE()[0]"), NULL, "remove __builtin_FILE" },
	{ "the builtin, pasted", "#define PASTE(a, b) a##b\n" RETURN("PASTE(__builtin_, FILE)()[0]"), NULL, "depends on where or when" },
	{ "the date", "const char *k(void) { return __DATE__; }\n", NULL, "remove __DATE__" },
	{ "the century", RETURN("__DATE__[7] == '2'"), "-w", "remove __DATE__" },
	{ "the time", "#pragma GCC diagnostic ignored \"-Wdate-time\"\nconst char *k(void) { return __TIME__; }\n", NULL, "remove __TIME__" },
	{ "midnight of the gate", "#include <string.h>\n" RETURN("!strcmp(__TIME__, \"00:00:00\")"), "-O2", "remove __TIME__" },
	{ "a time of the file", "const char *k(void) { return __TIMESTAMP__; }\n", NULL, "remove __TIMESTAMP__" },
	{ "a date that only text shows", "#define S(x) #x\n#define T(x) S(x)\n" RETURN("sizeof(T(__TIMESTAMP__)) > 40"), NULL, "remove __TIMESTAMP__" },
};

/* Sources that are the same everywhere. */
static const struct { const char *what, *source, *second, *flags; } constant[] = {
	{ "counters and lines", "int k(void) { return __COUNTER__ + __LINE__ + __INCLUDE_LEVEL__; }\n", NULL, NULL },
	{ "the name of a function", "const char *k(void) { return __func__; }\n", NULL, NULL },
	{ "assertions", "#include <assert.h>\nint k(int a) { assert(a > 0); return a; }\n", NULL, NULL },
	{ "headers of C", HAS("__has_include(<stdint.h>) && __has_include(<stdatomic.h>)"), NULL, NULL },
	{ "intrinsics", HAS("__has_include(<immintrin.h>)"), NULL, NULL },
	{ "the compiler", "const char *k(void) { return __VERSION__; }\n", NULL, NULL },
	{ "a name of its own", "#line 7 \"mine.c\"\nconst char *k(void) { return __FILE__; }\n", NULL, NULL },
	{ "another source", HAS("__has_include(\"sub/second.c\")"), "int second(int a) { return a; }\n", NULL },
	{ "up and down again", "int second(int);\nint k(int a) { return second(a); }\n",
	  "#if __has_include(\"../k.c\")\nint second(int a) { return a; }\n#endif\n", NULL },
	{ "many headers", "#include <complex.h>\n#include <ctype.h>\n#include <errno.h>\n#include <fenv.h>\n#include <float.h>\n"
	  "#include <immintrin.h>\n#include <inttypes.h>\n#include <limits.h>\n#include <math.h>\n#include <pthread.h>\n#include <setjmp.h>\n"
	  "#include <signal.h>\n#include <stdalign.h>\n#include <stdarg.h>\n#include <stdatomic.h>\n#include <stdbool.h>\n#include <stddef.h>\n"
	  "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n#include <sys/stat.h>\n#include <sys/types.h>\n"
	  "#include <tgmath.h>\n#include <threads.h>\n#include <time.h>\n#include <unistd.h>\n#include <wchar.h>\n" RETURN("1"), NULL, NULL },
	{ "headers that those of C include", "#include <sys/ioctl.h>\n#include <sys/prctl.h>\n#include <syscall.h>\n#include <syslog.h>\n"
	  RETURN("1"), NULL, NULL },
	{ "the words in a comment", "/* __FILE__ __DATE__ __builtin_FILE __has_include(\"/etc/passwd\") */\n" RETURN("1"), NULL, NULL },
};
/* clang-format on */

static void test_knowing(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(knowing); i++) {
		struct kl_artefact *artefact = NULL;
		int err = kernel_compile(&artefact, &kernel, knowing[i].source, NULL,
					 knowing[i].flags);

		print_message("%s: %s\n", knowing[i].what, err ? kl_error_last() : "ACCEPTED");
		assert_int_equal(err, KL_ENO);
		assert_string_equal(kernel.class_, "cheat");
		assert_contains(kl_error_last(), knowing[i].message);
	}
}

static void test_constant(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(constant); i++) {
		KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;

		if (kernel_compile(&artefact, &kernel, constant[i].source, constant[i].second,
				   constant[i].flags))
			fail_msg("%s: %s", constant[i].what, kl_error_last());
	}
}

/* Where the kernel does not reach it, a source may name its file, and include what main needs. */
static void test_unreached(void **state)
{
	static const char checks[] =
		"#include <arpa/inet.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
		"static inline FILE *open_checked(const char *path, const char *file, int line)\n"
		"{ FILE *f = fopen(path, \"r\"); if (!f) { printf(\"%s:%d\", file, line); exit(1); } return f; }\n"
		"#define OPEN(path) open_checked(path, __FILE__, __LINE__)\n"
		"int k(int a) { return a * 2; }\n"
		"static const char *built(void) { return *__builtin_FILE() ? __DATE__ : \"\"; }\n"
		"int main(void) { fclose(OPEN(built())); return k(1); }\n";
	static const char reached[] =
		"static inline int n(void) { return sizeof(__FILE__); }\nint k(int a) { return n(); }\n"
		"int main(void) { return k(1); }\n";
	static const char hidden[] = "const char *text = \"a\\0b\"; /* @ */\nint k(int a)\n"
				     "{ return a + (int)sizeof(__FILE__); }\n";
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
	struct kl_artefact *refused = NULL;

	assert_ok(kernel_compile(&artefact, &kernel, checks, NULL, NULL));
	assert_error(KL_ENO, "depends on where or when",
		     kernel_compile(&refused, &kernel, reached, NULL, NULL));
	assert_error(KL_ENO, "depends on where or when",
		     kernel_compile(&refused, &kernel, hidden, NULL, NULL));
	assert_error(KL_ENO, "depends on where or when",
		     kernel_compile(&refused, &kernel,
				    "int f(void);\nint k(void) { return f(); }\n",
				    "int f(void) { return sizeof(__FILE__); }\n", NULL));
}

/* The answer is the same whether or not a jail hides the file. */
static void test_levels(void **state)
{
	struct kl_jail best = kernel.jail;

	for (int level = KL_JAIL_BWRAP; level <= KL_JAIL_NONE; level++) {
		KL_AUTO(kl_artefact_freep) struct kl_artefact *fine = NULL;
		struct kl_artefact *artefact = NULL;

		if (kl_jail_open(&kernel.jail, (enum kl_jail_level)level) < 0) {
			print_message("SKIPPED: %s\n", kl_error_last());
			continue;
		}
		assert_error(KL_ENO, "looks for the file '/etc/passwd'",
			     kernel_compile(&artefact, &kernel, knowing[0].source, NULL, NULL));
		assert_error(KL_ENO, "depends on where or when",
			     kernel_compile(&artefact, &kernel,
					    "const char *k(void) { return __FILE__; }\n", NULL,
					    NULL));
		assert_ok(kernel_compile(&fine, &kernel, constant[3].source, NULL, NULL));
	}
	kernel.jail = best;
}

/* Records that no compiler writes. */
static void test_records(void **state)
{
	static const struct kl_lookups_rules rules = { .sources = "src", .objects = "obj" };
	static const char good[] = "cs+\0cd+/usr/include\0co+src/a.c\0co-src/stdint.h\0"
				   "co+/usr/include/stdint.h\0as+\0ao+obj/0.o";
	static const char *const bad[] = { "", "x", "cs", "xs+", "cs?", "cx+a", "cs+" };

	assert_ok(kl_lookups_check_record(good, sizeof(good), &rules));
	assert_error(KL_ECANNOT, "damaged",
		     kl_lookups_check_record(good, sizeof(good) - 1, &rules));
	assert_error(KL_ECANNOT, "cannot be watched", kl_lookups_check_record("", 0, &rules));
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_int_equal(kl_lookups_check_record(bad[i], strlen(bad[i]) + 1, &rules),
				 KL_ECANNOT);
	assert_true(kl_lookups_is_header_of_c("stdint.h"));
	assert_true(kl_lookups_is_header_of_c("bits/types.h"));
	assert_false(kl_lookups_is_header_of_c("int.h"));
	assert_false(kl_lookups_is_header_of_c("stdint.h stdio.h"));
	assert_false(kl_lookups_is_header_of_c("bits/../cuda.h"));
	assert_false(kl_lookups_is_header_of_c(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_knowing),   cmocka_unit_test(test_constant),
		cmocka_unit_test(test_unreached), cmocka_unit_test(test_levels),
		cmocka_unit_test(test_records),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
