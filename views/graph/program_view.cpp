#include "graph/program_view.h"

#include <QVBoxLayout>

#include "base/error.h"
#include "theme/theme.h"

namespace jaxscope::views {

ProgramView::ProgramView(Selection* selection, QWidget* parent)
    : QWidget(parent), selection_(selection), scene_(new GraphScene(this)), view_(new GraphView(this)), layouter_(new GraphLayouter(this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(view_);
    view_->setScene(scene_);
    view_->set_empty_text(
        tr("Open a capture (Ctrl+O), or drop a .jaxscope file here.\n\nMake one with\njaxscope capture train.py:program -o step.jaxscope"));
    connect(scene_, &GraphScene::node_clicked, this, [this](int, int node) { pick(node); });
    connect(scene_, &GraphScene::portal_clicked, this, [this](int, int node) {
        pick(node);
        centre_on(node);
    });
    connect(scene_, &GraphScene::ground_clicked, this, [this] { selection_->clear(); });
    connect(scene_, &GraphScene::node_toggled, this, [this](int, int node) {
        const std::string key = graph_.nodes[static_cast<std::size_t>(node)].key;
        set_expanded(key, !expanded_.contains(key));
    });
    connect(selection_, &Selection::changed, this, &ProgramView::follow);
    connect(layouter_, &GraphLayouter::done, this, [this](const std::shared_ptr<LaidOut>& result) { show_graph(*result); });
}

/// Paths of the inputs; those whose memory is given away carry the ring arrow that marks donation everywhere.
static std::vector<Sym> input_names(const Program& program) {
    std::vector<Sym> names = program.in_paths;
    for (std::size_t i = 0; i < names.size() && i < program.donated.size(); ++i)
        if (program.donated[i]) names[i] = Sym(names[i].str() + kDonatedMark);
    return names;
}

void ProgramView::set_program(ProgramPtr program) {
    program_ = std::move(program);
    model_ = program_ ? std::make_unique<GraphModel>(program_->jaxpr, Grouping::Auto, input_names(*program_)) : nullptr;
    expanded_ = model_ ? model_->first_look(36) : std::set<std::string>{};
    graph_ = {};
    layout_ = {};
    scene_->reset();
    fresh_ = true;
    rebuild();
}

void ProgramView::rebuild() {
    if (model_) layouter_->start(model_->visible(expanded_));
}

void ProgramView::show_graph(LaidOut& result) {
    graph_ = std::move(result.graph);
    layout_ = std::move(result.layout);
    scene_->reset();
    scene_->add_part(graph_, layout_);
    scene_->setSceneRect(-24, -24, layout_.width + 48, layout_.height + 84);
    if (fresh_ && isVisible()) {
        view_->first_look();
        fresh_ = false;
    }
    if (const NodeItem* item = node(anchor_); item != nullptr) view_->keep(item->rect().topLeft(), anchor_at_);
    anchor_.clear();
    follow(selection_->picked());
    Q_EMIT laid_out();
}

NodeItem* ProgramView::node(const std::string& key) const {
    const auto found = graph_.by_key.find(key);
    return found == graph_.by_key.end() ? nullptr : scene_->node(0, static_cast<int>(found->second));
}

void ProgramView::restyle() {
    if (!model_) return;
    scene_->reset();
    scene_->add_part(graph_, layout_);
    follow(selection_->picked());
    view_->viewport()->update();
}

void ProgramView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (fresh_ && model_) {
        view_->first_look();
        fresh_ = false;
    }
}

void ProgramView::set_expanded(const std::string& key, bool expanded) {
    // The thing that was clicked stays under the mouse.
    if (const NodeItem* item = node(key); item != nullptr) {
        anchor_ = key;
        anchor_at_ = view_->mapFromScene(item->rect().topLeft());
    }
    if (expanded)
        expanded_.insert(key);
    else
        expanded_.erase(key);
    rebuild();
    Q_EMIT expanded_changed();
}

void ProgramView::collapse_all() {
    expanded_.clear();
    fresh_ = true;
    rebuild();
    Q_EMIT expanded_changed();
}

void ProgramView::pick(int node) {
    if (node < 0 || static_cast<std::size_t>(node) >= graph_.nodes.size()) return;
    const VisibleGraph::Node& item = graph_.nodes[static_cast<std::size_t>(node)];
    Picked picked;
    picked.program = item.equation();
    if (!picked.program) picked.group = item.key;
    selection_->pick(picked);
}

void ProgramView::centre_on(int node) {
    NodeItem* item = scene_->node(0, node);
    if (item == nullptr) return;
    const QRectF seen = view_->mapToScene(view_->viewport()->rect()).boundingRect();
    if (!seen.contains(item->rect())) view_->centerOn(item->rect().center());
}

void ProgramView::reveal(const EqnPath& path) {
    if (!model_) return;
    try {
        const std::vector<std::string> around = model_->keys_around(path);
        expanded_.insert(around.begin(), around.end() - 1);
    } catch (const Error&) {
        return;
    }
    rebuild();
    Q_EMIT expanded_changed();
    Picked picked;
    picked.program = path;
    selection_->pick(picked);  // followed again once the new picture is there
}

/// Marks the picked equation, or the innermost visible thing that holds it.
void ProgramView::follow(const Picked& picked) {
    int node = -1;
    if (model_ && picked.program) {
        try {
            for (const std::string& key : model_->keys_around(*picked.program))
                if (const auto found = graph_.by_key.find(key); found != graph_.by_key.end()) node = static_cast<int>(found->second);
        } catch (const Error&) {  // picked in a program that is no longer open
        }
    } else if (!picked.group.empty() && picked.group_in == Picked::Where::Program) {
        if (const auto found = graph_.by_key.find(picked.group); found != graph_.by_key.end()) node = static_cast<int>(found->second);
    }
    scene_->set_picked(0, node);
    if (node >= 0) centre_on(node);
}

}  // namespace jaxscope::views
