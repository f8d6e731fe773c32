"""What code does, as text to be digested: without comments, docstrings and layout."""

import ast


def dumped(source: str) -> str:
    """The syntax tree of a module without docstrings, as text.

    Raises
    ------
    SyntaxError
        If it is no Python.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            del body[0]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
