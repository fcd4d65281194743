// SPDX-License-Identifier: Apache-2.0
#include "io/capture/json_tree.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace jaxscope {

void append_key(std::string& path, std::string_view key) {
    const bool plain =
        !key.empty() && std::all_of(key.begin(), key.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
    if (plain)
        path.append(".").append(key);
    else
        path.append("['").append(printable(key, 40)).append("']");
}

std::string json_path(const std::vector<JsonStep>& steps) {
    std::string path = "$";
    for (const JsonStep& s : steps) {
        if (s.array && s.index >= 0) path += "[" + std::to_string(s.index) + "]";
        if (!s.array && s.index >= 0) append_key(path, s.key);
    }
    return path;
}

void JsonTree::clear() {
    nodes_.clear();
    text_.clear();
    open_.clear();
}
JsonTree::Node& JsonTree::push(JsonKind kind) {
    if (nodes_.size() >= 0x7FFFFFFF) throw Error(ErrorCode::LimitExceeded, json_path(*prefix_) + ": expected a smaller value");
    Node& n = nodes_.emplace_back();
    n.kind = kind;
    n.next = static_cast<std::uint32_t>(nodes_.size());
    return n;
}
void JsonTree::add_string(std::string_view v) {
    if (text_.size() + v.size() >= 0xFFFFFFFF) throw Error(ErrorCode::LimitExceeded, json_path(*prefix_) + ": expected a smaller value");
    Node& n = push(JsonKind::String);
    n.text.offset = static_cast<std::uint32_t>(text_.size());
    n.text.length = static_cast<std::uint32_t>(v.size());
    text_.append(v);
}
void JsonTree::begin(JsonKind kind) {
    open_.push_back(static_cast<std::uint32_t>(nodes_.size()));
    push(kind);
}
void JsonTree::end() {
    nodes_[open_.back()].next = static_cast<std::uint32_t>(nodes_.size());
    open_.pop_back();
}
JsonValue JsonTree::root() const { return JsonValue(this, 0, nullptr, -1, {}); }

std::string_view JsonValue::text(std::uint32_t n) const {
    const JsonTree::Node& s = tree_->nodes_[n];
    return std::string_view(tree_->text_).substr(s.text.offset, s.text.length);
}

std::string JsonValue::path() const {
    if (!parent_) return json_path(*tree_->prefix_);
    std::string p = parent_->path();
    if (index_ >= 0)
        p += "[" + std::to_string(index_) + "]";
    else
        append_key(p, key_);
    return p;
}

std::string JsonValue::describe() const {
    switch (kind()) {
        case JsonKind::Null:
            return "null";
        case JsonKind::Bool:
            return node().integer ? "true" : "false";
        case JsonKind::Int:
            return std::to_string(node().integer);
        case JsonKind::UInt:
            return std::to_string(raw_uint());
        case JsonKind::Float: {
            char buffer[40];
            std::snprintf(buffer, sizeof buffer, "%g", node().real);
            return buffer;
        }
        case JsonKind::String:
            return "'" + printable(text(node_), 60) + "'";
        case JsonKind::Array:
            return "an array of " + std::to_string(count());
        case JsonKind::Object:
            return count() == 0 ? "an empty object" : "an object with '" + printable(first_key(), 40) + "'";
    }
    return {};
}

void JsonValue::fail_found(const std::string& expected, const std::string& found) const {
    throw Error(ErrorCode::BadInput, path() + ": expected " + expected + ", found " + found);
}
void JsonValue::fail(const std::string& expected) const { fail_found(expected, describe()); }

bool JsonValue::as_bool() const {
    if (kind() != JsonKind::Bool) fail("true or false");
    return node().integer != 0;
}
std::int64_t JsonValue::as_int() const {
    if (kind() != JsonKind::Int) fail("an integer");
    return node().integer;
}
std::int64_t JsonValue::as_int(std::int64_t low, std::int64_t high, const char* what) const {
    const std::int64_t v = as_int();
    if (v < low || v >= high)
        fail(high == INT64_MAX ? std::string(what) + " of at least " + std::to_string(low)
                               : std::string(what) + " below " + std::to_string(high));
    return v;
}
double JsonValue::as_double() const {
    if (kind() == JsonKind::Float) return node().real;
    if (kind() == JsonKind::Int) return static_cast<double>(node().integer);
    if (kind() == JsonKind::UInt) return static_cast<double>(raw_uint());
    fail("a number");
}
std::string_view JsonValue::as_string() const {
    if (!is_string()) fail("a string");
    return text(node_);
}

std::size_t JsonValue::count() const {
    std::size_t n = 0;
    for (Items it(*this); it.more(); it.step()) ++n;
    return n;
}
JsonValue JsonValue::at(std::size_t i) const {
    std::size_t n = 0;
    if (!is_array()) fail("an array");
    for (Items it(*this); it.more(); it.step(), ++n)
        if (n == i) return it.value();
    fail("an array of at least " + std::to_string(i + 1));
}
bool JsonValue::find(std::string_view key, JsonValue& found) const {
    if (!is_object()) fail("an object");
    for (Items it(*this); it.more(); it.step())
        if (it.key() == key) {
            found = it.value();
            return true;
        }
    return false;
}
JsonValue JsonValue::get(std::string_view key) const {
    JsonValue found;
    if (!find(key, found)) fail_found("the key '" + std::string(key) + "'", "none");
    return found;
}
std::string_view JsonValue::first_key() const {
    Items it(*this);
    return it.more() ? it.key() : std::string_view();
}

}  // namespace jaxscope
