// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace jaxscope {

/// A folder for what is handed to another process, which goes with the object. Throws Error{CannotRun} where none can be made.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "jaxscope-XXXXXX").string();
        if (!mkdtemp(name.data()))
            throw Error(ErrorCode::CannotRun, std::string("expected a temporary folder, found: ") + std::strerror(errno));
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code none;
        std::filesystem::remove_all(path_, none);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

}  // namespace jaxscope
