/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "backend/c/declarations.h"
#include "base/buf.h"
#include "base/mem.h"

/* Return the text with another word in place of each '@'; the caller frees it. */
static char *in_world(const char *text, const char *word)
{
	struct kl_buf out = KL_BUF_INIT;

	kl_buf_adds(&out, "");
	for (; *text; text++)
		kl_buf_addf(&out, *text == '@' ? "%s" : "%.1s", *text == '@' ? word : text);
	return kl_buf_detach(&out);
}

/* Are the texts of two units alike, with "left" and "right" for each '@'? */
static bool alike(const char *text, const char *second)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec left = KL_STRVEC_INIT, right = KL_STRVEC_INIT;

	kl_strvec_take(&left, in_world(text, "left"));
	kl_strvec_take(&right, in_world(text, "right"));
	if (second) {
		kl_strvec_take(&left, in_world(second, "left"));
		kl_strvec_take(&right, in_world(second, "right"));
	}
	return kl_declarations_alike(&left, &right, (const char *const[]){ "k", NULL });
}

#define ENTRY "int k(int a) { return a + 1; }\n"

static void what_is_not_reached_may_differ(void **state)
{
	static const char *const rows[] = {
		ENTRY,
		"void f(void) { show(\"@\"); }\n" ENTRY,
		"static inline void f(int a, char *b) { show(\"@\", b); }\n" ENTRY,
		ENTRY
		"int main(int argc, char **argv) { check(argv[0], \"@\", 7); return k(1); }\n",
		"typedef unsigned long size_t;\nvoid *f(size_t n) { return need(n, \"@\"); }\n"
		"int k(size_t n) { return (int)n; }\n",
		"extern int printf(const char *s, ...) __attribute__((format(printf, 1, 2)));\n"
		"__attribute__((noinline)) static void f(void) { printf(\"@\"); }\n" ENTRY,
		"struct s { int a; float b[3]; };\nvoid f(struct s *p) { p->a = sizeof(\"@\"); }\n"
		"int k(struct s *p) { return p->a; }\n",
		"const char *name = \"@\";\nconst char *f(void) { return name; }\n" ENTRY,
		"void g(void) { __asm__ volatile (\"tile\\t%X0\\n\" :: \"m\"(*(int *)0)); }\n"
		"void f(void) { show(L\"@\", u8\"//\", 'a', \"<% /* \\\" {\"); }\n" ENTRY,
		"#pragma GCC push_options\nvoid f(void) { show(\"@\"); }\n#pragma GCC pop_options\n" ENTRY,
		/* names of members, of parameters of members, and designators */
		"struct s { int a; };\nstruct t { struct s a; void (*f)(int *data); char b[sizeof(\"@\")]; };\n"
		"int k(struct s *p) { int *data = &p->a; return *data; }\n",
		"struct s { int a; };\nconst struct s x[] = { { .a = sizeof(\"@\") } };\n"
		"int k(struct s *p) { return p->a; }\n",
		"__attribute__((visibility(\"default\"))) void f(void) { show(\"@\"); }\n"
		"__attribute__((visibility(\"default\"))) int k(int a) { return a + 1; }\n",
		"typedef float v __attribute__((vector_size(32)));\n"
		"static const int x __attribute__((aligned(8))) = sizeof(\"@\");\n"
		"__attribute__((noinline)) int k(v *a) { return (int)(*a)[0]; }\n",
		"typedef int t;\nstatic const t x[] = { sizeof(\"@\") }, *y = x;\nint k(t a) { return a + 1; }\n",
		"typedef int t;\ntypedef t u[sizeof(\"@\")];\nint k(t a) { return a + 1; }\n",
		"struct s { int a; };\nstruct s x = { sizeof(\"@\") };\nint k(struct s *p) { return p->a; }\n",
		"struct s { int a; };\n_Static_assert(sizeof(struct t) < sizeof(\"@\"), \"a\");\n"
		"int k(struct s *p) { return p->a; }\n",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++)
		if (!alike(rows[i], NULL))
			fail_msg("not alike: %s", rows[i]);
	assert_true(alike(ENTRY, "void f(void) { show(\"@\"); }\n"));
}

