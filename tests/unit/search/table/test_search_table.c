/* SPDX-License-Identifier: Apache-2.0 */
/* search_table: the shipped tables, hostile ones, and a model that plays on them */
#include "search/table/table.h"

#include "rewrite/edits.h"
#include "rewrite/rewriter.h"
#include "search/judging.h"
#include "search/policy/observation.h"
#include "search/table/moves.h"
#include "search/table/player.h"
#include "search/table/variant.h"
#include "test.h"

static const char key[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

struct fixture {
	struct kl_search_table *table;
	struct kl_surface *root;
	struct kl_buf text;
};

static void fixture_open(struct fixture *fixture, const char *name)
{
	KL_AUTO(kl_freep) char *dir = kl_asprintf(KL_SOURCE "/skills/lineages/%s/state-0", name);

	*fixture = (struct fixture){ .text = KL_BUF_INIT };
	assert_ok(kl_search_table_open(&fixture->table, name));
	assert_ok(kl_surface_from_dir(&fixture->root, dir, ""));
	kl_search_table_write(&fixture->text, fixture->table);
}

static void fixture_release(struct fixture *fixture)
{
	kl_search_table_free(fixture->table);
	kl_surface_free(fixture->root);
	kl_buf_release(&fixture->text);
}

/* --- moves ---------------------------------------------------------------------------------- */

/* Check that the reply of a move makes the state that it leads to. */
static void check_move(const struct fixture *fixture, const struct kl_table_state *from,
		       const struct kl_move *move)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *old = NULL, *want = NULL, *have = NULL;
	KL_AUTO(kl_envelope_release) struct kl_envelope envelope = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf reply = KL_BUF_INIT;
	struct kl_file *edit = NULL;
	size_t n = 0;

	assert_ok(kl_search_table_surface(&old, fixture->table, from, fixture->root));
	assert_ok(kl_search_table_surface(&want, fixture->table, move->to, fixture->root));
	kl_player_step(&reply, kl_move_name[move->kind], move->by, "because", old, want);
	assert_ok(kl_envelope_parse(&envelope, reply.ptr, reply.len));
	assert_ok(kl_edits_apply(&edit, &n, old, &envelope));
	assert_ok(kl_surface_with(&have, old, edit, n));
	assert_string_equal(have->digest, move->to->surface);
	kl_edits_free(edit, n);
}

static void test_moves(void **state)
{
	static const char *const names[] = { "c-topk", "c-sgemm" };

	for (size_t k = 0; k < 2; k++) {
		struct fixture fixture;
		size_t checked = 0;

		fixture_open(&fixture, names[k]);
		for (size_t i = 0; i < fixture.table->n; i += 3) {
			struct kl_moves moves = { 0 };

			kl_moves_list(&moves, fixture.table, &fixture.table->state[i]);
			for (size_t m = i % 4; m < moves.n; m += 4, checked++)
				check_move(&fixture, &fixture.table->state[i], &moves.v[m]);
			kl_moves_release(&moves);
		}
		assert_true(checked > 100);
		fixture_release(&fixture);
	}
}

/* --- hostile tables -------------------------------------------------------------------------- */

/* Expect that the table with `from` replaced once by `to` is refused with these words. */
static void expect_refused(const struct fixture *fixture, const char *from, const char *to,
			   const char *words)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_search_table *table = NULL;
	const char *at = strstr(fixture->text.ptr, from);

	assert_non_null(at);
	kl_buf_add(&text, fixture->text.ptr, (size_t)(at - fixture->text.ptr));
	kl_buf_adds(&text, to);
	kl_buf_adds(&text, at + strlen(from));
	assert_error(KL_EINVALID, words, kl_search_table_parse(&table, text.ptr, text.len));
}

