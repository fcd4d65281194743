// SPDX-License-Identifier: Apache-2.0
#include "sharding/sharding_view.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>

#include "analysis/sharding/per_device.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "picture/find.h"
#include "report/explain_text.h"
#include "session/session.h"
#include "theme/theme.h"

namespace jaxscope::views {

namespace {

constexpr unsigned kStack = 256u << 20;  // as the session's
const char* const kHint = "params['w']=P('x', None)";

using Cell = TableRow::Cell;

Cell bytes_cell(std::optional<std::int64_t> bytes) {
    return bytes ? Cell{utf8(bytes_text(*bytes)), static_cast<qlonglong>(*bytes)} : Cell{QStringLiteral("\u2014"), -1};
}
Cell count_cell(std::int64_t n) { return {utf8(count_text(n)), static_cast<qlonglong>(n)}; }
Cell text_cell(const std::string& text) { return {utf8(text)}; }
Cell line_of(const std::string& file, int line) { return text_cell(line > 0 ? short_place(file, line) : std::string()); }

/// "3 of them, or in a while loop each round".
Cell times_cell(std::optional<std::int64_t> n, std::int64_t each) {
    return n ? count_cell(*n * each) : Cell{ShardingView::tr("each round"), static_cast<qlonglong>(each)};
}

TableRow value_row(const QString& role, const ShardRow& r, int input) {
    const QString said = role == ShardingView::tr("value") ? (r.said ? ShardingView::tr("said") : ShardingView::tr("follows")) : QString();
    return {{{role},
             text_cell(r.path),
             text_cell(r.aval),
             text_cell(r.spec),
             text_cell(r.xla_spec),
             text_cell(r.local),
             bytes_cell(r.bytes),
             count_cell(r.copies),
             {said},
             line_of(r.file, r.line)},
            input,
            r.file,
            r.line};
}
TableRow collective_row(const CollectiveRow& c) {
    std::string axes;
    for (const std::string& a : c.axes) axes += (axes.empty() ? "" : ", ") + a;
    return {{text_cell(c.kind), text_cell(axes), count_cell(c.members), bytes_cell(c.bytes), count_cell(c.steps),
             times_cell(c.times, c.count), bytes_cell(c.total_bytes), text_cell(c.asked_by), line_of(c.file, c.line)},
            -1,
            c.file,
            c.line};
}
TableRow xla_row_of(const XlaCollectiveRow& c) {
    return {{text_cell(c.kind), count_cell(c.members), bytes_cell(c.bytes), times_cell(c.times, c.count), bytes_cell(c.total_bytes),
             text_cell(c.op_name), line_of(c.file, c.line)},
            -1,
            c.file,
            c.line};
}
TableRow finding_row(const ShardingFindingRow& f) {
    return {{text_cell(f.kind), bytes_cell(f.bytes), text_cell(f.sentence), line_of(f.file, f.line)}, -1, f.file, f.line};
}
TableRow layout_cells(const LayoutRow& r) {
    return {{text_cell(r.layout), bytes_cell(r.planned_peak), bytes_cell(r.arguments), bytes_cell(r.temporaries), bytes_cell(r.sent_bytes),
             text_cell(r.problem)},
            -1,
            {},
            0};
}

std::string joined(const std::vector<sharding::SpecChoice>& specs) {
    std::string out;
    for (const sharding::SpecChoice& s : specs) out += (out.empty() ? "" : "; ") + s.path + "=" + to_text(s.spec);
    return out;
}

/// Later ones of one path stand for earlier ones.
void add_choices(std::vector<sharding::SpecChoice>& to, const QString& text) {
    for (const QString& part : text.split(';', Qt::SkipEmptyParts)) {
        sharding::SpecChoice choice = sharding::parse_spec_choice(part.trimmed().toStdString());
        std::erase_if(to, [&](const sharding::SpecChoice& s) { return s.path == choice.path; });
        to.push_back(std::move(choice));
    }
}

}  // namespace

ShardingView::ShardingView(Selection* selection, QWidget* parent)
    : QWidget(parent),
      selection_(selection),
      head_(new QLabel),
      problem_(new QLabel),
      specs_(new QLineEdit),
      back_(new QPushButton(tr("As captured"))),
      everywhere_(new QPushButton(tr("Use it everywhere"))),
      tables_(new QTabWidget),
      picture_(new ShardPicture),
      timeline_(new TimelineWidget(selection, true)),
      beside_(new QSplitter(Qt::Vertical)),
      making_(this, kStack) {
    setAccessibleName(tr("Sharding"));
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    head_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    head_->setWordWrap(true);
    problem_->setWordWrap(true);
    problem_->hide();
    specs_->setPlaceholderText(tr("What if it lay otherwise? %1").arg(QLatin1String(kHint)));
    specs_->setAccessibleName(tr("Specs to try"));
    specs_->setToolTip(
        tr("An input, a result or all leaves below a path; several with semicolons between. A double click on a row begins one."));
    specs_->setFont(mono_font(12));
    everywhere_->setToolTip(tr("Opens the program with these specs: all other views speak of it then. Reload the file to go back."));
    auto* box = new QHBoxLayout;
    box->setSpacing(8);
    for (QWidget* w : std::initializer_list<QWidget*>{specs_, back_, everywhere_}) box->addWidget(w);
    build_tables();
    beside_->addWidget(picture_);
    beside_->addWidget(timeline_);
    beside_->setStretchFactor(0, 3);
    beside_->setStretchFactor(1, 2);
    auto* across = new QSplitter(Qt::Horizontal);
    across->addWidget(tables_);
    across->addWidget(beside_);
    across->setStretchFactor(0, 5);
    across->setStretchFactor(1, 2);
    across->setSizes({680, 260});
    for (QSplitter* splitter : {beside_, across}) splitter->setHandleWidth(1);
    across->setMinimumHeight(90);  // on a small screen its parts may close
    auto* top = new QVBoxLayout;
    top->setContentsMargins(14, 8, 14, 6);
    top->addWidget(head_);
    top->addLayout(box);
    top->addWidget(problem_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(top);
    column->addWidget(across, 1);
    connect(tables_, &QTabWidget::currentChanged, this, &ShardingView::show_beside);
    connect(specs_, &QLineEdit::returnPressed, this, [this] { try_specs(specs_->text()); });
    connect(back_, &QPushButton::clicked, this, &ShardingView::forget_specs);
    connect(everywhere_, &QPushButton::clicked, this, [this] {
        if (shown_) Q_EMIT program_chosen(shown_->inspection->program_ptr());
    });
    on_theme_change(this, &ShardingView::restyle);
    restyle();
    show_seen();
}

void ShardingView::build_tables() {
    const QString none = tr("Nothing here: the program runs on one device, or none is open.");
    values_ = new RowsModel({tr("Role"), tr("Value"), tr("Aval"), tr("Spec"), tr("By XLA"), tr("On each device"), tr("Bytes"), tr("Copies"),
                             tr("Why"), tr("Your line")},
                            {6, 7}, {1, 2, 3, 4, 5, 9}, none, this);
    collectives_ = new RowsModel({tr("Kind"), tr("Over"), tr("Devices"), tr("Sent each time"), tr("Steps"), tr("Times"), tr("Sent in all"),
                                  tr("Asked by"), tr("Your line")},
                                 {2, 3, 4, 5, 6}, {0, 1, 7, 8}, tr("Devices send nothing to each other."), this);
    xla_ = new RowsModel({tr("Kind"), tr("Devices"), tr("Sent each time"), tr("Times"), tr("Sent in all"), tr("For"), tr("Your line")},
                         {1, 2, 3, 4}, {0, 5, 6},
                         tr("XLA wasn't asked: capture with --compile, and what it put in stands here beside jaxscope's own."), this);
    findings_ = new RowsModel({tr("Kind"), tr("Bytes"), tr("What it costs"), tr("Your line")}, {1}, {3},
                              tr("Nothing is gathered, padded or whole on every device without need."), this);
    layouts_ = new RowsModel({tr("Layout"), tr("Peak"), tr("Arguments"), tr("Temporaries"), tr("Sent"), tr("Problem")}, {1, 2, 3, 4}, {0},
                             none, this);
    values_panel_ = add_table(values_, tr("Values"), {60, 120, 130, 124, 110, 110, 76, 56, 60, 120}, 1);
    values_panel_->table()->horizontalHeader()->moveSection(2, 8);  // the whole value's type behind what each device has
    collectives_panel_ = add_table(collectives_, tr("Collectives"), {110, 90, 70, 100, 60, 70, 96, 130, 130}, 7);
    xla_panel_ = add_table(xla_, tr("By XLA"), {120, 70, 100, 70, 96, 200, 130}, 5);
    findings_panel_ = add_table(findings_, tr("Findings"), {110, 84, 300, 130}, 2);
    layouts_panel_ = add_table(layouts_, tr("Layouts"), {240, 84, 84, 84, 84, 120}, 0);
    values_panel_->sort_by(6, Qt::DescendingOrder);
    collectives_panel_->sort_by(6, Qt::DescendingOrder);
    xla_panel_->sort_by(4, Qt::DescendingOrder);
    findings_panel_->sort_by(1, Qt::DescendingOrder);
    layouts_panel_->table()->setSortingEnabled(false);  // in the order in which they were tried
    tables_->setDocumentMode(true);
    // By the row that stands there now, wherever it was sorted to.
    connect(values_panel_->table()->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
        const auto* proxy = static_cast<const QSortFilterProxyModel*>(index.model());
        picture_of(index.isValid() ? proxy->mapToSource(index).row() : -1);
    });
    connect(values_panel_->table(), &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
        const int row = static_cast<const QSortFilterProxyModel*>(index.model())->mapToSource(index).row();
        const std::size_t inputs = shown_ && shown_->report ? shown_->report->inputs.size() + shown_->report->outputs.size() : 0;
        if (row < 0 || static_cast<std::size_t>(row) >= inputs) return;  // constraints inside stay as they are
        const ShardRow& value = *listed_[static_cast<std::size_t>(row)];
        specs_->setText(utf8(value.path + "=" + value.spec));
        specs_->setFocus();
    });
}

