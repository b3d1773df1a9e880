"""The parts of ``kill_resume.py``: what is run, how it is killed, and how two runs are compared."""