static void test_hostile(void **state)
{
	struct fixture fixture;
	struct kl_search_table *table = NULL;

	fixture_open(&fixture, "c-topk");
	expect_refused(&fixture, "klineage.table/1", "klineage.table/9", "schema");
	expect_refused(&fixture, "\"states\":100", "\"states\":99", "99");
	expect_refused(&fixture, "\"states\":100", "\"states\":101", "101");
	expect_refused(&fixture, "\"states\":100", "\"states\":100,\"more\":1", "form");
	expect_refused(&fixture, "\"states\":100", "\"states\":-1", "line 1");
	expect_refused(&fixture, "\"id\":\"K_1\"", "\"id\":\"K_0\"", "line 3");
	expect_refused(&fixture, "\"id\":\"K_1\"", "\"id\":\"K 1\"", "line 3");
	expect_refused(&fixture, "\"from\":\"K_1\"", "\"from\":\"K_9\"", "stands before");
	expect_refused(&fixture, "\"from\":\"K_1\"", "\"from\":\"K_2\"", "itself");
	expect_refused(&fixture, "\"ppm\":1000000", "\"ppm\":1000001", "line 2");
	expect_refused(&fixture, "\"kind\":\"tune\"", "\"kind\":\"melody\"", "melody");
	expect_refused(&fixture, "\"line\":0", "\"line\":-5", "line 2");
	expect_refused(&fixture, "\"path\":\"topk.c\"", "\"path\":\"../topk.c\"", "path");
	expect_refused(&fixture, "\"class\":\"hang\"", "\"class\":null", "class");
	expect_refused(&fixture, "\"class\":\"hang\"", "\"class\":\"nonsense\"", "class");
	for (size_t n = 0; n < fixture.text.len; n += 997)
		assert_error(KL_EINVALID, "", kl_search_table_parse(&table, fixture.text.ptr, n));
	fixture_release(&fixture);
}

static void test_sources(void **state)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	struct fixture fixture;
	struct kl_table_edit *edit;

	fixture_open(&fixture, "c-topk");
	assert_ok(kl_search_table_surface(&surface, fixture.table, fixture.table->state,
					  fixture.root));
	assert_string_equal(surface->digest, fixture.root->digest);
	kl_surface_free(kl_steal(&surface));
	edit = fixture.table->state[1].edit;
	edit->line = 9000000;
	assert_error(KL_EINVALID, "beyond its lines",
		     kl_search_table_surface(&surface, fixture.table, &fixture.table->state[2],
					     fixture.root));
	fixture.table->contract[0] ^= 1;
	assert_error(KL_EINVALID, "another contract",
		     kl_search_table_surface(&surface, fixture.table, fixture.table->state,
					     fixture.root));
	fixture_release(&fixture);
}

/* --- the model ------------------------------------------------------------------------------- */

/* Count the tickets whose reply changes when a note is shown. */
static int count_changed(const struct fixture *fixture, const char *skill, const char *note)
{
	struct kl_player player = { .table = fixture->table,
				    .base = fixture->root,
				    .skill = kl_skill_find(skill) };
	KL_AUTO(json_decrefp) json_t *json = json_object();
	struct kl_player_shown shown = { .as = "plan", .note = json };
	int changed = 0;

	kl_json_set_str(json, "text", note);
	for (int64_t ticket = 1; ticket <= 60; ticket++) {
		struct kl_player_about about = { .key = key,
						 .ticket = ticket,
						 .role = "coder",
						 .edits = true,
						 .parent = fixture->table->state[4].surface,
						 .shown = &shown };
		KL_AUTO(kl_freep) char *with = NULL, *without = NULL, *again = NULL;

		assert_ok(kl_player_answer(&without, &player, &about));
		assert_ok(kl_player_answer(&again, &player, &about));
		assert_string_equal(without, again);
		about.nshown = 1;
		assert_ok(kl_player_answer(&with, &player, &about));
		changed += strcmp(with, without) != 0;
	}
	return changed;
}

static void test_heed(void **state)
{
	struct fixture fixture;

	fixture_open(&fixture, "c-topk");
	assert_int_equal(count_changed(&fixture, "deaf", "Change it by sample-pivot."), 0);
	assert_true(count_changed(&fixture, "middling", "Change it by sample-pivot.") > 10);
	assert_true(count_changed(&fixture, "middling", "Avoid compile and wrong-edge.") > 0);
	assert_int_equal(count_changed(&fixture, "middling", "Nothing of this kernel."), 0);
	fixture_release(&fixture);
}

