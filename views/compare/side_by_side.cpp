// SPDX-License-Identifier: Apache-2.0
#include "compare/side_by_side.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>

#include "base/error.h"
#include "base/units.h"
#include "graph/graph_layouter.h"
#include "theme/theme.h"

namespace jaxscope::views {
namespace {

constexpr std::size_t kNodesOfASide = 24;  // of each side
constexpr int kHeadLine = 30, kEqual = 10'000;
constexpr int kNoTime = 0;  // no process for the layout: two pictures at once, by our own

}  // namespace

SideBySide::SideBySide(QWidget* parent) : QWidget(parent) {
    auto* across = new QSplitter(Qt::Horizontal);
    across->setHandleWidth(1);
    for (const int side : {0, 1}) {
        build_side(side);
        auto* holder = new QWidget;
        holder->setAutoFillBackground(true);
        holder->setBackgroundRole(QPalette::Base);
        auto* column = new QVBoxLayout(holder);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        auto* row = new QHBoxLayout;
        row->setContentsMargins(14, 4, 14, 4);
        row->addWidget(at(side).head, 1);
        row->addStrut(kHeadLine);
        if (side == 1) {
            auto* next = new QPushButton(tr("Next difference"));
            connect(next, &QPushButton::clicked, this, [this] { next_difference(1); });
            row->addWidget(next);
        }
        column->addLayout(row);
        column->addWidget(at(side).view, 1);
        across->addWidget(holder);
        across->setStretchFactor(side, 1);
    }
    across->setSizes({kEqual, kEqual});
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->addWidget(across);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    on_theme_change(this, [this] {
        for (const int side : {0, 1})
            if (at(side).model) show_side(side);
    });
}

void SideBySide::build_side(int side) {
    Shown& here = at(side);
    here.scene = new GraphScene(this);
    here.view = new GraphView;
    here.view->setMinimumSize(80, 60);
    here.view->setScene(here.scene);
    here.view->setAccessibleName(side == 0 ? tr("Graph of the first program") : tr("Graph of the second program"));
    here.view->set_empty_text(tr("No graph: this side is a report, or is still being read."));
    here.head = new QLabel;
    here.head->setMinimumWidth(10);
    here.making = std::make_unique<Latest>(this);
    connect(here.scene, &GraphScene::node_clicked, this, [this, side](int, int node) { pick(side, node); });
    connect(here.scene, &GraphScene::node_walked, this, [this, side](int, int node) { pick(side, node); });
    connect(here.scene, &GraphScene::portal_clicked, this, [this, side](int, int node) {
        pick(side, node);
        if (const NodeItem* item = at(side).scene->node(0, node)) at(side).view->bring_into_view(item->rect());
    });
    connect(here.scene, &GraphScene::node_toggled, this, [this, side](int, int node) {
        const std::string key = at(side).graph.nodes[static_cast<std::size_t>(node)].key;
        set_expanded(side, key, !at(side).expanded.contains(key));
    });
}

void SideBySide::clear() {
    for (const int side : {0, 1}) {
        Shown& here = at(side);
        here.making->cancel();
        here.scene->reset();
        here.model = nullptr;
        here.jaxpr = nullptr;
        here.graph = {};
        here.picked.reset();
    }
    diff_.reset();
    show_heads();
}

void SideBySide::set_sides(const Side& first, const Side& second, std::shared_ptr<const ProgramDiff> diff) {
    clear();
    diff_ = std::move(diff);
    difference_ = -1;
    const Side* given[] = {&first, &second};
    for (const int side : {0, 1}) {
        Shown& here = at(side);
        here.name = given[side]->name;
        here.jaxpr = given[side]->jaxpr;
        here.marks = nullptr;
        here.fresh = true;
        if (here.jaxpr) rebuild(side);
    }
    show_heads();
}

void SideBySide::show_heads() {
    for (const int side : {0, 1}) {
        Shown& here = at(side);
        here.head->setFont(text_font(12, true));
        if (!diff_) {
            here.head->setText(here.name);
            continue;
        }
        const std::size_t alone = side == 0 ? diff_->removed.size() : diff_->added.size();
        const QString only = tr("%1 here alone, %2 changed")
                                 .arg(utf8(count_text(static_cast<std::int64_t>(alone))),
                                      utf8(count_text(static_cast<std::int64_t>(diff_->changed.size()))));
        here.head->setText(here.name + QStringLiteral("   ") + (diff_->empty() ? tr("no difference") : only));
        here.head->setToolTip(
            tr("Pills tell how many equations of a group differ: \u2212 the first program's alone, + the second's alone, ~ changed"));
    }
}

/// In the background: model and marks once, then the picture of what is open.
void SideBySide::rebuild(int side) {
    struct Made {
        std::shared_ptr<const GraphModel> model;
        std::shared_ptr<const DiffMarks> marks;
        std::set<std::string> expanded;
        LaidOut picture;
    };
    Shown& here = at(side);
    here.making->start([this, side, jaxpr = here.jaxpr, model = here.model, marks = here.marks, expanded = here.expanded,
                        diff = diff_]() -> std::function<void()> {
        auto made = std::make_shared<Made>(Made{model, marks, expanded, {}});
        const bool first = side == 0;
        if (!made->model) {
            made->model = std::make_shared<const GraphModel>(jaxpr);
            made->marks = std::make_shared<const DiffMarks>(diff ? diff_marks(*made->model, *diff, first) : DiffMarks{});
            made->expanded = first_look(*made->model, kNodesOfASide, *made->marks);
        }
        VisibleGraph graph = made->model->visible(made->expanded);
        put_badges(graph, *made->marks, first);
        made->picture = lay_out(std::move(graph), {}, kNoTime);
        return [this, side, made] {
            Shown& shown = at(side);
            shown.model = made->model;
            shown.marks = made->marks;
            shown.expanded = std::move(made->expanded);
            shown.graph = std::move(made->picture.graph);
            shown.layout = std::move(made->picture.layout);
            show_side(side);
        };
    });
}

void SideBySide::show_side(int side) {
    Shown& here = at(side);
    here.scene->reset();
    here.scene->add_part(here.graph, here.layout);
    here.scene->setSceneRect(-24, -24, here.layout.width + 48, here.layout.height + 48);
    if (here.fresh && isVisible()) {
        here.view->first_look();
        here.fresh = false;
    }
    const auto anchor = here.graph.by_key.find(here.anchor);
    const NodeItem* kept = anchor == here.graph.by_key.end() ? nullptr : here.scene->node(0, static_cast<int>(anchor->second));
    if (kept != nullptr && !here.anchor.empty()) here.view->keep(kept->rect().topLeft(), here.anchor_at);
    here.anchor.clear();
    mark(side, kept == nullptr);
    here.view->viewport()->update();
}

void SideBySide::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    for (const int side : {0, 1}) {
        if (!at(side).fresh || !at(side).model) continue;
        at(side).view->first_look();
        at(side).fresh = false;
    }
}

