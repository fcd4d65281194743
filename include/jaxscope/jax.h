// SPDX-License-Identifier: Apache-2.0
#pragma once
// All of the C++ front end but vectorize.h, flatten_util.h and image.h, which few programs need. What other headers need comes first:
// compilers name the way to the header that an error stands in.
#include <jaxscope/shape.h>

#include <jaxscope/elements.h>

#include <jaxscope/array.h>

#include <jaxscope/pytree.h>

#include <jaxscope/tree_map.h>

#include <jaxscope/function.h>
#include <jaxscope/products.h>

#include <jaxscope/reductions.h>

#include <jaxscope/jit.h>
#include <jaxscope/numpy.h>
#include <jaxscope/partition.h>
#include <jaxscope/policy.h>
#include <jaxscope/vmap.h>

#include <jaxscope/abstract.h>
#include <jaxscope/api_util.h>
#include <jaxscope/autodiff.h>
#include <jaxscope/callbacks.h>
#include <jaxscope/capture.h>
#include <jaxscope/checkpoint.h>
#include <jaxscope/collectives.h>
#include <jaxscope/control_flow.h>
#include <jaxscope/curves.h>
#include <jaxscope/custom_rules.h>
#include <jaxscope/debug_nans.h>
#include <jaxscope/donation.h>
#include <jaxscope/error.h>
#include <jaxscope/error_if.h>
#include <jaxscope/fft.h>
#include <jaxscope/filter.h>
#include <jaxscope/filter_calls.h>
#include <jaxscope/filter_rules.h>
#include <jaxscope/filter_trees.h>
#include <jaxscope/initializers.h>
#include <jaxscope/jacobian.h>
#include <jaxscope/lax.h>
#include <jaxscope/linalg.h>
#include <jaxscope/nn.h>
#include <jaxscope/partial.h>
#include <jaxscope/pmap.h>
#include <jaxscope/random.h>
#include <jaxscope/scipy.h>
#include <jaxscope/sharding.h>
#include <jaxscope/solves.h>
