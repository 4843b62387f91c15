"""The ground truth of other simulators as labels, by the rules that the project's own renderings are labelled by."""
