/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_chat - git klineage chat: conversations with models, and what they cost */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "cmd/chat_settle.h"
#include "cmd/cmd.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "cmd/table.h"
#include "lineage/spend.h"
#include "model/conversation.h"
#include "model/money.h"
#include "model/provider/usage.h"
#include "model/recording.h"
#include "model/turn.h"

#define BAR_WIDTH 48
#define MAX_BARS 32

static const char synopsis[] = "chat log [--json | --porcelain | -z] [<workload>[/<name>]]\n"
			       "chat show [--json] <workload>/<name>/<phase>\n"
			       "chat cost [--json | --porcelain | -z] [--no-bars] [<workload>]\n"
			       "chat settle [--json] [--cost <usd>] <workload>[/<name>[/<phase>]]\n"
			       "chat export -o <file> <workload>/<name>";

struct request {
	struct kl_repo *repo;
	struct kl_listing out;
	bool bars;
	const char *output, *cost;
	char *part[3]; /* workload, name, phase: as many as were said */
	size_t n;
};

static int64_t prompt_of(const struct kl_usage *u)
{
	return u->input + u->cache_read + u->cache_write_5m + u->cache_write_1h;
}

static void sum_usage(struct kl_usage *sum, int64_t *nano, const struct kl_conversation *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct kl_usage *u = &c->turn[i].usage;

		sum->known = sum->known || u->known;
		sum->input += u->input;
		sum->output += u->output;
		sum->cache_read += u->cache_read;
		sum->cache_write_5m += u->cache_write_5m;
		sum->cache_write_1h += u->cache_write_1h;
		*nano += c->turn[i].nano;
	}
}

/* --- log ------------------------------------------------------------------------ */

static void log_row(struct kl_table *t, const struct kl_conversation *c)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s/%s/%s", c->workload, c->name, c->phase);
	KL_AUTO(kl_freep) char *turns = kl_asprintf("%zu", c->n);
	KL_AUTO(kl_freep) char *in = NULL, *cached = NULL, *out = NULL;
	struct kl_usage u = { 0 };
	char money[KL_MONEY_TEXT];
	int64_t nano = 0;

	sum_usage(&u, &nano, c);
	kl_money_text(money, nano);
	in = u.known ? kl_asprintf("%lld", (long long)prompt_of(&u)) : kl_strdup("-");
	cached = u.known ? kl_asprintf("%lld", (long long)u.cache_read) : kl_strdup("-");
	out = u.known ? kl_asprintf("%lld", (long long)u.output) : kl_strdup("-");
	kl_table_row(t, (const char *[]){ name, turns, c->turn[c->n - 1].model, in, cached, out,
					  c->turn[c->n - 1].reservation ? money : "unmetered",
					  c->turn[c->n - 1].time });
}

static json_t *log_json(const struct kl_conversation *c)
{
	json_t *j = json_object();
	struct kl_usage u = { 0 };
	int64_t nano = 0;

	sum_usage(&u, &nano, c);
	kl_json_set_str(j, "workload", c->workload);
	kl_json_set_str(j, "name", c->name);
	kl_json_set_str(j, "phase", c->phase);
	kl_json_set_str(j, "ref", c->ref);
	kl_json_set_int(j, "turns", (int64_t)c->n);
	kl_json_set_str(j, "model", c->turn[c->n - 1].model);
	kl_json_set_str(j, "time", c->turn[c->n - 1].time);
	kl_json_set(j, "usage", kl_usage_json(&u));
	kl_json_set_int(j, "nano", nano);
	return j;
}

static int do_log(struct request *r)
{
	static const char *const fields[] = {
		"workload",         "name",         "phase", "turns", "model", "usage.input",
		"usage.cache_read", "usage.output", "nano",  "time",  "ref",   NULL
	};
	static const char *const head[] = { "conversation",    "turns", "model", "tokens in",
					    "of these cached", "out",   "cost",  "last" };
	KL_AUTO(kl_table_release) struct kl_table t = { .columns = KL_ARRAY_SIZE(head) };
	KL_AUTO(kl_conversations_release) struct kl_conversations l = { 0 };
	KL_AUTO(json_decrefp) json_t *j = json_object(), *list = json_array();
	int err = kl_conversations_load(&l, r->repo, r->part[0], r->part[1]);

	if (err < 0)
		return err;
	kl_table_row(&t, head);
	for (size_t i = 0; i < l.n; i++) {
		if (kl_listing_asked(&r->out))
			json_array_append_new(list, log_json(&l.c[i]));
		else
			log_row(&t, &l.c[i]);
	}
	kl_json_set_str(j, "schema", "klineage.chat/1");
	kl_json_set(j, "conversations", json_incref(list));
	if (kl_listing_asked(&r->out))
		kl_listing_print(&r->out, j, "conversations", fields);
	else if (l.n)
		kl_table_print(&t);
	else
		fprintf(stderr, "no conversation is stored%s%s\n", r->part[0] ? " of " : "",
			r->part[0] ? r->part[0] : "");
	return 0;
}

