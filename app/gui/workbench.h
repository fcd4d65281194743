// SPDX-License-Identifier: Apache-2.0
#pragma once
// The window around the programs: a tab for each. Comes in: files, workspaces. Goes out: which program is in front, what is kept on disk of
// all of them. Never here: what a program shows (MainWindow).
#include <QMainWindow>
#include <QTimer>

#include "workspace.h"

class QStackedWidget;
class QTabBar;
class QToolButton;
namespace jaxscope::views {
class NoticeBar;
}

namespace jaxscope::app {

class MainWindow;

/// Several programs, one in front; with one alone there are no tabs to be seen. What is open, and what was chosen there, is kept on disk
/// while the window is there, and where the user says so in a file of his own.
class Workbench : public QMainWindow {
    Q_OBJECT
public:
    /// `keeps`: what is open is kept on disk, and what was open last is offered.
    explicit Workbench(bool keeps = true, QWidget* parent = nullptr);
    ~Workbench() override;
    MainWindow* current() const;
    int count() const;
    MainWindow* at(int tab) const;
    void set_current(int tab);
    /// An empty tab, in front.
    MainWindow* add();
    /// In the tab in front where nothing is open there, the others in tabs of their own. A workspace's programs come with their choices.
    void open(const QStringList& files);
    /// The last one that goes leaves an empty one.
    void close_tab(int tab);
    Workspace workspace() const;
    /// False: a notice says why.
    bool save_workspace(const QString& file);
    bool open_workspace(const QString& file);
    /// What was open when the last window was closed, or ended without being closed.
    void open_last();
    QTabBar* tabs() const { return tabs_; }
    const Autosave& autosave() const { return autosave_; }
    /// Lies over all programs, and stays while they come and go: what is open can't be kept on disk.
    views::NoticeBar* unkept_notice() const { return unkept_; }
    QTimer* again() { return &again_; }

protected:
    void closeEvent(QCloseEvent* event) override;

private:
    void take(const Workspace& workspace);
    void show_current();
    void name_tabs();
    QToolButton* close_button(MainWindow* program);
    void connect_program(MainWindow* program);
    void ask_for_workspace(bool save);
    void keep();
    QString unkept() const;
    void tell_unkept();
    bool stays_for(const QString& problem);
    void offer_last(MainWindow* program);

    QStackedWidget *menus_, *programs_;
    QTabBar* tabs_;
    Autosave autosave_;
    KeptFile named_;  ///< the user's own file, kept in step with what is open
    QTimer soon_;     ///< choices come in quick succession
    QTimer again_;    ///< a disk that was full may have room later
    views::NoticeBar* unkept_;
    QString told_unkept_;        ///< the reasons that were told
    bool told_closing_ = false;  ///< what can't be kept when the window goes was told
};

}  // namespace jaxscope::app
