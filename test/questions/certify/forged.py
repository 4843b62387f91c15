"""A dossier of which somebody wrote all digests anew, as a careful forger would."""

import json
import subprocess
import sys

from simjudge.questions.certify.check import seal
from simjudge.questions.certify.dossier_page import digests, write_manifest


def sign_again(folder):
    facts = json.loads((folder / "dossier.json").read_text())
    results = folder / "results"
    names = sorted(path.name for path in results.iterdir()) if results.is_dir() else []
    for name in ("dossier.json", "manifest.sha256"):
        (folder / name).unlink()
    facts |= {"seal": seal(folder), "results": names, "files": digests(folder)}
    (folder / "dossier.json").write_text(json.dumps(facts))
    write_manifest(folder)


def edit_json(file, path, value):
    """Set a value at a path, or take it away where the value is `...`."""
    content = json.loads(file.read_text())
    *folders, last = path
    row = content
    for name in folders:
        row = row[name]
    if value is ...:
        del row[last]
    else:
        row[last] = value
    file.write_text(json.dumps(content))


def verify(folder):
    return subprocess.run([sys.executable, "-I", folder / "verify.py"], capture_output=True, text=True, check=False)
