"""Strangers' templates: as Hugging Face renders them, and no further."""

from __future__ import annotations

import pytest

from engine.data.limits import RENDER_SECONDS
from engine.data.templates import ChatTemplate, TemplateRefused
from engine.protocol.errors import SurroundingsError
from tests.helpers.datasets import turns

HELLO = turns("Hi", "Hello")


def render(source: str) -> str:
    return ChatTemplate("model", source, {"bos_token": "<s>"}).render(HELLO).text


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ bos_token }}{{ messages[0].content }}", "<s>Hi"),
        (
            "{% for m in messages %}\n  {% if loop.first %}{% continue %}{% endif %}\n{{ m.content }}\n{% endfor %}",
            "Hello\n",
        ),
        ("{{ {'b': 1, 'a': 'ü<'} | tojson }}", '{"b": 1, "a": "ü<"}'),
        ("{{ {'b': 1, 'a': 2} | tojson(indent=1, sort_keys=true) }}", '{\n "a": 2,\n "b": 1\n}'),
        ("{{ strftime_now('%d %b %Y') }}", "26 Jul 2024"),
        ("{% set ns = namespace(x=1) %}{% set ns.x = ns.x + 1 %}{{ ns.x }}", "2"),
        ("{{ dict(a=1).a }}", "1"),
        (
            "{{ '-' * 3 }}{{ '%s!' % 'x' }}{{ 2 ** 3 }}{{ 'ab' | center(6) }}|{{ '{:>4}'.format(1) }}",
            "---x!8  ab  |   1",
        ),
        ("{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}", "TrueTrueFalse"),
    ],
)
def test_what_hugging_face_offers_is_there(source: str, expected: str) -> None:
    assert render(source) == expected


def test_generation_blocks_are_marked_wherever_they_stand() -> None:
    source = (
        "{% macro say(m) %}[{% generation %}{{ m.content }}{% endgeneration %}]{% endmacro %}"
        "{% for m in messages %}{{ say(m) if m.role == 'assistant' else m.content + ' ' }}{% endfor %}"
    )
    rendered = ChatTemplate("model", source, {}).render([*HELLO, *turns("More", "Yes")])
    assert rendered.text == "Hi [Hello]More [Yes]"
    assert [rendered.text[start:end] for start, end in rendered.generations] == ["Hello", "Yes"]


@pytest.mark.parametrize(
    "source", ["{{ raise_exception('Roles must alternate') }}", "{{ messages[9].content }}", "{{ 1 + 'a' }}"]
)
def test_a_complaint_about_the_conversation_is_the_rows_problem(source: str) -> None:
    with pytest.raises(TemplateRefused):
        render(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ ''['__class__']['__mro__'] }}",
        "{{ messages.__class__ }}{{ messages.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{{ raise_exception.__globals__ }}{{ strftime_now.__self__.__class__.__mro__ }}",
        "{{ (messages | attr('__class__')).__mro__ }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update(role='x') }}",
        "{% set ns = namespace() %}{% set ns.__class__ = 1 %}",
        "{{ namespace(__class__=1) }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '%*d' % (999999999, 1) }}",
        "{{ '%999999999d' | format(1) }}",
        "{{ '{:>999999999}'.format(1) }}",
        "{{ 'a' * 999999999 }}",
        "{{ 999999999 * [1] }}",
        "{{ 'a'.ljust(999999999) }}",
        "{{ 'a' | center(999999999) }}",
        "{{ 'a\n' | indent(999999999) }}",
        "{{ 10 ** 999999999 }}",
        "{{ (10 ** 1000) ** 1000 }}",
        "{{ range(999999999) | list }}",
    ],
)
def test_hostile_expressions_are_refused(source: str) -> None:
    with pytest.raises(SurroundingsError) as caught:
        render(source)
    assert caught.value.code == "template_forbidden"


def test_the_conversation_comes_out_as_it_went_in() -> None:
    messages = turns("Hi", "Hello")
    ChatTemplate("model", "{% for m in messages %}{% set _ = m.items() %}{{ m }}{% endfor %}", {}).render(messages)
    assert messages == HELLO


def test_an_endless_template_is_stopped() -> None:
    source = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    with pytest.raises(SurroundingsError) as caught:
        render(source)
    assert caught.value.code == "template_too_slow" and f"{RENDER_SECONDS:g}" in caught.value.message


def test_endless_output_is_stopped() -> None:
    source = "{% for a in range(99999) %}{{ 'x' * 10000 }}{% endfor %}"
    with pytest.raises(SurroundingsError) as caught:
        render(source)
    assert caught.value.code == "template_too_large"


@pytest.mark.parametrize("source", ["{% if %}", "{{", "{% include 'x' %}", "{% generation %}x"])
def test_a_broken_template_says_so(source: str) -> None:
    with pytest.raises(SurroundingsError) as caught:
        render(source)
    assert caught.value.code == "template_broken"
