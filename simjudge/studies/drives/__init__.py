"""Drives of cars along the same course, compared: does a simulated car drive as the real one does?"""
