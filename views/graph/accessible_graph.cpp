// SPDX-License-Identifier: Apache-2.0
#include "graph/accessible_graph.h"

#include <QAccessibleWidget>
#include <QPointer>
#include <map>

#include "graph/graph_scene.h"
#include "graph/graph_view.h"

namespace jaxscope::views {
namespace {

GraphScene* scene_of(const GraphView* view) { return view == nullptr ? nullptr : qobject_cast<GraphScene*>(view->scene()); }

/// One node. Stays valid when another picture is shown, where the same part has a node of this number.
class AccessibleNode : public QAccessibleInterface, public QAccessibleActionInterface {
public:
    AccessibleNode(GraphView* view, int part, int index) : view_(view), part_(part), index_(index) {}
    bool isValid() const override { return node() != nullptr; }
    QObject* object() const override { return nullptr; }
    QAccessibleInterface* parent() const override { return view_ ? QAccessible::queryAccessibleInterface(view_) : nullptr; }
    QAccessibleInterface* child(int) const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QAccessible::Role role() const override { return QAccessible::Button; }
    QString text(QAccessible::Text which) const override { return isValid() && which == QAccessible::Name ? node()->words() : QString(); }
    void setText(QAccessible::Text, const QString&) override {}
    QRect rect() const override {
        if (!isValid()) return {};
        const QRect on_view = view_->mapFromScene(node()->rect()).boundingRect();
        return {view_->viewport()->mapToGlobal(on_view.topLeft()), on_view.size()};
    }
    QAccessible::State state() const override {
        QAccessible::State state;
        if (!isValid()) {
            state.invalid = true;
            return state;
        }
        state.focusable = state.selectable = true;
        state.selected = state.focused = scene_of(view_)->picked() == node();
        state.expandable = node()->expandable();
        state.expanded = node()->is_frame();
        state.collapsed = node()->expandable() && !node()->is_frame();
        state.invisible = !node()->isVisible();
        state.offscreen = !view_->viewport()->rect().intersects(view_->mapFromScene(node()->rect()).boundingRect());
        return state;
    }
    void* interface_cast(QAccessible::InterfaceType type) override {
        return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
    }
    QStringList actionNames() const override {
        if (!isValid()) return {};
        return node()->expandable() ? QStringList{pressAction(), toggleAction()} : QStringList{pressAction()};
    }
    void doAction(const QString& name) override {
        if (!isValid()) return;
        GraphScene* scene = scene_of(view_);
        if (name == pressAction()) Q_EMIT scene->node_clicked(part_, index_);
        if (name == toggleAction() && node()->expandable()) Q_EMIT scene->node_toggled(part_, index_);
    }
    QStringList keyBindingsForAction(const QString&) const override { return {}; }

private:
    NodeItem* node() const {
        const GraphScene* scene = scene_of(view_);
        return scene == nullptr ? nullptr : scene->node(part_, index_);
    }
    QPointer<GraphView> view_;
    int part_, index_;
};

class AccessibleGraph : public QAccessibleWidget {
public:
    explicit AccessibleGraph(GraphView* view) : QAccessibleWidget(view, QAccessible::Chart), view_(view) {}
    ~AccessibleGraph() override {
        for (const auto& [place, id] : ids_) QAccessible::deleteAccessibleInterface(id);
    }
    int childCount() const override { return scene() == nullptr ? 0 : scene()->nodes(); }
    QAccessibleInterface* child(int number) const override {
        int in_part = number;
        for (int part = 0; scene() != nullptr && in_part >= 0 && part < scene()->parts(); in_part -= scene()->nodes(part++))
            if (in_part < scene()->nodes(part)) return of(part, in_part);
        return nullptr;
    }
    QAccessibleInterface* childAt(int x, int y) const override {
        const QPoint at = view_->viewport()->mapFromGlobal({x, y});
        if (scene() == nullptr || !view_->viewport()->rect().contains(at)) return nullptr;
        for (const QGraphicsItem* item : view_->items(at))
            if (item->type() == NodeItem::Type) {
                const auto* node = static_cast<const NodeItem*>(item);
                return of(node->part(), node->index());
            }
        return nullptr;
    }
    int indexOfChild(const QAccessibleInterface* wanted) const override {
        for (const auto& [place, id] : ids_)
            if (QAccessible::accessibleInterface(id) == wanted) return accessible_child(*view_, place.first, place.second);
        return -1;
    }
    QAccessibleInterface* focusChild() const override {
        const NodeItem* picked = scene() == nullptr ? nullptr : scene()->picked();
        return picked == nullptr ? nullptr : of(picked->part(), picked->index());
    }

private:
    GraphScene* scene() const { return scene_of(view_); }
    QAccessibleInterface* of(int part, int index) const {
        const auto [entry, is_new] = ids_.try_emplace({part, index}, 0);
        if (is_new) entry->second = QAccessible::registerAccessibleInterface(new AccessibleNode(view_, part, index));
        return QAccessible::accessibleInterface(entry->second);
    }
    QPointer<GraphView> view_;
    mutable std::map<std::pair<int, int>, QAccessible::Id> ids_;  ///< of nodes that were asked for
};

QAccessibleInterface* make_accessible(const QString&, QObject* object) {
    auto* view = qobject_cast<GraphView*>(object);
    return view == nullptr ? nullptr : new AccessibleGraph(view);
}

}  // namespace

void install_accessible_graphs() {
    static const bool installed = (QAccessible::installFactory(make_accessible), true);
    static_cast<void>(installed);
}

int accessible_child(const GraphView& view, int part, int node) {
    const GraphScene* scene = scene_of(&view);
    int before = 0;
    for (int p = 0; scene != nullptr && p < part; ++p) before += scene->nodes(p);
    return before + node;
}

}  // namespace jaxscope::views
