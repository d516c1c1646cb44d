/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "contract/contract.h"
#include "contract/launch_syntax.h"
#include "contract/prototype.h"
#include "contract/skeleton.h"

static struct kl_proto *proto(const char *text, const char *entry)
{
	struct kl_proto *other = NULL;

	assert_ok(kl_proto_read(&other, text, strlen(text), entry,
				strstr(text, "__global__") != NULL));
	return other;
}

/* One parameter as a line: name, dtype, pointer, const, read first, extents. */
static char *describe(const struct kl_param *param)
{
	struct kl_buf buf = KL_BUF_INIT;

	kl_buf_addf(&buf, "%s %s%s%s%s", param->name, param->dtype ? param->dtype : "?",
		    param->pointer ? " *" : "", param->is_const ? " const" : "",
		    param->read_first ? " read" : "");
	for (size_t i = 0; i < param->extent.n; i++)
		kl_buf_addf(&buf, " [%s]", param->extent.v[i]);
	return kl_buf_detach(&buf);
}

static void parameters_are_read(void **state)
{
	/* clang-format off */
	static const struct { const char *param, *want; } rows[] = {
		{ "float x", "x f32" }, { "double x", "x f64" }, { "_Float16 x", "x f16" },
		{ "int n", "n i32" }, { "int64_t n", "n i64" }, { "long n", "n i64" },
		{ "long long int n", "n i64" }, { "size_t n", "n u64" }, { "unsigned n", "n u32" },
		{ "const int n", "n i32 const" },
		/* the words of a type have any order */
		{ "unsigned long int n", "n u64" }, { "long unsigned n", "n u64" }, { "int short n", "n i16" },
		{ "short n", "n i16" }, { "unsigned char c", "c u8" }, { "char c", "c i8" },
		{ "long double x", "x ?" }, { "bool b", "b bool" }, { "_Bool b", "b bool" },
		{ "bool *b", "b u8 *" }, { "ptrdiff_t n", "n i64" }, { "u32 n", "n u32" }, { "U8 c", "c u8" },
		{ "enum mode m", "m i32" }, { "uint64_t n", "n u64" },
		/* typedefs of the source, and macros that are qualifiers */
		{ "real x", "x f32" }, { "word n", "n u16" }, { "odd q", "q ?" }, { "cyclic q", "q ?" },
		{ "const float *RESTRICT x", "x f32 * const" }, { "IN const float *x", "x f32 * const" },
		{ "OPAQUE x", "x ?" },
		{ "const float *x", "x f32 * const" }, { "float const *x", "x f32 * const" },
		{ "const float *const restrict x", "x f32 * const" },
		{ "float *const x", "x f32 *" }, { "float *restrict x", "x f32 *" },
		{ "float *__restrict__ x", "x f32 *" }, { "unsigned char *p", "p u8 *" },
		{ "const float x[]", "x f32 * const []" }, { "float x[n]", "x f32 * [n]" },
		{ "float x[static 64]", "x f32 * [64]" }, { "float x[restrict static n][4]", "x f32 * [n] [4]" },
		{ "float x[n * 2]", "x f32 * []" }, { "float **x", "x ? *" }, { "float *x[4]", "x ? * [4]" },
		{ "void *x", "x ? *" }, { "const void *x", "x u8 * const" }, { "const void **x", "x ? * const" }, { "struct s *x", "x ? *" }, { "my_t x", "x ?" },
		{ "float /* a , b */ x", "x f32" }, { "float // )\n x", "x f32" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_freep)
		char *text = kl_asprintf("typedef float real; typedef unsigned short int half;\n"
					 "typedef half word; typedef struct { int a; } odd;\n"
					 "typedef cyclic cyclic;\nvoid f(%s, int last) {}",
					 rows[i].param);
		KL_AUTO(kl_proto_freep) struct kl_proto *other = proto(text, NULL);
		KL_AUTO(kl_freep) char *got = describe(&other->param[0]);

		if (strcmp(got, rows[i].want))
			fail_msg("'%s' reads as '%s', not '%s'", rows[i].param, got, rows[i].want);
		assert_int_equal(other->n, 2);
		assert_string_equal(other->param[1].name, "last");
	}
}

