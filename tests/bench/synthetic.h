#pragma once
#include <string>

namespace jaxscope {

/// The text of a capture with `equations` equations: a chain of element-wise work on f32[8,16] with skips, in the proportions of real
/// programs (one jit call of a shared body in every hundred), every equation with a source line. Linear in size.
std::string synthetic_capture(int equations);

}  // namespace jaxscope
