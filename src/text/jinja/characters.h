// Classes and cases of characters as Python's str methods see them.
#pragma once

#include <string>
#include <string_view>

namespace inferens::jinja {

bool is_space(char32_t c);
bool is_line_break(char32_t c);  // for splitlines
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_digit_like(char32_t c);  // str.isdigit: decimals and superscripts
bool is_numeric(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_title(char32_t c);
bool is_cased(char32_t c);
bool is_printable(char32_t c);
bool is_word(char32_t c);  // \w of Python's re
bool is_identifier_start(char32_t c);
bool is_identifier_part(char32_t c);

// Full mappings: one character may become several.
void append_upper(char32_t c, std::string& out);
void append_lower(char32_t c, std::string& out);
void append_title(char32_t c, std::string& out);
void append_folded(char32_t c, std::string& out);

// Where the character that ends at `end` (> 0) begins.
size_t previous_character(std::string_view text, size_t end);
std::string_view strip_right(std::string_view text);
std::string_view strip_left(std::string_view text);

}  // namespace inferens::jinja
