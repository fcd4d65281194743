// SPDX-License-Identifier: Apache-2.0
// Walks the arrays of a value by what the public headers say of its type (jaxscope/pytree.h), and writes the keys that calls are found by.
#include <cstring>

#include <jaxscope/function.h>

#include "trace/functions.h"

namespace jaxscope::jax::detail {

namespace {

using TypeKind = TreeType::Kind;

/// Calls f(array) for each array that has a value.
template <class F>
struct Leaves : Visitor {
    explicit Leaves(F function) : Visitor{on_child}, f(std::move(function)) {}
    static void on_child(Visitor& visitor, void* value, const TreeType& type) { static_cast<Leaves&>(visitor).walk(value, type); }
    void walk(void* value, const TreeType& type) {
        if (type.kind == TypeKind::leaf) {
            if (auto& a = *static_cast<Array*>(value); a.has_value()) f(a);
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

template <class T>
void grow(T*& at, const T* own, std::size_t used, std::size_t& room) {
    T* more = new T[room *= 2];
    for (std::size_t i = 0; i < used; ++i) more[i] = at[i];
    if (at != own) delete[] at;
    at = more;
}

}  // namespace

void each_leaf_of(void* value, const TreeType& type, void* context, void (*f)(void* context, Array& leaf)) {
    Leaves([=](Array& a) { f(context, a); }).walk(value, type);
}
void append_leaves(const void* value, const TreeType& type, std::vector<Array>& out) {
    Leaves([&](const Array& a) { out.push_back(a); }).walk(const_cast<void*>(value), type);
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
void Call::argument(const void* value, const TreeType& of, bool is_static, const char* keyword) {
    const std::size_t before = leaves.size();
    append_leaves(value, of, leaves);
    leaves_of_arg.push_back(leaves.size() - before);
    static_args.push_back(is_static);
    keywords.push_back(keyword);
}

void CallKey::leaf(const Array& a) {
    if (num_nodes == node_room_) grow(nodes, own_nodes_, num_nodes, node_room_);
    nodes[num_nodes++] = a.node();
}
void CallKey::raw(const void* data, std::size_t n) {
    while (byte_room_ - num_bytes < n) grow(bytes, own_bytes_, num_bytes, byte_room_);
    std::memcpy(bytes + num_bytes, data, n);
    num_bytes += n;
}
void CallKey::text(const char* s) {
    const std::size_t n = std::strlen(s);
    count(n);
    raw(s, n);
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
