// SPDX-License-Identifier: Apache-2.0
// equinox.error_if: a callback that throws, which is differentiated and mapped through as prints are.
#include <jaxscope/error_if.h>

#include <algorithm>

#include <jaxscope/callbacks.h>

#include "trace/refusals.h"
#include "trace/trace.h"

namespace jaxscope::jax::detail {

namespace {

/// Throws where the condition holds somewhere, with the message of the largest number.
struct Raises {
    std::vector<std::string> msgs;
    Where where;
    void operator()(const Array& pred, const Array& index) const {
        const std::vector<double> holds = pred.to_vector(where);
        if (std::any_of(holds.begin(), holds.end(), [](double h) { return h != 0; })) {
            const std::vector<double> numbers = index.to_vector(where);
            const double last = *std::max_element(numbers.begin(), numbers.end());
            const auto at = static_cast<std::size_t>(std::clamp(last, 0., static_cast<double>(msgs.size()) - 1));
            refuse_at(where, ErrorCode::CannotRun, msgs[at], "a condition of error_if holds: its line is this one");
        }
    }
};

}  // namespace

std::vector<Array> error_if(const std::vector<Array>& leaves, const Operand& pred, const Operand& index,
                            const std::vector<std::string>& msgs, const Where& where) {
    if (leaves.empty()) refuse_at(where, ErrorCode::BadUsage, "No arrays to thread error on to.");
    if (msgs.empty()) refuse_at(where, ErrorCode::BadUsage, "branched_error_if: expected at least one message");
    const Operand in[] = {pred, index};
    const std::vector<Array> given = apply(in, where, [](Builder&, const Values& v) { return v; });
    const Raises raises{msgs, where};
    const ArrayPtr holds = known_elements(*given[0].node()), number = known_elements(*given[1].node());
    if (holds && number) {
        raises(concrete(holds), concrete(number));
        return leaves;
    }
    // Not a pure one: nobody needs its result.
    jax::debug::callback(raises, {}, where)(given[0], given[1]);
    return leaves;
}

}  // namespace jaxscope::jax::detail
