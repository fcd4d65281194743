// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collectives between devices (lax/parallel.py): what they are to who runs programs of several devices. In: applications. Out: over which
// mesh axes devices meet, and what they compute together, as a jaxpr. Never here: devices, arrays.
#include <vector>

#include "ir/jaxpr.h"
#include "ir/primitive.h"

namespace jaxscope {

extern const Primitive kPsum, kPmax, kPmin, kPsumInvariant, kAllGather, kAllGatherInvariant, kReduceScatter, kAllToAll, kPpermute,
    kAxisIndex, kPvary, kPbroadcast;

/// Does it need values of other devices, or (axis_index) know its own place?
bool is_collective(const Primitive& prim);
/// Do devices meet in it? psum over axes of the operand alone is a sum.
bool names_mesh_axes(const Op& op);
/// The mesh axes along which devices meet, as the equation names them. Axes of the operand that a reduction names beside them aren't among
/// them.
std::vector<Sym> collective_axes(const Op& op);
/// Positions along these axes, of which there are `positions`, that meet apart from each other: one group of all, or axis_index_groups.
/// Throws Error{CannotRun} where these don't hold every position once, or differ in size in what isn't a reduction.
std::vector<std::vector<std::int64_t>> collective_groups(const Op& op, std::int64_t positions);
/// What the devices of one group compute together. Inputs: per operand the values of all members, in their order. Results: per result one
/// value that all members get, or (`each`) one for every member. Sums are made in the members' order.
struct GroupProgram {
    JaxprPtr jaxpr;
    bool each = false;
    bool mesh_order = false;  ///< members stand as the mesh has them, however the equation names the axes: JAX sorts ppermute's
};
GroupProgram collective_over(const Op& op, std::size_t members);
/// Bytes that one device sends, at least: rings for reductions and gathers.
std::int64_t collective_bytes(const Op& op, std::size_t members);
/// How often it sends them on: parts go around a ring, twice where they are reduced and then gathered.
std::int64_t collective_steps(const Primitive& prim, std::int64_t members);

struct PbroadcastParams {
    Attr axis_name;
    std::int64_t source = 0;
    static constexpr auto kFields =
        std::tuple(field("axis_name", &PbroadcastParams::axis_name), field("source", &PbroadcastParams::source));
};
struct PermuteParams {
    Attr axis_name;
    Attr perm;
    static constexpr auto kFields = std::tuple(field("axis_name", &PermuteParams::axis_name), field("perm", &PermuteParams::perm));
};
struct AllGatherParams {
    std::int64_t all_gather_dimension = 0;
    Attr axis_index_groups = {};
    Attr axis_name;
    std::int64_t axis_size = 1;
    bool tiled = true;
    static constexpr auto kFields = std::tuple(field("all_gather_dimension", &AllGatherParams::all_gather_dimension),
                                               optional_field("axis_index_groups", &AllGatherParams::axis_index_groups),
                                               field("axis_name", &AllGatherParams::axis_name),
                                               field("axis_size", &AllGatherParams::axis_size), field("tiled", &AllGatherParams::tiled));
};
struct ReduceScatterParams {
    Attr axis_index_groups = {};
    Attr axis_name;
    std::int64_t axis_size = 1, scatter_dimension = 0;
    bool tiled = true;
    static constexpr auto kFields =
        std::tuple(optional_field("axis_index_groups", &ReduceScatterParams::axis_index_groups),
                   field("axis_name", &ReduceScatterParams::axis_name), field("axis_size", &ReduceScatterParams::axis_size),
                   field("scatter_dimension", &ReduceScatterParams::scatter_dimension), field("tiled", &ReduceScatterParams::tiled));
};
struct AllToAllParams {
    Attr axis_index_groups = {};
    Attr axis_name;
    std::int64_t concat_axis = 0, split_axis = 0;
    bool tiled = false;
    static constexpr auto kFields =
        std::tuple(optional_field("axis_index_groups", &AllToAllParams::axis_index_groups), field("axis_name", &AllToAllParams::axis_name),
                   field("concat_axis", &AllToAllParams::concat_axis), field("split_axis", &AllToAllParams::split_axis),
                   field("tiled", &AllToAllParams::tiled));
};

}  // namespace jaxscope
