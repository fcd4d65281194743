// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/text/cursor.h"
#include "io/text/literals.h"
#include "ir/jaxpr.h"

namespace jaxscope {

/// One jaxpr of a text while it is being read: what its names stand for.
struct Reading {
    std::shared_ptr<Jaxpr> jaxpr = std::make_shared<Jaxpr>();
    std::unordered_map<std::string, Var> scope;
    std::vector<Var> dropped;         ///< the variables `_`: jit's results may be some, being called as its equation calls them
    std::vector<std::size_t> places;  ///< where each equation begins in the text
    std::vector<UntypedLiteral> untyped;
    bool called_by_name = false;  ///< of a call whose names are this jaxpr's too: only there may `_` be read
};
/// `name:type` of a result.
struct Binder {
    std::string name;
    AvalRef aval;
    TextCursor::Mark at;
};

// All of these throw Error{BadInput} at their place in the text.

AvalRef read_aval(TextCursor& in);
void bind(const TextCursor& in, Reading& r, const Binder& binder);
/// A literal without a type, of the first of the `likely` types that it can have.
LiteralRef guess(const TextCursor& in, const std::string& token, const std::vector<DType>& likely, const TextCursor::Mark& at);
/// A variable called `_` that is read: a result that goes by the name of an unused result of the calling jit. The latest one.
Var read_dropped(Reading& r);
/// Which variables `_` the jaxpr's results `_` are: the last ones (what jit's jaxpr returns for an unused result tends to stand behind what
/// it drops itself), of the type that the calling equation says.
void dropped_results(const TextCursor& in, Reading& r, const std::vector<std::size_t>& results, const Avals& types);

/// Reading and writing of Refs, behind the `results` that were read: `b:f32[] <- a[i]`, `b:f32[], a[i] <- a[i], c`, `a[i] <- c`,
/// `a[i] += c` (ir/print/print_refs.h).
bool at_ref_access(TextCursor& in, const Reading& r, std::size_t results);
void read_ref_access(TextCursor& in, Reading& r, std::vector<Binder> results, SourceRef source);

}  // namespace jaxscope
