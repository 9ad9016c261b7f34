// Finds a filter by name over the tables of the filters_*.cc files.
#include "text/jinja/filters.h"

#include <algorithm>

namespace inferens::jinja {

const Filter* find_filter(std::string_view name) {
  for (const auto table :
       {text_filters(), markup_filters(), number_filters(), sequence_filters(), selection_filters()}) {
    const auto it = std::find_if(table.begin(), table.end(), [&](const Filter& f) { return f.name == name; });
    if (it != table.end()) return &*it;
  }
  return nullptr;
}

}  // namespace inferens::jinja