TablePanel* ShardingView::add_table(RowsModel* model, const QString& name, const QVector<int>& widths, int stretched) {
    auto* panel = new TablePanel(model, selection_);
    panel->set_name(name);
    panel->set_widths(widths, stretched);
    tables_->addTab(panel, name);
    return panel;
}

void ShardingView::restyle() {
    tables_->tabBar()->setFont(text_font(12, true));
    head_->setFont(text_font(13, true));
    problem_->setStyleSheet(QStringLiteral("color: %1").arg(QLatin1String(theme().palette().recomputed_text)));
}

// ---- What is shown

void ShardingView::set_inspection(const std::shared_ptr<const Inspection>& inspection) {
    if (inspection == inspection_) return;
    const bool other = !inspection || !inspection_ || inspection->program_ptr() != inspection_->program_ptr();
    making_.cancel();
    inspection_ = inspection;
    asked_ = false;
    captured_.reset();
    shown_.reset();
    rows_.clear();
    if (other) {
        tried_.clear();
        specs_->clear();
    }
    problem_->hide();
    show_seen();
    if (isVisible()) make();
}

void ShardingView::set_run(const std::shared_ptr<const RunReport>& run) {
    std::int64_t most = 0;
    if (run && !run->device_peaks.empty()) most = *std::max_element(run->device_peaks.begin(), run->device_peaks.end());
    if (most == measured_) return;
    measured_ = most;
    show_seen();
}

