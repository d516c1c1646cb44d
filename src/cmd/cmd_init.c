/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_init - git klineage init: writes a contract, a template with its history, or a CI recipe */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "cmd/init_template.h"
#include "cmd/sign_offer.h"
#include "contract/contract.h"
#include "contract/skeleton.h"
#include "lineage/starter.h"
#include "repo/refs.h"

static const char synopsis[] =
	"init [--entry <function>] [--workload <name>] [--adapter] <kernel file>\n"
	"init --template <name> [<dir>]\n"
	"init --ci github|gitlab\n"
	"init --sign\n"
	"init --list [--json | --porcelain | -z]";

static void add_template(json_t *list, struct kl_table *table, const struct kl_starter *starter)
{
	KL_AUTO(kl_freep) char *commits = kl_asprintf("%zu", starter->patches.n);
	json_t *object = json_object();

	kl_json_set_str(object, "name", starter->name);
	kl_json_set_int(object, "commits", (int64_t)starter->patches.n);
	kl_json_set_str(object, "summary", starter->summary);
	json_array_append_new(list, object);
	kl_table_row(table, (const char *[]){ starter->name, commits, starter->summary });
}

static int list_templates(const struct kl_listing *out)
{
	static const char *const fields[] = { "name", "commits", "summary", NULL };
	KL_AUTO(json_decrefp) json_t *value = json_object();
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = 3 };
	json_t *list = json_array();
	int err = kl_starter_list(&names);

	kl_table_row(&table, (const char *[]){ "template", "commits", "kernel" });
	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_starter_freep) struct kl_starter *starter = NULL;

		err = kl_starter_open(&starter, names.v[i]);
		if (!err)
			add_template(list, &table, starter);
	}
	kl_json_set_str(value, "schema", "klineage.templates/1");
	kl_json_set(value, "templates", list);
	if (!err && kl_listing_asked(out))
		kl_listing_print(out, value, "templates", fields);
	else if (!err)
		kl_table_print(&table);
	return err;
}

/* If the current directory is in a repository, print how to set up its remotes and signing. */
static void offer_here(void)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;

	if (kl_repo_open(&repo) == 0) {
		kl_init_offer_remotes(repo);
		kl_sign_offer(repo);
	}
	kl_error_clear();
}

/* --- a contract for a kernel ----------------------------------------------- */

static int check_new(const char *dir, const char *name)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, name);

	if (!kl_fs_exists(path))
		return 0;
	kl_error(KL_EEXISTS, "'%s' already exists; not overwriting it", path);
	return kl_error_hint(KL_EEXISTS, "edit it, or move it away and run this again");
}

static int write_new(const char *dir, const char *name, const struct kl_buf *text)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, name);

	return kl_fs_write(path, text->ptr, text->len);
}

/* Return true if the directory has a contract of another workload. */
static bool is_of_another(const char *dir, const char *workload)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, KL_CONTRACT_FILE);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *line, *word = "\nworkload:";
	size_t n;

	if (!kl_fs_exists(path) || kl_fs_read(&text, path, KL_CONTRACT_MAX_BYTES) < 0) {
		kl_error_clear();
		return false;
	}
	/* do not parse the text, because it may not be a valid contract yet */
	line = strstr(text.ptr, word);
	if (!line)
		return false;
	line += strlen(word);
	line += strspn(line, " ");
	n = strcspn(line, " \r\n#");
	return strlen(workload) != n || strncmp(line, workload, n) != 0;
}

static void print_todo(const struct kl_todo *todo)
{
	for (size_t i = 0; i < todo->line.n; i++)
		printf("       %s\n", todo->line.v[i]);
}

