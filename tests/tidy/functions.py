"""How long functions are, in C++ by matching braces and in Python by its own parser."""

import ast
import re
from collections.abc import Iterator

from source import Finding, Source, code_of, line_of

LIMIT = 60
LIMIT_IN_TESTS = 80

# Braces that hold declarations: functions are looked for inside of them.
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum)\b[^()]*$|\bextern\s+\"")
# What may stand before either and looks like the other.
NOISE = re.compile(r"template\s*<[^{}();]*>|\balignas\s*\([^()]*\)|\[\[.*?\]\]", re.DOTALL)


def bodies(code: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, head) of each outermost function body; head is what stands before it."""
    head_start = 0
    position = 0
    while position < len(code):
        char = code[position]
        if char in ";}":
            head_start = position + 1
        elif char == "{":
            head = NOISE.sub(" ", code[head_start:position])
            if SCOPE.search(head) or "(" not in head:
                if not SCOPE.search(head):  # an initialiser such as `int a[] = {...}`
                    position = closing(code, position)
                head_start = position + 1
            else:
                end = closing(code, position)
                # A member initialiser `: a_{1} {` is followed by more of the same head.
                if not re.match(r"\s*[,{]", code[end + 1 :]):
                    yield position, end, head
                    head_start = end + 1
                position = end
        position += 1


def closing(code: str, opening: int) -> int:
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code) - 1


def name_of(head: str) -> str:
    match = re.search(r"([~\w:]+)\s*\(([^()]*)", head)
    if not match:
        return "function"
    return f"{match[1]}({match[2].strip()})" if match[1].startswith("TEST") else match[1]


def check_cpp(source: Source) -> Iterator[Finding]:
    limit = LIMIT_IN_TESTS if source.is_test else LIMIT
    # Macros may hold unbalanced braces.
    code = re.sub(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", lambda m: re.sub(r"[^\n]", " ", m.group()),
                code_of(source.text), flags=re.MULTILINE)  # fmt: skip
    for start, end, head in bodies(code):
        length = line_of(code, end) - line_of(code, start) + 1
        if length > limit:
            message = f"{name_of(head)} has {length} lines, the limit is {limit}"
            yield Finding(source.path, line_of(code, start), "function-length", message)


def check_python(source: Source) -> Iterator[Finding]:
    try:
        tree = ast.parse(source.text)
    except SyntaxError as error:
        yield Finding(source.path, error.lineno or 1, "syntax", str(error.msg))
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > LIMIT:
                message = f"{node.name} has {length} lines, the limit is {LIMIT}"
                yield Finding(source.path, node.lineno, "function-length", message)


def check(source: Source) -> Iterator[Finding]:
    if source.is_cpp:
        yield from check_cpp(source)
    elif source.suffix == ".py":
        yield from check_python(source)
