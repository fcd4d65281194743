// SPDX-License-Identifier: Apache-2.0
#pragma once
// What debug_print writes: Python's str.format over NumPy's text of arrays. In: the equation's parameters and the values that it looks at.
// Out: the line. Never here: where it is written.
#include <memory>
#include <string>
#include <vector>

#include "ir/jaxpr.h"

namespace jaxscope {

/// Why a text can't be had, for the user.
struct NoPrintText {
    std::string why;
};

class PrintText {
public:
    explicit PrintText(const ParamsRef& params);  ///< throws NoPrintText, as its calls do
    ~PrintText();
    PrintText(const PrintText&) = delete;
    PrintText& operator=(const PrintText&) = delete;
    std::string operator()(const std::vector<ArrayPtr>& operands) const;

private:
    class Formatter;
    std::unique_ptr<const Formatter> formatter_;
};

/// A parameter that is a string, or an object by its text; empty: there is none.
std::string text_param(const ParamsRef& params, const char* name);

}  // namespace jaxscope
