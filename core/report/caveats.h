// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace jaxscope {

class Inspection;

/// What holds for every figure of this program and that a reader of one table can't see. Sentences, mostly none.
std::vector<std::string> caveats(const Inspection& inspection);

}  // namespace jaxscope