/* --- show ------------------------------------------------------------------------- */

/* text of a model or a repository on its way to a terminal: no control bytes but tabs */
static void print_text(const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "\n");

		fputs("    ", stdout);
		for (size_t i = 0; i < n; i++) {
			unsigned char c = (unsigned char)s[i];

			putchar((c < 0x20 && c != '\t') || c == 0x7f ? '?' : c);
		}
		putchar('\n');
		s += n + (s[n] == '\n');
	}
}

static void print_turn(const struct kl_turn *t, size_t i)
{
	char money[KL_MONEY_TEXT];

	printf("\n--- turn %zu, %s\n\n", i, t->time);
	print_text(t->user);
	printf("\n--- %s", t->answered ? t->answered : t->model);
	if (t->usage.known)
		printf(": %lld tokens in (%lld cached), %lld out", (long long)prompt_of(&t->usage),
		       (long long)t->usage.cache_read, (long long)t->usage.output);
	kl_money_text(money, t->nano);
	printf(", %s", t->reservation ? money : "unmetered");
	if (t->stop != KL_STOP_END)
		printf(", ended by %s", kl_stop_name(t->stop));
	printf("\n\n");
	print_text(t->reply);
}

static json_t *turn_json(const struct kl_turn *t, size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf meta = KL_BUF_INIT;
	json_t *j = NULL;

	kl_turn_format(&meta, t, i);
	if (kl_json_parse(&j, meta.ptr, meta.len) < 0)
		KL_BUG("what we write cannot be read: %s", kl_error_last());
	json_object_del(j, "schema");
	kl_json_set_str(j, "user", t->user);
	kl_json_set_str(j, "reply", t->reply);
	kl_json_set_str(j, "key", t->key);
	return j;
}

static void show_json(const struct kl_conversation *c)
{
	KL_AUTO(json_decrefp) json_t *j = log_json(c);
	json_t *blocks = json_array(), *turns = json_array();

	for (size_t i = 0; i < c->nsystem; i++)
		json_array_append_new(blocks, json_string(c->system[i]));
	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(turns, turn_json(&c->turn[i], i));
	kl_json_set_str(j, "schema", "klineage.talk/1");
	kl_json_set(j, "system", blocks);
	kl_json_set(j, "turns", turns);
	kl_listing_put(j);
}

static int do_show(struct request *r)
{
	KL_AUTO(kl_conversation_release) struct kl_conversation c = { 0 };
	int err;

	if (r->n != 3)
		return kl_opt_usage(synopsis,
				    "show wants <workload>/<name>/<phase>, see 'chat log'");
	if ((err = kl_conversation_load(&c, r->repo, r->part[0], r->part[1], r->part[2])) < 0)
		return err;
	if (!c.n)
		return kl_error(KL_ENOTFOUND, "no conversation '%s/%s/%s'", c.workload, c.name,
				c.phase);
	if (r->out.json) {
		show_json(&c);
		return 0;
	}
	printf("%s/%s/%s: %zu turn%s\n", c.workload, c.name, c.phase, c.n, c.n == 1 ? "" : "s");
	for (size_t i = 0; i < c.nsystem; i++) {
		printf("\n--- system, block %zu\n\n", i);
		print_text(c.system[i]);
	}
	for (size_t i = 0; i < c.n; i++)
		print_turn(&c.turn[i], i);
	return 0;
}

/* --- cost --------------------------------------------------------------------------- */

static void print_budget(const struct kl_spend *s, enum kl_budget b)
{
	char spent[KL_MONEY_TEXT], cap[KL_MONEY_TEXT], reserved[KL_MONEY_TEXT];

	kl_money_text(spent, s->totals.of[b].settled + s->totals.of[b].reserved);
	kl_money_text(reserved, s->totals.of[b].reserved);
	kl_money_text(cap, s->cap[b]);
	printf("%s: %s of %s for %s", s->workload, spent, cap,
	       b == KL_BUDGET_INDUCE ? "walks" : "materializing");
	if (s->totals.of[b].reserved)
		printf(", %s of it reserved and not settled", reserved);
	putchar('\n');
}

static int64_t reserved_total(const struct kl_spend *s)
{
	int64_t n = 0;

	for (int b = 0; b < KL_BUDGETS; b++)
		n += s->totals.of[b].reserved;
	return n;
}

