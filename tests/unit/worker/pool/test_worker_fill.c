/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_fixture.h"

#include <math.h>
#include <sched.h>

#include "job/tensor.h"
#include "worker/pool/fill.h"

#define ROWS 50
#define COLS 40
#define N (ROWS * COLS)

static struct kl_key key_of(uint64_t seed)
{
	struct kl_key key;

	kl_key_master(&key, seed);
	return key;
}

static int make(void *out, enum kl_dtype dtype, const char *fill, uint64_t seed)
{
	static const int64_t extent[] = { ROWS, COLS };
	KL_AUTO(json_decrefp) json_t *value = fx_json(fill);
	struct kl_fill_spec spec = {
		.fill = value,
		.dtype = dtype,
		.extent = extent,
		.naxes = 2,
		.point = "case0",
		.key = key_of(seed),
		.factor = 1,
	};

	return kl_fill_make(out, &spec);
}

static void made(double *out, const char *fill)
{
	assert_ok(make(out, KL_F64, fill, 7));
}

static void moments(const double *values, double *mean, double *sd)
{
	double seconds = 0, quantile = 0;

	for (int i = 0; i < N; i++)
		seconds += values[i];
	for (int i = 0; i < N; i++)
		quantile += (values[i] - seconds / N) * (values[i] - seconds / N);
	*mean = seconds / N;
	*sd = sqrt(quantile / N);
}

static void distributions(void **state)
{
	double values[N], mean, sd;
	int hit[5] = { 0 }, far = 0;

	made(values, "{\"normal\":[3.0,2.0]}");
	moments(values, &mean, &sd);
	assert_true(fabs(mean - 3) < 0.25 && fabs(sd - 2) < 0.2);
	made(values, "{\"uniform\":[-1.0,3.0]}");
	moments(values, &mean, &sd);
	assert_true(fabs(mean - 1) < 0.15 && fabs(sd - 4 / sqrt(12)) < 0.1);
	for (int i = 0; i < N; i++)
		assert_true(values[i] >= -1 && values[i] < 3);
	made(values, "{\"ints\":[-2,2]}");
	for (int i = 0; i < N; i++) {
		assert_true(values[i] == rint(values[i]) && fabs(values[i]) <= 2);
		hit[(int)values[i] + 2]++;
	}
	for (int i = 0; i < 5; i++)
		assert_true(hit[i] > N / 5 - 120 && hit[i] < N / 5 + 120);
	made(values, "{\"cauchy\":true}");
	for (int i = 0; i < N; i++)
		far += fabs(values[i]) > 20;
	assert_true(far > 20 && far < 140); /* 2/pi/20 of them, about 64 */
}

static void outliers_are_few_and_far(void **state)
{
	double values[N];
	int beyond = 0;

	made(values, "{\"outliers\":[0.05,1000.0]}");
	for (int i = 0; i < N; i++)
		beyond += fabs(values[i]) > 10;
	assert_true(beyond > 60 && beyond < 140); /* 5 % of them, about 99 */
}

static void same_seed_same_bytes(void **state)
{
	float left[N], right[N];

	assert_ok(make(left, KL_F32, "{\"normal\":[0.0,1.0]}", 1));
	assert_ok(make(right, KL_F32, "{\"normal\":[0.0,1.0]}", 1));
	assert_memory_equal(left, right, sizeof(left));
	assert_ok(make(right, KL_F32, "{\"normal\":[0.0,1.0]}", 2));
	assert_int_not_equal(memcmp(left, right, sizeof(left)), 0);
}

static int make_large(float *out, int64_t rows, const char *fill, bool pinned)
{
	const int64_t extent[] = { rows, 1000 };
	KL_AUTO(json_decrefp) json_t *value = fx_json(fill);
	struct kl_fill_spec spec = {
		.fill = value,
		.dtype = KL_F32,
		.extent = extent,
		.naxes = 2,
		.point = "case0",
		.key = key_of(5),
		.factor = 1,
	};
	cpu_set_t before, one;
	int err;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (int ch = 0; ch < CPU_SETSIZE && !CPU_COUNT(&one); ch++)
		if (CPU_ISSET(ch, &before))
			CPU_SET(ch, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), pinned ? &one : &before), 0);
	err = kl_fill_make(out, &spec);
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
	KL_AUTO(kl_freep) float *left = kl_calloc(LONG * ROW, sizeof(*left));
	KL_AUTO(kl_freep) float *right = kl_calloc(LONG * ROW, sizeof(*right));

	for (size_t field = 0; field < KL_ARRAY_SIZE(fills); field++) {
		memset(right, 0xff, LONG * ROW * sizeof(*right));
		assert_ok(make_large(left, LONG, fills[field], false));
		assert_ok(make_large(right, LONG, fills[field], true));
		assert_memory_equal(left, right, LONG * ROW * sizeof(*left));
		/* and a shorter tensor has the same rows */
		assert_ok(make_large(right, 100, fills[field], false));
		assert_memory_equal(left, right, (size_t)100 * ROW * sizeof(*left));
	}
	assert_ok(make_large(right, LONG, fills[3], false));
	assert_ok(make_large(left, LONG, fills[0], false));
	/* sums run on from block to block */
	for (int i = 0; i < LONG; i++)
		for (int ch = 0; ch < ROW; ch += 37) {
			double sum = 0;

			for (int k = i / 7 * 7; k <= i; k++)
				sum += left[k * ROW + ch];
			assert_true(fabs(sum - right[i * ROW + ch]) < 1e-5);
		}
	for (int value = 0; value < LONG; value += BLOCK_ROWS)
		for (int year = 0; year < value; year += BLOCK_ROWS)
			assert_int_not_equal(memcmp(left + value * ROW, left + year * ROW,
						    8 * sizeof(*left)),
					     0);
}

