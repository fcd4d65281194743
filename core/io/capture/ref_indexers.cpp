// SPDX-License-Identifier: Apache-2.0
#include "io/capture/ref_indexers.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/print/print_refs.h"

namespace jaxscope {

namespace {

/// Reads what Python prints of the tree of an NDIndexer, from left to right.
class TreeText {
public:
    explicit TreeText(std::string_view text) : rest_(text) {}

    /// `[i,:][0]` out of `PyTreeDef((CustomNode(NDIndexer[(PyTreeDef((*, CustomNode(Slice[(0, 4, 1)], [None, None]))), (3, 4), ())],
    /// [*]),))`.
    std::optional<std::string> indexers() {
        if (rest_ == "PyTreeDef(())") return "[...]";
        std::string out;
        if (!take("PyTreeDef((")) return std::nullopt;
        while (take("CustomNode(NDIndexer[(PyTreeDef((")) {
            if (!one(out)) return std::nullopt;
            take(", ");
        }
        take(",");
        return out.empty() || rest_ != "))" ? std::nullopt : std::optional(out);
    }

private:
    bool take(std::string_view s) {
        if (!rest_.starts_with(s)) return false;
        rest_.remove_prefix(s.size());
        return true;
    }
    std::optional<std::int64_t> number() {
        std::int64_t n = 0;
        const auto [end, ec] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
        if (ec != std::errc()) return std::nullopt;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        return n;
    }
    std::string index() { return "%" + std::to_string(next_++); }

    /// Dimensions up to the end of the indexer's node.
    bool one(std::string& out) {
        std::vector<std::string> items;
        std::vector<std::optional<std::int64_t>> ends;  ///< of slices that may reach the dimension's end
        while (!take(")), (")) {
            ends.emplace_back();
            if (take("*"))
                items.push_back(index());
            else if (!slice(items, ends.back()))
                return false;
            if (!take(", ")) take(",");
        }
        out += '[';
        for (std::size_t i = 0; i < items.size(); ++i) {
            const auto dim = number();
            if (!dim) return false;
            if (!take(", ")) take(",");
            out += (i ? "," : "") + items[i];
            if (ends[i] && *ends[i] != *dim) out += std::to_string(*ends[i]);
        }
        out += ']';
        // The shape of integer indices, and the leaves.
        const std::size_t leaves = rest_.find("], [");
        const std::size_t end = leaves == std::string_view::npos ? leaves : rest_.find("])", leaves + 4);
        if (end == std::string_view::npos) return false;
        rest_.remove_prefix(end + 2);
        return true;
    }
    /// `CustomNode(Slice[(0, 4, 1)], [None, None])`: start, size, stride (JAX prints no stride); None where a leaf says it.
    bool slice(std::vector<std::string>& items, std::optional<std::int64_t>& end) {
        if (!take("CustomNode(Slice[(")) return false;
        const auto start = take("None") ? std::nullopt : number();
        if (!take(", ")) return false;
        const auto size = take("None") ? std::nullopt : number();
        const std::size_t close = rest_.find(")], [");
        if (close == std::string_view::npos) return false;
        rest_.remove_prefix(close + 5);
        const std::string from = take("*") ? index() : take("None") ? std::string() : "?";
        if (!take(", ")) return false;
        const std::string length = take("*") ? index() : take("None") ? std::string() : "?";
        if (!take("])") || from == "?" || length == "?" || start.has_value() != from.empty() || size.has_value() != length.empty())
            return false;
        if (!start) {
            items.push_back(from + ":" + from + "+" + (size ? std::to_string(*size) : length));
        } else if (!size) {
            items.push_back((*start ? std::to_string(*start) + ":" + std::to_string(*start) + "+" : ":") + length);
        } else {
            items.push_back((*start ? std::to_string(*start) : "") + ":");
            end = *start + *size;
        }
        return true;
    }
    std::string_view rest_;
    int next_ = 0;
};

}  // namespace

ParamsRef with_indexer_read(ParamsRef params) {
    static const Sym kTree("tree");
    const Attr* tree = params->find(kTree);
    const auto* object = tree ? tree->get<Attr::Object>() : nullptr;
    if (!object) return params;
    const std::string& text = object->text.str();
    const std::optional<std::string> indexer = TreeText(text).indexers();
    return indexer ? with_param(params, kTree, indexer_attr(*indexer, text)) : params;
}

}  // namespace jaxscope