void ShardingView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    make();
}

ShardingView::Seen ShardingView::look_at(std::shared_ptr<const Inspection> inspection, const std::string& name) {
    const CancelScope scope(inspection->token());
    Seen out;
    if (const auto report = sharding_report(*inspection)) out.report = std::make_shared<const ShardingReport>(*report);
    if (out.report) out.row = layout_row(name, *inspection);
    if (out.report && out.row.problem.empty()) out.plan = {inspection, &inspection->plan()};
    out.inspection = std::move(inspection);
    return out;
}

void ShardingView::make() {
    if (!inspection_ || asked_) return;
    asked_ = true;
    making_.start([this, inspection = inspection_, tried = tried_]() -> std::function<void()> {
        try {
            const Seen captured = look_at(inspection, tr("as captured").toStdString());
            if (tried.empty())
                return [this, captured] {
                    captured_ = captured;
                    take(captured);
                };
            auto program = std::make_shared<const Program>(sharding::with_specs(inspection->program(), tried));
            const Seen seen = look_at(std::make_shared<const Inspection>(program, inspection->choices()), joined(tried));
            return [this, captured, seen] {
                captured_ = captured;
                take(seen);
            };
        } catch (const std::exception& e) {
            return [this, text = in_words(e)] { tell(text); };
        }
    });
}

