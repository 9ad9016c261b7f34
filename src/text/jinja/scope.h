// Decides, before anything runs, which scope each variable of a template belongs to. Jinja compiles to Python functions
// and its scoping is what that compiler does (jinja2/idtracking.py); this follows it, surprises included: a loop body's
// `set` is gone with the iteration, and a name that a scope assigns anywhere is that scope's own from its start.
#pragma once

#include "text/jinja/ast.h"

namespace inferens::jinja {

// Fills every VariableRef, Scope, filter and test of the program. Throws Failure: an unknown filter or test, break
// outside a loop, an assignment to `loop` inside one.
void resolve_scopes(Program& program);

}  // namespace inferens::jinja
