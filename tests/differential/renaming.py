"""Texts of jaxprs up to the names of their variables, shared jaxprs written out: each `{ lambda` opens a scope, in which variables are numbered as they are bound."""
import re

# A scope's begin or end, a variable where it is bound (`a:f32[3]`), a variable where it is read (no parameter's name or value, no primitive).
TOKEN = re.compile(r"(?P<open>\{ lambda)|(?P<close>\})|(?P<bound>\b(?:[a-z]{1,4}|_))(?=:(?:[a-z]+\d*\[|key<))|(?<=[\s(])(?P<read>[a-z]{1,4}|_)(?=[\s,)\]}])")


def end_of(text: str, begin: int) -> int:
    """Behind the brace that closes the one at `begin`."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    raise ValueError(text[begin : begin + 80])


def written_out(text: str) -> str:
    """`let name = jaxpr in` put where it is named: which jaxprs one text shares says how they were cached."""
    while m := re.search(r"let (\w+) = (?=\{)", text):
        end = end_of(text, m.end())
        jaxpr, rest = text[m.end() : end], re.sub(r"^\s*in\s", " ", text[end:])
        again = re.search(rf"let {m[1]} = ", rest)
        reach = again.start() if again else len(rest)
        named = rf"(?<!name=)(?<!jvp=)(?<!%){m[1]}(?![\w=])(?! =)"
        text = text[: m.start()] + re.sub(rf"(?<!\w){named}", lambda _, j=jaxpr: j, rest[:reach]) + rest[reach:]
    return text


def up_to_names(text: str) -> str:
    text = written_out(text)
    text = re.sub(r"np\.int64\((-?\d+)\)", r"\1", text)
    text = re.sub(r"frozenset\(\{(.*?)\}\)", lambda m: "{" + ", ".join(sorted(m[1].split(", "))) + "}", text)
    text = re.sub(r"\s+([\])}])", r"\1", re.sub(r"([\[(])\s+", r"\1", re.sub(r"\s+", " ", text)))
    scopes, count = [{}], 0

    def renamed(m: re.Match) -> str:
        nonlocal count
        if m["open"]:
            scopes.append({})
        elif m["close"]:
            if len(scopes) > 1:
                scopes.pop()
        elif m["bound"]:
            count += 1
            scopes[-1][m["bound"]] = f"%{count}"
            return scopes[-1][m["bound"]]
        elif not text[: m.start()].endswith("= "):
            for scope in reversed(scopes):
                if m["read"] in scope:
                    return scope[m["read"]]
        return m[0]

    # JAX breaks lines elsewhere where NumPy's integers stood.
    return re.sub(r"\s+", "", TOKEN.sub(renamed, text))


def without_meshes(text: str) -> str:
    """Without what jaxscope says it doesn't write (a note says so): reshards of numbers, shardings of reshape and reduce_sum."""
    while m := re.search(r"(\w+):(\w+)(?:\{V:[^}]*\})?\[\] = reshard (\S+)\n\s*", text):
        text = text[:m.start()] + text[m.end():]
        text = re.sub(rf"(?<![\w.'=]){m[1]}(?![\w:=])", m[3], text)
    return re.sub(r"NamedSharding\(mesh=AbstractMesh\([^\n]*?spec=P\([^\n]*?\)\)", "None", text)
