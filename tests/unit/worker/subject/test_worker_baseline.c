/* SPDX-License-Identifier: Apache-2.0 */
/* Vendor kernels by name: the argument mapping is right, misfits are refused with a reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "worker/subject/subject.h"

struct fixture {
	struct kl_job job;
	struct kl_point point;
	struct kl_subject *s;
};

static void add(struct fixture *fixture, enum kl_arg_kind kind, size_t naxes, const int64_t *values)
{
	size_t at = fixture->job.nargs++;

	fixture->job.arg[at].kind = kind;
	fixture->job.arg[at].dtype = kind == KL_ARG_DIM ? KL_I64 : KL_F32;
	snprintf(fixture->job.arg[at].name, sizeof(fixture->job.arg[at].name), "arg%zu", at);
	fixture->point.arg[at].value = values[0];
	fixture->point.arg[at].naxes = naxes;
	memcpy(fixture->point.arg[at].extent, values, naxes * sizeof(*values));
}

static void dims(struct fixture *fixture, int n, const int64_t *values)
{
	static char isa[] = "x86-64-v2";

	memset(fixture, 0, sizeof(*fixture));
	fixture->job.call_ms = 20000;
	fixture->job.isa = isa;
	for (int i = 0; i < n; i++)
		add(fixture, KL_ARG_DIM, 0, &values[i]);
}

/* KL_ECANNOT for want of the library skips the test; the library itself is tried where there is
 * one. */
static int start(struct fixture *fixture, const char *name)
{
	struct kl_subject_spec spec = { .kind = KL_SUBJECT_BASELINE, .baseline = name, .cpu = -1 };
	int err = kl_subject_start(&fixture->s, &fixture->job, &fixture->point, &spec);

	if (err == KL_ECANNOT && strstr(kl_error_last(), "make deps")) {
		print_message("%s\n", kl_error_last());
		skip();
	}
	return err;
}

static void fill(struct fixture *fixture, size_t arg)
{
	float *values = kl_subject_buffer(fixture->s, arg);
	struct kl_rng rng;

	kl_rng_seed(&rng, arg);
	for (size_t i = 0; i < kl_subject_bytes(fixture->s, arg) / 4; i++)
		values[i] = (float)(kl_rng_below(&rng, 9)) - 4; /* sums are exact */
}

static void run(struct fixture *fixture, size_t out)
{
	struct kl_call call;

	kl_subject_poison(fixture->s, 6);
	assert_true(isnan(((float *)kl_subject_buffer(fixture->s, out))[0]));
	assert_int_equal(kl_subject_call(fixture->s, &call), 0);
	if (call.end != KL_CALL_OK)
		fail_msg("%s", call.what);
}

static void sgemm_is_row_major(void **state)
{
	enum { M = 5, N = 7, K = 3 };
	struct fixture fixture;
	const float *left, *right, *values;

	dims(&fixture, 3, (int64_t[]){ M, N, K });
	add(&fixture, KL_ARG_IN, 2, (int64_t[]){ M, K });
	add(&fixture, KL_ARG_IN, 2, (int64_t[]){ K, N });
	add(&fixture, KL_ARG_OUT, 2, (int64_t[]){ M, N });
	if (start(&fixture, "openblas.sgemm") < 0)
		fail_msg("%s", kl_error_last());
	fill(&fixture, 3);
	fill(&fixture, 4);
	run(&fixture, 5);
	left = kl_subject_buffer(fixture.s, 3);
	right = kl_subject_buffer(fixture.s, 4);
	values = kl_subject_buffer(fixture.s, 5);
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			float seconds = 0;

			for (int k = 0; k < K; k++)
				seconds += left[i * K + k] * right[k * N + j];
			assert_true(seconds == values[i * N + j]);
		}
	kl_subject_free(fixture.s);
}

enum { BATCH = 2, H = 6, W = 5, CH = 3, F = 4 };

static float conv_at(const float *samples, const float *values, int n, int hour, int value, int fd)
{
	float seconds = 0;

	for (int rc = 0; rc < 3; rc++)
		for (int turn = 0; turn < 3; turn++)
			for (int ch = 0; ch < CH; ch++) {
				int year = hour + rc - 1, zeros = value + turn - 1;

				if (year >= 0 && year < H && zeros >= 0 && zeros < W)
					seconds += samples[((n * H + year) * W + zeros) * CH + ch] *
						   values[((fd * 3 + rc) * 3 + turn) * CH + ch];
			}
	return seconds;
}

static void conv2d_is_nhwc(void **state)
{
	struct fixture fixture;
	const float *numbers, *samples, *values;

	dims(&fixture, 5, (int64_t[]){ BATCH, H, W, CH, F });
	add(&fixture, KL_ARG_IN, 4, (int64_t[]){ BATCH, H, W, CH });
	add(&fixture, KL_ARG_IN, 4, (int64_t[]){ F, 3, 3, CH });
	add(&fixture, KL_ARG_OUT, 4, (int64_t[]){ BATCH, H, W, F });
	if (start(&fixture, "onednn.conv2d") < 0)
		fail_msg("%s", kl_error_last());
	for (int round = 0; round < 2; round++) { /* new weights are packed anew */
		fill(&fixture, 5);
		fill(&fixture, 6);
		((float *)kl_subject_buffer(fixture.s, 6))[0] = (float)(round * 11);
		run(&fixture, 7);
		numbers = kl_subject_buffer(fixture.s, 5);
		samples = kl_subject_buffer(fixture.s, 6);
		values = kl_subject_buffer(fixture.s, 7);
		for (int n = 0; n < BATCH; n++)
			for (int hour = 0; hour < H; hour++)
				for (int value = 0; value < W; value++)
					for (int option = 0; option < F; option++)
						assert_true(
							conv_at(numbers, samples, n, hour, value,
								option) ==
							values[((n * H + hour) * W + value) * F +
							       option]);
	}
	kl_subject_free(fixture.s);
}

static void misfits_are_refused(void **state)
{
	struct fixture fixture;

	dims(&fixture, 2, (int64_t[]){ 4, 4 });
	assert_int_equal(start(&fixture, "openblas.sgemm"), KL_ECANNOT);
	assert_non_null(strstr(kl_error_last(), "three dims"));
	dims(&fixture, 3, (int64_t[]){ 4, 5, 6 });
	add(&fixture, KL_ARG_IN, 2, (int64_t[]){ 6, 4 }); /* A transposed */
	add(&fixture, KL_ARG_IN, 2, (int64_t[]){ 6, 5 });
	add(&fixture, KL_ARG_OUT, 2, (int64_t[]){ 4, 5 });
	assert_int_equal(start(&fixture, "openblas.sgemm"), KL_ECANNOT);
	assert_non_null(strstr(kl_error_last(), "[M,K]"));
	assert_int_equal(start(&fixture, "onednn.conv2d"), KL_ECANNOT);
	assert_int_equal(start(&fixture, "mkl.sgemm"), KL_EINVALID);
	assert_non_null(strstr(kl_error_last(), "no baseline is called 'mkl.sgemm'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sgemm_is_row_major),
		cmocka_unit_test(conv2d_is_nhwc),
		cmocka_unit_test(misfits_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
