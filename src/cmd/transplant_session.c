/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/transplant_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/prefix.h"
#include "cmd/cli/opt.h"
#include "cmd/send_away.h"

#define MAX_SECONDS 10000000
#define MAX_WITHIN 50 /* % */

int kl_transplant_args_check(struct kl_transplant_args *args, const char *synopsis)
{
	char *end;
	double percent;

	if (!args->within)
		args->within = "1%";
	percent = strtod(args->within, &end);
	if (end == args->within || (*end && strcmp(end, "%")) || !isfinite(percent) ||
	    percent < 0 || percent > MAX_WITHIN)
		return kl_opt_usage(
			synopsis,
			"--within needs a share from 0%% to %d%%, such as 1%% or 0.5%%, "
			"not '%s'",
			MAX_WITHIN, args->within);
	args->within_ppm = (int64_t)(percent * 10000 + 0.5);
	if (args->seconds < 0 || args->seconds > MAX_SECONDS)
		return kl_opt_usage(synopsis, "--seconds needs a number from 1 to %d", MAX_SECONDS);
	return 0;
}

/* --- the gate -------------------------------------------------------------------------------- */

static int judge_kernel(struct kl_judgement **out, const struct kl_surface *candidate,
			const struct kl_surface *parent, void *payload)
{
	return kl_gate_judge(out, payload, candidate, parent);
}

static int judge_anew(struct kl_judgement **out, const struct kl_surface *candidate,
		      const struct kl_surface *parent, void *payload)
{
	return kl_gate_judge_anew(out, payload, candidate, parent);
}

static bool is_again(const struct kl_event *event, void *payload)
{
	return kl_gate_is_again(payload, event);
}

static int open_gate(struct kl_transplant_session *session, struct kl_repo *repo,
		     const struct kl_transplant_args *args)
{
	const char *platform = session->transplant.view.step[0].step.platform;
	struct kl_gate_opts gate = { .progress = session->progress,
				     .jail = args->jail,
				     .platform = args->platform,
				     .same_code_fails = true };
	int err = kl_repo_config_int(&gate.profile_ms, repo, "klineage.profileMs", 0);

	if (err < 0)
		return err;
	if (!gate.platform && platform && kl_prefix_has(platform, "cpu/"))
		gate.platform = platform;
	if ((err = kl_gate_open(&session->gate, repo, &gate)) < 0)
		return err;
	session->opts = (struct kl_transplant_opts){
		.judge = judge_kernel,
		.judge_anew = judge_anew,
		.is_again = kl_gate_is_remote(session->gate) ? is_again : NULL,
		.payload = session->gate,
		.progress = session->progress,
		.step = session->step,
	};
	if (args->seconds)
		session->opts.deadline_ns = kl_clock_ns() + args->seconds * 1000000000;
	return 0;
}

/* --- the lineage ----------------------------------------------------------------------------- */

/* Split "<workload>[/<name>][:<step>]" at the colon; the caller frees both parts. */
static void split_operand(char **lineage, char **step, const char *what)
{
	const char *colon = what ? strrchr(what, ':') : NULL;

	*step = colon ? kl_strdup(colon + 1) : NULL;
	*lineage = !what ? NULL : colon ? kl_strndup(what, colon - what) : kl_strdup(what);
	if (*lineage && !**lineage) {
		free(*lineage);
		*lineage = NULL;
	}
}

static int find_step(struct kl_transplant_session *session, struct kl_repo *repo, const char *word)
{
	const struct kl_view *view = &session->transplant.view;
	int err = word ? kl_view_find(&session->step, view, repo, word) : 0;

	if (err < 0)
		return err;
	if (word && !session->step)
		return kl_error(KL_EINVALID,
				"K_0 is the first state of %s/%s: no step leads to it, name one "
				"from K_1 to K_%zu",
				view->workload, view->name, view->n - 1);
	return 0;
}

int kl_transplant_session_open(struct kl_transplant_session *out, struct kl_repo *repo,
			       const struct kl_transplant_args *args, const char *what)
{
	KL_AUTO(kl_freep) char *lineage = NULL, *step = NULL, *workload = NULL, *name = NULL;
	int err;

	*out = (struct kl_transplant_session){ 0 };
	split_operand(&lineage, &step, what);
	if ((err = kl_view_pick(&workload, &name, repo, lineage)) < 0 ||
	    (err = kl_transplant_load(&out->transplant, repo, workload, name)) < 0 ||
	    (err = find_step(out, repo, step)) < 0)
		return err;
	if (!args->quiet)
		out->progress = kl_progress_new(args->progress ? KL_PROGRESS_ALWAYS :
								 KL_PROGRESS_AUTO);
	return args->dry_run ? 0 : open_gate(out, repo, args);
}

void kl_transplant_session_quiet(struct kl_transplant_session *session)
{
	kl_progress_free(kl_steal(&session->progress));
}

struct judging {
	struct kl_transplant_session *session;
	int (*judge)(void *payload);
	void *payload;
};

static int judge_wave(void *payload)
{
	struct judging *judging = payload;

	kl_transplant_forget(&judging->session->transplant);
	return judging->judge(judging->payload);
}

int kl_transplant_session_judge(struct kl_transplant_session *session, int (*judge)(void *payload),
				void *payload)
{
	struct judging judging = { session, judge, payload };

	return kl_wave_run(&session->wave, session->gate, judge_wave, &judging);
}

int kl_transplant_session_end(const struct kl_transplant_session *session)
{
	return kl_send_away_wait(&session->wave.sent, "this command again");
}

void kl_transplant_session_close(struct kl_transplant_session *session)
{
	kl_transplant_session_quiet(session);
	kl_wave_release(&session->wave);
	kl_gate_free(session->gate);
	kl_transplant_release(&session->transplant);
}
