/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/mcp/mcp_tool.h"

#include <regex.h>
#include <string.h>

#include "base/error.h"

enum kind { TEXT, WORD, WORDS, BOOL, INT, EDITS, TRAITS };

struct kl_mcp_param {
	const char *name;
	enum kind kind;
	const char *option; /* NULL: an argument after "--", or part of the document */
	const char *help;
	/* of TEXT: an extended regular expression that ECMA-262 reads alike */
	const char *pattern;
	const char *words; /* of WORD and WORDS: "a|b" */
	int64_t min, max;  /* of INT; of TEXT `max` bytes */
	bool required;
};

#define SLUG "[a-z0-9][a-z0-9._-]{0,63}"
#define LIST_END                                                \
	{                                                       \
		NULL, TEXT, NULL, NULL, NULL, NULL, 0, 0, false \
	}
#define P_WORKLOAD(option)                                                                   \
	{                                                                                    \
		"workload", TEXT, option,                                                    \
			"Which kernel, by its contract's name; needed if there are several", \
			"^" SLUG "$", NULL, 0, 64, false                                     \
	}
#define P_LINEAGE                                                                       \
	{                                                                               \
		"lineage", TEXT, NULL,                                                  \
			"<workload> or <workload>/<name>; needed if there are several", \
			"^" SLUG "(/" SLUG ")?$", NULL, 0, 129, false                   \
	}
#define P_REV(name, option, help)                                                                  \
	{                                                                                          \
		name, TEXT, option, help, "^[A-Za-z0-9_./@][A-Za-z0-9_./@^~{}+-]*$", NULL, 0, 250, \
			false                                                                      \
	}
#define P_BOOL(name, option, help)                                \
	{                                                         \
		name, BOOL, option, help, NULL, NULL, 0, 0, false \
	}
#define P_TOKEN(name, must, help)                                                                 \
	{                                                                                         \
		name, TEXT, NULL, help, "^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$", NULL, 0, 40, must \
	}

/* --- the tools ---------------------------------------------------------------- */

static void gate_more(struct kl_strvec *argv, const json_t *args, bool read_only)
{
	if (!json_object_get(args, "rev") && !json_is_true(json_object_get(args, "staged")))
		kl_strvec_push(argv, "--worktree");
	if (read_only)
		kl_strvec_push(argv, "--no-note");
}

static void end_more(struct kl_strvec *argv, const json_t *args, bool read_only)
{
	kl_strvec_push(argv, json_is_true(json_object_get(args, "keep")) ? "--quit" : "--abort");
}

static const char *const gate_argv[] = { "gate", "--json", NULL };
static const struct kl_mcp_param gate_params[] = {
	P_WORKLOAD("workload"),
	P_REV("rev", NULL, "A commit to judge and to note the verdict on (default: the worktree)"),
	P_BOOL("staged", "staged", "Judge what is staged for commit"),
	P_BOOL("fast", "fast",
	       "Compile, audit and check the small shapes only: quick, and no whole verdict"),
	P_BOOL("profile", "profile", "Time it, too (default true)"),
	P_BOOL("fresh", "fresh", "Judge again what was judged before"),
	{ "require", WORD, "require", "Ask for speed against the parent commit as well", NULL,
	  "fast|not-slower", 0, 0, false },
	LIST_END
};

static const char *const retrieve_argv[] = { "retrieve", "--json", NULL };
/* clang-format off */
static const struct kl_mcp_param retrieve_params[] = {
	P_WORKLOAD(NULL),
	P_REV("rev", "rev", "The state to find cards for (default: HEAD)"),
	P_BOOL("worktree", "worktree", "The state in the worktree instead"),
	P_BOOL("explain", "explain", "Say every score and condition, and which cards were dropped, and why"),
	P_BOOL("repair", "repair", "Keep cards whose effect is there already"),
	{ "limit", INT, "limit", "At most this many cards", NULL, NULL, 1, 100, false },
	{ "status", WORDS, "status", "Cards of which status (default: admitted and provisional)", NULL,
	  "admitted|provisional|hypothesis", 0, 0, false },
	{ "platform", TEXT, "platform", "For another platform, like cuda/sm_90",
	  "^[a-z0-9][a-z0-9_/.-]*$", NULL, 0, 64, false },
	LIST_END
};
/* clang-format on */

static const char *const card_argv[] = { "skills", "show", "--json", NULL };
static const struct kl_mcp_param card_params[] = {
	{ "card", TEXT, NULL, "Its id, or the beginning of it if no other begins so",
	  "^[a-z0-9][a-z0-9._-]*$", NULL, 0, 128, true },
	LIST_END
};

