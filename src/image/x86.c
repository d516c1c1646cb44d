/* SPDX-License-Identifier: Apache-2.0 */
#include "image/x86.h"

#include <string.h>

#include "image/x86_parts.h"

#define MOST_BYTES 15 /* limit of the length of an instruction */

/*
 * The bytes that follow each opcode, as a letter:
 *	.	none			m	ModRM
 *	b	imm8			n	ModRM, imm8
 *	z	imm16 or imm32		y	ModRM, imm16 or imm32
 *	v	imm16, imm32, imm64	w	imm16
 *	e	imm16 and imm8		o	absolute address
 *	j	rel8			k	rel32
 *	u	ModRM, and imm8 if the reg field of ModRM is 0 or 1
 *	U	ModRM, and imm16 or imm32 if the reg field of ModRM is 0 or 1
 *	r	ModRM that always names a register
 *	-	no instruction, or a prefix
 */
/* clang-format off */
static const char one_byte[] =
	"mmmmbz--mmmmbz--mmmmbz--mmmmbz--mmmmbz--mmmmbz--mmmmbz--mmmmbz--"
	"----------------................---m----zybn....jjjjjjjjjjjjjjjj"
	"ny-nmmmmmmmmmmmm..........-.....oooo....bz......bbbbbbbbvvvvvvvv"
	"nnw.--nye.w..b-.mmmm---.mmmmmmmmjjjjbbbbkk-j....-.--..uU......mm";
static const char two_byte[] =
	"mmmm-.....-.-m.nmmmmmmmmmmmmmmmmrrrr----mmmmmmmm......-.--------"
	"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmnnnnmmm.mm--mmmm"
	"kkkkkkkkkkkkkkkkmmmmmmmmmmmmmmmm...mnm--...mnmmmmmmmmmmmmmnmmmmm"
	"mmnmnnnm........mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm";
/* clang-format on */

/*
 * Opcodes of map 1 that, encoded with VEX or EVEX, are followed by an imm8. The tables above are
 * not for these encodings.
 */
static const char with_imm8[] = "\x70\x71\x72\x73\xc2\xc4\xc5\xc6";

static bool read_byte(struct kl_x86_reader *reader, unsigned *out)
{
	if (reader->at >= reader->n || reader->at >= MOST_BYTES)
		return false;
	*out = reader->code[reader->at++];
	return true;
}

static bool skip_bytes(struct kl_x86_reader *reader, size_t n)
{
	reader->at += n;
	return reader->at <= reader->n && reader->at <= MOST_BYTES;
}

static bool is_prefix(struct kl_x86_reader *reader, unsigned byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
		return true;
	case 0x67:
		reader->address = true;
		return true;
	case 0xf0:
		reader->lock = true;
		return true;
	case 0x64:
	case 0x65:
		reader->segment = true;
		return true;
	case 0x66:
		reader->size = true;
		return true;
	case 0xf2:
	case 0xf3:
		reader->repeat = byte;
		return true;
	}
	return false;
}

/* Read the prefixes and the first byte of the opcode, which is stored in *byte. */
static bool read_prefixes(struct kl_x86_reader *reader, unsigned *byte)
{
	for (;;) {
		if (!read_byte(reader, byte))
			return false;
		if (is_prefix(reader, *byte))
			reader->rex = 0; /* REX has an effect only directly before the opcode */
		else if ((*byte & 0xf0) == 0x40)
			reader->rex = *byte;
		else
			return true;
	}
}

/* Read ModRM with its SIB byte and displacement. */
static bool read_modrm(struct kl_x86_reader *reader, bool always_register)
{
	unsigned sib = 0, mod, rm;

	if (!read_byte(reader, &reader->modrm))
		return false;
	mod = reader->modrm >> 6;
	rm = reader->modrm & 7;
	if (mod == 3 || always_register)
		return true;
	if (rm == 4) {
		if (!read_byte(reader, &sib))
			return false;
		if (!mod && (sib & 7) == 5)
			return skip_bytes(reader, 4);
	}
	if (!mod)
		return rm != 5 || skip_bytes(reader, 4);
	return skip_bytes(reader, mod == 1 ? 1 : 4);
}

static bool read_target(struct kl_x86_reader *reader, struct kl_x86_insn *out, size_t n)
{
	int32_t wide = 0;
	size_t from = reader->at;

	if (reader->size || !skip_bytes(reader, n))
		return false;
	memcpy(&wide, reader->code + from, n);
	out->branch = true;
	out->target = (n == 1 ? (int8_t)wide : wide) + (int64_t)reader->at;
	return true;
}

static bool read_operands(struct kl_x86_reader *reader, struct kl_x86_insn *out, char kind)
{
	size_t imm = reader->size && !(reader->rex & 8) ? 2 : 4;

	switch (kind) {
	case '.':
		return true;
	case 'm':
	case 'r':
		return read_modrm(reader, kind == 'r');
	case 'b':
		return skip_bytes(reader, 1);
	case 'n':
		return read_modrm(reader, false) && skip_bytes(reader, 1);
	case 'z':
		return skip_bytes(reader, imm);
	case 'y':
		return read_modrm(reader, false) && skip_bytes(reader, imm);
	case 'v':
		return skip_bytes(reader, reader->rex & 8 ? 8 : imm);
	case 'w':
		return skip_bytes(reader, 2);
	case 'e':
		return skip_bytes(reader, 3);
	case 'o':
		return skip_bytes(reader, reader->address ? 4 : 8);
	case 'j':
	case 'k':
		return read_target(reader, out, kind == 'j' ? 1 : 4);
	case 'u':
	case 'U':
		if (!read_modrm(reader, false))
			return false;
		if (reader->modrm & 0x30)
			return true;
		return skip_bytes(reader, kind == 'u' ? 1 : imm);
	}
	return false;
}

