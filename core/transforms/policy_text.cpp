// SPDX-License-Identifier: Apache-2.0
// Policies as people write them, and as JAX prints them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "transforms/policies.h"

namespace jaxscope {

namespace {

/// The names of a policy's arguments in Python; none where it takes any number of them.
std::span<const char* const> argument_names(PolicySignature::Args kind) {
    static constexpr const char* kSourceTarget[] = {"offload_src", "offload_dst"};
    static constexpr const char* kPolicies[] = {"policy_1", "policy_2"};
    static constexpr const char* kLists[] = {"names_which_can_be_saved", "names_which_can_be_offloaded", "offload_src", "offload_dst"};
    switch (kind) {
        case PolicySignature::Args::SourceTarget:
            return kSourceTarget;
        case PolicySignature::Args::Policies:
            return kPolicies;
        case PolicySignature::Args::Lists:
            return kLists;
        case PolicySignature::Args::None:
        case PolicySignature::Args::Names:
            break;
    }
    return {};
}

/// [MODULE.]NAME, NAME(arg, ...), NAME(key=arg, ...), [item, ...], or a word, as in Python. Nested policies nest parentheses: depth is
/// limited, as every recursion over input is.
class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}
    PolicyPtr whole() {
        PolicyPtr p = policy(0);
        skip();
        if (at_ != text_.size()) fail("the end");
        return p;
    }

private:
    [[noreturn]] void fail(const std::string& expected) const {
        throw Error(ErrorCode::BadUsage, "policy: expected " + expected + " at column " + std::to_string(at_ + 1) + ", found '" +
                                             (at_ < text_.size() ? printable(text_.substr(at_), 40) : std::string("nothing")) + "'");
    }
    void skip() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
    }
    bool take(char c) {
        skip();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    Sym word() {
        skip();
        if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
            const char quote = text_[at_++];
            std::string name;
            while (at_ < text_.size() && text_[at_] != quote) name += text_[at_] == '\\' ? escape() : std::string(1, text_[at_++]);
            if (!take(quote)) fail(std::string("a closing ") + quote);
            return Sym(name);
        }
        const std::size_t begin = at_;
        while (at_ < text_.size() && std::string_view(",()[]{}'\" \t\n").find(text_[at_]) == std::string_view::npos) ++at_;
        if (at_ == begin) fail("a name");
        return Sym(text_.substr(begin, at_ - begin));
    }
    /// Behind a backslash, as Python reads it: what is no escape stays as it is.
    std::string escape() {
        const std::string_view rest = text_.substr(++at_);
        const char c = rest.empty() ? '\0' : rest[0];
        unsigned code = 0;
        if (c == 'x' && rest.size() > 2 && std::from_chars(rest.data() + 1, rest.data() + 3, code, 16).ptr == rest.data() + 3) {
            at_ += 3;
            if (code < 0x80) return std::string(1, static_cast<char>(code));
            return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
        }
        constexpr std::string_view kLetters = "ntr\\'\"", kMeant = "\n\t\r\\'\"";
        const std::size_t k = rest.empty() ? std::string_view::npos : kLetters.find(c);
        if (k == std::string_view::npos) return "\\";
        ++at_;
        return std::string(1, kMeant[k]);
    }
    /// Items up to `close`, each read by `item`; Python allows a comma behind the last.
    template <class Item>
    void each(char close, Item item) {
        while (!take(close)) {
            item();
            if (take(',')) continue;
            if (!take(close)) fail(std::string("',' or '") + close + "'");
            return;
        }
    }
    Attr value(const PolicySignature& k, int depth) {
        for (const char* brackets : {"[]", "()", "{}"})
            if (take(brackets[0])) {
                Attrs out;
                each(brackets[1], [&] { out.emplace_back(word()); });
                return Attr::tuple(std::move(out));
            }
        if (k.args == PolicySignature::Args::Policies) return Attr(policy(depth + 1));
        return Attr(word());
    }
    /// "NAME =" in front of an argument.
    std::optional<std::string_view> keyword() {
        skip();
        std::size_t end = at_;
        while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_')) ++end;
        const std::string_view name = text_.substr(at_, end - at_);
        while (end < text_.size() && text_[end] == ' ') ++end;
        if (name.empty() || end >= text_.size() || text_[end] != '=') return {};
        at_ = end + 1;
        return name;
    }
    Attrs arguments(const PolicySignature& k, int depth) {
        const auto names = argument_names(k.args);
        std::vector<std::optional<Attr>> given;
        bool by_name = false;
        each(')', [&] {
            const std::size_t begin = at_;
            const auto name = keyword();
            std::size_t at = given.size();
            if (name) {
                at = static_cast<std::size_t>(std::find(names.begin(), names.end(), *name) - names.begin());
                const bool twice = at < given.size() && given[at];
                if (at == names.size() || twice) {
                    at_ = begin;
                    fail(twice ? "each argument once" : std::string("an argument of ") + k.info.usage);
                }
            } else if (by_name) {
                fail("a keyword, as all arguments behind one have");
            }
            by_name = by_name || name;
            if (at >= given.size()) given.resize(at + 1);
            given[at] = value(k, depth);
        });
        Attrs out;
        for (std::size_t i = 0; i < given.size(); ++i) {
            if (!given[i]) fail(std::string("an argument ") + names[i] + " of " + k.info.usage);
            out.push_back(std::move(*given[i]));
        }
        return out;
    }
    PolicyPtr policy(int depth) {
        if (depth > 20) fail("at most 20 policies inside each other");
        std::string name = word().str();  // jax.checkpoint_policies.NAME, or under the name that somebody gave that
        if (const std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.erase(0, dot + 1);
        if (PolicyPtr p = printed_by_jax(name)) return p;
        const PolicySignature* k = policy_signature(name);
        if (!k) unknown(name);
        return make_policy(name, take('(') ? arguments(*k, depth) : Attrs());
    }
    /// The forms that a policy has in a jaxpr's text: `DotsSaveable(only_if_no_batch_dims=True)`,
    /// `SaveOnlyTheseNames(saveable_names=frozenset({'a'}))`. Null: `name` begins none of them.
    PolicyPtr printed_by_jax(const std::string& name) {
        const bool dots = name == "DotsSaveable";
        if (!dots && name != "SaveOnlyTheseNames" && name != "SaveAnyNamesButThese") return nullptr;
        const char* key = dots ? "only_if_no_batch_dims" : name == "SaveOnlyTheseNames" ? "saveable_names" : "names";
        if (!take('(')) fail("'('");
        const auto found = keyword();
        if (!found || *found != key) fail(std::string(key) + "=");
        PolicyPtr out;
        if (dots) {
            const std::string answer = word().str();
            if (answer != "True" && answer != "False") fail("True or False");
            out = make_policy(Sym(answer == "True" ? "dots_with_no_batch_dims_saveable" : "dots_saveable"));
        } else {
            out = make_policy(Sym(name == "SaveOnlyTheseNames" ? "save_only_these_names" : "save_any_names_but_these"), set_of_names());
        }
        if (!take(')')) fail("')'");
        return out;
    }
    Attrs set_of_names() {
        Attrs out;
        if (word().str() != "frozenset" || !take('(')) fail("frozenset(");
        if (take('{')) each('}', [&] { out.emplace_back(word()); });
        if (!take(')')) fail("')'");
        return out;
    }
    [[noreturn]] static void unknown(Sym name) {
        std::vector<std::string_view> names;
        for (const PolicyInfo& k : known_policies()) names.emplace_back(k.name);
        Error error(ErrorCode::BadUsage, "expected a policy of jax.checkpoint_policies, found '" + printable(name.str(), 60) + "'");
        const std::string_view near = nearest_name(name.str(), names);
        for (const PolicyInfo& k : known_policies())
            if (near == k.name) throw error.advise(std::string("did you mean ") + k.usage + "?");
        throw error.advise(fmt::format("one of {}", fmt::join(names, ", ")));
    }
    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

PolicyPtr parse_policy(std::string_view text) {
    const std::string_view t = trim(text);
    if (t.empty() || t == "none" || t == "None") return nullptr;
    constexpr std::string_view kFunction = "<function ";
    if (t.starts_with(kFunction)) return Parser(t.substr(kFunction.size(), t.find(" at ") - kFunction.size())).whole();
    return Parser(t).whole();
}

}  // namespace jaxscope
