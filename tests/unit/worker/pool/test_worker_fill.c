/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_fixture.h"

#include <math.h>
#include <sched.h>

#include "job/tensor.h"
#include "worker/pool/fill.h"

#define ROWS 50
#define COLS 40
#define N (ROWS * COLS)

static int make(void *out, enum kl_dtype t, const char *fill, uint64_t seed)
{
	static const int64_t extent[] = { ROWS, COLS };
	KL_AUTO(json_decrefp) json_t *j = fx_json(fill);
	struct kl_fill_spec s = {
		.fill = j,
		.dtype = t,
		.extent = extent,
		.naxes = 2,
		.point = "case0",
		.seed = seed,
		.factor = 1,
	};

	return kl_fill_make(out, &s);
}

static void made(double *out, const char *fill)
{
	assert_ok(make(out, KL_F64, fill, 7));
}

static void moments(const double *x, double *mean, double *sd)
{
	double s = 0, q = 0;

	for (int i = 0; i < N; i++)
		s += x[i];
	for (int i = 0; i < N; i++)
		q += (x[i] - s / N) * (x[i] - s / N);
	*mean = s / N;
	*sd = sqrt(q / N);
}

static void distributions(void **state)
{
	double x[N], mean, sd;
	int hit[5] = { 0 }, far = 0;

	made(x, "{\"normal\":[3.0,2.0]}");
	moments(x, &mean, &sd);
	assert_true(fabs(mean - 3) < 0.25 && fabs(sd - 2) < 0.2);
	made(x, "{\"uniform\":[-1.0,3.0]}");
	moments(x, &mean, &sd);
	assert_true(fabs(mean - 1) < 0.15 && fabs(sd - 4 / sqrt(12)) < 0.1);
	for (int i = 0; i < N; i++)
		assert_true(x[i] >= -1 && x[i] < 3);
	made(x, "{\"ints\":[-2,2]}");
	for (int i = 0; i < N; i++) {
		assert_true(x[i] == rint(x[i]) && fabs(x[i]) <= 2);
		hit[(int)x[i] + 2]++;
	}
	for (int i = 0; i < 5; i++)
		assert_true(hit[i] > N / 5 - 120 && hit[i] < N / 5 + 120);
	made(x, "{\"cauchy\":true}");
	for (int i = 0; i < N; i++)
		far += fabs(x[i]) > 20;
	assert_true(far > 20 && far < 140); /* 2/pi/20 of them, about 64 */
}

static void outliers_are_few_and_far(void **state)
{
	double x[N];
	int beyond = 0;

	made(x, "{\"outliers\":[0.05,1000.0]}");
	for (int i = 0; i < N; i++)
		beyond += fabs(x[i]) > 10;
	assert_true(beyond > 60 && beyond < 140); /* 5 % of them, about 99 */
}

static void same_seed_same_bytes(void **state)
{
	float a[N], b[N];

	assert_ok(make(a, KL_F32, "{\"normal\":[0.0,1.0]}", 1));
	assert_ok(make(b, KL_F32, "{\"normal\":[0.0,1.0]}", 1));
	assert_memory_equal(a, b, sizeof(a));
	assert_ok(make(b, KL_F32, "{\"normal\":[0.0,1.0]}", 2));
	assert_int_not_equal(memcmp(a, b, sizeof(a)), 0);
}

static int make_large(float *out, int64_t rows, const char *fill, bool pinned)
{
	const int64_t extent[] = { rows, 1000 };
	KL_AUTO(json_decrefp) json_t *j = fx_json(fill);
	struct kl_fill_spec s = {
		.fill = j,
		.dtype = KL_F32,
		.extent = extent,
		.naxes = 2,
		.point = "case0",
		.seed = 5,
		.factor = 1,
	};
	cpu_set_t before, one;
	int err;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (int c = 0; c < CPU_SETSIZE && !CPU_COUNT(&one); c++)
		if (CPU_ISSET(c, &before))
			CPU_SET(c, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), pinned ? &one : &before), 0);
	err = kl_fill_make(out, &s);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	return err;
}

