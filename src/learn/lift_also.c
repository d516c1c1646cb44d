/* SPDX-License-Identifier: Apache-2.0 */
/* lift_also - lists what a step changes: constants, launch plan, launch bounds, functions */
#include <string.h>

#include "base/error.h"
#include "base/prefix.h"
#include "learn/lift_parts.h"
#include "retrieve/constants.h"
#include "rewrite/source/ctoken.h"
#include "rewrite/source/loop_text.h"
#include "text/yaml.h"

/*
 * A step that is named after one mechanism often changes more: a padding, a block size, the number
 * of threads. Its gain is the gain of all these changes together. The lines state facts about the
 * sources; they do not tell which of the changes belong to the mechanism.
 */
#define MAX_LINES 24            /* maximum number of lines of one step */
#define MAX_SOURCE (256u << 10) /* larger sources are not read */
#define MAX_NAMES 12            /* maximum number of functions in one line */

/* --- constants -------------------------------------------------------------------------------- */

static void add_constants(struct kl_strvec *out, const struct kl_transition *transition)
{
	KL_AUTO(kl_constants_release) struct kl_card_dims before = { 0 }, after = { 0 };

	kl_constants_read(&before, transition->from);
	kl_constants_read(&after, transition->to);
	for (size_t i = 0; i < before.n; i++) {
		int64_t now;

		if (!kl_card_dims_get(&now, &after, before.v[i].name))
			kl_strvec_pushf(out, "constant %s = %lld is gone", before.v[i].name,
					(long long)before.v[i].v);
		else if (now != before.v[i].v)
			kl_strvec_pushf(out, "constant %s: %lld -> %lld", before.v[i].name,
					(long long)before.v[i].v, (long long)now);
	}
	for (size_t i = 0; i < after.n; i++) {
		int64_t then;

		if (!kl_card_dims_get(&then, &before, after.v[i].name))
			kl_strvec_pushf(out, "constant %s = %lld is new", after.v[i].name,
					(long long)after.v[i].v);
	}
}

/* --- the launch plan -------------------------------------------------------------------------- */

static void flatten_node(struct kl_buf *out, const struct kl_yaml *node)
{
	if (node->kind == KL_YAML_SCALAR)
		kl_buf_addf(out, "%s ", node->text);
	for (size_t i = 0; i < node->n && node->kind != KL_YAML_SCALAR; i++) {
		if (node->kind == KL_YAML_MAP)
			kl_buf_addf(out, "%s: ", node->key[i]);
		flatten_node(out, node->item[i]);
	}
}

/* Collect the fields of a node: "launch.grid" -> their texts, of all entries of a list together. */
static void collect_fields(struct kl_map *out, const struct kl_yaml *node, const char *path)
{
	for (size_t i = 0; i < node->n && node->kind != KL_YAML_SCALAR; i++) {
		const struct kl_yaml *item = node->item[i];
		KL_AUTO(kl_freep) char *below = node->kind == KL_YAML_MAP ?
							kl_asprintf("%s%s%s", path,
								    *path ? "." : "",
								    node->key[i]) :
							kl_strdup(path);
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		const char *had = kl_map_get(out, below);

		if (!strcmp(below, "compile.define"))
			continue; /* these are constants */
		if (item->kind == KL_YAML_MAP ||
		    (item->kind == KL_YAML_SEQ && item->n && item->item[0]->kind == KL_YAML_MAP)) {
			collect_fields(out, item, below);
			continue;
		}
		kl_buf_adds(&text, had ? had : "");
		flatten_node(&text, item);
		kl_map_put(out, below, kl_buf_detach(&text));
	}
}

static void plan_fields(struct kl_map *out, const struct kl_surface *surface)
{
	const char *name = surface->contract->launch;
	KL_AUTO(kl_yaml_freep) struct kl_yaml *plan = NULL;

	for (size_t i = 0; name && !plan && i < surface->nfile; i++)
		if (!strcmp(surface->file[i].path, name) &&
		    kl_yaml_parse(&plan, name, surface->file[i].data, surface->file[i].len) < 0)
			kl_error_clear();
	if (plan)
		collect_fields(out, plan, "");
}

