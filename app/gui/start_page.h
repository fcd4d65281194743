// SPDX-License-Identifier: Apache-2.0
#pragma once
// What stands where no program is open. Comes in: files that were open before. Goes out: what to open. Never here: opening it.
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
    QListWidget* recent() const { return recent_; }
    QListWidget* samples() const { return samples_; }
    QPushButton* capture_button() const { return capture_; }
    QPushButton* paste_button() const { return paste_; }

Q_SIGNALS:
    void open_requested(const QString& file);  ///< empty: the user is to be asked for one
    void capture_requested();
    void paste_requested();

private:
    QWidget* titled(const QString& title, QListWidget* list) const;
    QListWidget *recent_, *samples_;
    QPushButton *open_, *capture_, *paste_;
};

}  // namespace jaxscope::app
