from engine.protocol.fields import FIELDS, GROUP_LABELS
from engine.protocol.recipe import (
    DatasetRef,
    ModelRef,
    Recipe,
    ResolvedRecipe,
    check,
    parse_recipe,
    recipe_hash,
    resolve,
    to_yaml,
    value_or_default,
)
from engine.protocol.schema import FieldSpec, Setting

__all__ = [
    "FIELDS",
    "GROUP_LABELS",
    "DatasetRef",
    "FieldSpec",
    "ModelRef",
    "Recipe",
    "ResolvedRecipe",
    "Setting",
    "check",
    "parse_recipe",
    "recipe_hash",
    "resolve",
    "to_yaml",
    "value_or_default",
]
