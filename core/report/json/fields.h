// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/json_writer.h"
#include "base/sym.h"

namespace jaxscope {

/// One field of a report's object. JSON and its schema are both derived from these declarations, so that they can't disagree.
template <class T, class M>
struct ReportField {
    const char* name;
    M T::*member;
    const char* doc;
};
template <class T, class M>
constexpr ReportField<T, M> report_field(const char* name, M T::*member, const char* doc = "") {
    return {name, member, doc};
}

/// Specialised for every struct that reports show: `static constexpr auto fields = std::tuple(report_field(...), ...);`
template <class T>
struct ReportFields;

template <class T>
concept Reported = requires {
    ReportFields<T>::fields;
};

template <class T, class M>
void write_schema_property(JsonWriter& w, const ReportField<T, M>& f);

template <class T>
void write_json(JsonWriter& w, const T& value);

template <Reported T>
void write_fields(JsonWriter& w, const T& value) {
    std::apply([&](const auto&... f) { ((w.key(f.name), write_json(w, value.*(f.member))), ...); }, ReportFields<T>::fields);
}

/// A fact that reports show as words: `words(value)` says them.
template <class T>
concept Worded = requires(const T& value) {
    { words(value) } -> std::same_as<std::string>;
};

namespace detail {
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class V>
struct IsMap<std::map<std::string, V>> : std::true_type {};
}  // namespace detail

template <class T>
void write_json(JsonWriter& w, const T& value) {
    if constexpr (Reported<T>) {
        w.begin_object();
        write_fields(w, value);
        w.end_object();
    } else if constexpr (detail::IsVector<T>::value) {
        w.begin_array();
        for (const auto& item : value) write_json(w, static_cast<const typename T::value_type&>(item));
        w.end_array();
    } else if constexpr (detail::IsOptional<T>::value) {
        if (value)
            write_json(w, *value);
        else
            w.null();
    } else if constexpr (detail::IsMap<T>::value) {
        w.begin_object();
        for (const auto& [k, v] : value) {
            w.key(k);
            write_json(w, v);
        }
        w.end_object();
    } else if constexpr (Worded<T>) {
        w.value(std::string_view(words(value)));
    } else if constexpr (std::is_same_v<T, std::string>) {
        w.value(std::string_view(value));
    } else if constexpr (std::is_same_v<T, Sym>) {
        w.value(std::string_view(value.str()));
    } else if constexpr (std::is_same_v<T, bool>) {
        w.value(value);
    } else if constexpr (std::is_integral_v<T>) {
        w.value(static_cast<std::int64_t>(value));
    } else {
        static_assert(std::is_floating_point_v<T>, "a type that reports have no JSON for: declare its ReportFields");
        w.value(static_cast<double>(value));
    }
}

/// The JSON Schema of a type, inline.
template <class T>
void write_schema(JsonWriter& w) {
    const auto typed = [&](const char* type) {
        w.begin_object();
        w.key("type");
        w.value(type);
        w.end_object();
    };
    if constexpr (Reported<T>) {
        w.begin_object();
        w.key("type");
        w.value("object");
        w.key("required");
        w.begin_array();
        std::apply([&](const auto&... f) { (w.value(f.name), ...); }, ReportFields<T>::fields);
        w.end_array();
        w.key("properties");
        w.begin_object();
        std::apply([&](const auto&... f) { (write_schema_property(w, f), ...); }, ReportFields<T>::fields);
        w.end_object();
        w.end_object();
    } else if constexpr (detail::IsVector<T>::value) {
        w.begin_object();
        w.key("type");
        w.value("array");
        w.key("items");
        write_schema<typename T::value_type>(w);
        w.end_object();
    } else if constexpr (detail::IsOptional<T>::value) {
        w.begin_object();
        w.key("anyOf");
        w.begin_array();
        write_schema<typename T::value_type>(w);
        typed("null");
        w.end_array();
        w.end_object();
    } else if constexpr (detail::IsMap<T>::value) {
        w.begin_object();
        w.key("type");
        w.value("object");
        w.key("additionalProperties");
        write_schema<typename T::mapped_type>(w);
        w.end_object();
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Sym> || Worded<T>) {
        typed("string");
    } else if constexpr (std::is_same_v<T, bool>) {
        typed("boolean");
    } else if constexpr (std::is_integral_v<T>) {
        typed("integer");
    } else {
        w.begin_object();  // non-finite numbers are strings
        w.key("type");
        w.begin_array();
        w.value("number");
        w.value("string");
        w.end_array();
        w.end_object();
    }
}

template <class T, class M>
void write_schema_property(JsonWriter& w, const ReportField<T, M>& f) {
    w.key(f.name);
    if (f.doc[0] == '\0') return write_schema<M>(w);
    w.begin_object();
    w.key("description");
    w.value(f.doc);
    w.key("allOf");
    w.begin_array();
    write_schema<M>(w);
    w.end_array();
    w.end_object();
}

}  // namespace jaxscope
