"""Examples below the help of each command."""

EXAMPLES = {
    "demo": ("simjudge demo",),
    "compare": (
        "simjudge compare real.mcap sim.mcap --model detector.onnx --out result",
        "simjudge compare real/ sim/ --model detector.onnx --class cone --margin 0.1 --out result",
    ),
    "objects": ("simjudge objects real.mcap sim.mcap --out result",),
    "compare-drives": ("simjudge compare-drives real_*.mcap -- sim_*.mcap --out result",),
    "compare-policies": ("simjudge compare-policies real.csv sim.csv --out result",),
    "watch-policies": ("simjudge watch-policies trials.csv --out watched",),
    "sweep": ("simjudge sweep real.mcap sim.mcap --model detector.onnx --thetas 0.7,0.8,0.9 --out result",),
    "explain": ("simjudge explain real.mcap sim.mcap --model detector.onnx --out why",),
    "fit": ("simjudge fit real.mcap sim.mcap --model detector.onnx --camera plain --out fitted",),
    "cover": ("simjudge cover real.mcap sim.mcap --scene lab --camera plain --out more",),
    "plan": ("simjudge plan real.mcap sim.mcap --model detector.onnx --gap 0.05",),
    "report": ("simjudge report result", "simjudge report day night --out both.html --figures figures"),
    "certify": ("simjudge certify result --out dossier",),
    "info": ("simjudge info real.mcap", "simjudge info engines"),
    "doctor": ("simjudge doctor real.mcap", "simjudge doctor --live"),
    "convert": (
        "simjudge convert real.mcap real_yolo --to yolo",
        "simjudge convert drive.mcap labelled.mcap --simulator gazebo --class 1=red",
    ),
    "split": ("simjudge split real.mcap --out halves --parts 2 --contiguous",),
    "join": ("simjudge join monday.mcap tuesday.mcap week --to yolo",),
    "filter": ("simjudge filter sim.mcap noisy.mcap --blur 0.8 --noise 4",),
    "recover": ("simjudge recover cut.mcap whole.mcap",),
    "detect": ("simjudge detect real.mcap --model detector.onnx --out seen.mcap",),
    "train": ("simjudge train real_yolo --out detector.onnx --size pico --epochs 20",),
    "render": ("simjudge render lab --camera plain -n 20 --out sim.mcap",),
    "replay": ("simjudge replay real.mcap --scene lab --camera plain --out sim.mcap",),
    "drive": ("simjudge drive lab --camera plain --detector ground_truth --out drive.mcap",),
    "run": ("simjudge run live bag:=real.mcap model:=detector.onnx", "simjudge run sim --show-args"),
    "watch": ("simjudge watch --save live.rrd",),
}


def example_text(command: str) -> str:
    """The examples of a command, as the end of its help; none is empty."""
    return "\n\n".join(("Examples:", *EXAMPLES[command])) if command in EXAMPLES else ""
