/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "model/provider/http_status.h"

static void some_refusals_may_pass(void **state)
{
	static const long again[] = { 408, 409, 425, 429, 500, 502, 503, 504, 524, 529 };
	static const long never[] = { 101, 200, 301, 307, 400, 401, 402,
				      403, 404, 413, 422, 501, 505 };

	for (size_t i = 0; i < sizeof(again) / sizeof(*again); i++)
		assert_true(kl_http_status_is_transient(again[i]));
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		assert_false(kl_http_status_is_transient(never[i]));
}

/* A gateway that gives up can have handed the request to a model. */
static void some_refusals_cost_nothing(void **state)
{
	static const long nothing[] = { 101, 301, 307, 400, 401, 402, 403, 404, 409,
					413, 422, 425, 429, 501, 503, 505, 529 };
	static const long something[] = { 200, 204, 408, 499, 500, 502, 504, 520, 524 };

	for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
		assert_true(kl_http_status_is_free(nothing[i]));
	for (size_t i = 0; i < sizeof(something) / sizeof(*something); i++)
		assert_false(kl_http_status_is_free(something[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_refusals_may_pass),
		cmocka_unit_test(some_refusals_cost_nothing),
	};

	return cmocka_run_group_tests_name("provider/http_status", tests, NULL, NULL);
}
