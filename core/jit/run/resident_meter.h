// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace jaxscope::exec {

/// What this process has in memory beyond what it had when the meter was made, as the system counts it: arena, scratch of libraries, heap,
/// stacks, machine code. It knows no plan and no arena. Of the whole process: what other threads do meanwhile counts, too.
///
/// Windows nest: each tells how far memory rose above where it stood when the window was opened.
class ResidentMeter {
public:
    /// Gives the heap's free pages back first: what is allocated afterwards is seen.
    ResidentMeter();
    /// Why there is no figure; empty: there is one.
    const std::string& problem() const { return problem_; }
    /// Highest since the meter was made, above what was there then.
    std::int64_t peak();

    void open();
    /// Closes the innermost window. Returns how far memory rose in it.
    std::int64_t close();

private:
    struct Reading {
        std::int64_t now = 0, highest = 0;  ///< highest: since the last reading
    };
    struct Window {
        std::int64_t begin = 0, highest = 0;
    };
    std::optional<Reading> look();
    Reading read();
    std::int64_t note(const Reading& r);

    std::string problem_;
    std::int64_t ahead_ = 0;       ///< by which the system's highest stood above what was there when it last began anew
    std::vector<Window> windows_;  ///< the first is the meter's own life
};

}  // namespace jaxscope::exec
