"""`python -m simjudge` is the command `simjudge`."""

from simjudge.cli import main

if __name__ == "__main__":
    main()
