// SPDX-License-Identifier: Apache-2.0
#include <jaxscope/error.h>

#include "base/error.h"

namespace jaxscope {

std::optional<ErrorInfo> error_info(const std::exception& e) {
    const auto* ours = dynamic_cast<const Error*>(&e);
    if (!ours) return std::nullopt;
    ErrorInfo out{code_name(ours->code), ours->fact(), ours->loc.file, ours->loc.line, {}};
    for (const std::string& a : ours->advices) out.advice += (out.advice.empty() ? "" : "\n") + a;
    return out;
}

}  // namespace jaxscope
