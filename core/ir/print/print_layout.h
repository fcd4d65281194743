// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jaxscope {

/// Lays out a document of texts, breaks, groups and nesting as JAX's pretty printer does: a group whose flat width fits into the
/// rest of the line (of `width` bytes) is printed flat, any other breaks at its own breaks; what follows a group is not looked at.
/// The document comes as a stream and is held only as far as a group is undecided, so the cost is linear and the memory a line's.
/// Notes (source lines) stand behind their line, in one column for the whole text.
class PrintLayout {
public:
    explicit PrintLayout(int width) : width_(width) {}
    void text(std::string_view s);
    void note(std::string_view s);          ///< belongs to the line of the text that comes next
    void mark(std::int64_t what);           ///< on which line of the result the text that comes next stands is told by `marks`
    void brk(std::string_view flat = " ");  ///< a newline, or `flat` in a group printed flat
    void begin_group();
    void end_group();
    void nest(int n);
    void unnest();
    /// Everything is laid out; notes are aligned now.
    std::string finish();
    /// (what, line from 0), in order; of texts without notes.
    const std::vector<std::pair<std::int64_t, std::int64_t>>& marks() const { return marks_; }

private:
    enum class Kind : std::uint8_t { Text, Note, Mark, Break, Group, EndGroup, Nest, Unnest };
    struct Token {
        Kind kind;
        std::int64_t begin = 0, end = 0;  ///< of the text in `held_`; of a group: flat width before, and behind (-1: still open)
    };
    void hold(Kind kind, std::string_view s);
    void decide();  ///< breaks groups that have become too wide, the oldest first
    void play_until_undecided();
    void play(const Token& token);
    void put(std::string_view s);
    void put_break(std::string_view flat);
    void end_line();
    bool undecided() const { return head_ < tokens_.size(); }

    int width_;
    std::int64_t column_ = 0, flat_ = 0;  ///< where the line stands; flat width of all that came so far
    std::vector<Token> tokens_;           ///< from `head_` on: the oldest undecided group and what follows
    std::size_t head_ = 0;
    std::string held_;
    std::vector<std::size_t> open_groups_;  ///< tokens of groups that are open and held, outermost first
    std::vector<bool> broken_;              ///< mode of the groups around what is being put
    std::vector<int> indents_{0};
    std::string out_;
    struct Notes {
        std::size_t at;       ///< end of the line in `out_`
        std::int64_t column;  ///< and its width
        std::vector<std::string> texts;
    };
    std::vector<std::string> line_notes_;
    std::vector<Notes> notes_;
    std::vector<std::pair<std::int64_t, std::int64_t>> marks_;
    std::int64_t line_ = 0;
    std::int64_t widest_ = 0;
};

}  // namespace jaxscope
