/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that an adapter calls: what each of its functions gets, what is timed, how each can fail. */
#include "subject_fixture.h"

#include "worker/subject/subject_state.h"

#define ARGS "void *work, int64_t n, float s, const float *x, float *y"
#define HEAD                                                                                          \
	"struct work { int64_t prepared, packed, called; float in[1000], out[1000]; const float *x; " \
	"float *y; };\n"                                                                              \
	"static int64_t prepares;\n"
#define PREPARE                                                                         \
	"void adapter_prepare(void *work, int64_t n, float s) { struct work *w = work;" \
	" w->prepared = ++prepares * 10000 + n; w->packed = w->called = 0; }\n"
#define PACK                                                                                    \
	"void adapter_pack(" ARGS ") { struct work *w = work; w->packed++; w->x = x; w->y = y;" \
	" for (int64_t i = 0; i < n; i++) w->in[i] = x[i] + 1; }\n"
#define FINISH                                                                                    \
	"void adapter_finish(" ARGS ") { struct work *w = work; int ok = w->x == x && w->y == y;" \
	" for (int64_t i = 0; i < n; i++) y[i] = w->out[i] - 1; y[0] = w->prepared;"              \
	" y[1] = w->packed; y[2] = w->called; y[3] = ok; }\n"
#define CALL                                                     \
	"void k(" ARGS ") { struct work *w = work; w->called++;" \
	" for (int64_t i = 0; i < n; i++) w->out[i] = s * w->in[i]; }\n"

#define SMALL 100

/* The fixture of subject_fixture.h with a second, smaller point. */
static struct fixture *with_adapter(const char *text)
{
	struct fixture *fixture = sf_new();
	struct kl_point *other = fx_point(fixture, "also0", false);

	other->arg[0].value = SMALL;
	fx_extent(other, 2, 1, SMALL, 0);
	fx_extent(other, 3, 1, SMALL, 0);
	fixture->job.adapter = true;
	fx_candidate(fixture, "kernel", text);
	return fixture;
}

static struct kl_subject *start(struct fixture *fixture, struct kl_subject_spec spec)
{
	struct kl_subject *subject = NULL;

	spec.path = fixture->job.candidate_path;
	assert_ok(kl_subject_start(&subject, &fixture->job, &fixture->point[0], &spec));
	return subject;
}

static void call_at(struct kl_call *call, struct kl_subject *subject, struct kl_place place)
{
	float *x;

	kl_subject_place(subject, &place);
	kl_subject_poison(subject, place.draw);
	x = kl_subject_buffer(subject, 2);
	for (size_t i = 0; i < kl_subject_bytes(subject, 2) / 4; i++)
		x[i] = (float)i;
	assert_ok(kl_subject_call(subject, call));
}

static void each_function_gets_its_arguments(void **state)
{
	KL_AUTO(fx_freep)
	struct fixture *fixture = with_adapter(HEAD PREPARE PACK FINISH CALL);
	int calls[2] = { 0 };

	for (int untraced = 0; untraced < 2; untraced++) {
		struct kl_subject_spec spec = { .cpu = -1,
						.other = &fixture->point[1],
						.untraced = untraced };
		KL_AUTO(kl_subject_freep) struct kl_subject *subject = start(fixture, spec);

		calls[0] = calls[1] = 0;
		for (int i = 0; i < 12; i++) {
			bool other = i % 3 == 1;
			const struct kl_place place = { .other = other,
							.right = i % 2,
							.draw = (uint64_t)i * 7 };
			int64_t n = other ? SMALL : SF_N;
			struct kl_call call;
			const float *y;

			call_at(&call, subject, place);
			if (call.end != KL_CALL_OK)
				fail_msg("%s", call.what);
			y = kl_subject_buffer(subject, 3);
			/* once for each point, at the other one first */
			assert_true(y[0] == (other ? 10000 : 20000) + n);
			assert_true(y[1] == ++calls[other]);
			assert_true(y[2] == calls[other]);
			assert_true(y[3] == 1);
			assert_true(y[n - 1] == 2.5f * (float)n - 1);
		}
	}
}

