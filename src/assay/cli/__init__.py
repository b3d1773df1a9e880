"""The command line: one verb a file, its flags declared there and its work in the file named beside it in ``verbs``.

Declares and shows; every decision is made by the layers below.
"""
