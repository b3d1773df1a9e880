"""What a sample earns: from judges, rules and functions of the user, each reward a number or a typed failure."""
