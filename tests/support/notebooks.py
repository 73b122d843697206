"""The notebooks of docs/, run cell by cell, with what their cells print and return."""

import ast
import io
import json
import shutil
import tempfile
from contextlib import chdir, redirect_stdout
from pathlib import Path

from tests.support.places import ROOT

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def executed(path):
    """Return the text of a notebook with fresh outputs, run beside a copy of configs/."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "configs", Path(folder, "configs"))
        place = Path(folder, "docs/notebooks")
        place.mkdir(parents=True)
        with chdir(place):
            code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
            for number, cell in enumerate(code, 1):
                cell["execution_count"] = number
                cell["outputs"] = list(_outputs("".join(cell["source"]), names, number))
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _outputs(source, names, number):
    """Run a cell; yield what it printed, and the value of a last line that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102  our own notebook
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307
    if text := printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
    if value is not None:
        yield {
            "data": {"text/plain": repr(value).splitlines(keepends=True)},
            "execution_count": number,
            "metadata": {},
            "output_type": "execute_result",
        }