/* Functions that an adapter does not have are not called. */
static void an_adapter_can_have_one_function(void **state)
{
	KL_AUTO(fx_freep)
	struct fixture *fixture = with_adapter("void k(" ARGS ") {" SCALE " *(char *)work = 1; }");
	KL_AUTO(kl_subject_freep)
	struct kl_subject *subject = start(fixture, (struct kl_subject_spec){ .cpu = -1 });
	struct kl_call call;

	call_at(&call, subject, (struct kl_place){ .draw = 3 });
	assert_int_equal(call.end, KL_CALL_OK);
	assert_true(((float *)kl_subject_buffer(subject, 3))[SF_N - 1] == 2.5f * (SF_N - 1));
}

static void a_value_is_returned(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = with_adapter(
		"float k(" ARGS ") { y[0] = 5; return n + x[1]; }\n"
		"void adapter_finish(" ARGS ") { y[0] += 2; }\n");
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	int arg = fx_arg(fixture, "return", KL_ARG_OUT, KL_F32, NULL);
	struct kl_call call;

	fixture->job.arg[arg].returned = true;
	fx_extent(&fixture->point[0], arg, 1, 1, 0);
	subject = start(fixture, (struct kl_subject_spec){ .cpu = -1 });
	call_at(&call, subject, (struct kl_place){ .draw = 2 });
	assert_int_equal(call.end, KL_CALL_OK);
	assert_true(*(float *)kl_subject_buffer(subject, arg) == SF_N + 1);
	assert_true(*(float *)kl_subject_buffer(subject, 3) == 7);
}

/* Arguments of each type, in registers and on the stack, arrive in all functions as in the call. */
static void every_argument_arrives(void **state)
{
#define MANY                                                                                         \
	"void *w, int8_t a, int16_t b, int32_t c, int64_t d, uint8_t e, uint16_t f, uint32_t g,"     \
	" uint64_t h, float p1, double p2, float p3, float p4, float p5, float p6, float p7, float " \
	"p8, double p9, float p10, float *y"
#define SUM                                                                                      \
	"a + 2. * b + 3. * c + 4. * d + 5. * e + 6. * f + 7. * g + 8. * h + p1 + p2 + p3 + p4 +" \
	" p5 + p6 + p7 + p8 + 2 * p9 + 3 * p10"
	static const enum kl_dtype dtypes[] = { KL_I8,  KL_I16, KL_I32, KL_I64, KL_U8,  KL_U16,
						KL_U32, KL_U64, KL_F32, KL_F64, KL_F32, KL_F32,
						KL_F32, KL_F32, KL_F32, KL_F32, KL_F64, KL_F32 };
	KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	struct kl_point *point = fx_point(fixture, "case0", true);
	size_t n = KL_ARRAY_SIZE(dtypes);
	struct kl_call call;
	const float *y;

	for (size_t i = 0; i < n; i++) {
		char name[8];
		int arg;

		snprintf(name, sizeof(name), "a%zu", i);
		arg = fx_arg(fixture, name, KL_ARG_SCALAR, dtypes[i], NULL);
		fixture->job.arg[arg].value = i < 4 ? -(double)i - 1 : (double)i;
	}
	fx_extent(point, fx_arg(fixture, "y", KL_ARG_OUT, KL_F32, NULL), 1, 4, 0);
	fixture->job.adapter = true;
	fx_candidate(
		fixture, "many",
		"void k(" MANY ") { y[0] = " SUM "; y[3] = ((double *)w)[0]; }\n"
		"void adapter_pack(" MANY ") { y[1] = " SUM "; ((double *)w)[1] = " SUM "; }\n"
		"void adapter_finish(" MANY ") { y[2] = " SUM " + ((double *)w)[1]; }\n"
		"void adapter_prepare(void *w, int8_t a, int16_t b, int32_t c, int64_t d,"
		" uint8_t e, uint16_t f, uint32_t g, uint64_t h, float p1, double p2, float p3,"
		" float p4, float p5, float p6, float p7, float p8, double p9, float p10)"
		" { ((double *)w)[0] = " SUM "; }\n");
	subject = start(fixture, (struct kl_subject_spec){ .cpu = -1 });
	kl_subject_poison(subject, 2);
	assert_ok(kl_subject_call(subject, &call));
	if (call.end != KL_CALL_OK)
		fail_msg("%s", call.what);
	y = kl_subject_buffer(subject, (size_t)n);
	/* -1 - 4 - 9 - 16 + 20 + 30 + 42 + 56 + (8 + ... + 15) + 2 * 16 + 3 * 17 */
	assert_true(y[0] == 293);
	assert_true(y[1] == y[0] && y[2] == 2 * y[0] && y[3] == y[0]);
}

