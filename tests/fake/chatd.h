/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHATD_H
#define CHATD_H

/*
 * chatd - what the files of the pretended provider share: chatd.c (connections, script, faults),
 * chatd_events.c (replies in three protocols), chatd_account.c (a cache, and what is charged).
 */
#include <jansson.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum protocol { MESSAGES, COMPLETIONS, RESPONSES };

struct usage {
	long input, output, cache_read, cache_write_5m, cache_write_1h;
	bool told; /* it is said at all */
};

struct conn {
	int fd;
	SSL *ssl;
	enum protocol protocol;
	bool drip, chunked, charged;
	long delay_ms;
	char *head, *body;
	size_t body_len;
	char key[4200]; /* that came */
	char *model;
	json_t *line;
	struct usage usage;
	size_t sent; /* bytes of text and reasoning that went out */
	size_t n;    /* number of the request */
};

/* chatd.c */
const char *str(const json_t *item, const char *key, const char *dflt);
long num(const json_t *item, const char *key, long dflt);
bool chunk(struct conn *conn, const char *at, size_t n);
void die(const char *what);

/* chatd_events.c; each is false when the other side is gone */
bool begin_reply(struct conn *conn);
bool send_thought(struct conn *conn, const char *text);
bool send_piece(struct conn *conn, const char *text, size_t n);
bool send_second(struct conn *conn); /* another answer beside the first */
bool send_call(struct conn *conn);
bool send_ping(struct conn *conn);
bool send_error(struct conn *conn, const char *type, const char *message);
bool finish_reply(struct conn *conn);
void end_reply(struct conn *conn);
json_t *error_document(const struct conn *conn, const char *message);

/* chatd_account.c */

/** Work out the usage of a request by a cache as the protocol's provider has one. */
void account_request(struct conn *conn);
/** Write what is charged for a request that was answered, wholly or in part. */
void charge_request(const struct conn *conn, FILE *bill);

#endif
