"""An engine in a process of its own: it can be killed, hang or die without taking anybody along."""
