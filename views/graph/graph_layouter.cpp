// SPDX-License-Identifier: Apache-2.0
#include "graph/graph_layouter.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QProcess>
#include <algorithm>

#include "base/error.h"
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

/// The worker process of one picture. Once it fails, in whatever way, it is not asked again.
class Worker {
public:
    Worker(const QString& path, int time_limit) : path_(path), time_limit_(time_limit) { clock_.start(); }
    ~Worker() {
        if (process_.state() == QProcess::NotRunning) return;
        process_.kill();
        process_.waitForFinished(1000);
    }
    bool usable() const { return problem_.isEmpty() && !path_.isEmpty(); }
    const QString& problem() const { return problem_; }

    LevelLayout ask(const LevelGraph& level) {
        if (process_.state() == QProcess::NotRunning) process_.start(path_, QStringList());
        if (!process_.waitForStarted(left())) return fail("it doesn't start");
        const std::string text = write_level(level) + "end\n";
        process_.write(text.data(), static_cast<qint64>(text.size()));
        QByteArray answer;
        while (!answer.endsWith("end\n")) {
            if (left() <= 0 || !process_.waitForReadyRead(left()))
                return fail(process_.state() == QProcess::NotRunning ? "it died" : "it takes too long");
            answer += process_.readAllStandardOutput();
        }
        answer.chop(4);
        try {
            return read_layout({answer.constData(), static_cast<std::size_t>(answer.size())}, level.nodes.size(), level.edges.size());
        } catch (const Error& e) {
            return fail(e.what());
        }
    }

private:
    int left() const { return std::max(0, time_limit_ - static_cast<int>(clock_.elapsed())); }
    LevelLayout fail(const char* why) {
        problem_ = QString::fromUtf8(why);
        process_.kill();
        return {};
    }
    QString path_, problem_;
    int time_limit_;
    QElapsedTimer clock_;
    QProcess process_;
};

/// dot puts all nodes of a rank in one row; crowded ranks are wrapped by our own layout only.
bool suits_dot(const LevelGraph& level, const std::vector<std::uint32_t>& ranks, const LayoutOptions& options) {
    if (level.nodes.size() < 4 || level.nodes.size() > kMostDotNodes || level.edges.size() > kMostDotEdges || level.edges.empty())
        return false;
    std::vector<std::uint32_t> row(level.nodes.size(), 0);
    return std::all_of(ranks.begin(), ranks.end(), [&](std::uint32_t r) { return ++row[r] < options.max_row; });
}

}  // namespace

LaidOut lay_out(VisibleGraph graph, const QString& path, int time_limit_ms) {
    LaidOut out;
    out.graph = std::move(graph);
    Worker worker(path, time_limit_ms);
    out.layout = layout_graph(out.graph, kProgramLayout,
                              [&](const LevelGraph& level, const std::vector<std::uint32_t>& ranks, const LayoutOptions& options) {
                                  if (worker.usable() && suits_dot(level, ranks, options)) {
                                      LevelLayout placed = worker.ask(level);
                                      if (worker.usable()) {
                                          ++out.levels_by_dot;
                                          return placed;
                                      }
                                  }
                                  ++out.levels_by_us;
                                  return layered_layout(level, ranks, options);
                              });
    out.problem = worker.problem();
    return out;
}

GraphLayouter::GraphLayouter(QObject* parent) : QObject(parent), latest_(this) {
    if (worker_path().isEmpty()) set_worker(QCoreApplication::applicationDirPath() + QStringLiteral("/jaxscope-layout"));
}

void GraphLayouter::set_worker(const QString& path) { worker_path() = path; }

void GraphLayouter::start(std::function<VisibleGraph()> graph) {
    const QString path = QFileInfo(worker_path()).isExecutable() ? worker_path() : QString();
    latest_.start([this, path, graph = std::move(graph)]() -> std::function<void()> {
        auto result = std::make_shared<LaidOut>(lay_out(graph(), path, kTimeLimit));
        return [this, result] { Q_EMIT done(result); };
    });
}

}  // namespace jaxscope::views
