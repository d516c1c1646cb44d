/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_memory - git klineage memory: shows, imports and retracts what searches begin with */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cmd.h"
#include "search/memory_branch.h"
#include "text/name.h"

static const char synopsis[] =
	"memory show [--json] <name>\n"
	"memory import --from adaexplore|kernelblaster --language <language> <name> "
	"<file>\n"
	"memory retract --reason <text> <name> <id>";

#define MOST_FILE ((size_t)16 << 20)
#define MOST_REASON 500

struct args {
	const char *from, *language, *reason;
	bool json;
};

/* Return the id of an entry: the name of its file without ".json". */
static char *entry_id(const char *path)
{
	const char *slash = strchr(path, '/'), *dot = strrchr(path, '.');

	return kl_strndup(slash + 1, (size_t)(dot - slash - 1));
}

static void print_entry(const char *path, const json_t *entry)
{
	const char *why = kl_json_str_or(entry, "retracted", NULL);
	int64_t count = kl_json_int_or(entry, "count", 0);
	KL_AUTO(kl_freep) char *id = entry_id(path);

	printf("%s %s for %s, from %s, %" PRId64 " time%s: ", id, kl_json_str_or(entry, "kind", ""),
	       kl_json_str_or(entry, "language", ""), kl_json_str_or(entry, "from", ""), count,
	       count == 1 ? "" : "s");
	if (json_object_get(entry, "technique"))
		printf("%s in %s saves %.1f %% (confidence %.2f): ",
		       kl_json_str_or(entry, "technique", ""), kl_json_str_or(entry, "state", ""),
		       (double)kl_json_int_or(entry, "saved_ppm", 0) / 1e4,
		       (double)kl_json_int_or(entry, "confidence_ppm", 0) / 1e6);
	kl_out_line(stdout, kl_json_str_or(entry, "text", ""));
	if (why) {
		fputs(" (retracted: ", stdout);
		kl_out_line(stdout, why);
		putchar(')');
	}
	putchar('\n');
}

static int show_memory(struct kl_repo *repo, char **argv, const struct args *args)
{
	KL_AUTO(json_decrefp) json_t *entries = NULL;
	KL_AUTO(json_decrefp) json_t *document = NULL;
	char hex[KL_OID_HEX];
	const char *path;
	json_t *entry;
	git_oid tip;
	int err = kl_memory_load(&entries, &tip, repo, argv[0]);

	if (err < 0)
		return err;
	if (args->json) {
		kl_oid_hex(hex, &tip);
		document = json_object();
		kl_json_set_str(document, "schema", "klineage.memory-show/1");
		kl_json_set_str(document, "commit", hex);
		kl_json_set(document, "entries", json_incref(entries));
		kl_listing_put(document);
		return 0;
	}
	json_object_foreach(entries, path, entry)
		print_entry(path, entry);
	return 0;
}

/* Load the memory that a command changes; it is empty if there is no branch of this name. */
static int load_branch(json_t **entries, git_oid *tip, struct kl_repo *repo, const char *name,
		       bool is_new)
{
	KL_AUTO(kl_freep) char *ref = kl_asprintf(KL_MEMORY_REFS "%s", name);
	int err;

	if (!kl_name_is_slug(name))
		return kl_opt_usage(synopsis,
				    "invalid name '%s': use lower-case letters, digits, '.', '_' "
				    "and '-'",
				    name);
	err = kl_refs_get(tip, repo, ref);
	if (err == KL_ENOTFOUND && is_new) {
		kl_error_clear();
		*tip = kl_oid_none;
		*entries = json_object();
		return 0;
	}
	return err < 0 ? kl_error((enum kl_err)err, "there is no memory '%s'", name) :
			 kl_memory_load(entries, tip, repo, ref);
}

