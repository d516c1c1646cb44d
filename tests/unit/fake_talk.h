/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FAKE_TALK_H
#define KL_FAKE_TALK_H

/*
 * fake_talk - conversations in memory, in place of src/model: what is asked is kept, what is
 * answered stands in a script, phase by phase. As with the real ones a turn that was answered is
 * answered from the store, and a script that has come to its end is a budget that is spent.
 */
#include "model/session.h"
#include "test.h"

#define FAKE_TURNS 64

struct kl_session {
	int dummy;
};

struct kl_talk {
	char phase[32];
	char name[64];
	char *system;
	char *user[FAKE_TURNS], *key[FAKE_TURNS], *reply[FAKE_TURNS];
	size_t n;
	int opened;
};

static struct {
	struct kl_talk talk[32];
	size_t n;
	const char *const *script;	/* phase, reply, phase, reply ... NULL */
	size_t asked;			/* that were answered by the script */
	void (*in_dir)(const char *dir);	/* exec: what the command does there */
	char *broken;			/* an error in place of the next reply */
	bool seen;			/* whoever answers could see the repository */
} fake_talks;

static __attribute__((unused)) void fake_talks_clear(const char *const *script)
{
	for (size_t i = 0; i < fake_talks.n; i++) {
		struct kl_talk *t = &fake_talks.talk[i];

		for (size_t k = 0; k < t->n; k++) {
			free(t->user[k]);
			free(t->key[k]);
			free(t->reply[k]);
		}
		free(t->system);
	}
	memset(&fake_talks, 0, sizeof(fake_talks));
	fake_talks.script = script;
}

static __attribute__((unused)) struct kl_talk *fake_talk(const char *phase)
{
	for (size_t i = 0; i < fake_talks.n; i++)
		if (!strcmp(fake_talks.talk[i].phase, phase))
			return &fake_talks.talk[i];
	return NULL;
}

/* the n-th reply of a phase */
static const char *fake_line(const char *phase, size_t n)
{
	for (const char *const *s = fake_talks.script; s && s[0]; s += 2)
		if (!strcmp(s[0], phase) && !n--)
			return s[1];
	return NULL;
}

int kl_talk_open(struct kl_talk **out, struct kl_session *c, const char *name, const char *phase,
		 const char *const *system, size_t nsystem)
{
	struct kl_talk *t = fake_talk(phase);
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	assert_non_null(c);
	for (size_t i = 0; i < nsystem; i++)
		kl_buf_addf(&b, "%s\n", system[i]);
	if (!t) {
		assert_true(fake_talks.n < 32);
		t = &fake_talks.talk[fake_talks.n++];
		snprintf(t->phase, sizeof(t->phase), "%s", phase);
		snprintf(t->name, sizeof(t->name), "%s", name);
		t->system = kl_strdup(b.ptr);
	}
	assert_string_equal(t->system, b.ptr);
	assert_string_equal(t->name, name);
	t->opened++;
	*out = t;
	return 0;
}

void kl_talk_free(struct kl_talk *t)
{
	if (t)
		t->opened--;
}

size_t kl_talk_turns(const struct kl_talk *t)
{
	return t->n;
}

const char *kl_talk_user(const struct kl_talk *t, size_t turn)
{
	assert_true(turn < t->n);
	return t->user[turn];
}

const char *kl_talk_reply(const struct kl_talk *t, size_t turn)
{
	assert_true(turn < t->n);
	return t->reply[turn];
}

bool kl_talk_alone(const struct kl_talk *t, size_t turn)
{
	assert_true(turn < t->n);
	return !fake_talks.seen;
}

int kl_talk_ask(const char **reply, struct kl_talk *t, size_t turn, const struct kl_ask *ask)
{
	struct kl_buf b = KL_BUF_INIT;
	const char *line;

	assert_true(turn <= t->n && turn < FAKE_TURNS);
	if (turn < t->n) {
		/*
		 * A text that follows from records alone is the same each time. What a compound step removed
		 * besides is known only while it is held; its text stands as it was said.
		 */
		if (!strstr(t->user[turn], ": a part]"))
			assert_string_equal(t->user[turn], ask->user);
		assert_string_equal(t->key[turn], ask->key);
		*reply = t->reply[turn];
		return 0;
	}
	if (fake_talks.broken)
		return kl_error(KL_EIO, "%s", fake_talks.broken);
	line = fake_line(t->phase, turn);
	if (!line)
		return kl_error(KL_ENO, "the budget is spent: turn %zu of %s", turn, t->phase);
	kl_buf_adds(&b, line);
	if (ask->dir && fake_talks.in_dir)
		fake_talks.in_dir(ask->dir);
	if (ask->collect)
		assert_ok(ask->collect(&b, ask->dir, ask->payload));
	t->user[turn] = kl_strdup(ask->user);
	t->key[turn] = kl_strdup(ask->key);
	*reply = t->reply[turn] = kl_buf_detach(&b);
	t->n++;
	fake_talks.asked++;
	return 0;
}

#endif