/*
 * Blocks of rows have streams of their own: the same ones whoever draws them, and no two the same.
 */
static void blocks_are_drawn_alike(void **state)
{
	enum { LONG = 301, ROW = 1000, BLOCK_ROWS = 65 };
	static const char *const fills[] = {
		"{\"normal\":[0.0,1.0]}",
		"{\"ints\":[-1000,1000]}",
		"{\"one-hot\":true}",
		"{\"normal\":[0.0,1.0],\"running\":7}",
		"{\"repeat\":{\"normal\":[0.0,1.0]}}",
	};
	KL_AUTO(kl_freep) float *a = kl_calloc(LONG * ROW, sizeof(*a));
	KL_AUTO(kl_freep) float *b = kl_calloc(LONG * ROW, sizeof(*b));

	for (size_t f = 0; f < KL_ARRAY_SIZE(fills); f++) {
		memset(b, 0xff, LONG * ROW * sizeof(*b));
		assert_ok(make_large(a, LONG, fills[f], false));
		assert_ok(make_large(b, LONG, fills[f], true));
		assert_memory_equal(a, b, LONG * ROW * sizeof(*a));
		/* and a shorter tensor has the same rows */
		assert_ok(make_large(b, 100, fills[f], false));
		assert_memory_equal(a, b, (size_t)100 * ROW * sizeof(*a));
	}
	assert_ok(make_large(b, LONG, fills[3], false));
	assert_ok(make_large(a, LONG, fills[0], false));
	/* sums run on from block to block */
	for (int i = 0; i < LONG; i++)
		for (int c = 0; c < ROW; c += 37) {
			double sum = 0;

			for (int k = i / 7 * 7; k <= i; k++)
				sum += a[k * ROW + c];
			assert_true(fabs(sum - b[i * ROW + c]) < 1e-5);
		}
	for (int x = 0; x < LONG; x += BLOCK_ROWS)
		for (int y = 0; y < x; y += BLOCK_ROWS)
			assert_int_not_equal(memcmp(a + x * ROW, a + y * ROW, 8 * sizeof(*a)), 0);
}

static void rows(void **state)
{
	double x[N];

	made(x, "{\"one-hot\":true}");
	for (int r = 0; r < ROWS; r++) {
		int ones = 0, zeros = 0;

		for (int c = 0; c < COLS; c++) {
			ones += x[r * COLS + c] == 1;
			zeros += x[r * COLS + c] == 0;
		}
		assert_true(ones == 1 && zeros == COLS - 1);
	}
	made(x, "{\"repeat\":{\"normal\":[0.0,1.0],\"map\":\"abs\"},\"scale\":2.0}");
	for (int r = 1; r < ROWS; r++)
		assert_memory_equal(x, x + r * COLS, COLS * sizeof(*x));
	assert_true(x[0] != x[1] && x[0] >= 0);
	made(x, "{\"normal\":[0.0,5.0],\"unit\":\"last\"}");
	for (int r = 0; r < ROWS; r++) {
		double q = 0;

		for (int c = 0; c < COLS; c++)
			q += x[r * COLS + c] * x[r * COLS + c];
		assert_true(fabs(q - 1) < 1e-12);
	}
}

