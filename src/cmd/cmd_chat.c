/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_chat - git klineage chat: shows conversations with models and their costs */
#include <string.h>

#include "base/fs.h"
#include "cmd/chat_cost.h"
#include "cmd/chat_probe.h"
#include "cmd/chat_reconcile.h"
#include "cmd/chat_settle.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "model/conversation.h"
#include "model/money.h"
#include "model/provider/usage.h"
#include "model/reconciliation.h"
#include "model/recording.h"
#include "model/turn.h"

static const char synopsis[] = "chat log [--json | --porcelain | -z] [<workload>[/<name>]]\n"
			       "chat show [--json] <workload>/<name>/<phase>\n"
			       "chat cost [--json | --porcelain | -z] [--no-bars] [<workload>]\n"
			       "chat settle [--json] [--cost <usd>] <workload>[/<name>[/<phase>]]\n"
			       "chat settle [--json] --correct <id> --cost <usd> <workload>\n"
			       "chat reconcile [--json] [--model <prefix>] --from <file> "
			       "[<workload>]\n"
			       "chat export -o <file> <workload>/<name>\n"
			       "chat probe [--json]";

struct request {
	struct kl_repo *repo;
	struct kl_listing out;
	bool bars;
	const char *output, *cost, *correct, *from, *model;
	/* workload, name and phase; only the first `n` are given, the others are NULL */
	char *part[3];
	size_t n;
};

static void sum_usage(struct kl_usage *sum, int64_t *nano,
		      const struct kl_conversation *conversation)
{
	for (size_t i = 0; i < conversation->n; i++) {
		kl_usage_add(sum, &conversation->turn[i].usage);
		*nano += conversation->turn[i].nano;
	}
}

/* --- log ------------------------------------------------------------------------ */

static void log_row(struct kl_table *table, const struct kl_conversation *conversation)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s/%s/%s", conversation->workload,
						   conversation->name, conversation->phase);
	KL_AUTO(kl_freep) char *turns = kl_asprintf("%zu", conversation->n);
	KL_AUTO(kl_freep) char *in = NULL, *cached = NULL, *out = NULL;
	struct kl_usage usage = { 0 };
	char money[KL_MONEY_TEXT];
	int64_t nano = 0;

	sum_usage(&usage, &nano, conversation);
	kl_money_text(money, nano);
	in = usage.known ? kl_asprintf("%lld", (long long)kl_usage_prompt(&usage)) : kl_strdup("-");
	cached = usage.known ? kl_asprintf("%lld", (long long)usage.cache_read) : kl_strdup("-");
	out = usage.known ? kl_asprintf("%lld", (long long)usage.output) : kl_strdup("-");
	kl_table_row(
		table,
		(const char *[]){
			name, turns, conversation->turn[conversation->n - 1].model, in, cached, out,
			conversation->turn[conversation->n - 1].reservation ? money : "unmetered",
			conversation->turn[conversation->n - 1].time });
}

static json_t *log_json(const struct kl_conversation *conversation)
{
	json_t *value = json_object();
	struct kl_usage usage = { 0 };
	int64_t nano = 0;

	sum_usage(&usage, &nano, conversation);
	kl_json_set_str(value, "workload", conversation->workload);
	kl_json_set_str(value, "name", conversation->name);
	kl_json_set_str(value, "phase", conversation->phase);
	kl_json_set_str(value, "ref", conversation->ref);
	kl_json_set_int(value, "turns", (int64_t)conversation->n);
	kl_json_set_str(value, "model", conversation->turn[conversation->n - 1].model);
	kl_json_set_str(value, "time", conversation->turn[conversation->n - 1].time);
	kl_json_set(value, "usage", kl_usage_json(&usage));
	kl_json_set_int(value, "nano", nano);
	return value;
}

static int do_log(struct request *request)
{
	static const char *const fields[] = {
		"workload",         "name",         "phase", "turns", "model", "usage.input",
		"usage.cache_read", "usage.output", "nano",  "time",  "ref",   NULL
	};
	static const char *const head[] = { "conversation", "turns", "model", "tokens in",
					    "cached",       "out",   "cost",  "last" };
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = KL_ARRAY_SIZE(head) };
	KL_AUTO(kl_conversations_release) struct kl_conversations conversations = { 0 };
	KL_AUTO(json_decrefp) json_t *value = json_object(), *list = json_array();
	int err = kl_conversations_load(&conversations, request->repo, request->part[0],
					request->part[1]);

	if (err < 0)
		return err;
	kl_table_row(&table, head);
	for (size_t i = 0; i < conversations.n; i++) {
		if (kl_listing_asked(&request->out))
			json_array_append_new(list, log_json(&conversations.c[i]));
		else
			log_row(&table, &conversations.c[i]);
	}
	kl_json_set_str(value, "schema", "klineage.chat/1");
	kl_json_set(value, "conversations", json_incref(list));
	if (kl_listing_asked(&request->out))
		kl_listing_print(&request->out, value, "conversations", fields);
	else if (conversations.n)
		kl_table_print(&table);
	else
		fprintf(stderr, "no stored conversations%s%s\n", request->part[0] ? " for " : "",
			request->part[0] ? request->part[0] : "");
	return 0;
}

