/* SPDX-License-Identifier: Apache-2.0 */
/* chatd_account - a cache as providers have one, and what is charged */
#include "chatd.h"

#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

/*
 * A token has four bytes of text. Messages: what lies before a mark is written to the cache, if it
 * has 1024 tokens, and read from it up to the longest prefix that is there and ends with a block,
 * at most 20 blocks before a mark. Other protocols: every prefix of 128 tokens' multiple is
 * remembered, from 1024 on, without a fee.
 */
#define BYTES 4
#define LEAST 1024
#define STEP 128
#define LOOK_BACK 20
#define MOST_BLOCKS 1024

struct block {
	const char *text;
	bool mark, hour;
};

struct entry {
	unsigned char digest[SHA256_DIGEST_LENGTH];
	struct entry *next;
};

static struct entry *cache;

static bool is_cached(const unsigned char *digest)
{
	for (const struct entry *at = cache; at; at = at->next)
		if (!memcmp(at->digest, digest, sizeof(at->digest)))
			return true;
	return false;
}

static void remember(const unsigned char *digest)
{
	struct entry *entry;

	if (is_cached(digest))
		return;
	entry = calloc(1, sizeof(*entry));
	memcpy(entry->digest, digest, sizeof(entry->digest));
	entry->next = cache;
	cache = entry;
}

static long tokens(size_t bytes)
{
	return (long)((bytes + BYTES - 1) / BYTES);
}

/* --- the texts of a request ---------------------------------------------------------- */

static void add_block(struct block *block, size_t *n, const json_t *part)
{
	const json_t *mark = json_object_get(part, "cache_control");

	if (*n == MOST_BLOCKS)
		die("too many blocks");
	block[(*n)++] = (struct block){
		.text = json_is_string(part) ? json_string_value(part) : str(part, "text", ""),
		.mark = mark,
		.hour = !strcmp(str(mark, "ttl", ""), "1h"),
	};
}

static void add_content(struct block *block, size_t *n, const json_t *content)
{
	const json_t *part;
	size_t i;

	if (json_is_string(content))
		add_block(block, n, content);
	json_array_foreach(content, i, part)
		add_block(block, n, part);
}

static size_t blocks_of(struct block *block, const json_t *body)
{
	const json_t *list = json_object_get(body, "messages"), *message;
	size_t n = 0, i;

	add_content(block, &n, json_object_get(body, "system"));
	add_content(block, &n, json_object_get(body, "instructions"));
	if (!list)
		list = json_object_get(body, "input");
	json_array_foreach(list, i, message)
		add_content(block, &n, json_object_get(message, "content"));
	return n;
}

/* --- caches ----------------------------------------------------------------------------- */

static void account_marks(struct usage *usage, const struct block *block, size_t n)
{
	unsigned char digest[MOST_BLOCKS][SHA256_DIGEST_LENGTH];
	size_t bytes[MOST_BLOCKS], sum = 0, last = 0;
	long read = 0, written = 0;
	SHA256_CTX all;

	SHA256_Init(&all);
	for (size_t i = 0; i < n; i++) {
		SHA256_CTX here;

		SHA256_Update(&all, block[i].text, strlen(block[i].text) + 1);
		here = all;
		SHA256_Final(digest[i], &here);
		bytes[i] = sum += strlen(block[i].text);
		if (block[i].mark)
			last = i + 1;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; block[i].mark && k <= LOOK_BACK && k <= i; k++)
			if (tokens(bytes[i - k]) > read && is_cached(digest[i - k]))
				read = tokens(bytes[i - k]);
	for (size_t i = 0; i < last; i++) {
		long upto = tokens(bytes[i]);

		if (!block[i].mark || upto < LEAST || upto <= read + written)
			continue;
		*(block[i].hour ? &usage->cache_write_1h : &usage->cache_write_5m) += upto - read -
										      written;
		written = upto - read;
	}
	for (size_t i = 0; i < last; i++)
		if (block[i].mark && tokens(bytes[i]) >= LEAST)
			remember(digest[i]);
	usage->cache_read = read;
	usage->input = tokens(sum) - read - written;
}

static void account_prefixes(struct usage *usage, const struct block *block, size_t n)
{
	size_t sum = 0, len = 0;
	char *all;

	for (size_t i = 0; i < n; i++)
		sum += strlen(block[i].text) + 1;
	all = malloc(sum + 1);
	for (size_t i = 0; i < n; i++) {
		size_t k = strlen(block[i].text);

		memcpy(all + len, block[i].text, k);
		len += k;
		all[len++] = '\0';
	}
	for (size_t at = LEAST; at * BYTES <= len; at += STEP) {
		unsigned char digest[SHA256_DIGEST_LENGTH];

		SHA256((unsigned char *)all, at * BYTES, digest);
		if (is_cached(digest))
			usage->cache_read = (long)at;
		remember(digest);
	}
	usage->input = tokens(len) - usage->cache_read;
	free(all);
}

void account_request(struct conn *conn)
{
	struct block *block = calloc(MOST_BLOCKS, sizeof(*block));
	json_t *body = json_loads(conn->body, 0, NULL);
	size_t n = blocks_of(block, body);
	const json_t *text = json_object_get(conn->line, "text");

	conn->usage = (struct usage){ .told = true };
	if (conn->protocol == MESSAGES)
		account_marks(&conn->usage, block, n);
	else
		account_prefixes(&conn->usage, block, n);
	conn->usage.output = tokens(json_is_string(text) ? json_string_length(text) : 0) +
			     tokens(strlen(str(conn->line, "reasoning", "")));
	json_decref(body);
	free(block);
}

void charge_request(const struct conn *conn, FILE *bill)
{
	long sent = tokens(conn->sent);

	fprintf(bill,
		"{\"n\":%zu,\"model\":\"%s\",\"input\":%ld,\"cache_read\":%ld,\"cache_write_5m\":%ld,"
		"\"cache_write_1h\":%ld,\"output\":%ld}\n",
		conn->n, conn->model, conn->usage.input, conn->usage.cache_read,
		conn->usage.cache_write_5m, conn->usage.cache_write_1h,
		sent < conn->usage.output ? sent : conn->usage.output);
	fflush(bill);
}
