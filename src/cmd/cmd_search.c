/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_search - git klineage search: searches for a faster kernel by a policy */
#include <inttypes.h>
#include <string.h>

#include "base/progress.h"
#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "cmd/materialize_root.h"
#include "cmd/resume_args.h"
#include "cmd/search_print.h"
#include "cmd/send_away.h"
#include "cmd/skill_model.h"
#include "search/memory_branch.h"
#include "search/policy/policy.h"
#include "search/table/player.h"
#include "text/name.h"

static const char synopsis[] =
	"search --policy <policy> --rewriter chat|exec [<options>] [<workload>]\n"
	"search --continue [<options>] [<workload>]\n"
	"search --policies";

#define CANDIDATES 40
#define MOST_CANDIDATES 100000
#define MOST_WIDTH 1000

struct args {
	const char *workload, *policy, *preset, *set, *name, *root, *jail, *platform, *memory;
	const char *judge, *table, *skill;
	int64_t candidates, width, seed;
	bool again, dry, json, quiet, list;
};

struct session {
	struct kl_repo *repo;
	struct kl_setup setup;
	struct kl_materialize_root root;
	struct kl_skill_model model;
	struct kl_session *session;
	struct kl_progress *progress;
	struct kl_gate *gate;
	struct kl_judging judging;
	struct kl_search_table *table;
	struct kl_player player;
	char *name;
	json_t *kept, *memory;
	struct kl_cell cell;
};

static void session_release(struct session *session)
{
	kl_cell_release(&session->cell);
	kl_materialize_root_release(&session->root);
	kl_skill_model_release(&session->model);
	kl_gate_free(session->gate);
	kl_progress_free(session->progress);
	json_decref(session->kept);
	kl_search_table_free(session->table);
	json_decref(session->memory);
	free(session->name);
}

/* --- the setup ------------------------------------------------------------------------------- */

static int unknown_policy(const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;

	for (size_t i = 0; kl_policies[i]; i++)
		kl_buf_addf(&names, "%s%s", i ? ", " : "", kl_policies[i]->name);
	return kl_opt_usage(synopsis, "there is no policy '%s'; there are: %s", name, names.ptr);
}

/* Set the parameters that `text` lists, such as "c=0.3,alpha=1". */
static int set_parameters(struct kl_setup *setup, const char *text)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec list = KL_STRVEC_INIT;
	int err = 0;

	kl_strvec_split(&list, text, ",");
	for (size_t i = 0; !err && i < list.n; i++) {
		char *equals = strchr(list.v[i], '=');

		if (!equals)
			return kl_opt_usage(synopsis, "--set takes <name>=<value>, not '%s'",
					    list.v[i]);
		*equals = 0;
		err = kl_setup_set(setup, list.v[i], equals + 1);
	}
	return err;
}

/*
 * Give the policy a copy of the entries of a memory that it reads and that are about kernels of the
 * root's language.
 */
static int recall_memory(struct session *session, const char *name)
{
	struct kl_setup *setup = &session->setup;
	const char *language = session->root.state->contract->language->name;
	KL_AUTO(json_decrefp) json_t *all = NULL;
	const char *path;
	json_t *entry;
	git_oid tip;
	int err;

	if (!setup->policy->memory)
		return kl_opt_usage(synopsis,
				    "policy %s reads no memory; adaexplore reads rules, "
				    "kernelblaster techniques",
				    setup->policy->name);
	if ((err = kl_memory_load(&all, &tip, session->repo, name)) < 0)
		return err;
	setup->memory = session->memory = json_object();
	json_object_foreach(all, path, entry)
		if (kl_memory_is(entry, setup->policy->memory) &&
		    !strcmp(kl_json_str_or(entry, "language", ""), language))
			kl_json_set(session->memory, path, json_incref(entry));
	if (json_object_size(session->memory))
		return 0;
	return kl_error(KL_ENOTFOUND,
			"memory '%s' has no %s for kernels in %s, which is what policy %s reads",
			name, setup->policy->memory, language, setup->policy->name);
}

static int make_setup(struct session *session, const struct args *args)
{
	const struct kl_policy *policy = kl_policy_find(args->policy);
	struct kl_setup *setup = &session->setup;
	int err;

	if (!policy)
		return unknown_policy(args->policy);
	kl_setup_init(setup, policy);
	setup->candidates = args->candidates;
	setup->width = args->width;
	if ((args->preset && (err = kl_setup_preset(setup, args->preset)) < 0) ||
	    (args->set && (err = set_parameters(setup, args->set)) < 0))
		return err;
	if (args->memory && (err = recall_memory(session, args->memory)) < 0)
		return err;
	kl_draw_key(setup->key, "", session->root.state->contract->workload, policy->name,
		    args->seed);
	return 0;
}

