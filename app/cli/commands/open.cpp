// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "app/cli/command.h"
#include "base/error.h"
#include "base/signals.h"

namespace jaxscope::cli {

namespace {

class Open final : public Command {
public:
    explicit Open(Arguments& a) {
        a.positional("FILE", file_, "what to open; nothing: the start page", false);
        a.option("--watch", watch_, "FILE.py:NAME: capture it, open it, and capture it again whenever the file is saved");
    }
    int run() override {
        // The window is a program of its own: the command line doesn't link Qt.
        std::error_code error;
        const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
        const std::string here = (self.parent_path() / "jaxscope-gui").string();
        const std::string program = std::filesystem::exists(here) ? here : "jaxscope-gui";
        std::vector<char*> argv{const_cast<char*>(program.c_str())};
        if (!file_.empty()) argv.push_back(file_.data());
        std::string watch = "--watch";
        if (!watch_.empty()) argv.insert(argv.end(), {watch.data(), watch_.data()});
        argv.push_back(nullptr);
        unblock_signals();
        execvp(program.c_str(), argv.data());
        throw Error(ErrorCode::NotFound, "expected the window's program jaxscope-gui beside jaxscope or on PATH, found none")
            .advise("build with -DJAXSCOPE_GUI=ON (needs qtbase5-dev), or install the package jaxscope-gui");
    }

private:
    std::string file_, watch_;
};

}  // namespace

std::unique_ptr<Command> make_open(Arguments& a) { return std::make_unique<Open>(a); }

}  // namespace jaxscope::cli
