// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace jaxscope::cli {

/// What shells complete, made of the same declarations as --help. `shell`: bash, zsh or fish; throws Error{BadUsage} for another.
std::string completions(const CLI::App& app, const std::string& shell);
/// The man page, in man(7) macros.
std::string man_page(const CLI::App& app, const std::string& version);

}  // namespace jaxscope::cli
