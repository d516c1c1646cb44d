/* SPDX-License-Identifier: Apache-2.0 */
/* The grid of a contract, the map of two kernels as SVG and table, and the header that chooses. */
#include "test.h"

#include "base/fs.h"
#include "event/speed.h"
#include "event_lib.h"
#include "probe/dispatch.h"
#include "probe/when_parts.h"
#include "probe/when_svg.h"
#include "probe/when_table.h"
#include "scratch.h"

static const char contract_text[] =
	"klineage: 1\nworkload: w\ncase: {op: gemm, dims: {N: 64, int: 32}}\n"
	"surface: {language: c, sources: [w.c], entry: w, flags: [-O2]}\n"
	"args:\n  - {name: N, kind: dim}\n  - {name: int, kind: dim}\n"
	"  - {name: A, kind: in, dtype: f32, shape: [N, 'cdiv(int, 2)'], fill: normal}\n"
	"  - {name: C, kind: out, dtype: f64, shape: [N]}\n"
	"domain: ['N >= 1', 'N <= 4096', 'int % 4 == 0', 'int <= 2048',\n"
	"  'N + 1 > int || max(N, int) <= 4096 && !(N == 3 || int == 5)']\n"
	"oracle: {language: c, sources: [o.c], entry: o}\naccept: {rule: noise, max: 4, rms: 2}\n";

static struct kl_contract *contract(const char *text)
{
	struct kl_contract *out = NULL;

	assert_ok(kl_contract_parse(&out, "klineage.yaml", text, strlen(text)));
	return out;
}

/* --- the grid --------------------------------------------------------------------------------- */

static void points_lie_in_the_domain_and_range_over_decades(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract(contract_text);
	KL_AUTO(kl_grid_release) struct kl_grid grid = { 0 };
	int64_t least = INT64_MAX, most = 0;

	assert_ok(kl_grid_plan(&grid, made, 1 << 20));
	assert_true(grid.n >= 60);
	assert_true(grid.too_large > 0);
	assert_int_not_equal(grid.x, grid.y);
	for (size_t i = 0; i < grid.n; i++) {
		const struct kl_grid_point *point = &grid.point[i];

		assert_ok(kl_contract_in_domain(made, &point->dims));
		assert_true(point->bytes > 0 && point->bytes <= 1 << 20);
		least = point->dims.v[0] < least ? point->dims.v[0] : least;
		most = point->dims.v[0] > most ? point->dims.v[0] : most;
		assert_true(!i || grid.point[i - 1].level <= point->level);
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(point->dims.v, grid.point[k].dims.v,
						2 * sizeof(int64_t));
	}
	assert_int_equal(least, 1);
	assert_true(most >= 3000);
	/* the first level ranges over all decades */
	assert_int_equal(grid.point[0].level, 0);
	assert_int_equal(grid.point[0].dims.v[0], 1);
}

static void a_contract_of_one_size_has_no_grid(void **state)
{
	static const char text[] =
		"klineage: 1\nworkload: w\ncase: {op: gemm, dims: {N: 64}}\n"
		"surface: {language: c, sources: [w.c], entry: w, flags: [-O2]}\n"
		"args:\n  - {name: N, kind: dim}\n"
		"  - {name: C, kind: out, dtype: f64, shape: [N]}\ndomain: [N == 64]\n"
		"oracle: {language: c, sources: [o.c], entry: o}\n"
		"accept: {rule: noise, max: 4, rms: 2}\n";
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract(text);
	KL_AUTO(kl_grid_release) struct kl_grid grid = { 0 };

	assert_error(KL_EINVALID, "allows no other sizes", kl_grid_plan(&grid, made, 1 << 20));
}

/* --- maps ------------------------------------------------------------------------------------- */

static void set_pass(struct kl_when_side *side, size_t i)
{
	side->end = KL_WHEN_PASS;
	snprintf(side->event, sizeof(side->event), "%064zx", i + 1);
}

/*
 * Make a map of the contract's grid: b is faster where `figure` is at least `bound`, and fails where
 * N is not a multiple of `divisor`.
 */
