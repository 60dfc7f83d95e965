/* Amounts and durations as people write them, and back. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIB (1024.0 * 1024.0)
#define GIB (1024.0 * MIB)

struct str;

/* "512", "1.5M", "2T": K, M, B (or G) and T are powers of 1000. False on anything else. */
bool parse_amount(const char *text, double *out);
/* The same, but lengths that are powers of two are named by them: behind a power of two, K and M are
 * of 1024, so that "128k" is 131,072 and "100k" 100,000. */
bool parse_length(const char *text, double *out);
/* "90s", "15m", "12h", "1.5d": seconds, minutes, hours, days. A number without a unit is refused:
 * what it would mean depends on who reads it. */
bool parse_duration(const char *text, double *out_s);
/* "+10%", "-20%", "x2": what an amount is multiplied with, above 0. False on anything else. */
bool parse_factor(const char *text, double *out);
/* 0.01 or 1%. */
bool parse_share(const char *text, double *out);

void add_count(struct str *, double value);     /* 1234567 -> 1.23M */
void add_usd(struct str *, double usd);         /* $123.45, $1,234,568 */
double usd_shown(double usd);                   /* rounded as add_usd() prints it */
void add_cents(struct str *, double usd);       /* $1,234,567.89 */
void add_bytes(struct str *, double bytes);     /* 71.3 GiB */
void add_seconds(struct str *, double seconds); /* 12.3 ms, 4.56 s, 2.56 min, 30.0 d */

int64_t common_divisor(int64_t a, int64_t b); /* the greatest */
void sort_numbers(double *, size_t count);    /* smallest first; none is a NaN */
double median_of(double *, size_t count);     /* sorts them; 0 of nothing */
