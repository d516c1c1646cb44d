/* SPDX-License-Identifier: Apache-2.0 */
/* table_read - parses tables, strictly, as they are not trusted */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "search/table/table.h"
#include "text/schema.h"

#define MOST_LINEAGES 64
#define MOST_CONSTANTS 16
#define MOST_EDITS 256
#define MOST_LINES 10000000
#define MOST_CASES 1000
#define MOST_NS (INT64_C(1) << 60)
/* speeds are compared with the root: a million times as fast or as slow is no kernel */
#define MOST_PPM (INT64_C(1000000) * 1000000)
#define MOST_ID 200

/* --- words ----------------------------------------------------------------------------------- */

static bool is_word(const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return n > 0 && n <= MOST_ID;
}

static int read_word(char **out, const json_t *json, const char *key)
{
	const char *text;
	int err = kl_json_str(&text, json, key);

	if (err < 0)
		return err;
	if (!is_word(text))
		return kl_error(KL_EINVALID, "'%s' must be 1 to %d printable characters", key,
				MOST_ID);
	*out = kl_strdup(text);
	return 0;
}

static int read_text(char **out, const json_t *json, const char *key)
{
	const char *text;
	int err = kl_json_str(&text, json, key);

	if (err < 0)
		return err;
	if (!kl_string_is_line(text))
		return kl_error(KL_EINVALID, "'%s' has a control character", key);
	if (strlen(text) > 400)
		return kl_error(KL_EINVALID, "'%s' is too long", key);
	*out = kl_strdup(text);
	return 0;
}

static int read_digest(char out[KL_DIGEST_HEX], const json_t *json, const char *key)
{
	uint8_t bytes[(KL_DIGEST_HEX - 1) / 2];
	const char *text;
	int err = kl_json_str(&text, json, key);

	if (err < 0)
		return err;
	if (strlen(text) != KL_DIGEST_HEX - 1 || !kl_digest_bytes(bytes, sizeof(bytes), text))
		return kl_error(KL_EINVALID, "'%s' must be 64 hex digits", key);
	memcpy(out, text, KL_DIGEST_HEX);
	return 0;
}

static int read_words(struct kl_strvec *out, const json_t *json, const char *key, size_t most)
{
	json_t *list, *item;
	size_t i;
	int err = kl_json_arr(&list, json, key);

	if (err < 0)
		return err;
	if (json_array_size(list) > most)
		return kl_error(KL_EINVALID, "'%s' has more than %zu words", key, most);
	json_array_foreach(list, i, item) {
		const char *word = json_string_value(item);

		if (!word || !is_word(word))
			return kl_error(KL_EINVALID, "'%s' must be a list of words", key);
		kl_strvec_push(out, word);
	}
	return 0;
}

/* --- a state --------------------------------------------------------------------------------- */

static int read_set(struct kl_table_state *out, const json_t *json)
{
	json_t *set, *value;
	const char *name;
	int err = kl_json_obj(&set, json, "set");

	if (err < 0)
		return err;
	if (json_object_size(set) > MOST_CONSTANTS)
		return kl_error(KL_EINVALID, "'set' has more than %d constants", MOST_CONSTANTS);
	out->set = kl_calloc(json_object_size(set) + 1, sizeof(*out->set));
	json_object_foreach(set, name, value) {
		if (!is_word(name) || !json_is_integer(value))
			return kl_error(KL_EINVALID, "'set' must give constants by name");
		if (out->nset && strcmp(out->set[out->nset - 1].name, name) >= 0)
			return kl_error(KL_EINVALID, "the names in 'set' are not sorted");
		out->set[out->nset].name = kl_strdup(name);
		out->set[out->nset++].value = json_integer_value(value);
	}
	return 0;
}

