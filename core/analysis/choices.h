// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "jit/jit.h"

namespace jaxscope {

/// A value to save, chosen by hand: what a line makes.
struct HandMark {
    std::string place;            ///< FILE:LINE, JAX's place string, or a name that checkpoint_name gave
    std::string primitive, aval;  ///< which of those that the line makes; empty: any
    bool offload = false;         ///< to pinned_host instead
    friend bool operator==(const HandMark&, const HandMark&) = default;
    friend auto operator<=>(const HandMark&, const HandMark&) = default;
};

/// In which checkpoints marked values are saved.
enum class MarkedAt : std::uint8_t {
    Anywhere,  ///< those that are there, else one around the whole function
    Blocks,    ///< one around each repeated block
    ScanBody,  ///< one around the body of the largest scan
    Function,
};

/// What one looks at: immutable. Two inspections of one program share the stages on which their choices don't differ.
struct Choices {
    static constexpr int kAuto = -2;  ///< the program where it says `differentiate` or differentiates nothing inside, else region 0
    static constexpr int kProgram = -1;
    int region = kAuto;
    std::optional<std::vector<int>> wrt;  ///< argument numbers; nothing: the region's own, or the capture's `differentiate`, else all
    bool wrt_all = false;
    PolicyPtr policy;  ///< wraps the function in checkpoint
    bool each_block =
        false;  ///< `policy` wraps each of its repeated blocks, or the body of its largest scan, instead (naming/placements.h)
    struct Replacement {
        std::string site;  ///< function name or FILE:LINE; empty: all checkpoints inside
        PolicyPtr policy;
    };
    std::vector<Replacement> replace_policy;
    /// Saves these alone, in the checkpoints that are there or in one around the function (naming/by_hand.h); no policy beside it.
    std::optional<std::vector<HandMark>> by_hand;
    MarkedAt marked_at = MarkedAt::Anywhere;  ///< of `by_hand`
    std::optional<std::vector<int>> donate;   ///< argument numbers instead of the program's own
    std::vector<int> kept_back;               ///< input leaves that aren't donated though their arguments are, in order: JAX donates
                                              ///< arguments as a whole, so that in Python such a leaf is an argument of its own
    /// Plan and run what a what-if plans and runs, without a policy too: value and gradient of a program that differentiates nothing
    /// (itself, where that can't be had).
    bool as_step = false;
    bool expand = false;
    std::string project;  ///< directory of the user's own files; empty: all outside site-packages
    JitOptions jit;
    /// Does this ask for another program than the captured one?
    /// Leaves the checkpoints as the program has them.
    void clear_policies() {
        policy = nullptr;
        each_block = false;
        replace_policy.clear();
        by_hand.reset();
        marked_at = MarkedAt::Anywhere;
    }
    /// What stands around the whole function.
    PolicyPtr outer_policy() const { return each_block ? nullptr : policy; }
    bool changes_program() const { return policy || by_hand || !replace_policy.empty(); }
    /// By content: whoever chooses the same again has chosen nothing.
    friend bool operator==(const Choices& a, const Choices& b);
};

/// A policy as people type it: `dots_saveable`, around the function, or `each block: dots_saveable`. Throws Error{BadInput}.
void set_policy(Choices& choices, std::string_view text);
/// The same text of `choices.policy`, which must be there.
std::string policy_words(const Choices& choices);

/// The same choices for another capture of the program, such as a file that was read again: regions and arguments are found by their
/// names, what isn't there any more is chosen by nobody.
Choices carried_over(const Choices& choices, const Program& from, const Program& to);

}  // namespace jaxscope