static void the_entry_is_found(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *entry, *name; } rows[] = {
		{ "void f(int n) {}", NULL, "f" },
		{ "static void g(int n) {}\nvoid f(int n) {}", NULL, "f" },
		{ "static inline float g(float x) { return x; } void f(int n) {}", NULL, "f" },
		{ "void g(int n);\nvoid f(int n) {}", NULL, "f" },
		{ "void f(int n);\nvoid f(int n) {}", NULL, "f" },
		{ "void f(int n) {} int main(void) { return 0; }", NULL, "f" },
		{ "void f(int n) {} void g(int n) {}", "g", "g" },
		{ "int t[] = { 1, 2 }; struct s { int a; } x; enum { A = (1), B }; void f(int n) {}", NULL, "f" },
		{ "#define X void g(int n) { \\\n }\n#include <a.h>\nvoid f(int n) {}", NULL, "f" },
		{ "/* void g(int n) {} */ // void h(int n) {}\nvoid f(int n) {}", NULL, "f" },
		{ "const char *s = \"void g(int n) {\"; char c = '{'; void f(int n) {}", NULL, "f" },
		{ "extern \"C\" {\nvoid f(int n) { if (n) { n = 1; } }\n}", NULL, "f" },
		{ "extern \"C\" void f(int n) {}", NULL, "f" },
		{ "__attribute__((noinline)) void f(int n) {}", NULL, "f" },
		{ "__global__ void __launch_bounds__(256) f(int n) {}", NULL, "f" },
		{ "__global__ void __launch_bounds__(256, 2) f(int n) {}", NULL, "f" },
		{ "EXPORT(void) f(int n) {}", NULL, "f" }, { "void ALIGNED(64) f(int n) {}", NULL, "f" },
		{ "PUBLIC void f(int n) {}", NULL, "f" }, { "void f(int n) NOTHROW {}", NULL, "f" },
		{ "void f(int n) NOTHROW(x) {}", NULL, "f" }, { "EXPORT(int) CALL f(int n) {}", NULL, "f" },
		{ "void f(int n) __attribute__((hot));\nvoid f(int n) {}", NULL, "f" },
		{ "typedef void (*cb)(int);\nvoid f(int n) {}", NULL, "f" },
		{ "void (*hook)(int) = 0;\nfloat *f(int n) {}", NULL, "f" },
		{ "typedef float v8 __attribute__((vector_size(32)));\nvoid f(int n) {}", NULL, "f" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_proto_freep) struct kl_proto *other = proto(rows[i].text, rows[i].entry);

		assert_string_equal(other->name, rows[i].name);
	}
}

static void what_cannot_be_read_is_said(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *entry; int kind; const char *message; } rows[] = {
		{ "", NULL, KL_ENOTFOUND, "the file defines no function" },
		{ "int x;", NULL, KL_ENOTFOUND, "the file defines no function" },
		{ "void f(int n);", NULL, KL_ENOTFOUND, "the file defines no function" },
		{ "static void f(int n) {}", NULL, KL_ENOTFOUND, "the file defines no function" },
		{ "void f(int n) {}", "g", KL_ENOTFOUND, "no function 'g'" },
		{ "static void f(int n) {}", "f", KL_EINVALID, "'f' is static" },
		{ "void f(int n) {} void g(int n) {}", NULL, KL_EINVALID, "several functions that are not static: f, g" },
		{ "void f(void) {}", NULL, KL_EINVALID, "has no parameters" },
		{ "void f() {}", NULL, KL_EINVALID, "has no parameters" },
		{ "void f(int) {}", NULL, KL_EINVALID, "has no name or no type" },
		{ "void f(float (*x)[4]) {}", NULL, KL_EINVALID, "cannot parse parameter 1; expected a type" },
		{ "void f(void (*cb)(int), int n) {}", NULL, KL_EINVALID, "cannot parse parameter 1; expected a type" },
		{ "void f(int n, ...) {}", NULL, KL_EINVALID, "parameter 2" },
		{ "{{{{ void f(int n) ", NULL, KL_ENOTFOUND, "no function" },
		{ "void f(int a[, ) } ] {", NULL, KL_EINVALID, "" },
		{ "/* never closed void f(int n) {}", NULL, KL_ENOTFOUND, "no function" },
		{ "\"never closed void f(int n) {}", NULL, KL_ENOTFOUND, "no function" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		struct kl_proto *proto = NULL;
		int err = kl_proto_read(&proto, rows[i].text, strlen(rows[i].text), rows[i].entry,
					false);

		if (!*rows[i].message) { /* anything, as long as it comes back */
			kl_proto_free(proto);
			continue;
		}
		if (err != rows[i].kind || !strstr(kl_error_last(), rows[i].message))
			fail_msg("'%s': %d: %s", rows[i].text, err,
				 err ? kl_error_last() : proto->name);
	}
}

