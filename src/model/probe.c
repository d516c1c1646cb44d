/* SPDX-License-Identifier: Apache-2.0 */
#include "model/probe.h"

#include "model/sending.h"

#define LINES 80 /* lines of the prompt, each of some 17 tokens */
#define LOCK_MS 1000

void kl_probe_release(struct kl_probe *probe)
{
	free(probe->provider);
	free(probe->model);
	free(probe->url);
	free(probe->price);
	kl_reply_release(&probe->reply);
	*probe = (struct kl_probe){ 0 };
}

bool kl_probe_works(const struct kl_probe *probe)
{
	return probe->reply.flaw == KL_FLAW_NONE && (!probe->price || probe->by == KL_COST_COUNTED);
}

static void add_filling(struct kl_buf *out)
{
	for (int i = 1; i <= LINES; i++)
		kl_buf_addf(
			out,
			"Line %d of %d: it only fills the prompt, so that a cache can hold it.\n",
			i, LINES);
}

static int send_probe(struct kl_probe *out, struct kl_session *session,
		      struct kl_conversation *conversation)
{
	KL_AUTO(kl_sending_release) struct kl_sending sending = { 0 };
	struct kl_request request = {
		.user = "Answer with one word: ready.",
		.max_tokens = KL_PROBE_TOKENS,
		.once = true,
	};
	struct kl_ledger_bill bill;
	int err = kl_sending_run(&sending, conversation, &request);

	if (err < 0)
		return err;
	out->ms = sending.ms;
	out->nano = sending.nano;
	out->by = sending.by;
	bill = kl_sending_bill(&sending);
	if (session->price &&
	    (err = kl_ledger_settle(session->repo, session->account, &bill, NULL)) < 0)
		return err;
	out->reply = sending.reply;
	sending.reply = (struct kl_reply){ 0 };
	return 0;
}

/*
 * Send the probe. Hold the lock of a conversation meanwhile, so that `chat settle` does not settle
 * the reservation of the probe.
 */
static int probe_session(struct kl_probe *out, struct kl_session *session)
{
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf filling = KL_BUF_INIT;
	const char *text[] = { NULL };
	int err;

	out->provider = kl_strdup(kl_provider_name(session->provider));
	out->model = kl_strdup(session->model);
	out->price = session->price ? kl_strdup(session->price->from) : NULL;
	add_filling(&filling);
	text[0] = filling.ptr;
	if ((err = kl_provider_target(&out->url, session->provider, session->model)) < 0 ||
	    (err = kl_conversation_lock(&lock, session->repo, KL_PROBE_WORKLOAD, "probe", "probe",
					LOCK_MS)) < 0 ||
	    (err = kl_session_conversation(&conversation, session, "probe", "probe", text, 1)) < 0)
		return err;
	return send_probe(out, session, &conversation);
}

int kl_probe_run(struct kl_probe *out, struct kl_repo *repo)
{
	KL_AUTO(kl_session_freep) struct kl_session *session = NULL;
	struct kl_session_opts opts = { .workload = KL_PROBE_WORKLOAD };
	int err;

	*out = (struct kl_probe){ 0 };
	if ((err = kl_session_open(&session, repo, &opts)) < 0)
		return err;
	return probe_session(out, session);
}
