// Takes the reasoning out of a reply: what stands between two markers at its beginning. Blanks next to the markers
// belong to the notation and are dropped.
#pragma once

#include <string>
#include <string_view>

#include "text/reply/marker_finder.h"
#include "text/reply/reply_delta.h"
#include "text/reply/reply_format.h"

namespace inferens {

class ReasoningSplitter {
 public:
  // `open`: the prompt ended inside of the reasoning. The markers outlive the splitter.
  ReasoningSplitter(const ReasoningMarkers& markers, bool open)
      : begin_(markers.begin), end_(markers.end), place_(open ? Place::kInside : Place::kBefore) {}

  // Takes the next byte; `rest` gets what is not reasoning.
  void push(char c, ReplyWriter& writer, std::string& rest);
  void finish(ReplyWriter& writer, std::string& rest);
  bool reasoning() const { return place_ == Place::kInside; }

 private:
  enum class Place { kBefore, kInside, kBehind, kDone };

  void before(char c, std::string& rest);
  void inside(char c, ReplyWriter& writer);

  std::string_view begin_;
  MarkerFinder end_;
  Place place_;
  bool said_ = false;    // reasoning was written
  std::string blanks_;   // kBefore, kInside: dropped if a marker follows
  std::string partial_;  // kBefore: of the marker
};

}  // namespace inferens