/* Find the mapping of a library in a process that has this protection. */
static bool find_mapping(uint64_t range[2], pid_t pid, const char *library, const char *prot)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "r");
	char line[512], has[8];
	bool found = false;

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps))
		found = strstr(line, library) &&
			sscanf(line, "%lx-%lx %4s", &range[0], &range[1], has) == 3 &&
			!strcmp(has, prot);
	fclose(maps);
	return found;
}

/*
 * The kernel replaces all addresses of libc's code in libffi's data by that of a function of its
 * own: it must not run before adapter_pack or adapter_finish. Seven integers need memcpy in libffi.
 */
static void no_library_runs_in_untimed_calls(void **state)
{
#define SEVEN \
	"void *w, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, const int64_t *x, int64_t *y"
	KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	struct kl_point *point = fx_point(fixture, "case0", true);
	uint64_t data[2] = { 0 }, code[2] = { 0 };
	pid_t pid;

	for (int i = 0; i < 6; i++) {
		char name[2] = { (char)('a' + i), '\0' };

		point->arg[fx_arg(fixture, name, KL_ARG_DIM, KL_I64, NULL)].value = i;
	}
	fx_extent(point, fx_arg(fixture, "x", KL_ARG_IN, KL_I64, NULL), 1, 4, 0);
	fx_extent(point, fx_arg(fixture, "y", KL_ARG_OUT, KL_I64, NULL), 1, 4, 0);
	fixture->job.adapter = true;
	fx_candidate(
		fixture, "library",
		"static int64_t runs, replaced, at_pack;\n"
		"static void *evil(char *to, const char *from, uint64_t n) { runs++;"
		" for (uint64_t i = 0; i < n; i++) ((volatile char *)to)[i] = from[i]; return to; }\n"
		"void k(" SEVEN ") { for (uint64_t *at = (void *)x[0]; at < (uint64_t *)x[1]; at++)"
		" if (*at - x[2] < x[3] - x[2]) { *at = (uint64_t)evil; replaced++; } runs = 0; }\n"
		"void adapter_pack(" SEVEN ") { at_pack = runs; }\n"
		"void adapter_finish(" SEVEN
		") { y[0] = runs; y[1] = at_pack; y[2] = replaced; }\n");
	subject = start(fixture, (struct kl_subject_spec){ .cpu = -1 });
	pid = ((struct kl_cpu_subject *)subject)->pid;
	if (!find_mapping(data, pid, "/libffi.so", "rw-p") ||
	    !find_mapping(code, pid, "/libc.so", "r-xp"))
		skip();
	for (int i = 0; i < 3; i++) {
		struct kl_call call;
		uint64_t *x;
		const int64_t *y;

		kl_subject_poison(subject, 2);
		x = kl_subject_buffer(subject, 6);
		memcpy(x, data, sizeof(data));
		memcpy(x + 2, code, sizeof(code));
		assert_ok(kl_subject_call(subject, &call));
		if (call.end != KL_CALL_OK)
			fail_msg("%s", call.what);
		y = kl_subject_buffer(subject, 7);
		assert_int_equal(y[0], 0);
		assert_int_equal(y[1], 0);
		assert_true(y[2] > 0);
	}
}

#define SPIN " for (volatile int64_t i = 0; i < 60000000; i++) ;"

static void only_the_call_is_timed(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = with_adapter(
		"void k(" ARGS ") {" SCALE " }\n"
		"void adapter_prepare(void *work, int64_t n, float s) {" SPIN " }\n"
		"void adapter_pack(" ARGS ") {" SPIN " }\n"
		"void adapter_finish(" ARGS ") {" SPIN " }\n");
	struct kl_subject_spec spec = { .cpu = -1, .timed = true };
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = start(fixture, spec);
	int64_t least = INT64_MAX;

	for (uint64_t i = 0; i < 5; i++) {
		struct kl_call call;

		call_at(&call, subject, (struct kl_place){ .draw = i });
		assert_int_equal(call.end, KL_CALL_OK);
		/* processor time, which does not depend on what else the machine does */
		least = call.used_ns < least ? call.used_ns : least;
	}
	/* each of the spins takes longer than this on any machine */
	assert_in_range(least, 0, 4000000);
}