void SideBySide::set_expanded(int side, const std::string& key, bool expanded) {
    Shown& here = at(side);
    if (!here.model) return;
    if (const auto found = here.graph.by_key.find(key); found != here.graph.by_key.end()) {
        here.anchor = key;
        here.anchor_at = here.view->mapFromScene(here.scene->node(0, static_cast<int>(found->second))->rect().topLeft());
    }
    if (expanded)
        here.expanded.insert(key);
    else
        here.expanded.erase(key);
    rebuild(side);
}

/// Selects the node, and at the other side what was traced at the same place.
void SideBySide::pick(int side, int node) {
    Shown& here = at(side);
    if (node < 0 || static_cast<std::size_t>(node) >= here.graph.nodes.size()) return;
    const VisibleGraph::Node& item = here.graph.nodes[static_cast<std::size_t>(node)];
    here.scene->set_picked(0, node);
    const bool holds = item.kind == GraphItem::Kind::Group && item.begin < item.end;
    const std::optional<EqnPath> path = holds ? std::optional(EqnPath{item.jaxpr_path, item.begin}) : item.equation();
    here.picked = item.equation();
    Shown& other = at(1 - side);
    other.picked.reset();
    other.scene->set_picked(0, -1);
    if (!path || !other.jaxpr || !other.model) return;
    other.picked = counterpart(*here.jaxpr, *path, *other.jaxpr);
    mark(1 - side, true);
}

void SideBySide::mark(int side, bool move) {
    Shown& here = at(side);
    if (!here.picked || !here.model) return;
    int node = -1;
    try {
        for (const std::string& key : here.model->keys_around(*here.picked))
            if (const auto found = here.graph.by_key.find(key); found != here.graph.by_key.end()) node = static_cast<int>(found->second);
    } catch (const Error&) {
        return;
    }
    here.scene->set_picked(0, node);
    if (const NodeItem* item = here.scene->node(0, node); item != nullptr && move) here.view->bring_into_view(item->rect());
}

void SideBySide::reveal(int side, const EqnPath& path) {
    Shown& here = at(side);
    if (!here.model) return;
    const std::vector<std::string> around = here.model->keys_around(path);
    here.expanded.insert(around.begin(), around.end() - 1);
    here.picked = path;
    rebuild(side);
}

void SideBySide::next_difference(int step) {
    if (!diff_ || diff_->empty()) return;
    const auto removed = static_cast<int>(diff_->removed.size()), added = static_cast<int>(diff_->added.size()),
               changed = static_cast<int>(diff_->changed.size());
    const int all = removed + added + changed;
    difference_ = (difference_ + step + all) % all;
    for (const int side : {0, 1}) {
        at(side).picked.reset();
        at(side).scene->set_picked(0, -1);
    }
    const auto nth = [](const std::vector<EqnDiff>& list, int n) -> const EqnDiff& { return list[static_cast<std::size_t>(n)]; };
    try {
        if (difference_ < changed) {
            reveal(0, parse_eqn_path(nth(diff_->changed, difference_).equation));
            reveal(1, parse_eqn_path(nth(diff_->changed, difference_).other));
        } else if (difference_ < changed + removed) {
            reveal(0, parse_eqn_path(nth(diff_->removed, difference_ - changed).equation));
        } else {
            reveal(1, parse_eqn_path(nth(diff_->added, difference_ - changed - removed).equation));
        }
    } catch (const Error&) {  // it stands where no picture goes
    }
}

}  // namespace jaxscope::views
