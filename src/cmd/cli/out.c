/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/out.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/printable.h"
#include "cmd/cli/columns.h"

#define KEY_BYTES 16
#define MARK_BYTES (1 + KEY_BYTES + 1) /* ESC, the key, a letter for the colour */

struct kl_out {
	FILE *stream, *former;     /* our stream, and the stream that it replaces */
	int fd, error;             /* error: errno of the last write that failed; 0: none */
	struct kl_buf rest, ready; /* rest: an unfinished character or mark; ready: text to write */
	char mark[MARK_BYTES];     /* empty: no colours */
	char code[KL_PAINTS][sizeof(((struct kl_term *)0)->code[0])];
};

static int write_all(int fd, const char *data, size_t n)
{
	while (n) {
		ssize_t done = write(fd, data, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		data += done;
		n -= (size_t)done;
	}
	return 0;
}

/*
 * Return the colour of the mark at `text`; KL_PAINTS if there is no mark; -1 if `len` bytes are too
 * few to decide.
 */
static int read_mark(const struct kl_out *out, const char *text, size_t len)
{
	size_t n = len < MARK_BYTES ? len : MARK_BYTES - 1;
	int paint;

	if (!out->mark[0] || memcmp(text, out->mark, n))
		return KL_PAINTS;
	if (len < MARK_BYTES)
		return -1;
	paint = text[MARK_BYTES - 1] - 'a';
	return paint >= 0 && paint < KL_PAINTS ? paint : KL_PAINTS;
}

/*
 * Append the filtered text to `ready`. Stop before an unfinished character or mark at the end.
 * Return the number of bytes of `text` that were used.
 */
static size_t filter_text(struct kl_out *out, const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		const char *escape = memchr(text + at, '\033', len - at);
		int paint;

		if (!escape)
			return at + kl_printable_part(&out->ready, text + at, len - at);
		kl_printable_add(&out->ready, text + at, (size_t)(escape - text) - at);
		at = (size_t)(escape - text);
		paint = read_mark(out, escape, len - at);
		if (paint < 0)
			break;
		if (paint == KL_PAINTS)
			kl_printable_add(&out->ready, escape, 1);
		else
			kl_buf_adds(&out->ready, out->code[paint]);
		at += paint == KL_PAINTS ? 1 : MARK_BYTES;
	}
	return at;
}

static bool write_ready(struct kl_out *out)
{
	bool done = write_all(out->fd, out->ready.ptr, out->ready.len) == 0;

	if (!done)
		out->error = errno;
	kl_buf_clear(&out->ready);
	return done;
}

/* Write function of our stream, see fopencookie(3). Return `n`, or 0 if writing failed. */
static ssize_t write_stream(void *cookie, const char *data, size_t n)
{
	struct kl_out *out = cookie;
	size_t used;

	if (!out->rest.len) {
		used = filter_text(out, data, n);
		kl_buf_add(&out->rest, data + used, n - used);
	} else {
		kl_buf_add(&out->rest, data, n);
		used = filter_text(out, out->rest.ptr, out->rest.len);
		memmove(out->rest.ptr, out->rest.ptr + used, out->rest.len - used);
		out->rest.len -= used;
	}
	return write_ready(out) ? (ssize_t)n : 0;
}

static void put_stream(int fd, FILE *stream)
{
	if (fd == STDERR_FILENO)
		stderr = stream;
	else
		stdout = stream;
}

struct kl_out *kl_out_guard(int fd)
{
	cookie_io_functions_t calls = { .write = write_stream };
	struct kl_out *out = kl_calloc(1, sizeof(*out));

	out->fd = fd;
	out->rest = out->ready = (struct kl_buf)KL_BUF_INIT;
	out->stream = fopencookie(out, "w", calls);
	if (!out->stream)
		KL_BUG("no stream for descriptor %d", fd);
	/* the same buffering as the C library's own stdout and stderr */
	setvbuf(out->stream, NULL,
		fd == STDERR_FILENO ? _IONBF :
		isatty(fd)          ? _IOLBF :
				      _IOFBF,
		BUFSIZ);
	out->former = fd == STDERR_FILENO ? stderr : stdout;
	put_stream(fd, out->stream);
	return out;
}

void kl_out_end(struct kl_out *out)
{
	if (!out)
		return;
	put_stream(out->fd, out->former);
	fclose(out->stream);
	kl_buf_release(&out->rest);
	kl_buf_release(&out->ready);
	free(out);
}

/* Make a mark with a random key. Return false if the system gives no random bytes. */
static bool make_mark(char mark[MARK_BYTES])
{
	unsigned char random[KEY_BYTES];

	if (mark[0])
		return true;
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return false;
	for (size_t i = 0; i < KEY_BYTES; i++)
		mark[1 + i] = (char)('@' + random[i] % 32);
	mark[0] = '\033';
	return true;
}

void kl_out_paint(struct kl_out *out, struct kl_term *term)
{
	if (!term->code[KL_PAINT_RESET][0])
		return;
	memcpy(out->code, term->code, sizeof(out->code));
	memset(term->code, 0, sizeof(term->code));
	if (!make_mark(out->mark))
		return;
	for (size_t i = 0; i < KL_PAINTS; i++)
		if (out->code[i][0])
			snprintf(term->code[i], sizeof(term->code[i]), "%.*s%c", MARK_BYTES - 1,
				 out->mark, (char)('a' + i));
}

int kl_out_finish(struct kl_out *out)
{
	bool failed = fflush(out->stream) || ferror(out->stream);

	kl_printable_add(&out->ready, out->rest.ptr, out->rest.len);
	kl_buf_clear(&out->rest);
	if (!write_ready(out) || failed) {
		errno = out->error;
		return -1;
	}
	return 0;
}

/* Return true if stdout is a terminal or a pager. */
static bool is_watched(void)
{
	const char *pager = getenv("GIT_PAGER_IN_USE");

	return isatty(STDOUT_FILENO) || (pager && *pager);
}

void kl_out_exact(const void *data, size_t n)
{
	if (is_watched()) {
		fwrite(data, 1, n, stdout);
		return;
	}
	fflush(stdout);
	/* main() checks only the stream for errors, so make a write to the stream fail as well */
	if (write_all(STDOUT_FILENO, data, n) < 0)
		putchar('\n');
}

void kl_out_line(FILE *to, const char *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_printable_line(&buf, text, strlen(text));
	fputs(buf.ptr, to);
}

void kl_out_fold(const char *text, int column, int indent)
{
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
	int room = kl_term_room(), n;

	kl_printable_line(&line, text, strlen(text));
	for (const char *at = line.ptr; *at; at += n) {
		int spaces = (int)strspn(at, " "), wide;

		n = spaces + (int)strcspn(at + spaces, " ");
		wide = kl_columns_of(at, (size_t)n);
		if (room && spaces && column > indent && column + wide > room) {
			printf("\n%*s", indent, "");
			column = indent + wide - spaces;
		} else {
			printf("%*s", spaces, "");
			column += wide;
		}
		printf("%.*s", n - spaces, at + spaces);
	}
}

void kl_out_words(const char *label, const struct kl_strvec *words)
{
	if (!words->n)
		return;
	fputs(label, stdout);
	for (size_t i = 0; i < words->n; i++) {
		putchar(' ');
		kl_out_line(stdout, words->v[i]);
	}
	putchar('\n');
}
