// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/capture/json_tree.h"
#include "ir/program.h"

namespace jaxscope {

/// Words of a source, behind its summary (Source).
constexpr std::string_view kOwnPlace = "own_place", kUnusedInBody = "unused_in_body";

/// The interned tables of a capture (docs/capture-format.md, sections 2 and 3) while it is being read, and the conversions of
/// their elements. Every `add_` takes one element of the table of that name; all throw Error{BadInput} with the JSON path.
class CaptureTables {
public:
    explicit CaptureTables(Program& program);

    void add_string(const JsonValue& v);
    void add_aval(const JsonValue& v);
    void add_file(const JsonValue& v);
    void add_frame(const JsonValue& v);
    void add_traceback(const JsonValue& v);
    void add_name_stack(const JsonValue& v);
    void add_source(const JsonValue& v);
    void add_context(const JsonValue& v);
    void add_literal(const JsonValue& v);
    void add_params(const JsonValue& v, const JsonTree& tree, const std::vector<JsonStep>& path);
    void add_array(std::shared_ptr<ArrayConst> array) { arrays_.push_back(std::move(array)); }
    void add_jaxpr(JaxprPtr jaxpr, int depth);

    Sym string(const JsonValue& index) const;
    const Primitive& primitive_of(const JsonValue& string_index);
    AvalRef aval(const JsonValue& index) const;
    LiteralRef literal(const JsonValue& value, std::int64_t index) const;
    SourceRef source(const JsonValue& index) const;    ///< null: unknown
    ContextRef context(const JsonValue& index) const;  ///< null: the default
    ArrayPtr array(const JsonValue& index) const;
    JaxprPtr jaxpr(const JsonValue& index) const;
    /// The parameters and how deep the jaxprs nest that they hold. Converted at first use where they hold jaxprs.
    struct ParamsAndDepth {
        ParamsRef params;
        int depth = 0;
    };
    ParamsAndDepth params(const JsonValue& index);
    Attr attr(const JsonValue& v, int& depth) const;
    Avals avals(const JsonValue& v) const;

    std::size_t num_avals() const { return avals_.size(); }
    AvalRef aval_at(std::size_t i) const { return avals_[i]; }
    const std::vector<JaxprPtr>& jaxprs() const { return jaxprs_; }
    const std::vector<std::shared_ptr<ArrayConst>>& arrays() const { return arrays_; }
    const std::shared_ptr<CustomRules>& rules() const { return rules_; }
    /// Highest rule that parameters refer to, -1 for none: rules may stand behind, so the count is checked at the end.
    std::int64_t highest_rule() const { return highest_rule_; }

private:
    std::vector<Frame> frames_of(const std::vector<std::uint32_t>& traceback);
    Attr attr_of_object(const JsonValue& v, int& depth) const;
    Attr policy_attr(const JsonValue& v, int& depth) const;
    Attr mesh_attr(const JsonValue& v, int& depth) const;
    Attr spec_attr(const JsonValue& dims, Sym text, int& depth) const;
    Attr record_attr(const JsonValue& v, int& depth) const;
    Attr::JaxprRef jaxpr_attr(const JsonValue& v, bool closed, int& depth) const;

    struct Deferred {
        std::vector<JsonStep> path;
        JsonTree tree;
    };
    struct ParamsEntry {
        ParamsAndDepth value;
        std::unique_ptr<Deferred> deferred;
    };
    Program& program_;
    std::vector<Sym> strings_;
    std::vector<NameStack> name_stacks_;
    std::vector<const Primitive*> primitives_;  ///< by string, made at first use
    Avals avals_;
    std::vector<Frame> frames_;
    std::vector<std::vector<std::uint32_t>> tracebacks_;
    std::size_t frames_held_ = 0;  ///< by sources, each with a list of its own
    std::vector<SourceRef> sources_;
    std::vector<ContextRef> contexts_;
    std::vector<LiteralRef> literals_;
    std::vector<std::shared_ptr<ArrayConst>> arrays_;
    std::vector<ParamsEntry> params_;
    std::vector<JaxprPtr> jaxprs_;
    std::vector<int> jaxpr_depths_;
    std::shared_ptr<CustomRules> rules_ = std::make_shared<CustomRules>();
    mutable std::int64_t highest_rule_ = -1;
};

/// `value` as an element of `dtype`: a number, true or false, "nan", "inf", "-inf", a decimal string, [re, im]. Fails where it doesn't fit.
struct Element;
Element element_from_json(const JsonValue& value, DType dtype);
/// The dtype of that name in either of JAX's spellings; fails with the name.
DType dtype_from_json(const JsonValue& value);
/// A text for people out of whatever stands there: a string, null (empty), an object's `text`.
Sym text_from_json(const JsonValue& value);

}  // namespace jaxscope
