/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/when_table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/prefix.h"
#include "event/speed.h"
#include "probe/when_svg.h"
#include "text/html.h"

const char *kl_when_fits(const struct kl_when *when, const struct kl_when_point *point)
{
	static const struct {
		int name;
		const char *text;
	} levels[] = {
		{ _SC_LEVEL1_DCACHE_SIZE, "L1" },
		{ _SC_LEVEL2_CACHE_SIZE, "L2" },
		{ _SC_LEVEL3_CACHE_SIZE, "L3" },
	};

	if (kl_prefix_has(when->platform, "cuda/"))
		return "";
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		long size = sysconf(levels[i].name);

		if (size > 0 && point->bytes <= size)
			return levels[i].text;
	}
	return "memory";
}

void kl_when_outcome(struct kl_buf *out, const struct kl_when_point *point)
{
	enum kl_when_mark mark = kl_when_mark(point);

	if (mark == KL_WHEN_MARK_UNTESTED) {
		kl_buf_addf(out, "not tested: %s", point->why ? point->why : "no verdict");
		return;
	}
	if (point->ratio.ppm > 0)
		kl_buf_addf(out, "%.3fx [%.3f, %.3f] ", (double)point->ratio.ppm / 1e6,
			    (double)point->ratio.lo / 1e6, (double)point->ratio.hi / 1e6);
	kl_buf_adds(out, kl_when_mark_text(mark));
	if (mark == KL_WHEN_MARK_FAILS || mark == KL_WHEN_MARK_BOTH_FAIL)
		kl_buf_addf(out, " (%s)", point->b.class_);
	if (mark == KL_WHEN_MARK_FAILS_A)
		kl_buf_addf(out, " (%s)", point->a.class_);
}

static int compare_dims(const void *left_point, const void *right_point)
{
	const struct kl_when_point *left = left_point, *right = right_point;

	for (size_t i = 0; i < left->dims.n; i++)
		if (left->dims.v[i] != right->dims.v[i])
			return left->dims.v[i] < right->dims.v[i] ? -1 : 1;
	return 0;
}

void kl_when_sort(struct kl_when *when)
{
	qsort(when->point, when->n, sizeof(*when->point), compare_dims);
}

void kl_when_table_html(struct kl_buf *out, const struct kl_when *when)
{
	const struct kl_contract *contract = when->contract;

	kl_buf_adds(out, "<div class=\"wide\"><table><thead><tr>");
	for (size_t i = 0; i < contract->dims.n; i++) {
		kl_buf_adds(out, "<th>");
		kl_html_add(out, contract->dim_name[i]);
		kl_buf_adds(out, "</th>");
	}
	kl_buf_adds(out, "<th>bytes</th><th>fits in</th><th>outcome</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < when->n; i++) {
		const struct kl_when_point *point = &when->point[i];
		KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;

		if (point->a.end == KL_WHEN_OPEN)
			continue;
		kl_when_outcome(&words, point);
		kl_buf_adds(out, "<tr>");
		for (size_t k = 0; k < point->dims.n; k++)
			kl_buf_addf(out, "<td class=\"n\">%lld</td>", (long long)point->dims.v[k]);
		kl_buf_addf(out, "<td class=\"n\">%lld</td><td>%s</td><td>",
			    (long long)point->bytes, kl_when_fits(when, point));
		kl_html_add(out, words.ptr);
		kl_buf_adds(out, "</td></tr>\n");
	}
	kl_buf_adds(out, "</tbody></table></div>\n");
}

/* --- JSON ------------------------------------------------------------------------------------- */

static const char *end_name(enum kl_when_end end)
{
	static const char *const names[] = { "open", "pass", "fail", "untested" };

	return names[end];
}

static json_t *side_json(const struct kl_when_side *side)
{
	json_t *out = json_object();

	kl_json_set_str(out, "outcome", end_name(side->end));
	kl_json_set_str(out, "class", *side->class_ ? side->class_ : NULL);
	kl_json_set_str(out, "event", *side->event ? side->event : NULL);
	return out;
}

static json_t *point_json(const struct kl_when *when, const struct kl_when_point *point)
{
	json_t *out = json_object(), *dims = json_object();

	for (size_t i = 0; i < point->dims.n; i++)
		kl_json_set_int(dims, when->contract->dim_name[i], point->dims.v[i]);
	kl_json_set(out, "dims", dims);
	kl_json_set_int(out, "bytes", point->bytes);
	kl_json_set_str(out, "fits", kl_when_fits(when, point));
	kl_json_set(out, "a", side_json(&point->a));
	kl_json_set(out, "b", side_json(&point->b));
	kl_json_set_str(out, "why", point->why);
	if (point->ratio.ppm <= 0)
		return out;
	kl_json_set_int(out, "ratio_ppm", point->ratio.ppm);
	kl_json_set_int(out, "lo_ppm", point->ratio.lo);
	kl_json_set_int(out, "hi_ppm", point->ratio.hi);
	kl_json_set_str(out, "speed", kl_speed_name(point->speed));
	return out;
}

static json_t *useful_json(const struct kl_when *when, const struct kl_taxonomy *tax)
{
	static const char *const ends[] = { "unknown", "never", "always", "bound" };
	const struct kl_useful *useful = &when->useful;
	KL_AUTO(kl_buf_release) struct kl_buf predicate = KL_BUF_INIT;
	json_t *out = json_object();
	char name[96];

	kl_json_set_str(out, "kind", ends[useful->end]);
	kl_json_set_str(out, "why", useful->why);
	kl_json_set_int(out, "judged", (int64_t)useful->judged);
	kl_json_set_int(out, "right", (int64_t)useful->right);
	kl_json_set_int(out, "constant", (int64_t)useful->constant);
	kl_json_set_int(out, "chance_ppm", useful->chance_ppm);
	if (useful->end != KL_USEFUL_BOUND)
		return out;
	kl_when_figure_name(name, when, useful->figure);
	kl_json_set_str(out, "figure", name);
	kl_json_set_str(out, "relation", useful->above ? ">=" : "<=");
	kl_json_set_int(out, "bound", useful->bound);
	kl_json_set_int(out, "other", useful->other);
	if (kl_when_predicate(&predicate, when, tax))
		kl_json_set_str(out, "predicate", predicate.ptr);
	kl_json_set_int(out, "wrong", (int64_t)useful->wrong);
	return out;
}

json_t *kl_when_json(const struct kl_when *when, const struct kl_taxonomy *tax)
{
	json_t *out = json_object(), *points = json_array();

	kl_json_set_str(out, "schema", "klineage.map/1");
	kl_json_set_str(out, "workload", when->contract->workload);
	kl_json_set_str(out, "a", when->name_a);
	kl_json_set_str(out, "b", when->name_b);
	kl_json_set_str(out, "platform", when->platform);
	kl_json_set_str(out, "device", when->device);
	kl_json_set_int(out, "made", (int64_t)when->made);
	kl_json_set_int(out, "kept", (int64_t)when->kept);
	kl_json_set_int(out, "left", (int64_t)when->left);
	kl_json_set(out, "useful", useful_json(when, tax));
	for (size_t i = 0; i < when->n; i++)
		if (when->point[i].a.end != KL_WHEN_OPEN)
			json_array_append_new(points, point_json(when, &when->point[i]));
	kl_json_set(out, "points", points);
	return out;
}
