#pragma once
#include "base/json_writer.h"  // moved there: captures are written with it too
