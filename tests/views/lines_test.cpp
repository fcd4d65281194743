// What the window shows of memory by source line, of two programs side by side, of budgets, and inside of loops.
#include <QClipboard>
#include <QComboBox>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QToolButton>
#include <QtTest>

#include "base/units.h"
#include "views/window_fixture.h"
#include "views/window_tests.h"

using namespace jaxscope;
using namespace jaxscope::views;
using jaxscope::app::MainWindow;

class LinesTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY(fixture_.prepare()); }
    void init() { window_ = new_window(); }
    void cleanup() { window_.reset(); }

    void lines_hold_what_is_alive_at_the_peak() {
        QVERIFY(opens(*window_));
        FlameWidget* flame = lines();
        const FlameGraph& graph = flame->graph();
        const MemoryPlan& plan = *window_->session()->current().plan;
        QCOMPARE(graph.bytes, plan.live_peak);
        std::int64_t roots = 0;
        for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
            const FlameNode& node = graph.nodes[n];
            if (node.parent < 0) roots += node.bytes;
            std::int64_t below = 0;
            for (const FlameNode& child : graph.nodes)
                if (child.parent == static_cast<int>(n)) {
                    below += child.bytes;
                    QCOMPARE(child.depth, node.depth + 1);
                    QVERIFY(child.begin >= node.begin && child.begin + child.bytes <= node.begin + node.bytes);
                }
            QVERIFY(below <= node.bytes);
        }
        QCOMPARE(roots, graph.bytes);
        QVERIFY(graph.depth >= 2);
        takes_pictures(*window_, "lines");
    }

    void lines_of_what_is_saved_lead_to_it_everywhere() {
        QVERIFY(opens(*window_));
        FlameWidget* flame = lines();
        window_->memory_view()->whose()->setCurrentIndex(1);
        QTRY_VERIFY_WITH_TIMEOUT(!window_->memory_view()->busy(), kPatience);
        const ResidualReport& residuals = *window_->session()->current().residuals;
        QCOMPARE(flame->graph().bytes, residuals.total_bytes);
        int line = -1;
        for (std::size_t n = 0; n < flame->graph().nodes.size(); ++n)
            if (flame->graph().nodes[n].line > 0 && flame->rect_of(static_cast<int>(n)).width() > 60) line = static_cast<int>(n);
        QVERIFY(line >= 0);
        const QPoint at = flame->rect_of(line).center().toPoint();
        QCOMPARE(flame->node_at(at), line);
        QTest::mouseClick(flame, Qt::LeftButton, {}, at);
        const ResidualRow* row = find_residual(residuals, *window_->selection()->picked().residual);
        QVERIFY(row != nullptr);
        const FlameNode& node = flame->graph().nodes[static_cast<std::size_t>(line)];
        QVERIFY(std::any_of(row->frames.begin(), row->frames.end(),
                            [&](const Frame& f) { return f.file.str() == node.file && f.line == node.line; }));
        QVERIFY(window_->residual_table()->table()->currentIndex().isValid());
        QVERIFY2(flame->accessibleDescription().contains(utf8(bytes_text(node.bytes))), qPrintable(flame->accessibleDescription()));
    }

    void what_is_alive_and_what_is_saved_is_put_together_by_scope_type_and_role() {
        QVERIFY(opens(*window_));
        FlameWidget* flame = lines();
        MemoryView* memory = window_->memory_view();
        const Look& look = window_->session()->current();
        const MemoryTimeline over_time = memory_timeline(*look.plan);
        for (const int whose : {0, 1})
            for (const FlameBy by : {FlameBy::Scopes, FlameBy::Types, FlameBy::Roles}) {
                memory->whose()->setCurrentIndex(whose);
                memory->by()->setCurrentIndex(static_cast<int>(by));
                QTRY_VERIFY_WITH_TIMEOUT(!memory->busy(), kPatience);
                QCOMPARE(flame->graph().bytes, whose == 0 ? look.plan->live_peak : look.residuals->total_bytes);
                std::map<std::string, std::int64_t> roots;
                QSet<QString> names;
                std::int64_t all = 0;
                for (const FlameNode& node : flame->graph().nodes) {
                    if (node.parent < 0) roots[node.function] += node.bytes, all += node.bytes;
                    QCOMPARE(node.line, 0);
                    names.insert(utf8(node.function));
                }
                QCOMPARE(all, flame->graph().bytes);
                if (by == FlameBy::Types) QVERIFY(roots.contains("f32") && roots["f32"] > all / 2);
                if (by == FlameBy::Scopes && whose == 0)
                    QVERIFY2(names.contains("bhqd,bhkd->bhqk"), qPrintable(QStringList(names.values()).join(' ')));
                if (by != FlameBy::Roles || whose == 1) continue;
                const auto& peak = over_time.by_role[static_cast<std::size_t>(over_time.peak_step)];
                for (const BufferRole role : {BufferRole::Argument, BufferRole::Residual, BufferRole::Temporary})
                    QCOMPARE(roots[role_name(role)], peak[static_cast<std::size_t>(role)]);
            }
        QVERIFY2(flame->accessibleName().contains("by role, saved"), qPrintable(flame->accessibleName()));
        takes_pictures(*window_, "roles");
    }

    void lines_are_widened_and_walked() {
        QVERIFY(opens(*window_));
        FlameWidget* flame = lines();
        int narrow = -1;
        for (std::size_t n = 0; n < flame->graph().nodes.size(); ++n) {
            const double width = flame->rect_of(static_cast<int>(n)).width();
            if (width > 20 && width < flame->width() / 2.0) narrow = static_cast<int>(n);
        }
        QVERIFY(narrow >= 0);
        const double before = flame->rect_of(narrow).width();
        const QPoint at = flame->rect_of(narrow).center().toPoint();
        QTest::mouseDClick(flame, Qt::LeftButton, {}, at);
        QCOMPARE(flame->zoomed(), narrow);
        QVERIFY(flame->rect_of(narrow).width() > before);
        while (flame->zoomed() >= 0) {
            const int zoomed = flame->zoomed();
            QTest::keyClick(flame, Qt::Key_Backspace);
            QVERIFY(flame->zoomed() != zoomed);
        }
        QTest::keyClick(flame, Qt::Key_Down);
        QVERIFY(window_->selection()->picked().buffer.has_value());
        const QString first = flame->accessibleDescription();
        QTest::keyClick(flame, Qt::Key_Right);
        QVERIFY(flame->accessibleDescription() != first);
    }

    void a_step_of_the_curve_is_shown_by_line() {
        QVERIFY(opens(*window_));
        window_->show_tab("memory");
        TimelineWidget* timeline = window_->memory_view()->timeline();
        QTest::mouseClick(timeline, Qt::LeftButton, {}, QPoint(timeline->width() / 4, timeline->height() / 2));
        FlameWidget* flame = lines();
        QVERIFY(window_->memory_view()->whose()->currentText().startsWith("alive in step"));
        QVERIFY(flame->graph().bytes > 0 && flame->graph().bytes < window_->session()->current().plan->live_peak);
    }

    void a_loop_is_opened_in_the_curve_and_left_again() {
        QVERIFY(opens(*window_, QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/transformer_lm_scan.jaxscope")));
        window_->show_tab("memory");
        MemoryView* memory = window_->memory_view();
        TimelineWidget* timeline = memory->timeline();
        QVERIFY(memory->open_button()->isVisible() && !memory->open_button()->isEnabled() && !memory->back_button()->isVisible());
        const MemoryPlan& plan = *window_->session()->current().plan;
        int loop = 0;
        while (!timeline->can_open(loop)) ++loop;
        const auto middle_of = [&](int step) { return QPointF(timeline->x_of(step + 0.5), timeline->height() / 2.0).toPoint(); };
        QTest::mouseClick(timeline, Qt::LeftButton, {}, middle_of(loop));
        QVERIFY(memory->open_button()->isEnabled());
        memory->open_button()->click();
        QVERIFY(timeline->opened() && memory->back_button()->isVisible());
        QVERIFY2(timeline->where().startsWith("one of 6 iterations of scan at "), qPrintable(timeline->where()));
        QVERIFY(timeline->shown()->planned_peak < plan.planned_peak);
        takes_pictures(*window_, "iteration");
        // What is picked inside is an equation of the loop's body, everywhere.
        memory->strips_button()->click();
        memory->arguments_button()->click();
        int strip = -1;
        for (const int b : timeline->shown()->at_peak)
            if (strip < 0 && !timeline->shown()->buffers[static_cast<std::size_t>(b)].eqn.empty()) strip = b;
        QTest::mouseClick(timeline, Qt::LeftButton, {}, timeline->strip_of(strip).center().toPoint());
        const Picked& picked = window_->selection()->picked();
        QVERIFY(picked.buffer && picked.buffer->opened == std::vector<int>{loop});
        QVERIFY(picked.program && to_text(*picked.program).find('/') != std::string::npos);
        // Another policy's plan is another: nothing of it is open.
        memory->back_button()->click();
        QVERIFY(!timeline->opened() && timeline->shown().get() == &plan);
        memory->curve_button()->click();
        QTest::mouseDClick(timeline, Qt::LeftButton, {}, middle_of(loop));
        QVERIFY(timeline->opened());
        window_->top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QVERIFY(!timeline->opened() && !memory->back_button()->isVisible());
    }

    void two_programs_stand_side_by_side() {
        QVERIFY(opens(*window_));
        window_->top_bar()->enter_policy("nothing_saveable");
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        window_->compare_with_as_it_is();
        SideBySide* sides = compared();
        QVERIFY(sides->isVisible());
        QVERIFY2(sides->head(0).contains("as it is") && sides->head(1).contains("as chosen here"), qPrintable(sides->head(0)));
        int badges[2] = {0, 0};
        for (const int side : {0, 1})
            for (const auto& node : sides->graph(side).nodes) badges[side] += !node.badge.empty();
        QVERIFY(badges[0] + badges[1] > 0);
        sides->next_difference(1);
        QTRY_VERIFY_WITH_TIMEOUT(!sides->busy(), kPatience);
        const NodeItem *left = sides->scene(0)->picked(), *right = sides->scene(1)->picked();
        QVERIFY(left != nullptr || right != nullptr);
        takes_pictures(*window_, "side-by-side");
    }

    void a_click_finds_the_same_place_on_the_other_side() {
        QVERIFY(opens(*window_));
        window_->compare_with(kSample);
        SideBySide* sides = compared();
        QVERIFY2(sides->head(0).contains("no difference"), qPrintable(sides->head(0)));
        for (int turn = 0; turn < 3; ++turn) {
            const auto closed = std::find_if(sides->graph(0).nodes.begin(), sides->graph(0).nodes.end(),
                                             [](const auto& n) { return n.expandable && !n.expanded; });
            QVERIFY(closed != sides->graph(0).nodes.end());
            const std::string key = closed->key;
            for (const int side : {0, 1}) sides->set_expanded(side, key, true);
            QTRY_VERIFY_WITH_TIMEOUT(!sides->busy(), kPatience);
        }
        int tried = 0;
        for (std::size_t n = 0; n < sides->graph(0).nodes.size(); ++n) {
            if (!sides->graph(0).nodes[n].equation()) continue;
            sides->pick(0, static_cast<int>(n));
            const NodeItem* other = sides->scene(1)->picked();
            QVERIFY2(other != nullptr, sides->graph(0).nodes[n].key.c_str());
            QCOMPARE(other->index(), static_cast<int>(n));
            ++tried;
        }
        QVERIFY(tried > 3);
        const auto group = std::find_if(sides->graph(1).nodes.begin(), sides->graph(1).nodes.end(),
                                        [](const auto& n) { return n.expandable && !n.expanded; });
        QVERIFY(group != sides->graph(1).nodes.end());
        const std::size_t before = sides->graph(1).nodes.size();
        sides->set_expanded(1, group->key, true);
        QTRY_VERIFY_WITH_TIMEOUT(!sides->busy(), kPatience);
        QVERIFY(sides->graph(1).nodes.size() > before);
    }

    void a_budget_becomes_a_row_that_can_be_applied() {
        QVERIFY(opens(*window_, sample("transformer_lm_scan")));
        window_->show_tab("policies");
        QTRY_VERIFY_WITH_TIMEOUT(!window_->session()->comparing(), kPatience);
        const std::int64_t peak = window_->session()->current().plan->planned_peak;
        const std::int64_t budget = peak * 9 / 10;
        BudgetBox* box = window_->budget();
        box->line()->setText(QString::number(budget));
        box->button()->click();
        QVERIFY(window_->session()->fitting());
        QCOMPARE(box->button()->text(), QStringLiteral("Stop"));
        QTRY_VERIFY_WITH_TIMEOUT(!window_->session()->fitting(), kPatience);
        const QString name = QStringLiteral("budget ") + utf8(bytes_text(budget));
        const PolicyModel* model = window_->policies();
        int row = -1;
        for (int r = 0; r < model->rowCount(); ++r)
            if (model->words(r) == name) row = r;
        QVERIFY2(row >= 0, qPrintable(window_->notice()->text()));
        const PolicyRow promised = model->rows()[static_cast<std::size_t>(row)];
        Q_EMIT window_->policy_table()->row_clicked(row);
        QTRY_VERIFY_WITH_TIMEOUT(settled(*window_), kPatience);
        QCOMPARE(window_->top_bar()->applied_policy(), name);
        QCOMPARE(window_->session()->current().plan->planned_peak, promised.planned_peak.value());
        QCOMPARE(window_->session()->current().residuals->total_bytes, promised.residual_bytes.value());
        if (promised.problem.empty()) QVERIFY(*promised.planned_peak <= budget);
        window_->session()->undo();
        QVERIFY(!window_->session()->choices().by_hand);
        takes_pictures(*window_, "budget");
        box->line()->setText("a lot");
        box->look();
        QVERIFY2(window_->notice()->text().contains("expected"), qPrintable(window_->notice()->text()));
        box->line()->setText("1TiB");
        box->look();
        QTRY_VERIFY_WITH_TIMEOUT(window_->notice()->text().contains("enough as it is"), kPatience);
    }

    void a_search_for_a_budget_can_be_stopped() {
        QVERIFY(opens(*window_));
        window_->show_tab("policies");
        window_->budget()->line()->setText("1MiB");
        window_->budget()->look();
        QVERIFY(window_->session()->fitting());
        window_->budget()->button()->click();
        QVERIFY(!window_->session()->fitting());
        QCOMPARE(window_->budget()->button()->text(), QStringLiteral("Fit"));
    }

    void inside_of_a_scan_residuals_are_told_by_step() {
        QVERIFY(opens(*window_, sample("transformer_lm_scan")));
        window_->show_tab("split");
        SplitView* split = window_->split_view();
        open_scan(*split, 0);
        open_scan(*split, 1);
        int by_step = 0;
        const SplitPicture& picture = split->picture();
        for (const auto& crossing : picture.crossings) {
            if (crossing.steps <= 1) continue;
            ++by_step;
            QVERIFY2(crossing.label.find("steps") != std::string::npos, crossing.label.c_str());
            const VisibleGraph::Node& from = picture.known.nodes[crossing.from];  // what an argument holds is there before the loop
            QVERIFY(from.frame != VisibleGraph::kTop || from.kind == GraphItem::Kind::Input || from.kind == GraphItem::Kind::Inputs);
            QVERIFY(picture.unknown.nodes[crossing.to].frame != VisibleGraph::kTop);
            QCOMPARE(crossing.bytes % crossing.steps, std::int64_t{0});
        }
        QVERIFY(by_step >= 3);
        for (const auto& crossing : picture.crossings)
            if (crossing.steps > 1) split->view()->centerOn(picture.boundary, crossing.label_y);
        takes_pictures(*window_, "split-scan");
    }

    void ways_through_the_graph_are_lit() {
        QVERIFY(opens(*window_, sample("mlp")));
        ProgramView* view = window_->program_view();
        const VisibleGraph& graph = view->graph();
        // A line between two equations: a way of its own.
        const auto edge = std::find_if(graph.edges.begin(), graph.edges.end(),
                                       [&](const auto& e) { return graph.nodes[e.from].equation() && graph.nodes[e.to].equation(); });
        QVERIFY(edge != graph.edges.end());
        const std::string from = graph.nodes[edge->from].key, to = graph.nodes[edge->to].key;
        pick(from);
        pick(to);
        key(Qt::Key_P, Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY2(window_->notice()->text().contains("ways to"), qPrintable(window_->notice()->text()));
        QCOMPARE(view->node(from)->opacity(), 1.0);
        QCOMPARE(view->node(to)->opacity(), 1.0);
        QVERIFY(faded() > 0);
        key(Qt::Key_Up, Qt::AltModifier);
        QCOMPARE(view->node(from)->opacity(), 1.0);
        const int above = faded();
        key(Qt::Key_Down, Qt::AltModifier);
        QVERIFY(view->node(from)->opacity() < 1);
        QVERIFY(above > 0 && faded() > 0);
        takes_pictures(*window_, "made-from");
        key(Qt::Key_Escape, Qt::NoModifier);
        QCOMPARE(faded(), 0);
        QVERIFY(window_->notice()->text().isEmpty());
        // Nothing goes back.
        pick(to);
        pick(from);
        key(Qt::Key_P, Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY2(window_->notice()->text().contains("No value goes"), qPrintable(window_->notice()->text()));
    }

    void nodes_are_hidden_and_shown_alone() {
        QVERIFY(opens(*window_, sample("mlp")));
        ProgramView* view = window_->program_view();
        std::string some;
        for (const auto& node : view->graph().nodes)
            if (node.equation()) some = node.key;
        pick(some);
        key(Qt::Key_H, Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(!view->node(some)->isVisible());
        QCOMPARE(hidden(), 1);
        window_->notice()->findChild<QPushButton*>()->click();
        QCOMPARE(hidden(), 0);
        key(Qt::Key_I, Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(view->node(some)->isVisible());
        QVERIFY(hidden() > 1);
        key(Qt::Key_A, Qt::AltModifier | Qt::ShiftModifier);
        QCOMPARE(hidden(), 0);
        window_->selection()->clear();
        // What needs a selection isn't there without one.
        for (const QAction* action : view->view()->actions())
            if (action->text() == "Hide it" || action->text() == "Save it (by hand)") QVERIFY(!action->isEnabled());
        key(Qt::Key_H, Qt::AltModifier | Qt::ShiftModifier);
        QCOMPARE(hidden(), 0);
    }

    void equations_are_grouped_as_one_likes() {
        QVERIFY(opens(*window_));
        ProgramView* view = window_->program_view();
        QSet<QString> pictures;
        for (const Grouping way : {Grouping::Scope, Grouping::Function, Grouping::Flat, Grouping::Auto}) {
            view->set_grouping(way);
            QTRY_VERIFY_WITH_TIMEOUT(!view->busy() && view->model(), kPatience);
            QStringList titles;
            for (const auto& node : view->graph().nodes) titles << utf8(node.title);
            pictures.insert(titles.join(','));
            QVERIFY(!titles.isEmpty());
            window_->residual_table()->table()->selectRow(0);  // what is picked is found in each
            QVERIFY(view->scene()->picked() != nullptr);
            window_->selection()->clear();
        }
        QVERIFY(pictures.size() >= 3);
    }

    void a_full_disk_is_told() {
        QVERIFY(opens(*window_));
        QTemporaryDir folder;
        for (const char* name : {"full.png", "full.csv"}) QVERIFY(QFile::link("/dev/full", folder.filePath(name)));
        QVERIFY(!window_->export_picture(folder.filePath("full.png")));
        QVERIFY2(window_->notice()->text().contains("No space left on device"), qPrintable(window_->notice()->text()));
        QVERIFY(!window_->export_table(folder.filePath("full.csv")));
        QVERIFY2(window_->notice()->text().contains("full.csv"), qPrintable(window_->notice()->text()));
    }

    void tables_and_pictures_are_exported() {
        QVERIFY(opens(*window_));
        QTemporaryDir folder;
        window_->show_tab("residuals");
        const auto* rows = window_->residual_table()->table()->model();
        for (const char* kind : {"csv", "tsv", "html"}) {
            const QString file = folder.filePath(QStringLiteral("t.%1").arg(QString::fromUtf8(kind)));
            QVERIFY2(window_->export_table(file), qPrintable(window_->notice()->text()));
            const QString text = read(file);
            QVERIFY(text.contains(rows->index(0, ResidualModel::Bytes).data().toString()));
            QVERIFY(text.count('\n') > rows->rowCount());
        }
        QVERIFY(!window_->export_table(folder.filePath("t.xls")));
        QVERIFY(!window_->export_table(folder.filePath("no/such/t.csv")));
        window_->copy_table();
        QCOMPARE(qApp->clipboard()->text().count('\n'), rows->rowCount() + 1);
        const QString page = folder.filePath("picture.html");
        QVERIFY2(window_->export_picture(page), qPrintable(window_->notice()->text()));
        QVERIFY(read(page).contains("<svg") && read(page).contains("</html>"));
        window_->compare_with(sample("mlp"));
        compared();
        QVERIFY2(window_->export_picture(folder.filePath("both.png")), qPrintable(window_->notice()->text()));
        const QImage both(folder.filePath("both.png"));
        QVERIFY(both.width() > 1000);  // both sides of it
    }

private:
    static QString read(const QString& name) {
        QFile file(name);
        return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
    }
    void pick(const std::string& key) {
        Picked picked;
        picked.program = parse_eqn_path(key);
        window_->selection()->pick(picked);
    }
    void key(Qt::Key which, Qt::KeyboardModifiers with) { QTest::keyClick(window_.get(), which, with); }
    int faded() const {
        int count = 0;
        for (const QGraphicsItem* item : window_->program_view()->scene()->items())
            count += item->type() == NodeItem::Type && item->opacity() < 1;
        return count;
    }
    int hidden() const {
        int count = 0;
        for (const QGraphicsItem* item : window_->program_view()->scene()->items())
            count += item->type() == NodeItem::Type && !item->isVisible();
        return count;
    }
    FlameWidget* lines() {
        window_->show_tab("memory");
        window_->memory_view()->lines_button()->click();
        if (!QTest::qWaitFor([&] { return !window_->memory_view()->busy(); }, kPatience)) qWarning("the lines are still being made");
        return window_->memory_view()->flame();
    }
    SideBySide* compared() {
        if (!QTest::qWaitFor([&] { return !window_->making_page() && !window_->side_by_side()->busy(); }, kPatience))
            qWarning("the comparison is still being made");
        return window_->side_by_side();
    }
    /// Opens what is around the first scan of a half, and the scan.
    void open_inside(SplitView& split, int part, const std::string& scan) {
        const VisibleGraph& graph = part == 0 ? split.picture().known : split.picture().unknown;
        std::vector<std::string> keys;
        const int frame = static_cast<int>(graph.by_key.at(scan));
        for (const auto& node : graph.nodes)
            if (node.frame == frame && node.expandable && !node.expanded) keys.push_back(node.key);
        for (const std::string& key : keys) split.set_expanded(part, key, true);
        QTRY_VERIFY_WITH_TIMEOUT(!split.busy(), kPatience);
    }
    void open_scan(SplitView& split, int part) {
        for (int round = 0; round < 6; ++round) {
            const VisibleGraph& graph = part == 0 ? split.picture().known : split.picture().unknown;
            const VisibleGraph::Node* scan = nullptr;
            const VisibleGraph::Node* group = nullptr;
            for (const auto& node : graph.nodes) {
                if (node.title.rfind("scan", 0) == 0 && scan == nullptr) scan = &node;
                if (node.expandable && !node.expanded && group == nullptr) group = &node;
            }
            if (scan != nullptr && scan->expanded) return open_inside(split, part, scan->key);
            const auto* open = scan != nullptr ? scan : group;
            QVERIFY(open != nullptr);
            split.set_expanded(part, open->key, true);
            QTRY_VERIFY_WITH_TIMEOUT(!split.busy(), kPatience);
        }
    }
    static QString sample(const char* name) {
        return QStringLiteral(JAXSCOPE_SOURCE_DIR "/samples/captures/%1.jaxscope").arg(QString::fromUtf8(name));
    }
    WindowFixture fixture_;
    std::unique_ptr<MainWindow> window_;
};

JAXSCOPE_WINDOW_TESTS(LinesTest)
#include "lines_test.moc"
