/* SHA-256 (FIPS 180-4), for the policy of a page that names its own script. */
#ifndef ASTRA_SHA256_H
#define ASTRA_SHA256_H

#include <stddef.h>

struct str;

enum { SHA256_BYTES = 32 };
void sha256(const void *data, size_t size, unsigned char out[SHA256_BYTES]);

void add_base64(struct str *, const unsigned char *bytes, size_t count); /* RFC 4648, padded */

#endif
