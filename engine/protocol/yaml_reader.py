"""YAML as people write it in recipes: YAML 1.2's idea of a scalar, plain data only, every fault named with its line."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import cast

import yaml

from engine.protocol.errors import SurroundingsError


class _Loader(yaml.SafeLoader):
    """YAML 1.2's idea of a scalar (`1e-4` is a number, `on` and `no` are text), and no key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise SurroundingsError(
                    "duplicate_key",
                    f"{key.value} stands twice.",
                    "Remove one of the two.",
                    where=f"line {key.start_mark.line + 1}",
                )
            seen.add(str(key.value))
        return cast("dict[Hashable, object]", super().construct_mapping(node, deep))

    def construct_whole_number(self, node: yaml.ScalarNode) -> int:
        """YAML 1.2's: 016 is sixteen, where PyYAML would read an octal number."""
        return int(self.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_whole_number)


def _plain_scalars(loader: type[_Loader]) -> None:
    loader.yaml_implicit_resolvers = {}
    for tag, pattern, first in (
        ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
        ("null", r"null|Null|NULL|~|", "nN~\0"),
        ("int", r"[-+]?[0-9]+", "-+0123456789"),
        (
            "float",
            r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
            "-+0123456789.",
        ),
    ):
        loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"^(?:{pattern})$"), list(first))


_plain_scalars(_Loader)


def read_yaml(text: str) -> object:
    """Plain data out of a YAML text. Raises SurroundingsError: "not_yaml" or "duplicate_key", with its line."""
    try:
        return cast("object", yaml.load(text, Loader=_Loader))  # a SafeLoader: builds plain data only
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise SurroundingsError(
            "not_yaml", f"The recipe is not valid YAML: {error.problem}.", "Mend the line.", where=f"line {line}"
        ) from None
    except (yaml.YAMLError, ValueError, AttributeError, RecursionError) as error:
        # Control characters, a tag such as `!!int x`, a number of ten thousand digits, a thousand brackets.
        raise SurroundingsError(
            "not_yaml", f"The recipe is not valid YAML: {str(error)[:200]}.", "Check that this is a recipe."
        ) from None
