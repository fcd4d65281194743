#pragma once
// All of the C++ front end.
#include <jaxscope/abstract.h>
#include <jaxscope/api_util.h>
#include <jaxscope/autodiff.h>
#include <jaxscope/capture.h>
#include <jaxscope/checkpoint.h>
#include <jaxscope/control_flow.h>
#include <jaxscope/custom_rules.h>
#include <jaxscope/donation.h>
#include <jaxscope/filter.h>
#include <jaxscope/jacobian.h>
#include <jaxscope/jit.h>
#include <jaxscope/lax.h>
#include <jaxscope/nn.h>
#include <jaxscope/numpy.h>
#include <jaxscope/random.h>
#include <jaxscope/vmap.h>
