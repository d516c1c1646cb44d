/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_OUTAGE_FIXTURE_H
#define KL_OUTAGE_FIXTURE_H

/*
 * outage_fixture - a walk's request during an outage. The clock of base/clock.h is replaced: while
 * the request waits, what the code sleeps passes at once.
 */
#include "chatd_fixture.h"

#include <time.h>

#include "base/clock.h"
#include "model/ledger.h"
#include "model/request.h"

#define SECOND_NS INT64_C(1000000000)
#define GOOD "{\"text\":\"back again\",\"usage\":{\"input\":20,\"output\":10}}\n"
#define COST 210000 /* of this reply, nano-dollars */

static struct {
	bool skips;         /* a sleep ends at once */
	int64_t skipped_ns; /* time that passed in this way */
	int64_t ends_ns;    /* when the outage ends; 0 if it has ended */
	void (*end)(void);  /* lets the server be reached */
} outage;

static int64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
}

int64_t kl_clock_ns(void)
{
	return real_ns() + outage.skipped_ns;
}

void kl_clock_sleep_ms(int64_t ms)
{
	struct timespec delay = { ms / 1000, (ms % 1000) * 1000000 };

	if (!outage.skips) {
		nanosleep(&delay, NULL);
		return;
	}
	outage.skipped_ns += ms * 1000000;
	if (!outage.ends_ns || kl_clock_ns() < outage.ends_ns)
		return;
	outage.ends_ns = 0;
	outage.end();
}

void kl_clock_iso(char out[21])
{
	memcpy(out, "2026-11-20T10:00:00Z", 21);
}

/** Send a request. Return the error; without one, the reply is the text of GOOD. */
static int outage_ask(const char *dir)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_session_freep) struct kl_session *session = NULL;
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
	struct kl_session_opts opts = { .workload = "w" };
	struct kl_request request = { .user = "the kernel" };
	const char *reply = NULL;
	int err;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_session_open(&session, repo, &opts));
	assert_ok(
		kl_session_conversation(&conversation, session, "n", "back-0", request_system, 2));
	err = kl_request_send(&reply, &conversation, 0, &request);
	if (!err)
		assert_string_equal(reply, "back again");
	return err;
}

/**
 * Send a request during an outage that lasts for `ns` and that `end` ends. Return the error, whose
 * message has `says`.
 */
static int outage_ask_during(const char *dir, int64_t ns, void (*end)(void), const char *says)
{
	int err;

	outage.ends_ns = kl_clock_ns() + ns;
	outage.end = end;
	outage.skips = true;
	err = outage_ask(dir);
	outage.skips = false;
	if (err < 0)
		assert_contains(kl_error_last(), says);
	return err;
}

/** Check the settled amount in the ledger, in nano-dollars, and that nothing is reserved. */
static void outage_assert_settled(const char *dir, int64_t settled)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_ledger_totals totals;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_ledger_totals(&totals, repo, "w"));
	assert_int_equal(totals.of[KL_BUDGET_INDUCE].settled, settled);
	assert_int_equal(totals.of[KL_BUDGET_INDUCE].reserved, 0);
}

#endif
