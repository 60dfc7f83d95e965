/* Feeds files to a fuzz target without libFuzzer, so that its seeds are tests on any compiler: the
 * empty input first, then each argument. Prints a line of the Test Anything Protocol for each; the
 * name comes before the call, so that the last one printed is the one that crashed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEED_LIMIT = 1 << 20 };

static void feed(int number, const char *name, const uint8_t *data, size_t size)
{
    printf("# %s\n", name);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    printf("ok %d - %s\n", number, name);
}

/* The bytes go to a block of exactly their size: a sanitizer sees one byte read too many. */
static int feed_file(int number, const char *path)
{
    static uint8_t buffer[SEED_LIMIT + 1];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(buffer, 1, sizeof buffer, file) : 0;
    int trouble = !file || ferror(file) || size > SEED_LIMIT;
    uint8_t *data = malloc(size + !size);
    if (file)
        fclose(file);
    if (trouble || !data) {
        printf("not ok %d - %s: not readable or over %d bytes\n", number, path, SEED_LIMIT);
    } else {
        memcpy(data, buffer, size);
        feed(number, path, data, size);
    }
    free(data);
    return trouble;
}

int main(int argc, char **argv)
{
    static const uint8_t nothing;
    int troubles = 0;
    printf("1..%d\n", argc);
    feed(1, "empty input", &nothing, 0);
    for (int i = 1; i < argc; i++)
        troubles += feed_file(i + 1, argv[i]);
    return troubles > 0;
}
