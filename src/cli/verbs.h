// One function per verb, each in the file of its name.
#pragma once

#include "cli/command_line.h"

namespace inferens {

void add_run(Verbs& verbs);
void add_serve(Verbs& verbs);
void add_ps(Verbs& verbs);
void add_stop(Verbs& verbs);
void add_pull(Verbs& verbs);
void add_list(Verbs& verbs);
void add_show(Verbs& verbs);
void add_rm(Verbs& verbs);
void add_cp(Verbs& verbs);
void add_tokenize(Verbs& verbs);
void add_perplexity(Verbs& verbs);
void add_bench(Verbs& verbs);

}  // namespace inferens