/* Whether a kernel writes through a pointer that is not const: '-' reads, 'w' writes, '?' unknown. */
static void writes_are_found(void **state)
{
	/* clang-format off */
	static const struct { const char *body; char use; } rows[] = {
		{ "z = y[i];", '-' }, { "y[i] = 1;", 'w' }, { "y[i] += 1;", 'w' }, { "y[i] <<= 1;", 'w' },
		{ "y[i]++;", 'w' }, { "--y[i];", 'w' }, { "z = -y[i];", '-' }, { "y[i].re = 1;", 'w' },
		{ "z = y[i].re;", '-' }, { "if (y[i] == 1) n++;", '-' }, { "if (y[i] <= 1) n++;", '-' },
		{ "z = *y;", '-' }, { "*y = 1;", 'w' }, { "z = *y++;", '-' }, { "*y++ = 1;", 'w' },
		{ "*++y = 1;", 'w' }, { "z = *(y + i);", '-' }, { "*(y + i) = 1;", 'w' }, { "z = a * y[0];", '-' },
		{ "while (*y) y++;", '-' }, { "", '?' }, { "if (!y) return;", '?' }, { "if (y == 0) return; z = y[0];", '-' },
		{ "opaque(y);", '?' }, { "opaque(y); y[0] = 1;", 'w' }, { "opaque(&y[1]);", '?' },
		{ "(*y)++;", 'w' }, { "(*y) = 1;", 'w' }, { "(y[i]) += 1;", 'w' }, { "++(*y);", 'w' }, { "((y[i])).re = 1;", 'w' },
		{ "if (n) z = 1; else (*y) = 1;", 'w' }, { "z = (*y);", '-' }, { "if (*y) n = 1;", '-' }, { "z = (y[i]) + 1;", '-' },
		{ "opaque(&(*y));", '?' }, { "opaque(&(y[i]));", '?' }, { "opaque(&Y(1, 2));", '?' }, { "z = n & y[i];", '-' },
		{ "z = s.y[i];", '?' }, { "n = sizeof(y);", '?' }, { "return y;", '?' },
		/* copies */
		{ "const float *q = y; z = q[1];", '-' }, { "float *q = y; z = q[1];", '-' },
		{ "float *q = y + n; q[1] = z;", 'w' }, { "float *q; q = &y[n]; *q = z;", 'w' },
		{ "float *x = a, *q = y; *q = z;", 'w' }, { "float *x = y, *q = a; *q = z; z = *x;", '-' },
		{ "for (const float *q = y; q < e; q++) z += *q;", '-' }, { "float *q[1] = { y };", '?' },
		{ "s->data = y;", '?' }, { "float *q = (float *)y; q[0] = 1;", 'w' },
		{ "y = y + 1; z = *y;", '-' }, { "y = y + 1; *y = z;", 'w' },
		{ "q = c ? y : r; q[0] = 1;", 'w' }, { "q = c ? r : y; z = q[0];", '-' }, { "*(c ? y : r) = 1;", 'w' },
		{ "z = *(c ? y : r);", '-' }, { "z = y ? y[0] : 1;", '-' }, { "put(c ? r : y, n);", 'w' },
		{ "z = y[0]; opaque(c ? y : r);", '?' }, { "y = other; y[0] = 1;", '?' }, { "y = other; z = y[0];", '?' },
		{ "float *q = y; z = *q; q = other; *q = 1;", '?' }, { "float *q = y; q = y + n; *q = 1;", 'w' },
		{ "const float *q = y; ((float *)q)[0] = 1;", '?' }, { "const float *q = y; float *w = (float *)q; w[0] = 1;", 'w' },
		{ "const float *q = y; *(float *)(q + 1) = 1;", '?' }, { "const float *q = y; opaque(q, 1, q);", '-' },
		{ "const float *q = y; opaque((float *)q);", '?' }, { "const float *q = y; TAKE(q);", '?' },
		{ "const float *q = y; asm(\"\" : : \"r\"(q) : \"memory\");", '?' }, { "const float *q = y; put((float *)q, 1);", 'w' },
		/* functions */
		{ "cast(y);", '?' }, { "cast2(y);", 'w' },
		{ "put(y, n);", 'w' }, { "get(n, y + n);", '-' }, { "look(y);", '-' }, { "deep(y);", 'w' },
		{ "again(y);", '?' }, { "get(n, &y[0]);", '-' }, { "get(y[0], x);", '-' },
		{ "get(n, x[f(1, 2)] ? y : (0, y));", '-' }, { "get((1, 2), (3, y));", '-' },
		{ "memset(y, 0, n);", 'w' }, { "memcpy(y, x, n);", 'w' }, { "memcpy(x, y, n);", '-' },
		{ "v = _mm256_loadu_ps(y + i);", '-' }, { "_mm256_storeu_ps(y + i, v);", 'w' },
		{ "_mm_storeu_si128((__m128i *)(y + i), v);", 'w' }, { "_mm_prefetch(y, 1); z = y[0];", '-' },
		{ "v = _mm_loadu_si128((const __m128i *)&y[i]);", '-' }, { "vst1q_f32(y, v);", 'w' },
		{ "v = vld1q_f32(y);", '-' }, { "float *q = __builtin_assume_aligned(y, 64); q[0] = 1;", 'w' },
		/* macros */
		{ "z = Y(1, 2);", '-' }, { "Y(i, j) = 1;", 'w' }, { "Y(i, j) += 1;", 'w' }, { "PUT(1);", '?' },
		{ "put(&Y(0, 1), n);", 'w' }, { "get(n, &Y(0, 1));", '-' }, { "opaque(&Y(0, 1));", '?' },
		{ "float *q = &Y(0, 1); *q = z;", 'w' }, { "z = n & Y(0, 1);", '-' },
		{ "WIDE(y[i]) = v;", 'w' }, { "WIDE(y[i]) += v;", 'w' }, { "v = WIDE(y[i]);", '-' },
		{ "v = WIDE(Y(0, i));", '-' }, { "z = MAX(z, y[i]);", '-' }, { "SWAP(y[i], y[j]);", '?' }, { "BY(y[i]);", '?' },
		{ "z = ABS(y[i]);", '-' }, { "z = get(n, x) + (y[i]);", '-' }, { "if (WIDE(n) == y[i]) n++;", '-' },
	};
	static const char head[] =
		"#define Y(i, j) y[(j) * ld + (i)]\n#define WIDE(at) (*(vec *)&(at))\n#define MAX(a, b) ((a) >= (b) ? (a) : (b))\n#define SWAP(a, b) do { t = a; a = b; b = t; } while (0)\n"
		"#define BY(a) opaque(&(a))\n#define ABS(a) fabsf(a)\n#define PUT(v) do { y[0] = v; } while (0)\n"
		"static void put(float *to, int n) { to[n] = 1; }\n"
		"static float get(int n, float *from) { return from[n]; }\n"
		"static void look(const float *from) { opaque(from); }\n"
		"static void cast(const float *from) { ((float *)from)[0] = 1; }\n"
		"static void cast2(const float *from) { float *to = (float *)from; *to = 1; }\n"
		"#define TAKE(v) take(v)\n"
		"static void deep(float *to) { put(to + 1, 2); }\n"
		"static void again(float *to) { again(to); }\n";
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_freep)
		char *text = kl_asprintf("%svoid f(float *y) { %s }", head, rows[i].body);
		KL_AUTO(kl_proto_freep) struct kl_proto *other = proto(text, "f");
		enum kl_pointer_use want = rows[i].use == '-' ? KL_POINTER_READ :
					   rows[i].use == 'w' ? KL_POINTER_WRITTEN :
								KL_POINTER_UNKNOWN;

		if (other->param[0].use != want)
			fail_msg("'%s' is %d", rows[i].body, (int)other->param[0].use);
	}
}

