/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/error.h"
#include "probe/points.h"
#include "probe/quantities.h"

static struct kl_contract *contract(const char *domain)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf(
		"klineage: 1\nworkload: mul\n"
		"case: {op: nothing-known, dims: {a: 16, b: 32, c: 64}}\n"
		"surface: {language: c, sources: [m.c], entry: mul}\n"
		"args:\n"
		"  - {name: a, kind: dim}\n  - {name: b, kind: dim}\n  - {name: c, kind: dim}\n"
		"  - {name: x, kind: in, dtype: f32, shape: [a, c], fill: normal}\n"
		"  - {name: y, kind: in, dtype: f32, shape: [c, b], fill: normal}\n"
		"  - {name: z, kind: out, dtype: f32, shape: [a, b]}\n"
		"domain: [%s]\n"
		"cases: [{dims: {a: 16, b: 32, c: 64}, rank: hot}]\n"
		"also: [{a: 4, b: 8, c: 8}]\n"
		"oracle: {language: c, sources: [oracle.c], entry: oracle}\n"
		"accept: {rule: noise}\nfloor: {bytes: none}\n",
		domain);
	struct kl_contract *out = NULL;

	if (kl_contract_parse(&out, "klineage.yaml", text, strlen(text)) < 0)
		fail_msg("%s", kl_error_last());
	return out;
}

static bool has(const struct kl_probe_points *points, int64_t a, int64_t b, int64_t c, int values)
{
	for (size_t i = 0; i < points->n; i++)
		if (points->v[i].dims.v[0] == a && points->v[i].dims.v[1] == b &&
		    points->v[i].dims.v[2] == c && (int)points->v[i].values == values)
			return true;
	return false;
}

static void one_factor_at_a_time_then_pairs(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract("a >= 1, c % 8 == 0");
	KL_AUTO(kl_probe_points_release) struct kl_probe_points points = { .n = 0 };
	const int64_t constant[] = { 20 };
	size_t outside = 0;

	(void)state;
	assert_int_equal(kl_probe_points_make(&points,
					      &(struct kl_probe_points_of){
						      .contract = made,
						      .constant = constant,
						      .nconstant = 1,
					      }),
			 0);
	assert_true(points.n > 100 && points.n <= KL_PROBE_MOST);
	assert_true(has(&points, 16, 32, 64, KL_PROBE_PLAIN));
	assert_true(has(&points, 16, 32, 64, KL_PROBE_NAN));
	assert_true(has(&points, 1, 32, 64, KL_PROBE_PLAIN));
	assert_true(has(&points, 16, 32, 7, KL_PROBE_PLAIN));
	assert_true(has(&points, 16, 19, 64, KL_PROBE_PLAIN)); /* around the constant */
	assert_true(has(&points, 16, 21, 64, KL_PROBE_PLAIN));
	assert_true(has(&points, 16, 32, 1023, KL_PROBE_PLAIN));
	assert_true(has(&points, 3, 3, 64, KL_PROBE_PLAIN));   /* a pair */
	assert_true(has(&points, 96, 96, 96, KL_PROBE_PLAIN)); /* whole tiles of all dims */
	assert_true(has(&points, 96, 96, 97, KL_PROBE_PLAIN) ||
		    has(&points, 96, 96, 7, KL_PROBE_PLAIN));
	for (size_t i = 0; i < points.n; i++) {
		assert_int_equal(points.v[i].outside && points.v[i].values == KL_PROBE_PLAIN,
				 points.v[i].dims.v[2] % 8 != 0 &&
					 points.v[i].values == KL_PROBE_PLAIN);
		outside += points.v[i].outside;
	}
	assert_true(outside > 0);
}

static void what_the_oracle_can_hardly_judge_comes_last(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract("a <= b, c % 8 == 0");
	KL_AUTO(kl_probe_points_release) struct kl_probe_points points = { .n = 0 };
	bool last = false;

	(void)state;
	assert_int_equal(
		kl_probe_points_make(&points, &(struct kl_probe_points_of){ .contract = made }), 0);
	for (size_t i = 0; i < points.n; i++) {
		bool breaks = points.v[i].dims.v[0] > points.v[i].dims.v[1];

		assert_false(last && !breaks);
		last = breaks;
	}
	assert_true(last);
}

