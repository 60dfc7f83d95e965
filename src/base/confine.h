/* What file.c asks before it touches anything: see files_confine(). */
#pragma once

#include "base/error.h"

bool is_confined(void);
/* Whether it may be looked at. */
bool path_permitted(const char *path);
/* A plain file that may be read, open; -1 with a message. */
int confined_open(const char *path, struct error *);
bool writing_permitted(const char *path, struct error *);
