/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>

#include "backend/c/audit.h"
#include "backend/c/link/link.h"
#include "backend/c/link/variant.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/rng.h"
#include "base/vec.h"
#include "image/code_check.h"
#include "image_lib.h"

static char *dir;
static struct kl_libraries *libraries;
static struct kl_object *runtime;

static struct kl_object *compile(const char *name, const char *source, const char *flag)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf("%s/%s.c", dir, name);
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s.o", dir, name);
	const char *argv[] = { "gcc",
			       "-O2",
			       "-w",
			       "-fPIC",
			       "-fno-stack-protector",
			       "-fcf-protection=none",
			       "-ffunction-sections",
			       "-fdata-sections",
			       "-c",
			       "-o",
			       path,
			       text,
			       flag,
			       NULL };
	struct kl_object *object = NULL;

	assert_ok(kl_fs_put(text, source, strlen(source), 0600));
	assert_ok(kl_proc_output(NULL, argv));
	assert_ok(kl_object_read(&object, path));
	return object;
}

static int setup(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	assert_ok(kl_fs_tempdir(&dir, "kl-link"));
	assert_ok(kl_libraries_open(&libraries));
	kl_buf_adds(&text, "#include \"" KL_SOURCE "/templates/runtime/kernel_runtime.c\"\n");
	runtime = compile("runtime", text.ptr, "-fno-builtin");
	return 0;
}

static int teardown(void **state)
{
	kl_object_free(runtime);
	kl_libraries_free(libraries);
	kl_fs_tempdir_cleanup(&dir);
	return 0;
}

static struct kl_link plain_link(struct kl_object *const *object, size_t n)
{
	return (struct kl_link){
		.object = (const struct kl_object *const *)object,
		.nobject = n,
		.runtime = runtime,
		.libraries = libraries,
		.level = 2,
		.entry = "k",
		.arena = "kl_rt_arena",
	};
}

/* The image of one or two sources; the caller unmaps it. */
static struct kl_image_mapped linked(const char *source, const char *second)
{
	struct kl_object *object[2] = { compile("one", source, NULL),
					second ? compile("two", second, NULL) : NULL };
	struct kl_link link = plain_link(object, second ? 2 : 1);
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "k.image");
	struct kl_image image;

	assert_ok(kl_link(&bytes, &link));
	assert_ok(kl_image_read(&image, bytes.ptr, bytes.len));
	assert_ok(kl_code_check(&image));
	assert_ok(kl_fs_put(path, bytes.ptr, bytes.len, 0600));
	for (size_t i = 0; i < link.nobject; i++)
		kl_object_free(object[i]);
	return image_load(path);
}

static long call_linked(const char *source, const char *second)
{
	struct kl_image_mapped mapped = linked(source, second);
	long answer = ((long (*)(void))(uintptr_t)mapped.entry)();

	kl_image_unmap(&mapped);
	return answer;
}

