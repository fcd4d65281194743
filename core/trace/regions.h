// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a capture notes of differentiations while its program is traced: a region for each. In a second tracing the two halves of a region
// stand as calls that have its number. Never here: how a function is differentiated (transformations).
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"
#include "trace/functions.h"

namespace jaxscope {
class BatchFollower;
}

namespace jaxscope::jax::detail {

struct RegionRecorder {
    std::vector<::jaxscope::Region> regions;  ///< in the order in which tracing enters them
    std::vector<::jaxscope::MarkedCall> calls;
    bool marking = false;  ///< the second tracing
    int marks = 0;         ///< numbers that regions have got
    int axes = 0;          ///< numbers that vmaps have got
    int open = -1;         ///< the region whose function is being traced
    int further = 0;       ///< functions being traced that jvp transforms
    /// The thread's; null: nobody records.
    static RegionRecorder*& current();
};

/// One differentiation, from before its function is traced. Does nothing where nobody records.
class RecordedRegion {
public:
    /// `unmarked`: why its halves can't stand as calls; null: they can.
    explicit RecordedRegion(const char* kind, const char* unmarked = nullptr);
    ~RecordedRegion() { close(); }
    RecordedRegion(const RecordedRegion&) = delete;
    RecordedRegion& operator=(const RecordedRegion&) = delete;

    /// Its function has been traced. `outputs`: how many of its results are differentiated.
    void traced(const Call& call, const TracedCall& t, const std::vector<std::size_t>& argnums, std::size_t outputs, bool has_aux,
                const std::vector<std::string>& arg_names = {});
    bool marks() const { return recorder_ && recorder_->marking && mark_ >= 0; }
    /// One half, as a jaxpr with nothing but the call that stands for it; the half itself where nothing is marked.
    JaxprPtr half(const JaxprPtr& j, bool backward, const Where& where) const;

private:
    void close();
    RegionRecorder* recorder_;
    std::size_t index_ = 0;
    int outer_ = -1, mark_ = -1;
};

/// While a function is traced that jvp transforms: halves of regions in it would not stay what they are.
class DifferentiatedFurther {
public:
    DifferentiatedFurther() : recorder_(RegionRecorder::current()) {
        if (recorder_) ++recorder_->further;
    }
    ~DifferentiatedFurther() {
        if (recorder_) --recorder_->further;
    }
    DifferentiatedFurther(const DifferentiatedFurther&) = delete;
    DifferentiatedFurther& operator=(const DifferentiatedFurther&) = delete;

private:
    RegionRecorder* recorder_;
};

/// While a jaxpr is mapped: notes how the halves in it are.
class MappedRegions {
public:
    MappedRegions();
    ~MappedRegions();
    MappedRegions(const MappedRegions&) = delete;
    MappedRegions& operator=(const MappedRegions&) = delete;

private:
    std::unique_ptr<BatchFollower> follower_;
    BatchFollower* outer_ = nullptr;
};

std::vector<bool> chosen_leaves(const Call& call, const std::vector<std::size_t>& argnums);

}  // namespace jaxscope::jax::detail
