// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "report/formats/formats.h"

namespace jaxscope {

namespace {

// Source: pprof's profile.proto. Only what it needs of protocol buffers is here: numbers and messages inside messages.

class Message {
public:
    void number(int field, std::uint64_t value) {
        varint(static_cast<std::uint64_t>(field) << 3);
        varint(value);
    }
    void bytes(int field, std::string_view value) {
        varint(static_cast<std::uint64_t>(field) << 3 | 2);
        varint(value.size());
        out_ += value;
    }
    void message(int field, const Message& m) { bytes(field, m.out_); }
    const std::string& text() const { return out_; }

private:
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) out_ += static_cast<char>((value & 0x7f) | 0x80);
        out_ += static_cast<char>(value);
    }
    std::string out_;
};

class Profile {
public:
    Profile() { strings_[""] = 0; }
    void value_type(const char* type) {
        Message m;
        m.number(1, string(type));
        m.number(2, string("bytes"));
        profile_.message(1, m);
    }
    /// `frames`: innermost first.
    void sample(const std::vector<Frame>& frames, const char* outermost, std::int64_t kept, std::int64_t at_peak) {
        Message m;
        for (const Frame& f : frames) m.number(1, location(f.file.str(), f.function.str(), f.line));
        if (frames.empty()) m.number(1, location("", outermost, 0));
        m.number(2, static_cast<std::uint64_t>(kept));
        m.number(2, static_cast<std::uint64_t>(at_peak));
        samples_.push_back(std::move(m));
    }
    void write(std::ostream& out) {
        for (const Message& m : samples_) profile_.message(2, m);
        for (const Message& m : locations_) profile_.message(4, m);
        for (const Message& m : functions_) profile_.message(5, m);
        const std::uint64_t shown_first = string("peak");
        std::vector<std::string_view> texts(strings_.size());
        for (const auto& [text, id] : strings_) texts[id] = text;
        for (const std::string_view text : texts) profile_.bytes(6, text);
        profile_.number(14, shown_first);
        out << profile_.text();
    }

private:
    std::uint64_t string(const std::string& text) { return strings_.try_emplace(text, strings_.size()).first->second; }
    std::uint64_t function(const std::string& file, const std::string& name) {
        const auto [it, is_new] = function_ids_.try_emplace({file, name}, function_ids_.size() + 1);
        if (is_new) {
            Message m;
            m.number(1, it->second);
            m.number(2, string(name));
            m.number(3, string(name));
            m.number(4, string(file));
            functions_.push_back(std::move(m));
        }
        return it->second;
    }
    std::uint64_t location(const std::string& file, const std::string& name, int line) {
        const auto [it, is_new] = location_ids_.try_emplace({file, name, line}, location_ids_.size() + 1);
        if (is_new) {
            Message where;
            where.number(1, function(file, name));
            where.number(2, static_cast<std::uint64_t>(line));
            Message m;
            m.number(1, it->second);
            m.message(4, where);
            locations_.push_back(std::move(m));
        }
        return it->second;
    }

    Message profile_;
    std::vector<Message> samples_, locations_, functions_;
    std::map<std::string, std::uint64_t> strings_;
    std::map<std::pair<std::string, std::string>, std::uint64_t> function_ids_;
    std::map<std::tuple<std::string, std::string, int>, std::uint64_t> location_ids_;
};

}  // namespace

void write_pprof(std::ostream& out, const Inspection& inspection) {
    Profile profile;
    profile.value_type("residuals");
    profile.value_type("peak");
    for (const ResidualRow& row : inspection.residuals().rows)
        profile.sample(row.frames, row.id.input >= 0 ? "(arguments)" : "(constants)", row.bytes, 0);
    const MemoryPlan& plan = inspection.plan();
    for (const int b : plan.at_peak) {
        const PlannedBuffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
        profile.sample(buffer.source->frames(), buffer.role == BufferRole::Argument ? "(arguments)" : "(no line is known)", 0,
                       buffer.bytes);
    }
    profile.write(out);
}

}  // namespace jaxscope