static void what_is_reached_may_not(void **state)
{
	static const char *const rows[] = {
		"int k(int a) { return a + sizeof(\"@\"); }\n",
		"static inline int f(void) { return \"@\"[0]; }\nint k(int a) { return f(); }\n",
		"static int f(void) { return \"@\"[0]; }\nstatic int (*const p[])(void) = { f };\n"
		"int k(int a) { return p[a](); }\n",
		"const char *name = \"@\";\nint k(int a) { return name[a]; }\n",
		"typedef char t[sizeof(\"@\")];\nint k(int a) { return sizeof(t); }\n",
		"enum { N = sizeof(\"@\") };\nint k(int a) { return N; }\n",
		"struct s { char b[sizeof(\"@\")]; };\nint k(int a) { return sizeof(struct s); }\n",
		"struct s { char b[sizeof(\"@\")]; } f(void) { }\nint k(int a) { return sizeof(struct s); }\n",
		"struct s { char b[sizeof(\"@\")]; } __attribute__((packed));\n"
		"int k(int a) { return sizeof(struct s); }\n",
		"struct t { struct s { char b[sizeof(\"@\")]; } a; };\nint k(int a) { return sizeof(struct s); }\n",
		"struct t { enum e { N = sizeof(\"@\") } a; };\nint k(int a) { return N; }\n",
		"struct t { enum { N = 1, M = sizeof(\"@\") } a; };\nint k(int a) { return M; }\n",
		"struct t { enum __attribute__((packed)) { N = sizeof(\"@\") } a; };\nint k(int a) { return N; }\n",
		"struct __attribute__((packed)) s { char b[sizeof(\"@\")]; } x;\n"
		"int k(int a) { return sizeof(x.b); }\n",
		"typedef struct { char b[sizeof(\"@\")]; } t;\nint k(int a) { return sizeof(((t *)0)->b); }\n",
		"union { int a; char b[sizeof(\"@\")]; } x;\nint k(int a) { return sizeof(x); }\n",
		"_Static_assert(sizeof(enum { N = sizeof(\"@\") }), \"\");\nint k(int a) { return N; }\n",
		"int (*f(int a))(int) { struct s { int b; }; show(\"@\"); }\nint k(int a) { return f(a)(a); }\n",
		"typedef int t;\nt x[] = { sizeof(\"@\") };\nint k(t a) { return x[a]; }\n",
		"typedef int t;\nt const *const x = \"@\";\nint k(t a) { return x[a]; }\n",
		"typedef int t;\ntypedef t *u[sizeof(\"@\")];\nint k(t a) { return sizeof(u); }\n",
		"x = sizeof(\"@\");\nint k(int a) { return x; }\n",
		"static x __attribute__((unused)) = sizeof(\"@\");\nint k(int a) { return x; }\n",
		"int x __attribute__((aligned(sizeof(enum { N = sizeof(\"@\") }))));\nint k(int a) { return N; }\n",
		"int y __asm__(\"x\") = sizeof(\"@\");\nextern int x;\nint k(int a) { return x; }\n",
		"x, *y = \"@\";\nint k(int a) { return x; }\n",
		"struct s; struct s { char b[sizeof(\"@\")]; } *p;\nint k(struct s *q) { return sizeof(*q); }\n",
		"const int x[] = { [0] = sizeof(\"@\") }, y[2];\nint k(int a) { return y[a]; }\n",
		"typeof(1) f(void) { return sizeof(\"@\"); }\nint k(int a) { return f(); }\n",
		"int (f)(void) { return sizeof(\"@\"); }\nint k(int a) { return f(); }\n",
		"int (*f(void))(int) { show(\"@\"); }\nint k(int a) { return f()(a); }\n",
		"_BitInt(32) f(void) { return sizeof(\"@\"); }\nint k(int a) { return f(); }\n",
		"int f(a) int a; { return sizeof(\"@\"); }\nint k(int a) { return f(a); }\n",
		"int f(a) int a; { return sizeof(\"@\"); }\n" ENTRY,
		"int f(void) { return sizeof(\"@\"); }\nint g(void) __attribute__((alias(\"f\")));\n"
		"int k(int a) { return g(); }\n",
		"int f(void) __attribute__((cold)) __asm__(\"h\") __attribute__((pure));\n"
		"int f(void) { return sizeof(\"@\"); }\nint h(void);\nint k(int a) { return h(); }\n",
		"int f(void) __asm__(\"g\");\nint f(void) { return sizeof(\"@\"); }\nint g(void);\n"
		"int k(int a) { return g(); }\n",
		"int f(void) { return sizeof(\"@\"); }\n"
		"int k(int a) { __asm__(\"call f\" : \"+a\"(a)); return a; }\n",
		"int f12(void) __asm__(\"\" \"g\" \"\\x31\" \"\\062\");\nint f12(void) { return sizeof(\"@\"); }\n"
		"int g12(void);\nint k(int a) { return g12(); }\n",
		"int f(void) { return sizeof(\"@\"); }\n"
		"int k(int a) { __asm__(\"call \\x66\" : \"+a\"(a)); return a; }\n",
		"__asm__(\".ascii \\\"@\\\"\");\n" ENTRY,
		"__extension__ __asm__(\".ascii \\\"@\\\"\");\n" ENTRY,
		"int f(void) { return sizeof(\"@\"); }\n#pragma weak g = f\nint g(void);\n"
		"int k(int a) { return a; }\n",
		"#pragma GCC optimize(\"@\")\n" ENTRY,
		"  #pragma x @\n" ENTRY,
		"int k(int a) { void f(void); f(); return a; }\nvoid f(void) { show(\"@\"); }\n",
		"void f(int *p) { show(\"@\"); }\n"
		"int k(int a) { int b __attribute__((cleanup(f))) = a; return b; }\n",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++)
		if (alike(rows[i], NULL))
			fail_msg("alike: %s", rows[i]);
	assert_false(alike("int f(void);\nint k(int a) { return f(); }\n",
			   "int f(void) { return sizeof(\"@\"); }\n"));
}

