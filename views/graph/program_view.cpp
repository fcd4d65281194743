// SPDX-License-Identifier: Apache-2.0
#include "graph/program_view.h"

#include <QVBoxLayout>

#include "base/error.h"
#include "base/units.h"
#include "graph/legend_bar.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr std::size_t kFirstNodes = 36;  // of the first picture: what fits a window at a size that can be read

}  // namespace

ProgramView::ProgramView(Selection* selection, QWidget* parent)
    : QWidget(parent), selection_(selection), scene_(new GraphScene(this)), view_(new GraphView(this)), layouter_(new GraphLayouter(this)) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(view_);
    layout->addWidget(new LegendBar(false));
    view_->setScene(scene_);
    view_->setAccessibleName(tr("Graph of the program"));
    view_->set_empty_text(
        tr("Open a capture (Ctrl+O), or drop a .jaxscope file here.\n\nMake one with\njaxscope capture train.py:program -o step.jaxscope"));
    connect(scene_, &GraphScene::node_clicked, this, [this](int, int node) { pick(node); });
    connect(scene_, &GraphScene::portal_clicked, this, [this](int, int node) {
        pick(node);
        centre_on(node);
    });
    connect(scene_, &GraphScene::node_walked, this, [this](int, int node) {
        pick(node);
        centre_on(node);
    });
    connect(scene_, &GraphScene::ground_clicked, this, [this] { selection_->clear(); });
    connect(scene_, &GraphScene::node_toggled, this, [this](int, int node) {
        const std::string key = graph_.nodes[static_cast<std::size_t>(node)].key;
        set_expanded(key, !expanded_.contains(key));
    });
    connect(selection_, &Selection::changed, this, [this](const Picked& picked) {
        const bool another = picked.program != marked_ || picked.group != marked_group_;
        mark(picked, another && !own_pick_);
    });
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
    model_ = nullptr;
    expanded_.clear();
    graph_ = {};
    layout_ = {};
    scene_->reset();
    fresh_ = true;
    if (!program_) return;
    touched_ = false;
    view_->start_at({});
    saved_.reset();
    donation_.reset();
    forget_focus();
    rebuild();
}

void ProgramView::set_saved(std::shared_ptr<const std::vector<SavedValue>> saved) {
    if (saved == saved_) return;
    saved_ = std::move(saved);
    rebuild();
}

void ProgramView::set_donation(std::shared_ptr<const DonationReport> donation) {
    if (donation == donation_) return;
    donation_ = std::move(donation);
    if (!model_) return;
    fill_scene();
    mark(selection_->picked(), false);
}

/// Makes the picture anew, in the background. What is open is chosen there too, as long as the user hasn't.
void ProgramView::rebuild() {
    if (!program_) return;
    opening_ = std::make_shared<Opening>();
    opening_->model = model_;
    opening_->expanded = expanded_;
    layouter_->start([program = program_, made = opening_, saved = saved_, touched = touched_, grouping = grouping_,
                      nodes = view_->room_for(kFirstNodes)] {
        if (!made->model) made->model = std::make_shared<const GraphModel>(program->jaxpr, grouping, input_names(*program));
        const GraphMarks marks = saved ? saved_marks(*made->model, *saved) : GraphMarks{};
        if (!touched) made->expanded = made->model->first_look(nodes, marks);
        VisibleGraph graph = made->model->visible(made->expanded);
        for (VisibleGraph::Node& node : graph.nodes)
            if (const auto mark = marks.find(node.key); mark != marks.end())
                node.mark = mark->second;
            else if (node.role == Role::Recomputed && node.expandable)
                node.badge = "recomputed " + bytes_text(node.bytes);
        return graph;
    });
}

void ProgramView::show_graph(LaidOut& result) {
    const bool first = model_ == nullptr;
    model_ = opening_->model;
    if (!touched_ && expanded_ != opening_->expanded) fresh_ = true;  // another picture than the one that was there
    expanded_ = std::move(opening_->expanded);
    opening_.reset();
    graph_ = std::move(result.graph);
    layout_ = std::move(result.layout);
    fill_scene();
    scene_->setSceneRect(-24, -24, layout_.width + 48, layout_.height + 48);
    if (fresh_ && isVisible()) {
        view_->first_look();
        fresh_ = false;
    }
    const NodeItem* anchor = node(anchor_);
    if (anchor != nullptr) view_->keep(anchor->rect().topLeft(), anchor_at_);
    anchor_.clear();
    // What was opened stays where it is, whatever is selected; so does what the user had in view.
    mark(selection_->picked(), anchor == nullptr && !view_->has_start());
    if (first) Q_EMIT model_ready();
    Q_EMIT laid_out();
}

void ProgramView::fill_scene() {
    scene_->reset();
    scene_->add_part(graph_, layout_);
    if (donation_ && donation_->saved_bytes > 0) {
        std::set<int> given;
        for (const DonatedLeaf& leaf : donation_->donated)
            if (leaf.used) given.insert(leaf.input);
        const std::uint32_t constants = model_->root().num_constvars;
        scene_->add_ties(graph_, layout_, constants, given, donation_->saved_bytes);
    }
    apply_focus();
}

NodeItem* ProgramView::node(const std::string& key) const {
    const auto found = graph_.by_key.find(key);
    return found == graph_.by_key.end() ? nullptr : scene_->node(0, static_cast<int>(found->second));
}

void ProgramView::restyle() {
    if (!model_) return;
    fill_scene();
    mark(selection_->picked(), false);
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
    touched_ = true;
    if (expanded)
        expanded_.insert(key);
    else
        expanded_.erase(key);
    rebuild();
    Q_EMIT expanded_changed();
}

void ProgramView::expand(std::set<std::string> keys) {
    touched_ = true;
    expanded_ = std::move(keys);
    rebuild();
    Q_EMIT expanded_changed();
}

void ProgramView::collapse_all() {
    expanded_.clear();
    touched_ = true;
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
    own_pick_ = true;
    selection_->pick(picked);
    own_pick_ = false;
}

void ProgramView::centre_on(int node) {
    if (const NodeItem* item = scene_->node(0, node)) view_->bring_into_view(item->rect());
}

void ProgramView::reveal(const EqnPath& path) {
    if (!model_) return;
    try {
        const std::vector<std::string> around = model_->keys_around(path);
        touched_ = true;
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
void ProgramView::mark(const Picked& picked, bool move) {
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
    marked_ = picked.program;
    marked_group_ = picked.group;
    if (const std::string key = picked_key(); !key.empty() && key != picked_now_) {
        picked_before_ = picked_now_;
        picked_now_ = key;
    }
    if (node >= 0 && move) centre_on(node);
}

}  // namespace jaxscope::views
