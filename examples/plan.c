/* The best plan for a model on a cluster, from a program:  cc plan.c $(pkg-config --cflags
 * --libs astra) */
#include <astra.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct astra *a = astra_new();
    struct astra_plan best;
    int status = astra_set(a, "model", argc > 1 ? argv[1] : "llama3-8b");
    if (status == ASTRA_OK)
        status = astra_set(a, "cluster", argc > 2 ? argv[2] : "1x8:H100");
    if (status == ASTRA_OK)
        status = astra_search(a);
    if (status == ASTRA_OK && astra_plan_get(a, 0, &best))
        printf("%ld GPUs: tp %d, pp %d, dp %d: %.2f s a step, %.0f tokens/s\n", best.gpus, best.tp,
               best.pp, best.dp, best.step_s, best.tokens_per_s);
    else
        fprintf(stderr, "%s\n", astra_message(a));
    astra_free(a);
    return status;
}
