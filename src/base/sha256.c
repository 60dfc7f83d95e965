/* Names and steps are those of FIPS 180-4, section 6.2. */
#include "base/sha256.h"

#include "base/str.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 64, ROUNDS = 64 };

static const uint32_t K[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void spread(const unsigned char *block, uint32_t w[ROUNDS])
{
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
               (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (int t = 16; t < ROUNDS; t++) {
        uint32_t s0 = turn(w[t - 15], 7) ^ turn(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = turn(w[t - 2], 17) ^ turn(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = s1 + w[t - 7] + s0 + w[t - 16];
    }
}

/* a ... h of the standard are v[0] ... v[7]. */
static void take_block(uint32_t hash[8], const unsigned char *block)
{
    uint32_t w[ROUNDS], v[8];
    spread(block, w);
    memcpy(v, hash, sizeof v);
    for (int t = 0; t < ROUNDS; t++) {
        uint32_t s1 = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t s0 = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        uint32_t t1 = v[7] + s1 + choice + K[t] + w[t];
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++)
        hash[i] += v[i];
}

/* What is left of the data, a bit that is 1, and the length in bits at the end of a block. */
static size_t pad(const unsigned char *rest, size_t left, uint64_t bits,
                  unsigned char out[2 * BLOCK])
{
    size_t size = left + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
    memset(out, 0, 2 * BLOCK);
    if (left > 0)
        memcpy(out, rest, left);
    out[left] = 0x80;
    for (int i = 0; i < 8; i++)
        out[size - 1 - (size_t)i] = (unsigned char)(bits >> 8 * i);
    return size;
}

void sha256(const void *data, size_t size, unsigned char out[SHA256_BYTES])
{
    uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *bytes = data;
    unsigned char tail[2 * BLOCK];
    size_t whole = size / BLOCK * BLOCK;
    for (size_t at = 0; at < whole; at += BLOCK)
        take_block(hash, bytes + at);
    size_t more = pad(size > whole ? bytes + whole : NULL, size - whole, 8 * (uint64_t)size, tail);
    for (size_t at = 0; at < more; at += BLOCK)
        take_block(hash, tail + at);
    for (int i = 0; i < SHA256_BYTES; i++)
        out[i] = (unsigned char)(hash[i / 4] >> (24 - 8 * (i % 4)));
}

void add_base64(struct str *s, const unsigned char *bytes, size_t count)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        size_t n = count - i < 3 ? count - i : 3;
        uint32_t three = (uint32_t)bytes[i] << 16;
        three |= n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        three |= n > 2 ? bytes[i + 2] : 0;
        for (size_t k = 0; k < 4; k++)
            str_add_bytes(s, k <= n ? &digit[three >> (18 - 6 * k) & 63] : "=", 1);
    }
}