/* clang-format off */
static const struct { const char *what, *first, *second; long answer; } programs[] = {
	{ "two files, data and code of each other",
	  "extern int table[3]; int twice(int); long k(void) { return twice(table[2]); }\n",
	  "int table[3] = { 1, 2, 21 }; int twice(int a) { return 2 * a; }\n", 42 },
	{ "a pointer to data and one to code, in data and in constants",
	  "static int x = 40; static int two(void) { return 2; } int *p = &x; int (*const f[])(void) = { two };\n"
	  "long k(void) { return *p + f[0](); }\n", NULL, 42 },
	{ "a pointer into the middle, and behind the end",
	  "static long v[4] = { 1, 2, 3, 4 }; long *p = v + 3, *e = v + 4; long k(void) { return *p * 10 + (e - v); }\n", NULL, 44 },
	{ "a weak definition gives way", "__attribute__((weak)) int one(void) { return 1; }\nlong k(void) { return one(); }\n",
	  "int one(void) { return 42; }\n", 42 },
	{ "a weak definition alone", "__attribute__((weak)) int one(void) { return 42; }\nlong k(void) { return one(); }\n", NULL, 42 },
	{ "a weak name that nothing defines", "extern int none(void) __attribute__((weak)); long k(void) { return none ? 1 : 42; }\n",
	  NULL, 42 },
	{ "a common symbol and its definition", "__asm__(\".comm shared,4,4\"); extern int shared; long k(void) { return shared; }\n",
	  "int shared = 42;\n", 42 },
	{ "a common symbol alone", "__asm__(\".comm shared,64,64\"); extern int shared[16];\n"
	  "long k(void) { shared[3] = 42; return ((long)shared & 63) ? 1 : shared[3] + shared[2]; }\n", NULL, 42 },
	{ "alignment", "static int a __attribute__((aligned(65536))), b __attribute__((aligned(64)));\n"
	  "long k(void) { return ((long)&a % 65536) + ((long)&b % 64) + a + b + 42; }\n", NULL, 42 },
	{ "the table: loads, and an instruction that needs it",
	  "int x = 40; long k(void) { long a, b; __asm__(\"mov x@GOTPCREL(%%rip), %0\" : \"=r\"(a));\n"
	  "__asm__(\"xor %0, %0\\n\\tadd x@GOTPCREL(%%rip), %0\" : \"=r\"(b)); return *(int *)a + (a == b) * 2; }\n", NULL, 42 },
	{ "calls and jumps through the table",
	  "__attribute__((noinline)) long f(void) { return 42; }\n"
	  "long g(void); __asm__(\".text\\ng: jmp *f@GOTPCREL(%rip)\\nint3\\n\");\n"
	  "long k(void) { long r; __asm__(\"call *f@GOTPCREL(%%rip)\" : \"=a\"(r) : : \"memory\"); return r == 42 ? g() : 0; }\n", NULL, 42 },
	{ "offsets from the table", "int x = 42; long k(void) { long t, o;\n"
	  "__asm__(\"lea _GLOBAL_OFFSET_TABLE_(%%rip), %0\\n\\tmovabs $x@GOTOFF, %1\" : \"=&r\"(t), \"=r\"(o)); return *(int *)(t + o); }\n",
	  NULL, 42 },
	{ "a packed pointer at an odd address", "static int x = 42; struct __attribute__((packed)) { char c; int *p; } s = { 1, &x };\n"
	  "long k(void) { return *s.p; }\n", NULL, 42 },
	{ "functions of libraries", "double pow(double, double); unsigned long strlen(const char *);\n"
	  "const char *volatile text = \"123\"; volatile double x = 39; long k(void) { return (long)pow(x, 1) + strlen(text); }\n", NULL, 42 },
	{ "memory", "void *malloc(unsigned long); long k(void) { return malloc(8) ? 1 : 42; }\n", NULL, 42 },
	{ "a name that a library uses inside is the kernel's own",
	  "double __math_oflow(unsigned s) { return 7; }\nvoid *__memmove_sse2_unaligned(void) { return 0; }\n"
	  "double exp(double); volatile double x = 1e6; long k(void) { return exp(x) > 1e300 ? 35 + __math_oflow(0) : 0; }\n", NULL, 42 },
	{ "sections with odd names", "__attribute__((section(\".text.hot.x\"))) static int f(void) { return 40; }\n"
	  "__attribute__((section(\".data.rel.ro.x\"))) int (*volatile p)(void) = f; static int big[1 << 20];\n"
	  "long k(void) { return p() + 2 + big[77]; }\n", NULL, 42 },
	{ "a variable whose name begins with ro", "int f(void), g(void); int (*root)(void) = f; long k(void) { root = g; return root(); }\n",
	  "int f(void) { return 1; }\nint g(void) { return 42; }\n", 42 },
	{ "variables called ro", "int f(void), g(void); int (*ro)(void) = f;\n"
	  "static int *inner(void) { static int (*ro)(void) = f; ro = g; return (int *)&ro; }\n"
	  "long k(void) { ro = g; return ro() / 2 + (*(int (**)(void))inner())() / 2; }\n",
	  "int f(void) { return 1; }\nint g(void) { return 42; }\n", 42 },
};
/* clang-format on */