/* What runs along the axis before the last. */
static void rows_know_their_place(void **state)
{
	double x[N], y[N];

	made(x, "{\"uniform\":[2.0,3.0],\"lower\":0}");
	for (int r = 0; r < ROWS; r++)
		for (int c = 0; c < COLS; c++) {
			int d = c - r % COLS;

			assert_true(d > 0 ? x[r * COLS + c] == 0 :
				    d < 0 ? x[r * COLS + c] >= 2 :
					    x[r * COLS + c] == 1);
		}
	made(x, "{\"normal\":[0.0,1.0]}");
	made(y, "{\"normal\":[0.0,1.0],\"running\":16}");
	for (int r = 0; r < ROWS; r++)
		for (int c = 0; c < COLS; c++) {
			double before = r % 16 ? y[(r - 1) * COLS + c] : 0;

			assert_true(y[r * COLS + c] == x[r * COLS + c] + before);
		}
	assert_int_equal(make(x, KL_F64, "{\"normal\":[0.0,1.0],\"lower\":1}", 1), KL_EINVALID);
	assert_int_equal(make(x, KL_F64, "{\"normal\":[0.0,1.0],\"running\":0}", 1), KL_EINVALID);
	assert_int_equal(make(x, KL_F64, "{\"normal\":[0.0,1.0],\"running\":1.5}", 1), KL_EINVALID);
}

/* A batch of triangles: the row of each is found in a middle axis; sums begin anew with it. */
static void places_are_found_in_the_middle(void **state)
{
	static const int64_t extent[] = { 2, 6, 3, 4 };
	KL_AUTO(json_decrefp) json_t *lower = fx_json("{\"const\":7.0,\"lower\":1}");
	KL_AUTO(json_decrefp) json_t *sums = fx_json("{\"const\":1.0,\"running\":5}");
	struct kl_fill_spec s = {
		.fill = lower,
		.dtype = KL_F64,
		.extent = extent,
		.naxes = 4,
		.point = "case0",
		.seed = 3,
		.factor = 1,
	};
	double x[2][6][3][4];

	assert_ok(kl_fill_make(x, &s));
	for (int b = 0; b < 2; b++)
		for (int t = 0; t < 6; t++)
			for (int h = 0; h < 3; h++)
				for (int c = 0; c < 4; c++)
					assert_true(x[b][t][h][c] == (c > t % 4  ? 0 :
								      c == t % 4 ? 1 :
										   7));
	s.fill = sums;
	s.naxes = 3; /* 2 x 6 x 3: sums along the 6 */
	assert_ok(kl_fill_make(x, &s));
	for (int i = 0; i < 36; i++)
		assert_true(((double *)x)[i] == i / 3 % 6 % 5 + 1);
}

static void maps_then_scale(void **state)
{
	static const struct {
		const char *fill;
		double want;
	} t[] = {
		{ "{\"const\":0.5,\"map\":\"sigmoid\"}", 0.62245933120185459 },
		{ "{\"const\":0.5,\"map\":\"logsigmoid\"}", -0.47407698418010663 },
		{ "{\"const\":-0.5,\"map\":\"logsigmoid\"}", -0.97407698418010663 },
		{ "{\"const\":0.5,\"map\":\"exp\",\"scale\":-2.0}", -2 * 1.6487212707001282 },
		{ "{\"const\":-0.5,\"map\":\"abs\"}", 0.5 },
		{ "{\"const\":0.5,\"map\":\"softplus\"}", 0.97407698418010663 },
		{ "{\"const\":-800.0,\"map\":\"logsigmoid\"}", -800 },
		{ "{\"const\":800.0,\"map\":\"softplus\"}", 800 },
	};
	double x[N];

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		made(x, t[i].fill);
		if (fabs(x[N - 1] - t[i].want) > 1e-14 * fabs(t[i].want))
			fail_msg("%s: %.17g", t[i].fill, x[N - 1]);
	}
}

static void special_values(void **state)
{
	float x[N];
	int seen[4] = { 0 };

	assert_ok(make(x, KL_F32, "{\"choice\":[\"inf\",\"-inf\",\"nan\",\"-0\"]}", 3));
	for (int i = 0; i < N; i++)
		seen[isnan(x[i]) ? 2 : x[i] == 0 && signbit(x[i]) ? 3 : x[i] > 0 ? 0 : 1]++;
	for (int i = 0; i < 4; i++)
		assert_true(seen[i] > N / 8);
}