/* Spellings that hide code from the lexer, and code that no name leads to. */
static void what_is_in_doubt_may_not(void **state)
{
#define HIDDEN "const char *f(void) { return \"@\"; }\n"
#define CALLS "const char *f(void);\nint k(int a) { return f()[a]; }\n"
	static const char *const rows[] = {
		"#pragma x \"/*\"\n" HIDDEN "#pragma x \"*/\"\n" CALLS,
		"#pragma x \\\n" HIDDEN CALLS,
		"_Pragma(\"x\") " HIDDEN ENTRY,
		"const char *f(void) <% return \"@\"; %>\n" CALLS,
		"int b<:1:> = { 0 };\n" HIDDEN ENTRY,
		"%:pragma x {\n" HIDDEN ENTRY,
		"?\?=pragma x {\n" HIDDEN ENTRY,
		"void u(void) { g(R\"(\" { { )\"); }\n" HIDDEN CALLS,
		"void u(void) { g(LR\"(\" { { )\", u8R\"(\")\"); }\n" HIDDEN CALLS,
		"int u = 1'000;\n" HIDDEN ENTRY,
		"const char *\xc3\xa9(void) { return \"@\"; }\nint k(int a) { return \xc3\xa9()[a]; }\n",
		"const char *f\\u00e9(void) { return \"@\"; }\n" ENTRY,
		"/* { */ " HIDDEN ENTRY,
		"// {\n" HIDDEN ENTRY,
		"void g(void) { ( ] ) }\n" HIDDEN ENTRY,
		"#pragma x\n" HIDDEN "int other(int a) { return a; }\n",
		"__attribute__((constructor)) void f(void) { show(\"@\"); }\n" ENTRY,
		"__attribute__((aligned(sizeof(enum { N = sizeof(\"@\") })))) void f(void);\n"
		"int k(int a) { return N; }\n",
		"void f(void) __attribute__((aligned(sizeof(enum { N = sizeof(\"@\") }))));\n"
		"int k(int a) { return N; }\n",
		"int k(int a);\nvoid f(void) { __asm__(\"k: ret\" :: \"i\"(\"@\")); }\n",
		"int k(int a);\nvoid f(void) { __asm__(\"\\x6b\\x3a\" :: \"i\"(\"@\")); }\n",
		"int k(int a);\nvoid f(void) { __asm__ volatile((T) :: \"i\"(\"@\")); }\n",
		"int k(int a) { int f(void) { return sizeof(\"@\"); } return f(); }\n",
		"int k(int a) { return ({ int b = sizeof(\"@\"); b; }); }\n",
		"[[gnu::unused]] int f(void) { return sizeof(\"@\"); }\nint k(int a) { return f(); }\n",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++)
		if (alike(rows[i], NULL))
			fail_msg("alike: %s", rows[i]);
}

/* The same directives, but before other declarations or other tokens of the kernel. */
static void directives_have_places(void **state)
{
	static const char *const pairs[][2] = {
		{ "#pragma pack(1)\nstruct s { char a; int b; };\nint k(struct s *p) { return p->b; }\n",
		  "struct s { char a; int b; };\n#pragma pack(1)\nint k(struct s *p) { return p->b; }\n" },
		{ "int k(int a) {\n#pragma x\nf(a); return a; }\n",
		  "int k(int a) { f(a);\n#pragma x\nreturn a; }\n" },
		{ ENTRY "#pragma x\n", "#pragma x\n" ENTRY },
	};
	static const char *const entries[] = { "k", NULL };

	for (size_t i = 0; i < KL_ARRAY_SIZE(pairs); i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec left = KL_STRVEC_INIT;
		KL_AUTO(kl_strvec_release) struct kl_strvec right = KL_STRVEC_INIT;

		kl_strvec_push(&left, pairs[i][0]);
		kl_strvec_push(&right, pairs[i][1]);
		assert_true(kl_declarations_alike(&left, &left, entries));
		assert_false(kl_declarations_alike(&left, &right, entries));
	}
}

/* A text of another structure, and texts that are no C at all. */
static void odd_texts(void **state)
{
	static const char *const rows[] = { "",       "}}}",         "{",   "(((",
					    "int k(", "\"",          "k",   ";;;",
					    "# ",     "= { [ ) } ]", "asm", "__attribute__((",
					    "'\\" };
	KL_AUTO(kl_strvec_release) struct kl_strvec left = KL_STRVEC_INIT, right = KL_STRVEC_INIT;

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++)
		assert_true(alike(rows[i], NULL));
	kl_strvec_push(&left, ENTRY);
	kl_strvec_push(&right, "int other;\n" ENTRY);
	assert_false(kl_declarations_alike(&left, &right, (const char *const[]){ "k", NULL }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_reached_may_differ),
		cmocka_unit_test(what_is_reached_may_not),
		cmocka_unit_test(what_is_in_doubt_may_not),
		cmocka_unit_test(directives_have_places),
		cmocka_unit_test(odd_texts),
	};

	return cmocka_run_group_tests_name("c declarations", tests, NULL, NULL);
}
