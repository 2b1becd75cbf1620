// The macros of edited sources for editors, which do nothing here: see docs/hand-tuning.md.
#pragma once
#define SM_PRINT(...) ((void)0)
#define SM_ASSERT(condition, ...) ((void)(condition))
#define SM_TRAP_NAN(...) ((void)0)