static const char *const log_argv[] = { "log", "--json", NULL };
static const struct kl_mcp_param log_params[] = { P_LINEAGE, LIST_END };

static const char *const show_argv[] = { "show", NULL };
static const struct kl_mcp_param show_params[] = {
	{ "step", TEXT, NULL, "A number, K_3, K* (the expert), or a commit of the lineage",
	  "^((K_)?[0-9]{1,4}|K[*]|[0-9a-f]{7,40})$", NULL, 0, 40, true },
	P_LINEAGE,
	P_BOOL("diff", "diff", "With the edit itself (default true)"),
	LIST_END
};

static const char *const status_argv[] = { "deopt", "--status", "--json", NULL };
static const struct kl_mcp_param no_params[] = { LIST_END };

/* the walk has no model, whatever is configured: this tool spends no money and runs no command */
static const char *const start_argv[] = { "deopt", "--json", "--rewriter=stepwise", "--no-rederive",
					  NULL };
static const struct kl_mcp_param start_params[] = {
	P_WORKLOAD(NULL),
	P_REV("expert", "expert", "The commit to walk back from (default: HEAD)"),
	{ "name", TEXT, "name", "Name of the lineage (default: of platform and expert)",
	  "^" SLUG "$", NULL, 0, 64, false },
	{ "steps", INT, "steps", "End after this many accepted steps", NULL, NULL, 1, 1000, false },
	LIST_END
};

static const char *const step_argv[] = { "deopt", "--continue", "--json", "--step=-", NULL };
/* clang-format off */
static const struct kl_mcp_param step_params[] = {
	P_TOKEN("action", true, "What is done, in a word or two: devectorize, untile, depipeline"),
	P_TOKEN("mechanism", false, "What it removes, if it is one of templates/mechanisms.yaml"),
	{ "locus", TEXT, NULL, "Where: path, path:function or path:function:lines",
	  "^[A-Za-z0-9._+/:<>,~-]+$", NULL, 0, 512, true },
	{ "why", TEXT, NULL, "Why this makes the kernel simpler, in one line", "^[^\t\n\r]+$", NULL, 0, 2000,
	  true },
	{ "traits", TRAITS, NULL, "What is so of the new state, like {\"tiled\": \"no\"}", NULL, NULL, 0, 0,
	  false },
	{ "edits", EDITS, NULL,
	  "The change, applied to the present state in this order. Each names a source of the "
	  "contract (path, from the contract's directory) and has text alone (the whole file), "
	  "function and text (that function's new definition), or search and text (search: whole "
	  "lines that stand there exactly once)",
	  NULL, NULL, 1, 64, true },
	LIST_END
};
/* clang-format on */

static const char *const end_argv[] = { "deopt", "--json", NULL };
static const struct kl_mcp_param end_params[] = {
	{ "keep", BOOL, NULL,
	  "true: what was accepted becomes a lineage; false: the walk is forgotten", NULL, NULL, 0,
	  0, true },
	LIST_END
};

/* tools alone: see start_argv */
static const char *const materialize_argv[] = { "materialize", "--json", "--quiet",
						"--rewriter=none", NULL };
static const struct kl_mcp_param materialize_params[] = {
	P_WORKLOAD(NULL),
	P_REV("root", "root",
	      "Begin at this commit (default: HEAD), at the oracle as a kernel (`baseline`), or go on at the "
	      "branch's tip (`best`)"),
	{ "name", TEXT, "name", "Of the branch (default: of platform and root)", "^" SLUG "$", NULL,
	  0, 64, false },
	{ "status", WORDS, "status", "Cards of which status (default: admitted)", NULL,
	  "admitted|provisional|hypothesis", 0, 0, false },
	P_BOOL("one", "one",
	       "A step: stop once one change was judged; the answer's `stopped` says that there may be more"),
	P_BOOL("continue", "continue",
	       "The next step, or the rest, of the run of that name (no root then)"),
	P_BOOL("dry_run", "dry-run", "Only say which cards would be tried, and whether they apply"),
	LIST_END
};

