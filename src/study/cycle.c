/* SPDX-License-Identifier: Apache-2.0 */
#include "study/cycle.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"

/* the lines that each ticket removed from the kernel of its parent */
struct history {
	const struct kl_links *chain;
	struct kl_map *removed; /* one for each ticket */
};

static void history_release(struct history *history)
{
	for (size_t i = 0; i < history->chain->n; i++)
		kl_map_release(&history->removed[i]);
	free(history->removed);
}

static bool was_removed(const struct history *history, int64_t ticket, const char *line)
{
	for (; ticket > 0; ticket = history->chain->v[ticket].seen.parent)
		if (kl_map_get(&history->removed[ticket], line))
			return true;
	return false;
}

static bool is_blank(const char *line)
{
	return !line[strspn(line, " \t\r")];
}

static void count_line(int64_t *added, int64_t *again, struct history *history, int64_t ticket,
		       const char *line)
{
	if (is_blank(line + 1))
		return;
	if (*line == '-') {
		kl_map_put(&history->removed[ticket], line + 1, history);
	} else if (*line == '+') {
		++*added;
		*again += was_removed(history, history->chain->v[ticket].seen.parent, line + 1);
	}
}

/* Count the lines of a unified diff: those of its hunks, not of its headers. */
static void count_diff(int64_t *added, int64_t *again, struct history *history, int64_t ticket,
		       char *diff)
{
	bool in_hunk = false;

	for (char *line = diff, *next; *line; line = next) {
		size_t len = strcspn(line, "\n");

		next = line + len + (line[len] == '\n');
		line[len] = '\0';
		if (!strncmp(line, "diff --git ", 11))
			in_hunk = false;
		else if (!strncmp(line, "@@ ", 3))
			in_hunk = true;
		else if (in_hunk)
			count_line(added, again, history, ticket, line);
	}
}

static int count_ticket(int64_t *added, int64_t *again, struct history *history,
			struct kl_repo *repo, int64_t ticket)
{
	const struct kl_cell_link *link = &history->chain->v[ticket];
	const git_oid *parent = &history->chain->v[link->seen.parent].commit;
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	git_oid from, to;
	int err;

	if ((err = kl_repo_tree_of(&from, repo, parent)) < 0 ||
	    (err = kl_repo_tree_of(&to, repo, &link->commit)) < 0 ||
	    (err = kl_repo_diff(&diff, repo, &from, &to, NULL)) < 0)
		return err;
	if (diff.len)
		count_diff(added, again, history, ticket, diff.ptr);
	return 0;
}

int kl_cycle_count(int64_t *added, int64_t *again, struct kl_repo *repo,
		   const struct kl_links *chain)
{
	KL_AUTO(history_release) struct history history = {
		.chain = chain, .removed = kl_calloc(chain->n + 1, sizeof(struct kl_map))
	};
	int err = 0;

	for (size_t i = 1; !err && i < chain->n; i++) {
		const struct kl_observation *seen = &chain->v[i].seen;

		if (kl_observation_is_candidate(seen) && seen->parent >= 0 &&
		    seen->parent < (int64_t)i)
			err = count_ticket(added, again, &history, repo, (int64_t)i);
	}
	return err;
}
