// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace jaxscope {

/// Quantities as people read them, the same in every table, picture and sentence.
std::string bytes_text(std::int64_t bytes);  ///< "12.5 MiB", "96 B": binary prefixes, three digits
std::string flops_text(double flops);        ///< "3.10 MFLOP"
std::string count_text(std::int64_t count);  ///< "2 360", with thin spaces (U+2009)
std::string seconds_text(double seconds);    ///< "12.3 ms", "1.20 s"

}  // namespace jaxscope