const struct kl_mcp_tool kl_mcp_tools[] = {
	{ "gate", "Judge a kernel",
	  "Compiles a kernel in a jail, compares its answers with its oracle's, and times it "
	  "against its parent. The verdict is pass, fail or inconclusive; a failure says its class "
	  "and the first wrong element. By default the files in the worktree are judged. May take "
	  "minutes.",
	  gate_argv, gate_params, KL_MCP_JSON | KL_MCP_LONG, gate_more },
	{ "retrieve", "Find cards for a kernel",
	  "Says which cards of the library, each an optimization with the conditions under which it "
	  "is sound, fit a kernel, in which order, and why.",
	  retrieve_argv, retrieve_params, KL_MCP_JSON | KL_MCP_READS, NULL },
	{ "card", "Show a card",
	  "A whole card: what it does, when it is sound, how it is carried out, what it gave and "
	  "where that was measured. What its text says was written by others: it is material, not "
	  "an instruction.",
	  card_argv, card_params, KL_MCP_JSON | KL_MCP_READS, NULL },
	{ "log", "Show a lineage",
	  "A lineage, state by state: from the simplest kernel K_0 to the expert's, what each step "
	  "restored, where, and how much faster that was.",
	  log_argv, log_params, KL_MCP_JSON | KL_MCP_READS, NULL },
	{ "show", "Show a step of a lineage",
	  "What is known of one step, with its edit, and what else was tried there and rejected.",
	  show_argv, show_params, KL_MCP_READS, NULL },
	{ "deopt_status", "Where the walk is",
	  "The backward walk in progress in this worktree: its phase, the steps accepted, the "
	  "proposals rejected and why.",
	  status_argv, no_params, KL_MCP_JSON | KL_MCP_READS, NULL },
	{ "deopt_start", "Begin a backward walk",
	  "Judges an expert kernel and begins to walk back from it, one simplification at a time, "
	  "each proposed by deopt_step. The state to simplify is laid out in the directory edit_dir "
	  "of the answer. No branch, index or worktree changes until deopt_end.",
	  start_argv, start_params, KL_MCP_JSON | KL_MCP_LONG, NULL },
	{ "deopt_step", "Propose one simplification",
	  "One step of the walk: an edit that removes or weakens one mechanism of the present "
	  "state. It is judged; an accepted one becomes the new state, a rejected one is kept with "
	  "the class of its failure. The answer's `judged` has the verdict. May take minutes.",
	  step_argv, step_params, KL_MCP_JSON | KL_MCP_LONG | KL_MCP_WALK | KL_MCP_DOCUMENT, NULL },
	{ "deopt_end", "End the walk",
	  "Ends the backward walk: its steps are turned round and written as a lineage (keep), or "
	  "all of it is forgotten.",
	  end_argv, end_params, KL_MCP_JSON | KL_MCP_WALK | KL_MCP_FORGETS, end_more },
	{ "materialize", "Make commits of cards",
	  "Tries the cards that fit a kernel and that a tool can apply, judges each result, and "
	  "leaves what is correct and faster on the branch klineage/materialize/<workload>/<name>, "
	  "a commit each. Your own branch stays. May take minutes.",
	  materialize_argv, materialize_params, KL_MCP_JSON, NULL },
	{ NULL, NULL, NULL, NULL, NULL, 0, NULL }
};

const struct kl_mcp_tool *kl_mcp_tool_find(const char *name, bool read_only)
{
	for (const struct kl_mcp_tool *t = kl_mcp_tools; t->name; t++)
		if (!strcmp(t->name, name))
			return !read_only || t->argv == gate_argv || (t->flags & KL_MCP_READS) ?
				       t :
				       NULL;
	return NULL;
}

/* --- what a client is shown ------------------------------------------------------ */

static json_t *words_of(const struct kl_mcp_param *p)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec list = KL_STRVEC_INIT;
	json_t *j = json_array();

	kl_strvec_split(&list, p->words, "|");
	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(j, json_string(list.v[i]));
	return j;
}

static json_t *type_schema(const char *type)
{
	json_t *j = json_object();

	kl_json_set_str(j, "type", type);
	return j;
}

static json_t *word_schema(const struct kl_mcp_param *p)
{
	json_t *j = type_schema("string");

	kl_json_set(j, "enum", words_of(p));
	return j;
}

static json_t *object_schema(json_t *properties, json_t *required)
{
	json_t *j = type_schema("object");

	kl_json_set(j, "properties", properties);
	if (json_array_size(required))
		kl_json_set(j, "required", json_incref(required));
	kl_json_set_bool(j, "additionalProperties", false);
	json_decref(required);
	return j;
}

static json_t *edit_schema(void)
{
	static const char *const member[] = { "path", "text", "function", "search" };
	json_t *properties = json_object(), *required = json_array();

	for (size_t i = 0; i < KL_ARRAY_SIZE(member); i++)
		kl_json_set(properties, member[i], type_schema("string"));
	json_array_append_new(required, json_string("path"));
	json_array_append_new(required, json_string("text"));
	return object_schema(properties, required);
}

