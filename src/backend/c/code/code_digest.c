/* SPDX-License-Identifier: Apache-2.0 */
/* code_digest - computes the digest of the code and data that the entry reaches */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/c/code/code.h"
#include "base/map.h"
#include "text/digest.h"

/*
 * The digest does not depend on names and addresses. The functions are hashed in the order in which
 * they are first referenced. Each instruction is hashed as text, with a target in place of the
 * operand's address. A target is the number of a function and of an instruction in it (not counting
 * padding), a library symbol, or the number of a piece of data. The bytes of all referenced pieces
 * are hashed at the end. A piece is a string or constant in a mergeable section, the bytes of a
 * symbol or, if no symbol covers the address, the rest of the section.
 */
struct piece {
	size_t obj, sec;
	uint64_t off, len;
};

struct hasher {
	const struct kl_code *code;
	struct kl_digest *digest;
	size_t *func_no; /* number of each function, from 1; 0 if not referenced yet */
	size_t nfunc_no;
	size_t *insn_no; /* number of each instruction in its function, not counting padding */
	struct piece *piece;
	size_t npiece, alloc;
	struct kl_map known; /* "<object>.<section>.<offset>" -> index in `piece`, plus 1 */
};

static void sized_by_symbol(struct piece *piece, const struct kl_object *object, uint64_t *inner)
{
	for (size_t i = 0; i < object->nsym; i++) {
		const struct kl_osym *symbol = &object->sym[i];

		if (symbol->sec != (int)piece->sec || symbol->type != STT_OBJECT || !symbol->size)
			continue;
		if (piece->off < symbol->value || piece->off - symbol->value >= symbol->size ||
		    symbol->size > object->sec[piece->sec].size - symbol->value)
			continue;
		*inner = piece->off - symbol->value;
		piece->off = symbol->value;
		piece->len = symbol->size;
		return;
	}
}

/* Find the piece that a reference points into, and set *inner to the offset in the piece. */
static struct piece find_piece(const struct kl_code *code, const struct kl_ref *ref,
			       uint64_t *inner)
{
	const struct kl_object *object = code->obj[ref->obj];
	const struct kl_osec *section = &object->sec[ref->sec];
	struct piece piece = { .obj = ref->obj, .sec = ref->sec };

	*inner = 0;
	if (ref->off < 0 || (uint64_t)ref->off >= section->size) {
		/*
		 * the pointer is outside its section: use the whole section, and the offset from
		 * its start
		 */
		*inner = (uint64_t)ref->off;
		piece.len = section->size;
		return piece;
	}
	piece.off = (uint64_t)ref->off;
	piece.len = section->size - piece.off;
	if (section->flags & SHF_STRINGS && section->data) {
		const void *end = memchr(section->data + piece.off, 0, piece.len);

		piece.len = end ? (uint64_t)((const unsigned char *)end - section->data) + 1 -
					    piece.off :
				  piece.len;
	} else if ((section->flags & SHF_MERGE) && section->entsize &&
		   section->entsize <= section->size) {
		*inner = piece.off % section->entsize;
		piece.off -= *inner;
		piece.len = piece.off + section->entsize <= section->size ?
				    section->entsize :
				    section->size - piece.off;
	} else {
		sized_by_symbol(&piece, object, inner);
	}
	return piece;
}

static size_t piece_number(struct hasher *hasher, const struct piece *piece)
{
	char key[80];
	void *known;

	snprintf(key, sizeof(key), "%zu.%zu.%llu", piece->obj, piece->sec,
		 (unsigned long long)piece->off);
	known = kl_map_get(&hasher->known, key);
	if (known)
		return (size_t)(uintptr_t)known - 1;
	KL_GROW(hasher->piece, hasher->npiece + 1, hasher->alloc);
	hasher->piece[hasher->npiece++] = *piece;
	kl_map_put(&hasher->known, key, (void *)(uintptr_t)hasher->npiece);
	return hasher->npiece - 1;
}

static void add_ref(struct hasher *hasher, const struct kl_ref *ref)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct piece piece;
	uint64_t inner;

	switch (ref->kind) {
	case KL_REF_NONE:
		return;
	case KL_REF_EXTERN:
		kl_buf_addf(&buf, "<%s%+lld>", ref->name, (long long)ref->off);
		break;
	case KL_REF_CODE:
		if (!hasher->func_no[ref->func])
			hasher->func_no[ref->func] = ++hasher->nfunc_no;
		kl_buf_addf(&buf, "<f%zu:%zu>", hasher->func_no[ref->func],
			    ref->insn < hasher->code->ninsn ? hasher->insn_no[ref->insn] :
							      (size_t)-1);
		break;
	case KL_REF_DATA:
		piece = find_piece(hasher->code, ref, &inner);
		kl_buf_addf(&buf, "<d%zu%+lld>", piece_number(hasher, &piece), (long long)inner);
		break;
	}
	kl_digest_adds(hasher->digest, buf.ptr);
}

