/* SPDX-License-Identifier: Apache-2.0 */
/* Where a call finds its tensors: at many addresses, between guard pages at each, at two points. */
#include "subject_fixture.h"

#include "worker/subject/subject_state.h"

#define CALLS 64
#define SMALL 10 /* elements at the second point */

/* The first words of y are the addresses of x and y, and n. */
#define TELL                                                                  \
	" uint64_t told[] = { (uint64_t)x, (uint64_t)y, (uint64_t)n };" SCALE \
	" memcpy(y, told, sizeof(told));"

static struct fixture *two_points(void)
{
	struct fixture *fixture = sf_new();
	struct kl_point *point = fx_point(fixture, "also0", false);

	point->arg[0].value = SMALL;
	fx_extent(point, 2, 1, SMALL, 0);
	fx_extent(point, 3, 1, SMALL, 0);
	return fixture;
}

static struct kl_subject *start_at_both(struct fixture *fixture, bool untraced)
{
	return sf_start(fixture, (struct kl_subject_spec){ .cpu = -1,
							   .untraced = untraced,
							   .other = &fixture->point[1] });
}

static void fill_inputs(struct kl_subject *subject)
{
	float *values = kl_subject_buffer(subject, 2);

	for (size_t i = 0; i < kl_subject_bytes(subject, 2) / sizeof(float); i++)
		values[i] = (float)i;
}

static void call_at(struct kl_call *call, struct kl_subject *subject, struct kl_place place)
{
	kl_subject_place(subject, &place);
	kl_subject_poison(subject, 2 * place.draw);
	fill_inputs(subject);
	assert_ok(kl_subject_call(subject, call));
}

/* How many different values there are. */
static int different(const uint64_t *values, int n)
{
	int found = 0;

	for (int i = 0; i < n; i++) {
		int k = 0;

		while (k < i && values[k] != values[i])
			k++;
		found += k == i;
	}
	return found;
}

static void buffers_move(void **state)
{
	for (int untraced = 0; untraced < 2; untraced++) {
		KL_AUTO(fx_freep) struct fixture *fixture = two_points();
		KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
		uint64_t x[CALLS], y[CALLS];
		int together = 0;

		sf_kernel(fixture, "", TELL);
		subject = start_at_both(fixture, untraced);
		for (int i = 0; i < CALLS; i++) {
			struct kl_place place = { .right = i % 2, .draw = (uint64_t)i };
			struct kl_call call;
			const uint64_t *told;

			call_at(&call, subject, place);
			if (call.end != KL_CALL_OK)
				fail_msg("%d: %s", i, call.what);
			told = kl_subject_buffer(subject, 3);
			x[i] = told[0];
			y[i] = told[1];
			assert_int_equal(told[2], SF_N);
			assert_int_equal(x[i] % 4096, i % 2 ? 96 : 0);
			assert_int_equal(y[i] % 4096, i % 2 ? 96 : 0);
			assert_true(((float *)kl_subject_buffer(subject, 3))[SF_N - 1] ==
				    2.5f * (SF_N - 1));
			together += i > 1 && (x[i] == x[i - 2]) == (y[i] == y[i - 2]);
		}
		/* four views of each, on two sides */
		assert_int_equal(different(x, CALLS), 8);
		assert_int_equal(different(y, CALLS), 8);
		/* one does not tell of the other */
		assert_true(together > CALLS / 4 && together < CALLS * 7 / 8);
	}
}

static void both_points_are_called_in_one_process(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = two_points();
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;

	sf_kernel(fixture, "static int64_t calls;", TELL " y[7] = ++calls;");
	subject = start_at_both(fixture, false);
	for (int i = 0; i < CALLS; i++) {
		bool other = i % 3 != 1;
		struct kl_place place = { .other = other, .right = i % 2, .draw = (uint64_t)i };
		const float *values;
		struct kl_call call;

		call_at(&call, subject, place);
		assert_int_equal(call.end, KL_CALL_OK);
		values = kl_subject_buffer(subject, 3);
		assert_int_equal(kl_subject_bytes(subject, 3), (other ? SMALL : SF_N) * 4);
		assert_int_equal(((const uint64_t *)values)[2], other ? SMALL : SF_N);
		assert_int_equal(values[7], i + 1);
		assert_true(values[SMALL - 1] == 2.5f * (SMALL - 1));
	}
}

