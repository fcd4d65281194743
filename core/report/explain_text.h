// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "analysis/picked_facts.h"
#include "picture/scope_tree.h"

namespace jaxscope {

/// "model.py:41": the file's own name and a line.
std::string short_place(const std::string& file, int line);
/// In a few words, for tables: "argument", "its name, 'attn_out'", "backward reads it".
std::string why_saved(const ResidualRow& row);

/// Its name; of jaxpr text, which has none, the file's.
std::string program_title(const Program& program);
/// "2 642 equations, JAX 0.10.2"; the version where it is known.
std::string program_subtitle(const Program& program);

/// Answers about one selected thing, in sentences: the facts (analysis/picked_facts.h) in words.
struct Explanation {
    std::string title;        ///< "dot_general"
    std::string subtitle;     ///< "f32[4,4,16,16] = dot_general(f32[4,4,16,8], f32[4,4,8,16])"
    std::string verdict;      ///< "saved", "recomputed", "argument", ...; may be empty
    Role role = Role::Plain;  ///< whose colour the verdict has; Forward also for saved things
    bool saved = false;
    std::vector<std::string> sentences;
    SourceLoc place;
    struct CodeLine {
        int number = 0;
        std::string text;
        bool here = false;
    };
    std::vector<CodeLine> code;                                   ///< around the place, where the capture holds the source
    std::vector<std::pair<std::string, std::string>> facts;       ///< ("if saved", "12.0 KiB")
    std::vector<std::pair<std::string, std::string>> parameters;  ///< as JAX prints them, cut to a line
    bool markable = false;  ///< a value of the forward pass: it can be saved, recomputed or offloaded by hand
    std::string python;     ///< something to paste: a policy that was tried and keeps less; empty: none does
};

/// Explains what is picked; an empty pick explains the program.
Explanation explain(const Program& program, const Picked& picked, const KnownStages& stages, const Choices& choices);

}  // namespace jaxscope