void ShardingView::tell(const QString& problem) {
    problem_->setText(problem);
    problem_->show();
}

void ShardingView::take(const Seen& seen) {
    shown_ = seen;
    problem_->hide();
    if (!tried_.empty()) {
        std::erase_if(rows_, [&](const LayoutRow& r) { return r.layout == seen.row.layout; });
        rows_.push_back(seen.row);
    }
    show_seen();
}

void ShardingView::try_specs(const QString& text) {
    if (!inspection_ || text.trimmed().isEmpty()) return;
    std::vector<sharding::SpecChoice> specs = tried_;
    try {
        add_choices(specs, text);
    } catch (const std::exception& e) {
        return tell(in_words(e));
    }
    making_.start([this, inspection = inspection_, specs]() -> std::function<void()> {
        try {
            auto program = std::make_shared<const Program>(sharding::with_specs(inspection->program(), specs));
            const Seen seen = look_at(std::make_shared<const Inspection>(program, inspection->choices()), joined(specs));
            return [this, specs, seen] {
                tried_ = specs;
                take(seen);
            };
        } catch (const std::exception& e) {
            return [this, text = in_words(e)] { tell(text); };
        }
    });
}

void ShardingView::forget_specs() {
    making_.cancel();
    tried_.clear();
    specs_->clear();
    problem_->hide();
    if (captured_)
        shown_ = captured_;
    else
        asked_ = false;
    show_seen();
    make();
}

void ShardingView::show_seen() {
    const bool cut = shown_ && shown_->report && shown_->report->problem.empty();
    specs_->setEnabled(cut);
    back_->setEnabled(!tried_.empty());
    everywhere_->setEnabled(cut && !tried_.empty());
    picture_->show_nothing();
    listed_.clear();
    if (!shown_) {
        head_->setText(inspection_ ? tr("Looking at how values lie.") : tr("Open a program: how its values lie over devices stands here."));
    } else if (!shown_->report) {
        head_->setText(
            tr("This program runs on one device. One that names a mesh (NamedSharding, shard_map, pmap) is cut into each device's."));
    } else if (!cut) {
        head_->setText(tr("%1 devices, %2. Figures are those of whole arrays: %3")
                           .arg(shown_->report->devices)
                           .arg(utf8(shown_->report->mesh), utf8(shown_->report->problem)));
    } else {
        QString text =
            tr("%1 devices, %2. Each needs %3 at its peak and sends %4.")
                .arg(shown_->report->devices)
                .arg(utf8(shown_->report->mesh), bytes_cell(shown_->row.planned_peak).text, bytes_cell(shown_->row.sent_bytes).text);
        if (!tried_.empty() && captured_)
            text +=
                QLatin1Char(' ') +
                tr("As captured: %1 and %2.").arg(bytes_cell(captured_->row.planned_peak).text, bytes_cell(captured_->row.sent_bytes).text);
        if (measured_ > 0 && tried_.empty()) text += QLatin1Char(' ') + tr("A run measured %1.").arg(utf8(bytes_text(measured_)));
        head_->setText(text);
    }
    static const ShardingReport none;
    show_rows(cut ? *shown_->report : none);  // its rows are pointed at: no copy
    show_layouts();
    show_beside();
    timeline_->set_plan(cut ? shown_->plan : nullptr, cut && !tried_.empty() && captured_ ? captured_->plan : nullptr,
                        tried_.empty() ? measured_ : 0);
}

