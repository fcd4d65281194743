// SPDX-License-Identifier: Apache-2.0
#include "ir/name_stack.h"

#include <algorithm>

#include "base/intern.h"

namespace jaxscope {

namespace stack_names {
const Sym kJvp("jvp"), kTranspose("transpose"), kVmap("vmap"), kRematted("rematted_computation");
}

namespace {

/// A stack is the one without its innermost entry, and that entry: extending one makes one node.
struct Node {
    std::uint32_t outer = 0;
    NameStack::Entry entry;
    friend bool operator==(const Node&, const Node&) = default;
};
struct NodeHash {
    std::size_t operator()(const Node& n) const { return hash_mix(hash_mix(n.outer, n.entry.name.id()), n.entry.transform); }
};
InternTable<Node, NodeHash>& table() {
    static auto& t = *[] {
        auto* made = new InternTable<Node, NodeHash>;
        made->intern(Node{UINT32_MAX, {}});  // the empty stack; no other is outside of it
        return made;
    }();
    return t;
}

bool balanced(std::string_view text) {
    int depth = 0;
    for (const char c : text) {
        if (c == '(') ++depth;
        if (c == ')' && --depth < 0) return false;
    }
    return depth == 0;
}

/// "jvp(a/b)/c" has two segments: slashes in parentheses belong to the name inside.
std::vector<std::string_view> split_segments(std::string_view text) {
    std::vector<std::string_view> out;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '(') ++depth;
        if (text[i] == ')') --depth;
        if (text[i] != '/' || depth > 0) continue;
        out.push_back(text.substr(begin, i - begin));
        begin = i + 1;
    }
    out.push_back(text.substr(begin));
    return out;
}

/// The name of a transformation that wraps all of `segment`, and what it wraps; nothing for a scope. Names that JAX doesn't use so are
/// scopes that happen to hold parentheses.
bool unwrap(std::string_view& segment, Sym& name) {
    for (const Sym transform : {stack_names::kJvp, stack_names::kTranspose, stack_names::kVmap}) {
        const std::string& word = transform.str();
        if (segment.size() < word.size() + 2 || !segment.starts_with(word) || segment[word.size()] != '(' || segment.back() != ')')
            continue;
        const std::string_view inside = segment.substr(word.size() + 1, segment.size() - word.size() - 2);
        if (!balanced(inside)) continue;
        segment = inside;
        name = transform;
        return true;
    }
    return false;
}

}  // namespace

NameStack NameStack::with(Entry entry) const {
    NameStack out;
    out.id_ = table().intern(Node{id_, entry});
    return out;
}
NameStack NameStack::scope(Sym name) const { return with({name, false}); }
NameStack NameStack::transform(Sym name) const { return with({name, true}); }

NameStack NameStack::operator+(NameStack inner) const {
    if (empty()) return inner;
    NameStack out = *this;
    for (const Entry& e : inner.entries()) out = out.with(e);
    return out;
}

std::vector<NameStack::Entry> NameStack::entries() const {
    std::vector<Entry> out;
    for (std::uint32_t at = id_; at != 0; at = table().get(at).outer) out.push_back(table().get(at).entry);
    std::reverse(out.begin(), out.end());
    return out;
}

bool NameStack::has_transform(Sym name) const {
    for (std::uint32_t at = id_; at != 0; at = table().get(at).outer)
        if (table().get(at).entry == Entry{name, true}) return true;
    return false;
}
bool NameStack::has_scope(Sym name) const {
    for (std::uint32_t at = id_; at != 0; at = table().get(at).outer)
        if (table().get(at).entry == Entry{name, false}) return true;
    return false;
}

NameStack NameStack::parse(std::string_view text) {
    NameStack out;
    if (text.empty()) return out;
    const std::vector<std::string_view> segments = split_segments(text);
    for (std::size_t i = 0; i < segments.size(); ++i) {
        std::string_view inside = segments[i];
        Sym name;
        bool wrapped = false;
        while (unwrap(inside, name)) {
            out = out.transform(name);
            wrapped = true;
        }
        // Behind the last transformation there may be no scope: "jvp()".
        if (!(wrapped && inside.empty() && i + 1 == segments.size())) out = out.scope(inside);
    }
    return out;
}

std::vector<NameStack::Segment> NameStack::segments() const {
    std::vector<Segment> out;
    std::vector<Sym> wrappers;
    const auto close = [&](std::string text) {
        for (auto w = wrappers.rbegin(); w != wrappers.rend(); ++w) text = w->str() + "(" + text + ")";
        out.push_back({std::move(text), !wrappers.empty()});
        wrappers.clear();
    };
    for (const Entry& e : entries()) {
        if (e.transform)
            wrappers.push_back(e.name);
        else
            close(e.name.str());
    }
    if (!wrappers.empty()) close({});
    return out;
}

std::string NameStack::str() const {
    std::string out;
    bool first = true;
    for (const Segment& s : segments()) {
        if (!first) out += '/';
        first = false;
        out += s.text;
    }
    return out;
}

}  // namespace jaxscope