static void test_lacks(void **state)
{
	struct kl_player_about about = { .key = key, .role = "coder", .parent = key };
	struct fixture fixture;
	char *text = NULL;

	fixture_open(&fixture, "c-topk");
	assert_error(KL_ECANNOT, "lacks the kernel",
		     kl_player_answer(&text,
				      &(struct kl_player){ .table = fixture.table,
							   .base = fixture.root,
							   .skill = kl_skill_find("weak") },
				      &about));
	fixture_release(&fixture);
}

/* --- judging --------------------------------------------------------------------------------- */

static void test_noisy(void **state)
{
	struct fixture fixture;
	int64_t least = INT64_MAX, most = 0;

	fixture_open(&fixture, "c-topk");
	for (int64_t ticket = 1; ticket <= 100; ticket++) {
		struct kl_judging judging = { KL_JUDGING_NOISY, fixture.table, NULL };
		struct kl_draws draws = { .key = key, .ticket = ticket };
		const struct kl_table_state *kernel = &fixture.table->state[5];
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
		const struct kl_ratio *ratio;

		assert_ok(kl_judging_event(&event, &judging, kernel->surface, fixture.root->digest,
					   &draws));
		ratio = &event->profile.vs.v[0].ratio;
		assert_true(ratio->lo <= ratio->ppm && ratio->ppm <= ratio->hi);
		assert_int_equal(ratio->lo, kernel->root.lo);
		least = ratio->ppm < least ? ratio->ppm : least;
		most = ratio->ppm > most ? ratio->ppm : most;
	}
	assert_true(most > least);
	fixture_release(&fixture);
}

/* a search that begins at another state than K_0: its speeds are quotients */
static void test_other_root(void **state)
{
	struct fixture fixture;
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL, *far = NULL;
	struct kl_table_state slow = { 0 }, fast = { 0 };
	const struct kl_table_state *one, *two;

	fixture_open(&fixture, "c-topk");
	one = &fixture.table->state[1];
	two = &fixture.table->state[2];
	event = kl_search_table_event(two, one);
	assert_int_equal(event->profile.vs.v[0].ratio.ppm, two->root.ppm * 1000000 / one->root.ppm);
	assert_int_equal(event->profile.vs.v[0].ratio.lo, two->root.lo * 1000000 / one->root.hi);
	/* the largest and the smallest speed that a table may have */
	slow.root = (struct kl_ratio){ 1, 1, 1 };
	fast.root = (struct kl_ratio){ 1000000000000, 1000000000000, 1000000000000 };
	far = kl_search_table_event(&fast, &slow);
	assert_int_equal(far->profile.vs.v[0].ratio.hi, KL_OBSERVATION_PPM);
	fixture_release(&fixture);
}

/* --- variants -------------------------------------------------------------------------------- */

static void test_tune(void **state)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL, *tuned = NULL, *none = NULL;
	struct fixture fixture;

	fixture_open(&fixture, "c-topk");
	assert_ok(kl_search_table_surface(&surface, fixture.table, &fixture.table->state[5],
					  fixture.root));
	assert_ok(kl_variant_tune(&tuned, surface, "RUN", 8, 16));
	assert_non_null(tuned);
	assert_non_null(strstr(tuned->file[0].data, "#define RUN 16\n"));
	assert_non_null(strstr(tuned->file[0].data, "#define RUNS 32\n"));
	assert_ok(kl_variant_tune(&none, surface, "RUN", 9, 16));
	assert_null(none);
	fixture_release(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),   cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_sources), cmocka_unit_test(test_heed),
		cmocka_unit_test(test_lacks),   cmocka_unit_test(test_noisy),
		cmocka_unit_test(test_tune),    cmocka_unit_test(test_other_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
