"""The checker of the kernel's conventions finds what they forbid, and nothing in the kernel."""

import pytest

from tools import kernel_conventions


def test_the_kernel_keeps_its_conventions(capsys: pytest.CaptureFixture[str]) -> None:
    assert kernel_conventions.main() == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("if (a) return; /* why */", None),
        ("for (;;) {\n}", None),
        ("if (a &&\n    b(c)) {\n}", None),
        ('if (a)\n    b("{");', "f.c:2: a body on lines of its own has braces"),
        ("while (a(b))\n    ;", "f.c:2: a body on lines of its own has braces"),
        ("if (a) {\n} else\n    b();", "f.c:3: a body on lines of its own has braces"),
    ],
)
def test_bodies_have_braces(body: str, problem: str | None) -> None:
    source = f"int x_init(void) {{\n{body}\n}}\n"
    assert list(kernel_conventions.problems({"f.c": source})) == ([] if problem is None else [problem])


@pytest.mark.parametrize(("name", "error"), [("outcome", "X_ERROR"), ("x_result", "FAILED")])
def test_an_enum_with_an_error_is_a_result(name: str, error: str) -> None:
    source = f"typedef enum {{ {error} = -1, X_DONE }} {name};\n"
    (found,) = kernel_conventions.problems({"f.h": source})
    assert "NAME_result" in found
    assert not list(kernel_conventions.problems({"f.h": "typedef enum { X_ERROR = -1 } x_result;\n"}))


def test_a_function_is_used() -> None:
    header, source = "int one(void);\n", "int one(void) { return 1; } /* one */\nint two_init(void) { return 0; }\n"
    assert list(kernel_conventions.problems({"f.h": header, "f.c": source})) == ["one: the function is not used"]
