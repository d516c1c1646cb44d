/* SPDX-License-Identifier: Apache-2.0 */
/* Every function that a kernel may call, once at each level, against the system's own. */
#include "kernel.h"

#include <dlfcn.h>
#include <math.h>

#include "backend/c/audit.h"
#include "base/proc.h"
#include "base/rng.h"
#include "image_lib.h"

/*
 * One source that calls everything, compiled twice: by the gate to an image, and by gcc to a shared
 * object that ld.so binds to the system's libraries. The function `k` fills a table of answers.
 */
static const char head[] =
	"#define _GNU_SOURCE\n#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
	"#include <stdlib.h>\n#include <strings.h>\n"
	"void k(const double *x, long n, double *out)\n{\n\tlong at = 0;\n";

/* clang-format off */
static const char *const unary[] = {
	"acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc",
	"exp", "exp10", "exp2", "expm1", "fabs", "floor", "j0", "j1", "lgamma", "log", "log10", "log1p",
	"log2", "logb", "nearbyint", "rint", "round", "roundeven", "sin", "sinh", "sqrt", "tan", "tanh",
	"tgamma", "trunc",
};
static const char *const binary[] = {
	"atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "nextafter", "pow", "remainder",
};
static const char *const whole[] = { "ilogb", "llrint", "llround", "lrint", "lround" };
/* those with another form; $T is the type, $F the suffix */
static const char others[] =
	"{ $T f; int e; f = frexp$F(v, &e); PUT(f); PUT(e); f = modf$F(v, &w); PUT(f); PUT(w); }\n"
	"{ int q; $T r = remquo$F(v, ($T)3.7, &q); PUT(r); PUT(q & 7); }\n"
	"{ $T s, c; sincos$F(v, &s, &c); PUT(s); PUT(c); }\n"
	"PUT(fma$F(v, u, ($T)1.25)); PUT(ldexp$F(v, 3)); PUT(scalbn$F(v, -4)); PUT(scalbln$F(v, 5L));\n"
	/* the static y0l(-0.0) is a NaN, the shared one an infinity */
	"PUT(v == 0 ? 0 : y0$F(v)); PUT(v == 0 ? 0 : y1$F(v));\n"
	"PUT(jn$F(3, v)); PUT(yn$F(2, fabs$F(v) + 1)); PUT(nexttoward$F(v, 9.0L)); PUT(isnan(nan$F(text)) != 0);\n";

static const char *const memory =
	"#define OFF(p, from) ((p) ? (char *)(p) - (from) : -1)\n"
	"{ static char a[700], b[700], c[700]; volatile size_t n1 = (size_t)n;\n"
	"for (int i = 0; i < 640; i++) a[i] = (char)(i * 37 % 251 + 1); a[639] = 0;\n"
	"for (size_t len = 0; len < 600; len += 1 + len / 7) {\n"
	"memcpy(b, a, len); memmove(b + 3, b, len); memset(c, (int)len, len); PUT(memcmp(b, c, len) > 0);\n"
	"PUT(OFF(mempcpy(c, a + 1, len), c)); PUT(OFF(memchr(a, a[len], 640), a));\n"
	"PUT(OFF(memrchr(a, a[len], len + 1), a)); PUT(OFF(memmem(a, 640, a + len, 9), a));\n"
	"PUT(OFF(memccpy(c, a, a[len], 640), c)); PUT(bcmp(a, b, len) != 0); bcopy(a, c, len); bzero(c, len / 2);\n"
	"for (size_t i = 0; i < len; i += 13) PUT(c[i]);\n"
	"memcpy(b, a, 640); b[len] = 0; PUT(strlen(b)); PUT(strnlen(b, len / 2)); PUT(strcmp(a, b) > 0);\n"
	"PUT(strncmp(a, b, len)); PUT(OFF(strchr(b, a[len / 2]), b)); PUT(OFF(strrchr(b, a[len / 2]), b));\n"
	"PUT(OFF(strchrnul(b, 77), b)); strcpy(c, b); PUT(strlen(c)); memset(c, 1, 640); strncpy(c, b, len); PUT(c[len]);\n"
	"c[0] = 0; strcat(c, b + len / 2); strncat(c, b, 17); PUT(strlen(c)); PUT(OFF(strstr(a, b + len / 2), a));\n"
	"PUT(strspn(a, b)); PUT(strcspn(a, a + len)); PUT(OFF(strpbrk(a, a + len), a));\n"
	"PUT(OFF(stpcpy(c, b), c)); PUT(OFF(stpncpy(c, b, len / 2), c)); }\n"
	"PUT(n1); { char *p = malloc(40), *q = calloc(3, 7), *r = aligned_alloc(64, 64); void *s;\n"
	"PUT(p != 0 && q != 0 && q[20] == 0 && (long)r % 64 == 0 && posix_memalign(&s, 32, 9) == 0);\n"
	"p = realloc(p, 400); PUT(p != 0); free(p); free(q); free(r); free(s); } }\n";