static int read_edit(struct kl_table_edit *out, const json_t *json)
{
	const char *path, *text;
	int err;

	if ((err = kl_json_str(&path, json, "path")) < 0 ||
	    (err = kl_json_str(&text, json, "text")) < 0 ||
	    (err = kl_json_count(&out->line, json, "line", MOST_LINES)) < 0 ||
	    (err = kl_json_count(&out->drop, json, "drop", MOST_LINES)) < 0)
		return err;
	if (!kl_fs_path_ok(path))
		return kl_error(KL_EINVALID, "an edit's 'path' is not a path below a directory");
	out->path = kl_strdup(path);
	out->text = kl_strdup(text);
	return 0;
}

static int read_edits(struct kl_table_state *out, const json_t *json)
{
	json_t *list, *item;
	size_t i;
	int err = kl_json_arr(&list, json, "edits");

	if (err < 0)
		return err;
	if (json_array_size(list) > MOST_EDITS)
		return kl_error(KL_EINVALID, "'edits' has more than %d edits", MOST_EDITS);
	out->edit = kl_calloc(json_array_size(list) + 1, sizeof(*out->edit));
	json_array_foreach(list, i, item)
		if ((err = read_edit(&out->edit[out->nedit++], item)) < 0)
			return err;
	return 0;
}

static int read_cases(struct kl_table_state *out, const json_t *json)
{
	json_t *list, *item;
	size_t i;
	int err = kl_json_arr(&list, json, "cases");

	if (err < 0)
		return err;
	if (json_array_size(list) > MOST_CASES)
		return kl_error(KL_EINVALID, "'cases' has more than %d cases", MOST_CASES);
	out->case_ppm = kl_calloc(json_array_size(list) + 1, sizeof(*out->case_ppm));
	json_array_foreach(list, i, item) {
		int64_t ppm = json_is_integer(item) ? json_integer_value(item) : 0;

		if (ppm < 1 || ppm > MOST_PPM)
			return kl_error(KL_EINVALID, "'cases' must be speeds in millionths");
		out->case_ppm[out->ncase++] = ppm;
	}
	return 0;
}

static int read_times(struct kl_table_state *out, const json_t *json)
{
	struct kl_ratio *root = &out->root;
	json_t *speed;
	int err;

	if (!json_object_get(json, "root"))
		return 0;
	if ((err = kl_json_obj(&speed, json, "root")) < 0 ||
	    (err = kl_json_count(&root->ppm, speed, "ppm", MOST_PPM)) < 0 ||
	    (err = kl_json_count(&root->lo, speed, "lo", MOST_PPM)) < 0 ||
	    (err = kl_json_count(&root->hi, speed, "hi", MOST_PPM)) < 0 ||
	    (err = kl_json_count(&out->ns, json, "ns", MOST_NS)) < 0)
		return err;
	if (root->lo < 1 || root->lo > root->ppm || root->ppm > root->hi)
		return kl_error(KL_EINVALID, "'root' must be an interval above 0 and its estimate");
	return read_cases(out, json);
}

/* Read the verdict, and check that it fits to the class and the times. */
static int read_verdict(struct kl_table_state *out, const json_t *json)
{
	const json_t *class_ = json_object_get(json, "class");
	const char *verdict;
	int err;

	if ((err = kl_json_str(&verdict, json, "verdict")) < 0 ||
	    (class_ && !json_is_null(class_) && (err = read_word(&out->class_, json, "class")) < 0))
		return err;
	out->verdict = kl_verdict_parse(verdict);
	if (out->verdict == KL_VERDICT_OTHER || out->verdict == KL_VERDICT_NOT_RUN)
		return kl_error(KL_EINVALID, "'verdict' must be pass, fail or inconclusive");
	if (out->class_ && kl_failure_parse(out->class_) == KL_FAILURE_OTHER)
		return kl_error(KL_EINVALID, "'class' is no class of failures of the gate");
	if ((out->verdict == KL_VERDICT_FAIL) != (out->class_ != NULL))
		return kl_error(KL_EINVALID, "a failure has a 'class', and nothing else has");
	if (out->root.ppm && out->verdict != KL_VERDICT_PASS)
		return kl_error(KL_EINVALID, "only what passes is timed");
	return 0;
}