static void test_programs(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(programs); i++) {
		print_message("%s\n", programs[i].what);
		assert_int_equal(call_linked(programs[i].first, programs[i].second),
				 programs[i].answer);
	}
}

/* clang-format off */
static const struct { const char *what, *first, *second, *message; } refused[] = {
	{ "defined twice", "int x = 1; long k(void) { return x; }\n", "int x = 2;\n", "'x' is defined twice" },
	{ "not defined", "long none(void); long k(void) { return none(); }\n", NULL, "undefined reference to 'none'" },
	{ "no entry", "long other(void) { return 1; }\n", NULL, "'k' is not defined" },
	{ "the entry is data", "long k = 1;\n", NULL, "'k' is not a function" },
	{ "an absolute address in code", "int x; long k(void) { long a; __asm__(\"movabs $x, %0\" : \"=r\"(a)); return a; }\n",
	  NULL, "contains an absolute address" },
	{ "32 bits of an address", "int x; long k(void) { long a; __asm__(\"mov $x, %k0\" : \"=r\"(a)); return a; }\n", NULL,
	  "relocation of type 10" },
	{ "thread-local", "__thread int t = 1; long k(void) { return t; }\n", NULL, "'.tdata.t', which is not linked" },
	{ "a section that is left out", "__asm__(\".section .note.x,\\\"a\\\",@note\\nn: .long 1\\n.text\");\n"
	  "extern int n; long k(void) { long a; __asm__(\"lea n(%%rip), %0\" : \"=r\"(a)); return a; }\n", NULL, "which is not linked" },
	{ "a reference that does not reach", "char x; long k(void) { long a; __asm__(\"lea x+0x7fffffff(%%rip), %0\" : \"=r\"(a)); return a; }\n",
	  NULL, "out of range" },
	{ "words that overlap", "__asm__(\".data\\nv: .quad 0, 0\\n.reloc v, R_X86_64_64, k\\n.reloc v + 4, R_X86_64_64, k\\n.text\");\n"
	  "extern long v; long k(void) { long a; __asm__(\"lea v(%%rip), %0\" : \"=r\"(a)); return a; }\n", NULL, "out of order" },
	{ "far too aligned", "static int x __attribute__((aligned(1 << 22))); long k(void) { return (long)&x; }\n", NULL, "aligned to" },
};
/* clang-format on */

static void test_refused(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(refused); i++) {
		struct kl_object *object[2] = { compile("one", refused[i].first, NULL),
						refused[i].second ?
							compile("two", refused[i].second, NULL) :
							NULL };
		struct kl_link link = plain_link(object, refused[i].second ? 2 : 1);
		KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
		int err = kl_link(&bytes, &link);

		print_message("%s: %s\n", refused[i].what, err ? kl_error_last() : "LINKED");
		assert_int_equal(err, KL_ENO);
		assert_contains(kl_error_last(), refused[i].message);
		for (size_t k = 0; k < link.nobject; k++)
			kl_object_free(object[k]);
	}
}

/* Only what the entry reaches is in the image, and the kernel's own code comes first. */
static void test_layout(void **state)
{
	struct kl_object *object[1] = { compile(
		"one",
		"double exp(double); static int unused_data[1000] = { 1 }; int *unused(void) { return unused_data; }\n"
		"double k(double x) { return exp(x); }\n",
		NULL) };
	struct kl_link link = plain_link(object, 1);
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT, again = KL_BUF_INIT;
	struct kl_image image;

	assert_ok(kl_link(&bytes, &link));
	assert_ok(kl_image_read(&image, bytes.ptr, bytes.len));
	assert_true(image.own < 200 && image.text > image.own);
	assert_true(image.data < 1000);
	assert_int_equal(image.nimport, 0);
	assert_int_not_equal(image.arena, KL_IMAGE_NONE);
	assert_ok(kl_link(&again, &link));
	assert_int_equal(bytes.len, again.len);
	assert_memory_equal(bytes.ptr, again.ptr, bytes.len);
	link.whole = true;
	assert_ok(kl_link(&again, &link));
	assert_ok(kl_image_read(&image, again.ptr, again.len));
	assert_true(image.data >= 4000);
	kl_object_free(object[0]);
}

