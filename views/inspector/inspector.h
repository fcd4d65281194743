// SPDX-License-Identifier: Apache-2.0
#pragma once
// Answers about what is selected. Comes in: an Explanation (report). Goes out: the line of source that was clicked, what is
// wanted of a value. Never here: sentences,
// and facts that the explanation doesn't hold.
#include <QScrollArea>

#include "analysis/fit/hand_marks.h"
#include "report/explain_text.h"

class QVBoxLayout;

namespace jaxscope::views {

/// The right panel: answers about the selected thing in sentences, then where it is in the user's code, what it costs, what to do.
class Inspector : public QScrollArea {
    Q_OBJECT
public:
    explicit Inspector(QWidget* parent = nullptr);
    void show_explanation(const Explanation& explanation);
    void show_nothing(const QString& text);
    const Explanation& explanation() const { return explanation_; }

Q_SIGNALS:
    void line_clicked(const QString& file, int line);  ///< of the shown source
    void python_copied(QString python);
    void verdict_wanted(HandVerdict verdict);  ///< of what is selected

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void add_head(QVBoxLayout& column) const;
    void add_code(QVBoxLayout& column);
    void add_pairs(QVBoxLayout& column, const QString& title, const std::vector<std::pair<std::string, std::string>>& pairs,
                   bool mono) const;
    void add_verdicts(QVBoxLayout& column);
    void add_actions(QVBoxLayout& column);
    Explanation explanation_;
};

}  // namespace jaxscope::views
