// One request from the command line: sends it, hands text on as it comes, stops it on Ctrl-C, and collects what remains to
// be said about it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/interrupt.h"
#include "engine/generator.h"
#include "inferens/generation.h"
#include "inferens/status.h"

namespace inferens {

struct Answer {
  std::string text;
  FinishReason finish = FinishReason::kNone;
  TokenUsage usage;
  RequestTimings timings;
};

// `write` is called on this thread with each piece of text; its error stops the request and is returned.
StatusOr<Answer> generate_answer(Generator& generator, const GenerationRequest& request, InterruptScope& interrupt,
                                 const std::function<Status(std::string_view)>& write);

// To standard output, at once. On a terminal, control characters of the model's text other than line breaks and tabs are
// shown as U+FFFD: text must not be able to drive the terminal.
Status write_answer_text(std::string_view text, bool to_terminal);

// "prompt 38 tokens · TTFT 0.31 s · prefill 122.6 tok/s · output 97 tokens at 41.2 tok/s · total 2.66 s · seed 7"
std::string timing_line(const Answer& answer, uint64_t seed);
// One JSON object on one line, valid UTF-8 whatever the text is.
std::string answer_json(const Answer& answer, const std::string& model, uint64_t seed);

}  // namespace inferens