/* Constants that contain addresses are not writable once these are filled in. */
static void test_constants(void **state)
{
	struct kl_object *object[2] = {
		compile("one",
			"long f(void), g(void); static long (*const table[])(void) = { f, g };\n"
			"long k(long i) { return table[i & 1](); }\n",
			NULL),
		compile("two", "long f(void) { return 1; }\nlong g(void) { return 2; }\n", NULL)
	};
	struct kl_link link = plain_link(object, 2);
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	struct kl_image image;

	assert_ok(kl_link(&bytes, &link));
	assert_ok(kl_image_read(&image, bytes.ptr, bytes.len));
	assert_int_equal(image.naddress, 2);
	for (size_t i = 0; i < 2; i++)
		assert_true(image.address[i].at < kl_image_offset(&image, 2));
	for (size_t i = 0; i < link.nobject; i++)
		kl_object_free(object[i]);
}

/* The parts of an image lie at other distances, and the code still is what it was. */
static void test_shift(void **state)
{
	struct kl_object *object[1] = { compile(
		"one",
		"double exp(double); static double table[4] = { 1, 2, 3, 4 };\n"
		"double k(double x) { table[0] += 1; return exp(x) + table[(int)x & 3]; }\n",
		NULL) };
	struct kl_link link = plain_link(object, 1);
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/shifted.image", dir);
	uint64_t text = 0;

	for (link.shift = 0; link.shift < 4; link.shift++) {
		KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
		struct kl_image_mapped mapped;
		struct kl_image image;
		double (*call)(double);

		assert_ok(kl_link(&bytes, &link));
		assert_ok(kl_image_read(&image, bytes.ptr, bytes.len));
		assert_ok(kl_code_check(&image));
		assert_true(image.text > text && image.own >= link.shift * KL_IMAGE_PAGE);
		text = image.text;
		assert_ok(kl_fs_put(path, bytes.ptr, bytes.len, 0600));
		mapped = image_load(path);
		*(void **)&call = mapped.entry;
		assert_true(fabs(call(2) - (exp(2) + 3)) < 1e-12);
		assert_true(fabs(call(0) - 4) < 1e-12);
		kl_image_unmap(&mapped);
	}
	kl_object_free(object[0]);
}

/* errno of library code: another word in each image, and not this process's. */
static void test_errno(void **state)
{
	struct kl_image_mapped mapped = linked(
		"double exp(double); double k(double x) { return exp(x); }\n", NULL);

	errno = 0;
	assert_true(isinf(((double (*)(double))(uintptr_t)mapped.entry)(1e6)));
	assert_int_equal(errno, 0);
	kl_image_unmap(&mapped);
}

static bool may_import(const char *name)
{
	return !strcmp(name, "seven") || !strcmp(name, "eight") || !strcmp(name, "nine");
}

static long seven(void)
{
	return 7;
}

static long nine(void)
{
	return 9;
}

static void *find_import(const char *name, void *payload)
{
	static long eight = 8;

	if (!strcmp(name, "seven"))
		return (void *)(uintptr_t)seven;
	if (!strcmp(name, "nine"))
		return (void *)(uintptr_t)nine;
	return !strcmp(name, "eight") ? &eight : NULL;
}

