/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FAKE_CONVERSATION_H
#define KL_FAKE_CONVERSATION_H

/*
 * fake_conversation - conversations in memory, in place of src/model: what is asked is kept, what
 * is answered stands in a script, phase by phase. As with the real ones a turn that was answered is
 * answered from the store, and a script that has come to its end is a budget that is spent.
 */
#include "model/request.h"
#include "test.h"

#define FAKE_TURNS 64

struct kl_session {
	int dummy;
};

struct fake_conversation {
	char phase[32];
	char name[64];
	char *system;
	char *user[FAKE_TURNS], *key[FAKE_TURNS], *reply[FAKE_TURNS];
	size_t n;
	bool single; /* as the last request said */
};

static struct {
	struct fake_conversation store[32];
	size_t n;
	const char *const *script;       /* phase, reply, phase, reply ... NULL */
	size_t asked;                    /* that were answered by the script */
	void (*in_dir)(const char *dir); /* exec: what the command does there */
	char *broken;                    /* an error in place of the next reply */
	bool seen;                       /* whoever answers could see the repository */
} fake_model;

static __attribute__((unused)) void fake_clear(const char *const *script)
{
	for (size_t i = 0; i < fake_model.n; i++) {
		struct fake_conversation *conversation = &fake_model.store[i];

		for (size_t k = 0; k < conversation->n; k++) {
			free(conversation->user[k]);
			free(conversation->key[k]);
			free(conversation->reply[k]);
		}
		free(conversation->system);
	}
	memset(&fake_model, 0, sizeof(fake_model));
	fake_model.script = script;
}

static __attribute__((unused)) struct fake_conversation *fake_find(const char *phase)
{
	for (size_t i = 0; i < fake_model.n; i++)
		if (!strcmp(fake_model.store[i].phase, phase))
			return &fake_model.store[i];
	return NULL;
}

/* the n-th reply of a phase */
static const char *fake_line(const char *phase, size_t n)
{
	for (const char *const *list = fake_model.script; list && list[0]; list += 2)
		if (!strcmp(list[0], phase) && !n--)
			return list[1];
	return NULL;
}

static void fake_push(struct kl_conversation *other, const struct fake_conversation *conversation,
		      size_t i)
{
	static const git_oid none;
	struct kl_turn turn = {
		.user = kl_strdup(conversation->user[i]),
		.key = kl_strdup(conversation->key[i]),
		.reply = kl_strdup(conversation->reply[i]),
		.alone = !fake_model.seen,
	};

	kl_conversation_push(other, &turn, &none);
}

int kl_session_conversation(struct kl_conversation *out, struct kl_session *session,
			    const char *name, const char *phase, const char *const *system,
			    size_t nsystem)
{
	struct fake_conversation *conversation = fake_find(phase);
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	assert_non_null(session);
	for (size_t i = 0; i < nsystem; i++)
		kl_buf_addf(&buf, "%s\n", system[i]);
	if (!conversation) {
		assert_true(fake_model.n < 32);
		conversation = &fake_model.store[fake_model.n++];
		snprintf(conversation->phase, sizeof(conversation->phase), "%s", phase);
		snprintf(conversation->name, sizeof(conversation->name), "%s", name);
		conversation->system = kl_strdup(buf.ptr);
	}
	assert_string_equal(conversation->system, buf.ptr);
	assert_string_equal(conversation->name, name);
	*out = (struct kl_conversation){ .phase = kl_strdup(phase), .session = session };
	for (size_t i = 0; i < conversation->n; i++)
		fake_push(out, conversation, i);
	return 0;
}

int kl_request_send(const char **reply, struct kl_conversation *conversation, size_t turn,
		    const struct kl_request *request)
{
	struct fake_conversation *fake_conversation = fake_find(conversation->phase);
	struct kl_buf buf = KL_BUF_INIT;
	const char *line;

	assert_true(turn <= fake_conversation->n && turn < FAKE_TURNS);
	fake_conversation->single = conversation->single;
	if (turn < fake_conversation->n) {
		/*
		 * A text that follows from records alone is the same each time. What a compound
		 * step removed besides is known only while it is held; its text stands as it was
		 * said.
		 */
		if (!strstr(fake_conversation->user[turn], ": a part]"))
			assert_string_equal(fake_conversation->user[turn], request->user);
		assert_string_equal(fake_conversation->key[turn], request->key);
		*reply = conversation->turn[turn].reply;
		return 0;
	}
	if (fake_model.broken)
		return kl_error(KL_EIO, "%s", fake_model.broken);
	line = fake_line(fake_conversation->phase, turn);
	if (!line)
		return kl_error(KL_ENO, "the budget is spent: turn %zu of %s", turn,
				fake_conversation->phase);
	kl_buf_adds(&buf, line);
	if (request->dir && fake_model.in_dir)
		fake_model.in_dir(request->dir);
	if (request->collect)
		assert_ok(request->collect(&buf, request->dir, request->payload));
	fake_conversation->user[turn] = kl_strdup(request->user);
	fake_conversation->key[turn] = kl_strdup(request->key);
	fake_conversation->reply[turn] = kl_buf_detach(&buf);
	fake_conversation->n++;
	fake_push(conversation, fake_conversation, turn);
	*reply = conversation->turn[turn].reply;
	fake_model.asked++;
	return 0;
}

#endif
