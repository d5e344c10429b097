"""``python -m scorch``: see scorch/tools/command.py."""

from .tools.command import main

if __name__ == "__main__":
    main()
