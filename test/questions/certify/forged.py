"""A dossier of which somebody wrote all digests and pages anew, as a careful forger would."""

import json
import subprocess
import sys

from simjudge.questions.certify.dossier import write_manifest
from simjudge.questions.certify.dossier_page import made_texts


def sign_again(folder, *, pages=False):
    """Make dossier.json and the manifest agree with what lies in results/, and the pages too."""
    facts, results = folder / "dossier.json", folder / "results"
    names = sorted(path.name for path in results.iterdir()) if results.is_dir() else []
    facts.write_text(json.dumps(json.loads(facts.read_text()) | {"results": names}))
    for name, text in made_texts(folder) if pages else ():
        (folder / name).write_bytes(text.encode())
    write_manifest(folder)


def leaves(held, path=()):
    """The paths of all values of a result."""
    items = held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, list) else ()
    for key, value in items:
        yield from leaves(value, (*path, key)) if isinstance(value, (dict, list)) and value else [(*path, key)]


def forgeries(value):
    """What a forger may put in place of a value; `...` takes it away."""
    if isinstance(value, bool):
        return [not value, None, ...]
    if isinstance(value, (int, float)):
        return [value * 1.01 + 0.001, None, ..., float("inf")]
    return ["predicts" if value != "predicts" else "gap", 0.5, ...]


def edited(said, path, value):
    """A copy of a result in which one value is another."""
    copy = json.loads(json.dumps(said))
    held = copy
    for name in path[:-1]:
        held = held[name]
    if value is ...:
        del held[path[-1]]
    else:
        held[path[-1]] = value
    return copy


def edit_json(file, path, value):
    file.write_text(json.dumps(edited(json.loads(file.read_text()), path, value)))


def verify(folder):
    return subprocess.run([sys.executable, "-I", folder / "verify.py"], capture_output=True, text=True, check=False)