static void make_map(struct kl_when *when, const struct kl_contract *made, size_t figure,
		     int64_t bound, int64_t divisor)
{
	KL_AUTO(kl_grid_release) struct kl_grid grid = { 0 };

	assert_ok(kl_grid_plan(&grid, made, 1 << 22));
	*when = (struct kl_when){
		.contract = made,
		.platform = kl_strdup("cpu/x"),
		.device = kl_strdup("a */ device /* ?"
				    "?/ \\"),
		.name_a = kl_strdup("old <script>*/"),
		.name_b = kl_strdup("new\n& \"b\""),
		.digest_a = kl_strdup("0123456789abcdef"),
		.digest_b = kl_strdup("fedcba9876543210"),
		.x = grid.x,
		.y = grid.y,
		.point = kl_calloc(grid.n, sizeof(*when->point)),
		.n = grid.n,
	};
	for (size_t i = 0; i < grid.n; i++) {
		struct kl_when_point *point = &when->point[i];
		bool gain;

		point->dims = grid.point[i].dims;
		kl_when_measure_point(point, made);
		set_pass(&point->a, 2 * i);
		set_pass(&point->b, 2 * i + 1);
		if (point->dims.v[0] % divisor != 0) {
			point->b.end = KL_WHEN_FAIL;
			snprintf(point->b.class_, sizeof(point->b.class_), "wrong-edge");
			continue;
		}
		gain = kl_when_figure(when, point, figure) >= bound;
		point->speed = gain ? KL_SPEED_FAST : i % 2 ? KL_SPEED_SLOW : KL_SPEED_SAME;
		point->ratio.ppm = gain ? 2000000 : i % 2 ? 500000 : 1000000;
		point->ratio.lo = point->ratio.ppm - 9000;
		point->ratio.hi = point->ratio.ppm + 9000;
	}
	kl_when_fit(when);
}

/* What is known of kernels that were not probed. */
static const struct kl_sound unprobed;

static char *temporary_file(const char *dir, const char *name, const struct kl_buf *text)
{
	char *path = kl_fs_join(dir, name);

	assert_ok(kl_fs_write(path, text->ptr, text->len));
	return path;
}

static void assert_runs(const char *command)
{
	int status = system(command);

	if (status != 0)
		fail_msg("status %d: %s", status, command);
}

/* Compile the header as C and C++ without warnings, and ask it at every point of the grid. */
static void assert_chooses_at(const struct kl_when *when, const struct kl_dispatch *dispatch,
			      const char *address, bool suits)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf header = KL_BUF_INIT, program = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *header_path = NULL, *path = NULL, *command = NULL;

	assert_ok(kl_fs_tempdir(&dir, "kl-dispatch"));
	kl_dispatch_header(&header, dispatch, when);
	kl_buf_adds(&program, "#define N 7\n#include \"w_dispatch.h\"\nint main(void)\n{\n"
			      "\tint wrong = 0;\n");
	for (size_t i = 0; i < when->n; i++)
		kl_buf_addf(&program, "\twrong += w_dispatch(%lldLL, %lldLL%s) != W_DISPATCH_%c;\n",
			    (long long)when->point[i].dims.v[0],
			    (long long)when->point[i].dims.v[1], address,
			    suits && kl_dispatch_takes_b(dispatch, when, &when->point[i]) ? 'B' :
											    'A');
	/* outside the domain */
	kl_buf_addf(&program,
		    "\twrong += w_dispatch(4096, 2%s) != W_DISPATCH_A;\n"
		    "\twrong += w_dispatch(8192, 4%s) != W_DISPATCH_A;\n"
		    "\twrong += w_dispatch(0, 0%s) != W_DISPATCH_A;\n"
		    "\twrong += w_dispatch(-4, 4%s) != W_DISPATCH_A;\n"
		    "\treturn wrong != 0;\n}\n",
		    address, address, address, address);
	header_path = temporary_file(dir, "w_dispatch.h", &header);
	path = temporary_file(dir, "main.c", &program);
	command = kl_asprintf("cd %s && cc -std=c11 -Wall -Wextra -pedantic -Werror -o c main.c && "
			      "./c && c++ -x c++ -std=c++11 -Wall -Wextra -pedantic -Werror -o cc "
			      "main.c && ./cc",
			      dir);
	assert_runs(command);
}

