// SPDX-License-Identifier: Apache-2.0
// Open MPI by its library's own names: nothing of it is needed to build, and a machine without it runs everything else. Its handles are
// addresses of objects that the library exports (ABI of versions 4 and 5).
#include <dlfcn.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/cancel.h"
#include "base/error.h"
#include "base/signals.h"
#include "devices/carrier.h"

namespace jaxscope {

namespace {

using Handle = void*;

class Library {
public:
    Library() {
        for (const char* name : {"libmpi.so.40", "libmpi.so"})
            if (!handle_) handle_ = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
        if (!handle_) {
            const std::string advice = "install Open MPI (Debian: openmpi-bin), and begin by `mpirun -n DEVICES jaxscope run --mpi ...`";
            throw Error(ErrorCode::CannotRun, fmt::format("expected the library of Open MPI, found none: {}", dlerror())).advise(advice);
        }
        find(init, "MPI_Init_thread");
        find(finalize, "MPI_Finalize");
        find(comm_rank, "MPI_Comm_rank");
        find(comm_size, "MPI_Comm_size");
        find(isend, "MPI_Isend");
        find(irecv, "MPI_Irecv");
        find(testall, "MPI_Testall");
        find(barrier, "MPI_Ibarrier");
        find(abort, "MPI_Abort");
        find(world, "ompi_mpi_comm_world");  // Open MPI's alone: handles of others are numbers
        find(byte, "ompi_mpi_byte");
    }
    int (*init)(int*, char***, int, int*) = nullptr;
    int (*finalize)() = nullptr;
    int (*comm_rank)(Handle, int*) = nullptr;
    int (*comm_size)(Handle, int*) = nullptr;
    int (*isend)(const void*, int, Handle, int, int, Handle, Handle*) = nullptr;
    int (*irecv)(void*, int, Handle, int, int, Handle, Handle*) = nullptr;
    int (*testall)(int, Handle*, int*, void*) = nullptr;
    int (*barrier)(Handle, Handle*) = nullptr;
    int (*abort)(Handle, int) = nullptr;
    Handle world = nullptr, byte = nullptr;

private:
    template <class T>
    void find(T& to, const char* name) {
        to = reinterpret_cast<T>(dlsym(handle_, name));
        if (!to)
            throw Error(ErrorCode::CannotRun, fmt::format("expected {} in the MPI library, found another library than Open MPI's", name));
    }
    void* handle_ = nullptr;
};

class OpenMpi final : public Carrier {
public:
    OpenMpi() {
        constexpr int kSingle = 0;
        int provided = 0, rank = 0, size = 0;
        check(mpi_.init(nullptr, nullptr, kSingle, &provided), "MPI_Init_thread");
        check(mpi_.comm_rank(mpi_.world, &rank), "MPI_Comm_rank");
        check(mpi_.comm_size(mpi_.world, &size), "MPI_Comm_size");
        rank_ = static_cast<std::size_t>(rank);
        size_ = static_cast<std::size_t>(size);
    }
    std::size_t rank() const override { return rank_; }
    std::size_t size() const override { return size_; }

    std::vector<Bytes> exchange(std::span<const std::size_t> group, std::span<const std::byte> own) override {
        std::vector<Bytes> all(group.size());
        std::vector<Handle> requests;
        for (std::size_t k = 0; k < group.size(); ++k) {
            if (group[k] == rank_) {
                all[k].assign(own.data(), own.data() + own.size());
                continue;
            }
            all[k].resize(own.size());
            const auto peer = static_cast<int>(group[k]);
            for (std::size_t at = 0; at < own.size(); at += kMost) {  // counts are of 32 bits
                const int n = static_cast<int>(std::min(kMost, own.size() - at));
                check(mpi_.irecv(all[k].data() + at, n, mpi_.byte, peer, kTag, mpi_.world, &requests.emplace_back()), "MPI_Irecv");
                check(mpi_.isend(own.data() + at, n, mpi_.byte, peer, kTag, mpi_.world, &requests.emplace_back()), "MPI_Isend");
            }
        }
        wait(requests);
        return all;
    }
    void finish() override {
        std::vector<Handle> request(1);
        check(mpi_.barrier(mpi_.world, request.data()), "MPI_Ibarrier");
        wait(request);
        check(mpi_.finalize(), "MPI_Finalize");
    }
    [[noreturn]] void abort(int exit_code) override {
        mpi_.abort(mpi_.world, exit_code);
        _exit(exit_code);
    }

private:
    static constexpr std::size_t kMost = std::size_t{1} << 30;
    static constexpr int kTag = 7;
    static void check(int result, const char* what) {
        if (result != 0) throw Error(ErrorCode::CannotRun, fmt::format("expected {} to succeed, found its error {}", what, result));
    }
    /// Polls, so that whoever is cancelled doesn't wait for others; sleeps once it takes longer.
    void wait(std::vector<Handle>& requests) {
        for (std::int64_t polls = 0;; ++polls) {
            int done = 0;
            check(mpi_.testall(static_cast<int>(requests.size()), requests.data(), &done, nullptr), "MPI_Testall");
            if (done) return;
            check_cancelled();
            if (polls > 1000) std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }
    Library mpi_;
    std::size_t rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<Carrier> open_mpi() { return std::make_unique<OpenMpi>(); }

}  // namespace jaxscope