/* Functions and data of the process, one of them behind a function of the runtime. */
static void test_imports(void **state)
{
	static const char *const wrap[] = { "nine", NULL };
	struct kl_object *object[1] = { compile(
		"one",
		"long seven(void), nine(void); extern long eight; long (*const p)(void) = seven;\n"
		"long dims[16]; static long started; void begin(void) { started = 1; }\n"
		"long k(void) { return seven() * 10000 + p() * 1000 + eight * 100 + nine() + started * 100000 + dims[15]; }\n",
		NULL) };
	struct kl_object *wrapper = compile(
		"wrapper",
		"long __real_nine(void); long __wrap_nine(void) { return __real_nine() + 1; }\n",
		NULL);
	struct kl_link link = plain_link(object, 1);
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "import.image");
	struct kl_image_mapped mapped;
	struct kl_image image;
	int fd;

	link.runtime = wrapper;
	link.libraries = NULL;
	link.may_import = may_import;
	link.wrap = wrap;
	link.arena = NULL;
	link.dims = "dims";
	link.start = "begin";
	assert_ok(kl_link(&bytes, &link));
	assert_ok(kl_image_read(&image, bytes.ptr, bytes.len));
	assert_ok(kl_code_check(&image));
	assert_int_equal(image.arena, KL_IMAGE_NONE);
	assert_ok(kl_fs_put(path, bytes.ptr, bytes.len, 0600));
	fd = open(path, O_RDONLY);
	assert_ok(kl_image_map(&mapped, fd, bytes.len, find_import, NULL));
	close(fd);
	assert_int_equal(((long (*)(void))(uintptr_t)mapped.entry)(), 77810);
	((void (*)(void))(uintptr_t)mapped.start)();
	((long *)mapped.dims)[15] = 1000000;
	assert_int_equal(((long (*)(void))(uintptr_t)mapped.entry)(), 1177810);
	kl_image_unmap(&mapped);
	kl_object_free(object[0]);
	kl_object_free(wrapper);
}

static void *find_anywhere(const char *name, void *payload)
{
	return dlsym(RTLD_DEFAULT, name);
}

static bool import_all(const char *name)
{
	return true;
}

/* Exceptions of C++ find their tables in an image, once these are registered. */
static void test_frames(void **state)
{
	static const char source[] =
		"struct noisy { int *at; ~noisy() { *at += 1; } };\n"
		"__attribute__((noinline)) static void fail(int x) { if (x) throw x; }\n"
		"extern \"C\" int k(int x) { int gone = 0;\n"
		"try { noisy n = { &gone }; fail(x); } catch (int e) { return e + gone; } return gone; }\n";
	KL_AUTO(kl_freep) char *text = kl_fs_join(dir, "frames.cc");
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "frames.o");
	KL_AUTO(kl_freep) char *to = kl_fs_join(dir, "frames.image");
	const char *argv[] = { "g++", "-O1", "-fPIC", "-fno-stack-protector", "-c", "-o",
			       path,  text,  NULL };
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	struct kl_object *object[1] = { NULL };
	struct kl_link link = { .object = (const struct kl_object *const *)object,
				.nobject = 1,
				.entry = "k",
				.whole = true,
				.frames = true,
				.may_import = import_all };
	struct kl_image_mapped mapped;
	void (*add)(void *);
	int (*entry)(int);
	int fd;

	if (!dlopen("libstdc++.so.6", RTLD_NOW | RTLD_GLOBAL))
		skip();
	*(void **)&add = dlsym(RTLD_DEFAULT, "__register_frame");
	assert_non_null(add);
	assert_ok(kl_fs_put(text, source, strlen(source), 0600));
	if (kl_proc_output(NULL, argv) < 0)
		skip(); /* no g++ */
	assert_ok(kl_object_read(&object[0], path));
	assert_ok(kl_link(&bytes, &link));
	assert_ok(kl_fs_put(to, bytes.ptr, bytes.len, 0600));
	fd = open(to, O_RDONLY);
	assert_ok(kl_image_map(&mapped, fd, bytes.len, find_anywhere, NULL));
	close(fd);
	assert_non_null(mapped.frames);
	add(mapped.frames);
	*(void **)&entry = mapped.entry;
	assert_int_equal(entry(0), 1);
	assert_int_equal(entry(41), 42);
	kl_object_free(object[0]);
}

