/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime - the allocator that every kernel and oracle is linked with: malloc and
 * its kin over one arena that the gate's worker maps beforehand, since a
 * sealed kernel can ask the system for nothing.
 *
 * The worker sets the exported kl_rt_arena (by dlsym) before the first call.
 * All state lies at the arena's start: filling that page with anything (zeros, poison) between calls
 * makes the arena empty again. Without an arena, or when it is full, the
 * answer is NULL.
 *
 * Memory is aligned exactly as promised and no better - malloc to 16,
 * aligned_alloc(a) to a, never to 2a - so that a kernel which needs more than it asked
 * for faults here and not at its user's.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct kl_arena {
	unsigned char *base;
	size_t size;
};

struct kl_arena kl_rt_arena;

#define UNIT ((size_t)16)		/* sizes and addresses of blocks */
#define LEAST (2 * UNIT)		/* header and free links */
#define USED ((size_t)1)
#define MAGIC UINT64_C(0x6b6c2d6172656e61)

struct block {
	size_t size;		/* with this header; USED in bit 0 */
	size_t before;		/* size of the block before, 0: the first */
	struct block *next, *prev;	/* in the free list, while free */
};

struct state {
	uint64_t magic;
	struct block *free;	/* in no order */
	struct block *end;	/* a used block of no size behind the last */
	size_t spare;
};

static size_t size_of(const struct block *b)
{
	return b->size & ~USED;
}

static struct block *after(struct block *b)
{
	return (struct block *)((unsigned char *)b + size_of(b));
}

static void link_free(struct state *s, struct block *b)
{
	b->size &= ~USED;
	b->prev = NULL;
	b->next = s->free;
	if (s->free)
		s->free->prev = b;
	s->free = b;
	after(b)->before = b->size;
}

static void unlink_free(struct state *s, struct block *b)
{
	if (b->prev)
		b->prev->next = b->next;
	else
		s->free = b->next;
	if (b->next)
		b->next->prev = b->prev;
}

/* The arena's state; an arena that is new, or was wiped, becomes one free block. */
static struct state *state(void)
{
	struct state *s = (struct state *)kl_rt_arena.base;
	uint64_t magic = MAGIC ^ (uint64_t)(uintptr_t)s;
	size_t room = kl_rt_arena.size & ~(UNIT - 1);
	struct block *b;

	if (!s || room < sizeof(*s) + LEAST + UNIT)
		return NULL;
	if (s->magic == magic)
		return s;
	b = (struct block *)(s + 1);
	s->magic = magic;
	s->free = NULL;
	s->end = (struct block *)(kl_rt_arena.base + room - UNIT);
	b->size = (size_t)((unsigned char *)s->end - (unsigned char *)b);
	b->before = 0;
	s->end->size = USED;
	link_free(s, b);
	return s;
}

/* The first place in `b` for a block whose memory is `align` mod 2 `align`: 0 if there is none. */
static size_t place(const struct block *b, size_t need, size_t align)
{
	uintptr_t first = (uintptr_t)b + UNIT, at = first;

	at = ((at + align - 1) & ~(2 * align - 1)) + align;
	if (at < first)
		return 0;
	/* what is left in front must itself be a block */
	while (at != first && at - first < LEAST)
		at += 2 * align;
	return at - first <= b->size && b->size - (at - first) >= need ? at : 0;
}

/* Keep `need` bytes of the used block `b`, free the rest. */
static void trim(struct state *s, struct block *b, size_t need)
{
	size_t rest = size_of(b) - need;
	struct block *r;

	if (rest < LEAST) {
		after(b)->before = size_of(b);
		return;
	}
	b->size = need | USED;
	r = after(b);
	r->before = need;
	r->size = rest;
	link_free(s, r);
}

static void *take(struct state *s, struct block *b, uintptr_t at, size_t need)
{
	struct block *mine = (struct block *)(at - UNIT);
	size_t front = (size_t)((unsigned char *)mine - (unsigned char *)b);

	unlink_free(s, b);
	if (front) {
		mine->size = b->size - front;
		b->size = front;
		link_free(s, b);
	}
	mine->size |= USED;
	trim(s, mine, need);
	return (void *)at;
}

static void *allocate(size_t n, size_t align)
{
	struct state *s = state();
	size_t need;
	uintptr_t at;

	if (!s || n > kl_rt_arena.size || align > kl_rt_arena.size)
		return NULL;
	need = ((n + UNIT - 1) & ~(UNIT - 1)) + UNIT;
	if (need < LEAST)
		need = LEAST;
	for (struct block *b = s->free; b; b = b->next) {
		at = place(b, need, align);
		if (at)
			return take(s, b, at, need);
	}
	return NULL;
}

/* The block of `p`; a pointer that is none of ours, or was freed, stops the kernel. */
static struct block *block_of(void *p)
{
	struct block *b = (struct block *)((unsigned char *)p - UNIT);
	struct state *s = state();

	if (!s || (unsigned char *)b < (unsigned char *)(s + 1) || b >= s->end ||
	    ((uintptr_t)p & (UNIT - 1)) || !(b->size & USED) ||
	    size_of(b) > (size_t)((unsigned char *)s->end - (unsigned char *)b) ||
	    after(b)->before != size_of(b))
		__builtin_trap();
	return b;
}

void *malloc(size_t n)
{
	return allocate(n, UNIT);
}

void free(void *p)
{
	struct state *s = state();
	struct block *b, *other;

	if (!p)
		return;
	b = block_of(p);
	other = after(b);
	if (other != s->end && !(other->size & USED)) {
		unlink_free(s, other);
		b->size += other->size;
	}
	if (b->before) {
		other = (struct block *)((unsigned char *)b - b->before);
		if (!(other->size & USED)) {
			unlink_free(s, other);
			other->size += size_of(b);
			b = other;
		}
	}
	link_free(s, b);
}

void *calloc(size_t n, size_t size)
{
	size_t all;
	void *p;

	if (__builtin_mul_overflow(n, size, &all))
		return NULL;
	p = allocate(all, UNIT);
	return p ? memset(p, 0, all) : NULL;
}

void *realloc(void *p, size_t n)
{
	size_t old;
	void *q;

	if (!p)
		return malloc(n);
	old = size_of(block_of(p)) - UNIT;
	if (n && n <= old)
		return p;
	q = n ? malloc(n) : NULL;
	if (q)
		memcpy(q, p, old);
	if (q || !n)
		free(p);
	return q;
}

void *aligned_alloc(size_t align, size_t n)
{
	if (!align || (align & (align - 1)))
		return NULL;
	return allocate(n, align < UNIT ? UNIT : align);
}

int posix_memalign(void **out, size_t align, size_t n)
{
	void *p;

	if (align < sizeof(void *) || (align & (align - 1)))
		return 22;	/* EINVAL */
	p = aligned_alloc(align, n);
	if (!p)
		return 12;	/* ENOMEM */
	*out = p;
	return 0;
}