/* --- show ------------------------------------------------------------------------- */

static void print_text(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		printf("    %.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

static void print_turn(const struct kl_turn *turn, size_t i)
{
	char money[KL_MONEY_TEXT];

	printf("\n--- turn %zu, %s\n\n", i, turn->time);
	print_text(turn->user);
	printf("\n--- %s", turn->answered ? turn->answered : turn->model);
	if (turn->implausible)
		printf(", token counts that cannot be right");
	if (turn->usage.known)
		printf(": %lld tokens in (%lld cached), %lld out",
		       (long long)kl_usage_prompt(&turn->usage), (long long)turn->usage.cache_read,
		       (long long)turn->usage.output);
	kl_money_text(money, turn->nano);
	printf(", %s", turn->reservation ? money : "unmetered");
	if (turn->stop != KL_STOP_END)
		printf(", ended by %s", kl_stop_name(turn->stop));
	printf("\n\n");
	print_text(turn->reply);
}

static json_t *turn_json(const struct kl_turn *turn, size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf meta = KL_BUF_INIT;
	json_t *value = NULL;

	kl_turn_format(&meta, turn, i);
	if (kl_json_parse(&value, meta.ptr, meta.len) < 0)
		KL_BUG("cannot parse our own output: %s", kl_error_last());
	json_object_del(value, "schema");
	kl_json_set_str(value, "user", turn->user);
	kl_json_set_str(value, "reply", turn->reply);
	kl_json_set_str(value, "key", turn->key);
	return value;
}

static void show_json(const struct kl_conversation *conversation)
{
	KL_AUTO(json_decrefp) json_t *value = log_json(conversation);
	json_t *blocks = json_array(), *turns = json_array();

	for (size_t i = 0; i < conversation->nsystem; i++)
		json_array_append_new(blocks, json_string(conversation->system[i]));
	for (size_t i = 0; i < conversation->n; i++)
		json_array_append_new(turns, turn_json(&conversation->turn[i], i));
	kl_json_set_str(value, "schema", "klineage.talk/1");
	kl_json_set(value, "system", blocks);
	kl_json_set(value, "turns", turns);
	kl_listing_put(value);
}

static int do_show(struct request *request)
{
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
	int err;

	if (request->n != 3)
		return kl_opt_usage(synopsis, "'show' needs <workload>/<name>/<phase>; 'chat log' "
					      "lists them");
	if ((err = kl_conversation_load(&conversation, request->repo, request->part[0],
					request->part[1], request->part[2])) < 0)
		return err;
	if (!conversation.n)
		return kl_error(KL_ENOTFOUND, "no conversation '%s/%s/%s'", conversation.workload,
				conversation.name, conversation.phase);
	if (request->out.json) {
		show_json(&conversation);
		return 0;
	}
	printf("%s/%s/%s: %zu turn%s\n", conversation.workload, conversation.name,
	       conversation.phase, conversation.n, conversation.n == 1 ? "" : "s");
	for (size_t i = 0; i < conversation.nsystem; i++) {
		printf("\n--- system, block %zu\n\n", i);
		print_text(conversation.system[i]);
	}
	for (size_t i = 0; i < conversation.n; i++)
		print_turn(&conversation.turn[i], i);
	return 0;
}

/* --- cost --------------------------------------------------------------------------- */

static int do_cost(struct request *request)
{
	if (request->n > 1)
		return kl_opt_usage(synopsis, "'cost' takes only a workload");
	return kl_chat_cost_print(request->repo, request->part[0], &request->out, request->bars);
}

/* --- settle ---------------------------------------------------------------------------- */

static int do_settle(struct request *request)
{
	if (!request->n)
		return kl_opt_usage(synopsis, "'settle' needs a workload");
	if (request->correct && request->n > 1)
		return kl_opt_usage(synopsis, "--correct takes only a workload");
	if (request->correct)
		return kl_chat_settle_correct(request->repo, request->part[0], request->correct,
					      request->cost, request->out.json);
	return kl_chat_settle_say(request->repo, request->part[0], request->part[1],
				  request->part[2], request->cost, request->out.json);
}

/* --- reconcile ------------------------------------------------------------------------ */

static int do_reconcile(struct request *request)
{
	struct kl_reconciliation_opts opts = { .workload = request->part[0],
					       .model = request->model };

	if (request->n > 1)
		return kl_opt_usage(synopsis, "'reconcile' takes only a workload");
	if (!request->from)
		return kl_opt_usage(synopsis,
				    "'reconcile' needs --from <file>, the provider's bill");
	return kl_chat_reconcile_say(request->repo, request->from, &opts, request->out.json);
}

/* --- export ---------------------------------------------------------------------------- */

static int do_export(struct request *request)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if (request->n != 2 || !request->output)
		return kl_opt_usage(synopsis, "'export' needs -o <file> and <workload>/<name>");
	if ((err = kl_recording_format(&text, request->repo, request->part[0], request->part[1])) <
	    0)
		return err;
	return kl_fs_write_output(request->output, text.ptr, text.len);
}

/* --- probe ----------------------------------------------------------------------------- */

static int do_probe(struct request *request)
{
	if (request->n)
		return kl_opt_usage(synopsis, "'probe' takes no arguments");
	return kl_chat_probe_say(request->repo, request->out.json);
}

/* --- the verb ---------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(struct request *request);
	bool lists;
} verbs[] = {
	{ "log", do_log, true },
	{ "show", do_show, false },
	{ "cost", do_cost, true },
	{ "settle", do_settle, false },
	{ "reconcile", do_reconcile, false },
	{ "export", do_export, false },
	{ "probe", do_probe, false },
};

/* Split "a/b/c" into its parts, in place. */
static int split_target(struct request *request, char *what)
{
	for (char *next = what; next; what = next) {
		next = strchr(what, '/');
		if (request->n == KL_ARRAY_SIZE(request->part) || next == what || !*what)
			return kl_opt_usage(synopsis, "invalid conversation name: expected "
						      "<workload>/<name>/<phase>");
		request->part[request->n++] = what;
		if (next)
			*next++ = '\0';
	}
	return 0;
}

int cmd_chat(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct request request = { .repo = ctx->repo, .bars = true };
	const struct kl_opt opts[] = {
		KL_OPT_LISTING(&request.out),
		KL_OPT_BOOL('\0', "bars", &request.bars,
			    "cost: draw the best time against the money spent (default)"),
		KL_OPT_STR('\0', "cost", &request.cost, "<usd>",
			   "settle: book this amount in total (default: all that was "
			   "reserved)"),
		KL_OPT_STR('\0', "correct", &request.correct, "<id>",
			   "settle: change the amount of this settled reservation to --cost"),
		KL_OPT_STR('\0', "from", &request.from, "<file>",
			   "reconcile: the bill, a file that the provider exports"),
		KL_OPT_STR('\0', "model", &request.model, "<prefix>",
			   "reconcile: compare only models whose names begin with this"),
		KL_OPT_STR('o', "output", &request.output, "<file>",
			   "export: write the recording to this file"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = kl_listing_check(&request.out, synopsis)) < 0)
		return err;
	if (!argc || argc > 2)
		return kl_opt_usage(synopsis, argc ? "only one conversation can be given" :
						     "missing subcommand: log, show, cost, "
						     "settle, reconcile, export or probe");
	if (argc == 2 && (err = split_target(&request, argv[1])) < 0)
		return err;
	if (request.cost && strcmp(argv[0], "settle"))
		return kl_opt_usage(synopsis, "--cost needs 'settle'");
	if (request.correct && strcmp(argv[0], "settle"))
		return kl_opt_usage(synopsis, "--correct needs 'settle'");
	if ((request.from || request.model) && strcmp(argv[0], "reconcile"))
		return kl_opt_usage(synopsis, "--from and --model need 'reconcile'");
	for (size_t i = 0; i < KL_ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[0], verbs[i].name))
			continue;
		if ((request.out.porcelain || request.out.nul) && !verbs[i].lists)
			return kl_opt_usage(synopsis, "--porcelain and -z need 'log' or 'cost'");
		return verbs[i].run(&request);
	}
	return kl_opt_usage(synopsis,
			    "unknown subcommand '%s' (expected log, show, cost, settle, "
			    "reconcile, export or probe)",
			    argv[0]);
}
