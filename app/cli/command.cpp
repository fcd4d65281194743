// SPDX-License-Identifier: Apache-2.0
#include "app/cli/command.h"

#include <charconv>

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"

namespace jaxscope::cli {

namespace {

template <class Number>
Number parse_number(const char* name, const std::string& text, Number least, const char* kind) {
    Number n{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || !(n >= least))
        throw Error(ErrorCode::BadUsage, fmt::format("expected {} from {} after {}, found '{}'", kind, least, name, printable(text)));
    return n;
}

/// A variable of a script that isn't set must not open a gate.
void refuse_empty(const char* name, const std::string& text) {
    if (text.empty()) throw Error(ErrorCode::BadUsage, fmt::format("expected a value after {}, found an empty one", name));
}

}  // namespace

void Arguments::positional(const char* name, std::string& value, const char* help, bool required) {
    app_.add_option(name, value, help)->required(required)->type_name("");
}
void Arguments::positional(const char* name, std::vector<std::string>& values, const char* help) {
    app_.add_option(name, values, help)->type_name("");
}
void Arguments::behind_dashes(std::vector<std::string>& values, const char* help) {
    behind_dashes_ = &values;
    app_.footer(std::string("-- COMMAND...\n  ") + help);
}
void Arguments::flag(const char* name, bool& value, const char* help) { app_.add_flag(name, value, help); }
void Arguments::option(const char* name, std::string& value, const char* help) {
    app_.add_option(name, value, help)->each([=](const std::string& text) { refuse_empty(name, text); });
}
void Arguments::option(const char* name, std::vector<std::string>& values, const char* help, bool empty_too) {
    CLI::Option* o = app_.add_option(name, values, help)->allow_extra_args(false)->take_all();
    if (!empty_too) o->each([=](const std::string& text) { refuse_empty(name, text); });
}
void Arguments::option(const char* name, int& value, int least, const char* help) {
    app_.add_option_function<std::string>(
            name, [=, &value](const std::string& text) { value = parse_number(name, text, least, "a whole number"); }, help)
        ->type_name("N")
        ->default_str(value < least ? "" : std::to_string(value));
}
void Arguments::option(const char* name, double& value, double least, const char* help, const char* unit) {
    app_.add_option_function<std::string>(
            name, [=, &value](const std::string& text) { value = parse_number(name, text, least, "a number"); }, help)
        ->type_name(unit)
        ->default_str(value < least ? "" : fmt::format("{}", value));
}

}  // namespace jaxscope::cli
