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
		struct fake_conversation *t = &fake_model.store[i];

		for (size_t k = 0; k < t->n; k++) {
			free(t->user[k]);
			free(t->key[k]);
			free(t->reply[k]);
		}
		free(t->system);
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
	for (const char *const *s = fake_model.script; s && s[0]; s += 2)
		if (!strcmp(s[0], phase) && !n--)
			return s[1];
	return NULL;
}

static void fake_push(struct kl_conversation *c, const struct fake_conversation *t, size_t i)
{
	static const git_oid none;
	struct kl_turn turn = {
		.user = kl_strdup(t->user[i]),
		.key = kl_strdup(t->key[i]),
		.reply = kl_strdup(t->reply[i]),
		.alone = !fake_model.seen,
	};

	kl_conversation_push(c, &turn, &none);
}

int kl_session_conversation(struct kl_conversation *out, struct kl_session *session,
			    const char *name, const char *phase, const char *const *system,
			    size_t nsystem)
{
	struct fake_conversation *t = fake_find(phase);
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	assert_non_null(session);
	for (size_t i = 0; i < nsystem; i++)
		kl_buf_addf(&b, "%s\n", system[i]);
	if (!t) {
		assert_true(fake_model.n < 32);
		t = &fake_model.store[fake_model.n++];
		snprintf(t->phase, sizeof(t->phase), "%s", phase);
		snprintf(t->name, sizeof(t->name), "%s", name);
		t->system = kl_strdup(b.ptr);
	}
	assert_string_equal(t->system, b.ptr);
	assert_string_equal(t->name, name);
	*out = (struct kl_conversation){ .phase = kl_strdup(phase), .session = session };
	for (size_t i = 0; i < t->n; i++)
		fake_push(out, t, i);
	return 0;
}

int kl_request_send(const char **reply, struct kl_conversation *conversation, size_t turn,
		    const struct kl_request *request)
{
	struct fake_conversation *t = fake_find(conversation->phase);
	struct kl_buf b = KL_BUF_INIT;
	const char *line;

	assert_true(turn <= t->n && turn < FAKE_TURNS);
	if (turn < t->n) {
		/*
		 * A text that follows from records alone is the same each time. What a compound
		 * step removed besides is known only while it is held; its text stands as it was
		 * said.
		 */
		if (!strstr(t->user[turn], ": a part]"))
			assert_string_equal(t->user[turn], request->user);
		assert_string_equal(t->key[turn], request->key);
		*reply = conversation->turn[turn].reply;
		return 0;
	}
	if (fake_model.broken)
		return kl_error(KL_EIO, "%s", fake_model.broken);
	line = fake_line(t->phase, turn);
	if (!line)
		return kl_error(KL_ENO, "the budget is spent: turn %zu of %s", turn, t->phase);
	kl_buf_adds(&b, line);
	if (request->dir && fake_model.in_dir)
		fake_model.in_dir(request->dir);
	if (request->collect)
		assert_ok(request->collect(&b, request->dir, request->payload));
	t->user[turn] = kl_strdup(request->user);
	t->key[turn] = kl_strdup(request->key);
	t->reply[turn] = kl_buf_detach(&b);
	t->n++;
	fake_push(conversation, t, turn);
	*reply = conversation->turn[turn].reply;
	fake_model.asked++;
	return 0;
}

#endif
