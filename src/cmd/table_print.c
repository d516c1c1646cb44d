/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/table_print.h"

#include <inttypes.h>
#include <stdio.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/table.h"

static void print_head(const struct kl_search_table *table)
{
	printf("%s, contract %.12s: %zu states, judged on %s\n", table->workload, table->contract,
	       table->n, table->platform);
	printf("    %s, %s\n", table->device, table->compiler);
	for (size_t i = 0; i < table->lineage.n; i++)
		printf("    lineage %zu: %s\n", i, table->lineage.v[i]);
}

static void add_row(struct kl_table *out, const struct kl_table_state *state)
{
	KL_AUTO(kl_buf_release) struct kl_buf verdict = KL_BUF_INIT, speed = KL_BUF_INIT;
	const struct kl_ratio *root = &state->root;
	char time[32];

	kl_buf_addf(&verdict, "%s%s%s", kl_verdict_name(state->verdict), state->class_ ? " " : "",
		    state->class_ ? state->class_ : "");
	if (root->ppm)
		kl_buf_addf(&speed, "%.3fx [%.3f, %.3f]", (double)root->ppm / 1e6,
			    (double)root->lo / 1e6, (double)root->hi / 1e6);
	kl_table_time(time, state->ns);
	kl_table_row(out, (const char *[]){ state->id, kl_table_kind_name[state->kind], state->by,
					    verdict.ptr, time, speed.len ? speed.ptr : "-" });
}

static json_t *state_json(const struct kl_table_state *state)
{
	json_t *json = json_object();

	kl_json_set_str(json, "id", state->id);
	kl_json_set_str(json, "kind", kl_table_kind_name[state->kind]);
	kl_json_set_str(json, "by", state->by);
	kl_json_set_str(json, "surface", state->surface);
	kl_json_set_str(json, "verdict", kl_verdict_name(state->verdict));
	kl_json_set_str(json, "class", state->class_);
	kl_json_set_int(json, "ns", state->ns);
	kl_json_set_int(json, "ratio_ppm", state->root.ppm);
	kl_json_set_int(json, "lo_ppm", state->root.lo);
	kl_json_set_int(json, "hi_ppm", state->root.hi);
	return json;
}

static void print_json(const struct kl_search_table *table)
{
	KL_AUTO(json_decrefp) json_t *json = json_object();
	json_t *states = json_array();

	for (size_t i = 0; i < table->n; i++)
		json_array_append_new(states, state_json(&table->state[i]));
	kl_json_set_str(json, "schema", "klineage.table-show/1");
	kl_json_set_str(json, "workload", table->workload);
	kl_json_set_str(json, "contract", table->contract);
	kl_json_set_str(json, "digest", table->digest);
	kl_json_set_str(json, "platform", table->platform);
	kl_json_set_str(json, "device", table->device);
	kl_json_set_str(json, "compiler", table->compiler);
	kl_json_set(json, "states", states);
	kl_listing_put(json);
}

void kl_table_print_states(const struct kl_search_table *table, bool json)
{
	KL_AUTO(kl_table_release) struct kl_table out = { .columns = 6 };

	if (json) {
		print_json(table);
		return;
	}
	print_head(table);
	kl_table_row(&out, (const char *[]){ "state", "kind", "by", "verdict", "time", "x root" });
	for (size_t i = 0; i < table->n; i++)
		add_row(&out, &table->state[i]);
	kl_table_print(&out);
}

void kl_table_print_built(const struct kl_table_build *build, const char *path)
{
	const struct kl_search_table *table = build->table;
	size_t kind[KL_TABLE_KINDS] = { 0 }, fails = 0;

	for (size_t i = 0; i < table->n; i++) {
		kind[table->state[i].kind]++;
		fails += table->state[i].verdict == KL_VERDICT_FAIL;
	}
	printf("%s: %zu states of %s, %zu of which fail\n", path, table->n, table->workload, fails);
	for (size_t i = 0; i < KL_TABLE_KINDS; i++)
		printf("    %-8s %zu\n", kl_table_kind_name[i], kind[i]);
	printf("%zu were judged now, %zu before\n", build->judged, build->cached);
	if (build->limited)
		puts("the limit left states out; --limit takes more");
}
