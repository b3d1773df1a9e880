"""The fake engine: scripted replies and drawn faults, for tests, demonstrations and load figures. No model inside."""
