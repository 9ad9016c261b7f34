// From events to Gemini's GenerateContentResponse: whole, as server-sent events, or as one JSON array.
#pragma once

#include <memory>
#include <string>

#include "serve/api/generation_answer.h"

namespace inferens {

enum class GeminiForm {
  kWhole,
  kEvents,  // alt=sse
  kArray,
};

struct GeminiFrame {
  GeminiForm form = GeminiForm::kWhole;
  std::string response_id;
  std::string model;
  int32_t prompt_tokens = 0;
  bool logprobs = false;
};

std::unique_ptr<EventTranslator> make_gemini_translator(GeminiFrame frame);

}  // namespace inferens