/* An earlier child of another kernel left its inputs in the memory: prepare does not find them. */
static void prepare_finds_blank_tensors(void **state)
{
	KL_AUTO(fx_freep)
	struct fixture *fixture = with_adapter(HEAD PREPARE CALL);
	KL_AUTO(kl_subject_memory_release) struct kl_subject_memory memory = { 0 };
	struct kl_subject_spec spec = { .cpu = -1, .memory = &memory };
	struct kl_subject *subject = start(fixture, spec);
	struct kl_call call;

	call_at(&call, subject, (struct kl_place){ .draw = 1 });
	assert_int_equal(call.end, KL_CALL_OK);
	assert_true(((float *)kl_subject_buffer(subject, 2))[7] == 7);
	kl_subject_free(subject);
	subject = start(fixture, spec);
	for (size_t arg = 2; arg < 4; arg++)
		for (size_t i = 0; i < (size_t)SF_N * 4; i++)
			assert_int_equal(((unsigned char *)kl_subject_buffer(subject, arg))[i],
					 0xff);
	kl_subject_free(subject);
}

static void failures_name_the_function(void **state)
{
	static const struct {
		const char *text, *what;
		enum kl_call_end end;
	} rows[] = {
		{ HEAD CALL "void adapter_prepare(void *work, int64_t n, float s)"
			    " { *(volatile int *)0 = 1; }",
		  "accessed a null pointer (address 0) in adapter_prepare", KL_CALL_FAULT },
		{ HEAD CALL "void adapter_prepare(void *work, int64_t n, float s)"
			    " { for (;;) __asm__ volatile(\"\"); }",
		  "did not end within 300 ms of processor time in adapter_prepare", KL_CALL_HANG },
		{ HEAD CALL "void adapter_pack(" ARGS ") { *(volatile int *)0 = 1; }",
		  "accessed a null pointer (address 0) in adapter_pack", KL_CALL_FAULT },
		{ HEAD CALL "void adapter_finish(" ARGS ") { y[n] = 1; }",
		  "wrote out of bounds of 'y': after its last element in adapter_finish",
		  KL_CALL_FAULT },
		{ HEAD CALL "void adapter_pack(" ARGS ")"
			    " { __asm__ volatile(\"syscall\" : : \"a\"(39) : \"rcx\", \"r11\"); }",
		  "made the system call 39 (getpid) in adapter_pack", KL_CALL_CHEAT },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = with_adapter(rows[i].text);
		KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
		struct kl_call call;

		fixture->job.call_ms = 300;
		subject = start(fixture, (struct kl_subject_spec){ .cpu = -1 });
		call_at(&call, subject, (struct kl_place){ .draw = 2 });
		assert_string_equal(call.what, rows[i].what);
		assert_int_equal(call.end, rows[i].end);
		assert_error(KL_EINVALID, "exited", kl_subject_call(subject, &call));
	}
}

/* The workspace ends at pages that are not mapped. */
static void the_workspace_has_guards(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = with_adapter(
		"void k(" ARGS ") {" SCALE " ((volatile char *)work)[278528 - 1] = 1;"
		" ((volatile char *)work)[x[1] == 1 ? 1 << 20 : 0] = 1; }\n");
	KL_AUTO(kl_subject_freep)
	struct kl_subject *subject = start(fixture, (struct kl_subject_spec){ .cpu = -1 });
	struct kl_call call;

	call_at(&call, subject, (struct kl_place){ .draw = 2 });
	assert_int_equal(call.end, KL_CALL_FAULT);
	assert_string_equal(call.what,
			    "went out of bounds of the adapter's workspace: byte 1048576 of "
			    "278528");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_function_gets_its_arguments),
		cmocka_unit_test(an_adapter_can_have_one_function),
		cmocka_unit_test(a_value_is_returned),
		cmocka_unit_test(every_argument_arrives),
		cmocka_unit_test(no_library_runs_in_untimed_calls),
		cmocka_unit_test(only_the_call_is_timed),
		cmocka_unit_test(prepare_finds_blank_tensors),
		cmocka_unit_test(failures_name_the_function),
		cmocka_unit_test(the_workspace_has_guards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