static void assert_chooses(const struct kl_when *when, const struct kl_dispatch *dispatch)
{
	assert_chooses_at(when, dispatch, "", true);
}

static void the_header_chooses_as_measured(void **state)
{
	static const struct {
		size_t figure;
		int64_t bound;
	} rows[] = { { 0, 100 }, { 1, 64 }, { 2, 20000 }, { 3, 40000 }, { 0, 1 }, { 0, 1 << 20 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		KL_AUTO(kl_contract_freep) struct kl_contract *made = contract(contract_text);
		KL_AUTO(kl_when_release) struct kl_when when = { 0 };
		struct kl_dispatch dispatch;

		make_map(&when, made, rows[i].figure, rows[i].bound, 1);
		kl_dispatch_choose(&dispatch, &when, &unprobed);
		assert_int_equal(dispatch.some, rows[i].bound != 1 << 20);
		assert_int_equal(dispatch.others, 0);
		for (size_t k = 0; k < when.n; k++)
			assert_int_equal(kl_dispatch_takes_b(&dispatch, &when, &when.point[k]),
					 kl_when_gains(&when.point[k]));
		assert_chooses(&when, &dispatch);
	}
}

/* Where no interval decides, nothing says that b is faster: "always" needs every point. */
static void undecided_points_are_no_gains(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract(contract_text);
	KL_AUTO(kl_when_release) struct kl_when when = { 0 };
	struct kl_dispatch dispatch;

	make_map(&when, made, 0, 100, 1);
	for (size_t i = 0; i < when.n; i++)
		if (when.point[i].speed != KL_SPEED_FAST)
			when.point[i].speed = KL_SPEED_AMBIGUOUS;
	kl_when_fit(&when);
	assert_int_equal(when.useful.end, KL_USEFUL_BOUND);
	assert_int_equal(when.useful.bound, 100);
	kl_dispatch_choose(&dispatch, &when, &unprobed);
	assert_int_equal(dispatch.others, 0);
}

static void a_kernel_is_never_chosen_where_it_fails(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract(contract_text);
	KL_AUTO(kl_when_release) struct kl_when when = { 0 };
	struct kl_dispatch dispatch;

	make_map(&when, made, 0, 1, 4);
	/* that the failures are few or many is not the question here: the rule must exclude them */
	when.useful = (struct kl_useful){ .end = KL_USEFUL_ALWAYS };
	kl_dispatch_choose(&dispatch, &when, &unprobed);
	assert_true(dispatch.some && dispatch.guard.there);
	assert_int_equal(dispatch.guard.divisor, 4);
	assert_int_equal(dispatch.guard.dim, 0);
	for (size_t i = 0; i < when.n; i++)
		if (kl_dispatch_takes_b(&dispatch, &when, &when.point[i]))
			assert_int_equal(when.point[i].b.end, KL_WHEN_PASS);
	assert_chooses(&when, &dispatch);

	/* failures that no condition on one dim excludes */
	for (size_t i = 0; i < when.n; i++)
		if (i % 3 == 0)
			when.point[i].b.end = KL_WHEN_FAIL;
	kl_dispatch_choose(&dispatch, &when, &unprobed);
	assert_false(dispatch.some);
	assert_contains(dispatch.why, "fails");
	assert_chooses(&when, &dispatch);
}

/* --- what a probe found ----------------------------------------------------------------------- */

/* Return the index of the quantity with this name. */
static size_t quantity_of(const struct kl_sound *sound, const char *name)
{
	for (size_t i = 0; i < sound->quantities.n; i++)
		if (!strcmp(sound->quantities.v[i].name, name))
			return i;
	fail_msg("no quantity '%s'", name);
	return 0;
}

static void add_clause(struct kl_sound *sound, struct kl_fit_clause clause)
{
	struct kl_fit *fit = &sound->fit;

	KL_GROW(fit->v, fit->n + 1, fit->alloc);
	clause.text = kl_strdup("*/ a clause");
	fit->v[fit->n++] = clause;
	free(sound->pair);
	sound->pair = kl_calloc(fit->n, sizeof(*sound->pair));
}

/* Where the conditions of a probe are false, the header chooses A, whatever the map says. */
static void the_header_honours_what_a_probe_found(void **state)
{
	static const struct {
		const char *name, *other;
		struct kl_fit_clause clause;
	} rows[] = {
		{ "extent(cols)", NULL, { .form = KL_FIT_MOD, .bound = 5 } },
		{ "int", NULL, { .form = KL_FIT_LEAST, .bound = 40 } },
		{ "extent(cols)", NULL, { .form = KL_FIT_MOST, .bound = 200 } },
		{ "extent(cols)", "int", { .form = KL_FIT_ORDER } },
		{ "extent(cols)", NULL, { .form = KL_FIT_TAIL, .from = 50, .bound = 4 } },
		{ "elements(A)", NULL, { .form = KL_FIT_MOD, .bound = 4 } },
		{ "elements(A)", NULL, { .form = KL_FIT_MOST, .bound = 10000 } },
		{ "pitch_bytes(A)", NULL, { .form = KL_FIT_MOD, .bound = 16 } },
		{ "int", NULL, { .form = KL_FIT_MOD, .bound = 16 } },
		{ "values != 'nan'", NULL, { .form = KL_FIT_ZERO } },
	};
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;

	assert_ok(kl_taxonomy_load(&tax));
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_contract_freep) struct kl_contract *made = contract(contract_text);
		KL_AUTO(kl_when_release) struct kl_when when = { 0 };
		KL_AUTO(kl_sound_release) struct kl_sound sound = { .points = 9 };
		struct kl_fit_clause clause = rows[i].clause;
		struct kl_dispatch dispatch;
		size_t no = 0;

		make_map(&when, made, 0, 1, 1);
		kl_quantities_find(&sound.quantities, tax, made);
		clause.quantity = quantity_of(&sound, rows[i].name);
		clause.other = rows[i].other ? quantity_of(&sound, rows[i].other) : 0;
		add_clause(&sound, clause);
		kl_dispatch_choose(&dispatch, &when, &sound);
		for (size_t k = 0; k < when.n; k++) {
			bool holds = kl_sound_holds(&sound, &when.point[k].dims);

			no += !holds;
			assert_int_equal(kl_dispatch_takes_b(&dispatch, &when, &when.point[k]),
					 holds);
		}
		assert_true(clause.form == KL_FIT_ZERO ? !no : no > 0 && no < when.n);
		assert_chooses(&when, &dispatch);
		sound.never = kl_strdup("B fails somewhere");
		kl_dispatch_choose(&dispatch, &when, &sound);
		assert_false(dispatch.some);
		assert_chooses(&when, &dispatch);
	}
}

