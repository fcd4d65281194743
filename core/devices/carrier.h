// SPDX-License-Identifier: Apache-2.0
#pragma once
// What moves bytes between processes that are a device each. In: a device's own bytes. Out: those of all who meet. Never here: what is
// computed of them, which every process does alike (run.cpp).
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace jaxscope {

class Carrier {
public:
    virtual ~Carrier() = default;
    virtual std::size_t rank() const = 0;  ///< the device of this process
    virtual std::size_t size() const = 0;
    /// Every device of `group` calls it with as many bytes. Returns those of each, in the order of the group. Throws Error{Cancelled}.
    virtual std::vector<Bytes> exchange(std::span<const std::size_t> group, std::span<const std::byte> own) = 0;
    /// Says that this process is done, and waits for the others.
    virtual void finish() = 0;
    /// Ends the processes of all devices at once.
    [[noreturn]] virtual void abort(int exit_code) = 0;
};

/// Open MPI's processes, which `mpirun -n N` started; its library is loaded when this is called. Throws Error{CannotRun} where there is
/// none.
std::unique_ptr<Carrier> open_mpi();

}  // namespace jaxscope
