/* verl (Hydra words behind `python3 -m verl.trainer.main_ppo`): the training step of the actor, or of its SFT, on
 * Megatron. */
#pragma once

#include "base/error.h"

struct arena;
struct launch;

/* Whether the words of a launch are verl's. */
bool verl_is(const struct launch *);
/* Makes Megatron's flags of them. False where verl does not train on Megatron, trains adapters, or nothing. */
bool verl_of_launch(struct launch *, struct arena *, struct error *);