static void a_huge_grid_is_cut(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract("a >= 1");
	KL_AUTO(kl_probe_points_release) struct kl_probe_points points = { .n = 0 };
	struct kl_probe_axis axis[3];
	bool seen[1001] = { false };
	size_t values = 0;

	(void)state;
	assert_int_equal(kl_probe_axis_parse(&axis[0], "a=1..1000"), 0);
	assert_int_equal(kl_probe_axis_parse(&axis[1], "b=1..1000"), 0);
	assert_int_equal(kl_probe_axis_parse(&axis[2], "c=1..1000"), 0);
	assert_int_equal(kl_probe_points_make(&points,
					      &(struct kl_probe_points_of){
						      .contract = made,
						      .axis = axis,
						      .naxis = 3,
					      }),
			 0);
	assert_true(points.total == 1e9);
	assert_true(points.n > 1000 && points.n <= KL_PROBE_MOST);
	for (size_t i = 0; i < points.n; i++) {
		values += !seen[points.v[i].dims.v[1]];
		seen[points.v[i].dims.v[1]] = true;
	}
	assert_true(values > 100); /* each axis varies in the part that is tried */
	for (size_t i = 0; i < 3; i++)
		kl_probe_axis_release(&axis[i]);
}

static void axes_are_parsed(void **state)
{
	static const char *const bad[] = {
		"",      "m",        "=1",         "m=",    "m=0",  "m=x",     "m=3..1",
		"m=1..", "m=1..8:0", "values=odd", "m=1 2", "m=-3", "m=1..2x", "m=99999999999"
	};
	struct kl_probe_axis axis;

	(void)state;
	assert_int_equal(kl_probe_axis_parse(&axis, "m=1,8..24:8"), 0);
	assert_string_equal(axis.dim, "m");
	assert_int_equal(axis.n, 4);
	assert_int_equal(axis.v[3], 24);
	kl_probe_axis_release(&axis);
	assert_int_equal(kl_probe_axis_parse(&axis, "values=plain,nan"), 0);
	assert_int_equal(axis.v[1], KL_PROBE_NAN);
	kl_probe_axis_release(&axis);
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		assert_int_equal(kl_probe_axis_parse(&axis, bad[i]), KL_EUSAGE);
		kl_probe_axis_release(&axis);
	}
	kl_error_clear();
}

static void roles_follow_from_shapes(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract("a >= 1");
	KL_AUTO(kl_quantities_release) struct kl_quantities quantities = { .n = 0 };
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf got = KL_BUF_INIT;
	const struct kl_probe_point point = { .dims = made->dims, .values = KL_PROBE_INF };
	int64_t value[32];

	(void)state;
	assert_int_equal(kl_taxonomy_load(&tax), 0);
	kl_quantities_find(&quantities, tax, made);
	kl_quantities_at(value, &quantities, &point);
	for (size_t i = 0; i < quantities.n; i++)
		kl_buf_addf(&got, "%s=%lld ", quantities.v[i].name, (long long)value[i]);
	assert_string_equal(
		got.ptr,
		"extent(rows)=16 extent(cols)=32 extent(reduction)=64 "
		"pitch_bytes(x)=256 elements(x)=1024 pitch_bytes(y)=128 "
		"elements(y)=2048 pitch_bytes(z)=128 elements(z)=512 "
		"align(x)=4096 align(y)=4096 align(z)=2048 values != 'denormal'=0 values != 'inf'=1 values != 'nan'=0 ");
}

/* The address is what the point says, or what the end of a page leaves. */
static void addresses_are_quantities(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract("a >= 1");
	KL_AUTO(kl_quantities_release) struct kl_quantities quantities = { .n = 0 };
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf got = KL_BUF_INIT;
	struct kl_probe_point point[3] = { { .dims = made->dims },
					   { .dims = made->dims },
					   { .dims = made->dims } };
	int64_t value[32];

	(void)state;
	/* all dims are odd, so each tensor has an odd number of elements, of 4 bytes */
	for (size_t i = 0; i < made->dims.n; i++)
		point[0].dims.v[i]--;
	point[1].base = 8;
	while (strcmp(made->arg[point[1].tensor].name, "y") != 0)
		point[1].tensor++;
	point[2].base = 2048;
	point[2].tensor = point[1].tensor;
	assert_int_equal(kl_taxonomy_load(&tax), 0);
	kl_quantities_find(&quantities, tax, made);
	for (size_t k = 0; k < 3; k++) {
		kl_quantities_at(value, &quantities, &point[k]);
		for (size_t i = 0; i < quantities.n; i++)
			if (quantities.v[i].of == KL_QUANTITY_ALIGN)
				kl_buf_addf(&got, "%s=%lld ", quantities.v[i].name,
					    (long long)value[i]);
	}
	assert_string_equal(got.ptr, "align(x)=4 align(y)=4 align(z)=4 "
				     "align(x)=256 align(y)=8 align(z)=256 "
				     "align(x)=256 align(y)=2048 align(z)=256 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_factor_at_a_time_then_pairs),
		cmocka_unit_test(what_the_oracle_can_hardly_judge_comes_last),
		cmocka_unit_test(a_huge_grid_is_cut),
		cmocka_unit_test(axes_are_parsed),
		cmocka_unit_test(roles_follow_from_shapes),
		cmocka_unit_test(addresses_are_quantities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
