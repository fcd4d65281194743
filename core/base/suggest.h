// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace jaxscope {

/// Advises which of `names` was probably meant by `text`; where none is near the error stays as it is.
Error& suggest(Error& error, std::string_view text, const std::vector<std::string_view>& names);

/// The views of anything that holds texts.
template <class Names>
std::vector<std::string_view> views_of(const Names& names) {
    return {std::begin(names), std::end(names)};
}

/// "`expected`, found 'text'", and which of `names` was probably meant.
Error unknown_name(ErrorCode code, const std::string& expected, std::string_view text, const std::vector<std::string_view>& names);

/// The file beside `path` that was probably meant (also "train" for train.jaxscope); empty where there is none.
std::string nearest_file(const std::string& path);

}  // namespace jaxscope