static int read_kind(struct kl_table_state *out, const json_t *json)
{
	const char *kind;
	int err = kl_json_str(&kind, json, "kind");

	if (err < 0)
		return err;
	for (size_t i = 0; i < KL_TABLE_KINDS; i++)
		if (!strcmp(kl_table_kind_name[i], kind)) {
			out->kind = (enum kl_table_kind)i;
			return 0;
		}
	return kl_error(KL_EINVALID, "'kind' is '%.40s', which is none", kind);
}

static int read_state(struct kl_table_state *out, const json_t *json, int64_t nlineage)
{
	int err;

	if ((err = read_word(&out->id, json, "id")) < 0 || (err = read_kind(out, json)) < 0 ||
	    (err = kl_json_count(&out->lineage, json, "lineage", nlineage - 1)) < 0 ||
	    (err = kl_json_count(&out->at, json, "at", KL_SEARCH_TABLE_STATES)) < 0 ||
	    (err = read_set(out, json)) < 0 || (err = read_word(&out->by, json, "by")) < 0 ||
	    (err = read_edits(out, json)) < 0 ||
	    (err = read_digest(out->surface, json, "surface")) < 0 ||
	    (err = read_digest(out->event, json, "event")) < 0 ||
	    (err = read_words(&out->features, json, "features", 1000)) < 0 ||
	    (err = read_times(out, json)) < 0)
		return err;
	return read_verdict(out, json);
}

/* --- the table ------------------------------------------------------------------------------- */

static int read_head(struct kl_search_table *out, int64_t *states, const json_t *json)
{
	const char *schema;
	int err;

	if ((err = kl_json_str(&schema, json, "schema")) < 0)
		return err;
	if (strcmp(schema, KL_SEARCH_TABLE_SCHEMA))
		return kl_error(KL_EINVALID, "schema is not " KL_SEARCH_TABLE_SCHEMA);
	if ((err = read_word(&out->workload, json, "workload")) < 0 ||
	    (err = read_digest(out->contract, json, "contract")) < 0 ||
	    (err = read_word(&out->platform, json, "platform")) < 0 ||
	    (err = read_text(&out->device, json, "device")) < 0 ||
	    (err = read_text(&out->compiler, json, "compiler")) < 0 ||
	    (err = kl_json_count(&out->policy, json, "policy", 1000000)) < 0 ||
	    (err = read_words(&out->lineage, json, "lineages", MOST_LINEAGES)) < 0 ||
	    (err = kl_json_count(states, json, "states", KL_SEARCH_TABLE_STATES)) < 0)
		return err;
	return out->lineage.n && *states ? 0 :
					   kl_error(KL_EINVALID, "it has no lineage or no state");
}

/* Find the state that the last one was made from, which stands before it. */
static int find_from(struct kl_table_state *state, const json_t *json, const struct kl_map *by_id)
{
	const char *from;
	const void *at;
	int err = kl_json_str(&from, json, "from");

	if (err < 0)
		return err;
	if (!(at = kl_map_get(by_id, from)))
		return kl_error(KL_EINVALID, "'from' names no state that stands before it");
	state->from = (size_t)((uintptr_t)at - 1);
	return 0;
}

static int check_root(const struct kl_table_state *root)
{
	if (root->from || root->kind != KL_TABLE_LINEAGE || root->at || root->nset ||
	    root->verdict != KL_VERDICT_PASS || root->root.ppm != 1000000 ||
	    root->root.lo != 1000000 || root->root.hi != 1000000)
		return kl_error(KL_EINVALID,
				"the first state is not the K_0 that the others are compared with");
	return 0;
}

static int add_state(struct kl_search_table *table, struct kl_map *by_id, const json_t *json)
{
	struct kl_table_state *state;
	int err;

	KL_GROW(table->state, table->n + 1, table->alloc);
	state = &table->state[table->n++];
	*state = (struct kl_table_state){ .features = KL_STRVEC_INIT };
	if ((err = read_state(state, json, (int64_t)table->lineage.n)) < 0)
		return err;
	if (kl_map_get(by_id, state->id))
		return kl_error(KL_EINVALID, "a state before it is '%s', too", state->id);
	kl_map_put(by_id, state->id, (void *)(uintptr_t)table->n);
	if ((err = find_from(state, json, by_id)) < 0)
		return err;
	if (table->n == 1)
		return check_root(state);
	if (state->from == table->n - 1)
		return kl_error(KL_EINVALID, "it is made from itself");
	if (state->ncase != (state->root.ppm ? table->state[0].ncase : 0))
		return kl_error(KL_EINVALID, "it has other 'cases' than the root");
	return 0;
}

