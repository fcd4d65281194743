// SPDX-License-Identifier: Apache-2.0
#include "base/notes.h"

#include <atomic>
#include <iostream>

#include "base/progress.h"

namespace jaxscope {

namespace {

std::atomic<Loudness> chosen{Loudness::Usual};

void tell(std::string_view text) {
    hide_progress();
    std::cerr << "jaxscope: " << text << std::endl;
}

}  // namespace

void set_loudness(Loudness loudness) { chosen = loudness; }
Loudness loudness() { return chosen; }

void tell_note(std::string_view text) {
    if (loudness() != Loudness::Quiet) tell(text);
}
void tell_detail(std::string_view text) {
    if (loudness() == Loudness::Verbose) tell(text);
}

}  // namespace jaxscope
