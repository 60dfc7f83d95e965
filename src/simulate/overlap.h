/* What hidden communication costs: every constant of it, with what it rests on.
 *
 *   OVERLAP_TAX         a second hidden behind compute slows it by as much, inside a node: 1.1256 in
 *                       Galvatron's measurements
 *   SENDING_TAX         the same across nodes: kernels that send all the while keep 20 of an H100's 132
 *                       SMs from the products beside them (--moe-deepep-num-sms; NCCL's take as many)
 *   TP_OVERLAP_EXPOSED  of tensor-parallel collectives under --tp-comm-overlap: they run in chunks, the
 *                       first and last of which show, and products cut into as many pieces are slower.
 *                       From what a micro-batch more takes in MLPerf's runs of one submission on H100
 *                       (0.925, 1.608 and 11.05 s with 8, 16 and 128 of them: 84.3 ms), which does not
 *                       depend on what else a step has
 *
 * No constant says how much of gathers and reductions is exposed: that follows from when they are
 * launched (step.c). */
#pragma once

#define OVERLAP_TAX 0.1256
#define SENDING_TAX (20.0 / (132 - 20))
#define TP_OVERLAP_EXPOSED 0.85

/* What a collective runs beside. In one second of both, compute loses `tax` seconds, and the collective
 * gets 1 / `stretch` of what it would get alone. */
struct company {
    double tax, stretch;
};

/* Of passes that use the NICs a part of the time: both flows share them meanwhile. */
struct company company_at(double tax, double sending);

/* Seconds of compute, as it were alone, that hide one of a collective. */
double company_pace(struct company);

/* What a collective of `total` costs, of which `shown` is not hidden: never less if more is shown. */
double with_tax(double total, double shown, struct company);

/* What is not hidden of `pieces` equal collectives, each ready when its part of `window` seconds of
 * compute is over (or needed before it, and launched while the part before it runs): at least one. */
double pieces_shown(double total, double window, double pieces, struct company);

/* Collectives that run one behind the other, on the clock of the compute beside them. */
struct queue {
    double done;
    double from, to; /* when there is compute beside them */
    double pace;     /* then */
};

/* One more, launched at a moment. Returns its start. */
static inline double queue_add(struct queue *q, double launched, double length)
{
    double start = launched > q->done ? launched : q->done;
    double wait = q->from > start ? q->from - start : 0;
    double before = wait < length ? wait : length, left = length - before, at = start + before;
    double room = q->to > at ? (q->to - at) / q->pace : 0, beside = room < left ? room : left;
    q->done = at + beside * q->pace + (left - beside);
    return start;
}