static void wide_integers_are_exact(void **state)
{
	int64_t x[N], odd = 0;
	uint8_t u[N];

	assert_ok(make(x, KL_I64, "{\"ints\":[9223372036854775000,9223372036854775807]}", 3));
	for (int i = 0; i < N; i++) {
		assert_true(x[i] >= 9223372036854775000);
		odd += x[i] & 1;
	}
	assert_true(odd > N / 3); /* doubles there are multiples of 1024 */
	assert_ok(make(x, KL_I64, "{\"ints\":[-9223372036854775808,9223372036854775807]}", 3));
	assert_ok(make(u, KL_U8, "{\"index\":{\"case0\":10}}", 3));
	for (int i = 0; i < N; i++)
		assert_true(u[i] < 10);
}

static void bad_fills_are_named(void **state)
{
	double x[N];

	assert_error(KL_EINVALID, "none of the known kinds", make(x, KL_F64, "{\"gauss\":1}", 1));
	assert_error(KL_EINVALID, "'normal' needs two", make(x, KL_F64, "{\"normal\":[1.0]}", 1));
	assert_error(KL_EINVALID, "unknown map 'relu'",
		     make(x, KL_F64, "{\"const\":1,\"map\":\"relu\"}", 1));
	assert_error(KL_EINVALID, "at point 'case0'",
		     make(x, KL_F64, "{\"index\":{\"case1\":10}}", 1));
	assert_error(KL_EINVALID, "smaller first", make(x, KL_F64, "{\"ints\":[2,1]}", 1));
}

static void bands_replace_and_scale(void **state)
{
	KL_AUTO(fx_freep) struct fixture *f = fx_new();
	float noise[64], up[64], down[64], band[64], fixed[64];
	struct kl_point *p = fx_point(f, "case0", true);

	fx_arg(f, "x", KL_ROLE_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
	fx_arg(f, "y", KL_ROLE_IN, KL_F32, "{\"const\":3.0}");
	f->job.arg[0].sweep = true;
	fx_extent(p, 0, 1, 64, 0);
	fx_extent(p, 1, 1, 64, 0);
	json_array_append_new(f->job.bands, fx_json("{\"x\":{\"const\":5.0}}"));
	assert_ok(kl_fill_band(noise, &f->job, p, "noise", 9, 0));
	assert_ok(kl_fill_band(up, &f->job, p, "scale-up", 9, 0));
	assert_ok(kl_fill_band(down, &f->job, p, "scale-down", 9, 0));
	assert_ok(kl_fill_band(band, &f->job, p, "band0", 9, 0));
	assert_ok(kl_fill_band(fixed, &f->job, p, "band0", 9, 1));
	for (int i = 0; i < 64; i++) {
		assert_true(up[i] == noise[i] * 64 && down[i] == noise[i] / 1024);
		assert_true(band[i] == 5 && fixed[i] == 3);
	}
	/* not swept: not scaled; and every argument has a stream of its own */
	assert_ok(kl_fill_band(up, &f->job, p, "scale-up", 9, 1));
	assert_true(up[0] == 3);
	json_decref(f->job.arg[1].fill);
	f->job.arg[1].fill = fx_json("{\"normal\":[0.0,1.0]}");
	assert_ok(kl_fill_band(up, &f->job, p, "noise", 9, 1));
	assert_true(up[0] != noise[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distributions),
		cmocka_unit_test(same_seed_same_bytes),
		cmocka_unit_test(blocks_are_drawn_alike),
		cmocka_unit_test(rows),
		cmocka_unit_test(outliers_are_few_and_far),
		cmocka_unit_test(rows_know_their_place),
		cmocka_unit_test(places_are_found_in_the_middle),
		cmocka_unit_test(maps_then_scale),
		cmocka_unit_test(special_values),
		cmocka_unit_test(wide_integers_are_exact),
		cmocka_unit_test(bad_fills_are_named),
		cmocka_unit_test(bands_replace_and_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