static void print_next(const struct kl_skeleton *sk, const char *leaf)
{
	bool further = strcmp(sk->contract_name, KL_CONTRACT_FILE) != 0;

	printf("wrote %s and %s next to %s, from `%s`\n", sk->contract_name, sk->oracle_name, leaf,
	       sk->prototype);
	if (sk->unit_name)
		printf("wrote %s, which includes %s and is compiled\n", sk->unit_name, leaf);
	if (sk->plan_name)
		printf("wrote their launch plans %s and %s\n", sk->plan_name, sk->oracle_plan_name);
	if (sk->adapter_name)
		printf("wrote the adapter %s, which calls the kernel\n", sk->adapter_name);
	else if (sk->unknown)
		printf("contracts cannot express the types of %d of the arguments; to use an "
		       "adapter, which calls the kernel,\nremove the two files and run: git "
		       "klineage init --adapter %s\n",
		       sk->unknown, leaf);
	puts("next:");
	printf("  1. fill in what is marked TODO in %s (%zu places):\n", sk->contract_name,
	       sk->todo.n);
	print_todo(&sk->todo);
	if (sk->plan_todo.n)
		printf("     and in %s (%zu places):\n", sk->plan_name, sk->plan_todo.n);
	print_todo(&sk->plan_todo);
	printf("  2. write the oracle: plain code that is correct, however slow%s%s\n",
	       sk->plan_name ? ", and its launch in " : "",
	       sk->plan_name ? sk->oracle_plan_name : "");
	if (sk->adapter_name)
		puts("  3. write the adapter, and list in the contract the tensors, dims and "
		     "scalars "
		     "that it\n     takes instead of the kernel's arguments");
	printf("  %d. git klineage gate --worktree%s%s\n", sk->adapter_name ? 4 : 3,
	       further ? " --workload " : "", further ? sk->workload : "");
}

/* Write all files or, if one of them exists, none. */
static int write_files(const char *dir, const struct kl_skeleton *sk)
{
	const struct {
		const char *name;
		const struct kl_buf *text;
	} files[] = { { sk->oracle_name, &sk->oracle },
		      { sk->adapter_name, &sk->adapter },
		      { sk->unit_name, &sk->unit },
		      { sk->plan_name, &sk->plan },
		      { sk->oracle_plan_name, &sk->oracle_plan },
		      { sk->contract_name, &sk->contract } };
	int err = 0;

	for (int writing = 0; writing < 2; writing++)
		for (size_t i = 0; i < KL_ARRAY_SIZE(files) && !err; i++)
			if (files[i].name)
				err = writing ? write_new(dir, files[i].name, files[i].text) :
						check_new(dir, files[i].name);
	return err;
}

static int init_kernel(const char *path, const char *entry, const char *workload, bool adapted)
{
	KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *slash = strrchr(path, '/');
	const char *leaf = slash ? slash + 1 : path;
	KL_AUTO(kl_freep) char *dir = slash ? kl_strndup(path, (size_t)(slash - path) + 1) :
					      kl_strdup(".");
	int err = kl_fs_read(&text, path, 4 << 20);

	sk.adapted = adapted;
	if (!err)
		err = kl_skeleton_make(&sk, leaf, text.ptr, text.len, entry, workload, false);
	if (!err && is_of_another(dir, sk.workload)) {
		kl_skeleton_release(&sk);
		sk = (struct kl_skeleton)KL_SKELETON_INIT;
		sk.adapted = adapted;
		err = kl_skeleton_make(&sk, leaf, text.ptr, text.len, entry, workload, true);
	}
	if (err < 0)
		return err;
	if ((err = write_files(dir, &sk)) < 0)
		return err;
	print_next(&sk, leaf);
	offer_here();
	return 0;
}

/* --- a recipe for CI --------------------------------------------------------- */

/* The files of templates/ci, and the paths where the forges expect them. */
static const struct recipe {
	const char *forge, *from, *to;
} recipes[] = {
	{ "github", "github-actions.yml", ".github/workflows/klineage.yml" },
	{ "github", "github-report.yml", ".github/workflows/klineage-report.yml" },
	{ "gitlab", "gitlab-ci.yml", ".gitlab-ci.yml" },
};

static int read_recipe(struct kl_buf *text, const struct recipe *recipe)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("templates/ci/%s", recipe->from);
	KL_AUTO(kl_freep) char *path = NULL;
	int err = kl_fs_share(&path, name);

	return err < 0 ? err : kl_fs_read(text, path, 1 << 20);
}