/* Copies of copies, each a hundred times, end as unknown, and soon. */
static void copies_are_not_followed_for_ever(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_proto_freep) struct kl_proto *other = NULL;

	kl_buf_adds(&text, "void f(float *a) {");
	for (int i = 0; i < 100; i++)
		kl_buf_adds(&text, "b = a; c = b; d = c; e = d; f = e; g = f; h = g;");
	kl_buf_adds(&text, "z = h[0]; }");
	other = proto(text.ptr, NULL);
	assert_int_equal(other->param[0].use, KL_POINTER_UNKNOWN);
}

/* A source that would be read for minutes, since each of its macros has to be looked up, ends soon. */
static void macros_are_not_read_for_ever(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_proto_freep) struct kl_proto *other = NULL;

	for (int i = 0; i < 20000; i++)
		kl_buf_addf(&text, "#define M%d(i) a[i]\n", i);
	kl_buf_adds(&text, "void f(float *a) {");
	for (int i = 0; i < 20000; i++)
		kl_buf_addf(&text, "b%d = a; ", i);
	kl_buf_adds(&text, "}");
	other = proto(text.ptr, NULL);
	assert_int_equal(other->param[0].use, KL_POINTER_UNKNOWN);
}

/* A row of an array is a pointer, too. */
static void rows_of_arrays_are_pointers(void **state)
{
	static const struct {
		const char *body;
		enum kl_pointer_use use;
	} rows[] = {
		{ "put(y[i]);", KL_POINTER_WRITTEN },
		{ "z = y[i][j];", KL_POINTER_READ },
		{ "opaque(y[i]);", KL_POINTER_UNKNOWN },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_freep)
		char *text = kl_asprintf("static void put(float *to) { to[1] = 1; }\n"
					 "void f(int n, float y[n][4]) { %s }",
					 rows[i].body);
		KL_AUTO(kl_proto_freep) struct kl_proto *other = proto(text, NULL);

		if (other->param[1].use != rows[i].use)
			fail_msg("'%s' is %d", rows[i].body, (int)other->param[1].use);
	}
}

static void returned_values_are_read(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *type, *dtype; } rows[] = {
		{ "int f(int n) {}", "int", "i32" }, { "unsigned long f(int n) {}", "unsigned long", "u64" },
		{ "static inline int g(void) {} uint32_t f(int n) {}", "uint32_t", "u32" },
		{ "EXPORT uint32_t f(int n) {}", "uint32_t", "u32" }, { "EXPORT(size_t) f(int n) {}", "size_t", "u64" },
		{ "__attribute__((pure)) double f(int n) {}", "double", "f64" }, { "bool f(int n) {}", "_Bool", "bool" },
		{ "typedef unsigned hash; hash f(int n) {}", "uint32_t", "u32" },
		{ "float *f(int n) {}", "float", NULL }, { "struct s f(int n) {}", "struct s", NULL },
		{ "void f(int n) {}", NULL, NULL }, { "EXPORT(void) f(int n) {}", NULL, NULL },
		{ "void *f(int n) {}", "void", NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_proto_freep) struct kl_proto *other = proto(rows[i].text, "f");
		const char *dtype = other->returned.dtype;

		if (other->returns != (rows[i].type != NULL) ||
		    (rows[i].type && strcmp(other->returned.type, rows[i].type)) ||
		    !dtype != !rows[i].dtype || (dtype && strcmp(dtype, rows[i].dtype)))
			fail_msg("'%s': '%s', %s", rows[i].text, other->returned.type,
				 dtype ? dtype : "nothing");
	}
}

static void sizes_are_told_from_seeds(void **state)
{
	/* clang-format off */
	static const struct { const char *body; bool size; } rows[] = {
		{ "for (i = 0; i < n; i++) ;", true }, { "while (n--) ;", true }, { "y[n] = 1;", true },
		{ "g(y, n);", true }, { "", true }, { "h = n + 7;", false }, { "h = h ^ n;", false },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_freep)
		char *text = kl_asprintf("void f(unsigned n, float *y) { %s }", rows[i].body);
		KL_AUTO(kl_proto_freep) struct kl_proto *other = proto(text, NULL);

		if (other->param[0].size != rows[i].size)
			fail_msg("'%s'", rows[i].body);
	}
}