/* --- judging --------------------------------------------------------------------------------- */

static bool simulates(const struct session *session)
{
	return session->model.provider && !strcmp(session->model.provider, "table");
}

/* Find the skill of the simulated model, if --provider is `table`. */
static int find_skill(struct session *session, const struct args *args)
{
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;
	const char *name = args->skill ? args->skill : "middling";

	if (!simulates(session))
		return args->skill ? kl_opt_usage(synopsis, "--skill needs --provider table") : 0;
	session->judging.skill = kl_skill_find(name);
	for (size_t i = 0; kl_skills[i].name; i++)
		kl_buf_addf(&names, "%s%s", i ? ", " : "", kl_skills[i].name);
	return session->judging.skill ?
		       0 :
		       kl_opt_usage(synopsis, "there is no skill '%s'; there are: %s", name,
				    names.ptr);
}

static int find_judging(struct session *session, const struct args *args)
{
	struct kl_judging *judging = &session->judging;
	int err = args->judge ? kl_judging_parse(&judging->mode, args->judge) : 0;

	if (err < 0)
		return err;
	if (judging->mode == KL_JUDGING_REAL && (args->table || args->skill || simulates(session)))
		return kl_opt_usage(synopsis, "%s needs --judge recorded or noisy",
				    args->table ? "--table" :
				    args->skill ? "--skill" :
						  "--provider table");
	if (judging->mode == KL_JUDGING_REAL)
		return 0;
	if (!args->table)
		return kl_opt_usage(synopsis,
				    "--judge %s needs --table: a file, or the name of a "
				    "shipped table",
				    args->judge);
	err = kl_search_table_open(&session->table, args->table);
	judging->table = session->table;
	return err < 0 ? err : find_skill(session, args);
}

/* --- root and name --------------------------------------------------------------------------- */

static int find_begun(struct session *session, const struct args *args)
{
	struct kl_materialize_root *root = &session->root;
	KL_AUTO(kl_cell_begun_release) struct kl_cell_begun begun = { 0 };
	git_oid tree;
	int err;

	session->name = kl_strdup(args->name);
	if ((err = kl_cell_begun(&begun, session->repo, args->workload, args->name)) < 0)
		return err;
	root->commit = begun.commit;
	session->judging = begun.judging;
	session->table = kl_steal(&begun.table);
	if ((err = kl_repo_tree_of(&tree, session->repo, &root->commit)) < 0)
		return err;
	return kl_surface_from_tree(&root->state, session->repo, &tree, begun.place);
}

static int find_root(struct session *session, const struct args *args)
{
	int err;

	if (args->again)
		return find_begun(session, args);
	session->root = (struct kl_materialize_root){ .workload = args->workload,
						      .root = args->root,
						      .dry = args->dry };
	if ((err = kl_materialize_root_find(&session->root, session->repo)) < 0)
		return err;
	session->name = args->name ? kl_strdup(args->name) :
				     kl_asprintf("%s-%" PRId64, args->policy, args->seed);
	return kl_name_is_slug(session->name) ?
		       0 :
		       kl_opt_usage(synopsis,
				    "invalid name '%s': use lower-case letters, digits, '.', '_' "
				    "and '-'",
				    session->name);
}

/* --- options that --continue finds again ------------------------------------------------------ */

static int recall_options(struct session *session, struct args *args)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/klineage/search/%s/%s.json",
						   kl_repo_common_dir(session->repo),
						   session->root.state->contract->workload,
						   session->name);
	int err = args->again ? kl_said_load(&session->kept, path) : 0;

	if (err < 0)
		return err;
	if (!session->kept)
		session->kept = json_object();
	if (session->judging.skill && !session->model.rewriter)
		session->model.rewriter = "chat";
	session->model.rewriter = kl_said_word(session->kept, "rewriter", session->model.rewriter);
	session->model.exec = kl_said_word(session->kept, "exec", session->model.exec);
	session->model.model = kl_said_word(session->kept, "model", session->model.model);
	session->model.budget = kl_said_word(session->kept, "budget", session->model.budget);
	args->platform = kl_said_word(session->kept, "platform", args->platform);
	if ((err = kl_skill_model_check(&session->model, synopsis)) < 0)
		return err;
	if (!kl_skill_model_is(&session->model))
		return kl_opt_usage(synopsis, "a search needs a model: --rewriter chat or exec");
	if (session->setup.policy == &kl_policy_command &&
	    strcmp(session->model.rewriter, "exec") != 0)
		return kl_opt_usage(synopsis, "policy command needs --rewriter exec");
	return args->dry ? 0 : kl_said_keep(session->kept, path);
}

