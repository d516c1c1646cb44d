/* SPDX-License-Identifier: Apache-2.0 */
/* target_commit - fills a target from a committed state: its event and its history */
#include "retrieve/target.h"

#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "base/fs.h"
#include "event/event.h"
#include "event/trust.h"
#include "walk/step.h"

#define MAX_HISTORY 256 /* most commits whose trailers are read */

/* Add a forward step, or remove the last step that a backward step takes back. */
static void take_step(struct kl_target *target, const char *direction, const char *mechanism)
{
	struct kl_strvec *steps = &target->steps;
	size_t i = steps->n;

	if (!direction || !mechanism)
		return;
	if (!strcmp(direction, "forward")) {
		kl_strvec_push(steps, mechanism);
		return;
	}
	while (i > 0 && strcmp(steps->v[i - 1], mechanism) != 0)
		i--;
	if (!i)
		return;
	free(steps->v[i - 1]);
	memmove(&steps->v[i - 1], &steps->v[i], (steps->n - i) * sizeof(*steps->v));
	steps->v[--steps->n] = NULL;
}

static void take_trailers(struct kl_target *target, const char *message)
{
	static const char *const key[] = { "Klineage-Direction", "Klineage-Skill", "Klineage-Trait",
					   "Klineage-Mechanism" };
	char *value[KL_ARRAY_SIZE(key)] = { NULL };
	bool back;

	/* a new kernel starts at this commit: forget the work on the earlier kernel */
	if (kl_step_is_oracle_root(message)) {
		kl_strvec_release(&target->prior);
		target->prior = (struct kl_strvec)KL_STRVEC_INIT;
		kl_strvec_release(&target->steps);
		target->steps = (struct kl_strvec)KL_STRVEC_INIT;
		return;
	}
	kl_trailers_get(value, message, key, KL_ARRAY_SIZE(key));
	back = value[0] && !strcmp(value[0], "back");
	take_step(target, value[0], value[3]);
	if (value[1] && *value[1]) {
		value[1][strcspn(value[1], "@")] = '\0';
		if (!back && kl_slug_ok(value[1]))
			kl_target_add_prior(target, value[1]);
	}
	if (value[2]) {
		KL_AUTO(kl_strvec_release) struct kl_strvec traits = KL_STRVEC_INIT;

		kl_strvec_split(&traits, value[2], ", ");
		for (size_t i = 0; i < traits.n; i++) {
			KL_AUTO(kl_freep) char *fact = kl_asprintf("trait:%s", traits.v[i]);

			if (back)
				kl_target_drop_prior(target, fact);
			else
				kl_target_add_prior(target, fact);
		}
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(key); i++)
		free(value[i]);
}

/*
 * List the paths whose history is that of the kernel: its directory, or the files of its contract.
 */
static void history_paths(struct kl_strvec *out, const struct kl_surface *surface)
{
	if (!kl_contract_place_is_file(surface->place)) {
		kl_strvec_push(out, surface->dir);
		return;
	}
	for (size_t i = 0; i < surface->nfile; i++)
		kl_strvec_take(out, kl_fs_join(surface->dir, surface->file[i].path));
	kl_strvec_push(out, surface->place);
}

static int add_history(struct kl_target *target, struct kl_repo *repo, const git_oid *commit,
		       const struct kl_surface *surface)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) git_oid *at = NULL;
	size_t n = 0;
	int err;

	history_paths(&paths, surface);
	err = kl_repo_touching(&at, &n, repo, commit, (const char *const *)paths.v, paths.n,
			       MAX_HISTORY);
	for (size_t i = n; !err && i-- > 0;) {
		struct kl_commit past = { 0 };

		err = kl_repo_commit_read(&past, repo, &at[i]);
		if (!err)
			take_trailers(target, past.message);
		kl_commit_release(&past);
	}
	return err;
}

/* --- finding the event of a committed state --------------------------------------------------- */

static bool fits_platform(const struct kl_event *event, const char *platform)
{
	return event->verdict == KL_VERDICT_PASS &&
	       (!platform || !strcmp(event->place.id, platform));
}

/*
 * Return true if the event names `commit` as its commit. The event's id does not depend on that
 * commit.
 */
static bool is_on(const struct kl_event *event, const git_oid *commit)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	return !strcmp(event->commit, hex);
}

/*
 * Set *out to a passing event of the surface, or to NULL if there is none. A verdict is about
 * files, not about a commit, so a failure or a retraction in the note of any commit outweighs a
 * pass. Among the events that are left, prefer those in the note of `commit`, then the newest.
 */
static int find_event(struct kl_event **out, struct kl_repo *repo, const struct kl_surface *surface,
		      const git_oid *commit, const char *platform)
{
	KL_AUTO(kl_trust_release) struct kl_trust trust = { 0 };
	const struct kl_event *best = NULL;
	int err = kl_trust_add_surface(&trust, repo, surface->digest, surface->contract_digest);

	if (err < 0 || (err = kl_trust_judge(&trust, repo)) < 0)
		return err;
	for (size_t i = 0; i < trust.n; i++) {
		const struct kl_trust_line *line = &trust.v[i];

		if (line->event->kind == KL_KIND_GATE && line->sig.state != KL_SIGN_BAD &&
		    fits_platform(line->event, platform) &&
		    !kl_trust_is_retracted(&trust, line->event->id) &&
		    !kl_trust_is_outweighed(&trust, line->event) &&
		    (!best || (is_on(line->event, commit) && !is_on(best, commit))))
			best = line->event;
	}
	*out = kl_event_ref(best);
	return 0;
}

/* Get the platform on which this machine would judge the surface. */
static int guess_platform(char **out, struct kl_repo *repo, const struct kl_surface *surface)
{
	const char *asked = kl_repo_config(repo, "klineage.platform");
	int err = kl_backend_of(surface->contract)->guess(out, surface, asked);

	return err < 0 ? kl_error_hint(err, "use --platform <id> to name the platform") : 0;
}

int kl_target_of_commit(struct kl_target *out, const struct kl_taxonomy *tax, struct kl_repo *repo,
			const struct kl_surface *surface, const git_oid *commit,
			const char *platform)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	KL_AUTO(kl_freep) char *guessed = NULL;
	struct kl_target target = { .known = KL_KNOWN_INIT };
	int err = find_event(&event, repo, surface, commit, platform);

	if (err < 0)
		return err;
	if (!platform && event && *event->place.id)
		platform = event->place.id;
	if (!platform && (err = guess_platform(&guessed, repo, surface)) < 0)
		return err;
	err = kl_target_init(&target, tax, surface, platform ? platform : guessed);
	if (!err)
		err = add_history(&target, repo, commit, surface);
	if (!err && event)
		kl_target_add_event(&target, event);
	if (err < 0) {
		kl_target_release(&target);
		return err;
	}
	*out = target;
	return 0;
}
