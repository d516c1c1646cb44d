/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/pass/lanes_table.h"

#include <string.h>

#include "base/mem.h"

const struct kl_lane_kind *kl_lane_kind_find(const char *suffix)
{
	static const struct kl_lane_kind kinds[] = {
		{ "ps", "f32", "float", 32 },       { "pd", "f64", "double", 64 },
		{ "ss", "f32", "float", 32 },       { "sd", "f64", "double", 64 },
		{ "epi8", "i8", "int8_t", 8 },      { "epu8", "u8", "uint8_t", 8 },
		{ "epi16", "i16", "int16_t", 16 },  { "epu16", "u16", "uint16_t", 16 },
		{ "epi32", "i32", "int32_t", 32 },  { "epu32", "u32", "uint32_t", 32 },
		{ "epi64", "i64", "int64_t", 64 },  { "epu64", "u64", "uint64_t", 64 },
		{ "epi64x", "i64", "int64_t", 64 }, { "si", "u64", "uint64_t", 64 },
		{ "si128", "u64", "uint64_t", 64 }, { "si256", "u64", "uint64_t", 64 },
		{ "si512", "u64", "uint64_t", 64 },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].suffix, suffix))
			return &kinds[i];
	return NULL;
}

#define FLOATS "ps pd"
#define WHOLE "ps pd si128 si256 si512 epi32 epi64"
#define MOVED "ps pd si128 si256 si512 epi8 epi16 epi32 epi64"
#define INTS "epi8 epi16 epi32 epi64"
#define ORDERED "ps pd epi8 epi16 epi32 epi64 epu8 epu16 epu32 epu64"

#define HALVES                                                              \
	"for (int i = 0; i < 4; i++) {\n\t\tint from = c >> i / 2 * 4;\n\n" \
	"\t\tr.u64[i] = from & 8 ? 0 : (from & 2 ? b : a).u64[(from & 1) * 2 + i % 2];\n\t}"
/* a statement for each lane of a result that is a vector; other statements */
#define EACH(op, kinds, params, text)                    \
	{                                                \
		op, kinds, 0, params, 'v', text, NULL, 0 \
	}
#define CODE(op, kinds, width, params, result, text)            \
	{                                                       \
		op, kinds, width, params, result, NULL, text, 0 \
	}
#define BITS "(int)(8 * sizeof(r.%[i]))"