static void cost_row(struct kl_table *t, const struct kl_spend_phase *p)
{
	KL_AUTO(kl_freep) char *requests = kl_asprintf("%zu", p->requests);
	KL_AUTO(kl_freep) char *in = kl_asprintf("%lld", (long long)prompt_of(&p->usage));
	KL_AUTO(kl_freep) char *cached = kl_asprintf("%lld", (long long)p->usage.cache_read);
	KL_AUTO(kl_freep) char *out = kl_asprintf("%lld", (long long)p->usage.output);
	char settled[KL_MONEY_TEXT], reserved[KL_MONEY_TEXT];

	kl_money_text(settled, p->settled);
	kl_money_text(reserved, p->reserved);
	kl_table_row(t, (const char *[]){ p->name, p->phase, requests, p->usage.known ? in : "-",
					  p->usage.known ? cached : "-", p->usage.known ? out : "-",
					  settled, p->reserved ? reserved : "-" });
}

/* each time that it got better, and the first and last in any case */
static bool is_shown(const struct kl_spend *s, size_t i, size_t every)
{
	if (!i || i + 1 == s->npoint || s->point[i].ns != s->point[i - 1].ns)
		return true;
	return i % every == 0;
}

static void print_bars(const struct kl_spend *s)
{
	size_t every = s->npoint / MAX_BARS + 1;
	int64_t most = 0;

	for (size_t i = 0; i < s->npoint; i++)
		if (s->point[i].ns > most)
			most = s->point[i].ns;
	if (!most)
		return;
	puts("\nbest time against money");
	for (size_t i = 0; i < s->npoint; i++) {
		char money[KL_MONEY_TEXT], time[32];
		long n = lround(BAR_WIDTH * (double)s->point[i].ns / (double)most);

		if (!is_shown(s, i, every))
			continue;
		kl_money_text(money, s->point[i].nano);
		kl_table_time(time, s->point[i].ns);
		printf("%11s %12s |", money, time);
		while (n-- > 0)
			putchar('#');
		putchar('\n');
	}
}

static void print_cost(const struct kl_spend *s, bool bars)
{
	static const char *const head[] = { "name",      "phase",           "requests",
					    "tokens in", "of these cached", "out",
					    "cost",      "reserved" };
	KL_AUTO(kl_table_release) struct kl_table t = { .columns = KL_ARRAY_SIZE(head) };

	for (int b = 0; b < KL_BUDGETS; b++)
		print_budget(s, (enum kl_budget)b);
	if (reserved_total(s))
		printf("'git klineage chat settle %s' ends reservations that broke off\n",
		       s->workload);
	if (!s->n)
		return;
	putchar('\n');
	kl_table_row(&t, head);
	for (size_t i = 0; i < s->n; i++)
		cost_row(&t, &s->phase[i]);
	kl_table_print(&t);
	if (bars)
		print_bars(s);
}

static json_t *budgets_json(const struct kl_spend *s)
{
	json_t *j = json_object();

	for (int b = 0; b < KL_BUDGETS; b++) {
		json_t *one = json_object();

		kl_json_set_int(one, "cap", s->cap[b]);
		kl_json_set_int(one, "settled", s->totals.of[b].settled);
		kl_json_set_int(one, "reserved", s->totals.of[b].reserved);
		kl_json_set(j, kl_budget_name((enum kl_budget)b), one);
	}
	return j;
}

static json_t *phase_json(const struct kl_spend_phase *p)
{
	json_t *j = json_object();

	kl_json_set_str(j, "name", p->name);
	kl_json_set_str(j, "phase", p->phase);
	kl_json_set_str(j, "budget", kl_budget_name(p->budget));
	kl_json_set_int(j, "requests", (int64_t)p->requests);
	kl_json_set_int(j, "settled", p->settled);
	kl_json_set_int(j, "reserved", p->reserved);
	kl_json_set(j, "usage", kl_usage_json(&p->usage));
	return j;
}

static json_t *cost_json(const struct kl_spend *s)
{
	json_t *j = json_object(), *phases = json_array(), *best = json_array();

	kl_json_set_str(j, "workload", s->workload);
	kl_json_set(j, "budgets", budgets_json(s));
	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(phases, phase_json(&s->phase[i]));
	for (size_t i = 0; i < s->npoint; i++) {
		json_t *p = json_object();

		kl_json_set_str(p, "time", s->point[i].time);
		kl_json_set_int(p, "nano", s->point[i].nano);
		kl_json_set(p, "ns", s->point[i].ns ? json_integer(s->point[i].ns) : json_null());
		json_array_append_new(best, p);
	}
	kl_json_set(j, "phases", phases);
	kl_json_set(j, "best", best);
	return j;
}

/* the workload that was named, or all that have a ledger */
static int list_workloads(struct kl_strvec *out, struct request *r)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	int err = r->part[0] ? 0 : kl_refs_list(&refs, r->repo, KL_LEDGER_REFS);

	if (r->part[0])
		kl_strvec_push(out, r->part[0]);
	for (size_t i = 0; i < refs.n; i++)
		kl_strvec_push(out, refs.ref[i].name + strlen(KL_LEDGER_REFS));
	return err;
}