static void rows(void **state)
{
	double values[N];

	made(values, "{\"one-hot\":true}");
	for (int rc = 0; rc < ROWS; rc++) {
		int ones = 0, zeros = 0;

		for (int ch = 0; ch < COLS; ch++) {
			ones += values[rc * COLS + ch] == 1;
			zeros += values[rc * COLS + ch] == 0;
		}
		assert_true(ones == 1 && zeros == COLS - 1);
	}
	made(values, "{\"repeat\":{\"normal\":[0.0,1.0],\"map\":\"abs\"},\"scale\":2.0}");
	for (int rc = 1; rc < ROWS; rc++)
		assert_memory_equal(values, values + rc * COLS, COLS * sizeof(*values));
	assert_true(values[0] != values[1] && values[0] >= 0);
	made(values, "{\"normal\":[0.0,5.0],\"unit\":\"last\"}");
	for (int rc = 0; rc < ROWS; rc++) {
		double quantile = 0;

		for (int ch = 0; ch < COLS; ch++)
			quantile += values[rc * COLS + ch] * values[rc * COLS + ch];
		assert_true(fabs(quantile - 1) < 1e-12);
	}
}

/* What runs along the axis before the last. */
static void rows_know_their_place(void **state)
{
	double samples[N], values[N];

	made(samples, "{\"uniform\":[2.0,3.0],\"lower\":0}");
	for (int rc = 0; rc < ROWS; rc++)
		for (int ch = 0; ch < COLS; ch++) {
			int depth = ch - rc % COLS;

			assert_true(depth > 0 ? samples[rc * COLS + ch] == 0 :
				    depth < 0 ? samples[rc * COLS + ch] >= 2 :
						samples[rc * COLS + ch] == 1);
		}
	made(samples, "{\"normal\":[0.0,1.0]}");
	made(values, "{\"normal\":[0.0,1.0],\"running\":16}");
	for (int rc = 0; rc < ROWS; rc++)
		for (int ch = 0; ch < COLS; ch++) {
			double before = rc % 16 ? values[(rc - 1) * COLS + ch] : 0;

			assert_true(values[rc * COLS + ch] == samples[rc * COLS + ch] + before);
		}
	assert_int_equal(make(samples, KL_F64, "{\"normal\":[0.0,1.0],\"lower\":1}", 1),
			 KL_EINVALID);
	assert_int_equal(make(samples, KL_F64, "{\"normal\":[0.0,1.0],\"running\":0}", 1),
			 KL_EINVALID);
	assert_int_equal(make(samples, KL_F64, "{\"normal\":[0.0,1.0],\"running\":1.5}", 1),
			 KL_EINVALID);
}

/* A batch of triangles: the row of each is found in a middle axis; sums begin anew with it. */
static void places_are_found_in_the_middle(void **state)
{
	static const int64_t extent[] = { 2, 6, 3, 4 };
	KL_AUTO(json_decrefp) json_t *lower = fx_json("{\"const\":7.0,\"lower\":1}");
	KL_AUTO(json_decrefp) json_t *sums = fx_json("{\"const\":1.0,\"running\":5}");
	struct kl_fill_spec spec = {
		.fill = lower,
		.dtype = KL_F64,
		.extent = extent,
		.naxes = 4,
		.point = "case0",
		.key = key_of(3),
		.factor = 1,
	};
	double values[2][6][3][4];

	assert_ok(kl_fill_make(values, &spec));
	for (int second = 0; second < 2; second++)
		for (int turn = 0; turn < 6; turn++)
			for (int hour = 0; hour < 3; hour++)
				for (int ch = 0; ch < 4; ch++)
					assert_true(values[second][turn][hour][ch] ==
						    (ch > turn % 4  ? 0 :
						     ch == turn % 4 ? 1 :
								      7));
	spec.fill = sums;
	spec.naxes = 3; /* 2 x 6 x 3: sums along the 6 */
	assert_ok(kl_fill_make(values, &spec));
	for (int i = 0; i < 36; i++)
		assert_true(((double *)values)[i] == i / 3 % 6 % 5 + 1);
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
	double values[N];

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		made(values, t[i].fill);
		if (fabs(values[N - 1] - t[i].want) > 1e-14 * fabs(t[i].want))
			fail_msg("%s: %.17g", t[i].fill, values[N - 1]);
	}
}

