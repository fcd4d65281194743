// SPDX-License-Identifier: Apache-2.0
// Walks the arrays of a value by what the public headers say of its type (jaxscope/pytree.h), and writes the keys that calls are found by.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

#include <jaxscope/function.h>

#include "trace/functions.h"

namespace jaxscope::jax::detail {

namespace {

using TypeKind = TreeType::Kind;

/// Calls f(array) for each array that has a value, or for each place of one.
template <class F, bool Places = false>
struct Leaves : Visitor {
    explicit Leaves(F function) : Visitor{on_child}, f(std::move(function)) {}
    static void on_child(Visitor& visitor, void* value, const TreeType& type) { static_cast<Leaves&>(visitor).walk(value, type); }
    void walk(void* value, const TreeType& type) {
        if (type.kind == TypeKind::leaf) {
            if (auto& a = *static_cast<Array*>(value); Places || a.has_value()) f(a);
        } else if (type.children) {
            type.children(value, *this);
        }
    }
    F f;
};

struct KeyWriter : Visitor {
    KeyWriter(CallKey& call_key, const FixedType* key_type) : Visitor{on_child}, out(call_key), keys(key_type) {}
    static void on_child(Visitor& visitor, void* value, const TreeType& type) {
        auto& self = static_cast<KeyWriter&>(visitor);
        if (self.keys) self.out.fixed(self.key, *self.keys);
        self.out.value(value, type);
    }
    CallKey& out;
    const FixedType* keys;  ///< of a dict
};

std::vector<std::size_t> counted(std::size_t n) {
    std::vector<std::size_t> out(n);
    std::iota(out.begin(), out.end(), std::size_t{0});
    return out;
}

template <class T>
void grow(T*& at, const T* own, std::size_t used, std::size_t& room) {
    T* more = new T[room *= 2];
    for (std::size_t i = 0; i < used; ++i) more[i] = at[i];
    if (at != own) delete[] at;
    at = more;
}

}  // namespace

void append(std::vector<Array>& list, const Array& a) { list.push_back(a); }

void each_leaf_of(void* value, const TreeType& type, void* context, void (*f)(void* context, Array& leaf)) {
    Leaves([=](Array& a) { f(context, a); }).walk(value, type);
}
void append_leaves(const void* value, const TreeType& type, std::vector<Array>& out) {
    Leaves([&](const Array& a) { out.push_back(a); }).walk(const_cast<void*>(value), type);
}
void append_places(const void* value, const TreeType& type, std::vector<Array>& out) {
    const auto add = [&](const Array& a) { out.push_back(a); };
    Leaves<decltype(add), true>(add).walk(const_cast<void*>(value), type);
}
void set_leaves(void* value, const TreeType& type, const Array*& leaves) {
    Leaves([&](Array& a) { a = *leaves++; }).walk(value, type);
}
void move_leaves(void* value, const TreeType& type, Array* leaves) {
    Leaves([&](Array& a) { a = std::move(*leaves++); }).walk(value, type);
}
void empty_leaves(void* value, const TreeType& type) {
    const Array place = place_of_array();
    Leaves([&](Array& a) { a = place; }).walk(value, type);
}

Call::Call() = default;
Call::~Call() = default;
void Call::argument(const void* value, const TreeType& of, bool is_static, bool is_number, const char* keyword) {
    const std::size_t before = leaves.size();
    append_leaves(value, of, leaves);
    leaves_of_arg.push_back(leaves.size() - before);
    static_args.push_back(is_static);
    numbers.push_back(is_number);
    fixed.emplace_back();
    keywords.push_back(keyword);
}
void Call::arrange() {
    order = counted(keywords.size());
    // By position, then by name, as JAX sorts a dict.
    std::vector<std::size_t> wanted = order;
    const auto word = [&](std::size_t i) { return std::string_view(keywords[i] ? keywords[i] : ""); };
    std::stable_sort(wanted.begin(), wanted.end(), [&](std::size_t a, std::size_t b) {
        return bool(keywords[a]) != bool(keywords[b]) ? !keywords[a] : word(a) < word(b);
    });
    arrange(std::move(wanted));
}
void Call::arrange_as_taken() { arrange(counted(keywords.size())); }
void Call::arrange(std::vector<std::size_t> wanted) {
    if (wanted == order) return;
    std::vector<Array> arranged;
    for (const std::size_t a : wanted)
        for (std::size_t k = 0; k < leaves_of_arg[a]; ++k) arranged.push_back(leaves[first_leaf(a) + k]);
    leaves = std::move(arranged);
    order = std::move(wanted);
}
std::size_t Call::first_leaf(std::size_t arg) const {
    std::size_t n = 0;
    for (auto a = order.begin(); *a != arg; ++a) n += leaves_of_arg[*a];
    return n;
}
std::vector<std::size_t> Call::leaves_as_taken() const {
    std::vector<std::size_t> first(leaves_of_arg.size()), out;
    std::exclusive_scan(leaves_of_arg.begin(), leaves_of_arg.end(), first.begin(), std::size_t{0});
    for (const std::size_t a : order)
        for (std::size_t k = 0; k < leaves_of_arg[a]; ++k) out.push_back(first[a] + k);
    return out;
}
void Call::set_arguments(void* const* values, const TreeType* const* types, const Array* in) const {
    for (const std::size_t a : order) {
        if (fixed[a].empty()) {
            set_leaves(values[a], *types[a], in);
            continue;
        }
        std::vector<Array> own;
        for (const Array& x : fixed[a]) own.push_back(number_as_given(x));
        const Array* next = own.data();
        set_leaves(values[a], *types[a], next);
    }
}
void Call::fix(std::size_t arg) {
    const auto first = leaves.begin() + static_cast<std::ptrdiff_t>(first_leaf(arg));
    const auto last = first + static_cast<std::ptrdiff_t>(leaves_of_arg[arg]);
    fixed[arg].assign(first, last);
    leaves.erase(first, last);
    leaves_of_arg[arg] = 0;
}

void CallKey::leaf(const Array& a) {
    if (num_nodes == node_room_) grow(nodes, own_nodes_, num_nodes, node_room_);
    nodes[num_nodes++] = a.node();
}
void CallKey::number(const Array& a, std::vector<Array>& made) {
    made.push_back(a);
    leaf(a);
}
void CallKey::raw(const void* data, std::size_t n) {
    while (byte_room_ - num_bytes < n) grow(bytes, own_bytes_, num_bytes, byte_room_);
    std::memcpy(bytes + num_bytes, data, n);
    num_bytes += n;
}
void CallKey::text(std::string_view s) {
    count(s.size());
    raw(s.data(), s.size());
}
void CallKey::count(std::size_t n) {
    const auto c = static_cast<std::uint32_t>(n);
    raw(&c, sizeof c);
}
void CallKey::fixed(const void* value, const FixedType& of) {
    switch (of.key) {
        case FixedType::Key::none:
            return;
        case FixedType::Key::bytes:
            return raw(value, of.bytes);
        case FixedType::Key::text:
            return text(of.characters(value));
        case FixedType::Key::unknown:
            exact = false;
    }
}
void CallKey::value(const void* value, const TreeType& of) {
    if (of.kind == TypeKind::leaf) return leaf(*static_cast<const Array*>(value));
    if (of.kind == TypeKind::fixed) return fixed(value, *of.fixed);
    if (of.count) count(of.count(value));
    KeyWriter children(*this, of.fixed);
    of.children(const_cast<void*>(value), children);  // walks alone: nothing is written
}

}  // namespace jaxscope::jax::detail
