"""Quality of whole pictures without a reference: PIQE with its maps, NIQE, BRISQUE, and histograms of colour."""