/* A section of code or variables stays in its segment, even if it has the name of the exception tables. */
static void test_false_frames(void **state)
{
	static const struct {
		const char *flags, *filler;
	} rows[] = { { "ax", "0xcc" }, { "aw", "1" } };

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_freep) char *source = kl_asprintf(
			"__asm__(\".section .eh_frame,\\\"%s\\\",@progbits\\n.fill 20000,1,%s\\n.text\");\n"
			"long k(void) { return 7; }\n",
			rows[i].flags, rows[i].filler);
		struct kl_object *object[1] = { compile("one", source,
							"-fno-asynchronous-unwind-tables") };
		struct kl_link link = { .object = (const struct kl_object *const *)object,
					.nobject = 1,
					.entry = "k",
					.whole = true,
					.frames = true };
		KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
		struct kl_image image;

		assert_ok(kl_link(&bytes, &link));
		assert_ok(kl_image_read(&image, bytes.ptr, bytes.len));
		assert_true((i == 0 ? image.text : image.data) >= 20000);
		assert_true(image.rodata < 20000);
		kl_object_free(object[0]);
	}
}

static void test_variants(void **state)
{
	static const struct {
		const char *name, *form[5]; /* by level */
	} wanted[] = {
		{ "sin", { "", "__sin_sse2", "__sin_sse2", "__sin_fma", "__sin_fma" } },
		{ "floor", { "", "__floor_c", "__floor_sse41", "__floor_sse41", "__floor_sse41" } },
		{ "_ZGVdN8v_expf",
		  { "", "_ZGVdN8v_expf_sse_wrapper", "_ZGVdN8v_expf_sse_wrapper",
		    "_ZGVdN8v_expf_avx2", "_ZGVdN8v_expf_avx2" } },
		{ "_ZGVeN16v_expf",
		  { "", "_ZGVeN16v_expf_avx2_wrapper", "_ZGVeN16v_expf_avx2_wrapper",
		    "_ZGVeN16v_expf_avx2_wrapper", "_ZGVeN16v_expf_skx" } },
		{ "memmove",
		  { "", "__memmove_sse2_unaligned", "__memmove_sse2_unaligned",
		    "__memmove_avx_unaligned", "__memmove_evex_unaligned" } },
		{ "strlen",
		  { "", "__strlen_sse2", "__strlen_sse2", "__strlen_avx2", "__strlen_evex" } },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(wanted); i++) {
		struct kl_object *object = NULL;
		size_t sym = 0, form;

		assert_ok(kl_libraries_find(&object, libraries, wanted[i].name));
		while (strcmp(object->sym[sym].name, wanted[i].name))
			sym++;
		for (int level = 1; level <= 4; level++) {
			assert_ok(kl_variant_choose(&form, object, sym, level));
			assert_string_equal(object->sym[form].name, wanted[i].form[level]);
		}
		kl_object_free(object);
	}
	assert_int_equal(strncmp(libraries->id, "glibc ", 6), 0);
	assert_true(strlen(libraries->id) >= 18);
}

/* The words of symbols.c, alone and in f and l, that are names that a kernel may use. */
static void plain_names(struct kl_strvec *out)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;

	assert_ok(kl_fs_read(&text, KL_SOURCE "/src/image/symbols.c", 1 << 20));
	kl_strvec_split(&words, text.ptr, " \t\n\"");
	for (size_t i = 0; i < words.n; i++) {
		for (size_t k = 0; k < 3; k++) {
			KL_AUTO(kl_freep) char *name = kl_asprintf("%s%.*s", words.v[i], k > 0,
								   k == 1 ? "f" : "l");

			if (kl_symbol_kind(name) != KL_SYMBOL_FOREIGN)
				kl_strvec_push(out, name);
		}
	}
	kl_strvec_uniq(out);
}