/* libgcc's helpers that C expressions need at some level */
static const char *const helpers =
	"{ volatile unsigned __int128 a = (unsigned __int128)x[0] * 12345678901234567ull + 3, b = (unsigned __int128)n + 7;\n"
	"volatile __int128 sa = -(__int128)a, sb = 13; volatile float f = (float)x[0]; volatile double d = x[0];\n"
	"volatile long double l = x[0]; volatile __float128 t = x[0]; volatile _Float16 h = (_Float16)1.5f;\n"
	"PUT((double)(uint64_t)(a / b)); PUT((double)(uint64_t)(a % b)); PUT((double)(int64_t)(sa / sb)); PUT((double)(int64_t)(sa % sb));\n"
	"PUT((double)sa); PUT((float)a); PUT((double)(int64_t)(__int128)d); PUT((double)(uint64_t)(unsigned __int128)f);\n"
	"PUT((double)(t * t + t / 3 - t)); PUT(t < 7); PUT((double)(int)t); PUT((double)(long)t); PUT((double)(__float128)l);\n"
	"PUT((double)(float)t); PUT((double)(_Float16)d); PUT((float)h); PUT(__builtin_popcountll(n + 77)); PUT(__builtin_parity((int)n));\n"
	"PUT(__builtin_powi(d, 5)); PUT(__builtin_powif(f, (int)n % 7)); _Complex double z = d + 2i, y = z * z / (z + 1); PUT(__real__ y + __imag__ y);\n"
	"_Complex float zf = f + 2i, yf = zf * zf / (zf + 1); PUT(__real__ yf + __imag__ yf); _Complex long double zl = l + 2i, yl = zl * zl / (zl + 1);\n"
	"PUT((double)(__real__ yl + __imag__ yl)); PUT((double)(long double)a); PUT((double)(long double)sa); }\n";
/* clang-format on */

#define MOST ((size_t)1 << 16)

static void add_functions(struct kl_buf *out, const char *type, const char *suffix)
{
	kl_buf_addf(out,
		    "{ const char *volatile text = \"0x12\"; for (long i = 0; i < n; i++) {\n"
		    "volatile %s v = (%s)x[i], u = (%s)x[(i + 7) %% n]; %s w;\n",
		    type, type, type, type);
	for (size_t i = 0; i < KL_ARRAY_SIZE(unary); i++)
		kl_buf_addf(out, "PUT(%s%s(v));\n", unary[i], suffix);
	for (size_t i = 0; i < KL_ARRAY_SIZE(binary); i++)
		kl_buf_addf(out, "PUT(%s%s(v, u));\n", binary[i], suffix);
	for (size_t i = 0; i < KL_ARRAY_SIZE(whole); i++)
		kl_buf_addf(out, "PUT((double)%s%s(v));\n", whole[i], suffix);
	for (const char *at = others; *at; at++) {
		if (*at != '$')
			kl_buf_addch(out, *at);
		else
			kl_buf_adds(out, *++at == 'T' ? type : suffix);
	}
	kl_buf_adds(out, "} }\n");
}

/* The functions of a type, or those of mem*, str*, malloc and libgcc (type NULL). */
static char *make_source(const char *type, const char *suffix)
{
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;

	kl_buf_adds(&out, "#define PUT(value) (out[at++] = (double)(value))\n");
	kl_buf_adds(&out, head);
	if (type)
		add_functions(&out, type, suffix);
	else
		kl_buf_addf(&out, "%s%s", memory, helpers);
	kl_buf_adds(&out, "out[at++] = -12345; }\n");
	return kl_buf_detach(&out);
}

static const char vector_source[] = "#include <math.h>\n"
				    "void k(const double *x, long n, double *out)\n{\n"
				    "static float f[1024]; static double d[1024]; long at = 0;\n"
#define LOOP(name)                                                                            \
	"for (int i = 0; i < 1024; i++) { f[i] = (float)x[i % n]; d[i] = x[i % n]; }\n"       \
	"for (int i = 0; i < 1024; i++) { f[i] = " name "f(f[i]); d[i] = " name "(d[i]); }\n" \
	"for (int i = 0; i < 1024; i += 31) { out[at++] = f[i]; out[at++] = d[i]; }\n"
	LOOP("exp") LOOP("sin") LOOP("cos") LOOP("log") LOOP("tanh") LOOP("erf") LOOP("cbrt")
		LOOP("atan") LOOP("expm1") LOOP("asinh") LOOP("exp2")
			LOOP("sinh") "out[at++] = -12345; }\n";

