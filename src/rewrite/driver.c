/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/driver.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "model/provider/flaw.h"
#include "rewrite/brief.h"
#include "rewrite/layout.h"
#include "rewrite/prompt.h"

void kl_driver_turn_release(struct kl_driver_turn *turn)
{
	kl_strvec_release(&turn->features);
	kl_map_release(&turn->values);
	kl_buf_release(&turn->key);
}

void kl_driver_release(struct kl_driver *driver)
{
	kl_conversation_release(&driver->conversation);
	kl_dialogue_release(&driver->dialogue);
	free(driver->phase);
	free(driver->why);
}

int kl_driver_open(struct kl_driver *driver, const struct kl_strvec *texts)
{
	int err = kl_session_conversation(&driver->conversation, driver->session, driver->name,
					  driver->phase, (const char *const *)texts->v, texts->n);

	driver->dialogue = (struct kl_dialogue)KL_DIALOGUE_INIT;
	driver->conversation.single = driver->single;
	return err;
}

int kl_driver_skip(struct kl_driver *driver, size_t turn)
{
	size_t stored = driver->conversation.n;

	if (turn > stored)
		return kl_error(KL_EINVALID,
				"conversation %s of '%s' has %zu turns, expected at least %zu",
				driver->phase, driver->name, stored, turn);
	driver->dialogue.turn = turn;
	if (turn >= driver->dialogue.most_turns)
		driver->dialogue.kind = KL_DIALOGUE_END;
	return 0;
}

/* --- asking ---------------------------------------------------------------------- */

static const char *find_prompt(const struct kl_driver *driver)
{
	enum kl_dialogue_kind kind = driver->dialogue.kind;

	if (driver->prompt[kind] || kind != KL_DIALOGUE_AGAIN)
		return driver->prompt[kind];
	return "again";
}

/* Set the placeholders of all dialogues: kernel, feedback, why the last reply was unusable. */
static void set_values(struct kl_map *values, const struct kl_driver *driver,
		       const struct kl_driver_turn *turn)
{
	struct kl_buf evidence = KL_BUF_INIT, meaning = KL_BUF_INIT, why = KL_BUF_INIT;

	if (!kl_map_get(values, "FILES"))
		kl_prompt_set(values, "FILES", kl_prompt_sources(turn->state, false));
	kl_feedback_write(&evidence, &turn->feedback);
	kl_prompt_set(values, "EVIDENCE", kl_buf_detach(&evidence));
	kl_feedback_explain(&meaning, &turn->feedback);
	kl_prompt_set(values, "MEANING", kl_buf_detach(&meaning));
	kl_prompt_set(values, "NUMBER", kl_asprintf("%d", driver->dialogue.repair));
	kl_prompt_set(values, "MOST", kl_asprintf("%d", KL_DIALOGUE_REPAIRS));
	kl_prompt_excerpt(&why, "", driver->why ? driver->why : "", KL_FEEDBACK_MAX / 2);
	kl_prompt_set(values, "WHY", kl_buf_detach(&why));
}

int kl_driver_write(struct kl_buf *out, const struct kl_driver *driver, struct kl_driver_turn *turn)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_dialogue *dialogue = &driver->dialogue;
	const char *prompt = find_prompt(driver);
	int err;

	if (!prompt)
		return kl_error(KL_EINVALID,
				"turn %zu of the stored conversation has a kind that "
				"this dialogue does not have",
				dialogue->turn + 1);
	set_values(&turn->values, driver, turn);
	kl_brief_head(&text, driver->phase, dialogue->turn, turn->state, dialogue->kind);
	if ((err = kl_prompt_fill(&text, driver->repo, prompt, &turn->values)) < 0)
		return err;
	kl_brief_clean(out, &text);
	return 0;
}

/* Ask a command, which finds the kernel in a temporary directory without a repository. */
static int ask_command(const char **reply, struct kl_driver *driver, struct kl_request *request,
		       const struct kl_surface *state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *top = NULL;
	KL_AUTO(kl_freep) char *dir = NULL;
	int err;

	if ((err = kl_fs_tempdir(&top, "klineage-exec")) < 0)
		return err;
	dir = kl_fs_join(top, "kernel");
	if ((err = kl_layout_write(dir, state)) < 0)
		return err;
	request->dir = dir;
	if (driver->edits) {
		request->collect = kl_layout_collect;
		request->payload = (void *)state;
	}
	return kl_request_send(reply, &driver->conversation, driver->dialogue.turn, request);
}

static int ask_turn(const char **reply, struct kl_driver *driver, struct kl_driver_turn *turn)
{
	KL_AUTO(kl_buf_release) struct kl_buf user = KL_BUF_INIT;
	struct kl_request request = { .alone = driver->alone, .about = driver->about };
	size_t number = driver->dialogue.turn;
	int err;

	if (!driver->fresh &&
	    (err = kl_brief_head_check(driver->state, driver->phase, number, turn->state)) < 0)
		return err;
	if ((err = kl_driver_write(&user, driver, turn)) < 0)
		return err;
	request.user = user.ptr;
	request.key = turn->key.ptr;
	if (driver->fresh && !strcmp(driver->rewriter, "exec"))
		return ask_command(reply, driver, &request,
				   turn->layout ? turn->layout : turn->state);
	return kl_request_send(reply, &driver->conversation, number, &request);
}

bool kl_driver_flaw(struct kl_buf *why, const struct kl_driver *driver, size_t turn)
{
	const struct kl_turn *stored = &driver->conversation.turn[turn];

	if (stored->flaw == KL_FLAW_NONE)
		return false;
	kl_flaw_explain(why, stored->flaw, stored->max_tokens);
	return true;
}

/* Refuse an unusable reply: the next turn tells its author why, or the dialogue ends. */
static int refuse_reply(struct kl_driver *driver, const char *why)
{
	KL_AUTO(kl_freep) char *text = kl_strdup(why);

	free(driver->why);
	driver->why = kl_steal(&text);
	kl_dialogue_unusable(&driver->dialogue);
	return 1;
}

int kl_driver_ask(const char **reply, struct kl_driver *driver, struct kl_driver_turn *turn)
{
	KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
	int err = ask_turn(reply, driver, turn);

	kl_driver_turn_release(turn);
	if (!err && kl_driver_flaw(&why, driver, driver->dialogue.turn))
		return refuse_reply(driver, why.ptr);
	return err;
}

/* --- turns ------------------------------------------------------------------------ */

bool kl_driver_next(struct kl_driver *driver)
{
	struct kl_dialogue *dialogue = &driver->dialogue;

	if (dialogue->kind == KL_DIALOGUE_END)
		return false;
	driver->fresh = dialogue->turn >= driver->conversation.n;
	if (!driver->fresh)
		kl_brief_head_read(&dialogue->kind, driver->state,
				   driver->conversation.turn[dialogue->turn].user, driver->phase,
				   dialogue->turn);
	return true;
}

int kl_driver_accept(struct kl_driver *driver, int err)
{
	if (err < 0 && err != KL_EINVALID && err != KL_ENO)
		return err;
	if (!err) {
		kl_freep(&driver->why);
		return 0;
	}
	refuse_reply(driver, kl_error_last());
	kl_error_clear();
	return 1;
}

bool kl_driver_gave_up(const struct kl_driver *driver)
{
	return driver->why && driver->dialogue.unusable >= driver->dialogue.most_unusable;
}
