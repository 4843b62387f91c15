"""`certify`: results in a folder that others can check without simjudge."""