/* Failures that a condition of the probe excludes do not hide where b is faster. */
static void useful_is_fitted_where_b_is_right(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract(contract_text);
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(kl_when_release) struct kl_when when = { 0 };
	KL_AUTO(kl_sound_release) struct kl_sound sound = { .points = 9 };
	struct kl_dispatch dispatch;

	assert_ok(kl_taxonomy_load(&tax));
	make_map(&when, made, 0, 1, 4);
	kl_quantities_find(&sound.quantities, tax, made);
	add_clause(&sound,
		   (struct kl_fit_clause){ .form = KL_FIT_MOD,
					   .bound = 4,
					   .quantity = quantity_of(&sound, "extent(cols)") });
	assert_int_not_equal(when.useful.end, KL_USEFUL_ALWAYS);
	kl_dispatch_fit(&when, &sound);
	assert_int_equal(when.useful.end, KL_USEFUL_ALWAYS);
	kl_dispatch_choose(&dispatch, &when, &sound);
	assert_true(dispatch.some && !dispatch.guard.there);
	assert_int_equal(dispatch.gains, dispatch.chosen);
	assert_chooses(&when, &dispatch);
}

/* A condition on an address is a parameter of the function. */
static void the_header_asks_for_addresses(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract(contract_text);
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(kl_when_release) struct kl_when when = { 0 };
	KL_AUTO(kl_sound_release) struct kl_sound sound = { .points = 9 };
	struct kl_dispatch dispatch;

	assert_ok(kl_taxonomy_load(&tax));
	make_map(&when, made, 0, 100, 1);
	kl_quantities_find(&sound.quantities, tax, made);
	add_clause(&sound, (struct kl_fit_clause){ .form = KL_FIT_MOD,
						   .bound = 16,
						   .quantity = quantity_of(&sound, "align(C)") });
	kl_dispatch_choose(&dispatch, &when, &sound);
	assert_true(dispatch.some && dispatch.chosen > 0);
	assert_chooses_at(&when, &dispatch, ", (const void *)4112", true);
	assert_chooses_at(&when, &dispatch, ", (const void *)4104", false);
	sound.never = kl_strdup("B fails somewhere");
	kl_dispatch_choose(&dispatch, &when, &sound);
	assert_chooses_at(&when, &dispatch, ", (const void *)4112", false);
}