/*
 * Memory that was lent to another child before: a call at the one point does not show what that
 * child left at the other.
 */
static void nothing_is_left_at_the_other_point(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = two_points();
	KL_AUTO(kl_subject_memory_release) struct kl_subject_memory memory = { 0 };
	struct kl_subject_spec spec = { .cpu = -1, .memory = &memory };
	struct kl_subject *subject;
	const struct kl_cpu_subject *cpu;
	struct kl_call call;
	uint64_t window;

	sf_kernel(fixture, "", SCALE " for (int64_t i = 0; i < n; i++) y[i] = 77;");
	subject = sf_start(fixture, spec);
	call_at(&call, subject, (struct kl_place){ .draw = 1 });
	assert_int_equal(call.end, KL_CALL_OK);
	kl_subject_free(subject);
	/* x begins with the address of y's memory at the main point */
	sf_kernel(fixture, "",
		  " const float *at; memcpy(&at, x, 8); float most = 0;"
		  " for (int i = 0; i < 1000; i++) most = at[i] == 77 ? 1 : most; y[0] = most;");
	spec.other = &fixture->point[1];
	subject = sf_start(fixture, spec);
	cpu = (const struct kl_cpu_subject *)subject;
	window = cpu->hello.map[KL_WIRE_MAIN][0][3];
	kl_subject_place(subject, &(struct kl_place){ .other = true });
	kl_subject_poison(subject, 2);
	memcpy(kl_subject_buffer(subject, 2), &window, sizeof(window));
	assert_ok(kl_subject_call(subject, &call));
	if (call.end != KL_CALL_OK)
		fail_msg("%s", call.what);
	assert_true(*(float *)kl_subject_buffer(subject, 3) == 0);
	kl_subject_free(subject);
}

/*
 * Neither the distances of the tensors nor the number of their addresses tell a kernel that it will
 * be called at a second point, not even if that is much larger.
 */
static void the_second_point_does_not_show(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = sf_new();
	struct kl_point *large = fx_point(fixture, "also0", false);
	const int64_t n = 1 << 20;
	const uint64_t step = (uint64_t)n * sizeof(float) + 2 * KL_WIRE_GUARD;

	large->arg[0].value = n;
	fx_extent(large, 2, 1, n, 0);
	fx_extent(large, 3, 1, n, 0);
	sf_kernel(fixture, "", TELL);
	for (int both = 0; both < 2; both++) {
		KL_AUTO(kl_subject_freep)
		struct kl_subject *subject = sf_start(
			fixture,
			(struct kl_subject_spec){ .cpu = -1, .other = both ? large : NULL });
		uint64_t x[CALLS], y[CALLS];

		for (int i = 0; i < CALLS; i++) {
			struct kl_call call;
			const uint64_t *told;

			call_at(&call, subject, (struct kl_place){ .draw = (uint64_t)i });
			assert_int_equal(call.end, KL_CALL_OK);
			told = kl_subject_buffer(subject, 3);
			x[i] = told[0];
			y[i] = told[1];
			assert_int_equal((x[i] > y[i] ? x[i] - y[i] : y[i] - x[i]) % step, 0);
		}
		assert_int_equal(different(x, CALLS), 4);
		assert_int_equal(different(y, CALLS), 4);
	}
}

static void every_view_has_its_guards(void **state)
{
	static const struct {
		const char *body, *what;
		bool other, right;
	} bad[] = {
		{ .body = " y[0] = x[n];", .what = "'x': byte 4000", .right = true },
		{ .body = " y[0] = x[-1];", .what = "'x': byte -4" },
		{ .body = " y[n] = 1;", .what = "'y': byte 40 ", .other = true, .right = true },
		{ .body = " ((float *)x)[3] = 1;", .what = "input 'x' at byte 12", .other = true },
		/* within the page: the slack shows it */
		{ .body = " y[n] = 1;", .what = "'y': after its last", .other = true },
		{ .body = " y[-1] = 1;", .what = "'y': before its first", .right = true },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = two_points();

		sf_kernel(fixture, "", bad[i].body);
		for (uint64_t draw = 0; draw < 8; draw++) {
			KL_AUTO(kl_subject_freep)
			struct kl_subject *subject = start_at_both(fixture, false);
			struct kl_place place = { .other = bad[i].other,
						  .right = bad[i].right,
						  .draw = draw };
			struct kl_call call;

			call_at(&call, subject, place);
			if (call.end != KL_CALL_FAULT || !strstr(call.what, bad[i].what))
				fail_msg("%s: end %d \"%s\"", bad[i].body, (int)call.end,
					 call.what);
		}
	}
}

