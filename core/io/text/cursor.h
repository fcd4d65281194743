// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ir/source.h"

namespace jaxscope {

/// A place in a jaxpr's text, and the words that stand there. Source comments (`# train.py:41:5 (loss)`, `# [jvp(loss)]`) and terminal
/// colours are taken out beforehand, comments are known by line; line ends are `\n`. What a log or a notebook wrote in front of the
/// program, on lines of its own or at the beginning of each line, counts as space. Where JAX broke a line is used only where nothing
/// else tells an equation's end.
class TextCursor {
public:
    /// `name` is what errors call the text.
    TextCursor(std::string_view text, std::string name);
    struct Mark {
        std::size_t at = 0, line = 1, line_begin = 0;
    };
    Mark mark() const { return at_; }
    void back_to(const Mark& m) { at_ = m; }
    bool surrounded() const { return surrounded_; }  ///< by lines of a log or a notebook, before the program at least
    bool at_end() const { return at_.at >= text_.size(); }
    std::size_t line() const { return at_.line; }                   ///< from 1
    std::size_t column() const { return at_.at - at_.line_begin; }  ///< bytes into the line
    SourceLoc loc() const;                                          ///< columns count characters, from 1
    SourceLoc loc_at(std::size_t offset) const;                     ///< of a mark's `at`
    [[noreturn]] void fail(const std::string& expected) const;      ///< "expected X, found 'Y'" here; at the text's end at its last word
    [[noreturn]] void fail_at(std::size_t offset, const std::string& expected) const;  ///< the same at a mark's `at`

    void skip_spaces();
    bool at(std::string_view s);  ///< behind spaces
    bool at_now(std::string_view s) const { return std::string_view(text_).substr(at_.at).starts_with(s); }
    bool take(std::string_view s);
    void expect(std::string_view s);
    bool at_word(std::string_view w) const;                ///< a whole word, behind spaces
    bool after_word(std::string_view w, char next) const;  ///< `next` follows that word, behind spaces
    void expect_word(std::string_view w);
    std::string word(const char* what);  ///< an identifier; fails with `what` where there is none
    std::string peek_word() const;
    std::string let_name();  ///< of `let NAME =`
    std::string primitive_name();
    std::string atom_text();  ///< a variable, or a literal without its aval
    std::string aval_text();
    bool at_jaxpr() const;  ///< `{ lambda`
    bool at_binder();       ///< `name:` of a result
    bool at_equation();     ///< results and `=`, `<-` or `,`, or a primitive with parameters (or a Ref with indices)
    /// `[i,:][0]` behind a Ref: the text, and its variables and integers as the indices `%0`, `%1`, ... that they are.
    struct Indexer {
        std::string text;
        std::vector<std::string> indices;
    };
    Indexer indexer();
    /// Names of all `let NAME = {`.
    std::vector<std::string> shared_names() const;
    void skip_braces();  ///< `{ ... }`
    /// Source comment of this line, unknown where there is none.
    SourceRef line_source() const;

    /// How a list of parameters is laid out: one per line, each beginning at `column`, or all in a row.
    struct Layout {
        bool lines = false;
        std::size_t column = 0;
    };
    Layout begin_parameters();  ///< behind the `[`
    /// The text of a value, up to the next parameter or the closing bracket.
    std::string value_text(const Layout& layout);

private:
    void advance(std::size_t n);
    std::size_t spaces_from(std::size_t i) const;
    std::size_t word_end(std::size_t i) const;
    std::size_t let_name_end(std::size_t begin) const;
    std::size_t value_end(const Layout& layout, bool brackets) const;
    bool parameter_begins(std::size_t i) const;  ///< `name=`
    void take_comments(std::string_view text);
    std::string_view without_comment(std::string_view line);
    void take_name_stack(std::string_view stack);
    void skip_surroundings();
    void refuse_bad_utf8() const;

    std::string text_, name_;
    std::vector<SourceRef> sources_;  ///< by line
    bool surrounded_ = false;         ///< by lines that are no program
    Mark at_;
    std::size_t searched_in_vain_ = 0;  ///< bytes, for brackets that close a value
};

}  // namespace jaxscope
