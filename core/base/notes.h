// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a command says besides its answer, on standard error. Errors aren't notes: they are always said.
#include <cstdint>
#include <string_view>

namespace jaxscope {

enum class Loudness : std::uint8_t { Quiet, Usual, Verbose };
/// Of this process; what it starts as children inherits it.
void set_loudness(Loudness loudness);
Loudness loudness();

/// "jaxscope: TEXT", unless this process is to be quiet.
void tell_note(std::string_view text);
/// The same where it is to be verbose.
void tell_detail(std::string_view text);

}  // namespace jaxscope
