// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "ir/params.h"

namespace jaxscope {

/// Parameters in which the `tree` of what reads and writes a Ref is an indexer (ir/print/print_refs.h): captures hold the text that Python
/// prints of the tree of an NDIndexer. Others stay as they are.
ParamsRef with_indexer_read(ParamsRef params);

}  // namespace jaxscope
