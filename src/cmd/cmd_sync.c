/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_sync - git klineage sync: exchanges lineages, cards and events with a remote */
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cmd.h"
#include "sync/sync.h"
#include "text/json.h"

static const char synopsis[] = "sync [<options>] <remote>\n"
			       "sync (--setup | --unsetup) <remote>";

static const char *outcome_word(const struct kl_sync *sync, enum kl_sync_how how)
{
	/* clang-format off */
	static const char *const would[] = {
		[KL_SYNC_TAKEN] = "would take", [KL_SYNC_MOVED] = "would take",
		[KL_SYNC_UNITED] = "would unite", [KL_SYNC_RENAMED] = "would rename",
		[KL_SYNC_GIVEN] = "would give", [KL_SYNC_LEFT] = "would leave",
	};
	/* clang-format on */

	return sync->dry_run ? would[how] : kl_sync_how_name(how);
}

static void print_items(const struct kl_sync *sync)
{
	for (size_t i = 0; i < sync->n; i++)
		printf("%-*s %s%s%s\n", sync->dry_run ? 12 : 8, outcome_word(sync, sync->v[i].how),
		       sync->v[i].ref, *sync->v[i].what ? ": " : "", sync->v[i].what);
	if (!sync->n)
		printf("nothing to exchange with '%s'\n", sync->remote);
}

static void print_listing(const struct kl_listing *out, const struct kl_sync *sync)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *items = json_array();

	for (size_t i = 0; i < sync->n; i++) {
		json_t *one = json_object();

		kl_json_set_str(one, "how", kl_sync_how_name(sync->v[i].how));
		kl_json_set_str(one, "ref", sync->v[i].ref);
		kl_json_set_str(one, "what", sync->v[i].what);
		json_array_append_new(items, one);
	}
	kl_json_set_str(value, "schema", "klineage.sync/1");
	kl_json_set_str(value, "remote", sync->remote);
	kl_json_set_bool(value, "dry_run", sync->dry_run);
	kl_json_set_int(value, "rounds", (int64_t)sync->rounds);
	kl_json_set(value, "items", items);
	kl_listing_print(out, value, "items", (const char *const[]){ "how", "ref", "what", NULL });
}

static int run_sync(struct kl_sync *sync, const struct kl_listing *out)
{
	size_t left = 0;
	int err = kl_sync_run(sync);

	for (size_t i = 0; i < sync->n; i++)
		left += sync->v[i].how == KL_SYNC_LEFT;
	if (!err && kl_listing_asked(out))
		print_listing(out, sync);
	else if (!kl_listing_asked(out) && (!err || sync->n))
		print_items(sync);
	kl_sync_release(sync);
	return err ? err : left > 0;
}

/* Add or remove the fetch refspecs, and print the changed lines as in the configuration file. */
static int set_up(struct kl_repo *repo, const char *remote, bool on, bool dry_run)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec changed = KL_STRVEC_INIT, all = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec have = KL_STRVEC_INIT;
	int err = dry_run ? kl_sync_configured(&have, repo, remote) :
			    kl_sync_setup(&changed, repo, remote, on);

	if (err < 0)
		return err;
	kl_sync_refspecs(&all, remote);
	for (size_t i = 0; dry_run && i < all.n; i++)
		if (kl_strvec_has(&have, all.v[i]) != on)
			kl_strvec_push(&changed, all.v[i]);
	if (changed.n)
		printf("[remote \"%s\"]\n", remote);
	for (size_t i = 0; i < changed.n; i++)
		printf("%s\tfetch = %s\n", on ? "+" : "-", changed.v[i]);
	if (!changed.n)
		printf("nothing to change: remote '%s' is %s up\n", remote, on ? "set" : "not set");
	else if (on && !dry_run)
		printf("a plain 'git fetch %s' now fetches them as well; undo: git "
		       "klineage sync --unsetup %s\n",
		       remote, remote);
	return 0;
}

int cmd_sync(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct kl_sync sync = { .repo = ctx->repo, .fetch = true, .push = true };
	bool fetch = false, push = false, on = false, off = false;
	struct kl_listing out = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "fetch", &fetch, "only fetch and merge what the remote has"),
		KL_OPT_BOOL('\0', "push", &push, "only push what the remote lacks"),
		KL_OPT_BOOL('n', "dry-run", &sync.dry_run, "show what would be done"),
		KL_OPT_BOOL('\0', "setup", &on, "let a plain git fetch update the tracking refs"),
		KL_OPT_BOOL('\0', "unsetup", &off, "remove the lines that --setup adds"),
		KL_OPT_LISTING(&out),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = kl_listing_check(&out, synopsis)) < 0)
		return err;
	if (argc != 1)
		return kl_opt_usage(synopsis,
				    argc ? "only one remote can be given" : "no remote given");
	if (fetch + push + on + off > 1)
		return kl_opt_usage(
			synopsis, "--fetch, --push, --setup and --unsetup cannot be used together");
	if (on || off)
		return set_up(ctx->repo, argv[0], on, sync.dry_run);
	if (fetch || push) {
		sync.fetch = fetch;
		sync.push = push;
	}
	sync.remote = argv[0];
	return run_sync(&sync, &out);
}