static void use_is_guessed_from_the_body(void **state)
{
	/* clang-format off */
	static const struct { const char *body; bool read; } rows[] = {
		{ "memset(y, 0, n); y[0] += 1;", false }, { "*y = 1;", false }, { "*y += 1;", true },
		{ "_mm_storeu_ps(y, _mm_add_ps(_mm_loadu_ps(y), x));", true }, { "_mm_storeu_ps(y, x);", false },
		{ "y[i] = 1;", false }, { "y[i] += 1;", true }, { "y[i] = 0; y[i] += 1;", false },
		{ "z = y[i];", true }, { "y[i] = 2 * y[i];", true }, { "y[i][j] = 1;", false },
		{ "if (y[i] == 1) n++;", true }, { "store(&y[i]); y[0] = 1;", false }, { "", false },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_freep) char *text = kl_asprintf("void f(float *y) { %s }", rows[i].body);
		KL_AUTO(kl_proto_freep) struct kl_proto *other = proto(text, NULL);

		if (other->param[0].read_first != rows[i].read)
			fail_msg("'%s'", rows[i].body);
	}
}

static const char axpy[] =
	"#include <stdint.h>\n"
	"#include \"tile.h\"\n"
	"void Axpy_2(int64_t n, int m, float alpha, const float *restrict x, float y[n][m], int32_t *count)\n"
	"{\n"
	"	for (int64_t i = 0; i < n; i++)\n"
	"		y[i][0] += alpha * x[i];\n"
	"	count[0] = 0;\n"
	"}\n";

static char *replace(const char *text, const char *from, const char *to)
{
	struct kl_buf buf = KL_BUF_INIT;
	const char *at;

	while ((at = strstr(text, from))) {
		kl_buf_add(&buf, text, (size_t)(at - text));
		kl_buf_adds(&buf, to);
		text = at + strlen(from);
	}
	kl_buf_adds(&buf, text);
	return kl_buf_detach(&buf);
}

static void a_filled_skeleton_is_a_contract(void **state)
{
	KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;
	KL_AUTO(kl_freep) char *shaped = NULL, *whole = NULL;

	assert_ok(kl_skeleton_make(&sk, "axpy.c", axpy, strlen(axpy), NULL, NULL, false));
	/* n, m; alpha's value; the shapes of x and count */
	assert_int_equal(sk.todo.n, 5);
	assert_int_equal(sk.todo.line.n, 4);
	assert_string_equal(sk.todo.line.v[1],
			    "22: - {name: alpha, kind: scalar, dtype: f32, value: TODO}");
	assert_contains(sk.prototype, "void Axpy_2(int64_t n, int m, float alpha");
	assert_int_equal(kl_contract_parse(&contract, "k", sk.contract.ptr, sk.contract.len),
			 KL_EINVALID);
	assert_contains(kl_error_last(), "k:7:");
	assert_contains(kl_error_last(), "'n' must be a whole number");
	assert_contains(kl_error_hints(), "all places marked TODO: lines 7, 22, 23, 25");

	shaped = replace(sk.contract.ptr, "[TODO]", "[n]");
	whole = replace(shaped, "TODO", "32");
	assert_ok(kl_contract_parse(&contract, "k", whole, strlen(whole)));
	assert_string_equal(contract->workload, "axpy-2");
	assert_string_equal(contract->entry, "Axpy_2");
	assert_string_equal(contract->sources.v[1], "tile.h");
	assert_int_equal(contract->nargs, 6);
	assert_int_equal(contract->arg[1].kind, KL_ARG_DIM);
	assert_int_equal(contract->arg[1].dtype, KL_I32);
	assert_int_equal(contract->arg[2].kind, KL_ARG_SCALAR);
	assert_int_equal(contract->arg[3].kind, KL_ARG_IN);
	assert_int_equal(contract->arg[4].kind, KL_ARG_INOUT);
	assert_int_equal(contract->arg[4].naxes, 2);
	assert_int_equal(contract->arg[5].kind, KL_ARG_OUT);
	assert_int_equal(json_array_size(contract->accept), 2);
	assert_int_equal(contract->nalso, 2);
	assert_int_equal(contract->ndomain, 2);
}

static void the_oracle_has_the_kernels_arguments(void **state)
{
	KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;

	assert_ok(kl_skeleton_make(&sk, "axpy.c", axpy, strlen(axpy), "Axpy_2", "my-axpy", false));
	assert_contains(sk.contract.ptr, "workload: my-axpy");
	assert_contains(sk.oracle.ptr, "void oracle(int64_t n, int m, kl_real alpha, "
				       "const kl_real *x, kl_real *y, int32_t *count)");
	assert_contains(sk.oracle.ptr, "KL_ORACLE_TODO");
	assert_contains(sk.oracle.ptr, "#include \"kl_oracle.h\"");
}

