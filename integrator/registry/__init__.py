"""The client of a schema registry, asked by the driver only.

client     what it is asked; its answers are checked
bounded    limits of its answers
explained  its errors, for who must act

The vendor's library takes 0.6 s to load: only a channel that has a registry loads `client`.
"""
