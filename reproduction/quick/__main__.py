"""Entry point of ``python -m reproduction.quick``."""

from reproduction.quick.run import main

if __name__ == "__main__":
    main()