static const char sums[] =
	"#include <stdint.h>\ntypedef unsigned int u32;\n"
	"u32 Sum(size_t n, int lda, u32 seed, short k, bool flag, unsigned char *p, float *opaque)\n"
	"{\n"
	"	u32 sum = seed;\n"
	"	for (size_t i = 0; i < n * lda; i += k)\n"
	"		sum += flag ? p[i] : 1;\n"
	"	use(opaque);\n"
	"	return sum;\n"
	"}\n";

static void types_of_c_become_dtypes(void **state)
{
	KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;
	KL_AUTO(kl_contract_freep) struct kl_contract *contract = NULL;
	KL_AUTO(kl_freep) char *kind = NULL, *whole = NULL, *filled = NULL, *shaped = NULL;

	assert_ok(kl_skeleton_make(&sk, "sum.c", sums, strlen(sums), NULL, NULL, false));
	assert_contains(sk.contract.ptr, "{name: n, kind: dim, dtype: u64}\n");
	assert_contains(sk.contract.ptr, "{name: lda, kind: dim, dtype: i32}\n");
	assert_contains(sk.contract.ptr, "{name: seed, kind: scalar, dtype: u32, value: TODO}");
	assert_contains(sk.contract.ptr, "{name: flag, kind: scalar, dtype: bool, value: TODO}");
	assert_contains(sk.contract.ptr,
			"{name: p, kind: in, dtype: u8, shape: [TODO], fill: TODO}");
	assert_contains(sk.contract.ptr, "{name: opaque, kind: TODO, dtype: f32, shape: [TODO]}");
	assert_contains(sk.contract.ptr, "returns: {dtype: u32}\n");
	assert_contains(sk.contract.ptr, "lda >= TODO");
	assert_contains(sk.contract.ptr, "lda: 61");
	assert_contains(sk.oracle.ptr, "uint32_t oracle(size_t n, int lda, uint32_t seed, short k, "
				       "_Bool flag, const unsigned char *p, kl_real *opaque)");

	kind = replace(sk.contract.ptr, "kind: TODO", "kind: out");
	shaped = replace(kind, "[TODO]", "[n]");
	filled = replace(shaped, "fill: TODO", "fill: ones");
	whole = replace(filled, "TODO", "1");
	assert_ok(kl_contract_parse(&contract, "k", whole, strlen(whole)));
	assert_int_equal(contract->nargs, 8);
	assert_true(contract->arg[7].returned);
	assert_int_equal(json_array_size(contract->accept), 2);
}

