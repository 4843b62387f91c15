"""What doctor says of trials of policies."""

import pytest

from simjudge.questions.doctor.run import diagnose


def table(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return path


def test_a_table_with_everything_answers_without_loss(tmp_path):
    rows = "".join(f"p{k},t,{side},1,s{k},0.{k}\n" for k in range(4) for side in ("real", "sim"))
    found = diagnose(table(tmp_path, "policy,task,side,success,pair,x\n" + rows))
    answer = found.question("policies")
    assert (answer.answer, answer.losses) == ("yes", [])
    assert found.command(answer).startswith("simjudge robot policies ")


@pytest.mark.parametrize(
    ("text", "losses"),
    [
        ("policy,task,success\na,t,1\na,t,0\n", {"give the other side as a second table"}),
        ("policy,task,real_success,sim_success\na,t,0.5,0.4\n", {"rates and ranking, but nothing is tested"}),
        ("policy,task,side,success\na,t,real,1\na,t,sim,0\n", {"no correlation can be told from chance"}),
    ],
)
def test_what_is_lacking_is_said(tmp_path, text, losses):
    answer = diagnose(table(tmp_path, text)).question("policies")
    assert answer.answer == "with loss"
    assert losses <= set(answer.losses)
