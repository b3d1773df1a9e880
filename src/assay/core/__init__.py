"""The words that every layer speaks. Of I/O, only how a file gets to the disk whole (``files``), and the log."""