const struct kl_lane_row kl_lane_rows[] = {
	/* from and to memory */
	CODE("load", MOVED, 0, "p", 'v', "memcpy(&r, a, sizeof(r));"),
	CODE("loadu", MOVED, 0, "p", 'v', "memcpy(&r, a, sizeof(r));"),
	CODE("lddqu", WHOLE, 0, "p", 'v', "memcpy(&r, a, sizeof(r));"),
	CODE("stream_load", WHOLE, 0, "p", 'v', "memcpy(&r, a, sizeof(r));"),
	CODE("store", MOVED, 0, "Pv", '0', "memcpy(a, &b, sizeof(b));"),
	CODE("storeu", MOVED, 0, "Pv", '0', "memcpy(a, &b, sizeof(b));"),
	CODE("stream", MOVED, 0, "Pv", '0', "memcpy(a, &b, sizeof(b));"),
	CODE("load", "ss sd", 128, "p", 'v',
	     "memset(&r, 0, sizeof(r));\n\tmemcpy(r.@, a, sizeof(r.@[0]));"),
	CODE("store", "ss sd", 128, "Pv", '0', "memcpy(a, b.@, sizeof(b.@[0]));"),
	EACH("broadcast", "ss sd", "p", "memcpy(&r.@[i], a, sizeof(r.@[i]))"),
	EACH("maskload", "ps pd epi32 epi64", "pv",
	     "if (r.%[i] = 0, b.%[i] >> (" BITS
	     " - 1))\n\t\t\tmemcpy(&r.%[i], (const char *)a + i * "
	     "sizeof(r.%[i]), sizeof(r.%[i]))"),
	{ "maskstore", "ps pd epi32 epi64", 0, "Pvv", '0',
	  "if (b.%[i] >> (8 * sizeof(b.%[i]) - 1))\n\t\t\tmemcpy((char "
	  "*)a + i * sizeof(c.%[i]), &c.%[i], sizeof(c.%[i]))",
	  NULL, 0 },
	EACH("maskz_loadu", "ps pd epi32 epi64", "mp",
	     "if (r.%[i] = 0, a >> i & 1)\n\t\t\tmemcpy(&r.%[i], (const char"
	     " *)b + i * sizeof(r.%[i]), sizeof(r.%[i]))"),
	{ "mask_storeu", "ps pd epi32 epi64", 0, "Pmv", '0',
	  "if (b >> i & 1)\n\t\t\tmemcpy((char *)a + i * sizeof(c.%[i]), "
	  "&c.%[i], sizeof(c.%[i]))",
	  NULL, 0 },
	EACH("i32gather", "ps epi32", "pvn",
	     "memcpy(&r.%[i], (const char *)a + (int64_t)b.i32[i] * c, "
	     "sizeof(r.%[i]))"),

	/* a value for all lanes, or one for each lane */
	EACH("set1", "ps pd epi8 epi16 epi32 epi64 epi64x", "e", "r.@[i] = a"),
	CODE("setzero", WHOLE, 0, "", 'v', "memset(&r, 0, sizeof(r));"),
	{ "set", "ps pd epi8 epi16 epi32 epi64x", 0, "", 'v', NULL, NULL, -1 },
	{ "setr", "ps pd epi8 epi16 epi32 epi64x", 0, "", 'v', NULL, NULL, 1 },
	CODE("set", "ss sd", 128, "e", 'v', "memset(&r, 0, sizeof(r));\n\tr.@[0] = a;"),

	/* arithmetic */
	EACH("add", FLOATS, "vv", "r.@[i] = a.@[i] + b.@[i]"),
	EACH("sub", FLOATS, "vv", "r.@[i] = a.@[i] - b.@[i]"),
	EACH("mul", FLOATS, "vv", "r.@[i] = a.@[i] * b.@[i]"),
	EACH("div", FLOATS, "vv", "r.@[i] = a.@[i] / b.@[i]"),
	EACH("fmadd", FLOATS, "vvv", "r.@[i] = a.@[i] * b.@[i] + c.@[i]"),
	EACH("fmsub", FLOATS, "vvv", "r.@[i] = a.@[i] * b.@[i] - c.@[i]"),
	EACH("fnmadd", FLOATS, "vvv", "r.@[i] = c.@[i] - a.@[i] * b.@[i]"),
	EACH("fnmsub", FLOATS, "vvv", "r.@[i] = -(a.@[i] * b.@[i]) - c.@[i]"),
	CODE("add", "ss sd", 128, "vv", 'v', "r = a;\n\tr.@[0] = a.@[0] + b.@[0];"),
	CODE("sub", "ss sd", 128, "vv", 'v', "r = a;\n\tr.@[0] = a.@[0] - b.@[0];"),
	CODE("mul", "ss sd", 128, "vv", 'v', "r = a;\n\tr.@[0] = a.@[0] * b.@[0];"),
	CODE("fmadd", "ss sd", 128, "vvv", 'v', "r = a;\n\tr.@[0] = a.@[0] * b.@[0] + c.@[0];"),
	CODE("max", "ss sd", 128, "vv", 'v',
	     "r = a;\n\tr.@[0] = a.@[0] > b.@[0] ? a.@[0] : b.@[0];"),
	EACH("add", INTS, "vv", "r.%[i] = a.%[i] + b.%[i]"),
	EACH("sub", INTS, "vv", "r.%[i] = a.%[i] - b.%[i]"),
	EACH("mullo", "epi16 epi32 epi64", "vv", "r.%[i] = (uint64_t)a.%[i] * b.%[i]"),
	EACH("min", ORDERED, "vv", "r.@[i] = a.@[i] < b.@[i] ? a.@[i] : b.@[i]"),
	EACH("max", ORDERED, "vv", "r.@[i] = a.@[i] > b.@[i] ? a.@[i] : b.@[i]"),
	EACH("abs", "epi8 epi16 epi32", "v", "r.%[i] = a.@[i] < 0 ? -a.%[i] : a.%[i]"),
	EACH("mul", "epu32", "vv",
	     "if (!(i & 1))\n\t\t\tr.u64[i / 2] = (uint64_t)a.u32[i] * b.u32[i]"),
	{ "madd", "epi16", 0, "vv", 'v',
	  "if (!(i & 1))\n\t\t\tr.i32[i / 2] = a.i16[i] * b.i16[i] + "
	  "a.i16[i + 1] * b.i16[i + 1]",
	  NULL, 0 },

	/* bits */
	EACH("and", WHOLE, "vv", "r.%[i] = a.%[i] & b.%[i]"),
	EACH("or", WHOLE, "vv", "r.%[i] = a.%[i] | b.%[i]"),
	EACH("xor", WHOLE, "vv", "r.%[i] = a.%[i] ^ b.%[i]"),
	EACH("andnot", WHOLE, "vv", "r.%[i] = ~a.%[i] & b.%[i]"),
	EACH("slli", "epi16 epi32 epi64", "vn", "r.%[i] = b < " BITS " ? a.%[i] << b : 0"),
	EACH("srli", "epi16 epi32 epi64", "vn", "r.%[i] = b < " BITS " ? a.%[i] >> b : 0"),
	EACH("srai", "epi16 epi32 epi64", "vn",
	     "r.@[i] = a.@[i] >> (b < " BITS " ? b : " BITS " - 1)"),
	EACH("sll", "epi16 epi32 epi64", "vx",
	     "r.%[i] = b.u64[0] < " BITS " ? a.%[i] << b.u64[0] : 0"),
	EACH("srl", "epi16 epi32 epi64", "vx",
	     "r.%[i] = b.u64[0] < " BITS " ? a.%[i] >> b.u64[0] : 0"),
	EACH("sllv", "epi32 epi64", "vv", "r.%[i] = b.%[i] < " BITS " ? a.%[i] << b.%[i] : 0"),
	EACH("srlv", "epi32 epi64", "vv", "r.%[i] = b.%[i] < " BITS " ? a.%[i] >> b.%[i] : 0"),

	/* comparison and choice */
	EACH("cmpeq", INTS, "vv", "r.%[i] = a.@[i] == b.@[i] ? -1 : 0"),
	EACH("cmpgt", INTS, "vv", "r.%[i] = a.@[i] > b.@[i] ? -1 : 0"),
	EACH("cmplt", INTS, "vv", "r.%[i] = a.@[i] < b.@[i] ? -1 : 0"),
	EACH("cmpeq", FLOATS, "vv", "r.%[i] = a.@[i] == b.@[i] ? -1 : 0"),
	EACH("cmpgt", FLOATS, "vv", "r.%[i] = a.@[i] > b.@[i] ? -1 : 0"),
	EACH("cmplt", FLOATS, "vv", "r.%[i] = a.@[i] < b.@[i] ? -1 : 0"),
	EACH("cmpge", FLOATS, "vv", "r.%[i] = a.@[i] >= b.@[i] ? -1 : 0"),
	EACH("cmple", FLOATS, "vv", "r.%[i] = a.@[i] <= b.@[i] ? -1 : 0"),
	{ "cmp", FLOATS, 256, "vvn", 'v',
	  "{\n\t\t\tint less = a.@[i] < b.@[i], more = a.@[i] > b.@[i], "
	  "same = a.@[i] == b.@[i];\n"
	  "\t\t\tint apart = !less && !more && !same;\n"
	  "\t\t\tint holds[16] = { same, less, less || same, apart, "
	  "!same, !less, more || apart, !apart,\n"
	  "\t\t\t\t\t same || apart, less || apart, !more, 0, less || "
	  "more, more || same, more, 1 };\n\n"
	  "\t\t\tr.%[i] = holds[c & 15] ? -1 : 0;\n\t\t}",
	  NULL, 0 },
	EACH("blendv", "ps pd epi8", "vvv", "r.%[i] = c.%[i] >> (" BITS " - 1) ? b.%[i] : a.%[i]"),
	EACH("blend", "ps pd epi32", "vvn", "r.%[i] = c >> i & 1 ? b.%[i] : a.%[i]"),
	{ "movemask", "ps pd epi8", 0, "v", 'n', NULL,
	  "unsigned int bits = 0;\n\n\tfor (int i = 0; i < #; i++)\n"
	  "\t\tbits |= (unsigned int)(a.%[i] >> (8 * sizeof(a.%[i]) - 1))"
	  " << i;\n\treturn (int)bits;",
	  0 },
	{ "testz", "si128 si256", 0, "vv", 'n', NULL,
	  "uint64_t set = 0;\n\n\tfor (int i = 0; i < #; i++)\n\t\tset |="
	  " a.%[i] & b.%[i];\n\treturn !set;",
	  0 },

	/* the same bits as another type */
	CODE("castps_pd", "", 0, "v", 'v', "r = a;"),
	CODE("castpd_ps", "", 0, "v", 'v', "r = a;"),
	CODE("castps", "si128 si256 si512", 0, "v", 'v', "r = a;"),
	CODE("castpd", "si128 si256 si512", 0, "v", 'v', "r = a;"),
	CODE("castsi128", FLOATS, 128, "v", 'v', "r = a;"),
	CODE("castsi256", FLOATS, 256, "v", 'v', "r = a;"),
	CODE("castsi512", FLOATS, 512, "v", 'v', "r = a;"),
	CODE("castps256_ps128", "", 256, "v", 'h', "memcpy(&r, &a, sizeof(r));"),
	CODE("castpd256_pd128", "", 256, "v", 'h', "memcpy(&r, &a, sizeof(r));"),
	CODE("castsi256_si128", "", 256, "v", 'h', "memcpy(&r, &a, sizeof(r));"),
	CODE("castps128_ps256", "", 256, "h", 'v',
	     "memset(&r, 0, sizeof(r));\n\tmemcpy(&r, &a, sizeof(a));"),
	CODE("castpd128_pd256", "", 256, "h", 'v',
	     "memset(&r, 0, sizeof(r));\n\tmemcpy(&r, &a, sizeof(a));"),
	CODE("castsi128_si256", "", 256, "h", 'v',
	     "memset(&r, 0, sizeof(r));\n\tmemcpy(&r, &a, sizeof(a));"),
	CODE("extractf128", "ps pd si256", 256, "vn", 'h',
	     "memcpy(&r, &a.u64[b & 1 ? 2 : 0], sizeof(r));"),
	CODE("extracti128", "si256", 256, "vn", 'h',
	     "memcpy(&r, &a.u64[b & 1 ? 2 : 0], sizeof(r));"),
	CODE("insertf128", "ps pd si256", 256, "vhn", 'v',
	     "r = a;\n\tmemcpy(&r.u64[c & 1 ? 2 : 0], &b, sizeof(b));"),
	CODE("inserti128", "si256", 256, "vhn", 'v',
	     "r = a;\n\tmemcpy(&r.u64[c & 1 ? 2 : 0], &b, sizeof(b));"),

	/* conversion */
	EACH("cvtepi32", "ps", "v", "r.f32[i] = (float)a.i32[i]"),
	EACH("cvttps", "epi32", "v",
	     "r.i32[i] = a.f32[i] >= -0x1p31f && a.f32[i] < 0x1p31f ? "
	     "(int32_t)a.f32[i] : INT32_MIN"),
	{ "cvtepu8", "epi32", 256, "x", 'v', "r.i32[i] = a.u8[i]", NULL, 0 },
	{ "cvtepi8", "epi32", 256, "x", 'v', "r.i32[i] = a.i8[i]", NULL, 0 },
	{ "cvtepu16", "epi32", 256, "x", 'v', "r.i32[i] = a.u16[i]", NULL, 0 },
	{ "cvtepi16", "epi32", 256, "x", 'v', "r.i32[i] = a.i16[i]", NULL, 0 },
	{ "cvtepi8", "epi16", 256, "x", 'v', "r.i16[i] = a.i8[i]", NULL, 0 },
	{ "cvtepu8", "epi16", 256, "x", 'v', "r.i16[i] = a.u8[i]", NULL, 0 },
	{ "cvtepi32", "epi64", 256, "x", 'v', "r.i64[i] = a.i32[i]", NULL, 0 },
	{ "cvtps", "pd", 256, "x", 'v', "r.f64[i] = a.f32[i]", NULL, 0 },
	CODE("cvtsi32_si128", "", 128, "n", 'v', "memset(&r, 0, sizeof(r));\n\tr.i32[0] = a;"),
	CODE("cvtsi64_si128", "", 128, "q", 'v', "memset(&r, 0, sizeof(r));\n\tr.i64[0] = a;"),
	CODE("cvtsi128_si32", "", 128, "v", 'n', "return a.i32[0];"),
	CODE("cvtsi256_si32", "", 256, "v", 'n', "return a.i32[0];"),
	CODE("cvtsi128_si64", "", 128, "v", 'q', "return a.i64[0];"),
	{ "cvtss_f32", "", 0, "v", 'f', NULL, "return a.f32[0];", 0 },
	{ "cvtsd_f64", "", 0, "v", 'd', NULL, "return a.f64[0];", 0 },

	/* other places */
	EACH("permutevar8x32", "ps epi32", "vv", "r.%[i] = a.%[b.u32[i] & 7]"),
	EACH("permute4x64", "pd epi64", "vn", "r.%[i] = a.%[b >> 2 * i & 3]"),
	EACH("shuffle", "ps", "vvn",
	     "r.u32[i] = (i & 2 ? b : a).u32[(i & ~3) + (c >> 2 * (i & 3) & 3)]"),
	EACH("shuffle", "epi32", "vn", "r.u32[i] = a.u32[(i & ~3) + (b >> 2 * (i & 3) & 3)]"),
	EACH("permute", "ps", "vn", "r.u32[i] = a.u32[(i & ~3) + (b >> 2 * (i & 3) & 3)]"),
	EACH("shuffle", "epi8", "vv",
	     "r.u8[i] = b.u8[i] & 128 ? 0 : a.u8[(i & ~15) + (b.u8[i] & 15)]"),
	EACH("unpacklo", "ps epi32", "vv", "r.%[i] = (i & 1 ? b : a).%[(i & ~3) + (i & 3) / 2]"),
	EACH("unpacklo", "epi16", "vv", "r.%[i] = (i & 1 ? b : a).%[(i & ~7) + (i & 7) / 2]"),
	EACH("unpacklo", "epi8", "vv", "r.%[i] = (i & 1 ? b : a).%[(i & ~15) + (i & 15) / 2]"),
	EACH("unpacklo", "pd epi64", "vv", "r.%[i] = (i & 1 ? b : a).%[i & ~1]"),
	EACH("unpackhi", "pd epi64", "vv", "r.%[i] = (i & 1 ? b : a).%[i | 1]"),
	EACH("unpackhi", "ps epi32", "vv",
	     "r.%[i] = (i & 1 ? b : a).%[(i & ~3) + 2 + (i & 3) / 2]"),
	EACH("movehl", "ps", "vv", "r.u32[i] = i < 2 ? b.u32[i + 2] : a.u32[i]"),
	EACH("movelh", "ps", "vv", "r.u32[i] = i < 2 ? a.u32[i] : b.u32[i - 2]"),
	EACH("movehdup", "ps", "v", "r.u32[i] = a.u32[i | 1]"),
	EACH("moveldup", "ps", "v", "r.u32[i] = a.u32[i & ~1]"),
	EACH("hadd", "ps", "vv",
	     "r.f32[i] = (i & 2 ? b : a).f32[(i & ~3) + (i & 1) * 2] + "
	     "(i & 2 ? b : a).f32[(i & ~3) + (i & 1) * 2 + 1]"),
	CODE("permute2f128", "ps pd si256", 256, "vvn", 'v', HALVES),
	CODE("permute2x128", "si256", 256, "vvn", 'v', HALVES),
	CODE("zeroupper", "", 256, "", '0', ";"),
	CODE("zeroall", "", 256, "", '0', ";"),
};
const size_t kl_lane_rows_n = KL_ARRAY_SIZE(kl_lane_rows);
