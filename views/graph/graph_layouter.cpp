// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_layouter.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "graph/layout_process.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr std::size_t kMostDotNodes = 300, kMostDotEdges = 900;  // what dot does in under 0.1 s
constexpr LayoutOptions kProgramLayout{.aspect = 1.5, .tie_ports = true};
constexpr int kTimeLimit = 600;  // ms for a whole picture

QString& worker_path() {
    static QString path;
    return path;
}

/// dot puts all nodes of a rank in one row; crowded ranks are wrapped by our own layout only.
bool suits_dot(const LevelGraph& level, const std::vector<std::uint32_t>& ranks, const LayoutOptions& options) {
    if (level.nodes.size() < 4 || level.nodes.size() > kMostDotNodes || level.edges.size() > kMostDotEdges || level.edges.empty())
        return false;
    std::vector<std::uint32_t> row(level.nodes.size(), 0);
    return std::all_of(ranks.begin(), ranks.end(), [&](std::uint32_t r) { return ++row[r] < options.max_row; });
}

}  // namespace

/// What pictures have in common: the process, and what it has answered. Groups that stay as they are, are asked of once.
class LevelWorker {
public:
    explicit LevelWorker(const QString& path) : process_(path.toStdString()) {}
    bool exists() const { return !process_.path().empty(); }
    bool is_at(const QString& path) const { return process_.path() == path.toStdString(); }
    /// Throws Error{CannotRun} where there is no answer in time.
    LevelLayout ask(const LevelGraph& level, LayoutProcess::Deadline until) {
        constexpr std::size_t kMostAnswers = 1000;
        const std::string text = write_level(level) + "end\n";
        if (const auto known = answers_.find(text); known != answers_.end()) return known->second;
        std::string answer;
        if (!process_.ask(text, until, answer)) throw Error(ErrorCode::CannotRun, answer);
        if (answers_.size() >= kMostAnswers) answers_.clear();
        return answers_[text] = read_layout(answer, level.nodes.size(), level.edges.size());
    }

private:
    LayoutProcess process_;
    std::unordered_map<std::string, LevelLayout> answers_;
};

/// Once the worker fails, in whatever way, it is not asked again for this picture.
static LaidOut lay_out(VisibleGraph graph, LevelWorker& worker, int time_limit_ms) {
    LaidOut out;
    out.graph = std::move(graph);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(time_limit_ms);
    out.layout = layout_graph(out.graph, kProgramLayout,
                              [&](const LevelGraph& level, const std::vector<std::uint32_t>& ranks, const LayoutOptions& options) {
                                  if (worker.exists() && out.problem.isEmpty() && suits_dot(level, ranks, options)) try {
                                          LevelLayout placed = worker.ask(level, until);
                                          ++out.levels_by_dot;
                                          return placed;
                                      } catch (const Error& e) {
                                          out.problem = QString::fromUtf8(e.what());
                                      }
                                  ++out.levels_by_us;
                                  return layered_layout(level, ranks, options);
                              });
    return out;
}

LaidOut lay_out(VisibleGraph graph, const QString& path, int time_limit_ms) {
    LevelWorker worker(path);
    return lay_out(std::move(graph), worker, time_limit_ms);
}

GraphLayouter::GraphLayouter(QObject* parent) : QObject(parent), latest_(this) {
    if (worker_path().isEmpty()) set_worker(QCoreApplication::applicationDirPath() + QStringLiteral("/jaxscope-layout"));
}

void GraphLayouter::set_worker(const QString& path) { worker_path() = path; }

/// One request at a time is at work: its thread alone touches the worker.
void GraphLayouter::start(std::function<VisibleGraph()> graph) {
    const QString path = QFileInfo(worker_path()).isExecutable() ? worker_path() : QString();
    if (!worker_ || !worker_->is_at(path)) worker_ = std::make_shared<LevelWorker>(path);
    latest_.start([this, worker = worker_, graph = std::move(graph)]() -> std::function<void()> {
        auto result = std::make_shared<LaidOut>(lay_out(graph(), *worker, kTimeLimit));
        return [this, result] { Q_EMIT done(result); };
    });
}

}  // namespace jaxscope::views
