// SPDX-License-Identifier: Apache-2.0
#pragma once
// The program's hierarchy. Comes in: the graph's model, residuals. Goes out: what was selected, what is to be brought into view. Never
// here: groups of its own making (analysis/graph makes them).
#include <QTreeView>
#include <QWidget>

#include "outline/outline_model.h"
#include "selection/selection.h"

class QTreeWidget;

namespace jaxscope::views {

/// The left panel: the program's hierarchy, and under it the lines of the user's files by what they make autodiff save.
class OutlinePanel : public QWidget {
    Q_OBJECT
public:
    explicit OutlinePanel(Selection* selection, QWidget* parent = nullptr);
    void set_model(std::shared_ptr<const GraphModel> model);
    void set_residuals(const ResidualReport* report);
    OutlineModel* model() const { return model_; }
    QTreeView* tree() const { return tree_; }
    QTreeWidget* lines() const { return files_; }

Q_SIGNALS:
    void reveal_requested(const jaxscope::EqnPath& path);

private:
    void follow(const Picked& picked);
    void follow_line(const Picked& picked);
    Selection* selection_;
    std::vector<std::vector<ResidualId>> of_line_;  ///< of each line of `files_`: what it saves; a click picks the first of it
    std::shared_ptr<const GraphModel> graph_;
    OutlineModel* model_;
    QTreeView* tree_;
    QTreeWidget* files_;
    bool following_ = false;
};

}  // namespace jaxscope::views