/* --- the search ------------------------------------------------------------------------------ */

static int open_gate(struct session *session, const struct args *args)
{
	struct kl_gate_opts opts = { .jail = args->jail, .platform = args->platform };
	int err = kl_repo_config_int(&opts.profile_ms, session->repo, "klineage.profileMs", 0);

	if (err < 0)
		return err;
	session->progress = args->quiet ? NULL : kl_progress_new(KL_PROGRESS_AUTO);
	opts.progress = session->model.progress = session->progress;
	kl_progress_title(session->progress, "search %s", session->name);
	if (session->judging.mode != KL_JUDGING_REAL)
		return 0;
	if ((err = kl_gate_open(&session->gate, session->repo, &opts)) < 0)
		return err;
	if (kl_gate_is_remote(session->gate))
		return 0;
	return kl_gate_reaches(session->gate, session->root.state);
}

static int send_away(const struct session *session)
{
	const struct kl_cell *cell = &session->cell;
	KL_AUTO(kl_freep) char *then = kl_asprintf("git klineage search --continue --name %s %s",
						   session->name,
						   session->root.state->contract->workload);

	/* Before the root has its verdict, no search is stored that could be continued. */
	return kl_send_away_wait(&cell->wave.sent, cell->chain.n ? then : "this command again");
}

/* Measure the best candidate once more, then print what was found. */
static int report_search(struct session *session, const struct args *args)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *again = NULL;
	struct kl_search_result result = {
		.cell = &session->cell,
		.session = session->session,
		.workload = session->root.state->contract->workload,
		.name = session->name,
	};
	const struct kl_comparison *root = NULL;
	bool real = session->judging.mode == KL_JUDGING_REAL;
	bool confirms = real && session->cell.best && !session->cell.open;
	int confirmed = confirms ? kl_cell_confirm(&again, &session->cell) : 0;
	KL_AUTO(kl_freep) char *why = kl_strdup(kl_error_last());
	int err;

	kl_progress_free(kl_steal(&session->progress));
	session->model.progress = NULL;
	if (again) {
		result.again = again->event;
		root = kl_comparisons_parent(&again->event->profile.vs);
	}
	if ((err = kl_search_print(&result, args->json)) < 0)
		return err;
	/* Print the result even if the best candidate cannot be measured again. */
	if (confirmed < 0)
		return kl_error((enum kl_err)confirmed, "the best cannot be measured again: %s",
				why);
	if (session->cell.wave.sent.waiting)
		return send_away(session);
	if (!real)
		return session->cell.best ? 0 : 1;
	return root && root->speed == KL_SPEED_FAST ? 0 : 1;
}

/* Let the simulated model answer. */
static void use_player(struct session *session)
{
	session->player = (struct kl_player){ .table = session->table,
					      .base = session->root.state,
					      .skill = session->judging.skill };
	session->model.provider = "table";
	session->model.answer = kl_player_called;
	session->model.payload = &session->player;
}

static int run_search(struct session *session, const struct args *args)
{
	struct kl_cell_opts opts = {
		.repo = session->repo,
		.rewriter = session->model.rewriter,
		.name = session->name,
		.root = session->root.state,
		.commit = session->root.commit,
		.setup = args->again ? NULL : &session->setup,
		.judging = session->judging,
	};
	int err;

	session->model.purse = session->name;
	if (session->judging.skill)
		use_player(session);
	if ((err = open_gate(session, args)) < 0 ||
	    (err = kl_skill_model_open(&session->session, &session->model,
				       session->root.state->contract->workload)) < 0)
		return err;
	opts.gate = session->gate;
	opts.session = session->session;
	opts.progress = session->progress;
	if ((err = kl_cell_run(&session->cell, &opts)) < 0)
		return err;
	return report_search(session, args);
}

static int search_kernel(struct session *session, struct args *args)
{
	int err;

	if ((err = find_root(session, args)) < 0 ||
	    (!args->again &&
	     ((err = make_setup(session, args)) < 0 || (err = find_judging(session, args)) < 0)) ||
	    (err = recall_options(session, args)) < 0)
		return err;
	if (!args->dry)
		return run_search(session, args);
	kl_search_print_plan(
		&(struct kl_search_plan){ .setup = &session->setup,
					  .workload = session->root.state->contract->workload,
					  .name = session->name,
					  .budget = session->model.budget },
		args->json);
	return 0;
}