/* The same source, bound by ld.so to the system's libraries. */
static void *load_shared(const char *dir, const char *source, const char *march, const char *flag)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf("%s/shared-%s.c", dir, march);
	KL_AUTO(kl_freep) char *object = kl_asprintf("%s/shared-%s%s.so", dir, march, flag);
	KL_AUTO(kl_freep) char *level = kl_asprintf("-march=%s", march);
	const char *argv[] = { "gcc",     "-std=gnu11", "-O2",   flag,
			       level,     "-w",         "-fPIC", "-fno-builtin-memcpy",
			       "-shared", "-o",         object,  text,
			       "-lmvec",  "-lm",        NULL };
	void *lib;

	assert_ok(kl_fs_put(text, source, strlen(source), 0600));
	assert_ok(kl_proc_output(NULL, argv));
	lib = dlopen(object, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		fail_msg("%s", dlerror());
	return dlsym(lib, "k");
}

static void make_inputs(double *values, long n)
{
	static const double edges[] = { 0.0,    -0.0,  1.0,    -1.0, 0.5, 1e-8,     700.0,
					-700.0, 1e300, 5e-324, 3.5,  2.5, INFINITY, -INFINITY };
	struct kl_rng rng;

	kl_rng_seed(&rng, 5);
	for (long i = 0; i < n; i++)
		values[i] = (size_t)i < KL_ARRAY_SIZE(edges) ?
				    edges[i] :
				    (kl_rng_uniform(&rng) - 0.5) * (i % 3 ? 20 : 2);
}

typedef void (*kernel_fn)(const double *x, long n, double *out);

/* Run the image on a level; the forms of libm differ in the last bits. */
static void compare_level(struct kernel *kernel, const char *march, const char *source,
			  const char *flag, double tolerance)
{
	static double values[64], got[MOST], want[MOST];
	static unsigned char room[1 << 16];
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
	struct kl_image_mapped mapped;
	kernel_fn shared, mine;
	size_t n = 0, differ = 0;

	assert_ok(kernel_compile(&artefact, kernel, source, NULL, flag));
	mapped = image_load(artefact->object);
	memcpy(mapped.arena, &(struct {
		       void *base;
		       size_t size;
	       }){ room, sizeof(room) },
	       16);
	*(void **)&mine = mapped.entry;
	*(void **)&shared = load_shared(kernel->dir, source, march, flag);
	make_inputs(values, 64);
	mine(values, 64, got);
	shared(values, 64, want);
	for (; want[n] != -12345 || n < 100; n++) {
		double scale = fabs(want[n]) > 0.01 ? fabs(want[n]) : 0.01;

		assert_true(n < MOST - 1);
		if (got[n] == want[n] || (isnan(got[n]) && isnan(want[n])))
			continue;
		differ++;
		if (!(fabs(got[n] - want[n]) <= tolerance * scale))
			fail_msg("%s: answer %zu is %.17g, not %.17g", march, n, got[n], want[n]);
	}
	assert_true(got[n] == -12345);
	print_message("%s: %zu answers, %zu differ in the last bits\n", march, n, differ);
	kl_image_unmap(&mapped);
}

static void on_all_levels(const char *source, const char *flag, double tolerance)
{
	for (int level = 1; level <= 4; level++) {
		KL_AUTO(kl_freep) char *id = kl_asprintf("cpu/x86-64-v%d", level);
		struct kernel kernel;
		struct kl_platform platform;

		if (kl_machine_platform(&platform, id) < 0) {
			print_message("SKIPPED: %s\n", kl_error_last());
			continue;
		}
		kernel_setup_on(&kernel, id);
		compare_level(&kernel, platform.march, source, flag, tolerance);
		kernel_teardown(&kernel);
	}
}

static void test_double(void **state)
{
	KL_AUTO(kl_freep) char *source = make_source("double", "");

	on_all_levels(source, "-fno-builtin", 2e-15);
}

static void test_float(void **state)
{
	KL_AUTO(kl_freep) char *source = make_source("float", "f");

	on_all_levels(source, "-fno-builtin", 1e-6);
}

/* compared as double */
static void test_long_double(void **state)
{
	KL_AUTO(kl_freep) char *source = make_source("long double", "l");

	on_all_levels(source, "-fno-builtin", 3e-16);
}

static void test_memory(void **state)
{
	KL_AUTO(kl_freep) char *source = make_source(NULL, NULL);

	on_all_levels(source, "-fno-builtin", 0);
}

static void test_vectors(void **state)
{
	on_all_levels(vector_source, "-Ofast", 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_double),      cmocka_unit_test(test_float),
		cmocka_unit_test(test_long_double), cmocka_unit_test(test_memory),
		cmocka_unit_test(test_vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
