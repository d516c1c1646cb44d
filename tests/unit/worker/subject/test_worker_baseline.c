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

static void add(struct fixture *f, enum kl_role role, size_t naxes, const int64_t *v)
{
	size_t at = f->job.nargs++;

	f->job.arg[at].role = role;
	f->job.arg[at].dtype = role == KL_ROLE_DIM ? KL_I64 : KL_F32;
	snprintf(f->job.arg[at].name, sizeof(f->job.arg[at].name), "arg%zu", at);
	f->point.arg[at].value = v[0];
	f->point.arg[at].naxes = naxes;
	memcpy(f->point.arg[at].extent, v, naxes * sizeof(*v));
}

static void dims(struct fixture *f, int n, const int64_t *v)
{
	static char isa[] = "x86-64-v2";

	memset(f, 0, sizeof(*f));
	f->job.call_ms = 20000;
	f->job.isa = isa;
	for (int i = 0; i < n; i++)
		add(f, KL_ROLE_DIM, 0, &v[i]);
}

/* KL_ECANNOT for want of the library skips the test; the library itself is tried where there is
 * one. */
static int start(struct fixture *f, const char *name)
{
	struct kl_subject_spec spec = { .kind = KL_SUBJECT_BASELINE, .baseline = name, .cpu = -1 };
	int err = kl_subject_start(&f->s, &f->job, &f->point, &spec);

	if (err == KL_ECANNOT && strstr(kl_error_last(), "make deps")) {
		print_message("%s\n", kl_error_last());
		skip();
	}
	return err;
}

static void fill(struct fixture *f, size_t arg)
{
	float *p = kl_subject_buffer(f->s, arg);
	struct kl_rng r;

	kl_rng_seed(&r, arg);
	for (size_t i = 0; i < kl_subject_bytes(f->s, arg) / 4; i++)
		p[i] = (float)(kl_rng_below(&r, 9)) - 4; /* sums are exact */
}

static void run(struct fixture *f, size_t out)
{
	struct kl_call c;

	kl_subject_poison(f->s, 6);
	assert_true(isnan(((float *)kl_subject_buffer(f->s, out))[0]));
	assert_int_equal(kl_subject_call(f->s, &c), 0);
	if (c.end != KL_CALL_OK)
		fail_msg("%s", c.what);
}

static void sgemm_is_row_major(void **state)
{
	enum { M = 5, N = 7, K = 3 };
	struct fixture f;
	const float *a, *b, *c;

	dims(&f, 3, (int64_t[]){ M, N, K });
	add(&f, KL_ROLE_IN, 2, (int64_t[]){ M, K });
	add(&f, KL_ROLE_IN, 2, (int64_t[]){ K, N });
	add(&f, KL_ROLE_OUT, 2, (int64_t[]){ M, N });
	if (start(&f, "openblas.sgemm") < 0)
		fail_msg("%s", kl_error_last());
	fill(&f, 3);
	fill(&f, 4);
	run(&f, 5);
	a = kl_subject_buffer(f.s, 3);
	b = kl_subject_buffer(f.s, 4);
	c = kl_subject_buffer(f.s, 5);
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			float s = 0;

			for (int k = 0; k < K; k++)
				s += a[i * K + k] * b[k * N + j];
			assert_true(s == c[i * N + j]);
		}
	kl_subject_free(f.s);
}

enum { BATCH = 2, H = 6, W = 5, CH = 3, F = 4 };

static float conv_at(const float *x, const float *w, int n, int h, int v, int f)
{
	float s = 0;

	for (int r = 0; r < 3; r++)
		for (int t = 0; t < 3; t++)
			for (int c = 0; c < CH; c++) {
				int y = h + r - 1, z = v + t - 1;

				if (y >= 0 && y < H && z >= 0 && z < W)
					s += x[((n * H + y) * W + z) * CH + c] *
					     w[((f * 3 + r) * 3 + t) * CH + c];
			}
	return s;
}

static void conv2d_is_nhwc(void **state)
{
	struct fixture f;
	const float *x, *w, *y;

	dims(&f, 5, (int64_t[]){ BATCH, H, W, CH, F });
	add(&f, KL_ROLE_IN, 4, (int64_t[]){ BATCH, H, W, CH });
	add(&f, KL_ROLE_IN, 4, (int64_t[]){ F, 3, 3, CH });
	add(&f, KL_ROLE_OUT, 4, (int64_t[]){ BATCH, H, W, F });
	if (start(&f, "onednn.conv2d") < 0)
		fail_msg("%s", kl_error_last());
	for (int round = 0; round < 2; round++) { /* new weights are packed anew */
		fill(&f, 5);
		fill(&f, 6);
		((float *)kl_subject_buffer(f.s, 6))[0] = (float)(round * 11);
		run(&f, 7);
		x = kl_subject_buffer(f.s, 5);
		w = kl_subject_buffer(f.s, 6);
		y = kl_subject_buffer(f.s, 7);
		for (int n = 0; n < BATCH; n++)
			for (int h = 0; h < H; h++)
				for (int v = 0; v < W; v++)
					for (int o = 0; o < F; o++)
						assert_true(conv_at(x, w, n, h, v, o) ==
							    y[((n * H + h) * W + v) * F + o]);
	}
	kl_subject_free(f.s);
}

static void misfits_are_refused(void **state)
{
	struct fixture f;

	dims(&f, 2, (int64_t[]){ 4, 4 });
	assert_int_equal(start(&f, "openblas.sgemm"), KL_ECANNOT);
	assert_non_null(strstr(kl_error_last(), "three dims"));
	dims(&f, 3, (int64_t[]){ 4, 5, 6 });
	add(&f, KL_ROLE_IN, 2, (int64_t[]){ 6, 4 }); /* A transposed */
	add(&f, KL_ROLE_IN, 2, (int64_t[]){ 6, 5 });
	add(&f, KL_ROLE_OUT, 2, (int64_t[]){ 4, 5 });
	assert_int_equal(start(&f, "openblas.sgemm"), KL_ECANNOT);
	assert_non_null(strstr(kl_error_last(), "[M,K]"));
	assert_int_equal(start(&f, "onednn.conv2d"), KL_ECANNOT);
	assert_int_equal(start(&f, "mkl.sgemm"), KL_EINVALID);
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
