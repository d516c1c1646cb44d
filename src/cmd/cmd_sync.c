/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_sync - git klineage sync: exchanges lineages, cards and verdicts with a remote */
#include "cmd/cmd.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "sync/sync.h"
#include "text/json.h"

static const char synopsis[] = "sync [<options>] <remote>\n"
			       "sync (--setup | --unsetup) <remote>";

static const char *outcome_word(const struct kl_sync *s, enum kl_sync_how how)
{
	/* clang-format off */
	static const char *const would[] = {
		[KL_SYNC_TAKEN] = "would take", [KL_SYNC_MOVED] = "would take",
		[KL_SYNC_UNITED] = "would unite", [KL_SYNC_RENAMED] = "would rename",
		[KL_SYNC_GIVEN] = "would give", [KL_SYNC_LEFT] = "would leave",
	};
	/* clang-format on */

	return s->dry_run ? would[how] : kl_sync_how_name(how);
}

static void print_items(const struct kl_sync *s)
{
	for (size_t i = 0; i < s->n; i++)
		printf("%-*s %s%s%s\n", s->dry_run ? 12 : 8, outcome_word(s, s->v[i].how),
		       s->v[i].ref, *s->v[i].what ? ": " : "", s->v[i].what);
	if (!s->n)
		printf("nothing to exchange with '%s'\n", s->remote);
}

static void print_listing(const struct kl_listing *out, const struct kl_sync *s)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();
	json_t *items = json_array();

	for (size_t i = 0; i < s->n; i++) {
		json_t *one = json_object();

		kl_json_set_str(one, "how", kl_sync_how_name(s->v[i].how));
		kl_json_set_str(one, "ref", s->v[i].ref);
		kl_json_set_str(one, "what", s->v[i].what);
		json_array_append_new(items, one);
	}
	kl_json_set_str(j, "schema", "klineage.sync/1");
	kl_json_set_str(j, "remote", s->remote);
	kl_json_set_bool(j, "dry_run", s->dry_run);
	kl_json_set_int(j, "rounds", (int64_t)s->rounds);
	kl_json_set(j, "items", items);
	kl_listing_print(out, j, "items", (const char *const[]){ "how", "ref", "what", NULL });
}

static int run_sync(struct kl_sync *s, const struct kl_listing *out)
{
	size_t left = 0;
	int err = kl_sync_run(s);

	for (size_t i = 0; i < s->n; i++)
		left += s->v[i].how == KL_SYNC_LEFT;
	if (!err && kl_listing_asked(out))
		print_listing(out, s);
	else if (!kl_listing_asked(out) && (!err || s->n))
		print_items(s);
	kl_sync_release(s);
	return err ? err : left > 0;
}

/* The offer, shown as it stands in the configuration. */
static int set_up(struct kl_repo *r, const char *remote, bool on, bool dry_run)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec changed = KL_STRVEC_INIT, all = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec have = KL_STRVEC_INIT;
	int err = dry_run ? kl_sync_configured(&have, r, remote) :
			    kl_sync_setup(&changed, r, remote, on);

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
		printf("a plain 'git fetch %s' now brings them, too; undo: "
		       "git klineage sync --unsetup %s\n",
		       remote, remote);
	return 0;
}

int cmd_sync(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct kl_sync s = { .repo = ctx->repo, .fetch = true, .push = true };
	bool fetch = false, push = false, on = false, off = false;
	struct kl_listing out = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "fetch", &fetch, "only fetch and merge what the remote has"),
		KL_OPT_BOOL('\0', "push", &push, "only push what the remote lacks"),
		KL_OPT_BOOL('n', "dry-run", &s.dry_run, "show what would be done"),
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
		return kl_opt_usage(synopsis, argc ? "one remote at a time" : "which remote?");
	if (fetch + push + on + off > 1)
		return kl_opt_usage(synopsis, "one of --fetch, --push, --setup, --unsetup");
	if (on || off)
		return set_up(ctx->repo, argv[0], on, s.dry_run);
	if (fetch || push) {
		s.fetch = fetch;
		s.push = push;
	}
	s.remote = argv[0];
	return run_sync(&s, &out);
}