static void add_plan(struct kl_strvec *out, const struct kl_transition *transition)
{
	KL_AUTO(kl_map_release) struct kl_map before = { .free_value = free };
	KL_AUTO(kl_map_release) struct kl_map after = { .free_value = free };

	plan_fields(&before, transition->from);
	plan_fields(&after, transition->to);
	for (size_t i = 0; i < before.n; i++) {
		const char *now = kl_map_get(&after, before.e[i].key);

		if (!now || strcmp(now, before.e[i].value))
			kl_strvec_pushf(out, "launch plan: %.100s %s", before.e[i].key,
					now ? "is changed" : "is gone");
	}
	for (size_t i = 0; i < after.n; i++)
		if (!kl_map_get(&before, after.e[i].key))
			kl_strvec_pushf(out, "launch plan: %.100s is new", after.e[i].key);
}

/* --- functions -------------------------------------------------------------------------------- */

static void read_functions(struct kl_map *out, const struct kl_file *file)
{
	struct kl_ctokens tokens;

	if (file->len > MAX_SOURCE)
		return;
	kl_ctoken_lex(&tokens, file->data, file->len);
	for (size_t i = 0; i < tokens.nfn; i++) {
		const struct kl_cfn *function = &tokens.fn[i];
		KL_AUTO(kl_freep) char *name = kl_strndup(tokens.text + function->name_off,
							  function->name_len);

		if (!kl_map_get(out, name))
			kl_map_put(out, name,
				   kl_ctokens_text(&tokens, function->first, function->last, NULL,
						   0));
	}
	kl_ctokens_release(&tokens);
}

static void all_functions(struct kl_map *out, const struct kl_surface *surface)
{
	for (size_t i = 0; i < surface->nfile; i++)
		if (kl_suffix_in(surface->file[i].path, surface->contract->language->texts))
			read_functions(out, &surface->file[i]);
}

static void add_names(struct kl_strvec *out, const char *what, const struct kl_strvec *names)
{
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

	if (!names->n)
		return;
	kl_buf_addf(&line, "function%s %s: ", names->n == 1 ? "" : "s", what);
	for (size_t i = 0; i < names->n && i < MAX_NAMES; i++)
		kl_buf_addf(&line, "%s%.64s", i ? ", " : "", names->v[i]);
	if (names->n > MAX_NAMES)
		kl_buf_addf(&line, " and %zu more", names->n - MAX_NAMES);
	kl_strvec_push(out, line.ptr);
}

/*
 * Return the arguments of __launch_bounds__ in a function's text; NULL if there is none. The caller
 * frees.
 */
static char *bounds_of(const char *text)
{
	static const char word[] = "__launch_bounds__";
	const char *at = text ? strstr(text, word) : NULL, *open = at ? strchr(at, '(') : NULL;
	int depth = 0;

	for (const char *end = open; end && *end; end++) {
		depth += (*end == '(') - (*end == ')');
		if (!depth)
			return kl_strndup(open, (size_t)(end - open) + 1);
	}
	return NULL;
}

static void add_bounds(struct kl_strvec *out, const char *name, const char *before,
		       const char *after)
{
	KL_AUTO(kl_freep) char *old = bounds_of(before);
	KL_AUTO(kl_freep) char *now = bounds_of(after);

	if (old && now ? strcmp(old, now) != 0 : old || now)
		kl_strvec_pushf(out, "launch bounds of %.64s: %.64s -> %.64s", name,
				old ? old : "none", now ? now : "none");
}

static void add_functions(struct kl_strvec *out, const struct kl_transition *transition)
{
	KL_AUTO(kl_map_release) struct kl_map before = { .free_value = free };
	KL_AUTO(kl_map_release) struct kl_map after = { .free_value = free };
	KL_AUTO(kl_strvec_release) struct kl_strvec gone = KL_STRVEC_INIT, new = KL_STRVEC_INIT,
						    other = KL_STRVEC_INIT;

	all_functions(&before, transition->from);
	all_functions(&after, transition->to);
	for (size_t i = 0; i < before.n; i++) {
		const char *now = kl_map_get(&after, before.e[i].key);

		if (!now) {
			kl_strvec_push(&gone, before.e[i].key);
		} else if (strcmp(now, before.e[i].value)) {
			kl_strvec_push(&other, before.e[i].key);
			add_bounds(out, before.e[i].key, before.e[i].value, now);
		}
	}
	for (size_t i = 0; i < after.n; i++)
		if (!kl_map_get(&before, after.e[i].key))
			kl_strvec_push(&new, after.e[i].key);
	add_names(out, "changed", &other);
	add_names(out, "new", &new);
	add_names(out, "gone", &gone);
}

void kl_lift_also(struct kl_strvec *out, const struct kl_transition *transition)
{
	add_functions(out, transition);
	add_constants(out, transition);
	add_plan(out, transition);
	while (out->n > MAX_LINES)
		kl_freep(&out->v[--out->n]);
	kl_strvec_uniq(out);
}
