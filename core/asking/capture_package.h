// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/subprocess.h"

namespace jaxscope {

/// The Python that is asked: the given one, else JAXSCOPE_PYTHON (a wheel's own), else `python3`.
std::string python_of(const std::string& given);
/// The capture package in front of that Python's own path.
void add_capture_package(ProcessRequest& request);

}  // namespace jaxscope