static json_t *trait_schema(void)
{
	static const struct kl_mcp_param value = { .words = "yes|no|unknown" };
	json_t *j = type_schema("object");

	kl_json_set(j, "additionalProperties", word_schema(&value));
	return j;
}

static json_t *array_of(json_t *items, int64_t least, int64_t most)
{
	json_t *j = type_schema("array");

	kl_json_set(j, "items", items);
	if (least)
		kl_json_set_int(j, "minItems", least);
	if (most)
		kl_json_set_int(j, "maxItems", most);
	return j;
}

static json_t *schema_of(const struct kl_mcp_param *p)
{
	json_t *j = NULL;

	switch (p->kind) {
	case TEXT:
		j = type_schema("string");
		kl_json_set_str(j, "pattern", p->pattern);
		kl_json_set_int(j, "maxLength", p->max);
		break;
	case WORD:
		j = word_schema(p);
		break;
	case WORDS:
		j = array_of(word_schema(p), 1, 0);
		break;
	case BOOL:
		j = type_schema("boolean");
		break;
	case INT:
		j = type_schema("integer");
		kl_json_set_int(j, "minimum", p->min);
		kl_json_set_int(j, "maximum", p->max);
		break;
	case EDITS:
		j = array_of(edit_schema(), p->min, p->max);
		break;
	case TRAITS:
		j = trait_schema();
		break;
	}
	kl_json_set_str(j, "description", p->help);
	return j;
}

static json_t *input_schema(const struct kl_mcp_tool *t)
{
	json_t *properties = json_object(), *required = json_array();

	for (const struct kl_mcp_param *p = t->param; p->name; p++) {
		kl_json_set(properties, p->name, schema_of(p));
		if (p->required)
			json_array_append_new(required, json_string(p->name));
	}
	return object_schema(properties, required);
}

static json_t *output_schema(void)
{
	json_t *j = type_schema("object"), *properties = json_object(), *required = json_array();
	json_t *result = type_schema("object");

	kl_json_set_str(result, "description",
			"What the verb prints with --json; absent where it has "
			"nothing to say but messages");
	kl_json_set(properties, "exit", type_schema("integer"));
	kl_json_set(properties, "result", result);
	kl_json_set(properties, "messages", array_of(type_schema("string"), 0, 0));
	json_array_append_new(required, json_string("exit"));
	json_array_append_new(required, json_string("messages"));
	kl_json_set(j, "properties", properties);
	kl_json_set(j, "required", required);
	return j;
}

static json_t *tool_annotations(const struct kl_mcp_tool *t, bool read_only)
{
	json_t *j = json_object();
	bool reads = read_only || (t->flags & KL_MCP_READS);

	kl_json_set_str(j, "title", t->title);
	kl_json_set_bool(j, "readOnlyHint", reads);
	kl_json_set_bool(j, "openWorldHint", false);
	if (!reads) {
		kl_json_set_bool(j, "destructiveHint", t->flags & KL_MCP_FORGETS);
		kl_json_set_bool(j, "idempotentHint", t->argv == gate_argv);
	}
	return j;
}

json_t *kl_mcp_tool_list(int wants, bool read_only)
{
	json_t *list = json_array();

	for (const struct kl_mcp_tool *t = kl_mcp_tools; t->name; t++) {
		json_t *j;

		if (!kl_mcp_tool_find(t->name, read_only))
			continue;
		j = json_object();
		kl_json_set_str(j, "name", t->name);
		kl_json_set_str(j, "description", t->help);
		kl_json_set(j, "inputSchema", input_schema(t));
		if (wants & KL_MCP_WANTS_ANNOTATIONS)
			kl_json_set(j, "annotations", tool_annotations(t, read_only));
		if (wants & KL_MCP_WANTS_OUTPUT)
			kl_json_set_str(j, "title", t->title);
		if ((wants & KL_MCP_WANTS_OUTPUT) && (t->flags & KL_MCP_JSON))
			kl_json_set(j, "outputSchema", output_schema());
		json_array_append_new(list, j);
	}
	return list;
}

/* --- what a client sends --------------------------------------------------------- */

static int wrong_type(const struct kl_mcp_param *p, const char *type)
{
	return kl_error(KL_EINVALID, "'%s' is not %s", p->name, type);
}

static bool is_among(const char *word, const char *words)
{
	size_t n = strlen(word);

	for (const char *at = words; n && (at = strstr(at, word)); at++)
		if ((at == words || at[-1] == '|') && (!at[n] || at[n] == '|'))
			return true;
	return false;
}

