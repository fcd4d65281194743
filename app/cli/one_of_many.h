// SPDX-License-Identifier: Apache-2.0
#pragma once
// `--mpi`: this process is one device of a program, and mpirun started the others. The first one speaks for all; one that fails ends all.
#include <functional>
#include <memory>

#include "devices/carrier.h"

namespace jaxscope::cli {

class OneOfMany {
public:
    /// Joins the others. From now on only the first process' output goes anywhere.
    OneOfMany();
    ~OneOfMany();
    OneOfMany(const OneOfMany&) = delete;
    OneOfMany& operator=(const OneOfMany&) = delete;
    /// `work`'s exit code; what it throws is told, and ends the processes of all devices.
    int run(const std::function<int(Carrier&)>& work);
    bool first() const { return carrier_->rank() == 0; }

private:
    [[noreturn]] void fail(const std::string& text, int code);
    std::unique_ptr<Carrier> carrier_;
    int error_output_;  ///< where the last words go
};

}  // namespace jaxscope::cli
