"""The cage that chat templates run in: jinja2's immutable sandbox, dressed as Hugging Face dresses it, and stricter.

No operator, method or filter may build a huge value out of a small one, a template's clock stands still (tokens must
depend on the files and the recipe alone), and `{% generation %}` marks what the assistant says.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from datetime import datetime
from itertools import islice
from typing import Any

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.runtime
import jinja2.sandbox

VALUE_ITEMS = 1 << 24
EXPONENT = 1_024
NUMBER_BITS = 1 << 16
CLOCK = datetime(2024, 7, 26)
"""What `strftime_now` answers, always: the date that Llama 3's template itself uses where there is no clock."""

_WIDE_FORMAT = re.compile(r"%[^a-zA-Z%]*(\d{5,}|\*)|:[^{}]*\d{5,}[^{}]*\}")


def unused_characters(text: str, count: int) -> tuple[str, ...]:
    """Private-use characters that do not stand in `text`: marks that never reach a tokenizer."""
    return tuple(islice((mark for mark in map(chr, range(0xE0F1, 0xF8FF)) if mark not in text), count))


class _Generation(jinja2.ext.Extension):
    """`{% generation %} … {% endgeneration %}`: what the assistant says."""

    tags = {"generation"}  # noqa: RUF012  # the base class declares a plain set

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_mark"), [], [], body).set_lineno(line)

    def _mark(self, caller: jinja2.runtime.Macro) -> str:
        start, end = self.environment.marks if isinstance(self.environment, Sandbox) else ("", "")
        return f"{start}{caller()}{end}"


class _Namespace(jinja2.utils.Namespace):
    """Keeps no underscore names, through which a template could reach Python's own objects."""

    def __init__(*args: Any, **kwargs: Any) -> None:  # Any: a template passes what it likes; `self` may be a key too
        attributes = dict(*args[1:], **kwargs)
        for name in attributes:
            _refuse_private(name)
        jinja2.utils.Namespace.__init__(args[0], attributes)

    def __setitem__(self, name: str, value: Any) -> None:  # Any: as in the base class
        _refuse_private(name)
        super().__setitem__(name, value)


def _refuse_private(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"A chat template may not store {name!r}.")


class _Dict:
    """`dict(...)` without the class itself, whose attributes would lead further."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:  # Any: a template passes what it likes
        return dict(*args, **kwargs)


class Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """Operators that can build something huge out of something small are looked at before they run.

    `marks` are put around what a generation block produces; the caller sets them for each rendering.
    """

    marks: tuple[str, str] = ("", "")
    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: jinja2.runtime.Context, operator: str, left: object, right: object) -> object:
        if operator == "**":
            _refuse_huge_power(left, right)
        if operator == "*":
            _refuse_huge_product(left, right)
        if operator == "%":
            _refuse_wide_format(left)
        return super().call_binop(context, operator, left, right)

    def call(self, context: jinja2.runtime.Context, called: object, /, *args: object, **kwargs: object) -> object:
        # Sizes are refused for methods such as ljust and zfill.
        _refuse_huge_arguments(args, kwargs)
        return super().call(context, called, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:  # Any: as in the base class
        wrapped = super().wrap_str_format(value)
        if wrapped is not None:
            _refuse_wide_format(value.__self__)
        return wrapped


def _refuse_huge_power(base: object, exponent: object) -> None:
    if isinstance(base, int) and isinstance(exponent, int) and (abs(exponent) > EXPONENT or abs(base) > 1 << 32):
        raise jinja2.exceptions.SecurityError("A chat template may not compute a number of this size.")


def _refuse_huge_product(left: object, right: object) -> None:
    for items, times in ((left, right), (right, left)):
        if (
            isinstance(items, str | bytes | list | tuple)
            and isinstance(times, int)
            and len(items) * times > VALUE_ITEMS
        ):
            raise jinja2.exceptions.SecurityError("A chat template may not repeat a value this often.")
        if isinstance(items, int) and items.bit_length() > NUMBER_BITS:
            raise jinja2.exceptions.SecurityError("A chat template may not compute a number of this size.")


def _refuse_wide_format(pattern: object) -> None:
    if isinstance(pattern, str) and _WIDE_FORMAT.search(pattern):
        raise jinja2.exceptions.SecurityError("A chat template may not pad a text to this width.")


def _refuse_huge_arguments(args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    for value in (*args, *kwargs.values()):
        if isinstance(value, int) and abs(value) > VALUE_ITEMS:
            raise jinja2.exceptions.SecurityError("A chat template may not ask for a value of this size.")


def _bounded(filter_: Callable[..., Any]) -> Callable[..., Any]:  # Any: filters take and give whatever they like
    @functools.wraps(filter_)
    def checked(*args: object, **kwargs: object) -> object:
        _refuse_huge_arguments(args, kwargs)
        return filter_(*args, **kwargs)

    return checked


def _format(pattern: str, *args: object, **kwargs: object) -> str:
    _refuse_wide_format(pattern)
    return str(pattern) % (kwargs or args)


def _tojson(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> None:
    raise jinja2.exceptions.TemplateError(message)


def new_sandbox() -> Sandbox:
    sandbox = Sandbox(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[_Generation, jinja2.ext.loopcontrols],
        loader=jinja2.DictLoader({}),  # a template has no other templates to include
    )
    for name in ("center", "indent", "batch", "slice", "wordwrap", "truncate"):
        sandbox.filters[name] = _bounded(sandbox.filters[name])
    sandbox.filters.update(tojson=_tojson, format=_format)
    sandbox.globals.update(
        raise_exception=_raise_exception, strftime_now=CLOCK.strftime, dict=_Dict(), namespace=_Namespace
    )
    return sandbox
