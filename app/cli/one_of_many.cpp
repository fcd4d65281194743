// SPDX-License-Identifier: Apache-2.0
#include "app/cli/one_of_many.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "base/error.h"

namespace jaxscope::cli {

OneOfMany::OneOfMany() : carrier_(open_mpi()), error_output_(::dup(STDERR_FILENO)) {
    if (first()) return;
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::close(nowhere);
}
OneOfMany::~OneOfMany() {
    if (error_output_ >= 0) ::close(error_output_);
}

int OneOfMany::run(const std::function<int(Carrier&)>& work) {
    try {
        const int code = work(*carrier_);
        std::cout.flush();
        carrier_->finish();
        return code;
    } catch (const Error& e) {
        fail(full_text(e.code == ErrorCode::Cancelled ? Error(e.code, "cancelled") : e), exit_code(e.code));
    } catch (const std::bad_alloc&) {
        fail("jaxscope: expected enough memory, found none left [cannot-run]", exit_code(ErrorCode::CannotRun));
    }
}

void OneOfMany::fail(const std::string& text, int code) {
    std::cout.flush();
    // What all of them find wrong, the first one says, and ends the others meanwhile.
    if (!first()) std::this_thread::sleep_for(std::chrono::seconds(3));
    const std::string said = first() ? text + "\n" : fmt::format("process {} of {}: {}\n", carrier_->rank(), carrier_->size(), text);
    if (::write(error_output_, said.data(), said.size()) < 0) code = code == 0 ? 4 : code;
    carrier_->abort(code);
    std::_Exit(code);  // nobody comes here
}

}  // namespace jaxscope::cli