/* --- what is stored --------------------------------------------------------------------------- */

/* An event of kernel `surface` that passes, 2x as fast as `parent`, or fails. */
static struct kl_event *make_event(const char *surface, const char *parent, const char *message)
{
	json_t *doc = json_pack("{s:i,s:s,s:s,s:s,s:s,s:{},s:{s:{s:i}}}", "v", 1, "kind", "probe",
				"workload", "w", "surface", surface, "verdict",
				message ? "fail" : "pass", "correct", "point", "dims", "N", 8);

	if (message) {
		kl_json_set_str(doc, "class", "wrong-edge");
		kl_json_set_str(doc, "message", message);
	} else if (parent) {
		kl_json_set(doc, "profile",
			    json_pack("{s:i,s:i,s:[{s:s,s:s,s:i,s:i,s:i,s:s}]}", "ns", 1000,
				      "aa_ppm", 1000, "vs", "what", "parent", "surface", parent,
				      "ratio_ppm", 2000000, "lo_ppm", 1990000, "hi_ppm", 2010000,
				      "verdict", "fast"));
	}
	return event_of(doc, true);
}

/* A ratio counts only against the kernel of the pair, and a failure keeps its reason. */
static void a_point_keeps_its_pair_and_its_reason(void **state)
{
	KL_AUTO(kl_event_freep) struct kl_event *a = make_event("aa", NULL, NULL),
						*b = make_event("bb", "aa", NULL),
						*other = make_event("bb", "cc", NULL),
						*fail = make_event("bb", NULL,
								   "y[3] is wrong\nreplay");
	struct kl_when_point point = { .why = NULL };

	kl_when_take(&point, a, b);
	assert_int_equal(point.ratio.ppm, 2000000);
	assert_null(point.why);
	point = (struct kl_when_point){ .why = NULL };
	kl_when_take(&point, a, other);
	assert_int_equal(point.ratio.ppm, 0);
	assert_false(kl_when_counts(&point));
	kl_when_take(&point, a, fail);
	assert_string_equal(point.why, "y[3] is wrong");
	assert_true(kl_when_counts(&point));
	free(point.why);
}

static void a_map_replaces_none_of_another_platform(void **state)
{
	static const char *const places[][2] = { { "cpu/x86-64-v3", "cpu A" },
						 { "cpu/x86-64-v3", "cpu B" },
						 { "cuda/sm_90", "gpu" } };
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract(contract_text);
	KL_AUTO(kl_freep) char *top = scratch_repo("when-platforms");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_map_release) struct kl_map dirs = { .free_value = free };
	struct kl_surface kernel[2] = { { .contract = made }, { .contract = made } };
	struct kl_platform platform = { .compiler = "gcc 1" };
	struct kl_when_pair pair = { &kernel[0], &kernel[1], &platform, "unsandboxed" };

	kl_digest_hex(kernel[0].digest, "a", 1);
	kl_digest_hex(kernel[1].digest, "b", 1);
	kl_digest_hex(kernel[0].contract_digest, "c", 1);
	assert_ok(kl_repo_open_at(&repo, top));
	for (size_t i = 0; i < KL_ARRAY_SIZE(places); i++) {
		KL_AUTO(kl_freep) char *dir = NULL;

		snprintf(platform.id, sizeof(platform.id), "%s", places[i][0]);
		snprintf(platform.device, sizeof(platform.device), "%s", places[i][1]);
		dir = kl_when_dir(repo, &pair);
		assert_ok(kl_when_dir_make(dir, &pair));
	}
	assert_ok(kl_when_dirs_find(&dirs, repo, &kernel[0], &kernel[1]));
	assert_int_equal(dirs.n, 3);
	for (size_t i = 0; i < KL_ARRAY_SIZE(places); i++) {
		KL_AUTO(kl_freep) char *key = kl_asprintf("%s\n%s", places[i][0], places[i][1]);

		assert_non_null(kl_map_get(&dirs, key));
	}
	kl_map_release(&dirs);
	assert_ok(kl_when_dirs_find(&dirs, repo, &kernel[1], &kernel[0]));
	assert_int_equal(dirs.n, 0);
}

