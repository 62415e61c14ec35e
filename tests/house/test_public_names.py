"""What people import is listed and documented, in every module; a change here is a change of the interface."""

from __future__ import annotations

import ast
import importlib
import inspect
from functools import cache
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
MODULES = sorted(
    path
    for path in SOURCE.rglob("*.py")
    if path.name != "__main__.py" and not path.name.startswith("_") and "__pycache__" not in path.parts
)


def defined(tree: ast.Module) -> set[str]:
    """Public functions and classes that a module defines itself."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in tree.body if isinstance(node, kinds) and not node.name.startswith("_")}


def listed(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            names: list[str] = ast.literal_eval(node.value)
            return names
    return []


@cache
def spoken_of(folder: Path) -> set[str]:
    """Methods that some class of a folder documents: what carries out a protocol need not say it again."""
    return {
        part.name
        for path in folder.glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.FunctionDef) and ast.get_docstring(part) is not None
    }


def undocumented(tree: ast.Module, known: set[str]) -> list[str]:
    """Public definitions, and public methods of public classes, without a word about them."""
    missing = []
    for node in tree.body:
        if not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ) or node.name.startswith("_"):
            continue
        if ast.get_docstring(node) is None:
            missing.append(node.name)
        if isinstance(node, ast.ClassDef):
            missing += [
                f"{node.name}.{part.name}"
                for part in node.body
                if isinstance(part, ast.FunctionDef)
                and not part.name.startswith("_")
                and ast.get_docstring(part) is None
                and part.name not in known
                and not _stub(part)
            ]
    return missing


def _stub(function: ast.FunctionDef) -> bool:
    """A body of three dots: part of a protocol or an overload."""
    body = function.body
    return len(body) == 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_every_public_name_of_a_module_is_listed_and_documented(path: Path) -> None:
    tree = ast.parse(path.read_text())
    names = listed(tree)
    assert defined(tree) <= set(names), "not in __all__"
    assert ast.get_docstring(tree) is not None
    assert undocumented(tree, spoken_of(path.parent)) == []


@pytest.mark.parametrize("name", discreet.__all__)
def test_what_the_package_exports_exists_and_is_documented(name: str) -> None:
    value = getattr(discreet, name)
    assert inspect.getdoc(value), name
    assert name in dir(discreet)
    if inspect.isclass(value) and issubclass(value, discreet.PrivateMethod | discreet.ALS):
        documented = inspect.getdoc(value) or ""
        for parameter, how in inspect.signature(value).parameters.items():
            if how.kind is not inspect.Parameter.KEYWORD_ONLY:
                continue
            assert parameter in documented, f"{name} does not say what {parameter} is"


def test_the_names_of_the_package() -> None:
    assert sorted(discreet.__all__) == [
        "ALS",
        "Budget",
        "BudgetExceeded",
        "BudgetInvalid",
        "BudgetedALS",
        "Catalogue",
        "CatalogueInvalid",
        "CatalogueMissing",
        "DPALS",
        "DiscreetError",
        "EASE",
        "FrankWolfe",
        "GlobalMean",
        "HistoryInvalid",
        "ItemMean",
        "LedgerFile",
        "LedgerInvalid",
        "Model",
        "ModelInvalid",
        "NotFitted",
        "Popularity",
        "PrivateMethod",
        "PrivateSVD",
        "ProjectedGradient",
        "RatingScale",
        "Ratings",
        "RatingsInvalid",
        "Refused",
        "SettingsInvalid",
        "Statement",
        "UnchargedRelease",
        "Unreachable",
        "UserMean",
        "devices",
        "evaluate",
        "plan",
        "silos",
        "tune",
    ]


def test_every_error_is_exported() -> None:
    errors = importlib.import_module("discreet.errors")
    assert set(errors.__all__) <= set(discreet.__all__)
    tree = errors.__doc__ or ""
    assert all(name in tree for name in errors.__all__)


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Bidgeted'"):
        _ = discreet.Bidgeted
