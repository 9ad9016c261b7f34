// Tells what a file is that is not what was hoped for, so that an error can say what to do instead. Inside this folder
// only.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace inferens {

// One clause such as "it is an HTML page, as a failed download leaves: download the model again"; never empty.
std::string describe_wrong_file(std::span<const std::byte> bytes);

// Text from a file made fit for a one-line error: quoted, cut at 80 bytes, bytes outside printable ASCII as \xNN.
std::string quote_name(std::string_view text);

}  // namespace inferens
