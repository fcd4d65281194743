// SPDX-License-Identifier: Apache-2.0
#include "trace/warnings.h"

#include <fmt/core.h>

#include <cstdio>
#include <mutex>
#include <set>

namespace jaxscope::jax::detail {

bool is_news(std::string text) {
    static std::mutex mutex;
    static auto& told = *new std::set<std::string>();
    const std::lock_guard lock(mutex);
    return told.insert(std::move(text)).second;
}

void warn(const char* category, const std::string& text, const Where& where) {
    const std::string place = where.line > 0 ? fmt::format("{}:{}: ", where.file, where.line) : "";
    const std::string line = fmt::format("{}{}: {}", place, category, text);
    if (is_news(line)) std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace jaxscope::jax::detail