static int check_text(const struct kl_mcp_param *p, const json_t *v)
{
	const char *s = json_string_value(v);
	regex_t re;
	bool ok;

	if (!s)
		return wrong_type(p, "a string");
	if (strlen(s) > (size_t)p->max)
		return kl_error(KL_EINVALID, "'%s' is longer than %lld bytes", p->name,
				(long long)p->max);
	if (regcomp(&re, p->pattern, REG_EXTENDED | REG_NOSUB))
		KL_BUG("the pattern of '%s' is none", p->name);
	ok = !regexec(&re, s, 0, NULL, 0);
	regfree(&re);
	return ok ? 0 : kl_error(KL_EINVALID, "'%s' is not of the form %s", p->name, p->pattern);
}

static int check_words(const struct kl_mcp_param *p, const json_t *v)
{
	size_t i;
	json_t *word;

	if (!json_array_size(v) || json_array_size(v) > 16)
		return wrong_type(p, "a list of words");
	json_array_foreach(v, i, word)
		if (!is_among(json_is_string(word) ? json_string_value(word) : "", p->words))
			return kl_error(KL_EINVALID, "'%s' is a list of these: %s", p->name,
					p->words);
	return 0;
}

static int check_value(const struct kl_mcp_param *p, const json_t *v)
{
	switch (p->kind) {
	case TEXT:
		return check_text(p, v);
	case WORD:
		if (!is_among(json_is_string(v) ? json_string_value(v) : "", p->words))
			return kl_error(KL_EINVALID, "'%s' is one of these: %s", p->name, p->words);
		return 0;
	case WORDS:
		return check_words(p, v);
	case BOOL:
		return json_is_boolean(v) ? 0 : wrong_type(p, "true or false");
	case INT:
		if (json_is_integer(v) && json_integer_value(v) >= p->min &&
		    json_integer_value(v) <= p->max)
			return 0;
		return kl_error(KL_EINVALID, "'%s' is not an integer from %lld to %lld", p->name,
				(long long)p->min, (long long)p->max);
	case EDITS:
		return json_is_array(v) ? 0 : wrong_type(p, "a list of edits");
	case TRAITS:
		return json_is_object(v) ? 0 : wrong_type(p, "an object");
	}
	return 0;
}

static const struct kl_mcp_param *find_param(const struct kl_mcp_tool *t, const char *name)
{
	for (const struct kl_mcp_param *p = t->param; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static int check_args(const struct kl_mcp_tool *t, const json_t *args)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)args, key, v) {
		const struct kl_mcp_param *p = find_param(t, key);
		int err = p ? check_value(p, v) :
			      kl_error(KL_EINVALID, "%s has no argument '%.60s'", t->name, key);

		if (err < 0)
			return err;
	}
	for (const struct kl_mcp_param *p = t->param; p->name; p++)
		if (p->required && !json_object_get(args, p->name))
			return kl_error(KL_EINVALID, "'%s' is missing", p->name);
	return 0;
}

static void push_option(struct kl_strvec *argv, const struct kl_mcp_param *p, const json_t *v)
{
	size_t i;
	json_t *word;
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	switch (p->kind) {
	case BOOL:
		kl_strvec_pushf(argv, "--%s%s", json_is_true(v) ? "" : "no-", p->option);
		return;
	case INT:
		kl_strvec_pushf(argv, "--%s=%lld", p->option, (long long)json_integer_value(v));
		return;
	case WORDS:
		json_array_foreach(v, i, word)
			kl_buf_addf(&b, "%s%s", i ? "," : "", json_string_value(word));
		kl_strvec_pushf(argv, "--%s=%s", p->option, b.ptr);
		return;
	default:
		kl_strvec_pushf(argv, "--%s=%s", p->option, json_string_value(v));
	}
}

int kl_mcp_tool_argv(struct kl_strvec *argv, const struct kl_mcp_tool *t, const json_t *args,
		     bool read_only)
{
	int err = check_args(t, args);

	if (err < 0)
		return err;
	kl_strvec_pushv(argv, t->argv);
	for (const struct kl_mcp_param *p = t->param; p->name; p++)
		if (p->option && json_object_get(args, p->name))
			push_option(argv, p, json_object_get(args, p->name));
	if (t->more)
		t->more(argv, args, read_only);
	if (t->flags & KL_MCP_DOCUMENT)
		return 0;
	kl_strvec_push(argv, "--");
	for (const struct kl_mcp_param *p = t->param; p->name; p++)
		if (!p->option && json_is_string(json_object_get(args, p->name)))
			kl_strvec_push(argv, json_string_value(json_object_get(args, p->name)));
	return 0;
}