/* All names that a kernel may use: in libm and the like, and the vector forms that libmvec has. */
static void all_names(struct kl_strvec *out)
{
	static const char *const forms[] = { "bN2v",  "bN4v",  "bN2vv", "bN4vv", "cN4v",  "cN8v",
					     "cN4vv", "cN8vv", "dN4v",  "dN8v",  "dN4vv", "dN8vv",
					     "eN8v",  "eN16v", "eN8vv", "eN16vv" };
	size_t n;

	plain_names(out);
	n = out->n;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < KL_ARRAY_SIZE(forms); k++) {
			KL_AUTO(kl_freep) char *name = kl_asprintf("_ZGV%s_%s", forms[k],
								   out->v[i]);
			struct kl_object *object = NULL;

			if (kl_symbol_kind(name) != KL_SYMBOL_MATH ||
			    kl_libraries_find(&object, libraries, name) < 0)
				continue;
			kl_object_free(object);
			kl_strvec_push(out, name);
		}
	}
}

/*
 * Each of them links at each level, whatever it pulls in, to code that passes the check of code.
 * Some of libgcc's helpers came with later releases.
 */
static void test_names(void **state)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf source = KL_BUF_INIT;
	struct kl_object *object[1];
	struct kl_link link = plain_link(object, 1);
	size_t absent = 0;

	all_names(&names);
	assert_true(names.n > 500);
	for (size_t i = 0; i < names.n; i++)
		kl_buf_addf(
			&source,
			"__asm__(\".section .text.e%zu,\\\"ax\\\"\\n.globl e%zu\\ne%zu: jmp %s@PLT\");\n",
			i, i, i, names.v[i]);
	object[0] = compile("names", source.ptr, NULL);
	for (size_t i = 0; i < names.n; i++) {
		KL_AUTO(kl_freep) char *entry = kl_asprintf("e%zu", i);

		link.entry = entry;
		for (link.level = 1; link.level <= 4; link.level++) {
			KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
			struct kl_image image;
			int err = kl_link(&bytes, &link);

			if (err == KL_ENO && strstr(kl_error_last(), "undefined reference")) {
				assert_int_equal(kl_symbol_kind(names.v[i]), KL_SYMBOL_HELPER);
				absent += link.level == 1;
				continue;
			}
			if (err < 0)
				fail_msg("%s: %s", names.v[i], kl_error_last());
			assert_ok(kl_image_read(&image, bytes.ptr, bytes.len));
			if (kl_code_check(&image) < 0)
				fail_msg("%s: %s", names.v[i], kl_error_last());
			assert_true(image.text < 200000 && image.data < 20000);
		}
	}
	print_message("%zu names, %zu of them not in this libgcc\n", names.n, absent);
	assert_true(absent < 10);
	kl_object_free(object[0]);
}

/* Objects with bytes changed at random: an error or an image, never a crash. */
static void test_broken(void **state)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "one.o");
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	struct kl_rng rng;
	size_t made = 0;

	for (size_t i = 0; i < KL_ARRAY_SIZE(programs); i += 3) {
		kl_object_free(compile("one", programs[i].first, NULL));
		kl_buf_clear(&bytes);
		assert_ok(kl_fs_read(&bytes, path, 1 << 20));
		kl_rng_seed(&rng, i);
		for (int turn = 0; turn < 300; turn++) {
			KL_AUTO(kl_buf_release) struct kl_buf image = KL_BUF_INIT;
			struct kl_object *object = NULL;
			struct kl_link link = plain_link(&object, 1);
			size_t at = kl_rng_below(&rng, bytes.len);
			char saved = bytes.ptr[at];

			bytes.ptr[at] = (char)kl_rng_u64(&rng);
			if (!kl_object_parse(&object, "broken", bytes.ptr, bytes.len)) {
				made += !kl_link(&image, &link);
				kl_object_free(object);
			}
			bytes.ptr[at] = saved;
		}
	}
	assert_true(made > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_layout),    cmocka_unit_test(test_shift),
		cmocka_unit_test(test_constants), cmocka_unit_test(test_errno),
		cmocka_unit_test(test_imports),   cmocka_unit_test(test_frames),
		cmocka_unit_test(test_variants),  cmocka_unit_test(test_names),
		cmocka_unit_test(test_broken),    cmocka_unit_test(test_false_frames),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
