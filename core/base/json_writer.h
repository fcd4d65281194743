// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <ostream>
#include <string_view>
#include <vector>

namespace jaxscope {

/// Writes JSON as a stream: nothing is built in memory, so a report of any size costs only its longest string.
/// Non-finite numbers become the strings "nan", "inf", "-inf"; bytes that are no UTF-8 are escaped.
class JsonWriter {
public:
    explicit JsonWriter(std::ostream& out, bool pretty = true) : out_(out), pretty_(pretty) {}
    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }
    void key(std::string_view name);
    void value(std::string_view text);
    void value(const char* text) { value(std::string_view(text)); }
    void value(double number);
    void value(std::int64_t number);
    void value(int number) { value(static_cast<std::int64_t>(number)); }
    void value(bool b);
    void null();
    /// A key and what stands behind it.
    template <class T>
    void entry(std::string_view name, const T& v) {
        key(name);
        value(v);
    }

private:
    void open(char c);
    void close(char c);
    void separate();
    void new_line();
    void quoted(std::string_view text);
    std::ostream& out_;
    bool pretty_;
    bool after_key_ = false;
    std::vector<bool> has_items_;
};

}  // namespace jaxscope
