"""Expressions for derived columns: parsed to a small tree, never run as code.

The grammar, from the weakest binding to the strongest:

    either     := both ("or" both)*
    both       := negation ("and" negation)*
    negation   := "not" negation | comparison
    comparison := sum (("=" | "!=" | "<" | "<=" | ">" | ">=") sum
                       | "is" ["not"] "missing")?
    sum        := product (("+" | "-") product)*
    product    := sign (("*" | "/") sign)*
    sign       := "-" sign | power
    power      := atom ("^" sign)?
    atom       := number | "text" | column | `column` | function "(" either, ... ")"
                | "(" either ")"
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fedsdr.exceptions import InputError
from fedsdr.preparation.tokens import Token, expression_error, split_tokens

#: Deepest nesting that is read.
MAX_DEPTH = 40

#: Functions with the smallest and largest number of their arguments.
FUNCTIONS = {
    "abs": (1, 1),
    "exp": (1, 1),
    "log": (1, 1),
    "max": (2, 20),
    "min": (2, 20),
    "sqrt": (1, 1),
}

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Constant:
    """A number or a text.

    Parameters
    ----------
    value : float or str
        As it was written.
    position : int
        Place in the expression, from 1.
    """

    value: float | str
    position: int


@dataclass(frozen=True, slots=True)
class Reference:
    """A column.

    Parameters
    ----------
    name : str
        Name of the column.
    position : int
        Place in the expression, from 1.
    """

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation on one or several expressions.

    Parameters
    ----------
    operation : str
        A sign, a word or the name of a function; "negative" for the sign of a number.
    arguments : tuple of Node
        What it is applied to.
    position : int
        Place in the expression, from 1.
    """

    operation: str
    arguments: tuple["Node", ...]
    position: int


Node = Constant | Reference | Apply


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression.

    Parameters
    ----------
    text : str
        As it was written.
    root : Node
        Its tree.
    """

    text: str
    root: Node

    @property
    def references(self) -> tuple[str, ...]:
        """Columns that it reads, each once, in their order."""
        return tuple(dict.fromkeys(_references(self.root)))


def parse_expression(text: str) -> Expression:
    """Parse an expression such as ``weight / height ^ 2`` or ``num > 0``.

    Parameters
    ----------
    text : str
        The expression.

    Returns
    -------
    Expression
        Its tree. An `InputError` names the position of a mistake.
    """
    if not text.strip():
        raise InputError("an expression is empty: write one such as 'num > 0'")
    return Expression(text, _Parser(text).parse())


def _references(node: Node) -> Iterator[str]:
    if isinstance(node, Reference):
        yield node.name
    elif isinstance(node, Apply):
        for argument in node.arguments:
            yield from _references(argument)


class _Parser:
    """Recursive descent over the tokens; one method per line of the grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = split_tokens(text)
        self._place = 0
        self._depth = 0

    def parse(self) -> Node:
        node = self._either()
        if self._next.kind != "end":
            raise self._error("an operator such as + or < is missing before this")
        return node

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _error(self, problem: str) -> InputError:
        return expression_error(self._text, self._next.position, problem)

    def _take(self, kind: str, *texts: str) -> Token | None:
        token = self._next
        if token.kind != kind or (texts and token.text not in texts):
            return None
        self._place += 1
        return token

    def _chain(self, part: Callable[[], Node], kind: str, *texts: str) -> Node:
        node = part()
        while token := self._take(kind, *texts):
            node = Apply(token.text, (node, part()), token.position)
        return node

    def _either(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(f"brackets are nested more than {MAX_DEPTH} deep")
        node = self._chain(self._both, "word", "or")
        self._depth -= 1
        return node

    def _both(self) -> Node:
        return self._chain(self._negation, "word", "and")

    def _negation(self) -> Node:
        waiting = []
        while token := self._take("word", "not"):
            waiting.append(token)
        node = self._comparison()
        for token in reversed(waiting):
            node = Apply("not", (node,), token.position)
        return node

    def _comparison(self) -> Node:
        node = self._sum()
        if token := self._take("word", "is"):
            negated = self._take("word", "not") is not None
            if self._take("word", "missing") is None:
                raise self._error("after 'is' comes 'missing' or 'not missing'")
            node = Apply("missing", (node,), token.position)
            return Apply("not", (node,), token.position) if negated else node
        if token := self._take("sign", *_COMPARISONS):
            node = Apply(token.text, (node, self._sum()), token.position)
            if self._next.kind == "sign" and self._next.text in _COMPARISONS:
                raise self._error("comparisons are joined by 'and': 1 < a and a < 2")
        return node

    def _sum(self) -> Node:
        return self._chain(self._product, "sign", "+", "-")

    def _product(self) -> Node:
        return self._chain(self._sign, "sign", "*", "/")

    def _sign(self) -> Node:
        waiting = []
        while token := self._take("sign", "-"):
            waiting.append(token)
        node = self._power()
        for token in reversed(waiting):
            node = Apply("negative", (node,), token.position)
        return node

    def _power(self) -> Node:
        node = self._atom()
        if token := self._take("sign", "^"):
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise self._error(f"powers are nested more than {MAX_DEPTH} deep")
            node = Apply("^", (node, self._sign()), token.position)
            self._depth -= 1
        return node

    def _atom(self) -> Node:
        if token := self._take("number"):
            return Constant(float(token.text), token.position)
        if token := self._take("text"):
            return Constant(token.text, token.position)
        if token := self._take("name"):
            if self._take("sign", "("):
                return self._call(token)
            return Reference(token.text, token.position)
        if self._take("sign", "("):
            node = self._either()
            self._close()
            return node
        raise self._error("a number, a column or a bracket is missing here")

    def _call(self, token: Token) -> Node:
        name = token.text.lower()
        if name not in FUNCTIONS:
            raise expression_error(
                self._text,
                token.position,
                f"there is no function '{token.text}'; there are "
                f"{', '.join(FUNCTIONS)}",
            )
        arguments = [self._either()]
        while self._take("sign", ","):
            arguments.append(self._either())
        self._close()
        fewest, most = FUNCTIONS[name]
        if not fewest <= len(arguments) <= most:
            wanted = f"{fewest} argument" if fewest == most else f"{fewest} to {most}"
            problem = f"{name} takes {wanted}, got {len(arguments)}"
            raise expression_error(self._text, token.position, problem)
        return Apply(name, tuple(arguments), token.position)

    def _close(self) -> None:
        if not self._take("sign", ")"):
            raise self._error("a closing bracket is missing before this")
