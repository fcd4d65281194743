// SPDX-License-Identifier: Apache-2.0
// jnp.vectorize: signatures, and how the dimensions of a call are mapped. As JAX does it, dimensions are added by vmap rather than by
// broadcasting, so that what only some arguments have is computed once.
#include <jaxscope/vectorize.h>

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "trace/functions.h"
#include "trace/promote.h"
#include "trace/refusals.h"

namespace jaxscope::jax::detail {

namespace {

using Names = std::vector<std::string>;

/// As Python prints a tuple of names.
std::string names_text(const Names& names) {
    std::string out;
    for (const std::string& n : names) out += (out.empty() ? "'" : ", '") + n + "'";
    return "(" + out + (names.size() == 1 ? ",)" : ")");
}

class SignatureReader {
public:
    SignatureReader(const char* text, const Where& where) : text_(text), where_(where) {}
    /// Of the arguments, then of the results.
    std::pair<std::vector<Names>, std::vector<Names>> read() {
        std::pair<std::vector<Names>, std::vector<Names>> out;
        out.first = lists();
        expect("->");
        out.second = lists();
        if (at_ != text_.size()) refuse();
        return out;
    }

private:
    [[noreturn]] void refuse() const {
        detail::refuse_at(where_, ErrorCode::BadUsage, "not a valid gufunc signature: " + text_,
                          "name the dimensions of each argument and result: \"(n,m),(m)->(n)\"");
    }
    bool next_is(const char* s) const { return text_.compare(at_, std::char_traits<char>::length(s), s) == 0; }
    void expect(const char* s) {
        if (!next_is(s)) refuse();
        at_ += std::char_traits<char>::length(s);
    }
    std::vector<Names> lists() {
        std::vector<Names> out{list()};
        while (next_is(",")) ++at_, out.push_back(list());
        return out;
    }
    Names list() {
        Names out;
        expect("(");
        while (!next_is(")")) {
            if (!out.empty()) expect(",");
            const std::size_t first = at_;
            while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
            if (at_ == first) refuse();
            out.push_back(text_.substr(first, at_ - first));
        }
        expect(")");
        return out;
    }
    std::string text_;
    const Where& where_;
    std::size_t at_ = 0;
};

/// Sizes of the dimensions with a name, which have to agree.
void learn_sizes(std::vector<std::pair<std::string, std::int64_t>>& sizes, const Array& a, const Names& names, bool is_input,
                 const std::string& context, const Where& where) {
    const auto refuse = [&](const std::string& text) { detail::refuse_at(where, ErrorCode::BadUsage, text + " " + context); };
    const Dims& shape = a.node()->aval->shape;
    if (is_input && shape.size() < names.size())
        refuse(fmt::format("input with shape {} does not have enough dimensions for all core dimensions {}", Shape(shape).str(),
                           names_text(names)));
    if (!is_input && shape.size() != names.size())
        refuse(fmt::format("output shape {} does not match core dimensions {}", Shape(shape).str(), names_text(names)));
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::int64_t size = shape[shape.size() - names.size() + i];
        const auto known = std::find_if(sizes.begin(), sizes.end(), [&](const auto& s) { return s.first == names[i]; });
        if (known == sizes.end())
            sizes.emplace_back(names[i], size);
        else if (known->second != size)
            refuse(fmt::format("inconsistent size for core dimension '{}': {} vs {}", names[i], size, known->second));
    }
}

}  // namespace

Vectorization vectorized(const char* signature, const std::vector<Array>& arguments, const Where& where) {
    Vectorization out;
    out.checks = signature != nullptr;
    out.context = fmt::format("on vectorized function with excluded=frozenset() and signature={}",
                              signature ? "'" + std::string(signature) + "'" : "None");
    std::vector<Names> inputs(arguments.size());
    if (signature) std::tie(inputs, out.outputs) = SignatureReader(signature, where).read();
    if (inputs.size() != arguments.size())
        detail::refuse_at(
            where, ErrorCode::BadUsage,
            fmt::format("wrong number of positional arguments: expected {}, got {} {}", inputs.size(), arguments.size(), out.context),
            "the signature names each argument's dimensions: \"(n,m),(m)->(n)\"");
    std::vector<Dims> shapes;  // of the dimensions in front
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        learn_sizes(out.sizes, arguments[i], inputs[i], true, out.context, where);
        const Dims& all = arguments[i].node()->aval->shape;
        shapes.emplace_back(all.begin(), all.end() - static_cast<std::ptrdiff_t>(inputs[i].size()));
    }
    const std::size_t rank = at_place(where, [&] { return broadcast_shapes(shapes); }).size();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::vector<std::int64_t> ones;
        for (std::size_t d = 0; d < shapes[i].size(); ++d)
            if (shapes[i][d] == 1) ones.push_back(static_cast<std::int64_t>(d));
        const Operand argument(arguments[i], where.file, where.line, where.function);
        out.squeezed.push_back(ones.empty() ? arguments[i] : numpy::squeeze(argument, Axes(std::move(ones))));
    }
    std::vector<std::int64_t> expanded;
    for (std::size_t k = 0; k < rank; ++k) {  // from the last dimension to the first
        std::vector<bool> mapped;
        for (const Dims& s : shapes) mapped.push_back(k < s.size() && s[s.size() - 1 - k] != 1);
        if (std::find(mapped.begin(), mapped.end(), true) == mapped.end())
            expanded.push_back(static_cast<std::int64_t>(rank - 1 - k));
        else
            out.mapped.push_back(std::move(mapped));
    }
    out.expanded = Shape(std::move(expanded));
    return out;
}

void check_outputs(const Vectorization& v, const std::vector<Array>& outputs, const Where& where) {
    if (outputs.size() != v.outputs.size())
        detail::refuse_at(
            where, ErrorCode::BadUsage,
            fmt::format("wrong number of output arguments: expected {}, got {} {}", v.outputs.size(), outputs.size(), v.context),
            "the signature names each result's dimensions behind the arrow");
    auto sizes = v.sizes;
    for (std::size_t i = 0; i < outputs.size(); ++i) learn_sizes(sizes, outputs[i], v.outputs[i], false, v.context, where);
}

}  // namespace jaxscope::jax::detail