static int check_args(const struct args *args, int argc)
{
	if (argc > 1)
		return kl_opt_usage(synopsis, "too many arguments");
	if (args->again && (args->policy || args->preset || args->set || args->root ||
			    args->memory || args->judge || args->table || args->skill || args->dry))
		return kl_opt_usage(synopsis,
				    "--continue keeps policy, parameters and root of the search; "
				    "it cannot be used with --policy, --preset, --set, --root, "
				    "--memory, --judge, --table, --skill or --dry-run");
	if (args->again && (!args->name || !argc))
		return kl_opt_usage(synopsis, "--continue needs --name and the workload");
	if (!args->again && !args->policy)
		return kl_opt_usage(synopsis, "--policy is missing; --policies lists them");
	if (args->candidates < 1 || args->candidates > MOST_CANDIDATES)
		return kl_opt_usage(synopsis, "--candidates must be 1 to %d", MOST_CANDIDATES);
	if (args->width < 1 || args->width > MOST_WIDTH)
		return kl_opt_usage(synopsis, "--width must be 1 to %d", MOST_WIDTH);
	return 0;
}

int cmd_search(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(session_release) struct session session = {
		.repo = ctx->repo,
		.model = { .repo = ctx->repo, .of = KL_BUDGET_MATERIALIZE },
	};
	struct args args = { .candidates = CANDIDATES, .width = 1, .seed = 1 };
	const struct kl_opt opts[] = {
		KL_OPT_INT('\0', "candidates", &args.candidates, "<n>",
			   "make at most this many candidates (default: 40)"),
		KL_OPT_BOOL('\0', "continue", &args.again, "resume a search that stopped"),
		KL_OPT_BOOL('n', "dry-run", &args.dry,
			    "say what would be done and what cannot happen; send nothing"),
		KL_OPT_STR('\0', "jail", &args.jail, "<level>",
			   "use jail level auto, bwrap, landlock, chroot or none"),
		KL_OPT_STR('\0', "judge", &args.judge, "<mode>",
			   "take verdicts from the gate (real) or a table (recorded, noisy)"),
		KL_OPT_BOOL('\0', "json", &args.json, "print the result as JSON"),
		KL_OPT_STR('\0', "memory", &args.memory, "<name>",
			   "begin with a copy of this memory, or of one at a revision"),
		KL_OPT_STR('\0', "name", &args.name, "<name>",
			   "name the search (default: policy and seed)"),
		KL_OPT_STR('\0', "platform", &args.platform, "<id>",
			   "judge for cpu/x86-64-v1 to -v4"),
		KL_OPT_BOOL('\0', "policies", &args.list, "list the policies and their parameters"),
		KL_OPT_STR('\0', "policy", &args.policy, "<policy>", "search by this policy"),
		KL_OPT_STR('\0', "preset", &args.preset, "<preset>",
			   "take the parameters of a preset of the policy"),
		KL_OPT_STR('\0', "provider", &session.model.provider, "<name>",
			   "use this provider for chat; table: a simulated model"),
		KL_OPT_BOOL('q', "quiet", &args.quiet, "show no progress"),
		KL_OPT_STR('\0', "root", &args.root, "<rev>",
			   "start from a revision, worktree, best or baseline (default: HEAD)"),
		KL_OPT_INT('\0', "seed", &args.seed, "<n>",
			   "draw other random numbers (default: 1)"),
		KL_OPT_STR('\0', "set", &args.set, "<name>=<value>[,...]",
			   "set parameters of the policy"),
		KL_OPT_STR('\0', "skill", &args.skill, "<skill>",
			   "of the simulated model: weak, middling, strong or deaf"),
		KL_OPT_STR('\0', "table", &args.table, "<table>",
			   "the table of --judge recorded and noisy: a file, or a shipped one"),
		KL_OPT_INT('\0', "width", &args.width, "<n>",
			   "propose before the last n-1 candidates are known (default: 1)"),
		KL_SKILL_MODEL_OPTS(&session.model, "materialize"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (args.list) {
		kl_search_print_policies();
		return 0;
	}
	if ((err = check_args(&args, argc)) < 0)
		return err;
	args.workload = argc ? argv[0] : NULL;
	return search_kernel(&session, &args);
}