static int read_line(struct kl_search_table *table, int64_t *states, struct kl_map *by_id,
		     const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *json = NULL;
	int err = kl_json_parse(&json, line, len);

	if (err < 0)
		return err;
	if (!*states)
		return read_head(table, states, json);
	if ((int64_t)table->n == *states)
		return kl_error(KL_EINVALID, "the head says %lld states, and this is one more",
				(long long)*states);
	return add_state(table, by_id, json);
}

static int index_surfaces(struct kl_search_table *table)
{
	for (size_t i = 0; i < table->n; i++)
		if (kl_map_put(&table->by_surface, table->state[i].surface,
			       (void *)(uintptr_t)(i + 1)))
			return kl_error(KL_EINVALID, "state '%s' is a kernel that it has already",
					table->state[i].id);
	return 0;
}

static int read_lines(struct kl_search_table *table, const char *text, size_t len)
{
	KL_AUTO(kl_map_release) struct kl_map by_id = KL_MAP_INIT;
	const char *at = text, *end = text + len;
	int64_t states = 0;

	for (size_t number = 1; at < end; number++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		int err;

		if (!nl)
			return kl_error(KL_EINVALID, "line %zu is truncated", number);
		if ((err = read_line(table, &states, &by_id, at, (size_t)(nl - at))) < 0)
			return kl_error_in(err, "line %zu", number);
		at = nl + 1;
	}
	if (!states || (int64_t)table->n != states)
		return kl_error(KL_EINVALID, "it has %zu states, not the %lld of its head",
				table->n, (long long)states);
	return index_surfaces(table);
}

int kl_search_table_parse(struct kl_search_table **out, const char *text, size_t len)
{
	KL_AUTO(kl_search_table_freep) struct kl_search_table *table = kl_calloc(1, sizeof(*table));
	KL_AUTO(kl_buf_release) struct kl_buf again = KL_BUF_INIT;
	int err;

	if (len > KL_SEARCH_TABLE_BYTES)
		return kl_error(KL_EINVALID, "it is larger than %zu MiB",
				KL_SEARCH_TABLE_BYTES >> 20);
	if ((err = read_lines(table, text, len)) < 0)
		return err;
	kl_search_table_write(&again, table);
	if (again.len != len || memcmp(again.ptr, text, len) != 0)
		return kl_error(KL_EINVALID, "it is not in the form in which tables are written");
	kl_digest_hex(table->digest, text, len);
	*out = kl_steal(&table);
	return 0;
}

/* Return the path of a shipped table, if `what` is the name of one; else `what` itself. */
static char *find_path(const char *what)
{
	KL_AUTO(kl_freep) char *shipped = kl_asprintf("skills/tables/%s.jsonl", what);
	char *path = NULL;

	if (strchr(what, '/') || kl_fs_exists(what) || kl_fs_share(&path, shipped) < 0) {
		kl_error_clear();
		return kl_strdup(what);
	}
	return path;
}

int kl_search_table_open(struct kl_search_table **out, const char *what)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = find_path(what);
	int err;

	if ((err = kl_fs_read(&text, path, KL_SEARCH_TABLE_BYTES)) < 0)
		return err == KL_ENOTFOUND ?
			       kl_error_hint(kl_error(KL_ENOTFOUND, "there is no table '%s'", what),
					     "give the path of a table, or build one with "
					     "git klineage table build") :
			       err;
	if ((err = kl_search_table_parse(out, text.ptr ? text.ptr : "", text.len)) < 0)
		return kl_error_in(err, "'%s'", path);
	return 0;
}
