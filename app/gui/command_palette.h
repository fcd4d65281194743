// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QDialog>
#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace jaxscope::app {

/// A line to type in and what fits it: commands, policies, residuals, arguments, equations. Enter does the first or chosen one.
class CommandPalette : public QDialog {
    Q_OBJECT
public:
    struct Entry {
        QString kind, text;
        std::function<void()> act;
    };
    /// What fits a text, best first.
    using Find = std::function<std::vector<Entry>(const QString& text)>;
    /// What takes longer to find: handed over once it is there.
    using FindMore = std::function<void(const QString& text, std::function<void(std::vector<Entry>)> found)>;
    CommandPalette(Find find, FindMore find_more, QWidget* parent);
    QLineEdit* line() const { return line_; }
    QListWidget* list() const { return list_; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void show_matches();
    void add(const std::vector<Entry>& entries);
    void act();

    Find find_;
    FindMore find_more_;
    std::vector<Entry> shown_;
    QLineEdit* line_;
    QListWidget* list_;
};

}  // namespace jaxscope::app