/* --- the picture ------------------------------------------------------------------------------ */

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static void the_picture_is_well_formed_and_says_all(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract(contract_text);
	KL_AUTO(kl_when_release) struct kl_when when = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf svg = KL_BUF_INIT;
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_freep) char *path = NULL, *command = NULL;

	make_map(&when, made, 0, 100, 2);
	when.point[1].a.end = KL_WHEN_OPEN;
	when.point[2].b.end = KL_WHEN_UNTESTED;
	when.point[2].why = kl_strdup("<b>&");
	kl_when_svg(&svg, &when);
	assert_null(strstr(svg.ptr, "<script"));
	assert_null(strstr(svg.ptr, "<b>"));
	assert_null(strstr(svg.ptr, "href"));
	/* a point that is left has a cell, because others of its row and column were judged */
	assert_int_equal(count(svg.ptr, "class=\"cell "), when.n);
	assert_int_equal(count(svg.ptr, "class=\"cell left"), 2);
	assert_int_equal(count(svg.ptr, "<title>"), when.n + 1);
	assert_contains(svg.ptr, "+ 2.00x");
	assert_contains(svg.ptr, "wrong-edge");
	assert_contains(svg.ptr, "old &lt;script&gt;");
	if (system("command -v xmllint >/dev/null") != 0)
		return;
	assert_ok(kl_fs_tempdir(&dir, "kl-map"));
	path = temporary_file(dir, "map.svg", &svg);
	command = kl_asprintf("xmllint --noout --nonet %s", path);
	assert_runs(command);
}

static void the_table_has_every_judged_point(void **state)
{
	KL_AUTO(kl_contract_freep) struct kl_contract *made = contract(contract_text);
	KL_AUTO(kl_when_release) struct kl_when when = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf html = KL_BUF_INIT;
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	KL_AUTO(json_decrefp) json_t *doc = NULL;

	make_map(&when, made, 0, 100, 2);
	when.point[1].a.end = KL_WHEN_OPEN;
	kl_when_sort(&when);
	kl_when_table_html(&html, &when);
	assert_int_equal(count(html.ptr, "<tr><td"), when.n - 1);
	assert_contains(html.ptr, "2.000x [1.991, 2.009] faster");
	assert_contains(html.ptr, "(wrong-edge)");
	assert_ok(kl_taxonomy_load(&tax));
	doc = kl_when_json(&when, tax);
	assert_int_equal(json_array_size(json_object_get(doc, "points")), when.n - 1);
	assert_string_equal(kl_json_str_or(json_object_get(doc, "useful"), "predicate", ""),
			    "extent(cols) >= 100");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_lie_in_the_domain_and_range_over_decades),
		cmocka_unit_test(a_contract_of_one_size_has_no_grid),
		cmocka_unit_test(the_header_chooses_as_measured),
		cmocka_unit_test(undecided_points_are_no_gains),
		cmocka_unit_test(a_kernel_is_never_chosen_where_it_fails),
		cmocka_unit_test(the_header_honours_what_a_probe_found),
		cmocka_unit_test(useful_is_fitted_where_b_is_right),
		cmocka_unit_test(the_header_asks_for_addresses),
		cmocka_unit_test(a_point_keeps_its_pair_and_its_reason),
		cmocka_unit_test(a_map_replaces_none_of_another_platform),
		cmocka_unit_test(the_picture_is_well_formed_and_says_all),
		cmocka_unit_test(the_table_has_every_judged_point),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