static int import_file(struct kl_repo *repo, char **argv, const struct args *args)
{
	KL_AUTO(json_decrefp) json_t *entries = NULL;
	KL_AUTO(json_decrefp) json_t *before = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *message = NULL;
	struct kl_memory_file file = { .from = args->from, .language = args->language };
	git_oid tip;
	size_t n;
	int err;

	if (strcmp(args->from, "adaexplore") != 0 && strcmp(args->from, "kernelblaster") != 0)
		return kl_opt_usage(synopsis, "--from takes adaexplore or kernelblaster, not '%s'",
				    args->from);
	if (!args->language || !kl_name_is_slug(args->language))
		return kl_opt_usage(synopsis, "--language must name the language of the kernels "
					      "that the entries are about, such as cuda");
	if ((err = load_branch(&entries, &tip, repo, argv[0], true)) < 0 ||
	    (err = kl_fs_read(&text, argv[1], MOST_FILE)) < 0)
		return err;
	before = json_deep_copy(entries);
	file.text = text.ptr;
	file.len = text.len;
	if ((err = kl_memory_import(&n, entries, &file)) < 0)
		return kl_error_in(err, "'%s'", argv[1]);
	message = kl_asprintf("memory: import %zu entr%s from %s\n", n, n == 1 ? "y" : "ies",
			      args->from);
	if (!json_equal(entries, before) &&
	    (err = kl_memory_store(repo, argv[0], &tip, entries, message)) < 0)
		return err;
	printf("%zu entr%s read, %zu new\n", n, n == 1 ? "y" : "ies",
	       json_object_size(entries) - json_object_size(before));
	return 0;
}

static int retract_entry(struct kl_repo *repo, char **argv, const struct args *args)
{
	KL_AUTO(json_decrefp) json_t *entries = NULL;
	KL_AUTO(kl_freep) char *message = NULL;
	json_t *entry, *found = NULL;
	const char *path;
	git_oid tip;
	int err = load_branch(&entries, &tip, repo, argv[0], false);

	if (err < 0)
		return err;
	json_object_foreach(entries, path, entry) {
		KL_AUTO(kl_freep) char *id = entry_id(path);

		if (!strcmp(id, argv[1]))
			found = entry;
	}
	if (!found)
		return kl_error_hint(kl_error(KL_ENOTFOUND, "memory '%s' has no entry '%s'",
					      argv[0], argv[1]),
				     "git klineage memory show %s lists the entries", argv[0]);
	if (json_object_get(found, "retracted"))
		return kl_error(KL_EEXISTS, "entry '%s' is retracted already", argv[1]);
	kl_json_set_str(found, "retracted", args->reason);
	message = kl_asprintf("memory: retract %s\n\n%s\n", argv[1], args->reason);
	if ((err = kl_memory_store(repo, argv[0], &tip, entries, message)) < 0)
		return err;
	printf("%s is retracted; searches that began before keep what they were given\n", argv[1]);
	return 0;
}

static int run_verb(struct kl_repo *repo, int argc, char **argv, const struct args *args)
{
	const char *verb = argc ? argv[0] : "";

	if (!strcmp(verb, "show") && argc == 2 && !args->from && !args->language && !args->reason)
		return show_memory(repo, argv + 1, args);
	if (!strcmp(verb, "import") && argc == 3 && args->from && !args->reason && !args->json)
		return import_file(repo, argv + 1, args);
	if (!strcmp(verb, "retract") && argc == 3 && args->reason && !args->from &&
	    !args->language && !args->json) {
		if (!*args->reason || strlen(args->reason) > MOST_REASON)
			return kl_opt_usage(synopsis, "--reason must have 1 to %d bytes",
					    MOST_REASON);
		return retract_entry(repo, argv + 1, args);
	}
	return kl_opt_usage(synopsis,
			    argc ? "'memory %s' does not take these arguments" :
				   "a subcommand is missing%s",
			    verb);
}

int cmd_memory(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct args args = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_STR('\0', "from", &args.from, "<program>",
			   "import a file of adaexplore or kernelblaster"),
		KL_OPT_BOOL('\0', "json", &args.json, "print the entries as JSON"),
		KL_OPT_STR('\0', "language", &args.language, "<language>",
			   "say what kernels the imported entries are about, such as cuda"),
		KL_OPT_STR('\0', "reason", &args.reason, "<text>", "say why an entry is retracted"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	return run_verb(ctx->repo, argc, argv, &args);
}