/* Linux says how the child has mapped what it shares with us. */
static void only_outputs_and_the_control_page_can_be_written(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = two_points();
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf maps = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = NULL;
	int writable = 0, read_only = 0;

	sf_kernel(fixture, "", SCALE);
	subject = start_at_both(fixture, false);
	path = kl_asprintf("/proc/%d/maps", (int)((struct kl_cpu_subject *)subject)->pid);
	assert_ok(kl_fs_read(&maps, path, 1 << 20));
	for (char *line = strtok(maps.ptr, "\n"); line; line = strtok(NULL, "\n")) {
		if (!strstr(line, "/memfd:"))
			continue;
		assert_null(strstr(line, "/memfd:plan"));
		/* private: text that nobody can write, constants, and the variables of this process */
		if (strstr(line, "/memfd:image")) {
			if (!strstr(line, " r-xp ") && !strstr(line, " r--p ") &&
			    !strstr(line, " rw-p "))
				fail_msg("%s", line);
			continue;
		}
		/* private, so that no child changes what the next one finds */
		if (strstr(line, "/memfd:dirt")) {
			if (!strstr(line, " rw-p "))
				fail_msg("%s", line);
			continue;
		}
		if (strstr(line, " rw-s "))
			writable += strstr(line, "/memfd:tensor") ? 1 : 100;
		else if (strstr(line, " r--s "))
			read_only += strstr(line, "/memfd:tensor") ? 1 : 100;
		else
			fail_msg("%s", line);
	}
	/* four views at either point, and one page */
	assert_int_equal(writable, 108);
	assert_int_equal(read_only, 108);
}

/* A tensor with a `base` lies at just such addresses, with poison on both sides. */
static void tensors_lie_at_the_addresses_asked_for(void **state)
{
	static const char *const stray[] = { TELL, TELL " y[-1] = 0;", TELL " y[n] = 0;" };
	static const char *const says[] = { "", "'y': before its first", "'y': after its last" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(stray) * 10; i++) {
		KL_AUTO(fx_freep) struct fixture *fixture = sf_new();
		KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
		struct kl_place place = { .right = i % 2, .draw = i };
		uint64_t x = (uint64_t)4 << i / 3, y = (uint64_t)2048 >> i / 3;
		const uint64_t *told;
		struct kl_call call;

		fixture->job.arg[2].base = (int64_t)x;
		fixture->job.arg[3].base = (int64_t)(y < 4 ? 4 : y);
		sf_kernel(fixture, "", stray[i % 3]);
		subject = sf_start(fixture, (struct kl_subject_spec){ .cpu = -1 });
		call_at(&call, subject, place);
		assert_int_equal(call.end, i % 3 ? KL_CALL_FAULT : KL_CALL_OK);
		assert_non_null(strstr(call.what, says[i % 3]));
		if (i % 3)
			continue;
		told = kl_subject_buffer(subject, 3);
		assert_int_equal(told[0] % (2 * x), x);
		assert_int_equal(told[1] % (2 * (y < 4 ? 4 : y)), y < 4 ? 4 : y);
		assert_true(((float *)kl_subject_buffer(subject, 3))[SF_N - 1] ==
			    2.5f * (SF_N - 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_move),
		cmocka_unit_test(tensors_lie_at_the_addresses_asked_for),
		cmocka_unit_test(both_points_are_called_in_one_process),
		cmocka_unit_test(nothing_is_left_at_the_other_point),
		cmocka_unit_test(the_second_point_does_not_show),
		cmocka_unit_test(every_view_has_its_guards),
		cmocka_unit_test(only_outputs_and_the_control_page_can_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