/* The audit refuses the rule `noise` for f64. */
static void each_dtype_gets_its_rule(void **state)
{
	static const struct {
		const char *text, *accept;
	} rows[] = {
		{ "void f(int n, float *y) { y[n] = 1; }",
		  "accept: {rule: noise, max: 4, rms: 2}\n" },
		{ "void f(int n, double *y) { y[n] = 1; }",
		  "accept: {rule: rel-l2, tol: 1.0e-12}\n" },
		{ "void f(int n, int *y) { y[n] = 1; }", "accept: {rule: exact}\n" },
		{ "double f(int n, const double *x) { return x[n]; }",
		  "accept: {rule: rel-l2, tol: 1.0e-12}\n" },
		{ "void f(int n, float *x, double *y) { x[n] = y[n] = 1; }",
		  "accept:\n  - {rule: noise, out: x, max: 4, rms: 2}\n"
		  "  - {rule: rel-l2, out: y, tol: 1.0e-12}\n" },
		{ "double f(int n, int *y) { y[n] = 1; return 2; }",
		  "accept:\n  - {rule: exact, out: y}\n"
		  "  - {rule: rel-l2, out: return, tol: 1.0e-12}\n" },
		{ "void f(int n, double *y) { g(y); }", "accept: {rule: rel-l2, tol: 1.0e-12}\n" },
		{ "void f(int n) { }", "accept: {rule: noise, max: 4, rms: 2}\n" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;
		const char *text = rows[i].text;

		assert_ok(kl_skeleton_make(&sk, "f.c", text, strlen(text), NULL, NULL, false));
		assert_contains(sk.contract.ptr, rows[i].accept);
	}
}

/* A plan names a kernel as its source does, with the template arguments of its launch. */
static void plans_name_kernels(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *want, *dtype; } rows[] = {
		{ "extern \"C\" __global__ void k(float *x) {}", "k", "f32" },
		{ "extern \"C\" { __global__ void k(float *x) {} }", "k", "f32" },
		{ "__global__ void __launch_bounds__((A * B) / C, 2) k(float *x) {}", "k", "f32" },
		{ "__launch_bounds__(256) __global__ void k(float *x) {}", "k", "f32" },
		{ "namespace a::b { inline namespace c { static __global__ void k(float *x) {} } }", "a::b::c::k", "f32" },
		{ "namespace a { extern \"C\" { void f() {} } namespace { __global__ void k(float *x) {} } }", "a::k", "f32" },
		{ "namespace a { void f() {} } __global__ void k(float *x) {}", "k", "f32" },
		{ "template <int N> __global__ void k(float *x) {}\nvoid f(float *x) { k<128><<<1, 2>>>(x); }", "k<128>", "f32" },
		{ "template <int N, int M = (N > 3)> __global__ void k(float *x) {}\n"
		  "void f(float *x) { const int B = 8; k<B * 2><<<1, 2>>>(x); }", "k<8 * 2>", "f32" },
		{ "template <typename T, bool B> __global__ void k(T *x) {}\nvoid f(double *x) { k<double, true><<<1, 2>>>(x); }",
		  "k<double, true>", "f64" },
		{ "template <class T = std::array<int, 3>, int N = 4> __global__ void k(T *x) {}\n"
		  "void f(int *x) { k<unsigned char><<<1, 2>>>(x); }", "k<unsigned char>", "u8" },
		{ "template <typename T> __global__ void k(T *x) {}\ntemplate <typename T> void f(T *x) { k<T><<<1, 2>>>(x); }",
		  "k<TODO>    # an instance of the template", NULL },
		{ "template <typename T> __global__ void k(T *x) {}", "k<TODO>    # an instance of the template", NULL },
		{ "#define real float\n__global__ void k(real *x) {}", "k", "f32" },
		{ "#define real double /* or float */\n#define scalar real\n__global__ void k(scalar *x) {}", "k", "f64" },
		{ "using real = float;\n__global__ void k(const real *x) {}", "k", "f32" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		const char *text = rows[i].text;
		KL_AUTO(kl_freep) char *want = kl_asprintf("kernel: %s\n", rows[i].want);
		KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;
		KL_AUTO(kl_proto_freep) struct kl_proto *proto = NULL;

		assert_ok(kl_skeleton_make(&sk, "f.cu", text, strlen(text), NULL, NULL, false));
		assert_contains(sk.plan.ptr, want);
		assert_ok(kl_proto_read(&proto, text, strlen(text), NULL, true));
		if (rows[i].dtype)
			assert_string_equal(proto->param[0].dtype, rows[i].dtype);
		else
			assert_null(proto->param[0].dtype);
	}
}

static void kernels_of_a_source_are_listed(void **state)
{
	static const char text[] =
		"#define B 8\n__device__ float f(float x) { return x; }\n"
		"namespace ns { template <int N, typename T = float> __global__ void tile(T *x) {} }\n"
		"__global__ void __launch_bounds__(B * 4) plain(float *x) {}\nvoid run() {}\n";
	KL_AUTO(kl_strvec_release) struct kl_strvec all = KL_STRVEC_INIT;

	kl_proto_names(&all, text, strlen(text), true);
	assert_int_equal(all.n, 2);
	assert_string_equal(all.v[0], "ns::tile<int N, typename T = float>");
	assert_string_equal(all.v[1], "plain");
}

static void launches_become_plans(void **state)
{
	/* clang-format off */
	static const struct { const char *body, *grid, *block, *smem; } rows[] = {
		{ "k<<<4, 256>>>(x, n);", "4", "256", NULL },
		{ "k<<<(m + 255) / 256, 256>>>(x, m);", "\"(n + 255) / 256\"", "256", NULL },
		{ "k<<<CEIL_DIV(m, 64), 64, 0>>>(x, m);", "\"cdiv(n, 64)\"", "64", NULL },
		{ "dim3 grid(cdiv(m, 8), m); dim3 block = dim3(8, 4, 2); k<<<grid, block, 1024, stream>>>(x, m);",
		  "\"cdiv(n, 8)\", n", "8, 4, 2", "1024" },
		{ "const int threads = 128; int blocks = (m - 1) / threads + 1; k<<<blocks, threads, threads * sizeof(float)>>>(x, m);",
		  "\"((n - 1) / 128 + 1)\"", "128", "\"128 * 4\"" },
		{ "k<<<dim3(m, TILE), dim3{TILE, TILE}>>>(x, m);", "n, 16", "16, 16", NULL },
		{ "k<<<m / 4u, 32>>>(x, m);", "\"n / 4\"", "32", NULL },
		/* values that a plan cannot express, and unknown values */
		{ "k<<<props.sms, 32>>>(x, m);", NULL, "32", NULL }, { "k<<<count(m), 32>>>(x, m);", NULL, "32", NULL },
		{ "int b = 1; b = 2; k<<<b, b>>>(x, m);", NULL, NULL, NULL }, { "b = b; k<<<b, 8>>>(x, m);", NULL, "8", NULL },
		{ "other<<<1, 2>>>(x, m);", NULL, NULL, NULL }, { "k<<<1.5, 2>>>(x, m);", NULL, "2", NULL },
		{ "a = b + b + b + b + b + b; b = c + c + c + c + c + c; c = d + d + d + d + d + d; d = m + m + m + m;"
		  "k<<<a, 1>>>(x, m);", NULL, "1", NULL },
		{ "int e = e; k<<<cdiv(cdiv(cdiv(cdiv(cdiv(cdiv(cdiv(e, 2), 2), 2), 2), 2), 2), 2), 1>>>(x, m);", NULL, "1", NULL },
		{ "int e = cdiv(e, e); k<<<e, 1>>>(x, m);", NULL, "1", NULL },
		{ "k<<<", NULL, NULL, NULL }, { "k<<<1>>>(x, m);", NULL, NULL, NULL }, { "k<<<1, 2", "1", "2", NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_freep)
		char *text = kl_asprintf(
			"#define TILE 16\n__global__ void k(float *x, int n) { x[n] = 1; }\n"
			"void run(float *x, int m) { %s }",
			rows[i].body);
		KL_AUTO(kl_proto_freep) struct kl_proto *other = proto(text, NULL);
		const char *got[] = { other->grid, other->block, other->smem };
		const char *want[] = { rows[i].grid, rows[i].block, rows[i].smem };

		for (size_t part = 0; part < 3; part++)
			if (!got[part] != !want[part] ||
			    (got[part] && strcmp(got[part], want[part])))
				fail_msg("'%s': %zu is %s, not %s", rows[i].body, part,
					 got[part] ? got[part] : "nothing",
					 want[part] ? want[part] : "nothing");
	}
}

static void a_type_that_contracts_lack_is_noted(void **state)
{
	static const struct {
		const char *text;
		bool unknown;
	} rows[] = {
		{ "void f(int n, const float *x) {}", false },
		{ "float f(int n, const float *x) { return 0; }", false },
		{ "void f(int n, word *x) {}", true },
		{ "word f(int n) { return 0; }", true },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;

		assert_ok(kl_skeleton_make(&sk, "k.c", rows[i].text, strlen(rows[i].text), NULL,
					   NULL, false));
		assert_int_equal(sk.unknown_type, rows[i].unknown);
	}
}

/* What a hostile source says goes into YAML and C: only plain words may. */
static void nothing_but_plain_text_is_copied(void **state)
{
	static const char text[] =
		"#include \"a]: {.h\"\n#include \"../up.h\"\n#include \"ok/x.h\"\n#include \"e\xffh.h\"\n"
		"void f(my\xff_t *q, float x[n\xff], int n) {}";
	KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;

	assert_ok(kl_skeleton_make(&sk, "k.c", text, strlen(text), NULL, NULL, false));
	assert_contains(sk.contract.ptr, "sources: [k.c, ok/x.h]");
	assert_contains(sk.contract.ptr, "do not have the type 'my?_t *'");
	assert_contains(sk.contract.ptr, "shape: [TODO]");
	for (const char *string = sk.contract.ptr; *string; string++)
		assert_true((*string >= 0x20 && *string < 0x7f) || *string == '\n');
}

static void odd_names_are_refused(void **state)
{
	/* clang-format off */
	static const struct { const char *leaf, *text, *workload, *message; } rows[] = {
		{ "k.f90", "void f(int n) {}", NULL, "'k.f90' is not a C source (.c) or C++ source (.cpp) or CUDA source (.cu)" },
		{ "k.cu", "__global__ void f(int n) {} __global__ void g(int n) {}", NULL, "several kernels: f, g" },
		{ "oracle.c", "void f(int n) {}", NULL, "name of the oracle's file" },
		{ "a b.c", "void f(int n) {}", NULL, "not allowed as a file name" },
		{ "-x.c", "void f(int n) {}", NULL, "not allowed as a file name" },
		{ "k.c", "void f$(int n) {}", NULL, "not a C identifier" },
		{ "k.c", "void f(int \xc3\xa9) {}", NULL, "not a C identifier" },
		{ "k.c", "void f(int n, float n) {}", NULL, "two parameters of 'f' have the name 'n'" },
		{ "k.c", "void f(int n) {}", "Up", "not a valid workload name" },
		{ "k.c", "void _f(int n) {}", NULL, "--workload" },
	};
	/* clang-format on */

	KL_AUTO(kl_skeleton_release) struct kl_skeleton none = KL_SKELETON_INIT;

	assert_error(KL_ENOTFOUND, "the file defines no kernel (__global__)",
		     kl_skeleton_make(&none, "k.cu", "void f(int n) {}", 16, NULL, NULL, false));
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;

		assert_error(KL_EINVALID, rows[i].message,
			     kl_skeleton_make(&sk, rows[i].leaf, rows[i].text, strlen(rows[i].text),
					      NULL, rows[i].workload, false));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_are_read),
		cmocka_unit_test(the_entry_is_found),
		cmocka_unit_test(what_cannot_be_read_is_said),
		cmocka_unit_test(use_is_guessed_from_the_body),
		cmocka_unit_test(writes_are_found),
		cmocka_unit_test(copies_are_not_followed_for_ever),
		cmocka_unit_test(macros_are_not_read_for_ever),
		cmocka_unit_test(rows_of_arrays_are_pointers),
		cmocka_unit_test(returned_values_are_read),
		cmocka_unit_test(sizes_are_told_from_seeds),
		cmocka_unit_test(types_of_c_become_dtypes),
		cmocka_unit_test(each_dtype_gets_its_rule),
		cmocka_unit_test(plans_name_kernels),
		cmocka_unit_test(kernels_of_a_source_are_listed),
		cmocka_unit_test(launches_become_plans),
		cmocka_unit_test(a_filled_skeleton_is_a_contract),
		cmocka_unit_test(the_oracle_has_the_kernels_arguments),
		cmocka_unit_test(a_type_that_contracts_lack_is_noted),
		cmocka_unit_test(nothing_but_plain_text_is_copied),
		cmocka_unit_test(odd_names_are_refused),
	};

	return cmocka_run_group_tests_name("gate skeleton", tests, NULL, NULL);
}
