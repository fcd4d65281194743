// SPDX-License-Identifier: Apache-2.0
#include "asking/capture_package.h"

#include <cstdlib>

#include "io/load_program.h"

namespace jaxscope {

std::string python_of(const std::string& given) {
    if (!given.empty()) return given;
    const char* chosen = std::getenv("JAXSCOPE_PYTHON");
    return chosen != nullptr && *chosen ? chosen : "python3";
}

void add_capture_package(ProcessRequest& request) {
    const char* path = std::getenv("PYTHONPATH");
    request.environment["PYTHONPATH"] = data_folder() + "/app/capture" + (path != nullptr && *path ? ":" + std::string(path) : "");
}

}  // namespace jaxscope
