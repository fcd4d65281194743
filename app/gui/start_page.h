// SPDX-License-Identifier: Apache-2.0
#pragma once
// What stands where no program is open. Comes in: files that were open before. Goes out: what to open. Never here: opening it.
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QWidget>

namespace jaxscope::app {

/// Open a file, paste a jaxpr, one of the recent files or of the samples; and how captures are made.
class StartPage : public QWidget {
    Q_OBJECT
public:
    explicit StartPage(QWidget* parent = nullptr);
    void set_recent(const QStringList& files);
    /// What was open last, in words; empty: nothing was.
    void set_last(const QString& names);
    QPushButton* last_button() const { return last_; }
    QPushButton* tour_button() const { return tour_; }
    QListWidget* recent() const { return recent_; }
    QListWidget* samples() const { return samples_; }
    QPushButton* capture_button() const { return capture_; }
    QPushButton* paste_button() const { return paste_; }

Q_SIGNALS:
    void open_requested(const QString& file);  ///< empty: the user is to be asked for one
    void capture_requested();
    void paste_requested();
    void last_requested();  ///< what was open last
    void tour_requested();

private:
    QWidget* titled(const QString& title, QListWidget* list) const;
    QListWidget *recent_, *samples_;
    QPushButton *open_, *capture_, *paste_, *last_, *tour_;
    QLabel* none_yet_;  ///< in the place of recent files
};

}  // namespace jaxscope::app