/// Beside the values the picture of one of them; the curve of other specs beside all tables: the strip below shows what was captured.
void ShardingView::show_beside() {
    const bool values = tables_->currentWidget() == values_panel_, cut = shown_ && shown_->report && shown_->report->problem.empty();
    const bool tried = cut && !tried_.empty();
    picture_->setVisible(values);
    timeline_->setVisible(tried);
    beside_->setVisible(values || tried);
}

void ShardingView::show_rows(const ShardingReport& report) {
    const RowsModel::Finder find = [program = inspection_ ? inspection_->program_ptr() : nullptr](const std::string& file, int line) {
        return program ? equation_at_line(*program->jaxpr, file, line) : std::nullopt;
    };
    std::vector<TableRow> values, collectives, by_xla, findings;
    const auto add_values = [&](const QString& role, const std::vector<ShardRow>& rows, bool inputs) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            values.push_back(value_row(role, rows[i], inputs ? static_cast<int>(i) : -1));
            listed_.push_back(&rows[i]);
        }
    };
    add_values(tr("input"), report.inputs, true);
    add_values(tr("result"), report.outputs, false);
    add_values(tr("value"), report.values, false);
    for (const CollectiveRow& c : report.collectives) collectives.push_back(collective_row(c));
    for (const ShardingFindingRow& f : report.findings) findings.push_back(finding_row(f));
    const std::optional<XlaChoice>& xla = captured_ && captured_->report ? captured_->report->xla : report.xla;
    if (xla)
        for (const XlaCollectiveRow& c : xla->collectives) by_xla.push_back(xla_row_of(c));
    const auto rows_and = [](std::size_t n, std::int64_t sent) {
        return n == 0 ? QString() : tr("%1 rows, %2 sent by each device").arg(n).arg(utf8(bytes_text(sent)));
    };
    const QString of_values = values.empty() ? QString() : tr("inputs, results and the %1 largest values").arg(report.values.size());
    const QString by_xla_total = rows_and(by_xla.size(), xla ? xla->sent_bytes : 0);
    const QString of_collectives = rows_and(collectives.size(), report.sent_bytes);
    const QString of_findings = findings.empty() ? QString() : tr("%1 findings").arg(findings.size());
    values_->set_rows(std::move(values), of_values, find);
    tables_->setTabText(1, collectives.empty() ? tr("Collectives") : tr("Collectives  %1").arg(collectives.size()));
    tables_->setTabText(3, findings.empty() ? tr("Findings") : tr("Findings  %1").arg(findings.size()));
    collectives_->set_rows(std::move(collectives), of_collectives, find);
    xla_->set_rows(std::move(by_xla), by_xla_total, find);
    findings_->set_rows(std::move(findings), of_findings, find);
    values_panel_->show_column(4, xla.has_value());
}

void ShardingView::show_layouts() {
    std::vector<TableRow> out;
    if (captured_ && captured_->report) {
        out.push_back(layout_cells(captured_->row));
        if (const auto by_xla = xla_row(*captured_->inspection)) out.push_back(layout_cells(*by_xla));
    }
    for (const LayoutRow& r : rows_) out.push_back(layout_cells(r));
    const QString total = out.empty() ? QString() : tr("of one device, as captured and as tried");
    layouts_->set_rows(std::move(out), total, {});
}

void ShardingView::picture_of(int row) {
    if (row < 0 || static_cast<std::size_t>(row) >= listed_.size() || !shown_ || !shown_->report) return picture_->show_nothing();
    picture_->show_value(*listed_[static_cast<std::size_t>(row)], shown_->report->over);
}

}  // namespace jaxscope::views
