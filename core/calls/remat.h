#pragma once
#include "transforms/checkpoint.h"  // RematParams, checkpoint, replace_policy
