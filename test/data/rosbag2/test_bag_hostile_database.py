"""Databases made to be endless: views, computed columns, circles. They are refused or counted, never followed."""

import apsw
import pytest
from bag_samples import sample

from simjudge.core.errors import SimjudgeError
from simjudge.data.rosbag2.recording import Db3File
from simjudge.data.sets import read_set, write_set

COLUMNS = "id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB"
ENDLESS = """CREATE VIEW messages AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
             SELECT id, 1 AS topic_id, id AS timestamp, zeroblob(1000) AS data FROM n"""


@pytest.fixture
def bag(tmp_path):
    write_set(sample(4, (32, 24)), tmp_path / "x.db3")
    return tmp_path / "x.db3"


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["DROP TABLE messages", ENDLESS], "messages is not a plain table"),
        (
            ["ALTER TABLE topics RENAME TO t", "CREATE VIEW topics AS SELECT * FROM t, t AS u, t AS v, t AS w"],
            "topics is not a plain table",
        ),
        (
            [
                "DROP TABLE messages",
                f"CREATE TABLE messages({COLUMNS} GENERATED ALWAYS AS (zeroblob(900000000)))",
                "INSERT INTO messages(id, topic_id, timestamp) VALUES (1, 1, 1), (2, 1, 2)",
            ],
            "messages.data is computed, not stored",
        ),
        (["DROP TABLE messages", "CREATE VIRTUAL TABLE messages USING fts5(topic_id, data)"], "not a plain table"),
    ],
)
def test_what_runs_code_of_the_file_is_refused(bag, statements, said):
    database = apsw.Connection(str(bag))
    for statement in statements:
        database.execute(statement)
    database.close()
    with pytest.raises(SimjudgeError, match=said):
        read_set(bag)


@pytest.mark.parametrize("time", ["soon", 1.5, 2**62])
def test_a_time_that_is_none(bag, time):
    database = apsw.Connection(str(bag))
    database.execute("UPDATE messages SET timestamp = ? WHERE id = 2", (time,))
    database.close()
    assert len(read_set(bag)) >= 1


def test_a_circle_of_pages_is_left(tmp_path):
    path = tmp_path / "x.db3"
    database = apsw.Connection(str(path))
    database.execute(f"PRAGMA page_size=512; CREATE TABLE messages({COLUMNS})")
    database.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT)")
    database.execute("INSERT INTO topics VALUES (1, '/a', 'std_msgs/msg/String')")
    for number in range(1, 9):
        database.execute("INSERT INTO messages VALUES (?, 1, ?, zeroblob(300))", (number, number))
    root = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'messages'").fetchone()[0]
    database.close()
    data = bytearray(path.read_bytes())
    page = (root - 1) * 512
    count = int.from_bytes(data[page + 3 : page + 5], "big")
    cells = [int.from_bytes(data[page + 12 + 2 * i : page + 14 + 2 * i], "big") for i in range(count)]
    # The last child of the root's cells becomes the first: the walk over the table comes to row 1 again.
    data[page + cells[-1] : page + cells[-1] + 4] = data[page + cells[0] : page + cells[0] + 4]
    path.write_bytes(data)
    found = Db3File(path)
    rows = [message.location.start for message in found.messages({"/a"}, 0)]
    assert rows == sorted(set(rows))
    assert "the database is malformed" in found.losses.lines()[0]