static void special_values(void **state)
{
	float values[N];
	int seen[4] = { 0 };

	assert_ok(make(values, KL_F32, "{\"choice\":[\"inf\",\"-inf\",\"nan\",\"-0\"]}", 3));
	for (int i = 0; i < N; i++)
		seen[isnan(values[i])                     ? 2 :
		     values[i] == 0 && signbit(values[i]) ? 3 :
		     values[i] > 0                        ? 0 :
							    1]++;
	for (int i = 0; i < 4; i++)
		assert_true(seen[i] > N / 8);
}

static void wide_integers_are_exact(void **state)
{
	int64_t values[N], odd = 0;
	uint8_t bytes[N];

	assert_ok(make(values, KL_I64, "{\"ints\":[9223372036854775000,9223372036854775807]}", 3));
	for (int i = 0; i < N; i++) {
		assert_true(values[i] >= 9223372036854775000);
		odd += values[i] & 1;
	}
	assert_true(odd > N / 3); /* doubles there are multiples of 1024 */
	assert_ok(make(values, KL_I64, "{\"ints\":[-9223372036854775808,9223372036854775807]}", 3));
	assert_ok(make(bytes, KL_U8, "{\"index\":{\"case0\":10}}", 3));
	for (int i = 0; i < N; i++)
		assert_true(bytes[i] < 10);
}

static void bad_fills_are_named(void **state)
{
	double values[N];

	assert_error(KL_EINVALID, "no known kind", make(values, KL_F64, "{\"gauss\":1}", 1));
	assert_error(KL_EINVALID, "'normal' needs two",
		     make(values, KL_F64, "{\"normal\":[1.0]}", 1));
	assert_error(KL_EINVALID, "unknown map 'relu'",
		     make(values, KL_F64, "{\"const\":1,\"map\":\"relu\"}", 1));
	assert_error(KL_EINVALID, "at point 'case0'",
		     make(values, KL_F64, "{\"index\":{\"case1\":10}}", 1));
	assert_error(KL_EINVALID, "smaller first", make(values, KL_F64, "{\"ints\":[2,1]}", 1));
}

static void bands_replace_and_scale(void **state)
{
	const struct kl_key nine = key_of(9);
	KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
	float noise[64], up[64], down[64], band[64], fixed[64];
	struct kl_point *point = fx_point(fixture, "case0", true);

	fx_arg(fixture, "x", KL_ARG_IN, KL_F32, "{\"normal\":[0.0,1.0]}");
	fx_arg(fixture, "y", KL_ARG_IN, KL_F32, "{\"const\":3.0}");
	fixture->job.arg[0].sweep = true;
	fx_extent(point, 0, 1, 64, 0);
	fx_extent(point, 1, 1, 64, 0);
	json_array_append_new(fixture->job.bands, fx_json("{\"x\":{\"const\":5.0}}"));
	assert_ok(kl_fill_band(noise, &fixture->job, point, "noise", &nine, 0));
	assert_ok(kl_fill_band(up, &fixture->job, point, "scale-up", &nine, 0));
	assert_ok(kl_fill_band(down, &fixture->job, point, "scale-down", &nine, 0));
	assert_ok(kl_fill_band(band, &fixture->job, point, "band0", &nine, 0));
	assert_ok(kl_fill_band(fixed, &fixture->job, point, "band0", &nine, 1));
	for (int i = 0; i < 64; i++) {
		assert_true(up[i] == noise[i] * 64 && down[i] == noise[i] / 1024);
		assert_true(band[i] == 5 && fixed[i] == 3);
	}
	/* not swept: not scaled; and every argument has a stream of its own */
	assert_ok(kl_fill_band(up, &fixture->job, point, "scale-up", &nine, 1));
	assert_true(up[0] == 3);
	json_decref(fixture->job.arg[1].fill);
	fixture->job.arg[1].fill = fx_json("{\"normal\":[0.0,1.0]}");
	assert_ok(kl_fill_band(up, &fixture->job, point, "noise", &nine, 1));
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