/* Each says whose it is, where a program wants lines. */
static void add_phases(json_t *to, const struct kl_spend *s)
{
	for (size_t i = 0; i < s->n; i++) {
		json_t *o = phase_json(&s->phase[i]);

		kl_json_set_str(o, "workload", s->workload);
		json_array_append_new(to, o);
	}
}

static int do_cost(struct request *r)
{
	static const char *const fields[] = { "workload",
					      "name",
					      "phase",
					      "budget",
					      "requests",
					      "usage.input",
					      "usage.cache_read",
					      "usage.output",
					      "settled",
					      "reserved",
					      NULL };
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(json_decrefp) json_t *j = json_object(), *list = json_array(),
				     *phases = json_array();
	int err;

	if (r->n > 1)
		return kl_opt_usage(synopsis, "cost takes a workload, and no more of a name");
	if ((err = list_workloads(&names, r)) < 0)
		return err;
	for (size_t i = 0; i < names.n; i++) {
		KL_AUTO(kl_spend_release) struct kl_spend s = { 0 };

		if ((err = kl_spend_load(&s, r->repo, names.v[i])) < 0)
			return err;
		if (kl_listing_asked(&r->out)) {
			json_array_append_new(list, cost_json(&s));
			add_phases(phases, &s);
			continue;
		}
		if (i)
			putchar('\n');
		print_cost(&s, r->bars);
	}
	kl_json_set_str(j, "schema", "klineage.cost/1");
	kl_json_set(j, "workloads", json_incref(list));
	if (!r->out.json)
		kl_json_set(j, "phases", json_incref(phases));
	if (kl_listing_asked(&r->out))
		kl_listing_print(&r->out, j, "phases", fields);
	else if (!names.n)
		fputs("no money was spent\n", stderr);
	return 0;
}

/* --- settle ---------------------------------------------------------------------------- */

static int do_settle(struct request *r)
{
	if (!r->n)
		return kl_opt_usage(synopsis, "settle wants a workload");
	return kl_chat_settle_say(r->repo, r->part[0], r->part[1], r->part[2], r->cost,
				  r->out.json);
}

/* --- export ---------------------------------------------------------------------------- */

static int do_export(struct request *r)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if (r->n != 2 || !r->output)
		return kl_opt_usage(synopsis, "export wants -o <file> and <workload>/<name>");
	if ((err = kl_recording_format(&text, r->repo, r->part[0], r->part[1])) < 0)
		return err;
	return kl_fs_write_output(r->output, text.ptr, text.len);
}

/* --- the verb ---------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(struct request *r);
	bool lists;
} verbs[] = {
	{ "log", do_log, true },        { "show", do_show, false },     { "cost", do_cost, true },
	{ "settle", do_settle, false }, { "export", do_export, false },
};

/* "a/b/c" into its parts, in place */
static int split_target(struct request *r, char *what)
{
	for (char *next = what; next; what = next) {
		next = strchr(what, '/');
		if (r->n == KL_ARRAY_SIZE(r->part) || next == what || !*what)
			return kl_opt_usage(synopsis,
					    "a conversation is named <workload>/<name>/<phase>");
		r->part[r->n++] = what;
		if (next)
			*next++ = '\0';
	}
	return 0;
}

int cmd_chat(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct request r = { .repo = ctx->repo, .bars = true };
	const struct kl_opt opts[] = {
		KL_OPT_LISTING(&r.out),
		KL_OPT_BOOL('\0', "bars", &r.bars,
			    "cost: draw the best time against the money spent (default)"),
		KL_OPT_STR('\0', "cost", &r.cost, "<usd>",
			   "settle: book this sum in total (default: all that was reserved)"),
		KL_OPT_STR('o', "output", &r.output, "<file>",
			   "export: write the recording to this file"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = kl_listing_check(&r.out, synopsis)) < 0)
		return err;
	if (!argc || argc > 2)
		return kl_opt_usage(synopsis, argc ? "one conversation at a time" :
						     "log, show, cost, settle or export?");
	if (argc == 2 && (err = split_target(&r, argv[1])) < 0)
		return err;
	if (r.cost && strcmp(argv[0], "settle"))
		return kl_opt_usage(synopsis, "--cost is for settle");
	for (size_t i = 0; i < KL_ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[0], verbs[i].name))
			continue;
		if ((r.out.porcelain || r.out.nul) && !verbs[i].lists)
			return kl_opt_usage(synopsis, "--porcelain goes with log and cost");
		return verbs[i].run(&r);
	}
	return kl_opt_usage(synopsis, "'%s' is none of log, show, cost, settle, export", argv[0]);
}
