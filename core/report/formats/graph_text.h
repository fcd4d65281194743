// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "analysis/inspection.h"
#include "picture/graph_model.h"
#include "picture/opened_groups.h"

namespace jaxscope {

/// Which picture `--what` means. Throws Error{BadUsage} for anything but "split" and "program".
bool is_split(const std::string& what);

/// A picture as text of some language. It is walked here: containers around what they hold, lines between what is shown. What is written
/// stands in the derived class.
class GraphText {
public:
    virtual ~GraphText() = default;
    /// The program or the split (is_split), open as `depth` says.
    void write(const Inspection& inspection, const std::string& what, Depth depth);

protected:
    virtual void begin(const std::string& title) = 0;
    virtual void half(const std::string& id, const std::string& title) = 0;  ///< "known" or "unknown"; ended by `close`
    virtual void open(const std::string& id, const VisibleGraph::Node& node) = 0;
    virtual void close() = 0;
    virtual void node(const std::string& id, const VisibleGraph::Node& node) = 0;
    virtual void edge(const std::string& from, const std::string& to, const std::string& bytes) = 0;
    virtual void residual(const std::string& from, const std::string& to, const std::string& label) = 0;

private:
    void graph(const VisibleGraph& g, const std::string& prefix);
    void split(const SplitReport& split, Depth depth);
};

}  // namespace jaxscope
