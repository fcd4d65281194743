// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QObject>
#include <QString>
#include <functional>
#include <memory>

#include "background/background.h"
#include "picture/graph_layout.h"

namespace jaxscope::views {

/// A visible graph with its places.
struct LaidOut {
    VisibleGraph graph;
    GraphLayout layout;
    int levels_by_dot = 0, levels_by_us = 0;
    QString problem;  ///< why the worker was given up
};

class LevelWorker;

/// Makes and lays out graphs off the GUI thread: small levels by Graphviz in a worker process with a time limit, what it can't or doesn't
/// do in time by our own linear-time layout. A new request replaces the last one.
class GraphLayouter : public QObject {
    Q_OBJECT
public:
    explicit GraphLayouter(QObject* parent = nullptr);
    /// `graph`: what makes it; runs in the background, too.
    void start(std::function<VisibleGraph()> graph);
    bool busy() const { return latest_.busy(); }
    /// The worker's executable; by default jaxscope-layout beside this program. Missing: our own layout does it all.
    static void set_worker(const QString& path);

Q_SIGNALS:
    void done(std::shared_ptr<jaxscope::views::LaidOut> result);

private:
    std::shared_ptr<LevelWorker> worker_;  ///< outlives this where a picture is still being laid out
    Latest latest_;
};

/// Lays out `graph` here and now; `worker` may be empty.
LaidOut lay_out(VisibleGraph graph, const QString& worker, int time_limit_ms);

}  // namespace jaxscope::views