/*
 * Read the opcode and operands of a VEX or EVEX instruction. The opcode maps are 1 (0f), 2 (0f 38)
 * and 3 (0f 3a); EVEX also has 5 and 6.
 */
static bool read_vector(struct kl_x86_reader *reader, struct kl_x86_insn *out, bool evex)
{
	char kind = 'm';

	/*
	 * VEX and EVEX replace the prefixes 66, f2, f3 and REX, so none of these may come before
	 * VEX or EVEX; f0 (lock) may not come there either
	 */
	if (reader->size || reader->repeat || reader->rex || reader->lock ||
	    !read_byte(reader, &reader->opcode))
		return false;
	/* these opcodes are branches on Knights Corner and undefined on other processors */
	if (!evex && reader->map == 1 && (reader->opcode & 0xf0) == 0x80)
		return false;
	if (reader->map == 3)
		kind = 'n';
	else if (reader->map == 1 && memchr(with_imm8, (int)reader->opcode, sizeof(with_imm8) - 1))
		kind = 'n';
	else if (reader->map == 1 && reader->opcode == 0x77 && !evex)
		kind = '.';
	else if (reader->map < 1 || reader->map > (evex ? 6u : 3u) || reader->map == 4)
		return false;
	return read_operands(reader, out, kind);
}

static bool read_vex(struct kl_x86_reader *reader, struct kl_x86_insn *out, unsigned lead)
{
	unsigned byte;

	reader->vector = true;
	reader->map = 1;
	if (!read_byte(reader, &byte))
		return false;
	if (lead == 0xc4) {
		reader->map = byte & 0x1f;
		if (!read_byte(reader, &byte))
			return false;
	}
	return read_vector(reader, out, false);
}

static bool read_evex(struct kl_x86_reader *reader, struct kl_x86_insn *out)
{
	unsigned first, second, third;

	reader->vector = true;
	if (!read_byte(reader, &first) || !read_byte(reader, &second) ||
	    !read_byte(reader, &third) || (first & 8) || !(second & 4))
		return false;
	reader->map = first & 7;
	return read_vector(reader, out, true);
}

/* Read an instruction of AMD's XOP, which shares its first byte with pop. */
static bool read_xop(struct kl_x86_reader *reader)
{
	unsigned first, second;

	if (!read_byte(reader, &first) || !read_byte(reader, &second) || reader->size ||
	    reader->repeat || reader->rex || reader->lock)
		return false;
	reader->vector = true;
	reader->map = first & 0x1f;
	if (reader->map > 10 || !read_byte(reader, &reader->opcode) || !read_modrm(reader, false))
		return false;
	return reader->map == 9 || skip_bytes(reader, reader->map == 8 ? 1 : 4);
}

static bool read_two_byte(struct kl_x86_reader *reader, struct kl_x86_insn *out)
{
	reader->map = 1;
	if (!read_byte(reader, &reader->opcode))
		return false;
	if (reader->opcode == 0x38 || reader->opcode == 0x3a) {
		reader->map = reader->opcode == 0x38 ? 2 : 3;
		return read_byte(reader, &reader->opcode) &&
		       read_operands(reader, out, reader->map == 2 ? 'm' : 'n');
	}
	if (reader->opcode == 0x78 && (reader->size || reader->repeat == 0xf2))
		return read_modrm(reader, false) && skip_bytes(reader, 2); /* SSE4a */
	return read_operands(reader, out, two_byte[reader->opcode]);
}

static bool read_opcode(struct kl_x86_reader *reader, struct kl_x86_insn *out, unsigned lead)
{
	if (lead == 0x0f)
		return read_two_byte(reader, out);
	if (lead == 0xc4 || lead == 0xc5)
		return read_vex(reader, out, lead);
	if (lead == 0x62)
		return read_evex(reader, out);
	if (lead == 0x8f && reader->at < reader->n && (reader->code[reader->at] & 0x1f) >= 8)
		return read_xop(reader);
	reader->opcode = lead;
	if (lead == 0x8f) /* pop */
		return read_modrm(reader, false);
	/* a return with a size prefix would truncate the address */
	if (reader->size && (lead == 0xc3 || lead == 0xc2))
		return false;
	return read_operands(reader, out, one_byte[lead]);
}

bool kl_x86_decode(struct kl_x86_insn *out, const unsigned char *code, size_t n)
{
	struct kl_x86_reader reader = { .code = code, .n = n };
	unsigned lead;

	*out = (struct kl_x86_insn){ .len = 0 };
	if (!read_prefixes(&reader, &lead) || !read_opcode(&reader, out, lead))
		return false;
	out->len = reader.at;
	out->segment = reader.segment || kl_x86_names_segment(&reader);
	out->refusal = kl_x86_refusal(&reader);
	return true;
}
