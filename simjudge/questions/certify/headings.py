"""What a dossier of simjudge is evidence for, by the headings that assessors ask for.

The headings are those of the credibility assessment of virtual tool chains in UNECE, New Assessment/Test Method for
Automated Driving (NATM): Guidelines for Validating Automated Driving System (ECE/TRANS/WP.29/2022/58, amended by
WP.29-187-08, annex on credibility assessment), in our words. What is said of ISO 34502:2022 and ISO 34505:2025 rests on
their published scopes.
"""

from __future__ import annotations

from typing import NamedTuple


class Heading(NamedTuple):
    """A heading, what the dossier holds for it, and what it does not."""

    name: str
    holds: str
    lacks: str


HEADINGS = (
    Heading(
        "Management of models and simulation: releases, experience of the team",
        "Versions of simjudge and of the libraries that the numbers rest on; name and digest of the detector.",
        "Who made the models and the simulation, how releases are managed, and who answers for them.",
    ),
    Heading(
        "Pedigree of input data",
        "Names, formats, sizes and SHA-256 of both sets; how many frames and objects, and what was lost in reading. Of"
        " sets that simjudge rendered: scene, camera, engine and seed.",
        "Where, when and with which vehicle the real data were recorded, how they were labelled, how good labels are.",
    ),
    Heading(
        "Pedigree of output data",
        "The tables that every number comes from, seeds, settings, and a script that computes the numbers again.",
        "The pictures themselves: their digests are here, the files are not.",
    ),
    Heading(
        "Description: scope, domain of validity, assumptions, limitations",
        "The contexts in which the simulation was compared (overlap), and the share of reality that it never shows.",
        "A claim about anything but this detector, these classes and these contexts. Overlap is of appearance in the"
        " picture, not of traffic scenarios.",
    ),
    Heading(
        "Verification of code and of calculation",
        "An independent computation of performance, W1, overlap, noise, gap, p, corrections, intervals and verdicts"
        " from boxes and predictions (verify.py).",
        "Verification of the simulator and of the detector's code, of the sampling units and of expected performance:"
        " verify.py takes these as they are.",
    ),
    Heading(
        "Sensitivity analysis",
        "Nothing by itself. simjudge sweep (thresholds, patch sizes) and simjudge explain (causes) are made for it.",
        "How results change with the simulation's own parameters.",
    ),
    Heading(
        "Validation: measure of performance and goodness of fit",
        "IoU of each object, and W1 between its distributions in like contexts (arXiv 2208.01022, Algorithm 1).",
        "Measures of the vehicle's behaviour; simjudge compare-drives has some.",
    ),
    Heading(
        "Validation: accuracy that is required",
        "The margin: the difference of performance from which a gap matters, as it was given.",
        "Why this margin is enough for the use. That is for the person who uses the result to say.",
    ),
    Heading(
        "Validation: results and their uncertainty",
        "Verdict, noise, gap with its 95 % interval, p, p corrected for all classes, the gap that these sizes would"
        " have shown.",
        "Uncertainty that is common to all frames: one camera, one place, one day, one person who labelled.",
    ),
    Heading(
        "Range that the validation covers",
        "Overlap of both sets, by class, and the detector's performance outside of it.",
        "Coverage of an operational design domain.",
    ),
    Heading(
        "ISO 34502: scenario-based safety evaluation",
        "How far a simulation may stand in for reality where the evaluation asks what a detector sees.",
        "Scenarios, critical ones among them, and safety of the driving system. A context is no scenario.",
    ),
    Heading(
        "ISO 34505: evaluation of scenarios, test cases and their coverage",
        "Overlap, a coverage of contexts in pictures: a reason to trust a simulated test platform, or not.",
        "Test cases with inputs, steps and expected results; coverage of requirements and of an operational domain.",
    ),
)