/*
 * Write all recipes of the forge or none: check that no target exists before the first is written.
 */
static int init_ci(const char *forge)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	size_t n = 0;
	int err = kl_repo_open(&repo);

	if (err < 0)
		return err;
	if (!kl_repo_worktree(repo))
		return kl_error(KL_EINVALID, "cannot add a CI recipe to a bare repository");
	for (int writing = 0; writing < 2; writing++) {
		for (size_t i = 0; i < KL_ARRAY_SIZE(recipes); i++) {
			KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
			KL_AUTO(kl_freep) char *path = kl_fs_join(kl_repo_worktree(repo),
								  recipes[i].to);

			if (strcmp(recipes[i].forge, forge))
				continue;
			n++;
			if (!writing && kl_fs_exists(path)) {
				err = kl_error(KL_EEXISTS,
					       "'%s' already exists; not overwriting it",
					       recipes[i].to);
				return kl_error_hint(err, "compare it with templates/ci/%s",
						     recipes[i].from);
			}
			if (writing && ((err = read_recipe(&text, &recipes[i])) < 0 ||
					(err = kl_fs_mkdir_of(path)) < 0 ||
					(err = kl_fs_write(path, text.ptr, text.len)) < 0))
				return err;
			if (writing)
				printf("wrote %s\n", recipes[i].to);
		}
	}
	if (!n)
		return kl_opt_usage(synopsis, "no CI recipe for '%s' (available: github, gitlab)",
				    forge);
	puts("next: follow the instructions in the first lines of each file, then commit");
	kl_sign_offer(repo);
	return 0;
}

static int init_sign(void)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	int err = kl_repo_open(&repo);

	return err < 0 ? err : kl_sign_set_up(repo);
}

int cmd_init(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	const char *template = NULL, *entry = NULL, *workload = NULL, *ci = NULL;
	struct kl_listing out = { 0 };
	bool list = false, sign = false, adapted = false;
	const struct kl_opt opts[] = { KL_OPT_STR('\0', "template", &template, "<name>",
						  "copy this shipped workload with its history"),
				       KL_OPT_STR('\0', "ci", &ci, "github|gitlab",
						  "write CI recipes that judge pull requests"),
				       KL_OPT_BOOL('\0', "sign", &sign,
						   "sign verdicts, and list your key"),
				       KL_OPT_BOOL('\0', "list", &list, "list the templates"),
				       KL_OPT_STR('\0', "entry", &entry, "<function>",
						  "use this function, if the file has several"),
				       KL_OPT_STR('\0', "workload", &workload, "<name>",
						  "name the workload (default: the entry's "
						  "name)"),
				       KL_OPT_BOOL('\0', "adapter", &adapted,
						   "also write an adapter, which calls the kernel"),
				       KL_OPT_LISTING(&out),
				       KL_OPT_END };
	int done = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (done)
		return done > 0 ? 0 : done;
	if ((done = kl_listing_check(&out, synopsis)) < 0)
		return done;
	if (kl_listing_asked(&out) && !list)
		return kl_opt_usage(synopsis, "--json, --porcelain and -z need --list");
	if ((entry || workload || adapted) && (sign || list || ci || template))
		return kl_opt_usage(synopsis,
				    "--entry, --workload and --adapter need a kernel file");
	if (sign)
		return argc || template || ci || list ?
			       kl_opt_usage(synopsis, "--sign takes no other option or argument") :
			       init_sign();
	if (list)
		return argc || template || ci ?
			       kl_opt_usage(synopsis, "--list cannot be used with --template, --ci "
						      "or an argument") :
			       list_templates(&out);
	if (ci)
		return argc || template ?
			       kl_opt_usage(synopsis,
					    "--ci cannot be used with --template or an argument") :
			       init_ci(ci);
	if (template)
		return argc > 1 ? kl_opt_usage(synopsis, "only one directory can be given") :
				  kl_init_template(template, argc ? argv[0] : NULL);
	if (argc != 1)
		return kl_opt_usage(synopsis, "expected one kernel file");
	return init_kernel(argv[0], entry, workload, adapted);
}
