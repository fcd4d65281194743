// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace jaxscope {

/// One step from the root of a JSON document: a key or an index.
struct JsonStep {
    bool array = false;
    std::int64_t index = -1;
    std::string key;
};
/// `$.jaxprs[3].eqns`; keys that are no identifiers as `['a b']`.
std::string json_path(const std::vector<JsonStep>& steps);
void append_key(std::string& path, std::string_view key);

enum class JsonKind : std::uint8_t { Null, Bool, Int, UInt, Float, String, Array, Object };

class JsonValue;

/// A small piece of a JSON document in one flat buffer that is used again for the next piece: an element of a table, an equation.
/// Big documents are never held whole.
class JsonTree {
public:
    explicit JsonTree(const std::vector<JsonStep>& prefix) : prefix_(&prefix) {}
    void set_prefix(const std::vector<JsonStep>& prefix) { prefix_ = &prefix; }
    void clear();
    bool complete() const { return open_.empty() && !nodes_.empty(); }

    void add_null() { push(JsonKind::Null); }
    void add_bool(bool v) { push(JsonKind::Bool).integer = v; }
    void add_int(std::int64_t v) { push(JsonKind::Int).integer = v; }
    void add_uint(std::uint64_t v) { push(JsonKind::UInt).integer = static_cast<std::int64_t>(v); }
    void add_float(double v) { push(JsonKind::Float).real = v; }
    void add_string(std::string_view v);
    void add_key(std::string_view v) { add_string(v); }
    void begin(JsonKind kind);
    void end();
    JsonValue root() const;

private:
    friend class JsonValue;
    struct Text {
        std::uint32_t offset, length;
    };
    struct Node {
        JsonKind kind = JsonKind::Null;
        std::uint32_t next = 0;  ///< the node behind this subtree
        union {
            std::int64_t integer = 0;
            double real;
            Text text;
        };
    };
    Node& push(JsonKind kind);
    std::vector<Node> nodes_;
    std::string text_;
    std::vector<std::uint32_t> open_;
    const std::vector<JsonStep>* prefix_;
};

/// A value in a JsonTree together with its path, which is only spelled out when something is wrong. A value found through
/// another refers to it: the outer one must live longer.
class JsonValue {
public:
    JsonKind kind() const { return node().kind; }
    bool is_null() const { return kind() == JsonKind::Null; }
    bool is_string() const { return kind() == JsonKind::String; }
    bool is_array() const { return kind() == JsonKind::Array; }
    bool is_object() const { return kind() == JsonKind::Object; }

    bool as_bool() const;
    std::int64_t as_int() const;
    std::int64_t as_int(std::int64_t low, std::int64_t high, const char* what) const;  ///< low <= value < high
    double as_double() const;                                                          ///< integers too
    std::uint64_t raw_uint() const { return static_cast<std::uint64_t>(node().integer); }
    std::string_view as_string() const;

    /// Walks an array: `for (JsonItems it(v); it.more(); it.step()) use(it.value());`, an object likewise with `it.key()`.
    class Items;
    std::size_t count() const;          ///< of an array's items or an object's entries
    JsonValue at(std::size_t i) const;  ///< item `i` of an array; fails where there is none
    bool find(std::string_view key, JsonValue& found) const;
    bool find_value(std::string_view key, JsonValue& found) const { return find(key, found) && !found.is_null(); }
    JsonValue get(std::string_view key) const;  ///< fails where the key is missing
    std::string_view first_key() const;         ///< of an object; empty for an empty one

    std::string path() const;
    [[noreturn]] void fail(const std::string& expected) const;  ///< "PATH: expected X, found <this value>"
    [[noreturn]] void fail_found(const std::string& expected, const std::string& found) const;
    /// What this value is, for messages: "a string 'abc'", "the number 3", "an array of 4".
    std::string describe() const;

    JsonValue() = default;

private:
    friend class JsonTree;
    JsonValue(const JsonTree* tree, std::uint32_t node, const JsonValue* parent, std::int64_t index, std::string_view key)
        : tree_(tree), parent_(parent), key_(key), index_(index), node_(node) {}
    const JsonTree::Node& node() const { return tree_->nodes_[node_]; }
    std::string_view text(std::uint32_t n) const;
    const JsonTree* tree_ = nullptr;
    const JsonValue* parent_ = nullptr;
    std::string_view key_;
    std::int64_t index_ = -1;
    std::uint32_t node_ = 0;
};

class JsonValue::Items {
public:
    explicit Items(const JsonValue& of) : of_(of), at_(of.node_ + 1), end_(of.node().next), object_(of.is_object()) {
        if (!object_ && !of.is_array()) of.fail("an array");
    }
    explicit Items(const JsonValue&&) = delete;
    bool more() const { return at_ < end_; }
    void step() {
        at_ = of_.tree_->nodes_[at_ + (object_ ? 1 : 0)].next;
        ++index_;
    }
    std::string_view key() const {
        if (!object_) of_.fail("an object");
        return of_.text(at_);
    }
    JsonValue value() const {
        return object_ ? JsonValue(of_.tree_, at_ + 1, &of_, -1, of_.text(at_)) : JsonValue(of_.tree_, at_, &of_, index_, {});
    }
    std::int64_t index() const { return index_; }

private:
    const JsonValue& of_;  ///< outlives this
    std::uint32_t at_, end_;
    std::int64_t index_ = 0;
    bool object_;
};

}  // namespace jaxscope
