"""A scene from a survey cloud."""
