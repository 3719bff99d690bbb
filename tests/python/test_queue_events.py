"""Events of queues: of long runs there are more than fit into memory."""

from pathlib import Path

import polars as pl

from fairwind.results import Results
from fairwind.scenario import load

SCENARIO = """
name = "many events"
duration = "40 s"
[path]
rate = "60 Mbit/s"
rtt = "20 ms"
queue = "fq_codel"
[[flows]]
name = "greedy"
count = 2
workload = { kind = "greedy" }
[measure]
queue_events = {}
[sweep]
repeat = 2
"""


def run(folder: Path, name: str) -> Results:
    """Run the scenario into a folder of this name."""
    file = folder / "many.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return load(file).run(out=folder / name, jobs=1)


def test_many_events_are_written_as_they_come_all_of_them_and_in_order(tmp_path: Path) -> None:
    results = run(tmp_path, "once")
    queues = results.table("queues")
    events = results.table("queue_events")
    text = ("enqueued_packets", "drops_packets", "marks_packets")
    assert events.height == sum(int(queues[column].sum()) for column in text)
    assert events.height > 2 << 17, "so many that each simulation hands some on"
    assert queues["events_left_out"].sum() == 0
    for name, rows in events.group_by("replicate", "queue"):
        assert rows["time_s"].is_sorted(), name
    assert events["replicate"].is_sorted()
    assert not list(results.folder.rglob(".*parts*")), "what was put together is gone"


def test_the_bytes_of_many_events_are_the_same_again(tmp_path: Path) -> None:
    once, again = (run(tmp_path, name).folder for name in ("once", "again"))
    for file in (Path("queue_events.parquet"), Path("cells/0000-0001/queue_events.parquet")):
        assert (once / file).read_bytes() == (again / file).read_bytes()
    assert pl.read_parquet_schema(once / "queue_events.parquet")["seed"] == pl.UInt64
