"""`python -m muniment_server` is the command `muniment`."""

from muniment_server.cli import main

if __name__ == "__main__":
    main()