/* Hash an instruction, with its reference in place of the address in the operand. */
static void add_insn(struct hasher *hasher, size_t func, size_t i)
{
	const struct kl_insn *in = &hasher->code->insn[i];
	const char *rip = strstr(in->args, "(%rip)");
	struct kl_ref ref;

	kl_code_insn_ref(&ref, hasher->code, func, i);
	kl_digest_adds(hasher->digest, in->rep ? "rep" : in->lock ? "lock" : "");
	kl_digest_adds(hasher->digest, in->op);
	if (ref.kind != KL_REF_NONE && rip) {
		const char *start = rip;

		while (start > in->args && start[-1] != ',' && start[-1] != '*')
			start--;
		kl_digest_add(hasher->digest, in->args, (size_t)(start - in->args));
		kl_digest_adds(hasher->digest, rip);
	} else if (ref.kind == KL_REF_NONE || !(kl_insn_is_jump(in) || kl_insn_is_call(in))) {
		kl_digest_adds(hasher->digest, in->args);
	}
	add_ref(hasher, &ref);
}

static void number_insns(struct hasher *hasher)
{
	for (size_t func = 0; func < hasher->code->nfunc; func++) {
		size_t no = 0;

		for (size_t i = hasher->code->func[func].first;
		     i < hasher->code->func[func].first + hasher->code->func[func].n; i++) {
			hasher->insn_no[i] = no;
			no += !kl_insn_is_nop(&hasher->code->insn[i]);
		}
	}
}

static void add_func(struct hasher *hasher, size_t func)
{
	const struct kl_func *fn = &hasher->code->func[func];

	if (!hasher->func_no[func])
		hasher->func_no[func] = ++hasher->nfunc_no;
	kl_digest_adds(hasher->digest, "function");
	for (size_t i = fn->first; i < fn->first + fn->n; i++)
		if (!kl_insn_is_nop(&hasher->code->insn[i]))
			add_insn(hasher, func, i);
}

/*
 * Hash a pointer in data. An entry of a jump table is relative to the table, but the addend of its
 * relocation includes the entry's offset in the table, which is subtracted.
 */
static void add_pointer(struct hasher *hasher, const struct piece *piece, size_t rel)
{
	const struct kl_orel *orel = &hasher->code->obj[piece->obj]->rel[rel];
	struct kl_ref ref;

	kl_code_ref(&ref, hasher->code, piece->obj, rel, 0);
	if (orel->type == R_X86_64_PC32 && ref.kind != KL_REF_EXTERN) {
		const struct kl_object *object = hasher->code->obj[piece->obj];
		const struct kl_osym *symbol = &object->sym[orel->sym];
		int64_t to = (int64_t)symbol->value + orel->addend -
			     (int64_t)(orel->off - piece->off);
		size_t func = symbol->sec >= 0 && to >= 0 ?
				      kl_code_func_at(hasher->code, piece->obj, (size_t)symbol->sec,
						      (uint64_t)to) :
				      hasher->code->nfunc;

		if (func < hasher->code->nfunc)
			ref = (struct kl_ref){ .kind = KL_REF_CODE,
					       .func = func,
					       .insn = kl_code_insn_at(hasher->code, func,
								       (uint64_t)to) };
	}
	add_ref(hasher, &ref);
}

static void add_piece(struct hasher *hasher, size_t k)
{
	struct piece piece = hasher->piece[k];
	const struct kl_object *object = hasher->code->obj[piece.obj];
	const struct kl_osec *section = &object->sec[piece.sec];
	char head[64];

	snprintf(head, sizeof(head), "data %llu %d", (unsigned long long)piece.len,
		 (section->flags & SHF_WRITE) != 0);
	kl_digest_adds(hasher->digest, head);
	if (section->data)
		kl_digest_add(hasher->digest, section->data + piece.off, piece.len);
	for (size_t i = kl_object_rel_at(object, piece.sec, piece.off);
	     i < object->nrel && object->rel[i].sec == piece.sec &&
	     object->rel[i].off < piece.off + piece.len;
	     i++)
		add_pointer(hasher, &piece, i);
}

void kl_code_digest(char hex[65], const struct kl_code *code)
{
	struct hasher hasher = {
		.code = code,
		.digest = kl_digest_new(),
		.func_no = kl_calloc(code->nfunc, sizeof(*hasher.func_no)),
		.insn_no = kl_calloc(code->ninsn, sizeof(*hasher.insn_no)),
	};

	number_insns(&hasher);
	for (size_t k = 0; k < code->norder; k++)
		add_func(&hasher, code->order[k]);
	/* npiece grows in this loop, because a piece can refer to pieces that are not known yet */
	for (size_t k = 0; k < hasher.npiece; k++)
		add_piece(&hasher, k);
	kl_digest_end(hasher.digest, hex);
	free(hasher.func_no);
	free(hasher.insn_no);
	free(hasher.piece);
	kl_map_release(&hasher.known);
}
